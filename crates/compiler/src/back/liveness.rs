// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where every word of every virtual register is live: segments with holes over the linear order of instructions.
//!
//! Instruction `i` reads at point `2i` and writes at `2i + 1`, so a result may take the register of a source that is read for the last time.

use fixedbitset::FixedBitSet;

use super::machine::{MFunc, Span, term_uses};
use super::words::WordMap;
use crate::ir::{Inst, Part};

/// Half-open range of points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub from: u32,
    pub to: u32,
}

pub(super) struct Liveness {
    pub map: WordMap,
    /// Per word, sorted and disjoint.
    pub segments: Vec<Vec<Segment>>,
    pub spans: Vec<Span>,
}

impl Liveness {
    pub(super) fn of(f: &MFunc) -> Liveness {
        let map = WordMap::of(&f.values);
        let live_out = live_out(f, &map);
        let spans = f.spans();
        let mut segments: Vec<Vec<Segment>> = vec![Vec::new(); map.len()];
        // End of the segment that is open while walking a block backwards; 0 means none.
        let mut open = vec![0u32; map.len()];
        for &b in f.order.iter().rev() {
            let Span { first, term } = spans[b.index()];
            let mut active: Vec<usize> = live_out[b.index()].ones().collect();
            active.iter().for_each(|&s| open[s] = 2 * (term + 1));
            let touch = |p: Part, at: u32, open: &mut Vec<u32>, active: &mut Vec<usize>| {
                for s in map.slots(p) {
                    if open[s] == 0 {
                        open[s] = 2 * at + 1;
                        active.push(s);
                    }
                }
            };
            let block = &f.blocks[b.index()];
            term_uses(&block.term, |p| touch(p, term, &mut open, &mut active));
            for (k, m) in block.insts.iter().enumerate().rev() {
                let at = first + k as u32;
                m.inst.for_each_def(|p| {
                    for s in map.slots(p) {
                        let to = if open[s] == 0 { 2 * at + 2 } else { open[s] };
                        push(&mut segments[s], Segment { from: 2 * at + 1, to });
                        open[s] = 0;
                    }
                });
                m.inst.for_each_use(|p| touch(p, at, &mut open, &mut active));
            }
            for s in active {
                if open[s] != 0 {
                    push(&mut segments[s], Segment { from: 2 * first, to: open[s] });
                    open[s] = 0;
                }
            }
        }
        segments.iter_mut().for_each(|list| list.reverse());
        Liveness { map, segments, spans }
    }

    /// The number of points.
    pub(super) fn points(&self) -> usize {
        self.spans.iter().map(|span| 2 * (span.term as usize + 1)).max().unwrap_or(0)
    }
}

/// Adds a segment that lies before all others, joined with the next if they touch.
fn push(list: &mut Vec<Segment>, segment: Segment) {
    match list.last_mut() {
        Some(next) if next.from <= segment.to => next.from = segment.from,
        _ => list.push(segment),
    }
}

fn live_out(f: &MFunc, map: &WordMap) -> Vec<FixedBitSet> {
    let n = f.blocks.len();
    let empty = FixedBitSet::with_capacity(map.len());
    let mut uses = vec![empty.clone(); n];
    let mut defs = vec![empty.clone(); n];
    for &b in &f.order {
        let (uses, defs) = (&mut uses[b.index()], &mut defs[b.index()]);
        let block = &f.blocks[b.index()];
        for m in &block.insts {
            record(&m.inst, map, uses, defs);
        }
        term_uses(&block.term, |p| read(p, map, uses, defs));
    }
    let mut live_in = uses;
    let mut live_out = vec![empty; n];
    let mut changed = true;
    while changed {
        changed = false;
        for &b in f.order.iter().rev() {
            let mut out = std::mem::take(&mut live_out[b.index()]);
            let before = out.count_ones(..);
            for s in f.blocks[b.index()].term.targets() {
                out.union_with(&live_in[s.index()]);
            }
            if out.count_ones(..) != before {
                changed = true;
                let mut through = out.clone();
                through.difference_with(&defs[b.index()]);
                live_in[b.index()].union_with(&through);
            }
            live_out[b.index()] = out;
        }
    }
    live_out
}

fn read(p: Part, map: &WordMap, uses: &mut FixedBitSet, defs: &FixedBitSet) {
    for s in map.slots(p) {
        if !defs.contains(s) {
            uses.insert(s);
        }
    }
}

fn record(inst: &Inst, map: &WordMap, uses: &mut FixedBitSet, defs: &mut FixedBitSet) {
    inst.for_each_use(|p| read(p, map, uses, defs));
    inst.for_each_def(|p| map.slots(p).for_each(|s| defs.insert(s)));
}

/// Whether a list of segments holds a point.
pub(super) fn contains(list: &[Segment], point: u32) -> bool {
    let i = list.partition_point(|s| s.to <= point);
    list.get(i).is_some_and(|s| s.from <= point)
}

/// The union of two lists.
pub(super) fn union(a: &[Segment], b: &[Segment]) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let take_a = j == b.len() || (i < a.len() && a[i].from <= b[j].from);
        let s = if take_a {
            i += 1;
            a[i - 1]
        } else {
            j += 1;
            b[j - 1]
        };
        match out.last_mut() {
            Some(last) if s.from <= last.to => last.to = last.to.max(s.to),
            _ => out.push(s),
        }
    }
    out
}
