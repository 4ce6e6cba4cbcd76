// SPDX-License-Identifier: MIT OR Apache-2.0
//! Report of a fault for users: the access, its thread, its source line, and the allocation that it hit.
//!
//! After compute-sanitizer's reports: the access, the thread and block, the nearest allocation and the distance to it.

use std::fmt::{self, Write};

use warpwatt_exec::{AccessKind, Fault, FaultAccess, FaultKind};
use warpwatt_isa::{FunctionEntry, Location, Program, Space};
use warpwatt_memory::{Nearest, Relation};

use crate::demangle::demangle;
use crate::sources::{Sources, Text};
use crate::types::LaunchConfig;

/// A line of a text, with its words where the text is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourcePosition {
    pub file: String,
    pub line: u32,
    /// 0 when not known.
    pub column: u32,
    pub text: Option<String>,
}

/// Position of a warp that waits for an event that cannot occur.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub block: [u32; 3],
    pub warp: u32,
    pub lanes: u32,
    pub source: Option<SourcePosition>,
    pub reason: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultReport {
    /// Stable short name of the kind of fault, such as `out-of-bounds`.
    pub code: &'static str,
    /// One sentence: what happened.
    pub headline: String,
    /// What the access hit, or more about it.
    pub details: Vec<String>,
    pub kernel: String,
    pub demangled: String,
    /// Counted from 0 over the launches of the device.
    pub launch: u64,
    pub grid: [u32; 3],
    pub block_dim: [u32; 3],
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub address: Option<u64>,
    pub bytes: Option<u32>,
    /// Name of the allocation that the access hit, or of the nearest one.
    pub allocation: Option<String>,
    /// Line of the source the kernel was compiled from, by its line table.
    pub source: Option<SourcePosition>,
    pub ptx: Option<SourcePosition>,
    /// Threads of the warp that do the same, the one named included.
    pub threads: u32,
    /// Calls that are active in the thread, innermost first.
    pub calls: Vec<Call>,
    /// The other access of a race.
    pub rival: Option<Rival>,
    pub waiting: Vec<Waiting>,
    pub help: String,
}

/// A call that was active.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function that is called, as in the source.
    pub function: String,
    /// Where it is called.
    pub place: Option<SourcePosition>,
}

/// The other access of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rival {
    pub verb: &'static str,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub place: Option<SourcePosition>,
}

/// What a report is made from besides the fault.
pub(crate) struct Scene<'a> {
    pub program: &'a Program,
    pub ptx_file: &'a str,
    pub ptx_text: &'a Text,
    pub sources: &'a Sources,
    pub launch: u64,
    pub config: &'a LaunchConfig,
}

impl FaultReport {
    pub(crate) fn new(fault: &Fault, scene: &Scene) -> FaultReport {
        let location = location(scene.program, fault.pc);
        let mut details = Vec::new();
        if let Some(near) = fault.access.as_ref().and_then(|access| access.nearest.as_ref()) {
            details.push(nearness(near));
        }
        if !fault.detail.is_empty() {
            details.push(fault.detail.clone());
        }
        FaultReport {
            code: fault.kind.name(),
            headline: headline(fault),
            details,
            kernel: scene.program.name.clone(),
            demangled: demangle(&scene.program.name),
            launch: scene.launch,
            grid: scene.config.grid.to_array(),
            block_dim: scene.config.block.to_array(),
            block: fault.cta,
            thread: fault.thread,
            address: fault.access.as_ref().map(|access| access.address),
            bytes: fault.access.as_ref().map(|access| access.bytes),
            allocation: fault
                .access
                .as_ref()
                .and_then(|access| Some(access.nearest.as_ref()?.allocation.name.clone())),
            source: location.and_then(|location| source_place(location, scene)),
            ptx: location.and_then(|location| ptx_place(location, scene)),
            threads: fault.lanes.count_ones().max(1),
            calls: calls(fault, scene),
            rival: fault.rival.map(|rival| Rival {
                verb: match rival.kind {
                    AccessKind::Load => "read",
                    AccessKind::Store => "written",
                    AccessKind::Atomic => "changed atomically",
                },
                block: rival.cta,
                thread: rival.thread,
                place: place(scene, rival.pc),
            }),
            waiting: fault
                .waiters
                .iter()
                .map(|waiter| Waiting {
                    block: waiter.cta,
                    warp: waiter.warp,
                    lanes: waiter.lanes,
                    source: place(scene, waiter.pc),
                    reason: waiter.reason.clone(),
                })
                .collect(),
            help: help(fault),
        }
    }
}

/// Where an instruction is in the source, or else in the PTX text.
fn place(scene: &Scene, pc: u32) -> Option<SourcePosition> {
    let at = location(scene.program, pc)?;
    source_place(at, scene).or_else(|| ptx_place(at, scene))
}

/// The calls that led to a fault. Functions that calls were replaced by do not show.
fn calls(fault: &Fault, scene: &Scene) -> Vec<Call> {
    let function = |pc: u32| {
        let holds = |function: &&FunctionEntry| (function.entry..function.end).contains(&pc);
        let found = scene.program.functions.iter().find(holds);
        found.map_or("?".to_owned(), |found| demangle(&found.name))
    };
    let inside = std::iter::once(fault.pc).chain(fault.calls.iter().copied());
    let calls = inside.zip(&fault.calls);
    calls.map(|(pc, &from)| Call { function: function(pc), place: place(scene, from) }).collect()
}

fn location(program: &Program, pc: u32) -> Option<Location> {
    let uop = program.uops.get(pc as usize)?;
    program.locs.get(uop.loc as usize).copied()
}

fn source_place(at: Location, scene: &Scene) -> Option<SourcePosition> {
    let file = scene.program.files.get(at.file as usize).filter(|_| at.line > 0)?;
    Some(SourcePosition {
        file: file.clone(),
        line: at.line,
        column: at.column,
        text: scene.sources.line(file, at.line).map(|text| text.trim().to_owned()),
    })
}

fn ptx_place(at: Location, scene: &Scene) -> Option<SourcePosition> {
    let text = scene.ptx_text.line(at.ptx_line)?;
    Some(SourcePosition {
        file: scene.ptx_file.to_owned(),
        line: at.ptx_line,
        column: 0,
        text: Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
    })
}

fn headline(fault: &Fault) -> String {
    let what = match fault.kind {
        FaultKind::OutOfBounds if fault.access.as_ref().is_some_and(FaultAccess::is_null) => {
            "access through a null pointer"
        }
        FaultKind::OutOfBounds if fault.access.as_ref().is_some_and(FaultAccess::is_wild) => {
            "access through a wild pointer"
        }
        FaultKind::OutOfBounds => "out-of-bounds access",
        FaultKind::Misaligned => "misaligned access",
        FaultKind::UseAfterFree => "use of freed memory",
        FaultKind::WrongSpace => "access to the wrong memory space",
        FaultKind::BarrierDeadlock => "barrier deadlock: every remaining warp waits",
        FaultKind::NoProgress => "no progress: the remaining warps run without any effect",
        FaultKind::StackOverflow => "stack overflow",
        FaultKind::Trap => "the kernel executed `trap`",
        FaultKind::Breakpoint => "the kernel executed `brkpt`, and there is no debugger",
        FaultKind::Assert => "a device-side assertion failed",
        FaultKind::InvalidPc => "call through an invalid function pointer",
        FaultKind::InvalidBarrier => "invalid barrier",
        FaultKind::DoubleFree => "double free",
        FaultKind::InvalidFree => "`free` of a pointer that `malloc` did not return",
        FaultKind::Unsupported => "unsupported operation",
        FaultKind::InvalidLaunch => "invalid launch",
        FaultKind::SharedRace => "race on shared memory",
        FaultKind::UninitializedShared => "read of uninitialised shared memory",
        FaultKind::GlobalRace => "race on global memory",
        FaultKind::UninitializedGlobal => "read of uninitialised global memory",
        FaultKind::AbsentLane => "shuffle from an inactive lane",
        FaultKind::SharedOverrun => "access beyond the end of a shared array",
        FaultKind::Corrupted => "a technique returned another value than was stored",
    };
    match &fault.access {
        Some(access) => format!("{what}: {}", describe(access)),
        None => what.to_owned(),
    }
}

fn describe(access: &FaultAccess) -> String {
    let (verb, preposition) = match access.kind {
        AccessKind::Load => ("load", "from"),
        AccessKind::Store => ("store", "to"),
        AccessKind::Atomic => ("atomic operation", "on"),
    };
    let bytes = count_bytes(access.bytes.into());
    let space = match access.space {
        Space::Generic => "generic".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    format!("{verb} of {bytes} {preposition} {space} memory at {:#x}", access.address)
}

fn count_bytes(bytes: u64) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

fn nearness(near: &Nearest) -> String {
    let allocation = &near.allocation;
    let what = format!("`{}` ({} bytes at {:#x})", allocation.name, allocation.size, allocation.base);
    match (near.relation, near.freed) {
        (Relation::Inside(at), true) => format!("{} into {what}, which was freed", count_bytes(at)),
        (Relation::Inside(at), false) => format!("{} into {what}", count_bytes(at)),
        (Relation::After(0), _) => format!("right past the end of {what}"),
        (Relation::After(past), _) => format!("{} past the end of {what}", count_bytes(past)),
        (Relation::Before(ahead), _) => format!("{} before the start of {what}", count_bytes(ahead)),
    }
}

fn help(fault: &Fault) -> String {
    let near = fault.access.as_ref().and_then(|access| access.nearest.as_ref());
    match fault.kind {
        FaultKind::OutOfBounds if near.is_some_and(|near| matches!(near.relation, Relation::After(_))) => {
            "compare the index with the number of elements before the access, or allocate more"
        }
        FaultKind::OutOfBounds if fault.access.as_ref().is_some_and(FaultAccess::is_null) => {
            "the pointer is 0, or an element of an array at 0: look for an allocation that failed or was never made, and for a pointer \
             that was not passed"
        }
        FaultKind::OutOfBounds if fault.access.as_ref().is_some_and(FaultAccess::is_wild) => {
            "no allocation is near this address: look for a host pointer, a pointer that was never set, and for a 32-bit overflow"
        }
        FaultKind::OutOfBounds => "check how the address is computed: an index may be negative, or a pointer of another kind",
        FaultKind::Misaligned => "an access of n bytes needs an address that is a multiple of n; check casts to wider types",
        FaultKind::UseAfterFree => "free the memory only after the last kernel that uses it",
        FaultKind::WrongSpace => "the pointer belongs to another memory space than the instruction; check casts and `cvta`",
        FaultKind::BarrierDeadlock => {
            "all threads of a block have to reach the same barrier: move it out of code that only some of them run"
        }
        FaultKind::NoProgress => {
            "the warps wait for a condition that can never become true. On targets below sm_70 lanes of one warp cannot wait for each \
             other; across blocks only blocks that are resident at the same time can. `--watchdog` sets how long the check waits"
        }
        FaultKind::StackOverflow => "reduce the depth of the recursion or the size of local arrays",
        FaultKind::Trap | FaultKind::Breakpoint | FaultKind::Assert => "the kernel executed this instruction; check the condition before it",
        FaultKind::InvalidPc => "a function pointer does not hold the address of a function",
        FaultKind::InvalidBarrier => "barriers have numbers 0 to 15, and thread counts that are multiples of 32",
        FaultKind::DoubleFree => "free each block once",
        FaultKind::InvalidFree => "give `free` exactly what `malloc` returned, once",
        FaultKind::Unsupported => "docs/what-is-not-modelled.md lists what is missing",
        FaultKind::InvalidLaunch => "check grid, block and shared memory of the launch",
        FaultKind::SharedRace if fault.detail.starts_with("both lanes") => {
            "put `__syncwarp()` between the two accesses, or give each lane a place of its own"
        }
        FaultKind::SharedRace => "put a barrier between the write and the other access",
        FaultKind::GlobalRace => {
            "use atomics, order the blocks by a flag with fences, or move the second part into another kernel"
        }
        FaultKind::UninitializedGlobal => "copy or set the memory before the kernel that reads it",
        FaultKind::AbsentLane => "include all participating lanes in the mask, and shuffle only from these; guard the result of a partial warp",
        FaultKind::SharedOverrun => "compare the index with the number of elements of this array",
        FaultKind::UninitializedShared => "write the shared memory, then pass a barrier, before it is read",
        FaultKind::Corrupted => "this is not an error of the program; please report it, unless a fault was injected",
    }
    .to_owned()
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        match &self.text {
            Some(text) => write!(f, ": {text}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = self.headline.clone();
        for detail in &self.details {
            write!(out, "\n  {detail}")?;
        }
        write!(out, "\n  by thread {} of block {}", triple(self.thread), triple(self.block))?;
        match self.threads {
            0 | 1 => {}
            2 => write!(out, " and 1 other thread of its warp")?,
            all => write!(out, " and {} other threads of its warp", all - 1)?,
        }
        write!(out, "\n  in kernel `{}`", self.demangled)?;
        write!(
            out,
            ", launch {}, grid {}, block {}",
            self.launch,
            triple(self.grid),
            triple(self.block_dim)
        )?;
        for place in [&self.source, &self.ptx].into_iter().flatten() {
            write!(out, "\n  at {place}")?;
        }
        for call in &self.calls {
            write!(out, "\n  in `{}`", call.function)?;
            if let Some(place) = &call.place {
                write!(out, ", called at {place}")?;
            }
        }
        if let Some(rival) = &self.rival {
            write!(
                out,
                "\n  {} by thread {} of block {}",
                rival.verb,
                triple(rival.thread),
                triple(rival.block)
            )?;
            if let Some(place) = &rival.place {
                write!(out, "\n  at {place}")?;
            }
        }
        for waiting in &self.waiting {
            write!(out, "\n  block {} warp {}", triple(waiting.block), waiting.warp)?;
            write!(out, " (lanes {:08x}) {}", waiting.lanes, waiting.reason)?;
            if let Some(place) = &waiting.source {
                write!(out, "\n    at {place}")?;
            }
        }
        f.write_str(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_memory::Allocation;

    fn near(relation: Relation, freed: bool) -> String {
        let allocation = Allocation { base: 0x1000, size: 64, name: "out".into() };
        nearness(&Nearest { allocation, relation, freed })
    }

    #[test]
    fn distances_are_said_in_words() {
        assert_eq!(near(Relation::After(0), false), "right past the end of `out` (64 bytes at 0x1000)");
        assert_eq!(near(Relation::After(4), false), "4 bytes past the end of `out` (64 bytes at 0x1000)");
        assert_eq!(
            near(Relation::Before(8), false),
            "8 bytes before the start of `out` (64 bytes at 0x1000)"
        );
        assert_eq!(
            near(Relation::Inside(12), true),
            "12 bytes into `out` (64 bytes at 0x1000), which was freed"
        );
    }
}
