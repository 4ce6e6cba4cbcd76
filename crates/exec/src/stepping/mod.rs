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
//! | [`Stepper`] | SM and launch | executes, counts, remembers the allocations of addresses |
//! | [`EpochLog`] | SM | stores and atomics that are still to be merged |

mod filter;
mod log;
mod merge;
mod place;
mod port;
mod prepared;
mod resident;
mod run;

use warpwatt_memory::DeviceMemory;

use crate::cta::Cta;
use crate::fault::Fault;
use crate::image::UopKind;
use crate::lanes::Level;
use crate::machine::{Machine, State, Tally};
use crate::options::{Quiet, Services};
use crate::stats::PcCount;

pub use crate::machine::{Event as StepEvent, Now};
pub use crate::port::Spread;
pub use crate::record::{Access, AccessGroup, LINE, Lanes};
pub use log::EpochLog;
pub use merge::{MergeOutcome, merge};
pub use place::WarpPlace;
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
    /// Active lanes whose guard held, and their number.
    pub mask: u32,
    pub lanes: u32,
    pub access: Access,
}

/// Result of an instruction that computes on registers alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Computed {
    /// The instruction, and the lanes that it was for.
    pub pc: u32,
    pub active: u32,
    /// Active lanes whose guard held, and their number.
    pub mask: u32,
    pub lanes: u32,
    /// The next instruction; `None` when all lanes wait or have exited.
    pub next: Option<u32>,
}

/// Lanes of an instruction that computes on registers alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Executed {
    /// The lanes that it was for.
    pub active: u32,
    /// Active lanes whose guard held, and their number.
    pub mask: u32,
    pub lanes: u32,
}

/// Result of a load or store whose lanes are all in one place, or that no lane executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accessed {
    /// Active lanes whose guard held.
    pub mask: u32,
    /// The next instruction of the warp is the one behind it.
    pub goes_straight_on: bool,
}

/// Result of a load of words of global memory side by side, one for each of 32 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadedRun {
    /// Guest address of the first word.
    pub address: u64,
    /// As in [`Accessed`].
    pub goes_straight_on: bool,
}

/// Executes the instructions of one launch on one SM.
pub struct Stepper {
    state: State,
    /// Identity of the image it was made for.
    image: usize,
    image_id: u64,
    /// The image is for vector instructions of the host.
    wide: bool,
    /// Generation of the memory that the windows are in.
    generation: u64,
}

// SAFETY: the pointers in it are remembered host addresses of device memory. They are followed only in `step` and `execute_deferred`, which are given
// the memory itself, and void when an allocation comes or goes.
unsafe impl Send for Stepper {}

impl Stepper {
    pub fn new(prepared: &Prepared) -> Stepper {
        let (image, image_id) = (prepared.identity(), prepared.image().id());
        let wide = prepared.image().level() != Level::Plain;
        Stepper { state: State::new(&prepared.grid), image, image_id, wide, generation: 0 }
    }

    /// Whether it was made for the same image, so that it can execute another launch of it after [`Stepper::restart`].
    pub fn fits(&self, prepared: &Prepared) -> bool {
        self.image == prepared.identity() && self.image_id == prepared.image().id()
    }

    /// As it was when it was made.
    pub fn restart(&mut self) {
        for count in self.state.counts.iter_mut().filter(|count| count.issues != 0) {
            *count = PcCount::default();
        }
        self.forget_windows();
        self.state.tally = Tally::default();
        self.generation = 0;
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
        let place = self.place(prepared, cta, warp);
        let next = cta.warp_pc(warp);
        // SAFETY: the place is that of this moment, nothing is borrowed, and behind the last instruction there is an end marker, which is none.
        let done = next.and_then(|pc| unsafe { place.compute(pc) });
        if let Some(Computed { pc, active, mask, lanes, next }) = done {
            let event = if next.is_some() { StepEvent::Go } else { StepEvent::Blocked };
            return Outcome { event, pc, active, mask, lanes, access: Access::None };
        }
        self.step_with_memory(prepared, memory, log, cta, warp, now)
    }

    /// [`Stepper::step`] for an instruction that [`WarpPlace::compute`] does not execute.
    #[inline(always)]
    pub fn step_with_memory(
        &mut self,
        prepared: &Prepared,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        cta: &mut Resident,
        warp: usize,
        now: Now,
    ) -> Outcome {
        match prepared.grid.image.level() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the image was made for a level this host has.
            Level::Avx2 | Level::Avx512 => unsafe { self.step_avx2(prepared, memory, log, cta, warp, now) },
            _ => self.step_plain(prepared, memory, log, cta, warp, now),
        }
    }

    /// The whole step with the host's vector instructions: one call for an instruction, not one inside of another.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn step_avx2(
        &mut self,
        prepared: &Prepared,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        cta: &mut Resident,
        warp: usize,
        now: Now,
    ) -> Outcome {
        // SAFETY: this function has the instructions.
        unsafe { self.step_level::<true>(prepared, memory, log, cta, warp, now) }
    }

    #[inline(never)]
    fn step_plain(
        &mut self,
        prepared: &Prepared,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        cta: &mut Resident,
        warp: usize,
        now: Now,
    ) -> Outcome {
        // SAFETY: no host features needed.
        unsafe { self.step_level::<false>(prepared, memory, log, cta, warp, now) }
    }

    /// `WIDE`: inside of a function that has the host's vector instructions.
    ///
    /// # Safety
    /// If `WIDE`, the host must have them.
    #[inline(always)]
    unsafe fn step_level<const WIDE: bool>(
        &mut self,
        prepared: &Prepared,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        cta: &mut Resident,
        warp: usize,
        now: Now,
    ) -> Outcome {
        self.check(prepared, cta);
        self.renew_windows(memory);
        let grid = &prepared.grid;
        let Cta { block, warps, .. } = &mut cta.cta;
        let warp = &mut warps[warp];
        let (pc, active) = (warp.splits.cur.pc, warp.splits.cur.mask);
        let code = &grid.image.code[pc as usize];
        let mask = active & (warp.preds[usize::from(code.guard)] ^ code.guard_flip);
        self.state.tally.now = Some(now);
        self.state.tally.record.access = Access::None;
        log.begin(now.cycle);
        let (event, lanes) = {
            let (port, mut services) = (EpochPort { memory, log }, Quiet);
            let mut machine = Machine::new(grid, port, &mut services, &mut self.state);
            // SAFETY: the image was checked when it was made, the warp and the state belong to it, and the caller has what `WIDE` says.
            (unsafe { machine.step_once::<WIDE>(warp, block) }, machine.lanes as u32)
        };
        if event == StepEvent::Retry {
            let count = &mut self.state.counts[pc as usize];
            count.issues -= 1;
            count.lanes -= u64::from(lanes);
            warp.issued -= 1;
        }
        Outcome { event, pc, active, mask, lanes, access: self.state.tally.record.access }
    }

    /// Executes the instruction for which [`Stepper::step`] returned [`StepEvent::Deferred`]. To be called between epochs, after the merge.
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
        let lanes = mask.count_ones();
        Outcome { event, pc, active, mask, lanes, access: self.state.tally.record.access }
    }

    /// The memory access of the latest instruction that [`Stepper::step_with_memory`] or [`WarpPlace::access`] executed.
    #[inline(always)]
    pub fn access(&self) -> &Access {
        &self.state.tally.record.access
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
        // After the program's own there is an end marker.
        &self.state.counts[..self.state.counts.len() - 1]
    }

    /// Branches, indirect jumps and indirect calls that made a warp diverge.
    pub fn divergent_branches(&self) -> u64 {
        self.state.tally.divergent_branches
    }

    /// What stopped the kernel, after [`StepEvent::Fault`].
    pub fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.state.tally.fault.take()
    }

    /// Whether shared or local memory has changed since the last call; noted only while `on`, so the first call gives false.
    pub fn watch(&mut self, on: bool) -> bool {
        let watch = &mut self.state.tally.watch;
        let changed = watch.on && watch.changed;
        (watch.on, watch.changed) = (on, false);
        changed
    }

    /// Forgets the allocations of addresses if there are others since.
    #[inline(always)]
    fn renew_windows(&mut self, memory: &DeviceMemory) {
        if self.generation != memory.generation() {
            self.forget_windows();
            self.generation = memory.generation();
        }
    }

    /// Forgets the allocations of addresses. This is automatic when an allocation is made or freed.
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
