// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of the register file is in use, added up over time.

use super::{Counters, Gating};

/// An amount that changes now and then. Its sum over all cycles up to one is the amount by then, times these cycles, less what each change would have
/// brought before it was made: so only changes cost anything.
#[derive(Clone, Copy, Default)]
pub struct Level {
    amount: u64,
    /// Each change times its cycle, modulo 2^64.
    moment: u64,
}

impl Level {
    /// Changes the amount from a cycle on.
    #[inline]
    pub fn set(&mut self, at: u64, amount: u64) {
        self.moment = self.moment.wrapping_add(amount.wrapping_sub(self.amount).wrapping_mul(at));
        self.amount = amount;
    }

    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Its sum over the cycles before one.
    fn sum(&self, until: u64) -> u64 {
        self.amount.wrapping_mul(until).wrapping_sub(self.moment)
    }
}

pub struct Occupancy {
    gating: Gating,
    /// Entries that there are.
    all: u64,
    /// Registers that resident warps have.
    pub registers: Level,
    /// Of entries that hold one, and of slices that are taken: each change times its cycle, modulo 2^64. What the changes add up to is known to
    /// the table.
    entries: u64,
    slices: u64,
}

impl Occupancy {
    pub fn new(gating: Gating, entries: usize) -> Occupancy {
        Occupancy { gating, all: entries as u64, registers: Level::default(), entries: 0, slices: 0 }
    }

    /// From a cycle on, so many slices more are taken, and their entry, if it was empty.
    #[inline(always)]
    pub fn take(&mut self, at: u64, slices: u32, entry: bool) {
        self.entries = self.entries.wrapping_add(if entry { at } else { 0 });
        self.slices = self.slices.wrapping_add(u64::from(slices).wrapping_mul(at));
    }

    /// From a cycle on, so many slices and entries are free again.
    #[inline(always)]
    pub fn free(&mut self, at: u64, slices: u64, entries: u64) {
        self.entries = self.entries.wrapping_sub(entries.wrapping_mul(at));
        self.slices = self.slices.wrapping_sub(slices.wrapping_mul(at));
    }

    /// Counts the sums over the cycles before one, by when so many entries and slices are taken.
    pub fn count(&self, until: u64, (entries, slices): (u32, u32), counters: &mut Counters) {
        let level = |amount: u32, moment: u64| Level { amount: u64::from(amount), moment };
        let (entries, slices) =
            (level(entries, self.entries).sum(until), level(slices, self.slices).sum(until));
        counters.registers = self.registers.sum(until);
        counters.entries = entries;
        counters.slices = slices;
        counters.gated = match self.gating {
            Gating::Entries => 4 * (self.all * until - entries),
            Gating::Slices => 4 * self.all * until - slices,
            Gating::Off => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn sums_equal_those_of_every_cycle() {
        let mut random = SplitMix64::new(3);
        let (mut level, mut sum, mut amount) = (Level::default(), 0, 0);
        for cycle in 0..10_000 {
            if random.next_u64().is_multiple_of(3) {
                amount = random.next_u64() % 1000;
                level.set(cycle, amount);
            }
            assert_eq!(level.sum(cycle), sum);
            sum += amount;
        }
    }
}
