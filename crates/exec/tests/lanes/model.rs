// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating point by `rustc_apfloat`, with PTX's rules on top.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round as ApRound};
use warpwatt_isa::{Flags, Round, Ty, Uop};

pub fn mode(round: Round) -> ApRound {
    match round {
        Round::Rn => ApRound::NearestTiesToEven,
        Round::Rz => ApRound::TowardZero,
        Round::Rm => ApRound::TowardNegative,
        Round::Rp => ApRound::TowardPositive,
        Round::Rna => ApRound::NearestTiesToAway,
    }
}

/// The type of one element.
pub fn element(ty: Ty) -> Ty {
    match ty {
        Ty::F16x2 => Ty::F16,
        Ty::Bf16x2 => Ty::Bf16,
        ty => ty,
    }
}

/// Calls a generic function with the float type.
macro_rules! with_type {
    ($ty:expr, $function:ident, $($arg:expr),*) => {
        match $crate::model::element($ty) {
            Ty::F16 => $function::<Half>($($arg),*),
            Ty::Bf16 => $function::<BFloat>($($arg),*),
            Ty::F32 => $function::<Single>($($arg),*),
            _ => $function::<Double>($($arg),*),
        }
    };
}

fn read<F: Float>(bits: u64, ftz: bool) -> F {
    let value = F::from_bits(u128::from(bits) & (u128::MAX >> (128 - F::BITS)));
    if ftz && value.is_denormal() { F::ZERO.copy_sign(value) } else { value }
}

/// PTX's form of a result.
fn write<F: Float>(value: F, flags: Flags) -> u64 {
    let value = if flags.has(Flags::FTZ) && value.is_denormal() { F::ZERO.copy_sign(value) } else { value };
    let one = F::from_u128(1).value;
    let value = match flags {
        f if f.has(Flags::SAT) && (value.is_nan() || value.is_negative()) => F::ZERO,
        f if f.has(Flags::SAT) && value > one => one,
        f if f.has(Flags::RELU) && !value.is_nan() && value.is_negative() => F::ZERO,
        f if f.has(Flags::SATFINITE) && value.is_infinite() => F::largest().copy_sign(value),
        _ => value,
    };
    if value.is_nan() { (1 << (F::BITS - 1)) - 1 } else { value.to_bits() as u64 }
}

fn modified<F: Float>(uop: &Uop, i: usize, bits: u64) -> F {
    let value: F = read(bits, uop.flags.has(Flags::FTZ));
    let value = if uop.abs >> i & 1 == 1 { value.abs() } else { value };
    if uop.neg >> i & 1 == 1 { -value } else { value }
}

fn arithmetic_in<F: Float>(uop: &Uop, src: [u64; 3]) -> u64 {
    use warpwatt_isa::{MinMax, Op, Sub};
    let [a, b, c] = [0, 1, 2].map(|i| modified::<F>(uop, i, src[i]));
    let round = mode(uop.rnd);
    let value = match (uop.op, uop.sub) {
        (Op::Fadd, _) => a.add_r(b, round).value,
        (Op::Fmul, _) => a.mul_r(b, round).value,
        (Op::Ffma, _) => a.mul_add_r(b, c, round).value,
        (_, Sub::MinMax(which)) => {
            let sign = a.is_negative() != b.is_negative();
            let xorsign = uop.flags.has(Flags::XORSIGN_ABS);
            let (a, b) = if xorsign { (a.abs(), b.abs()) } else { (a, b) };
            let less = a < b || a == b && a.is_negative() && !b.is_negative();
            let best = match () {
                _ if a.is_nan() && b.is_nan() => F::NAN,
                _ if uop.flags.has(Flags::NAN) && (a.is_nan() || b.is_nan()) => F::NAN,
                _ if a.is_nan() => b,
                _ if b.is_nan() => a,
                _ if less == (which == MinMax::Min) => a,
                _ => b,
            };
            if xorsign && !best.is_nan() && best.is_negative() != sign { -best } else { best }
        }
        _ => panic!("not arithmetic: {uop}"),
    };
    write(value, uop.flags)
}

/// FADD, FMUL, FFMA and FMNMX, packed or not.
pub fn arithmetic(uop: &Uop, src: [u64; 4]) -> u64 {
    let src = [src[0], src[1], src[2]];
    let low = with_type!(uop.ty, arithmetic_in, uop, src);
    match uop.ty {
        Ty::F16x2 | Ty::Bf16x2 => {
            let high = src.map(|v| v >> 16);
            low | with_type!(uop.ty, arithmetic_in, uop, high) << 16
        }
        _ => low,
    }
}

fn compare_in<F: Float>(uop: &Uop, cmp: warpwatt_isa::Cmp, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::*;
    use warpwatt_isa::Cmp::*;
    let order = modified::<F>(uop, 0, a).partial_cmp(&modified::<F>(uop, 1, b));
    match cmp {
        Eq => order == Some(Equal),
        Ne => matches!(order, Some(Less | Greater)),
        Lt => order == Some(Less),
        Le => matches!(order, Some(Less | Equal)),
        Gt => order == Some(Greater),
        Ge => matches!(order, Some(Greater | Equal)),
        Equ => matches!(order, None | Some(Equal)),
        Neu => order != Some(Equal),
        Ltu => matches!(order, None | Some(Less)),
        Leu => order != Some(Greater),
        Gtu => matches!(order, None | Some(Greater)),
        Geu => order != Some(Less),
        Num => order.is_some(),
        Nan => order.is_none(),
    }
}

pub fn compare(uop: &Uop, cmp: warpwatt_isa::Cmp, a: u64, b: u64) -> bool {
    with_type!(uop.ty, compare_in, uop, cmp, a, b)
}

/// Bounds of an integer type.
pub fn range(ty: Ty) -> (i128, i128) {
    let bits = ty.bytes() * 8;
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// A register as the integer its type makes of it.
pub fn integer(ty: Ty, bits: u64) -> i128 {
    let width = ty.bytes() * 8;
    let value = i128::from(bits) & ((1 << width) - 1);
    if ty.is_signed() && value >> (width - 1) == 1 { value - (1 << width) } else { value }
}

/// An integer as its type keeps it in registers.
pub fn register(ty: Ty, value: i128) -> u64 {
    let kept = integer(ty, value as u64);
    if ty.words() == 2 { kept as u64 } else { u64::from(kept as u32) }
}

fn to_integer<F: Float>(uop: &Uop, bits: u64) -> u64 {
    let value: F = convert_source(uop, bits);
    let width = (uop.ty.bytes() * 8) as usize;
    if value.is_nan() {
        let nan = if uop.ty2 == Ty::F64 || uop.ty.bytes() == 8 { 1i128 << (width - 1) } else { 0 };
        return register(uop.ty, nan);
    }
    let mut exact = false;
    let (least, greatest) = range(uop.ty);
    // One bit more than the type has, so that overflow is decided by the type's own bounds.
    let whole = value.to_i128_r(width + 2, mode(uop.rnd), &mut exact).value;
    register(uop.ty, whole.clamp(least, greatest))
}

fn convert_source<F: Float>(uop: &Uop, bits: u64) -> F {
    let value: F = read(bits, uop.flags.has(Flags::FTZ) && uop.ty2 == Ty::F32);
    let value = if uop.abs & 1 == 1 { value.abs() } else { value };
    if uop.neg & 1 == 1 { -value } else { value }
}

fn from_integer<F: Float>(uop: &Uop, bits: u64) -> u64 {
    let value = integer(uop.ty2, bits);
    write(F::from_i128_r(value, mode(uop.rnd)).value, uop.flags)
}

fn between<F: FloatConvert<Half> + FloatConvert<BFloat> + FloatConvert<Single> + FloatConvert<Double>>(
    uop: &Uop,
    bits: u64,
) -> u64 {
    let value: F = convert_source(uop, bits);
    let value =
        if uop.flags.has(Flags::ROUND_INT) { value.round_to_integral(mode(uop.rnd)).value } else { value };
    let flags = if uop.ty == Ty::F32 { uop.flags } else { uop.flags.without(Flags::FTZ) };
    let (mut lost, round) = (false, mode(uop.rnd));
    match element(uop.ty) {
        Ty::F16 => write::<Half>(value.convert_r(round, &mut lost).value, flags),
        Ty::Bf16 => write::<BFloat>(value.convert_r(round, &mut lost).value, flags),
        Ty::F32 => write::<Single>(value.convert_r(round, &mut lost).value, flags),
        _ => write::<Double>(value.convert_r(round, &mut lost).value, flags),
    }
}

/// CVT of one element.
pub fn convert(uop: &Uop, bits: u64) -> u64 {
    match (uop.ty2.is_float(), uop.ty.is_float()) {
        (false, false) => {
            let value = integer(uop.ty2, bits);
            let (least, greatest) = range(uop.ty);
            register(uop.ty, if uop.flags.has(Flags::SAT) { value.clamp(least, greatest) } else { value })
        }
        (false, true) => with_type!(uop.ty, from_integer, uop, bits),
        (true, false) => with_type!(uop.ty2, to_integer, uop, bits),
        (true, true) => with_type!(uop.ty2, between, uop, bits),
    }
}

fn narrowed<F: Float>(bits: u64) -> u64
where
    Double: FloatConvert<F>,
{
    let mut lost = false;
    let value: F = Double::from_bits(u128::from(bits)).convert(&mut lost).value;
    value.to_bits() as u64
}

/// Floats at which something changes, in the bits of one element of a type.
pub fn floats(ty: Ty) -> Vec<u64> {
    let two = |k: i32| f64::from_bits(((1023 + k) as u64) << 52);
    let mut numbers = vec![
        0.0,
        1.0,
        1.5,
        2.0,
        3.0,
        0.5,
        2.5,
        3.5,
        0.1,
        1.0 / 3.0,
        3.140625,
        1e-20,
        1e20,
        255.5,
        128.5,
        0.49999997,
    ];
    numbers.extend([
        65504.0,
        65519.0,
        65520.0,
        65536.0,
        2147483520.0,
        2147483647.0,
        4294967040.0,
        4294967295.5,
        9.3e18,
        1.9e19,
    ]);
    numbers.extend(
        [
            -126, -127, -149, -150, -14, -15, -24, -25, -133, -1022, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53,
            63, 64, 127, 1023,
        ]
        .map(two),
    );
    let mut bits: Vec<u64> = numbers.iter().map(|v| with_type!(ty, narrowed, v.to_bits())).collect();
    let (width, fraction) = match element(ty) {
        Ty::F16 => (16, 10),
        Ty::Bf16 => (16, 7),
        Ty::F32 => (32, 23),
        _ => (64, 52),
    };
    let infinity = (1u64 << (width - 1)) - (1 << fraction);
    // Least and greatest subnormal and normal numbers, neighbours of one, infinity, NaN quiet and signalling.
    bits.extend([1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, infinity - 1, infinity]);
    bits.extend([infinity | 1, infinity | 1 << (fraction - 1), infinity | ((1 << fraction) - 1)]);
    let one = with_type!(ty, narrowed, 1f64.to_bits());
    bits.extend([one - 1, one + 1]);
    let sign = 1u64 << (width - 1);
    let negative: Vec<u64> = bits.iter().map(|v| v | sign).collect();
    bits.extend(negative);
    bits.sort_unstable();
    bits.dedup();
    bits
}
