// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores, local memory and atomics.

use super::*;

#[test]
fn a_full_miss_queue_holds_stores_up() {
    let mut config = Config::default();
    config.l1d.miss_queue = 1;
    config.clock.noc_mhz = 100;
    let mut bench = Bench::new(&config);
    bench.run(&[(job(0, JobKind::Store), spread(Space::Global, 0))]);
    assert!(bench.unit.counters().l1d.fail_queue > 100);
    assert!(bench.unit.counters().l1d.network > 100);
    assert_eq!(bench.outbox.counters.port_stalls, bench.unit.counters().l1d.network);
}

#[test]
fn a_store_drops_the_line_and_goes_to_memory() {
    let mut bench = Bench::new(&Config::default());
    bench.run(&[(job(0, JobKind::Load), words(Space::Global, 0))]);
    let mut half = group(Space::Global, 4, |lane| 4 * lane);
    half.lanes.mask = 0xffff;
    bench.run(&[(job(1, JobKind::Store), Handed::Groups(vec![half]))]);
    bench.run(&[(job(2, JobKind::Load), words(Space::Global, 0))]);
    let counters = bench.unit.counters();
    assert_eq!((counters.l1d.write_evictions, counters.l1d.misses, counters.l1d.read_hits), (1, 2, 0));
    let write = bench.asked.iter().find(|packet| packet.kind == PacketKind::Write).expect("a write");
    assert_eq!(write.words, 0xffff);
}

#[test]
fn stores_are_done_when_they_leave_and_pending_until_acknowledged() {
    let mut bench = Bench::new(&Config::default());
    let store = Job { warp: 5, ..job(0, JobKind::Store) };
    bench.cycle(|unit, now| hand(unit, Job { ready: now + 1, ..store }, &words(Space::Global, 64)));
    assert_eq!(bench.unit.pending_writes(5), 2);
    while bench.done.is_empty() {
        bench.cycle(|_, _| ());
    }
    assert_eq!((bench.now, bench.unit.pending_writes(5)), (3, 2));
    bench.finish();
    assert_eq!(bench.unit.pending_writes(5), 0);
    assert!(bench.now > bench.latency);
}

#[test]
fn local_stores_stay_until_a_kernel_starts() {
    let mut bench = Bench::new(&Config::default());
    let same = Handed::Groups(vec![group(Space::Local, 8, |_| 8)]);
    bench.run(&[(job(0, JobKind::Store), same.clone()), (job(1, JobKind::Load), same)]);
    let counters = bench.unit.counters();
    assert_eq!((counters.l1d.writes, counters.l1d.read_hits, bench.asked.len()), (2, 2, 0));
    bench.unit.new_kernel(bench.now, false);
    assert!(!bench.unit.is_idle());
    bench.finish();
    assert_eq!((packets(&bench, PacketKind::Write), bench.unit.counters().l1d.write_backs), (2, 2));
}

#[test]
fn a_local_line_written_in_part_is_fetched_and_written_back_when_it_makes_room() {
    let mut config = Config::default();
    config.l1d.ways = 1;
    config.shared.bytes = config.sm.onchip_bytes - 128;
    let mut bench = Bench::new(&config);
    let mut part = group(Space::Local, 4, |_| 0);
    part.lanes.mask = 3;
    bench.run(&[(job(0, JobKind::Store), Handed::Groups(vec![part]))]);
    assert_eq!(packets(&bench, PacketKind::Read), 1);
    bench.run(&[(job(1, JobKind::Load), words(Space::Global, 0))]);
    assert_eq!((packets(&bench, PacketKind::Read), packets(&bench, PacketKind::Write)), (2, 1));
}

#[test]
fn atomics_wait_for_old_values_and_reductions_for_nothing() {
    let mut bench = Bench::new(&Config::default());
    let one_word = Handed::Groups(vec![group(Space::Global, 4, |lane| lane / 16 * 4)]);
    let start =
        bench.run(&[(job(0, JobKind::Atomic), one_word.clone()), (job(1, JobKind::Reduction), one_word)]);
    assert!(bench.latency_of(0, start) > bench.latency);
    assert_eq!(bench.latency_of(1, start + 1), 1);
    let rounds: Vec<_> =
        bench.asked.iter().map(|packet| (packet.kind, packet.words, packet.rounds)).collect();
    assert_eq!(rounds, [(PacketKind::Atomic, 3, 16), (PacketKind::Reduction, 3, 16)]);
}
