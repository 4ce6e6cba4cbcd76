// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes part and meet again: nested branches, loops, jump tables, calls, and how often each instruction is issued.

use crate::common::*;
use warpwatt_isa::*;

const OLD: u32 = 50;
const NEW: u32 = 75;

/// if (tid < 16) { if (tid < 4) a else b; c } else d; e
pub fn nested(sm: u32) -> Asm {
    let mut a = Asm::new(sm);
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).mov(2, imm(0));
    a.setp(0, r(0), Cmp::Ge, imm(16)).setp(1, r(0), Cmp::Ge, imm(4));
    a.when(0).bra("outer_else", Some("end"));
    a.when(1).bra("inner_else", Some("inner_end"));
    a.label("a").add(2, r(2), imm(1)).bra("inner_end", None);
    a.label("inner_else").add(2, r(2), imm(10));
    a.label("inner_end").add(2, r(2), imm(100)).bra("end", None);
    a.label("outer_else").add(2, r(2), imm(1000));
    a.label("end").add(2, r(2), imm(10000));
    a.st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
    a
}

#[test]
fn nested_branches_meet_at_their_post_dominators() {
    for sm in [OLD, NEW] {
        let mut bench = Bench::new(32);
        let asm = nested(sm);
        let stats = bench.run(&asm).unwrap();
        for (tid, value) in bench.words().into_iter().enumerate() {
            let expected = match tid {
                0..4 => 10101,
                4..16 => 10110,
                _ => 11000,
            };
            assert_eq!(value, expected, "thread {tid} at sm_{sm}");
        }
        let at = |label| stats.per_pc[asm.pc(label) as usize];
        assert_eq!((at("a").issues, at("a").lanes), (1, 4));
        assert_eq!((at("inner_else").issues, at("inner_else").lanes), (1, 12));
        assert_eq!((at("inner_end").issues, at("inner_end").lanes), (1, 16));
        assert_eq!((at("outer_else").issues, at("outer_else").lanes), (1, 16));
        assert_eq!((at("end").issues, at("end").lanes), (1, 32));
        assert_eq!(stats.divergent_branches, 2);
    }
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_go_on_together() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).mov(2, imm(0));
        a.label("loop").add(2, r(2), imm(1)).setp(0, r(2), Cmp::Le, r(0));
        a.when(0).bra("loop", Some("end"));
        a.label("end").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        assert_eq!(bench.words(), (1..=32).collect::<Vec<u32>>());
        assert_eq!(stats.per_pc[a.pc("loop") as usize].issues, 32);
        assert_eq!(stats.per_pc[a.pc("loop") as usize].lanes, (1..=32).sum::<u64>());
        assert_eq!(stats.per_pc[a.pc("end") as usize].issues, 1);
        assert_eq!(stats.divergent_branches, 31);
    }
}

#[test]
fn a_break_out_of_a_loop_meets_behind_it() {
    // for (i = 0; ; i++) { if (i == tid) break; sum += i; if (i == 20) break; } out = sum
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).mov(2, imm(0)).mov(3, imm(0));
        a.label("loop").setp(0, r(3), Cmp::Eq, r(0)).when(0).bra("end", Some("end"));
        a.add(2, r(2), r(3)).setp(1, r(3), Cmp::Eq, imm(20)).when(1).bra("end", Some("end"));
        a.add(3, r(3), imm(1)).bra("loop", None);
        a.label("end").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        for (tid, value) in bench.words().into_iter().enumerate() {
            assert_eq!(value, (0..tid.min(21) as u32).sum::<u32>(), "thread {tid}");
        }
        assert_eq!(stats.per_pc[a.pc("end") as usize].issues, 1);
    }
}

#[test]
fn lanes_that_end_inside_of_a_branch_are_not_waited_for() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Lt, imm(8)).setp(
            1,
            r(0),
            Cmp::Lt,
            imm(4),
        );
        a.when(0).bra("some", Some("end"));
        a.bra("end", None);
        a.label("some").when(1).exit();
        a.mov(2, imm(5));
        a.label("end").add(2, r(2), imm(1)).st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        let expected: Vec<u32> = (0..32)
            .map(|tid| {
                if tid < 4 {
                    0
                } else if tid < 8 {
                    6
                } else {
                    1
                }
            })
            .collect();
        assert_eq!(bench.words(), expected);
        assert_eq!(stats.per_pc[a.pc("end") as usize].issues, 1);
        assert_eq!(stats.per_pc[a.pc("end") as usize].lanes, 28);
    }
}

#[test]
fn a_jump_table_parts_a_warp_many_ways() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4);
        let and3 = {
            let mut uop = Uop::new(Op::Lop3, Ty::U32);
            uop.dst = Reg(1);
            uop.src = [r(0), imm(3), RZ, Src::None];
            uop.sub = Sub::Lut(0xc0);
            uop
        };
        a.put(and3).brx(r(1), "end");
        a.label("case0").mov(2, imm(10)).bra("end", None);
        a.label("case1").mov(2, imm(11)).bra("end", None);
        a.label("case2").mov(2, imm(12)).bra("end", None);
        a.label("case3").mov(2, imm(13));
        a.label("end").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
        a.program.tables = vec![["case0", "case1", "case2", "case3"].map(|label| a.pc(label)).to_vec()];
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        assert_eq!(bench.words(), (0..32).map(|tid| 10 + tid % 4).collect::<Vec<u32>>());
        assert_eq!(stats.per_pc[a.pc("case3") as usize].lanes, 8);
        assert_eq!(stats.per_pc[a.pc("end") as usize].issues, 1);

        a.program.tables[0].truncate(3);
        let failure = bench.run(&a).unwrap_err();
        assert_eq!(failure.fault.kind, warpwatt_exec::FaultKind::InvalidPc);
        assert_eq!(failure.fault.thread, [3, 0, 0]);
    }
}

/// fact(n): n in R2, result in R3, stack in R1.
pub fn factorial(sm: u32) -> Asm {
    let mut a = Asm::new(sm);
    let stack = Src::Const { bank: 0, offset: bank0::STACK };
    a.mov(1, stack).s2r(0, SReg::TidX).address(4, 0, r(0), 4);
    a.op(Op::Imnmx, Ty::U32, 2, &[r(0), imm(9)]);
    a.program.uops.last_mut().unwrap().sub = Sub::MinMax(MinMax::Min);
    a.call("fact");
    a.label("back").st(Space::Global, Ty::U32, r(4), 0, r(3)).exit();
    a.label("fact").setp(0, r(2), Cmp::Gt, imm(1)).when(0).bra("recurse", None);
    a.mov(3, imm(1)).plain(Op::Ret);
    a.label("recurse").add(1, r(1), imm(-16)).st(Space::Local, Ty::U32, r(1), 0, r(2));
    a.add(2, r(2), imm(-1)).call("fact");
    a.ld(Space::Local, Ty::U32, 2, r(1), 0).add(1, r(1), imm(16)).mad(3, r(3), r(2), RZ).plain(Op::Ret);
    a.program.local_bytes = 160;
    a.program.recursive = true;
    a
}

#[test]
fn recursion_of_different_depth_meets_where_the_call_returns() {
    for sm in [OLD, NEW] {
        let a = factorial(sm);
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        let expected: Vec<u32> = (0..32u32).map(|tid| (1..=tid.min(9)).product()).collect();
        assert_eq!(bench.words(), expected);
        assert_eq!(stats.per_pc[a.pc("back") as usize].issues, 1, "sm_{sm}");
    }
}

#[test]
fn a_stack_that_is_used_up_is_a_stack_overflow() {
    let mut a = factorial(NEW);
    a.program.local_bytes = 64;
    let failure = Bench::new(32).run(&a).unwrap_err();
    assert_eq!(failure.fault.kind, warpwatt_exec::FaultKind::StackOverflow);
    // Four frames fit; the fifth is pushed for the argument 5 or more.
    assert_eq!(failure.fault.access.unwrap().space, Space::Local);
}

#[test]
fn indirect_calls_part_by_function_and_meet_at_the_return() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).mov(3, imm(5));
        a.setp(0, r(0), Cmp::Lt, imm(10)).mov(2, imm(32)).when(0).mov(2, imm(48));
        let mut call = Uop::new(Op::CallInd, Ty::U64);
        call.src[0] = r(2);
        a.put(call);
        a.label("back").st(Space::Global, Ty::U32, r(4), 0, r(6)).exit();
        a.label("f").mov(6, imm(100)).plain(Op::Ret);
        a.label("g").mov(6, imm(200)).plain(Op::Ret);
        let function =
            |name: &str, id, entry| FunctionEntry { name: name.into(), id, entry, end: entry + 2, frame: 0 };
        a.program.functions = vec![function("f", 2, a.pc("f")), function("g", 3, a.pc("g"))];
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        assert_eq!(bench.words(), (0..32).map(|tid| if tid < 10 { 200 } else { 100 }).collect::<Vec<u32>>());
        assert_eq!(stats.per_pc[a.pc("back") as usize].issues, 1);

        a.program.functions.pop();
        let fault = bench.run(&a).unwrap_err().fault;
        assert_eq!(fault.kind, warpwatt_exec::FaultKind::InvalidPc);
        assert_eq!(fault.thread, [0, 0, 0]);
    }
}

#[test]
fn a_return_of_some_lanes_waits_behind_the_call() {
    for sm in [OLD, NEW] {
        let mut a = Asm::new(sm);
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 4).setp(0, r(0), Cmp::Lt, imm(7)).mov(2, imm(1));
        a.call("f");
        a.label("back").st(Space::Global, Ty::U32, r(4), 0, r(2)).exit();
        a.label("f").when(0).plain(Op::Ret);
        a.mov(2, imm(2)).plain(Op::Ret);
        let mut bench = Bench::new(32);
        let stats = bench.run(&a).unwrap();
        assert_eq!(bench.words(), (0..32).map(|tid| 1 + u32::from(tid >= 7)).collect::<Vec<u32>>());
        assert_eq!(stats.per_pc[a.pc("back") as usize].issues, 1);
    }
}

#[test]
fn running_past_the_end_is_reported() {
    let mut a = Asm::new(NEW);
    a.mov(2, imm(1));
    assert_eq!(Bench::new(1).run(&a).unwrap_err().fault.kind, warpwatt_exec::FaultKind::InvalidPc);
}
