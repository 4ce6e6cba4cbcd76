// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folds additions of constants into the offset field of memory operations.

use warpwatt_isa::{Op, Space, Ty};

use super::defs::Defs;
use crate::ir::{Frame, Function, Inst, Opnd, PredUse};

/// The offset field has 24 bits, signed.
const MAX_OFFSET: i64 = (1 << 23) - 1;

pub fn fold(f: &mut Function) -> bool {
    let defs = Defs::of(f);
    let mut changed = false;
    for b in 0..f.blocks.len() {
        for i in 0..f.blocks[b].insts.len() {
            while let Some((base, off, frame)) = folded(f, &defs, &f.blocks[b].insts[i]) {
                let inst = &mut f.blocks[b].insts[i];
                inst.srcs[0] = base;
                inst.off = off;
                inst.frame = frame;
                changed = true;
            }
        }
    }
    changed
}

fn folded(f: &Function, defs: &Defs, inst: &Inst) -> Option<(Opnd, i32, Frame)> {
    if !matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cctl) {
        return None;
    }
    let wide = matches!(inst.mem.space, Space::Generic | Space::Global);
    // An absolute address.
    if let Opnd::Imm(base) = inst.srcs[0] {
        let sum = (base as i64).checked_add(i64::from(inst.off))?;
        let sum = if wide { sum } else { i64::from(sum as i32) };
        return (base != 0 && inst.frame == Frame::None && sum.abs() <= MAX_OFFSET).then_some((
            Opnd::Imm(0),
            sum as i32,
            Frame::None,
        ));
    }
    let add = defs.of_operand(f, inst.srcs[0])?;
    if add.op != Op::Iadd3
        || add.pdst[0].is_some()
        || add.guard != PredUse::TRUE
        || add.flags != warpwatt_isa::Flags::NONE
    {
        return None;
    }
    if (add.ty.words() == 2) != wide || matches!(add.ty, Ty::U16 | Ty::S16) {
        return None;
    }
    if add.srcs.get(2).is_some_and(|c| !matches!(c, Opnd::None | Opnd::Imm(0))) {
        return None;
    }
    let (base, constant, negated) = match (add.srcs[0], add.srcs[1]) {
        (x, Opnd::Imm(c)) if add.neg & 1 == 0 => (x, c, add.neg & 2 != 0),
        (Opnd::Imm(c), x) if add.neg & 2 == 0 => (x, c, add.neg & 1 != 0),
        _ => return None,
    };
    if matches!(base, Opnd::Imm(_)) {
        return None;
    }
    let constant = if wide { constant as i64 } else { i64::from(constant as u32 as i32) };
    let constant = if negated { constant.checked_neg()? } else { constant };
    let frame = match (inst.frame, add.frame) {
        (Frame::None, frame) => frame,
        (frame, Frame::None) => frame,
        _ => return None,
    };
    // An address of a stack variable carries its area in `frame`, with its offset in `off`.
    let sum = constant.checked_add(i64::from(add.off))?.checked_add(i64::from(inst.off))?;
    (sum.abs() <= MAX_OFFSET).then_some((base, sum as i32, frame))
}
