// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minimum, absolute values, bit fields, bit counting and dot products.

use warpwatt_isa::{Flags, MinMax, Op, Sub, Ty, Uop};

use super::maps::{fill, fill_wide, map1, map2, map3, pair, row};
use super::shell::{kernel, pick};
use super::{Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let signed = uop.ty.is_signed();
    let wide = match uop.ty {
        Ty::U32 | Ty::S32 => false,
        Ty::U64 | Ty::S64 => true,
        _ => return None,
    };
    if uop.neg != 0 || uop.abs != 0 || uop.flags.has(Flags::SAT) {
        return None;
    }
    match (uop.op, wide) {
        (Op::Imnmx, false) => match (uop.sub, signed) {
            (Sub::MinMax(MinMax::Min), false) => pick::<Umin>(level),
            (Sub::MinMax(MinMax::Max), false) => pick::<Umax>(level),
            (Sub::MinMax(MinMax::Min), true) => pick::<Smin>(level),
            (Sub::MinMax(MinMax::Max), true) => pick::<Smax>(level),
            _ => None,
        },
        (Op::Iabs, false) => pick::<Iabs>(level),
        (Op::Isad, false) if signed => pick::<Isad<true>>(level),
        (Op::Isad, false) => pick::<Isad<false>>(level),
        (Op::Bfe, false) => {
            if signed {
                pick::<Bfe<true>>(level)
            } else {
                pick::<Bfe<false>>(level)
            }
        }
        (Op::Bfe, true) => {
            if signed {
                pick::<BfeWide<true>>(level)
            } else {
                pick::<BfeWide<false>>(level)
            }
        }
        (Op::Bfi, false) => pick::<Bfi>(level),
        (Op::Bfi, true) => pick::<BfiWide>(level),
        (Op::Popc, false) => pick::<Popc>(level),
        (Op::Popc, true) => pick::<PopcWide>(level),
        (Op::Bfind, false) => pick::<Bfind>(level),
        (Op::Bfind, true) => pick::<BfindWide>(level),
        (Op::Brev, false) => pick::<Brev>(level),
        (Op::Brev, true) => pick::<BrevWide>(level),
        (Op::Dp4a, false) if matches!(uop.ty2, Ty::U32 | Ty::S32) => pick::<Dp4a>(level),
        (Op::Dp2a, false) if matches!(uop.ty2, Ty::U32 | Ty::S32) => pick::<Dp2a>(level),
        _ => None,
    }
}

kernel!(Umin, |L, args, _uop| { map2(args, |a, b| a.min(b)) });
kernel!(Umax, |L, args, _uop| { map2(args, |a, b| a.max(b)) });
kernel!(Smin, |L, args, _uop| { map2(args, |a, b| (a as i32).min(b as i32) as u32) });
kernel!(Smax, |L, args, _uop| { map2(args, |a, b| (a as i32).max(b as i32) as u32) });
kernel!(Iabs, |L, args, _uop| { map1(args, |a| (a as i32).wrapping_abs() as u32) });

kernel!(Isad<const SIGNED: bool>, |L, args, _uop| {
    map3(args, |a, b, c| {
        let less = if SIGNED { (a as i32) < b as i32 } else { a < b };
        let distance = if less { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
        distance.wrapping_add(c)
    });
});

/// PTX bfe: what lies above the field or the word is 0, or the field's sign (that of the word if the field reaches beyond it).
#[inline(always)]
fn extract(a: u64, bits: u32, position: u32, length: u32, signed: bool) -> u64 {
    let (position, length) = (position & 255, length & 255);
    let all = u64::MAX >> (64 - bits);
    let below = |n: u32| if n >= bits { all } else { (1u64 << n) - 1 };
    let field = if position >= bits { 0 } else { a >> position } & below(length);
    let sign_at = (position + length).saturating_sub(1).min(bits - 1);
    let negative = signed && length != 0 && a >> sign_at & 1 == 1;
    // The part of the field that the word holds ends at the word's top.
    let held = below(length.min(bits.saturating_sub(position)));
    if negative { (field & held) | (all & !held) } else { field }
}

/// PTX bfi: b with the low `length` bits of a at `position`.
#[inline(always)]
fn insert(a: u64, b: u64, bits: u32, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 255, length & 255);
    let all = u64::MAX >> (64 - bits);
    let field = if length >= bits { all } else { (1u64 << length) - 1 };
    if position >= bits {
        return b;
    }
    let mask = (field << position) & all;
    b & !mask | (a << position) & mask
}

kernel!(Bfe<const SIGNED: bool>, |L, args, _uop| {
    map3(args, |a, b, c| extract(u64::from(a), 32, b, c, SIGNED) as u32);
});

kernel!(BfeWide<const SIGNED: bool>, |L, args, _uop| {
    let (a, b, c) = (pair(args, 0), row(args, 1, 0), row(args, 2, 0));
    fill_wide(args, |lane| extract(a.get(lane), 64, b[lane], c[lane], SIGNED));
});

kernel!(Bfi, |L, args, _uop| {
    let (a, b, c, d) = (row(args, 0, 0), row(args, 1, 0), row(args, 2, 0), row(args, 3, 0));
    fill(args, |lane| insert(u64::from(a[lane]), u64::from(b[lane]), 32, c[lane], d[lane]) as u32);
});

kernel!(BfiWide, |L, args, _uop| {
    let (a, b, c, d) = (pair(args, 0), pair(args, 1), row(args, 2, 0), row(args, 3, 0));
    fill_wide(args, |lane| insert(a.get(lane), b.get(lane), 64, c[lane], d[lane]));
});

kernel!(Popc, |L, args, _uop| { map1(args, u32::count_ones) });

kernel!(PopcWide, |L, args, _uop| {
    let a = pair(args, 0);
    fill(args, |lane| a.get(lane).count_ones());
});

/// Position of the highest bit that differs from the sign (or from 0), or its distance from the top.
#[inline(always)]
fn find(a: u64, bits: u32, signed: bool, distance: bool) -> u32 {
    let negative = signed && a >> (bits - 1) & 1 == 1;
    let a = if negative { !a & (u64::MAX >> (64 - bits)) } else { a };
    if a == 0 {
        return u32::MAX;
    }
    let position = 63 - a.leading_zeros();
    if distance { bits - 1 - position } else { position }
}

kernel!(Bfind, |L, args, uop| {
    let (signed, distance) = (uop.ty.is_signed(), uop.flags.has(Flags::SHIFTAMT));
    map1(args, |a| find(u64::from(a), 32, signed, distance));
});

kernel!(BfindWide, |L, args, uop| {
    let (signed, distance) = (uop.ty.is_signed(), uop.flags.has(Flags::SHIFTAMT));
    let a = pair(args, 0);
    fill(args, |lane| find(a.get(lane), 64, signed, distance));
});

kernel!(Brev, |L, args, _uop| { map1(args, u32::reverse_bits) });

kernel!(BrevWide, |L, args, _uop| {
    let a = pair(args, 0);
    fill_wide(args, |lane| a.get(lane).reverse_bits());
});

/// Part `i` of `bits` bits, with its sign if it has one.
#[inline(always)]
fn part(value: u32, bits: u32, i: u32, signed: bool) -> u32 {
    let top = value << (32 - bits * (i + 1));
    if signed { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) }
}

kernel!(Dp4a, |L, args, uop| {
    let (sa, sb) = (uop.ty.is_signed(), uop.ty2.is_signed());
    map3(args, |a, b, c| {
        (0..4).fold(c, |sum, i| sum.wrapping_add(part(a, 8, i, sa).wrapping_mul(part(b, 8, i, sb))))
    });
});

kernel!(Dp2a, |L, args, uop| {
    let (sa, sb) = (uop.ty.is_signed(), uop.ty2.is_signed());
    let first = if uop.flags.has(Flags::HIGH) { 2 } else { 0 };
    map3(args, |a, b, c| {
        (0..2).fold(c, |sum, i| sum.wrapping_add(part(a, 16, i, sa).wrapping_mul(part(b, 8, first + i, sb))))
    });
});
