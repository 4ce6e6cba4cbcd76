// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers and exchange between lanes (PTX ISA, "Parallel Synchronization and Communication Instructions", "shfl").

use warpwatt_isa::{AtomOp, BarKind, Flags, MatchMode, Op, ShflMode, Sub, Ty, VoteMode};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Operand, Scalar};
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Dst, Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::types;
use crate::ir::{Inst, Opnd, Part};

fn barrier_kind(form: &mut Form) -> Lower<BarKind> {
    if form.take(Mod::Sync) {
        return Ok(BarKind::Sync);
    }
    if form.take(Mod::Arrive) {
        return Ok(BarKind::Arrive);
    }
    if !form.take(Mod::Red) {
        return Err(form.unsupported());
    }
    form.pick(|m| match m {
        Mod::Popc => Some(BarKind::RedPopc),
        Mod::And => Some(BarKind::RedAnd),
        Mod::Or => Some(BarKind::RedOr),
        _ => None,
    })
    .ok_or_else(|| form.unsupported())
}

impl<'a> Lowerer<'a, '_> {
    /// Emits an operation whose result goes to `d` and whose predicate, if any, is already set.
    fn put_guarded(&mut self, d: Dst, mut i: Inst) {
        i.guard = self.guard;
        match d {
            Dst::Reg(value, _) if self.f.words(value) == 1 => {
                i.dst = Some(Part { value, lane: 0, words: 1 });
                self.push(i);
            }
            _ => {
                self.put(i);
            }
        }
    }

    pub fn barrier(&mut self, form: &mut Form<'a>) -> Lower {
        if form.take(Mod::Warp) {
            return self.warp_barrier(form);
        }
        let is_bar = form.instr.op == Opcode::Bar;
        form.take(Mod::Cta);
        let aligned = form.take(Mod::Aligned) || is_bar;
        let kind = barrier_kind(form)?;
        let aligned = form.take(Mod::Aligned) || aligned;
        let reduces = matches!(kind, BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr);
        if reduces {
            form.ty_of(if kind == BarKind::RedPopc { &[Scalar::U32] } else { &[Scalar::Pred] })?;
        }
        form.end()?;
        let operands = match kind {
            BarKind::Sync => form.operands(1, 2)?,
            BarKind::Arrive => form.operands(2, 2)?,
            _ => form.operands(3, 4)?,
        };
        let (numbers, condition) = if reduces {
            (&operands[1..operands.len() - 1], Some(self.pred(&operands[operands.len() - 1])?))
        } else {
            (operands, None)
        };
        let number = self.barrier_number(&numbers[0])?;
        let threads = match numbers.get(1) {
            Some(o) => self.src(o, Scalar::U32)?,
            None => imm(0),
        };
        let mut i = inst(Op::Bar, Ty::U32, &[number, threads]);
        i.sub = Sub::Bar(kind);
        i.flags = if aligned { Flags::UNIFORM } else { Flags::NONE };
        if let Some(p) = condition {
            i.psrc[0] = p;
        }
        let d = match kind {
            BarKind::RedPopc => Some(self.dst(&operands[0], Scalar::U32)?),
            _ => None,
        };
        if matches!(kind, BarKind::RedAnd | BarKind::RedOr) {
            i.pdst[0] = self.pred_dst(&operands[0])?;
        }
        self.branch_around(|this| {
            match d {
                Some(d) => this.put_guarded(d, i),
                None => this.push(i),
            }
            Ok(())
        })
    }

    /// `bar.warp.sync`: the lanes of a mask wait for each other.
    fn warp_barrier(&mut self, form: &mut Form<'a>) -> Lower {
        if !form.take(Mod::Sync) {
            return Err(form.unsupported());
        }
        form.end()?;
        let [mask] = form.exactly()?;
        let mask = self.src(mask, Scalar::B32)?;
        let guard = self.guard;
        self.push(Inst { guard, ..inst(Op::WarpSync, Ty::U32, &[mask]) });
        Ok(())
    }

    /// The number of a barrier, which the kernel then uses; any of the sixteen if it is in a register.
    fn barrier_number(&mut self, operand: &Operand) -> Lower<Opnd> {
        let number = self.src(operand, Scalar::U32)?;
        match number {
            Opnd::Imm(n) if n < 16 => self.unit.use_barriers(n as u32 + 1),
            Opnd::Imm(_) => {
                return Err(Diagnostic::error(
                    "ptx-operand",
                    operand.span,
                    "invalid barrier number (allowed: 0 to 15)",
                )
                .with_help("use a smaller number"));
            }
            _ => self.unit.use_barriers(16),
        }
        Ok(number)
    }

    pub fn shuffle(&mut self, form: &mut Form<'a>) -> Lower {
        let sync = form.take(Mod::Sync);
        let mode = form
            .pick(|m| {
                Some(match m {
                    Mod::Up => ShflMode::Up,
                    Mod::Down => ShflMode::Down,
                    Mod::Bfly => ShflMode::Bfly,
                    Mod::Idx => ShflMode::Idx,
                    _ => return None,
                })
            })
            .ok_or_else(|| form.unsupported())?;
        form.ty_of(&[Scalar::B32, Scalar::U32, Scalar::S32, Scalar::F32])?;
        form.end()?;
        let count = if sync { 5 } else { 4 };
        let operands = form.operands(count, count)?;
        let (d, p) = self.dst_pred(&operands[0], Scalar::B32)?;
        let mut srcs = Vec::new();
        for o in &operands[1..] {
            srcs.push(self.src(o, Scalar::B32)?);
        }
        let mut i = inst(Op::Shfl, Ty::U32, &srcs);
        i.sub = Sub::Shfl(mode);
        i.pdst[0] = p;
        i.flags = if sync { Flags::SYNC } else { Flags::NONE };
        self.put_guarded(d, i);
        Ok(())
    }

    pub fn vote(&mut self, form: &mut Form<'a>) -> Lower {
        let sync = form.take(Mod::Sync);
        let mode = form
            .pick(|m| {
                Some(match m {
                    Mod::All => VoteMode::All,
                    Mod::Any => VoteMode::Any,
                    Mod::Uni => VoteMode::Uni,
                    Mod::Ballot => VoteMode::Ballot,
                    _ => return None,
                })
            })
            .ok_or_else(|| form.unsupported())?;
        form.ty_of(if mode == VoteMode::Ballot { &[Scalar::B32] } else { &[Scalar::Pred] })?;
        form.end()?;
        let count = if sync { 3 } else { 2 };
        let operands = form.operands(count, count)?;
        let condition = self.pred(&operands[1])?;
        let mask = if sync { vec![self.src(&operands[2], Scalar::B32)?] } else { Vec::new() };
        let mut i = inst(Op::Vote, Ty::U32, &mask);
        i.sub = Sub::Vote(mode);
        i.psrc[0] = condition;
        i.flags = if sync { Flags::SYNC } else { Flags::NONE };
        if mode == VoteMode::Ballot {
            let d = self.dst(&operands[0], Scalar::B32)?;
            self.put_guarded(d, i);
        } else {
            i.pdst[0] = self.pred_dst(&operands[0])?;
            i.guard = self.guard;
            self.push(i);
        }
        Ok(())
    }

    pub fn match_lanes(&mut self, form: &mut Form<'a>) -> Lower {
        let mode = form
            .pick(|m| match m {
                Mod::Any => Some(MatchMode::Any),
                Mod::All => Some(MatchMode::All),
                _ => None,
            })
            .ok_or_else(|| form.unsupported())?;
        if !form.take(Mod::Sync) {
            return Err(form.unsupported());
        }
        let ty = form.ty_of(&[Scalar::B32, Scalar::B64])?;
        form.end()?;
        let [d, a, mask] = form.exactly()?;
        let (d, p) = self.dst_pred(d, Scalar::B32)?;
        let (a, mask) = (self.src(a, ty)?, self.src(mask, Scalar::B32)?);
        let mut i = inst(Op::Match, types::ty(ty), &[a, mask]);
        i.sub = Sub::Match(mode);
        i.pdst[0] = p;
        i.flags = Flags::SYNC;
        self.put_guarded(d, i);
        Ok(())
    }

    pub fn redux(&mut self, form: &mut Form<'a>) -> Lower {
        if !form.take(Mod::Sync) {
            return Err(form.unsupported());
        }
        let op = form
            .pick(|m| match m {
                Mod::Add => Some(AtomOp::Add),
                Mod::Min => Some(AtomOp::Min),
                Mod::Max => Some(AtomOp::Max),
                Mod::And => Some(AtomOp::And),
                Mod::Or => Some(AtomOp::Or),
                Mod::Xor => Some(AtomOp::Xor),
                _ => None,
            })
            .ok_or_else(|| form.unsupported())?;
        let ty = form.ty_of(&[Scalar::U32, Scalar::S32, Scalar::B32])?;
        form.end()?;
        let [d, a, mask] = form.exactly()?;
        let (a, mask, d) = (self.src(a, ty)?, self.src(mask, Scalar::B32)?, self.dst(d, ty)?);
        let mut i = inst(Op::Redux, types::ty(ty), &[a, mask]);
        i.sub = Sub::Atom(op);
        i.flags = Flags::SYNC;
        self.put_guarded(d, i);
        Ok(())
    }

    pub fn activemask(&mut self, form: &mut Form<'a>) -> Lower {
        form.ty_of(&[Scalar::B32])?;
        form.end()?;
        let [d] = form.exactly()?;
        let d = self.dst(d, Scalar::B32)?;
        self.put_guarded(d, inst(Op::ActiveMask, Ty::U32, &[]));
        Ok(())
    }

    pub fn elect(&mut self, form: &mut Form<'a>) -> Lower {
        if !form.take(Mod::Sync) {
            return Err(form.unsupported());
        }
        form.end()?;
        let [d, mask] = form.exactly()?;
        let (d, p) = self.dst_pred(d, Scalar::B32)?;
        let mask = self.src(mask, Scalar::B32)?;
        let mut i = inst(Op::Elect, Ty::U32, &[mask]);
        i.pdst[0] = p;
        i.flags = Flags::SYNC;
        self.put_guarded(d, i);
        Ok(())
    }

    pub fn nanosleep(&mut self, form: &mut Form<'a>) -> Lower {
        form.ty_of(&[Scalar::U32])?;
        form.end()?;
        let [a] = form.exactly()?;
        let a = self.src(a, Scalar::U32)?;
        let guard = self.guard;
        self.push(Inst { guard, ..inst(Op::Nanosleep, Ty::U32, &[a]) });
        Ok(())
    }
}
