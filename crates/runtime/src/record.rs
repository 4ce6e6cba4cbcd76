// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one launch did: the entry of a device's log.

use std::sync::Arc;

use warpwatt_exec::{GridStats, PcCount};
use warpwatt_isa::{Location, Program};
use warpwatt_model::{BlockSpan, Counters, KernelReport, OpCounters, PcFacts, PerSm, Sample, Stalls};

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
    /// Of a launch whose entry in the log is complete but for its time.
    pub(crate) fn new(program: &Program, record: &LaunchRecord, report: KernelReport) -> TimedRecord {
        let KernelReport { start_cycle, cycles, counters, per_sm, ops_per_sm, series, blocks, .. } = report;
        let waited = report.stalls_per_pc.iter().map(|stalls| stalls.iter().sum::<u64>());
        let counts = record.per_pc.iter().zip(waited).zip(report.facts_per_pc);
        // Instructions that follow each other are mostly of the same line.
        let mut last = None;
        let instructions = program
            .uops
            .iter()
            .enumerate()
            .zip(counts)
            .filter(|(_, ((count, waited), _))| count.issues != 0 || *waited != 0)
            .map(|((pc, uop), ((count, waited), facts))| {
                let at = place(program, &record.ptx_file, pc);
                let known = match last {
                    Some((other, known)) if is_same(other, at) => known,
                    _ => {
                        let find = |known: &LineCount| (known.file.as_str(), known.line).cmp(&at);
                        record.lines.binary_search_by(find).unwrap_or_default()
                    }
                };
                last = Some((at, known));
                Instruction {
                    pc: pc as u32,
                    op: uop.op.name(),
                    line: known as u32,
                    issues: count.issues,
                    lanes: count.lanes,
                    waited,
                    facts,
                }
            })
            .collect();
        TimedRecord { start_cycle, cycles, counters, per_sm, ops_per_sm, instructions, series, blocks }
    }
}

/// The source line of a micro-op. Where there is no line table, the PTX text is the source.
fn place<'p>(program: &'p Program, ptx_file: &'p str, pc: usize) -> (&'p str, u32) {
    let at = program.uops.get(pc).and_then(|uop| program.locs.get(uop.loc as usize));
    let at = at.copied().unwrap_or_default();
    match program.files.get(at.file as usize) {
        Some(file) if at.file != Location::NO_FILE && at.line > 0 => (file.as_str(), at.line),
        _ => (ptx_file, at.ptx_line),
    }
}

/// Whether two lines are the same one, of the same text. Lines of different texts with the same name are not recognised.
fn is_same((file, line): (&str, u32), (other, other_line): (&str, u32)) -> bool {
    line == other_line && std::ptr::eq(file, other)
}

/// Sums the counts of micro-ops by source line. `stalls` is empty for a functional launch.
pub(crate) fn by_line(
    program: &Program,
    ptx_file: &str,
    stats: &GridStats,
    stalls: &[Stalls],
) -> Vec<LineCount> {
    let mut sums = Vec::<((&str, u32), (u64, u64, Stalls))>::new();
    // Instructions that follow each other are mostly of the same line.
    let mut last = 0;
    for pc in 0..program.uops.len() {
        let count = stats.per_pc.get(pc).copied().unwrap_or_default();
        let waited = stalls.get(pc).copied().unwrap_or_default();
        if count.issues == 0 && waited == Stalls::default() {
            continue;
        }
        let at = place(program, ptx_file, pc);
        if !sums.get(last).is_some_and(|(other, _)| is_same(*other, at)) {
            last = sums.binary_search_by(|(other, _)| other.cmp(&at)).unwrap_or_else(|place| {
                sums.insert(place, (at, Default::default()));
                place
            });
        }
        let sum = &mut sums[last].1;
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
