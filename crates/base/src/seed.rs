// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small, fast, seedable generator (SplitMix64) for inputs and tests: the same numbers on every host.

/// What a draw adds to the state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The generator as it is after this many draws, so that many of them can be made at once.
    #[inline]
    pub fn after(&self, draws: u64) -> Self {
        SplitMix64(self.0.wrapping_add(draws.wrapping_mul(STEP)))
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Uniform in `0..bound`; `bound` must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Uniform in `[0, 1)` with 24 random bits.
    #[inline]
    pub fn unit_f32(&mut self) -> f32 {
        // Vectors of signed numbers become floats in one instruction.
        (self.next_u32() >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
    }

    pub fn chance(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }
}
