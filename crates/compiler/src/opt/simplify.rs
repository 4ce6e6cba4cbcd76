// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constant and copy propagation with algebraic simplification, in one forward walk.
//!
//! Instructions are only rewritten in place: one whose result became a copy stays behind without users and is removed later.

use smallvec::{SmallVec, smallvec};
use warpwatt_isa::{BoolOp, Cmp, Flags, Op, Order, Space, Sub, Ty};

use super::convert::convert;
use super::defs::{Defs, whole};
use super::evaluate;
use super::logic::{lop3, predicate_logic};
use crate::cfg::Cfg;
use crate::ir::{Frame, Function, Inst, Opnd, Part, PredUse, Term, Value};

#[inline]
pub fn for_each_value_mut(inst: &mut Inst, mut f: impl FnMut(&mut Value)) {
    for_each_pred_mut(inst, |p| {
        if let Some(v) = &mut p.value {
            f(v);
        }
    });
    for_each_source_mut(inst, |src| {
        if let Opnd::Value(part) = src {
            f(&mut part.value);
        }
    });
}

/// Every predicate read, kept ones included.
#[inline]
fn for_each_pred_mut(inst: &mut Inst, mut f: impl FnMut(&mut PredUse)) {
    inst.psrc.iter_mut().for_each(&mut f);
    f(&mut inst.guard);
    inst.pkeep.iter_mut().flatten().for_each(f);
}

/// Every operand read, the kept one included.
#[inline]
fn for_each_source_mut(inst: &mut Inst, mut f: impl FnMut(&mut Opnd)) {
    inst.srcs.iter_mut().for_each(&mut f);
    f(&mut inst.keep);
}

pub fn for_each_term_value_mut(term: &mut Term, mut f: impl FnMut(&mut Value)) {
    match term {
        Term::Branch { cond: PredUse { value: Some(v), .. }, .. } => f(v),
        Term::Table { index: Opnd::Value(part), .. } => f(&mut part.value),
        _ => {}
    }
}

/// The simplification of an instruction.
pub enum Outcome {
    Stays,
    /// `dst` is a copy of this operand.
    Copy(Opnd),
    /// `pdst[0]` is a copy of this predicate.
    Pred(PredUse),
    /// Never executes, or its result is undefined.
    Nothing,
}

struct Pass<'a> {
    f: &'a mut Function,
    defs: Defs,
    subst: Vec<Option<Opnd>>,
    psubst: Vec<Option<PredUse>>,
    /// An instruction became a copy or nothing: until then there is nothing to substitute, and phis are still first.
    copies: bool,
}

/// Returns whether there may be more to simplify, and whether anything was rewritten.
pub fn run(f: &mut Function) -> (bool, bool) {
    let order = Cfg::of(f).order;
    let n = f.values.len();
    let defs = Defs::of(f);
    let mut pass = Pass { f, defs, subst: vec![None; n], psubst: vec![None; n], copies: false };
    let mut changed = false;
    for &b in &order {
        for i in 0..pass.f.block(b).insts.len() {
            let mut inst = pass.f.block(b).insts[i].clone();
            changed |= pass.rewrite(&mut inst);
            let outcome = pass.simplify(&mut inst, &mut changed);
            match outcome {
                Outcome::Stays => {}
                Outcome::Copy(o) => {
                    if let Some(dst) = inst.dst {
                        changed |= inst.op != Op::Mov;
                        pass.subst[dst.value.index()] = Some(o);
                        pass.copies = true;
                        let mut copy = Inst::new(Op::Mov, copy_type(dst.words));
                        copy.dst = Some(dst);
                        copy.srcs = smallvec![o];
                        copy.loc = inst.loc;
                        inst = copy;
                    }
                }
                Outcome::Pred(p) => {
                    if let Some(dst) = inst.pdst[0] {
                        pass.psubst[dst.index()] = Some(p);
                        pass.copies = true;
                        changed |= inst.op != Op::Mov;
                        let mut copy = Inst::new(Op::Mov, Ty::Pred);
                        copy.pdst[0] = Some(dst);
                        copy.psrc[0] = p;
                        copy.loc = inst.loc;
                        inst = copy;
                    }
                }
                Outcome::Nothing => {
                    changed = true;
                    pass.copies = true;
                    let (dst, pdst) = (inst.dst, inst.pdst);
                    inst = Inst::new(
                        if dst.is_some() || pdst[0].is_some() { Op::Undef } else { Op::Nop },
                        inst.ty,
                    );
                    inst.dst = dst;
                    inst.pdst = pdst;
                }
            }
            pass.f.block_mut(b).insts[i] = inst;
        }
        let mut term = pass.f.block(b).term.clone();
        pass.rewrite_term(&mut term);
        pass.f.block_mut(b).term = term;
    }
    if !pass.copies {
        return (changed, changed);
    }
    // Sources of loop phis, and blocks visited before a definition was known to be a copy.
    for b in order {
        let mut insts = std::mem::take(&mut pass.f.block_mut(b).insts);
        for inst in &mut insts {
            pass.rewrite_plain(inst);
        }
        // A phi that became a copy may precede others, which must be first for passes that change the block's edges.
        insts.sort_by_key(|i| i.op != Op::Phi);
        pass.f.block_mut(b).insts = insts;
        let mut term = pass.f.block(b).term.clone();
        pass.rewrite_term(&mut term);
        pass.f.block_mut(b).term = term;
    }
    (changed, true)
}

fn copy_type(words: u8) -> Ty {
    match words {
        0 => Ty::Pred,
        1 => Ty::U32,
        2 => Ty::U64,
        _ => Ty::B128,
    }
}

impl Pass<'_> {
    fn rewrite_plain(&self, inst: &mut Inst) -> bool {
        if !self.copies {
            return false;
        }
        let mut changed = false;
        for_each_pred_mut(inst, |p| changed |= self.replace_pred(p));
        if inst.op == Op::Pack {
            changed |= self.rewrite_pack(inst);
        }
        for_each_source_mut(inst, |src| changed |= self.replace(src));
        changed
    }

    /// A constant fills one word of a pack: a wide one is inserted word by word.
    fn rewrite_pack(&self, inst: &mut Inst) -> bool {
        let mut changed = false;
        let mut at = 0;
        while at < inst.srcs.len() {
            let Opnd::Value(Part { words, .. }) = inst.srcs[at] else {
                at += 1;
                continue;
            };
            let mut whole = inst.srcs[at];
            let parts = |o| (0..words).map(|lane| slice(o, lane, 1)).collect::<Option<SmallVec<[Opnd; 4]>>>();
            if words > 1
                && self.replace(&mut whole)
                && !matches!(whole, Opnd::Value(_))
                && let Some(parts) = parts(whole)
            {
                inst.srcs.remove(at);
                inst.srcs.insert_many(at, parts);
                changed = true;
            }
            at += 1;
        }
        changed
    }

    /// Replaces operands by what they are copies of, and parts of packed values by what was packed.
    fn rewrite(&self, inst: &mut Inst) -> bool {
        let mut changed = self.rewrite_plain(inst);
        if inst.op != Op::Phi {
            for src in inst.srcs.iter_mut() {
                while let Some(inner) = self.through_pack(*src) {
                    *src = inner;
                    changed = true;
                }
            }
        }
        changed
    }

    fn through_pack(&self, o: Opnd) -> Option<Opnd> {
        let Opnd::Value(part) = o else { return None };
        if part.words == self.f.words(part.value) {
            return None;
        }
        let pack =
            self.defs.inst(self.f, part.value).filter(|i| i.op == Op::Pack && i.guard == PredUse::TRUE)?;
        let mut lane = 0;
        for &src in &pack.srcs {
            let words = self.src_words_of_pack(src)?;
            if lane == part.lane && words == part.words {
                return Some(src);
            }
            if part.lane >= lane && part.lane + part.words <= lane + words {
                return slice(src, part.lane - lane, part.words);
            }
            lane += words;
        }
        None
    }

    /// Words that one source of a pack fills: constants fill one.
    fn src_words_of_pack(&self, o: Opnd) -> Option<u8> {
        match o {
            Opnd::Value(p) => Some(p.words),
            Opnd::Imm(_) | Opnd::Const { .. } | Opnd::Sp => Some(1),
            Opnd::None => None,
        }
    }

    fn replace(&self, o: &mut Opnd) -> bool {
        let mut changed = false;
        while let Opnd::Value(part) = *o {
            // A predicate among the sources of a phi.
            if part.words == 0 {
                break;
            }
            let Some(new) = self.subst[part.value.index()].and_then(|s| slice_of(self.f, s, part)) else {
                break;
            };
            *o = new;
            changed = true;
        }
        changed
    }

    fn replace_pred(&self, p: &mut PredUse) -> bool {
        let mut changed = false;
        while let Some(new) = p.value.and_then(|v| self.psubst[v.index()]) {
            *p = PredUse { value: new.value, negated: new.negated ^ p.negated };
            changed = true;
        }
        changed
    }

    fn rewrite_term(&self, term: &mut Term) {
        match term {
            Term::Branch { cond, .. } => {
                self.replace_pred(cond);
            }
            Term::Table { index, .. } => {
                self.replace(index);
            }
            _ => {}
        }
    }

    fn simplify(&self, inst: &mut Inst, changed: &mut bool) -> Outcome {
        if inst.guard.value.is_none() && inst.guard.negated {
            return match (inst.dst, inst.keep) {
                (Some(_), o) if o != Opnd::None => Outcome::Copy(o),
                _ => match (inst.pdst[0], inst.pkeep[0]) {
                    (Some(_), Some(p)) if inst.pdst[1].is_none() => Outcome::Pred(p),
                    _ => Outcome::Nothing,
                },
            };
        }
        if inst.guard != PredUse::TRUE || inst.frame != Frame::None {
            return Outcome::Stays;
        }
        let constants: Option<SmallVec<[u64; 4]>> =
            inst.srcs.iter().map(|s| if let Opnd::Imm(v) = s { Some(*v) } else { None }).collect();
        if let (Some(v), Some(_)) = (&constants, inst.dst)
            && let Some(result) = evaluate::integer(inst, v)
        {
            return Outcome::Copy(Opnd::Imm(result));
        }
        match inst.op {
            Op::Mov if inst.ty == Ty::Pred => Outcome::Pred(inst.psrc[0]),
            Op::Mov => match inst.srcs[0] {
                _ if inst.neg | inst.abs != 0 => Outcome::Stays,
                Opnd::Sp | Opnd::None => Outcome::Stays,
                Opnd::Imm(_) | Opnd::Const { .. } if inst.dst.is_none_or(|d| d.words > 2) => Outcome::Stays,
                o => Outcome::Copy(o),
            },
            Op::Phi => self.phi(inst),
            Op::Part => match (inst.srcs[0], inst.sub, inst.dst) {
                (o, Sub::Part(lane), Some(dst)) => {
                    slice(o, lane, dst.words).map_or(Outcome::Stays, Outcome::Copy)
                }
                _ => Outcome::Stays,
            },
            Op::Pack => self.pack(inst),
            Op::Iadd3 => self.add(inst, changed),
            Op::Imad => multiply(inst, changed),
            Op::ImadWide if inst.pdst[0].is_none() && !inst.flags.has(Flags::CARRY_IN) => {
                if matches!(inst.srcs[0], Opnd::Imm(_)) && !matches!(inst.srcs[1], Opnd::Imm(_)) {
                    inst.srcs.swap(0, 1);
                    *changed = true;
                }
                match inst.srcs[1] {
                    Opnd::Imm(0) => Outcome::Copy(
                        inst.srcs.get(2).copied().filter(|c| *c != Opnd::None).unwrap_or(Opnd::Imm(0)),
                    ),
                    _ => Outcome::Stays,
                }
            }
            Op::Shl | Op::Shr if inst.srcs[1] == Opnd::Imm(0) => Outcome::Copy(inst.srcs[0]),
            Op::Lop3 => lop3(inst, changed),
            Op::Sel => match inst.psrc[0].value {
                None => Outcome::Copy(inst.srcs[usize::from(inst.psrc[0].negated)]),
                Some(_) if inst.srcs[0] == inst.srcs[1] => Outcome::Copy(inst.srcs[0]),
                _ => Outcome::Stays,
            },
            Op::Isetp => self.compare(inst, changed),
            Op::Plop3 => predicate_logic(inst, changed),
            Op::Cvt => convert(inst, changed),
            Op::Ld => constant_load(inst),
            _ => Outcome::Stays,
        }
    }

    fn phi(&self, inst: &Inst) -> Outcome {
        if inst.ty == Ty::Pred {
            return self.predicate_phi(inst);
        }
        let own = inst.dst.map(|d| d.value);
        let mut same = None;
        for &src in &inst.srcs {
            if let Opnd::Value(p) = src
                && Some(p.value) == own
            {
                continue;
            }
            match same {
                None => same = Some(src),
                Some(s) if s == src => {}
                Some(_) => return Outcome::Stays,
            }
        }
        match same {
            // A constant of more than two words has no operand form.
            Some(o) if o != Opnd::None => Outcome::Copy(o),
            _ => Outcome::Nothing,
        }
    }

    /// Predicate phis carry their sources as parts without words.
    fn predicate_phi(&self, inst: &Inst) -> Outcome {
        let own = inst.pdst[0];
        let mut same: Option<PredUse> = None;
        for &src in &inst.srcs {
            let use_of_src = match src {
                Opnd::Value(p) => {
                    let mut u = PredUse::of(p.value);
                    self.replace_pred(&mut u);
                    if u.value == own && u.value.is_some() {
                        if u.negated {
                            return Outcome::Stays;
                        }
                        continue;
                    }
                    u
                }
                Opnd::Imm(v) => PredUse { value: None, negated: v & 1 == 0 },
                _ => return Outcome::Stays,
            };
            match same {
                None => same = Some(use_of_src),
                Some(s) if s == use_of_src => {}
                Some(_) => return Outcome::Stays,
            }
        }
        same.map_or(Outcome::Nothing, Outcome::Pred)
    }

    fn pack(&self, inst: &Inst) -> Outcome {
        let Some(dst) = inst.dst else { return Outcome::Stays };
        if inst.srcs.len() == 2 && dst.words == 2 {
            match (inst.srcs[0], inst.srcs[1]) {
                (Opnd::Imm(lo), Opnd::Imm(hi)) => {
                    return Outcome::Copy(Opnd::Imm(hi << 32 | lo & 0xffff_ffff));
                }
                (Opnd::Const { bank, offset }, Opnd::Const { bank: b2, offset: o2 })
                    if bank == b2 && offset % 8 == 0 && o2 == offset + 4 =>
                {
                    return Outcome::Copy(Opnd::Const { bank, offset });
                }
                _ => {}
            }
        }
        // Consecutive parts of one value, aligned as the result needs it.
        let Some(Opnd::Value(first)) = inst.srcs.first().copied() else { return Outcome::Stays };
        let mut lane = first.lane;
        for &src in &inst.srcs {
            match src {
                Opnd::Value(p) if p.value == first.value && p.lane == lane => lane += p.words,
                _ => return Outcome::Stays,
            }
        }
        let align = if dst.words > 2 { 4 } else { dst.words };
        if lane - first.lane == dst.words && first.lane % align == 0 {
            return Outcome::Copy(Opnd::Value(Part {
                value: first.value,
                lane: first.lane,
                words: dst.words,
            }));
        }
        Outcome::Stays
    }

    fn add(&self, inst: &mut Inst, changed: &mut bool) -> Outcome {
        if inst.pdst[0].is_some()
            || inst.flags != Flags::NONE
            || !matches!(inst.ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64)
        {
            return Outcome::Stays;
        }
        let mask = evaluate::mask(inst.ty.words());
        let mut sum = 0u64;
        let mut terms: Vec<(Opnd, bool)> = Vec::new();
        for (k, &src) in inst.srcs.iter().enumerate() {
            let negated = inst.neg >> k & 1 == 1;
            match src {
                Opnd::None => {}
                Opnd::Imm(v) => sum = if negated { sum.wrapping_sub(v) } else { sum.wrapping_add(v) },
                o => terms.push((o, negated)),
            }
        }
        sum &= mask;
        // (x + c1) + c2: the inner sum may have other users, the outer one still gets shorter.
        if let [(o, negated)] = terms[..]
            && let Some(inner) = self.defs.of_operand(self.f, o)
            && inner.op == Op::Iadd3
            && inner.ty.words() == inst.ty.words()
            && inner.pdst[0].is_none()
            && inner.flags == Flags::NONE
            && inner.guard == PredUse::TRUE
            && inner.frame == Frame::None
            && let [x, Opnd::Imm(c)] | [x, Opnd::Imm(c), Opnd::Imm(0)] = inner.srcs[..]
            && inner.neg == 0
            && !matches!(x, Opnd::Imm(_))
        {
            terms[0] = (x, negated);
            sum = (if negated { sum.wrapping_sub(c) } else { sum.wrapping_add(c) }) & mask;
            *changed = true;
        }
        if terms.is_empty() {
            return Outcome::Copy(Opnd::Imm(sum));
        }
        if let [(o, false)] = terms[..]
            && sum == 0
        {
            return Outcome::Copy(o);
        }
        // Negated terms go last.
        terms.sort_by_key(|t| t.1);
        let mut srcs: smallvec::SmallVec<[Opnd; 4]> = terms.iter().map(|t| t.0).collect();
        let mut neg = 0;
        for (k, t) in terms.iter().enumerate() {
            neg |= u8::from(t.1) << k;
        }
        if sum != 0 || srcs.len() == 1 {
            srcs.push(Opnd::Imm(sum));
        }
        if srcs != inst.srcs || neg != inst.neg {
            *changed = true;
            inst.srcs = srcs;
            inst.neg = neg;
        }
        Outcome::Stays
    }

    fn compare(&self, inst: &mut Inst, changed: &mut bool) -> Outcome {
        let Sub::Cmp(cmp, combine) = inst.sub else { return Outcome::Stays };
        if inst.neg | inst.abs != 0 {
            return Outcome::Stays;
        }
        if let (Opnd::Imm(_), false) = (inst.srcs[0], matches!(inst.srcs[1], Opnd::Imm(_))) {
            inst.srcs.swap(0, 1);
            inst.sub = Sub::Cmp(cmp.mirrored(), combine);
            *changed = true;
        }
        let Sub::Cmp(cmp, combine) = inst.sub else { return Outcome::Stays };
        let Opnd::Imm(b) = inst.srcs[1] else { return Outcome::Stays };
        let known = match inst.srcs[0] {
            Opnd::Imm(a) => {
                evaluate::compare(inst.ty, cmp, a, b).map(|r| PredUse { value: None, negated: !r })
            }
            o => self.selected_bool(inst.ty, cmp, o, b),
        };
        let Some(known) = known.filter(|_| inst.pdst[1].is_none()) else { return Outcome::Stays };
        let other = inst.psrc[0];
        inst.op = Op::Plop3;
        inst.ty = Ty::Pred;
        inst.ty2 = Ty::Pred;
        inst.srcs.clear();
        inst.psrc = [known, other, PredUse::TRUE];
        inst.sub = Sub::Lut(match combine {
            BoolOp::And => 0xc0,
            BoolOp::Or => 0xfc,
            BoolOp::Xor => 0x3c,
        });
        *changed = true;
        predicate_logic(inst, changed)
    }

    /// `(p ? c1 : c2) cmp b` as a predicate.
    fn selected_bool(&self, ty: Ty, cmp: Cmp, o: Opnd, b: u64) -> Option<PredUse> {
        let sel = self
            .defs
            .of_operand(self.f, o)
            .filter(|i| i.op == Op::Sel && i.guard == PredUse::TRUE && i.neg | i.abs == 0)?;
        let [Opnd::Imm(yes), Opnd::Imm(no)] = sel.srcs[..] else { return None };
        let (yes, no) = (evaluate::compare(ty, cmp, yes, b)?, evaluate::compare(ty, cmp, no, b)?);
        Some(match (yes, no) {
            (true, true) => PredUse::TRUE,
            (false, false) => PredUse::FALSE,
            (true, false) => sel.psrc[0],
            (false, true) => !sel.psrc[0],
        })
    }
}

/// Words `lane..lane + words` of an operand.
pub fn slice(o: Opnd, lane: u8, words: u8) -> Option<Opnd> {
    match o {
        Opnd::Value(p) if lane + words <= p.words => {
            Some(Opnd::Value(Part { value: p.value, lane: p.lane + lane, words }))
        }
        Opnd::Imm(v) if lane + words <= 2 => {
            let shifted = if lane == 0 { v } else { v >> 32 };
            Some(Opnd::Imm(shifted & evaluate::mask(u32::from(words))))
        }
        Opnd::Const { bank, offset } => Some(Opnd::Const { bank, offset: offset + 4 * u16::from(lane) }),
        _ => None,
    }
}

/// What `part` of a value is when the whole is `whole_of`.
fn slice_of(f: &Function, whole_of: Opnd, part: Part) -> Option<Opnd> {
    if part.words == f.words(part.value) && whole(f, Opnd::Value(part)).is_some() {
        return Some(whole_of);
    }
    slice(whole_of, part.lane, part.words)
}

fn multiply(inst: &mut Inst, changed: &mut bool) -> Outcome {
    if inst.flags != Flags::NONE || inst.neg | inst.abs != 0 || inst.pdst[0].is_some() {
        return Outcome::Stays;
    }
    if matches!(inst.srcs[0], Opnd::Imm(_)) && !matches!(inst.srcs[1], Opnd::Imm(_)) {
        inst.srcs.swap(0, 1);
        *changed = true;
    }
    let addend = inst.srcs.get(2).copied().filter(|c| *c != Opnd::None).unwrap_or(Opnd::Imm(0));
    match inst.srcs[1] {
        Opnd::Imm(0) => Outcome::Copy(addend),
        Opnd::Imm(1) if addend == Opnd::Imm(0) => Outcome::Copy(inst.srcs[0]),
        Opnd::Imm(1) => {
            inst.op = Op::Iadd3;
            inst.srcs = smallvec![inst.srcs[0], addend];
            *changed = true;
            Outcome::Stays
        }
        Opnd::Imm(c) if addend == Opnd::Imm(0) && c.is_power_of_two() => {
            inst.op = Op::Shl;
            inst.ty = if inst.ty.words() == 2 { Ty::U64 } else { Ty::U32 };
            inst.srcs = smallvec![inst.srcs[0], Opnd::Imm(u64::from(c.trailing_zeros()))];
            *changed = true;
            Outcome::Stays
        }
        _ => Outcome::Stays,
    }
}

/// A load from a known place in a constant bank is a constant operand.
fn constant_load(inst: &Inst) -> Outcome {
    let (ty, mem) = (inst.ty, inst.mem);
    let known = mem.space == Space::Const
        && mem.order == Order::Weak
        && mem.vec == 1
        && ty.bytes() >= 4
        && ty.words() <= 2;
    let Opnd::Imm(base) = inst.srcs[0] else { return Outcome::Stays };
    match u16::try_from(base.wrapping_add_signed(i64::from(inst.off))) {
        Ok(offset) if known && u32::from(offset) % ty.bytes() == 0 => {
            Outcome::Copy(Opnd::Const { bank: mem.bank, offset })
        }
        _ => Outcome::Stays,
    }
}
