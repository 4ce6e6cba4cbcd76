// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folds additions of constants into the offset field of memory operations: `[x + 8]` directly, and `[(x + 8) + i * 4]` by adding the 8 last.

use warpwatt_isa::{Flags, Op, Space, Ty};

use super::defs::{Defs, for_each_term_use, whole};
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

fn has_address(inst: &Inst) -> bool {
    matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cctl)
}

/// Takes constants out of sums that are only used as addresses and adds them to the offsets there: arrays that lie side by side
/// then share a base register.
pub fn reassociate(f: &mut Function) -> bool {
    let mut changed = false;
    // One constant of every sum a round.
    for _ in 0..4 {
        let defs = Defs::of(f);
        let room = offset_room(f);
        let mut moved: Vec<Option<(i32, Frame)>> = vec![None; f.values.len()];
        for b in 0..f.blocks.len() {
            for i in 0..f.blocks[b].insts.len() {
                let inst = &f.blocks[b].insts[i];
                let Some(dst) = inst.dst else { continue };
                let Some((low, high, plain)) = room[dst.value.index()] else { continue };
                let Some((slot, base, constant, frame)) = constant_term(f, &defs, inst) else { continue };
                let fits =
                    i64::from(low) + constant >= -MAX_OFFSET && i64::from(high) + constant <= MAX_OFFSET;
                if !fits || (frame != Frame::None && !plain) {
                    continue;
                }
                f.blocks[b].insts[i].srcs[slot] = base;
                moved[dst.value.index()] = Some((constant as i32, frame));
            }
        }
        if moved.iter().all(Option::is_none) {
            break;
        }
        changed = true;
        for inst in f.blocks.iter_mut().flat_map(|b| &mut b.insts).filter(|i| has_address(i)) {
            if let Opnd::Value(part) = inst.srcs[0]
                && let Some((constant, frame)) = moved[part.value.index()]
            {
                inst.off += constant;
                if frame != Frame::None {
                    inst.frame = frame;
                }
            }
        }
    }
    changed
}

/// For values that are only used as addresses: the smallest and largest offset they are used with, and whether none of them
/// counts from an area of the frame.
fn offset_room(f: &Function) -> Vec<Option<(i32, i32, bool)>> {
    let mut room: Vec<Option<(i32, i32, bool)>> = vec![None; f.values.len()];
    let mut other = vec![false; f.values.len()];
    for block in &f.blocks {
        for inst in &block.insts {
            let address = if has_address(inst) { whole(f, inst.srcs[0]) } else { None };
            if let Some(value) = address {
                let plain = inst.frame == Frame::None;
                let (low, high, so_far) = room[value.index()].unwrap_or((inst.off, inst.off, true));
                room[value.index()] = Some((low.min(inst.off), high.max(inst.off), so_far && plain));
            }
            let mut as_address = address.is_some();
            inst.for_each_use(|p| {
                // The address itself is seen once; stored as data as well, it is something else.
                if as_address && Some(p.value) == address {
                    as_address = false;
                } else {
                    other[p.value.index()] = true;
                }
            });
        }
        for_each_term_use(&block.term, |v| other[v.index()] = true);
    }
    for (room, other) in room.iter_mut().zip(other) {
        if other {
            *room = None;
        }
    }
    room
}

/// (slot, what stays there, constant, area) of a term `x + constant` in a sum.
fn constant_term(f: &Function, defs: &Defs, inst: &Inst) -> Option<(usize, Opnd, i64, Frame)> {
    if inst.guard != PredUse::TRUE
        || inst.pdst[0].is_some()
        || inst.flags != Flags::NONE
        || inst.frame != Frame::None
    {
        return None;
    }
    let slots: &[usize] = match inst.op {
        Op::Lea => &[1],
        Op::Imad | Op::ImadWide => &[2],
        Op::Iadd3 => &[0, 1, 2],
        _ => return None,
    };
    let words = inst.dst?.words;
    for &slot in slots {
        let Some(term) = inst.srcs.get(slot).and_then(|&o| defs.of_operand(f, o)) else { continue };
        let plain = term.op == Op::Iadd3
            && term.guard == PredUse::TRUE
            && term.pdst[0].is_none()
            && term.flags == Flags::NONE
            && term.neg == 0
            && u32::from(words) == term.ty.words()
            && inst.neg >> slot & 1 == 0;
        if !plain || !matches!(term.srcs.get(2), None | Some(Opnd::None | Opnd::Imm(0))) {
            continue;
        }
        let (Opnd::Value(_) | Opnd::Sp, Opnd::Imm(c)) = (term.srcs[0], term.srcs[1]) else { continue };
        let constant = if words == 2 { c as i64 } else { i64::from(c as u32 as i32) };
        return Some((slot, term.srcs[0], constant.checked_add(i64::from(term.off))?, term.frame));
    }
    None
}

fn folded(f: &Function, defs: &Defs, inst: &Inst) -> Option<(Opnd, i32, Frame)> {
    if !has_address(inst) {
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
    if add.op != Op::Iadd3 || add.pdst[0].is_some() || add.guard != PredUse::TRUE || add.flags != Flags::NONE
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
