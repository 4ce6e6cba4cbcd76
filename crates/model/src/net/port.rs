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

use std::collections::VecDeque;

use warpwatt_config::Config;

use super::counters::Traffic;
use super::mesh::Mesh;
use super::order::{Key, SENDER_BITS, Sorter};
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

/// Room that a receiver gives back.
#[derive(Clone, Copy, Debug)]
struct Credit {
    at: u64,
    flits: u32,
    /// The sender that gets it.
    to: u32,
}

/// Where an actor sends from. Neighbours in a slice are used by different threads, so they share no cache line.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Outbox {
    timing: Timing,
    /// Network clock from which the injection port is free, and the first cycle in which it takes a packet.
    port_free: u64,
    port_from: u64,
    /// Room at each receiver, in flits.
    room: Vec<u32>,
    /// Credits on their way back from each receiver.
    returning: Vec<VecDeque<Credit>>,
    /// What was sent in this epoch, in order.
    pub(super) sent: Vec<Flight>,
    pub counters: Traffic,
}

impl Outbox {
    pub fn new(config: &Config, receivers: usize) -> Outbox {
        debug_assert!(receivers <= MOST_ACTORS);
        Outbox {
            timing: Timing::new(config),
            port_free: 0,
            port_from: 0,
            room: vec![config.noc.buffer_flits; receivers],
            returning: vec![VecDeque::new(); receivers],
            sent: Vec::new(),
            counters: Traffic::default(),
        }
    }

    /// Whether the packet may leave in this cycle: the injection port is free and the receiver has room.
    #[inline]
    pub fn can_send(&mut self, now: u64, to: usize, packet: &Packet) -> bool {
        now >= self.port_from && self.room_in(now, to) >= u32::from(self.timing.flits(packet.moved_words()))
    }

    /// Sends a packet that [`Outbox::can_send`] in this cycle.
    pub fn send(&mut self, now: u64, to: usize, packet: Packet) {
        let sent = self.try_send(now, to, &packet);
        debug_assert!(sent, "sent without asking");
    }

    /// Sends a packet if it may leave in this cycle; whether it did.
    #[inline(always)]
    pub fn try_send(&mut self, now: u64, to: usize, packet: &Packet) -> bool {
        now >= self.port_from && self.try_send_at_free_port(now, to, packet)
    }

    #[inline(never)]
    fn try_send_at_free_port(&mut self, now: u64, to: usize, packet: &Packet) -> bool {
        let words = packet.moved_words();
        let flits = self.timing.flits(words);
        let room = self.room_in(now, to);
        if room < u32::from(flits) {
            return false;
        }
        self.room[to] = room - u32::from(flits);
        let first = self.timing.first_clock(now);
        let start = self.port_free.max(first);
        self.port_free = start + u64::from(flits);
        self.port_from = self.timing.port_cycle(self.port_free);
        let arrive = self.timing.cycle_after(self.port_free) + self.timing.cycles;
        let packet = Packet { flits, arrive, ..*packet };
        self.sent.push(Flight { packet, sent: now, wait: (start - first) as u32, to: to as u32 });
        self.counters.packets += 1;
        self.counters.flits += u64::from(flits);
        self.counters.payload += u64::from(4 * words);
        true
    }

    /// First cycle from `now` on in which the packet may leave if nothing else does, `u64::MAX` if room is not known to come.
    #[inline(never)]
    pub fn when(&self, now: u64, to: usize, packet: &Packet) -> u64 {
        let port = now.max(self.port_from);
        let missing = u32::from(self.timing.flits(packet.moved_words())).saturating_sub(self.room[to]);
        if missing == 0 { port } else { port.max(self.room_from(to, missing)) }
    }

    /// First cycle in which a receiver has given so many more flits of room back.
    #[cold]
    fn room_from(&self, to: usize, mut missing: u32) -> u64 {
        for credit in &self.returning[to] {
            missing = missing.saturating_sub(credit.flits);
            if missing == 0 {
                return credit.at;
            }
        }
        u64::MAX
    }

    /// First cycle after `now` in which [`Outbox::can_send`] may change its answer for any packet, `u64::MAX` if nothing is known to come.
    /// [`Outbox::when`] is for a certain packet.
    pub fn next_change(&self, now: u64) -> u64 {
        let credits =
            self.returning.iter().filter_map(|lane| lane.iter().map(|credit| credit.at).find(|&at| at > now));
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

    #[inline(always)]
    fn room_in(&mut self, now: u64, to: usize) -> u32 {
        let lane = &mut self.returning[to];
        while let Some(credit) = lane.front()
            && credit.at <= now
        {
            self.room[to] += credit.flits;
            lane.pop_front();
        }
        self.room[to]
    }
}

/// The next packet of an inbox: where it is kept, when it is through the ejection port, and the network clock at which it is.
#[derive(Clone, Copy, Debug)]
struct Head {
    slot: usize,
    ready: u64,
    ejected: u64,
}

const NOTHING: Head = Head { slot: 0, ready: u64::MAX, ejected: 0 };

/// Where an actor receives; apart from its neighbours like [`Outbox`].
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Inbox {
    timing: Timing,
    /// Network clock from which the ejection port is free of packets already taken.
    port_free: u64,
    /// Packets that were received and not taken, and places for more.
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Their order, behind those of `taken` packets. The last `unsorted` of them came since it was made.
    order: Vec<Key>,
    taken: usize,
    unsorted: usize,
    sorter: Sorter,
    head: Head,
    /// Room given back in this epoch.
    credits: Vec<Credit>,
    pub counters: Traffic,
}

impl Inbox {
    pub fn new(config: &Config, senders: usize) -> Inbox {
        debug_assert!(senders <= MOST_ACTORS);
        Inbox {
            timing: Timing::new(config),
            port_free: 0,
            flights: Vec::new(),
            free: Vec::new(),
            order: Vec::new(),
            taken: 0,
            unsorted: 0,
            sorter: Sorter::default(),
            head: NOTHING,
            credits: Vec::new(),
            counters: Traffic::default(),
        }
    }

    /// The next packet if it has wholly arrived.
    #[inline]
    pub fn peek(&mut self, now: u64) -> Option<&Packet> {
        if self.head.ready > now {
            return None;
        }
        self.flights.get(self.head.slot).map(|flight| &flight.packet)
    }

    /// Takes it; the room it took goes back to the sender.
    #[inline]
    pub fn take(&mut self, now: u64) -> Option<Packet> {
        let packet = *self.peek(now)?;
        self.drop_next(now);
        Some(packet)
    }

    /// Takes the packet that [`Inbox::peek`] gives in this cycle, without handing it over.
    #[inline]
    pub fn drop_next(&mut self, now: u64) {
        let Head { slot, ready, ejected } = self.head;
        debug_assert!(ready <= now, "taken before it is there");
        let Flight { packet: Packet { flits, .. }, sent, .. } = self.flights[slot];
        let sender = self.order[self.taken].sender();
        self.credits.push(Credit { at: now + self.timing.cycles, flits: u32::from(flits), to: sender });
        self.counters.delivered += 1;
        self.counters.latency += now - sent;
        self.counters.latencies.note(now - sent);
        self.port_free = ejected;
        self.free.push(slot as u32);
        self.taken += 1;
        self.choose();
    }

    /// The cycle in which the next packet is there, `u64::MAX` if none is known.
    #[inline]
    pub fn next(&self) -> u64 {
        self.head.ready
    }

    /// Finds the next packet. One that arrives later than this epoch may still be overtaken by one that is not known yet.
    #[inline]
    fn choose(&mut self) {
        let Some(&first) = self.order.get(self.taken) else {
            self.head = NOTHING;
            return;
        };
        let slot = first.slot as usize;
        let Packet { arrive, flits, .. } = self.flights[slot].packet;
        let flits = u64::from(flits);
        let ejected = self.port_free.max(self.timing.clocks_over(arrive).saturating_sub(flits)) + flits;
        self.head = Head { slot, ready: self.timing.cycle_after(ejected).max(arrive), ejected };
    }

    #[inline]
    fn receive(&mut self, sender: usize, flight: &Flight) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flights[slot as usize] = *flight;
                slot
            }
            None => {
                self.flights.push(*flight);
                self.flights.len() as u32 - 1
            }
        };
        self.order.push(Key::new(flight.packet.arrive, sender, slot));
        self.unsorted += 1;
    }

    /// All of an epoch have been received.
    #[inline]
    fn settle(&mut self) {
        if self.unsorted != 0 {
            self.order.drain(..std::mem::take(&mut self.taken));
            let sorted = self.order.len() - std::mem::take(&mut self.unsorted);
            self.sorter.sort(&mut self.order, sorted);
            self.choose();
        }
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
    if let Some(mesh) = mesh {
        mesh.route(senders);
    }
    for (index, sender) in senders.iter_mut().enumerate().filter(|(index, _)| sending[*index] < now) {
        for flight in &sender.sent {
            let to = flight.to as usize;
            receivers[to].receive(index, flight);
            receiving[to] = AWAKE;
        }
        sender.sent.clear();
    }
    for (index, receiver) in receivers.iter_mut().enumerate().filter(|(index, _)| receiving[*index] < now) {
        receiver.settle();
        for credit in &receiver.credits {
            let to = credit.to as usize;
            senders[to].returning[index].push_back(*credit);
            sending[to] = AWAKE;
        }
        receiver.credits.clear();
    }
}

/// Exchanges packets and credits of actors that all ran in this epoch.
#[cfg(test)]
pub fn exchange_all(senders: &mut [Outbox], receivers: &mut [Inbox], mesh: Option<&mut Mesh>) {
    let (mut sending, mut receiving) = (vec![AWAKE; senders.len()], vec![AWAKE; receivers.len()]);
    exchange((senders, &mut sending), (receivers, &mut receiving), mesh, u64::MAX);
}
