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

    /// Changes the amount by so much, modulo 2^64, from a cycle on.
    #[inline(always)]
    fn add(&mut self, at: u64, change: u64) {
        self.moment = self.moment.wrapping_add(change.wrapping_mul(at));
        self.amount = self.amount.wrapping_add(change);
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
    /// Entries that hold one, and slices that are taken.
    entries: Level,
    slices: Level,
}

impl Occupancy {
    pub fn new(gating: Gating, entries: usize) -> Occupancy {
        let [registers, entries_taken, slices] = [Level::default(); 3];
        Occupancy { gating, all: entries as u64, registers, entries: entries_taken, slices }
    }

    /// From a cycle on, so many slices more are taken, and their entry, if it was empty.
    #[inline(always)]
    pub fn take(&mut self, at: u64, slices: u32, entry: bool) {
        self.entries.add(at, entry.into());
        self.slices.add(at, slices.into());
    }

    /// From a cycle on, so many slices and entries are free again.
    #[inline(always)]
    pub fn free(&mut self, at: u64, slices: u64, entries: u64) {
        self.entries.add(at, entries.wrapping_neg());
        self.slices.add(at, slices.wrapping_neg());
    }

    /// Entries that hold a register, and slices that are taken.
    pub fn taken(&self) -> (u32, u32) {
        (self.entries.amount as u32, self.slices.amount as u32)
    }

    /// Counts the sums over the cycles before one.
    pub fn count(&self, until: u64, counters: &mut Counters) {
        let (entries, slices) = (self.entries.sum(until), self.slices.sum(until));
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
