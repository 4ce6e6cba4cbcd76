// SPDX-License-Identifier: MIT OR Apache-2.0
//! How strictly loads of kernels are checked against the requested bytes. Stores and atomics are always checked exactly.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Allocation, LARGE, PAGE};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bounds {
    /// To the byte.
    Exact,
    /// Loads may touch the rest of the last page of an allocation of [`LARGE`] bytes or more: the driver maps whole pages, and
    /// programs read there, by vector loads or sizes that they round up.
    #[default]
    Page,
    /// As `Page`; loads beyond that, but for those through null pointers, give what lies there, or zeros, and are noted.
    Warn,
}

impl Bounds {
    /// Where loads from an allocation have to end.
    pub(crate) fn readable_end(self, of: &Allocation) -> u64 {
        match self {
            Bounds::Page | Bounds::Warn if of.size >= LARGE => of.end().next_multiple_of(PAGE),
            _ => of.end(),
        }
    }
}

/// Loads of one instruction of a launch that no allocation allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stray {
    /// Number of the launch, and of the instruction in its program.
    pub grid: u64,
    pub pc: u32,
    /// One of the threads, the first by block and thread, and where it read.
    pub cta: [u32; 3],
    pub thread: [u32; 3],
    pub address: u64,
    pub bytes: u32,
    /// Of threads.
    pub count: u64,
}

/// Loads beyond the bounds that [`Bounds::Warn`] permitted. SMs that run in parallel record theirs here.
#[derive(Default)]
pub(crate) struct Strays(Mutex<BTreeMap<(u64, u32), Stray>>);

impl Strays {
    pub(crate) fn note(&self, stray: Stray) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry((stray.grid, stray.pc)).or_insert(Stray { count: 0, ..stray });
        let count = known.count + stray.count;
        if order(&stray) < order(known) {
            *known = stray;
        }
        known.count = count;
    }

    pub(crate) fn take(&mut self) -> Vec<Stray> {
        let all = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(all).into_values().collect()
    }
}

/// Orders stray accesses by block, thread and address, so that the example shown does not depend on host threads.
fn order(stray: &Stray) -> ([u32; 3], [u32; 3], u64) {
    let reversed = |[x, y, z]: [u32; 3]| [z, y, x];
    (reversed(stray.cta), reversed(stray.thread), stray.address)
}
