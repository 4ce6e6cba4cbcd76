// SPDX-License-Identifier: MIT OR Apache-2.0
//! The site of techniques between the load/store unit of an SM and its L1 data cache.

use warpwatt_base::counters::CounterSet;

/// What a technique does ahead of the L1 data cache. Lines are numbered as in its tags.
pub trait FilterSite: Send {
    /// A load of a line by so many lanes. Gives the cycle of its data if it need not go to L1. A load that has to wait comes again: no state may
    /// change if the result is `None`.
    fn load(&mut self, now: u64, line: u64, lanes: u8) -> Option<u64>;

    /// Cycles that the data of an L1 hit take longer, because the filter is accessed first.
    fn delay(&self) -> u64 {
        0
    }

    /// A loaded line arrives from L1, or from the next level.
    fn fill(&mut self, now: u64, line: u64);

    /// The SM stores to a line, or an atomic operation changes it.
    fn store(&mut self, now: u64, line: u64);

    /// A kernel starts: all lines are invalidated.
    fn flush(&mut self);

    /// What it counted here.
    fn counters(&self) -> Box<dyn CounterSet>;
}
