// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer operations on constants. Floating point is left to the machine: its rules live in one place only.

use warpwatt_isa::{Cmp, Flags, MinMax, Op, Sub, Ty};

use crate::ir::Inst;

pub fn mask(words: u32) -> u64 {
    if words >= 2 { u64::MAX } else { 0xffff_ffff }
}

/// The result of an instruction whose sources are all constants `v`, if it is one we fold.
pub fn integer(inst: &Inst, v: &[u64]) -> Option<u64> {
    if inst.flags.has(Flags::CARRY_IN) || inst.flags.has(Flags::SAT) || inst.pdst[0].is_some() {
        return None;
    }
    if !matches!(inst.ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64) {
        return None;
    }
    let wide = inst.ty.words() == 2;
    let m = mask(inst.ty.words());
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as u32 as i32) };
    let get = |i: usize| v.get(i).copied().unwrap_or(0);
    let term = |i: usize| if inst.neg >> i & 1 == 1 { get(i).wrapping_neg() } else { get(i) };
    if inst.neg != 0 && inst.op != Op::Iadd3 || inst.abs != 0 {
        return None;
    }
    let (a, b, c) = (get(0), get(1), get(2));
    let bits = u64::from(inst.ty.words()) * 32;
    let result = match inst.op {
        Op::Iadd3 => term(0).wrapping_add(term(1)).wrapping_add(term(2)),
        Op::Imad => a.wrapping_mul(b).wrapping_add(c),
        Op::ImadWide => {
            let product = match inst.ty {
                Ty::S32 => i64::from(a as u32 as i32).wrapping_mul(i64::from(b as u32 as i32)) as u64,
                Ty::U32 => u64::from(a as u32) * u64::from(b as u32),
                _ => return None,
            };
            return Some(product.wrapping_add(c));
        }
        Op::ImadHi if !wide => {
            let high = match inst.ty {
                Ty::S32 => (i64::from(a as u32 as i32) * i64::from(b as u32 as i32)) as u64 >> 32,
                _ => (u64::from(a as u32) * u64::from(b as u32)) >> 32,
            };
            high.wrapping_add(c)
        }
        Op::Lop3 => {
            let Sub::Lut(lut) = inst.sub else { return None };
            lop3(lut, a, b, c)
        }
        Op::Shl | Op::Shr if inst.flags != Flags::NONE => return None,
        Op::Shl => {
            let n = b & 0xffff_ffff;
            if n >= bits { 0 } else { a << n }
        }
        Op::Shr => {
            let n = (b & 0xffff_ffff).min(bits);
            if inst.ty.is_signed() {
                (signed(a) >> n.min(bits - 1)) as u64
            } else if n >= bits {
                0
            } else {
                (a & m) >> n
            }
        }
        Op::Imnmx => {
            let Sub::MinMax(which) = inst.sub else { return None };
            let a_less = if inst.ty.is_signed() { signed(a) < signed(b) } else { a & m < b & m };
            if a_less == (which == MinMax::Min) { a } else { b }
        }
        _ => return None,
    };
    Some(result & m)
}

pub fn lop3(lut: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut result = 0;
    for row in 0..8u8 {
        if lut >> row & 1 == 1 {
            let pick = |v: u64, bit: u8| if row >> bit & 1 == 1 { v } else { !v };
            result |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    result
}

/// An integer comparison of constants.
pub fn compare(ty: Ty, cmp: Cmp, a: u64, b: u64) -> Option<bool> {
    let m = mask(ty.words());
    let (a, b) = (a & m, b & m);
    let less = match ty {
        Ty::S32 => (a as u32 as i32) < (b as u32 as i32),
        Ty::S64 => (a as i64) < (b as i64),
        Ty::U32 | Ty::U64 => a < b,
        _ => return None,
    };
    Some(match cmp {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Lt => less,
        Cmp::Le => less || a == b,
        Cmp::Gt => !less && a != b,
        Cmp::Ge => !less,
        _ => return None,
    })
}
