// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compressor's look-up table for symbols of 16 and 32 bits: a cache of eight ways that is indexed by the lowest bits of a symbol, seven for 1K
//! values (E2MC, section III-E). Values whose set is full have no place in it, however frequent they are.

use super::Codeword;

/// Values that a set holds.
pub const WAYS: usize = 8;

#[derive(Clone, Debug)]
pub struct LookUp {
    /// Values and their codewords by set; what is not in use has no length, and comes last.
    values: Vec<[u32; WAYS]>,
    words: Vec<[Codeword; WAYS]>,
    mask: u32,
}

/// The most frequent values that a table of `capacity` values takes, in the order given.
pub fn admitted(by_frequency: impl Iterator<Item = u32>, capacity: usize) -> Vec<u32> {
    let sets = sets(capacity);
    let mut used = vec![0; sets];
    let takes = |value: &u32| {
        let set = &mut used[*value as usize % sets];
        *set += usize::from(*set < WAYS + 1);
        *set <= WAYS
    };
    by_frequency.filter(takes).take(capacity).collect()
}

/// Sets of a table, a power of two.
fn sets(capacity: usize) -> usize {
    (capacity / WAYS).next_power_of_two()
}

impl LookUp {
    pub fn new(capacity: usize, entries: impl Iterator<Item = (u32, Codeword)>) -> LookUp {
        let sets = sets(capacity);
        let mut table = LookUp {
            values: vec![[0; WAYS]; sets],
            words: vec![[Codeword::default(); WAYS]; sets],
            mask: sets as u32 - 1,
        };
        for (value, word) in entries {
            let set = (value & table.mask) as usize;
            if let Some(way) = table.words[set].iter().position(|word| word.length == 0) {
                table.values[set][way] = value;
                table.words[set][way] = word;
            }
        }
        table
    }

    /// The codeword of a value, of no length if it has none.
    #[inline(always)]
    pub fn word(&self, value: u32) -> Codeword {
        let set = (value & self.mask) as usize;
        let found = self.values[set]
            .iter()
            .enumerate()
            .fold(0u32, |found, (way, &entry)| found | u32::from(entry == value) << way);
        // Of several the first: unused entries hold zeros, behind the one that is in use.
        if found == 0 { Codeword::default() } else { self.words[set][found.trailing_zeros() as usize % WAYS] }
    }
}
