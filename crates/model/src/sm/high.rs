// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers under way that have no bit in the word of a warp slot: those from [`LOW_REGISTERS`] on. Few instructions have such operands.

use super::decode::{LOW_REGISTERS, Timing};

/// All registers of a warp as a set.
type RegisterSet = [u64; 4];

/// The high registers of a warp that are under way, and those of them that memory sends.
#[derive(Clone, Default)]
pub struct HighRegisters {
    busy: RegisterSet,
    busy_memory: RegisterSet,
}

fn has(set: &RegisterSet, register: u8) -> bool {
    set[usize::from(register / 64)] >> (register % 64) & 1 != 0
}

/// The registers of a list that have no bit in a word.
fn high(registers: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    registers.filter(|&register| register >= LOW_REGISTERS)
}

impl HighRegisters {
    /// Whether an operand is under way, and whether memory sends one.
    #[cold]
    #[inline(never)]
    pub fn hazards(&self, timing: &Timing) -> (bool, bool) {
        let operands = || high(timing.read().iter().copied().chain(timing.written()));
        let any = |set| operands().any(|register| has(set, register));
        (any(&self.busy), any(&self.busy_memory))
    }

    /// What an instruction writes is under way.
    #[cold]
    #[inline(never)]
    pub fn reserve(&mut self, timing: &Timing, memory: bool) {
        for register in high(timing.written()) {
            let (word, bit) = (usize::from(register / 64), 1 << (register % 64));
            self.busy[word] |= bit;
            if memory {
                self.busy_memory[word] |= bit;
            }
        }
    }

    /// What an instruction writes is there.
    #[cold]
    #[inline(never)]
    pub fn release(&mut self, timing: &Timing) {
        for register in high(timing.written()) {
            let (word, bit) = (usize::from(register / 64), 1 << (register % 64));
            self.busy[word] &= !bit;
            self.busy_memory[word] &= !bit;
        }
    }
}
