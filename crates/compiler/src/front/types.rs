// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX types as the compiler needs them: widths, classes, and which register fits which instruction type
//! (PTX ISA, "Type Checking Rules" and "Operand Size Exceeding Instruction-Type Size").

use warpwatt_isa::Ty;
use warpwatt_ptx::ast::{Scalar, Variable};
use warpwatt_ptx::words::Mod;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarKind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Pred,
    Opaque,
}

pub fn kind(s: Scalar) -> ScalarKind {
    use Scalar::*;
    match s {
        B8 | B16 | B32 | B64 | B128 => ScalarKind::Bits,
        U8 | U16 | U32 | U64 => ScalarKind::Unsigned,
        S8 | S16 | S32 | S64 => ScalarKind::Signed,
        F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F64 | E4m3 | E5m2 | E4m3x2 | E5m2x2 => ScalarKind::Float,
        Pred => ScalarKind::Pred,
        Texref | Samplerref | Surfref => ScalarKind::Opaque,
    }
}

/// Whether a type gives only the number of bits.
pub fn is_untyped(s: Scalar) -> bool {
    matches!(s, Scalar::B8 | Scalar::B16 | Scalar::B32 | Scalar::B64 | Scalar::B128)
}

pub fn bits(s: Scalar) -> u32 {
    use Scalar::*;
    match s {
        Pred => 1,
        B8 | U8 | S8 | E4m3 | E5m2 => 8,
        B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 => 16,
        B32 | U32 | S32 | F32 | Tf32 | F16x2 | Bf16x2 => 32,
        B64 | U64 | S64 | F64 | Texref | Samplerref | Surfref => 64,
        B128 => 128,
    }
}

pub fn bytes(s: Scalar) -> u32 {
    bits(s).div_ceil(8)
}

/// 32-bit words of a register of this type; 0 for a predicate.
pub fn words(s: Scalar) -> u8 {
    if s == Scalar::Pred { 0 } else { bits(s).div_ceil(32) as u8 }
}

pub fn is_float(s: Scalar) -> bool {
    kind(s) == ScalarKind::Float
}

pub fn is_signed(s: Scalar) -> bool {
    kind(s) == ScalarKind::Signed
}

/// Integer or bit type.
pub fn is_int(s: Scalar) -> bool {
    matches!(kind(s), ScalarKind::Bits | ScalarKind::Unsigned | ScalarKind::Signed)
}

/// The machine's name for a type; bit types are unsigned.
pub fn ty(s: Scalar) -> Ty {
    use Scalar::*;
    match s {
        U8 | B8 | E4m3 | E5m2 => Ty::U8,
        S8 => Ty::S8,
        U16 | B16 | E4m3x2 | E5m2x2 => Ty::U16,
        S16 => Ty::S16,
        U32 | B32 | Tf32 => Ty::U32,
        S32 => Ty::S32,
        U64 | B64 | Texref | Samplerref | Surfref => Ty::U64,
        S64 => Ty::S64,
        B128 => Ty::B128,
        F16 => Ty::F16,
        F16x2 => Ty::F16x2,
        Bf16 => Ty::Bf16,
        Bf16x2 => Ty::Bf16x2,
        F32 => Ty::F32,
        F64 => Ty::F64,
        Pred => Ty::Pred,
    }
}

/// The type of the 32- or 64-bit operation that computes an integer operation of type `s`.
pub fn wide_ty(s: Scalar) -> Ty {
    match (bits(s) > 32, is_signed(s)) {
        (false, false) => Ty::U32,
        (false, true) => Ty::S32,
        (true, false) => Ty::U64,
        (true, true) => Ty::S64,
    }
}

pub fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A register of type `reg` may be an operand of an instruction of type `inst` that needs the same size.
pub fn fits(reg: Scalar, inst: Scalar) -> bool {
    bits(reg) == bits(inst) && same_class(reg, inst)
}

/// As [`fits`], for instructions that allow a register wider than the type (loads, stores, conversions).
pub fn fits_wide(reg: Scalar, inst: Scalar) -> bool {
    reg != Scalar::Pred
        && bits(reg) >= bits(inst)
        && (same_class(reg, inst) || kind(inst) == ScalarKind::Bits)
}

fn same_class(reg: Scalar, inst: Scalar) -> bool {
    let (r, i) = (kind(reg), kind(inst));
    if r == ScalarKind::Pred || i == ScalarKind::Pred || r == ScalarKind::Opaque || i == ScalarKind::Opaque {
        return r == i;
    }
    match (r, i) {
        (ScalarKind::Bits, _) | (_, ScalarKind::Bits) => true,
        (ScalarKind::Float, ScalarKind::Float) => true,
        (ScalarKind::Float, _) | (_, ScalarKind::Float) => false,
        _ => true,
    }
}

pub fn name(s: Scalar) -> &'static str {
    use Scalar::*;
    match s {
        U8 => ".u8",
        U16 => ".u16",
        U32 => ".u32",
        U64 => ".u64",
        S8 => ".s8",
        S16 => ".s16",
        S32 => ".s32",
        S64 => ".s64",
        B8 => ".b8",
        B16 => ".b16",
        B32 => ".b32",
        B64 => ".b64",
        B128 => ".b128",
        F16 => ".f16",
        F16x2 => ".f16x2",
        Bf16 => ".bf16",
        Bf16x2 => ".bf16x2",
        Tf32 => ".tf32",
        F32 => ".f32",
        F64 => ".f64",
        E4m3 => ".e4m3",
        E5m2 => ".e5m2",
        E4m3x2 => ".e4m3x2",
        E5m2x2 => ".e5m2x2",
        Pred => ".pred",
        Texref => ".texref",
        Samplerref => ".samplerref",
        Surfref => ".surfref",
    }
}

/// The type that an instruction suffix names.
pub fn of_mod(m: Mod) -> Option<Scalar> {
    Some(match m {
        Mod::U8 => Scalar::U8,
        Mod::U16 => Scalar::U16,
        Mod::U32 => Scalar::U32,
        Mod::U64 => Scalar::U64,
        Mod::S8 => Scalar::S8,
        Mod::S16 => Scalar::S16,
        Mod::S32 => Scalar::S32,
        Mod::S64 => Scalar::S64,
        Mod::B8 => Scalar::B8,
        Mod::B16 => Scalar::B16,
        Mod::B32 => Scalar::B32,
        Mod::B64 => Scalar::B64,
        Mod::B128 => Scalar::B128,
        Mod::F16 => Scalar::F16,
        Mod::F16x2 => Scalar::F16x2,
        Mod::Bf16 => Scalar::Bf16,
        Mod::Bf16x2 => Scalar::Bf16x2,
        Mod::Tf32 => Scalar::Tf32,
        Mod::F32 => Scalar::F32,
        Mod::F64 => Scalar::F64,
        Mod::Pred => Scalar::Pred,
        _ => return None,
    })
}

/// Bytes of a variable: elements of all dimensions; `[]` counts as none.
pub fn size_of(v: &Variable) -> u64 {
    let one = u64::from(bytes(v.ty.scalar)) * u64::from(v.ty.lanes.max(1));
    v.dims.iter().fold(one, |size, dim| size.saturating_mul(dim.unwrap_or(0)))
}

/// Alignment of a variable: as declared, or that of its element.
pub fn align_of(v: &Variable) -> u32 {
    let natural = bytes(v.ty.scalar) * u32::from(v.ty.lanes.max(1));
    v.align.unwrap_or(natural).clamp(1, 1 << 16).next_power_of_two()
}

pub fn round_up(n: u64, align: u32) -> u64 {
    n.div_ceil(u64::from(align.max(1))).saturating_mul(u64::from(align.max(1)))
}
