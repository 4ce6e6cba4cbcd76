// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contraction: `a * b + c` becomes one fused multiply-add, rounded once, as ptxas does it (docs/compiler.md, "Contraction").
//!
//! A product and a sum may be contracted when neither has a rounding modifier, both flush subnormal numbers or neither does, the product does not saturate, and both stand in the
//! same block or one factor is an immediate or lies in a constant bank. A product is contracted only if every use of it is such a sum; a copy or a negation of it counts by
//! the uses of the copy. Of two products in a sum the one with fewer uses is contracted, the first one if they are equal; the other one stays. Sums are decided in reverse
//! post-order of their blocks. A product of two immediates is a constant, no product.
//!
//! This decides values, so it runs before any pass that changes what is used where.

use smallvec::smallvec;
use warpwatt_isa::{Flags, Op, Order, Round, Space};

use super::defs::{Defs, whole};
use super::{dce, fuse};
use crate::cfg::Cfg;
use crate::ir::{Frame, Function, Inst, Opnd, PredUse, Value};

/// A sum by its block and place in it, and which of its two operands.
type Use = (usize, usize, usize);

/// What is known of the product that a value is.
#[derive(Default)]
struct Product {
    uses: Vec<Use>,
    /// Something else than a sum needs it.
    pinned: bool,
}

struct Contraction {
    defs: Defs,
    /// By the value that a product defines.
    products: Vec<Product>,
}

pub fn run(f: &mut Function) {
    dce::run(f);
    let defs = Defs::of(f);
    let products = f.values.iter().map(|_| Product::default()).collect();
    let mut this = Contraction { defs, products };
    this.collect(f);
    for b in Cfg::of(f).order.iter().map(|b| b.index()) {
        for i in 0..f.blocks[b].insts.len() {
            if let Some(k) = this.choose(f, b, i) {
                this.fuse(f, b, i, k);
            }
        }
    }
    dce::run(f);
}

fn is_sum(inst: &Inst) -> bool {
    inst.op == Op::Fadd && inst.contract && inst.rnd == Round::Rn && inst.srcs.len() == 2
}

fn is_product(inst: &Inst) -> bool {
    inst.op == Op::Fmul
        && inst.contract
        && inst.rnd == Round::Rn
        && inst.guard == PredUse::TRUE
        && inst.flags.without(Flags::FTZ) == Flags::NONE
}

/// The source of an instruction that copies it.
fn copied(inst: &Inst) -> Option<Opnd> {
    let copies = inst.op == Op::Mov && inst.guard == PredUse::TRUE && inst.frame == Frame::None;
    inst.srcs.first().copied().filter(|_| copies && inst.dst.is_some())
}

/// The source of an instruction that only copies or negates it, and whether it is negated.
fn passes_on(inst: &Inst) -> Option<(Opnd, bool)> {
    let negated = || fuse::sign_change(inst).filter(|&(_, _, absolute)| !absolute);
    copied(inst).map(|source| (source, false)).or_else(|| negated().map(|(source, _, _)| (source, true)))
}

impl Contraction {
    /// The product that a value is, through copies and negations, and whether it is negated.
    fn root(&self, f: &Function, mut value: Value) -> Option<(Value, bool)> {
        let (mut negated, mut flushes) = (false, false);
        loop {
            let inst = self.defs.inst(f, value)?;
            if is_product(inst) {
                if inst.srcs.iter().all(|&factor| self.immediate(f, factor).is_some()) {
                    return None;
                }
                // A negation that flushes is more than a negation, unless there is nothing left to flush.
                let same = !flushes || inst.flags.has(Flags::FTZ);
                return same.then_some((value, negated));
            }
            let (source, negates) = passes_on(inst)?;
            flushes |= inst.flags.has(Flags::FTZ);
            negated ^= negates;
            value = whole(f, source)?;
        }
    }

    /// Notes every use of every product.
    fn collect(&mut self, f: &Function) {
        for (b, block) in f.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                let copies = inst.dst.is_some_and(|dst| self.root(f, dst.value).is_some());
                if copies && !is_product(inst) {
                    continue;
                }
                let roots: Vec<_> = (0..2).map(|k| self.factor(f, b, inst, k)).collect();
                let twice = roots[0].is_some() && roots[0].map(|r| r.0) == roots[1].map(|r| r.0);
                for (k, source) in inst.srcs.iter().chain([&inst.keep]).enumerate() {
                    let Opnd::Value(part) = source else { continue };
                    let Some((product, _)) = self.root(f, part.value) else { continue };
                    let fits = k < inst.srcs.len() && k < 2 && roots[k].is_some() && !twice;
                    let product = &mut self.products[product.index()];
                    match fits {
                        true => product.uses.push((b, i, k)),
                        false => product.pinned = true,
                    }
                }
            }
        }
    }

    /// The product that operand `k` of a sum could be replaced by.
    fn factor(&self, f: &Function, block: usize, sum: &Inst, k: usize) -> Option<(Value, bool)> {
        if !is_sum(sum) || sum.abs >> k & 1 == 1 {
            return None;
        }
        let (product, negated) = self.root(f, whole(f, sum.srcs[k])?)?;
        let inst = self.defs.inst(f, product)?;
        let reaches = self.defs.block(product) == Some(block)
            || inst.srcs.iter().any(|&factor| self.is_constant(f, factor, inst.flags.has(Flags::FTZ)));
        let fits = reaches && inst.ty == sum.ty && inst.flags.has(Flags::FTZ) == sum.flags.has(Flags::FTZ);
        fits.then_some((product, negated))
    }

    /// The constant that an operand copies, if it is one.
    fn immediate(&self, f: &Function, mut operand: Opnd) -> Option<u64> {
        loop {
            match operand {
                Opnd::Imm(bits) => return Some(bits),
                Opnd::Value(part) => operand = copied(self.defs.inst(f, part.value)?)?,
                _ => return None,
            }
        }
    }

    /// Whether a factor can be an operand of the multiply-add in any block: an immediate or a word of a constant bank, with any sign.
    fn is_constant(&self, f: &Function, mut factor: Opnd, flushed: bool) -> bool {
        loop {
            let value = match factor {
                Opnd::Imm(_) | Opnd::Const { .. } => return true,
                Opnd::Value(part) => part.value,
                _ => return false,
            };
            let Some(inst) = self.defs.inst(f, value) else { return false };
            let sign = fuse::sign_change(inst).filter(|_| flushed || !inst.flags.has(Flags::FTZ));
            factor = match (copied(inst), sign) {
                (Some(source), _) | (None, Some((source, _, _))) => source,
                (None, None) => return self.is_constant_load(f, inst),
            };
        }
    }

    fn is_constant_load(&self, f: &Function, inst: &Inst) -> bool {
        inst.op == Op::Ld
            && inst.guard == PredUse::TRUE
            && inst.mem.space == Space::Const
            && inst.mem.order == Order::Weak
            && self.immediate(f, inst.srcs[0]).is_some()
    }

    /// The operand of an instruction that is contracted into it.
    fn choose(&self, f: &Function, b: usize, i: usize) -> Option<usize> {
        let sum = &f.blocks[b].insts[i];
        (0..2).find(|&k| {
            let Some((product, _)) = self.factor(f, b, sum, k) else { return false };
            let product = &self.products[product.index()];
            !product.pinned && product.uses.iter().all(|&at| self.wins(f, product, at))
        })
    }

    /// Whether no product with fewer uses competes for a sum.
    fn wins(&self, f: &Function, product: &Product, (b, i, k): Use) -> bool {
        let sum = &f.blocks[b].insts[i];
        // What is a fused multiply-add by now took this product as its factor.
        let Some((other, _)) = self.factor(f, b, sum, 1 - k) else { return true };
        let other = &self.products[other.index()];
        other.pinned || other.uses.len() >= product.uses.len()
    }

    fn fuse(&mut self, f: &mut Function, b: usize, i: usize, k: usize) {
        let sum = &f.blocks[b].insts[i];
        let Some((product, negated)) = self.factor(f, b, sum, k) else { return };
        let Some(mul) = self.defs.inst(f, product) else { return };
        let rest = 1 - k;
        let mut fma = sum.clone();
        fma.op = Op::Ffma;
        fma.contract = false;
        fma.srcs = smallvec![mul.srcs[0], mul.srcs[1], sum.srcs[rest]];
        let minus = negated ^ (sum.neg >> k & 1 == 1);
        fma.neg = mul.neg & 3 ^ u8::from(minus) | (sum.neg >> rest & 1) << 2;
        fma.abs = mul.abs & 3 | (sum.abs >> rest & 1) << 2;
        if let Some((other, _)) = self.factor(f, b, sum, rest) {
            self.products[other.index()].pinned = true;
        }
        f.blocks[b].insts[i] = fma;
    }
}
