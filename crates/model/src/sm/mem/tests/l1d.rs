// SPDX-License-Identifier: MIT OR Apache-2.0
//! The L1 data cache: hits, misses, and what holds them up.

use super::*;

#[test]
fn a_hit_takes_the_latency_of_the_cache() {
    let mut bench = Bench::new(&Config::default());
    bench.run(&[(job(0, JobKind::Load), words(Space::Global, 0))]);
    let issued = bench.run(&[(job(1, JobKind::Load), words(Space::Global, 0))]);
    assert_eq!(bench.latency_of(1, issued), 1 + u64::from(bench.config.l1d.cycles));
    let counters = bench.unit.counters();
    assert_eq!((counters.l1d.reads, counters.l1d.misses, counters.l1d.read_hits), (2, 1, 1));
}

#[test]
fn a_miss_takes_the_way_to_memory_and_back() {
    let mut bench = Bench::new(&Config::default());
    let issued = bench.run(&[(job(0, JobKind::Load), words(Space::Global, 0))]);
    // Handed over, looked up, sent, under way, answered.
    let latency = bench.latency_of(0, issued);
    let least = 2 + u64::from(bench.config.noc.cycles) + bench.latency;
    assert!((least..least + 3).contains(&latency), "{latency} for {least}");
    assert_eq!(bench.asked.len(), 1);
    assert_eq!((bench.asked[0].words, bench.asked[0].lanes), (u32::MAX, 32));
}

#[test]
fn loads_of_a_line_on_its_way_wait_for_it_together() {
    let mut bench = Bench::new(&Config::default());
    let jobs: Vec<_> = (0..8).map(|token| (job(token, JobKind::Load), words(Space::Global, 0))).collect();
    bench.run(&jobs);
    assert_eq!(bench.asked.len(), 1);
    assert_eq!((bench.unit.counters().l1d.misses, bench.unit.counters().l1d.merges), (1, 7));
    assert!(bench.done.values().all(|&at| at == bench.done[&0]));
}

#[test]
fn more_loads_of_a_line_than_can_wait_are_held_up_until_it_comes() {
    let config = Config::default();
    let mut bench = Bench::new(&config);
    let count = config.l1d.merges + 2;
    let jobs: Vec<_> = (0..count).map(|token| (job(token, JobKind::Load), words(Space::Global, 0))).collect();
    bench.run(&jobs);
    let counters = bench.unit.counters();
    assert!(counters.l1d.fail_merges > 50);
    assert_eq!(counters.l1d.fail_merges, counters.lsu.blocked);
    assert_eq!(counters.l1d.read_hits, 2);
}

#[test]
fn misses_beyond_the_registers_are_held_up() {
    let mut config = Config::default();
    config.l1d.mshrs = 4;
    let mut bench = Bench::new(&config);
    bench.run(&[(job(0, JobKind::Load), spread(Space::Global, 0))]);
    let counters = bench.unit.counters();
    assert!(counters.l1d.fail_mshrs > 7 * 100);
    assert_eq!((counters.l1d.misses, packets(&bench, PacketKind::Read)), (32, 32));
}

#[test]
fn a_set_whose_ways_are_all_on_their_way_holds_misses_up_if_places_are_taken_with_the_miss() {
    // A distance that the hash does not spread.
    let same_set = || Handed::Groups(vec![group(Space::Global, 4, |lane| (lane % 8) << 20)]);
    let waits = |allocate, mshrs| {
        let mut config = Config::default();
        (config.l1d.allocate, config.l1d.mshrs) = (allocate, mshrs);
        let mut bench = Bench::new(&config);
        bench.run(&[(job(0, JobKind::Load), same_set())]);
        let counters = bench.unit.counters().l1d;
        assert_eq!((counters.misses, counters.fills, counters.evictions), (8, 8, 4));
        (counters.fail_ways, counters.fail_mshrs)
    };
    assert!(waits(Allocation::Miss, 64).0 > 100);
    assert_eq!(waits(Allocation::Fill, 64), (0, 0));
    assert!(waits(Allocation::Fill, 4).1 > 100);
}

#[test]
fn a_line_on_its_way_without_a_place_is_joined_and_changed() {
    let mut bench = Bench::new(&Config::default());
    let whole = || Handed::Groups(vec![group(Space::Local, 4, |_| 0)]);
    let mut part = group(Space::Local, 4, |_| 0);
    part.lanes.mask = 3;
    let jobs = [
        (job(0, JobKind::Load), whole()),
        (job(1, JobKind::Store), Handed::Groups(vec![part])),
        (job(2, JobKind::Store), whole()),
    ];
    bench.run(&jobs);
    assert_eq!((packets(&bench, PacketKind::Read), bench.unit.counters().l1d.fills), (1, 1));
    bench.unit.new_kernel(bench.now, false);
    bench.finish();
    assert_eq!(packets(&bench, PacketKind::Write), 1);
}

#[test]
fn a_larger_cache_holds_more_lines_until_a_kernel_has_the_usual_one_again() {
    let mut bench = Bench::new(&Config::default());
    let lines = |start: u32, large: bool, bench: &mut Bench| {
        bench.unit.new_kernel(bench.now, large);
        bench.done.clear();
        let jobs: Vec<_> = (0..2)
            .flat_map(|_| (0..8).map(|i| spread(Space::Global, start + i * 32 * 128)))
            .enumerate()
            .map(|(token, handed)| (job(token as u32, JobKind::Load), handed))
            .collect();
        let before = bench.unit.counters().l1d.read_hits;
        jobs.iter().for_each(|job| {
            bench.run(std::slice::from_ref(job));
        });
        bench.unit.counters().l1d.read_hits - before
    };
    // 256 lines twice: half of them or none are there again.
    assert_eq!(lines(0, true, &mut bench), 256);
    assert_eq!(lines(0, false, &mut bench), 0);
}

#[test]
fn loads_past_the_cache_ask_for_segments() {
    let mut bench = Bench::new(&Config::default());
    let scattered = Handed::Groups(vec![group(Space::Global, 4, |lane| lane % 4 * 32)]);
    let past = Job { cache: CacheOp::Cg, ..job(0, JobKind::Load) };
    let few = Handed::Groups(vec![group(Space::Global, 4, |lane| 256 + lane % 2 * 64)]);
    bench.run(&[(past, scattered), (Job { token: 1, ..past }, few)]);
    let asked: Vec<_> = bench.asked.iter().map(|packet| packet.words).collect();
    assert_eq!(asked, [u32::MAX, 0x00ff_00ff]);
    assert_eq!((bench.unit.counters().l1d.reads, bench.unit.counters().l1d.bypasses), (0, 2));

    let mut config = Config::default();
    config.l1d.global = false;
    let mut bench = Bench::new(&config);
    bench.run(&[
        (job(0, JobKind::Load), words(Space::Global, 0)),
        (job(1, JobKind::Load), words(Space::Local, 0)),
    ]);
    assert_eq!((bench.unit.counters().l1d.bypasses, bench.unit.counters().l1d.reads), (1, 32));
}
