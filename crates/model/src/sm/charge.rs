// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whom an issue slot without an instruction is charged to: the first warp in the scheduler's own order, the line of its next
//! instruction, and the first condition that it does not meet.

use super::stall::Stall;
use super::warp::Condition;
use super::{Sm, WARPS, Work, at, at_mut};

impl Sm {
    /// Charges `cycles` issue slots of a scheduler that did not issue, in which nothing changed.
    #[inline(always)]
    pub(super) fn charge(&mut self, work: &mut Work, scheduler: usize, cycles: u64) {
        let Some(rank) = at(&self.schedulers, scheduler).first() else {
            self.stalls[Stall::Empty as usize] += cycles;
            return;
        };
        let warp = &self.warps[at(&self.schedulers, scheduler).slot(rank) % WARPS];
        let stall = match warp.condition {
            Condition::Waits => warp.stall,
            // It could issue, if its unit took it.
            Condition::Ready => Stall::Unit,
            Condition::Free | Condition::Drains => Stall::Empty,
        };
        self.stalls[stall as usize] += cycles;
        let pc = warp.pc.unwrap_or(warp.last_pc);
        let stalls = &mut at_mut(&mut work.shares, warp.kernel as usize).stalls;
        if let Some(stalls) = stalls.get_mut(pc as usize) {
            stalls[stall as usize] += cycles;
        }
    }

    /// Accounts for all cycles before `now`, in which nothing happened.
    #[inline(never)]
    pub(super) fn charge_until(&mut self, work: &mut Work, now: u64) {
        let cycles = now - self.accounted;
        self.accounted = now;
        if self.resident_warps == 0 {
            self.stalls[Stall::Empty as usize] += cycles * self.schedulers.len() as u64;
            return;
        }
        for scheduler in 0..self.schedulers.len() {
            self.charge(work, scheduler, cycles);
        }
    }

    /// Counts the cycles before `now`. To be called before the number of resident warps changes.
    pub(super) fn count_until(&mut self, now: u64) {
        let cycles = now.saturating_sub(self.counted);
        self.counted = self.counted.max(now);
        self.issue.cycles += cycles;
        self.issue.slots += cycles * self.schedulers.len() as u64;
        self.issue.resident_warps += cycles * u64::from(self.resident_warps);
        self.issue.active += if self.resident_warps == 0 { 0 } else { cycles };
    }

    /// Techniques in data arrays account for the cycles before `now`. To be called before the SM gets its first warp and before it loses its last.
    pub(super) fn settle_arrays(&mut self, now: u64) {
        let busy = self.resident_warps != 0;
        self.mem.settle_techniques(now, busy);
        self.fetch.data.settle(now, busy);
    }

    /// Whether a block is there.
    pub fn has_warps(&self) -> bool {
        self.resident_warps != 0
    }

    /// Brings counters up to date that grow with time, to before `now`.
    pub fn settle(&mut self, work: &mut Work, now: u64) {
        if self.accounted < now {
            self.charge_until(work, now);
        }
        self.count_until(self.accounted);
        self.mem.settle(now);
        self.rf.settle(self.counted);
        self.settle_arrays(self.counted);
    }
}
