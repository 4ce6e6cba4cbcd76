// SPDX-License-Identifier: MIT OR Apache-2.0
//! The back end: from optimised SSA to micro-ops with registers.
//!
//! `legalize` (with `wide`, `operands`) leaves only operations of the machine, `dce` what is read, `schedule` orders each block, `leave_ssa` turns phis into copies,
//! `coalesce` removes nearly all of those, `redundant` constants that are in place already, `alloc` (with `liveness`, `taken`, `hold`, `banks`, `spill`) finds registers, `code` writes micro-ops, `check` proves them, `emit` links blocks.

mod alloc;
mod banks;
mod check;
#[cfg(test)]
mod check_tests;
mod coalesce;
mod code;
mod dce;
mod dead;
mod depend;
mod emit;
mod hold;
mod lastuse;
mod leave_ssa;
mod legalize;
mod liveness;
mod machine;
pub(crate) mod operands;
mod order;
mod redundant;
mod schedule;
mod spill;
mod taken;
mod wide;
mod words;

use rustc_hash::FxHashMap;
use warpwatt_isa::{Flags, FunctionEntry, LiveRange, Location, Op, Uop};

use crate::cfg::Cfg;
use crate::ir::Function;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOptions {
    /// Registers per thread, 16 to 255.
    pub budget: u32,
    /// Registers per thread with which a processor can be full of threads. Up to this number registers are spent to avoid waits.
    pub full_occupancy: u32,
    /// The target, as in `sm_75`.
    pub sm: u32,
    pub schedule: bool,
    /// Prove the allocation. Debug builds always do.
    pub verify: bool,
}

impl Default for BackOptions {
    fn default() -> Self {
        BackOptions {
            budget: 255,
            full_occupancy: 32,
            sm: 50,
            schedule: true,
            verify: cfg!(debug_assertions),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackError {
    #[error("{function}: one {instruction} instruction needs more registers than the limit allows")]
    TooManyOperands { function: String, instruction: String },
    #[error("{function} calls function number {callee}, which is not part of the program")]
    UnknownCallee { function: String, callee: u32 },
    #[error("wrong register allocation in {function} (a bug in warpwatt): {what}")]
    Unsound { function: String, what: String },
}

#[derive(Clone, Debug, Default)]
pub struct Generated {
    pub uops: Vec<Uop>,
    /// Source places of all functions; entry 0 is "none".
    pub locs: Vec<Location>,
    pub registers: u32,
    pub predicates: u32,
    pub spill_bytes: u32,
    pub spill_stores: u32,
    pub spill_loads: u32,
    /// Stack of the deepest chain of calls; a cycle of calls is counted once.
    pub local_bytes: u32,
    pub functions: Vec<FunctionEntry>,
    pub live_ranges: Vec<LiveRange>,
    pub live_in: Vec<[u64; 4]>,
    pub tables: Vec<Vec<u32>>,
}

/// Compiles a kernel (first) and the functions that it may call.
pub fn generate(functions: Vec<Function>, options: &BackOptions) -> Result<Generated, BackError> {
    let mut all = Generated::default();
    all.locs.push(Location { file: Location::NO_FILE, ..Location::default() });
    let mut calls: Vec<(u32, u32)> = Vec::new();
    let mut callees: Vec<Vec<u32>> = Vec::new();
    let mut indirect = Vec::new();
    for f in functions {
        let (name, id, locs) = (f.name.clone(), f.id, f.locs.clone());
        let coded = compile(f, options)?;
        let mut emitted = emit::run(&coded);
        let live = lastuse::run(&mut emitted.uops, &emitted.tables);
        if options.verify || cfg!(debug_assertions) {
            dead::check(&emitted.uops, &emitted.tables, &live.before)
                .map_err(|what| BackError::Unsound { function: name.clone(), what })?;
        }
        let entry = all.uops.len() as u32;
        let moved = |range: LiveRange| LiveRange { from: range.from + entry, to: range.to + entry, ..range };
        all.live_ranges.extend(live.ranges.into_iter().map(moved));
        all.live_in.extend(live.before);
        let first_loc = all.locs.len() as u32;
        all.locs.extend(locs);
        let first_table = all.tables.len() as u32;
        for mut uop in emitted.uops {
            uop.loc += first_loc;
            match uop.op {
                Op::Brx => uop.target += first_table,
                Op::Bra => uop.target += entry,
                _ => {}
            }
            if uop.reconv != warpwatt_isa::NO_PC {
                uop.reconv += entry;
            }
            // What a function saves for its caller lies above the spill slots.
            if uop.flags.has(Flags::SPILL) && (uop.off as u32) < coded.frame.saved {
                all.spill_stores += u32::from(uop.op == Op::St);
                all.spill_loads += u32::from(uop.op == Op::Ld);
            }
            all.uops.push(uop);
        }
        all.tables.extend(emitted.tables.into_iter().map(|t| t.into_iter().map(|pc| pc + entry).collect()));
        callees.push(emitted.calls.iter().map(|&(_, id)| id).collect());
        calls.extend(emitted.calls.into_iter().map(|(at, id)| (at + entry, id)));
        indirect.push(coded.has_indirect_call);
        all.registers = all.registers.max(coded.registers);
        all.predicates = all.predicates.max(coded.predicates);
        all.spill_bytes += coded.spill_bytes;
        let end = all.uops.len() as u32;
        all.functions.push(FunctionEntry { name, id, entry, end, frame: coded.frame.size });
    }
    let by_id: FxHashMap<u32, usize> = all.functions.iter().enumerate().map(|(i, f)| (f.id, i)).collect();
    for (at, callee) in calls {
        let Some(&i) = by_id.get(&callee) else {
            let function = all.functions.iter().find(|f| (f.entry..f.end).contains(&at));
            let function = function.map_or_else(String::new, |f| f.name.clone());
            return Err(BackError::UnknownCallee { function, callee });
        };
        all.uops[at as usize].target = all.functions[i].entry;
    }
    all.local_bytes = if all.functions.is_empty() {
        0
    } else {
        let frames: Vec<u32> = all.functions.iter().map(|f| f.frame).collect();
        let edges: Vec<Vec<usize>> = callees
            .iter()
            .zip(&indirect)
            .map(|(list, &any)| {
                let mut to: Vec<usize> = list.iter().filter_map(|id| by_id.get(id).copied()).collect();
                if any {
                    to.extend(1..frames.len());
                }
                to
            })
            .collect();
        deepest(0, &frames, &edges, &mut vec![Visit::New; frames.len()])
    };
    Ok(all)
}

#[derive(Clone, Copy)]
enum Visit {
    New,
    Open,
    Done(u32),
}

/// Bytes of the longest chain of frames from function `at`; a function that is already on the chain adds nothing.
fn deepest(at: usize, frames: &[u32], edges: &[Vec<usize>], seen: &mut Vec<Visit>) -> u32 {
    match seen[at] {
        Visit::Open => return 0,
        Visit::Done(bytes) => return bytes,
        Visit::New => {}
    }
    seen[at] = Visit::Open;
    let below = edges[at].iter().map(|&to| deepest(to, frames, edges, seen)).max().unwrap_or(0);
    let bytes = frames[at] + below;
    seen[at] = Visit::Done(bytes);
    bytes
}

fn compile(f: Function, options: &BackOptions) -> Result<code::CodedFunction, BackError> {
    let plain = options.schedule.then(|| f.clone());
    let (mut reference, mut coded) = allocate(f, options)?;
    if let (Some(f), true) = (plain, coded.spill_bytes > 0) {
        // Where registers are scarce, the original order of the program may need fewer.
        let (other, unscheduled) = allocate(f, &BackOptions { schedule: false, ..*options })?;
        if unscheduled.spill_bytes < coded.spill_bytes {
            (reference, coded) = (other, unscheduled);
        }
    }
    if options.verify || cfg!(debug_assertions) {
        check::run(&reference, &coded)
            .map_err(|what| BackError::Unsound { function: reference.name.clone(), what })?;
    }
    Ok(coded)
}

/// The function as it was before coalescing, and its code.
fn allocate(mut f: Function, options: &BackOptions) -> Result<(Function, code::CodedFunction), BackError> {
    let cfg = Cfg::of(&f);
    legalize::run(&mut f, &cfg);
    let live = dce::run(&mut f);
    if options.schedule {
        schedule::run(&mut f, options.budget);
    }
    leave_ssa::run(&mut f, &cfg, &live);
    let cfg = Cfg::of(&f);
    let order = order::layout(&f, &cfg);
    let mut machine = machine::MFunc::of(&f, order, cfg.loop_depths().to_vec());
    coalesce::run(&mut machine);
    redundant::run(&mut machine);
    let assignment = alloc::run(&mut machine, options)?;
    let coded = code::run(&machine, &assignment);
    Ok((f, coded))
}
