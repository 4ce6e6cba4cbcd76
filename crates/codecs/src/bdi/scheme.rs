// SPDX-License-Identifier: MIT OR Apache-2.0
//! The combinations of base and delta size and what they take: Table 1 and equation (1) of Warped-Compression, section 4.

use std::fmt;

use super::spread::spread;
use crate::{ENTRY_BYTES, Values, banks};

/// `<base, delta>` in bytes, as `BxDy`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scheme {
    B1D0,
    B2D1,
    B4D0,
    B4D1,
    B4D2,
    B8D0,
    B8D1,
    B8D2,
    B8D4,
}

impl Scheme {
    /// In the order of Table 1.
    pub const ALL: [Scheme; 9] = [
        Scheme::B1D0,
        Scheme::B2D1,
        Scheme::B4D0,
        Scheme::B4D1,
        Scheme::B4D2,
        Scheme::B8D0,
        Scheme::B8D1,
        Scheme::B8D2,
        Scheme::B8D4,
    ];

    /// Bytes of the base, and of the chunks that a register is cut into.
    #[inline]
    pub const fn base(self) -> usize {
        match self {
            Scheme::B1D0 => 1,
            Scheme::B2D1 => 2,
            Scheme::B4D0 | Scheme::B4D1 | Scheme::B4D2 => 4,
            Scheme::B8D0 | Scheme::B8D1 | Scheme::B8D2 | Scheme::B8D4 => 8,
        }
    }

    /// Bytes of each delta.
    #[inline]
    pub const fn delta(self) -> usize {
        match self {
            Scheme::B1D0 | Scheme::B4D0 | Scheme::B8D0 => 0,
            Scheme::B2D1 | Scheme::B4D1 | Scheme::B8D1 => 1,
            Scheme::B4D2 | Scheme::B8D2 => 2,
            Scheme::B8D4 => 4,
        }
    }

    /// Compressed size of a warp register, by equation (1).
    #[inline]
    pub const fn bytes(self) -> usize {
        self.base() + self.delta() * (ENTRY_BYTES / self.base() - 1)
    }

    /// Banks that a register compressed this way takes.
    #[inline]
    pub const fn banks(self) -> usize {
        banks(self.bytes())
    }

    /// Whether every chunk's difference to the first one fits the delta.
    #[inline]
    pub fn fits(self, values: &Values) -> bool {
        spread(values, self.base()) >> (8 * self.delta()) == 0
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{},{}>", self.base(), self.delta())
    }
}

/// A row of Table 1, as printed there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub scheme: Scheme,
    pub base_bytes: usize,
    pub delta_bytes: usize,
    pub compressed_bytes: usize,
    pub banks: usize,
    /// Whether Warped-Compression uses it.
    pub used: bool,
}

const fn row(
    scheme: Scheme,
    base_bytes: usize,
    delta_bytes: usize,
    compressed_bytes: usize,
    banks: usize,
    used: bool,
) -> Row {
    Row { scheme, base_bytes, delta_bytes, compressed_bytes, banks, used }
}

/// The paper's Table 1. The code goes by equation (1); a test holds it against these numbers.
pub const TABLE_1: [Row; 9] = [
    row(Scheme::B1D0, 1, 0, 1, 1, false),
    row(Scheme::B2D1, 2, 1, 65, 5, false),
    row(Scheme::B4D0, 4, 0, 4, 1, true),
    row(Scheme::B4D1, 4, 1, 35, 3, true),
    row(Scheme::B4D2, 4, 2, 66, 5, true),
    row(Scheme::B8D0, 8, 0, 8, 1, false),
    row(Scheme::B8D1, 8, 1, 23, 2, false),
    row(Scheme::B8D2, 8, 2, 38, 3, false),
    row(Scheme::B8D4, 8, 4, 68, 5, false),
];
