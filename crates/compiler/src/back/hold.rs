// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of memory operations under way. A load or store reads its address and data some time after it has issued, so whatever writes one of those
//! registers next has to wait until it has: an allocator that has other registers takes those. `ptxas` does so by this rule, found by experiments
//! (docs/compiler.md, "Registers of memory operations"):
//!
//! - Sources of a load, an atomic operation or a texture access are held until its result has been read for the first time, the reading instruction included;
//!   sources of what has no result, as a store, to the end of the block. At the end of a block everything is released.
//! - The result may lie in the registers of its own address.
//!
//! A hold is a wish: it is kept below the number of registers that a processor full of threads leaves each of them, and costs no spill.

use warpwatt_isa::{Class, Uop};

use super::liveness::{Liveness, Segment, contains};
use super::machine::{MFunc, term_uses};
use crate::ir::{Inst, Part, Value};

/// Points during which a register that has been read for the last time should not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub span: Segment,
    /// Who may use it nevertheless: the result of the operation.
    pub result: Option<Value>,
}

/// Holds of every word.
pub(super) fn of(f: &MFunc, live: &Liveness) -> Vec<Vec<Hold>> {
    let mut holds: Vec<Vec<Hold>> = vec![Vec::new(); live.map.len()];
    for &b in &f.order {
        let block = &f.blocks[b.index()];
        let span = live.spans[b.index()];
        // Where each word is read next, walking backwards; words that are not read in the block have none.
        let mut next_read: Vec<u32> = vec![u32::MAX; live.map.len()];
        term_uses(&block.term, |p| live.map.slots(p).for_each(|s| next_read[s] = span.term));
        for (k, m) in block.insts.iter().enumerate().rev() {
            let at = span.first + k as u32;
            if is_memory(&m.inst) {
                let result = m.inst.dst;
                let used = result.and_then(|d| live.map.slots(d).map(|s| next_read[s]).min());
                let to = used.filter(|&u| u != u32::MAX).map_or(2 * span.term, |u| 2 * u + 2);
                for part in sources(&m.inst) {
                    for slot in live.map.slots(part) {
                        let segments = &live.segments[slot];
                        if contains(segments, 2 * at + 1) {
                            continue; // read again, or written anew by this very instruction
                        }
                        let again = segments.partition_point(|s| s.from <= 2 * at);
                        let to = segments.get(again).map_or(to, |s| to.min(s.from));
                        if to > 2 * at + 1 {
                            let span = Segment { from: 2 * at + 1, to };
                            holds[slot].push(Hold { span, result: result.map(|d| d.value) });
                        }
                    }
                }
            }
            m.inst.for_each_def(|p| live.map.slots(p).for_each(|s| next_read[s] = u32::MAX));
            m.inst.for_each_use(|p| live.map.slots(p).for_each(|s| next_read[s] = at));
        }
    }
    holds
}

pub(super) fn is_memory(inst: &Inst) -> bool {
    let mut uop = Uop::new(inst.op, inst.ty);
    uop.sub = inst.sub;
    matches!(uop.class(), Class::Load | Class::Store | Class::Atomic | Class::Texture | Class::Surface)
}

/// Registers that the operation reads; predicates are read when it issues.
pub(super) fn sources(inst: &Inst) -> impl Iterator<Item = Part> {
    inst.srcs.iter().filter_map(|source| match source {
        crate::ir::Opnd::Value(part) if part.words > 0 => Some(*part),
        _ => None,
    })
}
