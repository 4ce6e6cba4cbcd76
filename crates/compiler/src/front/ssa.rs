// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers with many definitions become SSA values: phis at iterated dominance frontiers where the register is live
//! (Cytron et al., "Efficiently Computing Static Single Assignment Form"), then renaming along the dominator tree.

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpwatt_isa::{Op, Ty};

use crate::cfg::Cfg;
use crate::ir::{BlockId, Function, Inst, Opnd, Part, PredUse, Term, Value};

pub fn construct(mut f: Function, is_register: &[bool]) -> Function {
    clean(&mut f);
    let mut ssa = Ssa::new(f, is_register);
    ssa.place_phis();
    ssa.rename();
    renumber(ssa.f)
}

/// Removes unreachable blocks, merges straight-line blocks, and fills in predecessors.
fn clean(f: &mut Function) {
    let n = f.blocks.len();
    let mut reached = vec![false; n];
    let mut work = vec![0usize];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut reached[b], true) {
            work.extend(f.blocks[b].term.targets().iter().map(|t| t.index()));
        }
    }
    let mut preds = vec![0u32; n];
    for b in (0..n).filter(|&b| reached[b]) {
        f.blocks[b].term.targets().iter().for_each(|t| preds[t.index()] += 1);
    }
    for b in 0..n {
        if !reached[b] {
            continue;
        }
        while let Term::Jump(next) = f.blocks[b].term {
            let next = next.index();
            if preds[next] != 1 || next == b || next == 0 {
                break;
            }
            let taken = std::mem::take(&mut f.blocks[next].insts);
            f.blocks[b].insts.extend(taken);
            f.blocks[b].term = std::mem::replace(&mut f.blocks[next].term, Term::Unreachable);
            reached[next] = false;
        }
    }
    let mut new_ids = vec![0u32; n];
    for (new, b) in (0..n).filter(|&b| reached[b]).enumerate() {
        new_ids[b] = new as u32;
    }
    let mut keep = reached.iter();
    f.blocks.retain(|_| *keep.next().unwrap_or(&false));
    for block in &mut f.blocks {
        block.term.retarget(|t| BlockId(new_ids[t.index()]));
        block.preds.clear();
    }
    for b in 0..f.blocks.len() {
        for t in f.blocks[b].term.targets() {
            f.blocks[t.index()].preds.push(BlockId::from(b));
        }
    }
}

const NOT_GLOBAL: u32 = u32::MAX;

struct Ssa<'r> {
    f: Function,
    is_register: &'r [bool],
    cfg: Cfg,
    /// Number of a register that is read in a block before that block writes it; `NOT_GLOBAL` for the others.
    global: Vec<u32>,
    registers: Vec<Value>,
    live_in: Vec<FixedBitSet>,
    /// Registers of the phis at the head of each block, in order.
    phis: Vec<Vec<Value>>,
}

impl<'r> Ssa<'r> {
    fn new(f: Function, is_register: &'r [bool]) -> Ssa<'r> {
        let cfg = Cfg::of(&f);
        let mut this = Ssa {
            phis: vec![Vec::new(); f.blocks.len()],
            global: vec![NOT_GLOBAL; f.values.len()],
            registers: Vec::new(),
            live_in: Vec::new(),
            f,
            is_register,
            cfg,
        };
        this.find_globals();
        this.liveness();
        this
    }

    /// Calls `f(value, is_definition)` for every register that an instruction reads, then for those it writes.
    /// A guarded write keeps the old value in some lanes: it reads the register as well.
    fn accesses(&self, inst: &Inst, mut f: impl FnMut(Value, bool)) {
        let guarded = inst.guard != PredUse::TRUE;
        inst.for_each_use(|p| {
            if self.is_register[p.value.index()] {
                f(p.value, false);
            }
        });
        inst.for_each_def(|p| {
            if self.is_register[p.value.index()] && guarded {
                f(p.value, false);
            }
        });
        inst.for_each_def(|p| {
            if self.is_register[p.value.index()] {
                f(p.value, true);
            }
        });
    }

    fn term_uses(&self, term: &Term, mut f: impl FnMut(Value)) {
        let used = match term {
            Term::Branch { cond, .. } => cond.value,
            Term::Table { index: Opnd::Value(p), .. } => Some(p.value),
            _ => None,
        };
        if let Some(value) = used.filter(|v| self.is_register[v.index()]) {
            f(value);
        }
    }

    fn find_globals(&mut self) {
        // The block that last wrote each register, so that no set has to be cleared per block.
        let mut written_in = vec![u32::MAX; self.f.values.len()];
        let mut found = Vec::new();
        for (b, block) in self.f.blocks.iter().enumerate() {
            let mut read = |v: Value, written_in: &[u32]| {
                if written_in[v.index()] != b as u32 {
                    found.push(v);
                }
            };
            for inst in &block.insts {
                self.accesses(inst, |v, is_def| {
                    if is_def { written_in[v.index()] = b as u32 } else { read(v, &written_in) }
                });
            }
            self.term_uses(&block.term, |v| read(v, &written_in));
        }
        for v in found {
            if self.global[v.index()] == NOT_GLOBAL {
                self.global[v.index()] = self.registers.len() as u32;
                self.registers.push(v);
            }
        }
    }

    fn liveness(&mut self) {
        let (n, count) = (self.f.blocks.len(), self.registers.len());
        let mut reads = vec![FixedBitSet::with_capacity(count); n];
        let mut writes = vec![FixedBitSet::with_capacity(count); n];
        for (b, block) in self.f.blocks.iter().enumerate() {
            let (reads, writes) = (&mut reads[b], &mut writes[b]);
            let mut access = |v: Value, is_def: bool| {
                let g = self.global[v.index()];
                if g != NOT_GLOBAL {
                    if is_def {
                        writes.insert(g as usize);
                    } else if !writes.contains(g as usize) {
                        reads.insert(g as usize);
                    }
                }
            };
            for inst in &block.insts {
                self.accesses(inst, &mut access);
            }
            self.term_uses(&block.term, |v| access(v, false));
        }
        let mut live_in = reads;
        let mut changed = true;
        while changed {
            changed = false;
            for &b in self.cfg.order.iter().rev() {
                let mut live = FixedBitSet::with_capacity(count);
                for t in self.f.block(b).term.targets() {
                    live.union_with(&live_in[t.index()]);
                }
                live.difference_with(&writes[b.index()]);
                live.union_with(&live_in[b.index()]);
                if live != live_in[b.index()] {
                    live_in[b.index()] = live;
                    changed = true;
                }
            }
        }
        self.live_in = live_in;
    }

    fn place_phis(&mut self) {
        let n = self.f.blocks.len();
        let mut frontier: Vec<Vec<BlockId>> = vec![Vec::new(); n];
        for &b in &self.cfg.order {
            if self.f.block(b).preds.len() < 2 {
                continue;
            }
            for &p in &self.f.block(b).preds {
                let mut at = p;
                while Some(at) != self.cfg.idom(b) {
                    if !frontier[at.index()].contains(&b) {
                        frontier[at.index()].push(b);
                    }
                    match self.cfg.idom(at) {
                        Some(up) => at = up,
                        None => break,
                    }
                }
            }
        }
        let mut writers: Vec<Vec<BlockId>> = vec![Vec::new(); self.registers.len()];
        for b in self.f.block_ids() {
            for inst in &self.f.block(b).insts {
                inst.for_each_def(|p| {
                    let g = self.global[p.value.index()];
                    if g != NOT_GLOBAL && writers[g as usize].last() != Some(&b) {
                        writers[g as usize].push(b);
                    }
                });
            }
        }
        let mut has_phi = vec![u32::MAX; n];
        for (g, mut work) in writers.into_iter().enumerate() {
            while let Some(b) = work.pop() {
                for &t in &frontier[b.index()] {
                    if has_phi[t.index()] != g as u32 && self.live_in[t.index()].contains(g) {
                        has_phi[t.index()] = g as u32;
                        self.phis[t.index()].push(self.registers[g]);
                        work.push(t);
                    }
                }
            }
        }
        for (b, registers) in self.phis.iter().enumerate() {
            let edges = self.f.blocks[b].preds.len();
            let phis: Vec<Inst> = registers.iter().map(|&v| phi(&self.f, v, edges)).collect();
            self.f.blocks[b].insts.splice(0..0, phis);
        }
    }

    fn rename(&mut self) {
        let n = self.f.blocks.len();
        let mut children: Vec<Vec<BlockId>> = vec![Vec::new(); n];
        for &b in &self.cfg.order {
            if let Some(up) = self.cfg.idom(b) {
                children[up.index()].push(b);
            }
        }
        let mut names = Current {
            at: vec![None; self.is_register.len()],
            undo: Vec::new(),
            undefined: FxHashMap::default(),
        };
        // Enter a block, or undo what was renamed since a mark.
        enum Step {
            Enter(BlockId),
            Undo(usize),
        }
        let mut stack = vec![Step::Enter(BlockId(0))];
        while let Some(step) = stack.pop() {
            match step {
                Step::Undo(mark) => names.undo_to(mark),
                Step::Enter(b) => {
                    stack.push(Step::Undo(names.undo.len()));
                    self.rename_block(b, &mut names);
                    stack.extend(children[b.index()].iter().rev().map(|&c| Step::Enter(c)));
                }
            }
        }
        let mut undefined: Vec<(Value, Value)> = names.undefined.into_iter().collect();
        undefined.sort_unstable();
        let undefs: Vec<Inst> = undefined
            .into_iter()
            .map(|(_, v)| {
                let mut inst = Inst::new(Op::Undef, type_of(self.f.words(v)));
                define(&self.f, &mut inst, v);
                inst
            })
            .collect();
        self.f.blocks[0].insts.splice(0..0, undefs);
    }

    fn rename_block(&mut self, b: BlockId, names: &mut Current) {
        let mut insts = std::mem::take(&mut self.f.block_mut(b).insts);
        for inst in &mut insts {
            if inst.op != Op::Phi {
                self.rename_uses(inst, names);
            }
            self.rename_defs(inst, names);
        }
        self.f.block_mut(b).insts = insts;
        let mut term = std::mem::replace(&mut self.f.block_mut(b).term, Term::Unreachable);
        match &mut term {
            Term::Branch { cond, .. } => self.pred(cond, names),
            Term::Table { index: Opnd::Value(p), .. } => p.value = self.current(p.value, names),
            _ => {}
        }
        let targets = term.targets();
        self.f.block_mut(b).term = term;
        for (k, &t) in targets.iter().enumerate() {
            // The n-th edge from here to `t` is the n-th of our entries among its predecessors.
            let nth = targets[..k].iter().filter(|&&other| other == t).count();
            let edges = self.f.block(t).preds.iter().enumerate().filter(|(_, p)| **p == b);
            let Some(edge) = edges.map(|(e, _)| e).nth(nth) else { continue };
            for i in 0..self.phis[t.index()].len() {
                let register = self.phis[t.index()][i];
                let value = self.current(register, names);
                let whole = self.f.whole(value);
                self.f.block_mut(t).insts[i].srcs[edge] = Opnd::Value(whole);
            }
        }
    }

    fn current(&mut self, v: Value, names: &mut Current) -> Value {
        if v.index() >= self.is_register.len() || !self.is_register[v.index()] {
            return v;
        }
        if let Some(now) = names.at[v.index()] {
            return now;
        }
        let words = self.f.words(v);
        *names.undefined.entry(v).or_insert_with(|| self.f.new_value(words))
    }

    fn pred(&mut self, p: &mut PredUse, names: &mut Current) {
        if let Some(v) = p.value {
            p.value = Some(self.current(v, names));
        }
    }

    fn rename_uses(&mut self, inst: &mut Inst, names: &mut Current) {
        self.pred(&mut inst.guard, names);
        for p in &mut inst.psrc {
            self.pred(p, names);
        }
        for src in &mut inst.srcs {
            if let Opnd::Value(part) = src {
                part.value = self.current(part.value, names);
            }
        }
    }

    fn rename_defs(&mut self, inst: &mut Inst, names: &mut Current) {
        let guarded = inst.guard != PredUse::TRUE;
        let is_register = self.is_register;
        let old = |v: Value, names: &Current| names.at[v.index()];
        if let Some(part) = inst.dst
            && is_register[part.value.index()]
        {
            if guarded && let Some(before) = old(part.value, names) {
                inst.keep = Opnd::Value(self.f.whole(before));
            }
            let value = self.f.new_value(part.words);
            names.set(part.value, value);
            inst.dst = Some(self.f.whole(value));
        }
        for k in 0..2 {
            if let Some(p) = inst.pdst[k]
                && is_register[p.index()]
            {
                if guarded && let Some(before) = old(p, names) {
                    inst.pkeep[k] = Some(PredUse::of(before));
                }
                let value = self.f.new_value(0);
                names.set(p, value);
                inst.pdst[k] = Some(value);
            }
        }
    }
}

/// Which value each register has at the moment.
struct Current {
    at: Vec<Option<Value>>,
    undo: Vec<(Value, Option<Value>)>,
    /// Values of registers that are read before they are written.
    undefined: FxHashMap<Value, Value>,
}

impl Current {
    fn set(&mut self, register: Value, value: Value) {
        let before = self.at[register.index()].replace(value);
        self.undo.push((register, before));
    }

    fn undo_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((register, before)) = self.undo.pop() {
                self.at[register.index()] = before;
            }
        }
    }
}

fn type_of(words: u8) -> Ty {
    match words {
        0 => Ty::Pred,
        1 => Ty::U32,
        2 => Ty::U64,
        _ => Ty::B128,
    }
}

fn define(f: &Function, inst: &mut Inst, v: Value) {
    if f.words(v) == 0 {
        inst.pdst[0] = Some(v);
    } else {
        inst.dst = Some(f.whole(v));
    }
}

fn phi(f: &Function, register: Value, edges: usize) -> Inst {
    let mut inst = Inst::new(Op::Phi, type_of(f.words(register)));
    define(f, &mut inst, register);
    inst.srcs = SmallVec::from_elem(Opnd::None, edges);
    inst
}

/// Numbers values in the order of their definitions, without gaps.
fn renumber(mut f: Function) -> Function {
    let mut new_ids = vec![None; f.values.len()];
    let mut values = Vec::new();
    for block in &f.blocks {
        for inst in &block.insts {
            inst.for_each_def(|p| {
                new_ids[p.value.index()] = Some(Value::from(values.len()));
                values.push(f.values[p.value.index()]);
            });
        }
    }
    let id = |v: Value| new_ids[v.index()].unwrap_or(v);
    let part = |p: Part| Part { value: id(p.value), ..p };
    let pred = |p: &mut PredUse| p.value = p.value.map(id);
    for block in &mut f.blocks {
        for inst in &mut block.insts {
            inst.dst = inst.dst.map(part);
            inst.pdst = inst.pdst.map(|p| p.map(id));
            pred(&mut inst.guard);
            inst.psrc.iter_mut().for_each(pred);
            inst.pkeep.iter_mut().flatten().for_each(pred);
            for src in inst.srcs.iter_mut().chain([&mut inst.keep]) {
                if let Opnd::Value(p) = src {
                    *p = part(*p);
                }
            }
        }
        match &mut block.term {
            Term::Branch { cond, .. } => pred(cond),
            Term::Table { index: Opnd::Value(p), .. } => *p = part(*p),
            _ => {}
        }
    }
    f.values = values;
    f
}
