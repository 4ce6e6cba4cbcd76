// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about a control-flow graph: order, dominators, post-dominators, loop depth.
//!
//! Dominators by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm"); post-dominators are dominators of the reversed graph with one virtual exit.

use crate::ir::{BlockId, Function};

/// No block: unreachable, or the virtual exit.
pub const NONE: u32 = u32::MAX;

pub struct Cfg {
    /// Reachable blocks in reverse post-order; the entry first.
    pub order: Vec<BlockId>,
    /// Position in `order`, `NONE` for an unreachable block.
    pub position: Vec<u32>,
    idom: Vec<u32>,
    ipdom: Vec<u32>,
    pub loop_depth: Vec<u32>,
}

impl Cfg {
    pub fn of(function: &Function) -> Cfg {
        let n = function.blocks.len();
        let succs: Vec<Vec<u32>> =
            function.blocks.iter().map(|b| b.term.targets().iter().map(|t| t.0).collect()).collect();
        let order = reverse_post_order(&succs, 0);
        let mut position = vec![NONE; n];
        for (i, &b) in order.iter().enumerate() {
            position[b as usize] = i as u32;
        }
        let idom = dominators(&succs, &order);

        // Reversed graph with a virtual exit (index n) behind every block that control leaves, and behind loops that never end.
        let mut reversed = vec![Vec::new(); n + 1];
        for &b in &order {
            for &s in &succs[b as usize] {
                reversed[s as usize].push(b);
            }
            if succs[b as usize].is_empty() {
                reversed[n].push(b);
            }
        }
        let mut back_order = reverse_post_order(&reversed, n as u32);
        loop {
            let mut reached = vec![false; n + 1];
            back_order.iter().for_each(|&b| reached[b as usize] = true);
            match order.iter().rev().find(|&&b| !reached[b as usize]) {
                Some(&stuck) => reversed[n].push(stuck),
                None => break,
            }
            back_order = reverse_post_order(&reversed, n as u32);
        }
        let mut ipdom = dominators(&reversed, &back_order);
        for p in &mut ipdom {
            if *p == n as u32 {
                *p = NONE;
            }
        }
        let loop_depth = loop_depths(&succs, &order, &position, &idom);
        Cfg { order: order.into_iter().map(BlockId).collect(), position, idom, ipdom, loop_depth }
    }

    pub fn reachable(&self, b: BlockId) -> bool {
        self.position[b.index()] != NONE
    }

    pub fn idom(&self, b: BlockId) -> Option<BlockId> {
        (self.idom[b.index()] != NONE).then(|| BlockId(self.idom[b.index()]))
    }

    /// The block where lanes that diverge at the end of `b` reconverge; `None` if only at the end of the thread.
    pub fn ipdom(&self, b: BlockId) -> Option<BlockId> {
        (self.ipdom[b.index()] != NONE).then(|| BlockId(self.ipdom[b.index()]))
    }

    /// Every path from the entry to `b` goes through `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let mut at = b;
        loop {
            if at == a {
                return true;
            }
            match self.idom(at) {
                Some(up) => at = up,
                None => return false,
            }
        }
    }
}

fn reverse_post_order(succs: &[Vec<u32>], entry: u32) -> Vec<u32> {
    let mut seen = vec![false; succs.len()];
    let mut post = Vec::with_capacity(succs.len());
    let mut stack = vec![(entry, 0usize)];
    seen[entry as usize] = true;
    while let Some((b, next)) = stack.last_mut() {
        // The last successor (the fall-through of a branch) is visited first, so that the taken side follows later in the order.
        let list = &succs[*b as usize];
        if *next < list.len() {
            let s = list[*next];
            *next += 1;
            if !seen[s as usize] {
                seen[s as usize] = true;
                stack.push((s, 0));
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
fn dominators(succs: &[Vec<u32>], order: &[u32]) -> Vec<u32> {
    let n = succs.len();
    let mut position = vec![NONE; n];
    for (i, &b) in order.iter().enumerate() {
        position[b as usize] = i as u32;
    }
    let mut preds = vec![Vec::new(); n];
    for &b in order {
        for &s in &succs[b as usize] {
            preds[s as usize].push(b);
        }
    }
    let mut idom = vec![NONE; n];
    let Some(&entry) = order.first() else { return idom };
    idom[entry as usize] = entry;
    let mut changed = true;
    while changed {
        changed = false;
        for &b in &order[1..] {
            let mut best = NONE;
            for &p in &preds[b as usize] {
                if idom[p as usize] == NONE {
                    continue;
                }
                best = if best == NONE { p } else { meet(&idom, &position, best, p) };
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

/// How many natural loops each block is in.
fn loop_depths(succs: &[Vec<u32>], order: &[u32], position: &[u32], idom: &[u32]) -> Vec<u32> {
    let n = succs.len();
    let mut preds = vec![Vec::new(); n];
    for &b in order {
        for &s in &succs[b as usize] {
            preds[s as usize].push(b);
        }
    }
    let dominates = |a: u32, mut b: u32| loop {
        if a == b {
            return true;
        }
        if idom[b as usize] == NONE || position[b as usize] < position[a as usize] {
            return false;
        }
        b = idom[b as usize];
    };
    let mut depth = vec![0; n];
    for &header in order {
        let latches: Vec<u32> =
            preds[header as usize].iter().copied().filter(|&p| dominates(header, p)).collect();
        if latches.is_empty() {
            continue;
        }
        let mut inside = vec![false; n];
        inside[header as usize] = true;
        let mut work = latches;
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut inside[b as usize], true) {
                work.extend(&preds[b as usize]);
            }
        }
        for (b, &is_inside) in inside.iter().enumerate() {
            depth[b] += u32::from(is_inside);
        }
    }
    depth
}
