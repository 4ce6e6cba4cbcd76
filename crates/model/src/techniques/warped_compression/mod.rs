// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped-Compression: Lee, Kim, Koo, Jeon, Ro, Annavaram, “Warped-Compression: Enabling Power Efficient GPUs through Register
//! Compression”, ISCA 2015.

mod counters;
mod parameters;

pub use counters::Counters;
pub use parameters::{Divergent, Encodings, Parameters, Valid, Window, check};
