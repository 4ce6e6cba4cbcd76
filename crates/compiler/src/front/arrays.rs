// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which array of shared memory an access is meant for: the one whose address its own address was computed from. Optional checks use it to
//! tell an index that runs into the next array.
//!
//! Registers are followed through moves, sums and conversions of addresses, without regard to the order of instructions: a register that may
//! hold addresses of two arrays, or something else, is not known.

use rustc_hash::FxHashMap;
use warpwatt_base::Sym;
use warpwatt_isa::SharedArray;
use warpwatt_ptx::ast::{AddressBase, Instr, Module, Operand, OperandKind, Space, Stmt};
use warpwatt_ptx::words::Opcode;

use super::layout::Symbol;
use super::reach::{Reach, function_of};
use super::types;
use super::unit::Unit;

/// What a register holds, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Nothing so far.
    Unknown,
    /// No address of shared memory.
    Other,
    Array(u32),
    Mixed,
}

impl Held {
    /// Of two ways to get a value.
    fn or(self, other: Held) -> Held {
        match (self, other) {
            (Held::Unknown, held) | (held, Held::Unknown) => held,
            (one, two) if one == two => one,
            _ => Held::Mixed,
        }
    }

    /// A sum.
    fn plus(self, other: Held) -> Held {
        match (self, other) {
            (Held::Unknown, _) | (_, Held::Unknown) => Held::Unknown,
            (Held::Other, held) | (held, Held::Other) => held,
            _ => Held::Mixed,
        }
    }
}

/// The shared arrays of a program, and which of them each line of the text accesses, where that is known.
pub fn arrays(module: &Module, unit: &Unit, reach: &Reach) -> (Vec<SharedArray>, Vec<(u32, u32)>) {
    let mut arrays = Vec::new();
    let mut of_module = FxHashMap::default();
    for &k in &reach.shared {
        let var = &unit.layout.shared[k as usize];
        of_module.insert(k, arrays.len() as u32);
        arrays.push(array(&var.name, unit.shared_offset(k), var.size));
    }
    let mut of_functions = FxHashMap::default();
    for v in &reach.local_shared {
        of_functions.insert(v.span.start, arrays.len() as u32);
        let offset = unit.local_shared.get(&v.span.start).copied().unwrap_or(0);
        let size = if v.dims.first() == Some(&None) { 0 } else { types::size_of(v) };
        arrays.push(array(module.names.get(v.name), offset, size));
    }
    let last = arrays.iter().filter(|array| array.bytes > 0).map(|array| array.offset).max();
    for array in &mut arrays {
        array.is_last = array.bytes > 0 && Some(array.offset) == last;
    }
    if arrays.is_empty() {
        return (arrays, Vec::new());
    }
    let mut lines: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    for &id in &reach.functions {
        let Some(body) = function_of(module, unit.layout, id).and_then(|f| f.body.as_ref()) else { continue };
        let mut walk =
            Walk { unit, of_module: &of_module, names: FxHashMap::default(), held: FxHashMap::default() };
        let mut instrs = Vec::new();
        walk.collect(body, &of_functions, &mut instrs);
        walk.settle(&instrs);
        for instr in instrs {
            let Some(found) = walk.accessed(instr) else { continue };
            let line = unit.line_of(instr.span);
            let known = lines.entry(line).or_insert(Some(found));
            if *known != Some(found) {
                *known = None;
            }
        }
    }
    let mut lines: Vec<(u32, u32)> =
        lines.into_iter().filter_map(|(line, array)| Some((line, array?))).collect();
    lines.sort_unstable();
    (arrays, lines)
}

fn array(name: &str, offset: u32, size: u64) -> SharedArray {
    SharedArray { name: name.to_owned(), offset, bytes: size as u32, is_last: false }
}

struct Walk<'a> {
    unit: &'a Unit<'a>,
    of_module: &'a FxHashMap<u32, u32>,
    /// Shared variables of the function.
    names: FxHashMap<Sym, u32>,
    held: FxHashMap<Sym, Held>,
}

impl Walk<'_> {
    fn collect<'t>(
        &mut self,
        stmts: &'t [Stmt],
        of_functions: &FxHashMap<u32, u32>,
        out: &mut Vec<&'t Instr>,
    ) {
        for stmt in stmts {
            match stmt {
                Stmt::Instr(instr) => out.push(instr),
                Stmt::Block(inner) => self.collect(inner, of_functions, out),
                Stmt::Var(v) if v.space == Space::Shared => {
                    if let Some(&number) = of_functions.get(&v.span.start) {
                        self.names.insert(v.name, number);
                    }
                }
                _ => {}
            }
        }
    }

    /// Follows addresses until nothing new is learnt: every register changes twice at most.
    fn settle(&mut self, instrs: &[&Instr]) {
        for instr in instrs {
            if let Some(OperandKind::Name(dst)) = instr.operands.first().map(|operand| &operand.kind) {
                self.held.insert(*dst, Held::Unknown);
            }
        }
        loop {
            let mut changed = false;
            for instr in instrs {
                let Some((first, rest)) = instr.operands.split_first() else { continue };
                let results: &[Operand] = match &first.kind {
                    OperandKind::Vector(list) | OperandKind::Group(list) => list,
                    _ => std::slice::from_ref(first),
                };
                let value = self.result(instr.op, rest);
                for result in results {
                    let OperandKind::Name(dst) = result.kind else { continue };
                    let Some(known) = self.held.get(&dst).copied() else { continue };
                    let now = known.or(value);
                    changed |= now != known;
                    self.held.insert(dst, now);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn result(&self, op: Opcode, sources: &[Operand]) -> Held {
        match (op, sources) {
            (Opcode::Mov | Opcode::Cvta | Opcode::Cvt, [from, ..]) => self.operand(from),
            (Opcode::Add | Opcode::Sub | Opcode::Or, [a, b]) => self.operand(a).plus(self.operand(b)),
            (Opcode::Mad, [_, _, addend]) => self.operand(addend),
            (Opcode::Selp, [a, b, _]) => self.operand(a).or(self.operand(b)),
            _ => Held::Other,
        }
    }

    fn operand(&self, operand: &Operand) -> Held {
        match operand.kind {
            OperandKind::Name(name) | OperandKind::NameOffset(name, _) => self.name(name),
            _ => Held::Other,
        }
    }

    fn name(&self, name: Sym) -> Held {
        if let Some(&number) = self.names.get(&name) {
            return Held::Array(number);
        }
        if let Some(&held) = self.held.get(&name) {
            return held;
        }
        match self.unit.layout.symbols.get(&name) {
            Some(Symbol::Shared(k)) => {
                self.of_module.get(k).map_or(Held::Other, |&number| Held::Array(number))
            }
            _ => Held::Other,
        }
    }

    /// The array that an instruction loads from or stores to.
    fn accessed(&self, instr: &Instr) -> Option<u32> {
        if !matches!(instr.op, Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red) {
            return None;
        }
        instr.operands.iter().find_map(|operand| match &operand.kind {
            OperandKind::Address(address) => match address.base {
                AddressBase::Name(name) => match self.name(name) {
                    Held::Array(number) => Some(number),
                    _ => None,
                },
                AddressBase::Absolute => None,
            },
            _ => None,
        })
    }
}
