// SPDX-License-Identifier: MIT OR Apache-2.0
//! E2MC's entropy coding of blocks (Lal and others, IPDPS 2017, sections III-B, III-E and III-F): canonical Huffman codes for symbols of 4, 8, 16 or 32
//! bits, from the frequencies of symbols.
//!
//! ```text
//!  blocks ─► Frequencies ─► lengths, limited ─► Code (canonical) ─► Huffman: look-up tables, pointers for parallel decoding
//! ```
//!
//! Symbols of 4 and 8 bits have a code for each position in a 32-bit word, and all values have codewords. Symbols of 16 and 32 bits have one code,
//! for the most frequent values; the others follow an escape prefix as they are.

mod code;
mod codec;
mod frequencies;
mod lengths;
mod look_up;
mod pairs;
mod words;

pub use code::{Code, Codeword};
pub use codec::Huffman;
pub use frequencies::{Frequencies, SymbolBits};
pub use lengths::limited_lengths;
pub use look_up::WAYS;
pub use words::WordCounts;
