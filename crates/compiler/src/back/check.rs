// SPDX-License-Identifier: MIT OR Apache-2.0
//! An independent proof of an allocation, after the checker of regalloc2: the allocated code is executed symbolically on every path, with the set of
//! reference values that each register, predicate and stack slot holds. Whatever an instruction reads must be the value that the reference reads.
//!
//! The reference is the function before coalescing, with all its copies. This file shares no code with the allocator's own analyses.
//!
//! # The lattice
//! A *place* is a register, a predicate or a slot of the stack frame. Its element is a set of [`Sym`]: the reference values that it holds for certain at
//! this point, whichever path led here.
//!
//! ```text
//!   not reached yet       top: nothing is known against any value (`before[b] == None`)
//!        |
//!   {v, w, ...}           holds v, and w, which is a copy of v or the same constant
//!        |
//!   {v}   {w}  ...
//!        |
//!   {}                    bottom: nothing that may be read
//! ```
//!
//! Where paths join, a register keeps the intersection of its sets, and facts (`value = constant`) that hold on both. Sets only shrink on the way to the
//! fixed point and are finite, so it is reached. A definition of `v` removes `v` from every place, and then adds it to those that the micro-op writes;
//! a copy in the reference spreads a value to the places of its source; a move, spill or reload that the allocator inserted copies a place's set.
//!
//! # What is proven
//! At the fixed point, for every micro-op and every terminator: each register, predicate and word of a wide operand that it reads holds the value that the
//! reference reads there, with the same sign; no instruction of the reference is lost, none stands out of order; a called function gives back the stack
//! pointer and every register and predicate of its caller. Not proven here: that the reference is right (`verify` checks the form of the SSA before it, random
//! kernels against the plain interpreter what it computes), and marks of last uses (`dead`).

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpwatt_isa::{BoolOp, Cmp, Flags, Op, Pred, PredSrc, Reg, Src, Sub, Uop};

use super::code::{Coded, CodedFunction};
use super::machine::INSERTED;
use crate::ir::{Frame, Function, Inst, Opnd, Part, PredUse, Term};

/// Something that a place may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sym {
    Word(u32, u8),
    Predicate(u32),
    /// A predicate as 1 or 0 in a register.
    Bool(u32),
    /// What the caller had in a register or predicate.
    CallerReg(u8),
    CallerPred(u8),
    CallerBool(u8),
    /// The result of an instruction that gives the same value everywhere.
    Constant(u32),
}

type Held = SmallVec<[Sym; 3]>;

#[derive(Clone, PartialEq)]
struct State {
    regs: Vec<Held>,
    preds: Vec<Held>,
    slots: FxHashMap<i32, Held>,
    /// Reference values that are known to equal a constant.
    facts: FxHashMap<(u32, u8), u32>,
    /// Stack pointer relative to the caller's.
    sp: i32,
}

impl State {
    fn entry(is_kernel: bool) -> State {
        let caller = |sym: Sym| if is_kernel { Held::new() } else { Held::from_slice(&[sym]) };
        State {
            regs: (0..255).map(|r| caller(Sym::CallerReg(r))).collect(),
            preds: (0..7).map(|p| caller(Sym::CallerPred(p))).collect(),
            slots: FxHashMap::default(),
            facts: FxHashMap::default(),
            sp: 0,
        }
    }

    fn places(&mut self) -> impl Iterator<Item = &mut Held> {
        self.regs.iter_mut().chain(&mut self.preds).chain(self.slots.values_mut())
    }

    /// A new definition of a reference value: no place holds it any more.
    fn forget(&mut self, sym: Sym) {
        let also = match sym {
            Sym::Predicate(v) => Sym::Bool(v),
            other => other,
        };
        self.places().for_each(|held| held.retain(|s| *s != sym && *s != also));
    }

    /// Wherever `old` is, `new` is too.
    fn spread(&mut self, old: Sym, new: Sym) {
        for held in self.places() {
            if held.contains(&old) && !held.contains(&new) {
                held.push(new);
            }
        }
    }

    /// Keeps what holds on both paths; returns whether anything was lost.
    fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        let mut cut = |a: &mut Held, b: Option<&Held>| {
            let before = a.len();
            a.retain(|s| b.is_some_and(|b| b.contains(s)));
            changed |= a.len() != before;
        };
        self.regs.iter_mut().zip(&other.regs).for_each(|(a, b)| cut(a, Some(b)));
        self.preds.iter_mut().zip(&other.preds).for_each(|(a, b)| cut(a, Some(b)));
        for (at, held) in &mut self.slots {
            cut(held, other.slots.get(at));
        }
        let before = self.facts.len();
        self.facts.retain(|key, fact| other.facts.get(key) == Some(fact));
        changed | (self.facts.len() != before)
    }
}

/// A copy in the reference, as symbols.
fn copy_of(inst: &Inst) -> Option<(Sym, Sym)> {
    if inst.guard != PredUse::TRUE {
        return None;
    }
    match (inst.op, inst.dst, inst.srcs.first(), inst.pdst, inst.psrc[0]) {
        (Op::Mov, Some(d), Some(&Opnd::Value(s)), ..)
            if d.words == 1 && s.words == 1 && inst.neg | inst.abs == 0 && inst.off == 0 =>
        {
            Some((Sym::Word(d.value.0, d.lane), Sym::Word(s.value.0, s.lane)))
        }
        (Op::Plop3, None, _, [Some(d), None], PredUse { value: Some(s), negated: false })
            if inst.sub == Sub::Lut(0xf0) =>
        {
            Some((Sym::Predicate(d.0), Sym::Predicate(s.0)))
        }
        _ => None,
    }
}

#[derive(Default)]
struct Constants(Vec<(Op, Sub, Option<Src>)>);

impl Constants {
    /// The number of the constant that a micro-op computes, if it computes one.
    fn of(&mut self, op: Op, sub: Sub, src: Src) -> Option<u32> {
        let key = match (op, src) {
            (Op::Mov, Src::Imm(_) | Src::Const { .. } | Src::Reg(Reg::ZERO)) => (op, Sub::None, Some(src)),
            (Op::S2r, Src::None) if self.fixed(sub) => (op, sub, None),
            _ => return None,
        };
        let at = self.0.iter().position(|k| *k == key).unwrap_or_else(|| {
            self.0.push(key);
            self.0.len() - 1
        });
        Some(at as u32)
    }

    /// Special registers that do not change during a thread's life.
    fn fixed(&self, sub: Sub) -> bool {
        use warpwatt_isa::SReg::*;
        matches!(sub, Sub::SReg(TidX | TidY | TidZ | CtaidX | CtaidY | CtaidZ | LaneId))
    }
}

struct Checker<'a> {
    reference: &'a Function,
    coded: &'a CodedFunction,
    constants: Constants,
    /// Report errors, rather than only work out states.
    strict: bool,
}

pub(super) fn run(reference: &Function, coded: &CodedFunction) -> Result<(), String> {
    let mut checker = Checker { reference, coded, constants: Constants::default(), strict: false };
    let n = coded.blocks.len();
    let mut before: Vec<Option<State>> = vec![None; n];
    before[0] = Some(State::entry(reference.is_kernel));
    let mut work = vec![0usize];
    while let Some(b) = work.pop() {
        let Some(mut state) = before[b].clone() else { continue };
        checker.block(b, &mut state)?;
        for t in coded.blocks[b].term.targets() {
            let slot = &mut before[t.index()];
            let changed = match slot {
                Some(old) => {
                    if old.sp != state.sp {
                        return Err(format!("the stack pointer differs on two paths to b{}", t.0));
                    }
                    old.meet(&state)
                }
                None => {
                    *slot = Some(state.clone());
                    true
                }
            };
            if changed && !work.contains(&t.index()) {
                work.push(t.index());
            }
        }
    }
    checker.strict = true;
    for (b, state) in before.into_iter().enumerate() {
        if let Some(mut state) = state {
            checker.block(b, &mut state).map_err(|e| format!("b{b}: {e}"))?;
        }
    }
    Ok(())
}

impl Checker<'_> {
    fn block(&mut self, b: usize, state: &mut State) -> Result<(), String> {
        let block = &self.coded.blocks[b];
        let insts = &self.reference.blocks[b].insts;
        let mut next = 0;
        for coded in &block.uops {
            if coded.origin == INSERTED {
                self.inserted(&coded.uop, state)?;
                continue;
            }
            let at = coded.origin as usize;
            if at < next || at >= insts.len() {
                return Err(format!("{} is out of order", coded.uop));
            }
            for inst in &insts[next..at] {
                self.skipped(inst, state)?;
            }
            self.kept(&insts[at], coded, state).map_err(|e| format!("{}: {e}", coded.uop))?;
            next = at + 1;
        }
        for inst in &insts[next..] {
            self.skipped(inst, state)?;
        }
        self.terminator(b, state)
    }

    fn demand(&self, fine: bool, what: impl FnOnce() -> String) -> Result<(), String> {
        if fine || !self.strict { Ok(()) } else { Err(what()) }
    }

    fn holds(&self, state: &State, reg: Reg, sym: Sym) -> Result<(), String> {
        let fine = state.regs.get(usize::from(reg.0)).is_some_and(|held| held.contains(&sym));
        self.demand(fine, || format!("{reg} does not hold {sym:?}"))
    }

    fn reads(&self, state: &State, part: Part, src: Src) -> Result<(), String> {
        let Src::Reg(reg) = src else { return Err(format!("a register was expected, not {src:?}")) };
        for i in 0..part.words {
            let word = Reg(reg.0.checked_add(i).ok_or("the run of registers exceeds the last register")?);
            self.holds(state, word, Sym::Word(part.value.0, part.lane + i))?;
        }
        Ok(())
    }

    fn reads_pred(&self, state: &State, wanted: PredUse, got: PredSrc) -> Result<(), String> {
        if wanted.negated != got.negated {
            return Err("the negation of a predicate changed".into());
        }
        match wanted.value {
            None if got.pred == Pred::TRUE => Ok(()),
            None => Err("a predicate was added".into()),
            Some(v) => {
                let held = state.preds.get(usize::from(got.pred.0));
                let fine = held.is_some_and(|held| held.contains(&Sym::Predicate(v.0)));
                self.demand(fine, || format!("{} does not hold p{}", got.pred, v.0))
            }
        }
    }

    fn terminator(&self, b: usize, state: &State) -> Result<(), String> {
        let block = &self.coded.blocks[b];
        match &self.reference.blocks[b].term {
            Term::Branch { cond, .. } => self.reads_pred(state, *cond, block.cond),
            Term::Table { index: Opnd::Value(p), .. } => self.reads(state, *p, block.index),
            Term::Ret { .. } if !self.reference.is_kernel => {
                self.demand(state.sp == 0, || "the stack pointer is not restored".into())?;
                for r in (0..255).filter(|&r| Reg(r) != Reg::SP) {
                    self.holds(state, Reg(r), Sym::CallerReg(r))?;
                }
                let preds = (0..7u8).all(|p| state.preds[usize::from(p)].contains(&Sym::CallerPred(p)));
                self.demand(preds, || "a predicate of the caller is not restored".into())
            }
            _ => Ok(()),
        }
    }

    /// The constant a reference instruction computes.
    fn constant(&mut self, inst: &Inst) -> Option<u32> {
        let plain = inst.guard == PredUse::TRUE
            && inst.dst.is_some_and(|d| d.words == 1)
            && inst.neg | inst.abs == 0
            && inst.off == 0
            && inst.frame == Frame::None;
        if !plain {
            return None;
        }
        let src = match inst.srcs.first() {
            None => Src::None,
            Some(Opnd::Imm(0)) => Src::Reg(Reg::ZERO),
            Some(Opnd::Imm(v)) => Src::Imm(*v as u32),
            Some(&Opnd::Const { bank, offset }) => Src::Const { bank, offset },
            Some(_) => return None,
        };
        self.constants.of(inst.op, inst.sub, src)
    }

    /// An instruction of the reference that has no micro-op: a copy within a register, or a constant that is computed where it is needed.
    fn skipped(&mut self, inst: &Inst, state: &mut State) -> Result<(), String> {
        if inst.op == Op::Undef {
            inst.for_each_def(|p| {
                (0..p.words).for_each(|i| state.forget(Sym::Word(p.value.0, p.lane + i)));
                if p.words == 0 {
                    state.forget(Sym::Predicate(p.value.0));
                }
                // Nobody may rely on it, so any place will do; every place therefore holds it.
                for i in 0..p.words.max(1) {
                    let sym = if p.words == 0 {
                        Sym::Predicate(p.value.0)
                    } else {
                        Sym::Word(p.value.0, p.lane + i)
                    };
                    let also = if p.words == 0 { Sym::Bool(p.value.0) } else { sym };
                    if p.words == 0 {
                        state.preds.iter_mut().for_each(|h| h.push(sym));
                    }
                    state.regs.iter_mut().for_each(|h| h.push(also));
                    state.slots.values_mut().for_each(|h| h.push(also));
                }
            });
            return Ok(());
        }
        if let Some((new, old)) = copy_of(inst) {
            self.copy(new, old, state);
            return Ok(());
        }
        if let (Some(k), Some(d)) = (self.constant(inst), inst.dst) {
            let sym = Sym::Word(d.value.0, d.lane);
            state.forget(sym);
            state.facts.insert((d.value.0, d.lane), k);
            state.spread(Sym::Constant(k), sym);
            return Ok(());
        }
        Err(format!("{} was lost", crate::print::inst(self.reference, inst)))
    }

    fn copy(&mut self, new: Sym, old: Sym, state: &mut State) {
        if new == old {
            return;
        }
        state.forget(new);
        state.spread(old, new);
        match (new, old) {
            (Sym::Word(d, i), Sym::Word(s, j)) => {
                match state.facts.get(&(s, j)).copied() {
                    Some(k) => state.facts.insert((d, i), k),
                    None => state.facts.remove(&(d, i)),
                };
            }
            (Sym::Predicate(d), Sym::Predicate(s)) => state.spread(Sym::Bool(s), Sym::Bool(d)),
            _ => {}
        }
    }

    /// An instruction of the reference and its micro-op.
    fn kept(&mut self, inst: &Inst, coded: &Coded, state: &mut State) -> Result<(), String> {
        let uop = &coded.uop;
        self.same_operation(inst, coded, state)?;
        self.reads_pred(state, inst.guard, uop.guard)?;
        for k in 0..3 {
            self.reads_pred(state, inst.psrc[k], uop.psrc[k])?;
        }
        for (i, &src) in inst.srcs.iter().enumerate().take(4) {
            let words = uop.src_words(i);
            match src {
                Opnd::Value(p) if p.words > 0 => {
                    if u32::from(p.words) < words {
                        return Err(format!("operand {i} is too narrow"));
                    }
                    self.reads(state, p, uop.src[i])?;
                }
                Opnd::Sp if uop.src[i] != Src::Reg(Reg::SP) => {
                    return Err("the operand is not the stack pointer".into());
                }
                Opnd::Const { bank, offset } if uop.src[i] != (Src::Const { bank, offset }) => {
                    return Err(format!("operand {i} is not the constant of the reference"));
                }
                Opnd::Imm(0) if inst.frame == Frame::None && uop.src[i] != Src::Reg(Reg::ZERO) => {
                    return Err(format!("operand {i} is not zero"));
                }
                _ => {}
            }
        }
        if let Opnd::Value(p) = inst.keep {
            self.reads(state, p, Src::Reg(uop.dst))?;
        }
        for k in 0..2 {
            if let Some(kept) = inst.pkeep[k] {
                self.reads_pred(state, kept, PredSrc { pred: uop.pdst[k], negated: false })?;
            }
        }
        self.writes(inst, uop, state)
    }

    fn same_operation(&self, inst: &Inst, coded: &Coded, state: &State) -> Result<(), String> {
        let uop = &coded.uop;
        let frame_address = inst.op == Op::Mov && uop.op == Op::Iadd3 && inst.frame != Frame::None;
        let same = (uop.op == inst.op || frame_address)
            && (uop.ty, uop.ty2, uop.rnd, uop.sub) == (inst.ty, inst.ty2, inst.rnd, inst.sub)
            && (uop.flags, uop.mem, uop.neg, uop.abs) == (inst.flags, inst.mem, inst.neg, inst.abs)
            && coded.callee == inst.callee;
        if !same {
            return Err("the operation changed".into());
        }
        if inst.srcs.contains(&Opnd::Sp) && state.sp != -(self.coded.frame.size as i32) {
            return Err("the stack frame is not allocated".into());
        }
        Ok(())
    }

    fn writes(&mut self, inst: &Inst, uop: &Uop, state: &mut State) -> Result<(), String> {
        let copy = copy_of(inst);
        let constant = self.constant(inst);
        if let Some((new, old)) = copy {
            let held = match (uop.src[0], new) {
                (_, Sym::Predicate(_)) => state.preds[usize::from(uop.psrc[0].pred.0)].clone(),
                (Src::Reg(r), _) => state.regs[usize::from(r.0)].clone(),
                _ => return Err("a copy without a source register".into()),
            };
            self.copy(new, old, state);
            let mut held: Held = held.into_iter().filter(|s| *s != new).collect();
            held.push(new);
            match new {
                Sym::Predicate(_) => state.preds[usize::from(uop.pdst[0].0)] = held,
                _ => *Self::register(state, uop.dst)? = held,
            }
            return Ok(());
        }
        let mut defs: SmallVec<[(Sym, CheckedPlace); 6]> = SmallVec::new();
        if let Some(d) = inst.dst {
            for i in 0..d.words {
                let reg =
                    Reg(uop.dst.0.checked_add(i).ok_or("the run of registers exceeds the last register")?);
                defs.push((Sym::Word(d.value.0, d.lane + i), CheckedPlace::Reg(reg)));
            }
        }
        for k in 0..2 {
            if let Some(p) = inst.pdst[k] {
                defs.push((Sym::Predicate(p.0), CheckedPlace::Pred(uop.pdst[k])));
            }
        }
        for (i, (_, place)) in defs.iter().enumerate() {
            if defs[..i].iter().any(|(_, earlier)| earlier == place) {
                return Err("two results in the same register".into());
            }
        }
        for &(sym, _) in &defs {
            state.forget(sym);
            if let Sym::Word(v, lane) = sym {
                state.facts.remove(&(v, lane));
            }
        }
        for &(sym, place) in &defs {
            let held = match place {
                CheckedPlace::Reg(reg) => Self::register(state, reg)?,
                CheckedPlace::Pred(p) => state
                    .preds
                    .get_mut(usize::from(p.0))
                    .ok_or("a result is written to the true predicate")?,
            };
            held.clear();
            held.push(sym);
            if let (Some(k), Sym::Word(v, lane)) = (constant, sym) {
                held.push(Sym::Constant(k));
                state.facts.insert((v, lane), k);
                state.spread(Sym::Constant(k), sym);
            }
        }
        Ok(())
    }

    fn register(state: &mut State, reg: Reg) -> Result<&mut Held, String> {
        if reg == Reg::SP {
            return Err("the stack pointer is overwritten".into());
        }
        state.regs.get_mut(usize::from(reg.0)).ok_or_else(|| "a result is written to RZ".into())
    }

    /// Instructions that the allocator inserted: spill code, rematerialisation, saves and restores, the stack pointer.
    fn inserted(&mut self, uop: &Uop, state: &mut State) -> Result<(), String> {
        let stray = || format!("{uop} is not spill code, rematerialisation or a save");
        if uop.dst == Reg::SP && uop.op != Op::St {
            state.sp = match (uop.op, uop.src[0], uop.src[1]) {
                (Op::Mov, Src::Const { .. }, _) if self.reference.is_kernel && state.sp == 0 => 0,
                (Op::Iadd3, Src::Reg(Reg::SP), Src::Imm(by)) => state.sp.wrapping_add(by as i32),
                _ => return Err(stray()),
            };
            return Ok(());
        }
        if !uop.flags.has(Flags::SPILL) || uop.guard != PredSrc::TRUE {
            return Err(stray());
        }
        match (uop.op, uop.src[0], uop.src[1]) {
            (Op::St, Src::Reg(Reg::SP), Src::Reg(Reg(r))) => {
                for i in 0..uop.mem.vec {
                    let held = state.regs.get(usize::from(r + i)).cloned().ok_or_else(stray)?;
                    state.slots.insert(self.slot(uop, i, state)?, held);
                }
            }
            (Op::Ld, Src::Reg(Reg::SP), _) => {
                for i in 0..uop.mem.vec {
                    let held = state.slots.get(&self.slot(uop, i, state)?).cloned().unwrap_or_default();
                    *Self::register(state, Reg(uop.dst.0 + i))? = held;
                }
            }
            (Op::Sel, Src::Reg(Reg::ZERO), Src::Imm(1)) if uop.psrc[0].negated => {
                let from = state.preds.get(usize::from(uop.psrc[0].pred.0)).ok_or_else(stray)?;
                let held = from
                    .iter()
                    .filter_map(|s| match *s {
                        Sym::Predicate(v) => Some(Sym::Bool(v)),
                        Sym::CallerPred(p) => Some(Sym::CallerBool(p)),
                        _ => None,
                    })
                    .collect();
                *Self::register(state, uop.dst)? = held;
            }
            (Op::Isetp, Src::Reg(Reg(r)), Src::Reg(Reg::ZERO))
                if uop.sub == Sub::Cmp(Cmp::Ne, BoolOp::And) && uop.psrc[0] == PredSrc::TRUE =>
            {
                let from = state.regs.get(usize::from(r)).ok_or_else(stray)?;
                let held = from
                    .iter()
                    .filter_map(|s| match *s {
                        Sym::Bool(v) => Some(Sym::Predicate(v)),
                        Sym::CallerBool(p) => Some(Sym::CallerPred(p)),
                        _ => None,
                    })
                    .collect();
                *state.preds.get_mut(usize::from(uop.pdst[0].0)).ok_or_else(stray)? = held;
            }
            (op, src, _) => {
                let k = self.constants.of(op, uop.sub, src).ok_or_else(stray)?;
                let mut held = Held::from_slice(&[Sym::Constant(k)]);
                held.extend(
                    state
                        .facts
                        .iter()
                        .filter(|(_, fact)| **fact == k)
                        .map(|(&(v, lane), _)| Sym::Word(v, lane)),
                );
                *Self::register(state, uop.dst)? = held;
            }
        }
        Ok(())
    }

    /// A stack slot, counted from the caller's stack pointer. It must not lie in the part of the frame that the program itself uses.
    fn slot(&self, uop: &Uop, i: u8, state: &State) -> Result<i32, String> {
        let at = uop.off + 4 * i32::from(i);
        let frame = &self.coded.frame;
        if at < frame.spill as i32 || at >= frame.size as i32 || state.sp != -(frame.size as i32) {
            return Err(format!("{uop} accesses memory outside of the spill slots"));
        }
        Ok(state.sp + at)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckedPlace {
    Reg(Reg),
    Pred(Pred),
}
