// SPDX-License-Identifier: MIT OR Apache-2.0
//! An L2 slice: tags, a data array, an atomic unit and miss status registers.
//!
//! Requests are taken in order, one in an L2 clock at most. The cache is write-back and write-allocate: a write of a whole line
//! takes a place without fetching unless `l2.write_fetch` says otherwise, a write of a part fetches the line and is merged when that is
//! there; both are acknowledged once taken. Atomics and reductions need the line, and occupy the atomic unit for `atomic_cycles` a round. The data array moves
//! `port_bytes` in a clock, for hits, fills, evictions and atomics alike. `l2.cycles` after its data access an answer is ready; those of
//! misses come that long after the fill, so that a miss costs what the memory takes on top of a hit.
//!
//! A request that finds no miss status register, no room to wait, no place in its set, no room before the memory, or a busy array or
//! atomic unit blocks those behind it. So does a full queue of answers (`replies`).

use std::collections::VecDeque;

use warpwatt_config::Config;

use super::controller::Controller;
use super::counters::L2Counters;
use super::misses::{Miss, MissId, Misses};
use super::replies::Replies;
use crate::cache::{Array, ArrayShape, DataArray, LineId, RowAccess, SetId, State, Tags, Use};
use crate::host::{has_bit_instructions, in_two_copies};
use crate::net::{LINE_BYTES, Outbox, Packet, PacketKind};
use crate::techniques::Techniques;

const ALL_WORDS: u32 = u32::MAX;

/// Why the next request waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    Reply,
    Array,
    Atomic,
    Mshr,
    Merge,
    Ways,
    Memory,
}

impl Cause {
    /// What is waited for.
    pub fn in_words(self) -> &'static str {
        match self {
            Cause::Reply => "answers to leave",
            Cause::Array => "the data array",
            Cause::Atomic => "the atomic unit",
            Cause::Mshr => "a miss status register",
            Cause::Merge => "room to wait for its line",
            Cause::Ways => "a place in its set",
            Cause::Memory => "room in the queue of the memory controller",
        }
    }
}

/// A line with its set, and its place if it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LookedUp {
    line: u64,
    set: SetId,
    place: Option<LineId>,
}

impl LookedUp {
    /// It has a place, and may still be on its way there.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        self.place.is_some()
    }
}

pub struct Slice {
    /// From data access to answer, in L2 clocks.
    latency: u64,
    atomic_clocks: u64,
    /// A write of a whole line fetches it, too.
    write_fetch: bool,
    /// The words that the data array moves in one clock, and in how many it moves a line.
    chunks: Vec<u32>,
    line_moves: u64,
    tags: Tags,
    pub data: DataArray,
    misses: Misses,
    /// Changed lines that a technique gave up, and that wait for room before the memory.
    lost: VecDeque<u64>,
    pub replies: Replies,
    /// L2 clocks from which data array and atomic unit are free.
    array_free: u64,
    atomic_free: u64,
    /// Whether the host has instructions for bits.
    bit_instructions: bool,
    /// Requests by kind, with their bytes, without those that hit.
    pub counters: L2Counters,
}

impl Slice {
    pub fn new(config: &Config, techniques: &Techniques, partition: u32) -> Slice {
        let l2 = &config.l2;
        let chunk_words = (l2.port_bytes / 4).max(1);
        let mut chunks = vec![0; 32u32.div_ceil(chunk_words) as usize];
        (0..32).for_each(|word| chunks[(word / chunk_words) as usize] |= 1 << word);
        let tags = Tags::new(l2.sets, l2.ways);
        let shape = ArrayShape { frames: tags.len(), ways: tags.ways(), line_bytes: LINE_BYTES as u32 };
        Slice {
            latency: u64::from(l2.cycles),
            atomic_clocks: u64::from(l2.atomic_cycles),
            write_fetch: l2.write_fetch,
            line_moves: chunks.len() as u64,
            chunks,
            misses: Misses::new(l2.mshrs, l2.merges, tags.len()),
            tags,
            data: DataArray::new(config, techniques, partition, Array::L2, shape),
            lost: VecDeque::new(),
            replies: Replies::new(config),
            array_free: 0,
            atomic_free: 0,
            bit_instructions: has_bit_instructions(),
            counters: L2Counters::default(),
        }
    }

    /// What was counted, with what follows from it and the intervals that the data array keeps.
    #[inline(always)]
    pub fn counters(&self) -> L2Counters {
        let counted = &self.counters;
        let latencies = self.replies.latencies();
        L2Counters {
            reads: counted.reads + counted.read_hits,
            writes: counted.writes + counted.write_hits,
            atomics: counted.atomics + counted.atomic_hits,
            written: counted.written + counted.hit_written,
            atomic_written: counted.atomic_written + counted.atomic_hit_written,
            array_busy: counted.array_reads + counted.array_writes,
            replies: latencies.total(),
            latencies,
            mshrs: self.misses.in_use_then(),
            intervals: self.data.intervals(),
            line_intervals: self.data.frame_intervals(),
            ..counted.clone()
        }
    }

    /// Drops lines that a technique gave up; changed ones are written to memory as it has room.
    #[inline(always)]
    pub fn lose(&mut self, clock: u64, memory: &mut Controller) {
        if self.data.has_sites() && (self.data.may_have_lost(clock) || !self.lost.is_empty()) {
            self.drop_lost(clock, memory);
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_lost(&mut self, clock: u64, memory: &mut Controller) {
        for place in self.data.lost(clock) {
            self.lost.extend(self.tags.lose(place));
        }
        self.write_lost(memory);
    }

    /// Writes back evicted dirty lines, as far as the queue to memory has space.
    fn write_lost(&mut self, memory: &mut Controller) {
        while let Some(&line) = self.lost.front()
            && memory.has_room(None, Some(line))
        {
            self.lost.pop_front();
            memory.write(line);
            self.counters.write_backs += 1;
        }
    }

    #[inline(always)]
    pub fn look_up(&self, line: u64) -> LookedUp {
        let (set, place) = self.tags.find_of_many(line);
        LookedUp { line, set, place }
    }

    /// Takes in a line that a copy brings between kernels. It is clean, since the copy writes memory too, and displaces no dirty line.
    #[inline(always)]
    pub fn leave(&mut self, line: u64) {
        self.tags.bring(line);
    }

    /// Takes a request for a line if nothing is in its way. `PLAIN`: no technique is here.
    #[inline(always)]
    pub fn accept<const PLAIN: bool>(
        &mut self,
        clock: u64,
        LookedUp { line, set, place }: LookedUp,
        packet: &Packet,
        memory: &mut Controller,
        outbox: &mut Outbox,
    ) -> Result<(), Cause> {
        if !self.has_room(clock, outbox) {
            return Err(Cause::Reply);
        }
        match place {
            Some(place) if self.tags.state(place) == State::Reserved => self.merge(clock, place, packet)?,
            Some(place) => {
                self.hit(clock, place, line, packet)?;
                self.note_request(clock, packet);
                return Ok(());
            }
            None if packet.kind == PacketKind::Write && packet.words == ALL_WORDS && !self.write_fetch => {
                self.allocate(clock, line, set, packet, memory)?;
            }
            // Memory has to have it before it is read again.
            None if !PLAIN && !self.lost.is_empty() && self.lost.contains(&line) => {
                self.write_lost(memory);
                if self.lost.contains(&line) {
                    return Err(Cause::Memory);
                }
                self.miss(clock, line, set, packet, memory)?;
            }
            None => self.miss(clock, line, set, packet, memory)?,
        }
        match packet.kind {
            PacketKind::Write => {
                self.counters.writes += 1;
                self.counters.written += u64::from(packet.payload());
            }
            PacketKind::Atomic | PacketKind::Reduction => {
                self.counters.atomics += 1;
                self.counters.atomic_written += u64::from(packet.payload());
            }
            _ => self.counters.reads += 1,
        }
        self.note_request(clock, packet);
        Ok(())
    }

    /// Counts a request that was taken.
    #[inline(always)]
    fn note_request(&mut self, clock: u64, packet: &Packet) {
        self.counters.lanes += u64::from(packet.lanes);
        self.data.note_use(clock);
    }

    /// Where the line is that a read or a write hits. Other requests, and lines that are not there or are being fetched, take another way.
    #[inline(always)]
    pub fn plain_hit(&self, LookedUp { place, .. }: LookedUp, packet: &Packet) -> Option<LineId> {
        let is_plain = matches!(packet.kind, PacketKind::Read | PacketKind::Write);
        place.filter(|&place| is_plain && self.tags.state(place) != State::Reserved)
    }

    /// A read or a write hits in a clock in which the data array is free, without techniques: what [`Slice::accept`] does then.
    #[inline(always)]
    pub fn take_hit(&mut self, clock: u64, place: LineId, packet: &Packet) {
        debug_assert!(self.array_free <= clock && !self.data.has_sites());
        let moves = self.moves(packet.words);
        self.array_free = clock + moves;
        self.data.note_frame(clock, place);
        if packet.kind == PacketKind::Write {
            self.counters.array_writes += moves;
            self.counters.write_hits += 1;
            self.counters.hit_written += u64::from(packet.payload());
            self.tags.write(place);
        } else {
            self.counters.array_reads += moves;
            self.counters.read_hits += 1;
            self.tags.touch(place);
        }
        self.replies.push(clock + self.latency, packet, false);
        self.note_request(clock, packet);
    }

    /// Whether one more answer finds room in a clock.
    #[inline(always)]
    pub fn has_room(&mut self, clock: u64, outbox: &mut Outbox) -> bool {
        self.replies.has_room(1, clock, outbox, &mut self.counters)
    }

    #[inline(always)]
    fn hit(&mut self, clock: u64, place: LineId, line: u64, packet: &Packet) -> Result<(), Cause> {
        if self.array_free > clock {
            return Err(Cause::Array);
        }
        let row = RowAccess { frame: place, line, words: packet.words };
        match packet.kind {
            PacketKind::Atomic | PacketKind::Reduction => {
                if self.atomic_free > clock {
                    return Err(Cause::Atomic);
                }
                self.atomic_hit(clock, row, packet);
            }
            PacketKind::Write => {
                self.access(clock, Use::Write, packet.lanes, row);
                self.tags.set_state(place, State::Dirty);
                self.answer(clock, packet);
                self.counters.write_hits += 1;
                self.counters.hit_written += u64::from(packet.payload());
            }
            _ => {
                let ready = self.access(clock, Use::Read, packet.lanes, row);
                self.answer(ready, packet);
                self.counters.read_hits += 1;
            }
        }
        self.tags.touch(place);
        Ok(())
    }

    #[inline(never)]
    fn atomic_hit(&mut self, clock: u64, row: RowAccess, packet: &Packet) {
        self.atomic(clock, row, packet);
        self.tags.set_state(row.frame, State::Dirty);
        self.counters.atomic_hits += 1;
        self.counters.atomic_hit_written += u64::from(packet.payload());
    }

    /// Waits for a line that is being fetched. A write is acknowledged at once, all others when the line is there.
    #[inline(never)]
    fn merge(&mut self, clock: u64, place: LineId, packet: &Packet) -> Result<(), Cause> {
        if !self.misses.merge(place, packet) {
            return Err(Cause::Merge);
        }
        if packet.kind == PacketKind::Write {
            self.answer(clock, packet);
        }
        self.data.merged(clock, packet.lanes, packet.words, Some(place));
        self.counters.merges += 1;
        Ok(())
    }

    /// A whole line is written that is not there: it takes a place, and nothing is fetched.
    #[inline(always)]
    fn allocate(
        &mut self,
        clock: u64,
        line: u64,
        set: SetId,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        let slice = self;
        in_two_copies!(slice.bit_instructions, |slice: &mut Slice,
                                                clock: u64,
                                                line: u64,
                                                set: SetId,
                                                packet: &Packet,
                                                memory: &mut Controller|
         -> Result<(), Cause> {
            slice.allocate_plain(clock, line, set, packet, memory)
        })
    }

    #[inline(always)]
    fn allocate_plain(
        &mut self,
        clock: u64,
        line: u64,
        set: SetId,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        if self.array_free > clock {
            return Err(Cause::Array);
        }
        let place = self.make_room(clock, line, set, None, memory)?;
        self.tags.set_state(place, State::Dirty);
        let row = RowAccess { frame: place, line, words: packet.words };
        self.access(clock, Use::Write, packet.lanes, row);
        self.answer(clock, packet);
        self.counters.allocations += 1;
        Ok(())
    }

    #[inline(always)]
    fn miss(
        &mut self,
        clock: u64,
        line: u64,
        set: SetId,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        let slice = self;
        in_two_copies!(slice.bit_instructions, |slice: &mut Slice,
                                                clock: u64,
                                                line: u64,
                                                set: SetId,
                                                packet: &Packet,
                                                memory: &mut Controller|
         -> Result<(), Cause> {
            slice.miss_plain(clock, line, set, packet, memory)
        })
    }

    #[inline(always)]
    fn miss_plain(
        &mut self,
        clock: u64,
        line: u64,
        set: SetId,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        if self.misses.is_full() {
            return Err(Cause::Mshr);
        }
        let place = self.make_room(clock, line, set, Some(line), memory)?;
        let MissId(tag) = self.misses.begin(line, place, packet);
        if packet.kind == PacketKind::Write {
            self.answer(clock, packet);
            self.counters.partial_fetches += 1;
        }
        memory.read(line, tag);
        self.counters.misses += 1;
        Ok(())
    }

    /// Takes a place for a line, if what has to be fetched and written back for that finds room before the memory.
    #[inline(always)]
    fn make_room(
        &mut self,
        clock: u64,
        line: u64,
        set: SetId,
        fetch: Option<u64>,
        memory: &mut Controller,
    ) -> Result<LineId, Cause> {
        if !memory.has_room_for_any() {
            let victim = self.tags.victim_of_many(set).ok_or(Cause::Ways)?;
            let write_back = victim.filter(|victim| victim.dirty).map(|victim| victim.line);
            if !memory.has_room(fetch, write_back) {
                return Err(Cause::Memory);
            }
        }
        let (place, state, former) = self.tags.reserve_of_many(set, line).ok_or(Cause::Ways)?;
        if state != State::Invalid {
            self.counters.evictions += 1;
            if state == State::Dirty {
                let row = RowAccess { frame: place, line: former, words: ALL_WORDS };
                self.access(clock, Use::WriteBack, 32, row);
                memory.write(former);
                self.counters.write_backs += 1;
            }
        }
        Ok(place)
    }

    /// Takes the line that came from memory first, if nothing is in its way. `PLAIN`: no technique is here.
    #[inline(always)]
    pub fn fill<const PLAIN: bool>(&mut self, clock: u64, memory: &mut Controller, outbox: &mut Outbox) {
        if self.array_free > clock {
            return;
        }
        let slice = self;
        if PLAIN {
            in_two_copies!(slice.bit_instructions, |slice: &mut Slice,
                                                    clock: u64,
                                                    memory: &mut Controller,
                                                    outbox: &mut Outbox|
             -> () {
                slice.fill_plain(clock, memory, outbox);
            });
        } else {
            slice.fill_any(clock, memory, outbox);
        }
    }

    /// [`Slice::fill`] with a free data array, without techniques.
    #[inline(always)]
    fn fill_plain(&mut self, clock: u64, memory: &mut Controller, outbox: &mut Outbox) {
        let Some(first) = memory.first_returned() else { return };
        let id = MissId(first.tag);
        let &Miss { place, answers, changes, .. } = self.misses.get(id);
        if !self.replies.has_room(answers as usize, clock, outbox, &mut self.counters) {
            return;
        }
        memory.take_first(first);
        self.array_free = clock + self.line_moves;
        self.counters.array_writes += self.line_moves;
        self.counters.fills += 1;
        self.data.note_frame(clock, place);
        if answers == 1 && !changes {
            self.replies.push(clock + self.latency, &self.misses.get(id).first, false);
        } else {
            self.answer_all(clock, clock, id);
        }
        self.misses.end(id);
        self.tags.set_state(place, if changes { State::Dirty } else { State::Clean });
    }

    /// Answers all requests that wait for a line that has been filled.
    #[inline(never)]
    fn answer_all(&mut self, clock: u64, ready: u64, id: MissId) {
        let &Miss { line, place, answers, .. } = self.misses.get(id);
        for before in 0..answers {
            let packet = self.misses.waiting(id, before);
            if packet.kind == PacketKind::Read {
                self.replies.push(ready + self.latency, packet, self.data.has_sites());
            } else {
                let packet = *packet;
                self.atomic(clock, RowAccess { frame: place, line, words: packet.words }, &packet);
            }
        }
    }

    #[inline(never)]
    fn fill_any(&mut self, clock: u64, memory: &mut Controller, outbox: &mut Outbox) {
        let Some(line) = memory.returned() else { return };
        let id = MissId(line.tag);
        let &Miss { line: number, place, answers, changes, .. } = self.misses.get(id);
        if !self.replies.has_room(answers as usize, clock, outbox, &mut self.counters) {
            return;
        }
        self.lose(clock, memory);
        memory.take(line);
        let row = RowAccess { frame: place, line: number, words: ALL_WORDS };
        let ready = self.access(clock, Use::Fill, 32, row);
        self.counters.fills += 1;
        self.answer_all(clock, ready, id);
        self.misses.end(id);
        self.tags.set_state(place, if changes { State::Dirty } else { State::Clean });
    }

    /// How often the data array is accessed for some words of a line.
    #[inline(always)]
    fn moves(&self, words: u32) -> u64 {
        if words == ALL_WORDS {
            return self.line_moves;
        }
        let is_in = |chunk: u32| u64::from(words & chunk != 0);
        match *self.chunks {
            // Half a line at a time is usual, and needs no loop.
            [low, high] => (is_in(low) + is_in(high)).max(1),
            _ => self.chunks.iter().map(|&chunk| is_in(chunk)).sum::<u64>().max(1),
        }
    }

    /// Every access to the data array goes through here; gives the clock in which it is served.
    #[inline(always)]
    fn access(&mut self, clock: u64, usage: Use, lanes: u8, row: RowAccess) -> u64 {
        let moves = self.moves(row.words);
        self.array_free = self.array_free.max(clock) + moves;
        match usage {
            Use::Read | Use::Modify | Use::WriteBack => self.counters.array_reads += moves,
            Use::Write | Use::Fill => self.counters.array_writes += moves,
        }
        self.data.access(clock, usage, lanes, row)
    }

    /// Reads, changes and writes words of a line.
    #[inline(always)]
    fn atomic(&mut self, clock: u64, row: RowAccess, packet: &Packet) {
        let served = self.access(clock, Use::Modify, packet.lanes, row);
        self.access(clock, Use::Write, packet.lanes, row);
        let clocks = u64::from(packet.rounds.max(1)) * self.atomic_clocks;
        self.atomic_free = self.atomic_free.max(clock) + clocks;
        self.counters.atomic_busy += clocks;
        let ready = self.atomic_free + (served - clock) + self.latency;
        self.replies.push_atomic(ready, packet, self.data.has_sites());
    }

    /// Answers a request that the data array serves in a clock, or that need not wait for it.
    #[inline(always)]
    fn answer(&mut self, served: u64, packet: &Packet) {
        self.replies.push(served + self.latency, packet, self.data.has_sites());
    }

    /// Sends all answers that leave before a clock.
    #[inline(always)]
    pub fn send(&mut self, until: u64, outbox: &mut Outbox) {
        self.replies.send(until, outbox, &mut self.counters);
    }

    /// Whether it is certain, without looking the line up again, that what blocked the next request still does.
    #[inline(always)]
    pub fn still_blocks(&mut self, cause: Cause, clock: u64, outbox: &mut Outbox) -> bool {
        if !self.has_room(clock, outbox) {
            return cause == Cause::Reply;
        }
        match cause {
            Cause::Mshr => self.misses.is_full(),
            Cause::Array => self.array_free > clock,
            Cause::Reply | Cause::Atomic | Cause::Merge | Cause::Ways | Cause::Memory => false,
        }
    }

    /// The clock from which what a blocked request waits for is free, `u64::MAX` if that depends on others.
    #[inline(always)]
    pub fn free_from(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Array => self.array_free,
            Cause::Atomic => self.atomic_free,
            _ => u64::MAX,
        }
    }

    /// Lines are on their way.
    #[inline(always)]
    pub fn is_fetching(&self) -> bool {
        self.misses.in_use() != 0
    }

    pub fn is_idle(&self) -> bool {
        self.replies.len() == 0 && !self.is_fetching()
    }

    /// What is waiting, in words.
    pub fn waiting(&self, name: &str, out: &mut Vec<String>) {
        if self.misses.in_use() > 0 {
            let lines: Vec<_> =
                self.misses.lines().take(4).map(|line| format!("{:#x}", line * LINE_BYTES)).collect();
            out.push(format!(
                "{name}: {} lines are being fetched (at {}{})",
                self.misses.in_use(),
                lines.join(", "),
                if self.misses.in_use() > 4 { ", ..." } else { "" }
            ));
        }
        self.replies.waiting(name, out);
    }
}
