// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of blocks: a topological order with loops in one piece and one successor falling through.

use crate::cfg::Cfg;
use crate::ir::{BlockId, Function, Term};

pub(super) fn layout(f: &Function, cfg: &Cfg) -> Vec<BlockId> {
    let mut seen = vec![false; f.blocks.len()];
    let mut post = Vec::with_capacity(f.blocks.len());
    let mut stack = vec![(BlockId(0), ranked(f, cfg, BlockId(0)), 0)];
    seen[0] = true;
    while let Some((b, successors, next)) = stack.last_mut() {
        if let Some(&s) = successors.get(*next) {
            *next += 1;
            if !std::mem::replace(&mut seen[s.index()], true) {
                stack.push((s, ranked(f, cfg, s), 0));
            }
        } else {
            post.push(*b);
            stack.pop();
        }
    }
    post.reverse();
    post
}

/// Successors, the one to follow directly last: those that leave a loop come first (and so are placed after the loop), then the taken side.
fn ranked(f: &Function, cfg: &Cfg, b: BlockId) -> Vec<BlockId> {
    let mut successors: Vec<BlockId> = f.block(b).term.targets().to_vec();
    let rank = |s: BlockId| {
        let ends = matches!(f.block(s).term, Term::Exit { .. } | Term::Unreachable | Term::Ret { .. });
        (cfg.loop_depths()[s.index()].min(cfg.loop_depths()[b.index()]), !ends)
    };
    successors.sort_by_key(|&s| rank(s));
    successors
}
