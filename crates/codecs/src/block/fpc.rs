// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequent-pattern compression (Alameldeen and Wood, 2004): each 32-bit word as a prefix of three bits and as much as its pattern needs.

use super::{BlockCodec, Encoded, Garbled, Reader, Writer, words, words_mut};

/// Patterns by their prefix, with the bits that follow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Up to eight words of zeros; their number less one follows.
    Zeros,
    /// A number of 4 bits, sign-extended.
    Nibble,
    /// A byte, sign-extended.
    Byte,
    /// A halfword, sign-extended.
    Half,
    /// The upper half; the lower one is zero.
    UpperHalf,
    /// Two halfwords, each a sign-extended byte.
    TwoBytes,
    /// The same byte four times.
    Repeated,
    /// Anything.
    Raw,
}

const LONGEST_RUN: u32 = 8;

impl Pattern {
    pub const ALL: [Pattern; 8] = [
        Pattern::Zeros,
        Pattern::Nibble,
        Pattern::Byte,
        Pattern::Half,
        Pattern::UpperHalf,
        Pattern::TwoBytes,
        Pattern::Repeated,
        Pattern::Raw,
    ];

    /// Bits behind the prefix.
    pub fn bits(self) -> u32 {
        [3, 4, 8, 16, 16, 16, 8, 32][self as usize]
    }

    /// The pattern of a word with the fewest bits, the first of several.
    #[inline]
    pub fn of(word: u32) -> Pattern {
        let fits = |bits: u32| (word.wrapping_add(1 << (bits - 1))) >> bits == 0;
        let half_fits = |half: u16| half.wrapping_add(0x80) >> 8 == 0;
        if word == 0 {
            Pattern::Zeros
        } else if fits(4) {
            Pattern::Nibble
        } else if fits(8) {
            Pattern::Byte
        } else if word == (word & 0xff) * 0x0101_0101 {
            Pattern::Repeated
        } else if fits(16) {
            Pattern::Half
        } else if word & 0xffff == 0 {
            Pattern::UpperHalf
        } else if half_fits(word as u16) && half_fits((word >> 16) as u16) {
            Pattern::TwoBytes
        } else {
            Pattern::Raw
        }
    }
}

/// The codec.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fpc;

impl BlockCodec for Fpc {
    fn encode(&self, block: &[u8], out: &mut Encoded) -> bool {
        let mut to = Writer::new(out);
        let mut zeros = 0;
        for word in words(block) {
            let pattern = Pattern::of(word);
            if pattern == Pattern::Zeros && zeros < LONGEST_RUN {
                zeros += 1;
                continue;
            }
            if zeros > 0 {
                to.put(zeros - 1, 6);
                zeros = 0;
            }
            if pattern == Pattern::Zeros {
                zeros = 1;
                continue;
            }
            let data = match pattern {
                Pattern::UpperHalf => word >> 16,
                Pattern::TwoBytes => word >> 8 & 0xff00 | word & 0xff,
                Pattern::Raw => word,
                _ => word & ((1 << pattern.bits()) - 1),
            };
            to.put(pattern as u32, 3);
            to.put(data, pattern.bits());
        }
        if zeros > 0 {
            to.put(zeros - 1, 6);
        }
        to.finish();
        out.bits() < 8 * block.len()
    }

    fn decode(&self, stored: &[u8], block: &mut [u8]) -> Result<(), Garbled> {
        let mut from = Reader::new(stored)?;
        let mut places = words_mut(block).iter_mut();
        while let Some(place) = places.next() {
            let pattern = Pattern::ALL[from.take(3) as usize];
            let data = from.take(pattern.bits());
            let word = match pattern {
                Pattern::Zeros => {
                    for _ in 0..data {
                        *places.next().ok_or(Garbled)? = [0; 4];
                    }
                    0
                }
                Pattern::Nibble => ((data << 28) as i32 >> 28) as u32,
                Pattern::Byte => data as i8 as u32,
                Pattern::Half => data as i16 as u32,
                Pattern::UpperHalf => data << 16,
                Pattern::TwoBytes => u32::from((data >> 8) as i8 as u16) << 16 | u32::from(data as i8 as u16),
                Pattern::Repeated => data * 0x0101_0101,
                Pattern::Raw => data,
            };
            *place = word.to_le_bytes();
        }
        from.check()
    }
}
