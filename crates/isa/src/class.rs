// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which unit runs an operation, and which latency class it belongs to. The timed machine gives each class its cycles.

use crate::{Op, Sub, Ty, Uop};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// Integer and single-precision lanes.
    Sp,
    /// Special functions, conversions, bit counting.
    Sfu,
    Fp64,
    /// Loads, stores, atomics, shuffles.
    LdSt,
    Tex,
    /// Branches, barriers, predicates: no lanes are used.
    Control,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    IntAdd,
    IntMul,
    IntWide,
    Logic,
    Shift,
    MinMax,
    Compare,
    Move,
    Fp32,
    Fp16,
    Fp64,
    Convert,
    Special,
    BitCount,
    Dot,
    Shuffle,
    Vote,
    Load,
    Store,
    Atomic,
    Texture,
    Surface,
    Fence,
    Branch,
    Barrier,
    System,
}

impl Uop {
    pub fn class(&self) -> Class {
        use Op::*;
        match self.op {
            Mov | Sel | S2r | ActiveMask | Nop | Phi | Pack | Part | Undef => Class::Move,
            Prmt | Lop3 | Plop3 | Bfe | Bfi => Class::Logic,
            Iadd3 | Lea | LeaHi | Iabs | Isad => Class::IntAdd,
            Imad | ImadHi => Class::IntMul,
            ImadWide => Class::IntWide,
            Shl | Shr | Shf => Class::Shift,
            Imnmx => Class::MinMax,
            Popc | Bfind | Brev => Class::BitCount,
            Dp4a | Dp2a => Class::Dot,
            Isetp | IsetpX | Fchk | Testp | IsSpace => Class::Compare,
            Fadd | Fmul | Ffma | Fmnmx | Fsetp => match self.ty {
                Ty::F64 => Class::Fp64,
                Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2 => Class::Fp16,
                _ => Class::Fp32,
            },
            Mufu => Class::Special,
            Cvt => Class::Convert,
            Shfl => Class::Shuffle,
            Vote | Match | Redux | Elect => Class::Vote,
            Ld => Class::Load,
            St => Class::Store,
            Atom | Red => Class::Atomic,
            Tex | Tld4 | Txq => Class::Texture,
            Suld | Sust | Sured => Class::Surface,
            Membar | Cctl => Class::Fence,
            Bra | Brx | Call | CallInd | Ret | Exit | Nanosleep | Trap | Brkpt => Class::Branch,
            Bar | WarpSync => Class::Barrier,
            Sys => Class::System,
        }
    }

    pub fn unit(&self) -> Unit {
        match self.class() {
            Class::Fp64 => Unit::Fp64,
            Class::Special | Class::Convert | Class::BitCount => Unit::Sfu,
            Class::Shuffle | Class::Load | Class::Store | Class::Atomic | Class::Fence | Class::Surface => {
                Unit::LdSt
            }
            Class::Texture => Unit::Tex,
            Class::Branch | Class::Barrier | Class::System | Class::Vote => Unit::Control,
            Class::Move if matches!(self.sub, Sub::SReg(_)) => Unit::Control,
            _ => Unit::Sp,
        }
    }
}
