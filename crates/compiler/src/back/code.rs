// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocated code: micro-ops by block, with the frame laid out and what a called function saves and restores inserted.
//!
//! The frame, from the stack pointer up: arguments of calls made, variables, spill slots, saved registers. A called function saves every register and
//! predicate that it writes, so that a call changes only memory for its caller.

use std::collections::BTreeSet;

use warpwatt_isa::{BoolOp, Cmp, Flags, Op, Pred, PredSrc, Reg, Space, Src, Sub, Ty, Uop, bank0, src_words};

use super::alloc::Assignment;
use super::machine::{INSERTED, MBlock, MFunc};
use super::operands::encode_imm;
use crate::ir::{BlockId, Frame, Inst, Opnd, PredUse, Term};

#[derive(Clone, Debug)]
pub(super) struct Coded {
    pub uop: Uop,
    /// Index in the block of the reference function, or `INSERTED`.
    pub origin: u32,
    /// Call target: module-wide function id.
    pub callee: u32,
}

#[derive(Clone, Debug)]
pub(super) struct CodedBlock {
    pub uops: Vec<Coded>,
    pub term: Term,
    /// The terminator's condition or table index in machine terms.
    pub cond: PredSrc,
    pub index: Src,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameLayout {
    pub local: u32,
    pub spill: u32,
    pub saved: u32,
    pub size: u32,
}

#[derive(Clone, Debug)]
pub(super) struct CodedFunction {
    pub blocks: Vec<CodedBlock>,
    pub order: Vec<BlockId>,
    pub frame: FrameLayout,
    /// Registers and predicates used: highest number + 1.
    pub registers: u32,
    pub predicates: u32,
    pub spill_bytes: u32,
    pub has_indirect_call: bool,
}

struct Coder<'a> {
    assignment: &'a Assignment,
    frame: FrameLayout,
}

/// Registers and predicates of its caller that a function saves in its frame.
struct Saved {
    registers: Vec<u8>,
    predicates: Vec<u8>,
}

impl Saved {
    fn of(f: &MFunc, written: &BTreeSet<u8>, written_preds: &BTreeSet<u8>) -> Saved {
        if f.is_kernel {
            return Saved { registers: Vec::new(), predicates: Vec::new() };
        }
        let mut registers: Vec<u8> = written.iter().copied().collect();
        if registers.is_empty() && !written_preds.is_empty() {
            registers.push(0); // something to move predicates through
        }
        Saved { registers, predicates: written_preds.iter().copied().collect() }
    }

    /// Bytes of the frame that they take.
    fn bytes(&self) -> u32 {
        4 * (self.registers.len() + self.predicates.len()) as u32
    }

    /// A register that predicates are moved through.
    fn scratch(&self) -> u8 {
        self.registers.first().copied().unwrap_or(0)
    }

    fn registers_at(&self, frame: FrameLayout) -> impl Iterator<Item = (u8, i32)> {
        self.registers.iter().enumerate().map(move |(i, &r)| (r, (frame.saved + 4 * i as u32) as i32))
    }

    fn predicates_at(&self, frame: FrameLayout) -> impl Iterator<Item = (u8, i32)> {
        let first = frame.saved + 4 * self.registers.len() as u32;
        self.predicates.iter().enumerate().map(move |(i, &p)| (p, (first + 4 * i as u32) as i32))
    }

    /// Sets the stack pointer up and saves registers, then predicates.
    fn prologue(&self, frame: FrameLayout, is_kernel: bool) -> Vec<Uop> {
        let mut out = Vec::new();
        if is_kernel {
            let mut mov = Uop::new(Op::Mov, Ty::U32);
            mov.dst = Reg::SP;
            mov.src[0] = Src::Const { bank: 0, offset: bank0::STACK };
            out.push(mov);
        }
        if frame.size > 0 {
            out.push(move_stack(frame.size.wrapping_neg()));
        }
        out.extend(self.registers_at(frame).map(|(r, at)| stack_access(Op::St, r, at)));
        for (p, at) in self.predicates_at(frame) {
            let mut sel = Uop::new(Op::Sel, Ty::U32);
            sel.dst = Reg(self.scratch());
            sel.src[..2].copy_from_slice(&[Src::Reg(Reg::ZERO), Src::Imm(1)]);
            sel.psrc[0] = PredSrc { pred: Pred(p), negated: true };
            sel.flags = Flags::SPILL;
            out.push(sel);
            out.push(stack_access(Op::St, self.scratch(), at));
        }
        out
    }

    /// Restores predicates, registers and the stack pointer.
    fn epilogue(&self, frame: FrameLayout) -> Vec<Uop> {
        let mut out = Vec::new();
        for (p, at) in self.predicates_at(frame) {
            out.push(stack_access(Op::Ld, self.scratch(), at));
            let mut test = Uop::new(Op::Isetp, Ty::U32);
            test.sub = Sub::Cmp(Cmp::Ne, BoolOp::And);
            test.pdst[0] = Pred(p);
            test.src[..2].copy_from_slice(&[Src::Reg(Reg(self.scratch())), Src::Reg(Reg::ZERO)]);
            test.flags = Flags::SPILL;
            out.push(test);
        }
        out.extend(self.registers_at(frame).map(|(r, at)| stack_access(Op::Ld, r, at)));
        if frame.size > 0 {
            out.push(move_stack(frame.size));
        }
        out
    }
}

fn frame_of(f: &MFunc, saved_bytes: u32) -> FrameLayout {
    let local = f.out_bytes.next_multiple_of(if f.local_bytes > 0 { 16 } else { 8 });
    let spill = (local + f.local_bytes).next_multiple_of(if f.spill_bytes > 0 { 16 } else { 4 });
    let saved = (spill + f.spill_bytes).next_multiple_of(4);
    FrameLayout { local, spill, saved, size: (saved + saved_bytes).next_multiple_of(16) }
}

pub(super) fn run(f: &MFunc, assignment: &Assignment) -> CodedFunction {
    let (written, written_preds) = written(f, assignment);
    let saved = Saved::of(f, &written, &written_preds);
    let frame = frame_of(f, saved.bytes());
    let coder = Coder { assignment, frame };
    let mut blocks: Vec<CodedBlock> = f.blocks.iter().map(|block| coder.block(block)).collect();
    let coded = |uop: Uop| Coded { uop, origin: INSERTED, callee: u32::MAX };
    blocks[0].uops.splice(0..0, saved.prologue(frame, f.is_kernel).into_iter().map(coded));
    let epilogue = saved.epilogue(frame);
    for block in &mut blocks {
        if let Term::Ret { loc } = block.term {
            block.uops.extend(epilogue.iter().map(|&uop| coded(Uop { loc, ..uop })));
        }
    }
    let highest = |set: &BTreeSet<u8>| set.last().map_or(0, |&r| u32::from(r) + 1);
    let registers = highest(&written).max(saved.registers.last().map_or(0, |&r| u32::from(r) + 1));
    CodedFunction {
        registers: registers.max(read_up_to(&blocks)).max(2),
        blocks,
        order: f.order.clone(),
        frame,
        predicates: highest(&written_preds),
        spill_bytes: f.spill_bytes,
        has_indirect_call: f.blocks.iter().any(|b| b.insts.iter().any(|m| m.inst.op == Op::CallInd)),
    }
}

/// One more than the highest register that is read; some registers are read and never written.
fn read_up_to(blocks: &[CodedBlock]) -> u32 {
    let end = |source: Src, words: u32| match source {
        Src::Reg(first) if first != Reg::ZERO => u32::from(first.0) + words,
        _ => 0,
    };
    let of_uop = |uop: &Uop| (0..uop.src.len()).map(|i| end(uop.src[i], uop.src_words(i))).max().unwrap_or(0);
    let of_block = |block: &CodedBlock| {
        let uops = block.uops.iter().map(|coded| of_uop(&coded.uop));
        uops.max().unwrap_or(0).max(end(block.index, 1))
    };
    blocks.iter().map(of_block).max().unwrap_or(0)
}

/// Registers and predicates that the function writes.
fn written(f: &MFunc, assignment: &Assignment) -> (BTreeSet<u8>, BTreeSet<u8>) {
    let (mut regs, mut preds) = (BTreeSet::new(), BTreeSet::new());
    for m in f.order.iter().flat_map(|b| &f.blocks[b.index()].insts) {
        if m.inst.op == Op::Undef {
            continue;
        }
        m.inst.for_each_def(|p| {
            let Some(base) = assignment.place[p.value.index()] else { return };
            if p.words == 0 {
                preds.insert(base);
            } else {
                regs.extend((0..p.words).map(|i| base + p.lane + i));
            }
        });
    }
    (regs, preds)
}

fn move_stack(by: u32) -> Uop {
    let mut add = Uop::new(Op::Iadd3, Ty::U32);
    add.dst = Reg::SP;
    add.src[..3].copy_from_slice(&[Src::Reg(Reg::SP), Src::Imm(by), Src::Reg(Reg::ZERO)]);
    add
}

fn stack_access(op: Op, reg: u8, at: i32) -> Uop {
    let mut uop = Uop::new(op, Ty::U32);
    uop.mem.space = Space::Local;
    uop.flags = Flags::SPILL;
    uop.src[0] = Src::Reg(Reg::SP);
    if op == Op::Ld {
        uop.dst = Reg(reg);
    } else {
        uop.src[1] = Src::Reg(Reg(reg));
    }
    uop.off = at;
    uop
}

impl Coder<'_> {
    fn block(&self, block: &MBlock) -> CodedBlock {
        let kept = block.insts.iter().filter(|m| m.inst.op != Op::Undef);
        CodedBlock {
            uops: kept
                .map(|m| Coded { uop: self.uop(&m.inst), origin: m.origin, callee: m.inst.callee })
                .collect(),
            term: block.term.clone(),
            cond: match block.term {
                Term::Branch { cond, .. } => self.pred(cond),
                _ => PredSrc::TRUE,
            },
            index: match block.term {
                Term::Table { index, .. } => self.src(index, 1, Ty::U32),
                _ => Src::None,
            },
        }
    }

    fn pred(&self, p: PredUse) -> PredSrc {
        let pred = match p.value {
            // An undefined predicate may have any value.
            Some(v) => self.assignment.place[v.index()].map_or(Pred::TRUE, Pred),
            None => Pred::TRUE,
        };
        PredSrc { pred, negated: p.negated }
    }

    fn reg(&self, p: crate::ir::Part) -> Reg {
        self.assignment.place[p.value.index()].map_or(Reg::ZERO, |base| Reg(base + p.lane))
    }

    fn src(&self, o: Opnd, words: u32, ty: Ty) -> Src {
        match o {
            Opnd::None => Src::None,
            Opnd::Value(p) => Src::Reg(self.reg(p)),
            Opnd::Imm(0) => Src::Reg(Reg::ZERO),
            // Legalised: an immediate that does not fit was put into registers.
            Opnd::Imm(bits) => Src::Imm(encode_imm(bits, words, ty).unwrap_or(bits as u32)),
            Opnd::Const { bank, offset } => Src::Const { bank, offset },
            Opnd::Sp => Src::Reg(Reg::SP),
        }
    }

    fn frame_base(&self, frame: Frame) -> i32 {
        (match frame {
            Frame::None | Frame::Out => 0,
            Frame::Local => self.frame.local,
            Frame::Spill => self.frame.spill,
            Frame::In => self.frame.size,
        }) as i32
    }

    fn uop(&self, inst: &Inst) -> Uop {
        let mut uop = Uop::new(inst.op, inst.ty);
        uop.ty2 = inst.ty2;
        uop.rnd = inst.rnd;
        uop.sub = inst.sub;
        uop.flags = inst.flags;
        uop.mem = inst.mem;
        uop.guard = self.pred(inst.guard);
        uop.dst = inst.dst.map_or(Reg::ZERO, |d| self.reg(d));
        for k in 0..2 {
            if let Some(p) = inst.pdst[k] {
                uop.pdst[k] = self.pred(PredUse::of(p)).pred;
            }
        }
        for k in 0..3 {
            uop.psrc[k] = self.pred(inst.psrc[k]);
        }
        uop.neg = inst.neg;
        uop.abs = inst.abs;
        uop.loc = inst.loc;
        for (i, &src) in inst.srcs.iter().take(4).enumerate() {
            let words = src_words(inst.op, inst.ty, inst.ty2, inst.sub, &inst.mem, i);
            let ty = if inst.op == Op::Cvt { inst.ty2 } else { inst.ty };
            uop.src[i] = self.src(src, words, ty);
        }
        let off = inst.off.wrapping_add(self.frame_base(inst.frame));
        if has_offset(inst.op) {
            uop.off = off;
        } else if off != 0 {
            self.add_offset(inst, &mut uop, off);
        }
        uop
    }

    /// The address of a place in the frame, taken by a move or an addition.
    fn add_offset(&self, inst: &Inst, uop: &mut Uop, off: i32) {
        if inst.op == Op::Mov {
            uop.op = Op::Iadd3;
            uop.src[1] = Src::Imm(off as u32);
            uop.src[2] = Src::Reg(Reg::ZERO);
            return;
        }
        if let Some(Src::Imm(v)) = uop.src.iter_mut().find(|s| matches!(s, Src::Imm(_))) {
            *v = v.wrapping_add(off as u32);
        } else if let Some(zero) = uop.src.iter_mut().find(|s| **s == Src::Reg(Reg::ZERO)) {
            *zero = Src::Imm(off as u32);
        }
    }
}

/// Operations whose encoding has an address offset.
fn has_offset(op: Op) -> bool {
    matches!(op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cctl | Op::Sys)
}
