// SPDX-License-Identifier: MIT OR Apache-2.0
//! Removes computations that nothing needs, dead cycles of phis included.

use super::defs::{Defs, for_each_term_use};
use crate::ir::{Function, Value};

pub fn run(f: &mut Function) {
    let defs = Defs::of(f);
    let mut live = vec![false; f.values.len()];
    let mut work: Vec<Value> = Vec::new();
    let mark = |v: Value, work: &mut Vec<Value>, live: &mut Vec<bool>| {
        if !std::mem::replace(&mut live[v.index()], true) {
            work.push(v);
        }
    };
    for block in &f.blocks {
        for inst in block.insts.iter().filter(|i| i.has_effect()) {
            inst.for_each_use(|p| mark(p.value, &mut work, &mut live));
        }
        for_each_term_use(&block.term, |v| mark(v, &mut work, &mut live));
    }
    while let Some(value) = work.pop() {
        if let Some(inst) = defs.inst(f, value) {
            inst.for_each_use(|p| mark(p.value, &mut work, &mut live));
        }
    }
    for block in &mut f.blocks {
        block.insts.retain_mut(|inst| {
            let mut needed = inst.has_effect();
            inst.for_each_def(|p| needed |= live[p.value.index()]);
            if needed {
                // A second predicate result that is not read would waste a register.
                for k in 0..2 {
                    if inst.pdst[k].is_some_and(|v| !live[v.index()]) && (k == 1 || inst.dst.is_some()) {
                        inst.pdst[k] = None;
                        inst.pkeep[k] = None;
                    }
                }
            }
            needed
        });
    }
}
