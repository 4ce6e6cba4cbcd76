// SPDX-License-Identifier: MIT OR Apache-2.0
//! List scheduling inside of blocks, before registers are given out: long-latency operations early and their users late, as far as the number of live words
//! stays below a limit (after Goodman and Hsu, "Code Scheduling and Register Allocation in Large Basic Blocks").
//!
//! Dependences and the order of memory operations are in `depend`; the form is still SSA, so registers are not reused and add no order of their own.

use std::ops::Range;

use fixedbitset::FixedBitSet;
use warpwatt_isa::{Class, Op, Space, Uop};

use super::depend::{Graph, Node};
use super::words::WordMap;
use crate::ir::{Block, Function, Inst, Opnd, Part, Term};

/// Latency of a result that the scheduler assumes, in cycles.
fn latency(inst: &Inst) -> u32 {
    let mut uop = Uop::new(inst.op, inst.ty);
    uop.sub = inst.sub;
    match uop.class() {
        Class::Load | Class::Atomic => match inst.mem.space {
            Space::Shared => 24,
            Space::Const => 12,
            Space::Local => 30,
            Space::Generic | Space::Global => 60,
        },
        Class::Texture | Class::Surface => 80,
        Class::Shuffle => 20,
        Class::Special | Class::Convert | Class::BitCount => 14,
        Class::Move if inst.op == Op::S2r => 16,
        Class::Move if inst.op == Op::Undef => 0,
        Class::Fp64 => 10,
        Class::Compare => 6,
        _ => 5,
    }
}

/// Words of registers that are live at the end of every block: phis read at the end of predecessors. Predicates are left out.
struct LiveOut {
    map: WordMap,
    out: Vec<FixedBitSet>,
}

impl LiveOut {
    fn of(f: &Function) -> LiveOut {
        let map = WordMap::of(&f.values);
        let n = f.blocks.len();
        let empty = FixedBitSet::with_capacity(map.len());
        let mut used = vec![empty.clone(); n];
        let mut defined = vec![empty.clone(); n];
        let mut out = vec![empty; n];
        for (b, block) in f.blocks.iter().enumerate() {
            for inst in &block.insts {
                if inst.op == Op::Phi {
                    for (src, from) in inst.srcs.iter().zip(&block.preds) {
                        if let Opnd::Value(p) = *src {
                            registers(&map, p).for_each(|s| out[from.index()].insert(s));
                        }
                    }
                } else {
                    inst.for_each_use(|p| {
                        registers(&map, p)
                            .filter(|&s| !defined[b].contains(s))
                            .for_each(|s| used[b].insert(s));
                    });
                }
                inst.for_each_def(|p| registers(&map, p).for_each(|s| defined[b].insert(s)));
            }
            super::machine::term_uses(&block.term, |p| registers(&map, p).for_each(|s| out[b].insert(s)));
        }
        let mut live_in = used;
        let mut first = true;
        loop {
            let mut changed = false;
            for b in (0..n).rev() {
                let mut set = out[b].clone();
                for t in f.blocks[b].term.targets() {
                    set.union_with(&live_in[t.index()]);
                }
                if first || set != out[b] {
                    changed |= set != out[b];
                    let mut through = set.clone();
                    through.difference_with(&defined[b]);
                    let before = live_in[b].count_ones(..);
                    live_in[b].union_with(&through);
                    changed |= live_in[b].count_ones(..) != before;
                    out[b] = set;
                }
            }
            first = false;
            if !changed {
                return LiveOut { map, out };
            }
        }
    }
}

/// The words of a part; none of a predicate.
fn registers(map: &WordMap, p: Part) -> Range<usize> {
    let slots = map.slots(p);
    slots.start..slots.start + usize::from(p.words)
}

/// The words that the instructions of a block read, each with how often, and those that they write.
struct Footprints {
    reads: Vec<(u32, u32)>,
    writes: Vec<u32>,
    /// Ends of the reads and the writes of each instruction.
    ends: Vec<(u32, u32)>,
}

impl Footprints {
    fn of(body: &[Inst], map: &WordMap) -> Footprints {
        let mut all =
            Footprints { reads: Vec::new(), writes: Vec::new(), ends: Vec::with_capacity(body.len()) };
        for inst in body {
            let first = all.reads.len();
            inst.for_each_use(|p| {
                for s in registers(map, p) {
                    match all.reads[first..].iter_mut().find(|(slot, _)| *slot == s as u32) {
                        Some((_, n)) => *n += 1,
                        None => all.reads.push((s as u32, 1)),
                    }
                }
            });
            inst.for_each_def(|p| all.writes.extend(registers(map, p).map(|s| s as u32)));
            all.ends.push((all.reads.len() as u32, all.writes.len() as u32));
        }
        all
    }

    fn of_one(&self, i: usize) -> (&[(u32, u32)], &[u32]) {
        let from = if i == 0 { (0, 0) } else { self.ends[i - 1] };
        let to = self.ends[i];
        (&self.reads[from.0 as usize..to.0 as usize], &self.writes[from.1 as usize..to.1 as usize])
    }
}

/// How many words an order of instructions keeps alive at once. Each is written once, before it is read.
struct Pressure<'a> {
    body: &'a Footprints,
    /// Remaining reads of every word; one more if it lives on behind the block.
    left: Vec<u32>,
    words: i32,
}

impl<'a> Pressure<'a> {
    fn start(live: &LiveOut, b: usize, body: &'a Footprints) -> Pressure<'a> {
        let mut left = vec![0; live.map.len()];
        live.out[b].ones().for_each(|s| left[s] = 1);
        let mut words = live.out[b].count_ones(..) as i32;
        for &(s, n) in &body.reads {
            words += i32::from(left[s as usize] == 0);
            left[s as usize] += n;
        }
        words -= body.writes.iter().filter(|&&s| left[s as usize] > 0).count() as i32;
        Pressure { body, left, words }
    }

    /// Change of the number of live words if instruction `i` is next.
    fn change(&self, i: usize) -> i32 {
        let (reads, writes) = self.body.of_one(i);
        let dead = reads.iter().filter(|&&(s, n)| self.left[s as usize] == n).count();
        let born = writes.iter().filter(|&&s| self.left[s as usize] > 0).count();
        born as i32 - dead as i32
    }

    fn step(&mut self, i: usize) {
        self.words += self.change(i);
        self.body.of_one(i).0.iter().for_each(|&(s, n)| self.left[s as usize] -= n);
    }
}

fn peak(live: &LiveOut, b: usize, body: &Footprints, order: impl Iterator<Item = usize>) -> i32 {
    let mut p = Pressure::start(live, b, body);
    let mut peak = p.words;
    for i in order {
        p.step(i);
        peak = peak.max(p.words);
    }
    peak
}

/// Reorders every block. `budget` is the number of registers per thread.
pub(super) fn run(f: &mut Function, budget: u32) {
    let live = LiveOut::of(f);
    let footprints: Vec<_> = f.blocks.iter().map(|block| Footprints::of(body(block), &live.map)).collect();
    let peak_of = |(b, own): (usize, &Footprints)| peak(&live, b, own, 0..own.ends.len());
    let peaks: Vec<i32> = footprints.iter().enumerate().map(peak_of).collect();
    let highest = peaks.iter().copied().max().unwrap_or(0);
    let limit = limit(highest, budget);
    for (b, own) in footprints.iter().enumerate() {
        let block = &f.blocks[b];
        let body = body(block);
        if body.len() < 3 || matches!(block.term, Term::Unreachable) {
            continue;
        }
        let order = order(f, &live, b, body, own, limit);
        if peak(&live, b, own, order.iter().copied()) > limit.max(peaks[b]) {
            continue;
        }
        let phis = block.insts[..block.insts.len() - body.len()].iter();
        f.blocks[b].insts = phis.chain(order.iter().map(|&i| &body[i])).cloned().collect();
    }
}

/// The instructions of a block without its phis.
fn body(block: &Block) -> &[Inst] {
    let phis = block.insts.iter().take_while(|inst| inst.op == Op::Phi).count();
    &block.insts[phis..]
}

/// Live words that scheduling may reach: what the original order needs, and some more if that does not reduce occupancy.
fn limit(highest: i32, budget: u32) -> i32 {
    let roof = budget as i32 - 4;
    (highest + highest / 8).max(20).min(roof).max(1)
}

fn order(f: &Function, live: &LiveOut, b: usize, body: &[Inst], own: &Footprints, limit: i32) -> Vec<usize> {
    let graph = Graph::of(body, &live.map, &carried(f, &live.map, b), latency);
    let mut waiting: Vec<u32> = graph.nodes.iter().map(|n| n.before).collect();
    let mut earliest = vec![0u32; body.len()];
    let mut ready: Vec<usize> = (0..body.len()).filter(|&i| waiting[i] == 0).collect();
    let mut pressure = Pressure::start(live, b, own);
    let mut order = Vec::with_capacity(body.len());
    let mut cycle = 0;
    while !ready.is_empty() {
        let wanted = |i: usize| !graph.nodes[i].cheap || is_needed(&graph, &graph.nodes[i], &waiting);
        let any = ready.iter().any(|&i| wanted(i));
        let best = ready
            .iter()
            .enumerate()
            .filter(|&(_, &i)| !any || wanted(i))
            .min_by_key(|&(_, &i)| {
                // Words only die beside those that are written: most instructions need no closer look.
                let room = pressure.words + own.of_one(i).1.len() as i32 <= limit;
                let change = if room { 0 } else { pressure.change(i) };
                let tight = !room && pressure.words + change > limit;
                let stall = earliest[i].saturating_sub(cycle);
                let height = u32::MAX - graph.nodes[i].height;
                if tight { (1, change, stall, height, i) } else { (0, 0, stall, height, i) }
            })
            .map(|(k, _)| k);
        let Some(k) = best else { break };
        let i = ready.swap_remove(k);
        cycle = cycle.max(earliest[i]) + 1;
        pressure.step(i);
        order.push(i);
        for &(to, delay) in &graph.nodes[i].after {
            let to = to as usize;
            earliest[to] = earliest[to].max(cycle - 1 + delay);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    order
}

/// Words that phis of the block's successors take from it, and the words that they become.
fn carried(f: &Function, map: &WordMap, b: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for t in f.blocks[b].term.targets() {
        let block = f.block(t);
        let edges = block.preds.iter().enumerate().filter(|(_, p)| p.index() == b);
        for (edge, _) in edges {
            for phi in block.insts.iter().take_while(|i| i.op == Op::Phi) {
                let dst = phi.dst.or_else(|| phi.pdst[0].map(|value| Part { value, lane: 0, words: 0 }));
                if let (Some(&Opnd::Value(src)), Some(dst)) = (phi.srcs.get(edge), dst) {
                    pairs.extend(map.slots(src).zip(map.slots(dst)));
                }
            }
        }
    }
    pairs
}

/// A constant is moved into a register only when another instruction waits for nothing but constants.
fn is_needed(graph: &Graph, node: &Node, waiting: &[u32]) -> bool {
    node.after.iter().any(|&(to, _)| waiting[to as usize] <= graph.nodes[to as usize].cheap_before)
}
