// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes of an entry: four slices of one byte for each lane (section 4.3; interleaved over sub-banks as in Figure 10 C). The packer shifts a
//! register to its slices and writes only these; the unpacker shifts it down again and extends the sign (section 6).

use super::width::narrow;
use crate::{LANES, Values};

/// One entry of the register file, slice by slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slices(pub [[u8; LANES]; 4]);

impl Default for Slices {
    fn default() -> Slices {
        Slices([[0; LANES]; 4])
    }
}

impl Slices {
    /// Writes some lanes of a register to its slices. Its lowest byte goes to the lowest of them.
    pub fn pack(&mut self, mask: u8, values: &Values, lanes: u32) {
        for (byte, slice) in members(mask).enumerate() {
            for (lane, (stored, value)) in self.0[slice].iter_mut().zip(values).enumerate() {
                if lanes >> lane & 1 != 0 {
                    *stored = value.to_le_bytes()[byte];
                }
            }
        }
    }

    /// Reads a register from its slices.
    pub fn unpack(&self, mask: u8) -> Values {
        let width = mask.count_ones() as u8;
        std::array::from_fn(|lane| {
            let bytes = members(mask).enumerate();
            let value =
                bytes.fold(0, |value, (byte, slice)| value | u32::from(self.0[slice][lane]) << (8 * byte));
            narrow(value, width)
        })
    }
}

/// The slices of a mask, lowest first.
fn members(mask: u8) -> impl Iterator<Item = usize> {
    (0..4).filter(move |slice| mask >> slice & 1 != 0)
}
