// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which unit runs an operation, and which latency class it belongs to. The timed model assigns cycles to each class.

use crate::{Op, Ty, Uop};

/// Execution units of an SM: whose operand collectors and lanes an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Unit {
    /// Integer and single-precision lanes; branches, barriers and votes take an issue slot of theirs.
    Sp,
    /// Special functions, conversions, bit counting.
    Sfu,
    Fp64,
    /// Shuffles: the data paths of the load/store unit, with a fixed latency.
    Shuffle,
    /// Loads, stores, atomics, textures: the memory unit decides how long they take.
    Memory,
}

impl Unit {
    pub const COUNT: usize = 5;
    pub const ALL: [Unit; Unit::COUNT] = [Unit::Sp, Unit::Sfu, Unit::Fp64, Unit::Shuffle, Unit::Memory];

    /// As in the names of counters.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Sp => "sp",
            Unit::Sfu => "sfu",
            Unit::Fp64 => "fp64",
            Unit::Shuffle => "shuffle",
            Unit::Memory => "memory",
        }
    }
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

    /// The unit that executes the operation.
    pub fn unit(&self) -> Unit {
        match self.class() {
            Class::Fp64 => Unit::Fp64,
            Class::Special | Class::Convert | Class::BitCount => Unit::Sfu,
            Class::Shuffle => Unit::Shuffle,
            Class::Load | Class::Store | Class::Atomic | Class::Texture | Class::Surface => Unit::Memory,
            _ => Unit::Sp,
        }
    }
}
