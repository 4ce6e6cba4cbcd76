// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that take registers and give one register: what each computes, found under its own name.

use warpwatt_ptx::words::{Mod, Opcode};

use crate::bind::Instr;
use crate::convert;
use crate::float::{self, Arith, Special};
use crate::form::{Form, ScalarKind, Ty, mask};
use crate::integer as int;

/// Source operands of an instruction, numbered from 1 as PTX writes them after the destination.
pub trait Sources {
    fn get(&self, index: usize, ty: Ty) -> Result<u64, String>;
    fn count(&self) -> usize;
}

/// The value of the destination and its type; `None` when the instruction is of another group.
pub fn evaluate(instr: &Instr, src: &impl Sources, carry: &mut bool) -> Result<Option<(u64, Ty)>, String> {
    let form = &instr.form;
    let ty = form.ty();
    if instr.op == Opcode::Cvt {
        return convert::cvt(form, src).map(Some);
    }
    if ty.float() {
        return float_op(instr.op, form, ty, src).map(|value| value.map(|value| (value, ty)));
    }
    if let Some(value) = wide_op(instr.op, form, ty, src)? {
        return Ok(Some(value));
    }
    if let Some(value) = carry_op(instr.op, form, ty, src, carry)? {
        return Ok(Some((value, ty)));
    }
    Ok(integer_op(instr.op, form, ty, src)?.map(|(value, ty)| (value & mask(ty.bits), ty)))
}

/// Compares as `setp` and `set` do, with subnormals flushed.
pub fn compare(form: &Form, ty: Ty, a: u64, b: u64) -> Result<bool, String> {
    const WORDS: [Mod; 18] = [
        Mod::Eq,
        Mod::Ne,
        Mod::Lt,
        Mod::Le,
        Mod::Gt,
        Mod::Ge,
        Mod::Ls,
        Mod::Hs,
        Mod::Equ,
        Mod::Neu,
        Mod::Ltu,
        Mod::Leu,
        Mod::Gtu,
        Mod::Geu,
        Mod::Num,
        Mod::NanTest,
        Mod::Lo,
        Mod::Hi,
    ];
    let word = form.one_of(&WORDS).ok_or("a comparison without its operator")?;
    if ty.float() {
        let ftz = form.ftz;
        return float::compare(word, float::flush(a, ty, ftz), float::flush(b, ty, ftz), ty)
            .ok_or_else(|| format!("float comparison {word:?}"));
    }
    let (x, y) = (int::value(a, ty), int::value(b, ty));
    Ok(match word {
        Mod::Eq => x == y,
        Mod::Ne => x != y,
        Mod::Lt | Mod::Lo => x < y,
        Mod::Le | Mod::Ls => x <= y,
        Mod::Gt | Mod::Hi => x > y,
        Mod::Ge | Mod::Hs => x >= y,
        _ => return Err(format!("integer comparison {word:?}")),
    })
}

/// `.and`, `.or`, `.xor` of a comparison with a predicate.
pub fn combine(form: &Form, compared: bool, with: bool) -> bool {
    match form.one_of(&[Mod::And, Mod::Or, Mod::Xor]) {
        Some(Mod::And) => compared & with,
        Some(Mod::Or) => compared | with,
        Some(Mod::Xor) => compared ^ with,
        _ => compared,
    }
}

/// Instructions whose operands are not all of the last type.
fn wide_op(op: Opcode, form: &Form, ty: Ty, src: &impl Sources) -> Result<Option<(u64, Ty)>, String> {
    let get = |index| src.get(index, ty);
    let word = |index| src.get(index, Ty::U32).map(|value| value as u32);
    let value = match op {
        Opcode::Mul | Opcode::Mad if form.has(Mod::Wide) => {
            let double = Ty { bits: 2 * ty.bits, ..ty };
            let product = int::value(get(1)?, ty) * int::value(get(2)?, ty);
            let sum = if op == Opcode::Mad { product + i128::from(src.get(3, double)?) } else { product };
            (sum as u64 & double.mask(), double)
        }
        Opcode::Popc => (u64::from(get(1)?.count_ones()), Ty::U32),
        Opcode::Clz => (int::leading_zeros(get(1)?, ty.bits), Ty::U32),
        Opcode::Bfind => (int::find_highest(get(1)?, ty, form.has(Mod::Shiftamt)), Ty::U32),
        Opcode::Dp4a | Opcode::Dp2a => {
            let (a_ty, b_ty) = (form.types[0], form.types[1]);
            let (a, b, c) = (src.get(1, Ty::U32)?, src.get(2, Ty::U32)?, src.get(3, Ty::U32)?);
            let halves = op == Opcode::Dp2a;
            (int::dot(a, b, c, a_ty, b_ty, halves, form.has(Mod::Hi)), Ty::U32)
        }
        Opcode::Fns => (u64::from(int::find_nth_set(word(1)?, word(2)?, word(3)? as i32)), Ty::U32),
        Opcode::Slct => {
            // The types are those of the values and of the selector.
            let (of, by) = (form.types[0], form.types[1]);
            let chosen = src.get(3, by)?;
            let first = if by.float() {
                let chosen = float::flush(chosen, by, form.ftz);
                float::compare(Mod::Ge, chosen, 0, by) == Some(true)
            } else {
                int::value(chosen, by) >= 0
            };
            (src.get(if first { 1 } else { 2 }, of)?, of)
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// The chains through the carry flag. After a subtraction the flag is the borrow.
fn carry_op(
    op: Opcode,
    form: &Form,
    ty: Ty,
    src: &impl Sources,
    carry: &mut bool,
) -> Result<Option<u64>, String> {
    let sets = form.has(Mod::Cc);
    let uses = matches!(op, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    if !sets && !uses {
        return Ok(None);
    }
    let get = |index| src.get(index, ty).map(|raw| i128::from(raw & ty.mask()));
    let carried = i128::from(uses && *carry);
    let total = match op {
        Opcode::Add | Opcode::Addc => get(1)? + get(2)? + carried,
        Opcode::Sub | Opcode::Subc => get(1)? - get(2)? - carried,
        Opcode::Mad | Opcode::Madc => i128::from(half_product(form, ty, src)?) + get(3)? + carried,
        _ => return Ok(None),
    };
    if sets {
        *carry = total >> ty.bits != 0;
    }
    Ok(Some(total as u64 & ty.mask()))
}

/// The low or high half of the product of sources 1 and 2.
fn half_product(form: &Form, ty: Ty, src: &impl Sources) -> Result<u64, String> {
    let (x, y) = (int::value(src.get(1, ty)?, ty), int::value(src.get(2, ty)?, ty));
    let half = match (form.has(Mod::Hi), ty.bits == 64 && !ty.signed()) {
        (false, _) => x.wrapping_mul(y) as u64,
        // An unsigned product of 64 bits needs all of the unsigned 128.
        (true, true) => ((x as u128 * y as u128) >> 64) as u64,
        (true, false) => ((x * y) >> ty.bits) as u64,
    };
    Ok(half & ty.mask())
}

fn integer_op(op: Opcode, form: &Form, ty: Ty, src: &impl Sources) -> Result<Option<(u64, Ty)>, String> {
    let get = |index| src.get(index, ty);
    let value = |index| src.get(index, ty).map(|raw| int::value(raw, ty));
    let word = |index| src.get(index, Ty::U32).map(|value| value as u32);
    let wrap = form.has(Mod::Wrap);
    let result = match op {
        Opcode::Add if form.sat => int::clamp(value(1)? + value(2)?, ty),
        Opcode::Add => get(1)?.wrapping_add(get(2)?),
        Opcode::Sub if form.sat => int::clamp(value(1)? - value(2)?, ty),
        Opcode::Sub => get(1)?.wrapping_sub(get(2)?),
        Opcode::Mul => half_product(form, ty, src)?,
        Opcode::Mad if form.sat => {
            let high = int::value(half_product(form, ty, src)?, ty);
            int::clamp(high + value(3)?, ty)
        }
        Opcode::Mad => half_product(form, ty, src)?.wrapping_add(get(3)?),
        Opcode::Mul24 | Opcode::Mad24 => {
            let narrow = Ty { bits: 24, ..ty };
            let product = int::value(get(1)?, narrow) * int::value(get(2)?, narrow);
            let part = if form.has(Mod::Hi) { product >> 16 } else { product } as u64 & mask(32);
            match op {
                Opcode::Mul24 => part,
                _ if form.sat => int::clamp(int::value(part, ty) + value(3)?, ty),
                _ => part.wrapping_add(get(3)?),
            }
        }
        Opcode::Sad => ((value(1)? - value(2)?).unsigned_abs() as u64).wrapping_add(get(3)?),
        Opcode::Div => int::divide(get(1)?, get(2)?, ty, false),
        Opcode::Rem => int::divide(get(1)?, get(2)?, ty, true),
        Opcode::Abs => value(1)?.unsigned_abs() as u64,
        Opcode::Neg => get(1)?.wrapping_neg(),
        Opcode::Min => value(1)?.min(value(2)?) as u64,
        Opcode::Max => value(1)?.max(value(2)?) as u64,
        Opcode::Brev => int::reverse(get(1)?, ty.bits),
        Opcode::Bfe => int::extract(get(1)?, word(2)?, word(3)?, ty),
        Opcode::Bfi => int::insert(get(1)?, get(2)?, word(3)?, word(4)?, ty.bits),
        Opcode::Bmsk => u64::from(int::bit_mask(word(1)?, word(2)?, wrap)),
        Opcode::Szext => int::extend_field(get(1)?, word(2)?, wrap, ty.signed()),
        Opcode::And => get(1)? & get(2)?,
        Opcode::Or => get(1)? | get(2)?,
        Opcode::Xor => get(1)? ^ get(2)?,
        Opcode::Not if ty.kind == ScalarKind::Pred => get(1)? ^ 1,
        Opcode::Not => !get(1)?,
        Opcode::Cnot => u64::from(get(1)? == 0),
        Opcode::Shl => int::shift_left(get(1)?, word(2)?, ty.bits),
        Opcode::Shr => int::shift_right(get(1)?, word(2)?, ty),
        Opcode::Shf => u64::from(int::funnel(word(1)?, word(2)?, word(3)?, wrap, form.has(Mod::R))),
        Opcode::Lop3 => int::lop3(get(1)?, get(2)?, get(3)?, word(4)?),
        Opcode::Prmt => {
            let modes = [Mod::F4e, Mod::B4e, Mod::Rc8, Mod::Ecl, Mod::Ecr, Mod::Rc16];
            let chosen = form.one_of(&modes).and_then(|mode| int::permute_selector(mode, word(3).ok()?));
            u64::from(int::permute(word(1)?, word(2)?, chosen.map_or_else(|| word(3), Ok)?))
        }
        Opcode::Selp => {
            let first = src.get(3, Ty { kind: ScalarKind::Pred, bits: 1, lanes: 1 })? != 0;
            get(if first { 1 } else { 2 })?
        }
        _ => return Ok(None),
    };
    Ok(Some((result, ty)))
}

fn float_op(op: Opcode, form: &Form, ty: Ty, src: &impl Sources) -> Result<Option<u64>, String> {
    if op == Opcode::Selp {
        let first = src.get(3, Ty { kind: ScalarKind::Pred, bits: 1, lanes: 1 })? != 0;
        return src.get(if first { 1 } else { 2 }, ty).map(Some);
    }
    if op == Opcode::Slct {
        return Ok(wide_op(op, form, ty, src)?.map(|(value, _)| value));
    }
    let count = src.count();
    let sources = (1..=count.min(3)).map(|index| src.get(index, ty)).collect::<Result<Vec<_>, _>>()?;
    let mut result = 0;
    for lane in 0..ty.lanes {
        let part = |index: usize| sources.get(index).map_or(0, |raw| raw >> (lane * ty.bits) & mask(ty.bits));
        let Some(value) = float_lane(op, form, ty.lane(), [part(0), part(1), part(2)])? else {
            return Ok(None);
        };
        result |= value << (lane * ty.bits);
    }
    Ok(Some(result))
}

fn float_lane(op: Opcode, form: &Form, ty: Ty, raw: [u64; 3]) -> Result<Option<u64>, String> {
    let (ftz, round) = (form.ftz, form.rounding());
    let [a, b, c] = raw.map(|raw| float::flush(raw, ty, ftz));
    let negate = |raw: u64| raw ^ 1 << (ty.bits - 1);
    let arith = |op, a, b, c| float::arith(op, a, b, c, ty, round);
    let approximate = form.has(Mod::Approx);
    let rounded = match op {
        Opcode::Add => arith(Arith::Add, a, b, 0),
        Opcode::Sub => arith(Arith::Add, a, negate(b), 0),
        Opcode::Mul => arith(Arith::Mul, a, b, 0),
        Opcode::Fma | Opcode::Mad => arith(Arith::Fma, a, b, c),
        Opcode::Div => arith(Arith::Div, a, b, 0),
        Opcode::Rcp if approximate && ty.bits == 64 => float::seed64(a, false),
        Opcode::Rsqrt if ty.bits == 64 && ftz => float::seed64(a, true),
        Opcode::Rsqrt if ty.bits == 64 => (1.0 / f64::from_bits(a).sqrt()).to_bits(),
        Opcode::Rcp if !approximate => arith(Arith::Div, float::one(ty), a, 0),
        Opcode::Sqrt if !approximate => float::sqrt(a, ty, round),
        Opcode::Rcp => special(Special::Rcp, a, ty, ftz),
        Opcode::Sqrt => special(Special::Sqrt, a, ty, ftz),
        Opcode::Rsqrt => special(Special::Rsqrt, a, ty, ftz),
        Opcode::Ex2 => special(Special::Ex2, a, ty, ftz),
        Opcode::Lg2 => special(Special::Lg2, a, ty, ftz),
        Opcode::Sin => special(Special::Sin, a, ty, ftz),
        Opcode::Cos => special(Special::Cos, a, ty, ftz),
        Opcode::Tanh => special(Special::Tanh, a, ty, ftz),
        Opcode::Neg => negate(a),
        Opcode::Abs => a & float::nan(ty),
        Opcode::Min | Opcode::Max => {
            let max = op == Opcode::Max;
            float::min_max(a, b, ty, max, form.has(Mod::Nan), form.has(Mod::XorsignAbs))
        }
        Opcode::Copysign => return Ok(Some(raw[1] & float::nan(ty) | float::sign(raw[0], ty))),
        _ => return Ok(None),
    };
    let result = float::finish(rounded, ty, ftz, form.sat);
    let below_zero = float::sign(result, ty) != 0 && !float::is_nan(result, ty);
    Ok(Some(if form.has(Mod::Relu) && below_zero { 0 } else { result }))
}

/// In half precision the function is that of single precision, rounded.
fn special(op: Special, raw: u64, ty: Ty, ftz: bool) -> u64 {
    if ty == Ty::F32 {
        return float::special(op, raw, ftz);
    }
    let nearest = rustc_apfloat::Round::NearestTiesToEven;
    float::convert(float::special(op, float::convert(raw, ty, Ty::F32, nearest), false), Ty::F32, ty, nearest)
}
