// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks of the register file: what a technique there is asked, for each warp instruction or each register of a warp, and what it answers.
//!
//! | when | hook | the technique may |
//! |---|---|---|
//! | a warp gets its slot, or leaves it | `start`, `end` | set aside and free what it keeps |
//! | before an instruction issues | `before` | have a move issued first; compare what is stored with the values |
//! | it has issued | `issued` | note the lanes that will be written |
//! | its operands are collected | `read` | say which arrays each access activates, and when its data are there |
//! | a result arrives | `write` | say which arrays it goes to and from when on; read the register first |
//!
//! Values are in the warp's registers whenever a hook is called: sources at `before`, results at `write`, since the scoreboard lets
//! nobody write or read a register while a result for it is under way. Banks are booked by the caller: one access a bank and cycle.

use warpwatt_base::calendar::Board;
use warpwatt_config::Config;
use warpwatt_exec::lanes::Row;
use warpwatt_exec::stepping::{NextLanes, Resident};

use super::warped_compression::WarpedCompression;
use super::{TechniqueCounters, Techniques};
use crate::sm::Timing;

/// The register file's technique.
pub enum RegisterFile {
    WarpedCompression(Box<WarpedCompression>),
}

/// What an instruction that is about to issue has to wait for.
pub enum Before {
    Go,
    /// This register is to be moved to itself first.
    Move(u8),
    /// What is stored is not what was given.
    Corrupted(Mismatch),
}

/// A value that came back wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mismatch {
    pub register: u8,
    pub lane: u8,
    pub given: u32,
    pub stored: u32,
}

/// The values of one warp.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub block: &'a Resident,
    pub warp: usize,
}

impl<'a> Values<'a> {
    #[inline(always)]
    pub fn of(self, register: u8) -> &'a Row {
        self.block.row(self.warp, register)
    }
}

/// A register that is to be written.
pub struct Written<'a> {
    pub now: u64,
    pub slot: usize,
    pub register: u8,
    /// It is the upper half of a 64-bit value.
    pub upper: bool,
    /// All lanes, those that the instruction left alone included.
    pub values: &'a Row,
}

/// How it is written.
pub struct WriteAccess {
    /// Arrays that it activates.
    pub arrays: u32,
    /// When the data are ready for the result bus, and when the arrays can take them.
    pub ready: u64,
    pub awake: u64,
}

/// A way to read a register ahead of its write.
pub struct ReadPort<'a> {
    pub(crate) ports: &'a mut Board,
    pub(crate) bank: u64,
    /// Accesses made, and arrays that they activated.
    pub(crate) reads: u64,
    pub(crate) arrays: u64,
}

impl ReadPort<'_> {
    /// Reads from `earliest` on; gives the cycle in which the data are there.
    pub fn read(&mut self, earliest: u64, arrays: u32) -> u64 {
        self.reads += 1;
        self.arrays += u64::from(arrays);
        self.ports.book(self.bank, earliest) + 1
    }
}

macro_rules! ask {
    ($technique:expr, $inner:ident => $answer:expr) => {
        match $technique {
            RegisterFile::WarpedCompression($inner) => $answer,
        }
    };
}

impl RegisterFile {
    /// That of an SM, if there is one.
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> Option<RegisterFile> {
        let parameters = techniques.warped_compression.as_ref()?;
        let inject = techniques.inject.is_some() && sm == 0;
        let technique = WarpedCompression::new(config, parameters, techniques.verify || inject, inject);
        Some(RegisterFile::WarpedCompression(Box::new(technique)))
    }

    /// A warp of some registers comes to a slot.
    pub fn start(&mut self, now: u64, slot: usize, registers: u32) {
        ask!(self, technique => technique.start(now, slot, registers));
    }

    /// It has left the slot.
    pub fn end(&mut self, now: u64, slot: usize) {
        ask!(self, technique => technique.end(now, slot));
    }

    #[inline(always)]
    pub fn before(&mut self, slot: usize, timing: &Timing, lanes: NextLanes, values: Values) -> Before {
        ask!(self, technique => technique.before(slot, timing, lanes, values))
    }

    #[inline(always)]
    pub fn issued(&mut self, slot: usize, timing: &Timing, lanes: NextLanes) {
        ask!(self, technique => technique.issued(slot, timing, lanes));
    }

    /// A move of a register is injected ahead of an instruction for these lanes.
    pub fn moving(&mut self, slot: usize, register: u8, lanes: NextLanes) {
        ask!(self, technique => technique.moving(slot, register, lanes));
    }

    /// Arrays that a read activates.
    #[inline(always)]
    pub fn arrays(&mut self, slot: usize, register: u8) -> u32 {
        ask!(self, technique => technique.arrays(slot, register))
    }

    /// When a register that the banks give in cycle `at` is there.
    #[inline(always)]
    pub fn read(&mut self, now: u64, at: u64, slot: usize, register: u8) -> u64 {
        ask!(self, technique => technique.read(now, at, slot, register))
    }

    #[inline(always)]
    pub fn write(&mut self, written: Written, port: &mut ReadPort) -> WriteAccess {
        ask!(self, technique => technique.write(written, port))
    }

    /// A value that came to a register by other means than the instruction that was to write it. It is stored as it is now.
    pub fn late(&mut self, now: u64, slot: usize, register: u8, values: &Row) {
        ask!(self, technique => technique.late(now, slot, register, values));
    }

    /// Brings counters up to date that grow with time, to before `now`.
    pub fn settle(&mut self, now: u64) {
        ask!(self, technique => technique.settle(now));
    }

    pub fn counters(&self) -> TechniqueCounters {
        match self {
            RegisterFile::WarpedCompression(technique) => {
                TechniqueCounters { warped_compression: Some(Box::new(technique.counters())) }
            }
        }
    }

    /// A fault was to be injected, and nobody has noticed one.
    pub fn fault_is_pending(&self) -> bool {
        ask!(self, technique => technique.fault_is_pending())
    }
}
