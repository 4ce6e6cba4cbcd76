// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory side of an SM: the load/store unit with shared memory, L1 data, constant and texture caches.
//!
//! ```text
//! issue ─► queue ─► slots ─┬─► shared memory ───────────────► result
//!                          ├─► L1 data ──► miss queue ─┐
//!                          ├─► constant ─► second level ┼─► network
//!                          └─► texture ──► requests ───┘
//! ```
//!
//! Instructions wait in the order of issue for their operands. Each of the `sm.units.ldst` slots works on one of them until its last
//! transaction is made, a transaction a cycle; shared memory occupies it for as many cycles as its banks need. Instructions start in
//! order, and never beside an older one that works with the same cache, so that each cache sees one transaction a cycle, in order. A
//! transaction that its cache cannot take blocks the slot until it can.
//!
//! In a cycle, answers from memory come first (`fill`), then `step`, then what issues (`accept`, `constant`). Between two calls nothing
//! changes but the time; cycles that pass in between are accounted for when the next call comes, or by `settle`.

mod accept;
mod coalesce;
mod constant;
mod counters;
mod flight;
mod instructions;
mod job;
mod l1d;
#[cfg(target_arch = "x86_64")]
mod lines;
mod requests;
mod rows;
mod second;
mod shared;
mod slot;
mod step;
#[cfg(test)]
mod tests;
mod texture;

use warpwatt_base::counters::Magnitudes;
use warpwatt_config::Config;

use crate::address;
use crate::cache::DataArray;
use crate::host::{has_bit_instructions, in_two_copies};
use crate::net::{Client, Outbox, Packet};
use crate::techniques::{TechniqueCounters, Techniques};

pub use constant::ConstantCounters;
pub use counters::{LsuCounters, MemCounters};
pub use flight::Done;
pub use job::{Job, JobKind, Origin};
pub use l1d::L1dCounters;
pub use rows::ROW_BYTES;
pub use second::{SecondCounters, SecondLevel};
pub use shared::SharedCounters;
pub use texture::TextureCounters;

use constant::ConstantCache;
use flight::{FlightId, Flights, Waiter};
use instructions::Instructions;
use job::Entry;
use l1d::L1d;
use requests::Note;
use shared::Shared;
use slot::{Cause, NONE, Slot};
use texture::TextureCache;

use super::decode::Timing;

/// When a transaction is done.
#[derive(Clone, Copy)]
enum Answer {
    /// The result is available in this cycle, or no instruction waits for one.
    At(u64),
    /// With the answer from memory.
    Later,
    /// With the line, for which it waits as the [`Waiter`] that its requester is.
    WithLine,
}

/// Who makes a transaction.
#[derive(Clone, Copy)]
struct Requester {
    /// The handle of the instruction, or the one that it would get next.
    flight: FlightId,
    /// The instruction has no handle: it makes a single transaction.
    is_alone: bool,
    warp: u8,
    /// Active lanes of the instruction.
    lanes: u8,
    token: u32,
    issued: u64,
}

impl Requester {
    /// As a load waits for its line.
    #[inline(always)]
    fn waiter(&self) -> Waiter {
        match self.is_alone {
            true => Waiter::Alone { token: self.token, issued: self.issued },
            false => Waiter::One(self.flight),
        }
    }
}

/// A transaction of an instruction is done as of cycle `at`, and so is the instruction if it was the last one.
#[inline(always)]
fn end_one(flights: &mut Flights, latencies: &mut Magnitudes, flight: FlightId, at: u64) -> Option<Done> {
    let (done, latency) = flights.land(flight, at)?;
    if let Some(latency) = latency {
        latencies.note(latency);
    }
    Some(done)
}

/// The same, with a list of what is done.
#[inline(always)]
fn land(flights: &mut Flights, latencies: &mut Magnitudes, flight: FlightId, at: u64, done: &mut Vec<Done>) {
    if let Some(ended) = end_one(flights, latencies, flight, at) {
        done.push(ended);
    }
}

/// A load that waited for nothing but a line is done as of cycle `at`.
#[inline(always)]
fn end_alone(latencies: &mut Magnitudes, (token, issued): (u32, u64), at: u64) -> Done {
    latencies.note(at.saturating_sub(issued));
    Done { at, token }
}

/// Follows an instruction until its last transaction is done.
#[inline(always)]
fn start(flights: &mut Flights, Entry { job, transactions, .. }: &Entry) -> FlightId {
    flights.start(job.token, *transactions, job.is_load().then_some(job.issued))
}

/// The most warps that can be resident.
const WARPS: usize = 64;
/// The most slots (`sm.units.ldst`).
const SLOTS: usize = 4;

pub struct MemoryUnit {
    /// But for latencies, which are counted beside.
    counters: LsuCounters,
    latencies: Magnitudes,
    /// Loads of global memory are cached.
    caches_global: bool,
    capacity: usize,
    width: usize,
    instructions: Instructions,
    /// The oldest first; how many of them work or are still occupied, and whether one of these is blocked.
    slots: [Slot; SLOTS],
    working: usize,
    is_blocked: bool,
    /// First cycle in which a slot is free, `u64::MAX` if that depends on others. May lie in the past.
    slot_free: u64,
    flights: Flights,
    /// By warp slot: lines of stores and reductions that L2 has not acknowledged.
    pending_writes: [u32; WARPS],
    unacknowledged: u32,
    /// Warps whose last line was acknowledged since they were asked for, a bit for each slot.
    acknowledged: u64,
    l1d: L1d,
    shared: Shared,
    constant: ConstantCache,
    /// Between instruction and constant cache and L2.
    pub second: SecondLevel,
    texture: TextureCache,
    /// First cycle in which a slot or the queue may go on.
    wake: u64,
    /// Cycles before this one are accounted for: here, and at the network's port.
    accounted: u64,
    port_accounted: u64,
    /// Whether the host has instructions for bits.
    bit_instructions: bool,
    /// There is a single slot, and no technique acts in shared memory, in the L1 data cache or ahead of it.
    is_plain: bool,
}

impl MemoryUnit {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> MemoryUnit {
        let (capacity, width) = (config.rf.collectors_mem as usize, config.units.ldst as usize);
        debug_assert!(width <= SLOTS);
        let (l1d, shared) = (L1d::new(config, techniques, sm), Shared::new(config, techniques, sm));
        MemoryUnit {
            is_plain: width == 1 && l1d.is_plain() && !shared.data.has_sites(),
            counters: LsuCounters::default(),
            latencies: Magnitudes::default(),
            caches_global: config.l1d.global,
            capacity,
            width,
            instructions: Instructions::new(capacity as u32),
            slots: [Slot::new(NONE, 0); SLOTS],
            // The only slot is looked at whether or not it works.
            working: usize::from(width == 1),
            is_blocked: false,
            slot_free: 0,
            flights: Flights::default(),
            pending_writes: [0; WARPS],
            unacknowledged: 0,
            acknowledged: 0,
            l1d,
            shared,
            constant: ConstantCache::new(config, techniques, sm),
            second: SecondLevel::new(config),
            texture: TextureCache::new(config, techniques, sm),
            wake: u64::MAX,
            accounted: 0,
            port_accounted: 0,
            bit_instructions: has_bit_instructions(),
        }
    }

    /// Whether another instruction may be handed over.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.instructions.len() < self.capacity
    }

    #[inline(always)]
    fn has_requests(&self) -> bool {
        self.l1d.requests.len() | self.constant.requests.len() | self.texture.requests.len() != 0
    }

    /// An answer from memory. Not inlined into the cycle loop, where the host's registers are scarce.
    #[inline(never)]
    pub fn fill(&mut self, now: u64, packet: &Packet, done: &mut Vec<Done>) {
        let unit = self;
        // Vector instructions are for tags of a set.
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               packet: &Packet,
                                               done: &mut Vec<Done>|
         -> () {
            if let Some(only) = unit.fill_here(now, packet, packet.client, done) {
                done.push(only);
            }
        });
    }

    /// [`MemoryUnit::fill`] of an answer for this client. Gives the load that is done with it, if that waited for nothing else and no other did; others
    /// are added to `done`.
    #[inline(always)]
    pub fn fill_here(
        &mut self,
        now: u64,
        packet: &Packet,
        client: Client,
        done: &mut Vec<Done>,
    ) -> Option<Done> {
        let only = match Note::line(packet) {
            Some(register) if client == Client::L1d => self.fill_l1d(now, register, done),
            Some(register) => {
                self.fill_line(now, register, client, done);
                None
            }
            None => {
                self.end_request(now, packet, done);
                None
            }
        };
        // Any answer: stalls of the network port are attributed up to here, before other requests of the SM take the port.
        if self.is_blocked {
            self.wake = now;
        }
        only
    }

    /// An answer that is no line.
    #[inline(always)]
    fn end_request(&mut self, now: u64, packet: &Packet, done: &mut Vec<Done>) {
        match Note::of(packet) {
            Note::Write(warp) => {
                let pending = &mut self.pending_writes[usize::from(warp) % WARPS];
                *pending = pending.saturating_sub(1);
                self.acknowledged |= u64::from(*pending == 0) << (warp & 63);
                self.unacknowledged = self.unacknowledged.saturating_sub(1);
            }
            Note::Flight(flight) => land(&mut self.flights, &mut self.latencies, flight, now, done),
            Note::WriteBack | Note::Fill(_) => self.l1d.written_back(),
        }
    }

    /// A line of the L1 data cache has come.
    #[inline(always)]
    fn fill_l1d(&mut self, now: u64, register: u32, done: &mut Vec<Done>) -> Option<Done> {
        if self.l1d.may_write_back() {
            self.expect_requests(now);
        }
        let (only, at) = self.l1d.fill(now, register);
        if let Some(Waiter::Alone { token, issued }) = only {
            return Some(end_alone(&mut self.latencies, (token, issued), at));
        }
        match only {
            Some(Waiter::One(flight)) => return end_one(&mut self.flights, &mut self.latencies, flight, at),
            Some(_) => {}
            None => self.end_waiters(at, done),
        }
        None
    }

    /// Those that waited for a line together are done as of cycle `at`.
    #[inline(never)]
    fn end_waiters(&mut self, at: u64, done: &mut Vec<Done>) {
        let (flights, latencies) = (&mut self.flights, &mut self.latencies);
        for waiter in self.l1d.together.drain(..) {
            match waiter {
                Waiter::Alone { token, issued } => done.push(end_alone(latencies, (token, issued), at)),
                Waiter::One(flight) => land(flights, latencies, flight, at, done),
                Waiter::Nobody => {}
            }
        }
    }

    /// A line of another cache has come.
    #[inline(always)]
    fn fill_line(&mut self, now: u64, register: u32, client: Client, done: &mut Vec<Done>) {
        let (latencies, flights) = (&mut self.latencies, &mut self.flights);
        let land = |flight, at| land(flights, latencies, flight, at, done);
        match client {
            Client::Texture => self.texture.fill(now, register, land),
            _ => self.constant.fill(now, register, land),
        }
    }

    /// A line that is evicted now becomes a request now, and not before.
    #[inline(always)]
    fn expect_requests(&mut self, now: u64) {
        let waits = self.has_requests();
        if waits || self.is_blocked {
            self.settle(now);
        } else {
            self.accounted = self.accounted.max(now);
        }
        if !waits {
            self.port_accounted = now;
        }
    }

    /// First cycle from `now` on in which `step` has something to do; `u64::MAX` if only an answer from memory can help, or nothing is
    /// to be done.
    #[inline(always)]
    pub fn next(&self, now: u64, outbox: &Outbox) -> u64 {
        let mut next = self.wake;
        if next > now && self.has_requests() {
            next = next.min(self.next_request(now, outbox));
        }
        next.max(now)
    }

    /// When the instructions that it has may go on, whatever comes from memory. May lie in the past.
    #[inline(always)]
    pub fn wake(&self) -> u64 {
        self.wake
    }

    /// First cycle from `now` on in which the network may take a request.
    #[inline(never)]
    fn next_request(&self, now: u64, outbox: &Outbox) -> u64 {
        let l1d = self.l1d.requests.next(now, outbox);
        l1d.min(self.constant.requests.next(now, outbox)).min(self.texture.requests.next(now, outbox))
    }

    /// First cycle in which the next instruction may start, unless an answer or room in a miss queue lets it; `u64::MAX` without one. May lie
    /// in the past.
    #[inline(always)]
    fn next_start(&self) -> u64 {
        self.instructions.ready().max(self.slot_free)
    }

    /// Accounts for the cycles before `now`.
    #[inline]
    pub fn settle(&mut self, now: u64) {
        self.account(now, !self.constant.requests.is_empty());
    }

    #[inline]
    fn account(&mut self, now: u64, constant_waits: bool) {
        if now <= self.accounted {
            return;
        }
        let cycles = now - self.accounted;
        self.accounted = now;
        if self.is_blocked {
            for index in 0..self.working {
                if let Some(cause) = self.slots[index % SLOTS].blocked {
                    self.note_blocked(cause, cycles);
                }
            }
        }
        // A request that was not sent since was not taken.
        if !self.l1d.requests.is_empty() {
            self.l1d.counters.network += cycles;
        }
        if constant_waits {
            self.constant.counters.network += cycles;
        }
        if !self.texture.requests.is_empty() {
            self.texture.counters.network += cycles;
        }
    }

    /// When a constant operand of an instruction about to issue is there, which so many lanes want. `None` if it has to be fetched: then its
    /// warp is woken when it is worth asking again.
    #[inline(always)]
    pub fn constant(&mut self, now: u64, address: u64, warp: u8, lanes: u8) -> Option<u64> {
        // Most operands are of a line that was read not long ago.
        if self.constant.operand_again(now, address, warp, lanes) {
            return Some(now);
        }
        self.constant_elsewhere(now, address, warp, lanes)
    }

    /// Whether all constant operands of an instruction of a warp are there, where they do not have to wait for the array. `code` is the number of the
    /// kernel. In functions of their own, since the cycle loop has no registers of the host to spare; most instructions have a single such operand.
    #[inline(always)]
    pub fn constants(&mut self, now: u64, code: u32, timing: &Timing, warp: u8, lanes: u8) -> bool {
        let unit = self;
        if timing.constants != 1 {
            return unit.several_constants(now, code, timing, warp, lanes);
        }
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               code: u32,
                                               timing: &Timing,
                                               warp: u8,
                                               lanes: u8|
         -> bool {
            let offset = u32::from(timing.constant_offset[0]);
            let address = address::constant(code, timing.constant_bank[0], offset);
            unit.constant(now, address, warp, lanes).is_some()
        })
    }

    #[cold]
    #[inline(never)]
    fn several_constants(&mut self, now: u64, code: u32, timing: &Timing, warp: u8, lanes: u8) -> bool {
        let mut all = true;
        let operands = timing.constant_bank.iter().zip(&timing.constant_offset);
        for (&bank, &offset) in operands.take(usize::from(timing.constants)) {
            let address = address::constant(code, bank, u32::from(offset));
            all &= self.constant(now, address, warp, lanes).is_some();
        }
        all
    }

    #[inline(never)]
    fn constant_elsewhere(&mut self, now: u64, address: u64, warp: u8, lanes: u8) -> Option<u64> {
        let before = self.constant.requests.len();
        let there = self.constant.operand(now, address, warp, lanes, &mut self.second);
        if self.constant.requests.len() != before {
            // The request waits from the next cycle on.
            self.account(now + 1, before != 0);
            if before == 0 && self.l1d.requests.is_empty() && self.texture.requests.is_empty() {
                self.port_accounted = now + 1;
            }
        }
        there
    }

    /// Whether a technique may have constant operands wait for the array.
    #[inline(always)]
    pub fn constants_can_wait(&self) -> bool {
        self.constant.data.has_sites()
    }

    /// Whether warps may go on that waited for constants or for stores.
    #[inline(always)]
    pub fn has_woken(&self) -> bool {
        self.constant.woken() | self.acknowledged != 0
    }

    /// Warps whose last store was acknowledged since the last call, a bit for each slot. They may have made others meanwhile.
    #[inline(always)]
    pub fn take_acknowledged(&mut self) -> u64 {
        std::mem::take(&mut self.acknowledged)
    }

    /// Warps whose constants came since the last call, a bit for each slot.
    #[inline(always)]
    pub fn take_woken(&mut self) -> u64 {
        self.constant.take_woken()
    }

    /// Stores and reductions of a warp, in lines, that L2 has not acknowledged; those that have not left the unit are among them.
    #[inline(always)]
    pub fn pending_writes(&self, warp: u8) -> u32 {
        self.pending_writes[usize::from(warp) % WARPS]
    }

    /// A kernel starts, with a large L1 data cache or one as usual: drops all lines, after changed ones are written back.
    pub fn new_kernel(&mut self, now: u64, large_l1: bool) {
        self.expect_requests(now);
        self.l1d.flush(now);
        self.l1d.resize(now, large_l1);
        self.shared.resize(now, large_l1);
        self.constant.flush();
        self.second.new_kernel();
        self.texture.flush();
    }

    /// Cycles that a started instruction could not go on.
    #[inline(never)]
    fn note_blocked(&mut self, cause: Cause, cycles: u64) {
        self.counters.blocked += cycles;
        *match cause {
            Cause::Unit => &mut self.counters.blocked_unit,
            Cause::Merges => &mut self.l1d.counters.fail_merges,
            Cause::Mshrs => &mut self.l1d.counters.fail_mshrs,
            Cause::Ways => &mut self.l1d.counters.fail_ways,
            Cause::Queue => &mut self.l1d.counters.fail_queue,
            Cause::Constant => &mut self.constant.counters.fails,
            Cause::Fragments => &mut self.texture.counters.fail_fragments,
            Cause::TextureMshrs => &mut self.texture.counters.fail_mshrs,
        } += cycles;
    }

    /// The counters so far. [`MemoryUnit::settle`] brings them up to date first.
    #[inline(always)]
    pub fn counters(&self) -> MemCounters {
        MemCounters {
            lsu: LsuCounters { latency: self.latencies.log2(), ..self.counters.clone() },
            l1d: self.l1d.counters(),
            shared: self.shared.counters(),
            constant: self.constant.counters(),
            second: self.second.counters.clone(),
            texture: self.texture.counters(),
        }
    }

    fn arrays(&self) -> [&DataArray; 4] {
        [&self.l1d.data, &self.shared.data, &self.constant.data, &self.texture.data]
    }

    /// Techniques bring counters of time up to date, to before `now`.
    pub fn settle_techniques(&mut self, now: u64, busy: bool) {
        for array in
            [&mut self.l1d.data, &mut self.shared.data, &mut self.constant.data, &mut self.texture.data]
        {
            array.settle(now, busy);
        }
    }

    /// Adds what techniques counted here.
    pub fn count_techniques(&self, counters: &mut TechniqueCounters) {
        self.arrays().iter().for_each(|array| array.count_techniques(counters));
        self.l1d.count_filters(counters);
    }

    /// What is wrong with what a data array gave back, if anything was.
    pub fn corrupted(&self) -> Option<String> {
        self.arrays().iter().find_map(|array| array.corrupted())
    }

    /// A stored bit was to be flipped, and nothing was read in which it could have been.
    pub fn fault_is_pending(&self) -> bool {
        self.arrays().iter().any(|array| array.fault_is_pending())
    }

    /// Nothing waits or is under way.
    pub fn is_idle(&self) -> bool {
        self.instructions.is_empty()
            && self.started().next().is_none()
            && self.flights.in_use() == 0
            && self.unacknowledged == 0
            && self.l1d.is_idle()
            && self.constant.is_idle()
            && self.second.is_idle()
            && self.texture.is_idle()
    }

    /// Slots that work on an instruction.
    fn started(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().take(self.working).filter(|slot| slot.entry != NONE)
    }

    /// Instructions that are not done.
    fn undone(&self) -> usize {
        let started = self.started().map(|slot| &self.instructions[slot.entry]);
        let without =
            self.instructions.waiting().chain(started).filter(|entry| entry.flight == FlightId::NONE);
        self.flights.in_use() + without.count() + self.l1d.alone()
    }

    /// What it waits for, for reports of deadlocks.
    pub fn waiting(&self) -> Vec<String> {
        let mut waits = Vec::new();
        let mut say = |count: usize, what: &str| {
            if count != 0 {
                waits.push(format!("{count} {what}"));
            }
        };
        say(self.instructions.len(), "memory instructions that have not started");
        say(self.undone(), "memory instructions that are not done");
        say(self.unacknowledged as usize, "lines of stores that L2 has not acknowledged");
        say(self.l1d.requests.len(), "requests of the L1 data cache that the network has not taken");
        say(self.texture.waiting(), "texture accesses that wait for lines");
        for slot in self.started() {
            let warp = self.instructions[slot.entry].job.warp;
            if let Some(cause) = slot.blocked {
                waits.push(format!("an instruction of warp {warp} in the load/store unit: {}", cause.text()));
            }
        }
        waits.extend(self.l1d.fetching().map(|line| format!("line {line:#x} of the L1 data cache")));
        waits.extend(self.constant.fetching().map(|line| format!("line {line:#x} of the constant cache")));
        waits
    }
}
