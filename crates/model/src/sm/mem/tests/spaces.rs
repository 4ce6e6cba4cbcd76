// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory, constants and textures, and instructions in several spaces.

use super::*;

#[test]
fn conflicts_of_banks_hold_up_what_follows() {
    let mut bench = Bench::new(&Config::default());
    let stride = Handed::Groups(vec![group(Space::Shared, 4, |lane| lane * 16)]);
    let start =
        bench.run(&[(job(0, JobKind::Load), stride), (job(1, JobKind::Load), words(Space::Shared, 0))]);
    let cycles = u64::from(bench.config.shared.cycles);
    assert_eq!(bench.latency_of(0, start), 1 + 3 + cycles);
    assert_eq!(bench.latency_of(1, start), 1 + 4 + cycles);
    let counters = bench.unit.counters();
    assert_eq!((counters.shared.reads, counters.shared.conflicts, counters.lsu.busy), (2, 3, 5));
}

#[test]
fn indexed_constants_are_read_one_place_a_cycle() {
    let mut bench = Bench::new(&Config::default());
    let four = Handed::Groups(vec![group(Space::Const, 4, |lane| lane % 4 * 4)]);
    bench.run(&[(job(0, JobKind::Load), four.clone())]);
    // The second level asks for a line of its own, which is two of these.
    assert_eq!((bench.asked.len(), bench.asked[0].words), (1, u32::MAX));
    let start = bench.run(&[(job(1, JobKind::Load), four)]);
    assert_eq!(bench.latency_of(1, start), 1 + 3 + u64::from(bench.config.constant.cycles));
}

#[test]
fn a_warp_whose_operand_is_missing_is_woken_when_it_comes() {
    let mut bench = Bench::new(&Config::default());
    let address = crate::address::constant(1, 0, 0x20);
    let ask = |unit: &mut MemoryUnit, now, warp| unit.constant(now, address, warp, 32).is_some();
    let mut there = true;
    bench.cycle(|unit, now| there = ask(unit, now, 7) || ask(unit, now, 9));
    assert!(!there);
    let mut woken = 0;
    while woken == 0 {
        bench.cycle(|_, _| ());
        woken = bench.unit.take_woken();
        assert!(bench.now < 1000);
    }
    assert_eq!(woken, 1 << 7 | 1 << 9);
    bench.cycle(|unit, now| there = ask(unit, now, 7) && ask(unit, now, 9));
    assert!(there);
    let counters = bench.unit.counters();
    assert_eq!((counters.constant.operands, counters.constant.misses, counters.constant.merges), (2, 1, 1));
    assert_eq!(counters.constant.hits, 0);
}

#[test]
fn warps_that_take_each_others_constants_away_get_theirs_all_the_same() {
    let mut config = Config::default();
    (config.constant.sets, config.constant.ways, config.constant.mshrs) = (1, 1, 1);
    let mut bench = Bench::new(&config);
    let operands = |warp: u64| [0, 1].map(|i| crate::address::constant(1, 0, 0) + (2 * warp + i) * 64);
    let mut left: Vec<u64> = (0..8).collect();
    let mut asleep = 0u64;
    while !left.is_empty() {
        bench.cycle(|unit, now| {
            left.retain(|&warp| {
                let asks = asleep >> warp & 1 == 0;
                let there =
                    asks && operands(warp).map(|at| unit.constant(now, at, warp as u8, 32)) == [Some(now); 2];
                asleep |= u64::from(asks && !there) << warp;
                !there
            });
        });
        asleep &= !bench.unit.take_woken();
        assert!(bench.now < 20_000, "still waiting: {left:?}");
    }
}

#[test]
fn texture_accesses_leave_in_order_when_their_lines_have_come() {
    let mut bench = Bench::new(&Config::default());
    let lines = |from: u64| Handed::Lines((from..from + 4).map(|line| GLOBAL + line * 128).collect(), 32);
    let jobs = [
        (job(0, JobKind::Texture), lines(0)),
        (job(1, JobKind::Texture), lines(100)),
        (job(2, JobKind::Texture), lines(0)),
    ];
    let start = bench.run(&jobs);
    assert!(bench.done[&0] < bench.done[&1] && bench.done[&1] < bench.done[&2]);
    assert_eq!((bench.unit.counters().texture.misses, bench.unit.counters().texture.hits), (8, 4));
    assert!(bench.latency_of(0, start) > bench.latency + u64::from(bench.config.texture.cycles));
    let start = bench.run(&[(job(3, JobKind::Texture), lines(0))]);
    assert_eq!(bench.latency_of(3, start), 1 + 3 + u64::from(bench.config.texture.cycles));
}

#[test]
fn a_full_fragment_queue_holds_up_what_follows() {
    let mut config = Config::default();
    config.texture.fragments = 2;
    let mut bench = Bench::new(&config);
    let lines = Handed::Lines((0..8).map(|line| GLOBAL + line * 128).collect(), 32);
    bench.run(&[(job(0, JobKind::Texture), lines.clone()), (job(1, JobKind::Texture), lines)]);
    assert!(bench.unit.counters().texture.fail_fragments > 3 * 100);
}

#[test]
fn an_instruction_in_several_spaces_is_done_when_all_of_it_is() {
    let mut bench = Bench::new(&Config::default());
    let mut shared = group(Space::Shared, 4, |lane| 4 * lane);
    let mut global = group(Space::Global, 4, |lane| 4 * lane);
    (shared.lanes.mask, global.lanes.mask) = (0xffff, 0xffff_0000);
    let start = bench.run(&[(job(0, JobKind::Load), Handed::Groups(vec![shared, global]))]);
    assert!(bench.latency_of(0, start) > bench.latency);
    assert_eq!((bench.unit.counters().shared.reads, bench.unit.counters().l1d.misses), (1, 1));
}

#[test]
fn a_second_slot_lets_shared_memory_and_the_cache_work_side_by_side() {
    let run = |ldst| {
        let mut config = Config::default();
        config.units.ldst = ldst;
        let mut bench = Bench::new(&config);
        let jobs = [
            (job(0, JobKind::Load), spread(Space::Global, 0)),
            (job(1, JobKind::Load), words(Space::Shared, 0)),
        ];
        bench.run(&jobs);
        bench.done[&1]
    };
    let cycles = u64::from(Config::default().shared.cycles);
    assert!(run(1) >= 32 + cycles && run(2) < 8 + cycles);
}
