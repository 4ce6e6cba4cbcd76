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

mod between;
mod block;
mod charge;
mod counters;
mod decode;
mod event;
mod fetch;
mod hooks;
mod issue;
pub mod mem;
mod schedule;
mod stall;
mod units;
mod warp;
mod work;

use warpwatt_base::clock::Clock;
use warpwatt_base::wheel::Wheel;
use warpwatt_config::Config;
use warpwatt_memory::DeviceMemory;

use crate::net::{Client, Inbox, Outbox, Packet};
use crate::register_file::{Map, RegisterFile};
use crate::techniques::{TechniqueCounters, Techniques};

pub use counters::{IssueCounters, SmCounters};
pub use decode::{CollectorPool, Decoded, Effect, SOURCES, SourceWords, Timing, Unit};
pub use stall::{Stall, Stalls};
pub use work::{Deferred, Finished, Kernel, KernelState, Start, Stopped, Work};

use block::BlockSlot;
pub(crate) use decode::{decode_move, source_words};
use event::{Event, MemoryOp};
use fetch::Fetch;
use mem::{Done, MemoryUnit};
use schedule::Scheduler;
use units::Units;
use warp::{WarpSlot, gate};

/// Warp slots at most: sets of them are words of 64 bits.
const WARPS: usize = 64;

/// Latencies of the pipeline that are needed at every turn.
struct Spec {
    branch_cycles: u64,
    barrier_cycles: u64,
    clock: Clock,
}

pub struct Sm {
    id: u32,
    spec: Spec,
    /// As many slots as can be addressed; those that the configuration has not stay free and unused.
    warps: Box<[WarpSlot; WARPS]>,
    warp_slots: usize,
    schedulers: Vec<Scheduler>,
    blocks: Vec<BlockSlot>,
    fetch: Fetch,
    /// With the techniques that act in it, and the moves that they may inject.
    rf: RegisterFile,
    moves: Vec<Timing>,
    units: Units,
    mem: MemoryUnit,
    wheel: Wheel<Event>,
    /// Memory instructions under way, and the free entries.
    memory_ops: Vec<MemoryOp>,
    free_ops: Vec<u32>,
    done: Vec<Done>,
    issue: IssueCounters,
    /// Instructions by the number of lanes that executed them.
    lanes: [u64; 33],
    /// Lanes that were at a branch whose guard did not hold for them: they took part all the same.
    passing_lanes: u64,
    stalls: Stalls,
    /// Warps that have not drained.
    resident_warps: u32,
    /// Warp slots that drain or wait at a fence, which an acknowledged store may help.
    waits_for_stores: u64,
    /// Warp slots that wait for the merge at the end of the epoch.
    merging: u64,
    /// Issue slots before this cycle are accounted for, and cycles before this one are counted.
    accounted: u64,
    counted: u64,
    /// Next cycle in which something happens.
    next: u64,
    /// Whether the host has instructions for bits.
    bit_instructions: bool,
}

/// What an SM works with in an epoch.
pub struct SmContext<'e, 'a> {
    pub kernels: &'e [Kernel<'a>],
    pub memory: &'e DeviceMemory,
    pub inbox: &'e mut Inbox,
    pub outbox: &'e mut Outbox,
}

impl Sm {
    pub fn new(config: &Config, techniques: &Techniques, id: u32) -> Sm {
        let sm = &config.sm;
        let rf = RegisterFile::new(config, techniques, id);
        Sm {
            id,
            spec: Spec {
                branch_cycles: u64::from(sm.branch_cycles),
                barrier_cycles: u64::from(sm.barrier_cycles),
                // Nanoseconds of the device's clock.
                clock: Clock::new(1000, config.clock.core_mhz),
            },
            warps: Box::new(std::array::from_fn(|_| WarpSlot::default())),
            warp_slots: sm.warps as usize,
            schedulers: (0..sm.schedulers).map(|_| Scheduler::new(sm.scheduler, sm.active_warps)).collect(),
            blocks: (0..sm.ctas).map(|_| BlockSlot::default()).collect(),
            fetch: Fetch::new(config, techniques, id),
            moves: if rf.has_sites() {
                let map = Map::new(config);
                (0..=254).map(|register| decode_move(register, config, &map)).collect()
            } else {
                Vec::new()
            },
            rf,
            units: Units::new(config),
            mem: MemoryUnit::new(config, techniques, id),
            wheel: Wheel::default(),
            memory_ops: Vec::new(),
            free_ops: Vec::new(),
            done: Vec::new(),
            issue: IssueCounters::default(),
            lanes: [0; 33],
            passing_lanes: 0,
            stalls: Stalls::default(),
            resident_warps: 0,
            waits_for_stores: 0,
            merging: 0,
            accounted: 0,
            counted: 0,
            next: u64::MAX,
            bit_instructions: has_bit_instructions(),
        }
    }

    /// Runs from cycle `from` to before `to`. With `step`, every cycle is gone through.
    pub fn run(&mut self, work: &mut Work, context: &mut SmContext, from: u64, to: u64, step: bool) {
        if work.stopped.is_some() {
            return;
        }
        let start = if step { from } else { self.wake(work, context.inbox, context.outbox, from) };
        if start >= to {
            self.next = start;
            return;
        }
        match self.bit_instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the host was asked whether it has them.
            true => unsafe { self.run_with_bit_instructions(work, context, start, to, step) },
            _ => self.run_from(work, context, start, to, step),
        }
    }

    /// `run_from` compiled with the host's bit and vector instructions: sets of warps and calendars are words.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn run_with_bit_instructions(
        &mut self,
        work: &mut Work,
        context: &mut SmContext,
        now: u64,
        to: u64,
        step: bool,
    ) {
        self.run_from(work, context, now, to, step);
    }

    #[inline(always)]
    fn run_from(&mut self, work: &mut Work, context: &mut SmContext, mut now: u64, to: u64, step: bool) {
        while now < to {
            let issued = self.cycle(work, context, now);
            if work.stopped.is_some() {
                return;
            }
            // A warp that is ready now mostly still is in the next cycle, or another one.
            let goes_on = step || issued && self.schedulers.iter().any(Scheduler::has_ready);
            now = if goes_on { now + 1 } else { self.next_event(work, context, now) };
        }
        self.next = now;
    }

    /// The first cycle from `from` on in which something happens, given what has come in since the last epoch.
    pub fn wake(&self, work: &Work, inbox: &Inbox, outbox: &Outbox, from: u64) -> u64 {
        let start = work.starts.front().map_or(u64::MAX, |start| start.cycle);
        let mut next = self.next.min(inbox.next()).min(start).min(self.mem.second.next());
        if next > from {
            next = next.min(self.mem.next(from, outbox)).min(self.fetch.next(from, outbox));
        }
        next.max(from)
    }

    /// One cycle. Tells whether an instruction issued.
    #[inline(always)]
    fn cycle(&mut self, work: &mut Work, context: &mut SmContext, now: u64) -> bool {
        self.rf.advance(now);
        if self.accounted < now && self.resident_warps != 0 {
            self.charge_until(work, now);
        }
        while let Some(&start) = work.starts.front()
            && start.cycle <= now
        {
            work.starts.pop_front();
            self.start_block(work, context.kernels, now, start);
        }
        while context.inbox.next() <= now
            && let Some(packet) = context.inbox.take(now)
        {
            if matches!(packet.client, Client::Instruction | Client::Constant) {
                self.mem.second.fill(&packet);
            }
            self.answered(work, context.kernels, now, &packet);
        }
        while self.mem.second.next() <= now
            && let Some(packet) = self.mem.second.take(now)
        {
            self.answered(work, context.kernels, now, &packet);
        }
        self.take_instructions(context.kernels, now);
        if self.wheel.has_events(now) {
            let mut number = 0;
            while let Some(event) = self.wheel.event(number) {
                self.handle(work, context.kernels, now, event);
                number += 1;
            }
            self.wheel.done();
        }
        if self.mem.next(now, context.outbox) <= now {
            self.mem.step(now, context.outbox, &mut self.done);
            self.after_memory(work, context.kernels, now);
        }
        // Without anybody to issue or to fetch for, nothing changes until somebody comes; the issue slots are charged then.
        if !self.fetch.has_work() && !self.schedulers.iter().any(Scheduler::has_ready) {
            if self.fetch.has_requests() {
                self.fetch.send(now, context.outbox);
            }
            return false;
        }
        let issued = self.issue_all(work, context, now);
        for _ in 0..self.fetch.ports {
            if !self.fetch_one(context.kernels, now) {
                break;
            }
        }
        if self.fetch.has_requests() {
            self.fetch.send(now, context.outbox);
        }
        issued
    }

    /// An answer from L2, or from the second-level cache.
    #[inline(always)]
    fn answered(&mut self, work: &mut Work, kernels: &[Kernel], now: u64, packet: &Packet) {
        if packet.client == Client::Instruction {
            self.fetch.fill(now, packet);
        } else {
            self.mem.fill(now, packet, &mut self.done);
            self.after_memory(work, kernels, now);
        }
    }

    /// Results and wake-ups that the memory unit announced.
    #[inline(always)]
    fn after_memory(&mut self, work: &mut Work, kernels: &[Kernel], now: u64) {
        for i in 0..self.done.len() {
            let Done { at, token } = self.done[i];
            if at <= now {
                self.handle(work, kernels, now, Event::Data { op: token });
            } else {
                self.wheel.push(at, Event::Data { op: token });
            }
        }
        self.done.clear();
        let mut woken = self.mem.take_woken();
        while woken != 0 {
            let slot = woken.trailing_zeros() as usize;
            woken &= woken - 1;
            self.warps[slot % WARPS].gates &= !gate::CONSTANT;
            self.evaluate(kernels, slot, now);
        }
        let mut waiting = self.waits_for_stores;
        while waiting != 0 {
            let slot = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            if self.mem.pending_writes(slot as u8) == 0 {
                self.stores_done(work, kernels, slot, now);
            }
        }
    }

    /// When to look again.
    #[inline(always)]
    fn next_event(&mut self, work: &Work, context: &mut SmContext, now: u64) -> u64 {
        let soon = now + 1;
        let mut next = u64::MAX;
        if self.resident_warps != 0 {
            if self.fetch.has_work() {
                return soon;
            }
            if self.schedulers.iter().any(Scheduler::has_ready) {
                next = self.next_collector(now);
                if next <= soon {
                    return soon;
                }
            }
        }
        self.next_arrival(work, context, soon).min(next)
    }

    /// When a warp that is ready can issue, as far as that is a matter of collectors.
    #[inline(never)]
    fn next_collector(&self, now: u64) -> u64 {
        let soon = now + 1;
        let full = self.full_pools(soon);
        let (mut next, mut wanted) = (u64::MAX, 0);
        for scheduler in &self.schedulers {
            if scheduler.candidates(full) != 0 {
                return soon;
            }
            wanted |= scheduler.wanted();
        }
        while wanted != 0 {
            let pool = CollectorPool::ALL[wanted.trailing_zeros() as usize % CollectorPool::COUNT];
            wanted &= wanted - 1;
            let free_at = self.rf.free_at(pool);
            // Memory instructions wait for a collector only if all units share them, and for the memory unit, whose events are looked at apart.
            if pool != CollectorPool::Memory || free_at > now {
                next = next.min(free_at);
            }
        }
        next
    }

    #[inline(always)]
    fn next_arrival(&mut self, work: &Work, context: &mut SmContext, soon: u64) -> u64 {
        let mut next = self.wheel.next().unwrap_or(u64::MAX).min(context.inbox.next());
        next = next.min(self.fetch.next_arrival()).min(self.mem.second.next());
        next = next.min(self.mem.next(soon, context.outbox));
        if let Some(start) = work.starts.front() {
            next = next.min(start.cycle);
        }
        next.min(self.fetch.next(soon, context.outbox)).max(soon)
    }

    /// Fetches for one warp. False if none wants to be fetched for.
    #[inline(always)]
    fn fetch_one(&mut self, kernels: &[Kernel], now: u64) -> bool {
        let Some(slot) = self.fetch.pick() else { return false };
        let warp = &mut self.warps[slot % WARPS];
        let kernel = at(kernels, warp.kernel as usize);
        let Some(pc) = warp.pc else { return true };
        let from = pc + warp.buffered + warp.coming;
        let end = kernel.decoded.timing.len() as u32;
        if from >= end {
            // There is nothing behind the last instruction; the executor reports whoever gets there.
            self.fetch.need &= !(1 << slot);
            if pc >= end {
                warp.buffered = 1;
                self.evaluate(kernels, slot, now);
            }
            return true;
        }
        if let fetch::Fetched::Hit { count, ready } =
            self.fetch.access(now, slot, kernel.code, from, end, &mut self.mem.second)
        {
            self.fetch.announce(ready, slot as u8, warp, count);
        }
        true
    }

    /// The counters so far. [`Sm::settle`] brings them up to date first.
    pub fn counters(&self) -> SmCounters {
        SmCounters {
            issue: self.issue_counters(),
            stalls: self.stalls,
            fetch: self.fetch.counters(),
            registers: self.rf.counters(),
            units: self.units.counters(),
            memory: self.mem.counters(),
            techniques: self.technique_counters(),
        }
    }

    /// What techniques counted in this SM.
    fn technique_counters(&self) -> TechniqueCounters {
        let mut counters = TechniqueCounters::default();
        self.rf.count_techniques(&mut counters);
        self.mem.count_techniques(&mut counters);
        self.fetch.data.count_techniques(&mut counters);
        counters
    }

    /// What the schedulers did, with what follows from the lanes of each instruction.
    fn issue_counters(&self) -> IssueCounters {
        let by_lanes = self.lanes.iter().zip(0..);
        IssueCounters {
            thread_instructions: self.passing_lanes
                + by_lanes.map(|(count, lanes)| count * lanes).sum::<u64>(),
            no_lanes: self.lanes[0],
            lanes: std::array::from_fn(|lane| self.lanes[lane + 1]),
            ..self.issue.clone()
        }
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
            && self.wheel.is_empty()
            && self.fetch.outstanding() == 0
    }
}

fn has_bit_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let has = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1");
        let has = has && std::arch::is_x86_feature_detected!("bmi2");
        has && std::arch::is_x86_feature_detected!("lzcnt") && std::arch::is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Items by indices that the SM handed out itself, or that its configuration bounds: checked in tests only.
#[inline(always)]
fn at<T>(items: &[T], index: usize) -> &T {
    debug_assert!(index < items.len());
    // SAFETY: slots, blocks, kernels and handles are taken from these very lists; a warp's next instruction was looked up with a check.
    unsafe { items.get_unchecked(index) }
}

#[inline(always)]
fn at_mut<T>(items: &mut [T], index: usize) -> &mut T {
    debug_assert!(index < items.len());
    // SAFETY: as for `at`.
    unsafe { items.get_unchecked_mut(index) }
}
