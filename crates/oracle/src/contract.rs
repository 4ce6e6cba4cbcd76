// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sums are executed as fused multiply-adds: what PTX allows for `mul` and `add` or `sub` without a rounding modifier, decided as ptxas
//! decides it (docs/compiler.md, "Contraction"), on the program as it is written.

use std::collections::{BTreeMap, BTreeSet};

use warpwatt_ptx::words::{Mod, Opcode};

use crate::bind::{Instr, Operand};

/// A sum that takes the factors of a product instead of the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fused {
    /// Which operand of the sum is the product, 1 or 2.
    pub operand: usize,
    /// The instruction that makes the product.
    pub product: usize,
    /// The operand is the product with the other sign.
    pub negated: bool,
}

/// Registers by slot.
type Slots = BTreeSet<usize>;

/// The product that a register holds, and whether with the other sign.
type Held = (usize, bool);

#[derive(Clone, Default)]
struct Uses {
    sums: Vec<(usize, usize)>,
    pinned: bool,
}

/// Gives the sums of a function that are fused, by instruction.
pub fn plan(code: &[Instr]) -> BTreeMap<usize, Fused> {
    let blocks = blocks(code);
    let live = live_after(code);
    let mut plan = BTreeMap::new();
    for block in &blocks {
        contract(code, block, &live, &mut plan);
    }
    plan
}

fn is_sum(instr: &Instr) -> bool {
    matches!(instr.op, Opcode::Add | Opcode::Sub) && instr.form.ty().float() && instr.form.round.is_none()
}

fn is_product(instr: &Instr) -> bool {
    instr.op == Opcode::Mul
        && instr.form.ty().float()
        && instr.form.round.is_none()
        && !instr.form.sat
        && instr.guard.is_none()
}

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

/// The instructions that can be reached, in blocks: runs that are only entered at their start and only left at their end.
fn blocks(code: &[Instr]) -> Vec<Vec<usize>> {
    let mut entries = vec![0; code.len()];
    let mut reached = Slots::new();
    let mut work: Vec<usize> = (!code.is_empty()).then_some(0).into_iter().collect();
    while let Some(at) = work.pop() {
        if reached.insert(at) {
            for to in successors(code, at) {
                entries[to] += 1;
                work.push(to);
            }
        }
    }
    let next = |at: usize| match successors(code, at)[..] {
        [to] if entries[to] == 1 && to != 0 => Some(to),
        _ => None,
    };
    let inside: Slots = reached.iter().filter_map(|&at| next(at)).collect();
    let starts = reached.iter().filter(|at| !inside.contains(at));
    starts.map(|&at| std::iter::successors(Some(at), |&at| next(at)).collect()).collect()
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

fn written(instr: &Instr) -> Vec<usize> {
    let mut found = Vec::new();
    instr.operands.iter().take(results(instr)).for_each(|operand| registers(operand, &mut found));
    found
}

fn read(instr: &Instr) -> Vec<usize> {
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

/// The registers that are needed after each instruction. Registers that contribute only to dead results are not needed.
fn live_after(code: &[Instr]) -> Vec<Slots> {
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
    after
}

fn is_needed(instr: &Instr, live: &Slots) -> bool {
    has_effect(instr) || written(instr).iter().any(|slot| live.contains(slot))
}

/// The product that an instruction hands on: a copy, or the negation of one.
fn passed_on(code: &[Instr], instr: &Instr, held: &BTreeMap<usize, Held>) -> Option<Held> {
    let [Operand::Reg(_), Operand::Reg(from)] = instr.operands[..] else { return None };
    let (product, negated) = *held.get(&from)?;
    let flushes = instr.form.ftz && !code[product].form.ftz;
    match instr.op {
        _ if instr.guard.is_some() => None,
        Opcode::Mov => Some((product, negated)),
        Opcode::Neg if instr.form.ty() == code[product].form.ty() && !flushes => Some((product, !negated)),
        _ => None,
    }
}

fn contract(code: &[Instr], block: &[usize], live: &[Slots], plan: &mut BTreeMap<usize, Fused>) {
    let mut held: BTreeMap<usize, Held> = BTreeMap::new();
    let mut uses: BTreeMap<usize, Uses> = BTreeMap::new();
    // The products among the operands of each sum.
    let mut sums: BTreeMap<usize, [Option<Held>; 2]> = BTreeMap::new();
    for &at in block {
        let instr = &code[at];
        if !is_needed(instr, &live[at]) {
            for slot in written(instr) {
                held.remove(&slot);
            }
            continue;
        }
        let copy = passed_on(code, instr, &held);
        let mut pinned: Vec<usize> = if copy.is_none() { read(instr) } else { Vec::new() };
        if instr.guard.is_some() {
            // Lanes without the guard keep what was there.
            pinned.extend(written(instr));
        }
        if is_sum(instr) {
            let factor = |k: usize| {
                let Operand::Reg(slot) = instr.operands[k] else { return None };
                let found = *held.get(&slot)?;
                let form = &code[found.0].form;
                (form.ftz == instr.form.ftz && form.ty() == instr.form.ty()).then_some(found)
            };
            let found = [factor(1), factor(2)];
            let twice = found[0].is_some() && found[0].map(|f| f.0) == found[1].map(|f| f.0);
            if !twice {
                pinned = if instr.guard.is_some() { written(instr) } else { Vec::new() };
                for k in [1, 2] {
                    match (found[k - 1], &instr.operands[k]) {
                        (Some((product, _)), _) => {
                            uses.entry(product).or_default().sums.push((at, k));
                        }
                        (None, Operand::Reg(slot)) => pinned.push(*slot),
                        _ => {}
                    }
                }
                sums.insert(at, found);
            }
        }
        for (product, _) in pinned.iter().filter_map(|slot| held.get(slot)) {
            uses.entry(*product).or_default().pinned = true;
        }
        for slot in written(instr) {
            held.remove(&slot);
            let value = if is_product(instr) { Some((at, false)) } else { copy };
            held.extend(value.map(|value| (slot, value)));
        }
    }
    let leaving = block.last().map(|&at| &live[at]);
    for slot in leaving.into_iter().flatten() {
        if let Some((product, _)) = held.get(slot) {
            uses.entry(*product).or_default().pinned = true;
        }
    }
    choose(block, &sums, &mut uses, plan);
}

/// Decides sum by sum. The product that is not taken is needed as it is.
fn choose(
    block: &[usize],
    sums: &BTreeMap<usize, [Option<Held>; 2]>,
    uses: &mut BTreeMap<usize, Uses>,
    plan: &mut BTreeMap<usize, Fused>,
) {
    for &at in block {
        let Some(&found) = sums.get(&at) else { continue };
        let wins = |k: usize| {
            let Some((product, _)) = found[k] else { return false };
            let mine = &uses[&product];
            let rival_is_better = |&(sum, operand): &(usize, usize)| {
                let rival = sums[&sum][2 - operand].filter(|_| !plan.contains_key(&sum));
                rival.is_some_and(|(rival, _)| {
                    !uses[&rival].pinned && uses[&rival].sums.len() < mine.sums.len()
                })
            };
            !mine.pinned && !mine.sums.iter().any(rival_is_better)
        };
        let Some(k) = [0, 1].into_iter().find(|&k| wins(k)) else { continue };
        let Some((product, negated)) = found[k] else { continue };
        plan.insert(at, Fused { operand: k + 1, product, negated });
        if let Some((other, _)) = found[1 - k] {
            uses.entry(other).or_default().pinned = true;
        }
    }
}
