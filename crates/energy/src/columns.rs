// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the energy of a read goes: into the columns of the data (their bit lines, sense amplifiers and the word line over them), into those of the tags,
//! and into wires between the array and its edge. Divided word lines scale the first part alone.
//!
//! The model of `sram.rs` is fitted to totals, in which a part that grows with the side of an array can be wires as well as bit lines. Here the parts of a
//! cache come from steps of the series of `data/cacti-series.toml` in which one of them changes (40 nm, 0.96 V):
//!
//! - wires: a port of 256 bits for 128 (64 KB, 4 ways) takes 7.77 pJ more while word lines stay as long as a line, on an array of 0.424 mm x 0.424 mm;
//! - columns: 8 ways for 4 (64 KB) take 21.69 pJ more for 1144 columns of 256 to 512 rows, less 0.57 pJ for the larger side;
//! - rows: what wires leave of 8, 16, 32, 48 and 64 KB in 4 ways is a straight line over the rows of the array, 12.3 fJ a column and 0.0141 fJ a column and
//!   row. At 0.96 V and a swing of 80 mV that is a bit line of 0.18 fF a cell.
//!
//! A word line is at least as long as a line of the cache, whatever the port: CACTI's 64 KB cost nearly the same with 1, 2 and 4 ways. The parts add up to
//! every read of the series up to 512 KB within a fifth, as a test shows. They are ratios of the same array, so that node, voltage and temperature do not matter.

use crate::sram::{NODE_NM, Sram, TAG_BITS, nominal_volts};

/// Picojoules of a column, and of each row that its bit lines pass.
const COLUMN: f64 = 0.0123;
const ROW: f64 = 1.41e-5;
/// Picojoules of a bit over a millimetre.
const WIRE: f64 = 0.143;

/// Picojoules of a read of a cache at 40 nm, by where they go.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parts {
    pub columns: f64,
    pub tags: f64,
    pub wires: f64,
}

impl Parts {
    pub fn total(&self) -> f64 {
        self.columns + self.tags + self.wires
    }
}

impl Sram {
    /// Picojoules of columns that pass so many rows.
    fn columns_of(columns: f64, rows: f64) -> f64 {
        columns * (COLUMN + ROW * rows)
    }

    /// Where a read of a cache of one bank goes.
    pub fn parts(&self) -> Parts {
        let ways = if self.sequential { 1.0 } else { self.ways };
        let columns = (self.width_bits * ways).max(self.line_bytes * 8.0);
        let sets = self.bytes / (self.line_bytes * self.ways);
        let side_mm = libm::sqrt(Sram { node_nm: NODE_NM, banks: 1.0, ..*self }.area_mm2());
        Parts {
            columns: Sram::columns_of(columns, self.bytes * 8.0 / columns),
            tags: Sram::columns_of(self.ways * TAG_BITS, sets),
            wires: WIRE * self.width_bits * side_mm,
        }
    }

    /// The part of a read that goes with the columns of the data. The rest is tags and wires; of an array without tags, decoder and wires, those between
    /// its banks included.
    pub fn column_share(&self) -> f64 {
        if self.is_absent() {
            return 0.0;
        }
        if self.has_tags() {
            let parts = self.parts();
            return parts.columns / parts.total();
        }
        let read = Sram { node_nm: NODE_NM, volts: nominal_volts(NODE_NM), ..*self }.read().0;
        (Sram::columns_of(self.width_bits, self.bytes * 8.0 / self.width_bits) / read).min(1.0)
    }
}
