// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single precision: add, multiply, fused multiply-add, minimum and maximum.
//!
//! Rounding to nearest is the host's. The directed modes compute in F64, where a product is exact and a sum is rounded to odd, and round once more.

use warpwatt_isa::{Flags, MinMax, Op, Round, Sub, Uop};

use super::maps::{map2, map3, row, store};
use super::shell::{Isa, kernel, pick};
use super::{Kernel, Level, soft};

pub(super) const NAN: u32 = 0x7fff_ffff;

/// The sign modifiers of a source, as masks.
#[derive(Clone, Copy)]
pub(super) struct Modifier<T> {
    pub(super) keep: T,
    pub(super) flip: T,
}

impl Modifier<u32> {
    #[inline(always)]
    pub(super) fn apply(self, bits: u32) -> u32 {
        bits & self.keep ^ self.flip
    }
}

impl Modifier<u64> {
    #[inline(always)]
    pub(super) fn apply(self, bits: u64) -> u64 {
        bits & self.keep ^ self.flip
    }
}

/// Modifiers of the first three sources of 32-bit floats (or of packed halves), given the sign bits.
#[inline(always)]
pub(super) fn modifiers(uop: &Uop, signs: u32) -> [Modifier<u32>; 3] {
    [0, 1, 2].map(|i| Modifier {
        keep: if uop.abs >> i & 1 == 1 { !signs } else { !0 },
        flip: if uop.neg >> i & 1 == 1 { signs } else { 0 },
    })
}

#[inline(always)]
pub(super) fn sources(uop: &Uop) -> [Modifier<u32>; 3] {
    modifiers(uop, 1 << 31)
}

/// Subnormal numbers become zero of the same sign.
#[inline(always)]
pub(super) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Clamps to [0, 1]; NaN and -0 become +0.
#[inline(always)]
pub(super) fn saturate(value: f32) -> f32 {
    let low = if value > 0.0 { value } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// The bits of a result: PTX's NaN, flushed and saturated as specified.
#[inline(always)]
pub(super) fn finish(value: f32, ftz: bool, sat: bool) -> u32 {
    if sat {
        let bits = saturate(value).to_bits();
        return if ftz { flush(bits) } else { bits };
    }
    let bits = if value.is_nan() { NAN } else { value.to_bits() };
    if ftz { flush(bits) } else { bits }
}

const ADD: u8 = 0;
const MUL: u8 = 1;
const FMA: u8 = 2;

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let known = match uop.op {
        Op::Fmnmx => Flags::FTZ | Flags::NAN | Flags::XORSIGN_ABS,
        _ => Flags::FTZ | Flags::SAT,
    };
    if uop.flags.without(known | Flags::SPILL) != Flags::NONE {
        return None;
    }
    let op = match uop.op {
        Op::Fadd => ADD,
        Op::Fmul => MUL,
        Op::Ffma => FMA,
        Op::Fmnmx => return minmax(level, uop),
        _ => return None,
    };
    match (uop.rnd, op) {
        (Round::Rn, ADD) => nearest::<ADD>(level, uop),
        (Round::Rn, MUL) => nearest::<MUL>(level, uop),
        (Round::Rn, _) => nearest::<FMA>(level, uop),
        (Round::Rna, _) => None,
        (_, ADD) => pick::<Directed<ADD>>(level),
        (_, MUL) => pick::<Directed<MUL>>(level),
        (_, _) => pick::<Directed<FMA>>(level),
    }
}

fn nearest<const OP: u8>(level: Level, uop: &Uop) -> Option<Kernel> {
    if uop.abs == 0 && !uop.flags.has(Flags::SAT) {
        let negated = match (OP, uop.neg) {
            // A product does not tell which factor was negated.
            (MUL | FMA, 0b01 | 0b10) | (ADD, 0b01) => negated::<OP, 0b001>(level, uop),
            (ADD, 0b10) => negated::<OP, 0b010>(level, uop),
            (FMA, 0b100) => negated::<OP, 0b100>(level, uop),
            _ => None,
        };
        if negated.is_some() {
            return negated;
        }
    }
    match (uop.neg | uop.abs != 0, uop.flags.has(Flags::FTZ), uop.flags.has(Flags::SAT)) {
        (false, false, false) => pick::<Nearest<OP, false, false, false>>(level),
        (false, false, true) => pick::<Nearest<OP, false, false, true>>(level),
        (false, true, false) => pick::<Nearest<OP, false, true, false>>(level),
        (false, true, true) => pick::<Nearest<OP, false, true, true>>(level),
        (true, false, false) => pick::<Nearest<OP, true, false, false>>(level),
        (true, false, true) => pick::<Nearest<OP, true, false, true>>(level),
        (true, true, false) => pick::<Nearest<OP, true, true, false>>(level),
        (true, true, true) => pick::<Nearest<OP, true, true, true>>(level),
    }
}

fn negated<const OP: u8, const NEG: u8>(level: Level, uop: &Uop) -> Option<Kernel> {
    match uop.flags.has(Flags::FTZ) {
        false => pick::<Negated<OP, NEG, false>>(level),
        true => pick::<Negated<OP, NEG, true>>(level),
    }
}

#[inline(always)]
fn compute<L: Isa, const OP: u8>(a: f32, b: f32, c: f32) -> f32 {
    match OP {
        ADD => a + b,
        MUL => a * b,
        _ => L::fma32(a, b, c),
    }
}

kernel!(Nearest<const OP: u8, const MODIFIED: bool, const FTZ: bool, const SAT: bool>, |L, args, uop| {
    let [ma, mb, mc] = sources(uop);
    let read = |m: Modifier<u32>, v: u32| {
        let v = if MODIFIED { m.apply(v) } else { v };
        f32::from_bits(if FTZ { flush(v) } else { v })
    };
    if OP == FMA {
        map3::<L>(args, |a, b, c| {
            finish(compute::<L, OP>(read(ma, a), read(mb, b), read(mc, c)), FTZ, SAT)
        });
    } else {
        map2::<L>(args, |a, b| finish(compute::<L, OP>(read(ma, a), read(mb, b), 0.0), FTZ, SAT));
    }
});

kernel!(
    /// [`Nearest`] with these sources negated, for which the host has instructions.
    Negated<const OP: u8, const NEG: u8, const FTZ: bool>, |L, args, _uop| {
    let read = |i: u8, v: u32| {
        let value = f32::from_bits(if FTZ { flush(v) } else { v });
        if NEG >> i & 1 == 1 { -value } else { value }
    };
    if OP == FMA {
        map3::<L>(args, |a, b, c| {
            finish(compute::<L, OP>(read(0, a), read(1, b), read(2, c)), FTZ, false)
        });
    } else {
        map2::<L>(args, |a, b| finish(compute::<L, OP>(read(0, a), read(1, b), 0.0), FTZ, false));
    }
});

/// p + c in F32, rounded in a mode. Opposite addends that cancel give -0 when rounding down.
#[inline(always)]
fn round_sum(p: f64, c: f64, mode: Round) -> f32 {
    let sum = soft::add_odd(p, c);
    let cancelled = (sum == 0.0) & (p.is_sign_negative() != c.is_sign_negative());
    let sum = if cancelled & (mode == Round::Rm) { -0.0 } else { sum };
    soft::narrow_directed(sum, mode)
}

/// A source in F64, which holds it exactly.
#[inline(always)]
fn read_double(modifier: Modifier<u32>, ftz: bool, bits: u32) -> f64 {
    let bits = modifier.apply(bits);
    f64::from(f32::from_bits(if ftz { flush(bits) } else { bits }))
}

kernel!(Directed<const OP: u8>, |L, args, uop| {
    let [ma, mb, mc] = sources(uop);
    let (mode, ftz, sat) = (uop.rnd, uop.flags.has(Flags::FTZ), uop.flags.has(Flags::SAT));
    // A loop rather than a closure, which is too long for the compiler to inline everywhere.
    let (a, b) = (row(args, 0, 0), row(args, 1, 0));
    let c = if OP == FMA { row(args, 2, 0) } else { a };
    let mut out = [0; 32];
    for lane in 0..32 {
        let (a, b) = (read_double(ma, ftz, a[lane]), read_double(mb, ftz, b[lane]));
        let value = match OP {
            ADD => round_sum(a, b, mode),
            MUL => soft::narrow_directed(a * b, mode),
            _ => round_sum(a * b, read_double(mc, ftz, c[lane]), mode),
        };
        out[lane] = finish(value, ftz, sat);
    }
    store::<L>(args, 0, &out);
});

fn minmax(level: Level, uop: &Uop) -> Option<Kernel> {
    let plain = uop.flags.without(Flags::SPILL) == Flags::NONE && uop.neg | uop.abs == 0;
    match uop.sub {
        Sub::MinMax(MinMax::Min) if plain => pick::<MinMaxF32<false, true>>(level),
        Sub::MinMax(MinMax::Max) if plain => pick::<MinMaxF32<true, true>>(level),
        Sub::MinMax(MinMax::Min) => pick::<MinMaxF32<false, false>>(level),
        Sub::MinMax(MinMax::Max) => pick::<MinMaxF32<true, false>>(level),
        _ => None,
    }
}

/// Integers ordered as the floats are, -0 below +0.
#[inline(always)]
fn order(bits: u32) -> i32 {
    bits as i32 ^ ((bits as i32 >> 31) as u32 >> 1) as i32
}

kernel!(MinMaxF32<const MAX: bool, const PLAIN: bool>, |L, args, uop| {
    let [ma, mb, _] = sources(uop);
    let (ftz, propagate, xorsign) =
        (uop.flags.has(Flags::FTZ), uop.flags.has(Flags::NAN), uop.flags.has(Flags::XORSIGN_ABS));
    let is_nan = |v: u32| f32::from_bits(v).is_nan();
    let choose = |a: u32, b: u32| {
        let first = if MAX { order(a) > order(b) } else { order(a) < order(b) };
        let best = if first { a } else { b };
        let best = if is_nan(a) { b } else { best };
        if is_nan(b) { a } else { best }
    };
    if PLAIN {
        map2::<L>(args, |a, b| {
            let best = choose(a, b);
            if is_nan(best) { NAN } else { best }
        });
        return;
    }
    map2::<L>(args, |a, b| {
        let read = |m: Modifier<u32>, v: u32| {
            let v = m.apply(v);
            if ftz { flush(v) } else { v }
        };
        let (a, b) = (read(ma, a), read(mb, b));
        let sign = (a ^ b) & 1 << 31;
        let magnitude = if xorsign { !(1 << 31) } else { !0 };
        let (a, b) = (a & magnitude, b & magnitude);
        let best = choose(a, b);
        let best = if xorsign { best | sign } else { best };
        let nan = is_nan(best) | (propagate & (is_nan(a) | is_nan(b)));
        if nan { NAN } else { best }
    });
});
