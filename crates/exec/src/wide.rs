// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offsets of the lanes of a warp, checked against bounds, and how they lie, with the host's vector instructions (AVX2): the compiler would test each
//! lane's bounds by itself, and compares neighbours one by one. Tests compare them with the plain ways.
//!
//! # Safety of all functions
//! The host must have AVX2. They are inlined into callers that are compiled for it.

use std::arch::x86_64::*;

use crate::access::Bounds;
use crate::lanes::vectors::{TO_THE_TOP, VECTORS, all, load, store};
use crate::machine::Offsets;
use crate::port::Spread;

/// Offsets of words side by side.
static WORDS: Offsets = {
    let mut words = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        words[lane] = 4 * lane as u32;
        lane += 1;
    }
    Offsets(words)
};

/// The values of active lanes, 0 for the others.
#[inline]
#[target_feature(enable = "avx2")]
fn active(values: __m256i, mask: __m256i, vector: usize) -> __m256i {
    let tops = _mm256_sllv_epi32(mask, load(&TO_THE_TOP.0, vector));
    let zeros = _mm256_castsi256_ps(_mm256_setzero_si256());
    _mm256_castps_si256(_mm256_blendv_ps(zeros, _mm256_castsi256_ps(values), _mm256_castsi256_ps(tops)))
}

/// What offsets have in common, as far as bounds are concerned.
#[derive(Clone, Copy)]
struct Extent {
    bits: __m256i,
    highest: __m256i,
    beyond: __m256i,
}

impl Extent {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn none() -> Extent {
        let zeros = _mm256_setzero_si256();
        Extent { bits: zeros, highest: zeros, beyond: zeros }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn with(self, offsets: __m256i) -> Extent {
        Extent {
            bits: _mm256_or_si256(self.bits, offsets),
            highest: _mm256_max_epu32(self.highest, offsets),
            ..self
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn with_beyond(self, beyond: __m256i) -> Extent {
        Extent { beyond: _mm256_or_si256(self.beyond, beyond), ..self }
    }

    /// Whether all offsets are aligned, not too high, and nothing is beyond.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn keeps_to(self, bounds: Bounds) -> bool {
        let last = all(bounds.last);
        let odd = _mm256_and_si256(self.bits, all(bounds.odd));
        let high = _mm256_xor_si256(_mm256_max_epu32(self.highest, last), last);
        let wrong = _mm256_or_si256(_mm256_or_si256(odd, high), self.beyond);
        _mm256_testz_si256(wrong, wrong) != 0
    }
}

/// Offsets of 32-bit addresses plus a constant, and whether those of all active lanes keep to the bounds.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn offsets32(address: &[u32; 32], add: u32, mask: u32, bounds: Bounds, out: &mut Offsets) -> bool {
    let (add, mut extent) = (all(add), Extent::none());
    if mask == !0 {
        for vector in 0..VECTORS {
            let sums = _mm256_add_epi32(load(address, vector), add);
            store(&mut out.0, vector, sums);
            extent = extent.with(sums);
        }
    } else {
        let mask = all(mask);
        for vector in 0..VECTORS {
            let sums = _mm256_add_epi32(load(address, vector), add);
            store(&mut out.0, vector, sums);
            extent = extent.with(active(sums, mask, vector));
        }
    }
    extent.keeps_to(bounds)
}

/// Offsets of 64-bit addresses, low and high words, from `start` on, and whether those of all active lanes keep to the bounds, where no address in bounds
/// has another high word than `start`.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn offsets64(
    (low, high): (&[u32; 32], &[u32; 32]),
    start: u64,
    mask: u32,
    bounds: Bounds,
    out: &mut Offsets,
) -> bool {
    let (from, top, mut extent) = (all(start as u32), all((start >> 32) as u32), Extent::none());
    if mask == !0 {
        for vector in 0..VECTORS {
            let offsets = _mm256_sub_epi32(load(low, vector), from);
            store(&mut out.0, vector, offsets);
            extent = extent.with(offsets).with_beyond(_mm256_xor_si256(load(high, vector), top));
        }
    } else {
        let mask = all(mask);
        for vector in 0..VECTORS {
            let offsets = _mm256_sub_epi32(load(low, vector), from);
            store(&mut out.0, vector, offsets);
            let beyond = _mm256_xor_si256(load(high, vector), top);
            extent = extent.with(active(offsets, mask, vector)).with_beyond(active(beyond, mask, vector));
        }
    }
    extent.keeps_to(bounds)
}

/// [`Spread::of`].
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn spread(offsets: &[u32; 32], mask: u32, bytes: u32) -> Spread {
    if mask != !0 || bytes != 4 {
        return Spread::Unknown;
    }
    let (low, high) = (offsets[0], offsets[16]);
    match offsets[1].wrapping_sub(low) {
        4 if in_halves::<true>(offsets) => Spread::of_rows(high.wrapping_sub(low)),
        0 if in_halves::<false>(offsets) => Spread::of_places(high.wrapping_sub(low)),
        _ => Spread::Scattered,
    }
}

/// Whether words of each half of the lanes are side by side (`ROWS`), or in one place.
#[inline]
#[target_feature(enable = "avx2")]
fn in_halves<const ROWS: bool>(offsets: &[u32; 32]) -> bool {
    let mut strays = _mm256_setzero_si256();
    for vector in 0..VECTORS {
        let mut expected = all(offsets[vector / 2 * 16]);
        if ROWS {
            expected = _mm256_add_epi32(expected, load(&WORDS.0, vector % 2));
        }
        strays = _mm256_or_si256(strays, _mm256_xor_si256(load(offsets, vector), expected));
    }
    _mm256_testz_si256(strays, strays) != 0
}

/// Whether 64-bit addresses, low and high words, are those of words side by side with a high word.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn are_side_by_side((low, high): (&[u32; 32], &[u32; 32]), top: u32) -> bool {
    let (first, top, mut strays) = (all(low[0]), all(top), _mm256_setzero_si256());
    for vector in 0..VECTORS {
        let expected = _mm256_add_epi32(first, load(&WORDS.0, vector));
        strays = _mm256_or_si256(strays, _mm256_xor_si256(load(low, vector), expected));
        strays = _mm256_or_si256(strays, _mm256_xor_si256(load(high, vector), top));
    }
    _mm256_testz_si256(strays, strays) != 0
}

#[cfg(test)]
mod tests {
    use warpwatt_base::SplitMix64;

    use super::*;
    use crate::access;
    use crate::lanes::Row;

    #[test]
    fn offsets_and_spreads_equal_those_of_the_plain_twins() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let mut random = SplitMix64::new(17);
        let (mut fitting, mut spreads, mut runs) = ([0; 2], [0; 6], [0; 2]);
        for round in 0..40_000 {
            let bytes = [1, 2, 4, 4, 4, 8, 16][random.below(7) as usize];
            let mask = [!0, !0, !0, 0xffff, random.next_u64() as u32 | 1][random.below(5) as usize];
            let len = u64::from(bytes + random.below(4096));
            let guest: u64 = [1 << 33, 0x7_ffff_ff00, 0x100_0000_1000][random.below(3) as usize];
            let (step, halves) = ([0, 4, 4, 8][random.below(4) as usize], random.below(3));
            let origin = u64::from(random.below(512) * 4);
            let mut rows = [const { Row([0; 32]) }; 2];
            for lane in 0..32u32 {
                let within = if halves == 0 { lane } else { lane % 16 };
                let mut at = origin + u64::from(within * step + lane / 16 * 64 * (halves / 2));
                if random.below(200) == 0 {
                    at += u64::from(random.below(9000));
                }
                if random.below(400) == 0 {
                    at = at.wrapping_sub(1 << 32);
                }
                let address = guest.wrapping_add(at);
                (rows[0].0[lane as usize], rows[1].0[lane as usize]) =
                    (address as u32, (address >> 32) as u32);
            }
            let off = [0, 16, -16i64 as u64][random.below(3) as usize];
            let (mut wide, mut plain) = (Offsets([0; 32]), Offsets([0; 32]));
            // SAFETY: the host has AVX2; both rows are there.
            let (found, expected) = unsafe {
                let limits = (bytes, len);
                let found = access::offsets64_wide(rows.as_ptr(), off, guest, mask, limits, &mut wide);
                let add = off.wrapping_sub(guest);
                (found, access::offsets64(rows.as_ptr(), add, mask, limits, &mut plain))
            };
            assert_eq!((found, wide.0), (expected, plain.0), "round {round}");
            fitting[usize::from(found)] += 1;
            let (mut wide, mut plain) = (Offsets([0; 32]), Offsets([0; 32]));
            let (add, limits) = ((off as u32).wrapping_sub(guest as u32), (bytes, len));
            // SAFETY: as above.
            let (found, expected) = unsafe {
                let bounds = Bounds::new(bytes, len).expect("a length that one fits in");
                let found = offsets32(&rows[0].0, add, mask, bounds, &mut wide);
                (found, access::offsets32(rows.as_ptr(), add, mask, limits, &mut plain))
            };
            assert_eq!((found, wide.0), (expected, plain.0), "round {round}");
            // SAFETY: as above.
            let spread = unsafe { spread(&wide.0, mask, bytes) };
            assert_eq!(spread, Spread::of(&wide.0, mask, bytes), "round {round}");
            spreads[spread as usize] += 1;
            let (low, high, top) = (&rows[0].0, &rows[1].0, (guest >> 32) as u32);
            let is_run = (0..32).all(|lane| low[lane] == low[0].wrapping_add(4 * lane as u32))
                && high.iter().all(|&word| word == top);
            // SAFETY: as above.
            assert_eq!(unsafe { are_side_by_side((low, high), top) }, is_run, "round {round}");
            runs[usize::from(is_run)] += 1;
        }
        // Each case comes often enough to mean something.
        let all = fitting.iter().chain(&spreads).chain(&runs);
        assert!(all.copied().all(|count| count > 100), "{fitting:?} {spreads:?} {runs:?}");
    }
}
