// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer to integer: the value is extended as its own type says, cut to the new width, and kept extended as the new type says; or saturated.

use warpwatt_isa::{Flags, Ty, Uop};

use super::bits;
use crate::lanes::maps::{Words, pair, row, store};
use crate::lanes::shell::{kernel, pick};
use crate::lanes::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let (to, from) = (uop.ty, uop.ty2);
    if uop.flags.has(Flags::SAT) {
        return pick::<Saturate>(level);
    }
    match (from.is_signed(), to.is_signed(), to.words()) {
        (false, false, 1) => pick::<Narrow<false, false>>(level),
        (false, true, 1) => pick::<Narrow<false, true>>(level),
        (true, false, 1) => pick::<Narrow<true, false>>(level),
        (true, true, 1) => pick::<Narrow<true, true>>(level),
        _ if from.words() == 2 => pick::<Copy64>(level),
        (false, ..) => pick::<Widen<false>>(level),
        (true, ..) => pick::<Widen<true>>(level),
    }
}

/// The low bits of a word extended to all of it; `unused` is how many bits above them there are.
#[inline(always)]
fn extend(value: u32, unused: u32, signed: bool) -> u32 {
    let top = value << unused;
    if signed { (top as i32 >> unused) as u32 } else { top >> unused }
}

#[inline(always)]
fn unused(ty: Ty) -> u32 {
    32 - bits(ty).min(32)
}

kernel!(Narrow<const FROM: bool, const TO: bool>, |L, args, uop| {
    let (from, to) = (unused(uop.ty2), unused(uop.ty));
    crate::lanes::maps::map1::<L>(args, |a| extend(extend(a, from, FROM), to, TO));
});

kernel!(Widen<const SIGNED: bool>, |L, args, uop| {
    let from = unused(uop.ty2);
    let a = row(args, 0, 0);
    let (mut low, mut high): (Words, Words) = ([0; 32], [0; 32]);
    for lane in 0..32 {
        low[lane] = extend(a[lane], from, SIGNED);
        high[lane] = if SIGNED { (low[lane] as i32 >> 31) as u32 } else { 0 };
    }
    store::<L>(args, 0, &low);
    store::<L>(args, 1, &high);
});

kernel!(Copy64, |L, args, _uop| {
    let (low, high) = (*row(args, 0, 0), *row(args, 0, 1));
    store::<L>(args, 0, &low);
    store::<L>(args, 1, &high);
});

/// A source lane as the number it stands for.
#[inline(always)]
pub(super) unsafe fn read(args: &Args, ty: Ty, lane: usize) -> i128 {
    if ty.words() == 2 {
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let value = unsafe { pair(args, 0) }.get(lane);
        return if ty.is_signed() { i128::from(value as i64) } else { i128::from(value) };
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let value = extend(unsafe { row(args, 0, 0) }[lane], unused(ty), ty.is_signed());
    if ty.is_signed() { i128::from(value as i32) } else { i128::from(value) }
}

/// Least and greatest number of an integer type.
#[inline(always)]
pub(super) fn range(ty: Ty) -> (i128, i128) {
    match ty.is_signed() {
        true => (-(1 << (bits(ty) - 1)), (1 << (bits(ty) - 1)) - 1),
        false => (0, (1 << bits(ty)) - 1),
    }
}

kernel!(Saturate, |L, args, uop| {
    let (least, greatest) = range(uop.ty);
    let (mut low, mut high): (Words, Words) = ([0; 32], [0; 32]);
    for lane in 0..32 {
        let value = read(args, uop.ty2, lane).clamp(least, greatest);
        low[lane] = value as u32;
        high[lane] = (value >> 32) as u32;
    }
    store::<L>(args, 0, &low);
    if uop.ty.words() == 2 {
        store::<L>(args, 1, &high);
    }
});
