// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one launch did: the entry of a device's log.

use std::sync::Arc;

use warpwatt_exec::PcCount;
use warpwatt_isa::Program;
use warpwatt_model::{BlockSpan, Counters, KernelReport, OpCounters, PcFacts, PerSm, Sample, Stalls};

use crate::lines::Lines;

/// What was done for one source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineCount {
    pub file: Arc<str>,
    pub line: u32,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// Scheduler cycles in which an instruction of the line was waited for, by reason; all zero unless the launch was timed.
    pub stalls: Stalls,
}

#[derive(Clone, PartialEq, Debug)]
pub struct LaunchRecord {
    /// Counted from 0 over the launches of the device.
    pub index: u64,
    pub kernel: String,
    pub demangled: String,
    /// Name of its PTX text.
    pub ptx_file: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub stream: u32,
    pub registers: u32,
    /// Static and dynamic shared memory per block.
    pub shared_bytes: u32,
    /// Local memory per thread.
    pub local_bytes: u32,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub barriers: u64,
    pub divergent_branches: u64,
    /// Whether all blocks ran to their end.
    pub complete: bool,
    /// Time that the host took to execute it; the one figure that differs from run to run. Kernels that ran together share it
    /// by their instructions.
    pub host_seconds: f64,
    /// In order of file and line.
    pub lines: Vec<LineCount>,
    /// By micro-op of the compiled kernel.
    pub per_pc: Vec<PcCount>,
    /// When and how long it ran; `None` for a functional launch.
    pub timed: Option<TimedRecord>,
}

/// The timed part of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct TimedRecord {
    /// When it was launched, on the device's clock.
    pub start_cycle: u64,
    /// From there to the end of its last block.
    pub cycles: u64,
    /// Of the whole GPU while the kernel ran; kernels that ran at the same time share them.
    pub counters: Arc<Counters>,
    /// Counters of each SM while the kernel ran.
    pub per_sm: PerSm,
    pub ops_per_sm: Vec<OpCounters>,
    /// Micro-ops that issued or were waited for, in the order of the program.
    pub instructions: Vec<Instruction>,
    /// Samples over time; empty unless requested.
    pub series: Vec<Sample>,
    /// Where and when its blocks were; empty unless requested.
    pub blocks: Vec<BlockSpan>,
}

/// What one micro-op did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub pc: u32,
    /// Its operation, as disassembly shows it.
    pub op: &'static str,
    /// Which of the launch's lines it belongs to.
    pub line: u32,
    pub issues: u64,
    pub lanes: u64,
    /// Scheduler cycles in which it was waited for.
    pub waited: u64,
    pub facts: PcFacts,
}

impl TimedRecord {
    /// Of a launch whose entry in the log is complete but for its time; `lines` are those of its program.
    pub(crate) fn new(
        program: &Program,
        lines: &Lines,
        record: &LaunchRecord,
        report: KernelReport,
    ) -> TimedRecord {
        let KernelReport { start_cycle, cycles, counters, per_sm, ops_per_sm, series, blocks, .. } = report;
        let places = lines.places(&record.per_pc, &report.stalls_per_pc);
        let counts = record.per_pc.iter().zip(&report.stalls_per_pc).zip(report.facts_per_pc);
        let mut instructions = Vec::with_capacity(places.iter().flatten().count());
        let all = program.uops.iter().zip(places).zip(counts).enumerate();
        for (pc, ((uop, place), ((count, stalls), facts))) in all {
            let Some(line) = place else { continue };
            instructions.push(Instruction {
                pc: pc as u32,
                op: uop.op.name(),
                line,
                issues: count.issues,
                lanes: count.lanes,
                waited: stalls.iter().sum(),
                facts,
            });
        }
        TimedRecord { start_cycle, cycles, counters, per_sm, ops_per_sm, instructions, series, blocks }
    }
}
