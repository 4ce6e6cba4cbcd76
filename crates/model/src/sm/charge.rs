// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an issue slot without an instruction is charged to: the first warp in the scheduler's own order, the line of its next
//! instruction, and the first condition that it does not meet.

use super::counters::IssueCounters;
use super::schedule::{NO_KERNEL, SlotCharge};
use super::stall::{Stall, Stalls};
use super::warp::Condition;
use super::{Sm, Turn, Work};

/// What an SM counts about issue, and up to which cycle.
pub struct Tally {
    pub issue: IssueCounters,
    /// Instructions by the number of lanes that executed them.
    pub lanes: [u64; 33],
    /// Lanes at a branch whose guard did not hold for them: they took part in it all the same.
    pub passing_lanes: u64,
    pub stalls: Stalls,
    /// Issue slots before this cycle are charged.
    pub accounted: u64,
    /// Cycles before this one are counted.
    pub counted: u64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            issue: IssueCounters::default(),
            lanes: [0; 33],
            passing_lanes: 0,
            stalls: Stalls::default(),
            accounted: 0,
            counted: 0,
        }
    }
}

impl Tally {
    /// The counters, with what follows from the lanes of each instruction.
    pub fn issue_counters(&self) -> IssueCounters {
        let by_lanes = self.lanes.iter().zip(0..);
        IssueCounters {
            thread_instructions: self.passing_lanes
                + by_lanes.map(|(count, lanes)| count * lanes).sum::<u64>(),
            no_lanes: self.lanes[0],
            lanes: std::array::from_fn(|lane| self.lanes[lane + 1]),
            ..self.issue.clone()
        }
    }
}

impl Sm {
    /// The issue slot of a scheduler has no instruction: it is charged to the cause that holds now.
    #[inline(always)]
    pub(super) fn charge(&mut self, turn: &mut Turn, scheduler: u8) {
        if self.schedulers.is_stale(scheduler) {
            self.find_cause(turn.work, scheduler);
        }
        self.schedulers.pass(scheduler, turn.now);
    }

    /// Finds out what the slots of a scheduler are charged to from now on, and notes those that were charged to something else.
    #[cold]
    #[inline(never)]
    fn find_cause(&mut self, work: &mut Work, number: u8) {
        let SlotCharge { slots, kernel, pc, stall, .. } = *self.schedulers.charge(number);
        if slots != 0 {
            self.tally.stalls[stall as usize] += slots;
            if kernel != NO_KERNEL
                && let Some(stalls) = work.shares[kernel as usize].stalls.get_mut(pc as usize)
            {
                stalls[stall as usize] += slots;
            }
        }
        let Some(rank) = self.schedulers[number].first() else {
            return self.schedulers.charge_to(number, SlotCharge::EMPTY);
        };
        let warp = &self.warps[self.schedulers[number].slot(rank)];
        let stall = match warp.condition {
            Condition::Waits | Condition::Misses => warp.stall,
            // It could issue, if its unit accepted it.
            Condition::Ready => Stall::Unit,
            Condition::Free | Condition::Drains => Stall::Empty,
        };
        let pc = warp.pc().unwrap_or(warp.last_pc);
        let kernel = warp.kernel;
        self.schedulers.charge_to(number, SlotCharge { kernel, pc, stall, rank, ..SlotCharge::EMPTY });
    }

    /// A cycle begins: issue slots before it, since the last one in which something happened, have the cause that holds until now.
    pub(super) fn charge_until(&mut self, work: &mut Work, now: u64) {
        let passed = self.tally.accounted < now;
        self.tally.accounted = self.tally.accounted.max(now);
        self.schedulers.begin(now);
        if passed {
            self.charge_stale(work);
        }
    }

    /// Slots whose cause has changed are charged to the one that holds now.
    #[inline(always)]
    pub(super) fn charge_stale(&mut self, work: &mut Work) {
        let mut stale = self.schedulers.stale();
        while stale != 0 {
            self.find_cause(work, stale.trailing_zeros() as u8);
            stale &= stale - 1;
        }
    }

    /// Counts the cycles before `now`. To be called before the number of resident warps changes.
    pub(super) fn count_until(&mut self, now: u64) {
        let tally = &mut self.tally;
        let cycles = now.saturating_sub(tally.counted);
        tally.counted = tally.counted.max(now);
        tally.issue.cycles += cycles;
        tally.issue.slots += cycles * u64::from(self.schedulers.count());
        tally.issue.resident_warps += cycles * u64::from(self.resident_warps);
        tally.issue.active += if self.resident_warps == 0 { 0 } else { cycles };
    }

    /// Techniques in data arrays account for the cycles before `now`. To be called before the SM gets its first warp and before it loses its last.
    pub(super) fn settle_arrays(&mut self, now: u64) {
        let busy = self.resident_warps != 0;
        self.mem.settle_techniques(now, busy);
        self.fetch.data.settle(now, busy);
    }

    /// Whether a block is resident.
    pub fn has_warps(&self) -> bool {
        self.resident_warps != 0
    }

    /// Brings counters up to date that grow with time, to before `now`.
    pub fn settle(&mut self, work: &mut Work, now: u64) {
        if self.tally.accounted < now {
            self.charge_until(work, now);
        }
        for scheduler in 0..self.schedulers.count() {
            self.schedulers.forget_cause(scheduler);
            self.find_cause(work, scheduler);
        }
        self.count_until(self.tally.accounted);
        self.mem.settle(now);
        self.rf.settle(self.tally.counted);
        self.settle_arrays(self.tally.counted);
    }
}
