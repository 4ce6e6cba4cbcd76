// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lanes of a diverged warp run when: on a machine with a reconvergence stack and on one with independent threads, for programs of
//! before and after sm_70, in functional and in timed execution.

use warpwatt_exec::{GridStats, Options, SmLimits, Watchdog};
use warpwatt_isa::*;

use crate::common::*;
use crate::progress::spin_lock;
use crate::timed::Timed;

const OLD: u32 = 50;
const NEW: u32 = 75;

/// Runs a program on both kinds of machine, functionally and with a time, and gives what each issued.
fn everywhere(bench: impl Fn() -> Bench, build: impl Fn(u32) -> Asm, expected: &[u32]) -> Vec<(u32, u64)> {
    let mut issued = Vec::new();
    for (sm, independent_threads) in [(OLD, false), (NEW, false), (OLD, true), (NEW, true)] {
        let asm = build(sm);
        let limits = SmLimits { independent_threads, ..SmLimits::GTX480 };
        let watchdog = Watchdog { patience: 1_000_000, limit: Some(1_000_000_000) };
        let mut bench_here = bench();
        let options = Options { sm: limits, watchdog, ..Options::default() };
        let stats = bench_here.run_with(&asm, &options).unwrap_or_else(|failure| {
            panic!("sm_{sm}, independent threads: {independent_threads}: {:?}", failure.fault)
        });
        assert_eq!(bench_here.words(), expected, "sm_{sm}, independent threads: {independent_threads}");
        issued.push((sm, stats.warp_instructions));
        for epoch in [1, 40] {
            let mut bench_here = bench();
            let machine = Timed { sms: 1, epoch, threads: false, limits };
            machine.run(&mut bench_here, &asm).unwrap();
            assert_eq!(bench_here.words(), expected, "timed, sm_{sm}");
        }
    }
    issued
}

fn last(stats: &GridStats) -> u64 {
    stats.per_pc.last().map_or(0, |count| count.issues)
}

#[test]
fn a_lock_handed_from_lane_to_lane_costs_tens_of_instructions_a_turn() {
    for (sm, issued) in everywhere(|| Bench::new(2), spin_lock, &[0, 32]) {
        assert!(issued < 32 * 45, "sm_{sm}: {issued}");
    }
}

#[test]
fn lanes_run_together_again_behind_a_lock() {
    for sm in [OLD, NEW] {
        let stats = Bench::new(2).run(&spin_lock(sm)).unwrap();
        assert_eq!(last(&stats), 1, "all lanes end together");
    }
}

/// Half of a warp goes a long way around a loop, then all of it goes as long a way.
fn long_way(sm: u32) -> Asm {
    const ROUNDS: i32 = 13_000;
    let mut a = Asm::new(sm);
    a.s2r(0, SReg::LaneId).address(4, 0, r(0), 4).mov(2, imm(0)).mov(3, imm(0));
    a.setp(0, r(0), Cmp::Lt, imm(16)).when(0).bra("join", Some("join"));
    a.label("half")
        .add(2, r(2), imm(1))
        .setp(1, r(2), Cmp::Lt, imm(ROUNDS))
        .when(1)
        .bra("half", Some("join"));
    a.label("join").add(3, r(3), imm(1)).setp(1, r(3), Cmp::Lt, imm(ROUNDS)).when(1).bra("join", Some("end"));
    a.label("end").add(2, r(2), r(3)).st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    a
}

#[test]
fn however_long_the_way_of_some_lanes_the_others_wait_at_the_join() {
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 16 { 13_000 } else { 26_000 }).collect();
    for (sm, issued) in everywhere(|| Bench::new(32), long_way, &expected) {
        assert_eq!(issued, 6 + 3 * 13_000 + 3 * 13_000 + 3, "sm_{sm}");
    }
    for sm in [OLD, NEW] {
        let stats = Bench::new(32).run(&long_way(sm)).unwrap();
        for independent_threads in [false, true] {
            let limits = SmLimits { independent_threads, ..SmLimits::GTX480 };
            let machine = Timed { sms: 1, epoch: 100, threads: false, limits };
            assert_eq!(machine.run(&mut Bench::new(32), &long_way(sm)).unwrap().counts, stats.per_pc);
        }
    }
}

/// Lane 0 gives the others a value, which they wait for; `first` says whether it comes before or behind them in the code.
fn producer(sm: u32, first: bool) -> Asm {
    let mut a = Asm::new(sm);
    a.s2r(0, SReg::LaneId).address(4, 0, r(0), 4).mov(6, param(0)).mov(7, param(1)).mov(2, imm(0));
    a.setp(0, r(0), if first { Cmp::Ne } else { Cmp::Eq }, imm(0)).when(0).bra("second", Some("join"));
    let consume = |a: &mut Asm, name: &'static str| {
        a.label(name).ld(Space::Global, Ty::U32, 2, r(6), 256).setp(1, r(2), Cmp::Eq, imm(0));
        a.when(1).bra(name, Some("consumed"));
        a.label("consumed");
    };
    let produce = |a: &mut Asm| {
        a.mov(2, imm(7)).st(Space::Global, Ty::U32, r(6), 256, r(2));
    };
    if first {
        produce(&mut a);
        a.bra("join", None).label("second");
        consume(&mut a, "poll");
    } else {
        consume(&mut a, "poll");
        a.bra("join", None).label("second");
        produce(&mut a);
    }
    a.label("join").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    a
}

#[test]
fn a_producer_and_its_consumers_may_be_lanes_of_one_warp() {
    let mut expected = vec![7; 32];
    expected.resize(65, 0);
    expected[64] = 7;
    for first in [false, true] {
        for (sm, issued) in everywhere(|| Bench::new(65), |sm| producer(sm, first), &expected) {
            assert!(issued < 60, "sm_{sm}: {issued}");
        }
    }
}

/// Lanes leave a loop with a barrier one by one; what they do behind it, and whether they do anything, is up to `tail`.
fn barrier_in_a_loop(sm: u32, tail: bool) -> Asm {
    let mut a = Asm::new(sm);
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).mov(2, imm(0));
    a.label("loop").add(2, r(2), imm(1)).setp(0, r(2), Cmp::Gt, r(0));
    if tail {
        a.when(0).bra("out", Some("out"));
    } else {
        a.st(Space::Global, Ty::U32, r(4), 0, r(2)).when(0).exit();
    }
    a.sync().bra("loop", None);
    a.label("out").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    a
}

#[test]
fn a_barrier_does_not_wait_for_lanes_that_have_left_its_loop() {
    let bench = || {
        let mut bench = Bench::new(64);
        bench.block = [64, 1, 1];
        bench
    };
    let expected: Vec<u32> = (1..=64).collect();
    for tail in [false, true] {
        everywhere(bench, |sm| barrier_in_a_loop(sm, tail), &expected);
    }
}

/// A lock whose waiters count their tries, or wait in a loop of their own between them; then a barrier, and one word for all.
fn patient_lock(sm: u32, counts: bool) -> Asm {
    let mut a = Asm::new(sm);
    a.mov(4, param(0)).mov(5, param(1)).mov(7, imm(0)).s2r(9, SReg::TidX).address(10, 0, r(9), 4);
    a.label("try").atom(AtomOp::Cas, Space::Global, Ty::U32, 2, [r(4), RZ, imm(1)]);
    a.setp(0, r(2), Cmp::Eq, imm(0)).when(0).bra("have", Some("have"));
    if counts {
        a.add(7, r(7), imm(1));
    } else {
        a.mov(7, imm(0)).label("sleep").add(7, r(7), imm(1)).setp(1, r(7), Cmp::Lt, imm(10));
        a.when(1).bra("sleep", Some("slept")).label("slept");
    }
    a.bra("try", None);
    a.label("have").ld(Space::Global, Ty::U32, 3, r(4), 4).add(3, r(3), imm(1));
    a.st(Space::Global, Ty::U32, r(4), 4, r(3)).mov(3, imm(0)).st(Space::Global, Ty::U32, r(4), 0, r(3));
    a.sync().ld(Space::Global, Ty::U32, 3, r(4), 4).st(Space::Global, Ty::U32, r(10), 8, r(3)).exit();
    a
}

#[test]
fn a_lock_is_had_by_those_that_count_their_tries_or_pause_between_them() {
    let bench = || {
        let mut bench = Bench::new(66);
        bench.block = [64, 1, 1];
        bench
    };
    let mut expected = vec![0, 64];
    expected.resize(66, 64);
    for counts in [false, true] {
        everywhere(bench, |sm| patient_lock(sm, counts), &expected);
    }
}
