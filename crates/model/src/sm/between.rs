// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to an SM between epochs: atomics and system calls have taken effect, barriers of grids have opened.

use warpwatt_exec::Services;
use warpwatt_exec::stepping::StepEvent;
use warpwatt_memory::DeviceMemory;

use super::stall::Stall;
use super::warp::gate;
use super::work::Stopped;
use super::{Kernels, Slot, Slots, Sm, Turn, Work};

impl Sm {
    /// Whether a warp waits for the merge.
    pub fn has_merging(&self) -> bool {
        self.waits.merge != 0
    }

    /// Warps that waited for the merge go on at `now`.
    pub fn merged(&mut self, work: &mut Work, kernels: Kernels, now: u64) {
        let merging = std::mem::take(&mut self.waits.merge);
        // What they waited until now is charged to the merge.
        self.settle(work, now);
        self.borrow_instructions(kernels);
        let turn = Turn { now, end: now, kernels, work };
        for slot in Slots(merging) {
            self.warps[slot].gates &= !gate::MERGE;
            self.evaluate(&turn, slot);
        }
        self.next = self.next.min(now);
    }

    /// Executes the instruction that a warp issued and that takes effect now.
    pub fn execute_deferred(
        &mut self,
        work: &mut Work,
        kernels: Kernels,
        slot: usize,
        memory: &mut DeviceMemory,
        services: &mut dyn Services,
    ) -> StepEvent {
        let slot = Slot::new(slot);
        let warp = &self.warps[slot];
        let (kernel, block, index) = (warp.kernel as usize, warp.block as usize, warp.index as usize);
        let share = &mut work.shares[kernel];
        let resident = &mut share.residents[self.blocks[block].resident as usize];
        let prepared = &kernels.all[kernel].prepared;
        let outcome = share.stepper.execute_deferred(prepared, memory, services, resident, index);
        if outcome.event == StepEvent::Fault {
            if let Some(fault) = share.stepper.take_fault() {
                work.stopped = Some(Stopped { cycle: self.tally.accounted, kernel: kernel as u32, fault });
            }
            return outcome.event;
        }
        let next = resident.warp_pc(index);
        let now = self.tally.accounted;
        self.borrow_instructions(kernels);
        let turn = Turn { now, end: now, kernels, work };
        self.value_came_late(&turn, slot);
        let latest = self.rf.calendars.now();
        match next {
            Some(pc) => {
                self.charge_before_change(self.warps[slot].place);
                self.follow(slot, outcome.pc, pc, latest);
            }
            None => self.lose_path(slot, latest),
        }
        outcome.event
    }

    /// The barrier of a kernel's grid has opened.
    pub fn grid_barrier_opened(&mut self, work: &mut Work, kernels: Kernels, kernel: u32, now: u64) {
        self.settle(work, now);
        self.borrow_instructions(kernels);
        let turn = Turn { now, end: now, kernels, work };
        for slot in (0..self.spec.warp_slots).map(Slot::new) {
            let warp = &self.warps[slot];
            if warp.kernel != kernel || !warp.waits_for(Stall::Barrier) || warp.pc().is_some() {
                continue;
            }
            if let Some(pc) = turn.block(warp).warp_pc(warp.index as usize) {
                self.go_to(slot, pc);
                self.hold(slot, now, self.spec.barrier_cycles, Stall::Barrier);
                self.evaluate(&turn, slot);
            }
        }
        self.next = self.next.min(now);
    }

    /// Instructions issued so far.
    pub fn issued(&self) -> u64 {
        self.tally.issue.issued
    }

    /// Thread instructions so far: each instruction counts once for every active lane.
    pub fn thread_instructions(&self) -> u64 {
        self.tally.issue_counters().thread_instructions
    }

    /// Warps that have not ended: slot, kernel, resident block, warp of the block.
    pub fn running(&self) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        let running = self.warps.iter().filter(|(_, warp)| warp.is_live());
        running.map(|(slot, warp)| {
            let block = &self.blocks[warp.block as usize];
            (slot.index(), warp.kernel as usize, block.resident as usize, warp.index as usize)
        })
    }

    /// How often the warp in a slot has jumped: a warp that goes around a loop has done so since it was last at the same place.
    pub fn jumps(&self, slot: usize) -> u32 {
        self.warps[Slot::new(slot)].path
    }

    /// What the memory side waits for, in words.
    pub fn waiting(&self) -> Vec<String> {
        self.mem.waiting()
    }
}
