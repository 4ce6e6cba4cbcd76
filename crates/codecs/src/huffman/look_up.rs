// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compressor's look-up table for symbols of 16 and 32 bits: a cache of eight ways that is indexed by the lowest bits of a symbol, seven for 1K
//! values (E2MC, section III-E). Values whose set is full have no place in it, however frequent they are.
//!
//! Which values have a place is decided here as in hardware ([`admitted`]); the host then finds them by a hash, with fewer comparisons than there are ways.

use std::cmp::Reverse;

use super::Codeword;

/// Values that a set holds.
pub const WAYS: usize = 8;

/// Of some values with their counts, the ones that a table of `capacity` values takes, the most frequent first, lower values first among equals.
pub fn admitted(values: impl Iterator<Item = (u32, u64)>, capacity: usize) -> Vec<(u32, u64)> {
    let sets = (capacity / WAYS).next_power_of_two();
    let rank = |&(value, count): &(u32, u64)| (Reverse(count), value);
    // Each set keeps the most frequent of its values, in order.
    let mut table: Vec<Vec<(u32, u64)>> = vec![Vec::with_capacity(WAYS); sets];
    // By set: the count of its last value, if it is full. Most values are rarer.
    let mut least = vec![0; sets];
    // Not a loop: a chain of two sources is gone through faster from inside.
    values.for_each(|entry| {
        let number = entry.0 as usize & (sets - 1);
        if entry.1 < least[number] {
            return;
        }
        let set = &mut table[number];
        if set.len() == WAYS {
            if rank(&entry) > rank(&set[WAYS - 1]) {
                return;
            }
            set.pop();
        }
        let place = set.partition_point(|other| rank(other) < rank(&entry));
        set.insert(place, entry);
        if set.len() == WAYS {
            least[number] = set[WAYS - 1].1;
        }
    });
    let mut all: Vec<(u32, u64)> = table.into_iter().flatten().collect();
    all.sort_unstable_by_key(rank);
    all.truncate(capacity);
    all
}

/// The codewords of some values.
#[derive(Clone, Debug)]
pub struct LookUp {
    /// Values and codewords by hash, or behind the place of the hash until one is found that is not in use: its codeword has no length.
    slots: Vec<(u32, Codeword)>,
    /// Slots − 1.
    mask: u32,
}

impl LookUp {
    pub fn new(entries: impl ExactSizeIterator<Item = (u32, Codeword)>) -> LookUp {
        let slots = (4 * entries.len()).next_power_of_two();
        let mut table = LookUp { slots: vec![(0, Codeword::default()); slots], mask: slots as u32 - 1 };
        for (value, word) in entries {
            let place = table.find(value);
            table.slots[place] = (value, word);
        }
        table
    }

    /// The slot of a value, or the one that is free for it.
    #[inline(always)]
    fn find(&self, value: u32) -> usize {
        let mut place = value.wrapping_mul(0x9e37_79b1) >> 16 ^ value;
        loop {
            let slot = (place & self.mask) as usize;
            let (found, word) = self.slots[slot];
            if found == value || word.length == 0 {
                return slot;
            }
            place = place.wrapping_add(1);
        }
    }

    /// The codeword of a value, of no length if it has none.
    #[inline(always)]
    pub fn word(&self, value: u32) -> Codeword {
        self.slots[self.find(value)].1
    }
}
