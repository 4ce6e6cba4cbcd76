// SPDX-License-Identifier: MIT OR Apache-2.0
//! What optional checks found: races and reads of uninitialised global memory, when a launch has ended; loads that were let
//! through and memory of the device's heap that was never freed, at the end.

use std::collections::BTreeMap;

use warpwatt_exec::{AccessKind, Fault, FaultAccess, FaultKind, Rival};
use warpwatt_isa::Space;
use warpwatt_memory::monitor::{Finding, Origin, Problem, Touched};

use crate::device::Device;
use crate::error::Error;
use crate::launch::Ready;
use crate::report::{FaultReport, SourcePosition};

/// Something that is worth a line at the end of a run, and did not stop it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// `stray-load` or `leak`.
    pub code: &'static str,
    pub place: Option<SourcePosition>,
    pub message: String,
}

/// Loads of one place in a kernel that no allocation allows, over all launches.
pub(crate) struct StrayLoads {
    count: u64,
    report: FaultReport,
}

/// By kernel and instruction.
pub(crate) type Strays = BTreeMap<(String, u32), StrayLoads>;

fn coordinates(number: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [number % x.max(1), number / x.max(1) % y.max(1), number / x.max(1) / y.max(1)]
}

fn kind(how: Touched) -> AccessKind {
    match how {
        Touched::Read => AccessKind::Load,
        Touched::Written => AccessKind::Store,
        Touched::Atomically => AccessKind::Atomic,
    }
}

impl Device {
    /// What the checks found in a launch that has ended: the first of it as an error.
    pub(crate) fn conclude(&mut self, ready: &Ready) -> Result<(), Error> {
        for stray in self.memory.take_strays() {
            let nearest = self.memory.nearest(stray.address);
            let (address, bytes) = (stray.address, stray.bytes);
            let access =
                FaultAccess { address, bytes, space: Space::Global, kind: AccessKind::Load, nearest };
            let fault = Fault::bare(FaultKind::OutOfBounds, stray.pc, "");
            let fault = Fault { cta: stray.cta, thread: stray.thread, access: Some(access), ..fault };
            let Error::Fault(report) = self.fault(ready, &fault) else { continue };
            let key = (report.kernel.clone(), stray.pc);
            let known = self.strays.entry(key).or_insert(StrayLoads { count: 0, report: *report });
            known.count += stray.count;
        }
        let findings = self.memory.end_launch(ready.index);
        let Some(first) = findings.first() else { return Ok(()) };
        Err(self.fault(ready, &self.fault_of(ready, first, findings.len())))
    }

    fn fault_of(&self, ready: &Ready, found: &Finding, all: usize) -> Fault {
        let (grid, block) = (ready.config.grid.to_array(), ready.config.block.to_array());
        let place = |origin: Origin| (coordinates(origin.block, grid), coordinates(origin.thread, block));
        let more = match all {
            1 => String::new(),
            all => format!("; {} more places and instructions in this launch", all - 1),
        };
        let (code, detail, rival) = match found.problem {
            Problem::Race(how, origin) => {
                let (cta, thread) = place(origin);
                let detail = format!("the two blocks are not ordered{more}");
                (FaultKind::GlobalRace, detail, Some(Rival { kind: kind(how), pc: origin.pc, cta, thread }))
            }
            Problem::Uninitialized => {
                let detail = format!("neither the host nor a kernel has written it{more}");
                (FaultKind::UninitializedGlobal, detail, None)
            }
        };
        let (cta, thread) = place(found.origin);
        let (address, bytes) = (found.address, found.bytes);
        let nearest = self.memory.nearest(address);
        let access = FaultAccess { address, bytes, space: Space::Global, kind: kind(found.how), nearest };
        Fault { cta, thread, access: Some(access), rival, ..Fault::bare(code, found.origin.pc, detail) }
    }

    /// What did not stop the run: loads beyond allocations (`bounds=warn`), and at its end memory that kernels took and did not free, if
    /// that is checked.
    pub fn notices(&self) -> Vec<Notice> {
        let strays = self.strays.values().map(|StrayLoads { count, report }| {
            let place = report.source.clone().or_else(|| report.ptx.clone());
            let at = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            let near = report.details.first().map_or(String::new(), |near| format!(", {near}"));
            let message = format!(
                "{count} thread{} of `{}` read beyond allocations{at}: one at {:#x}{near}",
                if *count == 1 { "" } else { "s" },
                report.demangled,
                report.address.unwrap_or_default()
            );
            Notice { code: "stray-load", place, message }
        });
        strays.chain(self.leaks()).collect()
    }

    fn leaks(&self) -> Option<Notice> {
        let blocks: Vec<_> = self.memory.heap_blocks().collect();
        let (first, _) = blocks.first().filter(|_| self.options.checks.leaks)?;
        let bytes: u64 = blocks.iter().map(|block| block.1).sum();
        let launch = self.log.iter().find(|launch| launch.index == first.grid);
        let thread = launch.map_or(String::new(), |launch| {
            let [x, y, z] = coordinates(first.origin.thread, launch.block);
            let [bx, by, bz] = coordinates(first.origin.block, launch.grid);
            format!(
                "; the first by thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz}) of `{}`",
                launch.demangled
            )
        });
        let message = format!(
            "{} block{} of device `malloc`, {bytes} bytes together, {} never freed{thread}",
            blocks.len(),
            if blocks.len() == 1 { "" } else { "s" },
            if blocks.len() == 1 { "was" } else { "were" },
        );
        Some(Notice { code: "leak", place: None, message })
    }

    /// Takes memory for written whose writer does not show: the host writes it in place, or it is meant to start as zeros.
    pub fn mark_written(&mut self, at: crate::types::DevicePtr, bytes: u64) {
        self.memory.mark_written(at.0, bytes);
    }
}
