// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compressor's look-up table for symbols of 16 and 32 bits: a cache of eight ways that is indexed by the lowest bits of a symbol, seven for 1K
//! values (E2MC, section III-E). Values whose set is full have no place in it, however frequent they are.
//!
//! Which values have a place is decided here as in hardware ([`admitted`]); the host then finds those of 16 bits in a table of all of them, and those of
//! 32 bits by a hash, with fewer comparisons than there are ways.

use std::cmp::Reverse;

use super::Codeword;

/// Values that a set holds.
pub const WAYS: usize = 8;

/// Of some values with their counts, the ones that a table of `capacity` values takes, the most frequent first, lower values first among equals. Values
/// come as rows of counts, each with the number of its first value, in any order.
pub fn admitted<'a>(rows: impl Iterator<Item = (u32, &'a [u64])>, capacity: usize) -> Vec<(u32, u64)> {
    let sets = (capacity / WAYS).next_power_of_two();
    let mut table = Sets { ways: vec![Vec::with_capacity(WAYS); sets], least: vec![1; sets] };
    for (first, counts) in rows {
        let mut value = first;
        let head = counts.len().min(sets - (first as usize & (sets - 1)));
        let (head, rest) = counts.split_at(head);
        for run in std::iter::once(head).chain(rest.chunks(sets)) {
            table.offer_run(value, run);
            value = value.wrapping_add(run.len() as u32);
        }
    }
    let mut all: Vec<(u32, u64)> = table.ways.into_iter().flatten().collect();
    all.sort_unstable_by_key(rank);
    all.truncate(capacity);
    all
}

/// Who is more frequent comes first, then who is lower.
fn rank(&(value, count): &(u32, u64)) -> (Reverse<u64>, u32) {
    (Reverse(count), value)
}

/// Values by set.
struct Sets {
    /// Each set keeps the most frequent of its values, in order.
    ways: Vec<Vec<(u32, u64)>>,
    /// By set: the count of its last value, if it is full. A value that occurs less often has no place in it.
    least: Vec<u64>,
}

impl Sets {
    /// Takes values from one on as far as they have a place, each of which belongs to the set behind that of the one before it.
    #[inline(always)]
    fn offer_run(&mut self, first: u32, counts: &[u64]) {
        let start = first as usize & (self.least.len() - 1);
        let mut next = 0;
        // Most values are rarer than what their sets hold, or do not occur.
        while let Some(skipped) =
            counts[next..].iter().zip(&self.least[start + next..]).position(|(count, least)| count >= least)
        {
            next += skipped;
            self.offer(start + next, (first + next as u32, counts[next]));
            next += 1;
        }
    }

    #[inline(never)]
    fn offer(&mut self, number: usize, entry: (u32, u64)) {
        let set = &mut self.ways[number];
        if set.len() == WAYS {
            if rank(&entry) > rank(&set[WAYS - 1]) {
                return;
            }
            set.pop();
        }
        let place = set.partition_point(|other| rank(other) < rank(&entry));
        set.insert(place, entry);
        if set.len() == WAYS {
            self.least[number] = set[WAYS - 1].1;
        }
    }
}

/// Values of 16 bits.
const SHORT: usize = 1 << 16;

/// The codewords of some values.
#[derive(Clone, Debug)]
pub enum LookUp {
    /// By value of 16 bits: what is written for it.
    Direct(Box<[Written; SHORT]>),
    Hashed(Hashed),
}

impl LookUp {
    /// Of values of 16 or of 32 bits, given the prefix of those without a codeword.
    pub fn new(
        is_short: bool,
        escape: Codeword,
        entries: impl ExactSizeIterator<Item = (u32, Codeword)>,
    ) -> LookUp {
        if !is_short {
            return LookUp::Hashed(Hashed::new(entries));
        }
        let escaped: Vec<Written> = (0..SHORT as u64).map(|value| Written::escaped(escape, value)).collect();
        let mut words: Box<[Written; SHORT]> =
            escaped.try_into().unwrap_or_else(|_| unreachable!("the length fits"));
        for (value, word) in entries {
            words[value as usize % SHORT] = Written::of(word);
        }
        LookUp::Direct(words)
    }

    /// The codeword of a value, of no length if it has none.
    #[inline(always)]
    pub fn word(&self, value: u32) -> Codeword {
        match self {
            LookUp::Direct(words) => words[value as usize % SHORT].word(),
            LookUp::Hashed(hashed) => hashed.word(value),
        }
    }
}

/// What is written for a value: its codeword, or itself behind the escape prefix, above a byte with the length and a mark of what is escaped.
#[derive(Clone, Copy, Debug)]
pub struct Written(u64);

impl Written {
    const ESCAPED: u64 = 1 << 7;

    fn of(word: Codeword) -> Written {
        Written(u64::from(word.bits) << 8 | u64::from(word.length))
    }

    #[inline(always)]
    fn escaped(escape: Codeword, value: u64) -> Written {
        let bits = u64::from(escape.bits) << 16 | value;
        Written(bits << 8 | Written::ESCAPED | u64::from(escape.length + 16))
    }

    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0 >> 8
    }

    #[inline(always)]
    pub fn length(self) -> u32 {
        self.0 as u32 & 63
    }

    /// The codeword of the value, of no length if it has none.
    #[inline(always)]
    fn word(self) -> Codeword {
        match self.0 & Written::ESCAPED {
            0 => Codeword { bits: self.bits() as u32, length: self.length() },
            _ => Codeword::default(),
        }
    }
}

/// Codewords that are found by a hash.
#[derive(Clone, Debug)]
pub struct Hashed {
    /// Values and codewords by hash, or behind the place of the hash until one is found that is not in use: its codeword has no length.
    slots: Vec<(u32, Codeword)>,
    /// Slots − 1.
    mask: u32,
}

impl Hashed {
    fn new(entries: impl ExactSizeIterator<Item = (u32, Codeword)>) -> Hashed {
        let slots = (4 * entries.len()).next_power_of_two();
        let mut table = Hashed { slots: vec![(0, Codeword::default()); slots], mask: slots as u32 - 1 };
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

    #[inline(always)]
    pub fn word(&self, value: u32) -> Codeword {
        self.slots[self.find(value)].1
    }
}
