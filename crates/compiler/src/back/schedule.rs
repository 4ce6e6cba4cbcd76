// SPDX-License-Identifier: MIT OR Apache-2.0
//! List scheduling inside of blocks, before registers are given out: long-latency operations early and their users late, as far as the number of live words
//! stays below a limit (after Goodman and Hsu, "Code Scheduling and Register Allocation in Large Basic Blocks").
//!
//! Dependences and the order of memory operations are in `depend`; the form is still SSA, so registers are not reused and add no order of their own.

use fixedbitset::FixedBitSet;
use warpwatt_isa::{Class, Op, Space, Uop};

use super::depend::{Graph, Node};
use super::words::WordMap;
use crate::ir::{Function, Inst, Opnd, Part, Term};

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

/// Words that are live at the end of every block: phis read at the end of predecessors.
struct LiveOut {
    map: WordMap,
    out: Vec<FixedBitSet>,
    /// All words but predicates.
    registers: FixedBitSet,
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
                            map.slots(p).for_each(|s| out[from.index()].insert(s));
                        }
                    }
                } else {
                    inst.for_each_use(|p| {
                        map.slots(p).filter(|&s| !defined[b].contains(s)).for_each(|s| used[b].insert(s));
                    });
                }
                inst.for_each_def(|p| map.slots(p).for_each(|s| defined[b].insert(s)));
            }
            super::machine::term_uses(&block.term, |p| map.slots(p).for_each(|s| out[b].insert(s)));
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
                let registers = registers(f, &map);
                return LiveOut { map, out, registers };
            }
        }
    }
}

fn registers(f: &Function, map: &WordMap) -> FixedBitSet {
    let mut set = FixedBitSet::with_capacity(map.len());
    for (i, info) in f.values.iter().enumerate() {
        if info.words > 0 {
            set.insert_range(map.all_of(crate::ir::Value::from(i)));
        }
    }
    set
}

/// How many words an order of instructions keeps alive at once. Predicates are not counted.
struct Pressure<'a> {
    map: &'a WordMap,
    out: &'a FixedBitSet,
    /// Remaining reads in the block, by word.
    left: Vec<u32>,
    live: FixedBitSet,
    words: i32,
}

impl<'a> Pressure<'a> {
    fn start(live: &'a LiveOut, b: usize, body: &[Inst]) -> Pressure<'a> {
        let map = &live.map;
        let mut left = vec![0; map.len()];
        let mut defined = FixedBitSet::with_capacity(map.len());
        let mut alive = FixedBitSet::with_capacity(map.len());
        for inst in body {
            inst.for_each_use(|p| {
                for s in map.slots(p) {
                    left[s] += 1;
                    if !defined.contains(s) {
                        alive.insert(s);
                    }
                }
            });
            inst.for_each_def(|p| map.slots(p).for_each(|s| defined.insert(s)));
        }
        let mut through = live.out[b].clone();
        through.difference_with(&defined);
        alive.union_with(&through);
        let words = alive.intersection_count(&live.registers) as i32;
        Pressure { map, out: &live.out[b], left, live: alive, words }
    }

    /// Change of the number of live words if `inst` is next.
    fn change(&self, inst: &Inst) -> i32 {
        let mut change = 0;
        let mut seen: smallvec::SmallVec<[(usize, u32); 8]> = smallvec::SmallVec::new();
        inst.for_each_use(|p| {
            if p.words == 0 {
                return;
            }
            for s in self.map.slots(p) {
                match seen.iter_mut().find(|(slot, _)| *slot == s) {
                    Some((_, n)) => *n += 1,
                    None => seen.push((s, 1)),
                }
            }
        });
        for (s, n) in seen {
            if self.left[s] == n && self.live.contains(s) && !self.out.contains(s) {
                change -= 1;
            }
        }
        inst.for_each_def(|p| {
            if p.words > 0 {
                change += self.map.slots(p).filter(|&s| self.needed(s)).count() as i32;
            }
        });
        change
    }

    fn needed(&self, s: usize) -> bool {
        !self.live.contains(s) && (self.left[s] > 0 || self.out.contains(s))
    }

    fn step(&mut self, inst: &Inst) {
        self.words += self.change(inst);
        let mut dead = smallvec::SmallVec::<[usize; 8]>::new();
        inst.for_each_use(|p| {
            for s in self.map.slots(p) {
                self.left[s] -= 1;
                if self.left[s] == 0 && !self.out.contains(s) {
                    dead.push(s);
                }
            }
        });
        dead.into_iter().for_each(|s| self.live.set(s, false));
        let mut born = smallvec::SmallVec::<[Part; 3]>::new();
        inst.for_each_def(|p| born.push(p));
        for p in born {
            for s in self.map.slots(p) {
                if self.needed(s) {
                    self.live.insert(s);
                }
            }
        }
    }
}

fn peak(live: &LiveOut, b: usize, body: &[Inst], order: impl Iterator<Item = usize>) -> i32 {
    let mut p = Pressure::start(live, b, body);
    let mut peak = p.words;
    for i in order {
        p.step(&body[i]);
        peak = peak.max(p.words);
    }
    peak
}

/// Reorders every block. `budget` is the number of registers per thread.
pub(super) fn run(f: &mut Function, budget: u32) {
    let live = LiveOut::of(f);
    let bodies: Vec<Vec<Inst>> =
        f.blocks.iter().map(|b| b.insts.iter().filter(|i| i.op != Op::Phi).cloned().collect()).collect();
    let peaks: Vec<i32> =
        bodies.iter().enumerate().map(|(b, body)| peak(&live, b, body, 0..body.len())).collect();
    let highest = peaks.iter().copied().max().unwrap_or(0);
    let limit = limit(highest, budget);
    for (b, body) in bodies.iter().enumerate() {
        if body.len() < 3 || matches!(f.blocks[b].term, Term::Unreachable) {
            continue;
        }
        let order = order(f, &live, b, body, limit);
        if peak(&live, b, body, order.iter().copied()) > limit.max(peaks[b]) {
            continue;
        }
        let phis = f.blocks[b].insts.iter().filter(|i| i.op == Op::Phi).cloned();
        let insts = phis.chain(order.iter().map(|&i| body[i].clone())).collect();
        f.blocks[b].insts = insts;
    }
}

/// Live words that scheduling may reach: what the original order needs, and some more if that does not reduce occupancy.
fn limit(highest: i32, budget: u32) -> i32 {
    let roof = budget as i32 - 4;
    (highest + highest / 8).max(20).min(roof).max(1)
}

fn order(f: &Function, live: &LiveOut, b: usize, body: &[Inst], limit: i32) -> Vec<usize> {
    let graph = Graph::of(body, &live.map, &carried(f, &live.map, b), latency);
    let mut waiting: Vec<u32> = graph.nodes.iter().map(|n| n.before).collect();
    let mut earliest = vec![0u32; body.len()];
    let mut ready: Vec<usize> = (0..body.len()).filter(|&i| waiting[i] == 0).collect();
    let mut pressure = Pressure::start(live, b, body);
    let written: Vec<i32> = body.iter().map(words_written).collect();
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
                let room = pressure.words + written[i] <= limit;
                let change = if room { 0 } else { pressure.change(&body[i]) };
                let tight = !room && pressure.words + change > limit;
                let stall = earliest[i].saturating_sub(cycle);
                let height = u32::MAX - graph.nodes[i].height;
                if tight { (1, change, stall, height, i) } else { (0, 0, stall, height, i) }
            })
            .map(|(k, _)| k);
        let Some(k) = best else { break };
        let i = ready.swap_remove(k);
        cycle = cycle.max(earliest[i]) + 1;
        pressure.step(&body[i]);
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

/// Words of registers that an instruction writes.
fn words_written(inst: &Inst) -> i32 {
    let mut words = 0;
    inst.for_each_def(|p| words += i32::from(p.words));
    words
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
