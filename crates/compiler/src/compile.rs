// SPDX-License-Identifier: MIT OR Apache-2.0
//! One kernel from syntax tree to micro-ops: lower, clean up, allocate, emit.

use std::fmt::Write;

use warpwatt_base::Span;
use warpwatt_isa::Program;
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Item, Limits, Module};

use crate::back::{self, BackOptions};
use crate::cfg::Cfg;
use crate::front::{self, ModuleLayout};
use crate::ir::Function;
use crate::{opt, print};

#[derive(Clone, Debug)]
pub struct Options {
    /// Registers a thread may have at most: 63 on Fermi, 255 later. `.maxnreg` and launch bounds lower it.
    pub max_registers: u32,
    /// Keep the text of the stages.
    pub keep_stages: bool,
    /// Prove every allocation with the independent checker.
    pub verify: bool,
    /// Optimisation and scheduling; without them the code is only lowered and allocated.
    pub optimize: bool,
    /// Turn short branches into guards, as ptxas does. Off shows what they do as branches.
    pub predicate: bool,
    /// Bytes of stack for a program whose depth is not known before it runs (recursion, calls through pointers).
    pub stack_limit: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_registers: 255,
            keep_stages: false,
            verify: cfg!(debug_assertions),
            optimize: true,
            predicate: true,
            stack_limit: DEFAULT_STACK_LIMIT,
        }
    }
}

/// What CUDA gives by default is 1 KB of stack; frames here hold what the hardware's convention keeps in registers.
pub const DEFAULT_STACK_LIMIT: u32 = 16 << 10;

/// The stages of one kernel as text.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// Blocks with their edges, dominators and meeting points.
    pub cfg: String,
    /// SSA after clean-up.
    pub ir: String,
    /// Micro-ops.
    pub asm: String,
}

#[derive(Clone, Debug)]
pub struct Compiled {
    pub program: Program,
    pub stages: Option<Stages>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

pub fn compile(
    module: &Module,
    layout: &ModuleLayout,
    kernel: &str,
    options: &Options,
) -> Result<Compiled, Vec<Diagnostic>> {
    let mut lowered = front::lower(module, layout, kernel)?;
    if options.optimize {
        lowered.functions.iter_mut().for_each(|function| opt::run(function, options.predicate));
    }
    let mut stages = options.keep_stages.then(|| Stages {
        cfg: lowered.functions.iter().map(flow_graph).collect::<Vec<_>>().join("\n"),
        ir: lowered.functions.iter().map(print::function).collect::<Vec<_>>().join("\n"),
        asm: String::new(),
    });
    let allowed = register_budget(options.max_registers, &lowered.limits, lowered.sm);
    let reserved = reserved_registers(lowered.sm);
    let budget = allowed - reserved;
    let settings = BackOptions {
        budget,
        full_occupancy: full_occupancy(lowered.sm) - reserved,
        sm: lowered.sm,
        schedule: options.optimize,
        verify: options.verify,
    };
    let code = back::generate(lowered.functions, &settings).map_err(|error| {
        let span = match layout.function(kernel).and_then(|f| module.items.get(f.item)) {
            Some(Item::Function(f)) => f.span,
            _ => Span::default(),
        };
        vec![Diagnostic::error("registers", span, format!("`{kernel}`: {error}")).with_help(format!(
            "the limit is {allowed} registers a thread (from --max-registers, .maxnreg or launch bounds); raise it"
        ))]
    })?;
    let program = Program {
        name: kernel.to_string(),
        uops: code.uops,
        locs: code.locs,
        files: lowered.files,
        registers: code.registers + reserved,
        predicates: code.predicates,
        spill_bytes: code.spill_bytes,
        spill_stores: code.spill_stores,
        spill_loads: code.spill_loads,
        shared_bytes: lowered.shared_bytes,
        dynamic_shared: lowered.dynamic_shared,
        local_bytes: code.local_bytes + if lowered.recursive { options.stack_limit } else { 0 },
        recursive: lowered.recursive,
        params: lowered.params,
        param_bytes: lowered.param_bytes,
        globals: lowered.globals,
        functions: code.functions,
        tables: code.tables,
        live_ranges: code.live_ranges,
        live_in: code.live_in,
        hints: Vec::new(),
        barriers: lowered.barriers,
        max_ntid: lowered.limits.maxntid,
        req_ntid: lowered.limits.reqntid,
        min_ctas: lowered.limits.minnctapersm,
        sm: lowered.sm,
        grid_sync: lowered.grid_sync,
        shared_arrays: lowered.shared_arrays,
        array_lines: lowered.array_lines,
    };
    if let Some(stages) = &mut stages {
        stages.asm = assembly(&program);
    }
    Ok(Compiled { program, stages, diagnostics: lowered.diagnostics })
}

/// Registers per thread that the options and the kernel's own directives leave.
fn register_budget(most: u32, limits: &Limits, sm: u32) -> u32 {
    let (file, architecture) = if sm < 30 { (32768, 63) } else { (65536, 255) };
    let mut budget = most.min(architecture);
    if let Some(n) = limits.maxnreg {
        budget = budget.min(n);
    }
    if let Some(block) = limits.reqntid.or(limits.maxntid) {
        // A warp's registers are handed out in units of eight per thread.
        let threads = block.iter().product::<u32>().max(1).next_multiple_of(32);
        let blocks = limits.minnctapersm.unwrap_or(1).max(1);
        budget = budget.min((file / (threads.saturating_mul(blocks)).max(1)) & !7);
    }
    budget.clamp(FEWEST_REGISTERS, 255)
}

/// Registers per thread with which an SM of the target can hold as many threads as it may (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability"), in units of eight, on Fermi of two.
fn full_occupancy(sm: u32) -> u32 {
    match sm {
        ..30 => 20,
        75 => 64,
        86..90 | 110.. => 40,
        _ => 32,
    }
}

/// What any kernel can be compiled to.
const FEWEST_REGISTERS: u32 = 16;

/// Registers that every thread is given beyond those its code names: from Volta on two, which `ptxas -v` counts as well.
fn reserved_registers(sm: u32) -> u32 {
    if sm >= 70 { 2 } else { 0 }
}

fn flow_graph(f: &Function) -> String {
    let cfg = Cfg::of(f);
    let mut out = format!("{} {}\n", if f.is_kernel { "kernel" } else { "func" }, f.name);
    let name = |b: Option<crate::ir::BlockId>| b.map_or("-".into(), |b| format!("b{}", b.0));
    for b in f.block_ids() {
        let targets: Vec<String> = f.block(b).term.targets().iter().map(|t| format!("b{}", t.0)).collect();
        let _ = writeln!(
            out,
            "  b{:<4} {:>4} instructions  loop depth {}  idom {:<5} meets at {:<5} -> {}",
            b.0,
            f.block(b).insts.len(),
            cfg.loop_depths()[b.index()],
            name(cfg.idom(b)),
            name(cfg.ipdom(b)),
            targets.join(" ")
        );
    }
    out
}

/// Micro-ops with labels, source lines and function names.
fn assembly(program: &Program) -> String {
    let mut labels = vec![false; program.uops.len() + 1];
    let tables = program.tables.iter().flatten().copied();
    let jumps = program.uops.iter().flat_map(|u| [u.target, u.reconv]);
    for target in tables.chain(jumps) {
        if let Some(label) = labels.get_mut(target as usize) {
            *label = true;
        }
    }
    let mut out = String::new();
    let mut line = (u32::MAX, 0);
    for (pc, uop) in program.uops.iter().enumerate() {
        if let Some(f) = program.functions.iter().find(|f| f.entry as usize == pc) {
            let _ = writeln!(out, "{}:", f.name);
        }
        if labels[pc] {
            let _ = writeln!(out, "L{pc}:");
        }
        let loc = program.locs.get(uop.loc as usize).copied().unwrap_or_default();
        if loc.line != 0 && (loc.file, loc.line) != line {
            line = (loc.file, loc.line);
            let file = program.files.get(loc.file as usize).map_or("?", String::as_str);
            let _ = writeln!(out, "        // {file}:{}", loc.line);
        }
        let _ = writeln!(out, "  {pc:5}  {uop}");
    }
    out
}
