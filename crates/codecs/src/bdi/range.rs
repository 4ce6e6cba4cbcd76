// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Warped-Compression does to a register that is written: one of three encodings or none, told by two bits (sections 4 and 5.1).

use std::fmt;

use super::spread::spread_4;
use super::{Misfit, Scheme};
use crate::register::{from_bytes, to_bytes};
use crate::{BANKS, ENTRY_BYTES, Entry, Values};

/// The compression range indicator of a warp register: the two bits that the bank arbiter keeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[repr(u8)]
pub enum Range {
    #[default]
    Uncompressed = 0,
    B4D0 = 1,
    B4D1 = 2,
    B4D2 = 3,
}

impl Range {
    pub const ALL: [Range; 4] = [Range::Uncompressed, Range::B4D0, Range::B4D1, Range::B4D2];

    /// The scheme of Table 1, if there is one.
    #[inline]
    pub const fn scheme(self) -> Option<Scheme> {
        match self {
            Range::Uncompressed => None,
            Range::B4D0 => Some(Scheme::B4D0),
            Range::B4D1 => Some(Scheme::B4D1),
            Range::B4D2 => Some(Scheme::B4D2),
        }
    }

    #[inline]
    pub const fn is_compressed(self) -> bool {
        !matches!(self, Range::Uncompressed)
    }

    /// 4, 35, 66 or 128.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self.scheme() {
            None => ENTRY_BYTES,
            Some(scheme) => scheme.bytes(),
        }
    }

    /// 1, 3, 5 or 8: from the lowest bank of the register's cluster on.
    #[inline]
    pub const fn banks(self) -> usize {
        match self.scheme() {
            None => BANKS,
            Some(scheme) => scheme.banks(),
        }
    }

    /// The indicator's bits, 0 to 3.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// The range of an indicator; bits beyond the lower two do not exist in hardware and do not count.
    #[inline]
    pub const fn from_bits(bits: u8) -> Range {
        Range::ALL[(bits & 3) as usize]
    }

    /// Stores a register in this range: writes the first [`Range::bytes`] of the entry and leaves the others alone. If the register does
    /// not fit, the entry stays as it was.
    #[inline]
    pub fn encode(self, values: &Values, entry: &mut Entry) -> Result<(), Misfit> {
        match self.scheme() {
            None => {
                *entry = to_bytes(values);
                Ok(())
            }
            Some(scheme) => scheme.encode(values, entry),
        }
    }

    /// The register that [`Range::encode`] stored. Any bytes are some register; those behind [`Range::bytes`] do not count.
    #[inline]
    pub fn decode(self, entry: &Entry) -> Values {
        match self.scheme() {
            None => from_bytes(entry),
            Some(scheme) => scheme.decode(entry),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme() {
            None => f.write_str("uncompressed"),
            Some(scheme) => scheme.fmt(f),
        }
    }
}

/// The smallest of the three encodings that holds the register.
///
/// This is called for every register that a simulated GPU writes. It has no branch but the last and vectorises with any instruction set
/// of its caller.
#[inline(always)]
pub fn classify(values: &Values) -> Range {
    match spread_4(values) {
        0 => Range::B4D0,
        1..=0xff => Range::B4D1,
        0x100..=0xffff => Range::B4D2,
        _ => Range::Uncompressed,
    }
}

/// Which of the three encodings a compressor has: all, or a single one for Figures 15 and 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choices {
    /// By what a register would get from a compressor that has everything.
    stored_as: [Range; 4],
}

impl Choices {
    /// Warped-Compression itself.
    pub const ALL: Choices = Choices::new(true, true, true);
    /// Scalar registers only.
    pub const ONLY_4_0: Choices = Choices::new(true, false, false);
    pub const ONLY_4_1: Choices = Choices::new(false, true, false);
    pub const ONLY_4_2: Choices = Choices::new(false, false, true);

    /// A compressor with the encodings that are `true`. A wider encoding takes what a missing narrower one would have.
    pub const fn new(b4d0: bool, b4d1: bool, b4d2: bool) -> Choices {
        let two = if b4d2 { Range::B4D2 } else { Range::Uncompressed };
        let one = if b4d1 { Range::B4D1 } else { two };
        let zero = if b4d0 { Range::B4D0 } else { one };
        Choices { stored_as: [Range::Uncompressed, zero, one, two] }
    }

    /// How this compressor stores the register.
    #[inline(always)]
    pub fn classify(&self, values: &Values) -> Range {
        self.stored_as[classify(values) as usize]
    }
}

impl Default for Choices {
    fn default() -> Self {
        Choices::ALL
    }
}
