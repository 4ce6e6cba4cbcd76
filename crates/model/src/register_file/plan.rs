// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction is to read, as a list of accesses: first planned, then edited by techniques, then booked.

use super::map::Map;
use crate::sm::{SOURCES, Timing};

/// No register.
pub const NONE: u8 = u8::MAX;

/// One access to a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadAccess {
    /// The register that it gives, and the second one if it gives two ([`NONE`] if not).
    pub register: u8,
    pub second: u8,
    pub bank: u8,
    /// SRAM arrays that it activates.
    pub arrays: u8,
    /// No instruction on any path reads the register after this one; the same for the second.
    pub last: [bool; 2],
    /// Cycles after the first possible one before which it is not made.
    pub delay: u16,
    /// Cycle in which its bank is booked, once it is. Its data are in the collector in the next one.
    pub at: u64,
}

const EMPTY: ReadAccess =
    ReadAccess { register: NONE, second: NONE, bank: 0, arrays: 0, last: [false; 2], delay: 0, at: 0 };

/// The accesses of an instruction, in the order in which they are booked.
pub struct ReadPlan {
    accesses: [ReadAccess; SOURCES],
    count: usize,
}

impl Default for ReadPlan {
    fn default() -> ReadPlan {
        ReadPlan { accesses: [EMPTY; SOURCES], count: 0 }
    }
}

impl ReadPlan {
    /// One access for each register that the instruction reads.
    #[inline(always)]
    pub fn make(&mut self, map: &Map, slot: usize, timing: &Timing, arrays: u8) {
        self.count = usize::from(timing.sources).min(SOURCES);
        for (place, access) in self.accesses[..self.count].iter_mut().enumerate() {
            let register = timing.source[place];
            let last = [timing.last_reads >> place & 1 != 0, false];
            *access = ReadAccess { register, bank: map.bank(slot, register), arrays, last, ..EMPTY };
        }
    }

    #[inline(always)]
    pub fn accesses(&self) -> &[ReadAccess] {
        &self.accesses[..self.count]
    }

    #[inline(always)]
    pub fn accesses_mut(&mut self) -> &mut [ReadAccess] {
        &mut self.accesses[..self.count]
    }

    /// Takes an access out; those behind it move up.
    pub fn remove(&mut self, place: usize) -> ReadAccess {
        let access = self.accesses[place];
        self.accesses.copy_within(place + 1..self.count, place);
        self.count -= 1;
        access
    }

    /// Lets the access at `place` give the register of another one too, which is taken out.
    pub fn merge(&mut self, place: usize, other: usize) {
        let gone = self.accesses[other];
        let access = &mut self.accesses[place];
        (access.second, access.last[1]) = (gone.register, gone.last[0]);
        self.remove(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_accesses_give_both_registers_and_the_rest_moves_up() {
        let mut plan = ReadPlan { count: 3, ..ReadPlan::default() };
        for (register, access) in plan.accesses_mut().iter_mut().enumerate() {
            *access = ReadAccess { register: register as u8, last: [register == 1, false], ..EMPTY };
        }
        plan.merge(0, 1);
        let registers: Vec<_> =
            plan.accesses().iter().map(|access| (access.register, access.second)).collect();
        assert_eq!(registers, [(0, 1), (2, NONE)]);
        assert_eq!(plan.accesses()[0].last, [false, true]);
    }
}
