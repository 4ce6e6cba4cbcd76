// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of 32-bit words from which the frequencies of symbols of all lengths follow: two increments for a word, for the values of its halves, and
//! one in a map where symbols of 32 bits are wanted.

use rustc_hash::FxHashMap;

use super::{Frequencies, SymbolBits};
use crate::profile::{Collected, Profile};

type Half = Box<[u64; 1 << 16]>;

/// How often each value of a half of a word occurs, and each word if these are counted too.
pub struct WordCounts {
    low: Half,
    high: Half,
    words: Option<FxHashMap<u32, u64>>,
}

impl WordCounts {
    /// With or without the values of whole words.
    pub fn new(whole: bool) -> WordCounts {
        let half = || Half::try_from(vec![0; 1 << 16]).unwrap_or_else(|_| unreachable!("the length fits"));
        WordCounts { low: half(), high: half(), words: whole.then(FxHashMap::default) }
    }

    pub fn add(&mut self, words: &[u32]) {
        for &word in words {
            self.low[usize::from(word as u16)] += 1;
            self.high[usize::from((word >> 16) as u16)] += 1;
        }
        if let Some(counts) = &mut self.words {
            words.chunk_by(u32::eq).for_each(|run| *counts.entry(run[0]).or_default() += run.len() as u64);
        }
    }

    /// Frequencies of symbols of all lengths. Values of 32 bits are not known one by one unless they were counted.
    pub fn profile(&self, collected: Collected, of: &str) -> Profile {
        let bytes: Vec<Vec<u64>> =
            [&self.low, &self.high].into_iter().flat_map(|half| bytes_of(half)).collect();
        let nibbles = bytes.iter().flat_map(|byte| nibbles_of(byte)).collect();
        let halves = self.low.iter().zip(self.high.iter()).map(|(low, high)| low + high).collect();
        let words = match &self.words {
            Some(words) => Frequencies::sparse_of(words.clone()),
            None => {
                let mut frequencies = Frequencies::new(SymbolBits::ThirtyTwo);
                frequencies.note_rest(self.low.iter().sum());
                frequencies
            }
        };
        let frequencies = [
            Frequencies::dense_of(SymbolBits::Four, nibbles),
            Frequencies::dense_of(SymbolBits::Eight, bytes),
            Frequencies::dense_of(SymbolBits::Sixteen, vec![halves]),
            words,
        ];
        Profile { collected, of: of.to_owned(), frequencies }
    }
}

/// How often each value of the lower and of the upper byte occurs in values of 16 bits.
fn bytes_of(half: &[u64; 1 << 16]) -> [Vec<u64>; 2] {
    split(half, 256)
}

/// How often each value of the lower and of the upper four bits occurs in bytes.
fn nibbles_of(byte: &[u64]) -> [Vec<u64>; 2] {
    split(byte, 16)
}

/// Counts of the lower and of the upper part of values, each of which has so many values.
fn split(counts: &[u64], values: usize) -> [Vec<u64>; 2] {
    let mut lower = vec![0; values];
    let rows = counts.chunks_exact(values);
    let upper = rows.map(|row| {
        lower.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        row.iter().sum()
    });
    let upper = upper.collect();
    [lower, upper]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of several kinds: few values, values with equal halves, and all values.
    fn some_words() -> Vec<u32> {
        let mut random = 7u64;
        let words = (0..50_000).map(|i| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (random >> 32) as u32;
            match i / 64 % 4 {
                0 => value & 0x0f,
                1 => (value & 0xffff) * 0x0001_0001,
                2 => 0x3f80_0000,
                _ => value,
            }
        });
        words.collect()
    }

    #[test]
    fn derived_frequencies_are_those_of_a_direct_count() {
        let mut direct = Profile::new(Collected::LoadsStores, "words");
        let (mut whole, mut halves) = (WordCounts::new(true), WordCounts::new(false));
        for row in some_words().chunks(29) {
            row.iter().for_each(|&word| direct.add_word(word));
            whole.add(row);
            halves.add(row);
        }
        assert_eq!(whole.profile(Collected::LoadsStores, "words"), direct);
        let short = halves.profile(Collected::LoadsStores, "words");
        for width in [SymbolBits::Four, SymbolBits::Eight, SymbolBits::Sixteen] {
            assert_eq!(short.of_width(width), direct.of_width(width));
        }
        let long = short.of_width(SymbolBits::ThirtyTwo);
        assert_eq!((long.rest(), long.by_frequency(0).len()), (50_000, 0));
    }
}
