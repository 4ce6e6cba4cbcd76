// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must stay in order within a block: values before their readers, memory operations that may alias, fences, clocks and lane communication.

use fixedbitset::FixedBitSet;
use smallvec::SmallVec;
use warpwatt_isa::{CacheOp, Op, Order, SReg, Space, Sub, dst_words, src_words};

use super::spill;
use super::words::WordMap;
use crate::ir::{Frame, Inst, Opnd};

pub(super) struct Node {
    /// Those that wait for this one, and how long.
    pub after: SmallVec<[(u32, u32); 4]>,
    /// How many this one waits for, and how many of them are cheap constants.
    pub before: u32,
    pub cheap_before: u32,
    /// Longest way to the end of the block in cycles.
    pub height: u32,
    /// Puts a constant into a register.
    pub cheap: bool,
}

pub(super) struct Graph {
    pub nodes: Vec<Node>,
}

impl Graph {
    /// `carried`: words that replace others at the end of the block, as required by a phi.
    pub(super) fn of(
        body: &[Inst],
        map: &WordMap,
        carried: &[(usize, usize)],
        latency: impl Fn(&Inst) -> u32,
    ) -> Graph {
        let mut nodes: Vec<Node> = body
            .iter()
            .map(|inst| Node {
                after: SmallVec::new(),
                before: 0,
                cheap_before: 0,
                height: 0,
                cheap: spill::is_constant(inst) && inst.op == Op::Mov,
            })
            .collect();
        let latencies: Vec<u32> = body.iter().map(latency).collect();
        let mut definer = vec![u32::MAX; map.len()];
        let mut ordered: Vec<(usize, Access)> = Vec::new();
        for (i, inst) in body.iter().enumerate() {
            inst.for_each_use(|p| {
                for s in map.slots(p) {
                    let d = definer[s];
                    if d != u32::MAX {
                        edge(&mut nodes, d as usize, i, latencies[d as usize]);
                    }
                }
            });
            inst.for_each_def(|p| map.slots(p).for_each(|s| definer[s] = i as u32));
            if let Some(access) = Access::of(inst) {
                for (j, earlier) in &ordered {
                    if earlier.stays_before(&access) {
                        edge(&mut nodes, *j, i, 1);
                    }
                }
                ordered.push((i, access));
            }
        }
        for (i, readers) in successions(body, carried, map) {
            // A loop-carried value is replaced after the last use of the old one in the block, so that both share a register.
            let behind = reached(&nodes, i);
            if !readers.iter().any(|&r| behind[r]) {
                readers.iter().for_each(|&r| edge(&mut nodes, r, i, 0));
            }
        }
        for i in backwards(&nodes) {
            let below = nodes[i].after.iter().map(|&(to, delay)| nodes[to as usize].height + delay).max();
            nodes[i].height = below.unwrap_or(latencies[i]);
        }
        Graph { nodes }
    }
}

/// For every carried word that the block computes: the instruction that computes it, and the others that read the word that it replaces.
fn successions(body: &[Inst], carried: &[(usize, usize)], map: &WordMap) -> Vec<(usize, Vec<usize>)> {
    if carried.is_empty() {
        return Vec::new();
    }
    const NOBODY: usize = usize::MAX;
    let mut writer = vec![NOBODY; map.len()];
    let mut replaced = FixedBitSet::with_capacity(map.len());
    let mut readers = vec![Vec::new(); map.len()];
    replaced.extend(carried.iter().map(|&(_, old)| old));
    for (i, inst) in body.iter().enumerate() {
        inst.for_each_def(|p| {
            map.slots(p).for_each(|s| writer[s] = writer[s].min(i));
        });
        inst.for_each_use(|p| {
            for s in map.slots(p).filter(|&s| replaced.contains(s)) {
                if readers[s].last() != Some(&i) {
                    readers[s].push(i);
                }
            }
        });
    }
    carried
        .iter()
        .filter(|&&(new, _)| writer[new] != NOBODY)
        .map(|&(new, old)| {
            let by = writer[new];
            (by, readers[old].iter().copied().filter(|&i| i != by).collect())
        })
        .collect()
}

/// Nodes that wait for one, directly or not, and that one.
fn reached(nodes: &[Node], from: usize) -> Vec<bool> {
    let mut seen = vec![false; nodes.len()];
    let mut work = vec![from];
    while let Some(i) = work.pop() {
        if !std::mem::replace(&mut seen[i], true) {
            work.extend(nodes[i].after.iter().map(|&(t, _)| t as usize));
        }
    }
    seen
}

/// Every node after all that wait for it.
fn backwards(nodes: &[Node]) -> Vec<usize> {
    let mut waiting: Vec<u32> = nodes.iter().map(|n| n.before).collect();
    let mut order: Vec<usize> = (0..nodes.len()).filter(|&i| waiting[i] == 0).collect();
    let mut next = 0;
    while let Some(&i) = order.get(next) {
        next += 1;
        for &(to, _) in &nodes[i].after {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                order.push(to as usize);
            }
        }
    }
    order.reverse();
    order
}

fn edge(nodes: &mut [Node], from: usize, to: usize, delay: u32) {
    if let Some(known) = nodes[from].after.iter_mut().find(|(t, _)| *t as usize == to) {
        known.1 = known.1.max(delay);
        return;
    }
    nodes[from].after.push((to as u32, delay));
    nodes[to].before += 1;
    if nodes[from].cheap {
        nodes[to].cheap_before += 1;
    }
}

/// What an instruction does that others have to respect.
enum Access {
    /// Nothing that is in order moves over it.
    Fence,
    /// Talks to other lanes: keeps its place among its like and towards writes.
    Lanes,
    Memory {
        write: bool,
        space: Space,
        base: (Opnd, Frame),
        from: i64,
        to: i64,
    },
    /// Textures and surfaces.
    Image {
        write: bool,
    },
}

impl Access {
    fn of(inst: &Inst) -> Option<Access> {
        use Op::*;
        let clock = matches!(
            inst.sub,
            Sub::SReg(SReg::ClockLo | SReg::ClockHi | SReg::GlobalTimerLo | SReg::GlobalTimerHi)
        );
        if clock {
            return Some(Access::Fence);
        }
        match inst.op {
            Ld | St | Atom | Red if inst.mem.order != Order::Weak && !matches!(inst.op, Atom | Red) => {
                Some(Access::Fence)
            }
            // Atomics are relaxed unless marked otherwise, and order only accesses that may alias.
            Atom | Red if !matches!(inst.mem.order, Order::Weak | Order::Relaxed) => Some(Access::Fence),
            // Read-only memory: it is not written while the kernel runs.
            Ld if inst.mem.space == Space::Const || inst.mem.cache == CacheOp::Nc => None,
            Ld | St | Atom | Red => {
                let words = match inst.op {
                    Ld => dst_words(inst.op, inst.ty, inst.sub, &inst.mem),
                    _ => src_words(inst.op, inst.ty, inst.ty2, inst.sub, &inst.mem, 1),
                };
                let from = i64::from(inst.off);
                Some(Access::Memory {
                    write: inst.op != Ld,
                    space: inst.mem.space,
                    base: (inst.srcs.first().copied().unwrap_or_default(), inst.frame),
                    from,
                    to: from + 4 * i64::from(words.max(1)),
                })
            }
            Tex | Tld4 | Suld => Some(Access::Image { write: false }),
            Sust | Sured => Some(Access::Image { write: true }),
            Shfl | Vote | Match | Redux | ActiveMask | Elect => Some(Access::Lanes),
            _ if inst.is_pinned() => Some(Access::Fence),
            _ => None,
        }
    }

    fn writes(&self) -> bool {
        matches!(self, Access::Memory { write: true, .. } | Access::Image { write: true })
    }

    fn stays_before(&self, later: &Access) -> bool {
        match (self, later) {
            (Access::Fence, _) | (_, Access::Fence) | (Access::Lanes, Access::Lanes) => true,
            (Access::Lanes, other) | (other, Access::Lanes) => other.writes(),
            (Access::Image { write: a }, Access::Image { write: b }) => *a || *b,
            (Access::Image { .. }, _) | (_, Access::Image { .. }) => false,
            (
                Access::Memory { write: a, space: s, base: x, from: f, to: t },
                Access::Memory { write: b, space: r, base: y, from: g, to: u },
            ) => (*a || *b) && may_meet(*s, *r) && !(apart(*x, *y) || (x == y && (t <= g || u <= f))),
        }
    }
}

fn may_meet(a: Space, b: Space) -> bool {
    a == b || a == Space::Generic || b == Space::Generic
}

/// Areas of the stack frame do not overlap.
fn apart(a: (Opnd, Frame), b: (Opnd, Frame)) -> bool {
    a.0 == Opnd::Sp && b.0 == Opnd::Sp && a.1 != b.1 && a.1 != Frame::None && b.1 != Frame::None
}
