// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strings of bits, the first one in the highest bit of the first byte.

use super::{Garbled, LARGEST};
use crate::huffman::Codeword;

/// Bytes that the longest string takes: 64 escaped symbols of 36 bits, the pointers, and what aligns seven starts.
const CAPACITY: usize = 320;

/// An encoded block. It is written over and over, and never cleared.
#[derive(Clone, Debug)]
pub struct Encoded {
    bytes: [u8; CAPACITY],
    bits: usize,
}

impl Default for Encoded {
    fn default() -> Encoded {
        Encoded { bytes: [0; CAPACITY], bits: 0 }
    }
}

impl Encoded {
    /// Number of bits.
    #[inline]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The bytes that hold them; bits behind the last one are zero.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.bits.div_ceil(8)]
    }

    /// Overwrites bits in the middle, within a byte or two.
    pub(crate) fn patch(&mut self, at: usize, value: u32, bits: usize) {
        let place = self.bytes[at / 8..].first_chunk_mut::<4>().expect("they are in the middle");
        let shift = 32 - at % 8 - bits;
        let mask = (1 << bits) - 1;
        let patched = u32::from_be_bytes(*place) & !(mask << shift) | (value & mask) << shift;
        *place = patched.to_be_bytes();
    }
}

/// Writes an encoded block from its start.
pub(crate) struct Writer<'a> {
    out: &'a mut Encoded,
    /// Bytes written.
    at: usize,
    /// The last bits, right-aligned, fewer than 32.
    pending: u64,
    filled: u32,
}

impl<'a> Writer<'a> {
    #[inline]
    pub fn new(out: &'a mut Encoded) -> Writer<'a> {
        Writer { out, at: 0, pending: 0, filled: 0 }
    }

    /// Appends the lowest `bits` of a value, at most 32; the others have to be zero.
    #[inline(always)]
    pub fn put(&mut self, value: u32, bits: u32) {
        self.pending = self.pending << bits | u64::from(value);
        self.filled += bits;
        if self.filled >= 32 {
            self.filled -= 32;
            let word = (self.pending >> self.filled) as u32;
            if let Some(place) = self.out.bytes.get_mut(self.at..self.at + 4) {
                place.copy_from_slice(&word.to_be_bytes());
            }
            self.at += 4;
        }
    }

    /// Appends two codewords that have at most 32 bits together.
    #[inline(always)]
    pub fn put_both(&mut self, first: Codeword, second: Codeword) {
        self.put(first.bits << second.length | second.bits, first.length + second.length);
    }

    /// Bits written so far.
    #[inline]
    pub fn bits(&self) -> usize {
        8 * self.at + self.filled as usize
    }

    /// Appends zeros up to the next whole byte, and gives its number.
    #[inline]
    pub fn align(&mut self) -> usize {
        self.put(0, self.filled.wrapping_neg() % 8);
        self.bits() / 8
    }

    /// Writes what is left.
    #[inline]
    pub fn finish(self) {
        let bits = self.bits();
        let rest = (self.pending << (32 - self.filled)) as u32;
        if let Some(place) = self.out.bytes.get_mut(self.at..self.at + 4) {
            place.copy_from_slice(&rest.to_be_bytes());
        }
        self.out.bits = bits;
    }
}

/// The longest stored form, and zeros behind it: what is read from further behind is the last four of these bytes.
const READABLE: usize = LARGEST + 8;

/// Reads a string of bits; behind its end there are zeros.
pub(crate) struct Reader {
    bytes: [u8; READABLE],
    length: usize,
    /// The next bits, left-aligned, at least 32 of them, and the byte behind them.
    window: u64,
    left: u32,
    next: usize,
}

impl Reader {
    /// Of the stored bytes of a block.
    #[inline]
    pub fn new(stored: &[u8]) -> Result<Reader, Garbled> {
        let mut bytes = [0; READABLE];
        let place = bytes.get_mut(..stored.len()).filter(|_| stored.len() <= LARGEST);
        place.ok_or(Garbled)?.copy_from_slice(stored);
        let mut reader = Reader { bytes, length: stored.len(), window: 0, left: 0, next: 0 };
        reader.seek(0);
        Ok(reader)
    }

    /// Goes to a byte.
    #[inline]
    pub fn seek(&mut self, byte: usize) {
        (self.window, self.left, self.next) = (0, 0, byte);
        self.refill();
    }

    #[inline(always)]
    fn refill(&mut self) {
        let at = self.next.min(READABLE - 4);
        let bytes: [u8; 4] = self.bytes[at..at + 4].try_into().unwrap_or_default();
        self.window |= u64::from(u32::from_be_bytes(bytes)) << (32 - self.left);
        self.left += 32;
        self.next += 4;
    }

    /// The next 32 bits, which are not consumed.
    #[inline(always)]
    pub fn peek(&self) -> u32 {
        (self.window >> 32) as u32
    }

    /// Consumes at most 32 bits.
    #[inline(always)]
    pub fn skip(&mut self, bits: u32) {
        self.window <<= bits;
        self.left -= bits;
        if self.left < 32 {
            self.refill();
        }
    }

    /// The next bits, 1 to 32 of them.
    #[inline(always)]
    pub fn take(&mut self, bits: u32) -> u32 {
        let value = self.peek() >> (32 - bits);
        self.skip(bits);
        value
    }

    /// Nothing was read from behind the end.
    #[inline]
    pub fn check(&self) -> Result<(), Garbled> {
        if 8 * self.next - self.left as usize <= 8 * self.length { Ok(()) } else { Err(Garbled) }
    }
}
