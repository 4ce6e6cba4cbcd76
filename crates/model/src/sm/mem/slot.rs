// SPDX-License-Identifier: MIT OR Apache-2.0
//! A slot of the load/store unit: it works on an instruction until the last transaction is made, and why it may have to wait.

use super::job::{Entry, Part, Unit};

/// Why a transaction could not be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An older instruction works with the same cache.
    Unit,
    /// Too many wait for the line.
    Merges,
    /// No miss status register is free.
    Mshrs,
    /// All places of the set are being fetched.
    Ways,
    /// The miss queue is full.
    Queue,
    /// The constant cache has no register or no place.
    Constant,
    /// The fragment queue is full.
    Fragments,
    /// Too many lines of the texture cache are being fetched.
    TextureMshrs,
}

impl Cause {
    pub fn text(self) -> &'static str {
        match self {
            Cause::Unit => "an older instruction works with the same cache",
            Cause::Merges => "too many wait for its line",
            Cause::Mshrs => "all miss status registers are in use",
            Cause::Ways => "all ways of its set are being fetched",
            Cause::Queue => "the miss queue is full",
            Cause::Constant => "the constant cache can fetch no more lines",
            Cause::Fragments => "the fragment queue is full",
            Cause::TextureMshrs => "the texture cache can fetch no more lines",
        }
    }
}

/// No instruction.
pub const NONE: u32 = u32::MAX;

/// Works on an instruction.
#[derive(Clone, Copy)]
pub struct Slot {
    pub entry: u32,
    /// What the latest transaction was made with, or is tried with.
    pub unit: Unit,
    /// The number of the part that is worked on, and the next line.
    pub part: u32,
    pub line: u32,
    /// Occupied until before this cycle by the latest transaction.
    pub until: u64,
    pub blocked: Option<Cause>,
}

impl Slot {
    #[inline(always)]
    pub fn new(entry: u32, now: u64) -> Slot {
        Slot { entry, unit: Unit::L1d, part: 0, line: 0, until: now, blocked: None }
    }

    /// The part of its instruction that is worked on.
    #[inline(always)]
    pub fn current<'e>(&self, entry: &'e Entry) -> &'e Part {
        if self.part == 0 { &entry.first } else { self.later(entry) }
    }

    #[cold]
    #[inline(never)]
    fn later<'e>(&self, entry: &'e Entry) -> &'e Part {
        &entry.others[self.part as usize - 1]
    }

    /// Goes on with the next part of its instruction. False if there is none.
    #[inline(always)]
    pub fn next_part(&mut self, entry: &Entry) -> bool {
        let has_more = (self.part as usize) < entry.others.len();
        self.part += u32::from(has_more);
        has_more
    }

    /// Takes what its next transaction is made with, unless an older instruction has taken it.
    #[inline(always)]
    pub fn takes(&mut self, unit: Unit, taken: &mut u32) -> bool {
        self.unit = unit;
        if *taken & self.bit() != 0 {
            self.blocked = Some(Cause::Unit);
            return false;
        }
        *taken |= self.bit();
        true
    }

    /// A bit for what it works with.
    #[inline(always)]
    pub fn bit(&self) -> u32 {
        1 << self.unit as u32
    }
}
