// SPDX-License-Identifier: MIT OR Apache-2.0
//! Out of SSA: phis and values that a guarded instruction may leave as they were become copies.
//!
//! Every phi gets a register of its own that the predecessors copy into and the block copies out of (Sreedhar et al., "Translating Out of Static Single
//! Assignment Form", first method): no copy can get in another's way, and coalescing removes nearly all of them.
//! After this pass a guarded instruction that keeps names its own result in `keep`; without `keep` it starts a new life of the result.

use fixedbitset::FixedBitSet;
use warpwatt_isa::{Op, Sub, Ty};

use super::words::WordMap;
use crate::cfg::Cfg;
use crate::ir::{Block, BlockId, Function, Inst, Opnd, Part, PredUse, Term, Value};

pub(super) fn run(f: &mut Function, cfg: &Cfg, live: &FixedBitSet) {
    let map = WordMap::of(&f.values);
    let is_live = |part: Part| map.slots(part).any(|s| live.contains(s));
    split_edges(f, &loops(f, cfg));
    let mut at_end: Vec<Vec<Inst>> = vec![Vec::new(); f.blocks.len()];
    for b in f.block_ids() {
        let insts = std::mem::take(&mut f.block_mut(b).insts);
        let preds = f.block(b).preds.clone();
        let mut out = Vec::with_capacity(insts.len());
        for mut inst in insts {
            match inst.op {
                Op::Phi => {
                    let shape = phi_shape(&inst);
                    let Some((result, words)) = shape else { continue };
                    let web = f.new_value(words);
                    for lane in 0..words.max(1) {
                        let part = |value, lane| Part { value, lane, words: words.min(1) };
                        if !is_live(part(result, lane)) {
                            continue;
                        }
                        out.push(copy(part(result, lane), Opnd::Value(part(web, lane)), inst.loc));
                        let mut done: Vec<BlockId> = Vec::new();
                        for (&src, &from) in inst.srcs.iter().zip(&preds) {
                            if !done.contains(&from) {
                                at_end[from.index()].push(copy(part(web, lane), word(src, lane), inst.loc));
                                done.push(from);
                            }
                        }
                    }
                }
                Op::Mov if inst.guard == PredUse::TRUE && is_dead_word(&inst, &is_live) => {}
                _ => {
                    if inst.guard == PredUse::TRUE {
                        inst.keep = Opnd::None;
                        inst.pkeep = [None; 2];
                    } else {
                        keep(&mut inst, &mut out);
                    }
                    out.push(inst);
                }
            }
        }
        f.block_mut(b).insts = out;
    }
    for (b, copies) in at_end.into_iter().enumerate() {
        f.blocks[b].insts.extend(copies);
    }
}

fn is_dead_word(inst: &Inst, is_live: &impl Fn(Part) -> bool) -> bool {
    inst.dst.is_some_and(|d| !is_live(d))
}

fn phi_shape(inst: &Inst) -> Option<(Value, u8)> {
    match (inst.dst, inst.pdst[0]) {
        (Some(d), _) => Some((d.value, d.words)),
        (None, Some(p)) => Some((p, 0)),
        (None, None) => None,
    }
}

fn word(o: Opnd, lane: u8) -> Opnd {
    match o {
        Opnd::Imm(bits) => Opnd::Imm(if lane < 2 { bits >> (32 * u32::from(lane)) & 0xffff_ffff } else { 0 }),
        Opnd::Const { bank, offset } => Opnd::Const { bank, offset: offset + 4 * u16::from(lane) },
        Opnd::Value(p) if p.words > 0 => Opnd::Value(Part { value: p.value, lane: p.lane + lane, words: 1 }),
        other => other,
    }
}

/// `dst = src` for one word or one predicate.
pub(super) fn copy(dst: Part, src: Opnd, loc: u32) -> Inst {
    let mut inst = if dst.words == 0 {
        let from = match src {
            Opnd::Value(p) => PredUse::of(p.value),
            Opnd::Imm(0) => PredUse::FALSE,
            _ => PredUse::TRUE,
        };
        pred_copy(dst.value, from)
    } else {
        let mut inst = Inst::new(Op::Mov, Ty::U32);
        inst.dst = Some(dst);
        inst.srcs.push(src);
        inst
    };
    inst.loc = loc;
    inst
}

fn pred_copy(dst: Value, from: PredUse) -> Inst {
    let mut inst = Inst::new(Op::Plop3, Ty::Pred);
    inst.sub = Sub::Lut(0xf0);
    inst.pdst[0] = Some(dst);
    inst.psrc[0] = from;
    inst
}

/// What lanes without the guard keep is copied into the result first.
fn keep(inst: &mut Inst, out: &mut Vec<Inst>) {
    if let (Some(dst), true) = (inst.dst, inst.keep != Opnd::None) {
        for i in 0..dst.words {
            let part = Part { value: dst.value, lane: dst.lane + i, words: 1 };
            out.push(copy(part, word(inst.keep, i), inst.loc));
        }
        inst.keep = Opnd::Value(dst);
    }
    for k in 0..2 {
        if let (Some(p), Some(kept)) = (inst.pdst[k], inst.pkeep[k]) {
            let mut copy = pred_copy(p, kept);
            copy.loc = inst.loc;
            out.push(copy);
            inst.pkeep[k] = Some(PredUse::of(p));
        } else {
            inst.pkeep[k] = None;
        }
    }
}

/// Gives an edge a block of its own where copies for it could not be placed at the end of the predecessor: when the predecessor has another edge to the
/// same block with other phi sources, or would run the copies in a loop that the edge leaves.
fn split_edges(f: &mut Function, loops: &[FixedBitSet]) {
    for b in f.block_ids() {
        if !f.block(b).insts.first().is_some_and(|i| i.op == Op::Phi) {
            continue;
        }
        for edge in 0..f.block(b).preds.len() {
            let from = f.block(b).preds[edge];
            let earlier = f.block(b).preds[..edge].iter().position(|&p| p == from);
            let differs = earlier.is_some_and(|e| {
                f.block(b)
                    .insts
                    .iter()
                    .take_while(|i| i.op == Op::Phi)
                    .any(|i| i.srcs.get(e) != i.srcs.get(edge))
            });
            let single = earlier.is_none() && f.block(b).preds.iter().filter(|&&p| p == from).count() == 1;
            let leaves = single
                && f.block(from).term.targets().len() > 1
                && loops.iter().any(|l| l.contains(from.index()) && !l.contains(b.index()));
            if !differs && !leaves {
                continue;
            }
            let between = BlockId::from(f.blocks.len());
            f.blocks.push(Block { insts: Vec::new(), term: Term::Jump(b), preds: vec![from] });
            let occurrence = f.block(b).preds[..edge].iter().filter(|&&p| p == from).count();
            retarget_nth(&mut f.block_mut(from).term, b, if differs { occurrence } else { 0 }, between);
            f.block_mut(b).preds[edge] = between;
        }
    }
}

/// The blocks of every natural loop.
fn loops(f: &Function, cfg: &Cfg) -> Vec<FixedBitSet> {
    let mut loops = Vec::new();
    for &header in &cfg.order {
        let latches = f.block(header).preds.iter().copied();
        let mut work: Vec<BlockId> =
            latches.filter(|&p| cfg.reachable(p) && cfg.dominates(header, p)).collect();
        if work.is_empty() {
            continue;
        }
        let mut inside = FixedBitSet::with_capacity(f.blocks.len());
        inside.insert(header.index());
        while let Some(b) = work.pop() {
            if !inside.put(b.index()) {
                work.extend(f.block(b).preds.iter().copied().filter(|&p| cfg.reachable(p)));
            }
        }
        loops.push(inside);
    }
    loops
}

/// Redirects the `n`th edge to `old`, counting only those that still lead there.
fn retarget_nth(term: &mut Term, old: BlockId, n: usize, new: BlockId) {
    let mut seen = 0;
    term.retarget(|t| {
        if t != old {
            return t;
        }
        seen += 1;
        if seen - 1 == n { new } else { t }
    });
}
