// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sixteen barriers of a block (PTX ISA, "bar, barrier").
//!
//! Before sm_70 whole warps arrive, each counting for 32 threads whatever its active lanes; from sm_70 on threads arrive one by one. A barrier
//! without a thread count opens when all that have not exited have arrived.

use warpwatt_isa::BarKind;

pub(crate) const BARRIERS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Barrier {
    /// Threads that arrived, waiting or not.
    pub arrived: u32,
    /// Threads it waits for; 0 for all of the block.
    pub expected: u32,
    /// For reductions: threads whose predicate held, and did not hold.
    holding: u32,
    failing: u32,
}

impl Barrier {
    pub(crate) fn arrive(&mut self, threads: u32, expected: u32, values: Option<(u32, u32)>) {
        self.arrived += threads;
        self.expected = expected;
        if let Some((holding, failing)) = values {
            self.holding += holding;
            self.failing += failing;
        }
    }

    /// Whether it opens, with `live` threads left in the block.
    pub(crate) fn is_complete(&self, live: u32) -> bool {
        let expected = if self.expected == 0 { live } else { self.expected };
        self.arrived != 0 && self.arrived >= expected
    }

    /// Result of a reduction over the threads: a count, or 0 or 1.
    pub(crate) fn result(&self, kind: BarKind) -> u32 {
        match kind {
            BarKind::RedPopc => self.holding,
            BarKind::RedAnd => u32::from(self.failing == 0),
            BarKind::RedOr => u32::from(self.holding != 0),
            BarKind::Sync | BarKind::Arrive => 0,
        }
    }
}
