// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of shared memory: 128 bytes each, one word of every one of 32 banks. Which rows an access touches is known when it is handed over, and
//! wanted when its turn comes, by techniques alone: without one, nothing is worked out.

use super::coalesce::{Offsets, span};

pub const ROW_BYTES: u32 = 128;

/// A row, counted from the first of its block, and the words of it that are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub number: u32,
    pub words: u32,
}

/// Adds the rows of the active lanes to a list, in the order of the first lane that touches each. Lanes are aligned to what they move, so that
/// each is in one row. Gives the places of the first and of the one after the last.
#[inline(never)]
pub fn list_rows(offsets: &Offsets, mask: u32, bytes: u32, list: &mut Vec<Row>) -> (u32, u32) {
    let from = list.len();
    let span = span(bytes);
    // Rows that are in the list, by their numbers modulo 64, a bit each: lanes that go down a column touch a row each, and need not look for it.
    let mut listed = 0u64;
    let mut rest = mask;
    while rest != 0 {
        let offset = offsets[rest.trailing_zeros() as usize];
        rest &= rest - 1;
        let number = offset / ROW_BYTES;
        let words = (span << (offset % ROW_BYTES / 4)) as u32;
        let bit = 1 << (number % 64);
        let there = match listed & bit {
            0 => None,
            _ => list[from..].iter_mut().rev().find(|row| row.number == number),
        };
        match there {
            Some(row) => row.words |= words,
            None => list.push(Row { number, words }),
        }
        listed |= bit;
    }
    (from as u32, list.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn rows_and_words_are_those_of_the_bytes(
            random in proptest::array::uniform32(0..512u32),
            mask in any::<u32>().prop_filter("lanes", |mask| *mask != 0),
            log in 0..5u32,
        ) {
            let bytes = 1 << log;
            let offsets: Offsets = random.map(|place| place * bytes);
            let mut list = vec![Row { number: 3, words: 1 }];
            let (from, to) = list_rows(&offsets, mask, bytes, &mut list);
            prop_assert_eq!((from, to as usize), (1, list.len()));
            let lanes = || (0..32).filter(|lane| mask >> lane & 1 != 0);
            let touched = |unit: u32| -> BTreeSet<u32> {
                lanes().flat_map(|lane| (offsets[lane]..offsets[lane] + bytes).map(move |byte| byte / unit)).collect()
            };
            let numbers: Vec<u32> = list[1..].iter().map(|row| row.number).collect();
            let set: BTreeSet<u32> = numbers.iter().copied().collect();
            prop_assert_eq!(set.len(), numbers.len(), "each row once");
            prop_assert_eq!(set, touched(ROW_BYTES));
            let words: u32 = list[1..].iter().map(|row| row.words.count_ones()).sum();
            prop_assert_eq!(words as usize, touched(4).len());
        }
    }
}
