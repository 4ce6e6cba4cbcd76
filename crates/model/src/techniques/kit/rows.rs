// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shadow of registers: the rows of 32 lanes that a technique holds, by the entry where it holds them. What is read through it is
//! compared with the warp's registers.

use warpwatt_exec::lanes::Row;

use crate::register_file::Mismatch;

/// Rows by entry, with the lanes that were ever written.
pub struct RowShadow {
    rows: Vec<[u32; 32]>,
    defined: Vec<u32>,
    /// A bit is to be flipped, in the first row that is read.
    flip: bool,
}

impl RowShadow {
    pub fn new(entries: usize, inject: bool) -> RowShadow {
        RowShadow { rows: vec![[0; 32]; entries], defined: vec![0; entries], flip: inject }
    }

    /// Nothing is stored in an entry any more.
    pub fn forget(&mut self, entry: usize) {
        self.defined[entry] = 0;
    }

    /// Lanes of a register are written.
    pub fn store(&mut self, entry: usize, values: &Row, lanes: u32) {
        for (lane, (word, value)) in self.rows[entry].iter_mut().zip(&values.0).enumerate() {
            if lanes >> lane & 1 != 0 {
                *word = *value;
            }
        }
        self.defined[entry] |= lanes;
    }

    /// Compares the lanes of an entry that were ever written with what the register holds.
    pub fn check(&mut self, entry: usize, values: &Row, register: u8) -> Option<Mismatch> {
        let defined = self.defined[entry];
        if self.flip && defined != 0 {
            self.rows[entry][defined.trailing_zeros() as usize] ^= 1;
            self.flip = false;
        }
        let row = &self.rows[entry];
        let lane = (0..32).find(|&lane| defined >> lane & 1 != 0 && row[lane] != values.0[lane])?;
        Some(Mismatch { register, lane: lane as u8, given: values.0[lane], stored: row[lane] })
    }

    /// A bit was to be flipped, and nothing has been read that has one.
    pub fn fault_is_pending(&self) -> bool {
        self.flip
    }
}
