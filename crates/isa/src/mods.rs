// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modifiers of micro-ops.

use crate::SReg;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Round {
    #[default]
    Rn,
    Rz,
    Rm,
    Rp,
    /// To nearest, ties away from zero (`cvt.rna`).
    Rna,
}

/// Comparisons. The `u` forms are true when an operand is NaN; for integers only the first six are used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Both are numbers.
    Num,
    /// One is NaN.
    Nan,
}

impl Cmp {
    /// The comparison that holds for (b, a) when this one holds for (a, b).
    #[must_use]
    pub fn mirrored(self) -> Cmp {
        match self {
            Cmp::Lt => Cmp::Gt,
            Cmp::Le => Cmp::Ge,
            Cmp::Gt => Cmp::Lt,
            Cmp::Ge => Cmp::Le,
            Cmp::Ltu => Cmp::Gtu,
            Cmp::Leu => Cmp::Geu,
            Cmp::Gtu => Cmp::Ltu,
            Cmp::Geu => Cmp::Leu,
            same => same,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BoolOp {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MufuFn {
    Rcp,
    Rsq,
    Sqrt,
    Ex2,
    Lg2,
    /// sin(2 pi a): the argument is in revolutions.
    Sin,
    /// cos(2 pi a)
    Cos,
    Tanh,
    /// High word of the reciprocal of the F64 whose high word is a (PTX rcp.approx.ftz.f64).
    Rcp64h,
    /// High word of the reciprocal square root (PTX rsqrt.approx.ftz.f64).
    Rsq64h,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatchMode {
    Any,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarKind {
    Sync,
    Arrive,
    RedPopc,
    RedAnd,
    RedOr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrmtMode {
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TexGeom {
    D1,
    D2,
    D3,
    A1d,
    A2d,
    Cube,
    Acube,
}

impl TexGeom {
    /// Coordinates in the order PTX gives them: the layer first where there is one.
    pub fn coords(self) -> u32 {
        match self {
            TexGeom::D1 => 1,
            TexGeom::D2 | TexGeom::A1d => 2,
            TexGeom::D3 | TexGeom::A2d | TexGeom::Cube => 3,
            TexGeom::Acube => 4,
        }
    }

    pub fn layered(self) -> bool {
        matches!(self, TexGeom::A1d | TexGeom::A2d | TexGeom::Acube)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LodMode {
    /// Implicit level 0.
    Base,
    /// Explicit level in c.
    Level,
    /// Gradients in c and d.
    Grad,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Query {
    Width,
    Height,
    Depth,
    ArraySize,
    NumMipmapLevels,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    FilterMode,
    AddrMode0,
    AddrMode1,
    AddrMode2,
}

/// What a surface access does outside of the surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SurfClamp {
    Trap,
    Clamp,
    Zero,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TestProp {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Services that hardware programs get from the driver's device runtime.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SysFn {
    /// (format: u64, arguments: u64) -> s32
    Vprintf,
    /// (size: u64) -> u64
    Malloc,
    /// (pointer: u64)
    Free,
    /// (message: u64, file: u64, line: u32, function: u64, char_size: u64)
    AssertFail,
    /// (scope: u32) -> u64: handle of the cooperative grid (cudaCGGetIntrinsicHandle)
    GridHandle,
    /// (handle: u64, flags: u32) -> u32: cooperative grid barrier (cudaCGSynchronize)
    GridSync,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MinMax {
    Min,
    Max,
}

/// The part of a micro-op that only one operation has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Sub {
    #[default]
    None,
    SReg(SReg),
    Cmp(Cmp, BoolOp),
    Lut(u8),
    Shift(u8),
    MinMax(MinMax),
    Mufu(MufuFn),
    Shfl(ShflMode),
    Vote(VoteMode),
    Match(MatchMode),
    Atom(AtomOp),
    Bar(BarKind),
    Prmt(PrmtMode),
    Tex(TexGeom, LodMode),
    Tld4(TexGeom, u8),
    Query(Query),
    /// Geometry, clamp mode, and whether the access is formatted (`.p`) rather than raw bytes (`.b`).
    Surf(TexGeom, SurfClamp, bool),
    SurfRed(TexGeom, SurfClamp, AtomOp),
    Testp(TestProp),
    Sys(SysFn),
    Part(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Space {
    #[default]
    Generic,
    Global,
    Shared,
    Local,
    /// A constant bank: bank in `MemAttr::bank`.
    Const,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CacheOp {
    #[default]
    Default,
    /// All levels.
    Ca,
    /// L2 only.
    Cg,
    /// Evict first.
    Cs,
    /// Last use.
    Lu,
    /// Do not cache, fetch again.
    Cv,
    /// Write back.
    Wb,
    /// Write through.
    Wt,
    /// Read-only path.
    Nc,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    #[default]
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scope {
    #[default]
    Cta,
    Cluster,
    Gpu,
    Sys,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MemAttr {
    pub space: Space,
    pub bank: u8,
    /// Elements moved per lane: 1, 2 or 4.
    pub vec: u8,
    pub cache: CacheOp,
    pub order: Order,
    pub scope: Scope,
}

/// Flag bits of a micro-op.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const FTZ: Flags = Flags(1);
    /// Saturate to [0, 1] for floats, to the type's range for integers.
    pub const SAT: Flags = Flags(2);
    /// Clamp negative results to 0; NaN stays NaN (PTX `.relu`).
    pub const RELU: Flags = Flags(4);
    /// min/max give NaN when an operand is NaN.
    pub const NAN: Flags = Flags(8);
    pub const XORSIGN_ABS: Flags = Flags(16);
    pub const CARRY_IN: Flags = Flags(32);
    pub const WRAP: Flags = Flags(64);
    pub const RIGHT: Flags = Flags(128);
    pub const SHIFTAMT: Flags = Flags(256);
    pub const HIGH: Flags = Flags(512);
    /// Lanes named by a member mask wait for each other.
    pub const SYNC: Flags = Flags(1024);
    /// A branch that never diverges; a barrier that whole warps execute together.
    pub const UNIFORM: Flags = Flags(2048);
    /// Conversion rounds to an integral value.
    pub const ROUND_INT: Flags = Flags(4096);
    pub const SATFINITE: Flags = Flags(8192);
    /// Added by the register allocator: spill store, spill load or rematerialised value.
    pub const SPILL: Flags = Flags(16384);
    /// `out of bounds returns 0` (`fma.oob`).
    pub const OOB: Flags = Flags(32768);

    #[inline(always)]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        self.with(other)
    }
}
