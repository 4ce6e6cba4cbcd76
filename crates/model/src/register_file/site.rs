// SPDX-License-Identifier: MIT OR Apache-2.0
//! The site of techniques in the register file.
//!
//! | when | method | a technique may |
//! |---|---|---|
//! | a warp gets its slot, or leaves it | `start`, `end` | set aside and free what it keeps |
//! | before an instruction issues | `before` | have a move issued first; compare what is stored with the values |
//! | it has issued | `issued` | note the lanes that will be written |
//! | its operands are to be read | `read` | read them all, if it is the only one |
//! | both at once | `issue` | the same in one call |
//! | they are not read yet | `plan` | regroup, rename or delay the accesses, and say how many arrays each activates |
//! | the accesses are booked | `arrive` | say when the data are there |
//! | a result is to be written | `write` | rename it, say how many arrays it activates and from when it can be written; read the register first |
//! | a value came by other means | `late` | store it |
//!
//! Values are in the warp's registers whenever a method is called: sources at `before`, results at `write`, since the scoreboard lets no
//! instruction write or read a register while a result for it is under way. Banks are booked by the caller: one access a bank and cycle.

use warpwatt_base::counters::CounterSet;
use warpwatt_exec::lanes::Row;
use warpwatt_exec::stepping::NextLanes;
use warpwatt_isa::Program;

use super::READS;
use super::columns::Columns;
use super::operands::OperandPort;
use super::plan::ReadPlan;
use super::results::ResultPort;
use crate::sm::Timing;

/// A warp that comes to a slot.
#[derive(Clone, Copy)]
pub struct Started<'a> {
    pub slot: usize,
    /// Registers of a thread.
    pub registers: u32,
    /// What it will run, with live ranges and hints.
    pub program: &'a Program,
    /// Warps of its kernel that the SM could hold on top of those that techniques let it take.
    pub kept_out: u32,
}

/// The next instruction of a warp.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub slot: usize,
    pub timing: &'a Timing,
    /// The lanes that it is for.
    pub lanes: NextLanes,
}

/// Which instructions a technique looks at before they issue: each of these includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Looks {
    #[default]
    Never,
    /// Those that not all 32 lanes execute.
    IfPartial,
    Always,
}

/// What an instruction that is about to issue has to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// The values of one warp: the registers that its program names.
#[derive(Clone, Copy)]
pub struct Values<'a>(pub &'a [Row]);

static ZERO: Row = Row([0; 32]);

impl<'a> Values<'a> {
    /// A register. Those that the program does not have read as zero.
    #[inline(always)]
    pub fn of(self, register: u8) -> &'a Row {
        self.0.get(usize::from(register)).unwrap_or(&ZERO)
    }
}

/// The result of an instruction, which comes to the register file.
#[derive(Clone, Copy)]
pub struct Coming<'a> {
    pub now: u64,
    pub slot: usize,
    pub timing: &'a Timing,
    pub values: Values<'a>,
}

impl<'a> Coming<'a> {
    /// One of its registers.
    #[inline(always)]
    pub fn register(&self, word: u8) -> Written<'a> {
        let register = self.timing.dst + word;
        let upper = self.timing.upper_words >> word & 1 != 0;
        Written { now: self.now, slot: self.slot, register, upper, values: self.values.of(register) }
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteAccess {
    pub bank: u8,
    /// SRAM arrays that it activates.
    pub arrays: u32,
    /// When the data are ready for the result bus, and when the arrays can take them.
    pub ready: u64,
    pub awake: u64,
}

/// A way to read a register ahead of its write.
pub struct ReadPort<'a> {
    columns: &'a mut Columns,
    now: u64,
    /// Accesses made, and arrays that they activated.
    pub(super) reads: u64,
    pub(super) arrays: u64,
}

impl<'a> ReadPort<'a> {
    #[inline(always)]
    pub(crate) fn of(columns: &'a mut Columns, now: u64) -> ReadPort<'a> {
        ReadPort { columns, now, reads: 0, arrays: 0 }
    }

    /// Reads from `earliest` on; gives the cycle in which the data are there.
    #[inline(always)]
    pub fn read(&mut self, bank: u8, earliest: u64, arrays: u32) -> u64 {
        self.reads += 1;
        self.arrays += u64::from(arrays);
        self.columns.book(READS, bank, self.now, earliest - self.now, 0) + 1
    }
}

/// What a technique does in the register file of one SM. All methods have defaults that do nothing.
pub trait RegisterFileSite: Send {
    /// A warp comes to a slot.
    fn start(&mut self, _now: u64, _warp: &Started) {}

    /// The warp of a slot has ended, and nothing of it is under way.
    fn end(&mut self, _now: u64, _slot: usize) {}

    /// When it has anything to do before an instruction issues. Told once.
    fn looks_before(&self) -> Looks {
        Looks::Always
    }

    /// An instruction is about to issue.
    fn before(&mut self, _next: &Next, _values: Values) -> Before {
        Before::Go
    }

    /// It has issued.
    fn issued(&mut self, _now: u64, _next: &Next) {}

    /// A move of a register, which this technique asked for, is issued ahead of an instruction for these lanes.
    fn moving(&mut self, _slot: usize, _register: u8, _lanes: NextLanes) {}

    /// Whether [`RegisterFileSite::read`] reads operands if no other technique acts here. Told once.
    fn reads_alone(&self) -> bool {
        false
    }

    /// The operands of an instruction are to be read, and no other technique acts here. Reads them all, and gives the cycle in which they are there. For those
    /// that say so, because a plan takes more of the host's time.
    fn read(&mut self, now: u64, _slot: usize, _timing: &Timing, _port: &mut OperandPort) -> u64 {
        now + 1
    }

    /// An instruction has issued, its operands are to be read, and no other technique acts here: [`RegisterFileSite::issued`] and
    /// [`RegisterFileSite::read`] in one call.
    fn issue(&mut self, now: u64, next: &Next, port: &mut OperandPort) -> u64 {
        self.issued(now, next);
        self.read(now, next.slot, next.timing, port)
    }

    /// The accesses that read an instruction's operands are planned, and can be changed.
    fn plan(&mut self, _now: u64, _slot: usize, _timing: &Timing, _plan: &mut ReadPlan) {}

    /// They are booked: `at` of each access is set. Gives the cycle in which all data are there, if that is later than one after the last.
    fn arrive(&mut self, _now: u64, _slot: usize, _plan: &ReadPlan) -> u64 {
        0
    }

    /// A result is about to be written.
    fn write(&mut self, _written: &Written, _access: &mut WriteAccess, _port: &mut ReadPort) {}

    /// A result of a register or more is about to be written, and no other technique acts here: all of its registers at once. Gives the cycle in which all
    /// of them are written.
    fn write_all(&mut self, result: &Coming, mut port: ResultPort) -> u64 {
        port.write_from(result, 0, |written, access, port| self.write(written, access, port))
    }

    /// A value came to a register by other means than the instruction that was to write it. It is stored as it is now.
    fn late(&mut self, _now: u64, _slot: usize, _register: u8, _values: &Row) {}

    /// Brings counters of time up to date, to before `now`.
    fn settle(&mut self, _now: u64) {}

    /// What it counted in this SM.
    fn counters(&self) -> Box<dyn CounterSet>;

    /// What it counted on behalf of other techniques, by their names.
    fn counters_of_others(&self) -> Vec<(&'static str, Box<dyn CounterSet>)> {
        Vec::new()
    }

    /// A stored bit was to be flipped, and nothing was read in which it could have been.
    fn fault_is_pending(&self) -> bool {
        false
    }
}
