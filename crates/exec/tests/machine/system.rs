// SPDX-License-Identifier: MIT OR Apache-2.0
//! Services of the device runtime, special registers, and launches that cannot be.

use crate::common::*;
use warpwatt_exec::FaultKind;
use warpwatt_isa::*;

const NEW: u32 = 75;

pub fn sys(function: SysFn, dst: u8) -> Uop {
    let mut uop = Uop::new(Op::Sys, Ty::U32);
    uop.sub = Sub::Sys(function);
    uop.dst = Reg(dst);
    uop.src[0] = RZ;
    uop
}

/// Stores a generic address in constant bank 3 as a call argument.
pub fn text_argument(a: &mut Asm, at: i32, offset: i32) {
    a.mov(20, imm(offset)).mov(21, imm(3)).st(Space::Local, Ty::U64, RZ, at, r(20));
}

#[test]
fn printf_reads_format_and_arguments_of_every_thread() {
    let mut bench = Bench::new(2);
    bench.block = [2, 1, 1];
    bench.bank3 = b"thread %d of %s: %.2f\n\0grid\0".to_vec();
    let mut a = Asm::new(NEW);
    a.program.local_bytes = 64;
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4);
    // Arguments at 32: int, pointer, double.
    a.st(Space::Local, Ty::U32, RZ, 32, r(0));
    text_argument(&mut a, 40, 23);
    a.mov(20, imm(0)).mov(21, imm(0x3ff8_0000)).st(Space::Local, Ty::U64, RZ, 48, r(20));
    // Call area at 0: format, generic address of the arguments.
    text_argument(&mut a, 0, 0);
    a.mov(20, imm(32)).mov(21, imm(2)).st(Space::Local, Ty::U64, RZ, 8, r(20));
    a.put(sys(SysFn::Vprintf, 6)).st(Space::Global, Ty::U32, r(4), 0, r(6)).exit();
    bench.run(&a).unwrap();
    assert_eq!(String::from_utf8_lossy(&bench.printed), "thread 0 of grid: 1.50\nthread 1 of grid: 1.50\n");
    assert_eq!(bench.words(), [3, 3]);
}

#[test]
fn a_failed_assertion_names_its_place() {
    let mut bench = Bench::new(1);
    bench.bank3 = b"n > 0\0k.cu\0kernel(int)\0".to_vec();
    let mut a = Asm::new(NEW);
    a.program.local_bytes = 64;
    text_argument(&mut a, 0, 0);
    text_argument(&mut a, 8, 6);
    a.mov(20, imm(42)).st(Space::Local, Ty::U32, RZ, 16, r(20));
    text_argument(&mut a, 24, 11);
    a.s2r(0, SReg::TidX).setp(0, r(0), Cmp::Eq, imm(3)).when(0).put(sys(SysFn::AssertFail, 255)).exit();
    let fault = bench.run(&a).unwrap_err().fault;
    assert_eq!((fault.kind, fault.thread), (FaultKind::Assert, [3, 0, 0]));
    assert_eq!(fault.detail, "k.cu:42: kernel(int): assertion `n > 0` failed");
}

/// p = malloc(size); *p = 5; free(p) `frees` times; store p.
pub fn heap(size: i32, frees: u32, write_after: bool) -> Asm {
    let mut a = Asm::new(NEW);
    a.program.local_bytes = 16;
    a.mov(4, param(0)).mov(5, param(1)).mov(6, imm(5));
    a.mov(20, imm(size)).mov(21, imm(0)).st(Space::Local, Ty::U64, RZ, 0, r(20)).put(sys(SysFn::Malloc, 22));
    a.st(Space::Global, Ty::U64, r(4), 0, r(22));
    a.setp(0, r(23), Cmp::Eq, imm(0)).when(0).exit();
    a.st(Space::Global, Ty::U32, r(22), 0, r(6)).st(Space::Local, Ty::U64, RZ, 0, r(22));
    for _ in 0..frees {
        a.put(sys(SysFn::Free, 255));
    }
    if write_after {
        a.label("stale").st(Space::Global, Ty::U32, r(22), 0, r(6));
    }
    a.exit();
    a
}

#[test]
fn kernels_allocate_and_free_and_misuse_is_reported() {
    let run = |asm: &Asm| {
        let mut bench = Bench::new(2);
        bench.block = [1, 1, 1];
        let result = bench.run(asm);
        (result, bench)
    };
    let (result, bench) = run(&heap(64, 1, false));
    result.unwrap();
    assert_eq!(bench.memory.in_use(), 8);
    // More than the heap's 8 MiB: a null pointer.
    let (result, bench) = run(&heap(9 << 20, 0, false));
    result.unwrap();
    assert_eq!(bench.words(), [0, 0]);
    assert_eq!(run(&heap(64, 2, false)).0.unwrap_err().fault.kind, FaultKind::DoubleFree);
    let stale = run(&heap(64, 1, true)).0.unwrap_err().fault;
    assert_eq!(stale.kind, FaultKind::UseAfterFree);
    assert!(stale.to_string().contains("device malloc"), "{stale}");
}

#[test]
fn special_registers_tell_who_a_thread_is() {
    let registers = [
        SReg::TidX,
        SReg::TidY,
        SReg::TidZ,
        SReg::CtaidX,
        SReg::CtaidY,
        SReg::CtaidZ,
        SReg::LaneId,
        SReg::WarpId,
        SReg::LaneMaskEq,
        SReg::LaneMaskLt,
        SReg::LaneMaskLe,
        SReg::LaneMaskGt,
        SReg::LaneMaskGe,
        SReg::GridIdLo,
        SReg::NSmId,
        SReg::TotalSmemSize,
    ];
    let mut a = Asm::new(NEW);
    a.program.shared_bytes = 20;
    a.program.dynamic_shared = 32;
    let (block, grid) = ([5u32, 4, 3], [3u32, 2, 2]);
    // Linear thread number over the grid.
    a.s2r(0, SReg::TidX).s2r(1, SReg::TidY).mad(0, r(1), imm(5), r(0)).s2r(1, SReg::TidZ).mad(
        0,
        r(1),
        imm(20),
        r(0),
    );
    a.s2r(1, SReg::CtaidX).mad(0, r(1), imm(60), r(0)).s2r(1, SReg::CtaidY).mad(0, r(1), imm(180), r(0));
    a.s2r(1, SReg::CtaidZ).mad(0, r(1), imm(360), r(0)).address(4, 0, r(0), 64);
    for (i, sreg) in registers.into_iter().enumerate() {
        a.s2r(2, sreg).st(Space::Global, Ty::U32, r(4), 4 * i as i32, r(2));
    }
    a.exit();
    let mut bench = Bench::new(720 * 16);
    (bench.block, bench.grid, bench.dynamic_shared) = (block, grid, 100);
    bench.run(&a).unwrap();
    for (n, got) in bench.words().chunks(16).enumerate() {
        let (n, t) = (n as u32, n as u32 % 60);
        let (cta, lane) = (n / 60, t % 32);
        let expected = [
            t % 5,
            t / 5 % 4,
            t / 20,
            cta % 3,
            cta / 3 % 2,
            cta / 6,
            lane,
            t / 32,
            1 << lane,
            (1 << lane) - 1,
            (1 << lane) | ((1 << lane) - 1),
            !((1 << lane) | ((1 << lane) - 1)),
            !((1 << lane) - 1),
            7,
            15,
            132,
        ];
        assert_eq!(got, expected, "thread {n}");
    }
}

#[test]
fn clocks_count_instructions_and_never_go_back() {
    let mut a = Asm::new(NEW);
    a.mov(4, param(0)).mov(5, param(1)).s2r(8, SReg::ClockLo).s2r(9, SReg::ClockLo);
    a.s2r(10, SReg::GlobalTimerLo)
        .s2r(11, SReg::GlobalTimerLo)
        .stv(Space::Global, Ty::U32, 4, r(4), 0, r(8))
        .exit();
    let mut bench = Bench::new(4);
    bench.run(&a).unwrap();
    let words = bench.words();
    assert_eq!(words[1], words[0] + 1);
    assert!(words[3] > words[2]);
}

#[test]
fn traps_and_breakpoints_stop_the_grid() {
    for (op, kind) in [(Op::Trap, FaultKind::Trap), (Op::Brkpt, FaultKind::Breakpoint)] {
        let mut a = Asm::new(NEW);
        a.s2r(0, SReg::TidX).setp(0, r(0), Cmp::Eq, imm(9));
        a.label("here").when(0).plain(op).exit();
        let fault = Bench::new(1).run(&a).unwrap_err().fault;
        assert_eq!((fault.kind, fault.pc, fault.thread), (kind, a.pc("here"), [9, 0, 0]));
    }
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let mut a = Asm::new(NEW);
    a.exit();
    let refuse = |change: fn(&mut Bench), asm: &Asm| {
        let mut bench = Bench::new(1);
        change(&mut bench);
        assert_eq!(bench.run(asm).unwrap_err().fault.kind, FaultKind::InvalidLaunch);
    };
    refuse(|bench| bench.block = [33, 32, 1], &a);
    refuse(|bench| bench.block = [0, 1, 1], &a);
    refuse(|bench| bench.grid = [1, 65536, 1], &a);
    refuse(|bench| bench.dynamic_shared = 300 << 10, &a);
    a.program.param_bytes = 64;
    refuse(|_| {}, &a);
    let mut reads_missing_bank = Asm::new(NEW);
    reads_missing_bank.mov(2, Src::Const { bank: 4, offset: 0 }).exit();
    refuse(|_| {}, &reads_missing_bank);
}

#[test]
fn programs_that_name_what_is_not_there_are_refused() {
    use std::sync::Arc;
    use warpwatt_exec::{Image, ImageError, lanes::Level};
    let image = |asm: &Asm| Image::new(Arc::new(asm.program()), Level::Plain).map(|_| ());
    assert_eq!(image(&Asm::new(NEW)), Err(ImageError::Empty));
    let mut a = Asm::new(NEW);
    a.mov(32, imm(1)).exit();
    assert!(matches!(image(&a), Err(ImageError::Register { pc: 0, registers: 32, .. })));
    let mut a = Asm::new(NEW);
    a.plain(Op::Bra).exit();
    assert!(matches!(image(&a), Err(ImageError::Target { pc: 0, .. })));
}
