// SPDX-License-Identifier: MIT OR Apache-2.0
//! SRAM arrays of sizes that no table has: energy of an access, leakage and area from size, width, ports, node, voltage and temperature.
//!
//! The form is that of CACTI: a decoder that grows with the logarithm of the rows, bit lines that grow with the rows and are sensed
//! column by column, and trees for address and data whose length is the side of the array. Energies go with the square of the
//! voltage. Leakage is that of the cells and of a periphery along the sides, and doubles every 50 K. The constants are
//! fitted to `data/cacti.toml` by `tools/fit-sram.py`; the tests print the error of each row.

use crate::units::{Milliwatts, Picojoules};

/// An array of SRAM, of one or several banks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sram {
    /// Of one bank.
    pub bytes: f64,
    /// Banks that share the trees; an access goes to one of them.
    pub banks: f64,
    /// Bits that an access moves.
    pub width_bits: f64,
    /// Ways that are read at once, of which one is used.
    pub ways: f64,
    /// Ports besides the first: 0 for one port that reads and writes, 1 for one of each.
    pub extra_ports: f64,
    pub node_nm: f64,
    pub volts: f64,
    pub kelvin: f64,
}

/// Picojoules at 40 nm and 0.96 V.
struct Dynamic {
    /// Of a doubling of the rows.
    decoder: f64,
    /// Of a column: sense amplifier, precharge, driver.
    sense: f64,
    /// Of a cell on a bit line.
    bitline: f64,
    /// Of a cell's side on the way of the address.
    address_tree: f64,
    /// The same for a bit of data.
    data_tree: f64,
    /// Exponent of the node.
    node: f64,
}

const READ: Dynamic = Dynamic {
    decoder: 0.0,
    sense: 1.4579e-2,
    bitline: 1.0627e-5,
    address_tree: 5.2599e-3,
    data_tree: 4.9253e-5,
    node: 1.1,
};

const WRITE: Dynamic = Dynamic {
    decoder: 7.2418e-2,
    sense: 1.4310e-2,
    bitline: 0.0,
    address_tree: 3.4847e-3,
    data_tree: 1.1686e-4,
    node: 1.3,
};

/// Milliwatts of a cell, of each further port of a cell, and of a cell's side of periphery, at 40 nm, 0.96 V and 350 K.
const CELL: f64 = 7.6346e-5;
const EXTRA_PORT: f64 = 1.7058e-5;
const PERIPHERY: f64 = 4.7686e-3;
const LEAKAGE_NODE: f64 = 3.2;

/// Leakage doubles over this many kelvin (both CACTIs, 300 to 350 K).
const DOUBLING_KELVIN: f64 = 50.0;

/// Area of a cell with one port in squares of the node (ITRS), what a further port adds to each side of it, and the share of an
/// array that is cells. The table has no areas to fit these to.
const CELL_SQUARES: f64 = 146.0;
const PORT_PITCH: f64 = 0.4;
const EFFICIENCY: f64 = 0.6;

const NODE_NM: f64 = 40.0;
const VOLTS: f64 = 0.96;
const KELVIN: f64 = 350.0;

impl Sram {
    fn bits(&self) -> f64 {
        self.bytes * 8.0
    }

    /// The table knows one shared port and one port each for reading and writing, whose cells are as large to it as makes no
    /// difference to an access; ports beyond these stretch all wires.
    fn stretch(&self) -> f64 {
        1.0 + PORT_PITCH * (self.extra_ports - 1.0).max(0.0)
    }

    fn access(&self, of: &Dynamic) -> Picojoules {
        let columns = self.width_bits * self.ways;
        let rows = (self.bits() / columns).max(2.0);
        let side = libm::sqrt(self.bits() * self.banks) * self.stretch();
        let energy = of.decoder * libm::log2(rows)
            + columns * (of.sense + of.bitline * rows * self.stretch())
            + side * (of.address_tree + of.data_tree * self.width_bits);
        let volts = self.volts / VOLTS;
        Picojoules(energy * libm::pow(self.node_nm / NODE_NM, of.node) * volts * volts)
    }

    pub fn read(&self) -> Picojoules {
        self.access(&READ)
    }

    pub fn write(&self) -> Picojoules {
        self.access(&WRITE)
    }

    /// Of one bank.
    pub fn leakage(&self) -> Milliwatts {
        let bits = self.bits();
        let power = bits * (CELL + EXTRA_PORT * self.extra_ports) + PERIPHERY * libm::sqrt(bits);
        let node = libm::pow(self.node_nm / NODE_NM, LEAKAGE_NODE);
        let heat = libm::exp2((self.kelvin - KELVIN) / DOUBLING_KELVIN);
        Milliwatts(power * node * (self.volts / VOLTS) * heat)
    }

    /// Of all banks, in square millimetres.
    pub fn area_mm2(&self) -> f64 {
        let pitch = 1.0 + PORT_PITCH * self.extra_ports;
        let cell = CELL_SQUARES * self.node_nm * self.node_nm * pitch * pitch;
        self.bits() * self.banks * cell / EFFICIENCY * 1e-12
    }
}
