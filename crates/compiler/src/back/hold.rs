// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of memory operations under way. A load or store reads its address and data some time after it has issued, so whatever writes one of those
//! registers next has to wait until it has: an allocator that has other registers takes those. `ptxas` does so by this rule, found by experiments
//! (docs/compiler.md, "Registers of memory operations"):
//!
//! - Sources of a load, an atomic operation or a texture access are held until its result has been read for the first time, the reading instruction included;
//!   sources of what has no result, as a store, to the end of the block. At the end of a block everything is released.
//! - The result may be in the registers of its own address, unless an earlier load from there still holds them.
//!
//! A hold is a preference: it is respected below the number of registers per thread of a fully occupied SM, and never causes a spill.

use warpwatt_isa::{Class, Space, Uop};

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

/// Holds of every word, in code for `sm`.
pub(super) fn of(f: &MFunc, live: &Liveness, sm: u32) -> Vec<Vec<Hold>> {
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
                // Before Volta ptxas has too few loads of shared memory in flight to show whether one holds an address that is read again.
                let lasts = sm >= 70 || m.inst.mem.space != Space::Shared;
                for slot in sources(&m.inst).flat_map(|part| live.map.slots(part)) {
                    if !lasts && contains(&live.segments[slot], 2 * at + 1) {
                        continue;
                    }
                    let hold = hold(&live.segments[slot], at, to, result.map(|d| d.value));
                    hold.into_iter().for_each(|hold| add(&mut holds[slot], hold));
                }
            }
            m.inst.for_each_def(|p| live.map.slots(p).for_each(|s| next_read[s] = u32::MAX));
            m.inst.for_each_use(|p| live.map.slots(p).for_each(|s| next_read[s] = at));
        }
    }
    holds
}

/// The hold of a word that a memory operation at `at` reads: from the word's last read, by that operation or a later one, to `to` or the word's next value.
fn hold(segments: &[Segment], at: u32, to: u32, result: Option<Value>) -> Option<Hold> {
    let now = segments.partition_point(|s| s.to <= 2 * at + 1);
    let from = match segments.get(now) {
        Some(s) if s.from > 2 * at && s.from <= 2 * at + 1 => return None, // written anew by this very instruction
        Some(s) if s.from <= 2 * at => s.to,
        _ => 2 * at + 1,
    };
    let next = segments.partition_point(|s| s.from < from);
    let to = segments.get(next).map_or(to, |s| to.min(s.from));
    (to > from).then_some(Hold { span: Segment { from, to }, result })
}

/// Adds a hold. Of several that begin with the same last read the longest counts, and then no result is exempt: it would be written while another one lasts.
fn add(holds: &mut Vec<Hold>, new: Hold) {
    match holds.iter_mut().find(|old| old.span.from == new.span.from) {
        Some(old) => {
            let to = old.span.to.max(new.span.to);
            *old = Hold {
                span: Segment { to, ..old.span },
                result: old.result.filter(|_| old.result == new.result),
            };
        }
        None => holds.push(new),
    }
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
