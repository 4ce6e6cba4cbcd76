// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants that are already where they are put: after coalescing, a sum that starts at zero on two ways would be cleared twice.

use rustc_hash::FxHashMap;

use super::machine::MFunc;
use super::spill::is_constant;
use super::words::WordMap;
use crate::ir::{Inst, Opnd};
use warpwatt_isa::{Op, Sub};

/// What a constant instruction computes.
type Known = (Op, Sub, Option<Opnd>);

/// Words that hold a known constant.
type Facts = FxHashMap<usize, Known>;

pub(super) fn run(f: &mut MFunc) {
    let map = WordMap::of(&f.values);
    let mut before: Vec<Option<Facts>> = vec![None; f.blocks.len()];
    if let Some(entry) = f.order.first() {
        before[entry.index()] = Some(Facts::default());
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &b in &f.order {
            let Some(mut facts) = before[b.index()].clone() else { continue };
            let block = &f.blocks[b.index()];
            for m in &block.insts {
                step(&m.inst, &map, &mut facts);
            }
            for t in block.term.targets() {
                match &mut before[t.index()] {
                    Some(old) => {
                        let count = old.len();
                        old.retain(|slot, known| facts.get(slot) == Some(known));
                        changed |= old.len() != count;
                    }
                    empty => {
                        *empty = Some(facts.clone());
                        changed = true;
                    }
                }
            }
        }
    }
    for &b in &f.order {
        let Some(mut facts) = before[b.index()].take() else { continue };
        f.blocks[b.index()].insts.retain(|m| {
            let idle = constant(&m.inst).is_some_and(|known| {
                m.inst.dst.is_some_and(|d| map.slots(d).all(|s| facts.get(&s) == Some(&known)))
            });
            step(&m.inst, &map, &mut facts);
            !idle
        });
    }
}

fn constant(inst: &Inst) -> Option<Known> {
    is_constant(inst).then(|| (inst.op, inst.sub, inst.srcs.first().copied()))
}

fn step(inst: &Inst, map: &WordMap, facts: &mut Facts) {
    let known = constant(inst);
    inst.for_each_def(|p| {
        for s in map.slots(p) {
            match known {
                Some(known) => facts.insert(s, known),
                None => facts.remove(&s),
            };
        }
    });
}
