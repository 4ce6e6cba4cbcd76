// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library of sequences that hardware runs for instructions it has no unit for: division, remainders, exactly rounded roots, the
//! approximations that respect subnormal numbers. It is PTX itself (`builtins/*.ptx`), inlined where an instruction needs it; a function
//! whose name ends in `__call` is called instead.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use warpwatt_base::Span;
use warpwatt_ptx::Severity;
use warpwatt_ptx::ast::{Function, Item, Module};

use super::build::{Context, Dst, Lowerer};
use super::form::{Form, Lower, spelled};
use super::layout::ModuleLayout;
use super::names::{Entity, Names};
use crate::ir::Opnd;

/// How deep library functions may use each other.
const MOST_NESTED: u32 = 6;

/// Names of functions are found in the texts; a text is parsed when one of its functions is needed.
struct Library {
    modules: [OnceLock<Module>; SOURCES.len()],
    /// Text and name of every function with a body.
    functions: Vec<(usize, &'static str)>,
    by_name: FxHashMap<&'static str, u32>,
}

/// File names and texts.
const SOURCES: &[(&str, &str)] = &[
    ("approx.ptx", include_str!("builtins/approx.ptx")),
    ("div_f32.ptx", include_str!("builtins/div_f32.ptx")),
    ("div_f64.ptx", include_str!("builtins/div_f64.ptx")),
    ("fns.ptx", include_str!("builtins/fns.ptx")),
    ("fp8.ptx", include_str!("builtins/fp8.ptx")),
    ("half.ptx", include_str!("builtins/half.ptx")),
    ("int16.ptx", include_str!("builtins/int16.ptx")),
    ("int32.ptx", include_str!("builtins/int32.ptx")),
    ("int64.ptx", include_str!("builtins/int64.ptx")),
    ("rcp_f32.ptx", include_str!("builtins/rcp_f32.ptx")),
    ("rcp_f64.ptx", include_str!("builtins/rcp_f64.ptx")),
    ("sqrt_f32.ptx", include_str!("builtins/sqrt_f32.ptx")),
    ("sqrt_f64.ptx", include_str!("builtins/sqrt_f64.ptx")),
];

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let texts = SOURCES.iter().enumerate();
        let functions: Vec<_> =
            texts.flat_map(|(source, (_, text))| names(text).map(move |name| (source, name))).collect();
        let by_name = functions.iter().enumerate().map(|(id, (_, name))| (*name, id as u32)).collect();
        Library { modules: [const { OnceLock::new() }; SOURCES.len()], functions, by_name }
    })
}

/// Functions that a text of the library defines: each begins a line with `.func (result) name`.
fn names(text: &'static str) -> impl Iterator<Item = &'static str> {
    let name = |line: &'static str| Some(line.strip_prefix(".func ")?.split_once(") ")?.1.split_once(' ')?.0);
    text.lines().filter_map(name)
}

impl Library {
    fn module(&self, source: usize) -> &Module {
        self.modules[source].get_or_init(|| {
            let (name, text) = SOURCES[source];
            let parsed = warpwatt_ptx::parse(name, text);
            debug_assert!(
                parsed.diagnostics.iter().all(|d| d.severity != Severity::Error),
                "{name}: {:?}",
                parsed.diagnostics
            );
            parsed.module
        })
    }
}

/// The functions of a module that have a body.
fn bodies(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(f) if f.body.is_some() && !f.broken => Some(f),
        _ => None,
    })
}

fn at(index: u32) -> Option<(&'static Module, &'static Function)> {
    let library = library();
    let &(source, name) = library.functions.get(index as usize)?;
    let module = library.module(source);
    let function = bodies(module).find(|f| module.names.get(f.name) == name)?;
    Some((module, function))
}

/// A library function by name, with its number.
pub fn find(name: &str) -> Option<(u32, &'static Module, &'static Function)> {
    let index = *library().by_name.get(name)?;
    at(index).map(|(module, f)| (index, module, f))
}

/// A library function by its id in a program: the ids follow those of the user's functions.
pub fn function(layout: &ModuleLayout, id: u32) -> Option<(&'static Module, &'static Function)> {
    at(id.checked_sub(layout.functions.len() as u32)?)
}

impl<'a> Lowerer<'a, '_> {
    /// An instruction that is a sequence of the library, found by its spelling.
    pub fn library_call(&mut self, form: &mut Form<'a>) -> Lower {
        let name = format!("__ww_{}", spelled(form.instr, form.names).replace('.', "_"));
        let Some((_, module, tree)) = find(&name) else { return Err(form.unsupported()) };
        let count = tree.params.len() + 1;
        let operands = form.operands(count, count)?;
        let mut values = Vec::new();
        for (v, o) in tree.params.iter().zip(&operands[1..]) {
            values.push(self.src(o, v.ty.scalar)?);
        }
        let Some(result) = tree.returns.first() else { return Err(form.unsupported()) };
        let d = self.dst(&operands[0], result.ty.scalar)?;
        self.branch_around(|this| {
            let results = this.inline(form, module, tree, &values)?;
            if let Some(&value) = results.first() {
                this.set(d, value);
            }
            Ok(())
        })
    }

    /// Lowers the body of a library function in place; gives its results.
    pub fn inline(
        &mut self,
        form: &Form<'a>,
        module: &'static Module,
        tree: &'static Function,
        arguments: &[Opnd],
    ) -> Lower<Vec<Opnd>> {
        let depth = self.ctx.inlined.unwrap_or(0) + 1;
        let Some(body) = tree.body.as_ref().filter(|_| depth <= MOST_NESTED) else {
            return Err(form.unsupported());
        };
        let leave = self.new_block();
        let inner = Context {
            module,
            names: Names::default(),
            leave,
            inlined: Some(depth),
            library: true,
            is_kernel: false,
        };
        let outer = std::mem::replace(&mut self.ctx, inner);
        let carry = self.carry.take();
        let known = self.unit.diagnostics.len();

        self.ctx.names.enter();
        let mut results = Vec::new();
        for v in &tree.returns {
            let entity = self.new_register(v.ty.scalar, 1);
            self.ctx.names.declare(v.name, entity);
            if let Entity::Reg { value, .. } = entity {
                results.push(self.whole(value));
            }
        }
        for (v, &argument) in tree.params.iter().zip(arguments) {
            let entity = self.new_register(v.ty.scalar, 1);
            self.ctx.names.declare(v.name, entity);
            if let Entity::Reg { value, scalar } = entity {
                self.copy(Dst::Reg(value, scalar), argument);
            }
        }
        self.stmts(body);
        self.start(leave);

        self.ctx = outer;
        self.carry = carry;
        // A mistake in the library is not the user's, but it must not run.
        if let Some(problem) = self.unit.diagnostics.drain(known..).next() {
            let mut report = form.unsupported();
            report.span = if self.ctx.library { Span::default() } else { form.instr.span };
            report.help = Some(format!("its expansion cannot be compiled: {}", problem.message));
            return Err(report);
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_found_in_the_texts_are_those_of_the_parsed_functions() {
        for (source, (file, text)) in SOURCES.iter().enumerate() {
            let module = library().module(source);
            let parsed: Vec<_> = bodies(module).map(|f| module.names.get(f.name)).collect();
            assert_eq!(names(text).collect::<Vec<_>>(), parsed, "{file}");
        }
    }
}
