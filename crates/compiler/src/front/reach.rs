// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which functions a kernel may run, and which shared variables they name: found before lowering, so that shared memory has its final layout.

use rustc_hash::{FxHashMap, FxHashSet};
use warpwatt_base::Sym;
use warpwatt_ptx::ast::{
    AddressBase, Function, Instr, Item, Module, Operand, OperandKind, Space, Stmt, Variable,
};
use warpwatt_ptx::words::Opcode;

use super::layout::{ModuleLayout, Symbol};

#[derive(Default)]
pub struct Reach<'a> {
    /// Function ids, the kernel first.
    pub functions: Vec<u32>,
    /// Module-scope shared variables, in order of first mention.
    pub shared: Vec<u32>,
    /// Shared variables of functions.
    pub local_shared: Vec<&'a Variable>,
    /// A function can be active twice, or an indirect call may make it so.
    pub recursive: bool,
}

pub fn function_of<'a>(module: &'a Module, layout: &ModuleLayout, id: u32) -> Option<&'a Function> {
    let info = layout.functions.get(id as usize)?;
    match &module.items[info.item] {
        Item::Function(f) => Some(f),
        _ => None,
    }
}

struct Walk<'a, 'l> {
    layout: &'l ModuleLayout,
    direct: Vec<u32>,
    taken: Vec<u32>,
    indirect: bool,
    shared: Vec<u32>,
    local_shared: Vec<&'a Variable>,
}

pub fn reach<'a>(module: &'a Module, layout: &ModuleLayout, kernel: u32) -> Reach<'a> {
    let mut out = Reach { functions: vec![kernel], ..Reach::default() };
    let mut known: FxHashSet<u32> = FxHashSet::from_iter([kernel]);
    let mut shared: FxHashSet<u32> = FxHashSet::default();
    let mut calls: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    // Functions named by initialisers may be called through memory.
    let mut taken: Vec<u32> = initialiser_functions(layout);
    let mut indirect = false;
    let mut next = 0;
    loop {
        while next < out.functions.len() {
            let id = out.functions[next];
            next += 1;
            let mut walk = Walk {
                layout,
                direct: Vec::new(),
                taken: Vec::new(),
                indirect: false,
                shared: Vec::new(),
                local_shared: Vec::new(),
            };
            if let Some(body) = function_of(module, layout, id).and_then(|f| f.body.as_ref()) {
                walk.stmts(body);
            }
            indirect |= walk.indirect;
            taken.extend(walk.taken);
            out.local_shared.extend(walk.local_shared);
            out.shared.extend(walk.shared.into_iter().filter(|k| shared.insert(*k)));
            for &callee in &walk.direct {
                if known.insert(callee) {
                    out.functions.push(callee);
                }
            }
            calls.insert(id, walk.direct);
        }
        if indirect {
            out.functions.extend(taken.iter().copied().filter(|f| known.insert(*f)));
        }
        if next == out.functions.len() {
            break;
        }
    }
    out.functions.retain(|id| layout.functions[*id as usize].has_body);
    out.recursive = indirect || has_cycle(kernel, &calls);
    out
}

fn initialiser_functions(layout: &ModuleLayout) -> Vec<u32> {
    let mut by_name: FxHashMap<&str, u32> = FxHashMap::default();
    for f in &layout.functions {
        by_name.insert(&f.name, f.id);
    }
    let relocs = layout.globals.iter().chain(&layout.consts).flat_map(|v| &v.relocs);
    relocs.filter_map(|r| by_name.get(r.symbol.as_str()).copied()).collect()
}

/// Depth-first with colours; iterative, since call chains of generated programs can be long.
fn has_cycle(start: u32, calls: &FxHashMap<u32, Vec<u32>>) -> bool {
    let mut done: FxHashSet<u32> = FxHashSet::default();
    let mut open: FxHashSet<u32> = FxHashSet::from_iter([start]);
    let mut stack = vec![(start, 0usize)];
    while let Some((f, k)) = stack.last_mut() {
        match calls.get(f).and_then(|list| list.get(*k)) {
            Some(&callee) => {
                *k += 1;
                if open.contains(&callee) {
                    return true;
                }
                if !done.contains(&callee) {
                    open.insert(callee);
                    stack.push((callee, 0));
                }
            }
            None => {
                open.remove(f);
                done.insert(*f);
                stack.pop();
            }
        }
    }
    false
}

impl<'a> Walk<'a, '_> {
    fn stmts(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Instr(i) => self.instr(i),
                Stmt::Block(inner) => self.stmts(inner),
                Stmt::Var(v) if v.space == Space::Shared => self.local_shared.push(v),
                Stmt::CallTargets { targets, .. } => targets.iter().for_each(|&t| self.name(t, false)),
                _ => {}
            }
        }
    }

    fn instr(&mut self, i: &'a Instr) {
        if i.op == Opcode::Call {
            // The callee is the first operand outside of parentheses.
            let at = usize::from(matches!(i.operands.first().map(|o| &o.kind), Some(OperandKind::Group(_))));
            for (k, o) in i.operands.iter().enumerate() {
                match o.kind {
                    OperandKind::Name(name) if k == at => {
                        self.indirect |= !matches!(self.layout.symbols.get(&name), Some(Symbol::Function(_)));
                        self.name(name, true);
                    }
                    _ => self.operand(o),
                }
            }
            return;
        }
        i.operands.iter().for_each(|o| self.operand(o));
    }

    fn operand(&mut self, o: &Operand) {
        match &o.kind {
            OperandKind::Name(n) | OperandKind::NameOffset(n, _) => self.name(*n, false),
            OperandKind::Address(a) => {
                if let AddressBase::Name(n) = a.base {
                    self.name(n, false);
                }
            }
            OperandKind::Not(inner) | OperandKind::Neg(inner) => self.operand(inner),
            OperandKind::Pair(a, b) => {
                self.operand(a);
                self.operand(b);
            }
            OperandKind::Vector(list) | OperandKind::Bracket(list) | OperandKind::Group(list) => {
                list.iter().for_each(|o| self.operand(o));
            }
            OperandKind::Member(..)
            | OperandKind::Int(_)
            | OperandKind::F32(_)
            | OperandKind::F64(_)
            | OperandKind::Sink => {}
        }
    }

    fn name(&mut self, name: Sym, called: bool) {
        match self.layout.symbols.get(&name) {
            Some(Symbol::Function(id)) if called => self.direct.push(*id),
            Some(Symbol::Function(id)) => self.taken.push(*id),
            Some(Symbol::Shared(k)) => self.shared.push(*k),
            _ => {}
        }
    }
}
