// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads, stores and atomics of every space, width and type, and what is said when an access is wrong.

use crate::common::*;
use warpwatt_exec::lanes::Level;
use warpwatt_exec::{AccessKind, CheckOptions, FaultKind, Options};
use warpwatt_isa::*;
use warpwatt_memory::Relation;

const NEW: u32 = 75;

fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn the_guest_address_of_memory_is_the_machines_global_window() {
    assert_eq!(warpwatt_memory::BASE, window::GLOBAL);
}

#[test]
fn narrow_loads_extend_and_narrow_stores_truncate() {
    let mut bench = Bench::new(32 * 6);
    let data: Vec<u8> = (0..64u32).map(|i| (i * 37 + 100) as u8).collect();
    let input = bench.memory.alloc(64, "input").unwrap();
    bench.memory.write(input, &data).unwrap();
    bench.more_params = input.to_le_bytes().to_vec();
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidX).address(2, 2, r(0), 1).address(4, 2, r(0), 2).address(6, 0, r(0), 24);
    a.ld(Space::Global, Ty::U8, 10, r(2), 0).ld(Space::Global, Ty::S8, 11, r(2), 0);
    a.ld(Space::Global, Ty::U16, 12, r(4), 0).ld(Space::Global, Ty::S16, 13, r(4), 0);
    a.ldv(Space::Global, Ty::S8, 2, 14, r(4), 0);
    a.stv(Space::Global, Ty::U32, 2, r(6), 0, r(10)).stv(Space::Global, Ty::U32, 2, r(6), 8, r(12));
    a.stv(Space::Global, Ty::U16, 2, r(6), 16, r(14)).st(Space::Global, Ty::U8, r(6), 20, r(12)).exit();
    bench.run(&a).unwrap();
    let out = bench.words();
    for lane in 0..32 {
        let (byte, half) = (data[lane], u16::from_le_bytes([data[2 * lane], data[2 * lane + 1]]));
        let pair = [data[2 * lane] as i8 as i16 as u16, data[2 * lane + 1] as i8 as i16 as u16];
        let expected = [
            u32::from(byte),
            byte as i8 as i32 as u32,
            u32::from(half),
            half as i16 as i32 as u32,
            u32::from(pair[0]) | u32::from(pair[1]) << 16,
            u32::from(half) & 0xff,
        ];
        assert_eq!(out[6 * lane..6 * lane + 6], expected, "lane {lane}");
    }
}

#[test]
fn wide_and_vector_accesses_move_whole_runs_in_every_space() {
    for space in [Space::Global, Space::Shared, Space::Local, Space::Generic] {
        let mut a = Asm::new(NEW);
        a.program.shared_bytes = 32 * 32;
        a.program.local_bytes = 32;
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 32);
        match space {
            Space::Global | Space::Generic => a.mov(2, r(4)).mov(3, r(5)),
            Space::Shared => a.op(Op::Shl, Ty::U32, 2, &[r(0), imm(5)]),
            _ => a.mov(2, imm(0)),
        };
        for k in 0..4u8 {
            a.mad(8 + k, r(0), imm(10), imm(i32::from(k)));
        }
        a.stv(space, Ty::U32, 4, r(2), 0, r(8)).stv(space, Ty::F64, 2, r(2), 16, r(8));
        a.ldv(space, Ty::U64, 2, 12, r(2), 0).ldv(space, Ty::F64, 4, 16, r(2), 0).ld(
            space,
            Ty::B128,
            24,
            r(2),
            16,
        );
        a.stv(Space::Global, Ty::U32, 4, r(4), 0, r(12)).st(Space::Global, Ty::B128, r(4), 16, r(20)).exit();
        let mut bench = Bench::new(32 * 8);
        bench.run(&a).unwrap();
        for (lane, words) in bench.words().chunks(8).enumerate() {
            let run = [0, 1, 2, 3].map(|k| lane as u32 * 10 + k);
            assert_eq!(words, [run, run].concat(), "lane {lane} in {space:?}");
        }
    }
}

#[test]
fn scattered_and_masked_accesses_agree_with_a_plain_model_at_every_level() {
    // out[perm(tid)] = in[other(tid)] for the threads of a mask.
    for level in Level::available() {
        for mask in [u32::MAX, 0x8000_0001, 0x5555_5555, 0x0000_ff00] {
            let mut bench = Bench::new(32);
            let input = bench.memory.alloc(4 * 64, "input").unwrap();
            let data: Vec<u8> = (0..64u32).flat_map(|i| (i * 1_000_003).to_le_bytes()).collect();
            bench.memory.write(input, &data).unwrap();
            bench.more_params = [&input.to_le_bytes()[..], &mask.to_le_bytes()].concat();
            let mut a = Asm::new(NEW);
            a.s2r(0, SReg::TidX).op(Op::Shr, Ty::U32, 1, &[param(4), r(0)]);
            let low_bit = {
                let mut uop = Uop::new(Op::Lop3, Ty::U32);
                uop.dst = Reg(1);
                uop.src = [r(1), imm(1), RZ, Src::None];
                uop.sub = Sub::Lut(0xc0);
                uop
            };
            a.put(low_bit).setp(0, r(1), Cmp::Eq, imm(0)).when(0).exit();
            a.mad(2, r(0), imm(-1), imm(63)).address(4, 2, r(2), 4).ld(Space::Global, Ty::U32, 6, r(4), 0);
            a.mad(3, r(0), imm(7), imm(3));
            let and31 = {
                let mut uop = Uop::new(Op::Lop3, Ty::U32);
                uop.dst = Reg(3);
                uop.src = [r(3), imm(31), RZ, Src::None];
                uop.sub = Sub::Lut(0xc0);
                uop
            };
            a.put(and31).address(8, 0, r(3), 4).st(Space::Global, Ty::U32, r(8), 0, r(6)).exit();
            bench.run_at(&a, &Options::default(), level).unwrap();
            let mut expected = [0; 32];
            for tid in (0..32).filter(|tid| mask >> tid & 1 == 1) {
                expected[(tid * 7 + 3) % 32] = u32s(&data)[63 - tid];
            }
            assert_eq!(bench.words(), expected, "{level:?} {mask:08x}");
        }
    }
}

#[test]
fn generic_addresses_reach_all_spaces_in_one_instruction() {
    // Lanes 0..8 read shared, 8..16 local, 16..24 global, 24..28 constant, 28..32 parameters.
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 16;
    a.program.local_bytes = 16;
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).mov(2, imm(0));
    a.mov(8, imm(111)).st(Space::Shared, Ty::U32, RZ, 4, r(8));
    a.mov(8, imm(222)).st(Space::Local, Ty::U32, RZ, 4, r(8));
    a.mov(2, imm(4)).mov(3, imm(1));
    a.setp(0, r(0), Cmp::Ge, imm(8)).when(0).mov(3, imm(2));
    a.setp(0, r(0), Cmp::Ge, imm(16)).when(0).mov(2, param(2)).when(0).mov(3, param(3));
    a.setp(0, r(0), Cmp::Ge, imm(24)).when(0).mov(2, imm(8)).when(0).mov(3, imm(3));
    a.setp(0, r(0), Cmp::Ge, imm(28)).when(0).mov(2, imm(0x160 + 16)).when(0).mov(3, imm(4));
    a.ld(Space::Generic, Ty::U32, 6, r(2), 0).st(Space::Generic, Ty::U32, r(4), 0, r(6)).exit();
    let mut bench = Bench::new(32);
    let other = bench.memory.alloc(4, "other").unwrap();
    bench.memory.write(other, &333u32.to_le_bytes()).unwrap();
    bench.more_params = [&other.to_le_bytes()[..], &555u32.to_le_bytes()].concat();
    bench.bank3 = [0u32, 0, 444].iter().flat_map(|w| w.to_le_bytes()).collect();
    bench.run(&a).unwrap();
    let expected: Vec<u32> =
        (0..32).map(|lane| [111, 222, 333, if lane < 28 { 444 } else { 555 }][lane / 8]).collect();
    assert_eq!(bench.words(), expected);
}

#[test]
fn questions_about_spaces_are_answered_by_address() {
    for (high, space, yes) in [
        (1, Space::Shared, true),
        (2, Space::Shared, false),
        (2, Space::Local, true),
        (0x100, Space::Global, true),
    ] {
        let mut a = Asm::new(NEW);
        let mut question = Uop::new(Op::IsSpace, Ty::U64);
        question.mem.space = space;
        question.src[0] = r(2);
        question.pdst[0] = Pred(0);
        a.mov(2, imm(64)).mov(3, imm(high)).mov(4, param(0)).mov(5, param(1)).put(question).mov(6, imm(0));
        a.when(0).mov(6, imm(1)).st(Space::Global, Ty::U32, r(4), 0, r(6)).exit();
        let mut bench = Bench::new(1);
        bench.run(&a).unwrap();
        assert_eq!(bench.words(), [u32::from(yes)], "{high:x} {space:?}");
    }
}

/// All 32 lanes apply the operation to one place; gives the final bits and the lanes' old values.
fn atomic(op: AtomOp, ty: Ty, space: Space, start: u64, operand: impl Fn(u32) -> u64) -> (u64, Vec<u64>) {
    let mut bench = Bench::new(2 * 34 + 64);
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 16;
    a.s2r(0, SReg::TidX).address(8, 0, r(0), 8).mov(4, param(0)).mov(5, param(1));
    a.ldv(Space::Global, Ty::U32, 2, 10, r(8), 272).mov(16, imm(7)).mov(17, imm(0));
    if space == Space::Shared {
        a.ld(Space::Global, Ty::U64, 12, r(4), 0).st(Space::Shared, Ty::U64, RZ, 0, r(12));
        a.atom(op, space, ty, 14, [RZ, r(10), r(16)]);
        a.ld(Space::Shared, Ty::U64, 12, RZ, 0).st(Space::Global, Ty::U64, r(4), 0, r(12));
    } else {
        a.atom(op, space, ty, 14, [r(4), r(10), r(16)]);
    }
    if ty.words() == 1 {
        a.mov(15, imm(0));
    }
    a.st(Space::Global, Ty::U64, r(8), 16, r(14)).exit();
    bench.memory.write(bench.out, &start.to_le_bytes()).unwrap();
    for lane in 0..32 {
        bench.memory.write(bench.out + 272 + 8 * u64::from(lane), &operand(lane).to_le_bytes()).unwrap();
    }
    bench.run(&a).unwrap();
    let bytes = bench.memory.bytes(bench.out, 272).unwrap();
    let longs: Vec<u64> = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    (longs[0], longs[2..34].to_vec())
}

#[test]
fn atomics_apply_lanes_in_order_and_give_the_old_values() {
    for space in [Space::Global, Space::Shared, Space::Generic] {
        let (sum, old) = atomic(AtomOp::Add, Ty::U32, space, 100, |lane| u64::from(lane + 1));
        assert_eq!(sum, 100 + 528);
        assert_eq!(old[..4], [100, 101, 103, 106], "{space:?}");
        let (sum, old) = atomic(AtomOp::Add, Ty::U64, space, u64::MAX - 3, |_| 1);
        assert_eq!((sum, old[31]), (28, 27));
        assert_eq!(atomic(AtomOp::Exch, Ty::U32, space, 9, u64::from).0, 31);
        assert_eq!(
            atomic(AtomOp::Min, Ty::S32, space, 5, |lane| (lane as i32 - 20) as u32 as u64).0,
            (-20i32) as u32 as u64
        );
        assert_eq!(atomic(AtomOp::Max, Ty::S32, space, 5, |lane| (lane as i32 - 40) as u32 as u64).0, 5);
        assert_eq!(
            atomic(AtomOp::Max, Ty::U32, space, 5, |lane| (lane as i32 - 40) as u32 as u64).0,
            (-9i32) as u32 as u64
        );
        assert_eq!(
            atomic(AtomOp::Min, Ty::S64, space, 5, |lane| (i64::from(lane) - 3) as u64).0,
            -3i64 as u64
        );
        assert_eq!(atomic(AtomOp::And, Ty::U32, space, 0xff, |lane| !(1u64 << lane) & 0xffff_ffff).0, 0);
        assert_eq!(atomic(AtomOp::Or, Ty::U64, space, 0, |lane| 1 << (2 * lane)).0, 0x5555_5555_5555_5555);
        assert_eq!(atomic(AtomOp::Xor, Ty::U32, space, 0, |lane| 1 << lane).0, 0xffff_ffff);
        // 33 counts modulo 6.
        assert_eq!(atomic(AtomOp::Inc, Ty::U32, space, 3, |_| 5).0, (3 + 32) % 6);
        assert_eq!(atomic(AtomOp::Inc, Ty::U32, space, 9, |_| 5).0, 31 % 6);
        assert_eq!(atomic(AtomOp::Dec, Ty::U32, space, 3, |_| 5).0, (3 - 32i32).rem_euclid(6) as u64);
        // Only one lane compares equal; the others see its 7.
        let (value, old) = atomic(AtomOp::Cas, Ty::U32, space, 12, u64::from);
        assert_eq!((value, old[12], old[13], old[0]), (7, 12, 7, 12));
    }
}

#[test]
fn floating_point_atomics_round_and_flush_as_documented() {
    let f = |value: f32| u64::from(value.to_bits());
    for space in [Space::Global, Space::Shared] {
        assert_eq!(atomic(AtomOp::Add, Ty::F32, space, f(0.5), |lane| f(lane as f32)).0, f(496.5));
        let (nan, _) = atomic(AtomOp::Add, Ty::F32, space, 0xffc1_2345, |_| f(1.0));
        assert_eq!(nan, 0x7fff_ffff);
        assert_eq!(
            atomic(AtomOp::Add, Ty::F64, space, 0.25f64.to_bits(), |_| 1.0f64.to_bits()).0,
            32.25f64.to_bits()
        );
        // f16: 2048 + 1 is a tie that goes to even, so the sum never moves.
        assert_eq!(atomic(AtomOp::Add, Ty::F16, space, 0x6800, |_| 0x3c00).0, 0x6800);
        // Two halves at once: 1 and 2 grow by 1 and 0.5 a lane.
        let packed = |hi: f32, lo: f32| {
            u64::from(half::f16::from_f32(hi).to_bits()) << 16 | u64::from(half::f16::from_f32(lo).to_bits())
        };
        assert_eq!(
            atomic(AtomOp::Add, Ty::F16x2, space, packed(1.0, 2.0), |_| packed(1.0, 0.5)).0,
            packed(33.0, 18.0)
        );
        let brain = |v: f32| u64::from(half::bf16::from_f32(v).to_bits());
        assert_eq!(atomic(AtomOp::Add, Ty::Bf16, space, brain(1.0), |_| brain(1.0)).0, brain(33.0));
    }
    // Global single-precision sums flush subnormals, shared ones do not.
    assert_eq!(atomic(AtomOp::Add, Ty::F32, Space::Global, 1, |_| 1).0, 0);
    assert_eq!(atomic(AtomOp::Add, Ty::F32, Space::Shared, 1, |_| 1).0, 33);
    assert_eq!(atomic(AtomOp::Add, Ty::F32, Space::Generic, 1, |_| 1).0, 0);
}

#[test]
fn one_element_past_the_buffer_is_reported_with_thread_and_allocation() {
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidX).s2r(1, SReg::CtaidX).mad(0, r(1), imm(64), r(0)).address(4, 0, r(0), 4);
    a.label("store").st(Space::Global, Ty::U32, r(4), 0, r(0)).exit();
    let mut bench = Bench::new(100);
    bench.grid = [2, 1, 1];
    bench.block = [64, 1, 1];
    let failure = bench.run(&a).unwrap_err();
    let fault = &failure.fault;
    assert_eq!((fault.kind, fault.pc), (FaultKind::OutOfBounds, a.pc("store")));
    assert_eq!((fault.cta, fault.thread), ([1, 0, 0], [36, 0, 0]));
    let access = fault.access.as_ref().unwrap();
    assert_eq!((access.address, access.bytes, access.space), (bench.out + 400, 4, Space::Global));
    assert_eq!(access.kind, AccessKind::Store);
    let near = access.nearest.as_ref().unwrap();
    assert_eq!(
        (near.allocation.name.as_str(), near.relation, near.freed),
        ("out", Relation::After(0), false)
    );
    let text = fault.to_string();
    assert!(text.contains("just past the end of the 400-byte allocation `out`"), "{text}");
    assert!(text.contains("block 1,0,0, thread 36,0,0"), "{text}");
}

#[test]
fn threads_of_a_three_dimensional_block_are_named_by_coordinates() {
    let mut a = Asm::new(NEW);
    a.s2r(0, SReg::TidY).s2r(1, SReg::TidZ).mad(0, r(1), imm(4), r(0)).address(4, 0, r(0), 4);
    a.st(Space::Global, Ty::U32, r(4), 0, r(0)).exit();
    let mut bench = Bench::new(7);
    bench.block = [5, 4, 3];
    let fault = bench.run(&a).unwrap_err().fault;
    assert_eq!(fault.thread, [0, 3, 1]);
}

#[test]
fn wrong_accesses_are_told_apart() {
    let fault_of = |low: Src, high: Src, space: Space, ty: Ty, store: bool| {
        let mut a = Asm::new(NEW);
        a.program.shared_bytes = 64;
        a.program.local_bytes = 64;
        a.mov(4, low).mov(5, high).mov(6, imm(0));
        if store {
            a.st(space, ty, r(4), 0, r(6))
        } else {
            a.ld(space, ty, 6, r(4), 0)
        };
        a.exit();
        let mut bench = Bench::new(4);
        let gone = bench.memory.alloc(64, "gone").unwrap();
        bench.memory.free(gone).unwrap();
        bench.more_params = gone.to_le_bytes().to_vec();
        bench.bank3 = vec![0; 16];
        bench.run(&a).unwrap_err().fault
    };
    use FaultKind::*;
    assert_eq!(fault_of(imm(0), imm(0), Space::Global, Ty::U32, false).kind, OutOfBounds);
    assert_eq!(fault_of(imm(0), imm(1), Space::Global, Ty::U32, false).kind, WrongSpace);
    assert_eq!(fault_of(param(2), param(3), Space::Global, Ty::U32, true).kind, UseAfterFree);
    assert!(fault_of(param(2), param(3), Space::Global, Ty::U32, true).to_string().contains("`gone`"));
    assert_eq!(fault_of(imm(2), imm(0x100), Space::Global, Ty::U32, false).kind, Misaligned);
    assert_eq!(fault_of(imm(12), imm(0x100), Space::Global, Ty::U64, false).kind, OutOfBounds);
    assert_eq!(fault_of(imm(4), imm(0x100), Space::Generic, Ty::U64, false).kind, Misaligned);
    assert_eq!(fault_of(imm(64), RZ, Space::Shared, Ty::U32, true).kind, OutOfBounds);
    assert_eq!(fault_of(imm(6), RZ, Space::Shared, Ty::U32, true).kind, Misaligned);
    assert_eq!(fault_of(imm(-4), RZ, Space::Shared, Ty::U32, true).kind, OutOfBounds);
    assert_eq!(fault_of(imm(64), RZ, Space::Local, Ty::U32, true).kind, OutOfBounds);
    assert_eq!(fault_of(imm(-16), RZ, Space::Local, Ty::U32, true).kind, StackOverflow);
    assert_eq!(fault_of(imm(0), imm(3), Space::Generic, Ty::U32, true).kind, WrongSpace);
    assert_eq!(fault_of(imm(16), imm(3), Space::Generic, Ty::U32, false).kind, OutOfBounds);
    assert_eq!(fault_of(imm(0), imm(5), Space::Generic, Ty::U32, false).kind, WrongSpace);
}

#[test]
fn lanes_in_different_allocations_each_find_theirs() {
    let mut bench = Bench::new(32);
    let buffers: Vec<u64> = (0..4).map(|i| bench.memory.alloc(32, &format!("b{i}")).unwrap()).collect();
    for (i, &buffer) in buffers.iter().enumerate() {
        bench.memory.fill(buffer, i as u8 + 1, 32).unwrap();
    }
    // Allocations are 256 bytes apart: lane l reads word l / 4 of buffer l % 4.
    bench.more_params = buffers[0].to_le_bytes().to_vec();
    let mut a = Asm::new(NEW);
    let mut and3 = Uop::new(Op::Lop3, Ty::U32);
    (and3.dst, and3.sub) = (Reg(1), Sub::Lut(0xc0));
    and3.src = [r(0), imm(3), RZ, Src::None];
    a.s2r(0, SReg::TidX).put(and3).op(Op::Shr, Ty::U32, 2, &[r(0), imm(2)]).mad(2, r(2), imm(4), RZ);
    a.mad(2, r(1), imm(256), r(2)).address(4, 2, r(2), 1).ld(Space::Global, Ty::U32, 6, r(4), 0);
    a.address(8, 0, r(0), 4).st(Space::Global, Ty::U32, r(8), 0, r(6)).exit();
    bench.run(&a).unwrap();
    assert_eq!(bench.words(), (0..32).map(|l| (l % 4 + 1) * 0x0101_0101).collect::<Vec<u32>>());
}

/// Warp 0 writes a shared word, warp 1 reads it, with or without a barrier between.
fn hand_over(barrier: bool, write: bool) -> Asm {
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 4;
    a.s2r(0, SReg::WarpId).setp(0, r(0), Cmp::Eq, imm(0)).mov(2, imm(1));
    if write {
        a.when(0).st(Space::Shared, Ty::U32, RZ, 0, r(2));
    }
    if barrier {
        a.sync();
    }
    a.label("read").unless(0).ld(Space::Shared, Ty::U32, 3, RZ, 0).exit();
    a
}

#[test]
fn races_and_uninitialised_reads_of_shared_memory_are_found_when_asked_for() {
    let checks = CheckOptions { races: true, uninit: true, ..CheckOptions::default() };
    let options = Options { checks, ..Options::default() };
    let run = |asm: &Asm, options: &Options| {
        let mut bench = Bench::new(1);
        bench.block = [64, 1, 1];
        bench.run_with(asm, options)
    };
    assert!(run(&hand_over(true, true), &options).is_ok());
    let race = run(&hand_over(false, true), &options).unwrap_err().fault;
    assert_eq!((race.kind, race.pc), (FaultKind::SharedRace, hand_over(false, true).pc("read")));
    assert_eq!(race.thread, [32, 0, 0]);
    let unset = run(&hand_over(true, false), &options).unwrap_err().fault;
    assert_eq!(unset.kind, FaultKind::UninitializedShared);
    // Off, neither is looked for.
    assert!(run(&hand_over(false, true), &Options::default()).is_ok());
    assert!(run(&hand_over(true, false), &Options::default()).is_ok());
}

#[test]
fn atomics_of_several_warps_are_no_race() {
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 4;
    a.s2r(0, SReg::TidX).setp(0, r(0), Cmp::Eq, imm(0)).when(0).st(Space::Shared, Ty::U32, RZ, 0, RZ).sync();
    a.atom(AtomOp::Add, Space::Shared, Ty::U32, 3, [RZ, imm(1), Src::None]).sync();
    a.ld(Space::Shared, Ty::U32, 4, RZ, 0)
        .mov(8, param(0))
        .mov(9, param(1))
        .st(Space::Global, Ty::U32, r(8), 0, r(4))
        .exit();
    let mut bench = Bench::new(1);
    bench.block = [96, 1, 1];
    let options = Options {
        checks: CheckOptions { races: true, uninit: true, ..CheckOptions::default() },
        ..Options::default()
    };
    bench.run_with(&a, &options).unwrap();
    assert_eq!(bench.words(), [96]);
}
