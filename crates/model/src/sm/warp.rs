// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warp slot: what the SM knows about the warp that is in it.

use warpwatt_exec::stepping::WarpPlace;

use super::decode::{RegisterSet, Timing};
use super::stall::Stall;

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

/// Where the warp in a slot has its state and its memory.
#[derive(Clone, Copy, Default)]
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
    pub scheduler: u8,
    pub rank: u8,
    /// Next instruction; [`NO_PC`] while all lanes wait.
    pub next: u32,
    /// Its kernel's code, where that begins among the instructions of the run, and how many it has.
    pub code: u32,
    pub first: u32,
    pub end: u32,
    /// The latest instruction issued: what waits at a barrier is charged to it.
    pub last_pc: u32,
    /// Instructions decoded, from the next one on, and those on their way.
    pub buffered: u8,
    pub coming: u8,
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
    /// Registers of R0 to R63 that the next instruction waits for: while one of them is under way, the stall does not change. Valid while the
    /// warp waits for registers.
    pub missing: u64,
    /// Registers and predicates under way, and those of them that memory sends.
    pub busy: RegisterSet,
    pub busy_memory: RegisterSet,
    pub busy_preds: u8,
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
            scheduler: 0,
            rank: 0,
            next: NO_PC,
            code: 0,
            first: 0,
            end: 0,
            last_pc: 0,
            buffered: 0,
            coming: 0,
            path: 0,
            held_until: 0,
            held_for: Stall::Fetch,
            branches: false,
            gates: 0,
            granted: 0,
            missing: 0,
            busy: [0; 4],
            busy_memory: [0; 4],
            busy_preds: 0,
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

    /// What the next instruction waits for among registers and predicates, noting which registers these are.
    #[inline(always)]
    pub fn hazard(&mut self, timing: &Timing) -> Option<Stall> {
        if timing.high {
            if let Some(stall) = self.high_hazard(timing) {
                return Some(stall);
            }
        } else if self.busy[0] & timing.hazards[0] != 0 {
            let missing = self.busy_memory[0] & timing.hazards[0];
            let memory = missing != 0;
            self.missing = if memory { missing } else { self.busy[0] & timing.hazards[0] };
            return Some(if memory { Stall::Memory } else { Stall::Dependency });
        }
        if self.busy_preds & timing.pred_hazards != 0 {
            self.missing = 0;
            return Some(Stall::Dependency);
        }
        None
    }

    /// What an instruction waits for that has registers beyond R63.
    #[cold]
    #[inline(never)]
    fn high_hazard(&mut self, timing: &Timing) -> Option<Stall> {
        if overlap(&self.busy, &timing.hazards) == 0 {
            return None;
        }
        let memory = overlap(&self.busy_memory, &timing.hazards) != 0;
        let busy = if memory { self.busy_memory[0] } else { self.busy[0] };
        self.missing = busy & timing.hazards[0];
        Some(if memory { Stall::Memory } else { Stall::Dependency })
    }

    /// Whether it waits for registers, one of which is still under way.
    #[inline(always)]
    pub fn still_misses(&self) -> bool {
        self.missing & self.busy[0] != 0
    }

    /// Marks what an instruction writes as under way.
    #[inline(always)]
    pub fn reserve(&mut self, timing: &Timing, memory: bool) {
        self.busy[0] |= timing.writes[0];
        if memory {
            self.busy_memory[0] |= timing.writes[0];
        }
        self.busy_preds |= timing.pred_writes;
        if timing.high {
            self.reserve_high(timing, memory);
        }
    }

    #[cold]
    #[inline(never)]
    fn reserve_high(&mut self, timing: &Timing, memory: bool) {
        for word in 1..timing.writes.len() {
            self.busy[word] |= timing.writes[word];
            if memory {
                self.busy_memory[word] |= timing.writes[word];
            }
        }
    }

    /// What an instruction writes is there.
    #[inline(always)]
    pub fn release(&mut self, timing: &Timing) {
        self.busy[0] &= !timing.writes[0];
        self.busy_memory[0] &= !timing.writes[0];
        self.busy_preds &= !timing.pred_writes;
        if timing.high {
            self.release_high(timing);
        }
    }

    #[cold]
    #[inline(never)]
    fn release_high(&mut self, timing: &Timing) {
        for word in 1..timing.writes.len() {
            self.busy[word] &= !timing.writes[word];
            self.busy_memory[word] &= !timing.writes[word];
        }
    }
}

fn overlap(a: &RegisterSet, b: &RegisterSet) -> u64 {
    a.iter().zip(b).fold(0, |hit, (a, b)| hit | a & b)
}
