// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels of a run as an SM sees them, and what an SM has to tell at the end of an epoch.

use std::collections::VecDeque;

use warpwatt_exec::stepping::{EpochLog, Prepared, Resident, Stepper};
use warpwatt_exec::{CheckOptions, Fault};

use super::decode::Decoded;
use super::stall::{Stall, Stalls};

/// A kernel of the run; it is immutable.
pub struct Kernel<'a> {
    pub prepared: Prepared<'a>,
    pub decoded: Decoded,
    pub checks: CheckOptions,
    /// Which code it is: launches of one kernel share it.
    pub code: u32,
    /// Blocks that an SM may hold, if a technique limits them.
    pub most: Option<u32>,
    /// It runs with the division of the on-chip memory that prefers L1.
    pub large_l1: bool,
    /// Warps that an SM could hold on top of these.
    pub kept_out: u32,
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
    /// With the residents of earlier kernels that fit this one.
    pub fn new(kernel: &Kernel, spare: &mut Vec<Resident>) -> KernelState {
        let len = kernel.decoded.timing.len();
        let residents: Vec<_> =
            spare.extract_if(.., |resident| resident.fits(&kernel.prepared, kernel.checks)).collect();
        KernelState {
            stepper: Stepper::new(&kernel.prepared),
            unused: (0..residents.len() as u32).rev().collect(),
            residents,
            stalls: vec![[0; Stall::COUNT]; len],
            lines: vec![0; len],
            barriers: 0,
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

/// An SM's part in a run.
#[derive(Default)]
pub struct Work {
    pub shares: Vec<KernelState>,
    /// Code of each kernel.
    pub codes: Vec<u32>,
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

impl AsMut<EpochLog> for Work {
    fn as_mut(&mut self) -> &mut EpochLog {
        &mut self.log
    }
}
