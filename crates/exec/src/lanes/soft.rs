// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating point by integers: exact rounding of a number to any of the machine's formats in any rounding mode, and the fused multiply-add of F64.
//!
//! IEEE 754-2019 sections 4.3 and 7.4. Used where the host has no instruction: directed rounding, narrow formats, hosts without FMA.

use warpwatt_isa::{Round, Ty};

/// A binary interchange format: bits of significand with the hidden one, and the exponent of the smallest normal number.
#[derive(Clone, Copy)]
pub(super) struct Format {
    precision: u32,
    min_exponent: i32,
    width: u32,
}

pub(super) const F64: Format = Format { precision: 53, min_exponent: -1022, width: 64 };
const F32: Format = Format { precision: 24, min_exponent: -126, width: 32 };
const F16: Format = Format { precision: 11, min_exponent: -14, width: 16 };
const BF16: Format = Format { precision: 8, min_exponent: -126, width: 16 };

impl Format {
    /// The format of one element of a float type.
    pub(super) fn of(ty: Ty) -> Format {
        match ty {
            Ty::F16 | Ty::F16x2 => F16,
            Ty::Bf16 | Ty::Bf16x2 => BF16,
            Ty::F32 => F32,
            _ => F64,
        }
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    pub(super) fn infinity(self) -> u64 {
        self.sign() - (1 << (self.precision - 1))
    }

    /// PTX's NaN: all bits but the sign.
    pub(super) fn nan(self) -> u64 {
        self.sign() - 1
    }

    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & (self.sign() - 1) != 0
    }

    /// Sign, significand and exponent of a finite number: ±significand × 2^exponent.
    fn unpack(self, bits: u64) -> (bool, u64, i32) {
        let fraction = bits & ((1 << (self.precision - 1)) - 1);
        let exponent = ((bits & self.infinity()) >> (self.precision - 1)) as i32;
        let smallest = self.min_exponent - (self.precision as i32 - 1);
        let negative = bits & self.sign() != 0;
        match exponent {
            0 => (negative, fraction, smallest),
            e => (negative, fraction | 1 << (self.precision - 1), smallest + e - 1),
        }
    }

    /// ±significand × 2^exponent rounded to the format. The lowest bit of a long significand may stand for any number of bits below it.
    pub(super) fn round(self, negative: bool, significand: u128, exponent: i32, mode: Round) -> u64 {
        let sign = if negative { self.sign() } else { 0 };
        if significand == 0 {
            return sign;
        }
        let top = exponent + 127 - significand.leading_zeros() as i32;
        let smallest = self.min_exponent - (self.precision as i32 - 1);
        let unit = smallest.max(top - (self.precision as i32 - 1));
        let drop = unit - exponent;
        let rounded = if drop <= 0 {
            (significand << -drop) as u64
        } else {
            // What lies below the last place only matters as less than, equal to, or more than one half.
            let (kept, rest, half) = match drop {
                1..=127 => (significand >> drop, significand & ((1 << drop) - 1), 1u128 << (drop - 1)),
                _ => (0, 1, 2),
            };
            let kept = kept as u64;
            let up = match mode {
                Round::Rn => rest > half || rest == half && kept & 1 == 1,
                Round::Rna => rest >= half,
                Round::Rz => false,
                Round::Rm => negative && rest != 0,
                Round::Rp => !negative && rest != 0,
            };
            kept + u64::from(up)
        };
        // The hidden bit of a normal significand adds the one that its exponent field needs; a carry out of rounding does so too.
        let magnitude = ((unit - smallest) as u128) << (self.precision - 1);
        let magnitude = magnitude + u128::from(rounded);
        if magnitude < u128::from(self.infinity()) {
            return sign | magnitude as u64;
        }
        let to_infinity = match mode {
            Round::Rn | Round::Rna => true,
            Round::Rz => false,
            Round::Rm => negative,
            Round::Rp => !negative,
        };
        sign | (self.infinity() - u64::from(!to_infinity))
    }
}

/// An F64 rounded to another format. NaN becomes PTX's.
pub(super) fn narrow(value: f64, to: Format, mode: Round) -> u64 {
    let bits = value.to_bits();
    if value.is_nan() {
        return to.nan();
    }
    if value.is_infinite() {
        return to.infinity() | if value < 0.0 { to.sign() } else { 0 };
    }
    let (negative, significand, exponent) = F64.unpack(bits);
    to.round(negative, u128::from(significand), exponent, mode)
}

/// a × b + c with one rounding, NaN as the host's default. A sum that is exactly zero is -0 when rounding down, unless both addends are +0.
pub(super) fn fma64(a: u64, b: u64, c: u64, mode: Round) -> u64 {
    let [fa, fb, fc] = [a, b, c].map(f64::from_bits);
    if !(fa.is_finite() && fb.is_finite() && fc.is_finite()) {
        // Infinities and NaN: no rounding happens. A finite product must not overflow here.
        let product = if fa.is_finite() && fb.is_finite() { 0.0 } else { fa * fb };
        return (product + fc).to_bits();
    }
    let (na, ma, ea) = F64.unpack(a);
    let (nb, mb, eb) = F64.unpack(b);
    let (nc, mc, ec) = F64.unpack(c);
    let (np, mp, ep) = (na != nb, u128::from(ma) * u128::from(mb), ea + eb);
    let mc = u128::from(mc);
    if mp == 0 || mc == 0 {
        return match (mp, mc) {
            (0, 0) if np != nc => F64.round(mode == Round::Rm, 0, 0, mode),
            (_, 0) => F64.round(np, mp, ep, mode),
            _ => F64.round(nc, mc, ec, mode),
        };
    }
    // Both with their top bit at 124: the larger keeps its place, bits shifted out of the smaller are remembered in its lowest one. Only operands
    // whose exponents differ by at most one can cancel deeply, and those lose no bits.
    let raise = |m: u128, e: i32| {
        let shift = m.leading_zeros() as i32 - 3;
        (m << shift, e - shift)
    };
    let (mp, ep) = raise(mp, ep);
    let (mc, ec) = raise(mc, ec);
    let exponent = ep.max(ec);
    let align = |m: u128, e: i32| match (exponent - e) as u32 {
        0 => m,
        shift @ 1..=126 => m >> shift | u128::from(m & ((1 << shift) - 1) != 0),
        _ => 1,
    };
    let (mp, mc) = (align(mp, ep), align(mc, ec));
    if np == nc {
        return F64.round(np, mp + mc, exponent, mode);
    }
    match mp.cmp(&mc) {
        std::cmp::Ordering::Equal => F64.round(mode == Round::Rm, 0, 0, mode),
        std::cmp::Ordering::Greater => F64.round(np, mp - mc, exponent, mode),
        std::cmp::Ordering::Less => F64.round(nc, mc - mp, exponent, mode),
    }
}

/// p + c, rounded to odd: of the two neighbours of an inexact sum the one with an odd significand. Rounding that once more to a format with at least
/// two bits less gives what rounding the exact sum would. Operands stay far from the limits of F64.
#[inline(always)]
pub(super) fn add_odd(p: f64, c: f64) -> f64 {
    let sum = p + c;
    let t = sum - p;
    let error = (p - (sum - t)) + (c - t);
    let bits = sum.to_bits();
    let adjust = (error.abs() > 0.0) & (sum.abs() < f64::INFINITY) & (bits & 1 == 0);
    let away = (error > 0.0) == (sum > 0.0);
    let step = if away { 1 } else { u64::MAX };
    f64::from_bits(bits.wrapping_add(if adjust { step } else { 0 }))
}

/// As [`add_odd`] in F32.
#[inline(always)]
pub(super) fn add_odd32(p: f32, c: f32) -> f32 {
    let sum = p + c;
    let t = sum - p;
    let error = (p - (sum - t)) + (c - t);
    let bits = sum.to_bits();
    let adjust = (error.abs() > 0.0) & (sum.abs() < f32::INFINITY) & (bits & 1 == 0);
    let away = (error > 0.0) == (sum > 0.0);
    let step = if away { 1 } else { u32::MAX };
    f32::from_bits(bits.wrapping_add(if adjust { step } else { 0 }))
}

/// F64 to F32, rounded to odd.
#[inline(always)]
pub(super) fn narrow_odd(value: f64) -> f32 {
    let near = value as f32;
    let (bits, back) = (near.to_bits(), f64::from(near));
    let adjust = (back != value) & (bits & 1 == 0);
    let away = back.abs() < value.abs();
    let step = if away { 1 } else { u32::MAX };
    f32::from_bits(bits.wrapping_add(if adjust { step } else { 0 }))
}

/// F64 to F32 in a rounding mode.
#[inline(always)]
pub(super) fn narrow_directed(value: f64, mode: Round) -> f32 {
    let near = value as f32;
    let (bits, back) = (near.to_bits(), f64::from(near));
    let negative = near.is_sign_negative();
    let (larger, smaller) = (back.abs() < value.abs(), back.abs() > value.abs());
    let (inward, outward) = match mode {
        Round::Rz => (smaller, false),
        Round::Rm => (smaller & !negative, larger & negative),
        Round::Rp => (smaller & negative, larger & !negative),
        _ => (false, false),
    };
    let step = u32::from(outward).wrapping_sub(u32::from(inward));
    f32::from_bits(bits.wrapping_add(step))
}
