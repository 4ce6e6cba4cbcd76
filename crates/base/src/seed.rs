// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small, fast, seedable generator (SplitMix64) for inputs and tests: the same numbers on every host.

/// What a draw adds to the state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// What the state is multiplied by, one after the other.
const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(FACTORS[0]);
        z = (z ^ (z >> 27)).wrapping_mul(FACTORS[1]);
        z ^ (z >> 31)
    }

    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Draws as many numbers as there are words, each as [`SplitMix64::next_u32`] would.
    pub fn fill(&mut self, words: &mut [u32]) {
        let mut rest = words;
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            let (eights, few) = rest.as_chunks_mut();
            // SAFETY: the host has the instructions.
            unsafe { avx2::fill(&mut self.0, eights) };
            rest = few;
        }
        rest.iter_mut().for_each(|word| *word = self.next_u32());
    }

    /// Uniform in `0..bound`; `bound` must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        below(self.next_u32(), bound)
    }

    /// Uniform in `[0, 1)` with 24 random bits.
    #[inline]
    pub fn unit_f32(&mut self) -> f32 {
        unit_f32(self.next_u32())
    }

    pub fn chance(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }
}

/// [`SplitMix64::below`] of a number that was drawn.
#[inline]
pub fn below(word: u32, bound: u32) -> u32 {
    ((u64::from(word) * u64::from(bound)) >> 32) as u32
}

/// [`SplitMix64::unit_f32`] of a number that was drawn.
#[inline]
pub fn unit_f32(word: u32) -> f32 {
    // Vectors of signed numbers become floats in one instruction.
    (word >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{FACTORS, STEP};

    #[target_feature(enable = "avx2")]
    pub fn fill(state: &mut u64, words: &mut [[u32; 8]]) {
        let at = |draw: u64| state.wrapping_add(draw.wrapping_mul(STEP)) as i64;
        // The numbers in turn, so that their high halves can be put side by side.
        let mut odd = _mm256_setr_epi64x(at(1), at(3), at(5), at(7));
        let mut even = _mm256_setr_epi64x(at(2), at(4), at(6), at(8));
        let step = _mm256_set1_epi64x(STEP.wrapping_mul(8) as i64);
        for eight in &mut *words {
            let low = _mm256_srli_epi64::<32>(mixed(odd));
            let both = _mm256_blend_epi32::<0b1010_1010>(low, mixed(even));
            // SAFETY: eight words are as long as the vector.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), both) };
            odd = _mm256_add_epi64(odd, step);
            even = _mm256_add_epi64(even, step);
        }
        *state = state.wrapping_add((8 * words.len() as u64).wrapping_mul(STEP));
    }

    #[target_feature(enable = "avx2")]
    fn mixed(z: __m256i) -> __m256i {
        let z = times(_mm256_xor_si256(z, _mm256_srli_epi64::<30>(z)), FACTORS[0]);
        let z = times(_mm256_xor_si256(z, _mm256_srli_epi64::<27>(z)), FACTORS[1]);
        _mm256_xor_si256(z, _mm256_srli_epi64::<31>(z))
    }

    /// A product of 64 bits from those of halves.
    #[target_feature(enable = "avx2")]
    fn times(a: __m256i, b: u64) -> __m256i {
        let (low, high) = (_mm256_set1_epi64x(b as u32 as i64), _mm256_set1_epi64x((b >> 32) as i64));
        let crossed =
            _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64::<32>(a), low), _mm256_mul_epu32(a, high));
        _mm256_add_epi64(_mm256_mul_epu32(a, low), _mm256_slli_epi64::<32>(crossed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_numbers_at_once_are_those_one_by_one() {
        let (mut one, mut many) = (SplitMix64::new(11), SplitMix64::new(11));
        for count in [3, 8, 1001, 64] {
            let mut words = vec![0; count];
            many.fill(&mut words);
            assert!(words.iter().all(|word| *word == one.next_u32()));
        }
    }
}
