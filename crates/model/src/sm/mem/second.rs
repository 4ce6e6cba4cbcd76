// SPDX-License-Identifier: MIT OR Apache-2.0
//! The second-level cache of instructions and constants, between the small caches of an SM and L2.
//!
//! Micro-benchmarks of the generation before Fermi (Wong et al., Demystifying GPU Microarchitecture through Microbenchmarking, ISPASS 2010)
//! found one that neighbouring SMs share. Actors hear of each other an epoch later at the soonest, which is longer than such a cache takes,
//! so each SM has one of its own here, of the full size: neighbours run the same code and read the same constants, so that what one of them
//! brings the others find. What differs is that each SM fetches a line from L2 by itself.
//!
//! A miss of a first level asks here. A line that is there comes `sm.second.cycles` later, one every `sm.second.interval` cycles; any other is
//! asked of L2, as a whole line, and is put here when it comes.

use std::collections::VecDeque;

use warpwatt_base::counters;
use warpwatt_base::counters::Charge;
use warpwatt_config::{Config, LINE_BYTES};

use crate::address::is_constant;
use crate::cache::{State, Tags};
use crate::net::Packet;

counters! {
    /// What the second-level cache of instructions and constants did.
    pub struct SecondCounters(Charge::Issues) {
        reads: u64 = "second.reads.count", "Lines that the instruction and constant caches requested from the second-level cache.";
        hits: u64 = "second.hits.count", "Accesses that hit.";
        fills: u64 = "second.fills.count", "Lines that came from L2.";
    }
}

pub struct SecondLevel {
    pub counters: SecondCounters,
    /// None if there is no such cache.
    tags: Option<Tags>,
    /// Lines of constants that came for this kernel; some may have been replaced since.
    constants: Vec<u64>,
    cycles: u64,
    interval: u64,
    /// Answers on their way to the first level, in order.
    coming: VecDeque<Packet>,
    /// When the first and the last of them come.
    next: u64,
    last: u64,
}

impl SecondLevel {
    pub fn new(config: &Config) -> SecondLevel {
        let spec = &config.second;
        let sets = spec.bytes / (LINE_BYTES * spec.ways);
        SecondLevel {
            counters: SecondCounters::default(),
            tags: (sets != 0).then(|| Tags::new(sets, spec.ways)),
            constants: Vec::new(),
            cycles: u64::from(spec.cycles),
            interval: u64::from(spec.interval),
            coming: VecDeque::with_capacity((config.icache.mshrs + config.constant.mshrs) as usize),
            next: u64::MAX,
            last: 0,
        }
    }

    /// Asks for the line of a packet. True if it is there: the answer comes by itself. Otherwise the packet goes to L2.
    pub fn ask(&mut self, now: u64, packet: &mut Packet) -> bool {
        let Some(tags) = &mut self.tags else { return false };
        self.counters.reads += 1;
        let Some(place) = tags.find(packet.address / u64::from(LINE_BYTES)) else {
            packet.words = u32::MAX;
            return false;
        };
        tags.touch(place);
        self.counters.hits += 1;
        self.last = (now + self.cycles).max(self.last + self.interval);
        self.next = self.next.min(self.last);
        self.coming.push_back(Packet { arrive: self.last, ..packet.answer() });
        true
    }

    /// A line came from L2.
    pub fn fill(&mut self, packet: &Packet) {
        let Some(tags) = &mut self.tags else { return };
        let line = packet.address / u64::from(LINE_BYTES);
        if tags.find(line).is_none()
            && let Some((place, _)) = tags.reserve(line)
        {
            tags.set_state(place, State::Clean);
            self.counters.fills += 1;
            if is_constant(packet.address) {
                if self.constants.len() >= 2 * tags.len() as usize {
                    self.constants.retain(|&line| tags.find(line).is_some());
                }
                self.constants.push(line);
            }
        }
    }

    /// A kernel starts: constants of the former one are stale.
    pub fn new_kernel(&mut self) {
        let Some(tags) = &mut self.tags else { return };
        for line in self.constants.drain(..) {
            if let Some(place) = tags.find(line) {
                tags.set_state(place, State::Invalid);
            }
        }
    }

    /// When the next answer comes.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The next answer if it is there.
    pub fn take(&mut self, now: u64) -> Option<Packet> {
        if self.next > now {
            return None;
        }
        let packet = self.coming.pop_front();
        self.next = self.coming.front().map_or(u64::MAX, |packet| packet.arrive);
        packet
    }

    pub fn is_idle(&self) -> bool {
        self.coming.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Client, PacketKind};

    fn read(line: u64) -> Packet {
        Packet {
            address: line * 128,
            words: 0xffff,
            lanes: 32,
            rounds: 1,
            kind: PacketKind::Read,
            client: Client::Constant,
            sm: 0,
            partition: 0,
            flits: 0,
            tag: line as u32,
            born: 0,
            arrive: 0,
        }
    }

    #[test]
    fn lines_that_came_once_are_answered_one_after_the_other() {
        let mut second = SecondLevel::new(&Config::default());
        let mut first = read(7);
        assert!(!second.ask(10, &mut first));
        assert_eq!(first.words, u32::MAX, "the whole line is asked for");
        second.fill(&first);
        second.fill(&read(8));
        let (cycles, interval) = (second.cycles, second.interval);
        assert!(second.ask(100, &mut read(7)) && second.ask(100, &mut read(8)));
        assert_eq!(second.next(), 100 + cycles);
        assert_eq!(second.take(100 + cycles - 1), None);
        assert_eq!(second.take(100 + cycles).map(|packet| packet.tag), Some(7));
        assert_eq!(second.next(), 100 + cycles + interval);
        assert!(second.take(200).is_some() && second.is_idle());
        assert_eq!((second.counters.reads, second.counters.hits, second.counters.fills), (3, 2, 2));
    }

    #[test]
    fn constants_do_not_outlive_their_kernel() {
        let mut second = SecondLevel::new(&Config::default());
        let lines = u64::from(second.tags.as_ref().map_or(0, Tags::len));
        let first = crate::address::constant(0, 0, 0) / u64::from(LINE_BYTES);
        let is_there =
            |second: &SecondLevel, line| second.tags.as_ref().is_some_and(|tags| tags.find(line).is_some());
        // More than there is room for, some of them again after they were replaced.
        for line in (0..5 * lines).map(|number| first + number % (lines + 7)).chain([1, 2, 3]) {
            second.fill(&read(line));
        }
        assert!(second.constants.len() as u64 <= 2 * lines);
        assert!((0..lines + 7).any(|number| is_there(&second, first + number)));
        second.new_kernel();
        assert!((0..lines + 7).all(|number| !is_there(&second, first + number)));
        assert!([1, 2, 3].iter().all(|&line| is_there(&second, line)), "instructions stay");
    }

    #[test]
    fn without_a_size_everything_goes_to_l2() {
        let mut config = Config::default();
        config.second.bytes = 0;
        let mut second = SecondLevel::new(&config);
        let mut packet = read(1);
        second.fill(&packet);
        assert!(!second.ask(0, &mut packet));
        assert_eq!((packet.words, second.counters.reads), (0xffff, 0));
    }
}
