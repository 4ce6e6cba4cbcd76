// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that programs are compiled for: micro-ops, their operands and modifiers, and a compiled [`Program`].
//!
//! The vocabulary follows the machine code of NVIDIA's Turing generation, as far as it is public: 32-bit registers, three-input adds with carries in
//! predicates, three-input logic, wide multiply-add, constant banks as operands, special functions in one unit.
//! The compiler uses the same vocabulary on virtual registers, so that its stages and the machine share one opcode table.

mod class;
mod display;
mod mods;
mod op;
mod program;
mod sreg;
mod ty;
mod uop;

pub use class::{Class, Unit};
pub use display::suffixes;
pub use mods::*;
pub use op::Op;
pub use program::*;
pub use sreg::SReg;
pub use ty::Ty;
pub use uop::*;
