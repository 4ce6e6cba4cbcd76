// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static estimate of how often instructions are executed (section 4.2): the product of the trip counts of the loops around them. A parameter is used
//! for unknown trip counts.

use std::collections::BTreeSet;

use warpwatt_isa::{Cmp, Flags, Op, Pred, PredSrc, Program, Reg, Src, Sub, Ty, Uop};

use crate::sm::source_words;

/// Largest trip count that is found by counting.
const MOST_TURNS: u64 = 1 << 20;

/// The registers that a micro-op reads, each once, with the number of the operand that it belongs to.
pub fn sources(uop: &Uop) -> Vec<(u8, u32)> {
    let words = source_words(uop);
    let mut known: Vec<(u8, u32)> = Vec::new();
    let mut operand = 0;
    for i in 0..uop.src.len() {
        let Src::Reg(first) = uop.src[i] else { continue };
        for word in 0..if first == Reg::ZERO { 0 } else { uop.src_words(i) as u8 } {
            let register = first.0 + word;
            if known.iter().all(|(other, _)| *other != register) {
                operand += u32::from(words.second >> known.len().min(15) & 1 == 0);
                known.push((register, operand));
            }
        }
    }
    known
}

/// By micro-op of a program: how often it is executed.
pub fn weights(program: &Program, loop_weight: u32) -> Vec<u64> {
    let mut weights = vec![1u64; program.uops.len()];
    let whole = [(0, program.uops.len())];
    let functions: Vec<_> = program.functions.iter().map(|f| (f.entry as usize, f.end as usize)).collect();
    for &(entry, end) in if functions.is_empty() { whole.as_slice() } else { &functions } {
        let code = Code::of(program, entry, end);
        for body in code.loops() {
            let turns = code.turns(&body).unwrap_or(u64::from(loop_weight));
            for at in body.members {
                weights[at] = weights[at].saturating_mul(turns.max(1));
            }
        }
    }
    weights
}

/// A loop: all micro-ops from which its first one can be reached again.
struct Loop {
    head: usize,
    /// Micro-ops that jump or fall back to the head.
    ends: Vec<usize>,
    members: BTreeSet<usize>,
}

/// The code of one function as a graph of micro-ops.
struct Code<'a> {
    uops: &'a [Uop],
    entry: usize,
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// By micro-op from the entry on: the closest one that is on every path to it.
    dominator: Vec<usize>,
}

/// No path leads there.
const NOWHERE: usize = usize::MAX;

impl Code<'_> {
    fn of(program: &Program, entry: usize, end: usize) -> Code<'_> {
        let uops = &program.uops[..end.min(program.uops.len())];
        let mut next = vec![Vec::new(); uops.len()];
        let mut before = vec![Vec::new(); uops.len()];
        for (at, uop) in uops.iter().enumerate().skip(entry) {
            let always = uop.guard == PredSrc::TRUE;
            match uop.op {
                Op::Bra => next[at].push(uop.target as usize),
                Op::Brx => {
                    let table = program.tables.get(uop.target as usize).into_iter().flatten();
                    next[at].extend(table.map(|&to| to as usize));
                }
                _ => {}
            }
            if !(always && matches!(uop.op, Op::Bra | Op::Exit | Op::Ret) || uop.op == Op::Brx) {
                next[at].push(at + 1);
            }
            next[at].retain(|to| (entry..uops.len()).contains(to));
            next[at].dedup();
            for &to in &next[at] {
                before[to].push(at);
            }
        }
        let mut code = Code { uops, entry, next, before, dominator: Vec::new() };
        code.dominator = code.dominators();
        code
    }

    /// Cooper, Harvey, Kennedy: A simple, fast dominance algorithm.
    fn dominators(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.uops.len()];
        let mut open = vec![(self.entry, 0)];
        if let Some(first) = seen.get_mut(self.entry) {
            *first = true;
        } else {
            return Vec::new();
        }
        while let Some((at, edge)) = open.pop() {
            match self.next[at].get(edge) {
                Some(&to) => {
                    open.push((at, edge + 1));
                    if !std::mem::replace(&mut seen[to], true) {
                        open.push((to, 0));
                    }
                }
                None => order.push(at),
            }
        }
        let mut number = vec![0; self.uops.len()];
        order.iter().enumerate().for_each(|(place, &at)| number[at] = place);
        let mut dominator = vec![NOWHERE; self.uops.len()];
        dominator[self.entry] = self.entry;
        let mut changed = true;
        while changed {
            changed = false;
            for &at in order.iter().rev().filter(|&&at| at != self.entry) {
                let known = self.before[at].iter().copied().filter(|&from| dominator[from] != NOWHERE);
                let common = known.reduce(|mut one, mut other| {
                    while one != other {
                        if number[one] < number[other] {
                            one = dominator[one];
                        } else {
                            other = dominator[other];
                        }
                    }
                    one
                });
                let common = common.unwrap_or(NOWHERE);
                changed |= std::mem::replace(&mut dominator[at], common) != common;
            }
        }
        dominator
    }

    fn dominates(&self, one: usize, mut other: usize) -> bool {
        while self.dominator.get(other).is_some_and(|&up| up != NOWHERE) {
            if one == other {
                return true;
            }
            if other == self.entry {
                return false;
            }
            other = self.dominator[other];
        }
        false
    }

    /// Natural loops, those with the same head as one.
    fn loops(&self) -> Vec<Loop> {
        let mut loops: Vec<Loop> = Vec::new();
        for at in self.entry..self.uops.len() {
            for &head in self.next[at].iter().filter(|&&head| head <= at && self.dominates(head, at)) {
                let place = loops.iter().position(|known| known.head == head).unwrap_or_else(|| {
                    loops.push(Loop { head, ends: Vec::new(), members: BTreeSet::from([head]) });
                    loops.len() - 1
                });
                let body = &mut loops[place];
                body.ends.push(at);
                let mut open = vec![at];
                while let Some(at) = open.pop() {
                    if body.members.insert(at) {
                        open.extend(&self.before[at]);
                    }
                }
            }
        }
        loops
    }

    /// Trip count of a loop that counts from a constant to a constant: one branch leaves it or goes on, by a comparison of a register with a number; the
    /// register gets a number added once per iteration, and holds a number when the loop begins.
    fn turns(&self, body: &Loop) -> Option<u64> {
        let exits = |at: usize| self.next[at].iter().any(|to| !body.members.contains(to));
        let mut leaving = body.members.iter().copied().filter(|&at| exits(at));
        let branch = leaving.next().filter(|_| leaving.next().is_none())?;
        let [end] = body.ends[..] else { return None };
        let uop = &self.uops[branch];
        let every_turn = |at: usize| self.dominates(at, end) && at <= end;
        if uop.op != Op::Bra || uop.guard == PredSrc::TRUE || !every_turn(branch) {
            return None;
        }
        let leaves_when_taken = !body.members.contains(&(uop.target as usize));
        let test = self.set_before(body, branch, uop.guard.pred)?;
        let Test { register, compare, limit } = Test::of(&self.uops[test], uop.guard.pred)?;
        let add = self.only(body, |uop| writes(uop, register))?;
        let step = step(&self.uops[add], register)?;
        if !every_turn(test) || !every_turn(add) || self.uops[add].guard != PredSrc::TRUE || test > branch {
            return None;
        }
        let mut value = self.value_before(body, register)?;
        for turn in 1..=MOST_TURNS {
            // In the order of the code, which lies in one line between head and end.
            let tested = if add < test { value.wrapping_add(step) } else { value };
            value = value.wrapping_add(step);
            let taken = compare(tested, limit) != uop.guard.negated;
            if taken == leaves_when_taken {
                return Some(turn);
            }
        }
        None
    }

    /// The micro-op of a loop that sets a predicate last on the one way to a micro-op.
    fn set_before(&self, body: &Loop, at: usize, pred: Pred) -> Option<usize> {
        let mut at = at;
        while at != body.head {
            let [from] = self.before[at][..] else { return None };
            at = from;
            if self.uops[at].pdst.contains(&pred) {
                return Some(at);
            }
        }
        None
    }

    /// The one micro-op of a loop of which something is true.
    fn only(&self, body: &Loop, is: impl Fn(&Uop) -> bool) -> Option<usize> {
        let mut found = body.members.iter().copied().filter(|&at| is(&self.uops[at]));
        found.next().filter(|_| found.next().is_none())
    }

    /// The number that a register holds when a loop begins, if there is one way there on which it is set last.
    fn value_before(&self, body: &Loop, register: u8) -> Option<u32> {
        let mut at = body.head;
        for _ in 0..self.uops.len() {
            let mut from = self.before[at].iter().copied().filter(|from| !body.members.contains(from));
            at = from.next().filter(|_| from.next().is_none())?;
            let uop = &self.uops[at];
            if writes(uop, register) {
                let plain = uop.op == Op::Mov
                    && uop.guard == PredSrc::TRUE
                    && uop.neg | uop.abs == 0
                    && uop.dst_words() == 1;
                return number(uop.src[0]).filter(|_| plain);
            }
            if matches!(uop.op, Op::Call | Op::CallInd) {
                return None;
            }
        }
        None
    }
}

fn writes(uop: &Uop, register: u8) -> bool {
    let words = uop.dst_words() as u8;
    uop.dst != Reg::ZERO && (uop.dst.0..uop.dst.0.saturating_add(words)).contains(&register)
}

fn number(source: Src) -> Option<u32> {
    match source {
        Src::Imm(number) => Some(number),
        Src::Reg(Reg::ZERO) => Some(0),
        _ => None,
    }
}

/// The number that a micro-op adds to a register.
fn step(uop: &Uop, register: u8) -> Option<u32> {
    if uop.op != Op::Iadd3
        || uop.flags.has(Flags::CARRY_IN)
        || uop.neg | uop.abs != 0
        || uop.psrc != [PredSrc::TRUE; 3]
    {
        return None;
    }
    let is_itself = |source: &Src| *source == Src::Reg(Reg(register));
    let itself = uop.src[..3].iter().filter(|source| is_itself(source)).count();
    let others = uop.src[..3].iter().filter(|source| !is_itself(source) && **source != Src::None);
    let sum = others.map(|source| number(*source)).try_fold(0u32, |sum, one| Some(sum.wrapping_add(one?)))?;
    (itself == 1).then_some(sum)
}

/// A comparison of a register with a number.
struct Test {
    register: u8,
    compare: fn(u32, u32) -> bool,
    limit: u32,
}

impl Test {
    fn of(uop: &Uop, pred: Pred) -> Option<Test> {
        let Sub::Cmp(cmp, _) = uop.sub else { return None };
        let plain = uop.op == Op::Isetp && uop.guard == PredSrc::TRUE && uop.neg | uop.abs == 0;
        if !plain || uop.pdst[0] != pred || uop.psrc != [PredSrc::TRUE; 3] {
            return None;
        }
        let (register, limit, cmp) = match (uop.src[0], uop.src[1]) {
            (Src::Reg(register), limit) if register != Reg::ZERO => (register, number(limit)?, cmp),
            (limit, Src::Reg(register)) => (register, number(limit)?, cmp.mirrored()),
            _ => return None,
        };
        let compare: fn(u32, u32) -> bool = match (uop.ty, cmp) {
            (_, Cmp::Eq) => |a, b| a == b,
            (_, Cmp::Ne) => |a, b| a != b,
            (Ty::S32, Cmp::Lt) => |a, b| a.cast_signed() < b.cast_signed(),
            (Ty::S32, Cmp::Le) => |a, b| a.cast_signed() <= b.cast_signed(),
            (Ty::S32, Cmp::Gt) => |a, b| a.cast_signed() > b.cast_signed(),
            (Ty::S32, Cmp::Ge) => |a, b| a.cast_signed() >= b.cast_signed(),
            (Ty::U32, Cmp::Lt) => |a, b| a < b,
            (Ty::U32, Cmp::Le) => |a, b| a <= b,
            (Ty::U32, Cmp::Gt) => |a, b| a > b,
            (Ty::U32, Cmp::Ge) => |a, b| a >= b,
            _ => return None,
        };
        Some(Test { register: register.0, compare, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_isa::BoolOp;

    fn uop(op: Op, dst: u8, src: &[Src]) -> Uop {
        let mut uop = Uop::new(op, Ty::U32);
        uop.dst = Reg(dst);
        uop.src[..src.len()].copy_from_slice(src);
        uop
    }

    fn jump(target: u32) -> Uop {
        let mut jump = uop(Op::Bra, 255, &[]);
        (jump.guard, jump.target) = (PredSrc { pred: Pred(0), negated: false }, target);
        jump
    }

    fn test(register: u8, limit: Src) -> Uop {
        let mut test = uop(Op::Isetp, 255, &[Src::Reg(Reg(register)), limit]);
        (test.ty, test.sub, test.pdst[0]) = (Ty::S32, Sub::Cmp(Cmp::Lt, BoolOp::And), Pred(0));
        test
    }

    /// Two loops, one in the other: R2 counts from 0 by 2 to 100, R3 from 5 by 1 to a limit.
    fn nested(limit: Src) -> Program {
        let (reg, zero) = (|register: u8| Src::Reg(Reg(register)), Src::Reg(Reg::ZERO));
        let uops = vec![
            uop(Op::Mov, 2, &[zero]),
            uop(Op::Mov, 3, &[Src::Imm(5)]),
            uop(Op::Iadd3, 4, &[reg(4), reg(3), zero]),
            uop(Op::Iadd3, 3, &[reg(3), Src::Imm(1), zero]),
            test(3, limit),
            jump(2),
            uop(Op::Iadd3, 2, &[reg(2), Src::Imm(2), zero]),
            test(2, Src::Imm(100)),
            jump(1),
            uop(Op::Exit, 255, &[]),
        ];
        Program { uops, ..Program::default() }
    }

    #[test]
    fn turns_multiply_and_those_that_cannot_be_told_are_a_parameter() {
        assert_eq!(weights(&nested(Src::Imm(12)), 10), [1, 50, 350, 350, 350, 350, 50, 50, 50, 1]);
        assert_eq!(weights(&nested(Src::Reg(Reg(9))), 10), [1, 50, 500, 500, 500, 500, 50, 50, 50, 1]);
    }

    #[test]
    fn every_pair_of_sources_of_an_instruction_is_an_edge() {
        let mut store = uop(Op::St, 255, &[Src::Reg(Reg(4)), Src::Reg(Reg(8))]);
        store.mem.space = warpwatt_isa::Space::Global;
        assert_eq!(sources(&store), [(4, 1), (5, 1), (8, 2)], "both words of an address are one source");
        let mut program = nested(Src::Imm(12));
        program.uops.insert(9, store);
        let graph = super::super::affinity_of(&program, 10, None);
        let edges: Vec<_> = graph.edges().collect();
        assert_eq!(edges, [((3, 4), 350), ((4, 8), 1), ((5, 8), 1)]);
        let same = uop(Op::Iadd3, 1, &[Src::Reg(Reg(7)), Src::Reg(Reg(7)), Src::Reg(Reg(7))]);
        assert_eq!(sources(&same), [(7, 1)], "a register named twice is one source");
    }
}
