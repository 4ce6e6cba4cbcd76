// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant cache: operands from constant banks, kernel parameters, and indexed loads.
//!
//! An operand is the same word for all lanes and costs nothing when it is there; when it is not, its warp does not issue until the line
//! has come. An indexed load reads one place a cycle, lanes with the same place together (CUDA C Programming Guide, constant memory).

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};
use warpwatt_config::Config;

use crate::cache::{Array, ArrayShape, DataArray, LineId, Mshr, MshrId, RowAccess, State, Tags, Use};
use crate::net::{Client, LINE_BYTES, Outbox, PacketKind};
use crate::techniques::Techniques;

use super::coalesce::Line;
use super::flight::FlightId;
use super::requests::{Note, Request, Requests};
use super::second::SecondLevel;
use super::{Answer, Cause, Requester};

counters! {
    /// What the constant cache did.
    pub struct ConstantCounters(Charge::ConstantCache) {
        operands: u64 = "constant.operands.count", "Constant operands that were available when their instruction was ready to issue.";
        reads: u64 = "constant.reads.count", "Distinct addresses read by indexed loads.";
        hits: u64 = "constant.hits.count", "Operands and addresses of indexed loads that hit at the first access.";
        misses: u64 = "constant.misses.count", "Lines fetched on misses.";
        merges: u64 = "constant.merges.count", "Operands and addresses merged with an outstanding miss on the same line.";
        array_reads: u64 = "constant.array_reads.count", "Reads of the data array.";
        fills: u64 = "constant.fills.count", "Lines filled from L2.";
        lanes: u64 = "constant.lanes.count", "Active lanes of the accesses to the data array.";
        fails: u64 = "constant.fails.cycles", "The next address of an indexed load waited for a miss status register (MSHR) or a way.";
        network: u64 = "constant.network.cycles", "The network did not accept the next request.";
        intervals: Log2 = "constant.interval.histogram", "Cycles between two uses of the data array.";
        line_intervals: Log2 = "constant.line_interval.histogram", "Cycles between two uses of the same line of the data array.";
    }
}

/// Indexed loads that wait for one line; far more than a load has places on it.
const MERGES: u32 = 64;

/// Operands that an instruction may have, and one more.
const HELD: usize = 4;

/// No line has this number.
const NO_LINE: u64 = u64::MAX;

/// Lines of the latest operands that are remembered: instructions take turns with few of them.
const LATEST: usize = 8;

pub struct ConstantCache {
    pub counters: ConstantCounters,
    /// Operands that [`ConstantCache::operand_again`] found: they hit.
    read_again: u64,
    cycles: u64,
    shift: u32,
    tags: Tags,
    pub data: DataArray,
    /// Indexed loads that wait; warps that wait for operands are in `warps`.
    mshr: Mshr<Option<FlightId>>,
    places: Vec<LineId>,
    /// By register: slots of the warps that wait for an operand on its line.
    warps: Vec<u64>,
    /// Warps that found no register or no place, and try again when one is free.
    retry: u64,
    /// Warps that have waited for an operand which they have not read yet.
    late: u64,
    woken: u64,
    /// By warp slot: lines it waited for last. It may read them although they have been evicted meanwhile; without that, warps could
    /// take each other's operands away for ever.
    held: Vec<[u64; HELD]>,
    /// Where the latest operands were, by the lowest bits of their lines.
    latest: [LineId; LATEST],
    pub requests: Requests,
}

impl ConstantCache {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> ConstantCache {
        let spec = &config.constant;
        let tags = Tags::new(spec.sets, spec.ways);
        let shape = ArrayShape { frames: tags.len(), ways: tags.ways(), line_bytes: spec.line_bytes };
        ConstantCache {
            counters: ConstantCounters::default(),
            read_again: 0,
            cycles: u64::from(spec.cycles),
            shift: spec.line_bytes.trailing_zeros(),
            tags,
            data: DataArray::new(config, techniques, sm, Array::Constant, shape),
            mshr: Mshr::new(spec.mshrs, MERGES),
            places: vec![LineId(0); spec.mshrs as usize],
            warps: vec![0; spec.mshrs as usize],
            retry: 0,
            late: 0,
            woken: 0,
            held: vec![[NO_LINE; HELD]; crate::sm::Slot::COUNT],
            latest: [LineId(0); LATEST],
            // A register each is all that can be asked for.
            requests: Requests::new(config, sm, Client::Constant, spec.mshrs),
        }
    }

    /// What was counted, with the intervals that the data array keeps.
    #[inline(always)]
    pub fn counters(&self) -> ConstantCounters {
        let intervals = self.data.intervals();
        ConstantCounters {
            operands: self.counters.operands + self.read_again,
            hits: self.counters.hits + self.read_again,
            // The array is used to read or to fill a line.
            array_reads: intervals.total() - self.counters.fills,
            intervals,
            line_intervals: self.data.frame_intervals(),
            ..self.counters.clone()
        }
    }

    /// Every use of the data array; gives the cycle in which it is served.
    #[inline(always)]
    fn use_data(&mut self, now: u64, usage: Use, lanes: u8, row: RowAccess) -> u64 {
        if matches!(usage, Use::Write | Use::Fill) {
            self.counters.fills += 1;
        }
        self.counters.lanes += u64::from(lanes);
        self.data.note_use(now);
        self.data.access(now, usage, lanes, row)
    }

    /// Some words of a line, from an address on.
    #[inline(always)]
    fn row(&self, frame: LineId, address: u64, words: u32) -> RowAccess {
        let place = (address >> 2) as u32 & ((1 << (self.shift - 2)) - 1);
        RowAccess { frame, line: address >> self.shift, words: words << place }
    }

    /// Reads an operand that is in the line of one of the latest ones, for a warp that has not waited for it. False if that is not so; then nothing
    /// has changed.
    #[inline(always)]
    pub fn operand_again(&mut self, now: u64, address: u64, warp: u8, lanes: u8) -> bool {
        let is_late = self.late >> (warp & 63) & 1 != 0;
        let number = address >> self.shift;
        let latest = self.latest[number as usize % LATEST];
        // SAFETY: places are those that the tags gave, and these do not change in number.
        if self.data.has_sites() || is_late || !unsafe { self.tags.use_known(latest, number) } {
            return false;
        }
        self.data.note_use(now);
        // SAFETY: the array has a frame for each place of the tags.
        unsafe { self.data.note_known_frame(now, latest) };
        self.counters.lanes += u64::from(lanes);
        self.read_again += 1;
        true
    }

    /// When an operand is there, which so many lanes want. `None` if its line has to come first: it is fetched, and the warp woken when it
    /// is worth trying again.
    #[inline]
    pub fn operand(
        &mut self,
        now: u64,
        address: u64,
        warp: u8,
        lanes: u8,
        second: &mut SecondLevel,
    ) -> Option<u64> {
        if self.data.has_sites() {
            self.lose(now);
        }
        let bit = 1 << (warp & 63);
        let number = address >> self.shift;
        match self.tags.find(number) {
            Some(place) if self.tags.state(place) != State::Reserved => {
                self.latest[number as usize % LATEST] = place;
                self.tags.touch(place);
                let ready = self.use_data(now, Use::Read, lanes, self.row(place, address, 1));
                self.counters.operands += 1;
                self.counters.hits += u64::from(self.late & bit == 0);
                self.late &= !bit;
                Some(ready)
            }
            Some(_) => {
                match self.mshr.find(number) {
                    Some(register) => self.warps[register.0 as usize] |= bit,
                    None => self.retry |= bit,
                }
                self.counters.merges += u64::from(self.late & bit == 0);
                self.late |= bit;
                None
            }
            None if self.held[usize::from(warp & 63)].contains(&number) => {
                self.counters.operands += 1;
                self.late &= !bit;
                Some(now)
            }
            None => {
                match self.fetch(now, number, 32, None, second) {
                    Ok(register) => self.warps[register.0 as usize] = bit,
                    Err(_) => self.retry |= bit,
                }
                self.late |= bit;
                None
            }
        }
    }

    /// One place of an indexed load.
    pub fn access(
        &mut self,
        now: u64,
        line: &Line,
        requester: Requester,
        second: &mut SecondLevel,
    ) -> Result<Answer, Cause> {
        if self.data.has_sites() {
            self.lose(now);
        }
        let number = line.address >> self.shift;
        match self.tags.find(number) {
            Some(place) if self.tags.state(place) != State::Reserved => {
                self.tags.touch(place);
                let row = self.row(place, line.address, line.words);
                let ready = self.use_data(now, Use::Read, requester.lanes, row);
                self.counters.reads += 1;
                self.counters.hits += 1;
                Ok(Answer::At(ready + self.cycles))
            }
            Some(_) => {
                let register = self.mshr.find(number).ok_or(Cause::Constant)?;
                if !self.mshr.has_room(register) {
                    return Err(Cause::Constant);
                }
                self.mshr.merge(register, Some(requester.flight));
                let place = self.places[register.0 as usize];
                let row = self.row(place, line.address, line.words);
                self.data.merged(now, requester.lanes, row.words, Some(place));
                self.counters.reads += 1;
                self.counters.merges += 1;
                Ok(Answer::Later)
            }
            None => {
                self.fetch(now, number, requester.lanes, Some(requester.flight), second)?;
                self.counters.reads += 1;
                Ok(Answer::Later)
            }
        }
    }

    /// Drops lines that a technique gave up.
    fn lose(&mut self, now: u64) {
        for place in self.data.lost(now) {
            self.tags.lose(place);
        }
    }

    fn fetch(
        &mut self,
        now: u64,
        number: u64,
        lanes: u8,
        flight: Option<FlightId>,
        second: &mut SecondLevel,
    ) -> Result<MshrId, Cause> {
        if self.mshr.is_full() {
            return Err(Cause::Constant);
        }
        let (place, _) = self.tags.reserve(number).ok_or(Cause::Constant)?;
        let register = self.mshr.allocate(number, flight);
        self.places[register.0 as usize] = place;
        self.warps[register.0 as usize] = 0;
        let address = number << self.shift;
        let note = Note::Fill(register.0);
        let words = line_words(address, self.shift);
        let request = Request { kind: PacketKind::Read, address, words, lanes, rounds: 1, note };
        let mut packet = self.requests.packet(now, &request);
        if !second.ask(now, &mut packet) {
            self.requests.push_packet(packet);
        }
        self.counters.misses += 1;
        Ok(register)
    }

    /// A line is there. Loads that waited for it have their data as soon as the array has taken it; warps read theirs when they try again.
    pub fn fill(&mut self, now: u64, register: u32, mut land: impl FnMut(FlightId, u64)) {
        if self.data.has_sites() {
            self.lose(now);
        }
        let place = self.places[register as usize];
        let number = self.mshr.line(MshrId(register));
        self.tags.set_state(place, State::Clean);
        let row = RowAccess { frame: place, line: number, words: line_words(0, self.shift) };
        let ready = self.use_data(now, Use::Fill, 32, row);
        self.mshr.release(MshrId(register), |waiter| {
            if let Some(flight) = waiter {
                land(flight, ready);
            }
        });
        let warps = std::mem::take(&mut self.warps[register as usize]);
        let mut rest = warps;
        while rest != 0 {
            let held = &mut self.held[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            held.rotate_right(1);
            held[0] = number;
        }
        self.woken |= warps | std::mem::take(&mut self.retry);
    }

    /// Slots of the warps that may find their operands since [`ConstantCache::take_woken`].
    #[inline(always)]
    pub fn woken(&self) -> u64 {
        self.woken
    }

    /// Slots of the warps that may find their operands since the last call.
    #[inline(always)]
    pub fn take_woken(&mut self) -> u64 {
        std::mem::take(&mut self.woken)
    }

    pub fn flush(&mut self) {
        self.tags.flush(|_, _| ());
        self.held.fill([NO_LINE; HELD]);
    }

    /// Offers a request to the network. False if there is one and it was not taken.
    #[inline]
    pub fn send(&mut self, now: u64, outbox: &mut Outbox) -> bool {
        self.requests.send(now, outbox)
    }

    pub fn is_idle(&self) -> bool {
        self.mshr.in_use() == 0
    }

    /// Addresses of lines being fetched.
    pub fn fetching(&self) -> impl Iterator<Item = u64> {
        self.mshr.lines().map(|number| number << self.shift)
    }
}

/// Words that a smaller line takes up in the 128 bytes that packets are about.
pub(super) fn line_words(address: u64, shift: u32) -> u32 {
    let words = 1u64 << (shift - 2);
    (((1u64 << words) - 1) << (address % LINE_BYTES / 4)) as u32
}
