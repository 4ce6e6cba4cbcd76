// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function after SSA: machine instructions on virtual registers, in the final order of its blocks.

use warpwatt_isa::Op;

use crate::ir::{BlockId, Frame, Function, Inst, Opnd, Part, PredUse, Term, Value, ValueInfo};

/// `MInst::origin` of an instruction that the allocator put in.
pub(super) const INSERTED: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct MInst {
    pub inst: Inst,
    /// Which instruction of the block it was before coalescing and allocation.
    pub origin: u32,
}

#[derive(Clone, Debug)]
pub(super) struct MBlock {
    pub insts: Vec<MInst>,
    pub term: Term,
}

/// Position of a block: instructions are numbered consecutively, the terminator being the last of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub first: u32,
    pub term: u32,
}

#[derive(Clone, Debug)]
pub(super) struct MFunc {
    pub name: String,
    pub is_kernel: bool,
    pub blocks: Vec<MBlock>,
    /// Reachable blocks as they will be laid out.
    pub order: Vec<BlockId>,
    pub loop_depth: Vec<u32>,
    pub values: Vec<ValueInfo>,
    /// Values that live for one instruction only, made by spilling: they are never spilled again.
    pub pinned: Vec<bool>,
    pub out_bytes: u32,
    pub local_bytes: u32,
    pub spill_bytes: u32,
}

impl MFunc {
    pub(super) fn of(f: &Function, order: Vec<BlockId>, loop_depth: Vec<u32>) -> MFunc {
        let blocks = f
            .blocks
            .iter()
            .map(|b| MBlock {
                insts: b
                    .insts
                    .iter()
                    .enumerate()
                    .map(|(i, inst)| MInst { inst: inst.clone(), origin: i as u32 })
                    .collect(),
                term: b.term.clone(),
            })
            .collect();
        MFunc {
            name: f.name.clone(),
            is_kernel: f.is_kernel,
            blocks,
            order,
            loop_depth,
            values: f.values.clone(),
            pinned: vec![false; f.values.len()],
            out_bytes: f.out_bytes,
            local_bytes: f.local_bytes,
            spill_bytes: f.spill_bytes,
        }
    }

    pub(super) fn new_temp(&mut self, words: u8) -> Value {
        self.values.push(ValueInfo { words });
        self.pinned.push(true);
        Value::from(self.values.len() - 1)
    }

    pub(super) fn spans(&self) -> Vec<Span> {
        let mut spans = vec![Span { first: 0, term: 0 }; self.blocks.len()];
        let mut next = 0;
        for b in &self.order {
            let term = next + self.blocks[b.index()].insts.len() as u32;
            spans[b.index()] = Span { first: next, term };
            next = term + 1;
        }
        spans
    }
}

/// What a terminator reads.
pub(super) fn term_uses(term: &Term, mut f: impl FnMut(Part)) {
    match term {
        Term::Branch { cond: PredUse { value: Some(value), .. }, .. } => {
            f(Part { value: *value, lane: 0, words: 0 });
        }
        Term::Table { index: Opnd::Value(part), .. } => f(*part),
        _ => {}
    }
}

/// The single source of a copy of one word or one predicate, if `inst` is nothing else.
pub(super) fn copied(inst: &Inst) -> Option<(Part, Part)> {
    if inst.guard != PredUse::TRUE || inst.frame != Frame::None {
        return None;
    }
    match inst.op {
        Op::Mov => match (inst.dst, inst.srcs.first()) {
            (Some(d), Some(&Opnd::Value(s))) if inst.neg | inst.abs == 0 && d.words == s.words => {
                Some((d, s))
            }
            _ => None,
        },
        Op::Plop3 if inst.sub == warpwatt_isa::Sub::Lut(0xf0) && inst.pdst[1].is_none() => {
            match (inst.pdst[0], inst.psrc[0]) {
                (Some(d), PredUse { value: Some(s), negated: false }) => {
                    let part = |value| Part { value, lane: 0, words: 0 };
                    Some((part(d), part(s)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
