// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point arithmetic in all precisions (PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point Instructions").

use warpwatt_isa::{Flags, MinMax, MufuFn, Op, Round, Sub, TestProp, Ty};
use warpwatt_ptx::ast::Scalar;
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::types;
use crate::ir::{Inst, Opnd};

const FLOATS: [Scalar; 6] =
    [Scalar::F16, Scalar::F16x2, Scalar::Bf16, Scalar::Bf16x2, Scalar::F32, Scalar::F64];

/// The suffixes that arithmetic shares.
struct Arithmetic {
    rnd: Round,
    /// The rounding was written: the result is rounded by itself, never as part of a fused multiply-add.
    explicit: bool,
    flags: Flags,
    /// `None` for the pairs of `.f32x2`.
    ty: Option<Scalar>,
}

impl<'a> Lowerer<'a, '_> {
    fn arithmetic(&mut self, form: &mut Form<'a>) -> Lower<Arithmetic> {
        let rnd = form.round();
        let mut flags = form.float_flags();
        if form.take(Mod::Relu) {
            flags = flags | Flags::RELU;
        }
        if form.take(Mod::Oob) {
            flags = flags | Flags::OOB;
        }
        let ty = if form.take(Mod::F32x2) { None } else { Some(form.ty_of(&FLOATS)?) };
        form.end()?;
        let half = ty.is_some_and(|t| !matches!(t, Scalar::F32 | Scalar::F64));
        let directed = rnd.is_some_and(|r| r != Round::Rn);
        let only_half = flags.has(Flags::RELU) || flags.has(Flags::OOB);
        let bad_double = ty == Some(Scalar::F64) && flags != Flags::NONE;
        if (half && directed) || (!half && only_half) || bad_double {
            return Err(form.unsupported());
        }
        Ok(Arithmetic { rnd: rnd.unwrap_or(Round::Rn), explicit: rnd.is_some(), flags, ty })
    }

    /// Emits one operation of 2 or 3 sources, or two for the pairs of `.f32x2`.
    fn arithmetic_op(&mut self, form: &mut Form<'a>, op: Op, neg: u8) -> Lower {
        let kind = self.arithmetic(form)?;
        let sources = if op == Op::Ffma { 3 } else { 2 };
        let operands = form.operands(sources + 1, sources + 1)?;
        let scalar = kind.ty.unwrap_or(Scalar::B64);
        let mut srcs = Vec::with_capacity(3);
        for o in &operands[1..] {
            srcs.push(self.src(o, scalar)?);
        }
        let d = self.dst(&operands[0], scalar)?;
        let contract = op != Op::Ffma && !kind.explicit && kind.ty.is_some();
        let make = |ty: Ty, srcs: &[Opnd]| Inst {
            rnd: kind.rnd,
            flags: kind.flags,
            neg,
            contract,
            ..inst(op, ty, srcs)
        };
        let result = match kind.ty {
            Some(ty) => self.put(make(types::ty(ty), &srcs)),
            None => {
                let mut halves = [imm(0); 2];
                for (lane, half) in halves.iter_mut().enumerate() {
                    let words: Vec<Opnd> = srcs.iter().map(|&s| self.word(s, lane as u8)).collect();
                    *half = self.put(make(Ty::F32, &words));
                }
                self.pack(&halves)
            }
        };
        self.set(d, result);
        Ok(())
    }

    pub fn float_add(&mut self, form: &mut Form<'a>, is_sub: bool) -> Lower {
        self.arithmetic_op(form, Op::Fadd, if is_sub { 2 } else { 0 })
    }

    pub fn float_mul(&mut self, form: &mut Form<'a>) -> Lower {
        self.arithmetic_op(form, Op::Fmul, 0)
    }

    pub fn fma(&mut self, form: &mut Form<'a>) -> Lower {
        self.arithmetic_op(form, Op::Ffma, 0)
    }

    pub fn float_min(&mut self, form: &mut Form<'a>, which: MinMax) -> Lower {
        let mut flags = Flags::NONE;
        if form.take(Mod::Ftz) {
            flags = flags | Flags::FTZ;
        }
        if form.take(Mod::Nan) {
            flags = flags | Flags::NAN;
        }
        if form.take(Mod::XorsignAbs) {
            if !form.take(Mod::Abs) {
                return Err(form.unsupported());
            }
            flags = flags | Flags::XORSIGN_ABS;
        }
        let ty = form.ty_of(&FLOATS)?;
        form.end()?;
        let operands = form.operands(3, if ty == Scalar::F32 { 4 } else { 3 })?;
        let mut result = self.src(&operands[1], ty)?;
        let mut rest = Vec::new();
        for o in &operands[2..] {
            rest.push(self.src(o, ty)?);
        }
        let d = self.dst(&operands[0], ty)?;
        for b in rest {
            let i = Inst { flags, sub: Sub::MinMax(which), ..inst(Op::Fmnmx, types::ty(ty), &[result, b]) };
            result = self.put(i);
        }
        self.set(d, result);
        Ok(())
    }

    pub fn testp(&mut self, form: &mut Form<'a>) -> Lower {
        let property = form
            .pick(|m| {
                Some(match m {
                    Mod::Finite => TestProp::Finite,
                    Mod::Infinite => TestProp::Infinite,
                    Mod::Number => TestProp::Number,
                    Mod::Notanumber => TestProp::NotANumber,
                    Mod::Normal => TestProp::Normal,
                    Mod::Subnormal => TestProp::Subnormal,
                    _ => return None,
                })
            })
            .ok_or_else(|| form.unsupported())?;
        let ty = form.ty_of(&[Scalar::F32, Scalar::F64])?;
        form.end()?;
        let [p, a] = form.exactly()?;
        let a = self.src(a, ty)?;
        if let Some(p) = self.pred_dst(p)? {
            let holds =
                self.put_pred(Inst { sub: Sub::Testp(property), ..inst(Op::Testp, types::ty(ty), &[a]) });
            self.set_pred(p, holds);
        }
        Ok(())
    }

    pub fn copysign(&mut self, form: &mut Form<'a>) -> Lower {
        let ty = form.ty_of(&[Scalar::F32, Scalar::F64])?;
        form.end()?;
        let [d, a, b] = form.exactly()?;
        let (a, b, d) = (self.src(a, ty)?, self.src(b, ty)?, self.dst(d, ty)?);
        // The sign of a over the magnitude of b.
        let sign = imm(0x8000_0000);
        let result = if ty == Scalar::F64 {
            let (a_hi, b_lo, b_hi) = (self.hi(a), self.lo(b), self.hi(b));
            let high = self.lop(Ty::U32, 0xe4, a_hi, b_hi, sign);
            self.pack(&[b_lo, high])
        } else {
            self.lop(Ty::U32, 0xe4, a, b, sign)
        };
        self.set(d, result);
        Ok(())
    }

    /// Division, roots, exponentials and the like: what the special function unit does in one operation is emitted here,
    /// the rest is a sequence out of the library.
    pub fn function_unit(&mut self, form: &mut Form<'a>) -> Lower {
        let approx = form.has(Mod::Approx);
        let ftz = form.has(Mod::Ftz);
        let is = |m: Mod| form.instr.mods.last() == Some(&m);
        let single = approx && is(Mod::F32);
        let double = approx && ftz && is(Mod::F64);
        use MufuFn::*;
        let function = match form.instr.op {
            Opcode::Rcp if single && ftz => Rcp,
            Opcode::Rsqrt if single && ftz => Rsq,
            Opcode::Sqrt if single && ftz => Sqrt,
            Opcode::Ex2 if single && ftz => Ex2,
            Opcode::Lg2 if single && ftz => Lg2,
            Opcode::Sin if single => Sin,
            Opcode::Cos if single => Cos,
            Opcode::Tanh if single => Tanh,
            Opcode::Rcp if double => Rcp64h,
            Opcode::Rsqrt if double => Rsq64h,
            _ => return self.library_call(form),
        };
        form.take(Mod::Approx);
        let flags = if form.take(Mod::Ftz) { Flags::FTZ } else { Flags::NONE };
        let ty = form.ty()?;
        form.end()?;
        let [d, a] = form.exactly()?;
        let (a, d) = (self.src(a, ty)?, self.dst(d, ty)?);
        let unit =
            |a: Opnd, flags: Flags| Inst { sub: Sub::Mufu(function), flags, ..inst(Op::Mufu, Ty::F32, &[a]) };
        let result = match function {
            Rcp64h | Rsq64h => {
                let high = self.hi(a);
                let high = self.put(unit(high, Flags::NONE));
                self.pack(&[imm(0), high])
            }
            Sin | Cos => {
                // The unit takes revolutions: 1 / (2 pi), rounded to zero as hardware's sequence has it.
                let turns = Inst { rnd: Round::Rz, flags, ..inst(Op::Fmul, Ty::F32, &[a, imm(0x3e22_f983)]) };
                let turns = self.put(turns);
                self.put(unit(turns, flags))
            }
            _ => self.put(unit(a, flags)),
        };
        self.set(d, result);
        Ok(())
    }
}
