// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions between all types (PTX ISA, "cvt"): a general kernel for each direction, and fast ones for what programs do most.

mod float;
mod from_float;
mod integer;
mod to_float;

use warpwatt_isa::{Flags, Round, Ty, Uop};

use super::half::{Brain, Half, HalfFormat};
use super::maps::row;
use super::{Args, Kernel, Level, float32};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let (to, from) = (uop.ty, uop.ty2);
    if matches!(to, Ty::B128 | Ty::Pred) || matches!(from, Ty::B128 | Ty::Pred | Ty::F16x2 | Ty::Bf16x2) {
        return None;
    }
    let packed = matches!(to, Ty::F16x2 | Ty::Bf16x2);
    if packed && from != Ty::F32 || from.is_int() && uop.neg | uop.abs != 0 {
        return None;
    }
    match (from.is_float(), to.is_float()) {
        (false, false) => integer::select(level, uop),
        (false, true) => to_float::select(level, uop),
        (true, false) => from_float::select(level, uop),
        (true, true) => float::select(level, uop),
    }
}

/// Width of a type's element in bits.
#[inline(always)]
fn bits(ty: Ty) -> u32 {
    ty.bytes() * 8
}

/// Source `source` in one lane as F64, which holds every float exactly, with sign modifiers; F32 is flushed if specified.
#[inline(always)]
unsafe fn read_float(args: &Args, uop: &Uop, source: usize, lane: usize) -> f64 {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let low = unsafe { row(args, source, 0) }[lane];
    let value = match uop.ty2 {
        Ty::F16 => f64::from(Half::widen(low & 0xffff)),
        Ty::Bf16 => f64::from(Brain::widen(low & 0xffff)),
        Ty::F32 if uop.flags.has(Flags::FTZ) => f64::from(f32::from_bits(float32::flush(low))),
        Ty::F32 => f64::from(f32::from_bits(low)),
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        _ => f64::from_bits(u64::from(low) | u64::from(unsafe { row(args, source, 1) }[lane]) << 32),
    };
    let value = if uop.abs >> source & 1 == 1 { value.abs() } else { value };
    if uop.neg >> source & 1 == 1 { -value } else { value }
}

/// The mode as a constant parameter.
const fn code(mode: Round) -> u8 {
    mode as u8
}

#[inline(always)]
const fn mode(code: u8) -> Round {
    match code {
        0 => Round::Rn,
        1 => Round::Rz,
        2 => Round::Rm,
        3 => Round::Rp,
        _ => Round::Rna,
    }
}
