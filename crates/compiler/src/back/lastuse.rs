// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveness of the machine's own registers over finished code: last-use marks, the ranges over which each register holds something needed, and what
//! is needed ahead of each micro-op.

use warpwatt_isa::{LiveRange, NO_PC, Op, Pred, PredSrc, Reg, Src, Uop};

/// A bit per register, then one per predicate.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Set([u64; 5]);

const FIRST_PREDICATE: u32 = 256;

impl Set {
    const EMPTY: Set = Set([0; 5]);
    const ALL: Set = Set([u64::MAX; 5]);

    fn has(&self, i: u32) -> bool {
        self.0[(i / 64) as usize] >> (i % 64) & 1 == 1
    }

    fn add(&mut self, i: u32) {
        self.0[(i / 64) as usize] |= 1 << (i % 64);
    }

    fn take(&mut self, i: u32) {
        self.0[(i / 64) as usize] &= !(1 << (i % 64));
    }

    fn join(&mut self, other: &Set) -> bool {
        let before = *self;
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        before != *self
    }

    /// Registers that are in one of the two sets only, in order, the one that reads as zero apart.
    fn differences(self, other: Set) -> impl Iterator<Item = u32> {
        let mut words = [0, 1, 2, 3].map(|at| self.0[at] ^ other.0[at]);
        words[3] &= u64::MAX >> 1;
        (0..4).flat_map(move |at| {
            let mut bits = words[at as usize];
            std::iter::from_fn(move || {
                let first = (bits != 0).then(|| 64 * at + bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
                first
            })
        })
    }
}

fn registers(r: Reg, words: u32) -> impl Iterator<Item = u32> {
    let words = if r == Reg::ZERO { 0 } else { words };
    (0..words).map(move |i| u32::from(r.0) + i)
}

fn predicate(p: Pred) -> Option<u32> {
    (p != Pred::TRUE).then(|| FIRST_PREDICATE + u32::from(p.0))
}

fn source(uop: &Uop, i: usize) -> impl Iterator<Item = u32> {
    let (reg, words) = match uop.src[i] {
        Src::Reg(r) => (r, uop.src_words(i)),
        _ => (Reg::ZERO, 0),
    };
    registers(reg, words)
}

/// From what is live after a micro-op to what is live before.
fn step(uop: &Uop, live: &mut Set) {
    if uop.guard == PredSrc::TRUE {
        registers(uop.dst, uop.dst_words()).for_each(|r| live.take(r));
        uop.pdst.iter().filter_map(|&p| predicate(p)).for_each(|p| live.take(p));
    }
    (0..4).flat_map(|i| source(uop, i)).for_each(|r| live.add(r));
    for p in uop.psrc.iter().chain([&uop.guard]) {
        if let Some(p) = predicate(p.pred) {
            live.add(p);
        }
    }
}

fn after(uops: &[Uop], tables: &[Vec<u32>], i: usize, before: &[Set]) -> Set {
    let uop = &uops[i];
    let mut live = Set::EMPTY;
    let mut flow = |to: u32| {
        if let Some(set) = before.get(to as usize) {
            live.join(set);
        }
    };
    let falls = match uop.op {
        Op::Bra => {
            flow(uop.target);
            uop.guard != PredSrc::TRUE
        }
        Op::Brx => {
            if let Some(table) = tables.get(uop.target as usize) {
                table.iter().for_each(|&t| flow(t));
            }
            false
        }
        Op::Exit => uop.guard != PredSrc::TRUE,
        // A caller may need any register.
        Op::Ret => return Set::ALL,
        _ => true,
    };
    if falls {
        flow(i as u32 + 1);
    }
    live
}

/// What is live in one function.
pub(super) struct Live {
    pub ranges: Vec<LiveRange>,
    /// By micro-op: registers that it or a later one on some path reads before they are written.
    pub before: Vec<[u64; 4]>,
}

/// Marks last uses in one function (targets and tables counted from its start) and returns what is live in it.
pub(super) fn run(uops: &mut [Uop], tables: &[Vec<u32>]) -> Live {
    let mut before = vec![Set::EMPTY; uops.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for i in (0..uops.len()).rev() {
            let mut live = after(uops, tables, i, &before);
            step(&uops[i], &mut live);
            changed |= before[i].join(&live);
        }
    }
    let mut ranges = Vec::new();
    // Registers that hold something needed after the micro-op before, and since when.
    let mut held = Set::EMPTY;
    let mut since = [NO_PC; 256];
    for i in 0..uops.len() {
        let live = after(uops, tables, i, &before);
        let uop = &uops[i];
        let mut marks = 0;
        for k in 0..4 {
            let mut read = source(uop, k).peekable();
            if read.peek().is_some() && !still_needed(uop, &live, read) {
                marks |= 1 << k;
            }
        }
        if let Some(p) = predicate(uop.guard.pred)
            && !live.has(p)
        {
            marks |= 1 << 4;
        }
        uops[i].last_use = marks;
        for r in live.differences(held) {
            if live.has(r) {
                since[r as usize] = i as u32;
            } else {
                ranges.push(LiveRange { reg: r as u8, from: since[r as usize], to: i as u32 });
            }
        }
        held = live;
    }
    let registers = |Set([a, b, c, d, _]): &Set| [*a, *b, *c, *d];
    Live { ranges, before: before.iter().map(registers).collect() }
}

/// Some register of a source is still needed after the micro-op, and not because the micro-op writes it anew.
fn still_needed(uop: &Uop, live: &Set, mut read: impl Iterator<Item = u32>) -> bool {
    let rewritten =
        |r: u32| uop.guard == PredSrc::TRUE && registers(uop.dst, uop.dst_words()).any(|d| d == r);
    read.any(|r| live.has(r) && !rewritten(r))
}
