// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logic, shifts, bit fields and bit counts (PTX ISA, "Logic and Shift Instructions" and the bit operations of "Integer Arithmetic Instructions").

use warpwatt_isa::{BoolOp, Cmp, Flags, MinMax, Op, PrmtMode, Sub, Ty};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Operand, OperandKind, Scalar};
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::types;
use crate::ir::{Inst, Opnd};

const WORDS: [Scalar; 2] = [Scalar::B32, Scalar::B64];

impl<'a> Lowerer<'a, '_> {
    pub fn logic(&mut self, form: &mut Form<'a>) -> Lower {
        let op = form.instr.op;
        let ty = form.ty_of(&[Scalar::Pred, Scalar::B16, Scalar::B32, Scalar::B64])?;
        form.end()?;
        let unary = matches!(op, Opcode::Not | Opcode::Cnot);
        let operands = if unary { form.operands(2, 2)? } else { form.operands(3, 3)? };
        let lut = match op {
            Opcode::And => 0xc0,
            Opcode::Or => 0xfc,
            Opcode::Xor => 0x3c,
            _ => 0x0f,
        };
        if ty == Scalar::Pred {
            if op == Opcode::Cnot {
                return Err(form.unsupported());
            }
            let a = self.pred(&operands[1])?;
            let b = if unary { crate::ir::PredUse::TRUE } else { self.pred(&operands[2])? };
            if let Some(p) = self.pred_dst(&operands[0])? {
                let mut i = inst(Op::Plop3, Ty::Pred, &[]);
                i.sub = Sub::Lut(lut);
                i.psrc = [a, b, crate::ir::PredUse::TRUE];
                let result = self.put_pred(i);
                self.set_pred(p, result);
            }
            return Ok(());
        }
        let a = self.src(&operands[1], ty)?;
        let b = if unary { imm(0) } else { self.src(&operands[2], ty)? };
        let d = self.dst(&operands[0], ty)?;
        let wide = types::wide_ty(ty);
        let result = if op == Opcode::Cnot {
            let zero = self.compare(wide, Cmp::Eq, a, imm(0));
            self.select(wide, zero, imm(1), imm(0))
        } else {
            let result = self.lop(wide, lut, a, b, imm(0));
            if op == Opcode::Not { self.narrowed(result, ty) } else { result }
        };
        self.set(d, result);
        Ok(())
    }

    /// A constant operand, such as a truth table.
    pub fn constant(&self, o: &Operand) -> Lower<u64> {
        match o.kind {
            OperandKind::Int(v) => Ok(v),
            _ => Err(Diagnostic::error("ptx-operand", o.span, "this operand must be an integer constant")
                .with_help("write the number itself")),
        }
    }

    pub fn lop3(&mut self, form: &mut Form<'a>) -> Lower {
        let combine = bool_op(form);
        form.ty_of(&[Scalar::B32])?;
        form.end()?;
        let operands = if combine.is_some() { form.operands(6, 6)? } else { form.operands(5, 5)? };
        let (d, p) = self.dst_pred(&operands[0], Scalar::B32)?;
        let mut sources = [imm(0); 3];
        for (source, o) in sources.iter_mut().zip(&operands[1..4]) {
            *source = self.src(o, Scalar::B32)?;
        }
        let lut = self.constant(&operands[4])? as u8;
        let [a, b, c] = sources;
        let result = self.lop(Ty::U32, lut, a, b, c);
        match (combine, p) {
            (Some(combine), Some(p)) => {
                let q = self.pred(&operands[5])?;
                let mut test = inst(Op::Isetp, Ty::U32, &[result, imm(0)]);
                test.sub = Sub::Cmp(Cmp::Ne, combine);
                test.psrc[0] = q;
                let holds = self.put_pred(test);
                // The value first: the predicate may be the instruction's own guard.
                self.set(d, result);
                self.set_pred(p, holds);
            }
            (None, None) => self.set(d, result),
            _ => return Err(form.unsupported()),
        }
        Ok(())
    }

    pub fn shift(&mut self, form: &mut Form<'a>) -> Lower {
        let is_left = form.instr.op == Opcode::Shl;
        let ty = form.ty()?;
        form.end()?;
        let allowed = types::is_int(ty) && (16..=64).contains(&types::bits(ty));
        if !allowed || (is_left && types::kind(ty) != types::ScalarKind::Bits) {
            return Err(form.unsupported());
        }
        let [d, a, amount] = form.exactly()?;
        let (a, amount, d) = (self.src(a, ty)?, self.src(amount, Scalar::U32)?, self.dst(d, ty)?);
        let wide = types::wide_ty(ty);
        let result = if is_left {
            let shifted = self.shl(wide, a, amount);
            self.narrowed(shifted, ty)
        } else {
            let a = self.extended(a, ty);
            let shifted = self.shr(wide, a, amount);
            if types::is_signed(ty) { self.narrowed(shifted, ty) } else { shifted }
        };
        self.set(d, result);
        Ok(())
    }

    pub fn funnel(&mut self, form: &mut Form<'a>) -> Lower {
        let mut flags = match form.pick(|m| match m {
            Mod::L => Some(Flags::NONE),
            Mod::R => Some(Flags::RIGHT),
            _ => None,
        }) {
            Some(flags) => flags,
            None => return Err(form.unsupported()),
        };
        if form.take(Mod::Wrap) {
            flags = flags | Flags::WRAP;
        } else if !form.take(Mod::Clamp) {
            return Err(form.unsupported());
        }
        form.ty_of(&[Scalar::B32])?;
        form.end()?;
        let [d, a, b, c] = form.exactly()?;
        let (a, b) = (self.src(a, Scalar::B32)?, self.src(b, Scalar::B32)?);
        let (c, d) = (self.src(c, Scalar::U32)?, self.dst(d, Scalar::B32)?);
        let result = self.put(Inst { flags, ..inst(Op::Shf, Ty::U32, &[a, b, c]) });
        self.set(d, result);
        Ok(())
    }

    pub fn permute(&mut self, form: &mut Form<'a>) -> Lower {
        form.ty_of(&[Scalar::B32])?;
        let mode = form.pick(|m| {
            Some(match m {
                Mod::F4e => PrmtMode::F4e,
                Mod::B4e => PrmtMode::B4e,
                Mod::Rc8 => PrmtMode::Rc8,
                Mod::Ecl => PrmtMode::Ecl,
                Mod::Ecr => PrmtMode::Ecr,
                Mod::Rc16 => PrmtMode::Rc16,
                _ => return None,
            })
        });
        form.end()?;
        let [d, a, b, c] = form.exactly()?;
        let (a, b) = (self.src(a, Scalar::B32)?, self.src(b, Scalar::B32)?);
        let (c, d) = (self.src(c, Scalar::U32)?, self.dst(d, Scalar::B32)?);
        let result = self.op_sub(Op::Prmt, Ty::U32, mode.map_or(Sub::None, Sub::Prmt), &[a, b, c]);
        self.set(d, result);
        Ok(())
    }

    pub fn count_bits(&mut self, form: &mut Form<'a>) -> Lower {
        let op = form.instr.op;
        let shift_amount = op == Opcode::Bfind && form.take(Mod::Shiftamt);
        let ty = match op {
            Opcode::Bfind => form.ty_of(&[Scalar::U32, Scalar::S32, Scalar::U64, Scalar::S64])?,
            _ => form.ty_of(&WORDS)?,
        };
        form.end()?;
        let [d, a] = form.exactly()?;
        let result_type = if op == Opcode::Brev { ty } else { Scalar::U32 };
        let (a, d) = (self.src(a, ty)?, self.dst(d, result_type)?);
        let is_wide = types::bits(ty) == 64;
        let result = match op {
            Opcode::Popc if is_wide => {
                let (lo, hi) = (self.lo(a), self.hi(a));
                let (lo, hi) = (self.op(Op::Popc, Ty::U32, &[lo]), self.op(Op::Popc, Ty::U32, &[hi]));
                self.add(Ty::U32, lo, hi)
            }
            Opcode::Popc => self.op(Op::Popc, Ty::U32, &[a]),
            Opcode::Brev if is_wide => {
                let (lo, hi) = (self.lo(a), self.hi(a));
                let (lo, hi) = (self.op(Op::Brev, Ty::U32, &[lo]), self.op(Op::Brev, Ty::U32, &[hi]));
                self.pack(&[hi, lo])
            }
            Opcode::Brev => self.op(Op::Brev, Ty::U32, &[a]),
            Opcode::Clz if is_wide => {
                let position = self.find_wide(a);
                self.subtract(Ty::U32, imm(63), position)
            }
            // No bit at all is position -1: 32 leading zeros.
            Opcode::Clz => {
                let position = self.op(Op::Bfind, Ty::U32, &[a]);
                self.subtract(Ty::U32, imm(31), position)
            }
            _ if is_wide => {
                let a = if types::is_signed(ty) {
                    let sign = self.shr(Ty::S64, a, imm(63));
                    self.xor(Ty::U64, a, sign)
                } else {
                    a
                };
                let position = self.find_wide(a);
                if shift_amount {
                    let none = self.compare(Ty::S32, Cmp::Lt, position, imm(0));
                    let amount = self.subtract(Ty::U32, imm(63), position);
                    self.select(Ty::U32, none, imm(0xffff_ffff), amount)
                } else {
                    position
                }
            }
            _ => {
                let flags = if shift_amount { Flags::SHIFTAMT } else { Flags::NONE };
                self.put(Inst { flags, ..inst(Op::Bfind, types::ty(ty), &[a]) })
            }
        };
        self.set(d, result);
        Ok(())
    }

    /// Position of the highest 1 of a pair, -1 if there is none.
    fn find_wide(&mut self, a: Opnd) -> Opnd {
        let (lo, hi) = (self.lo(a), self.hi(a));
        let low_only = self.compare(Ty::U32, Cmp::Eq, hi, imm(0));
        let word = self.select(Ty::U32, low_only, lo, hi);
        let position = self.op(Op::Bfind, Ty::U32, &[word]);
        let base = self.select(Ty::U32, low_only, imm(0), imm(32));
        self.add(Ty::U32, position, base)
    }

    pub fn bit_field(&mut self, form: &mut Form<'a>) -> Lower {
        match form.instr.op {
            Opcode::Bfe => self.bfe(form),
            Opcode::Bfi => self.bfi(form),
            Opcode::Fns => self.library_call(form),
            _ => self.masks(form),
        }
    }

    fn bfe(&mut self, form: &mut Form<'a>) -> Lower {
        let ty = form.ty_of(&[Scalar::U32, Scalar::S32, Scalar::U64, Scalar::S64])?;
        form.end()?;
        let [d, a, position, length] = form.exactly()?;
        let a = self.src(a, ty)?;
        let (position, length) = (self.src(position, Scalar::U32)?, self.src(length, Scalar::U32)?);
        let d = self.dst(d, ty)?;
        if types::bits(ty) == 32 {
            let result = self.op(Op::Bfe, types::ty(ty), &[a, position, length]);
            self.set(d, result);
            return Ok(());
        }
        let (position, length) = (self.low_bits(position, 8), self.low_bits(length, 8));
        let result = if types::is_signed(ty) {
            // The top bit of the field is shifted to bit 63, then the field is shifted back with its sign.
            let (above, down) = match (position, length) {
                (Opnd::Imm(p), Opnd::Imm(l)) => {
                    let above = 64u64.saturating_sub(p + l);
                    (imm(above), imm(above + p))
                }
                _ => {
                    let end = self.add(Ty::U32, position, length);
                    let end = self.min_max(Ty::U32, MinMax::Min, end, imm(64));
                    let above = self.subtract(Ty::U32, imm(64), end);
                    let down = self.add(Ty::U32, above, position);
                    (above, down)
                }
            };
            let raised = self.shl(Ty::U64, a, above);
            let field = self.shr(Ty::S64, raised, down);
            match length {
                Opnd::Imm(0) => imm(0),
                Opnd::Imm(_) => field,
                length => {
                    let empty = self.compare(Ty::U32, Cmp::Eq, length, imm(0));
                    self.select(Ty::U64, empty, imm(0), field)
                }
            }
        } else {
            let moved = self.shr(Ty::U64, a, position);
            let mask = self.field_mask(length);
            self.and(Ty::U64, moved, mask)
        };
        self.set(d, result);
        Ok(())
    }

    /// The lowest `length` bits of a pair.
    fn field_mask(&mut self, length: Opnd) -> Opnd {
        match length {
            Opnd::Imm(n) => imm(types::mask(n.min(64) as u32)),
            length => {
                let above = self.shl(Ty::U64, imm(u64::MAX), length);
                self.lop(Ty::U64, 0x0f, above, imm(0), imm(0))
            }
        }
    }

    fn bfi(&mut self, form: &mut Form<'a>) -> Lower {
        let ty = form.ty_of(&WORDS)?;
        form.end()?;
        let [d, a, b, position, length] = form.exactly()?;
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let (position, length) = (self.src(position, Scalar::U32)?, self.src(length, Scalar::U32)?);
        let d = self.dst(d, ty)?;
        let result = if ty == Scalar::B32 {
            self.op(Op::Bfi, Ty::U32, &[a, b, position, length])
        } else {
            let (position, length) = (self.low_bits(position, 8), self.low_bits(length, 8));
            let mask = self.field_mask(length);
            let mask = match (mask, position) {
                (Opnd::Imm(m), Opnd::Imm(p)) => imm(m.checked_shl(p as u32).unwrap_or(0)),
                (mask, position) => self.shl(Ty::U64, mask, position),
            };
            let moved = self.shl(Ty::U64, a, position);
            // The field where the mask is set, the old value elsewhere.
            self.lop(Ty::U64, 0xe4, moved, b, mask)
        };
        self.set(d, result);
        Ok(())
    }

    /// `bmsk` and `szext`.
    fn masks(&mut self, form: &mut Form<'a>) -> Lower {
        let is_mask = form.instr.op == Opcode::Bmsk;
        let wrap = form.take(Mod::Wrap);
        if !wrap && !form.take(Mod::Clamp) {
            return Err(form.unsupported());
        }
        let ty = if is_mask { form.ty_of(&[Scalar::B32])? } else { form.ty_of(&[Scalar::U32, Scalar::S32])? };
        form.end()?;
        let [d, a, b] = form.exactly()?;
        let (a, b, d) = (self.src(a, ty)?, self.src(b, Scalar::U32)?, self.dst(d, ty)?);
        let count = if wrap { self.low_bits(b, 5) } else { b };
        let result = if is_mask {
            let start = if wrap { self.low_bits(a, 5) } else { a };
            let above = self.shl(Ty::U32, imm(0xffff_ffff), count);
            let mask = self.lop(Ty::U32, 0x0f, above, imm(0), imm(0));
            self.shl(Ty::U32, mask, start)
        } else {
            let count = if wrap { count } else { self.min_max(Ty::U32, MinMax::Min, count, imm(32)) };
            self.op(Op::Bfe, types::ty(ty), &[a, imm(0), count])
        };
        self.set(d, result);
        Ok(())
    }
}

/// `.and`, `.or`, `.xor` as the operator that combines a comparison with a predicate.
pub fn bool_op(form: &mut Form) -> Option<BoolOp> {
    form.pick(|m| match m {
        Mod::And => Some(BoolOp::And),
        Mod::Or => Some(BoolOp::Or),
        Mod::Xor => Some(BoolOp::Xor),
        _ => None,
    })
}
