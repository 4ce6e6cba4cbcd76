// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression of what a GPU stores, as hardware would do it: values in, the stored bytes and their number out, and back exactly.
//!
//! Nothing here knows time, energy or a simulated machine. No encoder and no decoder allocates; an allocator of packed registers has its tables.
//!
//! Registers of a warp:
//! - [`bdi`]: base and deltas over a warp register (Warped-Compression, ISCA 2015, sections 4 and 5.1)
//! - [`narrow`]: every thread's register narrowed on its own (the alternative of its section 5.2)
//! - [`packing`]: narrow warp registers that share an entry of the register file (CORF, ASPLOS 2019)
//! - [`similarity`]: how far the values of successive lanes are apart (its section 3)
//!
//! Blocks of memory, as they move between a memory controller and DRAM:
//! - [`block`]: what codecs for blocks have in common; base-delta-immediate, frequent-pattern compression, C-Pack
//! - [`huffman`]: the entropy coding of E2MC (IPDPS 2017)
//! - [`profile`]: frequencies of symbols as a file, from which codes are made

pub mod bdi;
pub mod block;
pub mod huffman;
pub mod narrow;
pub mod packing;
pub mod profile;
mod register;
pub mod similarity;

pub use register::{BANK_BYTES, BANKS, ENTRY_BYTES, Entry, LANES, Values, banks};
