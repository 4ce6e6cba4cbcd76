// SPDX-License-Identifier: MIT OR Apache-2.0
//! A dense number for every word of every virtual register; a predicate counts as one word.

use std::ops::Range;

use crate::ir::{Inst, Part, Value, ValueInfo};

pub(super) struct WordMap {
    first: Vec<u32>,
}

impl WordMap {
    pub(super) fn of(values: &[ValueInfo]) -> WordMap {
        let mut first = Vec::with_capacity(values.len() + 1);
        let mut next = 0;
        for info in values {
            first.push(next);
            next += u32::from(info.words).max(1);
        }
        first.push(next);
        WordMap { first }
    }

    /// Number of words in all.
    pub(super) fn len(&self) -> usize {
        *self.first.last().unwrap_or(&0) as usize
    }

    pub(super) fn all_of(&self, value: Value) -> Range<usize> {
        self.first[value.index()] as usize..self.first[value.index() + 1] as usize
    }

    pub(super) fn slots(&self, p: Part) -> Range<usize> {
        let first = self.first[p.value.index()] as usize + usize::from(p.lane);
        first..first + usize::from(p.words).max(1)
    }

    /// Which word of its result `inst` writes to `slot`; `None` for a predicate.
    pub(super) fn lane_of(&self, slot: usize, inst: &Inst) -> Option<u8> {
        let dst = inst.dst.filter(|d| d.words > 0)?;
        let range = self.slots(dst);
        range.contains(&slot).then(|| (slot - range.start) as u8)
    }
}
