// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a warp can issue its next instruction, and what it waits for if it cannot.

use super::decode::{CollectorPool, Timing};
use super::stall::Stall;
use super::warp::{Condition, gate};
use super::{Slot, Sm, Turn};
use crate::address;

impl Sm {
    /// Finds out whether a warp can issue, and what it waits for if not. Called from everywhere: this is the one copy of it but for those in
    /// the two places that every instruction passes.
    #[cold]
    #[inline(never)]
    pub(super) fn evaluate(&mut self, turn: &Turn, slot: Slot) {
        if self.warps[slot].is_live() {
            self.evaluate_here(turn, slot);
        }
    }

    /// Finds out whether a warp that has just issued an arithmetic instruction, with a collector of `pool`, can issue the next one: only that
    /// one can stall it.
    #[inline(always)]
    pub(super) fn evaluate_next(&mut self, turn: &Turn, slot: Slot, pc: u32, pool: CollectorPool) {
        let warp = &mut self.warps[slot];
        if warp.buffered == 0 {
            return self.stop(slot, Stall::Fetch);
        }
        let timing = turn.timing(warp, pc);
        match warp.hazard(&self.high[slot], timing) {
            // It is still ready, for the same pool.
            None if timing.pool == pool => {}
            None => self.schedulers.set_ready(warp.place, &mut warp.pool, timing.pool),
            Some(stall) => self.stop(slot, stall),
        }
    }

    /// Finds out whether a live warp can issue, and its stall reason if not.
    #[inline(always)]
    pub(super) fn evaluate_here(&mut self, turn: &Turn, slot: Slot) {
        let warp = &mut self.warps[slot];
        let pc = match warp.next_pc(turn.now) {
            Ok(pc) => pc,
            Err(stall) => return self.wait(slot, stall),
        };
        let timing = turn.timing(warp, pc);
        if let Some(stall) = warp.hazard(&self.high[slot], timing) {
            return self.wait(slot, stall);
        }
        let place = warp.place;
        self.charge_before_change(place);
        let warp = &mut self.warps[slot];
        warp.condition = Condition::Ready;
        self.schedulers.set_ready(warp.place, &mut warp.pool, timing.pool);
    }

    /// A warp cannot issue.
    #[inline(always)]
    pub(super) fn wait(&mut self, slot: Slot, stall: Stall) {
        self.charge_before_change(self.warps[slot].place);
        self.stop(slot, stall);
    }

    /// [`Sm::wait`] for a warp that has just issued, so that no slot has passed.
    #[inline(always)]
    fn stop(&mut self, slot: Slot, stall: Stall) {
        let warp = &mut self.warps[slot];
        let misses = matches!(stall, Stall::Memory | Stall::Dependency);
        warp.condition = if misses { Condition::Misses } else { Condition::Waits };
        warp.stall = stall;
        let away = matches!(stall, Stall::Memory | Stall::Barrier | Stall::Fence | Stall::Merge);
        self.schedulers.set_waiting(warp.place, away);
    }

    /// Whether the constant operands of a warp's next instruction are there, which so many lanes will execute. If not, the warp waits.
    #[inline(always)]
    pub(super) fn constants_are_there(
        &mut self,
        turn: &Turn,
        code: u32,
        timing: &Timing,
        slot: Slot,
        lanes: u8,
    ) -> bool {
        let now = turn.now;
        if self.mem.constants_can_wait() {
            return self.constants_are_served(code, timing, slot, lanes, now);
        }
        let all = self.mem.constants(now, code, timing, slot.number(), lanes);
        if !all {
            self.await_constants(slot, now, 1, now, false);
        }
        all
    }

    /// Whether they are there where a technique may have them wait for the array: those that have been granted are not read again.
    #[cold]
    #[inline(never)]
    fn constants_are_served(&mut self, code: u32, timing: &Timing, slot: Slot, lanes: u8, now: u64) -> bool {
        let granted = std::mem::take(&mut self.warps[slot].granted);
        let (mut missing, mut ready) = (0, now);
        let operands = timing.constant_bank.iter().zip(&timing.constant_offset);
        for (i, (&bank, &offset)) in operands.take(usize::from(timing.constants)).enumerate() {
            if granted >> i & 1 == 0 {
                let address = address::constant(code, bank, u32::from(offset));
                match self.mem.constant(now, address, slot.number(), lanes) {
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
    #[cold]
    #[inline(never)]
    fn await_constants(&mut self, slot: Slot, now: u64, missing: u8, ready: u64, granted: bool) {
        // A line may have been asked for.
        self.fetch.alarm = 0;
        let warp = &mut self.warps[slot];
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
}
