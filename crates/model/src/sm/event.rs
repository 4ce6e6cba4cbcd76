// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens in an SM some time after an instruction issued.

use super::decode::Timing;
use super::fetch::Arrival;
use super::stall::Stall;
use super::warp::Condition;
use super::{Kernel, Sm, WARPS, Work, at};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A unit has the result of an instruction.
    Result {
        slot: u8,
        pc: u32,
    },
    /// The result is in the register file.
    Written {
        slot: u8,
        pc: u32,
    },
    /// Memory has answered an instruction.
    Data {
        op: u32,
    },
    /// A warp that was held may go on.
    Wake {
        slot: u8,
    },
    /// A unit has the result of a move that a technique injected; it is in the register file.
    Moved {
        slot: u8,
        register: u8,
    },
    MoveWritten {
        slot: u8,
        register: u8,
    },
}

/// A memory instruction under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryOp {
    pub slot: u8,
    pub pc: u32,
}

impl Sm {
    #[inline(always)]
    pub(super) fn handle(&mut self, work: &mut Work, kernels: &[Kernel], now: u64, event: Event) {
        match event {
            Event::Result { slot, pc } => self.result(work, kernels, now, slot, pc),
            Event::Written { slot, pc } => {
                let slot = usize::from(slot);
                let timing = self.timing(kernels, slot, pc);
                self.written(work, kernels, now, slot, timing);
            }
            Event::Data { op } => {
                let MemoryOp { slot, pc } = *at(&self.memory_ops, op as usize);
                self.free_ops.push(op);
                self.result(work, kernels, now, slot, pc);
            }
            Event::Moved { slot, register } => self.moved(work, kernels, now, slot, register),
            Event::MoveWritten { slot, register } => self.move_written(work, kernels, now, slot, register),
            Event::Wake { slot } => {
                let slot = usize::from(slot);
                if self.warps[slot % WARPS].held_until <= now {
                    self.warps[slot % WARPS].branches = false;
                    self.fetch.update(slot, &self.warps[slot % WARPS]);
                    self.evaluate(kernels, slot, now);
                }
            }
        }
    }

    /// Instructions arrive in buffers.
    #[inline(always)]
    pub(super) fn take_instructions(&mut self, kernels: &[Kernel], now: u64) {
        while let Some(Arrival { slot, path, count, .. }) = self.fetch.arrive(now) {
            let slot = usize::from(slot);
            let warp = &mut self.warps[slot % WARPS];
            if warp.path == path {
                let was_empty = warp.buffered == 0;
                warp.buffered += u32::from(count);
                warp.coming -= u32::from(count);
                if was_empty && warp.is_live() {
                    self.evaluate_here(kernels, slot, now);
                }
            }
        }
    }

    #[inline(always)]
    fn timing<'k>(&self, kernels: &'k [Kernel], slot: usize, pc: u32) -> &'k Timing {
        let kernel = self.warps[slot % WARPS].kernel;
        at(&at(kernels, kernel as usize).decoded.timing, pc as usize)
    }

    /// A result goes to the register file.
    #[inline(never)]
    fn result(&mut self, work: &mut Work, kernels: &[Kernel], now: u64, slot: u8, pc: u32) {
        let timing = self.timing(kernels, usize::from(slot), pc);
        let done = self.write_back(work, now, usize::from(slot), timing);
        if done > now {
            self.wheel.push(done, Event::Written { slot, pc });
        } else {
            self.written(work, kernels, now, usize::from(slot), timing);
        }
    }

    /// An instruction is done.
    #[inline(always)]
    fn written(&mut self, work: &mut Work, kernels: &[Kernel], now: u64, slot: usize, timing: &Timing) {
        let warp = &mut self.warps[slot % WARPS];
        warp.release(timing);
        warp.in_flight -= 1;
        self.issue.retired += 1;
        self.after_write(work, kernels, now, slot);
    }

    /// A register of a warp is free again.
    #[inline(always)]
    pub(super) fn after_write(&mut self, work: &mut Work, kernels: &[Kernel], now: u64, slot: usize) {
        let warp = &self.warps[slot % WARPS];
        match warp.condition {
            Condition::Waits if matches!(warp.stall, Stall::Memory | Stall::Dependency) => {
                self.evaluate_here(kernels, slot, now);
            }
            Condition::Drains => self.drain(work, slot, now),
            _ => {}
        }
    }
}
