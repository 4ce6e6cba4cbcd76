// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that one memory operation reads together. From Volta on the register file of a processor has two banks, of even and of odd registers, and
//! `ptxas` places stored data in the other bank than the first word of the address: `STG [R2], R5`, never `STG [R2], R4`
//! (docs/compiler.md, "Registers of memory operations").

use super::hold::{is_memory, sources};
use super::machine::MFunc;
use crate::ir::Value;

/// Banks of the register file that code for `sm` is arranged for; 1 where `ptxas` shows no preference.
pub(super) const fn banks(sm: u32) -> u32 {
    if sm >= 70 { 2 } else { 1 }
}

/// A word of a value and the first word of another that is read with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    pub lane: u8,
    pub other: Value,
    pub other_lane: u8,
}

/// For every value: what memory operations read beside it.
pub(super) fn of(f: &MFunc) -> Vec<Vec<Beside>> {
    let mut lists = vec![Vec::new(); f.values.len()];
    for m in f.order.iter().flat_map(|b| &f.blocks[b.index()].insts).filter(|m| is_memory(&m.inst)) {
        for a in sources(&m.inst) {
            for b in sources(&m.inst).filter(|b| b.value != a.value) {
                lists[a.value.index()].push(Beside { lane: a.lane, other: b.value, other_lane: b.lane });
            }
        }
    }
    lists
}
