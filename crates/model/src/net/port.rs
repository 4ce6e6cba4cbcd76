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

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use warpwatt_config::Config;

use super::counters::Traffic;
use super::lane::Lane;
use super::mesh::Mesh;
use super::packet::Packet;
use super::set::Set;
use super::timing::Timing;

/// Of the number of a sender, in the order of packets.
const SENDER_BITS: u32 = super::MOST_ACTORS.ilog2();

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub packet: Packet,
    /// Cycle in which it was sent.
    pub sent: u64,
    /// Network clock in which its first flit leaves.
    pub start: u64,
}

/// Room that a receiver gives back.
#[derive(Clone, Copy, Debug)]
struct Credit {
    at: u64,
    flits: u32,
}

/// Where an actor sends from. Neighbours in a slice are used by different threads, so they share no cache line.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Outbox {
    timing: Timing,
    /// Network clock from which the injection port is free.
    port_free: u64,
    /// [`Timing::port_limit`] of the cycle it was last asked for.
    limit: (u64, u64),
    /// Room at each receiver, in flits.
    room: Vec<u32>,
    /// Credits on their way back from each receiver.
    returning: Vec<Lane<Credit>>,
    /// What was sent to each receiver in this epoch, and the receivers with something.
    pub(super) sent: Vec<Vec<Flight>>,
    pub(super) sent_to: Set,
    pub counters: Traffic,
}

impl Outbox {
    pub fn new(config: &Config, receivers: usize) -> Outbox {
        let timing = Timing::new(config);
        Outbox {
            limit: (0, timing.port_limit(0)),
            timing,
            port_free: 0,
            room: vec![config.noc.buffer_flits; receivers],
            returning: vec![Lane::default(); receivers],
            sent: vec![Vec::new(); receivers],
            sent_to: Set::new(receivers),
            counters: Traffic::default(),
        }
    }

    /// Whether the packet may leave in this cycle: the injection port is free and the receiver has room.
    #[inline]
    pub fn can_send(&mut self, now: u64, to: usize, packet: &Packet) -> bool {
        self.port_free < self.limit_in(now) && self.room_in(now, to) >= u32::from(self.timing.flits(packet))
    }

    /// Sends a packet that [`Outbox::can_send`] in this cycle.
    pub fn send(&mut self, now: u64, to: usize, packet: Packet) {
        debug_assert!(self.can_send(now, to, &packet), "sent without asking");
        let flits = self.timing.flits(&packet);
        let start = self.port_free.max(self.timing.first_clock(now));
        self.port_free = start + u64::from(flits);
        self.room[to] -= u32::from(flits);
        let arrive = self.timing.cycle_after(self.port_free) + self.timing.cycles;
        self.sent[to].push(Flight { packet: Packet { flits, arrive, ..packet }, sent: now, start });
        self.sent_to.insert(to);
        self.counters.packets += 1;
        self.counters.flits += u64::from(flits);
        self.counters.payload += u64::from(packet.payload());
    }

    /// First cycle from `now` on in which the packet may leave if nothing else does, `u64::MAX` if room is not known to come.
    pub fn when(&self, now: u64, to: usize, packet: &Packet) -> u64 {
        let port = now.max(self.timing.port_cycle(self.port_free));
        let mut missing = u32::from(self.timing.flits(packet)).saturating_sub(self.room[to]);
        if missing == 0 {
            return port;
        }
        for credit in self.returning[to].waiting() {
            missing = missing.saturating_sub(credit.flits);
            if missing == 0 {
                return port.max(credit.at);
            }
        }
        u64::MAX
    }

    /// First cycle after `now` in which [`Outbox::can_send`] may change its answer for any packet, `u64::MAX` if nothing is known to come.
    /// [`Outbox::when`] is for a certain packet.
    pub fn next_change(&self, now: u64) -> u64 {
        let port = self.timing.port_cycle(self.port_free);
        let credits = self
            .returning
            .iter()
            .filter_map(|lane| lane.waiting().iter().map(|credit| credit.at).find(|&at| at > now));
        credits.chain((port > now).then_some(port)).min().unwrap_or(u64::MAX)
    }

    /// Counts the cycles from `from` to before `until` as waited for by the owner, who has something to send and could not: for the
    /// injection port as long as that is busy, for room after. Once for each cycle, whether one by one or at a stretch.
    #[inline]
    pub fn stalled(&mut self, from: u64, until: u64) {
        if from < until {
            self.count_stall(from, until);
        }
    }

    #[inline(never)]
    fn count_stall(&mut self, from: u64, until: u64) {
        let free = self.timing.port_cycle(self.port_free).clamp(from, until);
        self.counters.port_stalls += free - from;
        self.counters.credit_stalls += until - free;
    }

    #[inline]
    fn limit_in(&mut self, now: u64) -> u64 {
        if self.limit.0 != now {
            self.limit = (now, self.timing.port_limit(now));
        }
        self.limit.1
    }

    #[inline]
    fn room_in(&mut self, now: u64, to: usize) -> u32 {
        let lane = &mut self.returning[to];
        while let Some(credit) = lane.front()
            && credit.at <= now
        {
            self.room[to] += credit.flits;
            lane.pop();
        }
        self.room[to]
    }
}

/// The place of a packet in the order of packets: by arrival, then by sender.
#[inline]
fn rank(sender: usize, flight: &Flight) -> u64 {
    flight.packet.arrive << SENDER_BITS | sender as u64
}

/// Where an actor receives; apart from its neighbours like [`Outbox`].
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Inbox {
    timing: Timing,
    /// Network clock from which the ejection port is free of packets already taken.
    port_free: u64,
    /// Packets from each sender, and the places of the first of each in the order of packets: [`rank`].
    lanes: Vec<Lane<Flight>>,
    first: BinaryHeap<Reverse<u64>>,
    /// The sender of the next packet and when that is through the ejection port.
    head: (usize, u64),
    /// Room given back to each sender in this epoch, and the senders with some.
    credits: Vec<Vec<Credit>>,
    credit_to: Set,
    /// Packets came in since the next one was chosen.
    changed: bool,
    pub counters: Traffic,
}

impl Inbox {
    pub fn new(config: &Config, senders: usize) -> Inbox {
        Inbox {
            timing: Timing::new(config),
            port_free: 0,
            lanes: vec![Lane::default(); senders],
            first: BinaryHeap::with_capacity(senders),
            head: (0, u64::MAX),
            credits: vec![Vec::new(); senders],
            credit_to: Set::new(senders),
            changed: false,
            counters: Traffic::default(),
        }
    }

    /// The next packet if it has wholly arrived.
    #[inline]
    pub fn peek(&mut self, now: u64) -> Option<&Packet> {
        let (sender, ready) = self.head;
        if ready > now {
            return None;
        }
        self.lanes[sender].front().map(|flight| &flight.packet)
    }

    /// Takes it; the room it took goes back to the sender.
    pub fn take(&mut self, now: u64) -> Option<Packet> {
        let (sender, ready) = self.head;
        if ready > now {
            return None;
        }
        let Flight { packet, sent, .. } = self.lanes[sender].pop()?;
        self.port_free = self.ejected(&packet);
        // The packet was the first of all.
        if let Some(mut first) = self.first.peek_mut() {
            match self.lanes[sender].front() {
                Some(next) => *first = Reverse(rank(sender, next)),
                None => {
                    PeekMut::pop(first);
                }
            }
        }
        self.choose();

        let at = now + self.timing.cycles;
        let flits = u32::from(packet.flits);
        match self.credits[sender].last_mut() {
            Some(last) if last.at == at => last.flits += flits,
            _ => self.credits[sender].push(Credit { at, flits }),
        }
        self.credit_to.insert(sender);
        self.counters.delivered += 1;
        self.counters.latency += now - sent;
        self.counters.latencies.note(now - sent);
        Some(packet)
    }

    /// The cycle in which the next packet is there, `u64::MAX` if none is known.
    #[inline]
    pub fn next(&self) -> u64 {
        self.head.1
    }

    /// The network clock at which a packet is through the ejection port if it is the next.
    fn ejected(&self, packet: &Packet) -> u64 {
        let flits = u64::from(packet.flits);
        self.port_free.max(self.timing.clocks_over(packet.arrive).saturating_sub(flits)) + flits
    }

    /// Finds the next packet. One that arrives later than this epoch may still be overtaken by one that is not known yet.
    #[inline]
    fn choose(&mut self) {
        let Some(&Reverse(first)) = self.first.peek() else {
            self.head = (0, u64::MAX);
            return;
        };
        let sender = first as usize % (1 << SENDER_BITS);
        let ready = self.lanes[sender].front().map_or(u64::MAX, |Flight { packet, .. }| {
            self.timing.cycle_after(self.ejected(packet)).max(packet.arrive)
        });
        self.head = (sender, ready);
    }

    fn receive(&mut self, sender: usize, sent: &mut Vec<Flight>) {
        let lane = &mut self.lanes[sender];
        let was_empty = lane.front().is_none();
        lane.receive(sent);
        if was_empty && let Some(first) = lane.front() {
            self.first.push(Reverse(rank(sender, first)));
        }
        self.changed = true;
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
        while let Some(to) = sender.sent_to.pop() {
            receivers[to].receive(index, &mut sender.sent[to]);
            receiving[to] = AWAKE;
        }
    }
    for (index, receiver) in receivers.iter_mut().enumerate().filter(|(index, _)| receiving[*index] < now) {
        if std::mem::take(&mut receiver.changed) {
            receiver.choose();
        }
        while let Some(to) = receiver.credit_to.pop() {
            senders[to].returning[index].receive(&mut receiver.credits[to]);
            sending[to] = AWAKE;
        }
    }
}

/// Exchanges packets and credits of actors that all ran in this epoch.
#[cfg(test)]
pub fn exchange_all(senders: &mut [Outbox], receivers: &mut [Inbox], mesh: Option<&mut Mesh>) {
    let (mut sending, mut receiving) = (vec![AWAKE; senders.len()], vec![AWAKE; receivers.len()]);
    exchange((senders, &mut sending), (receivers, &mut receiving), mesh, u64::MAX);
}
