// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of shared memory: 128 bytes each, one word of every one of 32 banks.
//!
//! Which rows an access touches is known when it is handed over, and needed when its turn comes. Rows that lie close together are kept as a
//! set of bits; the words of each row are worked out only if a technique wants to see them, and for rows that lie far apart.

use super::coalesce::{Offsets, span};
use super::shared::extent;

pub const ROW_BYTES: u32 = 128;
const SHIFT: u32 = ROW_BYTES.trailing_zeros();

/// A row, counted from the first of its block, and the words of it that are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub number: u32,
    pub words: u32,
}

/// The rows that an access touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// `first`, and those behind it that have a bit in the set; bit 0 is `first` itself.
    Near { first: u32, set: u64 },
    /// A part of the instruction's list: from a place to before another.
    Listed { from: u32, to: u32 },
}

impl Rows {
    /// All rows from that of one offset to that of another, which are 64 at most.
    #[inline(always)]
    pub fn between(low: u32, high: u32) -> Rows {
        let first = low >> SHIFT;
        let more = (high >> SHIFT) - first;
        Rows::Near { first, set: u64::MAX >> ((63 - more) & 63) }
    }

    /// The rows of the active lanes.
    #[inline]
    pub fn of(offsets: &Offsets, mask: u32, bytes: u32, list: &mut Vec<Row>) -> Rows {
        Rows::near(offsets, mask).unwrap_or_else(|| Rows::listed(offsets, mask, bytes, list))
    }

    /// The rows of the active lanes, if they are within 64.
    #[inline]
    pub fn near(offsets: &Offsets, mask: u32) -> Option<Rows> {
        // By number modulo 64.
        let (mut set, mut all) = (0u64, 0);
        if mask == u32::MAX {
            for offset in offsets {
                set |= 1 << ((offset >> SHIFT) & 63);
                all |= offset;
            }
        } else {
            let mut rest = mask;
            while rest != 0 {
                let offset = offsets[rest.trailing_zeros() as usize];
                rest &= rest - 1;
                set |= 1 << ((offset >> SHIFT) & 63);
                all |= offset;
            }
        }
        if all >> SHIFT < 64 {
            let first = set.trailing_zeros() & 63;
            return Some(Rows::Near { first, set: set >> first });
        }
        let (low, high) = extent(offsets, mask);
        let first = low >> SHIFT;
        ((high >> SHIFT) - first < 64).then(|| Rows::Near { first, set: set.rotate_right(first & 63) })
    }

    /// Adds the rows of the active lanes to a list, in the order of the first lane that touches each. Lanes are aligned to what they move,
    /// so that each is in one row.
    #[inline(never)]
    pub fn listed(offsets: &Offsets, mask: u32, bytes: u32, list: &mut Vec<Row>) -> Rows {
        let from = list.len();
        let span = span(bytes);
        let mut rest = mask;
        while rest != 0 {
            let offset = offsets[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            let number = offset >> SHIFT;
            let words = (span << (offset % ROW_BYTES / 4)) as u32;
            match list[from..].iter_mut().rev().find(|row| row.number == number) {
                Some(row) => row.words |= words,
                None => list.push(Row { number, words }),
            }
        }
        Rows::Listed { from: from as u32, to: list.len() as u32 }
    }

    /// Tells the numbers of the rows. `list` is the instruction's.
    #[inline(always)]
    pub fn each(self, list: &[Row], mut f: impl FnMut(u32)) {
        match self {
            Rows::Near { first, set } => {
                let mut rest = set;
                while rest != 0 {
                    f(first + rest.trailing_zeros());
                    rest &= rest - 1;
                }
            }
            Rows::Listed { from, to } => {
                list[from as usize..to as usize].iter().for_each(|row| f(row.number));
            }
        }
    }
}
