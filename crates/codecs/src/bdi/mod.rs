// SPDX-License-Identifier: MIT OR Apache-2.0
//! Base-delta-immediate compression of warp registers, as Warped-Compression has it: one base, the first chunk, which is not repeated as a
//! delta; differences wrap and are kept if sign extension restores them (its Figure 7).
//!
//! [`Range`] is the mechanism's own choice of three encodings, [`explore`] the search over all that Figure 5 is about.

mod codec;
mod explore;
mod range;
mod scheme;
mod spread;

pub use codec::Misfit;
pub use explore::{EXPLORED, explore};
pub use range::{Choices, Range, classify};
pub use scheme::{Row, Scheme, TABLE_1};
