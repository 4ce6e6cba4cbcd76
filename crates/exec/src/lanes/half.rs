// SPDX-License-Identifier: MIT OR Apache-2.0
//! Half precision and bfloat16, single and packed in pairs.
//!
//! Every operation is a × b + c in F64, where the product is exact; the sum and its narrowing to F32 are rounded to odd, so that the last rounding, to 16 bits,
//! is the only one that counts.

use std::marker::PhantomData;

use warpwatt_isa::{Flags, MinMax, Op, Round, Sub, Ty, Uop};

use super::float32::{self, Modifier};
use super::maps::{map2, map3};
use super::shell::{Body, Isa, pick};
use super::{Args, Kernel, Level, soft};

/// PTX's NaN in both formats.
pub(super) const NAN: u32 = 0x7fff;

/// Conversion between 16 bits and F32.
pub(super) trait HalfFormat {
    const INFINITY: u32;
    const ONE: u32;
    /// Exact.
    fn widen(bits: u32) -> f32;
    /// To nearest even; any NaN becomes some NaN.
    fn narrow(value: f32) -> u32;

    #[inline(always)]
    fn flush(bits: u32) -> u32 {
        if bits & Self::INFINITY == 0 { bits & 0x8000 } else { bits }
    }

    #[inline(always)]
    fn read(bits: u32, ftz: bool) -> f32 {
        Self::widen(if ftz { Self::flush(bits) } else { bits })
    }

    #[inline(always)]
    fn is_nan(bits: u32) -> bool {
        bits & 0x7fff > Self::INFINITY
    }
}

pub(super) struct Half;

impl HalfFormat for Half {
    const INFINITY: u32 = 0x7c00;
    const ONE: u32 = 0x3c00;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        // Read as an F32 whose exponent is too small by 112, subnormal numbers included; the multiplication corrects it exactly.
        const TWO_112: f32 = f32::from_bits((127 + 112) << 23);
        let shifted = (bits & 0x7fff) << 13;
        let magnitude = (f32::from_bits(shifted) * TWO_112).to_bits();
        let special = if bits & 0x7c00 == 0x7c00 { shifted | 0x7f80_0000 } else { magnitude };
        f32::from_bits(special | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> u32 {
        let bits = value.to_bits();
        let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
        // Below 2^-14 the last place is worth 2^-24, which is the last place of numbers around one half.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let normal = magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
        let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
        let large = if magnitude > 0x7f80_0000 { NAN } else { 0x7c00 };
        sign | if magnitude >= 0x4780_0000 { large } else { finite }
    }
}

pub(super) struct Brain;

impl HalfFormat for Brain {
    const INFINITY: u32 = 0x7f80;
    const ONE: u32 = 0x3f80;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> u32 {
        let bits = value.to_bits();
        let rounded = (bits & 0x7fff_ffff).wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        bits >> 16 & 0x8000 | if value.is_nan() { NAN } else { rounded }
    }
}

/// Modifiers that act on both halves of a word.
#[inline(always)]
pub(super) fn sources(uop: &Uop) -> [Modifier<u32>; 3] {
    float32::modifiers(uop, 0x8000_8000)
}

/// The bits of a result: PTX's NaN, flushed, clamped as told. Clamping to zero keeps NaN (PTX ISA, "fma", .relu).
#[inline(always)]
pub(super) fn finish<F: HalfFormat>(bits: u32, ftz: bool, sat: bool, relu: bool) -> u32 {
    let bits = if ftz { F::flush(bits) } else { bits };
    let nan = F::is_nan(bits);
    let negative = bits & 0x8000 != 0;
    let relu_bits = if relu && negative { 0 } else { bits };
    let capped = if bits > F::ONE { F::ONE } else { bits };
    let sat_bits = if negative || nan { 0 } else { capped };
    let number = if nan { NAN } else { relu_bits };
    if sat { sat_bits } else { number }
}

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    match uop.ty {
        Ty::F16 => select_for::<Half, false>(level, uop),
        Ty::F16x2 => select_for::<Half, true>(level, uop),
        Ty::Bf16 => select_for::<Brain, false>(level, uop),
        Ty::Bf16x2 => select_for::<Brain, true>(level, uop),
        _ => None,
    }
}

const ADD: u8 = 0;
const MUL: u8 = 1;
const FMA: u8 = 2;

fn select_for<F: HalfFormat, const PACKED: bool>(level: Level, uop: &Uop) -> Option<Kernel> {
    let known = match uop.op {
        Op::Fmnmx => Flags::FTZ | Flags::NAN | Flags::XORSIGN_ABS,
        _ => Flags::FTZ | Flags::SAT | Flags::RELU,
    };
    if uop.rnd != Round::Rn || uop.flags.without(known | Flags::SPILL) != Flags::NONE {
        return None;
    }
    match (uop.op, uop.sub) {
        (Op::Fadd, _) => pick::<Arithmetic<F, PACKED, ADD>>(level),
        (Op::Fmul, _) => pick::<Arithmetic<F, PACKED, MUL>>(level),
        (Op::Ffma, _) => pick::<Arithmetic<F, PACKED, FMA>>(level),
        (Op::Fmnmx, Sub::MinMax(_)) => pick::<MinMaxHalf<F, PACKED>>(level),
        _ => None,
    }
}

struct Arithmetic<F, const PACKED: bool, const OP: u8>(PhantomData<F>);

impl<F: HalfFormat, const PACKED: bool, const OP: u8> Body for Arithmetic<F, PACKED, OP> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let [ma, mb, mc] = sources(uop);
        let flags = uop.flags;
        let (ftz, sat, relu) = (flags.has(Flags::FTZ), flags.has(Flags::SAT), flags.has(Flags::RELU));
        let one = |a: u32, b: u32, c: u32| {
            let read = |v: u32| f64::from(F::read(v & 0xffff, ftz));
            let (p, c) = match OP {
                ADD => (read(a), read(b)),
                MUL => (read(a) * read(b), -0.0),
                _ => (read(a) * read(b), read(c)),
            };
            finish::<F>(F::narrow(soft::narrow_odd(soft::add_odd(p, c))), ftz, sat, relu)
        };
        let all = |a: u32, b: u32, c: u32| {
            let (a, b, c) = (ma.apply(a), mb.apply(b), mc.apply(c));
            let low = one(a, b, c);
            if PACKED { low | one(a >> 16, b >> 16, c >> 16) << 16 } else { low }
        };
        unsafe {
            match OP {
                FMA => map3(args, all),
                _ => map2(args, |a, b| all(a, b, 0)),
            }
        }
    }
}

struct MinMaxHalf<F, const PACKED: bool>(PhantomData<F>);

impl<F: HalfFormat, const PACKED: bool> Body for MinMaxHalf<F, PACKED> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let [ma, mb, _] = sources(uop);
        let flags = uop.flags;
        let (ftz, propagate) = (flags.has(Flags::FTZ), flags.has(Flags::NAN));
        let (xorsign, max) = (flags.has(Flags::XORSIGN_ABS), uop.sub == Sub::MinMax(MinMax::Max));
        // Integers ordered as the floats are, -0 below +0.
        let order = |v: u32| if v & 0x8000 != 0 { !(v as i32 & 0x7fff) } else { v as i32 };
        let one = |a: u32, b: u32| {
            let read = |v: u32| if ftz { F::flush(v & 0xffff) } else { v & 0xffff };
            let (a, b) = (read(a), read(b));
            let sign = (a ^ b) & 0x8000;
            let magnitude = if xorsign { 0x7fff } else { 0xffff };
            let (a, b) = (a & magnitude, b & magnitude);
            let best = if (order(a) > order(b)) == max { a } else { b };
            let best = if F::is_nan(a) { b } else { best };
            let best = if F::is_nan(b) { a } else { best };
            let nan = F::is_nan(best) || propagate && (F::is_nan(a) || F::is_nan(b));
            if nan { NAN } else { best | if xorsign { sign } else { 0 } }
        };
        unsafe {
            map2(args, |a, b| {
                let (a, b) = (ma.apply(a), mb.apply(b));
                let low = one(a, b);
                if PACKED { low | one(a >> 16, b >> 16) << 16 } else { low }
            });
        }
    }
}
