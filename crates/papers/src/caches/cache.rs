// SPDX-License-Identifier: MIT OR Apache-2.0
//! The caches of the thesis: how each is called in claims, counters and energies, and what it leaks asleep.

use crate::measure::{Column, over};
use crate::point::{PointRecord, Points};

/// A cache, or shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// In claims.
    pub name: &'static str,
    /// What names of its counters begin with, and the unit of its time.
    pub counters: &'static str,
    pub time: &'static str,
    /// In words.
    pub title: &'static str,
    /// The component of energy that it is, or the structure where it is a part of one.
    part: Part,
    /// Static power at 0.2, 0.3, 0.4 and 0.9 V, in units of Table 4-2.
    pub table: [f64; 4],
    /// Table 4-2 is of one of these: how many there are.
    pub instances: f64,
    /// A counter that is above 0 in programs that use it.
    pub used: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Component(&'static str),
    Structure(&'static str),
}

/// SMs of the card that Figure 3-1 is about.
const SMS: f64 = 15.0;

pub const L1D: Cache = Cache {
    name: "l1d",
    counters: "l1d",
    time: "cycles",
    title: "L1 data cache",
    part: Part::Component("L1 data cache"),
    table: [0.01988, 0.03484, 0.05956, 1.05984],
    instances: SMS,
    used: "l1d.reads.count",
};
pub const L2: Cache = Cache {
    name: "l2",
    counters: "l2",
    time: "clocks",
    title: "L2",
    part: Part::Component("L2"),
    table: [0.15952, 0.42464, 0.9552, 30.128],
    instances: 1.0,
    used: "profile.l2_accesses.count",
};
pub const CONSTANT: Cache = Cache {
    name: "constant",
    counters: "constant",
    time: "cycles",
    title: "constant cache",
    part: Part::Component("constant cache"),
    table: [0.0019, 0.00496, 0.01128, 0.412],
    instances: SMS,
    used: "profile.constant_accesses.count",
};
pub const TEXTURE: Cache = Cache {
    name: "texture",
    counters: "texture",
    time: "cycles",
    title: "texture cache",
    part: Part::Component("texture cache"),
    table: [0.0096, 0.02448, 0.05448, 3.264],
    instances: SMS,
    used: "profile.texture_accesses.count",
};
pub const SHARED: Cache = Cache {
    name: "shared",
    counters: "shared",
    time: "cycles",
    title: "shared memory",
    part: Part::Component("shared memory"),
    table: [0.01084, 0.029, 0.06516, 2.236],
    instances: SMS,
    used: "profile.shared_accesses.count",
};
pub const INSTRUCTION: Cache = Cache {
    name: "instruction",
    counters: "icache",
    time: "cycles",
    title: "instruction cache",
    part: Part::Structure("instruction cache"),
    table: [0.0016, 0.00408, 0.00908, 0.544],
    instances: SMS,
    used: "profile.icache_accesses.count",
};

/// All of them, and those that sleep and whose word lines are divided.
pub const ALL: [Cache; 6] = [L1D, L2, CONSTANT, TEXTURE, SHARED, INSTRUCTION];
pub const OPTIMIZED: [Cache; 5] = [L1D, L2, CONSTANT, TEXTURE, SHARED];

impl Cache {
    /// What a block leaks at 0.4 V, of what it leaks at full voltage.
    pub fn asleep(&self) -> f64 {
        self.table[2] / self.table[3]
    }

    fn energy(&self, point: &PointRecord, of: impl Fn(f64, f64) -> f64) -> f64 {
        let parts = point.energy.structures.iter().filter(|structure| match self.part {
            Part::Component(name) => structure.component == name,
            Part::Structure(name) => structure.name == name,
        });
        parts.map(|structure| of(structure.dynamic_j, structure.static_j)).sum()
    }

    pub fn dynamic(&self, point: &PointRecord) -> f64 {
        self.energy(point, |dynamic, _| dynamic)
    }

    pub fn leakage(&self, point: &PointRecord) -> f64 {
        self.energy(point, |_, leakage| leakage)
    }

    pub fn total(&self, point: &PointRecord) -> f64 {
        self.energy(point, |dynamic, leakage| dynamic + leakage)
    }

    /// Which programs use it.
    pub fn users(&self, points: &Points) -> Vec<bool> {
        points.users(super::BASE, self.used)
    }

    /// A counter of drowsy time.
    pub fn time(&self, point: &PointRecord, state: &str) -> Option<f64> {
        point.count(&format!("{}.{state}.{}", self.counters, self.time))
    }

    /// The share of time in which its blocks are on, in percent: while there are warps, or always.
    pub fn on(&self, points: &Points, variant: &str, suffix: &str) -> Column {
        points.column(variant, |point| {
            let on = self.time(point, &format!("on{suffix}"))?;
            Some(100.0 * over(on, on + self.time(point, &format!("drowsy{suffix}"))?)?)
        })
    }
}
