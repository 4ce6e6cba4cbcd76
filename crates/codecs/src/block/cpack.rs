// SPDX-License-Identifier: MIT OR Apache-2.0
//! C-Pack (Chen and others, IEEE Transactions on VLSI 18, 2010): each 32-bit word by a static pattern, or by its likeness to one of the last sixteen
//! words of the block that were like none before.
//!
//! | code | word | bits |
//! |---|---|---|
//! | 00 | zero | 2 |
//! | 01 | anything | 34 |
//! | 10 | equals an entry of the dictionary | 6 |
//! | 1100 | its upper half is that of an entry | 24 |
//! | 1101 | three zero bytes above any byte | 12 |
//! | 1110 | its upper three bytes are those of an entry | 16 |
//!
//! The dictionary is empty at the start of each block. Words that are looked up in it and do not equal an entry are entered, over the oldest
//! when it is full.

use super::{BlockCodec, Encoded, Garbled, Reader, Writer, words, words_mut};

const ENTRIES: usize = 16;

/// The last words that were entered. Their halves are apart, so that the host compares those of all entries at once.
#[derive(Default)]
struct Dictionary {
    upper: [u16; ENTRIES],
    lower: [u16; ENTRIES],
    entered: usize,
}

/// Entries that are like a word, a bit each: the same, of the same upper three bytes, and of the same upper half.
struct Alike {
    whole: u32,
    three: u32,
    half: u32,
}

impl Dictionary {
    #[inline(always)]
    fn find(&self, word: u32) -> Alike {
        let (upper, lower) = ((word >> 16) as u16, word as u16);
        let there = (1 << self.entered.min(ENTRIES)) - 1;
        let half = equal(&self.upper, upper) & there;
        if half == 0 {
            return Alike { whole: 0, three: 0, half };
        }
        let bytes = self.lower.map(|entry| (entry ^ lower) >> 8);
        Alike { whole: equal(&self.lower, lower) & half, three: equal(&bytes, 0) & half, half }
    }

    #[inline(always)]
    fn enter(&mut self, word: u32) {
        let place = self.entered % ENTRIES;
        (self.upper[place], self.lower[place]) = ((word >> 16) as u16, word as u16);
        self.entered += 1;
    }

    #[inline(always)]
    fn get(&self, at: u32) -> Result<u32, Garbled> {
        let at = at as usize;
        if at < self.entered.min(ENTRIES) {
            Ok(u32::from(self.upper[at]) << 16 | u32::from(self.lower[at]))
        } else {
            Err(Garbled)
        }
    }
}

/// Which halves equal one, a bit each.
#[inline(always)]
fn equal(halves: &[u16; ENTRIES], one: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            __m128i, _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
        };
        let (first, second) = halves.split_at(ENTRIES / 2);
        // SAFETY: each of them has eight halves, which are 16 bytes, and every host of this kind has these instructions.
        unsafe {
            let one = _mm_set1_epi16(one.cast_signed());
            let first = _mm_cmpeq_epi16(_mm_loadu_si128(first.as_ptr().cast::<__m128i>()), one);
            let second = _mm_cmpeq_epi16(_mm_loadu_si128(second.as_ptr().cast::<__m128i>()), one);
            _mm_movemask_epi8(_mm_packs_epi16(first, second)).cast_unsigned()
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    equal_plainly(halves, one)
}

/// [`equal`] without vector instructions.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn equal_plainly(halves: &[u16; ENTRIES], one: u16) -> u32 {
    (0..).zip(halves).fold(0, |equal, (at, &half)| equal | u32::from(half == one) << at)
}

/// The codec.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CPack;

impl BlockCodec for CPack {
    fn encode(&self, block: &[u8], out: &mut Encoded) -> bool {
        let mut to = Writer::new(out);
        let mut dictionary = Dictionary::default();
        for word in words(block) {
            if word == 0 {
                to.put(0b00, 2);
                continue;
            }
            if word <= 0xff {
                to.put(0b1101 << 8 | word, 12);
                continue;
            }
            let Alike { whole, three, half } = dictionary.find(word);
            if whole != 0 {
                to.put(0b10 << 4 | whole.trailing_zeros(), 6);
                continue;
            }
            if three != 0 {
                to.put((0b1110 << 4 | three.trailing_zeros()) << 8 | word & 0xff, 16);
            } else if half != 0 {
                to.put((0b1100 << 4 | half.trailing_zeros()) << 16 | word & 0xffff, 24);
            } else {
                to.put(0b01, 2);
                to.put(word, 32);
            }
            dictionary.enter(word);
        }
        to.finish();
        out.bits() < 8 * block.len()
    }

    fn decode(&self, stored: &[u8], block: &mut [u8]) -> Result<(), Garbled> {
        let mut from = Reader::new(stored)?;
        let mut dictionary = Dictionary::default();
        for place in words_mut(block) {
            let (word, new) = match from.take(2) {
                0b00 => (0, false),
                0b01 => (from.take(32), true),
                0b10 => (dictionary.get(from.take(4))?, false),
                _ => match from.take(2) {
                    0b00 => (dictionary.get(from.take(4))? & !0xffff | from.take(16), true),
                    0b01 => (from.take(8), false),
                    0b10 => (dictionary.get(from.take(4))? & !0xff | from.take(8), true),
                    _ => return Err(Garbled),
                },
            };
            if new {
                dictionary.enter(word);
            }
            *place = word.to_le_bytes();
        }
        from.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_compared_at_once_as_one_by_one() {
        let mut halves = [0u16; ENTRIES];
        for (step, one) in
            (0u16..2000).map(|step| (usize::from(step), (step.wrapping_mul(0x9e37) % 5).wrapping_mul(0x4001)))
        {
            halves[step % ENTRIES] = one;
            for other in [0, one, 0x4001, 0x8002, 0xc003] {
                assert_eq!(equal(&halves, other), equal_plainly(&halves, other));
            }
        }
    }
}
