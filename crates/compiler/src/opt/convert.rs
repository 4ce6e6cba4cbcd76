// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions between integers are moves, masks and bit fields.

use smallvec::smallvec;
use warpwatt_isa::{Flags, Op, Sub, Ty};

use super::simplify::{Outcome, slice};
use crate::ir::{Inst, Opnd};

/// Conversions between integers as moves, masks and bit fields.
pub fn convert(inst: &mut Inst, changed: &mut bool) -> Outcome {
    if !inst.ty.is_int() || !inst.ty2.is_int() || inst.flags.has(Flags::SAT) || inst.neg | inst.abs != 0 {
        return Outcome::Stays;
    }
    if inst.ty == Ty::B128 || inst.ty2 == Ty::B128 {
        return Outcome::Stays;
    }
    let low = |o: Opnd| if inst.ty2.words() == 2 { slice(o, 0, 1) } else { Some(o) };
    let Some(source) = low(inst.srcs[0]) else { return Outcome::Stays };
    // The type that decides which bits survive: the narrower one.
    let narrow = if inst.ty.bytes() < inst.ty2.bytes() { inst.ty } else { inst.ty2 };
    match (inst.ty.words(), narrow) {
        (2, n) if n.words() == 2 => Outcome::Copy(inst.srcs[0]),
        (2, Ty::U32) => {
            inst.op = Op::Pack;
            inst.ty = Ty::U64;
            inst.ty2 = Ty::U64;
            inst.srcs = smallvec![source, Opnd::Imm(0)];
            *changed = true;
            Outcome::Stays
        }
        (1, Ty::U32 | Ty::S32) => Outcome::Copy(source),
        (1, Ty::U8 | Ty::U16) => {
            inst.op = Op::Lop3;
            let bits = if narrow == Ty::U8 { 0xff } else { 0xffff };
            inst.ty = Ty::U32;
            inst.ty2 = Ty::U32;
            inst.sub = Sub::Lut(0xc0);
            inst.srcs = smallvec![source, Opnd::Imm(bits), Opnd::Imm(0)];
            *changed = true;
            Outcome::Stays
        }
        // A sign-extended narrow value kept in an unsigned type is extended according to the source type.
        (1, Ty::S8 | Ty::S16) if inst.ty.bytes() >= inst.ty2.bytes() || inst.ty.is_signed() => {
            let bits = if narrow == Ty::S8 { 8 } else { 16 };
            if inst.ty.bytes() < 4 && !inst.ty.is_signed() {
                return Outcome::Stays;
            }
            inst.op = Op::Bfe;
            inst.ty = Ty::S32;
            inst.ty2 = Ty::S32;
            inst.srcs = smallvec![source, Opnd::Imm(0), Opnd::Imm(bits)];
            *changed = true;
            Outcome::Stays
        }
        _ => Outcome::Stays,
    }
}
