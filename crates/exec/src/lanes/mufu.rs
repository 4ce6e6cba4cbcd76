// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special functions (PTX ISA, "rcp.approx", "sin.approx" and the like): within PTX's error bounds, and the same bits on every host.
//!
//! Everything is computed in F64 from additions, multiplications, divisions and square roots, which IEEE 754 defines to the bit; series are evaluated in
//! a fixed order and never fused. Subnormal inputs and results are flushed as by .ftz, except in tanh.

use warpwatt_isa::{MufuFn, Round, Sub, Ty, Uop};

use super::float32::{NAN, finish, flush, sources};
use super::integral::round64;
use super::maps::map1;
use super::shell::{kernel, pick};
use super::{Kernel, Level, float64};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let Sub::Mufu(function) = uop.sub else { return None };
    if function != MufuFn::Rcp64h && function != MufuFn::Rsq64h && uop.ty != Ty::F32 {
        return None;
    }
    match function {
        MufuFn::Rcp => pick::<Rcp>(level),
        MufuFn::Rsq => pick::<Rsq>(level),
        MufuFn::Sqrt => pick::<Sqrt>(level),
        MufuFn::Ex2 => pick::<Ex2>(level),
        MufuFn::Lg2 => pick::<Lg2>(level),
        MufuFn::Sin => pick::<Sin>(level),
        MufuFn::Cos => pick::<Cos>(level),
        MufuFn::Tanh => pick::<Tanh>(level),
        MufuFn::Rcp64h => pick::<Rcp64h>(level),
        MufuFn::Rsq64h => pick::<Rsq64h>(level),
    }
}

/// Kernels that flush their input, apply a function of F32 and flush its result.
macro_rules! functions {
    ($($name:ident $function:expr;)*) => {
        $(kernel!($name, |L, args, uop| {
            let modifier = sources(uop)[0];
            map1::<L>(args, |a| finish($function(f32::from_bits(flush(modifier.apply(a)))), true, false));
        });)*
    };
}

functions! {
    Rcp |a: f32| 1.0 / a;
    Rsq |a: f32| (1.0 / f64::from(a).sqrt()) as f32;
    Sqrt |a: f32| a.sqrt();
    Ex2 |a: f32| if a.is_nan() { a } else { exp2(f64::from(a)) as f32 };
    Lg2 log2;
    Sin |a: f32| sine(sine_turn(f64::from(a))) as f32;
    Cos |a: f32| sine(cosine_turn(f64::from(a))) as f32;
}

kernel!(Tanh, |L, args, uop| {
    let modifier = sources(uop)[0];
    map1::<L>(args, |a| finish(tanh(f32::from_bits(modifier.apply(a))), false, false));
});

/// The polynomial with the given coefficients, highest first.
#[inline(always)]
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = sum * x + coefficient;
    }
    sum
}

/// ln(2)^k / k! for k from 8 down to 0: the series of 2^r, good to 2^-32 for |r| up to one half.
const EXP2: [f64; 9] = {
    let mut c = [0.0; 9];
    let (mut term, mut k) = (1.0, 0);
    while k < 9 {
        c[8 - k] = term;
        k += 1;
        term = term * std::f64::consts::LN_2 / k as f64;
    }
    c
};

/// 2^x; beyond ±1000 as at ±1000, which no F32 can tell from infinity and zero.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let x = if x < 1000.0 { x } else { 1000.0 };
    let x = if x > -1000.0 { x } else { -1000.0 };
    // At this size the last place is worth one: the sum is x rounded, and its low bits are that integer.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = x + MAGIC;
    let whole = shifted - MAGIC;
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    horner(x - whole, EXP2) * scale
}

/// 2 / ln(2) / k for odd k from 11 down to 1: the series of log2((1 + t) / (1 - t)) in t².
const LOG2: [f64; 6] = {
    let mut c = [0.0; 6];
    let mut k = 0;
    while k < 6 {
        c[5 - k] = 2.0 * std::f64::consts::LOG2_E / (2 * k + 1) as f64;
        k += 1;
    }
    c
};

#[inline(always)]
fn log2(a: f32) -> f32 {
    let bits = a.to_bits();
    // The significand between sqrt(1/2) and sqrt(2), so that logarithms near zero come from the series alone.
    const HALF_SQRT: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let offset = bits.wrapping_sub(HALF_SQRT);
    let exponent = offset as i32 >> 23;
    let significand = f64::from(f32::from_bits((offset & 0x7f_ffff).wrapping_add(HALF_SQRT)));
    let t = (significand - 1.0) / (significand + 1.0);
    let value = (f64::from(exponent) + t * horner(t * t, LOG2)) as f32;
    let value = if a == f32::INFINITY { a } else { value };
    let value = if a < 0.0 || a.is_nan() { f32::from_bits(NAN) } else { value };
    if a == 0.0 { f32::NEG_INFINITY } else { value }
}

/// (2 pi)^k / k! with alternating signs for odd k from 15 down to 1: the series of sin(2 pi r).
const SINE: [f64; 8] = {
    let mut c = [0.0; 8];
    let (mut term, mut k) = (std::f64::consts::TAU, 0);
    while k < 8 {
        c[7 - k] = term;
        k += 1;
        term = -term * std::f64::consts::TAU * std::f64::consts::TAU / (2 * k * (2 * k + 1)) as f64;
    }
    c
};

/// The part of |a| beyond whole turns, from -1/2 to 1/2. Infinity gives NaN.
#[inline(always)]
fn fraction(a: f64) -> f64 {
    let a = a.abs();
    a - round64(a, Round::Rn)
}

/// An angle between -1/4 and 1/4 turns with the same sine.
#[inline(always)]
fn sine_turn(a: f64) -> f64 {
    let r = fraction(a);
    let r = if r > 0.25 { 0.5 - r } else { r };
    let r = if r < -0.25 { -0.5 - r } else { r };
    if a.is_sign_negative() { -r } else { r }
}

/// An angle between -1/4 and 1/4 turns whose sine is the cosine.
#[inline(always)]
fn cosine_turn(a: f64) -> f64 {
    0.25 - fraction(a).abs()
}

#[inline(always)]
fn sine(turn: f64) -> f64 {
    turn * horner(turn * turn, SINE)
}

#[inline(always)]
fn tanh(a: f32) -> f32 {
    let x = f64::from(a);
    let e = exp2(x.abs() * (-2.0 * std::f64::consts::LOG2_E));
    let magnitude = (1.0 - e) / (1.0 + e);
    let value = if a.is_sign_negative() { -magnitude } else { magnitude } as f32;
    // Here a - a³/3 is a within the error bound; subnormal numbers and NaN are returned unchanged.
    if a.abs() >= 1.0 / 4096.0 { value } else { a }
}

/// The high word of an F64 result, to nearest, the low word being dropped; subnormal results are flushed.
#[inline(always)]
fn high_word(value: f64) -> u32 {
    let bits = value.to_bits();
    let high = (bits.wrapping_add(0x8000_0000) >> 32) as u32;
    let high = if high & 0x7ff0_0000 == 0 { high & 0x8000_0000 } else { high };
    if value.is_nan() { (float64::NAN >> 32) as u32 } else { high }
}

/// The F64 with this high word and a low word of zeros; subnormal numbers are flushed.
#[inline(always)]
fn from_high_word(high: u32) -> f64 {
    let high = if high & 0x7ff0_0000 == 0 { high & 0x8000_0000 } else { high };
    f64::from_bits(u64::from(high) << 32)
}

kernel!(Rcp64h, |L, args, uop| {
    let modifier = sources(uop)[0];
    map1::<L>(args, |a| high_word(1.0 / from_high_word(modifier.apply(a))));
});

kernel!(Rsq64h, |L, args, uop| {
    let modifier = sources(uop)[0];
    map1::<L>(args, |a| {
        let value = from_high_word(modifier.apply(a));
        let root = 1.0 / value.sqrt();
        high_word(root)
    });
});
