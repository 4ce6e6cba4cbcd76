// SPDX-License-Identifier: MIT OR Apache-2.0
//! From coded blocks to one list of micro-ops: jumps threaded through empty blocks, fall-through, exits in place, branch targets, points of reconvergence.

use warpwatt_isa::{Flags, NO_PC, Op, PredSrc, Ty, Uop};

use super::code::{CodedBlock, CodedFunction};
use crate::cfg::Cfg;
use crate::ir::{Block, BlockId, Function, Term};

/// The micro-ops of one function, targets counted from its own start; `tables` likewise.
pub(super) struct Emitted {
    pub uops: Vec<Uop>,
    pub tables: Vec<Vec<u32>>,
    /// Micro-op and module-wide id of the function it calls.
    pub calls: Vec<(u32, u32)>,
}

struct Emitter<'a> {
    blocks: &'a [CodedBlock],
    out: Emitted,
    /// Targets and reconvergence points as block numbers, converted to indices at the end.
    fixups: Vec<(u32, BlockId)>,
    reconvergences: Vec<(u32, BlockId)>,
    tables: Vec<Vec<BlockId>>,
}

pub(super) fn run(f: &CodedFunction) -> Emitted {
    let threaded = thread(f);
    let cfg = skeleton(f, &threaded);
    let in_table = |b: BlockId| {
        f.blocks.iter().any(|x| match &x.term {
            Term::Table { targets, .. } => targets.iter().any(|t| threaded[t.index()] == b),
            _ => false,
        })
    };
    let order: Vec<BlockId> = f
        .order
        .iter()
        .copied()
        .filter(|&b| cfg.reachable(b) && !skipped(f, &threaded, b))
        .filter(|&b| b.0 == 0 || ends(&f.blocks[b.index()]).is_none() || in_table(b))
        .collect();
    let mut e = Emitter {
        blocks: &f.blocks,
        out: Emitted { uops: Vec::new(), tables: Vec::new(), calls: Vec::new() },
        fixups: Vec::new(),
        reconvergences: Vec::new(),
        tables: Vec::new(),
    };
    let mut starts = vec![NO_PC; f.blocks.len()];
    for (i, &b) in order.iter().enumerate() {
        starts[b.index()] = e.out.uops.len() as u32;
        for coded in &f.blocks[b.index()].uops {
            if coded.uop.op == Op::Call {
                e.out.calls.push((e.out.uops.len() as u32, coded.callee));
            }
            e.out.uops.push(coded.uop);
        }
        e.terminate(b, order.get(i + 1).copied(), &threaded, &cfg);
    }
    for &(at, b) in &e.fixups {
        e.out.uops[at as usize].target = starts[b.index()];
    }
    for &(at, b) in &e.reconvergences {
        e.out.uops[at as usize].reconv = starts[b.index()];
    }
    e.out.tables = e.tables.iter().map(|t| t.iter().map(|b| starts[b.index()]).collect()).collect();
    e.out
}

/// Where a jump to a block really leads: through blocks that only jump on.
fn thread(f: &CodedFunction) -> Vec<BlockId> {
    let n = f.blocks.len();
    (0..n as u32)
        .map(|start| {
            let mut at = BlockId(start);
            for _ in 0..n {
                let block = &f.blocks[at.index()];
                match block.term {
                    Term::Jump(next) if block.uops.is_empty() && next != at => at = next,
                    _ => break,
                }
            }
            at
        })
        .collect()
}

/// Block without predecessors, other than the entry.
fn skipped(f: &CodedFunction, threaded: &[BlockId], b: BlockId) -> bool {
    b.0 != 0 && threaded[b.index()] != b && f.blocks[b.index()].uops.is_empty()
}

/// The control-flow graph after threading.
fn skeleton(f: &CodedFunction, threaded: &[BlockId]) -> Cfg {
    let blocks = f
        .blocks
        .iter()
        .map(|b| {
            let mut term = b.term.clone();
            term.retarget(|t| threaded[t.index()]);
            Block { insts: Vec::new(), term, preds: Vec::new() }
        })
        .collect();
    Cfg::of(&Function {
        name: String::new(),
        id: 0,
        is_kernel: false,
        blocks,
        values: Vec::new(),
        locs: Vec::new(),
        out_bytes: 0,
        local_bytes: 0,
        spill_bytes: 0,
    })
}

/// A block that only ends the thread is not needed: ending it on the spot is as short as jumping there.
fn ends(block: &CodedBlock) -> Option<u32> {
    match block.term {
        Term::Exit { loc } if block.uops.is_empty() => Some(loc),
        _ => None,
    }
}

impl Emitter<'_> {
    fn ends(&self, b: BlockId) -> Option<u32> {
        ends(&self.blocks[b.index()])
    }

    fn push(&mut self, op: Op, guard: PredSrc, loc: u32) -> u32 {
        let mut uop = Uop::new(op, Ty::U32);
        uop.guard = guard;
        uop.loc = loc;
        self.out.uops.push(uop);
        self.out.uops.len() as u32 - 1
    }

    fn jump(&mut self, to: BlockId, next: Option<BlockId>, loc: u32) {
        if next == Some(to) {
            return;
        }
        if let Some(loc) = self.ends(to) {
            self.push(Op::Exit, PredSrc::TRUE, loc);
            return;
        }
        let at = self.push(Op::Bra, PredSrc::TRUE, loc);
        self.out.uops[at as usize].flags = Flags::UNIFORM;
        self.fixups.push((at, to));
    }

    fn terminate(&mut self, b: BlockId, next: Option<BlockId>, threaded: &[BlockId], cfg: &Cfg) {
        let block = &self.blocks[b.index()];
        let last_loc = self.out.uops.last().map_or(0, |u| u.loc);
        match &block.term {
            Term::Jump(to) => self.jump(threaded[to.index()], next, last_loc),
            &Term::Branch { taken, other, uniform, loc, .. } => {
                let (taken, other) = (threaded[taken.index()], threaded[other.index()]);
                if taken == other {
                    return self.jump(taken, next, loc);
                }
                let not = PredSrc { negated: !block.cond.negated, ..block.cond };
                // The taken branch comes first, unless its lanes would only exit: these exit before the next block.
                let (guard, target, rest) = match (self.ends(taken).is_some(), self.ends(other).is_some()) {
                    (true, false) if next == Some(other) => (block.cond, taken, other),
                    (true, false) => (not, other, taken),
                    (false, true) if next != Some(taken) => (block.cond, taken, other),
                    (false, true) => (not, other, taken),
                    _ if next == Some(taken) => (not, other, taken),
                    _ => (block.cond, taken, other),
                };
                if let Some(loc) = self.ends(target) {
                    self.push(Op::Exit, guard, loc);
                } else {
                    let at = self.push(Op::Bra, guard, loc);
                    if uniform {
                        self.out.uops[at as usize].flags = Flags::UNIFORM;
                    }
                    self.fixups.push((at, target));
                    if let Some(meet) = cfg.ipdom(b) {
                        self.reconvergences.push((at, meet));
                    }
                }
                self.jump(rest, next, loc);
            }
            Term::Table { targets, loc, .. } => {
                let index = block.index;
                let at = self.push(Op::Brx, PredSrc::TRUE, *loc);
                let uop = &mut self.out.uops[at as usize];
                uop.src[0] = index;
                uop.target = self.tables.len() as u32;
                self.tables.push(targets.iter().map(|t| threaded[t.index()]).collect());
                if let Some(meet) = cfg.ipdom(b) {
                    self.reconvergences.push((at, meet));
                }
            }
            &Term::Ret { loc } => {
                self.push(Op::Ret, PredSrc::TRUE, loc);
            }
            &Term::Exit { loc } => {
                self.push(Op::Exit, PredSrc::TRUE, loc);
            }
            Term::Unreachable => {
                self.push(Op::Exit, PredSrc::TRUE, last_loc);
            }
        }
    }
}
