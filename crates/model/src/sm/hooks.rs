// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the SM asks the techniques in its register file, if there are any. `register_file/site.rs` lists the methods.

use warpwatt_exec::stepping::NextLanes;
use warpwatt_exec::{Fault, FaultKind};

use super::decode::{CollectorPool, Timing};
use super::work::Stopped;
use super::{Event, Kernel, Sm, WARPS, Work, at, at_mut};
use crate::register_file::{Before, Mismatch, Next, Values};

/// What comes of an instruction that is about to issue.
pub(super) enum Asked {
    Go(NextLanes),
    /// A move was issued in its place.
    Injected,
    /// Nothing issues.
    Wait,
}

impl Sm {
    /// Asks the techniques whether the next instruction of a warp may issue, if any of them wants to know.
    #[inline(never)]
    pub(super) fn ask_first(
        &mut self,
        work: &mut Work,
        kernels: &[Kernel],
        slot: usize,
        timing: &Timing,
        now: u64,
    ) -> Asked {
        let warp = &self.warps[slot % WARPS];
        let (kernel, index) = (warp.kernel as usize, warp.index as usize);
        let block = at(&at(&work.shares, kernel).residents, warp.resident as usize);
        let lanes = block.next_lanes(&at(kernels, kernel).prepared, index);
        if self.rf.looks_before() {
            return self.ask_techniques(work, kernels, slot, timing, lanes, now);
        }
        Asked::Go(lanes)
    }

    #[inline(never)]
    fn ask_techniques(
        &mut self,
        work: &mut Work,
        kernels: &[Kernel],
        slot: usize,
        timing: &Timing,
        lanes: NextLanes,
        now: u64,
    ) -> Asked {
        let warp = &self.warps[slot % WARPS];
        let (kernel, index) = (warp.kernel as usize, warp.index as usize);
        let block = at(&at(&work.shares, kernel).residents, warp.resident as usize);
        let next = self.next(kernels, slot, timing, lanes);
        let values = Values { block, warp: index };
        for (place, hung) in self.rf.sites.iter_mut().enumerate() {
            match hung.site.before(&next, values) {
                Before::Go => {}
                // It needs a collector like any other move.
                Before::Move(_) if self.rf.full(now) >> CollectorPool::Sp as u32 & 1 != 0 => {
                    return Asked::Wait;
                }
                Before::Move(register) => {
                    self.inject_move(place, slot, register, lanes, now);
                    self.evaluate_here(kernels, slot, now);
                    return Asked::Injected;
                }
                Before::Corrupted(mismatch) => {
                    let fault = self.corrupted(work, kernels, slot, mismatch);
                    work.stopped =
                        Some(Stopped { cycle: now, kernel: kernel as u32, fault: Box::new(fault) });
                    return Asked::Wait;
                }
            }
        }
        Asked::Go(lanes)
    }

    /// The next instruction of a warp, for techniques.
    fn next<'a>(&self, kernels: &'a [Kernel], slot: usize, timing: &'a Timing, lanes: NextLanes) -> Next<'a> {
        let warp = &self.warps[slot % WARPS];
        let kernel = at(kernels, warp.kernel as usize);
        let pc = warp.pc.map_or(usize::MAX, |pc| pc as usize);
        let words = kernel.decoded.words.get(pc).copied().unwrap_or_default();
        Next { slot, timing, words, live: kernel.prepared.image().program().live_in.get(pc), lanes }
    }

    /// A move takes an issue slot, a collector, a unit and ports like an instruction of the program.
    fn inject_move(&mut self, site: usize, slot: usize, register: u8, lanes: NextLanes, now: u64) {
        self.issue.injected += 1;
        let timing = &self.moves[usize::from(register)];
        let ready = self.rf.collect(now, slot, timing);
        self.rf.sites[site].site.moving(slot, register, lanes);
        let start = self.units.dispatch(&mut self.rf.calendars, ready, timing);
        self.rf.hold(now, timing.pool, start);
        let warp = &mut self.warps[slot % WARPS];
        warp.reserve(timing, false);
        warp.in_flight += 1;
        self.wheel.push(start + u64::from(timing.latency), Event::Moved { slot: slot as u8, register });
    }

    #[inline(never)]
    pub(super) fn moved(&mut self, work: &mut Work, kernels: &[Kernel], now: u64, slot: u8, register: u8) {
        let timing = self.moves[usize::from(register)].clone();
        let done = self.write_back(work, now, usize::from(slot), &timing);
        if done > now {
            self.wheel.push(done, Event::MoveWritten { slot, register });
        } else {
            self.move_written(work, kernels, now, slot, register);
        }
    }

    #[inline(never)]
    pub(super) fn move_written(
        &mut self,
        work: &mut Work,
        kernels: &[Kernel],
        now: u64,
        slot: u8,
        register: u8,
    ) {
        let slot = usize::from(slot);
        let warp = &mut self.warps[slot % WARPS];
        warp.release(&self.moves[usize::from(register)]);
        warp.in_flight -= 1;
        self.after_write(work, kernels, now, slot);
    }

    /// An instruction has issued.
    #[inline(always)]
    pub(super) fn tell_techniques(
        &mut self,
        kernels: &[Kernel],
        now: u64,
        slot: usize,
        timing: &Timing,
        lanes: Option<NextLanes>,
    ) {
        if let Some(lanes) = lanes {
            let next = self.next(kernels, slot, timing, lanes);
            for hung in &mut self.rf.sites {
                hung.site.issued(now, &next);
            }
        }
    }

    /// Books the way of a result into the register file; gives the cycle in which all of it is written.
    #[inline(always)]
    pub(super) fn write_back(&mut self, work: &Work, now: u64, slot: usize, timing: &Timing) -> u64 {
        let values = self.rf.has_sites().then(|| {
            let warp = &self.warps[slot % WARPS];
            let block = at(&at(&work.shares, warp.kernel as usize).residents, warp.resident as usize);
            Values { block, warp: warp.index as usize }
        });
        self.rf.write_back(now, slot, timing, values)
    }

    /// Lanes of a warp may have got what they waited for: results of barriers, and of operations between lanes.
    #[inline(always)]
    pub(super) fn tell_late(&mut self, work: &mut Work, slot: usize, now: u64) {
        if !self.rf.has_sites() {
            return;
        }
        let warp = &self.warps[slot % WARPS];
        let share = at_mut(&mut work.shares, warp.kernel as usize);
        let block = at_mut(&mut share.residents, warp.resident as usize);
        let late = block.take_late(warp.index as usize);
        for (mut set, first) in late.into_iter().zip((0u8..).step_by(64)) {
            while set != 0 {
                let register = first + set.trailing_zeros() as u8;
                set &= set - 1;
                for hung in &mut self.rf.sites {
                    hung.site.late(now, slot, register, block.row(warp.index as usize, register));
                }
            }
        }
    }

    /// The latest instruction of a warp waited for the end of the epoch, or was done at once, and has its result now.
    pub(super) fn value_came_late(&mut self, work: &Work, kernels: &[Kernel], slot: usize, now: u64) {
        if !self.rf.has_sites() {
            return;
        }
        let warp = &self.warps[slot % WARPS];
        let timings = &at(kernels, warp.kernel as usize).decoded.timing;
        let Some(timing) = timings.get(warp.last_pc as usize) else { return };
        let block = at(&at(&work.shares, warp.kernel as usize).residents, warp.resident as usize);
        for register in timing.dst..timing.dst + timing.dst_words {
            for hung in &mut self.rf.sites {
                hung.site.late(now, slot, register, block.row(warp.index as usize, register));
            }
        }
    }

    #[cold]
    fn corrupted(&self, work: &Work, kernels: &[Kernel], slot: usize, mismatch: Mismatch) -> Fault {
        let warp = &self.warps[slot % WARPS];
        let block = &work.shares[warp.kernel as usize].residents[warp.resident as usize];
        let Mismatch { register, lane, given, stored } = mismatch;
        let detail = format!(
            "R{register} of SM {}, warp slot {slot}, lane {lane} was given 0x{given:08x} and is stored as 0x{stored:08x}",
            self.id
        );
        let thread = kernels[warp.kernel as usize].prepared.thread(warp.index as usize, usize::from(lane));
        let fault = Fault::bare(FaultKind::Corrupted, warp.pc.unwrap_or(warp.last_pc), detail);
        Fault { cta: block.cta_id(), thread, ..fault }
    }
}
