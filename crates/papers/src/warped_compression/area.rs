// SPDX-License-Identifier: MIT OR Apache-2.0
//! Area of the units, as a count of library cells (section 6.1, Figure 7). Wiring and gaps between cells are not in it.
//!
//! A compressor subtracts the base from 32 lanes, compares the sign bits of each difference, and keeps a register of a warp between two
//! cycles. A decompressor adds the base to 31 lanes, and selects each bit from the four ways in which a register can be stored.

use crate::paper::Findings;

/// Cells of the 45 nm NanGate open cell library, part of FreePDK45: drive strength 1, in square micrometres.
mod cell {
    pub const FULL_ADDER: f64 = 4.256;
    pub const INVERTER: f64 = 0.532;
    pub const XOR2: f64 = 1.596;
    pub const MUX2: f64 = 1.862;
    pub const FLIP_FLOP: f64 = 4.522;
}

const LANES: f64 = 32.0;
const BITS: f64 = 32.0;
/// Of an SM on the die of GF100, in square millimetres.
const SM_MM2: f64 = 22.0;

/// How many units an SM has, and the cycles that a compressor takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    pub compressors: u32,
    pub decompressors: u32,
    pub compress_cycles: u32,
}

/// As Table 2 has it; the usual parameters of the technique.
pub const TABLE_2: Units = Units { compressors: 2, decompressors: 4, compress_cycles: 2 };

impl Units {
    /// A compressor's cells, in square micrometres.
    fn compressor(&self) -> f64 {
        let subtractors = LANES * BITS * (cell::FULL_ADDER + cell::INVERTER);
        let comparators = LANES * BITS * cell::XOR2;
        let stages = f64::from(self.compress_cycles.saturating_sub(1));
        subtractors + comparators + stages * LANES * BITS * cell::FLIP_FLOP
    }

    fn decompressor(&self) -> f64 {
        let adders = (LANES - 1.0) * BITS * cell::FULL_ADDER;
        // One of four takes three of one of two.
        adders + LANES * BITS * 3.0 * cell::MUX2
    }

    /// Cells of all units of an SM, in square millimetres.
    pub fn mm2(&self) -> f64 {
        let compressors = f64::from(self.compressors) * self.compressor();
        let decompressors = f64::from(self.decompressors) * self.decompressor();
        (compressors + decompressors) * 1e-6
    }
}

pub fn evaluate(findings: &mut Findings) {
    let area = TABLE_2.mm2();
    findings.measures.computed("wc.area_mm2", area);
    findings.measures.computed("wc.area", 100.0 * area / SM_MM2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_add_up() {
        // 1024 x (4.256 + 0.532 + 1.596 + 4.522), and 992 x 4.256 + 3072 x 1.862.
        assert!((TABLE_2.compressor() - 11_167.744).abs() < 1e-6);
        assert!((TABLE_2.decompressor() - 9_942.016).abs() < 1e-6);
        assert!((TABLE_2.mm2() - 0.062_103_552).abs() < 1e-12);
        let one_cycle = Units { compress_cycles: 1, ..TABLE_2 };
        assert!((TABLE_2.compressor() - one_cycle.compressor() - 4_630.528).abs() < 1e-6);
    }
}
