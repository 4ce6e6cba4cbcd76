// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warp register and the place where it is stored: 32 values of 32 bits, eight banks of 16 bytes (section 2.1 of Warped-Compression).

/// Threads of a warp.
pub const LANES: usize = 32;
/// Bytes in an entry of one bank.
pub const BANK_BYTES: usize = 16;
/// Banks that a warp register takes when it is not compressed.
pub const BANKS: usize = ENTRY_BYTES / BANK_BYTES;
/// Bytes of a warp register.
pub const ENTRY_BYTES: usize = LANES * 4;

/// One register of all threads of a warp; lane 0 is the first thread.
pub type Values = [u32; LANES];

/// The entry that a register has in its eight banks, lowest bank first. A compressed register fills it from the start, and what lies behind its
/// end is whatever was there before.
pub type Entry = [u8; ENTRY_BYTES];

/// Banks that have to be accessed for the first `bytes` of an entry.
#[inline]
pub const fn banks(bytes: usize) -> usize {
    bytes.div_ceil(BANK_BYTES)
}

/// Lanes as bytes, in the order in which bases and deltas of any size see them: little-endian.
#[inline(always)]
pub(crate) fn to_bytes(values: &Values) -> Entry {
    let mut bytes = [0; ENTRY_BYTES];
    for (to, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
        *to = value.to_le_bytes();
    }
    bytes
}

#[inline(always)]
pub(crate) fn from_bytes(bytes: &Entry) -> Values {
    let mut values = [0; LANES];
    for (value, from) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = u32::from_le_bytes(*from);
    }
    values
}

/// How wide a signed number is: below 2^n if and only if it fits n bits with its sign, because a bit is set where two neighbours differ.
/// The `or` of many tells how wide the widest is, with no comparison on the way.
macro_rules! width {
    ($signed:expr) => {{
        let signed = $signed;
        signed ^ (signed << 1)
    }};
}
pub(crate) use width;
