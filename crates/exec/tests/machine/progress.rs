// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers, locks, spinning across lanes and blocks, and what is reported when nothing can go on.

use crate::common::*;
use std::sync::atomic::AtomicBool;
use warpwatt_exec::{Ending, FaultKind, Options, Watchdog};
use warpwatt_isa::*;

const OLD: u32 = 50;
const NEW: u32 = 75;

/// A watchdog that does not let tests wait.
fn impatient<'a>() -> Options<'a> {
    Options { watchdog: Watchdog { patience: 20_000, limit: Some(5_000_000) }, ..Options::default() }
}

#[test]
fn a_block_exchanges_values_through_shared_memory_behind_a_barrier() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.program.shared_bytes = 4 * 128;
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).op(Op::Shl, Ty::U32, 2, &[r(0), imm(2)]);
        a.st(Space::Shared, Ty::U32, r(2), 0, r(0)).sync();
        // Reads what the thread opposite wrote.
        a.mad(3, r(2), imm(-1), imm(4 * 127)).ld(Space::Shared, Ty::U32, 6, r(3), 0);
        a.st(Space::Global, Ty::U32, r(4), 0, r(6)).exit();
        let mut bench = Bench::new(128);
        bench.block = [128, 1, 1];
        let stats = bench.run(&a).unwrap();
        assert_eq!(bench.words(), (0..128).rev().collect::<Vec<u32>>());
        assert_eq!(stats.barriers, 1);
    }
}

#[test]
fn barrier_reductions_count_and_combine_predicates() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 16).setp(0, r(0), Cmp::Lt, imm(40));
        let reduce = |kind, dst: u8, pdst: u8| {
            let mut uop = Uop::new(Op::Bar, Ty::U32);
            uop.sub = Sub::Bar(kind);
            uop.src[0] = imm(1);
            uop.src[1] = RZ;
            uop.psrc[0] = PredSrc { pred: Pred(0), negated: false };
            uop.dst = Reg(dst);
            uop.pdst[0] = Pred(pdst);
            uop
        };
        a.put(reduce(BarKind::RedPopc, 6, 7)).put(reduce(BarKind::RedAnd, 255, 1)).put(reduce(
            BarKind::RedOr,
            255,
            2,
        ));
        a.mov(7, imm(0)).mov(8, imm(0)).when(1).mov(7, imm(1)).when(2).mov(8, imm(1));
        a.stv(Space::Global, Ty::U32, 4, r(4), 0, r(6)).exit();
        let mut bench = Bench::new(4 * 96);
        bench.block = [96, 1, 1];
        let stats = bench.run(&a).unwrap();
        for thread in bench.words().chunks(4) {
            assert_eq!(thread[..3], [40, 0, 1]);
        }
        assert_eq!(stats.barriers, 3);
    }
}

#[test]
fn a_named_barrier_with_a_count_lets_a_producer_arrive_and_a_consumer_wait() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.program.shared_bytes = 4;
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Lt, imm(32));
        a.when(0).bra("consumer", Some("end"));
        a.mov(2, imm(77))
            .st(Space::Shared, Ty::U32, RZ, 0, r(2))
            .bar(3, 64, BarKind::Arrive)
            .bra("end", None);
        a.label("consumer").bar(3, 64, BarKind::Sync).ld(Space::Shared, Ty::U32, 3, RZ, 0);
        a.st(Space::Global, Ty::U32, r(4), 0, r(3));
        a.label("end").exit();
        let mut bench = Bench::new(64);
        bench.block = [64, 1, 1];
        bench.run(&a).unwrap();
        assert_eq!(bench.words()[..32], [77; 32]);
    }
}

#[test]
fn ended_threads_are_not_expected_at_a_barrier() {
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Ge, imm(50)).when(0).exit();
    a.sync().mov(2, imm(1)).st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    let mut bench = Bench::new(96);
    bench.block = [96, 1, 1];
    bench.run(&a).unwrap();
    assert_eq!(bench.words().iter().sum::<u32>(), 50);
}

#[test]
fn a_divergent_barrier_deadlock_names_the_waiting_warps() {
    // Threads below 16 wait at barrier 0, the others at barrier 1.
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidX).setp(0, r(0), Cmp::Lt, imm(16)).when(0).bra("low", Some("end"));
    a.label("high").bar(1, 0, BarKind::Sync).bra("end", None);
    a.label("low").bar(0, 0, BarKind::Sync);
    a.label("end").exit();
    let mut bench = Bench::new(1);
    bench.block = [64, 1, 1];
    bench.grid = [3, 1, 1];
    let fault = bench.run(&a).unwrap_err().fault;
    assert_eq!(fault.kind, FaultKind::BarrierDeadlock);
    assert_eq!(fault.cta, [0, 0, 0]);
    let lanes = |warp, pc| fault.waiters.iter().find(|w| w.warp == warp && w.pc == pc).map(|w| w.lanes);
    assert_eq!(lanes(0, a.pc("low")), Some(0x0000_ffff));
    assert_eq!(lanes(0, a.pc("high")), Some(0xffff_0000));
    assert_eq!(lanes(1, a.pc("high")), Some(0xffff_ffff));
    assert!(fault.waiters[0].reason.contains("waits at barrier"), "{:?}", fault.waiters[0]);
}

#[test]
fn before_sm_70_a_barrier_counts_warps_whatever_their_lanes() {
    // Half of each warp takes the barrier in the one branch, half in the other: twice a barrier of all warps.
    let mut a = Asm::new(OLD);
    a.s2r(0, SReg::LaneId).setp(0, r(0), Cmp::Lt, imm(16)).when(0).bra("low", Some("end"));
    a.sync().bra("end", None);
    a.label("low").sync();
    a.label("end").exit();
    let mut bench = Bench::new(1);
    bench.block = [64, 1, 1];
    assert_eq!(bench.run(&a).unwrap().barriers, 2);
}

#[test]
fn bad_barriers_are_reported() {
    for (number, threads) in [(16, 0), (0, 33)] {
        let mut a = Asm::new(NEW);
        a.bar(number, threads, BarKind::Sync).exit();
        assert_eq!(Bench::new(1).run(&a).unwrap_err().fault.kind, FaultKind::InvalidBarrier);
    }
}

/// Each lane takes the lock in word 0, increments word 1 without an atomic, and gives the lock back.
pub fn spin_lock(sm: u32) -> Asm {
    let mut a = Asm::new(sm);
    a.mov(4, param(0)).mov(5, param(1));
    a.label("try").atom(AtomOp::Cas, Space::Global, Ty::U32, 2, [r(4), RZ, imm(1)]);
    a.setp(0, r(2), Cmp::Ne, imm(0)).when(0).bra("try", Some("have"));
    a.label("have").ld(Space::Global, Ty::U32, 3, r(4), 4).add(3, r(3), imm(1)).st(
        Space::Global,
        Ty::U32,
        r(4),
        4,
        r(3),
    );
    a.atom(AtomOp::Exch, Space::Global, Ty::U32, 2, [r(4), RZ, Src::None]).exit();
    a
}

#[test]
fn warps_and_their_lanes_share_a_spin_lock() {
    for sm in [OLD, NEW] {
        let mut bench = Bench::new(2);
        bench.block = [64, 1, 1];
        bench.grid = [5, 1, 1];
        bench.run(&spin_lock(sm)).unwrap();
        assert_eq!(bench.words(), [0, 320]);
    }
}

#[test]
fn a_lock_whose_waiters_sleep_is_shared_too() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1));
    a.label("try").atom(AtomOp::Cas, Space::Global, Ty::U32, 2, [r(4), RZ, imm(1)]);
    a.setp(0, r(2), Cmp::Eq, imm(0)).when(0).bra("have", Some("have"));
    a.op(Op::Nanosleep, Ty::U32, 255, &[imm(100)]).bra("try", None);
    a.label("have").ld(Space::Global, Ty::U32, 3, r(4), 4).add(3, r(3), imm(1));
    a.st(Space::Global, Ty::U32, r(4), 4, r(3));
    a.atom(AtomOp::Exch, Space::Global, Ty::U32, 2, [r(4), RZ, Src::None]).exit();
    let mut bench = Bench::new(2);
    bench.grid = [3, 1, 1];
    bench.run(&a).unwrap();
    assert_eq!(bench.words(), [0, 96]);
}

#[test]
fn collectives_of_groups_with_their_own_masks_do_not_wait_for_each_other() {
    // Even and odd lanes each vote among themselves, in one instruction.
    let mut a = Asm::new(NEW);
    let mut and1 = Uop::new(Op::Lop3, Ty::U32);
    (and1.dst, and1.sub) = (Reg(1), Sub::Lut(0xc0));
    and1.src = [r(0), imm(1), RZ, Src::None];
    a.s2r(0, SReg::LaneId).address(4, 0, r(0), 4).put(and1).op(
        Op::Shl,
        Ty::U32,
        2,
        &[imm(0x5555_5555), r(1)],
    );
    let mut vote = Uop::new(Op::Vote, Ty::U32);
    (vote.sub, vote.flags, vote.dst) = (Sub::Vote(VoteMode::Ballot), Flags::SYNC, Reg(3));
    vote.src[0] = r(2);
    a.put(vote).st(Space::Global, Ty::U32, r(4), 0, r(3)).exit();
    let mut bench = Bench::new(32);
    bench.run(&a).unwrap();
    assert_eq!(bench.words(), (0..32).map(|lane| 0x5555_5555 << (lane % 2)).collect::<Vec<u32>>());
}

#[test]
fn residency_follows_the_scarcest_resource() {
    let sm = warpwatt_exec::SmLimits::GTX480;
    assert_eq!(sm.ctas_per_sm(256, 20, 0), 6);
    assert_eq!(sm.ctas_per_sm(32, 20, 0), 8);
    assert_eq!(sm.ctas_per_sm(256, 63, 0), 2);
    assert_eq!(sm.ctas_per_sm(256, 20, 20 << 10), 2);
    // More than there is: the block gets the SM to itself.
    assert_eq!(sm.ctas_per_sm(1024, 255, 100 << 10), 1);
}

#[test]
fn a_lock_that_can_never_be_had_is_reported() {
    let mut bench = Bench::new(2);
    bench.grid = [4, 1, 1];
    bench.memory.write(bench.out, &1u32.to_le_bytes()).unwrap();
    let failure = bench.run_with(&spin_lock(NEW), &impatient()).unwrap_err();
    assert_eq!(failure.fault.kind, FaultKind::NoProgress);
    assert!(failure.stats.warp_instructions >= 20_000);
}

#[test]
fn a_long_loop_that_computes_is_not_taken_for_a_hang() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1)).mov(2, imm(0));
    a.label("loop")
        .add(2, r(2), imm(1))
        .setp(0, r(2), Cmp::Lt, imm(200_000))
        .when(0)
        .bra("loop", Some("end"));
    a.label("end").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    let mut bench = Bench::new(1);
    bench.block = [1, 1, 1];
    bench.run_with(&a, &impatient()).unwrap();
    assert_eq!(bench.words(), [200_000]);
}

#[test]
fn a_barrier_of_all_blocks_made_of_atomics_opens() {
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidX).s2r(1, SReg::CtaidX).mov(4, param(0)).mov(5, param(1));
    a.setp(0, r(0), Cmp::Ne, imm(0)).when(0).bra("wait", Some("wait"));
    a.atom(AtomOp::Add, Space::Global, Ty::U32, 2, [r(4), imm(1), Src::None]);
    a.label("spin").ld(Space::Global, Ty::U32, 3, r(4), 0).setp(1, r(3), Cmp::Lt, imm(100));
    a.when(1).bra("spin", Some("wait"));
    a.label("wait").sync();
    a.ld(Space::Global, Ty::U32, 3, r(4), 0)
        .address(6, 0, r(1), 4)
        .st(Space::Global, Ty::U32, r(6), 4, r(3))
        .exit();
    let mut bench = Bench::new(101);
    bench.grid = [100, 1, 1];
    bench.block = [64, 1, 1];
    bench.run(&a).unwrap();
    assert_eq!(bench.words(), vec![100; 101]);
}

#[test]
fn a_look_back_scan_finishes_with_more_blocks_than_fit() {
    // Block b waits for flag b, adds b to the running sum and sets flag b + 1.
    let mut a = Asm::new(NEW);
    a.s2r(1, SReg::CtaidX).address(4, 0, r(1), 8);
    a.label("spin").ldv(Space::Global, Ty::U32, 2, 2, r(4), 0).setp(0, r(2), Cmp::Eq, imm(0));
    a.when(0).bra("spin", Some("go"));
    a.label("go").add(3, r(3), r(1)).mov(2, imm(1)).stv(Space::Global, Ty::U32, 2, r(4), 8, r(2)).exit();
    let mut bench = Bench::new(2 * 501);
    bench.grid = [500, 1, 1];
    bench.block = [1, 1, 1];
    bench.memory.write(bench.out, &1u32.to_le_bytes()).unwrap();
    let stats = bench.run(&a).unwrap();
    assert!(stats.resident_ctas < 500);
    assert_eq!(bench.words()[1001], (0..500).sum::<u32>());
}

#[test]
fn a_cooperative_grid_has_a_barrier() {
    let mut a = Asm::new(NEW);
    let sys = |function, dst: u8| {
        let mut uop = Uop::new(Op::Sys, Ty::U32);
        uop.sub = Sub::Sys(function);
        uop.dst = Reg(dst);
        uop.src[0] = RZ;
        uop
    };
    a.program.local_bytes = 16;
    a.s2r(0, SReg::TidX).s2r(1, SReg::CtaidX).mov(4, param(0)).mov(5, param(1));
    a.atom(AtomOp::Add, Space::Global, Ty::U32, 2, [r(4), imm(1), Src::None]).put(sys(SysFn::GridSync, 8));
    a.ld(Space::Global, Ty::U32, 3, r(4), 0).mad(9, r(1), imm(40), r(0)).address(6, 0, r(9), 4);
    a.add(3, r(3), r(8)).st(Space::Global, Ty::U32, r(6), 4, r(3)).exit();
    let mut bench = Bench::new(401);
    bench.grid = [10, 1, 1];
    bench.block = [40, 1, 1];
    bench.cooperative = true;
    let stats = bench.run(&a).unwrap();
    assert_eq!(bench.words(), vec![400; 401]);
    assert_eq!((stats.barriers, stats.resident_ctas), (1, 10));
}

#[test]
fn shuffles_wait_for_lanes_of_the_other_branch() {
    // Both branches lead to the same shuffle, but the lanes do not meet before it.
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::LaneId).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Lt, imm(16)).mov(2, imm(1));
    a.when(0).bra("join", None);
    a.mov(2, imm(2));
    a.label("join");
    let mut shfl = Uop::new(Op::Shfl, Ty::U32);
    shfl.sub = Sub::Shfl(ShflMode::Bfly);
    shfl.flags = Flags::SYNC;
    shfl.dst = Reg(3);
    shfl.src = [r(2), imm(16), imm(31), imm(-1)];
    a.put(shfl).st(Space::Global, Ty::U32, r(4), 0, r(3)).exit();
    let mut bench = Bench::new(32);
    let stats = bench.run(&a).unwrap();
    assert_eq!(bench.words(), (0..32).map(|lane| if lane < 16 { 2 } else { 1 }).collect::<Vec<u32>>());
    let shuffle = stats.per_pc[a.pc("join") as usize];
    assert_eq!((shuffle.issues, shuffle.lanes), (1, 32));
}

#[test]
fn a_shuffle_reads_every_lane_that_is_there_and_0_from_others() {
    // The upper half has ended, and every lane names other members: all lanes of the lower half are there to be read.
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::LaneId).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Ge, imm(16)).add(2, r(0), imm(100));
    a.when(0).exit();
    let mut shfl = Uop::new(Op::Shfl, Ty::U32);
    shfl.sub = Sub::Shfl(ShflMode::Down);
    shfl.flags = Flags::SYNC;
    shfl.dst = Reg(3);
    shfl.src = [r(2), imm(8), imm(31), r(0)];
    a.put(shfl).st(Space::Global, Ty::U32, r(4), 0, r(3)).exit();
    let mut bench = Bench::new(32);
    bench.run(&a).unwrap();
    let want = |lane: u32| if lane < 8 { lane + 108 } else { 0 };
    assert_eq!(bench.words(), (0..32).map(want).collect::<Vec<u32>>());
}

#[test]
fn warp_sync_meets_lanes_from_different_places() {
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 4;
    let sync = {
        let mut uop = Uop::new(Op::WarpSync, Ty::U32);
        uop.src[0] = imm(-1);
        uop
    };
    a.s2r(0, SReg::LaneId).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Lt, imm(16)).mov(3, imm(9));
    a.when(0).bra("low", Some("end"));
    a.put(sync).ld(Space::Shared, Ty::U32, 3, RZ, 0).bra("end", None);
    a.label("low").mov(2, imm(5)).st(Space::Shared, Ty::U32, RZ, 0, r(2)).put(sync);
    a.label("end").st(Space::Global, Ty::U32, r(4), 0, r(3)).exit();
    let mut bench = Bench::new(32);
    let stats = bench.run(&a).unwrap();
    assert_eq!(bench.words(), (0..32).map(|lane| if lane < 16 { 9 } else { 5 }).collect::<Vec<u32>>());
    assert_eq!(stats.per_pc[a.pc("end") as usize].issues, 1);
}

#[test]
fn a_collective_that_waits_for_lanes_that_never_come_is_a_deadlock() {
    // Each half waits at a vote of its own for the other one.
    let mut a = Asm::new(NEW);
    let vote = {
        let mut uop = Uop::new(Op::Vote, Ty::U32);
        uop.sub = Sub::Vote(VoteMode::Ballot);
        uop.flags = Flags::SYNC;
        uop.dst = Reg(2);
        uop.src[0] = imm(-1);
        uop
    };
    a.s2r(0, SReg::LaneId).setp(0, r(0), Cmp::Lt, imm(16)).when(0).bra("low", Some("end"));
    a.put(vote).bra("end", None);
    a.label("low").put(vote);
    a.label("end").exit();
    let fault = Bench::new(1).run(&a).unwrap_err().fault;
    assert_eq!(fault.kind, FaultKind::BarrierDeadlock);
    assert!(fault.waiters[0].reason.contains("0xffffffff"), "{:?}", fault.waiters);
}

#[test]
fn ended_lanes_are_not_waited_for_by_a_vote() {
    let mut a = Asm::new(NEW);
    let vote = {
        let mut uop = Uop::new(Op::Vote, Ty::U32);
        uop.sub = Sub::Vote(VoteMode::Ballot);
        uop.flags = Flags::SYNC;
        uop.dst = Reg(2);
        uop.src[0] = imm(-1);
        uop
    };
    a.s2r(0, SReg::LaneId)
        .address(4, 0, r(0), 4)
        .setp(0, r(0), Cmp::Lt, imm(16))
        .when(0)
        .bra("low", Some("end"));
    a.put(vote).st(Space::Global, Ty::U32, r(4), 0, r(2)).bra("end", None);
    a.label("low").mov(3, imm(1)).exit();
    a.label("end").exit();
    let mut bench = Bench::new(32);
    bench.run(&a).unwrap();
    assert_eq!(bench.words()[16..], [0xffff_0000; 16]);
}

#[test]
fn limits_and_interrupts_stop_a_run_with_partial_counts() {
    let mut a = Asm::new(NEW);
    a.label("loop").add(2, r(2), imm(1)).bra("loop", None);
    let mut bench = Bench::new(1);
    let stats =
        bench.run_with(&a, &Options { max_warp_instructions: Some(1001), ..Options::default() }).unwrap();
    assert_eq!((stats.ending, stats.warp_instructions), (Ending::LimitReached, 1001));
    let stats =
        bench.run_with(&a, &Options { max_thread_instructions: Some(64_000), ..Options::default() }).unwrap();
    assert_eq!(stats.ending, Ending::LimitReached);
    assert!((64_000..96_000).contains(&stats.thread_instructions), "{}", stats.thread_instructions);
    let flag = AtomicBool::new(true);
    let stats = bench.run_with(&a, &Options { interrupt: Some(&flag), ..Options::default() }).unwrap();
    assert_eq!((stats.ending, stats.warp_instructions), (Ending::Interrupted, 0));
}

#[test]
fn two_runs_count_the_same() {
    let run = || {
        let mut bench = Bench::new(2);
        bench.block = [96, 1, 1];
        bench.grid = [7, 1, 1];
        let stats = bench.run(&spin_lock(NEW)).unwrap();
        (stats, bench.words())
    };
    assert_eq!(run(), run());
}
