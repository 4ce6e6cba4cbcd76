// SPDX-License-Identifier: MIT OR Apache-2.0
//! Issue of loads and stores: they are executed, and handed to the memory unit with what they access.

use warpwatt_exec::stepping::{Access, Accessed, LoadedRun};

use super::cycle::Epoch;
use super::decode::Timing;
use super::mem::{Job, Origin};
use super::work::{KernelState, Work};
use super::{MemoryOp, Slot, Sm};
use crate::register_file::Next;

impl Sm {
    /// Issues a load or store whose lanes are all in one place. False for others, of which nothing has happened.
    #[inline(always)]
    pub(super) fn issue_access<const TECHNIQUES: bool>(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        pc: u32,
        next: Option<&Next>,
    ) -> bool {
        let turn = &mut epoch.turn;
        let (now, warp) = (turn.now, &self.warps[slot]);
        let timing = turn.timing(warp, pc);
        let Work { shares, log, .. } = &mut *turn.work;
        let share = &mut shares[warp.kernel as usize];
        let state = &self.homes[slot].state;
        // SAFETY: the warp is in its slot, nothing of it is borrowed, and this is an instruction of its program.
        let run = unsafe { state.load_run(&share.stepper, epoch.memory, log, pc) };
        let Accessed { mask, goes_straight_on } = match run {
            Some(LoadedRun { goes_straight_on, .. }) => Accessed { mask: u32::MAX, goes_straight_on },
            // SAFETY: as above.
            None => match unsafe { state.access(&mut share.stepper, epoch.memory, log, pc, now) } {
                Some(done) => done,
                None => return false,
            },
        };
        let lane_count = mask.count_ones();
        self.note_issue(slot, pc, lane_count, timing);
        let (share, ready) = match TECHNIQUES {
            true => {
                let ready = self.tell_and_collect(turn, slot, timing, next);
                (turn.share(&self.warps[slot]), ready)
            }
            false => (share, self.rf.collect_unchanged(now, slot.index(), timing)),
        };
        let run = run.map(|run| run.address);
        let touches = self.start_memory(share, timing, (slot, pc), lane_count, (now, ready), run);
        if TECHNIQUES && !touches && mask != 0 {
            self.value_came_late(turn, slot);
        }
        match goes_straight_on {
            true => self.pass_straight_on(turn, slot, pc, timing.pool),
            false => self.go_on(turn, slot, pc),
        }
        true
    }

    /// Hands a memory instruction that issues in a cycle, and whose operands are there in another, to the memory unit: a load of words side by side from an address on, or else
    /// what the stepper recorded. False if it needs nothing there.
    #[inline(always)]
    pub(super) fn start_memory(
        &mut self,
        share: &mut KernelState,
        timing: &Timing,
        (slot, pc): (Slot, u32),
        lanes: u32,
        (now, ready): (u64, u64),
        run: Option<u64>,
    ) -> bool {
        self.rf.hold_for_memory(now, ready);
        self.units.hand_over();
        if run.is_none() && matches!(share.stepper.access(), Access::None) {
            // No lane took part, or nothing was touched.
            self.tally.issue.retired += 1;
            return false;
        }
        let token = MemoryOp { slot, pc }.token();
        let warp = &mut self.warps[slot];
        warp.reserve(&mut self.high[slot], timing, true);
        warp.in_flight += 1;
        let job = Job {
            token,
            warp: slot.number(),
            lanes: lanes as u8,
            kind: timing.effect,
            cache: timing.cache,
            ready,
            issued: now,
        };
        let (home, kernel) = (&self.homes[slot], warp.code);
        let origin = || Origin { local_base: home.local_base, shared_row: home.shared_row, kernel };
        let lines = self.mem.accept(job, run, origin, &share.stepper);
        self.expect_memory(self.mem.wake());
        share.lines[pc as usize] += u64::from(lines);
        true
    }
}
