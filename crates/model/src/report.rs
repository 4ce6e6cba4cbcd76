// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes into a timed run and what comes out of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpwatt_base::counters::Count;
use warpwatt_exec::{CheckOptions, Fault, GridLaunch, GridStats, Services, Watchdog};
use warpwatt_isa::{Op, Space, Unit, Uop};

use crate::ops::{OpCounters, OpKind};
use crate::sm::Stalls;
use crate::techniques::BlockShape;

/// A kernel to be run.
pub struct Launch<'a> {
    pub grid: GridLaunch<'a>,
    /// Not launched before this cycle.
    pub earliest: u64,
    /// Earlier kernels of the call that must have ended, by index, and for how many cycles. Kernels that do not wait for each
    /// other may run together.
    pub after: Vec<(usize, u64)>,
    pub checks: CheckOptions,
    /// It runs with the division of the on-chip memory that prefers L1, which has room for its blocks. Kernels with different divisions
    /// do not run at the same time.
    pub large_l1: bool,
}

impl Launch<'_> {
    /// What a block takes on an SM.
    pub fn shape(&self) -> BlockShape<'_> {
        let program = self.grid.image.program();
        let threads: u32 = self.grid.block.iter().product();
        BlockShape { program, warps: threads.div_ceil(32), registers: program.registers }
    }
}

#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Host threads that simulate.
    pub threads: u32,
    /// Never skip idle cycles: slower, with the same result.
    pub step_every_cycle: bool,
    /// Stop when the device's clock reaches this cycle.
    pub max_cycle: Option<u64>,
    /// Stop after about this many thread instructions, all kernels of the call together.
    pub max_thread_instructions: Option<u64>,
    pub watchdog: Watchdog,
    /// Looked at every epoch; true stops the run.
    pub interrupt: Option<&'a AtomicBool>,
    /// Take a sample of the counters about every so many cycles.
    pub interval: Option<u64>,
    /// Note on which SM each block was, and when.
    pub blocks: bool,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            threads: 1,
            step_every_cycle: false,
            max_cycle: None,
            max_thread_instructions: None,
            watchdog: Watchdog::default(),
            interrupt: None,
            interval: None,
            blocks: false,
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Index of the oldest kernel that still runs, in the order of the call.
    pub launch: usize,
    /// Blocks of that kernel.
    pub ctas_done: u64,
    pub ctas: u64,
    /// The device's clock.
    pub cycle: u64,
    /// Cycle in which that kernel started.
    pub start_cycle: u64,
    /// Of all kernels of the call.
    pub warp_instructions: u64,
    pub thread_instructions: u64,
}

/// Whoever watches a run.
pub trait Monitor: Services {
    /// Called every few thousand cycles.
    fn tick(&mut self, _progress: &Progress) {}
}

impl Monitor for warpwatt_exec::Quiet {}
impl Monitor for Vec<u8> {}

/// What one kernel did.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelReport {
    /// Instructions by micro-op, and how the kernel ended.
    pub stats: GridStats,
    /// When it was launched, on the device's clock, and how long it took from there to the end of its last block.
    pub start_cycle: u64,
    pub cycles: u64,
    /// Counters of the whole GPU while the kernel ran; kernels that ran at the same time share them.
    pub counters: Arc<crate::Counters>,
    /// Counters of each SM while the kernel ran.
    pub per_sm: crate::PerSm,
    pub ops_per_sm: Vec<OpCounters>,
    /// Scheduler cycles without issue, by reason, charged to this kernel's micro-ops.
    pub stalls_per_pc: Vec<Stalls>,
    /// What else there is to know about this kernel's micro-ops.
    pub facts_per_pc: Vec<PcFacts>,
    /// Samples over time; empty unless asked for.
    pub series: Vec<Sample>,
    /// Where and when its blocks were, in the order of their starts; empty unless asked for.
    pub blocks: Vec<BlockSpan>,
}

/// A block on an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockSpan {
    /// Number of the block in its grid.
    pub block: u64,
    pub sm: u32,
    pub start_cycle: u64,
    /// The cycle after its last one; nothing if it has not ended.
    pub end_cycle: Option<u64>,
}

/// What a micro-op does to the machine each time that it issues, and what it asked of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PcFacts {
    pub kind: OpKind,
    pub unit: Unit,
    pub path: Path,
    /// Registers of a warp that it reads and writes.
    pub reads: u8,
    pub writes: u8,
    /// Constant operands.
    pub constants: u8,
    /// Lines of memory that it touched, or accesses to shared memory, all issues together.
    pub lines: u64,
}

/// Which memory an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    None,
    Shared,
    Constant,
    /// Global and local memory, and generic addresses, which are mostly that.
    Global,
    Texture,
}

impl Path {
    pub fn of(uop: &Uop) -> Path {
        match uop.op {
            Op::Ld | Op::St | Op::Atom | Op::Red => match uop.mem.space {
                Space::Shared => Path::Shared,
                Space::Const => Path::Constant,
                _ => Path::Global,
            },
            Op::Suld | Op::Sust | Op::Sured => Path::Global,
            Op::Tex | Op::Tld4 | Op::Txq => Path::Texture,
            _ => Path::None,
        }
    }
}

/// What was counted in one interval.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// End of the interval on the device's clock.
    pub cycle: u64,
    pub counters: crate::Counters,
}

/// A run that a fault ended, with what had been counted until then.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    pub fault: Fault,
    /// Index of the kernel in the call.
    pub launch: usize,
    pub reports: Vec<KernelReport>,
}

/// Visits a counter as a number: histograms bucket by bucket.
pub fn flatten(name: &str, count: Count, f: &mut dyn FnMut(String, u64)) {
    match count {
        Count::Sum(sum) => f(name.to_owned(), sum),
        Count::Histogram(buckets) => {
            for (bucket, &count) in buckets.iter().enumerate() {
                f(format!("{name}.{bucket}"), count);
            }
        }
    }
}
