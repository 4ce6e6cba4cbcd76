// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often each value of a symbol occurs.

use rustc_hash::FxHashMap;

use crate::block::words;

/// Length of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymbolBits {
    Four,
    Eight,
    Sixteen,
    ThirtyTwo,
}

impl SymbolBits {
    pub const ALL: [SymbolBits; 4] =
        [SymbolBits::Four, SymbolBits::Eight, SymbolBits::Sixteen, SymbolBits::ThirtyTwo];

    pub const fn bits(self) -> u32 {
        match self {
            SymbolBits::Four => 4,
            SymbolBits::Eight => 8,
            SymbolBits::Sixteen => 16,
            SymbolBits::ThirtyTwo => 32,
        }
    }

    /// Symbols of a 32-bit word.
    pub const fn per_word(self) -> usize {
        (32 / self.bits()) as usize
    }

    /// Whether every value has a codeword, with a code for each position in a word.
    pub const fn is_narrow(self) -> bool {
        self.bits() <= 8
    }

    /// Codes that there are.
    pub const fn trees(self) -> usize {
        if self.is_narrow() { self.per_word() } else { 1 }
    }

    /// The longest codeword, in bits.
    pub const fn longest(self) -> u32 {
        match self {
            SymbolBits::Four => 8,
            SymbolBits::Eight => 16,
            SymbolBits::Sixteen | SymbolBits::ThirtyTwo => 20,
        }
    }
}

/// How often each value occurs, by code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frequencies {
    width: SymbolBits,
    /// For all but the longest symbols: by code and value.
    dense: Vec<Vec<u64>>,
    /// For the longest.
    sparse: FxHashMap<u32, u64>,
    /// Of values that are not known one by one.
    rest: u64,
}

impl Frequencies {
    pub fn new(width: SymbolBits) -> Frequencies {
        let dense = if width == SymbolBits::ThirtyTwo {
            vec![]
        } else {
            vec![vec![0; 1 << width.bits()]; width.trees()]
        };
        Frequencies { width, dense, sparse: FxHashMap::default(), rest: 0 }
    }

    /// Of counts by code and value, for all but the longest symbols.
    pub(super) fn dense_of(width: SymbolBits, dense: Vec<Vec<u64>>) -> Frequencies {
        debug_assert!(
            dense.len() == width.trees() && dense.iter().all(|tree| tree.len() == 1 << width.bits())
        );
        Frequencies { width, dense, sparse: FxHashMap::default(), rest: 0 }
    }

    /// Of counts of the longest symbols.
    pub(super) fn sparse_of(sparse: FxHashMap<u32, u64>) -> Frequencies {
        Frequencies { width: SymbolBits::ThirtyTwo, dense: vec![], sparse, rest: 0 }
    }

    pub fn width(&self) -> SymbolBits {
        self.width
    }

    /// Counts the symbols of a block.
    #[inline]
    pub fn add(&mut self, block: &[u8]) {
        words(block).for_each(|word| self.add_word(word));
    }

    /// Counts the symbols of a block so many times.
    pub fn add_times(&mut self, block: &[u8], times: u64) {
        words(block).for_each(|word| self.count(word, times));
    }

    /// Counts the symbols of a word.
    #[inline]
    pub fn add_word(&mut self, word: u32) {
        self.count(word, 1);
    }

    #[inline]
    fn count(&mut self, word: u32, times: u64) {
        match self.width {
            SymbolBits::Four => self.count_dense::<4>(word, times),
            SymbolBits::Eight => self.count_dense::<8>(word, times),
            SymbolBits::Sixteen => self.count_dense::<16>(word, times),
            SymbolBits::ThirtyTwo => *self.sparse.entry(word).or_default() += times,
        }
    }

    /// Counts the symbols of a word, of a length that the compiler knows.
    #[inline]
    fn count_dense<const BITS: usize>(&mut self, word: u32, times: u64) {
        let trees = self.dense.len();
        for position in 0..32 / BITS {
            let symbol = (word >> (position * BITS)) as usize & ((1 << BITS) - 1);
            let tree = if trees == 1 { 0 } else { position };
            self.dense[tree][symbol] += times;
        }
    }

    /// Adds a count to a value of a code. False if there is no such value.
    pub fn note(&mut self, tree: usize, value: u32, count: u64) -> bool {
        if self.width == SymbolBits::ThirtyTwo {
            *self.sparse.entry(value).or_default() += count;
            return tree == 0;
        }
        let place = self.dense.get_mut(tree).and_then(|values| values.get_mut(value as usize));
        place.map(|place| *place += count).is_some()
    }

    /// So many values are going to be noted.
    pub(crate) fn expect(&mut self, values: usize) {
        if self.width == SymbolBits::ThirtyTwo {
            self.sparse.reserve(values);
        }
    }

    /// Adds a count to the values that are not known one by one.
    pub fn note_rest(&mut self, count: u64) {
        self.rest += count;
    }

    /// Adds what others counted of symbols of the same length.
    pub fn merge(&mut self, other: &Frequencies) {
        for (ours, theirs) in self.dense.iter_mut().zip(&other.dense) {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs);
        }
        for (&value, &count) in &other.sparse {
            *self.sparse.entry(value).or_default() += count;
        }
        self.rest += other.rest;
    }

    /// Values that occur in a code with their counts, in no order.
    fn occurring(&self, tree: usize) -> impl Iterator<Item = (u32, u64)> {
        let dense = self.dense.get(tree).map_or(&[][..], Vec::as_slice);
        let dense = (0..).zip(dense.iter().copied()).filter(|&(_, count)| count > 0);
        dense.chain(self.sparse.iter().map(|(&value, &count)| (value, count)))
    }

    /// Counts of the values of a code, in rows: the first value of each, and the counts from there on.
    pub(crate) fn rows(&self, tree: usize) -> impl Iterator<Item = (u32, &[u64])> {
        let dense = self.dense.get(tree).map(|counts| (0, counts.as_slice()));
        dense
            .into_iter()
            .chain(self.sparse.iter().map(|(&value, count)| (value, std::slice::from_ref(count))))
    }

    /// Values that occur in a code with their counts, the most frequent first, lower values first among equals.
    pub fn by_frequency(&self, tree: usize) -> Vec<(u32, u64)> {
        let mut all: Vec<(u32, u64)> = self.occurring(tree).collect();
        all.sort_unstable_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
        all
    }

    /// How often each value of a code of narrow symbols occurs.
    pub(crate) fn dense(&self, tree: usize) -> &[u64] {
        &self.dense[tree]
    }

    /// Counts of values that are not known one by one.
    pub fn rest(&self) -> u64 {
        self.rest
    }

    /// Symbols counted.
    pub fn total(&self) -> u64 {
        let dense: u64 = self.dense.iter().flatten().sum();
        dense + self.sparse.values().sum::<u64>() + self.rest
    }

    /// Shannon's bound: bits that a 32-bit word takes at least if symbols are encoded one by one with the best of all codes. With values that are not
    /// known one by one there is none, and 0 without symbols.
    pub fn entropy_of_a_word(&self) -> Option<f64> {
        let positions = self.width.per_word() / self.width.trees();
        let of_tree = |tree| {
            let counts = self.by_frequency(tree);
            let total = counts.iter().map(|&(_, count)| count).sum::<u64>() as f64;
            let bits = |&(_, count): &(u32, u64)| count as f64 / total * libm::log2(total / count as f64);
            counts.iter().map(bits).sum::<f64>()
        };
        (self.rest == 0).then(|| positions as f64 * (0..self.width.trees()).map(of_tree).sum::<f64>())
    }
}
