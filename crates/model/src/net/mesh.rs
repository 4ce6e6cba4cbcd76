// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 2D mesh of routers with XY routing, as the middle of a network.
//!
//! Routers fill a rectangle of `noc.mesh_columns` columns row by row: first those of SMs, then those of memory partitions, then routers
//! of the last row without an actor. A packet goes along its row, then along its column. Every directed link moves a flit in a network
//! clock and is booked for all flits of a packet, packets in the order (cycle sent, sender, sequence); each hop takes `noc.hop_cycles`.
//! This comes on top of the latency that a crossbar has. Room is for each pair of actors, so nothing can block in between; credits
//! return without using links. Requests and replies have links of their own.

use warpwatt_config::Config;

use super::counters::Traffic;
use super::port::Outbox;
use super::timing::Timing;

/// Which of the two networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From SMs to memory partitions.
    Request,
    /// From memory partitions to SMs.
    Reply,
}

/// Where a link leads from its router.
#[derive(Clone, Copy)]
enum Side {
    East,
    West,
    South,
    North,
}

#[derive(Clone, Debug)]
pub struct Mesh {
    timing: Timing,
    columns: usize,
    hop: u64,
    /// Routers of the first sender and of the first receiver.
    senders: usize,
    receivers: usize,
    /// Network clock from which each link is free: four for each router, by side.
    links: Vec<u64>,
    /// Packets of an epoch: cycle sent, sender, and which of the sender's.
    order: Vec<(u64, u16, u32)>,
    pub counters: Traffic,
}

impl Mesh {
    /// The middle of one of the two networks, where `noc.topology` asks for one.
    pub fn new(config: &Config, way: Way) -> Mesh {
        let (sms, partitions) = (config.gpu.sms as usize, config.gpu.partitions as usize);
        let (senders, receivers) = match way {
            Way::Request => (0, sms),
            Way::Reply => (sms, 0),
        };
        let columns = config.noc.mesh_columns as usize;
        let routers = (sms + partitions).next_multiple_of(columns);
        Mesh {
            timing: Timing::new(config),
            columns,
            hop: u64::from(config.noc.hop_cycles),
            senders,
            receivers,
            links: vec![0; 4 * routers],
            order: Vec::new(),
            counters: Traffic::default(),
        }
    }

    /// Books the links for all packets that were sent in this epoch, and sets when they arrive.
    pub(super) fn route(&mut self, senders: &mut [Outbox]) {
        let mut order = std::mem::take(&mut self.order);
        for (index, sender) in senders.iter_mut().enumerate() {
            let sent = sender.sent.flights().iter().enumerate();
            order.extend(sent.map(|(nth, flight)| (flight.sent, index as u16, nth as u32)));
        }
        // Packets of one sender in the order of their clocks.
        order.sort_unstable();
        for (sent, from, nth) in order.drain(..) {
            let flight = &mut senders[usize::from(from)].sent.flights()[nth as usize];
            let (start, to) = (self.timing.first_clock(sent) + u64::from(flight.wait), flight.to as usize);
            let flits = u64::from(flight.packet.flits);
            let there = self.book(self.senders + usize::from(from), self.receivers + to, start, flits);
            flight.packet.arrive = self.timing.cycle_after(there + flits) + self.timing.cycles;
        }
        self.order = order;
    }

    /// Books all links from one router to another; gives the clock in which the first flit is there.
    fn book(&mut self, from: usize, to: usize, start: u64, flits: u64) -> u64 {
        let (mut x, mut y) = (from % self.columns, from / self.columns);
        let (to_x, to_y) = (to % self.columns, to / self.columns);
        let mut clock = start;
        while (x, y) != (to_x, to_y) {
            let (side, next) = if x < to_x {
                (Side::East, (x + 1, y))
            } else if x > to_x {
                (Side::West, (x - 1, y))
            } else if y < to_y {
                (Side::South, (x, y + 1))
            } else {
                (Side::North, (x, y - 1))
            };
            let free = &mut self.links[4 * (y * self.columns + x) + side as usize];
            let begin = clock.max(*free);
            *free = begin + flits;
            self.counters.hops += 1;
            self.counters.link_busy += flits;
            self.counters.link_waits += begin - clock;
            clock = begin + self.hop;
            (x, y) = next;
        }
        clock
    }
}
