// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which operands an operation takes where. An ALU operation reads at most one operand that is not a register (an immediate or a word of a constant
//! bank), in the slots its encoding has for one; addresses and stored data are registers. Zero is the register RZ, never an immediate.

use warpwatt_isa::{Cmp, Op, Sub, Ty};

use crate::ir::{Inst, Opnd};

/// What the slots of an operation accept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// One operand that is not a register, in any of the slots of the mask.
    One(u8),
    /// Operands that are not registers are fine in the slots of the mask, any number of them.
    Any(u8),
}

pub(crate) fn rule(op: Op) -> Rule {
    use Op::*;
    match op {
        Mov | Sel | Iadd3 | Lop3 | Prmt | Popc | Bfind | Brev | Cvt | Iabs | Mufu | Testp => Rule::One(0b111),
        Imad | ImadHi | ImadWide | Ffma | Dp4a | Dp2a | Isad | Bfe | Shf => Rule::One(0b110),
        Bfi => Rule::One(0b1110),
        Lea | LeaHi | Imnmx | Shl | Shr | Isetp | IsetpX | Fadd | Fmul | Fmnmx | Fsetp | Fchk => {
            Rule::One(0b10)
        }
        Shfl => Rule::Any(0b1110),
        Match | Redux => Rule::Any(0b10),
        Vote | Elect | Bar | WarpSync | Nanosleep => Rule::Any(0b11),
        // The handle of a texture may be in a constant bank.
        Tex | Tld4 | Txq | Suld | Sust | Sured => Rule::One(0b1),
        _ => Rule::One(0),
    }
}

/// Sources the encoding always has; missing ones are RZ.
pub(crate) fn arity(op: Op) -> usize {
    use Op::*;
    match op {
        Iadd3 | Lop3 | Imad | ImadHi | ImadWide | Isad | LeaHi | Shf => 3,
        _ => 0,
    }
}

/// Reads a register (RZ and the stack pointer included).
pub(crate) fn is_register(o: Opnd) -> bool {
    matches!(o, Opnd::None | Opnd::Value(_) | Opnd::Sp | Opnd::Imm(0))
}

/// Sources 0 and 1 can be swapped if the comparison is reversed or the selecting predicate negated.
fn commutes(inst: &Inst) -> bool {
    use Op::*;
    matches!(
        inst.op,
        Iadd3 | Imad | ImadHi | ImadWide | Imnmx | Isetp | Fadd | Fmul | Ffma | Fmnmx | Fsetp | Sel | Isad
    ) || (inst.op == Dp4a && inst.ty == inst.ty2)
        || (inst.op == IsetpX && matches!(inst.sub, Sub::Cmp(Cmp::Eq | Cmp::Ne, _)))
}

/// Moves a non-register from slot 0 to slot 1 where that does not change the result.
pub(crate) fn canonicalise(inst: &mut Inst) {
    if inst.srcs.len() < 2 || is_register(inst.srcs[0]) || !is_register(inst.srcs[1]) || !commutes(inst) {
        return;
    }
    inst.srcs.swap(0, 1);
    let swap_bits = |bits: u8| bits & !0b11 | (bits & 1) << 1 | (bits >> 1) & 1;
    inst.neg = swap_bits(inst.neg);
    inst.abs = swap_bits(inst.abs);
    match (&mut inst.sub, inst.op) {
        (Sub::Cmp(cmp, _), _) => *cmp = cmp.mirrored(),
        (_, Op::Sel) => inst.psrc[0] = !inst.psrc[0],
        _ => {}
    }
}

/// The immediate in machine encoding, or `None` if it needs more bits than available.
pub(crate) fn encode_imm(bits: u64, words: u32, ty: Ty) -> Option<u32> {
    if words < 2 {
        return Some(bits as u32);
    }
    if ty == Ty::F64 {
        (bits as u32 == 0).then_some((bits >> 32) as u32)
    } else {
        (bits as i64 == i64::from(bits as i32)).then_some(bits as u32)
    }
}
