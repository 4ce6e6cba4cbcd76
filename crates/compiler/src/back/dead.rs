// SPDX-License-Identifier: MIT OR Apache-2.0
//! An independent proof of last uses: a register that is marked as read for the last time, or as not live, is read by no later micro-op on any path before
//! it is written. Hardware may give it away there.
//!
//! For one register after the other, every micro-op from which a read can be reached without passing a write is found by going backwards from the
//! reads. This file shares no code with the analysis that makes the marks.

use warpwatt_isa::{Op, PredSrc, Reg, Src, Uop};

/// Checks the marks of one function, and what is live ahead of each micro-op of it. Targets and tables are counted from its start.
pub(super) fn check(uops: &[Uop], tables: &[Vec<u32>], live_in: &[[u64; 4]]) -> Result<(), String> {
    let flow = Flow::of(uops, tables);
    let mut used: Vec<u32> = uops.iter().flat_map(|uop| (0..4).flat_map(|i| span(uop, i))).collect();
    used.sort_unstable();
    used.dedup();
    for register in used {
        let needed = flow.needed(uops, register);
        for (at, uop) in uops.iter().enumerate() {
            let live =
                live_in.get(at).is_none_or(|live| live[register as usize / 64] >> (register % 64) & 1 != 0);
            if needed[at] && !live {
                return Err(format!("R{register} is marked as dead, but live at micro-op {at}, {uop}"));
            }
            let marked =
                (0..4).any(|i| uop.last_use >> i & 1 != 0 && span(uop, i).any(|read| read == register));
            let later = flow.next[at].iter().any(|&to| needed[to]) || flow.leaves[at];
            if marked && later && !overwrites(uop, register) {
                return Err(format!(
                    "R{register} is marked as read last at micro-op {at}, {uop}, but live after it"
                ));
            }
        }
    }
    Ok(())
}

/// Where control may go.
struct Flow {
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// Execution continues in the caller, which may need any register.
    leaves: Vec<bool>,
}

impl Flow {
    fn of(uops: &[Uop], tables: &[Vec<u32>]) -> Flow {
        let count = uops.len();
        let next: Vec<Vec<usize>> = uops
            .iter()
            .enumerate()
            .map(|(at, uop)| {
                let always = uop.guard == PredSrc::TRUE;
                let mut next: Vec<usize> = match uop.op {
                    Op::Bra => vec![uop.target as usize],
                    Op::Brx => {
                        tables.get(uop.target as usize).into_iter().flatten().map(|&to| to as usize).collect()
                    }
                    _ => Vec::new(),
                };
                let stays = match uop.op {
                    Op::Bra | Op::Exit | Op::Ret => !always,
                    Op::Brx => false,
                    _ => true,
                };
                next.extend(stays.then_some(at + 1));
                next.retain(|&to| to < count);
                next
            })
            .collect();
        let mut before = vec![Vec::new(); count];
        for (at, next) in next.iter().enumerate() {
            next.iter().for_each(|&to| before[to].push(at));
        }
        Flow { next, before, leaves: uops.iter().map(|uop| uop.op == Op::Ret).collect() }
    }

    /// By micro-op: whether a read of a register can be reached from there.
    fn needed(&self, uops: &[Uop], register: u32) -> Vec<bool> {
        let mut needed = vec![false; uops.len()];
        let reads = |uop: &Uop| (0..4).any(|i| span(uop, i).any(|read| read == register));
        let mut open: Vec<usize> = (0..uops.len())
            .filter(|&at| reads(&uops[at]) || self.leaves[at] && !overwrites(&uops[at], register))
            .collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut needed[at], true) {
                open.extend(self.before[at].iter().filter(|&&from| !overwrites(&uops[from], register)));
            }
        }
        needed
    }
}

/// Registers of a source.
fn span(uop: &Uop, i: usize) -> std::ops::Range<u32> {
    match uop.src[i] {
        Src::Reg(first) if first != Reg::ZERO => u32::from(first.0)..u32::from(first.0) + uop.src_words(i),
        _ => 0..0,
    }
}

/// Whether every lane that executes it writes the register.
fn overwrites(uop: &Uop, register: u32) -> bool {
    let first = u32::from(uop.dst.0);
    uop.dst != Reg::ZERO && uop.guard == PredSrc::TRUE && (first..first + uop.dst_words()).contains(&register)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_isa::{Pred, Ty};

    /// R2 = R1; loop: R3 = R2; @P0 branch to the loop; exit.
    fn program() -> Vec<Uop> {
        let copy = |to: u8, from: u8| {
            let mut uop = Uop::new(Op::Mov, Ty::U32);
            (uop.dst, uop.src[0]) = (Reg(to), Src::Reg(Reg(from)));
            uop
        };
        let mut jump = Uop::new(Op::Bra, Ty::U32);
        (jump.guard, jump.target) = (PredSrc { pred: Pred(0), negated: false }, 1);
        vec![copy(2, 1), copy(3, 2), jump, Uop::new(Op::Exit, Ty::U32)]
    }

    #[test]
    fn true_marks_pass_and_false_ones_do_not() {
        let mut uops = program();
        let live = super::super::lastuse::run(&mut uops, &[]);
        assert_eq!(uops.iter().map(|uop| uop.last_use & 1).collect::<Vec<_>>(), [1, 0, 0, 0]);
        assert_eq!(check(&uops, &[], &live.before), Ok(()));
        // R2 is read again in the next iteration.
        let mut wrong = uops.clone();
        wrong[1].last_use = 1;
        assert!(check(&wrong, &[], &live.before).is_err_and(|what| what.contains("R2")));
        let mut gone = live.before.clone();
        gone[2][0] &= !(1 << 2);
        assert!(check(&uops, &[], &gone).is_err_and(|what| what.contains("R2")));
        // A caller may need whatever a function leaves alone.
        let mut returns = uops.clone();
        returns[3] = Uop::new(Op::Ret, Ty::U32);
        assert!(check(&returns, &[], &live.before).is_err());
    }
}
