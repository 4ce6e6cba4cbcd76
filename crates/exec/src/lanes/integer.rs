// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer addition and multiplication with carries in predicates.

use warpwatt_isa::{Flags, Op, Pred, Reg, Src, Sub, Ty, Uop};

use super::maps::{map2, map3, map3_pred, map3x, ones, pair, row, store};
use super::shell::{Isa, kernel, pick};
use super::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let signed = match uop.ty {
        Ty::U32 => false,
        Ty::S32 => true,
        _ => return None,
    };
    let saturate = uop.flags.has(Flags::SAT);
    let carry_in = uop.flags.has(Flags::CARRY_IN);
    let carry_out = uop.pdst[0] != Pred::TRUE;
    let plain = uop.neg == 0 && !carry_in && !carry_out;
    let has_two = uop.src[2] == Src::Reg(Reg::ZERO);
    match uop.op {
        Op::Iadd3 if saturate => match signed && !carry_in && !carry_out {
            true => pick::<Iadd3Sat>(level),
            false => None,
        },
        Op::ImadHi if saturate && signed => pick::<ImadHi<true, true>>(level),
        _ if saturate => None,
        // Most additions have two terms, and those of 64 bits are two such with a carry from one to the other.
        Op::Iadd3 if has_two && uop.neg == 0 && !(carry_in && carry_out) => match (carry_out, carry_in) {
            (true, _) => pick::<AddOut>(level),
            (_, true) => pick::<AddIn>(level),
            _ => pick::<Add>(level),
        },
        Op::Iadd3 if has_two && uop.neg == 0b10 && !carry_in && !carry_out => pick::<Subtract>(level),
        Op::Iadd3 => match (plain, carry_out, carry_in) {
            (true, ..) => pick::<Iadd3>(level),
            (false, false, false) => pick::<Iadd3Neg<false>>(level),
            (false, false, true) => pick::<Iadd3Neg<true>>(level),
            (false, true, false) => pick::<Iadd3Carry<false>>(level),
            (false, true, true) => pick::<Iadd3Carry<true>>(level),
        },
        Op::Imad if uop.neg == 0 && has_two => pick::<Mul>(level),
        Op::Imad if uop.neg == 0 => pick::<Imad<false>>(level),
        Op::Imad => pick::<Imad<true>>(level),
        Op::ImadHi if signed => pick::<ImadHi<true, false>>(level),
        Op::ImadHi => pick::<ImadHi<false, false>>(level),
        // Addresses of elements.
        Op::ImadWide if plain && power_of(uop).is_some() => match signed {
            false => pick::<ShiftWide<false>>(level),
            true => pick::<ShiftWide<true>>(level),
        },
        Op::ImadWide => match (signed, plain) {
            (false, true) => pick::<ImadWide<false, true>>(level),
            (false, false) => pick::<ImadWide<false, false>>(level),
            (true, true) => pick::<ImadWide<true, true>>(level),
            (true, false) => pick::<ImadWide<true, false>>(level),
        },
        Op::Lea | Op::LeaHi if !matches!(uop.sub, Sub::Shift(0..=31)) => None,
        Op::Lea if plain => pick::<Lea>(level),
        Op::Lea => pick::<LeaCarry>(level),
        Op::LeaHi => pick::<LeaHi>(level),
        _ => None,
    }
}

/// All ones for a negated source.
#[inline(always)]
fn complement(uop: &Uop, source: u32) -> u32 {
    u32::from(uop.neg >> source & 1).wrapping_neg()
}

/// How many sources are negated; a complemented source needs one more to be the negative, unless the carry brings it.
#[inline(always)]
fn corrections(uop: &Uop, sources: u8) -> u32 {
    if uop.flags.has(Flags::CARRY_IN) { 0 } else { (uop.neg & sources).count_ones() }
}

#[inline(always)]
fn carries(args: &Args, uop: &Uop) -> u32 {
    if uop.flags.has(Flags::CARRY_IN) { args.psrc[0] } else { 0 }
}

kernel!(Add, |L, args, _uop| { map2::<L>(args, u32::wrapping_add) });

kernel!(AddOut, |L, args, _uop| { map3_pred::<L>(args, 0, |a, b, _, _| add(a, b)) });

kernel!(AddIn, |L, args, _uop| {
    map3x::<L>(args, args.psrc[0], |a, b, _, x| a.wrapping_add(b).wrapping_add(x));
});

kernel!(Subtract, |L, args, _uop| { map2::<L>(args, u32::wrapping_sub) });

kernel!(Mul, |L, args, _uop| { map2::<L>(args, u32::wrapping_mul) });

kernel!(Iadd3, |L, args, _uop| { map3::<L>(args, |a, b, c| a.wrapping_add(b).wrapping_add(c)) });

kernel!(Iadd3Neg<const CARRY_IN: bool>, |L, args, uop| {
    let [na, nb, nc] = [0, 1, 2].map(|i| complement(uop, i));
    let sum = |a: u32, b: u32, c: u32| (a ^ na).wrapping_add(b ^ nb).wrapping_add(c ^ nc);
    if CARRY_IN {
        map3x::<L>(args, args.psrc[0], |a, b, c, x| sum(a, b, c).wrapping_add(x));
    } else {
        let extra = corrections(uop, 7);
        map3::<L>(args, |a, b, c| sum(a, b, c).wrapping_add(extra));
    }
});

/// a + b, and all ones if that carried.
#[inline(always)]
fn add(a: u32, b: u32) -> (u32, u32) {
    let sum = a.wrapping_add(b);
    (sum, ones(sum < a))
}

kernel!(Iadd3Carry<const CARRY_IN: bool>, |L, args, uop| {
    let [na, nb, nc] = [0, 1, 2].map(|i| complement(uop, i));
    let extra = corrections(uop, 7);
    let x = if CARRY_IN { args.psrc[0] } else { 0 };
    map3_pred::<L>(args, x, |a, b, c, x| {
        let (sum, p) = add(a ^ na, b ^ nb);
        let (sum, q) = add(sum, if CARRY_IN { x } else { extra });
        let (sum, r) = add(sum, c ^ nc);
        (sum, p | q | r)
    });
});

kernel!(Iadd3Sat, |L, args, uop| {
    let sign = |i: u32, v: u32| {
        let v = i64::from(v as i32);
        if uop.neg >> i & 1 == 1 { -v } else { v }
    };
    map3::<L>(args, |a, b, c| {
        let sum = sign(0, a) + sign(1, b) + sign(2, c);
        sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
    });
});

kernel!(Imad<const NEG: bool>, |L, args, uop| {
    if NEG {
        let [na, nb, nc] = [0, 1, 2].map(|i| complement(uop, i));
        let negate = |v: u32, n: u32| (v ^ n).wrapping_sub(n);
        map3::<L>(args, |a, b, c| negate(a, na).wrapping_mul(negate(b, nb)).wrapping_add(negate(c, nc)));
    } else {
        map3::<L>(args, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    }
});

/// The product of two 32-bit sources in 64 bits, with their negations.
#[inline(always)]
fn product(signed: bool, a: u32, b: u32, negative: u64) -> u64 {
    let product = if signed {
        i64::from(a as i32).wrapping_mul(i64::from(b as i32)) as u64
    } else {
        u64::from(a) * u64::from(b)
    };
    (product ^ negative).wrapping_sub(negative)
}

/// All ones if exactly one factor is negated.
#[inline(always)]
fn product_sign(uop: &Uop) -> u64 {
    u64::from((uop.neg ^ uop.neg >> 1) & 1).wrapping_neg()
}

kernel!(ImadHi<const SIGNED: bool, const SAT: bool>, |L, args, uop| {
    let (sign, nc) = (product_sign(uop), complement(uop, 2));
    map3::<L>(args, |a, b, c| {
        let high = (product(SIGNED, a, b, sign) >> 32) as u32;
        let c = (c ^ nc).wrapping_sub(nc);
        if SAT { (high as i32).saturating_add(c as i32) as u32 } else { high.wrapping_add(c) }
    });
});

/// pair = a * b + pair c. `PLAIN`: no negation, no carries.
struct ImadWide<const SIGNED: bool, const PLAIN: bool>;

impl<const SIGNED: bool, const PLAIN: bool> super::shell::Body for ImadWide<SIGNED, PLAIN> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let (a, b, c) = unsafe { (row(args, 0, 0), row(args, 1, 0), pair(args, 2)) };
        let (mut low, mut high, mut carry) = ([0; 32], [0; 32], [0; 32]);
        let (sign, nc) = (product_sign(uop), u64::from(uop.neg >> 2 & 1).wrapping_neg());
        let (extra, x) = (u64::from(corrections(uop, 4)), carries(args, uop));
        for lane in 0..32 {
            let sum = if PLAIN {
                product(SIGNED, a[lane], b[lane], 0).wrapping_add(c.get(lane))
            } else {
                let p = product(SIGNED, a[lane], b[lane], sign);
                let sum = p.wrapping_add(c.get(lane) ^ nc);
                let total = sum.wrapping_add(extra + u64::from(x >> lane & 1));
                carry[lane] = ones(sum < p || total < sum);
                total
            };
            low[lane] = sum as u32;
            high[lane] = (sum >> 32) as u32;
        }
        if !PLAIN {
            args.pdst = [L::signs(&carry), 0];
        }
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe {
            store::<L>(args, 0, &low);
            store::<L>(args, 1, &high);
        }
    }
}

/// The exponent of a second source that is a power of two between the lowest and the highest that a shift can be made of.
#[inline(always)]
fn power_of(uop: &Uop) -> Option<u32> {
    match uop.src[1] {
        Src::Imm(factor) if factor.is_power_of_two() => Some(factor.trailing_zeros()),
        _ => None,
    }
    .filter(|power| (1..31).contains(power))
}

/// pair = (a << power) + pair c, where the second source is that power of two.
struct ShiftWide<const SIGNED: bool>;

impl<const SIGNED: bool> super::shell::Body for ShiftWide<SIGNED> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let (a, c) = unsafe { (row(args, 0, 0), pair(args, 2)) };
        let (mut low, mut high) = ([0; 32], [0; 32]);
        let power = power_of(uop).unwrap_or(1) & 31;
        let rest = (32 - power) & 31;
        for lane in 0..32 {
            let over = if SIGNED { (a[lane].cast_signed() >> rest).cast_unsigned() } else { a[lane] >> rest };
            let (sum, carried) = add(c.0[lane], a[lane] << power);
            low[lane] = sum;
            // All ones are -1.
            high[lane] = c.1[lane].wrapping_add(over).wrapping_sub(carried);
        }
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe {
            store::<L>(args, 0, &low);
            store::<L>(args, 1, &high);
        }
    }
}

#[inline(always)]
fn shift_of(uop: &Uop) -> u32 {
    match uop.sub {
        Sub::Shift(n) => u32::from(n) & 31,
        _ => 0,
    }
}

kernel!(Lea, |L, args, uop| {
    let shift = shift_of(uop);
    map2::<L>(args, |a, b| (a << shift).wrapping_add(b));
});

kernel!(LeaCarry, |L, args, uop| {
    let (shift, na, nb) = (shift_of(uop), complement(uop, 0), complement(uop, 1));
    let (extra, x) = (corrections(uop, 3), carries(args, uop));
    map3_pred::<L>(args, x, |a, b, _, x| {
        let (sum, p) = add((a << shift) ^ na, b ^ nb);
        let (sum, q) = add(sum, extra + x);
        (sum, p | q)
    });
});

kernel!(LeaHi, |L, args, uop| {
    let (shift, na, nb) = (shift_of(uop), complement(uop, 0), complement(uop, 1));
    let (extra, x) = (corrections(uop, 3), carries(args, uop));
    map3x::<L>(args, x, |a, b, c, x| {
        let high = (((u64::from(c) << 32 | u64::from(a)) << shift) >> 32) as u32;
        (high ^ na).wrapping_add(b ^ nb).wrapping_add(extra).wrapping_add(x)
    });
});
