// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register packing (CORF, ASPLOS 2019, sections 2 to 6): a warp register whose values are narrow takes as many bytes of every lane as its widest
//! value needs, and shares its entry of the register file with others.
//!
//! - [`width`]: how many bytes that are, as the width detection unit tells
//! - [`Slices`]: the bytes of an entry by significance, and how a register is put there and taken back
//! - [`FreeMap`]: which slices of which entry are free
//! - [`Allocator`]: the renaming table, and where a register goes: first fit, next to its partner, or to its side

mod allocator;
mod free;
mod slices;
#[cfg(test)]
mod tests;
mod width;

pub use allocator::{Allocator, Change, Freed, Home, Mapping, Places, REGISTERS, Seen, Set, for_each};
pub use free::{FreeMap, Side, WHOLE, fit, slices};
pub use slices::Slices;
pub use width::{narrow, width};
