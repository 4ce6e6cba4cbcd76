// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the SM asks the techniques in its register file, if there are any. `register_file/site.rs` lists the methods.

use warpwatt_exec::stepping::NextLanes;
use warpwatt_exec::{Fault, FaultKind};

use super::decode::{CollectorPool, Timing};
use super::{Event, Slot, Sm, Turn};
use crate::register_file::{Before, Coming, Looks, Mismatch, Next, Values};

/// What comes of an instruction that is about to issue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Go,
    /// A move was issued in its place.
    Injected,
    /// Nothing issues.
    Wait,
}

impl Sm {
    /// The next instruction of a warp, which is ready to issue, for techniques.
    #[inline(always)]
    pub(super) fn next<'t>(&self, slot: Slot, pc: u32, timing: &'t Timing) -> Next<'t> {
        // SAFETY: the warp is in its slot and ready to issue, and nothing of it is borrowed.
        let lanes = unsafe { self.homes[slot].state.next_lanes(pc) };
        Next { slot: slot.index(), timing, lanes }
    }

    /// Asks the techniques whether the next instruction of a warp may issue, if any of them wants to know.
    #[inline(always)]
    pub(super) fn ask_first(&mut self, turn: &mut Turn, slot: Slot, next: &Next) -> Asked {
        let looks = self.rf.looks_before();
        if looks == Looks::Always || looks == Looks::IfPartial && next.lanes.mask != u32::MAX {
            return self.ask_techniques(turn, slot, next);
        }
        Asked::Go
    }

    #[inline(never)]
    fn ask_techniques(&mut self, turn: &mut Turn, slot: Slot, next: &Next) -> Asked {
        let (now, lanes) = (turn.now, next.lanes);
        let kernel = self.warps[slot].kernel;
        // SAFETY: the warp is in its slot, and nothing is executed while techniques look at its registers.
        let values = Values(unsafe { self.homes[slot].state.rows() });
        for (place, hung) in self.rf.sites.iter_mut().enumerate() {
            match hung.site.before(next, values) {
                Before::Go => {}
                // It needs a collector like any other move.
                Before::Move(_) if self.rf.is_full(CollectorPool::Sp) => {
                    return Asked::Wait;
                }
                Before::Move(register) => {
                    self.inject_move(place, slot, register, lanes, now);
                    self.evaluate_here(turn, slot);
                    return Asked::Injected;
                }
                Before::Corrupted(mismatch) => {
                    let fault = self.corrupted(turn, slot, mismatch);
                    turn.stop(kernel, Box::new(fault));
                    return Asked::Wait;
                }
            }
        }
        Asked::Go
    }

    /// A move takes an issue slot, a collector, a unit and ports like an instruction of the program.
    fn inject_move(&mut self, site: usize, slot: Slot, register: u8, lanes: NextLanes, now: u64) {
        self.tally.issue.injected += 1;
        let timing = &self.spec.moves[usize::from(register)];
        let ready = self.rf.collect(now, slot.index(), timing);
        self.rf.sites[site].site.moving(slot.index(), register, lanes);
        let start = self.units.dispatch(&mut self.rf.calendars, ready, timing);
        self.rf.hold(now, timing.pool, start);
        let warp = &mut self.warps[slot];
        warp.reserve(&mut self.high[slot], timing, false);
        warp.in_flight += 1;
        self.events.push(start + u64::from(timing.latency), Event::Moved { slot, register });
    }

    #[inline(never)]
    pub(super) fn moved(&mut self, turn: &mut Turn, slot: Slot, register: u8) {
        let timing = self.spec.moves[usize::from(register)].clone();
        let done = self.write_back(turn, slot, &timing);
        if done > turn.now {
            self.events.push(done, Event::MoveWritten { slot, register });
        } else {
            self.move_written(turn, slot, register);
        }
    }

    #[inline(never)]
    pub(super) fn move_written(&mut self, turn: &mut Turn, slot: Slot, register: u8) {
        let warp = &mut self.warps[slot];
        warp.release(&mut self.high[slot], &self.spec.moves[usize::from(register)]);
        warp.in_flight -= 1;
        self.after_write(turn, slot);
    }

    /// Tells techniques that an instruction has issued that may have had lanes of its warp wait for others, or ended such a wait, and books its operands; gives
    /// the cycle in which they are there. `next` is the instruction if there are techniques.
    #[inline(always)]
    pub(super) fn tell_and_collect(
        &mut self,
        turn: &mut Turn,
        slot: Slot,
        timing: &Timing,
        next: Option<&Next>,
    ) -> u64 {
        let Some(next) = next else { return self.rf.collect(turn.now, slot.index(), timing) };
        // SAFETY: the warp is in its slot, and not borrowed.
        if unsafe { self.homes[slot].state.has_late() } {
            return self.tell_late_and_collect(turn, slot, next);
        }
        self.rf.issue(turn.now, next)
    }

    #[cold]
    #[inline(never)]
    fn tell_late_and_collect(&mut self, turn: &mut Turn, slot: Slot, next: &Next) -> u64 {
        self.rf.tell_issued(turn.now, next);
        self.tell_late(turn, slot);
        self.rf.collect(turn.now, slot.index(), next.timing)
    }

    /// Books the way of a result into the register file as techniques have it; gives the cycle in which all of it is written.
    #[inline(always)]
    pub(super) fn write_back(&mut self, turn: &Turn, slot: Slot, timing: &Timing) -> u64 {
        // SAFETY: the warp is in its slot, and nothing is executed while techniques look at its registers.
        let values = Values(unsafe { self.homes[slot].state.rows() });
        self.rf.write_back(&Coming { now: turn.now, slot: slot.index(), timing, values })
    }

    /// Lanes of a warp may have got what they waited for: results of barriers, and of operations between lanes.
    #[inline(always)]
    pub(super) fn tell_late(&mut self, turn: &mut Turn, slot: Slot) {
        if !self.rf.has_sites() {
            return;
        }
        let warp = &self.warps[slot];
        let now = turn.now;
        let block = &mut turn.share(warp).residents[warp.resident as usize];
        let Some(late) = block.take_late(warp.index as usize) else { return };
        for (mut set, first) in late.into_iter().zip((0u8..).step_by(64)) {
            while set != 0 {
                let register = first + set.trailing_zeros() as u8;
                set &= set - 1;
                for hung in &mut self.rf.sites {
                    hung.site.late(now, slot.index(), register, block.row(warp.index as usize, register));
                }
            }
        }
    }

    /// The latest instruction of a warp waited for the end of the epoch, or was done at once, and has its result now.
    pub(super) fn value_came_late(&mut self, turn: &Turn, slot: Slot) {
        if !self.rf.has_sites() {
            return;
        }
        let warp = &self.warps[slot];
        let timing = turn.timing(warp, warp.last_pc);
        let (now, block) = (turn.now, turn.block(warp));
        for register in timing.dst..timing.dst + timing.dst_words {
            for hung in &mut self.rf.sites {
                hung.site.late(now, slot.index(), register, block.row(warp.index as usize, register));
            }
        }
    }

    #[cold]
    fn corrupted(&self, turn: &Turn, slot: Slot, mismatch: Mismatch) -> Fault {
        let warp = &self.warps[slot];
        let block = turn.block(warp);
        let Mismatch { register, lane, given, stored } = mismatch;
        let detail = format!(
            "R{register} of SM {}, warp slot {}, lane {lane} was given 0x{given:08x} and is stored as 0x{stored:08x}",
            self.spec.id,
            slot.number()
        );
        let thread = turn.kernel(warp).prepared.thread(warp.index as usize, usize::from(lane));
        let fault = Fault::bare(FaultKind::Corrupted, warp.pc().unwrap_or(warp.last_pc), detail);
        Fault { cta: block.cta_id(), thread, ..fault }
    }
}
