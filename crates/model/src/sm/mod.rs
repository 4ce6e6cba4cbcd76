// SPDX-License-Identifier: MIT OR Apache-2.0
//! A streaming multiprocessor: fetch, schedulers, register file, execution units, and the memory side in `mem`.
//!
//! ```text
//!     fetch ─► buffers ─► scoreboard ─► schedulers ─► collectors ─► units ─► write-back
//!                                           │              └─────► memory unit ─► L1, shared, constant, texture ─► network
//!                                           └ exec: values and addresses, at issue
//! ```
//!
//! An instruction books its way through collectors and units when it issues, so that the only things that happen later are events:
//! instructions arriving in buffers, results written, lines coming back. Between events nothing changes, and cycles are skipped;
//! the issue slots in between are charged in one go.

mod access;
mod between;
mod block;
mod charge;
mod control;
mod counters;
mod cycle;
mod decode;
mod evaluate;
mod event;
mod fetch;
mod high;
mod hooks;
mod issue;
mod meanwhile;
pub mod mem;
mod schedule;
mod slot;
mod stall;
mod units;
mod warp;
mod work;

use std::cell::OnceCell;
use std::sync::Arc;

use warpwatt_base::clock::Clock;
use warpwatt_base::wheel::Wheel;
use warpwatt_config::Config;

use crate::register_file::{Looks, Map, RegisterFile};
use crate::techniques::{TechniqueCounters, Techniques};

pub use counters::{IssueCounters, SmCounters, SmTime};
pub use cycle::SmContext;
pub use decode::{CollectorPool, Decoded, Effect, SOURCES, SourceWords, Timing, Unit};
pub use slot::Slot;
pub use stall::{Stall, Stalls};
pub use work::{Deferred, Finished, Kernel, KernelState, Kernels, Spare, Start, Stopped, Work};

use block::BlockSlot;
use charge::Tally;
pub(crate) use decode::{decode_move, source_words};
use event::{Event, MemoryOp};
use fetch::Fetch;
use high::HighRegisters;
use mem::{Done, MemoryUnit};
use schedule::Schedulers;
use slot::{PerSlot, Slots};
use units::Units;
use warp::{Instructions, WarpHome, WarpSlot};
use work::Turn;

/// Moves of each register to itself, as instructions: the same for all SMs.
pub type Moves = Arc<[Timing]>;

/// What the configuration says about an SM beyond its parts. It does not change.
struct Spec {
    id: u32,
    /// Warp slots that the configuration has; those above stay free.
    warp_slots: usize,
    branch_cycles: u64,
    barrier_cycles: u64,
    clock: Clock,
    /// By register: the move that a technique may inject. Empty where none does.
    moves: Moves,
    /// The host has the instructions that the loop is compiled for a second time.
    bit_instructions: bool,
}

impl Spec {
    fn new(config: &Config, id: u32, moves: Moves) -> Spec {
        Spec {
            id,
            warp_slots: config.sm.warps as usize,
            branch_cycles: u64::from(config.sm.branch_cycles),
            barrier_cycles: u64::from(config.sm.barrier_cycles),
            // Nanoseconds of the device's clock.
            clock: Clock::new(1000, config.clock.core_mhz),
            moves,
            bit_instructions: crate::host::has_bit_instructions(),
        }
    }
}

/// Sets of warp slots that wait for something outside of the pipeline.
#[derive(Default)]
struct Waits {
    /// They drain or wait at a fence: an acknowledged store may end that.
    stores: u64,
    /// They wait for the merge at the end of the epoch.
    merge: u64,
}

/// An SM: its specification, its parts, and its state. What an epoch lends it is in [`SmContext`] and `Turn`.
pub struct Sm {
    spec: Spec,
    warps: PerSlot<WarpSlot>,
    homes: PerSlot<WarpHome>,
    high: PerSlot<HighRegisters>,
    /// Slots without a warp.
    free_slots: u64,
    schedulers: Schedulers,
    blocks: Vec<BlockSlot>,
    fetch: Fetch,
    rf: RegisterFile,
    units: Units,
    mem: MemoryUnit,
    events: Wheel<Event>,
    /// What the memory unit has announced and the SM has not handled.
    done: Vec<Done>,
    /// The next cycle in which the memory unit has something to do, and that in which anything else happens but events and arrivals, unless [`Fetch::alarm`] tells
    /// that these are not known. It is the first of both.
    memory: u64,
    others: u64,
    /// The cycle to be run in which the memory unit has been stepped already, if there is one.
    stepped: u64,
    waits: Waits,
    /// Where the instructions of the run were when warps noted theirs.
    instructions: Instructions,
    /// Warps that have not drained.
    resident_warps: u32,
    tally: Tally,
    /// Next cycle in which something happens.
    next: u64,
}

impl Sm {
    /// `moves` are made by the first SM whose techniques may ask for one.
    pub fn new(config: &Config, techniques: &Techniques, id: u32, moves: &OnceCell<Moves>) -> Sm {
        let rf = RegisterFile::new(config, techniques, id);
        let decode = || {
            let map = Map::new(config);
            (0..255).map(|register| decode_move(register, config, &map)).collect()
        };
        let moves = match rf.looks_before() {
            Looks::Never => Moves::default(),
            _ => moves.get_or_init(decode).clone(),
        };
        Sm {
            spec: Spec::new(config, id, moves),
            warps: PerSlot::new(WarpSlot::default),
            homes: PerSlot::new(WarpHome::default),
            high: PerSlot::new(HighRegisters::default),
            free_slots: u64::MAX >> (u64::BITS - config.sm.warps),
            schedulers: Schedulers::new(&config.sm),
            blocks: (0..config.sm.ctas).map(|_| BlockSlot::default()).collect(),
            fetch: Fetch::new(config, techniques, id),
            rf,
            units: Units::new(config),
            mem: MemoryUnit::new(config, techniques, id),
            events: Wheel::new(Event::Wake { slot: Slot::default() }),
            done: Vec::new(),
            memory: 0,
            others: 0,
            stepped: u64::MAX,
            waits: Waits::default(),
            instructions: Instructions::default(),
            resident_warps: 0,
            tally: Tally::default(),
            next: u64::MAX,
        }
    }

    /// The counters so far. [`Sm::settle`] brings them up to date first.
    pub fn counters(&self) -> SmCounters {
        SmCounters {
            issue: self.tally.issue_counters(),
            stalls: self.tally.stalls,
            fetch: self.fetch.counters(),
            registers: self.rf.counters(),
            units: self.units.counters(),
            memory: self.mem.counters(),
            techniques: self.technique_counters(),
        }
    }

    /// What grows while time passes without a block.
    pub fn counted_time(&self) -> SmTime {
        let issue = &self.tally.issue;
        SmTime { cycles: issue.cycles, slots: issue.slots, stalls: self.tally.stalls }
    }

    /// What techniques counted in this SM.
    fn technique_counters(&self) -> TechniqueCounters {
        let mut counters = TechniqueCounters::default();
        self.rf.count_techniques(&mut counters);
        self.mem.count_techniques(&mut counters);
        self.fetch.data.count_techniques(&mut counters);
        counters
    }

    /// A kernel starts: lines of the former one are stale.
    pub fn new_kernel(&mut self, now: u64, large_l1: bool) {
        self.mem.new_kernel(now, large_l1);
        self.next = self.next.min(now);
    }

    /// A fault was to be injected, and none was detected.
    pub fn fault_is_pending(&self) -> bool {
        self.rf.fault_is_pending() || self.mem.fault_is_pending() || self.fetch.data.fault_is_pending()
    }

    /// What is wrong with what a cache or shared memory gave back, if anything was.
    pub fn array_corrupted(&self) -> Option<String> {
        self.mem.corrupted().or_else(|| self.fetch.data.corrupted())
    }

    /// No warp is resident and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.resident_warps == 0
            && self.mem.is_idle()
            && self.events.is_empty()
            && self.fetch.outstanding() == 0
    }
}
