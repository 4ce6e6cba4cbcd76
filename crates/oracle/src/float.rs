// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point arithmetic on bit patterns, with `rustc_apfloat` for everything but square roots (PTX ISA, "Floating Point Instructions").

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use warpwatt_ptx::words::Mod;

use crate::form::{ScalarKind, Ty, mask};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arith {
    Add,
    Mul,
    /// a * b + c
    Fma,
    Div,
}

/// Runs `$body` with `$F` as the arithmetic type of `$ty`.
macro_rules! with_format {
    ($ty:expr, $F:ident => $body:expr) => {
        match ($ty.kind, $ty.bits) {
            (ScalarKind::Brain, _) => {
                type $F = BFloat;
                $body
            }
            (_, 16) => {
                type $F = Half;
                $body
            }
            (_, 64) => {
                type $F = Double;
                $body
            }
            _ => {
                type $F = Single;
                $body
            }
        }
    };
}

/// The NaN that arithmetic gives: all bits of exponent and fraction, positive.
pub fn nan(ty: Ty) -> u64 {
    mask(ty.bits - 1)
}

pub fn sign(raw: u64, ty: Ty) -> u64 {
    raw & 1 << (ty.bits - 1)
}

/// Bits of the fraction.
fn fraction(ty: Ty) -> u32 {
    match (ty.kind, ty.bits) {
        (ScalarKind::Brain, _) => 7,
        (_, 16) => 10,
        (_, 64) => 52,
        _ => 23,
    }
}

pub fn infinity(ty: Ty) -> u64 {
    mask(ty.bits - 1) & !mask(fraction(ty))
}

pub fn one(ty: Ty) -> u64 {
    let bias = mask(ty.bits - 2 - fraction(ty));
    bias << fraction(ty)
}

pub fn is_nan(raw: u64, ty: Ty) -> bool {
    raw & mask(ty.bits - 1) > infinity(ty)
}

/// A subnormal number becomes a zero of its sign.
pub fn flush(raw: u64, ty: Ty, ftz: bool) -> u64 {
    let tiny = raw & infinity(ty) == 0;
    if ftz && tiny { sign(raw, ty) } else { raw }
}

pub fn canonical(raw: u64, ty: Ty) -> u64 {
    if is_nan(raw, ty) { nan(ty) } else { raw }
}

/// What `.ftz`, `.sat` and the NaN rule make of a rounded result.
pub fn finish(raw: u64, ty: Ty, ftz: bool, sat: bool) -> u64 {
    let raw = flush(canonical(raw, ty), ty, ftz);
    if !sat {
        raw
    } else if is_nan(raw, ty) || sign(raw, ty) != 0 {
        0
    } else {
        raw.min(one(ty))
    }
}

fn arith_in<F: Float>(op: Arith, a: u64, b: u64, c: u64, round: Round) -> u64 {
    let [x, y, z] = [a, b, c].map(|raw| F::from_bits(u128::from(raw)));
    let result = match op {
        Arith::Add => x.add_r(y, round),
        Arith::Mul => x.mul_r(y, round),
        Arith::Fma => x.mul_add_r(y, z, round),
        Arith::Div => x.div_r(y, round),
    };
    result.value.to_bits() as u64
}

/// One operation without `.ftz` and `.sat`; NaN results are not yet canonical. To nearest in single and double precision the host's own
/// arithmetic is the same and faster.
pub fn arith(op: Arith, a: u64, b: u64, c: u64, ty: Ty, round: Round) -> u64 {
    if round == Round::NearestTiesToEven && ty == Ty::F32 {
        let [x, y, z] = [a, b, c].map(|raw| f32::from_bits(raw as u32));
        return u64::from(
            match op {
                Arith::Add => x + y,
                Arith::Mul => x * y,
                Arith::Fma => x.mul_add(y, z),
                Arith::Div => x / y,
            }
            .to_bits(),
        );
    }
    if round == Round::NearestTiesToEven && ty == Ty::F64 {
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        return match op {
            Arith::Add => x + y,
            Arith::Mul => x * y,
            Arith::Fma => x.mul_add(y, z),
            Arith::Div => x / y,
        }
        .to_bits();
    }
    with_format!(ty, F => arith_in::<F>(op, a, b, c, round))
}

/// Exactly rounded square root, by integers.
pub fn sqrt(raw: u64, ty: Ty, round: Round) -> u64 {
    let size = raw & mask(ty.bits - 1);
    if size == 0 || raw == infinity(ty) {
        return raw;
    }
    if size > infinity(ty) || sign(raw, ty) != 0 {
        return nan(ty);
    }
    let places = fraction(ty);
    let bias = mask(ty.bits - 2 - places) as i64;
    let field = (size >> places) as i64;
    let mut significand = u128::from(size & mask(places)) | u128::from(field != 0) << places;
    let mut exponent = field.max(1) - bias;
    while significand >> places == 0 {
        significand <<= 1;
        exponent -= 1;
    }
    // significand * 2^(exponent - places), with an even exponent; its root has `places` binary places.
    if exponent & 1 != 0 {
        significand <<= 1;
        exponent -= 1;
    }
    let square = significand << places;
    let mut root = square.isqrt();
    let rest = square - root * root;
    root += u128::from(match round {
        Round::TowardPositive => rest > 0,
        Round::NearestTiesToEven | Round::NearestTiesToAway => rest > root,
        Round::TowardZero | Round::TowardNegative => false,
    });
    (((exponent / 2 + bias - 1) as u64) << places) + root as u64
}

/// `Some(true)` if a < b, `None` if one is NaN.
fn less(a: u64, b: u64, ty: Ty) -> Option<std::cmp::Ordering> {
    with_format!(ty, F => F::from_bits(u128::from(a)).partial_cmp(&F::from_bits(u128::from(b))))
}

/// A comparison of `setp`; the forms with a trailing `u` hold for NaN.
pub fn compare(word: Mod, a: u64, b: u64, ty: Ty) -> Option<bool> {
    use std::cmp::Ordering::*;
    let order = less(a, b, ty);
    Some(match word {
        Mod::Eq => order == Some(Equal),
        Mod::Ne => matches!(order, Some(Less | Greater)),
        Mod::Lt => order == Some(Less),
        Mod::Le => matches!(order, Some(Less | Equal)),
        Mod::Gt => order == Some(Greater),
        Mod::Ge => matches!(order, Some(Greater | Equal)),
        Mod::Equ => matches!(order, None | Some(Equal)),
        Mod::Neu => order != Some(Equal),
        Mod::Ltu => matches!(order, None | Some(Less)),
        Mod::Leu => order != Some(Greater),
        Mod::Gtu => matches!(order, None | Some(Greater)),
        Mod::Geu => order != Some(Less),
        Mod::Num => order.is_some(),
        Mod::NanTest => order.is_none(),
        _ => return None,
    })
}

/// Minimum or maximum: a NaN loses to a number unless `.NaN`; -0 is below +0.
pub fn min_max(a: u64, b: u64, ty: Ty, max: bool, nan_wins: bool, xorsign: bool) -> u64 {
    let product_sign = sign(a, ty) ^ sign(b, ty);
    let (a, b) = if xorsign { (a & nan(ty), b & nan(ty)) } else { (a, b) };
    let picked = match (is_nan(a, ty), is_nan(b, ty)) {
        (true, true) => return nan(ty),
        (true, false) | (false, true) if nan_wins => return nan(ty),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            // As sign and magnitude, the order of numbers is that of these keys, with -0 before +0.
            let key = |raw: u64| if sign(raw, ty) != 0 { -(raw as i128) } else { raw as i128 + 1 };
            if (key(a) < key(b)) != max { a } else { b }
        }
    };
    if xorsign { picked | product_sign } else { picked }
}

/// `testp`
pub fn property(word: Mod, raw: u64, ty: Ty) -> Option<bool> {
    let size = raw & mask(ty.bits - 1);
    let exponent = size & infinity(ty);
    Some(match word {
        Mod::Finite => size < infinity(ty),
        Mod::Infinite => size == infinity(ty),
        Mod::Number => size <= infinity(ty),
        Mod::Notanumber => size > infinity(ty),
        // Zeros count as normal.
        Mod::Normal => size == 0 || exponent != 0 && exponent != infinity(ty),
        Mod::Subnormal => exponent == 0 && size != 0,
        _ => return None,
    })
}

fn convert_in<A, B: Float>(raw: u64, round: Round) -> u64
where
    A: FloatConvert<B>,
{
    let mut loses = false;
    A::from_bits(u128::from(raw)).convert_r(round, &mut loses).value.to_bits() as u64
}

/// From one format to another.
pub fn convert(raw: u64, from: Ty, to: Ty, round: Round) -> u64 {
    if is_nan(raw, from) {
        return nan(to);
    }
    with_format!(from, A => with_format!(to, B => convert_in::<A, B>(raw, round)))
}

pub fn to_integral(raw: u64, ty: Ty, round: Round) -> u64 {
    with_format!(ty, F => F::from_bits(u128::from(raw)).round_to_integral(round).value.to_bits() as u64)
}

/// Rounded to an integer, clamped to 128 bits; `None` for NaN.
pub fn to_integer(raw: u64, ty: Ty, round: Round) -> Option<i128> {
    let mut exact = false;
    (!is_nan(raw, ty))
        .then(|| with_format!(ty, F => F::from_bits(u128::from(raw)).to_i128_r(128, round, &mut exact).value))
}

pub fn from_integer(value: i128, ty: Ty, round: Round) -> u64 {
    with_format!(ty, F => F::from_i128_r(value, round).value.to_bits() as u64)
}

/// The special functions in single precision. Reciprocals and roots are correctly rounded; the others are as good as double precision makes them.
pub fn special(op: Special, raw: u64, ftz: bool) -> u64 {
    let x = f64::from(f32::from_bits(flush(raw, Ty::F32, ftz) as u32));
    let y = match op {
        Special::Rcp => 1.0 / x,
        Special::Rsqrt => 1.0 / x.sqrt(),
        Special::Sqrt => x.sqrt(),
        Special::Ex2 => x.exp2(),
        Special::Lg2 => x.log2(),
        Special::Sin => x.sin(),
        Special::Cos => x.cos(),
        Special::Tanh => x.tanh(),
    };
    finish(u64::from((y as f32).to_bits()), Ty::F32, ftz, false)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    Rcp,
    Rsqrt,
    Sqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: only upper words go in and come out.
pub fn seed64(raw: u64, root: bool) -> u64 {
    let upper = !mask(32);
    let x = f64::from_bits(flush(raw & upper, Ty::F64, true));
    let y = if root { 1.0 / x.sqrt() } else { 1.0 / x };
    let result = finish(y.to_bits(), Ty::F64, true, false);
    if is_nan(result, Ty::F64) { result } else { result & upper }
}
