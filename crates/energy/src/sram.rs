// SPDX-License-Identifier: MIT OR Apache-2.0
//! SRAM arrays of any size: energy of an access, leakage and area from size, ways, line, width, ports, banks, node, voltage and temperature.
//!
//! A cache costs sense amplifiers by the columns that are read at once (all ways, unless the tags are looked up first) and wires along
//! its side for address and data. A plain array costs a part by its width and a part by its side. Banks beside each other add
//! wires from the side of one to the side of all. The constants are fitted to the series of `data/cacti-series.toml` at 40 nm and 350 K by
//! `tools/fit-sram.py`; the tests print the error of each point. How node and temperature move the figures is CACTI's own series,
//! joined by straight lines in the logarithm.

use crate::units::{Milliwatts, Picojoules};

/// An array of SRAM, of one or several banks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sram {
    /// Of one bank.
    pub bytes: f64,
    /// Banks that share the wires; an access goes to one of them.
    pub banks: f64,
    /// Bits that an access moves.
    pub width_bits: f64,
    /// Ways of a cache.
    pub ways: f64,
    /// Line of a cache; 0 for an array without tags.
    pub line_bytes: f64,
    /// The tags are looked up first, so that one way is read; otherwise all ways are read at once.
    pub sequential: bool,
    /// Ports besides the first: 0 for one port that reads and writes, 1 for one of each.
    pub extra_ports: f64,
    pub node_nm: f64,
    pub volts: f64,
    pub kelvin: f64,
}

/// Picojoules at 40 nm and 0.96 V.
struct Dynamic {
    /// Of the columns of a cache that are read, to the power of `columns_exponent`.
    columns: f64,
    columns_exponent: f64,
    /// Of a cache's side, to the power of `side_exponent`: for the address, and for the width to the power of `data_exponent`.
    address: f64,
    data: f64,
    data_exponent: f64,
    side_exponent: f64,
    /// Of a plain array of 128 bits, by its width alone and by its side to the power of `plain_side_exponent`; both with a power of the width.
    plain: f64,
    plain_exponent: f64,
    plain_side: f64,
    plain_side_width: f64,
    plain_side_exponent: f64,
    /// Of a cell's side between banks, for 32 bits.
    banks: f64,
}

const READ: Dynamic = Dynamic {
    columns: 1.4815e-3,
    columns_exponent: 1.2719,
    address: 1.4422e-2,
    data: 1.3018e-8,
    data_exponent: 2.3009,
    side_exponent: 1.1198,
    plain: 1.7633,
    plain_exponent: 0.8667,
    plain_side: 9.6688e-5,
    plain_side_width: 0.3614,
    plain_side_exponent: 1.9538,
    banks: 7.3e-3,
};

const WRITE: Dynamic = Dynamic {
    columns: 1.3418e-5,
    columns_exponent: 1.7729,
    address: 3.8427e-3,
    data: 5.7838e-4,
    data_exponent: 0.8332,
    side_exponent: 0.9954,
    // A part by width alone cannot be told from zero.
    plain: 0.0,
    plain_exponent: 0.0,
    plain_side: 6.6525e-2,
    plain_side_width: 0.8727,
    plain_side_exponent: 0.9295,
    banks: 7.8e-3,
};

/// Milliwatts of a cell, of each further port of a cell, and of a cell's side of periphery, at 40 nm, 0.96 V and 350 K.
const CELL_MW: f64 = 8.3099e-5;
const PORT_MW: f64 = 2.7608e-5;
const SIDE_MW: f64 = 8.3881e-4;

/// Square millimetres at 40 nm: of a cache's cells, to a power, and of 1024 of its columns, to a power.
const CACHE_MM2: f64 = 2.3597e-7;
const CACHE_EXPONENT: f64 = 1.0295;
const COLUMNS_MM2: f64 = 9.8038e-3;
const COLUMNS_EXPONENT: f64 = 1.9760;
/// Of a cell of a plain array, of each further port of it, and of 128 bits of width, to a power.
const CELL_MM2: f64 = 3.2469e-7;
const PORT_MM2: f64 = 2.6455e-7;
const WIDTH_MM2: f64 = 4.9519e-3;
const WIDTH_EXPONENT: f64 = 3.4727;

/// Bits of a tag with its state.
pub const TAG_BITS: f64 = 30.0;
/// CACTI's figures for wider ports contradict each other; such an access is made of several of this width.
const WIDEST: f64 = 512.0;
/// Cells along the side of the largest plain array of the series, 32 KB; beyond it the energy grows as that of a cache does.
const KNOWN_SIDE: f64 = 512.0;
/// What a port beyond one for reading and one for writing adds to each side of a cell. No series has such arrays.
const PORT_PITCH: f64 = 0.4;

/// The node, its usual supply voltage, and what CACTI says there about 64 KB in 4 ways: read and write energy in pJ, leakage in mW, area in mm2.
const NODES: [(f64, f64, [f64; 4]); 6] = [
    (22.0, 0.80, [14.09, 16.01, 9.21, 0.0546]),
    (32.0, 0.90, [26.32, 31.30, 18.98, 0.1154]),
    (40.0, 0.96, [38.02, 46.38, 42.70, 0.1801]),
    (45.0, 1.00, [47.01, 58.07, 62.66, 0.2280]),
    (65.0, 1.10, [80.95, 104.98, 69.19, 0.4760]),
    (90.0, 1.20, [143.25, 189.66, 22.17, 0.9123]),
];
const READ_AT: usize = 0;
const WRITE_AT: usize = 1;
const LEAKAGE_AT: usize = 2;
const AREA_AT: usize = 3;

/// Kelvin, and CACTI's leakage of the same array in mW.
const TEMPERATURES: [(f64, f64); 4] = [(300.0, 21.72), (320.0, 27.82), (350.0, 42.70), (380.0, 105.16)];

pub const NODE_NM: f64 = 40.0;
const KELVIN: f64 = 350.0;

/// Leakage power goes with this power of the voltage. The drowsy-cache thesis's Table 4-2 has 3.6 to 5.0 for its caches between 0.4 and 0.9 V.
pub const LEAKAGE_EXPONENT: f64 = 4.0;

/// The value at a point of a series that is joined by straight lines in the logarithm, and extrapolated beyond its ends. Where
/// `logarithmic`, the points are taken by their logarithm too.
pub fn along(points: impl Iterator<Item = (f64, f64)> + Clone, at: f64, logarithmic: bool) -> f64 {
    let x = |at: f64| if logarithmic { libm::log(at) } else { at };
    let pairs = points.clone().zip(points.skip(1));
    let count = pairs.clone().count();
    let found = pairs.enumerate().find(|(i, (_, next))| at <= next.0 || i + 1 == count);
    found.map_or(0.0, |(_, ((x0, y0), (x1, y1)))| y0 * libm::pow(y1 / y0, (x(at) - x(x0)) / (x(x1) - x(x0))))
}

fn node(figure: usize, nm: f64) -> f64 {
    let points = NODES.iter().map(move |(nm, _, figures)| (*nm, figures[figure]));
    along(points.clone(), nm, true) / along(points, NODE_NM, true)
}

/// The usual supply voltage of a node, as ITRS has it for high performance.
pub fn nominal_volts(nm: f64) -> f64 {
    along(NODES.iter().map(|(nm, volts, _)| (*nm, *volts)), nm, true)
}

/// Leakage at a temperature over that at 350 K.
fn heat(kelvin: f64) -> f64 {
    let points = TEMPERATURES.iter().copied();
    along(points.clone(), kelvin, false) / along(points, KELVIN, false)
}

/// Leakage at a node over that at 40 nm, each at its usual voltage.
pub fn node_leakage(nm: f64) -> f64 {
    node(LEAKAGE_AT, nm)
}

impl Sram {
    pub fn has_tags(&self) -> bool {
        self.line_bytes > 0.0
    }

    /// Cells of a bank, tags included.
    fn cells(&self) -> f64 {
        let tags = if self.has_tags() { self.bytes / self.line_bytes * TAG_BITS } else { 0.0 };
        self.bytes * 8.0 + tags
    }

    /// Columns that an access of a cache reads, those of the tags included.
    fn columns(&self, width: f64) -> f64 {
        width * if self.sequential { 1.0 } else { self.ways } + self.ways * TAG_BITS
    }

    /// The series know one shared port and one port each for reading and writing, whose cells are as large to an access as makes no
    /// difference; ports beyond these stretch all wires.
    fn stretch(&self) -> f64 {
        1.0 + PORT_PITCH * (self.extra_ports - 1.0).max(0.0)
    }

    /// A cache of 0 bytes does not exist: it has no energy and no area.
    pub(crate) fn is_absent(&self) -> bool {
        self.bytes == 0.0
    }

    fn access(&self, of: &Dynamic, figure: usize) -> Picojoules {
        if self.is_absent() {
            return Picojoules(0.0);
        }
        let width = self.width_bits.min(WIDEST);
        let side = libm::sqrt(self.cells());
        let stretched = side * self.stretch();
        let one = if self.has_tags() {
            of.columns * libm::pow(self.columns(width), of.columns_exponent)
                + libm::pow(stretched, of.side_exponent)
                    * (of.address + of.data * libm::pow(width, of.data_exponent))
        } else {
            let width = width / 128.0;
            of.plain * libm::pow(width, of.plain_exponent)
                + of.plain_side
                    * libm::pow(width, of.plain_side_width)
                    * libm::pow(stretched.min(KNOWN_SIDE), of.plain_side_exponent)
                    * libm::pow((stretched / KNOWN_SIDE).max(1.0), of.side_exponent)
        };
        let between = (libm::sqrt(self.cells() * self.banks) - side) * self.stretch();
        let banks = of.banks * libm::sqrt(width / 32.0) * between;
        let times = (self.width_bits / WIDEST).max(1.0);
        let volts = self.volts / nominal_volts(self.node_nm);
        Picojoules((one + banks) * times * node(figure, self.node_nm) * volts * volts)
    }

    pub fn read(&self) -> Picojoules {
        self.access(&READ, READ_AT)
    }

    pub fn write(&self) -> Picojoules {
        self.access(&WRITE, WRITE_AT)
    }

    /// Of one bank.
    pub fn leakage(&self) -> Milliwatts {
        let cells = self.cells();
        let power = cells * (CELL_MW + PORT_MW * self.extra_ports) + SIDE_MW * libm::sqrt(cells);
        let volts = libm::pow(self.volts / nominal_volts(self.node_nm), LEAKAGE_EXPONENT);
        Milliwatts(power * node(LEAKAGE_AT, self.node_nm) * volts * heat(self.kelvin))
    }

    /// Of all banks, in square millimetres.
    pub fn area_mm2(&self) -> f64 {
        if self.is_absent() {
            return 0.0;
        }
        let width = self.width_bits.min(WIDEST);
        let bank = if self.has_tags() {
            CACHE_MM2 * libm::pow(self.cells(), CACHE_EXPONENT)
                + COLUMNS_MM2 * libm::pow(self.columns(width) / 1024.0, COLUMNS_EXPONENT)
        } else {
            let width = self.width_bits / 128.0;
            let wide = libm::pow(width, if width < 1.0 { WIDTH_EXPONENT } else { 1.0 });
            self.cells() * (CELL_MM2 + PORT_MM2 * self.extra_ports) + WIDTH_MM2 * wide
        };
        bank * self.stretch() * self.stretch() * self.banks * node(AREA_AT, self.node_nm)
    }
}
