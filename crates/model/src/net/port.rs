// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports of the network: an outbox with the injection port of a sender, an inbox with the ejection port of a receiver.
//!
//! An injection port moves one flit in a network clock; a packet is at the receiver `noc.cycles` after its last flit left. There the
//! ejection port lets packets through in the order (arrival, sender, sequence), again a flit in a network clock; flits of a packet stream
//! through, so that a lone packet waits for nothing. Each receiver keeps `noc.buffer_flits` for each sender: the sender spends credits
//! when it sends, and has them back `noc.cycles` after the receiver took the packet.
//!
//! Requests (SMs to memory partitions) and replies are two networks of this kind. Actors run one epoch after the other; what they sent is
//! handed over by [`exchange`] in between. As no epoch is longer than `noc.cycles`, all that concerns an epoch is known when it starts.

use warpwatt_base::counters::{Counter as _, Magnitudes};
use warpwatt_config::Config;

use super::counters::Traffic;
use super::mesh::Mesh;
use super::order::{Arrivals, SENDER_BITS, Span};
use super::packet::Packet;
use super::timing::Timing;

/// Actors that one side of a network can have.
pub const MOST_ACTORS: usize = 1 << SENDER_BITS;

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub packet: Packet,
    /// Cycle in which it was sent.
    pub sent: u64,
    /// Network clocks from the first of that cycle to the one in which its first flit leaves.
    pub wait: u32,
    /// The receiver.
    pub to: u32,
}

/// What an actor sent in an epoch, in order. Places are used again in the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    places: Vec<Flight>,
    len: usize,
}

impl Sent {
    /// The packet is copied right into its place, and only once.
    #[inline(always)]
    fn push(&mut self, packet: &Packet, sent: u64, wait: u32, to: u32) -> &mut Flight {
        if self.len >= self.places.len() {
            self.add_place(packet);
        }
        let flight = &mut self.places[self.len];
        self.len += 1;
        flight.packet = *packet;
        (flight.sent, flight.wait, flight.to) = (sent, wait, to);
        flight
    }

    #[cold]
    #[inline(never)]
    fn add_place(&mut self, packet: &Packet) {
        self.places.push(Flight { packet: *packet, sent: 0, wait: 0, to: 0 });
    }

    #[inline(always)]
    pub fn flights(&mut self) -> &mut [Flight] {
        &mut self.places[..self.len]
    }
}

/// Room that a receiver gives back: the cycle from which on, above the flits. In one word, since there is one for each packet.
#[derive(Clone, Copy, Debug)]
struct Credit(u64);

impl Credit {
    #[inline(always)]
    fn new(at: u64, flits: u8) -> Credit {
        Credit(at << 8 | u64::from(flits))
    }

    #[inline(always)]
    fn at(self) -> u64 {
        self.0 >> 8
    }

    #[inline(always)]
    fn flits(self) -> u32 {
        self.0 as u32 & 0xff
    }
}

/// The room that a sender has at a receiver.
#[derive(Clone, Debug)]
struct Lane {
    /// In flits, without the credits that were not collected.
    room: u32,
    /// Credits on their way or there, in order, and how many of them were collected. That is done when room is short.
    credits: Vec<Credit>,
    collected: usize,
}

/// Credits that were collected are kept up to this number.
const KEPT: usize = 64;

impl Lane {
    /// Room for so many flits, as far as it is there.
    #[inline(always)]
    fn room_for(&mut self, now: u64, flits: u32) -> bool {
        if self.room < flits {
            self.collect(now);
        }
        self.room >= flits
    }

    #[inline(never)]
    fn collect(&mut self, now: u64) {
        let (mut room, mut collected) = (self.room, self.collected);
        for credit in self.coming() {
            if credit.at() > now {
                break;
            }
            room += credit.flits();
            collected += 1;
        }
        (self.room, self.collected) = (room, collected);
        if self.collected == self.credits.len() || self.collected >= KEPT {
            self.credits.drain(..std::mem::take(&mut self.collected));
        }
    }

    /// Credits that were not collected.
    fn coming(&self) -> &[Credit] {
        &self.credits[self.collected..]
    }
}

/// Where an actor sends from. Neighbours in a slice are used by different threads, so they share no cache line.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Outbox {
    timing: Timing,
    /// Network clock from which the injection port is free, and the first cycle in which it takes a packet.
    port_free: u64,
    port_from: u64,
    /// Room at each receiver.
    lanes: Vec<Lane>,
    /// What was sent in this epoch, in order.
    pub(super) sent: Sent,
    pub counters: Traffic,
}

impl Outbox {
    pub fn new(config: &Config, receivers: usize) -> Outbox {
        debug_assert!(receivers <= MOST_ACTORS);
        Outbox {
            timing: Timing::new(config),
            port_free: 0,
            port_from: 0,
            lanes: vec![Lane { room: config.noc.buffer_flits, credits: Vec::new(), collected: 0 }; receivers],
            sent: Sent::default(),
            counters: Traffic::default(),
        }
    }

    /// Whether the packet may leave in this cycle: the injection port is free and the receiver has room.
    #[inline]
    pub fn can_send(&mut self, now: u64, to: usize, packet: &Packet) -> bool {
        let flits = self.timing.flits(packet.moved_words());
        now >= self.port_from && self.lanes[to].room_for(now, u32::from(flits))
    }

    /// Sends a packet that [`Outbox::can_send`] in this cycle.
    pub fn send(&mut self, now: u64, to: usize, packet: Packet) {
        let sent = self.try_send(now, to, &packet);
        debug_assert!(sent, "sent without asking");
    }

    /// Sends a packet if it may leave in this cycle; whether it did.
    #[inline(always)]
    pub fn try_send(&mut self, now: u64, to: usize, packet: &Packet) -> bool {
        if now < self.port_from {
            return false;
        }
        let words = packet.moved_words();
        let flits = self.timing.flits(words);
        let lane = &mut self.lanes[to];
        if !lane.room_for(now, u32::from(flits)) {
            return false;
        }
        lane.room -= u32::from(flits);
        let first = self.timing.first_clock(now);
        let start = self.port_free.max(first);
        self.port_free = start + u64::from(flits);
        self.port_from = self.timing.port_cycle(self.port_free);
        let arrive = self.timing.cycle_after(self.port_free) + self.timing.cycles;
        let flight = self.sent.push(packet, now, (start - first) as u32, to as u32);
        (flight.packet.flits, flight.packet.arrive) = (flits, arrive);
        self.counters.packets += 1;
        self.counters.flits += u64::from(flits);
        self.counters.payload += u64::from(4 * words);
        true
    }

    /// The first cycle in which the injection port takes a packet.
    #[inline(always)]
    pub fn port_from(&self) -> u64 {
        self.port_from
    }

    /// First cycle from `now` on in which the packet may leave if nothing else does, `u64::MAX` if room is not known to come.
    #[inline(never)]
    pub fn when(&self, now: u64, to: usize, packet: &Packet) -> u64 {
        let port = now.max(self.port_from);
        let missing = u32::from(self.timing.flits(packet.moved_words())).saturating_sub(self.lanes[to].room);
        if missing == 0 { port } else { port.max(self.room_from(to, missing)) }
    }

    /// First cycle in which a receiver has given so many more flits of room back.
    #[cold]
    fn room_from(&self, to: usize, mut missing: u32) -> u64 {
        for credit in self.lanes[to].coming() {
            missing = missing.saturating_sub(credit.flits());
            if missing == 0 {
                return credit.at();
            }
        }
        u64::MAX
    }

    /// First cycle after `now` in which [`Outbox::can_send`] may change its answer for any packet, `u64::MAX` if nothing is known to come.
    /// [`Outbox::when`] is for a certain packet.
    pub fn next_change(&self, now: u64) -> u64 {
        let credits = self
            .lanes
            .iter()
            .filter_map(|lane| lane.coming().iter().map(|credit| credit.at()).find(|&at| at > now));
        credits.chain((self.port_from > now).then_some(self.port_from)).min().unwrap_or(u64::MAX)
    }

    /// Counts the cycles from `from` to before `until` as waited for by the owner, who has something to send and could not: for the
    /// injection port as long as that is busy, for room after. Once for each cycle, whether one by one or at a stretch.
    #[inline]
    pub fn stalled(&mut self, from: u64, until: u64) {
        if from < until {
            let free = self.port_from.clamp(from, until);
            self.counters.port_stalls += free - from;
            self.counters.credit_stalls += until - free;
        }
    }
}

/// Where an actor receives; apart from its neighbours like [`Outbox`].
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Inbox {
    timing: Timing,
    /// Network clock from which the ejection port is free of packets already taken.
    port_free: u64,
    /// Packets that were received.
    arrivals: Arrivals,
    /// When the next packet is through the ejection port, and the network clock at which it is.
    ready: u64,
    ejected: u64,
    /// Cycles from sending to taking: of all packets together, and of each.
    latency: u64,
    latencies: Magnitudes,
}

impl Inbox {
    pub fn new(config: &Config, senders: usize) -> Inbox {
        debug_assert!(senders <= MOST_ACTORS);
        Inbox {
            timing: Timing::new(config),
            port_free: 0,
            arrivals: Arrivals::default(),
            ready: u64::MAX,
            ejected: 0,
            latency: 0,
            latencies: Magnitudes::default(),
        }
    }

    /// Adds what some receivers counted.
    pub fn count<'a>(all: impl IntoIterator<Item = &'a Inbox>, traffic: &mut Traffic) {
        let mut latencies = Magnitudes::default();
        for inbox in all {
            traffic.latency += inbox.latency;
            latencies.add(&inbox.latencies);
        }
        let latencies = latencies.log2();
        traffic.delivered += latencies.total();
        traffic.latencies.add(&latencies);
    }

    /// Cycles from sending to taking, of all packets that were taken.
    #[cfg(test)]
    pub fn latency(&self) -> u64 {
        self.latency
    }

    /// The next packet if it has wholly arrived.
    #[inline(always)]
    pub fn peek(&self, now: u64) -> Option<&Packet> {
        if self.ready > now {
            return None;
        }
        self.arrivals.first().map(|arrival| &arrival.packet)
    }

    /// Takes it; the room it took goes back to the sender.
    #[inline(always)]
    pub fn take(&mut self, now: u64) -> Option<Packet> {
        let packet = *self.peek(now)?;
        self.drop_next(now);
        Some(packet)
    }

    /// Takes the packet that [`Inbox::peek`] gives in this cycle, without handing it over.
    #[inline(always)]
    pub fn drop_next(&mut self, now: u64) {
        debug_assert!(self.ready <= now, "taken before it is there");
        let Some(sent) = self.arrivals.take(now + self.timing.cycles) else { return };
        self.latency += now - sent;
        self.latencies.note(now - sent);
        self.port_free = self.ejected;
        self.choose();
    }

    /// The cycle in which the next packet is there, `u64::MAX` if none is known.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.ready
    }

    /// Finds out when the next packet is there. One that arrives later than this epoch may still be overtaken by one that is not known yet.
    #[inline(always)]
    fn choose(&mut self) {
        let Some(first) = self.arrivals.first() else {
            self.ready = u64::MAX;
            return;
        };
        let Packet { arrive, flits, .. } = first.packet;
        let flits = u64::from(flits);
        self.ejected = self.port_free.max(self.timing.clocks_over(arrive).saturating_sub(flits)) + flits;
        self.ready = self.timing.cycle_after(self.ejected).max(arrive);
    }
}

/// What is known of an actor that something came in for: it may have something to do at once.
pub const AWAKE: u64 = 0;

/// At the end of an epoch, at `now`: hands over what senders of a network sent, and the room that its receivers gave back. With each of them
/// comes the cycle before which it has nothing to do. Those that had nothing to do in the epoch have nothing to hand over; those that get
/// something are marked as [`AWAKE`].
pub fn exchange(
    (senders, sending): (&mut [Outbox], &mut [u64]),
    (receivers, receiving): (&mut [Inbox], &mut [u64]),
    mesh: Option<&mut Mesh>,
    now: u64,
) {
    // A port sends one packet after the other; on the way through a mesh they may overtake each other.
    let is_in_order = mesh.is_none();
    if let Some(mesh) = mesh {
        mesh.route(senders);
    }
    // Of the same length, so that one check of an index is for both.
    let sending = &mut sending[..senders.len()];
    let mut arrivals = Span::NONE;
    for (index, (sender, wake)) in senders.iter_mut().zip(&*sending).enumerate() {
        if *wake < now && sender.sent.len != 0 {
            arrivals.note_all(sender.sent.flights(), is_in_order);
            hand_over(&mut sender.sent, index as u32, receivers);
        }
    }
    for (index, (receiver, wake)) in receivers.iter_mut().zip(receiving).enumerate() {
        if *wake >= now && !receiver.arrivals.has_new() {
            continue;
        }
        if receiver.arrivals.has_taken() {
            hand_back(&mut receiver.arrivals, index, senders, sending);
        }
        if receiver.arrivals.settle(arrivals) {
            receiver.choose();
            *wake = AWAKE;
        }
    }
}

/// Gives packets to their receivers. In a function of its own, as [`hand_back`], so that the host's registers suffice for the loop.
#[inline(never)]
fn hand_over(sent: &mut Sent, sender: u32, receivers: &mut [Inbox]) {
    for flight in sent.flights() {
        receivers[flight.to as usize].arrivals.add(&flight.packet, flight.sent, sender);
    }
    sent.len = 0;
}

/// Gives senders the room back that packets took which a receiver has taken.
#[inline(never)]
fn hand_back(taken: &mut Arrivals, receiver: usize, senders: &mut [Outbox], sending: &mut [u64]) {
    let sending = &mut sending[..senders.len()];
    taken.hand_back(|arrival| {
        let to = arrival.sender as usize;
        senders[to].lanes[receiver].credits.push(Credit::new(arrival.time, arrival.packet.flits));
        sending[to] = AWAKE;
    });
}

/// Exchanges packets and credits of actors that all ran in this epoch.
#[cfg(test)]
pub fn exchange_all(senders: &mut [Outbox], receivers: &mut [Inbox], mesh: Option<&mut Mesh>) {
    let (mut sending, mut receiving) = (vec![AWAKE; senders.len()], vec![AWAKE; receivers.len()]);
    exchange((senders, &mut sending), (receivers, &mut receiving), mesh, u64::MAX);
}
