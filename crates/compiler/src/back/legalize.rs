// SPDX-License-Identifier: MIT OR Apache-2.0
//! From operations of any width to operations of the machine, still in SSA, now by words: every word of a value has one definition.
//!
//! 64-bit integer work is split in `wide`; here operands are moved into slots that can hold them (`operands`), values that are only glued
//! together from parts are read where the parts are, and bit fields with known positions become shifts and masks.

use rustc_hash::FxHashMap;
use warpwatt_isa::{Flags, Op, Space, Sub, Ty, src_words};

use super::operands::{Rule, arity, canonicalise, encode_imm, is_register, rule};
use crate::cfg::Cfg;
use crate::ir::{BlockId, Frame, Function, Inst, Opnd, Part, PredUse, Term, Value};

pub(super) struct Legalizer<'a> {
    pub(super) f: &'a mut Function,
    out: Vec<Inst>,
    /// Words of packed values, and their sources.
    glued: FxHashMap<(Value, u8), Opnd>,
    /// Constants that were put into registers in this block.
    constants: FxHashMap<(Opnd, u32), Value>,
    loc: u32,
}

pub(super) fn run(f: &mut Function, cfg: &Cfg) {
    let mut l = Legalizer {
        f,
        out: Vec::new(),
        glued: FxHashMap::default(),
        constants: FxHashMap::default(),
        loc: 0,
    };
    for &b in &cfg.order {
        l.block(b);
    }
    for b in l.f.block_ids() {
        if !cfg.reachable(b) {
            let block = l.f.block_mut(b);
            block.insts.clear();
            block.term = Term::Unreachable;
        }
    }
}

impl Legalizer<'_> {
    fn block(&mut self, b: BlockId) {
        self.constants.clear();
        let insts = std::mem::take(&mut self.f.block_mut(b).insts);
        self.out = Vec::with_capacity(insts.len() + insts.len() / 2);
        for inst in insts {
            self.loc = inst.loc;
            self.inst(inst);
        }
        let mut term = std::mem::replace(&mut self.f.block_mut(b).term, Term::Unreachable);
        if let Term::Table { index, loc, .. } = &mut term {
            self.loc = *loc;
            *index = self.word(*index, 0);
            if !matches!(index, Opnd::Value(_)) {
                *index = self.in_register(*index, 1);
            }
        }
        let block = self.f.block_mut(b);
        block.term = term;
        block.insts = std::mem::take(&mut self.out);
    }

    fn inst(&mut self, mut inst: Inst) {
        match inst.op {
            Op::Phi | Op::Undef => return self.out.push(inst),
            Op::Nop => return,
            Op::Pack => return self.pack(inst),
            Op::Part => return self.part(inst),
            _ => {}
        }
        let wide = inst.dst.is_some_and(|d| d.words > 1);
        match inst.op {
            Op::Mov if inst.ty == Ty::Pred => {
                inst.op = Op::Plop3;
                inst.sub = Sub::Lut(0xf0);
                inst.srcs.clear();
                self.out.push(inst);
            }
            Op::Mov | Op::Sel if wide => self.by_words(&inst),
            Op::Lop3 if wide => self.wide_logic(&inst),
            Op::Iadd3 if wide => self.wide_add(&inst),
            Op::Imad if wide => self.wide_mad(&inst),
            Op::Shl if wide => self.wide_shl(&inst),
            Op::Shr if wide => self.wide_shr(&inst),
            Op::Imnmx if wide => self.wide_minmax(&inst),
            Op::Iabs if wide => self.wide_abs(&inst),
            Op::Isetp if inst.ty.words() == 2 => self.wide_compare(&inst),
            Op::Bfe if self.known_field(&inst, 1) => self.field_extract(&inst),
            Op::Bfi if self.known_field(&inst, 2) => self.field_insert(&inst),
            _ => {
                if matches!(inst.op, Op::Iadd3) {
                    fold_negated_immediates(&mut inst);
                }
                self.emit(inst);
            }
        }
    }

    /// Word `i` of an operand, read from its source if it was only packed into a wider value.
    pub(super) fn word(&self, o: Opnd, i: u8) -> Opnd {
        match o {
            Opnd::None => Opnd::None,
            Opnd::Imm(bits) => Opnd::Imm(if i < 2 { bits >> (32 * u32::from(i)) & 0xffff_ffff } else { 0 }),
            Opnd::Const { bank, offset } => Opnd::Const { bank, offset: offset + 4 * u16::from(i) },
            Opnd::Sp => {
                if i == 0 {
                    Opnd::Sp
                } else {
                    Opnd::Imm(0)
                }
            }
            Opnd::Value(p) if p.words == 0 => o,
            Opnd::Value(p) if i >= p.words => Opnd::Imm(0),
            Opnd::Value(p) => {
                let lane = p.lane + i;
                self.glued.get(&(p.value, lane)).copied().unwrap_or(Opnd::Value(Part {
                    value: p.value,
                    lane,
                    words: 1,
                }))
            }
        }
    }

    /// A new instruction at the place of `like`, guarded as it is.
    pub(super) fn make(&self, like: &Inst, op: Op, ty: Ty, dst: Option<Part>, srcs: &[Opnd]) -> Inst {
        let mut inst = Inst::new(op, ty);
        inst.guard = like.guard;
        inst.dst = dst;
        inst.srcs = srcs.iter().copied().collect();
        inst.loc = like.loc;
        inst
    }

    /// A new one-word value computed at the place of `like`.
    pub(super) fn temp(&mut self, like: &Inst, op: Op, ty: Ty, srcs: &[Opnd]) -> Opnd {
        let value = self.f.new_value(1);
        let part = self.f.whole(value);
        let inst = self.make(like, op, ty, Some(part), srcs);
        self.emit(inst);
        Opnd::Value(part)
    }

    /// Word `i` of `like`'s result.
    pub(super) fn dst_word(&self, like: &Inst, i: u8) -> (Option<Part>, Opnd) {
        let d = like.dst.map(|d| Part { value: d.value, lane: d.lane + i, words: 1 });
        (d, self.word(like.keep, i))
    }

    /// Defines word `i` of `like`'s result.
    pub(super) fn define(&mut self, like: &Inst, i: u8, op: Op, ty: Ty, srcs: &[Opnd]) {
        let (dst, keep) = self.dst_word(like, i);
        let mut inst = self.make(like, op, ty, dst, srcs);
        inst.keep = keep;
        self.emit(inst);
    }

    fn pack(&mut self, inst: Inst) {
        let Some(dst) = inst.dst else { return };
        let mut lane = 0;
        for &src in &inst.srcs {
            // A constant fills one word.
            let words = if let Opnd::Value(p) = src { p.words } else { 1 };
            for i in 0..words {
                let word = self.word(src, i);
                if inst.guard == PredUse::TRUE {
                    self.glued.insert((dst.value, dst.lane + lane), word);
                }
                self.define(&inst, lane, Op::Mov, Ty::U32, &[word]);
                lane += 1;
            }
        }
    }

    fn part(&mut self, inst: Inst) {
        let (Some(dst), Sub::Part(i)) = (inst.dst, inst.sub) else { return };
        for lane in 0..dst.words {
            let word = self.word(inst.srcs[0], i + lane);
            if inst.guard == PredUse::TRUE {
                self.glued.insert((dst.value, dst.lane + lane), word);
            }
            self.define(&inst, lane, Op::Mov, Ty::U32, &[word]);
        }
    }

    fn by_words(&mut self, inst: &Inst) {
        let words = inst.dst.map_or(0, |d| d.words);
        for i in 0..words {
            let (dst, keep) = self.dst_word(inst, i);
            let srcs: Vec<Opnd> = inst.srcs.iter().map(|&s| self.word(s, i)).collect();
            if let (Op::Mov, &PredUse::TRUE, Some(d)) = (inst.op, &inst.guard, dst) {
                self.glued.insert((d.value, d.lane), srcs[0]);
            }
            let mut part = self.make(inst, inst.op, Ty::U32, dst, &srcs);
            part.psrc = inst.psrc;
            part.keep = keep;
            self.emit(part);
        }
    }

    fn known_field(&self, inst: &Inst, first: usize) -> bool {
        let known = |i: usize| matches!(inst.srcs.get(i), Some(Opnd::Imm(_)));
        known(first) && known(first + 1) && inst.dst.is_some_and(|d| d.words == 1)
    }

    fn field_of(inst: &Inst, first: usize) -> (u32, u32) {
        let byte = |i: usize| match inst.srcs[i] {
            Opnd::Imm(bits) => bits as u32 & 0xff,
            _ => 0,
        };
        (byte(first), byte(first + 1))
    }

    fn field_extract(&mut self, inst: &Inst) {
        let (at, length) = Self::field_of(inst, 1);
        let a = self.word(inst.srcs[0], 0);
        let imm = |v: u32| Opnd::Imm(u64::from(v));
        let signed = inst.ty.is_signed();
        if length == 0 || (at >= 32 && !signed) {
            self.define(inst, 0, Op::Mov, Ty::U32, &[Opnd::Imm(0)]);
        } else if at + length >= 32 {
            // The field is cut at bit 31, where a signed one takes its sign.
            let ty = if signed { Ty::S32 } else { Ty::U32 };
            self.define(inst, 0, Op::Shr, ty, &[a, imm(at.min(if signed { 31 } else { 32 }))]);
        } else if signed {
            let up = self.temp(inst, Op::Shl, Ty::U32, &[a, imm(32 - at - length)]);
            self.define(inst, 0, Op::Shr, Ty::S32, &[up, imm(32 - length)]);
        } else {
            let down = if at == 0 { a } else { self.temp(inst, Op::Shr, Ty::U32, &[a, imm(at)]) };
            self.define_logic(inst, 0, 0xc0, [down, imm((1 << length) - 1), Opnd::Imm(0)]);
        }
    }

    fn field_insert(&mut self, inst: &Inst) {
        let (at, length) = Self::field_of(inst, 2);
        let (a, b) = (self.word(inst.srcs[0], 0), self.word(inst.srcs[1], 0));
        if at >= 32 || length == 0 {
            return self.define(inst, 0, Op::Mov, Ty::U32, &[b]);
        }
        let low = if length >= 32 { u32::MAX } else { (1 << length) - 1 };
        let mask = low << at;
        let up = if at == 0 { a } else { self.temp(inst, Op::Shl, Ty::U32, &[a, Opnd::Imm(u64::from(at))]) };
        // mask ? up : b, as a truth table over (up, b, mask)
        self.define_logic(inst, 0, 0xe4, [up, b, Opnd::Imm(u64::from(mask))]);
    }

    /// Brings the operands into legal slots and appends the instruction.
    pub(super) fn emit(&mut self, mut inst: Inst) {
        for src in &mut inst.srcs {
            if let Opnd::Value(p) = *src
                && p.words == 1
                && let Some(&from) = self.glued.get(&(p.value, p.lane))
            {
                *src = from;
            }
        }
        if matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cctl) {
            self.address(&mut inst);
        }
        while inst.srcs.len() < arity(inst.op) {
            inst.srcs.push(Opnd::Imm(0));
        }
        canonicalise(&mut inst);
        let width =
            |inst: &Inst, i: usize| src_words(inst.op, inst.ty, inst.ty2, inst.sub, &inst.mem, i).max(1);
        let (mask, one) = match rule(inst.op) {
            Rule::One(mask) => (mask, true),
            Rule::Any(mask) => (mask, false),
        };
        let stays = |inst: &Inst, i: usize| {
            let ty = if inst.op == Op::Cvt { inst.ty2 } else { inst.ty };
            let fits = match inst.srcs[i] {
                Opnd::Imm(bits) => {
                    encode_imm(bits, width(inst, i), ty).is_some() && !(inst.op == Op::ImadWide && i == 2)
                }
                _ => true,
            };
            mask >> i & 1 == 1 && fits && !is_register(inst.srcs[i])
        };
        // The widest stays: it would take the most moves.
        let kept = (0..inst.srcs.len()).rev().filter(|&i| stays(&inst, i)).max_by_key(|&i| width(&inst, i));
        for i in 0..inst.srcs.len() {
            let free = stays(&inst, i) && (!one || kept == Some(i));
            if !is_register(inst.srcs[i]) && !free {
                inst.srcs[i] = self.in_register(inst.srcs[i], width(&inst, i));
            }
        }
        self.out.push(inst);
    }

    /// An absolute address becomes an offset from RZ where it fits.
    fn address(&mut self, inst: &mut Inst) {
        let Some(&Opnd::Imm(base)) = inst.srcs.first() else { return };
        if inst.frame != Frame::None {
            return;
        }
        let wide = matches!(inst.mem.space, Space::Generic | Space::Global);
        let base = if wide { base as i64 } else { i64::from(base as u32) };
        if let Ok(off) = i32::try_from(base + i64::from(inst.off))
            && (!wide || off >= 0)
        {
            inst.srcs[0] = Opnd::Imm(0);
            inst.off = off;
        }
    }

    /// A register (or run of registers) that holds a constant.
    fn in_register(&mut self, o: Opnd, words: u32) -> Opnd {
        let value = match self.constants.get(&(o, words)) {
            Some(&value) => value,
            None => {
                let value = self.f.new_value(words as u8);
                for lane in 0..words as u8 {
                    let mut mov = Inst::new(Op::Mov, Ty::U32);
                    mov.dst = Some(Part { value, lane, words: 1 });
                    mov.srcs.push(self.word(o, lane));
                    mov.loc = self.loc;
                    self.out.push(mov);
                }
                self.constants.insert((o, words), value);
                value
            }
        };
        Opnd::Value(self.f.whole(value))
    }
}

/// `a - 5` is `a + (-5)`. A negated zero stays: it carries out.
fn fold_negated_immediates(inst: &mut Inst) {
    for i in 0..inst.srcs.len() {
        let Opnd::Imm(bits) = inst.srcs[i] else { continue };
        let bits = bits as u32;
        if inst.neg >> i & 1 == 0 {
            continue;
        }
        let folded = if inst.flags.has(Flags::CARRY_IN) {
            !bits
        } else if bits != 0 || inst.pdst[0].is_none() {
            bits.wrapping_neg()
        } else {
            continue;
        };
        inst.srcs[i] = Opnd::Imm(u64::from(folded));
        inst.neg &= !(1 << i);
    }
}
