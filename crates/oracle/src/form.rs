// SPDX-License-Identifier: MIT OR Apache-2.0
//! The suffixes of one instruction, sorted out once: types in order, rounding, flags, space.

use rustc_apfloat::Round;
use smallvec::SmallVec;
use warpwatt_ptx::ast::{Scalar, Space};
use warpwatt_ptx::words::Mod;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarKind {
    Unsigned,
    Signed,
    /// Untyped bits.
    Bits,
    Float,
    /// `bf16`: the exponent range of `f32` in 16 bits.
    Brain,
    Pred,
}

/// The type of one value; packed pairs have `lanes` 2 and the width of one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ty {
    pub kind: ScalarKind,
    pub bits: u32,
    pub lanes: u32,
}

impl Ty {
    const fn new(kind: ScalarKind, bits: u32) -> Ty {
        Ty { kind, bits, lanes: 1 }
    }

    const fn pair(kind: ScalarKind, bits: u32) -> Ty {
        Ty { kind, bits, lanes: 2 }
    }

    pub const B32: Ty = Ty::new(ScalarKind::Bits, 32);
    pub const U32: Ty = Ty::new(ScalarKind::Unsigned, 32);
    pub const F32: Ty = Ty::new(ScalarKind::Float, 32);
    pub const F64: Ty = Ty::new(ScalarKind::Float, 64);

    pub fn width(self) -> u32 {
        self.bits * self.lanes
    }

    pub fn bytes(self) -> u64 {
        u64::from(self.width().div_ceil(8))
    }

    pub fn signed(self) -> bool {
        self.kind == ScalarKind::Signed
    }

    pub fn float(self) -> bool {
        matches!(self.kind, ScalarKind::Float | ScalarKind::Brain)
    }

    /// One lane of a packed pair.
    pub fn lane(self) -> Ty {
        Ty { lanes: 1, ..self }
    }

    pub fn mask(self) -> u64 {
        mask(self.width())
    }

    pub fn of_scalar(scalar: Scalar) -> Option<Ty> {
        use ScalarKind::*;
        Some(match scalar {
            Scalar::U8 => Ty::new(Unsigned, 8),
            Scalar::U16 => Ty::new(Unsigned, 16),
            Scalar::U32 => Ty::new(Unsigned, 32),
            Scalar::U64 => Ty::new(Unsigned, 64),
            Scalar::S8 => Ty::new(Signed, 8),
            Scalar::S16 => Ty::new(Signed, 16),
            Scalar::S32 => Ty::new(Signed, 32),
            Scalar::S64 => Ty::new(Signed, 64),
            Scalar::B8 => Ty::new(Bits, 8),
            Scalar::B16 => Ty::new(Bits, 16),
            Scalar::B32 | Scalar::Tf32 => Ty::new(Bits, 32),
            Scalar::B64 => Ty::new(Bits, 64),
            Scalar::F16 => Ty::new(Float, 16),
            Scalar::F16x2 => Ty::pair(Float, 16),
            Scalar::Bf16 => Ty::new(Brain, 16),
            Scalar::Bf16x2 => Ty::pair(Brain, 16),
            Scalar::F32 => Ty::new(Float, 32),
            Scalar::F64 => Ty::new(Float, 64),
            Scalar::Pred => Ty::new(Pred, 1),
            _ => return None,
        })
    }

    fn of_mod(word: Mod) -> Option<Ty> {
        use ScalarKind::*;
        Some(match word {
            Mod::U8 => Ty::new(Unsigned, 8),
            Mod::U16 => Ty::new(Unsigned, 16),
            Mod::U32 => Ty::new(Unsigned, 32),
            Mod::U64 => Ty::new(Unsigned, 64),
            Mod::S8 => Ty::new(Signed, 8),
            Mod::S16 => Ty::new(Signed, 16),
            Mod::S32 => Ty::new(Signed, 32),
            Mod::S64 => Ty::new(Signed, 64),
            Mod::B8 => Ty::new(Bits, 8),
            Mod::B16 => Ty::new(Bits, 16),
            Mod::B32 | Mod::Tf32 => Ty::new(Bits, 32),
            Mod::B64 => Ty::new(Bits, 64),
            Mod::F16 => Ty::new(Float, 16),
            Mod::F16x2 => Ty::pair(Float, 16),
            Mod::Bf16 => Ty::new(Brain, 16),
            Mod::Bf16x2 => Ty::pair(Brain, 16),
            Mod::F32 => Ty::new(Float, 32),
            Mod::F64 => Ty::new(Float, 64),
            Mod::Pred => Ty::new(Pred, 1),
            _ => return None,
        })
    }
}

pub fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Sign-extends the low `bits` bits.
pub fn extend(value: u64, bits: u32) -> i64 {
    let spare = 64 - bits.min(64);
    ((value << spare) as i64) >> spare
}

#[derive(Clone, Debug)]
pub struct Form {
    pub types: SmallVec<[Ty; 3]>,
    pub vector: usize,
    pub space: Option<Space>,
    pub round: Option<Round>,
    /// `.rni` and its like: the result is an integer.
    pub integral: bool,
    pub ftz: bool,
    pub sat: bool,
    pub mods: SmallVec<[Mod; 6]>,
}

impl Form {
    pub fn new(mods: &[Mod]) -> Form {
        let mut form = Form {
            types: mods.iter().filter_map(|&word| Ty::of_mod(word)).collect(),
            vector: 1,
            space: None,
            round: None,
            integral: false,
            ftz: false,
            sat: false,
            mods: mods.iter().copied().collect(),
        };
        for &word in mods {
            let round = match word {
                Mod::Rn | Mod::Rni => Some(Round::NearestTiesToEven),
                Mod::Rz | Mod::Rzi => Some(Round::TowardZero),
                Mod::Rm | Mod::Rmi => Some(Round::TowardNegative),
                Mod::Rp | Mod::Rpi => Some(Round::TowardPositive),
                Mod::Rna => Some(Round::NearestTiesToAway),
                _ => None,
            };
            form.round = form.round.or(round);
            form.integral |= matches!(word, Mod::Rni | Mod::Rzi | Mod::Rmi | Mod::Rpi);
            form.ftz |= word == Mod::Ftz;
            form.sat |= word == Mod::Sat;
            form.vector = match word {
                Mod::V2 => 2,
                Mod::V4 => 4,
                Mod::V8 => 8,
                _ => form.vector,
            };
            form.space = form.space.or(match word {
                Mod::Const => Some(Space::Const),
                Mod::Global => Some(Space::Global),
                Mod::Local => Some(Space::Local),
                Mod::Param | Mod::ParamEntry | Mod::ParamFunc => Some(Space::Param),
                Mod::Shared | Mod::SharedCta => Some(Space::Shared),
                _ => None,
            });
        }
        form
    }

    pub fn has(&self, word: Mod) -> bool {
        self.mods.contains(&word)
    }

    /// The first of `words` that was written.
    pub fn one_of(&self, words: &[Mod]) -> Option<Mod> {
        self.mods.iter().copied().find(|word| words.contains(word))
    }

    /// The last type: that of the operation, or of the source of a conversion.
    pub fn ty(&self) -> Ty {
        self.types.last().copied().unwrap_or(Ty::B32)
    }

    pub fn rounding(&self) -> Round {
        self.round.unwrap_or(Round::NearestTiesToEven)
    }
}
