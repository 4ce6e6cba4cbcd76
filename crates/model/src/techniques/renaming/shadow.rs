// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shadow of the register file: the bytes that it holds.

use warpwatt_codecs::Values;
use warpwatt_codecs::packing::{Change, Mapping, Slices};

use crate::register_file::Mismatch;

pub struct Shadow {
    entries: usize,
    /// By bank and entry.
    stored: Vec<Slices>,
    /// By slot and register: lanes that were written since it has a place.
    defined: Vec<u32>,
    /// A bit is to be flipped, in the first register that is read.
    flip: bool,
}

impl Shadow {
    pub fn new(banks: usize, entries: usize, registers: usize, flip: bool) -> Shadow {
        Shadow {
            entries,
            stored: vec![Slices::default(); banks * entries],
            defined: vec![0; registers],
            flip,
        }
    }

    fn at(&mut self, place: Mapping) -> &mut Slices {
        &mut self.stored[usize::from(place.bank) * self.entries + usize::from(place.entry)]
    }

    /// Forgets a register that lost its place.
    pub fn forget(&mut self, register: usize) {
        self.defined[register] = 0;
    }

    /// Lanes of a register are written to its place. Where that has changed, the other lanes are put there too, as they were stored.
    pub fn store(&mut self, register: usize, place: Mapping, change: Change, values: &Values, lanes: u32) {
        match change {
            Change::Moved(old) | Change::Resized(old) => {
                let kept = self.at(old).unpack(old.mask);
                self.at(place).pack(place.mask, &kept, !lanes);
            }
            Change::Placed => self.defined[register] = 0,
            Change::None => {}
        }
        self.at(place).pack(place.mask, values, lanes);
        self.defined[register] |= lanes;
    }

    /// Reads a register from its place, and compares the lanes that were written with what they should be.
    pub fn check(&mut self, index: usize, place: Mapping, values: &Values, register: u8) -> Option<Mismatch> {
        let defined = self.defined[index];
        if self.flip && defined != 0 {
            let lowest = place.mask.trailing_zeros() as usize;
            self.at(place).0[lowest][defined.trailing_zeros() as usize] ^= 1;
            self.flip = false;
        }
        let read = self.at(place).unpack(place.mask);
        let lane = (0..32).find(|&lane| defined >> lane & 1 != 0 && read[lane] != values[lane])?;
        Some(Mismatch { register, lane: lane as u8, given: values[lane], stored: read[lane] })
    }

    /// A bit was to be flipped, and nothing has been read that has one.
    pub fn fault_is_pending(&self) -> bool {
        self.flip
    }
}
