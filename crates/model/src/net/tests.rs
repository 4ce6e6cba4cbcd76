// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between mock senders and receivers.

use proptest::prelude::*;
use warpwatt_base::SplitMix64;
use warpwatt_config::{Config, Topology};

use super::*;

/// A read request, or data of so many words.
fn packet(words: u32, tag: u32) -> Packet {
    Packet {
        address: 0,
        words: if words == 0 { 1 } else { u32::MAX >> (32 - words) },
        lanes: 32,
        rounds: 1,
        kind: if words == 0 { PacketKind::Read } else { PacketKind::Data },
        client: Client::L1d,
        sm: 0,
        partition: 0,
        flits: 0,
        tag,
        born: 0,
        arrive: 0,
    }
}

struct Net {
    senders: Vec<Outbox>,
    receivers: Vec<Inbox>,
    mesh: Option<Mesh>,
}

impl Net {
    fn new(config: &Config) -> Net {
        let (sms, partitions) = (config.gpu.sms as usize, config.gpu.partitions as usize);
        Net {
            senders: (0..sms).map(|_| Outbox::new(config, partitions)).collect(),
            receivers: (0..partitions).map(|_| Inbox::new(config, sms)).collect(),
            mesh: (config.noc.topology == Topology::Mesh).then(|| Mesh::new(config, Way::Request)),
        }
    }

    fn exchange(&mut self) {
        exchange_all(&mut self.senders, &mut self.receivers, self.mesh.as_mut());
    }

    fn counters(&self) -> Traffic {
        let mut sum = Traffic::default();
        self.senders.iter().for_each(|sender| sum.add(&sender.counters));
        Inbox::count(&self.receivers, &mut sum);
        self.mesh.iter().for_each(|mesh| sum.add(&mesh.counters));
        sum
    }
}

fn clocked(noc_mhz: u32) -> Config {
    let mut config = base();
    config.clock.noc_mhz = noc_mhz;
    config
}

/// The latency and buffers that the figures below are for.
fn base() -> Config {
    let mut config = Config::default();
    (config.noc.cycles, config.noc.buffer_flits) = (32, 40);
    config
}

fn mesh(columns: u32, hop_cycles: u32) -> Config {
    let mut config = base();
    config.noc.topology = Topology::Mesh;
    config.noc.mesh_columns = columns;
    config.noc.hop_cycles = hop_cycles;
    config
}

/// Cycle in which a lone packet sent in cycle 64 can be taken.
fn lone_arrival(config: &Config, from: usize, to: usize, words: u32) -> u64 {
    let mut net = Net::new(config);
    assert!(net.senders[from].can_send(64, to, &packet(words, 0)));
    net.senders[from].send(64, to, packet(words, 7));
    net.exchange();
    let next = net.receivers[to].next();
    assert_eq!(net.receivers[to].peek(next - 1), None);
    assert_eq!(net.receivers[to].take(next - 1), None);
    assert_eq!(net.receivers[to].take(next).map(|packet| packet.tag), Some(7));
    assert_eq!(net.receivers[to].next(), u64::MAX);
    next
}

#[test]
fn a_lone_packet_takes_its_flits_and_the_latency() {
    // Header and line are 136 bytes, five flits of 32.
    assert_eq!(lone_arrival(&clocked(700), 3, 2, 0), 64 + 1 + 32);
    assert_eq!(lone_arrival(&clocked(700), 3, 2, 32), 64 + 5 + 32);
    assert_eq!(lone_arrival(&clocked(1400), 3, 2, 32), 64 + 3 + 32);
    assert_eq!(lone_arrival(&clocked(350), 3, 2, 32), 64 + 10 + 32);
    // Five clocks of 924 MHz from the first that begins in cycle 64 (85, at 64.39) on end in cycle 68.18.
    assert_eq!(lone_arrival(&clocked(924), 3, 2, 32), 69 + 32);
}

#[test]
fn a_mesh_adds_its_hops() {
    for (columns, hop_cycles) in [(5, 4), (1, 2), (7, 6), (32, 10)] {
        let config = mesh(columns, hop_cycles);
        for sm in 0..15 {
            for partition in 0..6 {
                let at = |actor: u32| (actor % columns, actor / columns);
                let ((x, y), (to_x, to_y)) = (at(sm), at(15 + partition));
                let hops = x.abs_diff(to_x) + y.abs_diff(to_y);
                // Two network clocks in a cycle: half a cycle for each of them, and one for the single flit.
                let expected = 64 + u64::from(hops * hop_cycles + 1).div_ceil(2) + 32;
                assert_eq!(
                    lone_arrival(&config, sm as usize, partition as usize, 0),
                    expected,
                    "{sm} to {partition}"
                );
            }
        }
    }
}

#[test]
fn packets_wait_for_a_link_that_another_uses() {
    // In one column, SMs 0 and 1 share the link from router 1 to router 2 on the way to a partition.
    let mut config = mesh(1, 4);
    config.clock.noc_mhz = 700;
    let mut net = Net::new(&config);
    net.senders[0].send(0, 0, packet(32, 0));
    net.senders[1].send(3, 0, packet(32, 1));
    net.exchange();
    // The first is in that link from clock 4 to 9, where the second wants to be from 3 on, but was sent later.
    let (hops, flits) = (15 + 14, 5);
    let traffic = net.counters();
    assert_eq!((traffic.hops, traffic.link_busy, traffic.link_waits), (hops, hops * flits, 6));
    let first = 15 * 4 + flits + 32;
    assert_eq!(net.receivers[0].next(), first);
    assert_eq!(net.receivers[0].take(first).map(|packet| packet.tag), Some(0));
    assert_eq!(net.receivers[0].next(), 9 + 14 * 4 + flits + 32);
}

#[test]
fn an_injection_port_moves_a_flit_in_a_clock() {
    for (mhz, words, flits_per_packet) in
        [(1400, 0, 1), (1400, 32, 5), (700, 32, 5), (350, 0, 1), (924, 13, 2), (4000, 0, 1)]
    {
        let mut config = clocked(mhz);
        config.noc.buffer_flits = 1024;
        let mut net = Net::new(&config);
        let mut sent = 0;
        for now in 0..700 {
            let to = now as usize % 6;
            while net.senders[0].can_send(now, to, &packet(words, 0)) {
                net.senders[0].send(now, to, packet(words, 0));
                sent += flits_per_packet;
            }
        }
        // What was begun in the last cycle ends after it; a slow network has the next packet waiting for its clock.
        let clocks = u64::from(mhz);
        assert!(
            (clocks..=clocks + flits_per_packet).contains(&sent),
            "{sent} flits in {clocks} clocks of {mhz} MHz"
        );
        assert_eq!(net.counters().flits, sent);
    }
}

#[test]
fn an_ejection_port_moves_a_flit_in_a_clock() {
    for mhz in [1400, 700, 350, 924] {
        let config = clocked(mhz);
        let mut net = Net::new(&config);
        let (mut taken, mut first, mut last) = (0, 0, 0);
        for now in 0..3200 {
            for sender in &mut net.senders {
                if sender.can_send(now, 0, &packet(32, 0)) {
                    sender.send(now, 0, packet(32, 0));
                }
            }
            while let Some(packet) = net.receivers[0].take(now) {
                first = if taken == 0 { now } else { first };
                last = now;
                taken += u64::from(packet.flits);
            }
            if now % 32 == 31 {
                net.exchange();
            }
        }
        let clocks = (last - first) * u64::from(mhz) / 700;
        assert!(taken - 5 <= clocks && clocks <= taken, "{taken} flits in {clocks} clocks of {mhz} MHz");
    }
}

#[test]
fn a_full_buffer_holds_the_sender_back_until_room_returns() {
    let mut net = Net::new(&clocked(1400));
    let read = packet(0, 0);
    for now in 0..20 {
        for _ in 0..2 {
            assert!(net.senders[0].can_send(now, 1, &read));
            net.senders[0].send(now, 1, read);
        }
        assert!(!net.senders[0].can_send(now, 1, &read), "the port moves two flits in a cycle");
        assert_eq!(net.senders[0].next_change(now), now + 1);
    }
    assert!(!net.senders[0].can_send(20, 1, &read), "40 flits fill the buffer");
    assert!(net.senders[0].can_send(20, 2, &read), "of one receiver");
    assert!(net.senders[1].can_send(20, 1, &read), "for one sender");
    assert_eq!((net.senders[0].when(20, 1, &read), net.senders[0].next_change(20)), (u64::MAX, u64::MAX));
    net.senders[0].stalled(19, 22);
    net.exchange();

    assert!(net.receivers[1].take(50).is_some());
    net.exchange();
    let sender = &mut net.senders[0];
    assert_eq!((sender.when(64, 1, &read), sender.next_change(64)), (82, 82));
    assert_eq!(sender.when(64, 1, &packet(32, 0)), u64::MAX, "room for one flit is not enough for five");
    assert!(!sender.can_send(81, 1, &read));
    assert!(sender.can_send(82, 1, &read));
    assert_eq!((sender.counters.port_stalls, sender.counters.credit_stalls), (1, 2));
}

#[test]
fn packets_are_taken_by_arrival_then_sender_then_sequence() {
    let mut net = Net::new(&clocked(1400));
    for (now, from, tag) in [(0, 4, 2), (1, 2, 3), (1, 3, 5), (1, 2, 4), (0, 1, 0), (0, 1, 1), (2, 0, 6)] {
        assert!(net.senders[from].can_send(now, 0, &packet(0, tag)));
        net.senders[from].send(now, 0, packet(0, tag));
    }
    net.exchange();
    let tags: Vec<_> = std::iter::from_fn(|| net.receivers[0].take(100)).map(|packet| packet.tag).collect();
    assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_packet_that_becomes_known_later_can_be_the_next() {
    let mut config = clocked(100);
    config.noc.cycles = 8;
    let mut net = Net::new(&config);
    net.senders[1].send(0, 0, packet(32, 0));
    net.exchange();
    // Five clocks of seven cycles each, and the latency.
    assert_eq!(net.receivers[0].next(), 43);
    net.senders[0].send(8, 0, packet(0, 1));
    net.exchange();
    assert_eq!(net.receivers[0].next(), 29);
    assert_eq!(net.receivers[0].take(29).map(|packet| packet.tag), Some(1));
    assert_eq!(net.receivers[0].next(), 63, "its flits do not get through while the port is in use");
}

/// What a mock sender has to send, in order: from which cycle on, whereto, how many words.
type Plan = Vec<Vec<(u64, usize, u32)>>;

/// How a simulation is carried out, which must not make a difference.
#[derive(Clone, Copy)]
struct Manner {
    epoch: u64,
    /// Only try when the network says that something may have changed.
    skip: bool,
    /// Run actors from the last to the first.
    backwards: bool,
}

fn random_plan(config: &Config, seed: u64, packets: u32) -> Plan {
    let mut random = SplitMix64::new(seed);
    let pace = 1 + random.next_u64() % 6;
    (0..config.gpu.sms)
        .map(|_| {
            let mut at = 0;
            (0..packets)
                .map(|_| {
                    at += random.next_u64() % pace;
                    let to = random.next_u64() % u64::from(config.gpu.partitions);
                    let words = [0, 0, 8, 32][random.next_u64() as usize % 4];
                    (at, to as usize, words)
                })
                .collect()
        })
        .collect()
}

/// Runs one sender for an epoch. `next` is the first packet of its plan that it has not sent.
fn run_sender(
    sender: &mut Outbox,
    plan: &[(u64, usize, u32)],
    next: &mut usize,
    from: u64,
    until: u64,
    skip: bool,
) {
    let mut now = from;
    while now < until {
        let mut wake = now + 1;
        while let Some(&(ready, to, words)) = plan.get(*next) {
            let packet = packet(words, *next as u32);
            if ready > now {
                wake = if skip { ready } else { wake };
                break;
            }
            let possible = sender.can_send(now, to, &packet);
            assert_eq!(possible, sender.when(now, to, &packet) == now);
            if !possible {
                let change = sender.next_change(now);
                assert!(change > now && change <= sender.when(now, to, &packet));
                wake = if skip { change.min(until) } else { wake };
                sender.stalled(now, wake);
                break;
            }
            sender.send(now, to, packet);
            *next += 1;
        }
        now = wake;
    }
}

/// Runs one receiver for an epoch; it is busy in a third of all cycles.
fn run_receiver(receiver: &mut Inbox, taken: &mut Vec<(u64, Packet)>, from: u64, until: u64, skip: bool) {
    let mut now = from;
    while now < until {
        if !SplitMix64::new(now).next_u64().is_multiple_of(3)
            && let Some(next) = receiver.peek(now).copied()
        {
            assert_eq!(receiver.take(now), Some(next));
            taken.push((now, next));
        }
        now = if skip { receiver.next().max(now + 1) } else { now + 1 };
    }
}

/// All room has come back: each receiver's buffer can be filled to the last packet.
fn check_room(sender: &mut Outbox, config: &Config, from: u64) {
    let (line, mut now) = (packet(32, 0), from);
    for to in 0..config.gpu.partitions as usize {
        let mut packets = 0;
        while sender.can_send(now, to, &line) {
            sender.send(now, to, line);
            packets += 1;
            now += 1000;
        }
        assert_eq!(packets, config.noc.buffer_flits / 5);
    }
}

/// What each receiver took and when, and the counters.
fn simulate(config: &Config, plan: &Plan, manner: Manner) -> (Vec<Vec<(u64, Packet)>>, Traffic) {
    let mut net = Net::new(config);
    let mut sent = vec![0; net.senders.len()];
    let mut taken = vec![Vec::new(); net.receivers.len()];
    let total: usize = plan.iter().map(Vec::len).sum();
    let ordered = |count: usize| -> Vec<usize> {
        if manner.backwards { (0..count).rev().collect() } else { (0..count).collect() }
    };
    for epoch in 0.. {
        let (from, until) = (epoch * manner.epoch, (epoch + 1) * manner.epoch);
        assert!(from < 1_000_000, "no progress");
        for sender in ordered(net.senders.len()) {
            run_sender(&mut net.senders[sender], &plan[sender], &mut sent[sender], from, until, manner.skip);
        }
        for receiver in ordered(net.receivers.len()) {
            run_receiver(&mut net.receivers[receiver], &mut taken[receiver], from, until, manner.skip);
        }
        net.exchange();
        if taken.iter().map(Vec::len).sum::<usize>() == total {
            let counters = net.counters();
            net.senders.iter_mut().for_each(|sender| check_room(sender, config, until + 10_000));
            return (taken, counters);
        }
    }
    unreachable!("epochs do not end")
}

fn check_traffic(config: &Config, seed: u64) {
    let plan = random_plan(config, seed, 60);
    let plain = Manner { epoch: u64::from(config.noc.cycles), skip: false, backwards: false };
    let (taken, counters) = simulate(config, &plan, plain);

    // Everything arrives once, at its receiver, in the order of its sender.
    let total: usize = plan.iter().map(Vec::len).sum();
    assert_eq!((counters.packets, counters.delivered), (total as u64, total as u64));
    assert_eq!(
        (counters.latencies.total(), counters.hops > 0),
        (total as u64, config.noc.topology == Topology::Mesh)
    );
    let mut flits = 0;
    for (to, taken) in taken.iter().enumerate() {
        let mut expected: Vec<_> = plan
            .iter()
            .flat_map(|plan| {
                plan.iter()
                    .enumerate()
                    .filter(|(_, packet)| packet.1 == to)
                    .map(|(tag, packet)| (tag as u32, packet.2))
            })
            .collect();
        let words = |packet: &Packet| packet.payload() / 4;
        let mut got: Vec<_> = taken.iter().map(|(_, packet)| (packet.tag, words(packet))).collect();
        expected.sort_unstable();
        got.sort_unstable();
        assert_eq!(got, expected);
        for pair in taken.windows(2) {
            assert!(pair[0].0 <= pair[1].0 && pair[0].1.arrive <= pair[1].1.arrive);
        }
        flits += taken.iter().map(|(_, packet)| u64::from(packet.flits)).sum::<u64>();
    }
    assert_eq!(counters.flits, flits);

    for manner in [
        Manner { skip: true, ..plain },
        Manner { backwards: true, ..plain },
        Manner { epoch: 1, ..plain },
        Manner { epoch: plain.epoch / 2 + 1, skip: true, backwards: true },
    ] {
        assert!(simulate(config, &plan, manner) == (taken.clone(), counters.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_packet_arrives_once_however_the_actors_are_run(
        seed in any::<u64>(),
        is_mesh in any::<bool>(),
        mhz in prop::sample::select(vec![100, 350, 700, 924, 1400, 4000]),
        cycles in 4..40u32,
        buffer_flits in 5..45u32,
        sms in 1..8u32,
        partitions in 1..5u32,
        columns in 1..6u32,
    ) {
        let mut config = if is_mesh { mesh(columns, 3) } else { base() };
        config.clock.noc_mhz = mhz;
        config.noc.cycles = cycles;
        config.noc.buffer_flits = buffer_flits;
        config.gpu.sms = sms;
        config.gpu.partitions = partitions;
        check_traffic(&config, seed);
    }
}
