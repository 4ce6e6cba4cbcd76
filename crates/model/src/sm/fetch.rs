// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instruction fetch: the L1 instruction cache, and which warp is fetched for. Warps take turns.
//!
//! A warp's buffer holds the instructions that follow its next one in memory; a jump empties it. When a warp comes to another line, the
//! lines behind it are fetched ahead, so that straight-line code does not wait for each of its lines.

use std::collections::VecDeque;

use warpwatt_base::counters::{Charge, Log2};
use warpwatt_config::Config;

use super::mem::SecondLevel;
use super::slot::{PerSlot, Slot, Slots};
use super::warp::WarpSlot;
use crate::address::{self, Interleave};
use crate::cache::{Array, ArrayShape, DataArray, LineId, Mshr, MshrId, RowAccess, State, Tags, Use};
use crate::net::{Client, LINE_BYTES, Outbox, Packet, PacketKind};
use crate::techniques::Techniques;

warpwatt_base::counters! {
    /// What instruction fetch did.
    pub struct FetchCounters(Charge::Issues) {
        fetches: u64 = "icache.accesses.count", "Accesses to the instruction cache.";
        hits: u64 = "icache.hits.count", "Accesses that hit.";
        misses: u64 = "icache.misses.count", "Accesses that missed and fetched a line.";
        merges: u64 = "icache.merges.count", "Accesses merged with an outstanding miss on the same line.";
        prefetches: u64 = "icache.prefetches.count", "Lines prefetched.";
        blocked: u64 = "icache.blocked.count", "Accesses that found no free miss status register (MSHR) or way.";
        instructions: u64 = "icache.instructions.count", "Instructions fetched into instruction buffers.";
        flushed: u64 = "icache.flushed.count", "Instructions discarded by a jump.";
        intervals: Log2 = "icache.intervals.histogram", "Cycles between two accesses, in powers of two.";
        line_intervals: Log2 = "icache.line_interval.histogram", "Cycles between two uses of the same line of the data array.";
    }
}

/// The most fetches that can be under way: 8 warps a cycle for 50 cycles. Only with a technique that delays them can it be reached.
const ARRIVALS: usize = 512;

/// Instructions on their way to a warp's buffer.
#[derive(Clone, Copy, Default)]
pub struct Arrival {
    pub cycle: u64,
    pub slot: Slot,
    pub count: u8,
    /// The warp's path when they were asked for.
    pub path: u32,
}

/// Lines of which it is remembered that those behind them are there.
const COMPLETE: usize = 16;

/// A line that is there, and all lines behind it that are fetched ahead.
#[derive(Clone, Copy)]
struct Complete {
    line: u64,
    place: LineId,
}

const NONE: Complete = Complete { line: u64::MAX, place: LineId(0) };

/// What a fetch came to.
pub enum Fetched {
    /// So many instructions are on their way to the buffer, since the array serves the access in a cycle.
    Hit {
        count: u8,
        ready: u64,
    },
    Miss,
}

pub struct Fetch {
    sm: u16,
    tags: Tags,
    pub data: DataArray,
    mshr: Mshr<()>,
    /// Powers of two, as shifts.
    line_shift: u32,
    instruction_shift: u32,
    /// Instructions of a line.
    in_line_shift: u32,
    /// How many instructions a warp may have, with those on their way, for another access.
    limit: u8,
    cycles: u64,
    pub ports: u32,
    /// A ring, in order, since all take equally long and none overtakes one that a technique delays: the numbers of the first and of the one after the last, and when the first comes.
    arriving: Box<[Arrival; ARRIVALS]>,
    ahead: usize,
    behind: usize,
    next_arrival: u64,
    /// When the latest arrives, and all warp slots, or none while the ring is full.
    last_arrival: u64,
    room: u64,
    interleave: Interleave,
    /// Warp slots that have room in their buffers.
    pub need: u64,
    /// Warp slots that wait for a line, and for which one.
    waiting: u64,
    wanted: PerSlot<u64>,
    /// The line that each warp slot's code begins with.
    first_line: PerSlot<u64>,
    /// Where each warp slot found its line last.
    place: PerSlot<LineId>,
    /// By the lowest bits of their numbers: lines that are there with all that are to be fetched ahead. None once a line comes or goes.
    complete: [Complete; COMPLETE],
    /// Warp slots whose line has come: they go first, because otherwise a line could always be evicted before a warp has used it.
    first: u64,
    /// The slot that was fetched for last.
    last: u32,
    /// Lines that are fetched ahead.
    prefetch: u64,
    requests: VecDeque<Packet>,
    /// When the SM has to look at anything but events and arrivals again; 0 once something was asked for, since that is not known then.
    pub alarm: u64,
    pub counters: FetchCounters,
}

impl Fetch {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> Fetch {
        let icache = &config.icache;
        let tags = Tags::new(icache.sets, icache.ways);
        let shape = ArrayShape { frames: tags.len(), ways: tags.ways(), line_bytes: icache.line_bytes };
        Fetch {
            sm: sm as u16,
            tags,
            data: DataArray::new(config, techniques, sm, Array::Instruction, shape),
            mshr: Mshr::new(icache.mshrs, 1),
            line_shift: icache.line_bytes.trailing_zeros(),
            instruction_shift: config.fetch.instruction_bytes.trailing_zeros(),
            in_line_shift: (icache.line_bytes / config.fetch.instruction_bytes).trailing_zeros(),
            limit: (config.fetch.buffer - config.fetch.width.min(config.fetch.buffer)) as u8,
            cycles: u64::from(config.fetch.cycles),
            ports: config.fetch.warps,
            arriving: Box::new([Arrival::default(); ARRIVALS]),
            ahead: 0,
            behind: 0,
            next_arrival: u64::MAX,
            last_arrival: 0,
            room: u64::MAX,
            interleave: Interleave::new(config),
            need: 0,
            waiting: 0,
            wanted: PerSlot::new(|| 0),
            first_line: PerSlot::new(|| 0),
            place: PerSlot::new(|| LineId(0)),
            complete: [NONE; COMPLETE],
            first: 0,
            last: 0,
            // A cache of a few lines would lose those that warps wait for.
            prefetch: u64::from(icache.prefetch.min(icache.sets * icache.ways / 4)),
            requests: VecDeque::with_capacity(icache.mshrs as usize),
            alarm: 0,
            counters: FetchCounters::default(),
        }
    }

    /// What was counted, with the intervals that the data array keeps: there is one for each access.
    pub fn counters(&self) -> FetchCounters {
        let FetchCounters { misses, merges, blocked, .. } = self.counters;
        let intervals = self.data.intervals();
        let fetches = intervals.total();
        FetchCounters {
            fetches,
            hits: fetches - misses - merges - blocked,
            intervals,
            line_intervals: self.data.frame_intervals(),
            ..self.counters.clone()
        }
    }

    /// A warp starts with a program.
    pub fn start(&mut self, slot: Slot, warp: &WarpSlot) {
        self.first_line[slot] = address::code(warp.code, 0, 0) >> self.line_shift;
        self.update(slot, warp);
    }

    /// Looks again whether a warp's buffer has room; to be called whenever it changes.
    #[inline(always)]
    pub fn update(&mut self, slot: Slot, warp: &WarpSlot) {
        let bit = slot.bit();
        if warp.fetches() && warp.fetched <= self.limit {
            self.need |= bit;
        } else {
            self.need &= !bit;
            self.waiting &= !bit;
        }
    }

    /// An instruction left a warp's buffer, and nothing else changed.
    #[inline(always)]
    pub fn consumed(&mut self, slot: Slot, warp: &WarpSlot) {
        if warp.fetched == self.limit && !warp.branches {
            self.need |= slot.bit();
        }
    }

    /// Instructions are on their way to a warp's buffer, from the cycle on in which the array serves them.
    #[inline(always)]
    pub fn announce<const TECHNIQUES: bool>(
        &mut self,
        ready: u64,
        slot: Slot,
        warp: &mut WarpSlot,
        count: u8,
    ) {
        warp.fetched += count;
        if warp.fetched > self.limit {
            self.need &= !slot.bit();
        }
        let mut cycle = ready + self.cycles;
        if TECHNIQUES && self.data.has_sites() {
            cycle = self.in_order(cycle);
        } else if warp.buffered != 0 && warp.coming == 0 && self.ports == 1 {
            // When they come does not matter before the buffer is empty.
            (warp.coming, warp.coming_at) = (count, cycle);
            return;
        }
        if self.ahead == self.behind {
            self.next_arrival = cycle;
        }
        self.arriving[self.behind % ARRIVALS] = Arrival { cycle, slot, count, path: warp.path };
        self.behind += 1;
    }

    /// Where a technique has fetches wait, no arrival is before an earlier one, and the ring may fill up with the next one.
    #[cold]
    fn in_order(&mut self, cycle: u64) -> u64 {
        self.last_arrival = self.last_arrival.max(cycle);
        if self.behind + 1 - self.ahead == ARRIVALS {
            self.room = 0;
        }
        self.last_arrival
    }

    /// The buffer of a warp is empty, and instructions are on their way that it did not need before: they are there by `now`, or will be.
    #[inline(always)]
    pub fn receive(&mut self, slot: Slot, warp: &mut WarpSlot, now: u64) {
        if warp.coming_at <= now {
            warp.buffered = warp.coming;
        } else {
            self.announce_late(slot, warp);
        }
        warp.coming = 0;
    }

    /// Instructions on their way take their place among all others. There is one port, so that no two arrive in a cycle.
    #[cold]
    #[inline(never)]
    fn announce_late(&mut self, slot: Slot, warp: &WarpSlot) {
        let arrival = Arrival { cycle: warp.coming_at, slot, count: warp.coming, path: warp.path };
        let mut place = self.behind;
        while place != self.ahead && self.arriving[(place - 1) % ARRIVALS].cycle > arrival.cycle {
            self.arriving[place % ARRIVALS] = self.arriving[(place - 1) % ARRIVALS];
            place -= 1;
        }
        self.arriving[place % ARRIVALS] = arrival;
        self.behind += 1;
        self.next_arrival = self.next_arrival.min(arrival.cycle);
    }

    /// When the next instructions arrive for a warp that has none. Until then nothing depends on whether others have arrived.
    #[inline(always)]
    pub fn next_arrival(&self, warps: &PerSlot<WarpSlot>) -> u64 {
        if self.ahead == self.behind {
            return u64::MAX;
        }
        // Mostly the first that comes is for such a warp, if one is.
        let Arrival { cycle, slot, .. } = self.arriving[self.ahead % ARRIVALS];
        match warps[slot].buffered {
            0 => cycle,
            _ if self.ahead + 1 == self.behind => u64::MAX,
            _ => self.next_needed(warps),
        }
    }

    #[cold]
    #[inline(never)]
    fn next_needed(&self, warps: &PerSlot<WarpSlot>) -> u64 {
        let mut arrivals = (self.ahead + 1..self.behind).map(|number| &self.arriving[number % ARRIVALS]);
        arrivals.find(|arrival| warps[arrival.slot].buffered == 0).map_or(u64::MAX, |arrival| arrival.cycle)
    }

    /// Those that arrive by now, one after the other.
    #[inline(always)]
    pub fn arrive<const TECHNIQUES: bool>(&mut self, now: u64) -> Option<Arrival> {
        if self.next_arrival > now {
            return None;
        }
        let arrival = self.arriving[self.ahead % ARRIVALS];
        self.ahead += 1;
        if TECHNIQUES {
            self.room = u64::MAX;
        }
        let next = self.arriving[self.ahead % ARRIVALS].cycle;
        self.next_arrival = if self.ahead == self.behind { u64::MAX } else { next };
        Some(arrival)
    }

    /// The next warp to fetch for.
    #[inline(always)]
    pub fn pick<const TECHNIQUES: bool>(&mut self) -> Option<Slot> {
        let mut set = self.wanting::<TECHNIQUES>();
        if set == 0 {
            return None;
        }
        if self.first != 0 {
            set = self.prefer_first(set);
        }
        let later = set & (!1u64).wrapping_shl(self.last);
        let slot = Slots(if later != 0 { later } else { set }).next()?;
        self.last = u32::from(slot.number());
        Some(slot)
    }

    /// Of some warps, those whose line has come, if there are any. The one that will be chosen is not among them any longer.
    #[cold]
    #[inline(never)]
    fn prefer_first(&mut self, set: u64) -> u64 {
        let preferred = if set & self.first != 0 { set & self.first } else { set };
        let later = preferred & (!1u64).wrapping_shl(self.last);
        let chosen = if later != 0 { later } else { preferred };
        self.first &= !(chosen & chosen.wrapping_neg());
        preferred
    }

    /// The warps that an instruction can be fetched for.
    #[inline(always)]
    fn wanting<const TECHNIQUES: bool>(&self) -> u64 {
        let set = self.need & !self.waiting;
        // Without techniques, the ring has room for all.
        if TECHNIQUES { set & self.room } else { set }
    }

    /// Whether an instruction can be fetched for any warp.
    #[inline(always)]
    pub fn has_work<const TECHNIQUES: bool>(&self) -> bool {
        self.wanting::<TECHNIQUES>() != 0
    }

    /// Accesses the cache for the `count` instructions from `pc` on of a warp's program, which has `end` of them.
    #[inline(always)]
    pub fn access<const TECHNIQUES: bool>(
        &mut self,
        now: u64,
        slot: Slot,
        pc: u32,
        (count, end): (u8, u32),
        second: &mut SecondLevel,
    ) -> Fetched {
        // Code begins at a line.
        let line = self.first_line[slot] + u64::from(pc >> self.in_line_shift);
        self.data.note_use(now);
        if TECHNIQUES && self.data.has_sites() {
            self.lose(now);
        }
        // A warp most often stays on its line, or comes back to it.
        // SAFETY: places are those that the tags gave, and these do not change in number.
        if !unsafe { self.tags.use_known(self.place[slot], line) } {
            let last = self.first_line[slot] + u64::from((end - 1) >> self.in_line_shift);
            if !self.access_other_line(now, slot, line, last, second) {
                return Fetched::Miss;
            }
        }
        self.counters.instructions += u64::from(count);
        if !TECHNIQUES {
            // SAFETY: the array has a frame for each place of the tags.
            unsafe { self.data.note_known_frame(now, self.place[slot]) };
            return Fetched::Hit { count, ready: now };
        }
        let place = pc % (1 << self.in_line_shift);
        let words = ((1u64 << (u32::from(count) << self.instruction_shift >> 2)) - 1) as u32;
        let first_word = place << self.instruction_shift >> 2;
        let row = RowAccess { frame: self.place[slot], line, words: words << first_word };
        Fetched::Hit { count, ready: self.data.access(now, Use::Read, 32, row) }
    }

    /// Accesses a line that is not where the warp found its last one. Lines behind it are fetched ahead, up to `last`. False if it is not there.
    #[cold]
    #[inline(never)]
    fn access_other_line(
        &mut self,
        now: u64,
        slot: Slot,
        line: u64,
        last: u64,
        second: &mut SecondLevel,
    ) -> bool {
        let complete = self.complete[line as usize % COMPLETE];
        if complete.line == line && self.tags.use_at(complete.place, line) {
            self.place[slot] = complete.place;
            return true;
        }
        let found = self.tags.find(line);
        let there = found.filter(|&id| self.tags.use_at(id, line));
        match there {
            Some(id) => self.place[slot] = id,
            None => self.miss(now, slot, line, found.is_some(), second),
        }
        let is_complete = self.run_ahead(now, line, last, second);
        if let Some(place) = there.filter(|_| is_complete) {
            self.complete[line as usize % COMPLETE] = Complete { line, place };
        }
        there.is_some()
    }

    /// Drops lines that a technique gave up.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, now: u64) {
        for place in self.data.lost(now) {
            self.tags.lose(place);
            self.complete = [NONE; COMPLETE];
        }
    }

    #[inline(never)]
    fn miss(&mut self, now: u64, slot: Slot, line: u64, comes: bool, second: &mut SecondLevel) {
        self.waiting |= slot.bit();
        self.wanted[slot] = line;
        if comes {
            self.counters.merges += 1;
        } else if self.mshr.is_full() || self.tags.reserve(line).is_none() {
            self.counters.blocked += 1;
        } else {
            self.counters.misses += 1;
            self.request(now, line, second);
        }
    }

    /// Fetches the lines behind one, up to the last of the code, as far as miss registers are free. One is left to those who wait. Tells whether
    /// all of them are there, or on their way, already.
    #[inline(never)]
    fn run_ahead(&mut self, now: u64, line: u64, last: u64, second: &mut SecondLevel) -> bool {
        let mut are_there = true;
        for next in line + 1..=(line + self.prefetch).min(last) {
            if self.mshr.has_one() {
                return false;
            }
            if self.tags.find(next).is_none() {
                are_there = false;
                if self.tags.reserve(next).is_some() {
                    self.counters.prefetches += 1;
                    self.request(now, next, second);
                }
            }
        }
        are_there
    }

    /// Asks for a line that has been given a place.
    fn request(&mut self, now: u64, line: u64, second: &mut SecondLevel) {
        self.complete = [NONE; COMPLETE];
        self.alarm = 0;
        let id = self.mshr.allocate(line, ());
        let address = line << self.line_shift;
        let first_word = address % LINE_BYTES / 4;
        let words = (((1u64 << (1 << self.line_shift >> 2)) - 1) << first_word) as u32;
        let address = address - address % LINE_BYTES;
        let mut packet = Packet {
            address,
            words,
            lanes: 32,
            rounds: 0,
            kind: PacketKind::Read,
            client: Client::Instruction,
            sm: self.sm,
            partition: self.interleave.partition(address) as u16,
            flits: 0,
            tag: id.0,
            born: now,
            arrive: 0,
        };
        if !second.ask(now, &mut packet) {
            self.requests.push_back(packet);
        }
    }

    /// Hands requests to the network as far as it takes them.
    #[inline(never)]
    pub fn send(&mut self, now: u64, outbox: &mut Outbox) {
        while let Some(packet) = self.requests.front() {
            let to = usize::from(packet.partition);
            if !outbox.can_send(now, to, packet) {
                break;
            }
            outbox.send(now, to, *packet);
            self.requests.pop_front();
        }
    }

    /// First cycle from `now` on in which the network takes the next request.
    #[inline(always)]
    pub fn next(&self, now: u64, outbox: &Outbox) -> u64 {
        self.requests
            .front()
            .map_or(u64::MAX, |packet| outbox.when(now, usize::from(packet.partition), packet))
    }

    #[inline(always)]
    pub fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// A line is there: whoever waits tries again.
    pub fn fill(&mut self, now: u64, packet: &Packet) {
        if self.data.has_sites() {
            self.lose(now);
        }
        let id = MshrId(packet.tag);
        let line = self.mshr.line(id);
        self.mshr.release(id, |()| {});
        if let Some(place) = self.tags.find(line) {
            self.tags.set_state(place, State::Clean);
            let words = u32::MAX >> (32 - (1 << self.line_shift >> 2));
            self.data.access(now, Use::Fill, 32, RowAccess { frame: place, line, words });
        }
        let came = |&slot: &Slot| self.wanted[slot] == line;
        self.first |= Slots(self.waiting).filter(came).fold(0, |set, slot| set | slot.bit());
        self.waiting = 0;
    }

    /// Lines on their way.
    pub fn outstanding(&self) -> u32 {
        self.mshr.in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::data::tests::slow;
    use warpwatt_base::SplitMix64;

    /// Brings the first line of some code into the cache.
    fn with_line(config: &Config) -> Fetch {
        let mut fetch = Fetch::new(config, &Techniques::default(), 0);
        let second = &mut SecondLevel::new(config);
        assert!(matches!(fetch.access::<true>(0, Slot::new(0), 0, (2, 64), second), Fetched::Miss));
        let packet = fetch.requests.pop_front().expect("a request");
        fetch.fill(100, &packet);
        fetch
    }

    #[test]
    fn instructions_that_wait_for_the_array_are_not_overtaken() {
        let config = Config::default();
        let cycles = u64::from(config.fetch.cycles);
        let mut fetch = with_line(&config);
        let mut warp = WarpSlot::default();
        let mut second = SecondLevel::new(&config);
        let mut fetch_at = |fetch: &mut Fetch, now| {
            let Fetched::Hit { count, ready } =
                fetch.access::<true>(now, Slot::new(1), 0, (2, 64), &mut second)
            else {
                panic!("a hit")
            };
            fetch.announce::<true>(ready, Slot::new(1), &mut warp, count);
            ready
        };
        assert_eq!(fetch_at(&mut fetch, 110), 110);
        fetch.data.add_site(slow(Use::Read, 20));
        assert_eq!(fetch_at(&mut fetch, 111), 131);
        fetch.data = Fetch::new(&config, &Techniques::default(), 0).data;
        fetch.data.add_site(slow(Use::Read, 0));
        assert_eq!(fetch_at(&mut fetch, 112), 112);
        let mut arrive = |now| fetch.arrive::<true>(now).map(|arrival| arrival.cycle);
        assert_eq!(arrive(110 + cycles), Some(110 + cycles));
        assert_eq!(arrive(130 + cycles), None);
        assert_eq!([arrive(131 + cycles), arrive(131 + cycles)], [Some(131 + cycles); 2]);
        assert_eq!(fetch.next_arrival(&PerSlot::new(WarpSlot::default)), u64::MAX);
    }

    #[test]
    fn no_more_is_fetched_than_can_be_under_way() {
        let mut fetch = with_line(&Config::default());
        let mut second = SecondLevel::new(&Config::default());
        fetch.data.add_site(slow(Use::Read, 10_000));
        fetch.need = u64::MAX;
        for number in 0..ARRIVALS {
            assert!(fetch.has_work::<true>() && fetch.pick::<true>().is_some(), "{number}");
            let Fetched::Hit { count, ready } =
                fetch.access::<true>(200, Slot::new(1), 0, (2, 64), &mut second)
            else {
                panic!("a hit")
            };
            // A jump throws away what was fetched, and the next fetch is for the new path.
            let mut warp = WarpSlot::default();
            fetch.announce::<true>(ready, Slot::new(1), &mut warp, count);
            fetch.need = u64::MAX;
        }
        assert!(!fetch.has_work::<true>() && fetch.pick::<true>().is_none());
        assert!(fetch.arrive::<true>(u64::MAX - 1).is_some());
        assert!(fetch.has_work::<true>());
    }

    #[test]
    fn a_buffer_is_empty_when_all_that_has_come_is_used_up() {
        let mut config = Config::default();
        (config.fetch.buffer, config.fetch.width, config.fetch.cycles) = (8, 3, 7);
        let mut fetch = Fetch::new(&config, &Techniques::default(), 0);
        let mut random = SplitMix64::new(11);
        let mut warps = PerSlot::new(WarpSlot::default);
        // By warp: what was fetched and is not used up, with the cycle in which it is there.
        let mut plain: [VecDeque<u64>; 4] = Default::default();
        let mut now = 0;
        for _ in 0..100_000 {
            now += 1 + random.next_u64() % 3;
            let mut latest = 0;
            while let Some(Arrival { cycle, slot, count, path }) = fetch.arrive::<false>(now) {
                assert!(latest < cycle, "one after the other");
                latest = cycle;
                if warps[slot].path == path {
                    warps[slot].buffered += count;
                }
            }
            for (number, coming) in plain.iter_mut().enumerate() {
                let (slot, warp) = (Slot::new(number), &mut warps[Slot::new(number)]);
                let has_some = coming.front().is_some_and(|&cycle| cycle <= now);
                assert_eq!(warp.buffered != 0, has_some);
                match random.next_u64() % 16 {
                    0 => {
                        coming.clear();
                        (warp.buffered, warp.fetched, warp.coming) = (0, 0, 0);
                        warp.path += 1;
                    }
                    1..10 if has_some => {
                        coming.pop_front();
                        warp.consume();
                        if warp.buffered == 0 && warp.coming != 0 {
                            fetch.receive(slot, warp, now);
                        }
                    }
                    _ => {}
                }
            }
            let number = (random.next_u64() % 4) as usize;
            let (slot, warp) = (Slot::new(number), &mut warps[Slot::new(number)]);
            if warp.fetched <= fetch.limit {
                let count = 1 + (random.next_u64() % 3) as u8;
                fetch.announce::<false>(now, slot, warp, count);
                plain[number].extend((0..count).map(|_| now + 7));
            }
        }
    }

    #[test]
    fn lines_are_shown_with_the_words_of_the_instructions() {
        let config = Config::default();
        let mut fetch = with_line(&config);
        fetch.data.add_site(slow(Use::Read, 0));
        let Fetched::Hit { count, .. } =
            fetch.access::<true>(150, Slot::new(1), 1, (2, 64), &mut SecondLevel::new(&config))
        else {
            panic!("a hit")
        };
        let words = u64::from(u32::from(count) * config.fetch.instruction_bytes / 4);
        assert_eq!((fetch.data.seen().words, fetch.data.seen().lanes), (words, 32));
        let counters = fetch.counters();
        assert_eq!((counters.intervals.total(), counters.line_intervals.total()), (2, 1));
    }

    #[test]
    fn lines_behind_are_fetched_ahead_up_to_the_end_of_the_code() {
        let mut config = Config::default();
        config.icache.prefetch = 2;
        let in_line = config.icache.line_bytes / config.fetch.instruction_bytes;
        let asked = |end: u32, pc: u32| {
            let mut fetch = Fetch::new(&config, &Techniques::default(), 0);
            fetch.access::<true>(0, Slot::new(0), pc, (1, end), &mut SecondLevel::new(&config));
            let lines: Vec<_> =
                fetch.requests.iter().map(|packet| packet.address % (1 << 24) / 128).collect();
            (lines, fetch.counters.prefetches)
        };
        assert_eq!(asked(100 * in_line, 0), (vec![0, 1, 2], 2));
        assert_eq!(asked(100 * in_line, 5 * in_line + 3), (vec![5, 6, 7], 2));
        assert_eq!(asked(2 * in_line, in_line - 1), (vec![0, 1], 1));
        assert_eq!(asked(2 * in_line, in_line), (vec![1], 0));
    }
}
