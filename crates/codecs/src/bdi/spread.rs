// SPDX-License-Identifier: MIT OR Apache-2.0
//! How wide a register's deltas are: what the subtractors and sign comparators of the compressor find out (Warped-Compression, Figure 7).

use crate::Values;
use crate::register::{to_bytes, width};

macro_rules! spread_of {
    ($name:ident, $chunk:ty) => {
        /// The `or` of the widths of all chunks' wrapping differences to the first: below 2^n if and only if all of them fit n bits.
        #[inline(always)]
        pub(super) fn $name(values: &Values) -> $chunk {
            let bytes = to_bytes(values);
            let (chunks, _) = bytes.as_chunks::<{ size_of::<$chunk>() }>();
            let base = <$chunk>::from_le_bytes(chunks[0]);
            let difference = |chunk: &_| <$chunk>::from_le_bytes(*chunk).wrapping_sub(base);
            chunks.iter().fold(0, |spread, chunk| spread | width!(difference(chunk)))
        }
    };
}

spread_of!(spread_1, u8);
spread_of!(spread_2, u16);
spread_of!(spread_4, u32);
spread_of!(spread_8, u64);

/// The spread over chunks of `base` bytes: 1, 2, 4 or 8.
#[inline]
pub(super) fn spread(values: &Values, base: usize) -> u64 {
    match base {
        1 => u64::from(spread_1(values)),
        2 => u64::from(spread_2(values)),
        4 => u64::from(spread_4(values)),
        _ => spread_8(values),
    }
}
