// SPDX-License-Identifier: MIT OR Apache-2.0
//! One pre-decoded micro-op.

use crate::{Flags, MemAttr, Op, Round, Space, Sub, Ty};

/// A 32-bit register; [`Reg::ZERO`] reads as zero and swallows writes. A wide operand names its lowest register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Reg(pub u8);

impl Reg {
    pub const ZERO: Reg = Reg(255);
    /// The stack pointer, as in the hardware's calling convention.
    pub const SP: Reg = Reg(1);
}

/// A predicate register; [`Pred::TRUE`] reads as true and swallows writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Pred(pub u8);

impl Pred {
    pub const TRUE: Pred = Pred(7);
    pub const COUNT: usize = 7;
}

/// A predicate as a source, possibly negated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PredSrc {
    pub pred: Pred,
    pub negated: bool,
}

impl PredSrc {
    pub const TRUE: PredSrc = PredSrc { pred: Pred::TRUE, negated: false };
    pub const FALSE: PredSrc = PredSrc { pred: Pred::TRUE, negated: true };
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Src {
    #[default]
    None,
    Reg(Reg),
    /// 32 bits. For a 64-bit float operand: its high word, the low word being 0. For a 64-bit integer operand: sign-extended.
    Imm(u32),
    /// Word (or pair) of a constant bank: an access to the constant cache.
    Const {
        bank: u8,
        offset: u16,
    },
}

/// No branch target, or no reconvergence point before the thread ends.
pub const NO_PC: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uop {
    pub op: Op,
    pub ty: Ty,
    /// Source type of conversions, second operand type of dot products, coordinate type of textures.
    pub ty2: Ty,
    pub rnd: Round,
    pub sub: Sub,
    pub flags: Flags,
    pub mem: MemAttr,
    /// Lanes whose guard does not hold skip the micro-op.
    pub guard: PredSrc,
    pub dst: Reg,
    pub pdst: [Pred; 2],
    pub src: [Src; 4],
    pub psrc: [PredSrc; 3],
    /// Bit i: source i is negated (before use; see the opcode for integers).
    pub neg: u8,
    /// Bit i: the absolute value of source i is taken, before negation.
    pub abs: u8,
    /// Byte offset of a memory address.
    pub off: i32,
    /// Branch or call target, jump table number.
    pub target: u32,
    /// Reconvergence point of lanes after a divergent branch.
    pub reconv: u32,
    /// Index into `Program::locs`.
    pub loc: u32,
    /// Bit i: no later instruction on any path reads register source i; bit 4: the guard.
    pub last_use: u8,
}

impl Uop {
    pub fn new(op: Op, ty: Ty) -> Uop {
        Uop {
            op,
            ty,
            ty2: ty,
            rnd: Round::Rn,
            sub: Sub::None,
            flags: Flags::NONE,
            mem: MemAttr { vec: 1, ..MemAttr::default() },
            guard: PredSrc::TRUE,
            dst: Reg::ZERO,
            pdst: [Pred::TRUE; 2],
            src: [Src::None; 4],
            psrc: [PredSrc::TRUE; 3],
            neg: 0,
            abs: 0,
            off: 0,
            target: NO_PC,
            reconv: NO_PC,
            loc: 0,
            last_use: 0,
        }
    }

    /// Registers written from `dst` upwards; 0 if none.
    pub fn dst_words(&self) -> u32 {
        dst_words(self.op, self.ty, self.sub, &self.mem)
    }

    /// Registers read by source `i`, were it a register; 0 if the operation has no such source.
    pub fn src_words(&self, i: usize) -> u32 {
        if self.src[i] == Src::None {
            0
        } else {
            src_words(self.op, self.ty, self.ty2, self.sub, &self.mem, i)
        }
    }
}

/// Registers that an operation writes.
pub fn dst_words(op: Op, ty: Ty, sub: Sub, mem: &MemAttr) -> u32 {
    use Op::*;
    match op {
        Isetp | IsetpX | Plop3 | Fsetp | Fchk | Testp | IsSpace | St | Red | Sust | Sured | Membar | Cctl
        | Nop | Bra | Brx | Call | CallInd | Ret | Exit | WarpSync | Nanosleep | Trap | Brkpt => 0,
        Vote => u32::from(sub == Sub::Vote(crate::VoteMode::Ballot)),
        Bar => u32::from(sub == Sub::Bar(crate::BarKind::RedPopc)),
        ImadWide => 2,
        Ld => (ty.bytes() * u32::from(mem.vec)).div_ceil(4).max(u32::from(mem.vec)),
        Suld => ty.words().max(1) * u32::from(mem.vec),
        Tex | Tld4 => 4,
        Sys => match sub {
            Sub::Sys(crate::SysFn::Malloc | crate::SysFn::GridHandle) => 2,
            Sub::Sys(crate::SysFn::Vprintf | crate::SysFn::GridSync) => 1,
            _ => 0,
        },
        Mufu | Txq | Match | Elect | ActiveMask | Redux | Shfl | S2r | Popc | Bfind => 1,
        _ => ty.words(),
    }
}

/// Registers that source `i` of an operation spans.
pub fn src_words(op: Op, ty: Ty, ty2: Ty, sub: Sub, mem: &MemAttr, i: usize) -> u32 {
    use Op::*;
    let address = match mem.space {
        Space::Generic | Space::Global => 2,
        _ => 1,
    };
    match (op, i) {
        (Ld | St | Atom | Red | Cctl, 0) => address,
        (St, 1) => (ty.bytes() * u32::from(mem.vec)).div_ceil(4).max(u32::from(mem.vec)),
        (Tex | Tld4 | Txq | Suld | Sust | Sured, 0) | (IsSpace | CallInd, 0) => 2,
        (Tex, 1) => match sub {
            Sub::Tex(geom, _) => geom.coords(),
            _ => 1,
        },
        (Tex, 2 | 3) => match sub {
            Sub::Tex(geom, crate::LodMode::Grad) => geom.coords() - u32::from(geom.layered()),
            _ => 1,
        },
        (Tld4, 1) => match sub {
            Sub::Tld4(geom, _) => geom.coords(),
            _ => 1,
        },
        (Suld | Sust | Sured, 1) => match sub {
            Sub::Surf(geom, ..) | Sub::SurfRed(geom, ..) => geom.coords(),
            _ => 1,
        },
        (Sust, 2) => ty.words().max(1) * u32::from(mem.vec),
        (ImadWide, 2) => 2,
        (Cvt, _) => ty2.words(),
        (Popc | Bfind | Match, 0) => ty.words(),
        (Sys | Bar | WarpSync | Nanosleep | Brx | Shfl | Vote | Redux | Elect | Mufu, _) | (Match, _) => 1,
        _ => ty.words(),
    }
}
