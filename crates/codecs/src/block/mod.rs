// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks of memory and how they are stored: 32, 64 or 128 bytes in, a string of bits out, and back.
//!
//! An encoder writes the bits that memory would hold. Their number is the compressed size; nothing else computes one.

pub mod bdi;
mod bits;
pub mod cpack;
pub mod fpc;

use std::sync::Arc;

pub use bits::Encoded;
pub(crate) use bits::{Reader, Writer};

/// The largest block, in bytes.
pub const LARGEST: usize = 128;

/// Block sizes that all codecs take, in bytes.
pub const SIZES: [usize; 3] = [32, 64, LARGEST];

/// Bits that no encoder wrote for a block of this size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the stored bits are not an encoded block")]
pub struct Garbled;

/// A codec for blocks of memory.
pub trait BlockCodec: Send + Sync {
    /// Encodes a block. False when the encoded form would not be smaller than the block, which is then to be stored as it is;
    /// `out` holds nothing of use then.
    fn encode(&self, block: &[u8], out: &mut Encoded) -> bool;

    /// Decodes what [`BlockCodec::encode`] wrote for a block of the same size. Any bytes give some block or are refused.
    fn decode(&self, stored: &[u8], block: &mut [u8]) -> Result<(), Garbled>;
}

/// A codec that several users share.
impl<C: BlockCodec + ?Sized> BlockCodec for Arc<C> {
    fn encode(&self, block: &[u8], out: &mut Encoded) -> bool {
        (**self).encode(block, out)
    }

    fn decode(&self, stored: &[u8], block: &mut [u8]) -> Result<(), Garbled> {
        (**self).decode(stored, block)
    }
}

/// The 32-bit words of a block.
pub(crate) fn words(block: &[u8]) -> impl Iterator<Item = u32> + '_ {
    block.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word))
}

/// Places for the 32-bit words of a block.
pub(crate) fn words_mut(block: &mut [u8]) -> &mut [[u8; 4]] {
    block.as_chunks_mut::<4>().0
}
