// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks come to an SM, take warp slots, and leave when all their warps have ended and all that they asked for is done.

use warpwatt_exec::stepping::Resident;

use super::high::HighRegisters;
use super::mem::ROW_BYTES;
use super::stall::Stall;
use super::warp::{ChargedSlots, Condition, Instructions, WarpHome, WarpSlot, gate};
use super::work::{Finished, Start};
use super::{Event, Slot, Slots, Sm, Turn};
use crate::address;
use crate::register_file::Started;

/// A block that is on the SM.
#[derive(Clone, Default)]
pub struct BlockSlot {
    /// Warps that have not drained; 0 for a free slot.
    pub warps: u32,
    pub kernel: u32,
    /// Index among the residents of its kernel.
    pub resident: u32,
    pub cta: u64,
    /// Rows of shared memory that it has: the first, and how many.
    pub shared_row: u32,
    pub shared_rows: u32,
    /// Its warp slots, in order of its warps.
    pub slots: Vec<Slot>,
}

/// The first of so many rows of shared memory in a line that no block on the SM has. They lie behind the end of the memory if it is in pieces
/// that are too small, which takes kernels of different needs at the same time.
fn free_rows(blocks: &[BlockSlot], rows: u32) -> u32 {
    if rows == 0 {
        return 0;
    }
    let mut first = 0;
    let in_the_way = |first: u32| {
        let overlaps = |block: &&BlockSlot| {
            block.warps != 0
                && block.shared_row < first + rows
                && first < block.shared_row + block.shared_rows
        };
        blocks.iter().find(overlaps).map(|block| block.shared_row + block.shared_rows)
    };
    while let Some(end) = in_the_way(first) {
        first = end;
    }
    first
}

impl Sm {
    pub(super) fn start_block(&mut self, turn: &mut Turn, start: Start) {
        let now = turn.now;
        if self.tally.accounted <= now {
            // An SM without warps is not charged until it gets one, or until its counters are read.
            self.charge_until(now);
        }
        self.count_until(now);
        if self.resident_warps == 0 {
            self.settle_arrays(now);
        }
        let kernel = &turn.kernels.all[start.kernel as usize];
        let prepared = &kernel.prepared;
        let share = &mut turn.work.shares[start.kernel as usize];
        let resident = share.unused.pop().unwrap_or_else(|| {
            share.residents.push(Resident::new(prepared, kernel.checks));
            share.residents.len() as u32 - 1
        });
        let block =
            self.blocks.iter().position(|block| block.warps == 0).expect("the dispatcher counts block slots");
        let shared_rows = prepared.shared_bytes().div_ceil(ROW_BYTES);
        let shared_row = free_rows(&self.blocks, shared_rows);
        let slot = &mut self.blocks[block];
        slot.warps = prepared.warps_per_cta();
        (slot.shared_row, slot.shared_rows) = (shared_row, shared_rows);
        (slot.kernel, slot.resident, slot.cta) = (start.kernel, resident, start.cta);
        slot.slots.clear();
        for (free, index) in Slots(self.free_slots).zip(0..slot.warps as u8) {
            slot.slots.push(free);
            self.free_slots &= !free.bit();
            self.high[free] = HighRegisters::default();
            let warp = &mut self.warps[free];
            *warp = WarpSlot {
                condition: Condition::Waits,
                kernel: start.kernel,
                block: block as u8,
                resident: resident as u16,
                index,
                code: kernel.code,
                first: kernel.first,
                program: Instructions::new(turn.kernels.timing, kernel.first),
                charged: ChargedSlots::new(&mut share.stalls),
                end: kernel.decoded.uops() as u32,
                next: 0,
                path: warp.path + 1,
                ..WarpSlot::default()
            };
        }
        let first = slot.slots.first().map_or(0, |slot| u32::from(slot.number()));
        let started = &mut share.residents[resident as usize];
        started.start(prepared, start.cta, self.spec.id, first);
        for (index, &slot) in slot.slots.iter().enumerate() {
            let number = u32::from(slot.number());
            self.homes[slot] = WarpHome {
                state: share.stepper.place(prepared, started, index),
                local_base: address::local_base(self.spec.id, number, prepared.local_bytes()),
                shared_row,
            };
        }
        self.resident_warps += slot.warps;
        turn.work.progress += 1;
        for i in 0..self.blocks[block].slots.len() {
            let slot = self.blocks[block].slots[i];
            let scheduler = slot.number() % self.schedulers.count();
            self.charge_passed(scheduler);
            let warp = &mut self.warps[slot];
            warp.place = self.schedulers.add(scheduler, slot, warp.pool);
            self.fetch.start(slot, warp);
            let program = prepared.image().program();
            for hung in &mut self.rf.sites {
                let (registers, kept_out) = (prepared.registers(), kernel.kept_out);
                hung.site.start(now, &Started { slot: slot.index(), registers, program, kept_out });
            }
        }
    }

    /// All lanes of a warp have ended.
    pub(super) fn end_warp(&mut self, turn: &mut Turn, slot: Slot) {
        let place = self.warps[slot].place;
        self.charge_passed(place.scheduler);
        self.warps[slot].condition = Condition::Drains;
        self.fetch.update(slot, &self.warps[slot]);
        self.waits.stores |= slot.bit();
        turn.work.warps_ended += 1;
        for &younger in self.schedulers.remove(place) {
            self.warps[younger].place.move_up();
        }
        self.drain(turn, slot);
    }

    /// Frees the slot of a warp that has ended once nothing of it is under way.
    pub(super) fn drain(&mut self, turn: &mut Turn, slot: Slot) {
        if self.warps[slot].in_flight != 0 || self.mem.pending_writes(slot.number()) != 0 {
            return;
        }
        // The cycle in which a warp leaves counts without it.
        let now = turn.now;
        self.count_until(now);
        if self.resident_warps == 1 {
            self.settle_arrays(now);
        }
        for hung in &mut self.rf.sites {
            hung.site.end(now, slot.index());
        }
        let warp = &mut self.warps[slot];
        warp.condition = Condition::Free;
        self.free_slots |= slot.bit();
        self.waits.stores &= !slot.bit();
        self.resident_warps -= 1;
        let block = &mut self.blocks[warp.block as usize];
        block.warps -= 1;
        if block.warps == 0 {
            self.tally.issue.ctas += 1;
            turn.work.shares[block.kernel as usize].unused.push(block.resident);
            turn.work.finished.push(Finished { cycle: now, kernel: block.kernel, cta: block.cta });
        }
    }

    /// The last store of a warp is acknowledged.
    pub(super) fn stores_done(&mut self, turn: &mut Turn, slot: Slot) {
        match self.warps[slot].condition {
            Condition::Drains => self.drain(turn, slot),
            _ => {
                self.waits.stores &= !slot.bit();
                self.warps[slot].gates &= !gate::FENCE;
                self.evaluate(turn, slot);
            }
        }
    }

    /// Barriers of a block may be complete: opens them, and lets their warps go on a little later.
    pub(super) fn open_barriers(&mut self, turn: &mut Turn, block: usize) {
        let BlockSlot { kernel, resident, .. } = self.blocks[block];
        let resident = &mut turn.work.shares[kernel as usize].residents[resident as usize];
        let opened = resident.open_barriers(&turn.kernels.all[kernel as usize].prepared);
        if opened != 0 {
            self.pass_barriers(turn, block, opened);
        }
    }

    /// So many barriers of a block have opened: its warps go on a little later.
    #[inline(always)]
    pub(super) fn pass_barriers(&mut self, turn: &mut Turn, block: usize, opened: u64) {
        let kernel = self.blocks[block].kernel as usize;
        self.tally.issue.barriers += opened;
        turn.work.progress += opened;
        turn.work.shares[kernel].barriers += opened;
        for i in 0..self.blocks[block].slots.len() {
            let slot = self.blocks[block].slots[i];
            let warp = &self.warps[slot];
            // Slots of warps that ended may have gone to other blocks.
            if warp.block as usize != block || !warp.is_live() {
                continue;
            }
            self.tell_late(turn, slot);
            let warp = &self.warps[slot];
            if warp.pc().is_none() && warp.waits_for(Stall::Barrier) {
                // SAFETY: the warp is in its slot, and not borrowed.
                let Some(pc) = (unsafe { self.homes[slot].state.next_pc() }) else { continue };
                self.go_to(slot, pc);
                match self.spec.barrier_cycles {
                    0 => self.evaluate(turn, slot),
                    // It still waits for the same.
                    cycles => self.hold(slot, turn.now, cycles, Stall::Barrier),
                }
            }
        }
    }

    /// Lets nothing of a warp issue for some cycles.
    #[inline(always)]
    pub(super) fn hold(&mut self, slot: Slot, now: u64, cycles: u64, why: Stall) {
        if cycles != 0 {
            let warp = &mut self.warps[slot];
            (warp.held_until, warp.held_for) = (now + cycles, why);
            self.events.push(now + cycles, Event::Wake { slot });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_rows_of_their_own() {
        let block = |warps, shared_row, shared_rows| BlockSlot {
            warps,
            shared_row,
            shared_rows,
            ..BlockSlot::default()
        };
        let blocks = [block(2, 10, 5), block(1, 0, 4), block(0, 4, 6), block(3, 15, 1), block(1, 0, 0)];
        assert_eq!([6, 7, 1, 0].map(|rows| free_rows(&blocks, rows)), [4, 16, 4, 0]);
        assert_eq!(free_rows(&[], 3), 0);
    }
}
