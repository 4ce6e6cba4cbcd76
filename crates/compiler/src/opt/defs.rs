// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each SSA value is defined and how often it is used.

use crate::ir::{Function, Inst, Opnd, Part, PredUse, Term, Value};

pub struct Defs {
    at: Vec<(u32, u32)>,
    /// Uses by operands, guards, kept values, phis and terminators, if they were asked for.
    pub uses: Vec<u32>,
}

const NOWHERE: (u32, u32) = (u32::MAX, 0);

impl Defs {
    pub fn of(f: &Function) -> Defs {
        let mut at = vec![NOWHERE; f.values.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                inst.for_each_def(|part| at[part.value.index()] = (b as u32, i as u32));
            }
        }
        Defs { at, uses: Vec::new() }
    }

    pub fn with_uses(f: &Function) -> Defs {
        let mut uses = vec![0; f.values.len()];
        for block in &f.blocks {
            for inst in &block.insts {
                inst.for_each_use(|part| uses[part.value.index()] += 1);
            }
            for_each_term_use(&block.term, |v| uses[v.index()] += 1);
        }
        Defs { uses, ..Defs::of(f) }
    }

    pub fn inst<'a>(&self, f: &'a Function, value: Value) -> Option<&'a Inst> {
        let (b, i) = self.at[value.index()];
        (b != u32::MAX).then(|| &f.blocks[b as usize].insts[i as usize])
    }

    /// The block that defines a value.
    pub fn block(&self, value: Value) -> Option<usize> {
        let (b, _) = self.at[value.index()];
        (b != u32::MAX).then_some(b as usize)
    }

    /// The definition of an operand that is the whole of a value.
    pub fn of_operand<'a>(&self, f: &'a Function, o: Opnd) -> Option<&'a Inst> {
        let part = whole(f, o)?;
        self.inst(f, part)
    }
}

/// The value of an operand that names all of it.
pub fn whole(f: &Function, o: Opnd) -> Option<Value> {
    match o {
        Opnd::Value(Part { value, lane: 0, words }) if words == f.words(value) => Some(value),
        _ => None,
    }
}

pub fn for_each_term_use(term: &Term, mut f: impl FnMut(Value)) {
    match term {
        Term::Branch { cond: PredUse { value: Some(v), .. }, .. } => f(*v),
        Term::Table { index: Opnd::Value(part), .. } => f(part.value),
        _ => {}
    }
}
