// SPDX-License-Identifier: MIT OR Apache-2.0
//! The width detection unit (section 6).
//!
//! For each of the three upper bytes of a value, the unit ORs the byte's seven lower bits and the upper bit of the byte below, and NANDs the same
//! bits for negative values; the sign chooses. A second stage ORs what came of all lanes. A byte that is not needed so is nothing but a copy of the
//! sign, and the bit below it is the sign too, so that what is left is the value when its sign is extended.

use crate::{LANES, Values};

/// The bit of each lane.
const BITS: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Bytes that every lane of a register needs, 1 to 4, for the widest of some lanes. Other lanes count as 0.
#[inline(always)]
pub fn width(values: &Values, lanes: u32) -> u8 {
    // Inverted where it is negative, a value has the same OR as its NAND.
    let spread = |value: u32| value ^ (value.cast_signed() >> 31).cast_unsigned();
    let bits = if lanes == u32::MAX {
        let (first, others) = values.split_at(LANES / 4);
        let bits = first.iter().fold(0, |bits, &value| bits | spread(value));
        // Most registers are wide, and then almost all lanes are.
        if bits >> 23 != 0 {
            return 4;
        }
        others.iter().fold(bits, |bits, &value| bits | spread(value))
    } else {
        // A comparison of words, not a shift, so that the host does several lanes at once.
        let active = |bit: u32| if lanes & bit == bit { u32::MAX } else { 0 };
        values.iter().zip(&BITS).fold(0, |bits, (&value, &bit)| bits | spread(value) & active(bit))
    };
    // A bit of byte k or the upper bit of the byte below it: bits 8k − 1 to 8k + 6. The uppermost bit is never set.
    4 - (bits.leading_zeros() - 1) as u8 / 8
}

/// What is left of a value in so many bytes, its sign extended.
#[inline]
pub fn narrow(value: u32, width: u8) -> u32 {
    let shift = 32 - 8 * u32::from(width.clamp(1, 4));
    ((value << shift).cast_signed() >> shift).cast_unsigned()
}
