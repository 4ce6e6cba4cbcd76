// SPDX-License-Identifier: MIT OR Apache-2.0
//! The L1 data cache: write-evict without allocation for global memory, write-back with allocation for local memory; one line a cycle.
//!
//! Global stores go to L2 and drop the line here; so do atomics and reductions, which L2 carries out. Local memory belongs to one warp,
//! so its lines can stay changed until they make room. A load that finds no line reserves a place at once and waits in a miss status
//! register; one that finds its line reserved joins those who wait. What cannot be done leaves everything as it is and is tried again.

use std::collections::VecDeque;

use warpwatt_config::Config;

use crate::cache::{LineId, Mshr, MshrId, State, Tags};
use crate::net::{Client, Kind, LINE_BYTES, Outbox};

use super::coalesce::{Line, segments};
use super::flight::FlightId;
use super::requests::{Note, Request, Requests};
use super::{Answer, Asker, Cause, MemCounters, Use};

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

#[derive(Clone, Copy, Debug)]
struct Waiter {
    /// A load; stores do not wait for the line they change.
    flight: Option<FlightId>,
}

pub struct L1d {
    cycles: u64,
    tags: Tags,
    mshr: Mshr<Waiter>,
    /// By register: where its line will be, and whether a store has changed it meanwhile.
    places: Vec<(LineId, bool)>,
    pub requests: Requests,
    /// Numbers of changed lines that made room or were flushed, and wait for room among the requests.
    backlog: VecDeque<u64>,
    /// Lines written back that L2 has not acknowledged, those of the backlog included.
    write_backs: u32,
    last_use: u64,
}

impl L1d {
    pub fn new(config: &Config, sm: u32) -> L1d {
        let spec = &config.l1d;
        let bytes = config.sm.onchip_bytes.saturating_sub(config.shared.bytes);
        let sets = (bytes / LINE_BYTES as u32 / spec.ways).max(1);
        let tags = Tags::new(sets, spec.ways);
        L1d {
            cycles: u64::from(spec.cycles),
            backlog: VecDeque::with_capacity(tags.len() as usize),
            tags,
            mshr: Mshr::new(spec.mshrs, spec.merges),
            places: vec![(LineId(0), false); spec.mshrs as usize],
            requests: Requests::new(config, sm, Client::L1d, spec.miss_queue),
            write_backs: 0,
            last_use: 0,
        }
    }

    /// Every use of the data array.
    #[inline(always)]
    fn data(&mut self, now: u64, _line: LineId, lanes: u8, usage: Use, counters: &mut MemCounters) {
        match usage {
            Use::Read => counters.l1d_array_reads += 1,
            Use::Write => counters.l1d_array_writes += 1,
            Use::Fill => counters.l1d_fills += 1,
        }
        counters.l1d_lanes += u64::from(lanes);
        counters.l1d_intervals.note(now - self.last_use);
        self.last_use = now;
    }

    /// One transaction. When it cannot be done, nothing has changed.
    #[inline(always)]
    pub fn access(
        &mut self,
        now: u64,
        op: Op,
        line: &Line,
        asker: Asker,
        counters: &mut MemCounters,
    ) -> Result<Answer, Cause> {
        // What happens most often is done in place.
        if op == Op::Load
            && let Some(place) = self.tags.find(line.address / LINE_BYTES)
            && self.tags.state(place) != State::Reserved
        {
            self.tags.touch(place);
            self.data(now, place, asker.lanes, Use::Read, counters);
            counters.l1d_reads += 1;
            counters.l1d_read_hits += 1;
            return Ok(Answer::At(now + self.cycles));
        }
        self.access_without_hit(now, op, line, asker, counters)
    }

    #[inline(never)]
    fn access_without_hit(
        &mut self,
        now: u64,
        op: Op,
        line: &Line,
        asker: Asker,
        counters: &mut MemCounters,
    ) -> Result<Answer, Cause> {
        match op {
            Op::Load => self.load(now, line, asker, counters),
            Op::LocalStore => self.store_local(now, line, asker, counters),
            Op::Bypass => {
                let line = Line { words: segments(line.words), ..*line };
                self.forward(now, Kind::Read, line, asker.lanes, Note::Flight(asker.flight))?;
                counters.l1d_bypasses += 1;
                Ok(Answer::Later)
            }
            Op::Store => {
                self.forward(now, Kind::Write, *line, asker.lanes, Note::Write(asker.warp))?;
                self.evict(line, counters);
                counters.l1d_writes += 1;
                Ok(Answer::At(now))
            }
            Op::Reduction => {
                self.forward(now, Kind::Reduction, *line, asker.lanes, Note::Write(asker.warp))?;
                self.evict(line, counters);
                counters.l1d_atomics += 1;
                Ok(Answer::At(now))
            }
            Op::Atomic => {
                self.forward(now, Kind::Atomic, *line, asker.lanes, Note::Flight(asker.flight))?;
                self.evict(line, counters);
                counters.l1d_atomics += 1;
                Ok(Answer::Later)
            }
        }
    }

    fn forward(&mut self, now: u64, kind: Kind, line: Line, lanes: u8, note: Note) -> Result<(), Cause> {
        if self.requests.room() == 0 {
            return Err(Cause::Queue);
        }
        let Line { address, words, rounds } = line;
        self.requests.push(now, Request { kind, address, words, lanes, rounds, note });
        Ok(())
    }

    /// Drops a line of global memory, which is never changed here. One that is being fetched stays: those who wait for it came first.
    fn evict(&mut self, line: &Line, counters: &mut MemCounters) {
        if let Some(place) = self.tags.find(line.address / LINE_BYTES)
            && self.tags.state(place) != State::Reserved
        {
            self.tags.set_state(place, State::Invalid);
            counters.l1d_write_evictions += 1;
        }
    }

    /// A load of a line that is not there.
    fn load(
        &mut self,
        now: u64,
        line: &Line,
        asker: Asker,
        counters: &mut MemCounters,
    ) -> Result<Answer, Cause> {
        let waiter = Waiter { flight: Some(asker.flight) };
        let number = line.address / LINE_BYTES;
        if let Some(place) = self.tags.find(number) {
            self.join(number, waiter)?;
            self.tags.touch(place);
            counters.l1d_merges += 1;
        } else {
            self.fetch(now, line.address, asker.lanes, waiter, counters)?;
            counters.l1d_misses += 1;
        }
        counters.l1d_reads += 1;
        Ok(Answer::Later)
    }

    fn store_local(
        &mut self,
        now: u64,
        line: &Line,
        asker: Asker,
        counters: &mut MemCounters,
    ) -> Result<Answer, Cause> {
        let waiter = Waiter { flight: None };
        let number = line.address / LINE_BYTES;
        match self.tags.find(number) {
            Some(place) if self.tags.state(place) != State::Reserved => {
                self.write(now, place, asker.lanes, counters);
                counters.l1d_write_hits += 1;
            }
            Some(place) => {
                let register = self.join(number, waiter)?;
                self.tags.touch(place);
                self.places[register.0 as usize].1 = true;
            }
            // All of it is written: there is nothing to fetch.
            None if line.words == u32::MAX => {
                let place = self.make_room(now, number, 0, counters)?;
                self.write(now, place, asker.lanes, counters);
                self.catch_up(now, counters);
            }
            None => {
                let register = self.fetch(now, line.address, asker.lanes, waiter, counters)?;
                self.places[register.0 as usize].1 = true;
                counters.l1d_write_fetches += 1;
            }
        }
        counters.l1d_writes += 1;
        Ok(Answer::At(now))
    }

    fn write(&mut self, now: u64, place: LineId, lanes: u8, counters: &mut MemCounters) {
        self.tags.set_state(place, State::Dirty);
        self.tags.touch(place);
        self.data(now, place, lanes, Use::Write, counters);
    }

    /// Waits for a line that is being fetched.
    fn join(&mut self, number: u64, waiter: Waiter) -> Result<MshrId, Cause> {
        let register = self.mshr.find(number).ok_or(Cause::Mshrs)?;
        if !self.mshr.has_room(register) {
            return Err(Cause::Merges);
        }
        self.mshr.merge(register, waiter);
        Ok(register)
    }

    /// Asks for a line that is not there.
    fn fetch(
        &mut self,
        now: u64,
        address: u64,
        lanes: u8,
        waiter: Waiter,
        counters: &mut MemCounters,
    ) -> Result<MshrId, Cause> {
        if self.mshr.is_full() {
            return Err(Cause::Mshrs);
        }
        let number = address / LINE_BYTES;
        let place = self.make_room(now, number, 1, counters)?;
        let register = self.mshr.allocate(number, waiter);
        self.places[register.0 as usize] = (place, false);
        let note = Note::Fill(register.0);
        let words = u32::MAX;
        self.requests.push(now, Request { kind: Kind::Read, address, words, lanes, rounds: 1, note });
        self.catch_up(now, counters);
        Ok(register)
    }

    /// Reserves a place if the miss queue has room for so many `requests`. A changed line that has to go waits in the backlog, which
    /// has to be empty: it is a buffer for one.
    fn make_room(
        &mut self,
        now: u64,
        number: u64,
        requests: usize,
        counters: &mut MemCounters,
    ) -> Result<LineId, Cause> {
        let victim = self.tags.victim(number).ok_or(Cause::Ways)?;
        let changed = victim.is_some_and(|victim| victim.dirty);
        if self.requests.room() < requests || changed && !self.backlog.is_empty() {
            return Err(Cause::Queue);
        }
        let (place, evicted) = self.tags.reserve(number).ok_or(Cause::Ways)?;
        if let Some(evicted) = evicted {
            counters.l1d_evictions += 1;
            if evicted.dirty {
                self.data(now, place, 32, Use::Read, counters);
                self.write_backs += 1;
                self.backlog.push_back(evicted.line);
            }
        }
        Ok(place)
    }

    fn write_back(&mut self, now: u64, number: u64, counters: &mut MemCounters) {
        let (address, words, note) = (number * LINE_BYTES, u32::MAX, Note::WriteBack);
        self.requests.push(now, Request { kind: Kind::Write, address, words, lanes: 32, rounds: 1, note });
        counters.l1d_write_backs += 1;
    }

    /// A line is there. Loads that waited for it have their data in this cycle.
    pub fn fill(
        &mut self,
        now: u64,
        register: u32,
        counters: &mut MemCounters,
        mut land: impl FnMut(FlightId, &mut MemCounters),
    ) {
        let (place, changed) = self.places[register as usize];
        self.tags.set_state(place, if changed { State::Dirty } else { State::Clean });
        self.data(now, place, 32, Use::Fill, counters);
        self.mshr.release(MshrId(register), |waiter| {
            if let Some(flight) = waiter.flight {
                land(flight, counters);
            }
        });
    }

    /// L2 has a line that was written back.
    pub fn written_back(&mut self) {
        self.write_backs = self.write_backs.saturating_sub(1);
    }

    /// Drops all lines but those on their way; changed ones are written back as the miss queue has room.
    pub fn flush(&mut self, now: u64, counters: &mut MemCounters) {
        let (backlog, write_backs) = (&mut self.backlog, &mut self.write_backs);
        self.tags.flush(|number| {
            backlog.push_back(number);
            *write_backs += 1;
        });
        self.catch_up(now, counters);
    }

    /// Moves the backlog to the miss queue as far as there is room.
    fn catch_up(&mut self, now: u64, counters: &mut MemCounters) {
        while self.requests.room() != 0
            && let Some(number) = self.backlog.pop_front()
        {
            self.write_back(now, number, counters);
        }
    }

    /// Offers a request to the network. False if there is one and it was not taken.
    #[inline]
    pub fn send(&mut self, now: u64, outbox: &mut Outbox, counters: &mut MemCounters) -> bool {
        let taken = self.requests.send(now, outbox);
        if !self.backlog.is_empty() {
            self.catch_up(now, counters);
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
