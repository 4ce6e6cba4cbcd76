// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small functions and the micro-ops that they become: no needless moves, carries in predicates, exits on the spot, saved registers.

use warpwatt_compiler::back::{BackOptions, Generated, generate};
use warpwatt_compiler::ir::{Block, BlockId, Frame, Function, Inst, Opnd, PredUse, Term, Value};
use warpwatt_isa::{BoolOp, Cmp, Flags, Location, Op, SReg, Space, Sub, Ty};

struct Build {
    f: Function,
    at: usize,
}

impl Build {
    fn new(name: &str, is_kernel: bool) -> Build {
        Build {
            f: Function {
                name: name.into(),
                id: u32::from(!is_kernel),
                is_kernel,
                blocks: vec![block(&[])],
                values: Vec::new(),
                locs: vec![Location::default()],
                out_bytes: 0,
                local_bytes: 0,
                spill_bytes: 0,
            },
            at: 0,
        }
    }

    fn block(&mut self, preds: &[u32]) -> BlockId {
        self.f.blocks.push(block(preds));
        self.at = self.f.blocks.len() - 1;
        BlockId::from(self.at)
    }

    fn value(&mut self, words: u8) -> Value {
        self.f.new_value(words)
    }

    fn push(&mut self, op: Op, ty: Ty, srcs: &[Opnd], set: impl FnOnce(&mut Inst)) {
        let mut inst = Inst::new(op, ty);
        inst.srcs = srcs.iter().copied().collect();
        set(&mut inst);
        self.f.blocks[self.at].insts.push(inst);
    }

    fn define(&mut self, op: Op, ty: Ty, words: u8, srcs: &[Opnd], set: impl FnOnce(&mut Inst)) -> Opnd {
        let value = self.value(words);
        let whole = self.f.whole(value);
        self.push(op, ty, srcs, |i| {
            i.dst = Some(whole);
            set(i);
        });
        Opnd::Value(whole)
    }

    fn term(&mut self, term: Term) {
        self.f.blocks[self.at].term = term;
    }

    fn compare(&mut self, cmp: Cmp, ty: Ty, a: Opnd, b: Opnd) -> Value {
        let p = self.value(0);
        self.push(Op::Isetp, ty, &[a, b], |i| {
            i.sub = Sub::Cmp(cmp, BoolOp::And);
            i.pdst[0] = Some(p);
        });
        p
    }
}

fn block(preds: &[u32]) -> Block {
    let preds = preds.iter().map(|&p| BlockId(p)).collect();
    Block { insts: Vec::new(), term: Term::Exit { loc: 0 }, preds }
}

fn global(inst: &mut Inst) {
    inst.mem.space = Space::Global;
}

fn made(functions: Vec<Function>) -> Generated {
    let options = BackOptions { verify: true, ..BackOptions::default() };
    generate(functions, &options).expect("compiles")
}

fn text(code: &Generated) -> Vec<String> {
    code.uops.iter().map(|u| u.to_string()).collect()
}

const fn c0(offset: u16) -> Opnd {
    Opnd::Const { bank: 0, offset }
}

/// `for (i = 0; i < n; i++) sum += *p++;` with a 64-bit pointer.
fn summing_loop() -> Function {
    let mut b = Build::new("sum", true);
    let p0 = b.define(Op::Mov, Ty::U64, 2, &[c0(0x160)], |_| {});
    b.term(Term::Jump(BlockId(1)));
    b.block(&[0, 1]);
    let (i1, p1, s1) = (b.value(1), b.value(2), b.value(1));
    let (i, p, s) = (Opnd::Value(b.f.whole(i1)), Opnd::Value(b.f.whole(p1)), Opnd::Value(b.f.whole(s1)));
    let at = b.f.blocks[1].insts.len();
    let x = b.define(Op::Ld, Ty::F32, 1, &[p], global);
    let s2 = b.define(Op::Fadd, Ty::F32, 1, &[s, x], |_| {});
    let p2 = b.define(Op::Iadd3, Ty::U64, 2, &[p, Opnd::Imm(4)], |_| {});
    let i2 = b.define(Op::Iadd3, Ty::U32, 1, &[i, Opnd::Imm(1)], |_| {});
    let again = b.compare(Cmp::Lt, Ty::S32, i2, c0(0x168));
    for (dst, first, next, ty) in
        [(s1, Opnd::Imm(0), s2, Ty::F32), (p1, p0, p2, Ty::U64), (i1, Opnd::Imm(0), i2, Ty::U32)]
    {
        let mut phi = Inst::new(Op::Phi, ty);
        phi.dst = Some(b.f.whole(dst));
        phi.srcs = [first, next].into_iter().collect();
        b.f.blocks[1].insts.insert(at, phi);
    }
    let cond = PredUse::of(again);
    b.term(Term::Branch { cond, taken: BlockId(1), other: BlockId(2), uniform: false, loc: 0 });
    b.block(&[1]);
    let out = b.define(Op::Mov, Ty::U64, 2, &[c0(0x170)], |_| {});
    b.push(Op::St, Ty::F32, &[out, s2], global);
    b.f
}

#[test]
fn loop_carried_values_are_updated_in_place() {
    let code = made(vec![summing_loop()]);
    let lines = text(&code);
    let start = lines.iter().position(|l| l.starts_with("LD.")).expect("a load");
    let end = lines.iter().position(|l| l.contains("BRA")).expect("a loop");
    let inside = &lines[start..=end];
    assert!(!inside.iter().any(|l| l.contains("MOV")), "moves in the loop:\n{}", lines.join("\n"));
    assert_eq!(inside.len(), 7, "{}", lines.join("\n"));
    let step = code.uops.iter().find(|u| u.op == Op::Iadd3 && u.pdst[0].0 != 7).expect("a carry");
    assert_eq!(step.src[0], warpwatt_isa::Src::Reg(step.dst), "the pointer moves in place");
}

#[test]
fn a_branch_around_the_body_to_the_end_becomes_a_guarded_exit() {
    let mut b = Build::new("guarded", true);
    let tid = b.define(Op::S2r, Ty::U32, 1, &[], |i| i.sub = Sub::SReg(SReg::TidX));
    let beyond = b.compare(Cmp::Ge, Ty::U32, tid, c0(0x160));
    let cond = PredUse::of(beyond);
    b.term(Term::Branch { cond, taken: BlockId(2), other: BlockId(1), uniform: false, loc: 0 });
    b.block(&[0]);
    let address = b.define(Op::ImadWide, Ty::U32, 2, &[tid, Opnd::Imm(4), c0(0x168)], |_| {});
    b.push(Op::St, Ty::U32, &[address, tid], global);
    b.term(Term::Jump(BlockId(2)));
    b.block(&[0, 1]);
    assert_eq!(
        text(&made(vec![b.f])),
        [
            "MOV R1, c[0x0][0x28]",
            "S2R R0, SR_TID.X",
            "ISETP.GE P0, R0, c[0x0][0x160]",
            "@P0 EXIT",
            "MOV R2, 0x4",
            "IMAD.WIDE R2, R0, R2, c[0x0][0x168]",
            "ST.GLOBAL.U32 [R2], R0",
            "EXIT",
        ]
    );
}

#[test]
fn wide_arithmetic_carries_in_predicates() {
    let mut b = Build::new("wide", true);
    let x = b.define(Op::Mov, Ty::U64, 2, &[c0(0x160)], |_| {});
    let y = b.define(Op::Ld, Ty::U64, 2, &[x], global);
    let d = b.define(Op::Iadd3, Ty::U64, 2, &[y, x], |i| i.neg = 0b10);
    let big = b.compare(Cmp::Gt, Ty::S64, d, Opnd::Imm(0x1_0000_0000));
    b.push(Op::St, Ty::U64, &[x, d], |i| {
        global(i);
        i.guard = PredUse::of(big);
    });
    assert_eq!(
        text(&made(vec![b.f])),
        [
            "MOV R1, c[0x0][0x28]",
            "MOV R2, c[0x0][0x160]",
            "MOV R3, c[0x0][0x164]",
            "LD.GLOBAL.U64 R4, [R2]",
            "IADD3 P0, R4, R4, -c[0x0][0x160], RZ",
            "ISETP.GT P1, R4, RZ",
            "IADD3.X R5, R5, -c[0x0][0x164], RZ, P0",
            "ISETP.EX.S32.GT P0, R5, 0x1, P1",
            "@P0 ST.GLOBAL.U64 [R2], R4",
            "EXIT",
        ]
    );
}

#[test]
fn a_value_that_a_guarded_instruction_keeps_needs_no_move() {
    let mut b = Build::new("keeps", true);
    let x = b.define(Op::S2r, Ty::U32, 1, &[], |i| i.sub = Sub::SReg(SReg::TidX));
    let odd = b.compare(Cmp::Ne, Ty::U32, x, Opnd::Imm(0));
    let y = b.define(Op::Imad, Ty::U32, 1, &[x, x, Opnd::Imm(3)], |i| {
        i.guard = PredUse::of(odd);
        i.keep = x;
    });
    b.push(Op::St, Ty::U32, &[Opnd::Imm(0), y], |i| i.mem.space = Space::Shared);
    assert_eq!(
        text(&made(vec![b.f])),
        [
            "MOV R1, c[0x0][0x28]",
            "S2R R0, SR_TID.X",
            "ISETP.NE P0, R0, RZ",
            "@P0 IMAD R0, R0, R0, 0x3",
            "ST.SHARED.U32 [RZ], R0",
            "EXIT",
        ]
    );
}

#[test]
fn a_called_function_saves_what_it_writes() {
    let mut k = Build::new("kernel", true);
    k.f.out_bytes = 8;
    let x = k.define(Op::S2r, Ty::U32, 1, &[], |i| i.sub = Sub::SReg(SReg::TidX));
    let stack = |i: &mut Inst, frame: Frame, off: i32| {
        i.mem.space = Space::Local;
        i.frame = frame;
        i.off = off;
    };
    k.push(Op::St, Ty::U32, &[Opnd::Sp, x], |i| stack(i, Frame::Out, 4));
    k.push(Op::Call, Ty::U32, &[], |i| i.callee = 1);
    let r = k.define(Op::Ld, Ty::U32, 1, &[Opnd::Sp], |i| stack(i, Frame::Out, 0));
    let sum = k.define(Op::Iadd3, Ty::U32, 1, &[r, x], |_| {});
    k.push(Op::St, Ty::U32, &[Opnd::Imm(0), sum], |i| i.mem.space = Space::Shared);

    let mut f = Build::new("callee", false);
    let a = f.define(Op::Ld, Ty::U32, 1, &[Opnd::Sp], |i| stack(i, Frame::In, 4));
    let twice = f.define(Op::Iadd3, Ty::U32, 1, &[a, a], |_| {});
    f.push(Op::St, Ty::U32, &[Opnd::Sp, twice], |i| stack(i, Frame::In, 0));
    f.term(Term::Ret { loc: 0 });

    let code = made(vec![k.f, f.f]);
    assert_eq!(
        text(&code),
        [
            "MOV R1, c[0x0][0x28]",
            "IADD3 R1, R1, 0xfffffff0, RZ",
            "S2R R0, SR_TID.X",
            "ST.LOCAL.U32 [R1+0x4], R0",
            "CALL L9",
            "LD.LOCAL.U32 R2, [R1]",
            // R0 is data of the store above, which may not have read it yet.
            "IADD3 R2, R2, R0, RZ",
            "ST.SHARED.U32 [RZ], R2",
            "EXIT",
            "IADD3 R1, R1, 0xfffffff0, RZ",
            "ST.LOCAL.U32.SPILL [R1], R0",
            "LD.LOCAL.U32 R0, [R1+0x14]",
            "IADD3 R0, R0, R0, RZ",
            "ST.LOCAL.U32 [R1+0x10], R0",
            "LD.LOCAL.U32.SPILL R0, [R1]",
            "IADD3 R1, R1, 0x10, RZ",
            "RET",
        ]
    );
    assert_eq!(code.local_bytes, 32);
    assert_eq!(code.functions[1].entry, 9);
}

#[test]
fn a_missing_callee_is_an_error() {
    let mut k = Build::new("kernel", true);
    k.push(Op::Call, Ty::U32, &[], |i| i.callee = 7);
    let error = generate(vec![k.f], &BackOptions::default()).expect_err("nobody to call");
    assert_eq!(error.to_string(), "kernel calls function number 7, which is not part of the program");
}

#[test]
fn last_uses_and_live_ranges_are_exact() {
    let code = made(vec![summing_loop()]);
    let load = code.uops.iter().position(|u| u.op == Op::Ld).expect("a load");
    let store = code.uops.iter().position(|u| u.op == Op::St).expect("a store");
    assert_eq!(code.uops[load].last_use, 0, "the pointer goes on");
    assert_eq!(code.uops[store].last_use, 0b11, "address and sum are done");
    let pointer = match code.uops[load].src[0] {
        warpwatt_isa::Src::Reg(r) => r.0,
        other => panic!("{other:?}"),
    };
    let first = code.uops.iter().position(|u| u.dst.0 == pointer).expect("a definition") as u32;
    let range = code.live_ranges.iter().find(|r| r.reg == pointer && r.from == first).expect("a range");
    assert!(range.to as usize > load, "{range:?}");
}

#[test]
fn a_small_budget_computes_constants_again_instead_of_storing_them() {
    let mut b = Build::new("pressure", true);
    let tid = b.define(Op::S2r, Ty::U32, 1, &[], |i| i.sub = Sub::SReg(SReg::TidX));
    let constants: Vec<Opnd> = (0..30)
        .map(|i| b.define(Op::Mov, Ty::U32, 1, &[Opnd::Const { bank: 0, offset: 0x160 + 4 * i }], |_| {}))
        .collect();
    for round in 0..2 {
        for (k, &c) in constants.iter().enumerate() {
            b.push(Op::St, Ty::U32, &[tid, c], |i| {
                i.mem.space = Space::Shared;
                i.off = 4 * (k as i32 + 100 * round);
            });
        }
    }
    let code = generate(
        vec![b.f],
        &BackOptions { budget: 16, schedule: false, verify: true, ..BackOptions::default() },
    )
    .expect("fits");
    assert!(code.registers <= 16);
    assert_eq!((code.spill_bytes, code.spill_loads, code.spill_stores), (0, 0, 0));
    let again = code.uops.iter().filter(|u| u.op == Op::Mov && u.flags.has(Flags::SPILL)).count();
    assert!((15..=60).contains(&again), "{again} constants again");
}

#[test]
fn a_switch_reads_its_table() {
    let mut b = Build::new("switch", true);
    let tid = b.define(Op::S2r, Ty::U32, 1, &[], |i| i.sub = Sub::SReg(SReg::TidX));
    let targets = vec![BlockId(1), BlockId(2), BlockId(1)];
    b.term(Term::Table { index: tid, targets, loc: 0 });
    for k in 1..3u64 {
        b.block(if k == 1 { &[0, 0] } else { &[0] });
        b.push(Op::St, Ty::U32, &[Opnd::Imm(0), Opnd::Imm(k)], |i| i.mem.space = Space::Shared);
    }
    let code = made(vec![b.f]);
    let brx = code.uops.iter().find(|u| u.op == Op::Brx).expect("a table jump");
    let table = &code.tables[brx.target as usize];
    assert_eq!((table.len(), table[0]), (3, table[2]));
    assert_eq!(code.uops[table[1] as usize].op, Op::Mov);
}
