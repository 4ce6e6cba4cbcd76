// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one launch did: the entry of a device's log.

use std::collections::BTreeMap;

use warpwatt_exec::{GridStats, PcCount};
use warpwatt_isa::{Location, Program};
use warpwatt_model::{Counters, Sample, SmCounters, Stalls};

/// What was done for one source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineCount {
    pub file: String,
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
    pub counters: Counters,
    /// The same for each SM.
    pub per_sm: Vec<SmCounters>,
    /// Samples over time; empty unless asked for.
    pub series: Vec<Sample>,
}

/// Adds up what was counted for micro-ops by source line. Where there is no line table, the PTX text is the source.
/// `stalls` is empty for a functional launch.
pub(crate) fn by_line(
    program: &Program,
    ptx_file: &str,
    stats: &GridStats,
    stalls: &[Stalls],
) -> Vec<LineCount> {
    let mut sums = BTreeMap::<(&str, u32), (u64, u64, Stalls)>::new();
    for (pc, uop) in program.uops.iter().enumerate() {
        let count = stats.per_pc.get(pc).copied().unwrap_or_default();
        let waited = stalls.get(pc).copied().unwrap_or_default();
        if count.issues == 0 && waited == Stalls::default() {
            continue;
        }
        let at = program.locs.get(uop.loc as usize).copied().unwrap_or_default();
        let key = match program.files.get(at.file as usize) {
            Some(file) if at.file != Location::NO_FILE && at.line > 0 => (file.as_str(), at.line),
            _ => (ptx_file, at.ptx_line),
        };
        let sum = sums.entry(key).or_default();
        sum.0 += count.issues;
        sum.1 += count.lanes;
        sum.2.iter_mut().zip(waited).for_each(|(sum, cycles)| *sum += cycles);
    }
    sums.into_iter()
        .map(|((file, line), (warp_instructions, thread_instructions, stalls))| LineCount {
            file: file.to_owned(),
            line,
            warp_instructions,
            thread_instructions,
            stalls,
        })
        .collect()
}
