// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of the register file is in use, added up over time.

use super::{Counters, Gating};

pub struct Occupancy {
    /// Until when it is added up.
    until: u64,
    gating: Gating,
    /// Entries that there are.
    all: u64,
    /// Registers that resident warps have.
    pub registers: u64,
    /// Entries that hold one, and slices that are taken.
    pub used: (u32, u32),
}

impl Occupancy {
    pub fn new(gating: Gating, entries: usize) -> Occupancy {
        Occupancy { until: 0, gating, all: entries as u64, registers: 0, used: (0, 0) }
    }

    /// Adds up until before a cycle, with what is in use since the last time.
    #[inline]
    pub fn advance(&mut self, now: u64, counters: &mut Counters) {
        let Some(cycles) = now.checked_sub(self.until).filter(|cycles| *cycles != 0) else { return };
        self.until = now;
        let (entries, slices) = (u64::from(self.used.0), u64::from(self.used.1));
        counters.registers += cycles * self.registers;
        counters.entries += cycles * entries;
        counters.slices += cycles * slices;
        counters.gated += cycles
            * match self.gating {
                Gating::Entries => 4 * (self.all - entries),
                Gating::Slices => 4 * self.all - slices,
                Gating::Off => 0,
            };
    }
}
