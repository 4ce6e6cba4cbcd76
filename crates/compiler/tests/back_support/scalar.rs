// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread, one step at a time: what SSA means, and what micro-ops do. Written apart from the compiler and from the executor.

use std::collections::BTreeMap;

use warpwatt_base::SplitMix64;
use warpwatt_compiler::ir::{Function, Inst, Opnd, PredUse, Term, Value};
use warpwatt_isa::{BoolOp, Cmp, Flags, MinMax, Op, PredSrc, Space, Src, Sub, Ty, Uop, dst_words, src_words};

/// Words written to global memory.
pub type Memory = BTreeMap<u64, u32>;

fn scramble(key: u64) -> u32 {
    SplitMix64::new(key).next_u32()
}

fn constant(bank: u8, offset: u16) -> u32 {
    if (bank, offset) == (0, 0x28) { 0x8000 } else { scramble(u64::from(bank) << 32 | u64::from(offset)) }
}

fn load(memory: &Memory, address: u64) -> u32 {
    memory.get(&address).copied().unwrap_or_else(|| scramble(address ^ 0x5555))
}

fn lut(table: u8, a: u64, b: u64, c: u64) -> u64 {
    (0..64).fold(0, |out, bit| {
        let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
        out | (u64::from(table) >> index & 1) << bit
    })
}

fn holds(cmp: Cmp, order: std::cmp::Ordering) -> bool {
    match cmp {
        Cmp::Eq => order.is_eq(),
        Cmp::Ne => order.is_ne(),
        Cmp::Lt => order.is_lt(),
        Cmp::Le => order.is_le(),
        Cmp::Gt => order.is_gt(),
        Cmp::Ge => order.is_ge(),
        other => panic!("{other:?} does not compare integers"),
    }
}

fn combined(op: BoolOp, a: bool, b: bool) -> bool {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

/// The arithmetic of one operation on operands of `bits` bits.
struct Step<'a> {
    op: Op,
    ty: Ty,
    sub: Sub,
    flags: Flags,
    neg: u8,
    src: [u64; 4],
    pred: [bool; 3],
    wide: bool,
    what: &'a dyn std::fmt::Debug,
}

impl Step<'_> {
    /// Result and predicate results.
    fn run(&self) -> (u64, [bool; 2]) {
        let [a, b, c, _] = self.src;
        let bits = if self.wide { 64 } else { 32 };
        let mask = if self.wide { u64::MAX } else { 0xffff_ffff };
        let signed = |v: u64| if self.wide { v as i64 } else { i64::from(v as i32) };
        let flip = |i: usize| self.neg >> i & 1 == 1;
        let none = [false; 2];
        match (self.op, self.sub) {
            (Op::Mov, _) => (a, none),
            (Op::S2r, _) => (7, none),
            (Op::Sel, _) => (if self.pred[0] { a } else { b }, none),
            (Op::Iadd3, _) => {
                let chained = self.flags.has(Flags::CARRY_IN);
                let mut sum: u128 = u128::from(chained && self.pred[0]);
                for (i, v) in [a, b, c].into_iter().enumerate() {
                    sum += u128::from(if flip(i) { !v & mask } else { v });
                    sum += u128::from(flip(i) && !chained);
                }
                (sum as u64 & mask, [sum >> bits & 1 == 1, false])
            }
            (Op::Imad, _) => (a.wrapping_mul(b).wrapping_add(c) & mask, none),
            (Op::ImadWide, _) => ((a & 0xffff_ffff).wrapping_mul(b & 0xffff_ffff).wrapping_add(c), none),
            (Op::Lop3, Sub::Lut(table)) => (lut(table, a, b, c) & mask, none),
            (Op::Shl, _) => (if b >= bits { 0 } else { a << b & mask }, none),
            (Op::Shr, _) if self.ty.is_signed() => ((signed(a) >> b.min(bits - 1)) as u64 & mask, none),
            (Op::Shr, _) => (if b >= bits { 0 } else { a >> b }, none),
            (Op::Shf, _) => {
                let both = b << 32 | a;
                let n = c.min(32);
                let out = if self.flags.has(Flags::RIGHT) { both >> n } else { both << n >> 32 };
                (out & 0xffff_ffff, none)
            }
            (Op::Bfe, _) => {
                let (at, length) = (b & 255, c & 255);
                let signed = self.ty.is_signed();
                let top = (at + length).saturating_sub(1).min(31);
                let sign = signed && length > 0 && a >> top & 1 == 1;
                let out = (0..32).fold(0, |out, i| {
                    let bit = if i < length && at + i <= 31 { a >> (at + i) & 1 == 1 } else { sign };
                    out | u64::from(bit) << i
                });
                (out, none)
            }
            (Op::Bfi, _) => {
                let (at, length) = (c & 255, self.src[3] & 255);
                let out = (0..length)
                    .take_while(|i| at + i < 32)
                    .fold(b, |out, i| out & !(1 << (at + i)) | (a >> i & 1) << (at + i));
                (out, none)
            }
            (Op::Imnmx, Sub::MinMax(which)) => {
                let less = if self.ty.is_signed() { signed(a) < signed(b) } else { a < b };
                (if less == (which == MinMax::Min) { a } else { b }, none)
            }
            (Op::Iabs, _) => (signed(a).unsigned_abs(), none),
            (Op::Isetp, Sub::Cmp(cmp, op)) => {
                let order = if self.ty.is_signed() { signed(a).cmp(&signed(b)) } else { a.cmp(&b) };
                let hit = holds(cmp, order);
                (0, [combined(op, hit, self.pred[0]), combined(op, !hit, self.pred[0])])
            }
            (Op::IsetpX, Sub::Cmp(cmp, op)) => {
                let order = if self.ty.is_signed() { signed(a).cmp(&signed(b)) } else { a.cmp(&b) };
                let hit = match cmp {
                    Cmp::Eq => order.is_eq() && self.pred[1],
                    Cmp::Ne => order.is_ne() || self.pred[1],
                    _ if order.is_eq() => self.pred[1],
                    _ => holds(cmp, order),
                };
                (0, [combined(op, hit, self.pred[0]), combined(op, !hit, self.pred[0])])
            }
            (Op::Plop3, Sub::Lut(table)) => {
                let [x, y, z] = self.pred.map(u64::from);
                (0, [lut(table, x, y, z) & 1 == 1, false])
            }
            _ => panic!("no meaning for {:?}", self.what),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Run([u32; 4]);

/// Runs an SSA function and gives what it stored.
pub fn run_ssa(f: &Function) -> Memory {
    let mut memory = Memory::new();
    let mut words: Vec<Run> = vec![Run::default(); f.values.len()];
    let mut preds = vec![false; f.values.len()];
    let (mut from, mut at) = (None, 0usize);
    for _ in 0..100_000 {
        let block = &f.blocks[at];
        // Phis read all at once.
        let edge = from.map(|p| block.preds.iter().position(|&b| b == p).expect("a known predecessor"));
        let mut pending: Vec<(Value, Run, bool)> = Vec::new();
        for inst in block.insts.iter().take_while(|i| i.op == Op::Phi) {
            let src = inst.srcs[edge.expect("no phi in the entry")];
            match (inst.dst, inst.pdst[0], src) {
                (Some(d), _, src) => pending.push((d.value, read(src, u32::from(d.words), &words), false)),
                (None, Some(p), Opnd::Value(s)) => pending.push((p, Run::default(), preds[s.value.index()])),
                other => panic!("odd phi {other:?}"),
            }
        }
        for (value, run, pred) in pending {
            words[value.index()] = run;
            preds[value.index()] = pred;
        }
        for inst in block.insts.iter().filter(|i| i.op != Op::Phi) {
            ssa_step(f, inst, &mut words, &mut preds, &mut memory);
        }
        let truth = |p: PredUse, preds: &[bool]| p.value.is_none_or(|v| preds[v.index()]) != p.negated;
        let next = match block.term {
            Term::Jump(b) => b,
            Term::Branch { cond, taken, other, .. } => {
                if truth(cond, &preds) {
                    taken
                } else {
                    other
                }
            }
            Term::Exit { .. } => return memory,
            ref other => panic!("no meaning for {other:?}"),
        };
        from = Some(warpwatt_compiler::ir::BlockId::from(at));
        at = next.index();
    }
    panic!("{} does not end", f.name);
}

fn read(o: Opnd, count: u32, words: &[Run]) -> Run {
    let mut run = Run::default();
    for i in 0..count as usize {
        run.0[i] = match o {
            Opnd::Value(p) if i < usize::from(p.words) => words[p.value.index()].0[usize::from(p.lane) + i],
            Opnd::Imm(bits) if i < 2 => (bits >> (32 * i)) as u32,
            Opnd::Const { bank, offset } => constant(bank, offset + 4 * i as u16),
            _ => 0,
        };
    }
    run
}

fn number(run: Run, count: u32) -> u64 {
    u64::from(run.0[0]) | if count > 1 { u64::from(run.0[1]) << 32 } else { 0 }
}

fn ssa_step(f: &Function, inst: &Inst, words: &mut [Run], preds: &mut [bool], memory: &mut Memory) {
    let truth = |p: PredUse, preds: &[bool]| p.value.is_none_or(|v| preds[v.index()]) != p.negated;
    if !truth(inst.guard, preds) {
        if let Some(d) = inst.dst {
            words[d.value.index()] = read(inst.keep, u32::from(d.words), words);
        }
        let kept = [0, 1].map(|k| inst.pkeep[k].map(|p| truth(p, preds)));
        for (p, v) in inst.pdst.into_iter().zip(kept) {
            if let (Some(p), Some(v)) = (p, v) {
                preds[p.index()] = v;
            }
        }
        return;
    }
    let width = |i: usize| match inst.op {
        Op::Shl | Op::Shr if i == 1 => 1,
        op => src_words(op, inst.ty, inst.ty2, inst.sub, &inst.mem, i),
    };
    let operand = |i: usize| inst.srcs.get(i).map_or(Run::default(), |&o| read(o, width(i), words));
    match inst.op {
        Op::Pack => {
            let parts: Vec<u32> = inst.srcs.iter().map(|&o| read(o, 1, words).0[0]).collect();
            let d = inst.dst.expect("a result");
            words[d.value.index()].0[..parts.len()].copy_from_slice(&parts);
        }
        Op::Ld => {
            let address = number(operand(0), 2).wrapping_add(inst.off as u64);
            let d = inst.dst.expect("a result");
            for i in 0..dst_words(inst.op, inst.ty, inst.sub, &inst.mem) {
                words[d.value.index()].0[i as usize] = load(memory, address.wrapping_add(4 * u64::from(i)));
            }
        }
        Op::St => {
            let address = number(operand(0), 2).wrapping_add(inst.off as u64);
            for i in 0..width(1) {
                memory.insert(address + 4 * u64::from(i), operand(1).0[i as usize]);
            }
        }
        _ => {
            let wide = inst.ty.words() == 2;
            let step = Step {
                op: inst.op,
                ty: inst.ty,
                sub: inst.sub,
                flags: inst.flags,
                neg: inst.neg,
                src: [0, 1, 2, 3].map(|i| number(operand(i), width(i))),
                pred: inst.psrc.map(|p| truth(p, preds)),
                wide,
                what: inst,
            };
            let (value, hits) = step.run();
            if let Some(d) = inst.dst {
                assert_eq!(d.words, f.words(d.value), "SSA defines whole values");
                words[d.value.index()].0[0] = value as u32;
                words[d.value.index()].0[1] = (value >> 32) as u32;
            }
            for (p, hit) in inst.pdst.into_iter().zip(hits) {
                if let Some(p) = p {
                    preds[p.index()] = hit;
                }
            }
        }
    }
}

/// Runs micro-ops and gives what they stored to global memory.
pub fn run_uops(uops: &[Uop]) -> Memory {
    let mut memory = Memory::new();
    let mut stack = Memory::new();
    // Registers start with rubbish: nothing may rely on them.
    let mut regs: Vec<u32> = (0..258).map(|r| scramble(0x7777 + r)).collect();
    let mut preds = [true, false, true, true, false, true, false, true];
    regs[255..].fill(0);
    let mut pc = 0usize;
    for _ in 0..1_000_000 {
        let uop = &uops[pc];
        pc += 1;
        let truth = |p: PredSrc, preds: &[bool]| preds[usize::from(p.pred.0)] != p.negated;
        if !truth(uop.guard, &preds) {
            continue;
        }
        let operand = |i: usize| {
            let count = uop.src_words(i);
            let mut run = Run::default();
            for k in 0..count as usize {
                run.0[k] = match uop.src[i] {
                    Src::None => 0,
                    Src::Reg(r) if r.0 == 255 => 0,
                    Src::Reg(r) => regs[usize::from(r.0) + k],
                    Src::Imm(v) if k == 0 => v,
                    Src::Imm(v) => ((v as i32) >> 31) as u32,
                    Src::Const { bank, offset } => constant(bank, offset + 4 * k as u16),
                };
            }
            (run, count)
        };
        match uop.op {
            Op::Exit => return memory,
            Op::Bra => pc = uop.target as usize,
            Op::Ld | Op::St => {
                let (base, count) = operand(0);
                let address = number(base, count).wrapping_add(uop.off as u64);
                let local = uop.mem.space == Space::Local;
                let memory = if local { &mut stack } else { &mut memory };
                let address = if local { address & 0xffff_ffff } else { address };
                if uop.op == Op::Ld {
                    for i in 0..uop.dst_words() {
                        let at = address.wrapping_add(4 * u64::from(i));
                        regs[usize::from(uop.dst.0) + i as usize] = load(memory, at);
                    }
                } else {
                    let (data, count) = operand(1);
                    assert_eq!(address % u64::from(4 * count), 0, "aligned store");
                    for i in 0..count {
                        memory.insert(address + 4 * u64::from(i), data.0[i as usize]);
                    }
                }
            }
            _ => {
                let immediates =
                    uop.src.iter().filter(|s| matches!(s, Src::Imm(_) | Src::Const { .. })).count();
                assert!(immediates <= 1, "{uop} has more than one operand that is not a register");
                let step = Step {
                    op: uop.op,
                    ty: uop.ty,
                    sub: uop.sub,
                    flags: uop.flags,
                    neg: uop.neg,
                    src: [0, 1, 2, 3].map(|i| {
                        let (run, count) = operand(i);
                        number(run, count)
                    }),
                    pred: uop.psrc.map(|p| truth(p, &preds)),
                    wide: uop.ty.words() == 2,
                    what: uop,
                };
                let (value, hits) = step.run();
                for i in 0..uop.dst_words() {
                    if uop.dst.0 != 255 {
                        regs[usize::from(uop.dst.0) + i as usize] = (value >> (32 * i)) as u32;
                    }
                }
                for k in 0..2 {
                    if uop.pdst[k].0 != 7 {
                        preds[usize::from(uop.pdst[k].0)] = hits[k];
                    }
                }
            }
        }
    }
    panic!("the micro-ops do not end");
}
