// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warp slot: what the SM knows about the warp that is in it.

use warpwatt_exec::stepping::WarpPlace;

use super::decode::{CollectorPool, LOW_REGISTERS, Timing};
use super::high::HighRegisters;
use super::schedule::Place;
use super::stall::{Stall, Stalls};

/// Whether a warp can issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
#[repr(u8)]
pub enum Condition {
    /// No warp is in the slot.
    Free,
    /// All its lanes ended; instructions or stores are still under way.
    Drains,
    /// For what [`WarpSlot::stall`] says.
    Waits,
    /// As above, for registers or predicates.
    Misses,
    Ready,
}

/// Why the next instruction may not issue, whatever it is: bits of [`WarpSlot::gates`], in the order in which they are looked at.
pub mod gate {
    /// A fence waits for the warp's stores.
    pub const FENCE: u8 = 1;
    /// It waits for the merge at the end of the epoch.
    pub const MERGE: u8 = 2;
    /// A constant operand is being fetched.
    pub const CONSTANT: u8 = 4;
}

/// Where the warp in a slot has its state and its memory. As large as a [`WarpSlot`], so that both are found by one distance.
#[derive(Clone, Copy, Default)]
#[repr(align(128))]
pub struct WarpHome {
    /// Valid while a warp is in the slot.
    pub state: WarpPlace,
    /// Where its local memory lies.
    pub local_base: u64,
    /// The first row of shared memory that its block has.
    pub shared_row: u32,
}

/// No next instruction.
const NO_PC: u32 = u32::MAX;

/// The instructions of a program as far as timing is concerned, with the end behind them, in the table of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instructions(*const Timing);

// SAFETY: it is only followed by an SM at work, which has been lent the table.
unsafe impl Send for Instructions {}
// SAFETY: as above; nobody writes to the table.
unsafe impl Sync for Instructions {}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions(std::ptr::null())
    }
}

impl Instructions {
    /// Those from a place in the table on.
    pub fn new(table: &[Timing], first: u32) -> Instructions {
        Instructions(table[first as usize..].as_ptr())
    }

    /// One of them.
    ///
    /// # Safety
    /// The table must still be there for `'t`, and the program must have this instruction, or end before it.
    #[inline(always)]
    pub unsafe fn get<'t>(self, pc: u32) -> &'t Timing {
        // SAFETY: as the caller promises.
        unsafe { &*self.0.add(pc as usize) }
    }
}

/// Issue slots that a kernel's instructions are charged with, by instruction: the table of the SM's part of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChargedSlots(*mut Stalls);

// SAFETY: the table belongs to the SM's part of the run, and goes from thread to thread with it.
unsafe impl Send for ChargedSlots {}
// SAFETY: nothing can be done with a shared one but by who has the part of the run, too.
unsafe impl Sync for ChargedSlots {}

impl Default for ChargedSlots {
    fn default() -> ChargedSlots {
        ChargedSlots(std::ptr::null_mut())
    }
}

impl ChargedSlots {
    pub fn new(table: &mut [Stalls]) -> ChargedSlots {
        ChargedSlots(table.as_mut_ptr())
    }

    /// Charges an instruction with slots.
    ///
    /// # Safety
    /// The table must still be there, not borrowed, and have this instruction.
    #[inline(always)]
    pub unsafe fn add(self, pc: u32, stall: Stall, slots: u64) {
        // SAFETY: as the caller promises.
        let row = unsafe { &mut *self.0.add(pc as usize) };
        row[stall as usize] += slots;
    }
}

/// Two lines of the host's cache: what is needed for every instruction.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct WarpSlot {
    pub condition: Condition,
    /// What it waits for, or waited for last.
    pub stall: Stall,
    /// Index of its kernel in the run, of its block in the SM and among the kernel's residents, and its own in the block.
    pub kernel: u32,
    pub block: u8,
    pub index: u8,
    pub resident: u16,
    /// Its scheduler, and its rank there.
    pub place: Place,
    /// The collectors that its next instruction wants, since it was ready last.
    pub pool: CollectorPool,
    /// Next instruction; [`NO_PC`] while all lanes wait.
    pub next: u32,
    /// Its kernel's code, where that begins among the instructions of the run, and how many it has.
    pub code: u32,
    pub first: u32,
    pub end: u32,
    /// Its kernel's instructions as far as timing is concerned.
    pub program: Instructions,
    /// What its kernel's instructions are charged with.
    pub charged: ChargedSlots,
    /// The latest instruction issued: what waits at a barrier is charged to it.
    pub last_pc: u32,
    /// Instructions decoded, from the next one on, and with those that are on their way.
    pub buffered: u8,
    pub fetched: u8,
    /// Instructions that come to the buffer in a cycle while it has some: they are taken from here once it has none. 0 if there are none such.
    pub coming: u8,
    pub coming_at: u64,
    /// Goes up at every jump, so that what was fetched before is not taken.
    pub path: u32,
    /// Nothing happens before this cycle, for this reason.
    pub held_until: u64,
    pub held_for: Stall,
    /// A branch is being decided on: nothing is fetched.
    pub branches: bool,
    /// What is closed of [`gate`].
    pub gates: u8,
    /// Constant operands of the next instruction that it has been given, a bit each: it waits for the array to serve the last of them.
    pub granted: u8,
    /// Low registers and predicates that the next instruction waits for: while one of them is under way, the stall does not change. Valid while
    /// the warp waits for registers.
    pub missing: u64,
    /// Low registers and predicates under way, and those registers of them that memory sends.
    pub busy: u64,
    pub busy_memory: u64,
    /// Instructions that have not retired.
    pub in_flight: u16,
}

const _: () = assert!(size_of::<WarpSlot>() == 128);

impl Default for WarpSlot {
    fn default() -> Self {
        WarpSlot {
            condition: Condition::Free,
            stall: Stall::Fetch,
            kernel: 0,
            block: 0,
            index: 0,
            resident: 0,
            place: Place::default(),
            pool: CollectorPool::Sp,
            next: NO_PC,
            code: 0,
            first: 0,
            end: 0,
            program: Instructions::default(),
            charged: ChargedSlots::default(),
            last_pc: 0,
            buffered: 0,
            fetched: 0,
            coming: 0,
            coming_at: 0,
            path: 0,
            held_until: 0,
            held_for: Stall::Fetch,
            branches: false,
            gates: 0,
            granted: 0,
            missing: 0,
            busy: 0,
            busy_memory: 0,
            in_flight: 0,
        }
    }
}

impl WarpSlot {
    /// The next instruction; none while all lanes wait.
    #[inline(always)]
    pub fn pc(&self) -> Option<u32> {
        (self.next != NO_PC).then_some(self.next)
    }

    #[inline(always)]
    pub fn set_pc(&mut self, pc: Option<u32>) {
        self.next = pc.unwrap_or(NO_PC);
    }

    /// The next instruction of a warp that is ready.
    #[inline(always)]
    pub fn ready_pc(&self) -> u32 {
        debug_assert_ne!(self.next, NO_PC, "a ready warp has a next instruction");
        self.next
    }

    /// An instruction leaves the buffer.
    #[inline(always)]
    pub fn consume(&mut self) {
        self.buffered -= 1;
        self.fetched -= 1;
    }

    /// Whether it has lanes that have not ended.
    #[inline(always)]
    pub fn is_live(&self) -> bool {
        self.condition >= Condition::Waits
    }

    /// Whether it waits for this.
    #[inline(always)]
    pub fn waits_for(&self, stall: Stall) -> bool {
        matches!(self.condition, Condition::Waits | Condition::Misses) && self.stall == stall
    }

    /// Whether it waits for instructions, and nothing that comes before that in [`WarpSlot::blocked_by`] keeps it any more.
    #[inline(always)]
    pub fn still_fetches(&self) -> bool {
        self.waits_for(Stall::Fetch)
            && self.buffered == 0
            && self.next != NO_PC
            && self.gates & (gate::FENCE | gate::MERGE) == 0
    }

    /// Whether instructions are wanted for it at all.
    #[inline(always)]
    pub fn fetches(&self) -> bool {
        self.next != NO_PC && !self.branches && self.is_live()
    }

    /// The next instruction, or what the warp waits for before it is looked at.
    #[inline(always)]
    pub fn next_pc(&self, now: u64) -> Result<u32, Stall> {
        if self.next != NO_PC && self.held_until <= now && self.gates == 0 && self.buffered != 0 {
            return Ok(self.next);
        }
        Err(self.blocked_by(now))
    }

    #[cold]
    #[inline(never)]
    fn blocked_by(&self, now: u64) -> Stall {
        if self.next == NO_PC {
            Stall::Barrier
        } else if self.held_until > now {
            self.held_for
        } else if self.gates & gate::FENCE != 0 {
            Stall::Fence
        } else if self.gates & gate::MERGE != 0 {
            Stall::Merge
        } else if self.buffered == 0 {
            Stall::Fetch
        } else {
            Stall::Constant
        }
    }

    /// What the next instruction waits for among registers and predicates, noting which of the low ones these are.
    #[inline(always)]
    pub fn hazard(&mut self, high: &HighRegisters, timing: &Timing) -> Option<Stall> {
        if timing.high {
            return self.high_hazard(high, timing);
        }
        let missing = self.busy & timing.hazards;
        if missing == 0 {
            return None;
        }
        let of_memory = self.busy_memory & timing.hazards;
        self.missing = if of_memory != 0 { of_memory } else { missing };
        Some(if of_memory != 0 { Stall::Memory } else { Stall::Dependency })
    }

    /// What an instruction waits for that has high registers, too.
    #[cold]
    #[inline(never)]
    fn high_hazard(&mut self, high: &HighRegisters, timing: &Timing) -> Option<Stall> {
        let (misses, memory) = high.hazards(timing);
        let (missing, of_memory) = (self.busy & timing.hazards, self.busy_memory & timing.hazards);
        if !misses && missing == 0 {
            return None;
        }
        let memory = memory || of_memory != 0;
        self.missing = if memory { of_memory } else { missing };
        Some(if memory { Stall::Memory } else { Stall::Dependency })
    }

    /// Whether it waits for registers, one of which is still under way.
    #[inline(always)]
    pub fn still_misses(&self) -> bool {
        self.missing & self.busy != 0
    }

    /// Marks what an instruction writes as under way.
    #[inline(always)]
    pub fn reserve(&mut self, high: &mut HighRegisters, timing: &Timing, memory: bool) {
        self.busy |= timing.writes;
        if memory {
            self.busy_memory |= timing.writes & ((1 << LOW_REGISTERS) - 1);
        }
        if timing.high {
            high.reserve(timing, memory);
        }
    }

    /// What an instruction writes is there.
    #[inline(always)]
    pub fn release(&mut self, high: &mut HighRegisters, timing: &Timing) {
        self.busy &= !timing.writes;
        self.busy_memory &= !timing.writes;
        if timing.high {
            high.release(timing);
        }
    }
}
