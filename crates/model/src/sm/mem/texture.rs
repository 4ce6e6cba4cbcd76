// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texture cache, after Igehy, Eldridge and Proudfoot, "Prefetching in a Texture Cache Architecture" (1998).
//!
//! Tags run ahead of data. A line that is looked for passes the tags, one a cycle; if it is not there it takes over its place at once and
//! is asked for. The access then waits in the fragment queue. Lines come back in any order and are put in order again; an access leaves
//! the queue, one a cycle, when it is the first and all lines asked for up to it have come. So a tag that says "there" is always right
//! by the time the data are read.

use std::collections::VecDeque;

use warpwatt_config::Config;

use crate::cache::{LineId, State, Tags};
use crate::net::{Client, Kind, Outbox};

use super::coalesce::Line;
use super::constant::line_words;
use super::flight::FlightId;
use super::requests::{Note, Request, Requests};
use super::{Asker, Cause, MemCounters, Use};

/// A line that is looked for by an instruction.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    flight: FlightId,
    place: LineId,
    lanes: u8,
    /// How many lines have to have come, counted from the start.
    needs: u64,
    /// One of these lines is its own: it goes into the data array before it is read.
    missed: bool,
}

pub struct TextureCache {
    cycles: u64,
    shift: u32,
    tags: Tags,
    fragments: usize,
    /// Accesses that wait for lines.
    waiting: VecDeque<Fragment>,
    /// Cycles in which accesses whose lines have come leave the queue, in order.
    leaving: VecDeque<u64>,
    last_leave: Option<u64>,
    /// Lines asked for, and those of them that have come in order.
    asked: u64,
    come: u64,
    /// Lines that have come before their turn, by number modulo the size.
    early: Vec<bool>,
    pub requests: Requests,
    last_use: u64,
}

impl TextureCache {
    pub fn new(config: &Config, sm: u32) -> TextureCache {
        let spec = &config.texture;
        TextureCache {
            cycles: u64::from(spec.cycles),
            shift: spec.line_bytes.trailing_zeros(),
            tags: Tags::new(spec.sets, spec.ways),
            fragments: spec.fragments as usize,
            waiting: VecDeque::with_capacity(spec.fragments as usize),
            leaving: VecDeque::with_capacity(spec.fragments as usize),
            last_leave: None,
            asked: 0,
            come: 0,
            early: vec![false; spec.mshrs as usize],
            requests: Requests::new(config, sm, Client::Texture, spec.mshrs),
            last_use: 0,
        }
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> u64 {
        1 << self.shift
    }

    /// Every use of the data array.
    #[inline(always)]
    fn data(&mut self, now: u64, _line: LineId, lanes: u8, usage: Use, counters: &mut MemCounters) {
        match usage {
            Use::Read => counters.texture_array_reads += 1,
            Use::Write | Use::Fill => counters.texture_fills += 1,
        }
        counters.texture_lanes += u64::from(lanes);
        counters.texture_intervals.note(now - self.last_use);
        self.last_use = now;
    }

    /// Passes one line of an instruction through the tags. Accesses whose lines are there are told to `land` with the cycle of their
    /// result.
    pub fn access(
        &mut self,
        now: u64,
        line: &Line,
        Asker { flight, lanes, .. }: Asker,
        counters: &mut MemCounters,
        land: impl FnMut(FlightId, u64, &mut MemCounters),
    ) -> Result<(), Cause> {
        while self.leaving.front().is_some_and(|&at| at <= now) {
            self.leaving.pop_front();
        }
        if self.waiting.len() + self.leaving.len() >= self.fragments {
            return Err(Cause::Fragments);
        }
        let number = line.address >> self.shift;
        let (place, missed) = match self.tags.find(number) {
            Some(place) => {
                self.tags.touch(place);
                counters.texture_hits += 1;
                (place, false)
            }
            None => {
                if self.asked - self.come >= self.early.len() as u64 {
                    return Err(Cause::TextureMshrs);
                }
                // No place stays reserved, as data are written in the order in which they are read.
                let (place, _) = self.tags.reserve(number).ok_or(Cause::TextureMshrs)?;
                self.tags.set_state(place, State::Clean);
                let address = number << self.shift;
                let note = Note::Fill((self.asked % self.early.len() as u64) as u32);
                let words = line_words(address, self.shift);
                self.requests.push(now, Request { kind: Kind::Read, address, words, lanes, rounds: 1, note });
                self.asked += 1;
                counters.texture_misses += 1;
                (place, true)
            }
        };
        counters.texture_reads += 1;
        self.waiting.push_back(Fragment { flight, place, lanes, needs: self.asked, missed });
        self.retire(now, counters, land);
        Ok(())
    }

    /// A line has come.
    pub fn fill(
        &mut self,
        now: u64,
        slot: u32,
        counters: &mut MemCounters,
        land: impl FnMut(FlightId, u64, &mut MemCounters),
    ) {
        self.early[slot as usize] = true;
        let size = self.early.len() as u64;
        while self.come < self.asked && std::mem::take(&mut self.early[(self.come % size) as usize]) {
            self.come += 1;
        }
        self.retire(now, counters, land);
    }

    /// Lets accesses leave whose lines have come.
    fn retire(
        &mut self,
        now: u64,
        counters: &mut MemCounters,
        mut land: impl FnMut(FlightId, u64, &mut MemCounters),
    ) {
        while let Some(&Fragment { flight, place, lanes, needs, missed }) = self.waiting.front()
            && needs <= self.come
        {
            self.waiting.pop_front();
            let at = self.last_leave.map_or(now, |last| now.max(last + 1));
            self.last_leave = Some(at);
            self.leaving.push_back(at);
            if missed {
                self.data(at, place, 32, Use::Fill, counters);
            }
            self.data(at, place, lanes, Use::Read, counters);
            land(flight, at + self.cycles, counters);
        }
    }

    /// When the fragment queue has room without a line coming.
    pub fn room_at(&self) -> u64 {
        self.leaving.front().copied().unwrap_or(u64::MAX)
    }

    pub fn flush(&mut self) {
        self.tags.flush(|_| ());
    }

    /// Offers a request to the network. False if there is one and it was not taken.
    #[inline]
    pub fn send(&mut self, now: u64, outbox: &mut Outbox) -> bool {
        self.requests.send(now, outbox)
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.asked == self.come
    }

    /// Accesses that wait for lines.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
