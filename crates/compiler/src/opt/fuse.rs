// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fuses pairs of operations into the machine's three-input ones, as ptxas does: multiply-add, three-input add and logic, shift-add, comparisons
//! combined with predicates, and float sign changes into source modifiers.

use smallvec::smallvec;
use warpwatt_isa::{BoolOp, Flags, Op, Sub, Ty};

use super::defs::{Defs, whole};
use super::logic::depends;
use crate::ir::{Frame, Function, Inst, Opnd, PredUse, Value};

pub fn run(f: &mut Function) {
    wide_products(f);
    // Each round may make room for another: (a * b + c) + d, nested logic, …
    for _ in 0..4 {
        let defs = Defs::with_uses(f);
        let mut changed = false;
        for b in 0..f.blocks.len() {
            for i in 0..f.blocks[b].insts.len() {
                if let Some(new) = fused(f, &defs, &f.blocks[b].insts[i]) {
                    f.blocks[b].insts[i] = new;
                    changed = true;
                }
            }
        }
        super::dce::run(f);
        if !changed {
            break;
        }
    }
}

fn plain(inst: &Inst) -> bool {
    inst.guard == PredUse::TRUE
        && inst.pdst[0].is_none()
        && inst.flags == Flags::NONE
        && inst.frame == Frame::None
}

/// A register or nothing: not an immediate or a constant.
fn is_reg(o: Opnd) -> bool {
    matches!(o, Opnd::Value(_))
}

fn zero_or_none(o: Option<&Opnd>) -> bool {
    matches!(o, None | Some(Opnd::None | Opnd::Imm(0)))
}

/// `base + index * size` with a 64-bit base: one IMAD.WIDE, when every user of the product is such an addition.
fn wide_products(f: &mut Function) {
    // Scaled, extended indices become products first: (s64)x << 2, (s64)x * 4.
    let defs = Defs::with_uses(f);
    for b in 0..f.blocks.len() {
        for i in 0..f.blocks[b].insts.len() {
            if let Some(new) = extended_product(f, &defs, &f.blocks[b].insts[i]) {
                f.blocks[b].insts[i] = new;
            }
        }
    }
    let defs = Defs::with_uses(f);
    let mut adds = vec![0u32; f.values.len()];
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        if let Some((product, _)) = sum_with_product(f, &defs, inst) {
            adds[product.index()] += 1;
        }
    }
    for b in 0..f.blocks.len() {
        for i in 0..f.blocks[b].insts.len() {
            let inst = &f.blocks[b].insts[i];
            let Some((product, base)) = sum_with_product(f, &defs, inst) else { continue };
            if adds[product.index()] != defs.uses[product.index()] {
                continue;
            }
            let Some(mul) = defs.inst(f, product) else { continue };
            let mut new = mul.clone();
            new.dst = inst.dst;
            new.loc = inst.loc;
            new.srcs = smallvec![mul.srcs[0], mul.srcs[1], base];
            f.blocks[b].insts[i] = new;
        }
    }
}

/// The product and the other term of a 64-bit addition.
fn sum_with_product(f: &Function, defs: &Defs, inst: &Inst) -> Option<(Value, Opnd)> {
    if inst.op != Op::Iadd3
        || inst.ty.words() != 2
        || !plain(inst)
        || inst.neg != 0
        || !zero_or_none(inst.srcs.get(2))
    {
        return None;
    }
    for (x, base) in [(0, 1), (1, 0)] {
        let Some(value) = whole(f, inst.srcs[x]) else { continue };
        // A constant addend would cost a register pair; as an offset it may be free.
        if matches!(inst.srcs[base], Opnd::Imm(_)) {
            continue;
        }
        if let Some(mul) = defs.inst(f, value)
            && mul.op == Op::ImadWide
            && plain(mul)
            && zero_or_none(mul.srcs.get(2))
        {
            return Some((value, inst.srcs[base]));
        }
    }
    None
}

/// `(s64)x << n` and `(s64)x * c` as a wide product of 32-bit factors.
fn extended_product(f: &Function, defs: &Defs, inst: &Inst) -> Option<Inst> {
    if !plain(inst) || inst.neg | inst.abs != 0 || inst.ty.words() != 2 {
        return None;
    }
    let (source, factor) = match (inst.op, inst.srcs.get(1)?) {
        (Op::Shl, Opnd::Imm(n)) if *n < 31 => (inst.srcs[0], 1u64 << n),
        (Op::Imad, Opnd::Imm(c)) if *c < 1 << 31 => (inst.srcs[0], *c),
        _ => return None,
    };
    let (index, ty) = extended(f, defs, source)?;
    let mut new = Inst::new(Op::ImadWide, ty);
    new.dst = inst.dst;
    new.loc = inst.loc;
    let addend =
        if inst.op == Op::Imad { inst.srcs.get(2).copied().unwrap_or(Opnd::Imm(0)) } else { Opnd::Imm(0) };
    new.srcs = smallvec![index, Opnd::Imm(factor), if addend == Opnd::None { Opnd::Imm(0) } else { addend }];
    Some(new)
}

/// The 32-bit value that a 64-bit one is the extension of, with the type that says how.
fn extended(f: &Function, defs: &Defs, o: Opnd) -> Option<(Opnd, Ty)> {
    let inst = defs.of_operand(f, o)?;
    if !plain(inst) {
        return None;
    }
    match inst.op {
        Op::Cvt if inst.ty2 == Ty::S32 && inst.ty.words() == 2 => Some((inst.srcs[0], Ty::S32)),
        Op::Pack if inst.srcs.len() == 2 && is_reg(inst.srcs[0]) => {
            if inst.srcs[1] == Opnd::Imm(0) {
                return Some((inst.srcs[0], Ty::U32));
            }
            let high = defs.of_operand(f, inst.srcs[1])?;
            let sign =
                high.op == Op::Shr && high.ty == Ty::S32 && high.srcs[..] == [inst.srcs[0], Opnd::Imm(31)];
            sign.then_some((inst.srcs[0], Ty::S32))
        }
        _ => None,
    }
}

fn fused(f: &Function, defs: &Defs, inst: &Inst) -> Option<Inst> {
    if inst.guard != PredUse::TRUE {
        return None;
    }
    match inst.op {
        Op::Iadd3 => add(f, defs, inst),
        Op::Lop3 => logic(f, defs, inst),
        Op::Plop3 => predicates(f, defs, inst),
        Op::Fadd | Op::Fmul | Op::Ffma | Op::Fmnmx | Op::Fsetp | Op::Mufu => signs(f, defs, inst),
        _ => None,
    }
}

/// The definition of source `k` if this is its only use.
fn single<'a>(f: &'a Function, defs: &Defs, inst: &Inst, k: usize) -> Option<&'a Inst> {
    let value = whole(f, *inst.srcs.get(k)?)?;
    (defs.uses[value.index()] == 1).then(|| defs.inst(f, value)).flatten()
}

fn add(f: &Function, defs: &Defs, inst: &Inst) -> Option<Inst> {
    if !plain(inst) || inst.ty.words() != 1 || inst.srcs.len() != 2 {
        return None;
    }
    for k in 0..2 {
        let other = 1 - k;
        if inst.neg >> k & 1 == 1 {
            continue;
        }
        let Some(inner) = single(f, defs, inst, k).filter(|i| plain(i) && i.ty.words() == 1) else {
            continue;
        };
        let rest = inst.srcs[other];
        let rest_negated = inst.neg >> other & 1 == 1;
        let mut new = Inst::new(inner.op, inner.ty);
        new.dst = inst.dst;
        new.loc = inst.loc;
        match inner.op {
            Op::Imad if zero_or_none(inner.srcs.get(2)) && !rest_negated && inner.neg == 0 => {
                new.srcs = smallvec![inner.srcs[0], inner.srcs[1], rest];
                return Some(new);
            }
            Op::Shl if matches!(inner.srcs[1], Opnd::Imm(n) if n < 32) && !rest_negated => {
                let Opnd::Imm(n) = inner.srcs[1] else { continue };
                new.op = Op::Lea;
                new.ty = Ty::U32;
                new.ty2 = Ty::U32;
                new.sub = Sub::Shift(n as u8);
                new.srcs = smallvec![inner.srcs[0], rest];
                return Some(new);
            }
            Op::Iadd3 if inner.srcs.len() == 2 => {
                let srcs = [inner.srcs[0], inner.srcs[1], rest];
                if srcs.iter().filter(|o| !is_reg(**o)).count() > 1 {
                    continue;
                }
                new.srcs = srcs.into_iter().collect();
                new.neg = inner.neg & 3 | u8::from(rest_negated) << 2;
                return Some(new);
            }
            _ => {}
        }
    }
    None
}

fn logic(f: &Function, defs: &Defs, inst: &Inst) -> Option<Inst> {
    let Sub::Lut(outer) = inst.sub else { return None };
    if !plain(inst) || inst.srcs.len() != 3 {
        return None;
    }
    for k in 0..3 {
        if !depends(outer, k) {
            continue;
        }
        let Some(inner) = single(f, defs, inst, k)
            .filter(|i| i.op == Op::Lop3 && plain(i) && i.ty.words() == inst.ty.words())
        else {
            continue;
        };
        let Sub::Lut(inner_lut) = inner.sub else { continue };
        let mut inputs: Vec<Opnd> = Vec::new();
        let outer_used = (0..3).filter(|&j| j != k && depends(outer, j)).map(|j| inst.srcs[j]);
        let inner_used = (0..3).filter(|&j| depends(inner_lut, j)).map(|j| inner.srcs[j]);
        for o in inner_used.chain(outer_used) {
            if !inputs.contains(&o) {
                inputs.push(o);
            }
        }
        if inputs.len() > 3 || inputs.iter().filter(|o| !is_reg(**o)).count() > 1 {
            continue;
        }
        inputs.resize(3, Opnd::Imm(0));
        let mut lut = 0u8;
        for row in 0..8u8 {
            let bit_of = |o: Opnd| inputs.iter().position(|x| *x == o).map_or(0, |p| row >> (2 - p) & 1);
            let table = |lut: u8, srcs: &[Opnd], fixed: Option<(usize, u8)>| {
                let mut index = 0;
                for (j, &o) in srcs.iter().enumerate() {
                    let bit = match fixed {
                        Some((at, bit)) if at == j => bit,
                        _ if depends(lut, j) => bit_of(o),
                        _ => 0,
                    };
                    index |= bit << (2 - j);
                }
                lut >> index & 1
            };
            let inner_bit = table(inner_lut, &inner.srcs, None);
            lut |= table(outer, &inst.srcs, Some((k, inner_bit))) << row;
        }
        let mut new = inst.clone();
        new.sub = Sub::Lut(lut);
        new.srcs = inputs.into_iter().collect();
        return Some(new);
    }
    None
}

/// `setp` followed by a logical operation with another predicate: the comparison combines by itself.
fn predicates(f: &Function, defs: &Defs, inst: &Inst) -> Option<Inst> {
    let Sub::Lut(lut) = inst.sub else { return None };
    if inst.pdst[1].is_some() {
        return None;
    }
    let used: Vec<usize> = (0..3).filter(|&k| depends(lut, k)).collect();
    let [first, second] = used[..] else { return None };
    for (x, other) in [(first, second), (second, first)] {
        let Some(value) = inst.psrc[x].value.filter(|v| defs.uses[v.index()] == 1) else { continue };
        let Some(cmp) = defs.inst(f, value) else { continue };
        let fits = matches!(cmp.op, Op::Isetp | Op::Fsetp)
            && cmp.guard == PredUse::TRUE
            && cmp.pdst[1].is_none()
            && cmp.psrc[0] == PredUse::TRUE
            && !matches!(cmp.ty, Ty::F16x2 | Ty::Bf16x2)
            && cmp.ty.words() == 1
            && matches!(cmp.sub, Sub::Cmp(_, BoolOp::And));
        let Sub::Cmp(code, _) = cmp.sub else { continue };
        if !fits || inst.psrc[x].negated {
            continue;
        }
        // The other predicate must be known where the comparison now happens, which is here: later than its definition.
        let row = |c: u8, p: u8| lut >> (c << (2 - x) | p << (2 - other)) & 1;
        let table = [row(0, 0), row(0, 1), row(1, 0), row(1, 1)];
        let (combine, negate_other) = match table {
            [0, 0, 0, 1] => (BoolOp::And, false),
            [0, 0, 1, 0] => (BoolOp::And, true),
            [0, 1, 1, 1] => (BoolOp::Or, false),
            [1, 0, 1, 1] => (BoolOp::Or, true),
            [0, 1, 1, 0] => (BoolOp::Xor, false),
            _ => continue,
        };
        let mut new = cmp.clone();
        new.pdst = inst.pdst;
        new.loc = inst.loc;
        new.sub = Sub::Cmp(code, combine);
        new.psrc = [inst.psrc[other], PredUse::TRUE, PredUse::TRUE];
        new.psrc[0].negated ^= negate_other;
        return Some(new);
    }
    None
}

/// Sign changes of sources: `-x` and `|x|` are written as `FADD -x, -0`.
fn signs(f: &Function, defs: &Defs, inst: &Inst) -> Option<Inst> {
    if !matches!(inst.ty, Ty::F32 | Ty::F64) {
        return None;
    }
    if inst.op == Op::Mufu && inst.ty != Ty::F32 {
        return None;
    }
    for k in 0..inst.srcs.len() {
        // A sign change of a sign change is left alone: it is the idiom itself.
        if sign_change(inst).is_some() {
            return None;
        }
        let Some(inner) = defs.of_operand(f, inst.srcs[k]).filter(|i| i.ty == inst.ty) else { continue };
        let Some((source, negated, absolute)) = sign_change(inner) else { continue };
        if inner.flags.has(Flags::FTZ) && !inst.flags.has(Flags::FTZ) {
            continue;
        }
        if !is_reg(source) && !matches!(source, Opnd::Const { .. }) {
            continue;
        }
        let mut new = inst.clone();
        new.srcs[k] = source;
        let bit = 1 << k;
        if new.abs & bit == 0 {
            if negated {
                new.neg ^= bit;
            }
            if absolute {
                new.abs |= bit;
            }
        }
        return Some(new);
    }
    None
}

/// (source, negated, absolute) of an instruction that only changes a sign.
pub fn sign_change(inst: &Inst) -> Option<(Opnd, bool, bool)> {
    let minus_zero = match inst.ty {
        Ty::F32 => 0x8000_0000,
        Ty::F64 => 0x8000_0000_0000_0000,
        Ty::F16 | Ty::Bf16 => 0x8000,
        Ty::F16x2 | Ty::Bf16x2 => 0x8000_8000,
        _ => return None,
    };
    let is_idiom = inst.op == Op::Fadd
        && inst.guard == PredUse::TRUE
        && inst.flags.without(Flags::FTZ) == Flags::NONE
        && inst.srcs.len() == 2
        && inst.srcs[1] == Opnd::Imm(minus_zero)
        && (inst.neg | inst.abs) & 2 == 0
        && (inst.neg | inst.abs) & 1 == 1;
    is_idiom.then(|| (inst.srcs[0], inst.neg & 1 == 1, inst.abs & 1 == 1))
}
