// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant cache: operands from constant banks, kernel parameters, and indexed loads.
//!
//! An operand is the same word for all lanes and costs nothing when it is there; when it is not, its warp does not issue until the line
//! has come. An indexed load reads one place a cycle, lanes with the same place together (CUDA C Programming Guide, constant memory).

use warpwatt_config::Config;

use crate::cache::{LineId, Mshr, MshrId, State, Tags};
use crate::net::{Client, Kind, LINE_BYTES, Outbox};

use super::coalesce::Line;
use super::flight::FlightId;
use super::requests::{Note, Request, Requests};
use super::{Answer, Asker, Cause, MemCounters, Use};

/// Indexed loads that wait for one line; far more than a load has places on it.
const MERGES: u32 = 64;

/// Operands that an instruction may have, and one more.
const HELD: usize = 4;

/// No line has this number.
const NO_LINE: u64 = u64::MAX;

pub struct ConstantCache {
    cycles: u64,
    shift: u32,
    tags: Tags,
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
    /// By warp slot: lines it waited for last. It may read them although they had to make room meanwhile; without that, warps could
    /// take each other's operands away for ever.
    held: Vec<[u64; HELD]>,
    pub requests: Requests,
    last_use: u64,
}

impl ConstantCache {
    pub fn new(config: &Config, sm: u32) -> ConstantCache {
        let spec = &config.constant;
        ConstantCache {
            cycles: u64::from(spec.cycles),
            shift: spec.line_bytes.trailing_zeros(),
            tags: Tags::new(spec.sets, spec.ways),
            mshr: Mshr::new(spec.mshrs, MERGES),
            places: vec![LineId(0); spec.mshrs as usize],
            warps: vec![0; spec.mshrs as usize],
            retry: 0,
            late: 0,
            woken: 0,
            held: vec![[NO_LINE; HELD]; 64],
            // A register each is all that can be asked for.
            requests: Requests::new(config, sm, Client::Constant, spec.mshrs),
            last_use: 0,
        }
    }

    /// Every use of the data array.
    #[inline(always)]
    fn data(&mut self, now: u64, _line: LineId, lanes: u8, usage: Use, counters: &mut MemCounters) {
        match usage {
            Use::Read => counters.constant_array_reads += 1,
            Use::Write | Use::Fill => counters.constant_fills += 1,
        }
        counters.constant_lanes += u64::from(lanes);
        counters.constant_intervals.note(now - self.last_use);
        self.last_use = now;
    }

    /// Whether an operand is there. If not, its line is fetched and the warp woken when it is worth trying again.
    #[inline]
    pub fn operand(&mut self, now: u64, address: u64, warp: u8, counters: &mut MemCounters) -> bool {
        let bit = 1 << (warp & 63);
        let number = address >> self.shift;
        match self.tags.find(number) {
            Some(place) if self.tags.state(place) != State::Reserved => {
                self.tags.touch(place);
                self.data(now, place, 32, Use::Read, counters);
                counters.constant_operands += 1;
                counters.constant_hits += u64::from(self.late & bit == 0);
                self.late &= !bit;
                true
            }
            Some(_) => {
                match self.mshr.find(number) {
                    Some(register) => self.warps[register.0 as usize] |= bit,
                    None => self.retry |= bit,
                }
                counters.constant_merges += u64::from(self.late & bit == 0);
                self.late |= bit;
                false
            }
            None if self.held[usize::from(warp & 63)].contains(&number) => {
                counters.constant_operands += 1;
                self.late &= !bit;
                true
            }
            None => {
                match self.fetch(now, number, 32, None, counters) {
                    Ok(register) => self.warps[register.0 as usize] = bit,
                    Err(_) => self.retry |= bit,
                }
                self.late |= bit;
                false
            }
        }
    }

    /// One place of an indexed load.
    pub fn access(
        &mut self,
        now: u64,
        line: &Line,
        asker: Asker,
        counters: &mut MemCounters,
    ) -> Result<Answer, Cause> {
        let number = line.address >> self.shift;
        match self.tags.find(number) {
            Some(place) if self.tags.state(place) != State::Reserved => {
                self.tags.touch(place);
                self.data(now, place, asker.lanes, Use::Read, counters);
                counters.constant_reads += 1;
                counters.constant_hits += 1;
                Ok(Answer::At(now + self.cycles))
            }
            Some(_) => {
                let register = self.mshr.find(number).ok_or(Cause::Constant)?;
                if !self.mshr.has_room(register) {
                    return Err(Cause::Constant);
                }
                self.mshr.merge(register, Some(asker.flight));
                counters.constant_reads += 1;
                counters.constant_merges += 1;
                Ok(Answer::Later)
            }
            None => {
                self.fetch(now, number, asker.lanes, Some(asker.flight), counters)?;
                counters.constant_reads += 1;
                Ok(Answer::Later)
            }
        }
    }

    fn fetch(
        &mut self,
        now: u64,
        number: u64,
        lanes: u8,
        flight: Option<FlightId>,
        counters: &mut MemCounters,
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
        self.requests.push(now, Request { kind: Kind::Read, address, words, lanes, rounds: 1, note });
        counters.constant_misses += 1;
        Ok(register)
    }

    /// A line is there.
    pub fn fill(
        &mut self,
        now: u64,
        register: u32,
        counters: &mut MemCounters,
        mut land: impl FnMut(FlightId, &mut MemCounters),
    ) {
        let place = self.places[register as usize];
        let number = self.mshr.line(MshrId(register));
        self.tags.set_state(place, State::Clean);
        self.data(now, place, 32, Use::Fill, counters);
        self.mshr.release(MshrId(register), |waiter| {
            if let Some(flight) = waiter {
                land(flight, counters);
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

    /// Slots of the warps that may find their operands since the last call.
    #[inline(always)]
    pub fn take_woken(&mut self) -> u64 {
        std::mem::take(&mut self.woken)
    }

    pub fn flush(&mut self) {
        self.tags.flush(|_| ());
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
