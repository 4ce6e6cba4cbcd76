// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control and data flow of a function as it is written: order and blocks of its instructions, registers that are needed, and which instruction wrote what a register holds.

use std::collections::{BTreeMap, BTreeSet};

use warpwatt_ptx::words::{Mod, Opcode};

use crate::bind::{Instr, Operand};

/// Registers by slot.
pub type Slots = BTreeSet<usize>;

/// Whether the instruction branches by itself, by what its operands are, to a path for operands that its short sequence does not serve.
fn has_slow_path(instr: &Instr) -> bool {
    use Opcode::*;
    let rounded = instr.form.ty().float() && !instr.form.has(Mod::Approx) && !instr.form.has(Mod::Full);
    match instr.op {
        Div | Rcp | Sqrt if rounded => true,
        Div | Rem => instr.form.ty().bits == 64,
        _ => false,
    }
}

/// Whether the instruction has a slow path or is jumped over, so that what follows it is another block.
fn splits(instr: &Instr) -> bool {
    use Opcode::*;
    match instr.op {
        Bra | Brx | Ret | Exit | Trap => true,
        Bar | Barrier | Call | Div | Rem | Rcp | Sqrt | Rsqrt | Ex2 | Lg2 | Tanh => {
            instr.guard.is_some() || has_slow_path(instr)
        }
        _ => false,
    }
}

/// Where control may go from an instruction, with an edge for each way.
fn successors(code: &[Instr], at: usize) -> Vec<usize> {
    let instr = &code[at];
    let mut to = Vec::new();
    for operand in &instr.operands {
        match (instr.op, operand) {
            (Opcode::Bra, Operand::Label(target)) => to.push(*target),
            (Opcode::Brx, Operand::Table(targets)) => to.extend(targets),
            _ => {}
        }
    }
    let ends = matches!(instr.op, Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap);
    if !ends || instr.guard.is_some() {
        to.push(at + 1);
        // The way through the slow path.
        to.extend((splits(instr) && !ends).then_some(at + 1));
    }
    to.retain(|&target| target < code.len());
    to
}

/// The instructions that can be reached in reverse post-order; behind a branch, those that follow it come before those it jumps to.
pub fn order(code: &[Instr]) -> Vec<usize> {
    let mut seen = Slots::new();
    let mut done = Vec::new();
    let mut stack = Vec::new();
    if !code.is_empty() {
        seen.insert(0);
        stack.push((0, successors(code, 0)));
    }
    while let Some((at, rest)) = stack.last_mut() {
        if rest.is_empty() {
            done.push(*at);
            stack.pop();
            continue;
        }
        let to = rest.remove(0);
        if seen.insert(to) {
            stack.push((to, successors(code, to)));
        }
    }
    done.reverse();
    done
}

/// The first instruction of the block that each instruction is in: blocks are only entered at their start and only left at their end.
pub fn blocks(code: &[Instr], order: &[usize]) -> BTreeMap<usize, usize> {
    let mut entries = vec![0; code.len()];
    order.iter().flat_map(|&at| successors(code, at)).for_each(|to| entries[to] += 1);
    let mut start: BTreeMap<usize, usize> = BTreeMap::new();
    for &at in order {
        let first = *start.entry(at).or_insert(at);
        match successors(code, at)[..] {
            [to] if entries[to] == 1 && to != 0 => {
                start.insert(to, first);
            }
            _ => {}
        }
    }
    start
}

fn registers(operand: &Operand, found: &mut Vec<usize>) {
    match operand {
        Operand::Reg(slot) => found.push(*slot),
        Operand::Not(inner) | Operand::Neg(inner) | Operand::Address(inner, _) => registers(inner, found),
        Operand::Pair(first, second) => {
            registers(first, found);
            registers(second, found);
        }
        Operand::Vector(parts) | Operand::Group(parts) => {
            parts.iter().for_each(|part| registers(part, found));
        }
        _ => {}
    }
}

/// How many operands, from the first one, are written.
fn results(instr: &Instr) -> usize {
    use Opcode::*;
    match instr.op {
        St | Red | Bra | Brx | Ret | Exit | Trap | Membar | Fence | Nanosleep | Prefetch | Prefetchu
        | Pmevent | Discard => 0,
        Bar | Barrier => usize::from(instr.form.has(Mod::Red)),
        Call => usize::from(matches!(instr.operands.first(), Some(Operand::Group(_)))),
        _ => 1,
    }
}

pub fn written(instr: &Instr) -> Vec<usize> {
    let mut found = Vec::new();
    instr.operands.iter().take(results(instr)).for_each(|operand| registers(operand, &mut found));
    found
}

pub fn read(instr: &Instr) -> Vec<usize> {
    let mut found: Vec<usize> = instr.guard.iter().map(|guard| guard.0).collect();
    instr.operands.iter().skip(results(instr)).for_each(|operand| registers(operand, &mut found));
    found
}

/// Whether the instruction does more than to compute its results.
fn has_effect(instr: &Instr) -> bool {
    use Opcode::*;
    let carries = matches!(instr.op, Addc | Subc | Madc) || instr.form.has(Mod::Cc);
    let ordered = [Mod::Volatile, Mod::Relaxed, Mod::Acquire].iter().any(|&word| instr.form.has(word));
    results(instr) == 0
        || carries
        || has_slow_path(instr)
        || matches!(instr.op, Atom | Bar | Barrier | Call | Shfl | Vote | Match | Redux)
        || instr.op == Ld && ordered
}

/// The registers that are needed before and after each instruction. What only serves a result that nothing needs is not.
pub fn live(code: &[Instr]) -> [Vec<Slots>; 2] {
    let mut before = vec![Slots::new(); code.len()];
    let mut after = before.clone();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for at in (0..code.len()).rev() {
            let instr = &code[at];
            let out: Slots = successors(code, at).iter().flat_map(|&to| before[to].iter().copied()).collect();
            let mut live = out.clone();
            if is_needed(instr, &out) {
                if instr.guard.is_none() {
                    written(instr).iter().for_each(|slot| {
                        live.remove(slot);
                    });
                }
                live.extend(read(instr));
            }
            changed |= live != before[at];
            (before[at], after[at]) = (live, out);
        }
    }
    [before, after]
}

pub fn is_needed(instr: &Instr, live: &Slots) -> bool {
    has_effect(instr) || written(instr).iter().any(|slot| live.contains(slot))
}

/// Which instruction wrote what a register holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// No path that leads here has been followed yet.
    Unknown,
    Nobody,
    One(usize),
    /// It depends on the way that was taken.
    Several,
}

impl Writer {
    fn meet(self, other: Writer) -> Writer {
        match (self, other) {
            (Writer::Unknown, known) | (known, Writer::Unknown) => known,
            (a, b) if a == b => a,
            _ => Writer::Several,
        }
    }
}

/// The writer of each register before each instruction.
pub struct Reaching {
    pub before: Vec<Vec<Writer>>,
    pub predecessors: Vec<Vec<usize>>,
}

impl Reaching {
    pub fn new(code: &[Instr], order: &[usize]) -> Reaching {
        let touched = code.iter().flat_map(|instr| written(instr).into_iter().chain(read(instr)));
        let slots = touched.max().map_or(0, |last| last + 1);
        let mut predecessors = vec![Vec::new(); code.len()];
        for &at in order {
            successors(code, at).iter().for_each(|&to| predecessors[to].push(at));
        }
        let mut this = Reaching { before: vec![vec![Writer::Unknown; slots]; code.len()], predecessors };
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &at in order {
                let start = if at == 0 { Writer::Nobody } else { Writer::Unknown };
                let mut before = vec![start; slots];
                for &from in &this.predecessors[at] {
                    let after = this.after(code, from);
                    before.iter_mut().zip(after).for_each(|(here, there)| *here = here.meet(there));
                }
                changed |= before != this.before[at];
                this.before[at] = before;
            }
        }
        this
    }

    pub fn after(&self, code: &[Instr], at: usize) -> Vec<Writer> {
        let mut after = self.before[at].clone();
        written(&code[at]).iter().for_each(|&slot| after[slot] = Writer::One(at));
        after
    }
}
