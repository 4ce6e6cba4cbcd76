// SPDX-License-Identifier: MIT OR Apache-2.0
//! Issue: the chosen warp's instruction is executed, and books its way through the machine.

use warpwatt_base::opaque;
use warpwatt_exec::stepping::{Computed, Now, StepEvent};

use super::cycle::Epoch;
use super::decode::{CollectorPool, Effect, Timing, Unit};
use super::hooks::Asked;
use super::stall::Stall;
use super::warp::gate;
use super::work::{Deferred, Work};
use super::{Event, Kernel, Slot, Sm, Turn};
use crate::host::in_two_copies;
use crate::register_file::Next;

impl Sm {
    /// Which pools have no free collector, a bit for each.
    #[inline(always)]
    pub(super) fn full_pools(&self) -> u32 {
        self.rf.full() | u32::from(!self.mem.has_room()) << CollectorPool::Memory as u32
    }

    /// Lets every scheduler issue once. Returns whether one did.
    #[inline(always)]
    pub(super) fn issue_all<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch) -> bool {
        if self.schedulers.count() == 2 {
            // The usual case: each has a copy of the way of an instruction, in which its place is known.
            let first = opaque(self).issue_or_charge::<TECHNIQUES>(opaque(epoch), 0);
            return opaque(self).issue_or_charge::<TECHNIQUES>(opaque(epoch), 1) | first;
        }
        match TECHNIQUES {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the loop without techniques runs only on hosts with these instructions.
            false => unsafe { self.issue_all_with_bit_instructions(epoch) },
            _ => self.issue_all_asked(epoch),
        }
    }

    /// [`Sm::issue_each`] where techniques may act.
    #[cold]
    #[inline(never)]
    fn issue_all_asked(&mut self, epoch: &mut Epoch) -> bool {
        self.issue_each::<true>(epoch)
    }

    /// [`Sm::issue_each`] without techniques, compiled with the host's bit and vector instructions.
    #[cold]
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn issue_all_with_bit_instructions(&mut self, epoch: &mut Epoch) -> bool {
        self.issue_each::<false>(epoch)
    }

    /// [`Sm::issue_all`] for any number of schedulers.
    #[inline(always)]
    fn issue_each<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch) -> bool {
        let mut any = false;
        for scheduler in self.schedulers.numbers() {
            any |= opaque(self).issue_or_charge::<TECHNIQUES>(opaque(epoch), scheduler);
        }
        any
    }

    /// Lets a scheduler issue. If it does not, its slot will be charged to a cause.
    #[inline(always)]
    fn issue_or_charge<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch, scheduler: u8) -> bool {
        let issues = self.schedulers.has_ready(scheduler) && self.issue_from::<TECHNIQUES>(epoch, scheduler);
        if !issues {
            self.schedulers.pass(scheduler, epoch.turn.now);
        }
        issues
    }

    /// A warp of a scheduler issues. Gives what [`Schedulers::take_back`](super::schedule::Schedulers::take_back) wants if it cannot after all.
    #[inline(always)]
    fn slot_is_used(&mut self, scheduler: u8, rank: u8, now: u64) -> u8 {
        let slots = self.schedulers.passed(scheduler, now);
        if slots != 0 {
            self.charge_first(scheduler, slots);
        }
        self.schedulers.issued(scheduler, rank, now)
    }

    /// Issues an instruction of one of the scheduler's warps. False if none can.
    #[inline(always)]
    fn issue_from<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch, scheduler: u8) -> bool {
        let mut candidates = self.schedulers.candidates(scheduler);
        if self.rf.any_full() || !self.mem.has_room() {
            candidates = self.schedulers.without(scheduler, candidates, self.full_pools());
        }
        let Some(rank) = self.schedulers.pick(scheduler, candidates) else { return false };
        match TECHNIQUES {
            true => {
                self.issue_rank(epoch, scheduler, rank)
                    || self.issue_another(epoch, scheduler, candidates & !(1 << rank))
            }
            false => self.issue_plainly(epoch, scheduler, rank, candidates),
        }
    }

    /// Issues an instruction of one of the candidates, the chosen one or else another, where no technique acts.
    #[inline(always)]
    fn issue_plainly(&mut self, epoch: &mut Epoch, scheduler: u8, rank: u8, candidates: u64) -> bool {
        let turn = &mut epoch.turn;
        let slot = self.schedulers[scheduler].slot(rank);
        let warp = &self.warps[slot];
        let pc = warp.ready_pc();
        let timing = turn.timing(warp, pc);
        if timing.constants != 0 && !self.constants_are_found(turn, slot, pc, timing) {
            return self.issue_another(epoch, scheduler, candidates & !(1 << rank));
        }
        if timing.effect == Effect::None
            // SAFETY: the warp is in its slot, nothing of it is borrowed, and this is an instruction of its program.
            && let Some(done) = unsafe { self.homes[slot].state.execute(pc) }
        {
            self.slot_is_used(scheduler, rank, turn.now);
            self.note_issue(slot, pc, done.lanes, timing);
            self.start_unit(timing, slot, pc, turn.now, None);
            // SAFETY: as above; it has been executed.
            match unsafe { self.homes[slot].state.goes_straight_on(pc) } {
                true => self.pass_straight_on(turn, slot, pc, timing.pool),
                false => self.go_on(turn, slot, pc),
            }
            return true;
        }
        let effect = timing.effect;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the loop without techniques runs only on hosts with these instructions.
        return unsafe {
            match effect {
                Effect::Load | Effect::Store => {
                    self.issue_access_here(epoch, slot, scheduler, rank, candidates)
                }
                Effect::Branch => self.issue_branch_here(epoch, slot, scheduler, rank, candidates),
                _ => self.issue_other_here(epoch, slot, scheduler, rank, candidates),
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self.issue_chosen(epoch, slot, scheduler, rank, candidates, |sm, epoch, pc| {
            sm.issue_other::<false>(epoch, slot, pc, None)
        });
    }

    /// [`Sm::issue_chosen`] for loads and stores, compiled with the host's bit and vector instructions.
    #[cold]
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn issue_access_here(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        scheduler: u8,
        rank: u8,
        candidates: u64,
    ) -> bool {
        self.issue_chosen(epoch, slot, scheduler, rank, candidates, |sm, epoch, pc| {
            sm.issue_access::<false>(epoch, slot, pc, None)
                || sm.issue_with_memory::<false>(epoch, slot, pc, None)
        })
    }

    /// [`Sm::issue_chosen`] for branches, compiled with the host's bit and vector instructions.
    #[cold]
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn issue_branch_here(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        scheduler: u8,
        rank: u8,
        candidates: u64,
    ) -> bool {
        self.issue_chosen(epoch, slot, scheduler, rank, candidates, |sm, epoch, pc| {
            sm.issue_branch::<false>(epoch, slot, pc, None)
                || sm.issue_with_memory::<false>(epoch, slot, pc, None)
        })
    }

    /// [`Sm::issue_chosen`] for all but loads, stores and branches, compiled with the host's bit and vector instructions.
    #[cold]
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn issue_other_here(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        scheduler: u8,
        rank: u8,
        candidates: u64,
    ) -> bool {
        self.issue_chosen(epoch, slot, scheduler, rank, candidates, |sm, epoch, pc| {
            let timing = epoch.turn.timing(&sm.warps[slot], pc);
            match timing.effect {
                Effect::Control => sm.issue_control(epoch, slot, pc),
                Effect::End | Effect::Fence => sm.issue_other_asked(epoch, slot, pc, None),
                _ => sm.issue_with_memory::<false>(epoch, slot, pc, None),
            }
        })
    }

    /// Issues an instruction of the chosen candidate, which is in this slot, that may do more than compute on registers, and whose constants are there, or
    /// else one of another, where no technique acts.
    #[inline(always)]
    fn issue_chosen(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        scheduler: u8,
        rank: u8,
        candidates: u64,
        issue: impl FnOnce(&mut Sm, &mut Epoch, u32) -> bool,
    ) -> bool {
        let now = epoch.turn.now;
        let pc = self.warps[slot].ready_pc();
        // Before it issues, since with that it may end.
        let before = self.slot_is_used(scheduler, rank, now);
        if issue(self, epoch, pc) {
            return true;
        }
        self.schedulers.take_back(scheduler, before, now);
        self.issue_another(epoch, scheduler, candidates & !(1 << rank))
    }

    /// Issues an instruction of one of these warps of a scheduler, since the first could not after all.
    #[cold]
    #[inline(never)]
    fn issue_another(&mut self, epoch: &mut Epoch, scheduler: u8, mut candidates: u64) -> bool {
        while epoch.turn.work.stopped.is_none()
            && let Some(rank) = self.schedulers.pick(scheduler, candidates)
        {
            if self.issue_rank(epoch, scheduler, rank) {
                return true;
            }
            candidates &= !(1 << rank);
        }
        false
    }

    /// Issues an instruction of one warp of a scheduler. False if it cannot after all.
    #[inline(always)]
    fn issue_rank(&mut self, epoch: &mut Epoch, scheduler: u8, rank: u8) -> bool {
        let slot = self.schedulers[scheduler].slot(rank);
        // Before it issues, since with that it may end.
        let before = self.slot_is_used(scheduler, rank, epoch.turn.now);
        let issues = self.try_issue(epoch, slot);
        if !issues {
            self.schedulers.take_back(scheduler, before, epoch.turn.now);
        }
        issues
    }

    /// Issues the next instruction of a warp that is ready. False if something turns up that it has to wait for.
    #[inline(always)]
    fn try_issue(&mut self, epoch: &mut Epoch, slot: Slot) -> bool {
        let turn = &mut epoch.turn;
        let warp = &self.warps[slot];
        let pc = warp.ready_pc();
        let timing = turn.timing(warp, pc);
        let mut next = None;
        if self.rf.has_sites() && timing.effect != Effect::End {
            let next = next.insert(self.next(slot, pc, timing));
            let asked = self.ask_first(turn, slot, next);
            if asked != Asked::Go {
                return asked == Asked::Injected;
            }
        }
        if timing.constants != 0 && !self.constants_are_found(turn, slot, pc, timing) {
            return false;
        }
        if timing.effect == Effect::None
            // SAFETY: the warp is in its slot, nothing of it is borrowed, and this is an instruction of its program.
            && let Some(done) = unsafe { self.homes[slot].state.execute(pc) }
        {
            self.note_issue(slot, pc, done.lanes, timing);
            let ready = match &next {
                Some(next) => self.rf.issue(turn.now, next),
                None => self.rf.collect_unchanged(turn.now, slot.index(), timing),
            };
            self.start_unit(timing, slot, pc, turn.now, Some(ready));
            // SAFETY: as above; it has been executed.
            match unsafe { self.homes[slot].state.goes_straight_on(pc) } {
                true => self.pass_straight_on(turn, slot, pc, timing.pool),
                false => self.go_on(turn, slot, pc),
            }
            return true;
        }
        self.issue_other_asked(epoch, slot, pc, next.as_ref())
    }

    /// [`Sm::issue_other`] where techniques may act.
    #[inline(always)]
    fn issue_other_asked(&mut self, epoch: &mut Epoch, slot: Slot, pc: u32, next: Option<&Next>) -> bool {
        let sm = self;
        in_two_copies!(sm.spec.bit_instructions, |sm: &mut Sm,
                                                  epoch: &mut Epoch,
                                                  slot: Slot,
                                                  pc: u32,
                                                  next: Option<&Next>|
         -> bool {
            sm.issue_other::<true>(epoch, slot, pc, next)
        })
    }

    /// Whether the constant operands of a warp's next instruction are there. If not, it waits.
    #[inline(always)]
    fn constants_are_found(&mut self, turn: &Turn, slot: Slot, pc: u32, timing: &Timing) -> bool {
        // SAFETY: the warp is in its slot, nothing of it is borrowed, and the end has no constants.
        let mask = unsafe { self.homes[slot].state.next_mask(pc) };
        let code = self.warps[slot].code;
        self.constants_are_there(turn, code, timing, slot, mask.count_ones() as u8)
    }

    /// Issues an instruction that may do more than compute on registers.
    #[inline(always)]
    fn issue_other<const TECHNIQUES: bool>(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        pc: u32,
        next: Option<&Next>,
    ) -> bool {
        match epoch.turn.timing(&self.warps[slot], pc).effect {
            Effect::End => return self.step_off_the_end(epoch, slot),
            Effect::Fence if self.mem.pending_writes(slot.number()) != 0 => {
                self.warps[slot].gates |= gate::FENCE;
                self.waits.stores |= slot.bit();
                self.wait(slot, Stall::Fence);
                return false;
            }
            Effect::Branch if self.issue_branch::<TECHNIQUES>(epoch, slot, pc, next) => return true,
            Effect::Load | Effect::Store if self.issue_access::<TECHNIQUES>(epoch, slot, pc, next) => {
                return true;
            }
            _ => {}
        }
        self.issue_with_memory::<TECHNIQUES>(epoch, slot, pc, next)
    }

    /// Issues a branch. False for calls and returns, of which nothing has happened.
    #[inline(always)]
    fn issue_branch<const TECHNIQUES: bool>(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        pc: u32,
        next: Option<&Next>,
    ) -> bool {
        let turn = &mut epoch.turn;
        let timing = turn.timing(&self.warps[slot], pc);
        let state = &self.homes[slot].state;
        // SAFETY: the warp is in its slot, nothing of it is borrowed, and this is an instruction of its program.
        let together = unsafe { state.branch(pc) };
        let done = match together {
            Some(done) => done,
            None => match self.branch_otherwise(turn, slot, pc) {
                Some(done) => done,
                None => return false,
            },
        };
        self.note_issue(slot, pc, done.lanes, timing);
        if TECHNIQUES {
            let ready = self.tell_and_collect(turn, slot, timing, next);
            self.start_unit(timing, slot, pc, turn.now, Some(ready));
        } else {
            self.start_control(timing, slot, pc, turn.now);
        }
        self.decide_branch(slot, turn.now, done.active & !done.mask);
        match done.next {
            Some(next) => {
                self.follow(slot, pc, next, turn.now);
                match self.spec.branch_cycles {
                    0 => self.evaluate_here(turn, slot),
                    _ => self.wait(slot, Stall::Fetch),
                }
            }
            None => self.after_event(turn, slot, StepEvent::Blocked),
        }
        true
    }

    /// Executes a branch by which lanes part, or that may be one of lanes that spin. Calls and returns are neither.
    #[cold]
    #[inline(never)]
    fn branch_otherwise(&mut self, turn: &mut Turn, slot: Slot, pc: u32) -> Option<Computed> {
        let (warp, state) = (&self.warps[slot], &self.homes[slot].state);
        let prepared = &turn.kernel(warp).prepared;
        // SAFETY: the warp is in its slot, nothing of it is borrowed, and this is an instruction of its program.
        let apart = unsafe { state.branch_apart(&mut turn.share(warp).stepper, pc) };
        // SAFETY: as above.
        apart.or_else(|| unsafe { state.branch_back(prepared, pc) })
    }

    /// A branch is under way, whose guard did not hold for some lanes: nothing issues or is fetched until it is decided.
    #[inline(always)]
    fn decide_branch(&mut self, slot: Slot, now: u64, passing: u32) {
        if passing != 0 {
            self.tally.passing_lanes += u64::from(passing.count_ones());
        }
        self.tally.issue.branches += 1;
        self.warps[slot].branches = self.spec.branch_cycles != 0;
        self.fetch.update(slot, &self.warps[slot]);
        self.hold(slot, now, self.spec.branch_cycles, Stall::Fetch);
    }

    /// Issues an instruction that does more than compute on registers.
    #[inline(never)]
    pub(super) fn issue_with_memory<const TECHNIQUES: bool>(
        &mut self,
        epoch: &mut Epoch,
        slot: Slot,
        pc: u32,
        next: Option<&Next>,
    ) -> bool {
        let turn = &mut epoch.turn;
        let now = turn.now;
        let warp = &self.warps[slot];
        let (kernel, timing) = (turn.kernel(warp), turn.timing(warp, pc));
        let (kernel_index, index) = (warp.kernel, warp.index as usize);
        let time = self.time(kernel, now);
        let Work { shares, log, .. } = &mut *turn.work;
        let share = &mut shares[kernel_index as usize];
        let resident = &mut share.residents[warp.resident as usize];
        let outcome =
            share.stepper.step_with_memory(&kernel.prepared, epoch.memory, log, resident, index, time);
        match outcome.event {
            StepEvent::Retry => {
                self.await_merge(slot);
                return false;
            }
            StepEvent::Fault => {
                if let Some(fault) = share.stepper.take_fault() {
                    turn.stop(kernel_index, fault);
                }
                return false;
            }
            _ => {}
        }
        self.note_issue(slot, pc, outcome.lanes, timing);
        let ready = TECHNIQUES.then(|| self.tell_and_collect(turn, slot, timing, next));
        if timing.unit == Unit::Memory && outcome.event != StepEvent::Deferred {
            let ready = ready.unwrap_or_else(|| self.rf.collect_unchanged(now, slot.index(), timing));
            let share = turn.share(&self.warps[slot]);
            let touches = self.start_memory(share, timing, (slot, pc), outcome.lanes, (now, ready), None);
            if TECHNIQUES && !touches && outcome.mask != 0 {
                self.value_came_late(turn, slot);
            }
        } else if timing.unit == Unit::Memory {
            // A surface store, done between epochs: it only takes its way to the memory unit.
            if !TECHNIQUES {
                self.rf.collect_unchanged(now, slot.index(), timing);
            }
            self.units.hand_over();
            self.tally.issue.retired += 1;
        } else {
            self.start_unit(timing, slot, pc, now, ready);
        }
        if timing.effect == Effect::Branch {
            self.decide_branch(slot, now, outcome.active & !outcome.mask);
        }
        if outcome.event != StepEvent::Go {
            self.after_event(turn, slot, outcome.event);
            return true;
        }
        self.go_on(turn, slot, pc);
        true
    }

    #[inline(always)]
    pub(super) fn note_issue(&mut self, slot: Slot, pc: u32, lane_count: u32, timing: &Timing) {
        self.tally.issue.issued += 1;
        self.tally.issue.constants += u64::from(timing.constants);
        self.tally.lanes[lane_count as usize] += 1;
        self.warps[slot].last_pc = pc;
    }

    /// A warp has executed the instruction at `pc`, with a collector of `pool`, and comes to the one behind it. Only that one can stall it.
    #[inline(always)]
    pub(super) fn pass_straight_on(&mut self, turn: &mut Turn, slot: Slot, pc: u32, pool: CollectorPool) {
        self.follow(slot, pc, pc + 1, turn.now);
        self.evaluate_next(turn, slot, pc + 1, pool);
    }

    /// A warp has executed the instruction at `pc` and may go on, wherever that is.
    #[cold]
    #[inline(never)]
    pub(super) fn go_on(&mut self, turn: &mut Turn, slot: Slot, pc: u32) {
        // SAFETY: the warp is in its slot, and not borrowed.
        match unsafe { self.homes[slot].state.next_pc() } {
            Some(next) => {
                self.follow(slot, pc, next, turn.now);
                self.evaluate_here(turn, slot);
            }
            None => self.after_event(turn, slot, StepEvent::Blocked),
        }
    }

    /// Books a unit for an instruction of fixed latency, and its operands where no technique acts; otherwise they are there in the given cycle.
    #[inline(always)]
    fn start_unit(&mut self, timing: &Timing, slot: Slot, pc: u32, now: u64, operands: Option<u64>) {
        let start = match operands {
            Some(ready) => self.start_when_ready(timing, now, ready),
            None => self.start_plainly(timing, slot, now),
        };
        if !timing.has_result {
            self.tally.issue.retired += 1;
            return;
        }
        let warp = &mut self.warps[slot];
        warp.reserve(&mut self.high[slot], timing, false);
        warp.in_flight += 1;
        self.events.push(start + u64::from(timing.latency), Event::Result { slot, pc });
    }

    /// Books a unit for a branch, a barrier or an end, which mostly have no operands and no result, where no technique acts.
    #[inline(always)]
    pub(super) fn start_control(&mut self, timing: &Timing, slot: Slot, pc: u32, now: u64) {
        if timing.sources != 0 || timing.has_result {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the loop without techniques runs only on hosts with these instructions.
            return unsafe { self.start_operands_first(timing, slot, pc, now) };
            #[cfg(not(target_arch = "x86_64"))]
            return self.start_operands_first(timing, slot, pc, now);
        }
        match self.units.takes_at_once(&mut self.rf.calendars, now + 1, timing) {
            Some(start) => self.rf.hold_briefly(now, timing.pool, start),
            None => {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the loop without techniques runs only on hosts with these instructions.
                unsafe {
                    self.start_later(timing, now, now + 1)
                };
                #[cfg(not(target_arch = "x86_64"))]
                self.start_later(timing, now, now + 1);
            }
        }
        self.tally.issue.retired += 1;
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt"))]
    fn start_operands_first(&mut self, timing: &Timing, slot: Slot, pc: u32, now: u64) {
        self.start_unit(timing, slot, pc, now, None);
    }

    /// Books operands and a unit where no technique acts; gives the cycle in which the unit starts.
    #[inline(always)]
    fn start_plainly(&mut self, timing: &Timing, slot: Slot, now: u64) -> u64 {
        let Some(ready) = self.rf.reads_at_once(now, slot.index(), timing) else {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the loop without techniques runs only on hosts with these instructions.
            return unsafe { self.start_after_conflicts(timing, slot, now) };
            #[cfg(not(target_arch = "x86_64"))]
            return self.start_after_conflicts(timing, slot, now);
        };
        let Some(start) = self.units.takes_at_once(&mut self.rf.calendars, ready, timing) else {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            return unsafe { self.start_later(timing, now, ready) };
            #[cfg(not(target_arch = "x86_64"))]
            return self.start_later(timing, now, ready);
        };
        self.rf.hold_briefly(now, timing.pool, start);
        start
    }

    /// [`Sm::start_plainly`] where operands come later than they could.
    #[cold]
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt"))]
    fn start_after_conflicts(&mut self, timing: &Timing, slot: Slot, now: u64) -> u64 {
        let ready = self.rf.collect_later_here(now, slot.index(), timing);
        self.start_when_ready(timing, now, ready)
    }

    /// [`Sm::start_plainly`] where the unit may be busy when the operands are there.
    #[cold]
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt"))]
    fn start_later(&mut self, timing: &Timing, now: u64, ready: u64) -> u64 {
        let start = self.units.dispatch_later(&mut self.rf.calendars, ready, timing);
        self.rf.hold(now, timing.pool, start);
        start
    }

    /// Books a unit for an instruction whose operands are there from `ready` on; gives the cycle in which it starts.
    #[inline(always)]
    fn start_when_ready(&mut self, timing: &Timing, now: u64, ready: u64) -> u64 {
        let start = self.units.dispatch(&mut self.rf.calendars, ready, timing);
        self.rf.hold(now, timing.pool, start);
        start
    }

    /// What a step meant beyond going on.
    #[cold]
    #[inline(never)]
    pub(super) fn after_event(&mut self, turn: &mut Turn, slot: Slot, event: StepEvent) {
        let warp = &self.warps[slot];
        if event == StepEvent::Deferred {
            turn.work.deferred.push(Deferred { cycle: turn.now, warp: slot.number() });
            return self.await_merge(slot);
        }
        let (block, index, last) = (warp.block as usize, warp.index as usize, warp.last_pc);
        let resident = turn.block(warp);
        let next = resident.warp_pc(index);
        let done = resident.warp_done(index);
        match next {
            Some(pc) => self.follow(slot, last, pc, turn.now),
            None => self.lose_path(slot, turn.now),
        }
        match event {
            StepEvent::Exited | StepEvent::Barrier => {
                if done {
                    self.end_warp(turn, slot);
                } else {
                    self.evaluate(turn, slot);
                }
                self.open_barriers(turn, block);
                return;
            }
            StepEvent::Grid => turn.work.at_grid_barrier = true,
            StepEvent::Yield => self.hold(slot, turn.now, self.spec.branch_cycles.max(1), Stall::Fetch),
            _ => {}
        }
        self.evaluate(turn, slot);
    }

    /// The next instruction of a warp is at `pc`; if it does not follow the latest one, what was fetched is of no use. `now` is the latest cycle that was run.
    #[inline(always)]
    pub(super) fn follow(&mut self, slot: Slot, latest: u32, pc: u32, now: u64) {
        let warp = &mut self.warps[slot];
        warp.set_pc(Some(pc));
        warp.consume();
        if pc == latest + 1 {
            self.fetch.consumed(slot, warp);
            if warp.buffered == 0 && warp.coming != 0 {
                self.fetch.receive(slot, warp, now);
            }
        } else {
            self.drop_buffer(slot);
        }
    }

    /// A warp goes on at `pc` after it waited. What it had fetched is of use if that is where it would have gone on anyway.
    #[inline(always)]
    pub(super) fn go_to(&mut self, slot: Slot, pc: u32) {
        self.charge_before_change(self.warps[slot].place);
        let warp = &mut self.warps[slot];
        warp.set_pc(Some(pc));
        if pc == warp.last_pc + 1 {
            self.fetch.update(slot, &self.warps[slot]);
        } else {
            self.drop_buffer(slot);
        }
    }

    /// All lanes of a warp wait or have ended; the instruction that brought them there leaves the buffer.
    #[inline(always)]
    pub(super) fn lose_path(&mut self, slot: Slot, now: u64) {
        self.charge_before_change(self.warps[slot].place);
        let warp = &mut self.warps[slot];
        warp.set_pc(None);
        warp.consume();
        if warp.buffered == 0 && warp.coming != 0 {
            self.fetch.receive(slot, warp, now);
        }
        self.fetch.update(slot, &self.warps[slot]);
    }

    fn await_merge(&mut self, slot: Slot) {
        self.warps[slot].gates |= gate::MERGE;
        self.waits.merge |= slot.bit();
        self.wait(slot, Stall::Merge);
    }

    #[cold]
    #[inline(never)]
    fn drop_buffer(&mut self, slot: Slot) {
        let warp = &mut self.warps[slot];
        self.tally.issue.jumps += 1;
        self.fetch.counters.flushed += u64::from(warp.fetched);
        (warp.buffered, warp.fetched, warp.coming) = (0, 0, 0);
        warp.path += 1;
        self.fetch.update(slot, &self.warps[slot]);
    }

    /// What the clocks say that the program can read.
    #[inline(always)]
    fn time(&self, kernel: &Kernel, now: u64) -> Now {
        let nanoseconds = if kernel.decoded.reads_timer { self.spec.clock.at(now) } else { 0 };
        Now { cycle: now, nanoseconds }
    }

    /// The executor reports a warp that ran past the last instruction.
    #[cold]
    fn step_off_the_end(&mut self, epoch: &mut Epoch, slot: Slot) -> bool {
        let warp = &self.warps[slot];
        let kernel = epoch.turn.kernel(warp);
        let Turn { now, work, .. } = &mut epoch.turn;
        let share = &mut work.shares[warp.kernel as usize];
        let resident = &mut share.residents[warp.resident as usize];
        let time = self.time(kernel, *now);
        let index = warp.index as usize;
        share.stepper.step(&kernel.prepared, epoch.memory, &mut work.log, resident, index, time);
        if let Some(fault) = share.stepper.take_fault() {
            epoch.turn.stop(warp.kernel, fault);
        }
        false
    }
}
