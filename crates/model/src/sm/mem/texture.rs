// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texture cache, after Igehy, Eldridge and Proudfoot, "Prefetching in a Texture Cache Architecture" (1998).
//!
//! Tags run ahead of data. A line that is looked for passes the tags, one a cycle; if it is not there it takes over its place at once and
//! is asked for. The access then waits in the fragment queue. Lines come back in any order and are put in order again; an access leaves
//! the queue, one a cycle, when it is the first and all lines asked for up to it have come. So a tag that says "there" is always right
//! by the time the data are read.

use std::collections::VecDeque;

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};
use warpwatt_config::Config;

use crate::cache::{Array, ArrayShape, DataArray, LineId, RowAccess, State, Tags, Use};
use crate::net::{Client, Outbox, PacketKind};
use crate::techniques::Techniques;

use super::coalesce::Line;
use super::constant::line_words;
use super::flight::FlightId;
use super::requests::{Note, Request, Requests};
use super::{Cause, Requester};

counters! {
    /// What the texture cache did.
    pub struct TextureCounters(Charge::TextureLines) {
        instructions: u64 = "texture.instructions.count", "Texture instructions.";
        texels: u64 = "texture.texels.count", "Texels read by texture instructions.";
        reads: u64 = "texture.reads.count", "Lines accessed.";
        hits: u64 = "texture.hits.count", "Lines accessed that hit, or were merged with an outstanding miss.";
        misses: u64 = "texture.misses.count", "Lines accessed that missed and were fetched.";
        array_reads: u64 = "texture.array_reads.count", "Reads of the data array.";
        fills: u64 = "texture.fills.count", "Lines that came from L2.";
        lanes: u64 = "texture.lanes.count", "Active lanes behind the uses of the data array.";
        fail_fragments: u64 = "texture.fail_fragments.cycles", "The next line waited: the fragment queue was full.";
        fail_mshrs: u64 = "texture.fail_mshrs.cycles", "The next line waited: as many as can be were being fetched.";
        network: u64 = "texture.network.cycles", "The network did not accept the next request.";
        intervals: Log2 = "texture.interval.histogram", "Cycles between two uses of the data array.";
        line_intervals: Log2 = "texture.line_interval.histogram", "Cycles between two uses of the same line of the data array.";
    }
}

/// A line that is looked for by an instruction.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    flight: FlightId,
    place: LineId,
    /// Number of the line.
    line: u64,
    lanes: u8,
    /// How many lines have to have come, counted from the start.
    needs: u64,
    /// One of these lines is its own: it goes into the data array before it is read.
    missed: bool,
}

pub struct TextureCache {
    pub counters: TextureCounters,
    cycles: u64,
    shift: u32,
    tags: Tags,
    pub data: DataArray,
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
}

impl TextureCache {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> TextureCache {
        let spec = &config.texture;
        let tags = Tags::new(spec.sets, spec.ways);
        let shape = ArrayShape { frames: tags.len(), ways: tags.ways(), line_bytes: spec.line_bytes };
        TextureCache {
            counters: TextureCounters::default(),
            cycles: u64::from(spec.cycles),
            shift: spec.line_bytes.trailing_zeros(),
            tags,
            data: DataArray::new(config, techniques, sm, Array::Texture, shape),
            fragments: spec.fragments as usize,
            waiting: VecDeque::with_capacity(spec.fragments as usize),
            leaving: VecDeque::with_capacity(spec.fragments as usize),
            last_leave: None,
            asked: 0,
            come: 0,
            early: vec![false; spec.mshrs as usize],
            requests: Requests::new(config, sm, Client::Texture, spec.mshrs),
        }
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> u64 {
        1 << self.shift
    }

    /// What was counted, with the intervals that the data array keeps.
    #[inline(always)]
    pub fn counters(&self) -> TextureCounters {
        TextureCounters {
            intervals: self.data.intervals(),
            line_intervals: self.data.frame_intervals(),
            ..self.counters.clone()
        }
    }

    /// Every use of the data array, of whole lines; gives the cycle in which it is served.
    #[inline(always)]
    fn use_data(&mut self, now: u64, usage: Use, lanes: u8, frame: LineId, line: u64) -> u64 {
        match usage {
            Use::Read | Use::Modify | Use::WriteBack => self.counters.array_reads += 1,
            Use::Write | Use::Fill => self.counters.fills += 1,
        }
        self.counters.lanes += u64::from(lanes);
        self.data.note_use(now);
        self.data.access(now, usage, lanes, RowAccess { frame, line, words: line_words(0, self.shift) })
    }

    /// Passes one line of an instruction through the tags. Accesses whose lines are there are told to `land` with the cycle of their
    /// result.
    #[inline(always)]
    pub fn access(
        &mut self,
        now: u64,
        line: &Line,
        Requester { flight, lanes, .. }: Requester,
        land: impl FnMut(FlightId, u64),
    ) -> Result<(), Cause> {
        while self.leaving.front().is_some_and(|&at| at <= now) {
            self.leaving.pop_front();
        }
        if self.waiting.len() + self.leaving.len() >= self.fragments {
            return Err(Cause::Fragments);
        }
        if self.data.has_sites() {
            for place in self.data.lost(now) {
                self.tags.lose(place);
            }
        }
        let number = line.address >> self.shift;
        let (place, missed) = match self.tags.find(number) {
            Some(place) => {
                self.tags.touch(place);
                self.counters.hits += 1;
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
                self.requests
                    .push(now, Request { kind: PacketKind::Read, address, words, lanes, rounds: 1, note });
                self.asked += 1;
                self.counters.misses += 1;
                (place, true)
            }
        };
        self.counters.reads += 1;
        self.waiting.push_back(Fragment { flight, place, line: number, lanes, needs: self.asked, missed });
        self.retire(now, land);
        Ok(())
    }

    /// A line has come.
    #[inline(always)]
    pub fn fill(&mut self, now: u64, slot: u32, land: impl FnMut(FlightId, u64)) {
        self.early[slot as usize] = true;
        let size = self.early.len() as u64;
        while self.come < self.asked && std::mem::take(&mut self.early[(self.come % size) as usize]) {
            self.come += 1;
        }
        self.retire(now, land);
    }

    /// Lets accesses leave whose lines have come.
    fn retire(&mut self, now: u64, mut land: impl FnMut(FlightId, u64)) {
        while let Some(&Fragment { flight, place, line, lanes, needs, missed }) = self.waiting.front()
            && needs <= self.come
        {
            self.waiting.pop_front();
            let at = self.last_leave.map_or(now, |last| now.max(last + 1));
            self.last_leave = Some(at);
            self.leaving.push_back(at);
            if missed {
                self.use_data(at, Use::Fill, 32, place, line);
            }
            let ready = self.use_data(at, Use::Read, lanes, place, line);
            land(flight, ready + self.cycles);
        }
    }

    /// When the fragment queue has room without a line coming.
    pub fn room_at(&self) -> u64 {
        self.leaving.front().copied().unwrap_or(u64::MAX)
    }

    pub fn flush(&mut self) {
        self.tags.flush(|_, _| ());
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
