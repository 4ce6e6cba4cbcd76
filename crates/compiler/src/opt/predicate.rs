// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predication of short branches, as ptxas does: the instructions of a small side block run under a guard instead of behind a jump.

use smallvec::smallvec;
use warpwatt_isa::{Op, Ty};

use super::blocks::remove_edge;
use super::defs::Defs;
use crate::ir::{BlockId, Function, Inst, Opnd, Part, PredUse, Term};

/// Instructions that a side block may have at most. A jump over more than this costs less than issuing them without active lanes.
const MAX_SIDE: usize = 7;

pub fn run(f: &mut Function) -> bool {
    let mut changed = false;
    // Inner hammocks first: blocks are roughly in program order, so walk backwards, and again until nothing fits.
    loop {
        let found =
            f.block_ids().collect::<Vec<_>>().into_iter().rev().find_map(|b| hammock(f, b).map(|h| (b, h)));
        let Some((head, hammock)) = found else { return changed };
        convert(f, head, &hammock);
        super::blocks::clean(f);
        changed = true;
    }
}

struct Hammock {
    /// (side block, condition under which it runs)
    sides: Vec<(BlockId, PredUse)>,
    join: BlockId,
}

fn hammock(f: &Function, head: BlockId) -> Option<Hammock> {
    let Term::Branch { cond, taken, other, uniform, .. } = f.block(head).term else { return None };
    if uniform || taken == other {
        return None;
    }
    let side_to = |b: BlockId| match f.block(b).term {
        Term::Jump(t) if t != b && t != head && b != head && f.block(b).preds.len() == 1 => Some(t),
        _ => None,
    };
    let sides = match (side_to(taken), side_to(other)) {
        (Some(t), _) if t == other => vec![(taken, cond)],
        (_, Some(o)) if o == taken => vec![(other, !cond)],
        (Some(t), Some(o)) if t == o => vec![(taken, cond), (other, !cond)],
        _ => return None,
    };
    let join = side_to(sides[0].0)?;
    if join == head {
        return None;
    }
    let mut total = 0;
    for &(side, _) in &sides {
        let insts = &f.block(side).insts;
        if !insts.iter().all(can_guard) {
            return None;
        }
        total += insts.len();
    }
    // Every phi of the join costs a move at worst.
    let phis = f.block(join).insts.iter().take_while(|i| i.op == Op::Phi).count();
    (total + phis <= MAX_SIDE).then_some(Hammock { sides, join })
}

fn can_guard(inst: &Inst) -> bool {
    use Op::*;
    let plain = inst.guard == PredUse::TRUE;
    let known = match inst.op {
        Phi | Pack | Part | Undef => false,
        Ld | St | Atom | Red => true,
        Tex | Tld4 | Txq | Suld | Sust | Sured => false,
        Sys | Call | CallInd | Bar | WarpSync | Nanosleep | Trap | Brkpt | Membar | Cctl | S2r => false,
        // 64-bit integer operations become several: they would need their guard several times.
        _ => !inst.is_pinned(),
    };
    plain && known && inst.psrc.iter().all(|p| p.value.is_some() || !p.negated)
}

fn convert(f: &mut Function, head: BlockId, h: &Hammock) {
    let uses = Defs::with_uses(f).uses;
    let mut moved: Vec<Inst> = Vec::new();
    for &(side, cond) in &h.sides {
        for mut inst in std::mem::take(&mut f.block_mut(side).insts) {
            inst.guard = cond;
            moved.push(inst);
        }
    }
    let join_preds = f.block(h.join).preds.clone();
    let edge = |from: BlockId| join_preds.iter().position(|&p| p == from);
    // The edge that stays: from the head itself, or the first side's, which the head takes over.
    let (kept_edge, keep_from_head) = match edge(head) {
        Some(k) if h.sides.len() == 1 => (k, true),
        _ => (edge(h.sides[0].0).unwrap_or(0), false),
    };
    let phis = f.block(h.join).insts.iter().take_while(|i| i.op == Op::Phi).count();
    for p in 0..phis {
        let phi = f.block(h.join).insts[p].clone();
        // Sides run one after the other, so a later side's value may keep an earlier one's.
        let side_edges: Vec<usize> = h.sides.iter().filter_map(|(s, _)| edge(*s)).collect();
        let (mut current, last) = if keep_from_head {
            (phi.srcs[kept_edge], 0)
        } else {
            (phi.srcs[side_edges[0]], side_edges.len() - 1)
        };
        let incoming = phi.srcs[side_edges[last]];
        if incoming != current {
            current = select(f, &mut moved, &uses, &phi, incoming, current, h.sides[last].1);
        }
        f.block_mut(h.join).insts[p].srcs[kept_edge] = current;
    }
    let loc = match f.block(head).term {
        Term::Branch { loc, .. } => loc,
        _ => 0,
    };
    for inst in &mut moved {
        if inst.loc == 0 {
            inst.loc = loc;
        }
    }
    f.block_mut(head).insts.extend(moved);
    f.block_mut(head).term = Term::Jump(h.join);
    for &(side, _) in &h.sides {
        f.block_mut(side).preds.clear();
        f.block_mut(side).term = Term::Unreachable;
    }
    if keep_from_head {
        remove_edge(f, h.sides[0].0, h.join);
    } else {
        f.block_mut(h.join).preds[kept_edge] = head;
        if let Some((second, _)) = h.sides.get(1) {
            remove_edge(f, *second, h.join);
        }
    }
}

/// A value that is `incoming` in lanes where `cond` holds and `otherwise` in the rest.
fn select(
    f: &mut Function,
    moved: &mut Vec<Inst>,
    uses: &[u32],
    phi: &Inst,
    incoming: Opnd,
    otherwise: Opnd,
    cond: PredUse,
) -> Opnd {
    if phi.ty == Ty::Pred {
        return select_pred(f, moved, phi, incoming, otherwise, cond);
    }
    // The side's own definition, if only the phi reads it, can keep the other value itself.
    if let Opnd::Value(part) = incoming
        && part.words == f.words(part.value)
        && uses[part.value.index()] == 1
        && let Some(def) = moved.iter_mut().find(|i| i.dst.is_some_and(|d| d.value == part.value))
        && def.guard == cond
        && def.keep == Opnd::None
        && !matches!(otherwise, Opnd::Imm(_) | Opnd::Const { .. } | Opnd::Sp)
        && def.ty.words() == u32::from(part.words)
    {
        def.keep = otherwise;
        return incoming;
    }
    let words = phi.dst.map_or(1, |d| d.words);
    let mut inst = Inst::new(Op::Mov, super::operands::move_type(words));
    let value = f.new_value(words);
    inst.dst = Some(Part { value, lane: 0, words });
    inst.guard = cond;
    inst.keep = otherwise;
    inst.srcs = smallvec![incoming];
    inst.loc = phi.loc;
    moved.push(inst);
    Opnd::Value(Part { value, lane: 0, words })
}

fn select_pred(
    f: &mut Function,
    moved: &mut Vec<Inst>,
    phi: &Inst,
    incoming: Opnd,
    otherwise: Opnd,
    cond: PredUse,
) -> Opnd {
    let as_use = |o: Opnd| match o {
        Opnd::Value(p) => PredUse::of(p.value),
        Opnd::Imm(v) => PredUse { value: None, negated: v & 1 == 0 },
        _ => PredUse::FALSE,
    };
    let value = f.new_value(0);
    // cond ? incoming : otherwise
    let mut inst = Inst::new(Op::Plop3, Ty::Pred);
    inst.pdst[0] = Some(value);
    inst.psrc = [cond, as_use(incoming), as_use(otherwise)];
    inst.sub = warpwatt_isa::Sub::Lut(0xca);
    inst.loc = phi.loc;
    moved.push(inst);
    Opnd::Value(Part { value, lane: 0, words: 0 })
}
