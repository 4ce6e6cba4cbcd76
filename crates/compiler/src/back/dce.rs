// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dead code by words: after 64-bit operations were split, removes halves and carries that are never read.

use fixedbitset::FixedBitSet;

use super::words::WordMap;
use crate::ir::{Function, Inst, Opnd, Part, Term};
use warpwatt_isa::Op;

/// Removes unused values, and returns which words are read.
pub(super) fn run(f: &mut Function) -> FixedBitSet {
    let map = WordMap::of(&f.values);
    let mut live = FixedBitSet::with_capacity(map.len());
    let mut defs: Vec<Vec<(u32, u32)>> = vec![Vec::new(); map.len()];
    let mut kept: Vec<FixedBitSet> =
        f.blocks.iter().map(|b| FixedBitSet::with_capacity(b.insts.len())).collect();
    let mut work: Vec<usize> = Vec::new();
    for (b, block) in f.blocks.iter().enumerate() {
        for (i, inst) in block.insts.iter().enumerate() {
            inst.for_each_def(|p| {
                map.slots(p).for_each(|s| defs[s].push((b as u32, i as u32)));
            });
        }
    }
    let mark = |p: Part, live: &mut FixedBitSet, work: &mut Vec<usize>| {
        for s in map.slots(p) {
            if !live.put(s) {
                work.push(s);
            }
        }
    };
    for (b, block) in f.blocks.iter().enumerate() {
        for (i, inst) in block.insts.iter().enumerate() {
            if inst.has_effect() || inst.op == Op::Cctl {
                kept[b].insert(i);
                inst.for_each_use(|p| mark(p, &mut live, &mut work));
            }
        }
        match block.term {
            Term::Branch { cond, .. } => {
                if let Some(value) = cond.value {
                    mark(Part { value, lane: 0, words: 0 }, &mut live, &mut work);
                }
            }
            Term::Table { index: Opnd::Value(p), .. } => mark(p, &mut live, &mut work),
            _ => {}
        }
    }
    while let Some(slot) = work.pop() {
        for &(b, i) in &defs[slot] {
            let inst = &f.blocks[b as usize].insts[i as usize];
            let first = kept[b as usize].put(i as usize);
            if inst.op == Op::Phi {
                // Only the word that is read.
                let lane = map.lane_of(slot, inst);
                for &src in &inst.srcs {
                    if let Opnd::Value(p) = src {
                        let part = match lane {
                            Some(lane) => Part { value: p.value, lane: p.lane + lane, words: 1 },
                            None => p,
                        };
                        mark(part, &mut live, &mut work);
                    }
                }
            } else if !first {
                inst.for_each_use(|p| mark(p, &mut live, &mut work));
            }
        }
    }
    for (b, block) in f.blocks.iter_mut().enumerate() {
        let mut i = 0;
        block.insts.retain_mut(|inst| {
            let keep = kept[b].contains(i);
            i += 1;
            if keep {
                drop_unread(inst, &map, &live);
            }
            keep
        });
    }
    live
}

/// A predicate result that is never read is not written.
fn drop_unread(inst: &mut Inst, map: &WordMap, live: &FixedBitSet) {
    for k in 0..2 {
        if let Some(value) = inst.pdst[k]
            && map.slots(Part { value, lane: 0, words: 0 }).all(|s| !live.contains(s))
        {
            inst.pdst[k] = None;
            inst.pkeep[k] = None;
        }
    }
    // The old value from an atomic operation is left out of the result if it is not read.
    if inst.op == Op::Atom
        && inst.sub != warpwatt_isa::Sub::Atom(warpwatt_isa::AtomOp::Cas)
        && inst.sub != warpwatt_isa::Sub::Atom(warpwatt_isa::AtomOp::Exch)
        && inst.dst.is_some_and(|d| map.slots(d).all(|s| !live.contains(s)))
    {
        inst.op = Op::Red;
        inst.dst = None;
        inst.keep = Opnd::None;
    }
}
