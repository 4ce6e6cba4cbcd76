// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sums are executed as fused multiply-adds: what PTX allows for `mul` and `add` or `sub` without a rounding modifier, decided as ptxas
//! decides it (docs/compiler.md, "Contraction"), on the program as it is written.

use std::collections::BTreeMap;

use warpwatt_ptx::words::{Mod, Opcode};

use crate::bind::{Instr, Operand, VariableAddress};
use crate::flow::{self, Reaching, Slots, Writer};

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

/// The product that a register holds, and whether with the other sign.
type Held = (usize, bool);

#[derive(Clone, Default)]
struct Uses {
    sums: Vec<(usize, usize)>,
    pinned: bool,
}

/// Gives the sums of a function that are fused, by instruction.
pub fn plan(code: &[Instr]) -> BTreeMap<usize, Fused> {
    if !code.iter().any(is_product) {
        return BTreeMap::new();
    }
    let order = flow::order(code);
    let [before, after] = flow::live(code);
    let blocks = flow::blocks(code, &order);
    let facts = Facts { code, blocks, before, after, reaching: Reaching::new(code, &order) };
    let mut uses = BTreeMap::new();
    // The products among the operands of each sum.
    let mut sums = BTreeMap::new();
    for &at in &order {
        facts.note(at, &mut uses, &mut sums);
    }
    choose(&order, &sums, &mut uses)
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

/// What is known of the registers of a function.
struct Facts<'a> {
    code: &'a [Instr],
    /// The start of each instruction's block.
    blocks: BTreeMap<usize, usize>,
    /// The registers that are needed before each instruction.
    before: Vec<Slots>,
    /// The registers that are needed after each instruction.
    after: Vec<Slots>,
    reaching: Reaching,
}

impl Facts<'_> {
    /// The product that a register holds before an instruction, through copies and negations.
    fn held(&self, at: usize, slot: usize) -> Option<Held> {
        let Writer::One(writer) = self.reaching.before[at][slot] else { return None };
        self.made(writer)
    }

    /// The product that an instruction makes or hands on.
    fn made(&self, at: usize) -> Option<Held> {
        let instr = &self.code[at];
        if is_product(instr) {
            let constants = instr.operands[1..].iter().all(|factor| self.is_immediate(at, factor));
            return (!constants).then_some((at, false));
        }
        let [Operand::Reg(_), Operand::Reg(from)] = instr.operands[..] else { return None };
        if instr.guard.is_some() || !matches!(instr.op, Opcode::Mov | Opcode::Neg) {
            return None;
        }
        let (product, negated) = self.held(at, from)?;
        let form = &self.code[product].form;
        match instr.op {
            Opcode::Mov => Some((product, negated)),
            _ if instr.form.ty() != form.ty() || instr.form.ftz && !form.ftz => None,
            _ => Some((product, !negated)),
        }
    }

    /// Whether an operand of an instruction is written as a number, or a copy of one.
    fn is_immediate(&self, at: usize, operand: &Operand) -> bool {
        match operand {
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => true,
            Operand::Var(place, _) => matches!(place, VariableAddress::Shared(_) | VariableAddress::Const(_)),
            Operand::Reg(slot) => {
                self.copied(at, *slot).is_some_and(|(at, from)| self.is_immediate(at, from))
            }
            _ => false,
        }
    }

    /// The instruction that copied something into a register, and what.
    fn copied(&self, at: usize, slot: usize) -> Option<(usize, &Operand)> {
        let Writer::One(writer) = self.reaching.before[at][slot] else { return None };
        let instr = &self.code[writer];
        let whole = match &instr.operands[..] {
            [Operand::Reg(_), from] => Some(from),
            [Operand::Vector(parts), from] if instr.form.ty().bits == 32 * parts.len() as u32 => Some(from),
            _ => None,
        };
        whole.filter(|_| instr.op == Opcode::Mov && instr.guard.is_none()).map(|from| (writer, from))
    }

    /// Whether a factor is the same for all threads of a launch and needs no register: a number, a launch dimension, a kernel's parameter or a variable in constant memory.
    fn is_constant(&self, at: usize, factor: &Operand, flushed: bool) -> bool {
        let slot = match factor {
            Operand::Reg(slot) => *slot,
            Operand::Special(name, _) => return matches!(name.as_str(), "%ntid" | "%nctaid"),
            Operand::Var(VariableAddress::Global(_), _) => return true,
            other => return self.is_immediate(at, other),
        };
        if let Some((at, from)) = self.copied(at, slot) {
            return self.is_constant(at, from, flushed);
        }
        let Writer::One(writer) = self.reaching.before[at][slot] else { return false };
        let instr = &self.code[writer];
        match (instr.op, &instr.operands[..]) {
            _ if instr.guard.is_some() => false,
            (Opcode::Neg | Opcode::Abs, [_, from]) => {
                instr.form.ty().float()
                    && (flushed || !instr.form.ftz)
                    && self.is_constant(writer, from, flushed)
            }
            (Opcode::Ld, [_, Operand::Address(base, _)]) => match **base {
                Operand::Var(VariableAddress::KernelParam(_), _) => true,
                ref base => instr.form.has(Mod::Const) && self.is_immediate(writer, base),
            },
            _ => false,
        }
    }

    /// The product that operand `k` of a sum could be replaced by.
    fn factor(&self, at: usize, k: usize) -> Option<Held> {
        let instr = &self.code[at];
        let Operand::Reg(slot) = instr.operands[k] else { return None };
        let (product, negated) = self.held(at, slot)?;
        let mul = &self.code[product];
        let near = self.blocks[&product] == self.blocks[&at];
        let fits =
            near || mul.operands[1..].iter().any(|factor| self.is_constant(product, factor, mul.form.ftz));
        (fits && mul.form.ftz == instr.form.ftz && mul.form.ty() == instr.form.ty())
            .then_some((product, negated))
    }

    /// Notes the products that an instruction uses.
    fn note(
        &self,
        at: usize,
        uses: &mut BTreeMap<usize, Uses>,
        sums: &mut BTreeMap<usize, [Option<Held>; 2]>,
    ) {
        let instr = &self.code[at];
        let mut pinned = self.joined(at);
        let copies = !is_product(instr) && self.made(at).is_some();
        if flow::is_needed(instr, &self.after[at]) && !copies {
            if instr.guard.is_some() {
                // Lanes without the guard keep what was there.
                pinned.extend(flow::written(instr).iter().filter_map(|&slot| self.held(at, slot)));
            }
            let found = if is_sum(instr) { [self.factor(at, 1), self.factor(at, 2)] } else { [None; 2] };
            let twice = found[0].is_some() && found[0].map(|f| f.0) == found[1].map(|f| f.0);
            let mut plain = flow::read(instr);
            if is_sum(instr) && !twice {
                for k in [1, 2] {
                    let Some((product, _)) = found[k - 1] else { continue };
                    uses.entry(product).or_default().sums.push((at, k));
                    plain.retain(|slot| !matches!(instr.operands[k], Operand::Reg(fused) if fused == *slot));
                }
                sums.insert(at, found);
            }
            pinned.extend(plain.iter().filter_map(|&slot| self.held(at, slot)));
        }
        for (product, _) in pinned {
            uses.entry(product).or_default().pinned = true;
        }
    }

    /// The products in registers that have several writers here, one on each way.
    fn joined(&self, at: usize) -> Vec<Held> {
        let here = &self.reaching.before[at];
        let joins: Vec<usize> =
            self.before[at].iter().copied().filter(|&slot| here[slot] == Writer::Several).collect();
        let mut found = Vec::new();
        for &from in self.reaching.predecessors[at].iter().filter(|_| !joins.is_empty()) {
            let there = self.reaching.after(self.code, from);
            for &slot in &joins {
                if let Writer::One(writer) = there[slot] {
                    found.extend(self.made(writer));
                }
            }
        }
        found
    }
}

/// Decides sum by sum. The product that is not taken is needed as it is.
fn choose(
    order: &[usize],
    sums: &BTreeMap<usize, [Option<Held>; 2]>,
    uses: &mut BTreeMap<usize, Uses>,
) -> BTreeMap<usize, Fused> {
    let mut plan: BTreeMap<usize, Fused> = BTreeMap::new();
    for &at in order {
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
    plan
}
