// SPDX-License-Identifier: MIT OR Apache-2.0
//! The miss status registers of an L2 slice: the lines that it fetches, each with the requests that wait for it in order of arrival.
//!
//! A line that is being fetched has its place in the cache already, and its register is found by that. The first request that its fill answers is in the register, all others
//! lie side by side, as many for each register as can wait for a line.

use warpwatt_base::counters::{Log2, Magnitudes};

use crate::cache::LineId;
use crate::net::{Packet, PacketKind};

/// Number of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissId(pub u32);

const FREE: u64 = u64::MAX;

/// A line that is being fetched.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// Its number, or [`FREE`].
    pub line: u64,
    pub place: LineId,
    /// Requests for it, and those of them that its fill answers.
    requests: u32,
    pub answers: u32,
    /// A request changes it.
    pub changes: bool,
    /// The first request that its fill answers, if one is.
    pub first: Packet,
}

pub struct Misses {
    registers: Vec<Miss>,
    /// By register: the requests that its fill answers, from the second on, and room for more.
    waiting: Vec<Packet>,
    /// By place in the cache: the register of the line that is being fetched to it.
    of_place: Vec<u32>,
    /// Requests that can wait for a line.
    merges: u32,
    /// Registers that are not in use; the last one is taken next.
    free: Vec<u32>,
    /// How many were in use when one more was taken.
    in_use_then: Magnitudes,
}

impl Misses {
    /// So many lines, for a cache of so many places.
    pub fn new(registers: u32, merges: u32, places: u32) -> Misses {
        let (line, place, first) = (FREE, LineId(0), Packet::NONE);
        let none = Miss { line, place, requests: 0, answers: 0, changes: false, first };
        Misses {
            registers: vec![none; registers as usize],
            waiting: vec![Packet::NONE; (registers * merges) as usize],
            of_place: vec![0; places as usize],
            merges,
            free: (0..registers).rev().collect(),
            in_use_then: Magnitudes::default(),
        }
    }

    #[inline(always)]
    pub fn in_use(&self) -> usize {
        self.registers.len() - self.free.len()
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Takes a register for a line, which is to be fetched to a place; the caller made sure that one is free.
    #[inline(always)]
    pub fn begin(&mut self, line: u64, place: LineId, packet: &Packet) -> MissId {
        self.in_use_then.note(self.in_use() as u64);
        let id = self.free.pop().expect("a free register");
        self.of_place[place.0 as usize] = id;
        let miss = &mut self.registers[id as usize];
        (miss.line, miss.place, miss.requests) = (line, place, 1);
        miss.changes = packet.kind != PacketKind::Read;
        // It is overwritten by the next one if it does not count.
        miss.first = *packet;
        miss.answers = u32::from(packet.kind != PacketKind::Write);
        MissId(id)
    }

    /// Has a request wait for the line that is being fetched to a place. False if there is no room.
    #[inline(always)]
    pub fn merge(&mut self, place: LineId, packet: &Packet) -> bool {
        let id = self.of_place[place.0 as usize];
        let miss = &mut self.registers[id as usize];
        if miss.requests == self.merges {
            return false;
        }
        miss.requests += 1;
        miss.changes |= packet.kind != PacketKind::Read;
        // A write has been answered.
        if packet.kind != PacketKind::Write {
            match miss.answers {
                0 => miss.first = *packet,
                answers => self.waiting[(id * self.merges + answers) as usize] = *packet,
            }
            miss.answers += 1;
        }
        true
    }

    #[inline(always)]
    pub fn get(&self, id: MissId) -> &Miss {
        &self.registers[id.0 as usize]
    }

    /// One of the requests that a fill answers, by how many come before it.
    #[inline(always)]
    pub fn waiting(&self, id: MissId, before: u32) -> &Packet {
        match before {
            0 => &self.registers[id.0 as usize].first,
            _ => &self.waiting[(id.0 * self.merges + before) as usize],
        }
    }

    /// The line has arrived: frees its register.
    #[inline(always)]
    pub fn end(&mut self, id: MissId) {
        self.registers[id.0 as usize].line = FREE;
        self.free.push(id.0);
    }

    /// How many registers were in use when one more was taken.
    pub fn in_use_then(&self) -> Log2 {
        self.in_use_then.log2()
    }

    /// Lines that are being fetched.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.registers.iter().map(|register| register.line).filter(|&line| line != FREE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Mshr, MshrId};
    use warpwatt_base::SplitMix64;

    fn request(kind: PacketKind, tag: u32) -> Packet {
        Packet { kind, tag, ..Packet::NONE }
    }

    #[test]
    fn requests_wait_as_in_registers_that_are_found_by_line() {
        const REGISTERS: u32 = 6;
        let mut random = SplitMix64::new(5);
        let (mut misses, mut plain) = (Misses::new(REGISTERS, 3, 20), Mshr::new(REGISTERS, 3));
        let kinds = [PacketKind::Read, PacketKind::Write, PacketKind::Atomic, PacketKind::Reduction];
        for tag in 0..20_000 {
            let line = u64::from(random.below(20));
            let place = LineId(19 - line as u32);
            let packet = request(kinds[random.below(4) as usize], tag);
            match plain.find(line) {
                Some(id) if random.below(3) == 0 => {
                    let mut all = Vec::new();
                    plain.release_into(id, &mut all);
                    let is_answered = |packet: &&Packet| packet.kind != PacketKind::Write;
                    let id = MissId(id.0);
                    let &Miss { answers, changes, .. } = misses.get(id);
                    let answered = (0..answers).map(|before| misses.waiting(id, before));
                    assert!(answered.eq(all.iter().filter(is_answered)));
                    assert_eq!(changes, all.iter().any(|packet| packet.kind != PacketKind::Read));
                    misses.end(id);
                }
                Some(id) => {
                    let has_room = plain.has_room(id);
                    if has_room {
                        plain.merge(id, packet);
                    }
                    assert_eq!(misses.merge(place, &packet), has_room);
                }
                None if !plain.is_full() => {
                    let MshrId(id) = plain.allocate(line, packet);
                    assert_eq!(misses.begin(line, place, &packet), MissId(id));
                }
                None => assert!(misses.is_full()),
            }
            assert_eq!(misses.in_use(), plain.in_use() as usize);
            assert!(misses.lines().eq(plain.lines()));
        }
    }
}
