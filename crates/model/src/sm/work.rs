// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels of a run as an SM sees them, and what an SM has to tell at the end of an epoch.

use std::collections::VecDeque;

use warpwatt_exec::stepping::{EpochLog, Prepared, Resident, Stepper};
use warpwatt_exec::{CheckOptions, Fault};

use super::decode::{Decoded, Timing};
use super::stall::{Stall, Stalls};
use super::warp::{Instructions, WarpSlot};
use super::{Slots, Sm};

/// A kernel of the run; it is immutable.
pub struct Kernel<'a> {
    pub prepared: Prepared<'a>,
    pub decoded: Decoded,
    pub checks: CheckOptions,
    /// Which code it is: launches of one kernel share it.
    pub code: u32,
    /// Where its instructions begin among those of the run.
    pub first: u32,
    /// Blocks that an SM may hold, if a technique limits them.
    pub most: Option<u32>,
    /// It runs with the division of the on-chip memory that prefers L1.
    pub large_l1: bool,
    /// Warps that an SM could hold on top of these.
    pub kept_out: u32,
}

/// The kernels of a run, and the instructions of all of them in one table: a warp finds its own without its kernel.
#[derive(Clone, Copy)]
pub struct Kernels<'t, 'a> {
    pub all: &'t [Kernel<'a>],
    pub timing: &'t [Timing],
}

/// What an SM keeps from run to run for blocks and kernels to come, so that it need not be made anew for each launch.
#[derive(Default)]
pub struct Spare {
    /// Places for blocks of a shape that the last launch of their kernel did not have.
    residents: Vec<Resident>,
    /// Tables by micro-op, of kernels that ended last, all zero, with the places for blocks of their last launch.
    states: Vec<KernelState>,
}

/// Places for blocks, and micro-ops of kernels, that an SM keeps from run to run.
const SPARE_RESIDENTS: usize = 16;
const SPARE_UOPS: usize = 4096;

impl Spare {
    /// Takes what an ended kernel leaves, whose tables are as new on an SM that took no block of it.
    pub fn keep(&mut self, mut state: KernelState, took: bool) {
        if took {
            state.clear();
        }
        state.residents.truncate(SPARE_RESIDENTS);
        self.states.push(state);
        self.forget_residents();
        let uops = |states: &[KernelState]| states.iter().map(|state| state.lines.len()).sum::<usize>();
        while uops(&self.states) > SPARE_UOPS {
            self.states.remove(0);
        }
    }

    /// Gives up places for blocks where there are too many, those of the latest kernel last.
    fn forget_residents(&mut self) {
        let of_states = self.states.iter().map(|state| state.residents.len()).sum::<usize>();
        let mut beyond = (self.residents.len() + of_states).saturating_sub(SPARE_RESIDENTS);
        for residents in std::iter::once(&mut self.residents)
            .chain(self.states.iter_mut().map(|state| &mut state.residents))
        {
            if beyond == 0 {
                return;
            }
            beyond = beyond.saturating_sub(residents.len());
            residents.clear();
        }
    }

    /// Places for blocks of a kernel among those of all others.
    fn find_residents(&mut self, kernel: &Kernel) -> Vec<Resident> {
        let fits = |resident: &mut Resident| resident.fits(&kernel.prepared, kernel.checks);
        let of_states = self.states.iter_mut().map(|state| &mut state.residents);
        let all = std::iter::once(&mut self.residents).chain(of_states);
        all.flat_map(|residents| residents.extract_if(.., fits)).collect()
    }
}

/// What an SM keeps for one kernel.
pub struct KernelState {
    pub stepper: Stepper,
    pub residents: Vec<Resident>,
    /// Residents that hold no block.
    pub unused: Vec<u32>,
    pub stalls: Vec<Stalls>,
    /// Lines of memory that each micro-op touched.
    pub lines: Vec<u64>,
    /// Barriers of blocks that opened.
    pub barriers: u64,
}

impl KernelState {
    /// With the tables and places for blocks of the kernel's last launch, or with places of other kernels that fit.
    pub fn new(kernel: &Kernel, spare: &mut Spare) -> KernelState {
        let len = kernel.decoded.uops();
        let known = spare.states.iter().position(|state| state.stepper.fits(&kernel.prepared));
        let mut state = match known {
            Some(at) => spare.states.remove(at),
            None => KernelState {
                stepper: Stepper::new(&kernel.prepared),
                unused: Vec::new(),
                residents: Vec::new(),
                stalls: vec![[0; Stall::COUNT]; len],
                lines: vec![0; len],
                barriers: 0,
            },
        };
        // All of one launch have the same shape.
        if state.residents.first().is_some_and(|first| !first.fits(&kernel.prepared, kernel.checks)) {
            spare.residents.append(&mut state.residents);
        }
        if state.residents.is_empty() {
            state.residents = spare.find_residents(kernel);
        }
        state.unused.clear();
        state.unused.extend((0..state.residents.len() as u32).rev());
        state
    }

    /// Nothing is counted any more.
    fn clear(&mut self) {
        self.stepper.restart();
        let counted = |stalls: &&mut Stalls| stalls.iter().fold(0, |any, count| any | count) != 0;
        self.stalls.iter_mut().filter(counted).for_each(|stalls| *stalls = [0; Stall::COUNT]);
        self.lines.iter_mut().for_each(|lines| *lines = 0);
        self.barriers = 0;
    }
}

impl Sm {
    /// An epoch lends the instructions of all kernels, which may have moved since the last one, when kernels came.
    #[inline(always)]
    pub(super) fn borrow_instructions(&mut self, kernels: Kernels) {
        let all = Instructions::new(kernels.timing, 0);
        if self.instructions != all {
            self.instructions = all;
            for slot in Slots(!self.free_slots).take_while(|slot| slot.index() < self.spec.warp_slots) {
                let warp = &mut self.warps[slot];
                warp.program = Instructions::new(kernels.timing, warp.first);
            }
        }
    }
}

/// A block to be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    pub cycle: u64,
    pub kernel: u32,
    /// Number of the block in its grid.
    pub cta: u64,
}

/// A block that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    pub cycle: u64,
    pub kernel: u32,
    pub cta: u64,
}

/// An instruction that takes effect between epochs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deferred {
    pub cycle: u64,
    pub warp: u8,
}

/// What stopped an SM.
pub struct Stopped {
    pub cycle: u64,
    pub kernel: u32,
    pub fault: Box<Fault>,
}

/// What an SM works on: the kernels, its part of the run, and the present cycle. None of it is the SM's own.
pub(super) struct Turn<'t, 'a> {
    pub now: u64,
    /// The cycle before which it ends.
    pub end: u64,
    pub kernels: Kernels<'t, 'a>,
    pub work: &'t mut Work,
}

impl<'t, 'a> Turn<'t, 'a> {
    /// The run stops with a fault, and the turn ends with this cycle.
    pub fn stop(&mut self, kernel: u32, fault: Box<Fault>) {
        self.work.stopped = Some(Stopped { cycle: self.now, kernel, fault });
        self.end = self.now;
    }

    /// The kernel of a warp.
    #[inline(always)]
    pub fn kernel(&self, warp: &WarpSlot) -> &'t Kernel<'a> {
        &self.kernels.all[warp.kernel as usize]
    }

    /// What the SM keeps for the kernel of a warp.
    #[inline(always)]
    pub fn share(&mut self, warp: &WarpSlot) -> &mut KernelState {
        &mut self.work.shares[warp.kernel as usize]
    }

    /// The block that a warp belongs to.
    #[inline(always)]
    pub fn block(&self, warp: &WarpSlot) -> &Resident {
        &self.work.shares[warp.kernel as usize].residents[warp.resident as usize]
    }

    /// An instruction of a warp's program, or the end behind it.
    #[inline(always)]
    pub fn timing(&self, warp: &WarpSlot, pc: u32) -> &'t Timing {
        debug_assert!(pc <= warp.end && warp.program == Instructions::new(self.kernels.timing, warp.first));
        // SAFETY: warps get to instructions of their program or to its end, each of which has its place in the table that the turn lends.
        unsafe { warp.program.get(pc) }
    }
}

/// An SM's part in a run.
#[derive(Default)]
pub struct Work {
    pub shares: Vec<KernelState>,
    /// In order of their cycles.
    pub starts: VecDeque<Start>,
    pub finished: Vec<Finished>,
    pub deferred: Vec<Deferred>,
    pub stopped: Option<Stopped>,
    pub log: EpochLog,
    /// Blocks started and barriers opened, and warps ended: signs of life for the watchdog.
    pub progress: u64,
    pub warps_ended: u64,
    /// Lanes came to the barrier of the grid.
    pub at_grid_barrier: bool,
}

impl Work {
    /// After a run that has come to its end: all lists are empty.
    pub fn restart(&mut self) {
        (self.progress, self.warps_ended, self.at_grid_barrier) = (0, 0, false);
    }

    /// When the next block starts.
    #[inline(always)]
    pub fn next_start(&self) -> u64 {
        self.starts.front().map_or(u64::MAX, |start| start.cycle)
    }
}

impl AsMut<EpochLog> for Work {
    fn as_mut(&mut self) -> &mut EpochLog {
        &mut self.log
    }
}
