// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stored form: the base, then a delta for each chunk but the first, all little-endian (Warped-Compression, section 4 and Figure 6).

use super::Scheme;
use crate::register::{from_bytes, to_bytes};
use crate::{ENTRY_BYTES, Entry, Values};

/// A register that a scheme cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the register does not fit {scheme}: a chunk of {} B differs from the first by more than {} B hold; store it uncompressed",
    scheme.base(), scheme.delta()
)]
pub struct Misfit {
    pub scheme: Scheme,
}

macro_rules! base_delta {
    ($encode:ident, $decode:ident, $base:ty, $delta:ty) => {
        #[inline]
        fn $encode(values: &Values, entry: &mut Entry) {
            const BASE: usize = size_of::<$base>();
            let bytes = to_bytes(values);
            let (chunks, _) = bytes.as_chunks::<BASE>();
            let base = <$base>::from_le_bytes(chunks[0]);
            let (first, rest) = entry.split_at_mut(BASE);
            first.copy_from_slice(&chunks[0]);
            let (deltas, _) = rest.as_chunks_mut::<{ size_of::<$delta>() }>();
            for (delta, chunk) in deltas.iter_mut().zip(&chunks[1..]) {
                *delta = (<$base>::from_le_bytes(*chunk).wrapping_sub(base) as $delta).to_le_bytes();
            }
        }

        #[inline]
        fn $decode(entry: &Entry) -> Values {
            const BASE: usize = size_of::<$base>();
            let mut bytes = [0; ENTRY_BYTES];
            let (first, rest) = entry.split_at(BASE);
            bytes[..BASE].copy_from_slice(first);
            let (chunks, _) = bytes.as_chunks_mut::<BASE>();
            let base = <$base>::from_le_bytes(chunks[0]);
            let (deltas, _) = rest.as_chunks::<{ size_of::<$delta>() }>();
            for (chunk, delta) in chunks[1..].iter_mut().zip(deltas) {
                *chunk = base.wrapping_add(<$delta>::from_le_bytes(*delta) as $base).to_le_bytes();
            }
            from_bytes(&bytes)
        }
    };
}

base_delta!(encode_2_1, decode_2_1, u16, i8);
base_delta!(encode_4_1, decode_4_1, u32, i8);
base_delta!(encode_4_2, decode_4_2, u32, i16);
base_delta!(encode_8_1, decode_8_1, u64, i8);
base_delta!(encode_8_2, decode_8_2, u64, i16);
base_delta!(encode_8_4, decode_8_4, u64, i32);

/// A base without deltas is every chunk.
#[inline]
fn decode_base<const BASE: usize>(entry: &Entry) -> Values {
    let mut bytes = [0; ENTRY_BYTES];
    let base = entry.as_chunks::<BASE>().0[0];
    bytes.as_chunks_mut::<BASE>().0.fill(base);
    from_bytes(&bytes)
}

impl Scheme {
    /// Stores a register: writes the first [`Scheme::bytes`] of the entry and leaves the others alone. If the register does not fit,
    /// the entry stays as it was.
    #[inline]
    pub fn encode(self, values: &Values, entry: &mut Entry) -> Result<(), Misfit> {
        if !self.fits(values) {
            return Err(Misfit { scheme: self });
        }
        match self {
            Scheme::B1D0 | Scheme::B4D0 | Scheme::B8D0 => {
                entry[..self.base()].copy_from_slice(&to_bytes(values)[..self.base()]);
            }
            Scheme::B2D1 => encode_2_1(values, entry),
            Scheme::B4D1 => encode_4_1(values, entry),
            Scheme::B4D2 => encode_4_2(values, entry),
            Scheme::B8D1 => encode_8_1(values, entry),
            Scheme::B8D2 => encode_8_2(values, entry),
            Scheme::B8D4 => encode_8_4(values, entry),
        }
        Ok(())
    }

    /// The register that [`Scheme::encode`] stored. Any bytes are some register; those behind [`Scheme::bytes`] do not count.
    #[inline]
    pub fn decode(self, entry: &Entry) -> Values {
        match self {
            Scheme::B1D0 => decode_base::<1>(entry),
            Scheme::B4D0 => decode_base::<4>(entry),
            Scheme::B8D0 => decode_base::<8>(entry),
            Scheme::B2D1 => decode_2_1(entry),
            Scheme::B4D1 => decode_4_1(entry),
            Scheme::B4D2 => decode_4_2(entry),
            Scheme::B8D1 => decode_8_1(entry),
            Scheme::B8D2 => decode_8_2(entry),
            Scheme::B8D4 => decode_8_4(entry),
        }
    }
}
