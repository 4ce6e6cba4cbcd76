// SPDX-License-Identifier: MIT OR Apache-2.0
//! Value types as the machine distinguishes them.

use std::fmt;

/// The type an operation works on. Integers narrower than 32 bits live zero- or sign-extended in a 32-bit register;
/// 64-bit values live in an aligned pair, low word first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ty {
    U8,
    S8,
    U16,
    S16,
    #[default]
    U32,
    S32,
    U64,
    S64,
    /// 128 bits in an aligned quad; only moved, loaded and stored.
    B128,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    /// A predicate register.
    Pred,
}

impl Ty {
    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Ty::U8 | Ty::S8 | Ty::Pred => 1,
            Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::U32 | Ty::S32 | Ty::F16x2 | Ty::Bf16x2 | Ty::F32 => 4,
            Ty::U64 | Ty::S64 | Ty::F64 => 8,
            Ty::B128 => 16,
        }
    }

    /// 32-bit registers that one value takes.
    pub fn words(self) -> u32 {
        match self {
            Ty::Pred => 0,
            _ => self.bytes().div_ceil(4),
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2 | Ty::F32 | Ty::F64)
    }

    pub fn is_int(self) -> bool {
        !self.is_float() && self != Ty::Pred
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    pub fn name(self) -> &'static str {
        match self {
            Ty::U8 => "U8",
            Ty::S8 => "S8",
            Ty::U16 => "U16",
            Ty::S16 => "S16",
            Ty::U32 => "U32",
            Ty::S32 => "S32",
            Ty::U64 => "U64",
            Ty::S64 => "S64",
            Ty::B128 => "128",
            Ty::F16 => "F16",
            Ty::F16x2 => "F16x2",
            Ty::Bf16 => "BF16",
            Ty::Bf16x2 => "BF16x2",
            Ty::F32 => "F32",
            Ty::F64 => "F64",
            Ty::Pred => "PRED",
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
