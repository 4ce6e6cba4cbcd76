// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that lanes anywhere touch, with the host's vector instructions (AVX2): line by line instead of lane by lane, since each line takes far more
//! afterwards than to be found here, and most instructions touch fewer lines than they have lanes.

use std::arch::x86_64::*;

use warpwatt_exec::lanes::vectors::{TO_THE_TOP, VECTORS, all, load};

use super::coalesce::{Line, Offsets, span};
use crate::net::LINE_BYTES;

const LINE_SHIFT: i32 = LINE_BYTES.trailing_zeros().cast_signed();

/// Adds the lines, in the order of the first lane that touches each. Lanes are aligned to what they move, `bytes`, so that each is on one line; `start`
/// is a multiple of the line size.
#[inline]
#[target_feature(enable = "avx2")]
pub fn by_line(start: u64, offsets: &Offsets, mask: u32, bytes: u32, lines: &mut Vec<Line>) {
    debug_assert!(start.is_multiple_of(LINE_BYTES));
    // Numbers of the lines, and the words of them that active lanes touch.
    let (mut numbers, mut words) = ([_mm256_setzero_si256(); VECTORS], [_mm256_setzero_si256(); VECTORS]);
    let (span, active, within) = (all(span(bytes) as u32), all(mask), all(31));
    for vector in 0..VECTORS {
        let offset = load(offsets, vector);
        let word = _mm256_sllv_epi32(span, _mm256_and_si256(_mm256_srli_epi32(offset, 2), within));
        let bits = _mm256_sllv_epi32(active, load(&TO_THE_TOP.0, vector));
        numbers[vector] = _mm256_srli_epi32(offset, LINE_SHIFT);
        words[vector] = _mm256_and_si256(word, _mm256_srai_epi32(bits, 31));
    }
    let in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    let mut rest = mask;
    while rest != 0 {
        let number = offsets[rest.trailing_zeros() as usize % 32] >> LINE_SHIFT;
        let (line, mut equal) = (all(number), numbers);
        let mut touched = _mm256_setzero_si256();
        for vector in 0..VECTORS {
            equal[vector] = _mm256_cmpeq_epi32(equal[vector], line);
            touched = _mm256_or_si256(touched, _mm256_and_si256(equal[vector], words[vector]));
        }
        let [a, b, c, d] = equal;
        let bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        rest &= !_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(bytes, in_order)).cast_unsigned();
        let half = _mm_or_si128(_mm256_castsi256_si128(touched), _mm256_extracti128_si256(touched, 1));
        let two = _mm_or_si128(half, _mm_unpackhi_epi64(half, half));
        let words = (_mm_cvtsi128_si64(two) | _mm_cvtsi128_si64(two) >> 32) as u32;
        lines.push(Line { address: start + (u64::from(number) << LINE_SHIFT), words, rounds: 1 });
    }
}
