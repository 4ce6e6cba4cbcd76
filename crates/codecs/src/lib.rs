// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression of what a GPU stores, as hardware would do it: values in, the stored bytes and their number out, and back exactly.
//!
//! Nothing here knows time, energy or a simulated machine, and nothing but an allocator's tables takes memory.
//!
//! - [`bdi`]: base and deltas over a warp register (Warped-Compression, ISCA 2015, sections 4 and 5.1)
//! - [`narrow`]: every thread's register narrowed on its own (the alternative of its section 5.2)
//! - [`packing`]: narrow warp registers that share an entry of the register file (CORF, ASPLOS 2019)
//! - [`similarity`]: how far the values of successive lanes are apart (its section 3)

pub mod bdi;
pub mod narrow;
pub mod packing;
mod register;
pub mod similarity;

pub use register::{BANK_BYTES, BANKS, ENTRY_BYTES, Entry, LANES, Values, banks};
