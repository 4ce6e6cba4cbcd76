// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

use warpwatt_isa::{BoolOp, Cmp, Flags, Op, Sub, Ty};
use warpwatt_ptx::ast::{Operand, Scalar};
use warpwatt_ptx::words::Mod;

use super::bits::bool_op;
use super::build::{Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::types;
use crate::ir::{Inst, PredUse, Value};

/// A comparison and whether it is only for unsigned integers (`lo`, `ls`, `hi`, `hs`).
fn comparison(form: &mut Form) -> Lower<(Cmp, bool)> {
    let found = form.pick(|m| {
        Some(match m {
            Mod::Eq => (Cmp::Eq, false),
            Mod::Ne => (Cmp::Ne, false),
            Mod::Lt => (Cmp::Lt, false),
            Mod::Le => (Cmp::Le, false),
            Mod::Gt => (Cmp::Gt, false),
            Mod::Ge => (Cmp::Ge, false),
            Mod::Lo => (Cmp::Lt, true),
            Mod::Ls => (Cmp::Le, true),
            Mod::Hi => (Cmp::Gt, true),
            Mod::Hs => (Cmp::Ge, true),
            Mod::Equ => (Cmp::Equ, false),
            Mod::Neu => (Cmp::Neu, false),
            Mod::Ltu => (Cmp::Ltu, false),
            Mod::Leu => (Cmp::Leu, false),
            Mod::Gtu => (Cmp::Gtu, false),
            Mod::Geu => (Cmp::Geu, false),
            Mod::Num => (Cmp::Num, false),
            Mod::NanTest | Mod::Nan => (Cmp::Nan, false),
            _ => return None,
        })
    });
    found.ok_or_else(|| form.unsupported())
}

impl<'a> Lowerer<'a, '_> {
    /// The comparison itself, without results.
    fn comparison_inst(
        &mut self,
        form: &Form<'a>,
        (cmp, unsigned): (Cmp, bool),
        combine: Option<BoolOp>,
        (ty, flags): (Scalar, Flags),
        operands: &[Operand],
    ) -> Lower<Inst> {
        let (a, b) = (self.src(&operands[0], ty)?, self.src(&operands[1], ty)?);
        let with = match operands.get(2) {
            Some(c) => self.pred(c)?,
            None => PredUse::TRUE,
        };
        let is_float = types::is_float(ty);
        let order_only = !matches!(cmp, Cmp::Eq | Cmp::Ne);
        let ordered_for_floats = !matches!(cmp, Cmp::Eq | Cmp::Ne | Cmp::Lt | Cmp::Le | Cmp::Gt | Cmp::Ge);
        let mistaken = if is_float {
            unsigned || ty == Scalar::Tf32
        } else {
            flags != Flags::NONE
                || ordered_for_floats
                || types::bits(ty) < 16
                || (types::kind(ty) == types::ScalarKind::Bits && order_only)
                || (unsigned && types::is_signed(ty))
        };
        if mistaken || combine.is_some() != operands.get(2).is_some() {
            return Err(form.unsupported());
        }
        let mut i = if is_float {
            Inst { flags, ..inst(Op::Fsetp, types::ty(ty), &[a, b]) }
        } else if order_only {
            let (a, b) = (self.extended(a, ty), self.extended(b, ty));
            inst(Op::Isetp, types::wide_ty(ty), &[a, b])
        } else {
            // Equality does not care how narrow values are extended.
            inst(Op::Isetp, types::wide_ty(ty), &[a, b])
        };
        i.sub = Sub::Cmp(cmp, combine.unwrap_or(BoolOp::And));
        i.psrc[0] = with;
        Ok(i)
    }

    pub fn setp(&mut self, form: &mut Form<'a>) -> Lower {
        let cmp = comparison(form)?;
        let combine = bool_op(form);
        let flags = if form.take(Mod::Ftz) { Flags::FTZ } else { Flags::NONE };
        let ty = form.ty()?;
        form.end()?;
        let operands = form.operands(3, 4)?;
        let mut i = self.comparison_inst(form, cmp, combine, (ty, flags), &operands[1..])?;
        i.pdst = self.pred_pair(&operands[0])?;
        i.guard = self.guard;
        // The machine's first result has to be there when the second is.
        if i.pdst[0].is_none() {
            i.pdst[0] = Some(self.temp(0));
        }
        self.push(i);
        Ok(())
    }

    pub fn set_compare(&mut self, form: &mut Form<'a>) -> Lower {
        let cmp = comparison(form)?;
        let combine = bool_op(form);
        let flags = if form.take(Mod::Ftz) { Flags::FTZ } else { Flags::NONE };
        let to = form.ty()?;
        let ty = form.ty()?;
        form.end()?;
        let operands = form.operands(3, 4)?;
        let i = self.comparison_inst(form, cmp, combine, (ty, flags), &operands[1..])?;
        let packed = matches!(ty, Scalar::F16x2 | Scalar::Bf16x2);
        if packed {
            let (yes, d) = match to {
                Scalar::F16x2 => (0x3c00, self.dst(&operands[0], to)?),
                Scalar::Bf16x2 => (0x3f80, self.dst(&operands[0], to)?),
                // A mask for each half.
                Scalar::U32 | Scalar::S32 => (0xffff, self.dst(&operands[0], to)?),
                _ => return Err(form.unsupported()),
            };
            let (low, high): (Value, Value) = (self.temp(0), self.temp(0));
            self.push(Inst { pdst: [Some(low), Some(high)], ..i });
            let low = self.select(Ty::U32, PredUse::of(low), imm(yes), imm(0));
            let high = self.select(Ty::U32, PredUse::of(high), imm(yes << 16), imm(0));
            let result = self.or(Ty::U32, low, high);
            self.set(d, result);
            return Ok(());
        }
        let yes = match to {
            Scalar::U32 | Scalar::S32 => 0xffff_ffff,
            Scalar::F32 => 0x3f80_0000,
            Scalar::U16 | Scalar::S16 => 0xffff,
            Scalar::F16 => 0x3c00,
            Scalar::Bf16 => 0x3f80,
            _ => return Err(form.unsupported()),
        };
        let d = self.dst(&operands[0], to)?;
        let holds = self.put_pred(i);
        let result = self.select(Ty::U32, holds, imm(yes), imm(0));
        self.set(d, result);
        Ok(())
    }

    pub fn selp(&mut self, form: &mut Form<'a>) -> Lower {
        let ty = form.ty()?;
        form.end()?;
        let [d, a, b, p] = form.exactly()?;
        if ty == Scalar::Pred {
            return Err(form.unsupported());
        }
        let (a, b, p) = (self.src(a, ty)?, self.src(b, ty)?, self.pred(p)?);
        let d = self.dst(d, ty)?;
        let wide = if types::words(ty) == 4 {
            Ty::B128
        } else if types::bits(ty) == 64 {
            Ty::U64
        } else {
            Ty::U32
        };
        let result = self.select(wide, p, a, b);
        self.set(d, result);
        Ok(())
    }

    pub fn slct(&mut self, form: &mut Form<'a>) -> Lower {
        let flags = if form.take(Mod::Ftz) { Flags::FTZ } else { Flags::NONE };
        let ty = form.ty()?;
        let test = form.ty_of(&[Scalar::S32, Scalar::F32])?;
        form.end()?;
        if !(16..=64).contains(&types::bits(ty)) || (flags != Flags::NONE && test != Scalar::F32) {
            return Err(form.unsupported());
        }
        let [d, a, b, c] = form.exactly()?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, test)?);
        let d = self.dst(d, ty)?;
        let p = if test == Scalar::F32 {
            let i =
                Inst { flags, sub: Sub::Cmp(Cmp::Ge, BoolOp::And), ..inst(Op::Fsetp, Ty::F32, &[c, imm(0)]) };
            self.put_pred(i)
        } else {
            self.compare(Ty::S32, Cmp::Ge, c, imm(0))
        };
        let wide = if types::bits(ty) == 64 { Ty::U64 } else { Ty::U32 };
        let result = self.select(wide, p, a, b);
        self.set(d, result);
        Ok(())
    }
}
