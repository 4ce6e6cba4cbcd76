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

kernel!(Umin, |L, args, _uop| { map2::<L>(args, |a, b| a.min(b)) });
kernel!(Umax, |L, args, _uop| { map2::<L>(args, |a, b| a.max(b)) });
kernel!(Smin, |L, args, _uop| { map2::<L>(args, |a, b| (a as i32).min(b as i32) as u32) });
kernel!(Smax, |L, args, _uop| { map2::<L>(args, |a, b| (a as i32).max(b as i32) as u32) });
kernel!(Iabs, |L, args, _uop| { map1::<L>(args, |a| (a as i32).wrapping_abs() as u32) });

kernel!(Isad<const SIGNED: bool>, |L, args, _uop| {
    map3::<L>(args, |a, b, c| {
        let less = if SIGNED { (a as i32) < b as i32 } else { a < b };
        let distance = if less { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
        distance.wrapping_add(c)
    });
});

macro_rules! fields {
    ($extract:ident, $insert:ident, $word:ty, $signed:ty) => {
        /// PTX bfe: what lies above the field or the word is 0, or the field's sign (that of the word if the field reaches beyond it).
        #[inline(always)]
        fn $extract(a: $word, position: u32, length: u32, signed: bool) -> $word {
            const BITS: u32 = <$word>::BITS;
            let (position, length) = (position & 255, length & 255);
            // Moved to the top of the word, so that the last shift brings zeros or the sign.
            let room = BITS.saturating_sub(position);
            let held = if length < room { length } else { room };
            let at_top = if length == 0 { 0 } else { a << ((room - held) & (BITS - 1)) };
            let sign = (a as $signed >> (BITS - 1)) as $word;
            let beyond = if signed & (length != 0) { sign } else { 0 };
            let down = (BITS - held) & (BITS - 1);
            let field = if signed { (at_top as $signed >> down) as $word } else { at_top >> down };
            if held == 0 { beyond } else { field }
        }

        /// PTX bfi: b with the low `length` bits of a at `position`.
        #[inline(always)]
        fn $insert(a: $word, b: $word, position: u32, length: u32) -> $word {
            const BITS: u32 = <$word>::BITS;
            let (position, length) = (position & 255, length & 255);
            let field =
                if length < BITS { ((1 as $word) << (length & (BITS - 1))).wrapping_sub(1) } else { !0 };
            let shift = position & (BITS - 1);
            let mask = if position < BITS { field << shift } else { 0 };
            b & !mask | (a << shift) & mask
        }
    };
}

fields!(extract32, insert32, u32, i32);
fields!(extract64, insert64, u64, i64);

kernel!(Bfe<const SIGNED: bool>, |L, args, _uop| {
    map3::<L>(args, |a, b, c| extract32(a, b, c, SIGNED));
});

kernel!(BfeWide<const SIGNED: bool>, |L, args, _uop| {
    let (a, b, c) = (pair(args, 0), row(args, 1, 0), row(args, 2, 0));
    fill_wide::<L>(args, |lane| extract64(a.get(lane), b[lane], c[lane], SIGNED));
});

kernel!(Bfi, |L, args, _uop| {
    let (a, b, c, d) = (row(args, 0, 0), row(args, 1, 0), row(args, 2, 0), row(args, 3, 0));
    fill::<L>(args, |lane| insert32(a[lane], b[lane], c[lane], d[lane]));
});

kernel!(BfiWide, |L, args, _uop| {
    let (a, b, c, d) = (pair(args, 0), pair(args, 1), row(args, 2, 0), row(args, 3, 0));
    fill_wide::<L>(args, |lane| insert64(a.get(lane), b.get(lane), c[lane], d[lane]));
});

kernel!(Popc, |L, args, _uop| { map1::<L>(args, u32::count_ones) });

kernel!(PopcWide, |L, args, _uop| {
    let a = pair(args, 0);
    fill::<L>(args, |lane| a.get(lane).count_ones());
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
    map1::<L>(args, |a| find(u64::from(a), 32, signed, distance));
});

kernel!(BfindWide, |L, args, uop| {
    let (signed, distance) = (uop.ty.is_signed(), uop.flags.has(Flags::SHIFTAMT));
    let a = pair(args, 0);
    fill::<L>(args, |lane| find(a.get(lane), 64, signed, distance));
});

kernel!(Brev, |L, args, _uop| { map1::<L>(args, u32::reverse_bits) });

kernel!(BrevWide, |L, args, _uop| {
    let a = pair(args, 0);
    fill_wide::<L>(args, |lane| a.get(lane).reverse_bits());
});

/// Part `i` of `bits` bits, with its sign if it has one.
#[inline(always)]
fn part(value: u32, bits: u32, i: u32, signed: bool) -> u32 {
    let top = value << (32 - bits * (i + 1));
    if signed { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) }
}

/// dst = c + the sum of products of parts; `first` is the first part of b that takes part.
#[inline(always)]
fn dot<const WIDE: bool>(a: u32, b: u32, c: u32, signs: [bool; 2], first: u32) -> u32 {
    let (bits, count) = if WIDE { (16, 2) } else { (8, 4) };
    let mut sum = c;
    for i in 0..count {
        let product = part(a, bits, i, signs[0]).wrapping_mul(part(b, 8, first + i, signs[1]));
        sum = sum.wrapping_add(product);
    }
    sum
}

kernel!(Dp4a, |L, args, uop| {
    let (sa, sb) = (uop.ty.is_signed(), uop.ty2.is_signed());
    match (sa, sb) {
        (false, false) => map3::<L>(args, |a, b, c| dot::<false>(a, b, c, [false, false], 0)),
        (true, true) => map3::<L>(args, |a, b, c| dot::<false>(a, b, c, [true, true], 0)),
        signs => map3::<L>(args, |a, b, c| dot::<false>(a, b, c, [signs.0, signs.1], 0)),
    }
});

kernel!(Dp2a, |L, args, uop| {
    let signs = [uop.ty.is_signed(), uop.ty2.is_signed()];
    let first = if uop.flags.has(Flags::HIGH) { 2 } else { 0 };
    map3::<L>(args, |a, b, c| dot::<true>(a, b, c, signs, first));
});
