// SPDX-License-Identifier: MIT OR Apache-2.0
//! Double precision: add, multiply, fused multiply-add, minimum and maximum. Directed rounding goes through the integer fused multiply-add.

use warpwatt_isa::{Flags, MinMax, Op, Round, Sub, Uop};

use super::float32::Modifier;
use super::maps::{fill_wide, pair};
use super::shell::{kernel, pick};
use super::{Kernel, Level, soft};

pub(super) const NAN: u64 = 0x7fff_ffff_ffff_ffff;
const SIGN: u64 = 1 << 63;

#[inline(always)]
pub(super) fn sources(uop: &Uop) -> [Modifier<u64>; 3] {
    [0, 1, 2].map(|i| Modifier {
        keep: if uop.abs >> i & 1 == 1 { !SIGN } else { !0 },
        flip: if uop.neg >> i & 1 == 1 { SIGN } else { 0 },
    })
}

const ADD: u8 = 0;
const MUL: u8 = 1;
const FMA: u8 = 2;

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    // Double precision has no flush-to-zero and no saturation in PTX; minimum and maximum have no NaN or sign forms.
    if uop.flags.without(Flags::SPILL) != Flags::NONE {
        return None;
    }
    let modified = uop.neg | uop.abs != 0;
    match (uop.op, uop.rnd) {
        (Op::Fmnmx, _) => match uop.sub {
            Sub::MinMax(MinMax::Min) => pick::<MinMaxF64<false>>(level),
            Sub::MinMax(MinMax::Max) => pick::<MinMaxF64<true>>(level),
            _ => None,
        },
        (_, Round::Rna) => None,
        (Op::Fadd, Round::Rn) if modified => pick::<Nearest<ADD, true>>(level),
        (Op::Fadd, Round::Rn) => pick::<Nearest<ADD, false>>(level),
        (Op::Fmul, Round::Rn) if modified => pick::<Nearest<MUL, true>>(level),
        (Op::Fmul, Round::Rn) => pick::<Nearest<MUL, false>>(level),
        (Op::Ffma, Round::Rn) if modified => pick::<Nearest<FMA, true>>(level),
        (Op::Ffma, Round::Rn) => pick::<Nearest<FMA, false>>(level),
        (Op::Fadd, _) => pick::<Directed<ADD>>(level),
        (Op::Fmul, _) => pick::<Directed<MUL>>(level),
        (Op::Ffma, _) => pick::<Directed<FMA>>(level),
        _ => None,
    }
}

#[inline(always)]
fn canonical(bits: u64) -> u64 {
    if f64::from_bits(bits).is_nan() { NAN } else { bits }
}

kernel!(Nearest<const OP: u8, const MODIFIED: bool>, |L, args, uop| {
    let m = sources(uop);
    let (a, b) = (pair(args, 0), pair(args, 1));
    let read = |i: usize, v: u64| f64::from_bits(if MODIFIED { m[i].apply(v) } else { v });
    match OP {
        ADD => fill_wide::<L>(args, |i| canonical((read(0, a.get(i)) + read(1, b.get(i))).to_bits())),
        MUL => fill_wide::<L>(args, |i| canonical((read(0, a.get(i)) * read(1, b.get(i))).to_bits())),
        _ => {
            let c = pair(args, 2);
            fill_wide::<L>(args, |i| {
                canonical(L::fma64(read(0, a.get(i)), read(1, b.get(i)), read(2, c.get(i))).to_bits())
            });
        }
    }
});

kernel!(Directed<const OP: u8>, |L, args, uop| {
    let (m, mode) = (sources(uop), uop.rnd);
    let (a, b) = (pair(args, 0), pair(args, 1));
    match OP {
        ADD => fill_wide::<L>(args, |i| {
            canonical(soft::fma64(m[0].apply(a.get(i)), 1f64.to_bits(), m[1].apply(b.get(i)), mode))
        }),
        // Adding a zero of the product's own sign changes nothing.
        MUL => fill_wide::<L>(args, |i| {
            let (a, b) = (m[0].apply(a.get(i)), m[1].apply(b.get(i)));
            canonical(soft::fma64(a, b, (a ^ b) & SIGN, mode))
        }),
        _ => {
            let c = pair(args, 2);
            fill_wide::<L>(args, |i| {
                canonical(soft::fma64(m[0].apply(a.get(i)), m[1].apply(b.get(i)), m[2].apply(c.get(i)), mode))
            });
        }
    }
});

/// Integers ordered as the floats are, -0 below +0.
#[inline(always)]
fn order(bits: u64) -> i64 {
    bits as i64 ^ ((bits as i64 >> 63) as u64 >> 1) as i64
}

kernel!(MinMaxF64<const MAX: bool>, |L, args, uop| {
    let m = sources(uop);
    let (a, b) = (pair(args, 0), pair(args, 1));
    fill_wide::<L>(args, |lane| {
        let (a, b) = (m[0].apply(a.get(lane)), m[1].apply(b.get(lane)));
        let first = if MAX { order(a) > order(b) } else { order(a) < order(b) };
        let best = if first { a } else { b };
        let best = if f64::from_bits(a).is_nan() { b } else { best };
        canonical(if f64::from_bits(b).is_nan() { a } else { best })
    });
});
