// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps the flow graph small: known branches, unreachable blocks, straight-line chains, empty blocks.

use warpwatt_isa::Op;

use crate::cfg::Cfg;
use crate::ir::{BlockId, Function, Opnd, PredUse, Term};

pub fn clean(f: &mut Function) -> bool {
    let mut changed = false;
    loop {
        let mut again = decide_branches(f);
        again |= remove_unreachable(f);
        again |= merge_chains(f);
        again |= skip_empty(f);
        changed |= again;
        if !again {
            return changed;
        }
    }
}

/// Removes one edge `from -> to` with the phi sources that belong to it.
pub fn remove_edge(f: &mut Function, from: BlockId, to: BlockId) {
    let block = f.block_mut(to);
    if let Some(k) = block.preds.iter().position(|&p| p == from) {
        block.preds.remove(k);
        for inst in block.insts.iter_mut().take_while(|i| i.op == Op::Phi) {
            inst.srcs.remove(k);
        }
    }
}

fn decide_branches(f: &mut Function) -> bool {
    let mut changed = false;
    for b in f.block_ids() {
        match f.block(b).term.clone() {
            Term::Branch { cond: PredUse { value: None, negated }, taken, other, .. } => {
                let (keep, drop) = if negated { (other, taken) } else { (taken, other) };
                remove_edge(f, b, drop);
                f.block_mut(b).term = Term::Jump(keep);
                changed = true;
            }
            Term::Branch { taken, other, .. } if taken == other => {
                // Equal edges can only be merged when no phi distinguishes them.
                let block = f.block(taken);
                let edges: Vec<usize> =
                    block.preds.iter().enumerate().filter(|(_, p)| **p == b).map(|(k, _)| k).collect();
                let same = block
                    .insts
                    .iter()
                    .take_while(|i| i.op == Op::Phi)
                    .all(|i| i.srcs[edges[0]] == i.srcs[edges[1]]);
                if same {
                    remove_edge(f, b, taken);
                    f.block_mut(b).term = Term::Jump(taken);
                    changed = true;
                }
            }
            Term::Table { index: Opnd::Imm(i), targets, .. } if (i as usize) < targets.len() => {
                for (k, &t) in targets.iter().enumerate() {
                    if k != i as usize {
                        remove_edge(f, b, t);
                    }
                }
                f.block_mut(b).term = Term::Jump(targets[i as usize]);
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

pub fn remove_unreachable(f: &mut Function) -> bool {
    let cfg = Cfg::of(f);
    if cfg.order.len() == f.blocks.len() {
        return false;
    }
    let gone: Vec<BlockId> = f.block_ids().filter(|&b| !cfg.reachable(b)).collect();
    for &b in &gone {
        for t in f.block(b).term.targets() {
            remove_edge(f, b, t);
        }
    }
    let mut number = vec![u32::MAX; f.blocks.len()];
    let mut next = 0;
    for b in f.block_ids() {
        if cfg.reachable(b) {
            number[b.index()] = next;
            next += 1;
        }
    }
    let renumber = |b: BlockId| BlockId(number[b.index()]);
    let mut index = 0;
    f.blocks.retain(|_| {
        index += 1;
        number[index - 1] != u32::MAX
    });
    for block in &mut f.blocks {
        block.term.retarget(renumber);
        block.preds.iter_mut().for_each(|p| *p = renumber(*p));
    }
    true
}

/// `a: … jump b` where only `a` leads to `b`: one block.
fn merge_chains(f: &mut Function) -> bool {
    let mut changed = false;
    for a in f.block_ids() {
        while let Term::Jump(b) = f.block(a).term {
            if b == a
                || b.0 == 0
                || f.block(b).preds.len() != 1
                || f.block(b).insts.first().is_some_and(|i| i.op == Op::Phi)
            {
                break;
            }
            let insts = std::mem::take(&mut f.block_mut(b).insts);
            let term = std::mem::replace(&mut f.block_mut(b).term, Term::Unreachable);
            f.block_mut(b).preds.clear();
            for t in term.targets() {
                for p in &mut f.block_mut(t).preds {
                    if *p == b {
                        *p = a;
                    }
                }
            }
            let block = f.block_mut(a);
            block.insts.extend(insts);
            block.term = term;
            changed = true;
        }
    }
    changed
}

/// An empty block that only jumps on is left out, unless phis at its target need it to distinguish two edges.
fn skip_empty(f: &mut Function) -> bool {
    let mut changed = false;
    for e in f.block_ids() {
        let Term::Jump(t) = f.block(e).term else { continue };
        if e.0 == 0 || t == e || !f.block(e).insts.is_empty() || f.block(e).preds.is_empty() {
            continue;
        }
        let preds = f.block(e).preds.clone();
        let phis = f.block(t).insts.first().is_some_and(|i| i.op == Op::Phi);
        let mut distinct = preds.clone();
        distinct.sort();
        distinct.dedup();
        if phis && (distinct.len() != preds.len() || preds.iter().any(|p| f.block(t).preds.contains(p))) {
            continue;
        }
        let Some(k) = f.block(t).preds.iter().position(|&p| p == e) else { continue };
        for &p in &preds {
            f.block_mut(p).term.retarget(|b| if b == e { t } else { b });
        }
        let target = f.block_mut(t);
        target.preds.remove(k);
        target.preds.extend(&preds);
        for inst in target.insts.iter_mut().take_while(|i| i.op == Op::Phi) {
            let src = inst.srcs.remove(k);
            inst.srcs.extend(preds.iter().map(|_| src));
        }
        let empty = f.block_mut(e);
        empty.preds.clear();
        empty.term = Term::Unreachable;
        changed = true;
    }
    changed
}
