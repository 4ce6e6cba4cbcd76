// SPDX-License-Identifier: MIT OR Apache-2.0
//! The alternative that Warped-Compression weighs in section 5.2: every thread's register compressed on its own, so that threads of a diverged
//! warp can be written one by one.
//!
//! The paper gives no layout. Ours keeps 0, 1, 2 or 4 bytes of a value, sign-extended, which takes two bits a thread to tell, and
//! stores bytes by significance: the lowest byte of all lanes in banks 0 and 1, the next in 2 and 3, the upper ones in 4 to 7. So every byte
//! has its own place whatever its neighbours hold, and a bank is needed only if one of its sixteen lanes is that wide.

use crate::register::width;
use crate::{BANK_BYTES, Entry, LANES, Values};

/// How many bytes each lane keeps, as masks of lanes; each is a subset of the one before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Widths {
    /// Lanes that are not zero: they keep their lowest byte.
    low: u32,
    /// Lanes that keep the second byte.
    second: u32,
    /// Lanes that keep all four.
    upper: u32,
}

impl Widths {
    /// The widths of a register's values.
    #[inline]
    pub fn of(values: &Values) -> Widths {
        let mut widths = Widths::default();
        for (lane, &value) in values.iter().enumerate() {
            let size = width!(value);
            widths.low |= u32::from(size != 0) << lane;
            widths.second |= u32::from(size > 0xff) << lane;
            widths.upper |= u32::from(size > 0xffff) << lane;
        }
        widths
    }

    /// Bytes kept for a lane: 0, 1, 2 or 4.
    #[inline]
    pub fn bytes_of(&self, lane: usize) -> usize {
        let has = |mask: u32| (mask >> (lane % LANES) & 1) as usize;
        has(self.low) + has(self.second) + 2 * has(self.upper)
    }

    /// Bytes kept for all lanes, 0 to 128.
    #[inline]
    pub fn bytes(&self) -> usize {
        (self.low.count_ones() + self.second.count_ones() + 2 * self.upper.count_ones()) as usize
    }

    /// Banks that hold them, 0 to 8.
    #[inline]
    pub fn banks(&self) -> usize {
        self.bank_set().count_ones() as usize
    }

    /// The set of banks that hold them; bit 0 is the lowest bank.
    #[inline]
    pub fn bank_set(&self) -> u8 {
        let halves = |mask: u32| u8::from(mask as u16 != 0) | u8::from(mask >> BANK_BYTES != 0) << 1;
        halves(self.low) | halves(self.second) << 2 | (halves(self.upper) * 0b0101_0000)
    }

    /// The part of these widths that concerns `lanes`: what a diverged warp accesses.
    #[inline]
    pub fn only(&self, lanes: u32) -> Widths {
        Widths { low: self.low & lanes, second: self.second & lanes, upper: self.upper & lanes }
    }

    /// `lanes` get new values; the widths of the others stay as they are.
    #[inline]
    pub fn update(&mut self, values: &Values, lanes: u32) {
        let new = Widths::of(values);
        self.low = self.low & !lanes | new.low & lanes;
        self.second = self.second & !lanes | new.second & lanes;
        self.upper = self.upper & !lanes | new.upper & lanes;
    }

    /// Writes the values of `lanes`, and no byte that is not kept. The other lanes stay as they are.
    pub fn write(&mut self, values: &Values, lanes: u32, entry: &mut Entry) {
        self.update(values, lanes);
        let new = *self;
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            for (byte, kept) in values[lane].to_le_bytes().into_iter().take(new.bytes_of(lane)).enumerate() {
                entry[byte * LANES + lane] = kept;
            }
        }
    }

    /// The values of all lanes; bytes that are not kept do not count.
    pub fn read(&self, entry: &Entry) -> Values {
        std::array::from_fn(|lane| {
            let byte = |byte: usize| entry[byte * LANES + lane];
            match self.bytes_of(lane) {
                0 => 0,
                1 => byte(0) as i8 as u32,
                2 => i16::from_le_bytes([byte(0), byte(1)]) as u32,
                _ => u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]),
            }
        })
    }
}
