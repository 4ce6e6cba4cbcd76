// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an issue slot without an instruction is charged to: the first warp in the scheduler's own order, the line of its next
//! instruction, and the first condition that it does not meet. That is worked out when one of these is about to change, or when another warp becomes the
//! first, for all slots that have passed since the last time.

use super::counters::IssueCounters;
use super::schedule::Place;
use super::stall::{Stall, Stalls};
use super::warp::Condition;
use super::{Sm, Work};

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
    /// What the first warp of a scheduler waits for is about to change, or which one that is: issue slots that have passed are charged to what has held until now.
    #[inline(always)]
    pub(super) fn charge_passed(&mut self, scheduler: u8) {
        let slots = self.schedulers.take_passed(scheduler);
        if slots != 0 {
            self.charge_first(scheduler, slots);
        }
    }

    /// Something about a warp is about to change.
    #[inline(always)]
    pub(super) fn charge_before_change(&mut self, place: Place) {
        if self.schedulers.is_watched(place) {
            self.charge_passed(place.scheduler);
        }
    }

    /// Charges issue slots to the first warp of a scheduler.
    #[cold]
    #[inline(never)]
    pub(super) fn charge_first(&mut self, scheduler: u8, slots: u64) {
        let Some(slot) = self.schedulers.first(scheduler) else {
            self.tally.stalls[Stall::Empty as usize] += slots;
            return;
        };
        let warp = &self.warps[slot];
        let stall = match warp.condition {
            Condition::Waits | Condition::Misses => warp.stall,
            // It could issue, if its unit accepted it.
            Condition::Ready => Stall::Unit,
            Condition::Free | Condition::Drains => Stall::Empty,
        };
        self.tally.stalls[stall as usize] += slots;
        let pc = warp.pc().unwrap_or(warp.last_pc);
        if pc < warp.end {
            // SAFETY: what the SM keeps for a kernel stays where it is while warps of it are here, its tables have an entry for each instruction, and
            // nobody looks at them while an SM is at work or is brought up to date.
            unsafe { warp.charged.add(pc, stall, slots) };
        }
    }

    /// Issue slots before `now` pass with what holds.
    pub(super) fn charge_until(&mut self, now: u64) {
        self.tally.accounted = self.tally.accounted.max(now);
        self.schedulers.begin(now);
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

    /// Brings counters up to date that grow with time, to before `now`. Tables of its part of the run, which warps point into, must not be borrowed.
    pub fn settle(&mut self, _: &mut Work, now: u64) {
        if self.tally.accounted < now {
            self.charge_until(now);
        }
        for scheduler in 0..self.schedulers.count() {
            self.charge_passed(scheduler);
        }
        self.count_until(self.tally.accounted);
        self.mem.settle(now);
        self.rf.settle(self.tally.counted);
        self.settle_arrays(self.tally.counted);
    }
}
