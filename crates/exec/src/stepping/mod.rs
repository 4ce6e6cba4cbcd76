// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution one warp instruction at a time, for a machine that decides when each of them issues.
//!
//! Many SMs execute in parallel over the same memory. Within an epoch it is read-only: stores and atomics on global memory go to the [`EpochLog`]
//! of their SM and take effect in [`merge`], in the order of cycle, SM and issue. An SM's own loads see its own stores at once; a load
//! that overlaps an own atomic has to be tried again after the merge. Everything else, registers and shared, local and constant
//! memory, takes effect at issue, but for the few operations that need all of memory as it is ([`StepEvent::Deferred`]).
//!
//! | type | one per | |
//! |---|---|---|
//! | [`Prepared`] | launch | geometry, constants, image; read-only and shared by all threads |
//! | [`Resident`] | block slot | the state of a block's warps; reused from block to block |
//! | [`Stepper`] | SM and launch | executes, counts, remembers where addresses lead |
//! | [`EpochLog`] | SM | stores and atomics that are still to be merged |

mod filter;
mod log;
mod merge;
mod port;
mod prepared;
mod resident;

use warpwatt_memory::DeviceMemory;

use crate::cta::Cta;
use crate::fault::Fault;
use crate::image::UopKind;
use crate::machine::{Machine, State, Tally, compute};
use crate::options::{Quiet, Services};
use crate::stats::PcCount;

pub use crate::machine::{Event as StepEvent, Now};
pub use crate::record::{Access, AccessGroup, LINE, Lanes};
pub use log::EpochLog;
pub use merge::{MergeOutcome, merge};
pub use prepared::Prepared;
pub use resident::{Deciding, NextLanes, Resident, Snapshot, WaitReason, stuck};

use port::{EpochPort, MergedPort};

/// What one step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub event: StepEvent,
    /// The instruction that was executed.
    pub pc: u32,
    /// Lanes of the split that executed it.
    pub active: u32,
    /// Those of them whose guard held.
    pub mask: u32,
    pub access: Access,
}

/// What came of an instruction that computes on registers alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Computed {
    /// The instruction, and the lanes that it was for.
    pub pc: u32,
    pub active: u32,
    /// Those of them whose guard held.
    pub mask: u32,
    /// The next instruction; `None` when all lanes wait or ended.
    pub next: Option<u32>,
}

/// Executes the instructions of one launch on one SM.
pub struct Stepper {
    state: State,
    /// Identity of the image it was made for.
    image: usize,
    /// Of the memory that the windows are about.
    generation: u64,
}

// SAFETY: the pointers in it are remembered host addresses of device memory. They are followed only in `step` and `execute_deferred`, which are given
// the memory itself, and void when an allocation comes or goes.
unsafe impl Send for Stepper {}

impl Stepper {
    pub fn new(prepared: &Prepared) -> Stepper {
        Stepper { state: State::new(&prepared.grid), image: prepared.identity(), generation: 0 }
    }

    /// Executes the next instruction of a warp. The resident block, the stepper and the log must belong together: all of the
    /// same launch, which is `prepared`, and the log that of the SM the block is on.
    ///
    /// A collective that waits for lanes of other splits is stepped once by each split that arrives, and counted once, when it is executed.
    pub fn step(
        &mut self,
        prepared: &Prepared,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        cta: &mut Resident,
        warp: usize,
        now: Now,
    ) -> Outcome {
        if let Some(Computed { pc, active, mask, next }) = self.compute(prepared, cta, warp) {
            let event = if next.is_some() { StepEvent::Go } else { StepEvent::Blocked };
            return Outcome { event, pc, active, mask, access: Access::None };
        }
        self.step_with_memory(prepared, memory, log, cta, warp, now)
    }

    /// Executes the next instruction of a warp if it computes on registers alone, as most do, and needs no machine around it. If not, nothing
    /// happens, and [`Stepper::step`] or [`Stepper::step_with_memory`] is to be called.
    #[inline(always)]
    pub fn compute(&mut self, prepared: &Prepared, cta: &mut Resident, warp: usize) -> Option<Computed> {
        self.check(prepared, cta);
        let grid = &prepared.grid;
        let warp = &mut cta.cta.warps[warp];
        let (pc, active) = (warp.splits.cur.pc, warp.splits.cur.mask);
        let code = &grid.image.code[pc as usize];
        if code.kind != UopKind::Alu || active == 0 {
            return None;
        }
        let mask = active & (warp.preds[usize::from(code.guard)] ^ code.guard_flip);
        // SAFETY: this is an instruction of the image that the counts and the warp were made for, as was checked.
        unsafe {
            let count = self.state.counts.get_unchecked_mut(pc as usize);
            count.issues += 1;
            count.lanes += u64::from(mask.count_ones());
            warp.issued += 1;
            if mask != 0 {
                compute(grid.pool(), warp, code, grid.image.uops.get_unchecked(pc as usize), mask);
            }
        }
        warp.splits.go(pc + 1);
        let cur = &warp.splits.cur;
        Some(Computed { pc, active, mask, next: (cur.mask != 0).then_some(cur.pc) })
    }

    /// [`Stepper::step`] for an instruction that [`Stepper::compute`] does not execute.
    pub fn step_with_memory(
        &mut self,
        prepared: &Prepared,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        cta: &mut Resident,
        warp: usize,
        now: Now,
    ) -> Outcome {
        self.check(prepared, cta);
        if self.generation != memory.generation() {
            self.forget_windows();
            self.generation = memory.generation();
        }
        let grid = &prepared.grid;
        let Cta { block, warps, .. } = &mut cta.cta;
        let warp = &mut warps[warp];
        let (pc, active) = (warp.splits.cur.pc, warp.splits.cur.mask);
        let code = &grid.image.code[pc as usize];
        let mask = active & (warp.preds[usize::from(code.guard)] ^ code.guard_flip);
        self.state.tally.now = Some(now);
        self.state.tally.record.access = Access::None;
        log.begin(now.cycle);
        let event = {
            let port = EpochPort { memory, log };
            Machine::new(grid, port, &mut Quiet, &mut self.state).run_warp(warp, block, 1)
        };
        if event == StepEvent::Retry {
            let count = &mut self.state.counts[pc as usize];
            count.issues -= 1;
            count.lanes -= u64::from(mask.count_ones());
            warp.issued -= 1;
        }
        Outcome { event, pc, active, mask, access: self.state.tally.record.access }
    }

    /// Executes the instruction for which [`Stepper::step`] answered [`StepEvent::Deferred`]. To be called between epochs, after the merge.
    pub fn execute_deferred(
        &mut self,
        prepared: &Prepared,
        memory: &mut DeviceMemory,
        services: &mut dyn Services,
        cta: &mut Resident,
        warp: usize,
    ) -> Outcome {
        self.check(prepared, cta);
        let grid = &prepared.grid;
        let Cta { block, warps, .. } = &mut cta.cta;
        let warp = &mut warps[warp];
        let (pc, active) = (warp.splits.cur.pc, warp.splits.cur.mask);
        let code = &grid.image.code[pc as usize];
        let mask = active & (warp.preds[usize::from(code.guard)] ^ code.guard_flip);
        self.state.tally.record.access = Access::None;
        let mut event = StepEvent::Blocked;
        if mask != 0 && matches!(code.kind, UopKind::Sys | UopKind::Texture) {
            let mut machine = Machine::new(grid, MergedPort(memory), services, &mut self.state);
            // SAFETY: the image was checked when it was made, and the state belongs to it.
            event = unsafe { machine.step_other(warp, block, pc, mask) };
        }
        Outcome { event, pc, active, mask, access: self.state.tally.record.access }
    }

    /// Starts anew, for another launch of the same image, as a new one would.
    pub fn restart(&mut self) {
        self.state.counts.fill(PcCount::default());
        self.forget_windows();
        self.state.offsets.0.fill(0);
        self.state.tally = Tally::default();
        self.generation = 0;
    }

    /// Offsets of the lanes of an [`Access::Lanes`].
    #[inline(always)]
    pub fn offsets(&self) -> &[u32; 32] {
        &self.state.offsets.0
    }

    /// The parts of an [`Access::Mixed`].
    pub fn groups(&self) -> &[AccessGroup] {
        &self.state.tally.record.groups
    }

    /// The lines of an [`Access::Texture`]: guest addresses, multiples of [`LINE`], each once, in the order they were first touched.
    pub fn lines(&self) -> &[u64] {
        &self.state.tally.record.texels.lines
    }

    /// Issues per micro-op of the program.
    pub fn counts(&self) -> &[PcCount] {
        // Behind the program's own there is an end marker.
        &self.state.counts[..self.state.counts.len() - 1]
    }

    /// Branches, indirect jumps and indirect calls that parted the lanes of a warp.
    pub fn divergent_branches(&self) -> u64 {
        self.state.tally.divergent_branches
    }

    /// What stopped the kernel, after [`StepEvent::Fault`].
    pub fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.state.tally.fault.take()
    }

    /// Whether shared or local memory has changed since the last time; asked only while `on`, so the answer to the first is no.
    pub fn watch(&mut self, on: bool) -> bool {
        let watch = &mut self.state.tally.watch;
        let changed = watch.on && watch.changed;
        (watch.on, watch.changed) = (on, false);
        changed
    }

    /// Forgets where addresses led. It happens by itself when an allocation was made or freed.
    pub fn forget_windows(&mut self) {
        self.state.windows.fill(crate::machine::NO_WINDOW);
    }

    /// Counters and registers are indexed without a check: they must have been made for this image.
    #[inline(always)]
    fn check(&self, prepared: &Prepared, cta: &Resident) {
        let image = prepared.identity();
        assert!(self.image == image && cta.image == image, "a block and a stepper of another launch");
    }
}

const _: () = {
    const fn is_send<T: Send>() {}
    const fn is_sync<T: Sync>() {}
    is_send::<Stepper>();
    is_send::<Resident>();
    is_send::<EpochLog>();
    is_sync::<Prepared>();
    is_sync::<DeviceMemory>();
};
