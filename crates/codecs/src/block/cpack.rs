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

/// The last words that were entered.
#[derive(Default)]
struct Dictionary {
    entries: [u32; ENTRIES],
    entered: usize,
}

impl Dictionary {
    #[inline]
    fn find(&self, same: impl Fn(u32) -> bool) -> Option<u32> {
        self.entries[..self.entered.min(ENTRIES)].iter().position(|&entry| same(entry)).map(|at| at as u32)
    }

    #[inline]
    fn enter(&mut self, word: u32) {
        self.entries[self.entered % ENTRIES] = word;
        self.entered += 1;
    }

    #[inline]
    fn get(&self, at: u32) -> Result<u32, Garbled> {
        self.entries[..self.entered.min(ENTRIES)].get(at as usize).copied().ok_or(Garbled)
    }
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
            if let Some(at) = dictionary.find(|entry| entry == word) {
                to.put(0b10 << 4 | at, 6);
                continue;
            }
            if let Some(at) = dictionary.find(|entry| entry >> 8 == word >> 8) {
                to.put((0b1110 << 4 | at) << 8 | word & 0xff, 16);
            } else if let Some(at) = dictionary.find(|entry| entry >> 16 == word >> 16) {
                to.put((0b1100 << 4 | at) << 16 | word & 0xffff, 24);
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
