// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens in an SM some time after an instruction issued.

use warpwatt_base::opaque;

use super::decode::Timing;
use super::fetch::Arrival;
use super::warp::Condition;
use super::{Slot, Sm, Turn};
use crate::host::in_two_copies;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A unit has the result of an instruction.
    Result {
        slot: Slot,
        pc: u32,
    },
    /// The result is in the register file.
    Written {
        slot: Slot,
        pc: u32,
    },
    /// The reply of memory to an instruction is there.
    Data {
        op: u32,
    },
    /// A warp that was held may go on.
    Wake {
        slot: Slot,
    },
    /// A unit has the result of a move that a technique injected; it is in the register file.
    Moved {
        slot: Slot,
        register: u8,
    },
    MoveWritten {
        slot: Slot,
        register: u8,
    },
}

/// A memory instruction under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryOp {
    pub slot: Slot,
    pub pc: u32,
}

impl MemoryOp {
    /// As a number, which the memory unit gives back. Programs have fewer instructions than it has room for.
    #[inline(always)]
    pub fn token(self) -> u32 {
        debug_assert!(self.pc < u32::MAX / Slot::COUNT as u32);
        self.pc * Slot::COUNT as u32 + u32::from(self.slot.number())
    }

    #[inline(always)]
    fn of(token: u32) -> MemoryOp {
        MemoryOp { slot: Slot::new(token as usize % Slot::COUNT), pc: token / Slot::COUNT as u32 }
    }
}

impl Sm {
    #[inline(always)]
    pub(super) fn handle<const TECHNIQUES: bool>(&mut self, turn: &mut Turn, event: Event) {
        match event {
            Event::Result { slot, pc } => self.result::<TECHNIQUES>(turn, slot, pc, false),
            Event::Written { slot, pc } => {
                let timing = turn.timing(&self.warps[slot], pc);
                self.written(turn, slot, timing);
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the loop without techniques runs only on hosts with these instructions.
            Event::Data { op } if !TECHNIQUES => unsafe { self.data_with_bit_instructions(turn, op) },
            Event::Data { op } => self.data(turn, op),
            other => self.handle_other(turn, other),
        }
    }

    /// Those events that are less frequent.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_other(&mut self, turn: &mut Turn, event: Event) {
        match event {
            Event::Result { .. } | Event::Written { .. } => {}
            Event::Data { op } => self.data(turn, op),
            Event::Moved { slot, register } => self.moved(turn, slot, register),
            Event::MoveWritten { slot, register } => self.move_written(turn, slot, register),
            Event::Wake { slot } => self.wake_up(turn, slot),
        }
    }

    /// A warp that was held may go on.
    #[inline(always)]
    fn wake_up(&mut self, turn: &mut Turn, slot: Slot) {
        let warp = &mut self.warps[slot];
        if warp.held_until <= turn.now {
            warp.branches = false;
            self.fetch.update(slot, warp);
            // After a jump it still waits, for its instructions now.
            if !warp.still_fetches() && warp.is_live() {
                self.evaluate_here(turn, slot);
            }
        }
    }

    /// The reply of memory to an instruction is there.
    #[inline(always)]
    pub(super) fn data(&mut self, turn: &mut Turn, op: u32) {
        let sm = self;
        in_two_copies!(sm.spec.bit_instructions, |sm: &mut Sm, turn: &mut Turn, op: u32| -> () {
            sm.data_here::<true>(turn, op);
        });
    }

    #[inline(always)]
    pub(super) fn data_here<const TECHNIQUES: bool>(&mut self, turn: &mut Turn, op: u32) {
        let MemoryOp { slot, pc } = MemoryOp::of(op);
        self.result::<TECHNIQUES>(turn, slot, pc, true);
    }

    /// [`Sm::data`] from where it is not known whether techniques act.
    #[inline(always)]
    pub(super) fn data_now(&mut self, turn: &mut Turn, op: u32) {
        match self.spec.bit_instructions && !self.rf.has_sites() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the host was asked whether it has them.
            true => unsafe { self.data_with_bit_instructions(turn, op) },
            _ => self.data(turn, op),
        }
    }

    /// [`Sm::data`] without techniques, compiled with the host's bit and vector instructions.
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn data_with_bit_instructions(&mut self, turn: &mut Turn, op: u32) {
        self.data_here::<false>(turn, op);
    }

    /// Instructions arrive in buffers.
    #[inline(always)]
    pub(super) fn take_instructions<const TECHNIQUES: bool>(&mut self, turn: &mut Turn) {
        while let Some(Arrival { slot, path, count, .. }) = self.fetch.arrive::<TECHNIQUES>(turn.now) {
            let (sm, turn) = (opaque(self), opaque(turn));
            let warp = &mut sm.warps[slot];
            if warp.path == path {
                let was_empty = warp.buffered == 0;
                warp.buffered += count;
                if was_empty && warp.is_live() {
                    // SAFETY: some have come.
                    unsafe { std::hint::assert_unchecked(warp.buffered != 0) };
                    sm.evaluate_here(turn, slot);
                }
            }
        }
    }

    /// A result, of memory or of a unit, is written to the register file.
    #[inline(always)]
    fn result<const TECHNIQUES: bool>(&mut self, turn: &mut Turn, slot: Slot, pc: u32, memory: bool) {
        let timing = turn.timing(&self.warps[slot], pc);
        let done = match TECHNIQUES && timing.dst_words != 0 && self.rf.has_sites() {
            true => self.write_back(turn, slot, timing),
            false => self.rf.write_plainly(turn.now, slot.index(), timing, memory),
        };
        if done > turn.now {
            self.events.push(done, Event::Written { slot, pc });
        } else {
            self.written(turn, slot, timing);
        }
    }

    /// An instruction is done.
    #[inline(always)]
    fn written(&mut self, turn: &mut Turn, slot: Slot, timing: &Timing) {
        let warp = &mut self.warps[slot];
        warp.release(&mut self.high[slot], timing);
        warp.in_flight -= 1;
        self.tally.issue.retired += 1;
        self.after_write(turn, slot);
    }

    /// A register of a warp is free again.
    #[inline(always)]
    pub(super) fn after_write(&mut self, turn: &mut Turn, slot: Slot) {
        let warp = &self.warps[slot];
        match warp.condition {
            Condition::Misses if !warp.still_misses() => self.evaluate_here(turn, slot),
            Condition::Drains => self.drain(turn, slot),
            _ => {}
        }
    }
}
