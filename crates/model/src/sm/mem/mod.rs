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

mod coalesce;
mod constant;
mod counters;
mod flight;
mod job;
mod l1d;
mod requests;
mod rows;
mod second;
mod shared;
#[cfg(test)]
mod tests;
mod texture;

use std::collections::VecDeque;

use warpwatt_config::Config;
use warpwatt_exec::stepping::{Access, AccessGroup, Lanes, Stepper};

use crate::cache::DataArray;
use crate::host::{has_bit_instructions, in_two_copies};
use crate::net::{Client, Outbox, Packet};
use crate::techniques::{TechniqueCounters, Techniques};

pub use constant::ConstantCounters;
pub use counters::{LsuCounters, MemCounters};
pub use flight::Done;
pub use job::{Job, JobKind};
pub use l1d::L1dCounters;
pub use rows::ROW_BYTES;
pub use second::{SecondCounters, SecondLevel};
pub use shared::SharedCounters;
pub use texture::TextureCounters;

use coalesce::Offsets;
use constant::ConstantCache;
use flight::{FlightId, Flights};
use job::{Entry, Part, Unit};
use l1d::L1d;
use requests::Note;
use shared::Shared;
use texture::TextureCache;

/// Why a transaction could not be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
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

/// When a transaction is done.
#[derive(Clone, Copy)]
enum Answer {
    /// The result is available in this cycle, or no instruction waits for one.
    At(u64),
    /// With the answer from memory.
    Later,
}

/// Who makes a transaction.
#[derive(Clone, Copy)]
struct Requester {
    flight: FlightId,
    warp: u8,
    /// Active lanes of the instruction.
    lanes: u8,
}

/// No instruction.
const NONE: u32 = u32::MAX;

/// Works on an instruction.
#[derive(Clone, Copy)]
struct Slot {
    entry: u32,
    unit: Unit,
    part: u32,
    line: u32,
    /// Occupied until before this cycle by the latest transaction.
    until: u64,
    blocked: Option<Cause>,
}

impl Slot {
    #[inline(always)]
    fn new(entry: u32, unit: Unit, now: u64) -> Slot {
        Slot { entry, unit, part: 0, line: 0, until: now, blocked: None }
    }
}

/// A transaction of an instruction is done as of cycle `at`.
#[inline(always)]
fn land(flights: &mut Flights, counters: &mut LsuCounters, flight: FlightId, at: u64, done: &mut Vec<Done>) {
    if let Some(latency) = flights.land(flight, at, done) {
        counters.latency.note(latency);
    }
}

/// The most warps that can be resident.
const WARPS: usize = 64;
/// The most slots (`sm.units.ldst`).
const SLOTS: usize = 4;

pub struct MemoryUnit {
    counters: LsuCounters,
    /// Loads of global memory are cached.
    caches_global: bool,
    capacity: usize,
    width: usize,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Instructions that have not started.
    queue: VecDeque<u32>,
    /// The oldest first; how many of them work or are still occupied, and whether one of these is blocked.
    slots: [Slot; SLOTS],
    working: usize,
    is_blocked: bool,
    /// First cycle in which a slot is free, `u64::MAX` if that depends on others.
    slot_free: u64,
    flights: Flights,
    /// By warp slot: lines of stores and reductions that L2 has not acknowledged.
    pending_writes: [u32; WARPS],
    unacknowledged: u32,
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
}

impl MemoryUnit {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> MemoryUnit {
        let (capacity, width) = (config.rf.collectors_mem as usize, config.units.ldst as usize);
        debug_assert!(width <= SLOTS);
        MemoryUnit {
            counters: LsuCounters::default(),
            caches_global: config.l1d.global,
            capacity,
            width,
            entries: Vec::with_capacity(capacity + width),
            free: Vec::with_capacity(capacity + width),
            queue: VecDeque::with_capacity(capacity),
            slots: [Slot::new(NONE, Unit::L1d, 0); SLOTS],
            working: 0,
            is_blocked: false,
            slot_free: 0,
            flights: Flights::default(),
            pending_writes: [0; WARPS],
            unacknowledged: 0,
            l1d: L1d::new(config, techniques, sm),
            shared: Shared::new(config, techniques, sm),
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
        self.queue.len() < self.capacity
    }

    /// Takes an instruction at issue, with what it accesses. Tells how many transactions that makes.
    #[inline]
    pub fn accept(&mut self, job: Job, stepper: &Stepper) -> u32 {
        match stepper.access() {
            Access::Lanes(lanes) => self.accept_lanes(job, lanes, stepper.offsets()),
            Access::Mixed => self.accept_groups(job, stepper.groups()),
            &Access::Texture { texels, .. } => self.accept_texture(job, stepper.lines(), texels),
            Access::None => self.accept_groups(job, &[]),
        }
    }

    /// Takes an instruction whose lanes are all in one place.
    #[inline]
    pub fn accept_lanes(&mut self, job: Job, lanes: &Lanes, offsets: &Offsets) -> u32 {
        let entry = self.entry(job);
        self.add_lanes(entry, lanes, offsets);
        self.enqueue(entry)
    }

    /// Works out the transactions of lanes that are in one place.
    #[inline(always)]
    fn add_lanes(&mut self, entry: u32, lanes: &Lanes, offsets: &Offsets) {
        let unit = self;
        // Vector instructions are for the offsets of the lanes.
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               entry: u32,
                                               lanes: &Lanes,
                                               offsets: &Offsets|
         -> () {
            unit.add_lanes_plain(entry, lanes, offsets);
        });
    }

    #[inline(always)]
    fn add_lanes_plain(&mut self, entry: u32, lanes: &Lanes, offsets: &Offsets) {
        self.entries[entry as usize].add_lanes(lanes, offsets, &mut self.shared, self.caches_global);
    }

    /// Takes an instruction whose lanes are in several places, or that has none.
    pub fn accept_groups(&mut self, job: Job, groups: &[AccessGroup]) -> u32 {
        let entry = self.entry(job);
        for group in groups {
            self.add_lanes(entry, &group.lanes, &group.offsets);
        }
        self.enqueue(entry)
    }

    /// Takes a texture or surface instruction that touches lines of 128 bytes.
    pub fn accept_texture(&mut self, job: Job, lines: &[u64], texels: u32) -> u32 {
        let entry = self.entry(job);
        if job.kind == JobKind::Texture {
            self.texture.counters.instructions += 1;
            self.texture.counters.texels += u64::from(texels);
            self.entries[entry as usize].add_texture(lines, self.texture.line_bytes());
        } else {
            self.entries[entry as usize].add_surface(lines, texels, self.caches_global);
        }
        self.enqueue(entry)
    }

    #[inline(always)]
    fn entry(&mut self, job: Job) -> u32 {
        match self.free.pop() {
            Some(entry) => {
                self.entries[entry as usize].reset(job);
                entry
            }
            None => {
                self.entries.push(Entry::new(job));
                self.entries.len() as u32 - 1
            }
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, index: u32) -> u32 {
        let entry = &mut self.entries[index as usize];
        let job = &entry.job;
        let issued = job.is_load().then_some(job.issued);
        entry.flight = self.flights.start(job.token, entry.transactions.max(1), issued);
        if entry.touched != 0 {
            self.counters.transactions[(entry.touched as usize - 1).min(31)] += 1;
        }
        self.pending_writes[usize::from(job.warp) % WARPS] += entry.acknowledged;
        self.unacknowledged += entry.acknowledged;
        let transactions = entry.transactions;
        self.queue.push_back(index);
        if self.queue.len() == 1 {
            self.wake = self.wake.min(self.next_start());
        }
        transactions
    }

    /// One cycle.
    #[inline(always)]
    pub fn step(&mut self, now: u64, outbox: &mut Outbox, done: &mut Vec<Done>) {
        let unit = self;
        // Bit and vector instructions are for words of a line and tags of a set.
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               outbox: &mut Outbox,
                                               done: &mut Vec<Done>|
         -> () {
            unit.step_plain(now, outbox, done);
        });
    }

    #[inline(always)]
    fn step_plain(&mut self, now: u64, outbox: &mut Outbox, done: &mut Vec<Done>) {
        self.settle(now);
        if self.has_requests() {
            outbox.stalled(self.port_accounted.min(now), now);
            self.send(now, outbox);
        }
        (self.accounted, self.port_accounted) = (now + 1, now + 1);

        if self.width == 1 { self.work_alone(now, done) } else { self.work_together(now, done) }
    }

    /// One cycle of the only slot.
    #[inline(always)]
    fn work_alone(&mut self, now: u64, done: &mut Vec<Done>) {
        let slot = &self.slots[0];
        if slot.entry == NONE && slot.until <= now {
            self.working = 0;
            self.slot_free = 0;
            self.wake = self.next_start();
            if self.wake > now {
                return;
            }
            let Some(entry) = self.queue.pop_front() else { return };
            self.counters.instructions += 1;
            self.working = 1;
            self.slots[0] = Slot::new(entry, Unit::L1d, now);
        }
        if self.slots[0].until <= now {
            self.work(0, now, &mut 0, done);
        }
        let slot = &self.slots[0];
        self.is_blocked = slot.blocked.is_some();
        // While it works on an instruction, none starts.
        if slot.entry == NONE {
            self.slot_free = slot.until;
            self.wake = self.next_start();
        } else {
            self.slot_free = u64::MAX;
            self.wake = self.slot_wake(slot);
        }
    }

    /// When a slot goes on by itself.
    #[inline(always)]
    fn slot_wake(&self, slot: &Slot) -> u64 {
        match slot.blocked {
            None | Some(Cause::Unit) => slot.until,
            Some(Cause::Fragments) => self.texture.room_at(),
            Some(_) => u64::MAX,
        }
    }

    /// One cycle of several slots.
    #[cold]
    #[inline(never)]
    fn work_together(&mut self, now: u64, done: &mut Vec<Done>) {
        let (mut taken, mut index) = (0, 0);
        // When slots go on by themselves, and when one of them is free.
        let (mut next, mut free, mut is_blocked) = (u64::MAX, u64::MAX, false);
        loop {
            let mut slot = if index < self.working {
                self.slots[index % SLOTS]
            } else if index < self.width
                && let Some(&entry) = self.queue.front()
                && self.entries[entry as usize].job.ready <= now
                && !self.is_taken(entry, taken)
            {
                self.queue.pop_front();
                self.counters.instructions += 1;
                self.working += 1;
                let unit = self.entries[entry as usize].parts.first().map_or(Unit::L1d, Part::unit);
                self.slots[index % SLOTS] = Slot::new(entry, unit, now);
                self.slots[index % SLOTS]
            } else {
                break;
            };
            if slot.until > now {
                taken |= 1 << slot.unit as u32;
            } else if slot.entry == NONE {
                self.working -= 1;
                for later in index..self.working {
                    self.slots[later % SLOTS] = self.slots[(later + 1) % SLOTS];
                }
                continue;
            } else {
                self.work(index, now, &mut taken, done);
                slot = self.slots[index % SLOTS];
            }
            if slot.entry == NONE {
                free = free.min(slot.until);
            } else {
                next = next.min(self.slot_wake(&slot));
                is_blocked |= slot.blocked.is_some();
            }
            index += 1;
        }
        self.is_blocked = is_blocked;
        self.slot_free = if self.working < self.width { 0 } else { free };
        self.wake = next.min(self.next_start());
    }

    /// Whether an instruction would start with a cache that an older one works with.
    #[inline(always)]
    fn is_taken(&self, entry: u32, taken: u32) -> bool {
        let first = self.entries[entry as usize].parts.first();
        first.is_some_and(|part| taken >> part.unit() as u32 & 1 != 0)
    }

    /// Makes the next transaction of a slot.
    #[inline(always)]
    fn work(&mut self, index: usize, now: u64, taken: &mut u32, done: &mut Vec<Done>) {
        let slot = &mut self.slots[index % SLOTS];
        slot.until = now + 1;
        if slot.blocked == Some(Cause::Mshrs) && *taken == 0 && self.l1d.is_still_full() {
            *taken |= 1 << slot.unit as u32;
            self.note_blocked(Cause::Mshrs, 1);
            return;
        }
        let entry = &self.entries[slot.entry as usize];
        let requester = Requester { flight: entry.flight, warp: entry.job.warp, lanes: entry.job.lanes };
        let (counters, flights) = (&mut self.counters, &mut self.flights);
        let Some(&part) = entry.parts.get(slot.part as usize) else {
            // No lane accessed anything.
            land(flights, counters, requester.flight, now, done);
            self.free.push(slot.entry);
            slot.entry = NONE;
            return;
        };
        slot.unit = part.unit();
        let bit = 1 << slot.unit as u32;
        if *taken & bit != 0 {
            slot.blocked = Some(Cause::Unit);
            self.note_blocked(Cause::Unit, 1);
            return;
        }
        *taken |= bit;
        let line = || &entry.lines[slot.line as usize];
        let (answer, end) = match part {
            Part::Shared { kind, passes, rows } => {
                slot.until = now + u64::from(passes.cycles);
                let rows = &entry.rows[rows.0 as usize..rows.1 as usize];
                let at = self.shared.access(now, kind, requester.lanes, passes, entry.job.shared_row, rows);
                (Ok(Answer::At(at)), 0)
            }
            Part::Global { op, end } => (self.l1d.access(now, op, line(), requester), end),
            Part::Constant { end } => (self.constant.access(now, line(), requester, &mut self.second), end),
            Part::Texture { end } => {
                let mut land = |flight, at| land(flights, counters, flight, at, done);
                let answer = self.texture.access(now, line(), requester, &mut land);
                (answer.map(|()| Answer::Later), end)
            }
        };
        match answer {
            Ok(answer) => {
                if let Answer::At(at) = answer {
                    land(flights, counters, requester.flight, at, done);
                }
                counters.busy += slot.until - now;
                slot.blocked = None;
                if slot.unit != Unit::Shared {
                    slot.line += 1;
                }
                if slot.unit == Unit::Shared || slot.line == end {
                    slot.part += 1;
                    if slot.part as usize == entry.parts.len() {
                        self.free.push(slot.entry);
                        slot.entry = NONE;
                    }
                }
            }
            Err(cause) => {
                slot.blocked = Some(cause);
                self.note_blocked(cause, 1);
            }
        }
    }

    /// Offers each cache's next request to the network.
    #[inline(always)]
    fn send(&mut self, now: u64, outbox: &mut Outbox) {
        let constant = self.constant.requests.is_empty() || self.constant.send(now, outbox);
        let texture = self.texture.requests.is_empty() || self.texture.send(now, outbox);
        let l1d = self.l1d.send(now, outbox);
        if !(constant && texture && l1d) {
            self.constant.counters.network += u64::from(!constant);
            self.texture.counters.network += u64::from(!texture);
            self.l1d.counters.network += u64::from(!l1d);
            outbox.stalled(now, now + 1);
        }
    }

    #[inline(always)]
    fn has_requests(&self) -> bool {
        !(self.l1d.requests.is_empty()
            && self.constant.requests.is_empty()
            && self.texture.requests.is_empty())
    }

    /// An answer from memory.
    #[inline(always)]
    pub fn fill(&mut self, now: u64, packet: &Packet, done: &mut Vec<Done>) {
        let unit = self;
        // Vector instructions are for tags of a set.
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               packet: &Packet,
                                               done: &mut Vec<Done>|
         -> () {
            unit.fill_plain(now, packet, done);
        });
    }

    #[inline(always)]
    fn fill_plain(&mut self, now: u64, packet: &Packet, done: &mut Vec<Done>) {
        let (counters, flights) = (&mut self.counters, &mut self.flights);
        match (Note::of(packet), packet.client) {
            (Note::Fill(slot), Client::Texture) => {
                self.texture.fill(now, slot, |flight, at| land(flights, counters, flight, at, done));
            }
            (Note::Fill(register), Client::Constant) => {
                self.constant.fill(now, register, |flight, at| land(flights, counters, flight, at, done));
            }
            (Note::Fill(register), Client::L1d | Client::Instruction) => {
                self.expect_requests(now);
                let (counters, flights) = (&mut self.counters, &mut self.flights);
                self.l1d.fill(now, register, |flight, at| land(flights, counters, flight, at, done));
            }
            (Note::Flight(flight), _) => land(flights, counters, flight, now, done),
            (Note::Write(warp), _) => {
                let pending = &mut self.pending_writes[usize::from(warp) % WARPS];
                *pending = pending.saturating_sub(1);
                self.unacknowledged = self.unacknowledged.saturating_sub(1);
            }
            (Note::WriteBack, _) => self.l1d.written_back(),
        }
        // Any answer: stalls of the network port are attributed up to here, before other requests of the SM take the port.
        if self.is_blocked {
            self.wake = now;
        }
    }

    /// A line that is evicted now becomes a request now, and not before.
    #[inline(always)]
    fn expect_requests(&mut self, now: u64) {
        self.settle(now);
        if !self.has_requests() {
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

    /// First cycle from `now` on in which the network may take a request.
    #[inline(never)]
    fn next_request(&self, now: u64, outbox: &Outbox) -> u64 {
        let l1d = self.l1d.requests.next(now, outbox);
        l1d.min(self.constant.requests.next(now, outbox)).min(self.texture.requests.next(now, outbox))
    }

    /// First cycle in which the next instruction may start, unless an answer or room in a miss queue lets it. May lie in the past.
    #[inline(always)]
    fn next_start(&self) -> u64 {
        match self.queue.front() {
            Some(&head) if self.slot_free != u64::MAX => {
                self.entries[head as usize].job.ready.max(self.slot_free)
            }
            _ => u64::MAX,
        }
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
    pub fn counters(&self) -> MemCounters {
        MemCounters {
            lsu: self.counters.clone(),
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
        self.queue.is_empty()
            && self.flights.in_use() == 0
            && self.unacknowledged == 0
            && self.l1d.is_idle()
            && self.constant.is_idle()
            && self.second.is_idle()
            && self.texture.is_idle()
    }

    /// What it waits for, for reports of deadlocks.
    pub fn waiting(&self) -> Vec<String> {
        let mut waits = Vec::new();
        let mut say = |count: usize, what: &str| {
            if count != 0 {
                waits.push(format!("{count} {what}"));
            }
        };
        say(self.queue.len(), "memory instructions that have not started");
        say(self.flights.in_use(), "memory instructions that are not done");
        say(self.unacknowledged as usize, "lines of stores that L2 has not acknowledged");
        say(self.l1d.requests.len(), "requests of the L1 data cache that the network has not taken");
        say(self.texture.waiting(), "texture accesses that wait for lines");
        for slot in self.slots.iter().take(self.working).filter(|slot| slot.entry != NONE) {
            let warp = self.entries[slot.entry as usize].job.warp;
            if let Some(cause) = slot.blocked {
                waits.push(format!("an instruction of warp {warp} in the load/store unit: {}", cause.text()));
            }
        }
        waits.extend(self.l1d.fetching().map(|line| format!("line {line:#x} of the L1 data cache")));
        waits.extend(self.constant.fetching().map(|line| format!("line {line:#x} of the constant cache")));
        waits
    }
}

impl Cause {
    fn text(self) -> &'static str {
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
