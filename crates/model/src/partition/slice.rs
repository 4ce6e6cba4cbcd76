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
use super::replies::Replies;
use crate::cache::{
    Array, ArrayShape, DataArray, Evicted, LineId, Mshr, MshrId, RowAccess, State, Tags, Use,
};
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

/// A line and its place, if it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LookedUp {
    line: u64,
    place: Option<LineId>,
}

impl LookedUp {
    /// It has a place, and may still be on its way there.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        self.place.is_some()
    }
}

/// A line being fetched.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    place: LineId,
    /// Answers that its fill will give.
    answers: usize,
}

pub struct Slice {
    /// From data access to answer, in L2 clocks.
    latency: u64,
    atomic_clocks: u64,
    /// A write of a whole line fetches it, too.
    write_fetch: bool,
    /// The words that the data array moves in one clock.
    chunks: Vec<u32>,
    tags: Tags,
    pub data: DataArray,
    mshrs: Mshr<Packet>,
    /// By miss status register.
    fetches: Vec<Fetch>,
    /// Who waited for the line that is being filled; empty otherwise.
    waiters: Vec<Packet>,
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
            chunks,
            tags,
            data: DataArray::new(config, techniques, partition, Array::L2, shape),
            mshrs: Mshr::new(l2.mshrs, l2.merges),
            fetches: vec![Fetch { place: LineId(0), answers: 0 }; l2.mshrs as usize],
            waiters: Vec::with_capacity(l2.merges as usize),
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
        L2Counters {
            reads: counted.reads + counted.read_hits,
            writes: counted.writes + counted.write_hits,
            atomics: counted.atomics + counted.atomic_hits,
            written: counted.written + counted.hit_written,
            atomic_written: counted.atomic_written + counted.atomic_hit_written,
            array_busy: counted.array_reads + counted.array_writes,
            replies: counted.latencies.total(),
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
        LookedUp { line, place: self.tags.find(line) }
    }

    /// Takes in a line that a copy brings between kernels. It is clean, since the copy writes memory too, and displaces no dirty line.
    #[inline(always)]
    pub fn leave(&mut self, line: u64) {
        self.tags.bring(line);
    }

    /// Takes a request for a line if nothing is in its way.
    #[inline(always)]
    pub fn accept(
        &mut self,
        clock: u64,
        LookedUp { line, place }: LookedUp,
        packet: &Packet,
        memory: &mut Controller,
        outbox: &mut Outbox,
    ) -> Result<(), Cause> {
        if !self.has_room(clock, outbox) {
            return Err(Cause::Reply);
        }
        match place {
            Some(place) if self.tags.state(place) == State::Reserved => self.merge(clock, line, packet)?,
            Some(place) => {
                self.hit(clock, place, line, packet)?;
                self.note_request(clock, packet);
                return Ok(());
            }
            None if packet.kind == PacketKind::Write && packet.words == ALL_WORDS && !self.write_fetch => {
                self.allocate(clock, line, packet, memory)?;
            }
            // Memory has to have it before it is read again.
            None if !self.lost.is_empty() && self.lost.contains(&line) => {
                self.write_lost(memory);
                if self.lost.contains(&line) {
                    return Err(Cause::Memory);
                }
                self.miss(clock, line, packet, memory)?;
            }
            None => self.miss(clock, line, packet, memory)?,
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

    /// Waits for a line that is being fetched.
    #[inline(never)]
    fn merge(&mut self, clock: u64, line: u64, packet: &Packet) -> Result<(), Cause> {
        let Some(id) = self.mshrs.find(line).filter(|&id| self.mshrs.has_room(id)) else {
            return Err(Cause::Merge);
        };
        self.mshrs.merge(id, *packet);
        self.wait(clock, id, packet);
        let place = self.fetches[id.0 as usize].place;
        self.data.merged(clock, packet.lanes, packet.words, Some(place));
        self.counters.merges += 1;
        Ok(())
    }

    /// A write is acknowledged at once, all others when the line is there.
    #[inline(always)]
    fn wait(&mut self, clock: u64, id: MshrId, packet: &Packet) {
        if packet.kind == PacketKind::Write {
            self.answer(clock, packet);
        } else {
            self.fetches[id.0 as usize].answers += 1;
        }
    }

    /// A whole line is written that is not there: it takes a place, and nothing is fetched.
    #[inline(always)]
    fn allocate(
        &mut self,
        clock: u64,
        line: u64,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        let slice = self;
        in_two_copies!(slice.bit_instructions, |slice: &mut Slice,
                                                clock: u64,
                                                line: u64,
                                                packet: &Packet,
                                                memory: &mut Controller|
         -> Result<(), Cause> {
            slice.allocate_plain(clock, line, packet, memory)
        })
    }

    #[inline(always)]
    fn allocate_plain(
        &mut self,
        clock: u64,
        line: u64,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        if self.array_free > clock {
            return Err(Cause::Array);
        }
        let place = self.make_room(clock, line, None, memory)?;
        self.tags.set_state(place, State::Dirty);
        let row = RowAccess { frame: place, line, words: packet.words };
        self.access(clock, Use::Write, packet.lanes, row);
        self.answer(clock, packet);
        self.counters.allocations += 1;
        Ok(())
    }

    #[inline(always)]
    fn miss(&mut self, clock: u64, line: u64, packet: &Packet, memory: &mut Controller) -> Result<(), Cause> {
        let slice = self;
        in_two_copies!(slice.bit_instructions, |slice: &mut Slice,
                                                clock: u64,
                                                line: u64,
                                                packet: &Packet,
                                                memory: &mut Controller|
         -> Result<(), Cause> {
            slice.miss_plain(clock, line, packet, memory)
        })
    }

    #[inline(always)]
    fn miss_plain(
        &mut self,
        clock: u64,
        line: u64,
        packet: &Packet,
        memory: &mut Controller,
    ) -> Result<(), Cause> {
        if self.mshrs.is_full() {
            return Err(Cause::Mshr);
        }
        let place = self.make_room(clock, line, Some(line), memory)?;
        self.counters.mshrs.note(u64::from(self.mshrs.in_use()));
        let id = self.mshrs.allocate(line, *packet);
        self.fetches[id.0 as usize] = Fetch { place, answers: 0 };
        self.wait(clock, id, packet);
        memory.read(line, id.0);
        self.counters.misses += 1;
        self.counters.partial_fetches += u64::from(packet.kind == PacketKind::Write);
        Ok(())
    }

    /// Takes a place for a line, if what has to be fetched and written back for that finds room before the memory.
    #[inline(always)]
    fn make_room(
        &mut self,
        clock: u64,
        line: u64,
        fetch: Option<u64>,
        memory: &mut Controller,
    ) -> Result<LineId, Cause> {
        if !memory.has_room_for_any() {
            let victim = self.tags.victim_of_many(line).ok_or(Cause::Ways)?;
            let write_back = victim.filter(|victim| victim.dirty).map(|victim| victim.line);
            if !memory.has_room(fetch, write_back) {
                return Err(Cause::Memory);
            }
        }
        let (place, evicted) = self.tags.reserve_of_many(line).ok_or(Cause::Ways)?;
        if let Some(Evicted { line, dirty }) = evicted {
            self.counters.evictions += 1;
            if dirty {
                let row = RowAccess { frame: place, line, words: ALL_WORDS };
                self.access(clock, Use::WriteBack, 32, row);
                memory.write(line);
                self.counters.write_backs += 1;
            }
        }
        Ok(place)
    }

    /// Takes the line that came from memory first, if nothing is in its way.
    #[inline(never)]
    pub fn fill(&mut self, clock: u64, memory: &mut Controller, outbox: &mut Outbox) {
        let Some(line) = memory.returned() else { return };
        let Fetch { place, answers } = self.fetches[line.tag as usize];
        if self.array_free > clock || !self.replies.has_room(answers, clock, outbox, &mut self.counters) {
            return;
        }
        self.lose(clock, memory);
        memory.take(line);
        let number = self.mshrs.line(MshrId(line.tag));
        let row = |words| RowAccess { frame: place, line: number, words };
        let ready = self.access(clock, Use::Fill, 32, row(ALL_WORDS));
        self.counters.fills += 1;
        let mut changed = false;
        let mut waiters = std::mem::take(&mut self.waiters);
        self.mshrs.release_into(MshrId(line.tag), &mut waiters);
        for packet in &waiters {
            changed |= packet.kind != PacketKind::Read;
            match packet.kind {
                PacketKind::Write => {}
                PacketKind::Atomic | PacketKind::Reduction => self.atomic(clock, row(packet.words), packet),
                _ => self.answer(ready, packet),
            }
        }
        waiters.clear();
        self.waiters = waiters;
        self.tags.set_state(place, if changed { State::Dirty } else { State::Clean });
    }

    /// How often the data array is accessed for some words of a line.
    #[inline(always)]
    fn moves(&self, words: u32) -> u64 {
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
            Cause::Mshr => self.mshrs.is_full(),
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
        self.mshrs.in_use() != 0
    }

    pub fn is_idle(&self) -> bool {
        self.replies.len() == 0 && !self.is_fetching()
    }

    /// What is waiting, in words.
    pub fn waiting(&self, name: &str, out: &mut Vec<String>) {
        if self.mshrs.in_use() > 0 {
            let lines: Vec<_> =
                self.mshrs.lines().take(4).map(|line| format!("{:#x}", line * LINE_BYTES)).collect();
            out.push(format!(
                "{name}: {} lines are being fetched (at {}{})",
                self.mshrs.in_use(),
                lines.join(", "),
                if self.mshrs.in_use() > 4 { ", ..." } else { "" }
            ));
        }
        self.replies.waiting(name, out);
    }
}
