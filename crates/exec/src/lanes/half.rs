// SPDX-License-Identifier: MIT OR Apache-2.0
//! Half precision and bfloat16, single and packed in pairs.
//!
//! Every operation is a × b + c in a wider format, where the product is exact and the sum is rounded to odd, so that the last rounding, to 16 bits, is the only
//! one that counts.

use std::marker::PhantomData;

use warpwatt_isa::{Flags, MinMax, Op, Round, Sub, Ty, Uop};

use super::float32::{self, Modifier};
use super::maps::{row, store};
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
    /// p × q + c, rounded to odd in F32.
    fn fma_odd(p: f32, q: f32, c: f32) -> f32;

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

    #[inline(always)]
    fn fma_odd(p: f32, q: f32, c: f32) -> f32 {
        // 22 bits of product, far from the limits of F32: exact.
        soft::add_odd32(p * q, c)
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

    #[inline(always)]
    fn fma_odd(p: f32, q: f32, c: f32) -> f32 {
        // The exponents of products go beyond F32.
        soft::narrow_odd(soft::add_odd(f64::from(p) * f64::from(q), f64::from(c)))
    }
}

/// Modifiers that act on both halves of a word.
#[inline(always)]
pub(super) fn sources(uop: &Uop) -> [Modifier<u32>; 3] {
    float32::modifiers(uop, 0x8000_8000)
}

/// The bits of a result: PTX's NaN, flushed, clamped as specified. Clamping to zero keeps NaN (PTX ISA, "fma", .relu).
#[inline(always)]
pub(super) fn finish<F: HalfFormat>(bits: u32, ftz: bool, sat: bool, relu: bool) -> u32 {
    let bits = if ftz { F::flush(bits) } else { bits };
    let nan = F::is_nan(bits);
    let negative = bits & 0x8000 != 0;
    let relu_bits = if relu & negative { 0 } else { bits };
    let capped = if bits > F::ONE { F::ONE } else { bits };
    let sat_bits = if negative | nan { 0 } else { capped };
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
        (Op::Fadd, _) => arithmetic_for::<F, PACKED, ADD>(level, uop),
        (Op::Fmul, _) => arithmetic_for::<F, PACKED, MUL>(level, uop),
        (Op::Ffma, _) => arithmetic_for::<F, PACKED, FMA>(level, uop),
        (Op::Fmnmx, Sub::MinMax(_)) => pick::<MinMaxHalf<F, PACKED>>(level),
        _ => None,
    }
}

fn arithmetic_for<F: HalfFormat, const PACKED: bool, const OP: u8>(
    level: Level,
    uop: &Uop,
) -> Option<Kernel> {
    match uop.flags.without(Flags::SPILL) {
        Flags::NONE => pick::<Arithmetic<F, PACKED, OP, true>>(level),
        _ => pick::<Arithmetic<F, PACKED, OP, false>>(level),
    }
}

/// Which modifiers of the result an operation has.
#[derive(Clone, Copy)]
struct Mode {
    ftz: bool,
    sat: bool,
    relu: bool,
}

#[inline(always)]
fn arithmetic<F: HalfFormat, const OP: u8>(a: u32, b: u32, c: u32, mode: Mode) -> u32 {
    let [a, b, c] = [a, b, c].map(|v| F::read(v & 0xffff, mode.ftz));
    let (p, q, c) = match OP {
        ADD => (a, 1.0, b),
        MUL => (a, b, -0.0),
        _ => (a, b, c),
    };
    finish::<F>(F::narrow(F::fma_odd(p, q, c)), mode.ftz, mode.sat, mode.relu)
}

/// `PLAIN`: no modifiers of the result.
struct Arithmetic<F, const PACKED: bool, const OP: u8, const PLAIN: bool>(PhantomData<F>);

impl<F: HalfFormat, const PACKED: bool, const OP: u8, const PLAIN: bool> Body
    for Arithmetic<F, PACKED, OP, PLAIN>
{
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let [ma, mb, mc] = sources(uop);
        let flags = if PLAIN { Flags::NONE } else { uop.flags };
        let mode =
            Mode { ftz: flags.has(Flags::FTZ), sat: flags.has(Flags::SAT), relu: flags.has(Flags::RELU) };
        // A loop rather than a closure, which is too long for the compiler to inline everywhere.
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let (a, b) = unsafe { (row(args, 0, 0), row(args, 1, 0)) };
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let c = if OP == FMA { unsafe { row(args, 2, 0) } } else { a };
        let mut out = [0; 32];
        for lane in 0..32 {
            let (a, b, c) = (ma.apply(a[lane]), mb.apply(b[lane]), mc.apply(c[lane]));
            out[lane] = arithmetic::<F, OP>(a, b, c, mode);
            if PACKED {
                out[lane] |= arithmetic::<F, OP>(a >> 16, b >> 16, c >> 16, mode) << 16;
            }
        }
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { store::<L>(args, 0, &out) };
    }
}

/// Minimum or maximum of two numbers in 16 bits.
#[inline(always)]
fn choose<F: HalfFormat>(a: u32, b: u32, max: bool, flags: Flags) -> u32 {
    let (ftz, propagate) = (flags.has(Flags::FTZ), flags.has(Flags::NAN));
    let xorsign = flags.has(Flags::XORSIGN_ABS);
    let [a, b] = [a & 0xffff, b & 0xffff].map(|v| if ftz { F::flush(v) } else { v });
    let sign = (a ^ b) & 0x8000;
    let magnitude = if xorsign { 0x7fff } else { 0xffff };
    let (a, b) = (a & magnitude, b & magnitude);
    // Integers ordered as the floats are, -0 below +0.
    let [oa, ob] = [a, b].map(|v| if v & 0x8000 != 0 { !(v as i32 & 0x7fff) } else { v as i32 });
    let best = if (oa > ob) == max { a } else { b };
    let best = if F::is_nan(a) { b } else { best };
    let best = if F::is_nan(b) { a } else { best };
    let nan = F::is_nan(best) | (propagate & (F::is_nan(a) | F::is_nan(b)));
    if nan { NAN } else { best | if xorsign { sign } else { 0 } }
}

struct MinMaxHalf<F, const PACKED: bool>(PhantomData<F>);

impl<F: HalfFormat, const PACKED: bool> Body for MinMaxHalf<F, PACKED> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let ([ma, mb, _], flags) = (sources(uop), uop.flags);
        let max = uop.sub == Sub::MinMax(MinMax::Max);
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let (a, b) = unsafe { (row(args, 0, 0), row(args, 1, 0)) };
        let mut out = [0; 32];
        for lane in 0..32 {
            let (a, b) = (ma.apply(a[lane]), mb.apply(b[lane]));
            out[lane] = choose::<F>(a, b, max, flags);
            if PACKED {
                out[lane] |= choose::<F>(a >> 16, b >> 16, max, flags) << 16;
            }
        }
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { store::<L>(args, 0, &out) };
    }
}
