// SPDX-License-Identifier: MIT OR Apache-2.0
//! The draws that input generators need, on top of the project's seeded generator.

use warpwatt_base::SplitMix64;
use warpwatt_base::seed::{below, unit_f32};

use crate::wide::wide;

/// Uniform numbers in a roughly normal one.
const DRAWS: usize = 12;

/// Numbers that are drawn ahead: many at once take less time than one by one.
const AHEAD: usize = 64;
/// Numbers that are kept when others are drawn: more than are left when there are too few for a normal one.
const KEPT: usize = 16;
const END: usize = KEPT + AHEAD;

pub struct Rng {
    source: SplitMix64,
    /// Drawn, and those from `next` on not used yet.
    words: [u32; END],
    next: usize,
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng { source: SplitMix64::new(seed), words: [0; END], next: END }
    }

    #[inline]
    fn word(&mut self) -> u32 {
        if self.next == END {
            self.draw();
        }
        let word = self.words[self.next];
        self.next += 1;
        word
    }

    /// Draws more numbers, behind the few that are left.
    #[inline(never)]
    fn draw(&mut self) {
        debug_assert!(self.next >= AHEAD, "{} of {END} were used", self.next);
        self.words.copy_within(AHEAD.., 0);
        self.source.fill(&mut self.words[KEPT..]);
        self.next -= AHEAD;
    }

    /// As many draws as there are words.
    fn fill(&mut self, words: &mut [u32]) {
        let (drawn, others) = words.split_at_mut(words.len().min(END - self.next));
        drawn.copy_from_slice(&self.words[self.next..][..drawn.len()]);
        self.next += drawn.len();
        self.source.fill(others);
    }

    /// A number below `bound`, which is not 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        below(self.word(), bound)
    }

    /// A number from `low` up to but not including `high`, which lies above it.
    #[inline]
    pub fn int(&mut self, low: i32, high: i32) -> i32 {
        low + self.below(high.abs_diff(low)) as i32
    }

    /// From 0 up to but not including 1.
    #[inline]
    pub fn unit(&mut self) -> f32 {
        unit_f32(self.word())
    }

    #[inline]
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Roughly normal with mean 0 and deviation 1: the sum of twelve uniform numbers (Irwin-Hall).
    pub fn bell(&mut self) -> f32 {
        if END - self.next < DRAWS {
            self.draw();
        }
        let Some(words) = self.words[self.next..].first_chunk::<DRAWS>() else {
            unreachable!("as many were drawn")
        };
        self.next += DRAWS;
        // As sums of `unit_f32` would be rounded: a power of two changes none of the digits.
        words.map(|word| (word >> 8) as i32 as f32).iter().sum::<f32>() * (1.0 / 16_777_216.0) - 6.0
    }

    /// As many of them.
    pub fn bells(&mut self, count: usize) -> Vec<f32> {
        let mut bells = Vec::with_capacity(count);
        let (mut words, mut units) = ([0; 16 * DRAWS], [0.0f32; 16 * DRAWS]);
        while bells.len() < count {
            let draws = DRAWS * (count - bells.len()).min(16);
            self.fill(&mut words[..draws]);
            wide(|| units.iter_mut().zip(&words).for_each(|(to, word)| *to = unit_f32(*word)));
            let (each, _) = units[..draws].as_chunks::<DRAWS>();
            bells.extend(each.iter().map(|units| units.iter().sum::<f32>() - 6.0));
        }
        bells
    }

    pub fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        self.many(count, |word| low + (high - low) * unit_f32(word))
    }

    pub fn ints(&mut self, count: usize, low: i32, high: i32) -> Vec<i32> {
        self.many(count, |word| low + below(word, high.abs_diff(low)) as i32)
    }

    /// Values of as many draws.
    fn many<T: Copy + Default>(&mut self, count: usize, value: impl Fn(u32) -> T) -> Vec<T> {
        let mut values = vec![T::default(); count];
        let mut words = [0; 256];
        for values in values.chunks_mut(words.len()) {
            self.fill(&mut words[..values.len()]);
            wide(|| values.iter_mut().zip(&words).for_each(|(to, word)| *to = value(*word)));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut rng = Rng::new(1);
        let ints = rng.ints(1000, -2, 3);
        assert_eq!(ints.iter().min(), Some(&-2));
        assert_eq!(ints.iter().max(), Some(&2));
        assert!(rng.floats(1000, 0.0, 1.0).iter().all(|x| (0.0..1.0).contains(x)));
    }

    #[test]
    fn many_draws_at_once_are_those_one_by_one() {
        let (mut one, mut many) = (Rng::new(9), Rng::new(9));
        let floats: Vec<f32> = (0..101).map(|_| one.float(-3.0, 5.0)).collect();
        assert_eq!(many.floats(101, -3.0, 5.0), floats);
        let ints: Vec<i32> = (0..23).map(|_| one.int(-7, 1000)).collect();
        assert_eq!(many.ints(23, -7, 1000), ints);
        let bells: Vec<f32> = (0..39).map(|_| one.bell()).collect();
        assert_eq!(many.bells(39), bells);
        assert_eq!(many.unit(), one.unit());
    }

    #[test]
    fn numbers_drawn_ahead_are_those_of_the_generator() {
        let (mut rng, mut plain) = (Rng::new(5), SplitMix64::new(5));
        for round in 0..100 {
            assert_eq!(rng.below(1000), plain.below(1000));
            assert_eq!(rng.unit(), plain.unit_f32());
            let bell = (0..DRAWS).map(|_| plain.unit_f32()).sum::<f32>() - 6.0;
            assert_eq!(rng.bell(), bell);
            let ints: Vec<i32> = (0..round).map(|_| plain.below(9) as i32).collect();
            assert_eq!(rng.ints(round, 0, 9), ints);
        }
    }

    #[test]
    fn the_bell_has_mean_zero_and_deviation_one() {
        let mut rng = Rng::new(3);
        let draws: Vec<f32> = (0..10_000).map(|_| rng.bell()).collect();
        let mean = draws.iter().sum::<f32>() / 10_000.0;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "mean {mean}, variance {variance}");
    }
}
