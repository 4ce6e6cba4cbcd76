// SPDX-License-Identifier: MIT OR Apache-2.0
//! Float to float, to integral values, and packing of two halves.

use std::marker::PhantomData;

use warpwatt_isa::{Flags, Round, Ty, Uop};

use super::{code, mode, read_float};
use crate::lanes::float32::{self, flush, sources};
use crate::lanes::half::{self, Brain, Half, HalfFormat};
use crate::lanes::integral::{round32, round64};
use crate::lanes::maps::{fill, fill_wide, map1, pair, row, store};
use crate::lanes::shell::{Body, Isa, kernel, pick};
use crate::lanes::soft::{self, Format};
use crate::lanes::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let known = Flags::FTZ | Flags::SAT | Flags::RELU | Flags::ROUND_INT | Flags::SATFINITE | Flags::SPILL;
    if uop.flags.without(known) != Flags::NONE {
        return None;
    }
    let flags = uop.flags.without(Flags::SPILL | Flags::FTZ);
    let plain = flags == Flags::NONE;
    match (uop.ty, uop.ty2, uop.rnd) {
        (Ty::F32, Ty::F32, rnd) if flags == Flags::ROUND_INT => match rnd {
            Round::Rn => pick::<Integral<{ code(Round::Rn) }>>(level),
            Round::Rz => pick::<Integral<{ code(Round::Rz) }>>(level),
            Round::Rm => pick::<Integral<{ code(Round::Rm) }>>(level),
            Round::Rp => pick::<Integral<{ code(Round::Rp) }>>(level),
            Round::Rna => None,
        },
        (Ty::F64, Ty::F32, _) if plain => pick::<SingleDouble>(level),
        (Ty::F32, Ty::F64, Round::Rn) if plain => pick::<DoubleSingle>(level),
        (Ty::F32, Ty::F16, _) if plain => pick::<Widen<Half>>(level),
        (Ty::F32, Ty::Bf16, _) if plain => pick::<Widen<Brain>>(level),
        (Ty::F16, Ty::F32, Round::Rn) if plain => pick::<Narrow<Half>>(level),
        (Ty::Bf16, Ty::F32, Round::Rn) if plain => pick::<Narrow<Brain>>(level),
        (Ty::F16x2, Ty::F32, Round::Rn) if plain => pick::<Pack<Half>>(level),
        (Ty::Bf16x2, Ty::F32, Round::Rn) if plain => pick::<Pack<Brain>>(level),
        (Ty::F16x2 | Ty::Bf16x2, ..) => pick::<PackGeneral>(level),
        _ => pick::<General>(level),
    }
}

kernel!(Integral<const MODE: u8>, |L, args, uop| {
    let (modifier, ftz) = (sources(uop)[0], uop.flags.has(Flags::FTZ));
    map1::<L>(args, |a| {
        let a = modifier.apply(a);
        let value = f32::from_bits(if ftz { flush(a) } else { a });
        float32::finish(round32(value, mode(MODE)), false, false)
    });
});

kernel!(SingleDouble, |L, args, uop| {
    let (modifier, ftz, a) = (sources(uop)[0], uop.flags.has(Flags::FTZ), row(args, 0, 0));
    fill_wide::<L>(args, |lane| {
        let a = modifier.apply(a[lane]);
        let value = f64::from(f32::from_bits(if ftz { flush(a) } else { a }));
        if value.is_nan() { crate::lanes::float64::NAN } else { value.to_bits() }
    });
});

kernel!(DoubleSingle, |L, args, uop| {
    let (modifier, ftz) = (crate::lanes::float64::sources(uop)[0], uop.flags.has(Flags::FTZ));
    let a = pair(args, 0);
    fill::<L>(args, |lane| float32::finish(f64::from_bits(modifier.apply(a.get(lane))) as f32, ftz, false));
});

struct Widen<F>(PhantomData<F>);

impl<F: HalfFormat> Body for Widen<F> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let (modifier, ftz) = (half::sources(uop)[0], uop.flags.has(Flags::FTZ));
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { map1::<L>(args, |a| float32::finish(F::widen(modifier.apply(a) & 0xffff), ftz, false)) };
    }
}

/// One F32 to 16 bits, to nearest even.
#[inline(always)]
fn to_half<F: HalfFormat>(bits: u32, ftz: bool) -> u32 {
    let value = f32::from_bits(if ftz { flush(bits) } else { bits });
    half::finish::<F>(F::narrow(value), false, false, false)
}

struct Narrow<F>(PhantomData<F>);

impl<F: HalfFormat> Body for Narrow<F> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let (modifier, ftz) = (sources(uop)[0], uop.flags.has(Flags::FTZ));
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { map1::<L>(args, |a| to_half::<F>(modifier.apply(a), ftz)) };
    }
}

struct Pack<F>(PhantomData<F>);

impl<F: HalfFormat> Body for Pack<F> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let ([ma, mb, _], ftz) = (sources(uop), uop.flags.has(Flags::FTZ));
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let (a, b) = unsafe { (row(args, 0, 0), row(args, 1, 0)) };
        let mut out = [0; 32];
        for lane in 0..32 {
            let (high, low) = (ma.apply(a[lane]), mb.apply(b[lane]));
            out[lane] = to_half::<F>(high, ftz) << 16 | to_half::<F>(low, ftz);
        }
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { store::<L>(args, 0, &out) };
    }
}

/// Any float to any format, with all modifiers.
#[inline(always)]
fn convert(value: f64, to: Format, uop: &Uop) -> u64 {
    let flags = uop.flags;
    let value = if flags.has(Flags::ROUND_INT) { round64(value, uop.rnd) } else { value };
    if flags.has(Flags::SAT) && (value.is_nan() || value <= 0.0) {
        return 0;
    }
    let value = if flags.has(Flags::SAT) && value > 1.0 { 1.0 } else { value };
    let bits = soft::narrow(value, to, uop.rnd);
    let ftz = flags.has(Flags::FTZ) && uop.ty == Ty::F32;
    let bits = if ftz && to.is_subnormal(bits) { bits & to.sign() } else { bits };
    if flags.has(Flags::RELU) && !value.is_nan() && bits & to.sign() != 0 {
        return 0;
    }
    let infinite = bits & !to.sign() == to.infinity();
    if flags.has(Flags::SATFINITE) && infinite { bits - 1 } else { bits }
}

kernel!(General, |L, args, uop| {
    let to = Format::of(uop.ty);
    let mut values = [0u64; 32];
    for (lane, out) in values.iter_mut().enumerate() {
        *out = convert(read_float(args, uop, 0, lane), to, uop);
    }
    match uop.ty {
        Ty::F64 => fill_wide::<L>(args, |lane| values[lane]),
        _ => fill::<L>(args, |lane| values[lane] as u32),
    }
});

kernel!(PackGeneral, |L, args, uop| {
    let to = Format::of(uop.ty);
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        let [high, low] = [0, 1].map(|source| convert(read_float(args, uop, source, lane), to, uop) as u32);
        *out = high << 16 | low;
    }
    fill::<L>(args, |lane| out[lane]);
});
