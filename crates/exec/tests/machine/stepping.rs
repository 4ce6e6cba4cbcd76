// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution instruction by instruction: what is recorded, when stores and atomics take effect, and that the outcome is that of the functional engine.

use std::sync::Arc;

use proptest::prelude::*;
use warpwatt_exec::lanes::Level;
use warpwatt_exec::stepping::*;
use warpwatt_exec::{AccessKind, CheckOptions, FaultKind, Image, SmLimits};
use warpwatt_isa::*;
use warpwatt_memory::texture::{ChannelKind, Format, Image as TextureImage, Sampler, Storage};

use crate::common::*;
use crate::divergence::{factorial, nested};
use crate::progress::spin_lock;
use crate::system::{heap, sys, text_argument};
use crate::timed::Timed;

const OLD: u32 = 50;
const NEW: u32 = 75;

/// SMs that hold one block each, stepped by hand.
struct Hand<'a> {
    prepared: &'a Prepared<'a>,
    sms: Vec<(Stepper, EpochLog, Resident)>,
}

impl<'a> Hand<'a> {
    fn new(prepared: &'a Prepared<'a>, sms: u32) -> Hand<'a> {
        let sm = |id: u32| {
            let mut cta = Resident::new(prepared, CheckOptions::default());
            cta.start(prepared, u64::from(id), id, 10 * id);
            (Stepper::new(prepared), EpochLog::new(), cta)
        };
        Hand { prepared, sms: (0..sms).map(sm).collect() }
    }

    fn step(&mut self, bench: &Bench, sm: usize, cycle: u64) -> Outcome {
        let (stepper, log, cta) = &mut self.sms[sm];
        stepper.step(self.prepared, &bench.memory, log, cta, 0, Now { cycle, nanoseconds: 7 * cycle })
    }

    fn steps(&mut self, bench: &Bench, sm: usize, cycles: std::ops::Range<u64>) {
        for cycle in cycles {
            assert_ne!(
                self.step(bench, sm, cycle).event,
                StepEvent::Fault,
                "{:?}",
                self.sms[sm].0.take_fault()
            );
        }
    }

    fn merge(&mut self, bench: &mut Bench) -> MergeOutcome {
        let mut logs: Vec<&mut EpochLog> = self.sms.iter_mut().map(|(_, log, _)| log).collect();
        // SAFETY: all entries are of this memory, and no block was started anew.
        unsafe { merge(&mut logs, &mut bench.memory, true) }
    }
}

fn by_hand(bench: &mut Bench, asm: &Asm, sms: u32, test: impl FnOnce(&mut Bench, &mut Hand)) {
    let params = bench.params();
    let image = Image::new(Arc::new(asm.program()), Level::detect()).unwrap();
    let bank3 = bench.bank3.clone();
    bench.grid = [sms, 1, 1];
    let prepared = Prepared::new(&bench.launch(&image, &params, &bank3), SmLimits::GTX480).unwrap();
    test(bench, &mut Hand::new(&prepared, sms));
}

/// Word 0 of `out` gets the block's number plus `add`.
fn store_block(a: &mut Asm, add: i32) {
    a.mov(4, param(0)).mov(5, param(1)).s2r(2, SReg::CtaidX).add(2, r(2), imm(add));
    a.st(Space::Global, Ty::U32, r(4), 0, r(2));
}

#[test]
fn stores_merge_in_the_order_of_cycle_and_sm() {
    let mut a = Asm::new(NEW);
    store_block(&mut a, 100);
    a.exit();
    // The last store wins: (cycles of SM 0, of SM 1, winner).
    for (first, second, winner) in [(0, 0, 101), (1, 0, 100), (0, 1, 101)] {
        by_hand(&mut Bench::new(1), &a, 2, |bench, hand| {
            hand.steps(bench, 1, second..second + 5);
            hand.steps(bench, 0, first..first + 5);
            assert_eq!(bench.words(), [0], "nothing takes effect before the merge");
            assert_eq!(hand.sms[0].1.cycles().collect::<Vec<_>>(), [first + 4]);
            assert_eq!(hand.merge(bench), MergeOutcome { changed: true, stores: 2, atomics: 0 });
            assert_eq!(bench.words(), [winner]);
            assert!(hand.sms.iter().all(|(_, log, _)| log.is_empty()));
            assert_eq!(hand.merge(bench), MergeOutcome::default());
        });
    }
}

#[test]
fn an_sm_sees_its_own_stores_at_once_and_those_of_others_after_the_merge() {
    let mut a = Asm::new(NEW);
    store_block(&mut a, 100);
    a.ld(Space::Global, Ty::U32, 6, r(4), 0).ld(Space::Global, Ty::U32, 7, r(4), 0).exit();
    by_hand(&mut Bench::new(1), &a, 2, |bench, hand| {
        hand.steps(bench, 0, 0..6);
        hand.steps(bench, 1, 0..6);
        assert_eq!(hand.sms[0].2.row(0, 6).0, [100; 32]);
        assert_eq!(hand.sms[1].2.row(0, 6).0, [101; 32]);
        hand.merge(bench);
        hand.steps(bench, 0, 6..7);
        assert_eq!(hand.sms[0].2.row(0, 7).0, [101; 32]);
    });
}

#[test]
fn an_atomic_gives_the_old_value_at_the_merge_and_loads_wait_for_it() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1)).mov(2, imm(3));
    a.atom(AtomOp::Add, Space::Global, Ty::U32, 6, [r(4), r(2), Src::None]);
    a.mov(2, imm(1000)).ld(Space::Global, Ty::U32, 8, r(4), 4);
    a.label("load").ld(Space::Global, Ty::U32, 7, r(4), 0).exit();
    by_hand(&mut Bench::new(2), &a, 2, |bench, hand| {
        for sm in 0..2 {
            hand.steps(bench, sm, 0..3);
            let atomic = hand.step(bench, sm, 3);
            assert_eq!((atomic.event, atomic.pc, atomic.mask), (StepEvent::Go, 3, !0));
            // The neighbouring word is free to be read.
            hand.steps(bench, sm, 4..6);
            for cycle in 6..9 {
                let outcome = hand.step(bench, sm, cycle);
                assert_eq!((outcome.event, outcome.pc), (StepEvent::Retry, a.pc("load")));
                assert_eq!(outcome.access, Access::None);
            }
            assert_eq!(hand.sms[sm].0.counts()[a.pc("load") as usize].issues, 0, "tries do not count");
            assert_eq!(hand.sms[sm].0.counts().iter().map(|count| count.lanes).sum::<u64>(), 6 * 32);
        }
        assert_eq!(hand.merge(bench), MergeOutcome { changed: true, stores: 0, atomics: 2 });
        assert_eq!(bench.words()[0], 2 * 32 * 3);
        // Lanes in order, SM 0 first, with the operands as they were at issue.
        for sm in 0..2 {
            let old: Vec<u32> = (0..32).map(|lane| 3 * (32 * sm as u32 + lane)).collect();
            assert_eq!(hand.sms[sm].2.row(0, 6).0[..], old);
            assert_eq!(hand.step(bench, sm, 9).event, StepEvent::Go);
            assert_eq!(hand.sms[sm].2.row(0, 7).0, [192; 32]);
        }
    });
}

#[test]
fn a_store_after_an_own_atomic_comes_after_it() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1)).mov(2, imm(3));
    a.st(Space::Global, Ty::U32, r(4), 0, r(2));
    a.atom(AtomOp::Add, Space::Global, Ty::U32, 6, [r(4), r(2), Src::None]);
    a.st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    let mut bench = Bench::new(1);
    bench.block = [1, 1, 1];
    by_hand(&mut bench, &a, 1, |bench, hand| {
        hand.steps(bench, 0, 0..6);
        assert_eq!(hand.merge(bench), MergeOutcome { changed: true, stores: 2, atomics: 1 });
        assert_eq!((hand.sms[0].2.row(0, 6).0[0], bench.words()[0]), (3, 3));
    });
}

#[test]
fn a_merge_that_writes_what_is_there_changes_nothing() {
    let mut a = Asm::new(NEW);
    store_block(&mut a, 0);
    a.exit();
    by_hand(&mut Bench::new(1), &a, 1, |bench, hand| {
        hand.steps(bench, 0, 0..5);
        assert_eq!(hand.merge(bench), MergeOutcome { changed: false, stores: 1, atomics: 0 });
    });
}

#[test]
fn accesses_are_recorded_where_they_led() {
    let mut a = Asm::new(NEW);
    (a.program.shared_bytes, a.program.local_bytes) = (256, 16);
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 8).mad(2, r(0), imm(4), RZ).setp(0, r(0), Cmp::Lt, imm(7));
    a.ldv(Space::Global, Ty::U32, 2, 8, r(4), 0);
    a.when(0).st(Space::Shared, Ty::U32, r(2), 16, r(8));
    a.ld(Space::Local, Ty::U16, 8, RZ, 2);
    let mut load = Uop::new(Op::Ld, Ty::U32);
    (load.mem.space, load.mem.bank, load.mem.vec, load.dst) = (Space::Const, 3, 1, Reg(8));
    load.src[0] = RZ;
    a.put(load).unless(0).ld(Space::Generic, Ty::U32, 8, r(4), 4);
    a.when(0).atom(AtomOp::Add, Space::Shared, Ty::U32, 8, [r(2), r(0), Src::None]).exit();
    let mut bench = Bench::new(64);
    bench.bank3 = vec![0; 4];
    by_hand(&mut bench, &a, 1, |bench, hand| {
        hand.steps(bench, 0, 0..4);
        let base = bench.out;
        let spread = Spread::Unknown;
        let lanes =
            |space, bank, base, mask, bytes, kind| Lanes { space, bank, base, mask, bytes, kind, spread };
        use AccessKind::*;
        let expected = [
            (lanes(Space::Global, 0, base, !0, 8, Load), [0, 8, 16]),
            (lanes(Space::Shared, 0, 0, 0x7f, 4, Store), [16, 20, 24]),
            (lanes(Space::Local, 0, 0, !0, 2, Load), [2, 2, 2]),
            (lanes(Space::Const, 3, 0, !0, 4, Load), [0, 0, 0]),
            (lanes(Space::Global, 0, base, !0x7f, 4, Load), [4, 12, 20]),
            (lanes(Space::Shared, 0, 0, 0x7f, 4, Atomic), [0, 4, 8]),
        ];
        for (cycle, (access, offsets)) in (4..).zip(expected) {
            let outcome = hand.step(bench, 0, cycle);
            assert_eq!(outcome.access, Access::Lanes(access));
            assert_eq!(outcome.mask, access.mask);
            let first = access.mask.trailing_zeros() as usize;
            let got = hand.sms[0].0.offsets();
            assert_eq!(got[first], offsets[0] + first as u32 * (offsets[1] - offsets[0]), "{access:?}");
            assert_eq!(got[first + 2] - got[first], offsets[2] - offsets[0], "{access:?}");
        }
        assert_eq!(hand.step(bench, 0, 10).access, Access::None);
    });
}

#[test]
fn lanes_that_go_different_ways_are_recorded_in_groups() {
    let mut bench = Bench::new(32);
    let other = bench.memory.alloc(256, "other").unwrap();
    bench.more_params = other.to_le_bytes().to_vec();
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 64;
    // Lanes 0..4 in `out`, 4..20 in `other`, the rest in shared memory.
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).address(6, 2, r(0), 4);
    a.setp(0, r(0), Cmp::Ge, imm(4)).when(0).mov(4, r(6)).when(0).mov(5, r(7));
    a.setp(0, r(0), Cmp::Ge, imm(20)).when(0).mov(4, imm(8)).when(0).mov(5, imm(1));
    a.st(Space::Generic, Ty::U32, r(4), 0, r(0)).exit();
    by_hand(&mut bench, &a, 1, |bench, hand| {
        hand.steps(bench, 0, 0..9);
        assert_eq!(hand.step(bench, 0, 9).access, Access::Mixed);
        let groups = hand.sms[0].0.groups();
        let all: Vec<_> = groups.iter().map(|g| (g.lanes.space, g.lanes.base, g.lanes.mask)).collect();
        let expected = [
            (Space::Global, bench.out, 0xf),
            (Space::Global, other, 0xffff0),
            (Space::Shared, 0, 0xfff0_0000),
        ];
        assert_eq!(all, expected);
        assert_eq!((groups[0].offsets[3], groups[1].offsets[5], groups[2].offsets[31]), (12, 20, 8));
        hand.merge(bench);
        assert_eq!(bench.words()[..4], [0, 1, 2, 3]);
        assert_eq!(bench.memory.bytes(other + 4 * 19, 1).unwrap(), [19]);
    });
}

#[test]
fn texture_reads_tell_their_lines_and_surface_writes_wait_for_the_merge() {
    let mut bench = Bench::new(1);
    let texels = bench.memory.alloc(4 * 64, "texels").unwrap();
    bench.memory.write(texels + 4 * 40, &77u32.to_le_bytes()).unwrap();
    let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
    let storage = Storage::pitched(texels, 64, 1, 256, format);
    let handle = bench.memory.images.create(TextureImage { storage, sampler: Sampler::default() });
    bench.more_params = handle.to_le_bytes().to_vec();
    let mut a = Asm::new(NEW);
    // Lanes read texels 40 down to 9; those in the first line come last.
    a.s2r(0, SReg::TidX).mad(8, r(0), imm(-1), imm(40)).mov(9, imm(0)).mov(2, param(2)).mov(3, param(3));
    let mut tex = Uop::new(Op::Tex, Ty::U32);
    (tex.sub, tex.ty2, tex.dst) = (Sub::Tex(TexGeom::D2, LodMode::Base), Ty::S32, Reg(12));
    (tex.src[0], tex.src[1]) = (r(2), r(8));
    a.put(tex).mad(8, r(0), imm(4), RZ);
    let mut sust = Uop::new(Op::Sust, Ty::U32);
    sust.sub = Sub::Surf(TexGeom::D2, SurfClamp::Trap, false);
    (sust.src[0], sust.src[1], sust.src[2]) = (r(2), r(8), r(0));
    sust.mem.vec = 1;
    a.put(sust).exit();
    by_hand(&mut bench, &a, 1, |bench, hand| {
        hand.steps(bench, 0, 0..5);
        let outcome = hand.step(bench, 0, 5);
        assert_eq!(outcome.access, Access::Texture { texels: 32, kind: AccessKind::Load });
        assert_eq!(hand.sms[0].0.lines(), [texels + LINE, texels]);
        assert_eq!(hand.sms[0].2.row(0, 12).0[0], 77);
        hand.steps(bench, 0, 6..7);
        let outcome = hand.step(bench, 0, 7);
        assert_eq!((outcome.event, outcome.access), (StepEvent::Deferred, Access::None));
        assert_eq!(bench.memory.bytes(texels + 4, 1).unwrap(), [0]);
        hand.merge(bench);
        let (stepper, _, cta) = &mut hand.sms[0];
        let outcome = stepper.execute_deferred(hand.prepared, &mut bench.memory, &mut bench.printed, cta, 0);
        assert_eq!(outcome.access, Access::Texture { texels: 32, kind: AccessKind::Store });
        assert_eq!((outcome.event, stepper.lines()), (StepEvent::Go, &[texels][..]));
        assert_eq!(stepper.counts()[7].issues, 1);
        assert_eq!(bench.memory.bytes(texels + 4 * 31, 1).unwrap(), [31]);
        assert_eq!(hand.step(bench, 0, 8).event, StepEvent::Exited);
    });
}

#[test]
fn special_registers_tell_the_place_and_the_time() {
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::SmId).s2r(1, SReg::WarpId).s2r(2, SReg::ClockLo).s2r(3, SReg::GlobalTimerLo).exit();
    by_hand(&mut Bench::new(1), &a, 3, |bench, hand| {
        hand.steps(bench, 2, 100..104);
        let value = |register| hand.sms[2].2.row(0, register).0[9];
        assert_eq!([value(0), value(1), value(2), value(3)], [2, 20, 102, 7 * 103]);
        assert_eq!([value(32), value(255)], [0, 0], "registers that are not there");
    });
}

#[test]
fn a_slot_tells_what_its_warps_wait_for_and_is_used_again() {
    let mut a = Asm::new(OLD);
    a.s2r(0, SReg::TidX).bar(5, 0, BarKind::Sync).exit();
    let mut bench = Bench::new(1);
    bench.block = [64, 1, 1];
    by_hand(&mut bench, &a, 1, |bench, hand| {
        let prepared = hand.prepared;
        for round in 0..2u64 {
            let (stepper, log, cta) = &mut hand.sms[0];
            cta.start(prepared, 0, 0, 0);
            let mut step = |cta: &mut Resident, warp, event| {
                let now = Now::default();
                assert_eq!(stepper.step(prepared, &bench.memory, log, cta, warp, now).event, event);
            };
            assert_eq!((cta.warp_pc(0), cta.warp_active(1), cta.live_warps()), (Some(0), !0, 2));
            step(cta, 0, StepEvent::Go);
            step(cta, 0, StepEvent::Barrier);
            assert_eq!((cta.warp_pc(0), cta.wait_reason(0)), (None, WaitReason::Barrier(5)));
            assert_eq!((cta.open_barriers(prepared), cta.wait_reason(1)), (0, WaitReason::None));
            let fault = stuck(prepared, FaultKind::BarrierDeadlock, std::iter::once(&*cta), "x".into());
            assert!(fault.waiters[0].reason.contains("barrier 5, where 32 of 64"), "{fault:?}");
            step(cta, 1, StepEvent::Go);
            step(cta, 1, StepEvent::Barrier);
            assert_eq!((cta.open_barriers(prepared), cta.warp_pc(0)), (1, Some(2)));
            step(cta, 0, StepEvent::Exited);
            assert!(cta.warp_done(0) && !cta.is_done() && cta.live_threads() == 32);
            step(cta, 0, StepEvent::Blocked);
            step(cta, 1, StepEvent::Exited);
            assert!(cta.is_done());
            assert_eq!(cta.wait_reason(1), WaitReason::Ended);
            assert_eq!(stepper.counts()[1].issues, 2 * (round + 1));
        }
    });
}

#[test]
fn a_warp_that_comes_back_unchanged_is_recognised() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1));
    a.label("spin").ld(Space::Global, Ty::U32, 2, r(4), 0).setp(0, r(2), Cmp::Eq, imm(0));
    a.when(0).bra("spin", None).exit();
    by_hand(&mut Bench::new(1), &a, 1, |bench, hand| {
        hand.steps(bench, 0, 0..5);
        let mut before = Snapshot::of(hand.prepared, &hand.sms[0].2, 0);
        let all = Deciding::of(hand.prepared, |_| true);
        hand.steps(bench, 0, 5..6);
        assert_eq!(before.place(&hand.sms[0].2, 0), None, "elsewhere");
        hand.steps(bench, 0, 6..8);
        assert_eq!(before.place(&hand.sms[0].2, 0), Some(0));
        assert!(before.note(hand.prepared, &hand.sms[0].2, 0, 0, &all));
        bench.memory.write(bench.out, &1u32.to_le_bytes()).unwrap();
        hand.steps(bench, 0, 8..10);
        assert_eq!(before.place(&hand.sms[0].2, 0), None, "the word has changed");
    });
}

#[test]
fn launches_that_no_sm_can_hold_are_refused_by_name() {
    let refusal = |registers: u32, block: u32, shared: u32, grid: u32, cooperative: bool| {
        let mut a = Asm::new(NEW);
        a.program.registers = registers;
        a.exit();
        let mut bench = Bench::new(1);
        (bench.block, bench.dynamic_shared, bench.grid) = ([block, 1, 1], shared, [grid, 1, 1]);
        bench.cooperative = cooperative;
        let image = Image::new(Arc::new(a.program()), Level::detect()).unwrap();
        let params = bench.params();
        let prepared = Prepared::new(&bench.launch(&image, &params, &[]), SmLimits::GTX480);
        prepared.err().map(|fault| fault.detail)
    };
    assert_eq!(refusal(32, 1024, 0, 1, false), None);
    let text = refusal(33, 1024, 0, 1, false).unwrap();
    assert_eq!(text, "a block takes 34816 registers, an SM has 32768 (33 for each of 1024 threads)");
    let text = refusal(16, 32, 50000, 1, false).unwrap();
    assert_eq!(text, "a block takes 50048 bytes of shared memory, an SM has 49152");
    assert_eq!(refusal(16, 256, 0, 90, true), None);
    assert!(refusal(16, 256, 0, 91, true).unwrap().contains("15 SMs with 6 each hold 90"));
    let small = SmLimits { threads: 512, ..SmLimits::GTX480 };
    assert_eq!(small.fits(513, 16, 0), None);
    assert_eq!(small.shortage(513, 16, 0).unwrap(), "a block takes 513 threads, an SM has 512");
    let small = SmLimits { warps: 3, ..SmLimits::GTX480 };
    assert_eq!(small.shortage(128, 16, 0).unwrap(), "a block takes 4 warps, an SM has 3");
    assert_eq!(small.shortage(96, 16, 0), None);
}

/// Timed machines of all kinds.
fn machines() -> impl Iterator<Item = Timed> {
    let shapes = [(1, 1, false), (1, 1000, false), (2, 7, false), (3, 40, false), (3, 40, true)];
    shapes.into_iter().map(|(sms, epoch, threads)| Timed { sms, epoch, threads, limits: SmLimits::GTX480 })
}

/// Runs a program on the functional engine and on timed machines: memory, counts and what was printed must be the same.
fn agrees(bench: impl Fn() -> Bench, asm: &Asm) {
    let mut expected = bench();
    let stats = expected.run(asm).unwrap();
    for machine in machines() {
        let mut bench = bench();
        let timed = machine.run(&mut bench, asm).unwrap();
        assert_eq!(bench.words(), expected.words(), "{} SMs, {} cycles", machine.sms, machine.epoch);
        assert_eq!(timed.counts, stats.per_pc);
        assert_eq!(timed.divergent_branches, stats.divergent_branches);
    }
}

/// Blocks of 64 threads reverse their part of `out` through shared memory and add into a histogram behind it.
fn reverse_and_count(sm: u32) -> Asm {
    let mut a = Asm::new(sm);
    a.program.shared_bytes = 256;
    a.s2r(0, SReg::TidX).s2r(1, SReg::CtaidX).mad(2, r(1), imm(64), r(0)).address(4, 0, r(2), 4);
    a.mad(8, r(2), imm(2654435), imm(12345)).mad(3, r(0), imm(4), RZ);
    a.st(Space::Shared, Ty::U32, r(3), 0, r(8)).sync();
    a.mad(3, r(0), imm(-4), imm(252)).ld(Space::Shared, Ty::U32, 9, r(3), 0);
    a.st(Space::Global, Ty::U32, r(4), 0, r(9)).ld(Space::Global, Ty::U32, 10, r(4), 0);
    a.op(Op::Shr, Ty::U32, 10, &[r(10), imm(28)]).add(10, r(10), imm(64 * 40)).address(6, 0, r(10), 4);
    let mut red = Uop::new(Op::Red, Ty::U32);
    (red.mem.space, red.sub) = (Space::Global, Sub::Atom(AtomOp::Add));
    (red.src[0], red.src[1]) = (r(6), imm(1));
    a.put(red).exit();
    a
}

#[test]
fn timed_and_functional_execution_agree() {
    for sm in [OLD, NEW] {
        let many = || {
            let mut bench = Bench::new(64 * 40 + 16);
            (bench.grid, bench.block) = ([40, 1, 1], [64, 1, 1]);
            bench
        };
        agrees(many, &reverse_and_count(sm));
        agrees(|| Bench::new(32), &factorial(sm));
        agrees(|| Bench::new(32), &nested(sm));
    }
}

#[test]
fn what_is_held_back_is_counted() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1));
    let mut red = Uop::new(Op::Red, Ty::U32);
    (red.mem.space, red.sub) = (Space::Global, Sub::Atom(AtomOp::Add));
    (red.src[0], red.src[1]) = (r(4), imm(1));
    a.put(red).ld(Space::Global, Ty::U32, 2, r(4), 0).st(Space::Global, Ty::U32, r(4), 4, r(2)).exit();
    let mut bench = Bench::new(2);
    let stats =
        Timed { sms: 1, epoch: 1000, threads: false, limits: SmLimits::GTX480 }.run(&mut bench, &a).unwrap();
    assert_eq!((stats.retries, stats.stores, stats.atomics, stats.deferred), (1, 1, 1, 0));
    assert_eq!(bench.words(), [32, 32]);
}

#[test]
fn locks_across_lanes_and_sms_are_shared() {
    for machine in machines() {
        let mut bench = Bench::new(2);
        (bench.grid, bench.block) = ([3, 1, 1], [64, 1, 1]);
        machine.run(&mut bench, &spin_lock(NEW)).unwrap();
        assert_eq!(bench.words(), [0, 192]);
    }
}

#[test]
fn a_grid_meets_at_its_barrier() {
    let mut a = Asm::new(NEW);
    a.program.local_bytes = 16;
    a.mov(4, param(0)).mov(5, param(1));
    a.atom(AtomOp::Add, Space::Global, Ty::U32, 2, [r(4), imm(1), Src::None]).put(sys(SysFn::GridSync, 8));
    a.ld(Space::Global, Ty::U32, 3, r(4), 0).st(Space::Global, Ty::U32, r(4), 4, r(3)).exit();
    for machine in machines() {
        let mut bench = Bench::new(2);
        (bench.grid, bench.block, bench.cooperative) = ([8, 1, 1], [40, 1, 1], true);
        machine.run(&mut bench, &a).unwrap();
        assert_eq!(bench.words(), [320, 320]);
    }
}

#[test]
fn calls_of_the_runtime_are_deferred_and_see_what_was_stored() {
    let mut a = Asm::new(NEW);
    a.program.local_bytes = 64;
    // printf("%s", out), where out was stored just before.
    a.mov(4, param(0)).mov(5, param(1)).mov(6, imm(i32::from_le_bytes(*b"hey\n")));
    a.st(Space::Global, Ty::U32, r(4), 0, r(6)).st(Space::Local, Ty::U64, RZ, 32, r(4));
    text_argument(&mut a, 0, 0);
    a.mov(20, imm(32)).mov(21, imm(2)).st(Space::Local, Ty::U64, RZ, 8, r(20));
    a.put(sys(SysFn::Vprintf, 6)).exit();
    for machine in machines() {
        let mut bench = Bench::new(2);
        (bench.bank3, bench.block, bench.grid) = (b"%s\0".to_vec(), [1, 1, 1], [2, 1, 1]);
        let stats = machine.run(&mut bench, &a).unwrap();
        assert_eq!(String::from_utf8_lossy(&bench.printed), "hey\nhey\n");
        assert_eq!(stats.deferred, 2);
    }
}

#[test]
fn memory_that_was_freed_is_gone_for_all() {
    for machine in machines() {
        let mut bench = Bench::new(2);
        bench.block = [1, 1, 1];
        assert_eq!(machine.run(&mut bench, &heap(64, 1, false)).unwrap().deferred, 2);
        let stale = heap(64, 1, true);
        let fault = machine.run(&mut bench, &stale).unwrap_err();
        assert_eq!((fault.kind, fault.pc), (FaultKind::UseAfterFree, stale.pc("stale")));
    }
}

/// A random access to a buffer that is small enough for many to meet.
#[derive(Clone, Debug)]
struct Touch {
    /// 0: load, 1: store, 2: atom, 3: red.
    what: u8,
    ty: Ty,
    vec: u8,
    stride: i32,
    at: i32,
    /// Lanes from and up to which take part.
    lanes: (i32, i32),
}

fn touch() -> impl Strategy<Value = Touch> {
    let ty = prop::sample::select(vec![Ty::U8, Ty::S16, Ty::U32, Ty::U64]);
    let vec = prop::sample::select(vec![1u8, 2, 4]);
    let stride = prop::sample::select(vec![0, 1, 1, 2, -1, 5]);
    let lanes = prop::sample::select(vec![(0, 32), (0, 32), (0, 7), (9, 32), (3, 4)]);
    (0u8..4, ty, vec, stride, 0..64i32, lanes).prop_map(|(what, ty, vec, stride, at, lanes)| match what {
        0 | 1 => Touch { what, ty, vec, stride, at, lanes },
        _ => Touch { what, ty: if ty == Ty::U64 { ty } else { Ty::U32 }, vec: 1, stride, at, lanes },
    })
}

/// Bytes of the buffer; what was loaded goes behind it.
const BUFFER: i32 = 1024;

fn touching(all: &[Touch]) -> Asm {
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidX).mad(20, r(0), imm(7), imm(3));
    for register in 8..16 {
        a.mad(register, r(0), imm(0x0101_0101 * i32::from(register)), imm(77));
    }
    for touch in all {
        let bytes = (touch.ty.bytes() * u32::from(touch.vec)) as i32;
        a.mad(2, r(0), imm(touch.stride), imm(touch.at));
        let mut inside = Uop::new(Op::Lop3, Ty::U32);
        (inside.dst, inside.sub) = (Reg(2), Sub::Lut(0xc0));
        inside.src = [r(2), imm(BUFFER / bytes - 1), RZ, Src::None];
        a.put(inside).address(4, 0, r(2), bytes);
        a.setp(0, r(0), Cmp::Ge, imm(touch.lanes.0));
        a.when(0).setp(1, r(0), Cmp::Lt, imm(touch.lanes.1));
        // P1 of lanes below keeps an old value: they must not take part.
        a.unless(0).setp(1, r(0), Cmp::Lt, imm(0));
        a.when(1);
        match touch.what {
            0 => a.ldv(Space::Global, touch.ty, touch.vec, 24, r(4), 0),
            1 => a.stv(Space::Global, touch.ty, touch.vec, r(4), 0, r(8)),
            2 => a.atom(AtomOp::Add, Space::Global, touch.ty, 24, [r(4), r(8), Src::None]),
            _ => {
                let mut red = Uop::new(Op::Red, touch.ty);
                (red.mem.space, red.sub) = (Space::Global, Sub::Atom(AtomOp::Max));
                (red.src[0], red.src[1]) = (r(4), r(8));
                a.put(red)
            }
        };
        for k in 0..4 {
            a.mad(8 + k, r(8 + k), imm(31), r(24 + k)).mad(20, r(20), imm(33), r(28 + k));
        }
    }
    a.address(4, 0, r(0), 4).st(Space::Global, Ty::U32, r(4), BUFFER, r(8));
    a.st(Space::Global, Ty::U32, r(4), BUFFER + 128, r(20)).exit();
    a
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_warp_sees_memory_as_if_nothing_were_held_back(all in prop::collection::vec(touch(), 1..24)) {
        let asm = touching(&all);
        let mut plain = Bench::new(BUFFER as u64 / 4 + 64);
        plain.run(&asm).unwrap();
        for epoch in [3, 50, 100_000] {
            let mut bench = Bench::new(BUFFER as u64 / 4 + 64);
            Timed { sms: 1, epoch, threads: false, limits: SmLimits::GTX480 }.run(&mut bench, &asm).unwrap();
            prop_assert_eq!(bench.words(), plain.words(), "epochs of {} cycles", epoch);
        }
    }
}
