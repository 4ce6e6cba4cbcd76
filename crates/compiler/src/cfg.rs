// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about a control-flow graph: order, dominators, post-dominators, loop depth.
//!
//! All but the order is worked out when it is first asked for. Dominators by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm"); post-dominators are dominators of the reversed graph with one virtual exit.

use std::cell::OnceCell;

use crate::ir::{BlockId, Function};

/// No block: unreachable, or the virtual exit.
pub const NONE: u32 = u32::MAX;

pub struct Cfg {
    /// Reachable blocks in reverse post-order; the entry first.
    pub order: Vec<BlockId>,
    /// Position in `order`, `NONE` for an unreachable block.
    position: Vec<u32>,
    successors: Edges,
    predecessors: OnceCell<Edges>,
    idom: OnceCell<Vec<u32>>,
    ipdom: OnceCell<Vec<u32>>,
    loop_depths: OnceCell<Vec<u32>>,
}

impl Cfg {
    pub fn of(function: &Function) -> Cfg {
        let successors = Edges::of(function);
        let order = reverse_post_order(&successors, 0);
        Cfg {
            position: positions(&order, function.blocks.len()),
            order: order.into_iter().map(BlockId).collect(),
            successors,
            predecessors: OnceCell::new(),
            idom: OnceCell::new(),
            ipdom: OnceCell::new(),
            loop_depths: OnceCell::new(),
        }
    }

    pub fn reachable(&self, b: BlockId) -> bool {
        self.position[b.index()] != NONE
    }

    pub fn idom(&self, b: BlockId) -> Option<BlockId> {
        some(self.idoms()[b.index()])
    }

    /// The block where lanes that diverge at the end of `b` reconverge; `None` if only at the end of the thread.
    pub fn ipdom(&self, b: BlockId) -> Option<BlockId> {
        some(self.ipdom.get_or_init(|| self.post_dominators())[b.index()])
    }

    /// How many natural loops each block is in.
    pub fn loop_depths(&self) -> &[u32] {
        self.loop_depths.get_or_init(|| self.count_loops())
    }

    /// Every path from the entry to `b` goes through `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (idom, mut at) = (self.idoms(), b.0);
        loop {
            if at == a.0 {
                return true;
            }
            match idom[at as usize] {
                // All that dominates a block comes before it.
                NONE => return false,
                up if self.position[up as usize] < self.position[a.index()] => return false,
                up => at = up,
            }
        }
    }

    /// From reachable blocks alone, in their order.
    fn predecessors(&self) -> &Edges {
        self.predecessors
            .get_or_init(|| self.successors.reversed(self.order.iter().map(|b| b.0), self.position.len()))
    }

    fn idoms(&self) -> &[u32] {
        self.idom
            .get_or_init(|| dominators(self.predecessors(), self.order.iter().map(|b| b.0), &self.position))
    }

    /// Dominators of the reversed graph, with a virtual exit (index n) behind every block that control leaves, and behind loops that never end.
    fn post_dominators(&self) -> Vec<u32> {
        let n = self.position.len();
        let mut reversed = self.predecessors().clone();
        let leaves = self.order.iter().map(|b| b.0).filter(|&b| self.successors.from(b).is_empty());
        reversed.push(leaves);
        let mut order = reverse_post_order(&reversed, n as u32);
        let position = loop {
            let position = positions(&order, n + 1);
            match self.order.iter().rev().find(|b| position[b.index()] == NONE) {
                Some(stuck) => reversed.targets.push(stuck.0),
                None => break position,
            }
            reversed.ends[n] += 1;
            order = reverse_post_order(&reversed, n as u32);
        };
        let forward = reversed.reversed(order.iter().copied(), n + 1);
        let mut ipdom = dominators(&forward, order.iter().copied(), &position);
        for p in &mut ipdom {
            if *p == n as u32 {
                *p = NONE;
            }
        }
        ipdom
    }

    fn count_loops(&self) -> Vec<u32> {
        let n = self.position.len();
        let mut depth = vec![0; n];
        for &header in &self.order {
            let before = self.predecessors().from(header.0).iter().copied();
            let mut work: Vec<u32> = before.filter(|&p| self.dominates(header, BlockId(p))).collect();
            if work.is_empty() {
                continue;
            }
            let mut inside = vec![false; n];
            inside[header.index()] = true;
            while let Some(b) = work.pop() {
                if !std::mem::replace(&mut inside[b as usize], true) {
                    work.extend(self.predecessors().from(b));
                }
            }
            for (depth, is_inside) in depth.iter_mut().zip(inside) {
                *depth += u32::from(is_inside);
            }
        }
        depth
    }
}

fn some(b: u32) -> Option<BlockId> {
    (b != NONE).then_some(BlockId(b))
}

/// Where each of `n` blocks is in an order.
fn positions(order: &[u32], n: usize) -> Vec<u32> {
    let mut position = vec![NONE; n];
    for (i, &b) in order.iter().enumerate() {
        position[b as usize] = i as u32;
    }
    position
}

/// The edges of a graph, those from one block after the other.
#[derive(Clone)]
struct Edges {
    targets: Vec<u32>,
    /// Where the edges from each block end among all.
    ends: Vec<u32>,
}

impl Edges {
    fn of(function: &Function) -> Edges {
        let mut edges = Edges { targets: Vec::new(), ends: Vec::with_capacity(function.blocks.len()) };
        for block in &function.blocks {
            edges.push(block.term.targets().iter().map(|t| t.0));
        }
        edges
    }

    /// Edges from one more block.
    fn push(&mut self, targets: impl Iterator<Item = u32>) {
        self.targets.extend(targets);
        self.ends.push(self.targets.len() as u32);
    }

    fn from(&self, b: u32) -> &[u32] {
        let start = if b == 0 { 0 } else { self.ends[b as usize - 1] };
        &self.targets[start as usize..self.ends[b as usize] as usize]
    }

    /// The edges from `blocks` turned round, in the order of `blocks`, in a graph of `n`.
    fn reversed(&self, blocks: impl Iterator<Item = u32> + Clone, n: usize) -> Edges {
        let mut ends = vec![0; n];
        let all = blocks.clone().flat_map(|b| self.from(b));
        all.for_each(|&to| ends[to as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // First where the edges of the block start; each edge moves that on.
            sum += std::mem::replace(end, sum);
        }
        let mut targets = vec![0; sum as usize];
        for b in blocks {
            for &to in self.from(b) {
                let at = &mut ends[to as usize];
                targets[*at as usize] = b;
                *at += 1;
            }
        }
        Edges { targets, ends }
    }
}

fn reverse_post_order(successors: &Edges, entry: u32) -> Vec<u32> {
    let n = successors.ends.len();
    let mut seen = vec![false; n];
    let mut post = Vec::with_capacity(n);
    let mut stack = vec![(entry, successors.from(entry))];
    seen[entry as usize] = true;
    while let Some((b, left)) = stack.last_mut() {
        // The last successor (the fall-through of a branch) is visited first, so that the taken side follows later in the order.
        if let Some((&next, rest)) = left.split_first() {
            *left = rest;
            if !std::mem::replace(&mut seen[next as usize], true) {
                stack.push((next, successors.from(next)));
            }
        } else {
            post.push(*b);
            stack.pop();
        }
    }
    post.reverse();
    post
}

/// Immediate dominators; `NONE` for the first block of `order` and for unreachable ones.
fn dominators(predecessors: &Edges, order: impl Iterator<Item = u32> + Clone, position: &[u32]) -> Vec<u32> {
    let mut idom = vec![NONE; position.len()];
    let Some(entry) = order.clone().next() else { return idom };
    idom[entry as usize] = entry;
    let mut changed = true;
    while changed {
        changed = false;
        for b in order.clone().skip(1) {
            let mut best = NONE;
            for &p in predecessors.from(b) {
                if idom[p as usize] == NONE {
                    continue;
                }
                best = if best == NONE { p } else { meet(&idom, position, best, p) };
            }
            if best != idom[b as usize] {
                idom[b as usize] = best;
                changed = true;
            }
        }
    }
    idom[entry as usize] = NONE;
    idom
}

fn meet(idom: &[u32], position: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while position[a as usize] > position[b as usize] {
            a = idom[a as usize];
        }
        while position[b as usize] > position[a as usize] {
            b = idom[b as usize];
        }
    }
    a
}
