// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the sums of a run take from one launch. It borrows from the results of a device, so that no entry of the record has to be made for a launch that is
//! only added up.

use warpwatt_base::counters::Count;

use crate::counters::{COUNTERS, Reading, Values};
use crate::record::{Kernel, Mode};
use crate::totals::{ClassSums, LineJoules};

/// One launch, for [`crate::Sums::add`].
pub struct Launched<'a> {
    pub name: &'a str,
    pub demangled: &'a str,
    pub mode: Mode,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub registers: u32,
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub cycles: Option<u64>,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub ipc: Option<f64>,
    /// Counters that every launch has, timed or not, of those in [`COUNTERS`].
    pub counts: Vec<(&'static str, u64)>,
    /// Counters of the GPU while it ran.
    pub counters: Counted<'a>,
    /// Issue slots without issue, by reason.
    pub stalls: Option<Vec<(&'a str, u64)>>,
    pub lines: Vec<LaunchedLine<'a>>,
    pub energy: Option<LaunchedEnergy<'a>>,
}

/// What visits counters, one after the other.
pub type Visitor<'v> = &'v mut dyn FnMut(&'static str, Count);

/// Counters of a GPU.
#[derive(Clone, Copy)]
pub enum Counted<'a> {
    /// By name, as an entry of the record has them.
    Values(&'a Values),
    /// They are added to the launch's group together with those of other launches ([`crate::Sums::add_counters`]).
    Later,
}

/// What was done for one source line.
pub struct LaunchedLine<'a> {
    pub file: &'a str,
    pub line: u32,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// Scheduler cycles in which its instructions were waited for, by reason, where there were some.
    pub stalls: Option<Vec<(&'a str, u64)>>,
}

/// Energy of one launch.
pub struct LaunchedEnergy<'a> {
    pub total_j: f64,
    pub dynamic_j: f64,
    pub static_j: f64,
    pub average_w: f64,
    /// By file and line.
    pub lines: Vec<(&'a str, u32, LineJoules)>,
    /// By kind of operation.
    pub classes: Vec<(&'a str, ClassSums)>,
}

impl<'a> From<&'a Kernel> for Launched<'a> {
    fn from(kernel: &'a Kernel) -> Launched<'a> {
        let stalls = |stalls: &'a crate::Stalls| {
            stalls.iter().map(|(reason, cycles)| (reason.as_str(), *cycles)).collect()
        };
        let count = |name: &'static str| match kernel.counters.get(name)? {
            Reading::Count(count) => Some((name, *count)),
            _ => None,
        };
        let slots = match kernel.counters.get("sm.issue_slots.count") {
            Some(Reading::Count(slots)) => *slots as f64,
            _ => 0.0,
        };
        let lines = kernel.lines.iter().map(|line| LaunchedLine {
            file: &line.file,
            line: line.line,
            warp_instructions: line.warp_instructions,
            thread_instructions: line.thread_instructions,
            stalls: line.stalls.as_ref().map(stalls),
        });
        let energy = kernel.energy.as_ref().map(|energy| LaunchedEnergy {
            total_j: energy.total_j,
            dynamic_j: energy.dynamic_j,
            static_j: energy.static_j,
            average_w: energy.average_w,
            lines: (energy.per_line.iter())
                .map(|line| {
                    let slots = line.time_share * slots;
                    let joules = LineJoules { energy_j: line.energy_j, dynamic_j: line.dynamic_j, slots };
                    (line.file.as_str(), line.line, joules)
                })
                .collect(),
            classes: (energy.per_class.iter())
                .map(|class| {
                    let (warp_instructions, energy_j, dynamic_j) =
                        (class.warp_instructions, class.energy_j, class.dynamic_j);
                    (class.name.as_str(), ClassSums { warp_instructions, energy_j, dynamic_j })
                })
                .collect(),
        });
        Launched {
            name: &kernel.name,
            demangled: &kernel.demangled,
            mode: kernel.mode,
            grid: kernel.grid,
            block: kernel.block,
            registers: kernel.registers,
            shared_bytes: kernel.shared_bytes,
            local_bytes: kernel.local_bytes,
            cycles: kernel.cycles,
            warp_instructions: kernel.warp_instructions,
            thread_instructions: kernel.thread_instructions,
            ipc: kernel.ipc,
            counts: COUNTERS.iter().filter_map(|info| count(info.name)).collect(),
            counters: Counted::Values(&kernel.counters),
            stalls: kernel.stalls.as_ref().map(stalls),
            lines: lines.collect(),
            energy,
        }
    }
}
