// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the syntax tree of a PTX module to SSA: one kernel at a time, with every function it may call.
//!
//! [`layout`] places a module's variables and functions; [`lower`] translates a kernel to [`crate::ir`]. An unsupported feature of PTX is a
//! diagnostic of that kernel alone. Instructions that hardware runs as a sequence (division, square roots, …) come from `builtins/*.ptx` and
//! are inlined in place.

mod arrays;
mod atomic;
mod bits;
mod build;
mod builtin;
mod call;
mod compare;
mod control;
mod convert;
mod float;
mod form;
mod function;
mod int;
mod layout;
mod memory;
mod moves;
mod names;
mod operand;
mod reach;
mod special;
mod ssa;
mod texture;
mod types;
mod unit;
mod video;
mod warp;

pub use layout::{
    FunctionInfo, KernelInfo, ModuleLayout, ModuleVar, Reference, ReferenceKind, Reloc, SharedVar, Symbol,
    layout,
};
use warpwatt_base::Span;
use warpwatt_isa::{Param, SharedArray};
use warpwatt_ptx::ast::{Limits, Linkage, Module, Variable};
use warpwatt_ptx::{Diagnostic, Severity, suggest};

use crate::ir;

/// Shared memory that any device has, with room to spare: offsets stay within 32 bits.
const MOST_SHARED_BYTES: u64 = 1 << 24;
/// Messages about one kernel; the code after them is not checked.
const MOST_DIAGNOSTICS: usize = 100;

/// A kernel in SSA, with what the machine needs to know to run it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The kernel first, then every function it may call.
    pub functions: Vec<ir::Function>,
    /// Static shared memory in bytes.
    pub shared_bytes: u32,
    /// Where dynamic shared memory starts: `shared_bytes` rounded up to its alignment (16 at least).
    pub dynamic_shared: u32,
    /// Symbols whose addresses are in constant bank 4, in order.
    pub globals: Vec<String>,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    pub limits: Limits,
    pub sm: u32,
    /// Named barriers used (highest number + 1).
    pub barriers: u32,
    pub files: Vec<String>,
    /// A function may be active more than once, or is called through a pointer.
    pub recursive: bool,
    pub grid_sync: bool,
    /// Arrays in shared memory, and which of them lines of the text access.
    pub shared_arrays: Vec<SharedArray>,
    pub array_lines: Vec<(u32, u32)>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

pub fn lower(module: &Module, layout: &ModuleLayout, kernel: &str) -> Result<Lowered, Vec<Diagnostic>> {
    let info = layout.function(kernel).filter(|f| f.is_kernel && f.has_body);
    let (Some(info), Some(signature)) = (info, layout.kernel(kernel)) else {
        return Err(vec![no_kernel(layout, kernel)]);
    };
    if let Some(f) = reach::function_of(module, layout, info.id)
        && let (_, end) = layout::kernel_params(f)
        && end > layout::MOST_PARAM_BYTES
    {
        return Err(vec![layout::too_many_params(f, kernel, end)]);
    }
    let reach = reach::reach(module, layout, info.id);
    let mut unit = unit::Unit::new(module, layout);
    let (shared_bytes, dynamic_shared) = place_shared(&mut unit, &reach);

    let mut functions = Vec::new();
    let mut limits = Limits::default();
    for &id in &reach.functions {
        let Some(f) = reach::function_of(module, layout, id) else { continue };
        if f.is_kernel && id == info.id {
            limits = f.limits;
        }
        if f.broken {
            let message = format!("`{}` could not be parsed", module.names.get(f.name));
            unit.diagnostics.push(
                Diagnostic::error("ptx-broken", f.span, message)
                    .with_help("fix the errors reported in it first"),
            );
            continue;
        }
        functions.extend(function::lower(&mut unit, module, f, id, false));
    }
    // Library functions may call others of their kind.
    let mut done = 0;
    while done < unit.library_calls.len() {
        let id = unit.library_calls[done];
        done += 1;
        if let Some((module, f)) = builtin::function(layout, id) {
            functions.extend(function::lower(&mut unit, module, f, id, true));
        }
    }
    if let Some(cluster) = limits.cluster
        && cluster.iter().any(|&n| n > 1)
    {
        let span = reach::function_of(module, layout, info.id).map_or(Span::default(), |f| f.span);
        unit.diagnostics.push(
            Diagnostic::error("ptx-unsupported", span, "thread block clusters are not simulated")
                .with_help("build the kernel without `.reqnctapercluster`"),
        );
    }
    if unit.diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(unit.diagnostics);
    }
    #[cfg(debug_assertions)]
    for f in &functions {
        if let Err(problem) = crate::verify::ssa(f) {
            panic!("lowering `{}` broke an invariant: {problem}\n{}", f.name, crate::print::function(f));
        }
    }
    let (shared_arrays, array_lines) = arrays::arrays(module, &unit, &reach);
    Ok(Lowered {
        functions,
        shared_arrays,
        array_lines,
        shared_bytes,
        dynamic_shared,
        globals: unit.globals,
        params: signature.params.clone(),
        param_bytes: signature.param_bytes,
        limits,
        sm: module.target.sm,
        barriers: unit.barriers,
        files: module.files.iter().map(|f| f.name.clone()).collect(),
        recursive: reach.recursive,
        grid_sync: unit.grid_sync,
        diagnostics: unit.diagnostics,
    })
}

fn no_kernel(layout: &ModuleLayout, kernel: &str) -> Diagnostic {
    let names: Vec<&str> = layout.kernels.iter().map(|k| k.name.as_str()).collect();
    let shown: String = kernel.chars().take(80).collect();
    let error =
        Diagnostic::error("ptx-no-kernel", Span::default(), format!("the module has no kernel `{shown}`"));
    match suggest::nearest(kernel, &names) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None if names.is_empty() => error.with_help("it has no kernels at all"),
        None => error.with_help(format!("it has: {}", names[..names.len().min(8)].join(", "))),
    }
}

/// Gives every shared variable that the program names its offset; large alignments first would save nothing worth the disorder.
/// `.extern` ones that have a size come last, so that dynamic shared memory continues them: compilers that are not NVIDIA's also write
/// dynamic shared memory as an `.extern` array of one element.
fn place_shared(unit: &mut unit::Unit, reach: &reach::Reach) -> (u32, u32) {
    let mut at = 0u64;
    let mut dynamic_align = 16;
    let mut put = |align: u32, size: u64| {
        let offset = types::round_up(at, align);
        at = offset.saturating_add(size);
        offset.min(MOST_SHARED_BYTES) as u32
    };
    let is_dynamic = |v: &Variable| v.dims.first() == Some(&None);
    for declared in [false, true] {
        for &k in &reach.shared {
            let var = &unit.layout.shared[k as usize];
            if var.dynamic {
                dynamic_align = dynamic_align.max(var.align);
            } else if var.is_extern == declared {
                unit.shared.insert(k, put(var.align, var.size));
            }
        }
        for v in &reach.local_shared {
            if is_dynamic(v) {
                dynamic_align = dynamic_align.max(types::align_of(v));
            } else if (v.linkage == Linkage::Extern) == declared {
                unit.local_shared.insert(v.span.start, put(types::align_of(v), types::size_of(v)));
            }
        }
    }
    if at > MOST_SHARED_BYTES {
        let message = format!("the kernel needs {at} bytes of static shared memory");
        unit.diagnostics.push(
            Diagnostic::error("ptx-limit", Span::default(), message)
                .with_help("this exceeds every device; shrink its arrays"),
        );
        at = 0;
    }
    let dynamic = types::round_up(at, dynamic_align) as u32;
    for &k in &reach.shared {
        if unit.layout.shared[k as usize].dynamic {
            unit.shared.insert(k, dynamic);
        }
    }
    for v in reach.local_shared.iter().filter(|v| is_dynamic(v)) {
        unit.local_shared.insert(v.span.start, dynamic);
    }
    (at as u32, dynamic)
}
