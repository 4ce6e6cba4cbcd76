// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of the 32 lanes of a warp as vectors of the host (AVX2).

use std::arch::x86_64::*;

use super::Row;

/// Lanes of one vector, and vectors of a warp.
const EIGHT: usize = 8;
pub const VECTORS: usize = 4;

/// By lane: how far to the left its bit of a mask is from the highest.
pub static TO_THE_TOP: Row = {
    let mut shifts = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        shifts[lane] = 31 - lane as u32;
        lane += 1;
    }
    Row(shifts)
};

/// The same word in each lane of a vector.
///
/// # Safety
/// The host must have AVX2, unless the caller is compiled for it.
#[inline]
#[target_feature(enable = "avx2")]
pub fn all(value: u32) -> __m256i {
    _mm256_set1_epi32(value.cast_signed())
}

/// The words of one of the vectors.
///
/// # Safety
/// The host must have AVX2, unless the caller is compiled for it.
#[inline]
#[target_feature(enable = "avx2")]
pub fn load(from: &[u32; 32], vector: usize) -> __m256i {
    debug_assert!(vector < VECTORS);
    // SAFETY: each of the four vectors is inside.
    unsafe { _mm256_loadu_si256(from.as_ptr().add(vector % VECTORS * EIGHT).cast()) }
}

/// Writes the words of one of the vectors.
///
/// # Safety
/// The host must have AVX2, unless the caller is compiled for it.
#[inline]
#[target_feature(enable = "avx2")]
pub fn store(to: &mut [u32; 32], vector: usize, values: __m256i) {
    debug_assert!(vector < VECTORS);
    // SAFETY: each of the four vectors is inside.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().add(vector % VECTORS * EIGHT).cast(), values) }
}
