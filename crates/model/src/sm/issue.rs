// SPDX-License-Identifier: MIT OR Apache-2.0
//! Issue: the chosen warp's instruction is executed, and books its way through the machine.

use warpwatt_exec::stepping::{Access, NextLanes, Now, Outcome, StepEvent};

use super::decode::{CollectorPool, Effect, Timing, Unit};
use super::hooks::Asked;
use super::mem::{Job, JobKind};
use super::stall::Stall;
use super::warp::{Condition, gate};
use super::work::{Deferred, Stopped};
use super::{Event, Kernel, MemoryOp, Sm, SmContext, WARPS, Work, at, at_mut};
use crate::address;

impl Sm {
    /// Which pools have no free collector in a cycle, a bit for each.
    #[inline(always)]
    pub(super) fn full_pools(&self, now: u64) -> u32 {
        self.rf.full(now) | u32::from(!self.mem.has_room()) << CollectorPool::Memory as u32
    }

    /// Lets every scheduler issue once. Tells whether one did.
    #[inline(always)]
    pub(super) fn issue_all(&mut self, work: &mut Work, context: &mut SmContext, now: u64) -> bool {
        let mut any = false;
        self.accounted = now + 1;
        for scheduler in 0..self.schedulers.len() {
            if self.issue_from(work, context, scheduler, now) {
                any = true;
            } else {
                self.charge(work, scheduler, 1);
            }
        }
        any
    }

    /// Issues an instruction of one of the scheduler's warps. False if none can.
    #[inline(always)]
    fn issue_from(&mut self, work: &mut Work, context: &mut SmContext, scheduler: usize, now: u64) -> bool {
        let mut candidates = at(&self.schedulers, scheduler).candidates(self.full_pools(now));
        while let Some(rank) = at(&self.schedulers, scheduler).pick(candidates) {
            let slot = at(&self.schedulers, scheduler).slot(rank);
            // Before it issues, since with that it may end.
            let before = at_mut(&mut self.schedulers, scheduler).issued(rank);
            if self.try_issue(work, context, slot, now) {
                return true;
            }
            self.schedulers[scheduler].take_back(before);
            if work.stopped.is_some() {
                return false;
            }
            candidates &= !(1 << rank);
        }
        false
    }

    /// Issues the next instruction of a warp that is ready. False if something turns up that it has to wait for.
    #[inline(always)]
    fn try_issue(&mut self, work: &mut Work, context: &mut SmContext, slot: usize, now: u64) -> bool {
        let warp = &self.warps[slot % WARPS];
        let (kernel_index, index) = (warp.kernel as usize, warp.index as usize);
        let resident = warp.resident as usize;
        let kernel = at(context.kernels, kernel_index);
        let pc = warp.pc.expect("a ready warp has a next instruction");
        let Some(timing) = kernel.decoded.timing.get(pc as usize) else {
            return self.step_off_the_end(work, context, slot, now);
        };
        let mut lanes = None;
        if self.rf.has_sites() {
            match self.ask_first(work, context.kernels, slot, timing, now) {
                Asked::Go(known) => lanes = Some(known),
                Asked::Injected => return true,
                Asked::Wait => return false,
            }
        }
        if timing.constants != 0 {
            let mask = lanes.map_or_else(
                || {
                    let block = at(&at(&work.shares, kernel_index).residents, resident);
                    block.next_lanes(&kernel.prepared, index).mask
                },
                |lanes| lanes.mask,
            );
            if !self.constants_are_there(kernel.code, timing, slot, mask.count_ones() as u8, now) {
                return false;
            }
        }
        if timing.effect == Effect::Fence && self.mem.pending_writes(slot as u8) != 0 {
            self.warps[slot % WARPS].gates |= gate::FENCE;
            self.waits_for_stores |= 1 << slot;
            self.wait(slot, Stall::Fence);
            return false;
        }
        let share = at_mut(&mut work.shares, kernel_index);
        let resident = at_mut(&mut share.residents, resident);
        if let Some(done) = share.stepper.compute(&kernel.prepared, resident, index) {
            self.note_issue(slot, pc, done.mask.count_ones(), timing);
            self.tell_techniques(context.kernels, now, slot, timing, lanes);
            self.start_unit(timing, slot, pc, now);
            match done.next {
                Some(next) => {
                    self.follow(slot, pc, next);
                    self.evaluate_next(context.kernels, kernel, slot, next, now);
                }
                None => self.after_event(work, context.kernels, slot, StepEvent::Blocked, now),
            }
            return true;
        }
        self.issue_with_memory(work, context, slot, pc, lanes, now)
    }

    /// Issues an instruction that does more than compute on registers.
    #[inline(never)]
    fn issue_with_memory(
        &mut self,
        work: &mut Work,
        context: &mut SmContext,
        slot: usize,
        pc: u32,
        lanes: Option<NextLanes>,
        now: u64,
    ) -> bool {
        let warp = &self.warps[slot % WARPS];
        let (kernel_index, index) = (warp.kernel as usize, warp.index as usize);
        let kernel = at(context.kernels, kernel_index);
        let timing = at(&kernel.decoded.timing, pc as usize);
        let share = at_mut(&mut work.shares, kernel_index);
        let resident = at_mut(&mut share.residents, warp.resident as usize);
        let time = self.time(kernel, now);
        let outcome = share.stepper.step_with_memory(
            &kernel.prepared,
            context.memory,
            &mut work.log,
            resident,
            index,
            time,
        );
        match outcome.event {
            StepEvent::Retry => {
                self.await_merge(slot);
                return false;
            }
            StepEvent::Fault => {
                if let Some(fault) = share.stepper.take_fault() {
                    work.stopped = Some(Stopped { cycle: now, kernel: kernel_index as u32, fault });
                }
                return false;
            }
            _ => {}
        }
        let lane_count = outcome.mask.count_ones();
        self.note_issue(slot, pc, lane_count, timing);
        self.tell_techniques(context.kernels, now, slot, timing, lanes);
        self.tell_late(work, slot, now);
        if timing.unit == Unit::Memory && outcome.event != StepEvent::Deferred {
            self.start_memory(work, context.kernels, &outcome, lane_count, slot, now);
        } else {
            self.start_unit(timing, slot, pc, now);
        }
        if timing.effect == Effect::Branch {
            self.passing_lanes += u64::from((outcome.active & !outcome.mask).count_ones());
            self.issue.branches += 1;
            self.warps[slot % WARPS].branches = self.spec.branch_cycles != 0;
            self.fetch.update(slot, &self.warps[slot % WARPS]);
            self.hold(slot, now, self.spec.branch_cycles, Stall::Fetch);
        }
        if outcome.event != StepEvent::Go {
            self.after_event(work, context.kernels, slot, outcome.event, now);
            return true;
        }
        self.go_on(work, context.kernels, slot, pc, now);
        true
    }

    #[inline(always)]
    fn note_issue(&mut self, slot: usize, pc: u32, lane_count: u32, timing: &Timing) {
        self.issue.issued += 1;
        self.issue.constants += u64::from(timing.constants);
        self.lanes[lane_count as usize] += 1;
        self.warps[slot % WARPS].last_pc = pc;
    }

    /// A warp has executed the instruction at `pc` and may go on.
    fn go_on(&mut self, work: &mut Work, kernels: &[Kernel], slot: usize, pc: u32, now: u64) {
        let warp = &self.warps[slot % WARPS];
        let (kernel, index) = (warp.kernel as usize, warp.index as usize);
        let resident = at(&at(&work.shares, kernel).residents, warp.resident as usize);
        match resident.warp_pc(index) {
            Some(next) => {
                self.follow(slot, pc, next);
                self.evaluate_here(kernels, slot, now);
            }
            None => self.after_event(work, kernels, slot, StepEvent::Blocked, now),
        }
    }

    /// Books operands and a unit for an instruction of fixed latency.
    #[inline(never)]
    fn start_unit(&mut self, timing: &Timing, slot: usize, pc: u32, now: u64) {
        let ready = self.rf.collect(now, slot, timing);
        if timing.unit == Unit::Memory {
            // A surface store, done between epochs: it only takes its way to the memory unit.
            self.units.hand_over();
            self.issue.retired += 1;
            return;
        }
        let start = self.units.dispatch(&mut self.rf.calendars, ready, timing);
        self.rf.hold(now, timing.pool, start);
        if timing.dst_words == 0 && timing.pred_writes == 0 {
            self.issue.retired += 1;
            return;
        }
        let warp = &mut self.warps[slot % WARPS];
        warp.reserve(timing, false);
        warp.in_flight += 1;
        self.wheel.push(start + u64::from(timing.latency), Event::Result { slot: slot as u8, pc });
    }

    /// Hands a memory instruction to the memory unit.
    #[inline(always)]
    fn start_memory(
        &mut self,
        work: &mut Work,
        kernels: &[Kernel],
        outcome: &Outcome,
        lane_count: u32,
        slot: usize,
        now: u64,
    ) {
        let kernel_index = self.warps[slot % WARPS].kernel as usize;
        let timing = at(&at(kernels, kernel_index).decoded.timing, outcome.pc as usize);
        let ready = self.rf.collect(now, slot, timing);
        self.rf.hold_for_memory(now, ready);
        self.units.hand_over();
        if outcome.access == Access::None {
            // No lane took part, or nothing was touched.
            self.issue.retired += 1;
            if outcome.mask != 0 {
                self.value_came_late(work, kernels, slot, now);
            }
            return;
        }
        let op = MemoryOp { slot: slot as u8, pc: outcome.pc };
        let token = match self.free_ops.pop() {
            Some(token) => {
                self.memory_ops[token as usize] = op;
                token
            }
            None => {
                self.memory_ops.push(op);
                self.memory_ops.len() as u32 - 1
            }
        };
        let warp = &mut self.warps[slot % WARPS];
        warp.reserve(timing, true);
        warp.in_flight += 1;
        let job = Job {
            token,
            warp: slot as u8,
            lanes: lane_count as u8,
            kind: match timing.effect {
                Effect::Store => JobKind::Store,
                Effect::Atomic => JobKind::Atomic,
                Effect::Reduction => JobKind::Reduction,
                Effect::Texture => JobKind::Texture,
                _ => JobKind::Load,
            },
            cache: timing.cache,
            ready,
            issued: now,
            local_base: warp.local_base,
            shared_row: warp.shared_row,
            kernel: work.codes[kernel_index],
        };
        let share = at_mut(&mut work.shares, kernel_index);
        let lines = self.mem.accept(job, &share.stepper, outcome.access);
        share.lines[outcome.pc as usize] += u64::from(lines);
    }

    /// What a step meant beyond going on.
    #[inline(never)]
    fn after_event(&mut self, work: &mut Work, kernels: &[Kernel], slot: usize, event: StepEvent, now: u64) {
        let warp = &self.warps[slot % WARPS];
        if event == StepEvent::Deferred {
            work.deferred.push(Deferred { cycle: now, warp: slot as u8 });
            return self.await_merge(slot);
        }
        let (kernel, block, index, last) =
            (warp.kernel as usize, warp.block as usize, warp.index as usize, warp.last_pc);
        let resident = &mut work.shares[kernel].residents[self.blocks[block].resident as usize];
        let next = resident.warp_pc(index);
        let done = resident.warp_done(index);
        match next {
            Some(pc) => self.follow(slot, last, pc),
            None => self.lose_path(slot),
        }
        match event {
            StepEvent::Exited | StepEvent::Barrier => {
                if done {
                    self.end_warp(work, slot, now);
                } else {
                    self.evaluate(kernels, slot, now);
                }
                self.open_barriers(work, kernels, block, now);
                return;
            }
            StepEvent::Grid => work.at_grid_barrier = true,
            StepEvent::Yield => self.hold(slot, now, self.spec.branch_cycles.max(1), Stall::Fetch),
            _ => {}
        }
        self.evaluate(kernels, slot, now);
    }

    /// The next instruction of a warp is at `pc`; if it does not follow the latest one, what was fetched is of no use.
    #[inline(always)]
    pub(super) fn follow(&mut self, slot: usize, latest: u32, pc: u32) {
        let warp = &mut self.warps[slot % WARPS];
        warp.pc = Some(pc);
        warp.buffered -= 1;
        if pc == latest + 1 {
            self.fetch.consumed(slot, warp);
        } else {
            self.drop_buffer(slot);
        }
    }

    /// A warp goes on at `pc` after it waited. What it had fetched is of use if that is where it would have gone on anyway.
    pub(super) fn go_to(&mut self, slot: usize, pc: u32) {
        let warp = &mut self.warps[slot % WARPS];
        warp.pc = Some(pc);
        if pc == warp.last_pc + 1 {
            self.fetch.update(slot, &self.warps[slot % WARPS]);
        } else {
            self.drop_buffer(slot);
        }
    }

    /// All lanes of a warp wait or have ended; the instruction that brought them there leaves the buffer.
    pub(super) fn lose_path(&mut self, slot: usize) {
        let warp = &mut self.warps[slot % WARPS];
        warp.pc = None;
        warp.buffered -= 1;
        self.fetch.update(slot, &self.warps[slot % WARPS]);
    }

    fn await_merge(&mut self, slot: usize) {
        self.warps[slot % WARPS].gates |= gate::MERGE;
        self.merging |= 1 << slot;
        self.wait(slot, Stall::Merge);
    }

    #[inline(never)]
    fn drop_buffer(&mut self, slot: usize) {
        let warp = &mut self.warps[slot % WARPS];
        self.issue.jumps += 1;
        self.fetch.counters.flushed += u64::from(warp.buffered + warp.coming);
        (warp.buffered, warp.coming) = (0, 0);
        warp.path += 1;
        self.fetch.update(slot, &self.warps[slot % WARPS]);
    }

    /// Whether the constant operands of a warp's next instruction are there, which so many lanes will execute. If not, the warp waits.
    #[inline(always)]
    fn constants_are_there(&mut self, code: u32, timing: &Timing, slot: usize, lanes: u8, now: u64) -> bool {
        if self.mem.constants_can_wait() {
            return self.constants_are_served(code, timing, slot, lanes, now);
        }
        let mut all = true;
        let operands = timing.constant_bank.iter().zip(&timing.constant_offset);
        for (&bank, &offset) in operands.take(usize::from(timing.constants)) {
            let address = address::constant(code, bank, u32::from(offset));
            all &= self.mem.constant(now, address, slot as u8, lanes).is_some();
        }
        if !all {
            self.await_constants(slot, now, 1, now, false);
        }
        all
    }

    /// Whether they are there where a technique may have them wait for the array: those that have been granted are not read again.
    #[inline(never)]
    fn constants_are_served(&mut self, code: u32, timing: &Timing, slot: usize, lanes: u8, now: u64) -> bool {
        let granted = std::mem::take(&mut self.warps[slot % WARPS].granted);
        let (mut missing, mut ready) = (0, now);
        let operands = timing.constant_bank.iter().zip(&timing.constant_offset);
        for (i, (&bank, &offset)) in operands.take(usize::from(timing.constants)).enumerate() {
            if granted >> i & 1 == 0 {
                let address = address::constant(code, bank, u32::from(offset));
                match self.mem.constant(now, address, slot as u8, lanes) {
                    Some(at) => ready = ready.max(at),
                    None => missing |= 1 << i,
                }
            }
        }
        if missing == 0 && ready == now {
            return true;
        }
        self.await_constants(slot, now, missing, ready, granted != 0);
        false
    }

    /// A warp waits for constant operands: for lines that are not there, and until the array serves those that are. The latter need not be
    /// read again, or warps could keep each other from what they read for ever.
    #[inline(never)]
    fn await_constants(&mut self, slot: usize, now: u64, missing: u8, ready: u64, granted: bool) {
        let warp = &mut self.warps[slot % WARPS];
        if missing != 0 {
            warp.gates |= gate::CONSTANT;
        }
        if granted || ready > now {
            warp.granted = !missing;
        }
        if ready > now {
            self.hold(slot, now, ready - now, Stall::Constant);
        }
        self.wait(slot, Stall::Constant);
    }

    /// What the clocks say that the program can read.
    #[inline(always)]
    fn time(&self, kernel: &Kernel, now: u64) -> Now {
        let nanoseconds = if kernel.decoded.reads_timer { self.spec.clock.at(now) } else { 0 };
        Now { cycle: now, nanoseconds }
    }

    /// The executor reports a warp that ran past the last instruction.
    #[cold]
    fn step_off_the_end(&mut self, work: &mut Work, context: &SmContext, slot: usize, now: u64) -> bool {
        let warp = &self.warps[slot % WARPS];
        let kernel = &context.kernels[warp.kernel as usize];
        let share = &mut work.shares[warp.kernel as usize];
        let resident = &mut share.residents[self.blocks[warp.block as usize].resident as usize];
        let time = self.time(kernel, now);
        let index = warp.index as usize;
        share.stepper.step(&kernel.prepared, context.memory, &mut work.log, resident, index, time);
        if let Some(fault) = share.stepper.take_fault() {
            work.stopped = Some(Stopped { cycle: now, kernel: warp.kernel, fault });
        }
        false
    }

    /// Finds out whether a warp can issue, and what it waits for if not. Called from everywhere: this is the one copy of it but for those in
    /// the two places that every instruction passes.
    #[inline(never)]
    pub(super) fn evaluate(&mut self, kernels: &[Kernel], slot: usize, now: u64) {
        if self.warps[slot % WARPS].is_live() {
            self.evaluate_here(kernels, slot, now);
        }
    }

    /// Finds out whether a warp that has just issued an arithmetic instruction can issue the next one: only that one can stall it.
    #[inline(always)]
    fn evaluate_next(&mut self, kernels: &[Kernel], kernel: &Kernel, slot: usize, pc: u32, now: u64) {
        let warp = &self.warps[slot % WARPS];
        match kernel.decoded.timing.get(pc as usize) {
            Some(timing) if warp.buffered != 0 => match warp.hazard(timing) {
                None => {
                    let scheduler = at_mut(&mut self.schedulers, usize::from(warp.scheduler));
                    scheduler.set_ready(warp.rank, timing.pool);
                }
                Some(stall) => self.wait(slot, stall),
            },
            _ => self.evaluate_here(kernels, slot, now),
        }
    }

    /// Finds out whether a live warp can issue, and its stall reason if not.
    #[inline(always)]
    pub(super) fn evaluate_here(&mut self, kernels: &[Kernel], slot: usize, now: u64) {
        let warp = &mut self.warps[slot % WARPS];
        let pc = match warp.next_pc(now) {
            Ok(pc) => pc,
            Err(stall) => return self.wait(slot, stall),
        };
        let timing = at(kernels, warp.kernel as usize).decoded.timing.get(pc as usize);
        if let Some(stall) = timing.and_then(|timing| warp.hazard(timing)) {
            return self.wait(slot, stall);
        }
        warp.condition = Condition::Ready;
        let pool = timing.map_or(CollectorPool::Sp, |timing| timing.pool);
        at_mut(&mut self.schedulers, usize::from(warp.scheduler)).set_ready(warp.rank, pool);
    }

    #[inline(always)]
    fn wait(&mut self, slot: usize, stall: Stall) {
        let warp = &mut self.warps[slot % WARPS];
        (warp.condition, warp.stall) = (Condition::Waits, stall);
        let away = matches!(stall, Stall::Memory | Stall::Barrier | Stall::Fence | Stall::Merge);
        at_mut(&mut self.schedulers, usize::from(warp.scheduler)).set_waiting(warp.rank, away);
    }
}
