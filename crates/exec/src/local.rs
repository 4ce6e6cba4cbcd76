// SPDX-License-Identifier: MIT OR Apache-2.0
//! Local memory of a warp: word by word, the 32 lanes side by side, as the hardware interleaves it. Lanes that use the same
//! offset, as spills and frames do, move one row.

use crate::lanes::Row;
use crate::port::Shape;
use crate::rows::{RowBuf, lanes_of};

pub(crate) struct LocalMemory {
    words: RowBuf,
    /// Range of words written so far.
    low: usize,
    high: usize,
}

impl LocalMemory {
    pub(crate) fn new(bytes: u32) -> LocalMemory {
        LocalMemory { words: RowBuf::zeroed(bytes.div_ceil(4) as usize), low: usize::MAX, high: 0 }
    }

    pub(crate) fn clear(&mut self) {
        if self.low < self.high {
            self.words[self.low..self.high].fill(Row([0; 32]));
        }
        (self.low, self.high) = (usize::MAX, 0);
    }

    /// Bytes each lane has.
    pub(crate) fn bytes(&self) -> u32 {
        4 * self.words.len() as u32
    }

    /// Reads the shape at each lane's offset, which must be in bounds and aligned.
    pub(crate) fn load(&self, offsets: &[u32; 32], mask: u32, shape: Shape, dst: *mut Row) {
        match shape {
            Shape::Words(words) => {
                let same = same_offset(offsets, mask);
                for word in 0..usize::from(words) {
                    // SAFETY: the caller's destination spans the words of the shape.
                    let out = unsafe { &mut (*dst.add(word)).0 };
                    match same {
                        Some(at) => {
                            let from = &self.words[at as usize / 4 + word].0;
                            if mask == !0 {
                                *out = *from;
                            } else {
                                lanes_of(mask).for_each(|lane| out[lane] = from[lane]);
                            }
                        }
                        None => lanes_of(mask).for_each(|lane| {
                            out[lane] = self.words[offsets[lane] as usize / 4 + word].0[lane]
                        }),
                    }
                }
            }
            Shape::Narrow { bytes, count, signed } => {
                for lane in lanes_of(mask) {
                    for element in 0..usize::from(count) {
                        let value =
                            self.narrow(lane, offsets[lane] + (element * usize::from(bytes)) as u32, bytes);
                        let unused = 32 - 8 * u32::from(bytes);
                        let value = if signed { ((value << unused) as i32 >> unused) as u32 } else { value };
                        // SAFETY: as above.
                        unsafe { (*dst.add(element)).0[lane] = value };
                    }
                }
            }
        }
    }

    fn narrow(&self, lane: usize, at: u32, bytes: u8) -> u32 {
        let word = self.words[at as usize / 4].0[lane] >> (8 * (at % 4));
        if bytes == 1 { word & 0xff } else { word & 0xffff }
    }

    /// Writes the shape at each lane's offset, which must be in bounds and aligned. True if anything changed.
    pub(crate) fn store(&mut self, offsets: &[u32; 32], mask: u32, shape: Shape, src: *const Row) -> bool {
        let mut changed = 0;
        match shape {
            Shape::Words(words) => {
                for word in 0..usize::from(words) {
                    // SAFETY: the caller's source spans the words of the shape.
                    let data = unsafe { &(*src.add(word)).0 };
                    match same_offset(offsets, mask) {
                        Some(at) => {
                            let to = &mut self.words[at as usize / 4 + word].0;
                            if mask == !0 {
                                changed |= u32::from(to != data);
                                *to = *data;
                            } else {
                                for lane in lanes_of(mask) {
                                    changed |= to[lane] ^ data[lane];
                                    to[lane] = data[lane];
                                }
                            }
                            self.touch(at as usize / 4 + word);
                        }
                        None => {
                            for lane in lanes_of(mask) {
                                let at = offsets[lane] as usize / 4 + word;
                                changed |= self.words[at].0[lane] ^ data[lane];
                                self.words[at].0[lane] = data[lane];
                                self.touch(at);
                            }
                        }
                    }
                }
            }
            Shape::Narrow { bytes, count, .. } => {
                let keep = if bytes == 1 { 0xff } else { 0xffff };
                for lane in lanes_of(mask) {
                    for element in 0..usize::from(count) {
                        let at = offsets[lane] as usize + element * usize::from(bytes);
                        let shift = 8 * (at as u32 % 4);
                        // SAFETY: as above.
                        let value = unsafe { (*src.add(element)).0[lane] } & keep;
                        let word = &mut self.words[at / 4].0[lane];
                        let new = *word & !(keep << shift) | value << shift;
                        changed |= *word ^ new;
                        *word = new;
                        self.touch(at / 4);
                    }
                }
            }
        }
        changed != 0
    }

    fn touch(&mut self, word: usize) {
        self.low = self.low.min(word);
        self.high = self.high.max(word + 1);
    }

    /// One byte of one lane, if there is such a byte.
    pub(crate) fn byte(&self, lane: usize, at: u32) -> Option<u8> {
        let word = self.words.get(at as usize / 4)?.0[lane];
        Some((word >> (8 * (at % 4))) as u8)
    }
}

/// The offset that all lanes of the mask share.
#[inline(always)]
fn same_offset(offsets: &[u32; 32], mask: u32) -> Option<u32> {
    let first = offsets[(mask.trailing_zeros() & 31) as usize];
    let mut different = 0;
    for (lane, at) in offsets.iter().enumerate() {
        different |= (at ^ first) & (mask >> lane & 1).wrapping_neg();
    }
    (different == 0).then_some(first)
}
