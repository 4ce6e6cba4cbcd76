// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the invariants that `ir` states for SSA: one definition per value, definitions before uses on every path, phis first and with one
//! source per predecessor, widths that fit the operation.

use warpwatt_isa::{Op, src_words};

use crate::cfg::Cfg;
use crate::ir::{BlockId, Frame, Function, Inst, Opnd, Part, PredUse, Term, Value};

/// What is wrong, in words.
pub fn ssa(f: &Function) -> Result<(), String> {
    let Some(entry) = f.blocks.first() else { return Err("there is no entry block".into()) };
    if !entry.preds.is_empty() {
        return Err("the entry block has predecessors".into());
    }
    check_edges(f)?;
    let cfg = Cfg::of(f);
    let mut check = Check { f, cfg: &cfg, defined: vec![None; f.values.len()] };
    for b in f.block_ids() {
        if !cfg.reachable(b) {
            return Err(format!("nobody reaches b{}", b.0));
        }
        for (i, inst) in f.block(b).insts.iter().enumerate() {
            check.define(b, i, inst)?;
        }
    }
    for b in f.block_ids() {
        let block = f.block(b);
        let mut head = true;
        for (i, inst) in block.insts.iter().enumerate() {
            head &= inst.op == Op::Phi;
            if inst.op == Op::Phi && !head {
                return Err(format!("b{}: a phi follows another instruction", b.0));
            }
            check.inst(b, i, inst).map_err(|e| format!("b{}: {}: {e}", b.0, crate::print::inst(f, inst)))?;
        }
        check.term(b, &block.term).map_err(|e| format!("b{}: terminator: {e}", b.0))?;
    }
    let returns = f.blocks.iter().filter(|b| matches!(b.term, Term::Ret { .. })).count();
    if returns > 1 || (f.is_kernel && returns > 0) {
        return Err(format!("{returns} blocks return"));
    }
    Ok(())
}

fn check_edges(f: &Function) -> Result<(), String> {
    let mut preds: Vec<Vec<BlockId>> = vec![Vec::new(); f.blocks.len()];
    for b in f.block_ids() {
        for t in f.block(b).term.targets() {
            let Some(list) = preds.get_mut(t.index()) else {
                return Err(format!("b{} branches to b{}, which does not exist", b.0, t.0));
            };
            list.push(b);
        }
    }
    for b in f.block_ids() {
        let mut have = f.block(b).preds.clone();
        have.sort_unstable();
        if have != preds[b.index()] {
            return Err(format!("b{}: predecessors do not match the edges", b.0));
        }
    }
    Ok(())
}

struct Check<'f> {
    f: &'f Function,
    cfg: &'f Cfg,
    defined: Vec<Option<(BlockId, usize)>>,
}

impl Check<'_> {
    fn define(&mut self, b: BlockId, i: usize, inst: &Inst) -> Result<(), String> {
        let mut problem = None;
        let defined = &mut self.defined;
        let f = self.f;
        inst.for_each_def(|p| {
            if p.value.index() >= f.values.len() {
                problem = Some(format!("value {} is not declared", p.value.0));
            } else if defined[p.value.index()].replace((b, i)).is_some() {
                problem = Some(format!("value {} is defined twice", p.value.0));
            } else if p != f.whole(p.value) {
                problem = Some(format!("value {} is only partly defined", p.value.0));
            }
        });
        for p in inst.pdst.into_iter().flatten() {
            if f.words(p) != 0 {
                problem = Some(format!("value {} is not a predicate", p.0));
            }
        }
        problem.map_or(Ok(()), |e| Err(format!("b{}: {}: {e}", b.0, crate::print::inst(f, inst))))
    }

    /// The value is available when instruction `i` of `b` runs.
    fn available(&self, value: Value, b: BlockId, i: usize) -> Result<(), String> {
        let Some((at, k)) = self.defined.get(value.index()).copied().flatten() else {
            return Err(format!("value {} is used and never defined", value.0));
        };
        let before = if at == b { k < i } else { self.cfg.dominates(at, b) };
        if before { Ok(()) } else { Err(format!("value {} is used before its definition", value.0)) }
    }

    fn part(&self, p: Part) -> Result<(), String> {
        let words = self.f.values.get(p.value.index()).map_or(0, |v| v.words);
        if p.lane + p.words > words || (p.words == 0) != (words == 0) {
            return Err(format!("part {}+{} of a value of {words} words", p.lane, p.words));
        }
        Ok(())
    }

    fn pred(&self, p: PredUse, b: BlockId, i: usize) -> Result<(), String> {
        let Some(value) = p.value else { return Ok(()) };
        self.part(Part { value, lane: 0, words: 0 })?;
        self.available(value, b, i)
    }

    fn inst(&self, b: BlockId, i: usize, inst: &Inst) -> Result<(), String> {
        if inst.op == Op::Phi {
            return self.phi(b, inst);
        }
        self.pred(inst.guard, b, i)?;
        for p in inst.psrc.into_iter().chain(inst.pkeep.into_iter().flatten()) {
            self.pred(p, b, i)?;
        }
        for &src in inst.srcs.iter().chain([&inst.keep]) {
            if let Opnd::Value(p) = src {
                self.part(p)?;
                if p.words == 0 {
                    return Err("a predicate among the sources".into());
                }
                self.available(p.value, b, i)?;
            }
        }
        if inst.guard == PredUse::TRUE && (inst.keep != Opnd::None || inst.pkeep != [None; 2]) {
            return Err("a previous value is kept without a guard".into());
        }
        if let (Some(dst), Opnd::Value(p)) = (inst.dst, inst.keep)
            && dst.words != p.words
        {
            return Err("the kept value has another width".into());
        }
        if inst.frame != Frame::None && inst.srcs.first() != Some(&Opnd::Sp) {
            return Err("a frame address without the stack pointer".into());
        }
        self.widths(inst)
    }

    fn widths(&self, inst: &Inst) -> Result<(), String> {
        if let Some(dst) = inst.dst {
            let want = match inst.op {
                Op::Pack => inst
                    .srcs
                    .iter()
                    .map(|s| if let Opnd::Value(p) = s { u32::from(p.words) } else { 1 })
                    .sum(),
                Op::Part | Op::Undef => u32::from(dst.words),
                op => warpwatt_isa::dst_words(op, inst.ty, inst.sub, &inst.mem),
            };
            if u32::from(dst.words) != want {
                return Err(format!("the result has {} words, not {want}", dst.words));
            }
        }
        for (k, src) in inst.srcs.iter().enumerate() {
            let Opnd::Value(p) = src else { continue };
            let want = match (inst.op, k) {
                (Op::Pack | Op::Part, _) => continue,
                // Amounts of 64-bit shifts are words.
                (Op::Shl | Op::Shr, 1) => 1,
                _ => src_words(inst.op, inst.ty, inst.ty2, inst.sub, &inst.mem, k),
            };
            if u32::from(p.words) != want {
                return Err(format!("source {k} has {} words, not {want}", p.words));
            }
        }
        Ok(())
    }

    fn phi(&self, b: BlockId, inst: &Inst) -> Result<(), String> {
        let preds = &self.f.block(b).preds;
        if inst.srcs.len() != preds.len() {
            return Err(format!("{} sources for {} predecessors", inst.srcs.len(), preds.len()));
        }
        let mut words = 0;
        inst.for_each_def(|p| words = p.words);
        for (&src, &from) in inst.srcs.iter().zip(preds) {
            match src {
                Opnd::Value(p) => {
                    self.part(p)?;
                    if p.words != words {
                        return Err("a source of another width".into());
                    }
                    self.available(p.value, from, usize::MAX)?;
                }
                Opnd::None => return Err("a source is missing".into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn term(&self, b: BlockId, term: &Term) -> Result<(), String> {
        match term {
            Term::Branch { cond, .. } => self.pred(*cond, b, usize::MAX),
            Term::Table { index: Opnd::Value(p), .. } => {
                self.part(*p)?;
                self.available(p.value, b, usize::MAX)
            }
            _ => Ok(()),
        }
    }
}
