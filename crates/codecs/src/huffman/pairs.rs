// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two neighbouring symbols of 4 bits at a time: their codewords joined for the encoder, and a table that gives both symbols to the decoder.
//!
//! The bits are those of the two codes one after the other; only the number of look-ups differs.

use super::code::{Code, Codeword};

/// Joined codewords up to this length are decoded by one look at a table.
const QUICK_BITS: u32 = 12;

#[derive(Clone, Debug)]
pub struct Pair {
    /// By the byte that the symbols make, the first one in its lower half.
    words: Vec<Codeword>,
    /// By the first bits: length and byte; 0 if the two codewords together are longer.
    quick: Vec<u16>,
}

impl Pair {
    /// Of the codes of the first and of the second symbol.
    pub fn new(first: &Code, second: &Code) -> Pair {
        let mut words = Vec::with_capacity(256);
        let mut quick = vec![0; 1 << QUICK_BITS];
        for byte in 0..256 {
            let (one, other) = (first.word(byte & 15), second.word(byte >> 4));
            let word =
                Codeword { bits: one.bits << other.length | other.bits, length: one.length + other.length };
            if word.length <= QUICK_BITS {
                let shift = QUICK_BITS - word.length;
                let range = (word.bits as usize) << shift..(word.bits as usize + 1) << shift;
                quick[range].fill((word.length << 8 | byte) as u16);
            }
            words.push(word);
        }
        Pair { words, quick }
    }

    /// The joined codewords of the two symbols of a byte, at most 16 bits.
    #[inline(always)]
    pub fn word(&self, byte: u32) -> Codeword {
        self.words[(byte & 255) as usize]
    }

    /// The byte whose codewords these 32 bits start with, and their length; `None` if they are too long for the table, or none.
    #[inline(always)]
    pub fn decode(&self, window: u32) -> Option<(u32, u32)> {
        let found = u32::from(self.quick[(window >> (32 - QUICK_BITS)) as usize]);
        (found != 0).then_some((found & 255, found >> 8))
    }
}
