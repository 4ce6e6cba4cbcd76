// SPDX-License-Identifier: MIT OR Apache-2.0
//! The L1 data cache: write-evict without allocation for global memory, write-back with allocation for local memory; one line a cycle.
//!
//! Global stores go to L2 and drop the line here; so do atomics and reductions, which L2 carries out. Local memory belongs to one warp,
//! so its lines can stay dirty until they are evicted. A load that finds no line waits in a miss status register; one whose line is on its
//! way is merged with that miss. An access that cannot be served changes nothing and is retried.
//!
//! With `sm.l1d.allocate = "miss"`, a line that is fetched is allocated at the miss, so that no more lines of a set can be outstanding
//! than it has ways. With `"fill"` it is allocated in the least recently used way when the data arrive.

use std::collections::VecDeque;

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};
use warpwatt_config::{Allocation, Config, SetIndex};

use crate::cache::{
    Array, ArrayShape, DataArray, Evicted, FilterSite, LineId, Mshr, MshrId, RowAccess, SetId, State, Tags,
    Use,
};
use crate::net::{Client, LINE_BYTES, Outbox, PacketKind};
use crate::techniques::{Hung, TechniqueCounters, Techniques};

use super::coalesce::{Line, segments};
use super::flight::Waiter;
use super::requests::{Note, Request, Requests};
use super::{Answer, Cause, Requester};

counters! {
    /// What the L1 data cache did. Accesses are transactions: a warp instruction makes one for each line that it touches.
    pub struct L1dCounters(Charge::Lines) {
        reads: u64 = "l1d.reads.count", "Lines accessed by loads. Reads = hits + misses + merges.";
        load_lanes: u64 = "l1d.load_lanes.count", "Active lanes of the lines accessed by loads, hits and misses.";
        read_hits: u64 = "l1d.read_hits.count", "Lines accessed by loads that hit.";
        misses: u64 = "l1d.misses.count", "Loads that missed and fetched a line.";
        merges: u64 = "l1d.merges.count", "Loads merged with an outstanding miss on the same line.";
        bypasses: u64 = "l1d.bypasses.count", "Loads that bypassed the cache.";
        writes: u64 = "l1d.writes.count", "Lines written by stores.";
        write_hits: u64 = "l1d.write_hits.count", "Lines of local memory written by stores that hit.";
        written: u64 = "l1d.written.bytes", "Bytes written by stores, in whole words.";
        hit_written: u64 = "l1d.hit_written.bytes", "Bytes written by stores to lines of local memory that hit, in whole words.";
        write_fetches: u64 = "l1d.write_fetches.count", "Lines of local memory fetched because of a partial write.";
        write_evictions: u64 = "l1d.write_evictions.count", "Lines invalidated by stores and atomics to global memory.";
        atomics: u64 = "l1d.atomics.count", "Atomic operations and reductions sent to L2, by line.";
        array_reads: u64 = "l1d.array_reads.count", "Reads of the data array: hits, and dirty lines written back.";
        array_writes: u64 = "l1d.array_writes.count", "Writes of the data array by stores to local memory.";
        fills: u64 = "l1d.fills.count", "Lines filled from L2.";
        evictions: u64 = "l1d.evictions.count", "Lines evicted.";
        write_backs: u64 = "l1d.write_backs.count", "Dirty lines of local memory written back to L2.";
        lanes: u64 = "l1d.lanes.count", "Active lanes of the accesses to the data array; 32 for fills and write-backs.";
        fail_merges: u64 = "l1d.fail_merges.cycles", "The next transaction waited because too many accesses wait for its line.";
        fail_mshrs: u64 = "l1d.fail_mshrs.cycles", "The next transaction waited because all miss status registers (MSHRs) were in use.";
        fail_ways: u64 = "l1d.fail_ways.cycles", "The next transaction waited because all ways of its set were being filled.";
        fail_queue: u64 = "l1d.fail_queue.cycles", "The next transaction waited for space in the miss queue.";
        network: u64 = "l1d.network.cycles", "The network did not accept the next request.";
        intervals: Log2 = "l1d.interval.histogram", "Cycles between two uses of the data array.";
        line_intervals: Log2 = "l1d.line_interval.histogram", "Cycles between two uses of the same line of the data array.";
    }
}

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Load,
    /// Fetches 32-byte segments past the cache.
    Bypass,
    /// To global memory.
    Store,
    LocalStore,
    /// Wants the old values.
    Atomic,
    Reduction,
}

/// What is known of a line that is being fetched, beside its miss status register.
#[derive(Clone, Copy, Debug)]
struct Coming {
    /// Where it will be, if it has a place already.
    place: Option<LineId>,
    /// A store has changed it meanwhile.
    changed: bool,
    set: SetId,
}

pub struct L1d {
    pub counters: L1dCounters,
    cycles: u64,
    tags: Tags,
    pub data: DataArray,
    mshr: Mshr<Waiter>,
    /// By register.
    coming: Vec<Coming>,
    allocate: Allocation,
    /// Sets and ways as usual, and where shared memory is small; which of them it is.
    shapes: [(u32, u32); 2],
    is_large: bool,
    set_index: SetIndex,
    pub requests: Requests,
    /// Numbers of dirty lines that were evicted or flushed and wait for space in the request queue.
    backlog: VecDeque<u64>,
    /// Lines written back that L2 has not acknowledged, those of the backlog included.
    write_backs: u32,
    /// Those that waited together for the line that came last.
    pub together: Vec<Waiter>,
    /// There was a store to local memory: lines may have to be written back.
    has_changed: bool,
    /// The techniques that act ahead of it.
    filters: Vec<Hung<dyn FilterSite>>,
}

impl L1d {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> L1d {
        let spec = &config.l1d;
        let (sets, ways) = config.l1d_shape(false);
        let tags = Tags::hashed(sets, ways, spec.set_index);
        let shape = ArrayShape { frames: tags.len(), ways: tags.ways(), line_bytes: LINE_BYTES as u32 };
        L1d {
            counters: L1dCounters::default(),
            cycles: u64::from(spec.cycles),
            data: DataArray::new(config, techniques, sm, Array::L1d, shape),
            backlog: VecDeque::with_capacity(tags.len() as usize),
            tags,
            mshr: Mshr::new(spec.mshrs, spec.merges),
            coming: vec![Coming { place: None, changed: false, set: SetId::default() }; spec.mshrs as usize],
            has_changed: false,
            together: Vec::new(),
            allocate: spec.allocate,
            shapes: [false, true].map(|large| config.l1d_shape(large)),
            is_large: false,
            set_index: spec.set_index,
            requests: Requests::new(config, sm, Client::L1d, spec.miss_queue),
            write_backs: 0,
            filters: techniques.hang(config, sm, |sites, build| Some((sites.filter?)(build))),
        }
    }

    /// What was counted, with the intervals that the data array keeps.
    #[inline(always)]
    pub fn counters(&self) -> L1dCounters {
        L1dCounters {
            intervals: self.data.intervals(),
            line_intervals: self.data.frame_intervals(),
            ..self.counters.clone()
        }
    }

    /// Every use of the data array; gives the cycle in which it is served.
    #[inline(always)]
    fn use_data(&mut self, now: u64, usage: Use, lanes: u8, row: RowAccess) -> u64 {
        match usage {
            Use::Read | Use::Modify | Use::WriteBack => self.counters.array_reads += 1,
            Use::Write => self.counters.array_writes += 1,
            Use::Fill => self.counters.fills += 1,
        }
        self.counters.lanes += u64::from(lanes);
        self.data.note_use(now);
        self.data.access(now, usage, lanes, row)
    }

    /// One transaction. When it cannot be done, nothing has changed.
    #[inline(always)]
    pub fn access(&mut self, now: u64, op: Op, line: &Line, requester: Requester) -> Result<Answer, Cause> {
        if self.filters.is_empty() {
            self.access_array(now, op, line, requester)
        } else {
            self.filter(now, op, line, requester)
        }
    }

    /// An access with techniques in front of the cache, which are called one after the other.
    #[cold]
    #[inline(never)]
    fn filter(&mut self, now: u64, op: Op, line: &Line, requester: Requester) -> Result<Answer, Cause> {
        let number = line.address / LINE_BYTES;
        if op == Op::Load {
            let found = self.filters.iter_mut().find_map(|hung| hung.site.load(now, number, requester.lanes));
            if let Some(ready) = found {
                return Ok(Answer::At(ready));
            }
        }
        let answer = self.access_array(now, op, line, requester)?;
        match (op, answer) {
            (Op::Load, Answer::At(ready)) => {
                let delay = self.filters.iter().map(|hung| hung.site.delay()).max().unwrap_or(0);
                self.filters.iter_mut().for_each(|hung| hung.site.fill(now, number));
                return Ok(Answer::At(ready + delay));
            }
            (Op::Load | Op::Bypass, _) => {}
            _ => self.filters.iter_mut().for_each(|hung| hung.site.store(now, number)),
        }
        Ok(answer)
    }

    /// Whether no technique acts here.
    pub fn is_plain(&self) -> bool {
        self.filters.is_empty() && !self.data.has_sites()
    }

    #[inline(always)]
    fn access_array(&mut self, now: u64, op: Op, line: &Line, requester: Requester) -> Result<Answer, Cause> {
        if self.data.has_sites() {
            self.lose(now);
        }
        match (op, self.tags.find_valid(line.address / LINE_BYTES)) {
            (Op::Load, (set, None)) => self.load_apart(now, line, set, requester.waiter(), requester.lanes),
            (_, (_, place)) => self.access_at(now, op, line, place, requester),
        }
    }

    /// [`L1d::access`] where no technique acts.
    #[inline(always)]
    pub fn access_plainly(
        &mut self,
        now: u64,
        op: Op,
        line: &Line,
        requester: Requester,
    ) -> Result<Answer, Cause> {
        match (op, self.tags.find_valid(line.address / LINE_BYTES)) {
            (Op::Load, (set, None)) => self.load(now, line, set, requester.waiter(), requester.lanes),
            (_, (_, place)) => self.access_at(now, op, line, place, requester),
        }
    }

    /// A transaction, but for loads of lines that are not there.
    #[inline(always)]
    fn access_at(
        &mut self,
        now: u64,
        op: Op,
        line: &Line,
        place: Option<LineId>,
        requester: Requester,
    ) -> Result<Answer, Cause> {
        match (op, place) {
            (Op::Load, Some(place)) => {
                self.tags.touch(place);
                let row = RowAccess { frame: place, line: line.address / LINE_BYTES, words: line.words };
                let ready = self.use_data(now, Use::Read, requester.lanes, row);
                self.counters.reads += 1;
                self.counters.load_lanes += u64::from(requester.lanes);
                self.counters.read_hits += 1;
                Ok(Answer::At(ready + self.cycles))
            }
            (Op::LocalStore, _) => self.store_local(now, line, place, requester.lanes),
            _ => self.pass(now, op, line, place, requester),
        }
    }

    /// A transaction that goes past the cache to L2. A line of global memory is never changed here: one that is written, and has this place,
    /// is dropped. One that is being fetched stays: those who wait for it came first.
    #[inline(always)]
    fn pass(
        &mut self,
        now: u64,
        op: Op,
        line: &Line,
        place: Option<LineId>,
        requester: Requester,
    ) -> Result<Answer, Cause> {
        if self.requests.room() == 0 {
            return Err(Cause::Queue);
        }
        let (flight, write) = (Note::Flight(requester.flight), Note::Write(requester.warp));
        let &Line { address, words, rounds } = line;
        let (kind, words, note) = match op {
            Op::Load | Op::LocalStore | Op::Bypass => (PacketKind::Read, segments(words), flight),
            Op::Store => (PacketKind::Write, words, write),
            Op::Reduction => (PacketKind::Reduction, words, write),
            Op::Atomic => (PacketKind::Atomic, words, flight),
        };
        let lanes = requester.lanes;
        self.requests.push(now, Request { kind, address, words, lanes, rounds, note });
        if kind == PacketKind::Read {
            self.counters.bypasses += 1;
            return Ok(Answer::Later);
        }
        if let Some(place) = place {
            self.tags.set_state(place, State::Invalid);
            self.counters.write_evictions += 1;
        }
        if op == Op::Store {
            self.counters.writes += 1;
            self.counters.written += line.bytes();
        } else {
            self.counters.atomics += 1;
        }
        Ok(if op == Op::Atomic { Answer::Later } else { Answer::At(now) })
    }

    #[inline(never)]
    fn load_apart(
        &mut self,
        now: u64,
        line: &Line,
        set: SetId,
        waiter: Waiter,
        lanes: u8,
    ) -> Result<Answer, Cause> {
        self.load(now, line, set, waiter, lanes)
    }

    /// A load of a line that is not there.
    #[inline(always)]
    fn load(
        &mut self,
        now: u64,
        line: &Line,
        set: SetId,
        waiter: Waiter,
        lanes: u8,
    ) -> Result<Answer, Cause> {
        let number = line.address / LINE_BYTES;
        if let Some(register) = self.mshr.find(number) {
            self.join(register, waiter)?;
            self.data.merged(now, lanes, line.words, self.coming[register.0 as usize].place);
            self.counters.merges += 1;
        } else {
            let place = self.place_for(now, number)?;
            self.fetch(now, line.address, (set, place), lanes, waiter);
            self.counters.misses += 1;
        }
        self.counters.reads += 1;
        self.counters.load_lanes += u64::from(lanes);
        Ok(Answer::WithLine)
    }

    /// Whether it is certain, without looking the line up again, that a transaction still finds no miss status register.
    #[inline(always)]
    pub fn is_still_full(&self) -> bool {
        // A line that was not being fetched is not fetched by others, since transactions are made in order.
        self.mshr.is_full() && self.filters.is_empty() && !self.data.has_sites()
    }

    /// A store to local memory, whose line may have a place.
    #[inline(never)]
    fn store_local(
        &mut self,
        now: u64,
        line: &Line,
        place: Option<LineId>,
        lanes: u8,
    ) -> Result<Answer, Cause> {
        let waiter = Waiter::Nobody;
        let number = line.address / LINE_BYTES;
        self.has_changed = true;
        match place {
            Some(place) => {
                self.write(now, place, line, lanes);
                self.counters.write_hits += 1;
                self.counters.hit_written += line.bytes();
            }
            None if let Some(register) = self.mshr.find(number) => {
                self.join(register, waiter)?;
                self.coming[register.0 as usize].changed = true;
            }
            // All of it is written: there is nothing to fetch.
            None if line.words == u32::MAX => {
                let place = self.make_room(now, number, 0)?;
                self.write(now, place, line, lanes);
                self.catch_up(now);
            }
            None => {
                let set = self.tags.set_of(number);
                let place = self.place_for(now, number)?;
                let register = self.fetch(now, line.address, (set, place), lanes, waiter);
                self.coming[register.0 as usize].changed = true;
                self.counters.write_fetches += 1;
            }
        }
        self.counters.writes += 1;
        self.counters.written += line.bytes();
        Ok(Answer::At(now))
    }

    /// Nothing waits until the array has accepted it.
    fn write(&mut self, now: u64, place: LineId, line: &Line, lanes: u8) {
        self.tags.set_state(place, State::Dirty);
        self.tags.touch(place);
        let row = RowAccess { frame: place, line: line.address / LINE_BYTES, words: line.words };
        self.use_data(now, Use::Write, lanes, row);
    }

    /// Waits for a line that is being fetched.
    #[inline(always)]
    fn join(&mut self, register: MshrId, waiter: Waiter) -> Result<(), Cause> {
        if !self.mshr.has_room(register) {
            return Err(Cause::Merges);
        }
        self.mshr.merge(register, waiter);
        if let Some(place) = self.coming[register.0 as usize].place {
            self.tags.touch(place);
        }
        Ok(())
    }

    /// Whether a line that is not there can be asked for, and the place that it gets before it comes.
    #[inline(always)]
    fn place_for(&mut self, now: u64, number: u64) -> Result<Option<LineId>, Cause> {
        if self.mshr.is_full() {
            return Err(Cause::Mshrs);
        }
        match self.allocate {
            Allocation::Miss => Ok(Some(self.make_room(now, number, 1)?)),
            // Changed lines that fills displaced go first.
            Allocation::Fill if self.requests.room() == 0 || !self.backlog.is_empty() => Err(Cause::Queue),
            Allocation::Fill => Ok(None),
        }
    }

    /// Asks for a line, which may have its place.
    #[inline(always)]
    fn fetch(
        &mut self,
        now: u64,
        address: u64,
        (set, place): (SetId, Option<LineId>),
        lanes: u8,
        waiter: Waiter,
    ) -> MshrId {
        let number = address / LINE_BYTES;
        let register = self.mshr.allocate(number, waiter);
        self.coming[register.0 as usize] = Coming { place, changed: false, set };
        let note = Note::Fill(register.0);
        let words = u32::MAX;
        self.requests.push(now, Request { kind: PacketKind::Read, address, words, lanes, rounds: 1, note });
        if !self.backlog.is_empty() {
            self.catch_up(now);
        }
        register
    }

    /// Reserves a place if the miss queue has room for so many `requests`. An evicted dirty line waits in the backlog, which
    /// has to be empty: it is a buffer for one.
    fn make_room(&mut self, now: u64, number: u64, requests: usize) -> Result<LineId, Cause> {
        let victim = self.tags.victim(number).ok_or(Cause::Ways)?;
        let changed = victim.is_some_and(|victim| victim.dirty);
        if self.requests.room() < requests || changed && !self.backlog.is_empty() {
            return Err(Cause::Queue);
        }
        self.take_place(now, number).ok_or(Cause::Ways)
    }

    /// Allocates the least recently used way of the set for a line; an evicted dirty line goes to the backlog.
    #[inline(always)]
    fn take_place(&mut self, now: u64, number: u64) -> Option<LineId> {
        let (place, evicted) = self.tags.reserve(number)?;
        if let Some(evicted) = evicted {
            self.evict(now, place, evicted);
        }
        Some(place)
    }

    /// A line had to leave its place; a dirty one goes to the backlog.
    #[inline(always)]
    fn evict(&mut self, now: u64, place: LineId, evicted: Evicted) {
        self.counters.evictions += 1;
        if evicted.dirty {
            self.evict_dirty(now, place, evicted.line);
        }
    }

    #[cold]
    #[inline(never)]
    fn evict_dirty(&mut self, now: u64, place: LineId, number: u64) {
        self.use_data(now, Use::WriteBack, 32, whole(place, number));
        self.write_backs += 1;
        self.backlog.push_back(number);
    }

    fn write_back(&mut self, now: u64, number: u64) {
        let (address, words, note) = (number * LINE_BYTES, u32::MAX, Note::WriteBack);
        self.requests
            .push(now, Request { kind: PacketKind::Write, address, words, lanes: 32, rounds: 1, note });
        self.counters.write_backs += 1;
    }

    /// Drops lines that a technique gave up; changed ones are written back as the miss queue has room.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, now: u64) {
        for place in self.data.lost(now) {
            if let Some(number) = self.tags.lose(place) {
                self.backlog.push_back(number);
                self.write_backs += 1;
            }
        }
        self.catch_up(now);
    }

    /// Whether an answer may make a line that has to be written back leave its place.
    #[inline(always)]
    pub fn may_write_back(&self) -> bool {
        self.has_changed
    }

    /// A line is there. Those that waited for it have their data as soon as the array has taken it, in a cycle that is given. If only one did, it
    /// is given, too; otherwise they are in [`L1d::together`].
    #[inline(always)]
    pub fn fill(&mut self, now: u64, register: u32) -> (Option<Waiter>, u64) {
        if self.data.has_sites() {
            self.lose(now);
        }
        let Coming { place, changed, set } = self.coming[register as usize];
        let number = self.mshr.line(MshrId(register));
        let state = if changed { State::Dirty } else { State::Clean };
        let place = match place {
            Some(place) => {
                self.tags.set_state(place, state);
                Some(place)
            }
            None => match self.tags.fill(set, number, state) {
                Some((place, evicted)) => {
                    if let Some(evicted) = evicted {
                        self.evict(now, place, evicted);
                    }
                    Some(place)
                }
                None => None,
            },
        };
        let ready = match place {
            Some(place) => self.use_data(now, Use::Fill, 32, whole(place, number)),
            None => self.pass_on(now, number, changed),
        };
        if !self.backlog.is_empty() {
            self.catch_up(now);
        }
        let only = self.mshr.release_only(MshrId(register));
        if only.is_none() {
            self.mshr.release_into(MshrId(register), &mut self.together);
        }
        if !self.filters.is_empty() {
            self.fill_filters(now, number, only);
        }
        (only, ready)
    }

    /// A line was asked for when the cache had another size, and all places of its set are reserved: it is not kept.
    #[cold]
    #[inline(never)]
    fn pass_on(&mut self, now: u64, number: u64, changed: bool) -> u64 {
        if changed {
            self.backlog.push_back(number);
            self.write_backs += 1;
        }
        now
    }

    /// Tells techniques ahead of the cache of a line, for each load that waited for it.
    #[cold]
    #[inline(never)]
    fn fill_filters(&mut self, now: u64, number: u64, only: Option<Waiter>) {
        let loads = only.iter().chain(&self.together).filter(|&&waiter| waiter != Waiter::Nobody).count();
        for hung in &mut self.filters {
            (0..loads).for_each(|_| hung.site.fill(now, number));
        }
    }

    /// Loads that wait for a line and for nothing else.
    pub fn alone(&self) -> usize {
        self.mshr.waiters().filter(|waiter| matches!(waiter, Waiter::Alone { .. })).count()
    }

    /// Adds what techniques ahead of the cache counted.
    pub fn count_filters(&self, counters: &mut TechniqueCounters) {
        for Hung { technique, site } in &self.filters {
            counters.note(*technique, site.counters().as_ref());
        }
    }

    /// L2 has a line that was written back.
    pub fn written_back(&mut self) {
        self.write_backs = self.write_backs.saturating_sub(1);
    }

    /// Drops all lines but those on their way; changed ones are written back as the miss queue has room.
    pub fn flush(&mut self, now: u64) {
        self.filters.iter_mut().for_each(|hung| hung.site.flush());
        let (backlog, write_backs, data) = (&mut self.backlog, &mut self.write_backs, &mut self.data);
        self.tags.flush(|place, number| {
            data.access(now, Use::WriteBack, 32, whole(place, number));
            backlog.push_back(number);
            *write_backs += 1;
        });
        self.catch_up(now);
    }

    /// Takes the size for the kernel that starts. Only between kernels, when lines have been dropped. What is still on its way are lines that stores of
    /// a kernel that has ended asked for: these get a place when they come.
    pub fn resize(&mut self, now: u64, large: bool) {
        if large == self.is_large {
            return;
        }
        self.is_large = large;
        let (sets, ways) = self.shapes[usize::from(large)];
        self.tags = Tags::hashed(sets, ways, self.set_index);
        for (register, coming) in (0..).zip(&mut self.coming) {
            let set = self.tags.set_of(self.mshr.line(MshrId(register)));
            *coming = Coming { place: None, set, ..*coming };
        }
        let shape = ArrayShape { frames: self.tags.len(), ways, line_bytes: LINE_BYTES as u32 };
        self.data.resize(now, shape);
    }

    /// Moves the backlog to the miss queue as far as there is room.
    #[inline(never)]
    fn catch_up(&mut self, now: u64) {
        while self.requests.room() != 0
            && let Some(number) = self.backlog.pop_front()
        {
            self.write_back(now, number);
        }
    }

    /// Offers a request to the network. False if there is one and it was not taken.
    #[inline]
    pub fn send(&mut self, now: u64, outbox: &mut Outbox) -> bool {
        let taken = self.requests.send(now, outbox);
        if !self.backlog.is_empty() {
            self.catch_up(now);
        }
        taken
    }

    /// Nothing is being fetched or written back.
    pub fn is_idle(&self) -> bool {
        self.mshr.in_use() == 0 && self.write_backs == 0 && self.requests.is_empty()
    }

    /// Addresses of lines being fetched.
    pub fn fetching(&self) -> impl Iterator<Item = u64> {
        self.mshr.lines().map(|number| number * LINE_BYTES)
    }
}

/// An access to all words of a line.
fn whole(frame: LineId, line: u64) -> RowAccess {
    RowAccess { frame, line, words: u32::MAX }
}
