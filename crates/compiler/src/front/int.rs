// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions").

use warpwatt_isa::{Cmp, Flags, MinMax, Op, Ty};
use warpwatt_ptx::ast::Scalar;
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Dst, Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::types;
use crate::ir::{Inst, Opnd, PredUse};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Lo,
    Hi,
    Wide,
}

impl<'a> Lowerer<'a, '_> {
    pub fn add_sub(&mut self, form: &mut Form<'a>) -> Lower {
        let op = form.instr.op;
        let is_sub = matches!(op, Opcode::Sub | Opcode::Subc);
        let carry_in = matches!(op, Opcode::Addc | Opcode::Subc);
        let carry_out = form.take(Mod::Cc);
        if form.instr.mods.iter().any(|&m| types::of_mod(m).is_some_and(types::is_float) || m == Mod::F32x2) {
            return if carry_in || carry_out {
                Err(form.unsupported())
            } else {
                self.float_add(form, is_sub)
            };
        }
        let saturate = form.take(Mod::Sat);
        let packed = form.take(Mod::U16x2) || form.take(Mod::S16x2);
        let ty = if packed { Scalar::U32 } else { form.ty()? };
        form.end()?;
        let [d, a, b] = form.exactly()?;
        let narrow = types::bits(ty) == 16;
        if !types::is_int(ty)
            || types::kind(ty) == types::ScalarKind::Bits && !(carry_in || carry_out)
            || types::bits(ty) < 16
        {
            return Err(form.unsupported());
        }
        let (a, b, d) = (self.src(a, ty)?, self.src(b, ty)?, self.dst(d, ty)?);
        let wide = types::wide_ty(ty);
        if packed {
            if saturate {
                return Err(form.unsupported());
            }
            let result = self.halves(is_sub, a, b);
            self.set(d, result);
            return Ok(());
        }
        if carry_in || carry_out {
            if narrow || saturate {
                return Err(form.unsupported());
            }
            self.add_carry(d, a, b, is_sub, carry_in, carry_out);
            return Ok(());
        }
        if saturate {
            if ty != Scalar::S32 {
                return Err(form.unsupported());
            }
            let result = self.saturated(a, b, is_sub);
            self.set(d, result);
            return Ok(());
        }
        let sum = if is_sub { self.subtract(wide, a, b) } else { self.add(wide, a, b) };
        let result = self.narrowed(sum, ty);
        self.set(d, result);
        Ok(())
    }

    /// Two 16-bit sums in one word: the upper one must not see the carry of the lower one.
    fn halves(&mut self, is_sub: bool, a: Opnd, b: Opnd) -> Opnd {
        let mut part = |shift: u64| {
            let (x, y) = (self.shr(Ty::U32, a, imm(shift)), self.shr(Ty::U32, b, imm(shift)));
            if is_sub { self.subtract(Ty::U32, x, y) } else { self.add(Ty::U32, x, y) }
        };
        let (lo, hi) = (part(0), part(16));
        self.op(Op::Prmt, Ty::U32, &[lo, hi, imm(0x5410)])
    }

    /// `a + b` or `a - b`, clamped to the range of a signed word.
    fn saturated(&mut self, a: Opnd, b: Opnd, is_sub: bool) -> Opnd {
        let sum = if is_sub { self.subtract(Ty::U32, a, b) } else { self.add(Ty::U32, a, b) };
        // Overflow: the operands' signs agree (differ, when subtracting) and the sum's sign is another.
        let lut = if is_sub { (0xf0 ^ 0xcc) & (0xf0 ^ 0xaa) } else { (0xf0 ^ 0xaa) & (0xcc ^ 0xaa) };
        let overflow = self.lop(Ty::U32, lut, a, b, sum);
        let overflowed = self.compare(Ty::S32, Cmp::Lt, overflow, imm(0));
        let sign = self.shr(Ty::S32, a, imm(31));
        let limit = self.xor(Ty::U32, sign, imm(0x7fff_ffff));
        self.select(Ty::U32, overflowed, limit, sum)
    }

    /// Addition or subtraction with the carry flag. The flag holds the adder's carry: after a subtraction, "no borrow".
    fn add_carry(&mut self, d: Dst, a: Opnd, b: Opnd, is_sub: bool, carry_in: bool, carry_out: bool) {
        let flag = self.carry_flag();
        let guard = self.guard;
        let is_wide = matches!(d, Dst::Reg(_, s) if types::bits(s) == 64) || self.words_of(a) == 2;
        let one = |this: &Self, a: Opnd, b: Opnd, carry: Option<PredUse>| {
            let _ = this;
            let mut i = inst(Op::Iadd3, Ty::U32, &[a, b, imm(0)]);
            i.neg = if is_sub { 2 } else { 0 };
            if let Some(p) = carry {
                i.flags = Flags::CARRY_IN;
                i.psrc[0] = p;
            }
            i
        };
        let first_carry = carry_in.then_some(PredUse::of(flag));
        if is_wide {
            let (a0, a1, b0, b1) = (self.lo(a), self.hi(a), self.lo(b), self.hi(b));
            let between = self.temp(0);
            let mut low = one(self, a0, b0, first_carry);
            low.pdst[0] = Some(between);
            let lo = self.put(low);
            let mut high = one(self, a1, b1, Some(PredUse::of(between)));
            high.pdst[0] = carry_out.then_some(flag);
            if carry_out {
                // Lanes without the guard keep their flag; the sum itself is harmless.
                high.guard = guard;
            }
            let hi = self.put(high);
            let result = self.pack(&[lo, hi]);
            self.set(d, result);
            return;
        }
        let mut sum = one(self, a, b, first_carry);
        sum.pdst[0] = carry_out.then_some(flag);
        sum.guard = guard;
        let result = self.put(sum);
        self.set(d, result);
    }

    pub fn multiply(&mut self, form: &mut Form<'a>) -> Lower {
        let op = form.instr.op;
        let is_mad = matches!(op, Opcode::Mad | Opcode::Madc | Opcode::Mad24);
        if form.instr.mods.iter().any(|&m| types::of_mod(m).is_some_and(types::is_float) || m == Mod::F32x2) {
            return match op {
                Opcode::Mul => self.float_mul(form),
                Opcode::Mad => self.fma(form),
                _ => Err(form.unsupported()),
            };
        }
        let half = form
            .pick(|m| match m {
                Mod::Lo => Some(Half::Lo),
                Mod::Hi => Some(Half::Hi),
                Mod::Wide => Some(Half::Wide),
                _ => None,
            })
            .ok_or_else(|| form.unsupported())?;
        let carry_out = form.take(Mod::Cc);
        let carry_in = op == Opcode::Madc;
        let saturate = form.take(Mod::Sat);
        let ty = form.ty_of(&[
            Scalar::U16,
            Scalar::S16,
            Scalar::U32,
            Scalar::S32,
            Scalar::U64,
            Scalar::S64,
            Scalar::B32,
            Scalar::B64,
        ])?;
        form.end()?;
        let operands = if is_mad { form.operands(4, 4)? } else { form.operands(3, 3)? };
        let wide_type = match (half, ty) {
            (Half::Wide, Scalar::U16) => Scalar::U32,
            (Half::Wide, Scalar::S16) => Scalar::S32,
            (Half::Wide, Scalar::U32) => Scalar::U64,
            (Half::Wide, Scalar::S32) => Scalar::S64,
            (Half::Wide, _) => return Err(form.unsupported()),
            (_, ty) => ty,
        };
        let (a, b) = (self.src(&operands[1], ty)?, self.src(&operands[2], ty)?);
        let c = if is_mad { Some(self.src(&operands[3], wide_type)?) } else { None };
        let d = self.dst(&operands[0], wide_type)?;
        if saturate && (ty != Scalar::S32 || half != Half::Hi || carry_in || carry_out) {
            return Err(form.unsupported());
        }
        if matches!(op, Opcode::Mul24 | Opcode::Mad24) {
            if !matches!(ty, Scalar::U32 | Scalar::S32) || half == Half::Wide {
                return Err(form.unsupported());
            }
            let product = self.multiply24(ty, half, a, b);
            let result = match c {
                Some(c) if saturate => self.saturated(product, c, false),
                Some(c) => self.add(Ty::U32, product, c),
                None => product,
            };
            self.set(d, result);
            return Ok(());
        }
        if carry_in || carry_out {
            if half == Half::Wide || types::bits(ty) < 32 {
                return Err(form.unsupported());
            }
            let product = self.product(ty, half, a, b, imm(0));
            self.add_carry(d, product, c.unwrap_or(imm(0)), false, carry_in, carry_out);
            return Ok(());
        }
        let result = if saturate {
            let product = self.product(ty, half, a, b, imm(0));
            self.saturated(product, c.unwrap_or(imm(0)), false)
        } else {
            self.product(ty, half, a, b, c.unwrap_or(imm(0)))
        };
        self.set(d, result);
        Ok(())
    }

    /// The chosen half of `a * b`, plus `c`, in the instruction's type.
    fn product(&mut self, ty: Scalar, half: Half, a: Opnd, b: Opnd, c: Opnd) -> Opnd {
        let wide = types::wide_ty(ty);
        match (types::bits(ty), half) {
            (16, _) => {
                // The low half does not depend on how the factors are extended.
                let (a, b) = match half {
                    Half::Lo => (a, b),
                    _ => (self.extended(a, ty), self.extended(b, ty)),
                };
                match half {
                    Half::Wide => self.op(Op::Imad, wide, &[a, b, c]),
                    Half::Lo => {
                        let product = self.op(Op::Imad, wide, &[a, b, c]);
                        self.low_bits(product, 16)
                    }
                    Half::Hi => {
                        let product = self.mul(wide, a, b);
                        let high = self.shr(Ty::U32, product, imm(16));
                        let sum = if c == imm(0) { high } else { self.add(Ty::U32, high, c) };
                        self.low_bits(sum, 16)
                    }
                }
            }
            (32, Half::Lo) => self.op(Op::Imad, wide, &[a, b, c]),
            (32, Half::Hi) => self.op(Op::ImadHi, wide, &[a, b, c]),
            (32, Half::Wide) => self.op(Op::ImadWide, wide, &[a, b, c]),
            (_, Half::Hi) => {
                let high = self.high_product(types::is_signed(ty), a, b);
                if c == imm(0) { high } else { self.add(Ty::U64, high, c) }
            }
            _ => self.op(Op::Imad, wide, &[a, b, c]),
        }
    }

    /// Upper 64 bits of a 64 x 64 product from four 32-bit ones.
    pub fn high_product(&mut self, signed: bool, a: Opnd, b: Opnd) -> Opnd {
        let (a0, a1, b0, b1) = (self.lo(a), self.hi(a), self.lo(b), self.hi(b));
        let low = self.op(Op::ImadHi, Ty::U32, &[a0, b0, imm(0)]);
        let low = self.widened(low, false);
        let mid = self.op(Op::ImadWide, Ty::U32, &[a1, b0, low]);
        let (mid0, mid1) = (self.lo(mid), self.hi(mid));
        let mid0 = self.widened(mid0, false);
        let other = self.op(Op::ImadWide, Ty::U32, &[a0, b1, mid0]);
        let other1 = self.hi(other);
        let (mid1, other1) = (self.widened(mid1, false), self.widened(other1, false));
        let carried = self.add(Ty::U64, mid1, other1);
        let mut high = self.op(Op::ImadWide, Ty::U32, &[a1, b1, carried]);
        if signed {
            // A negative factor counts 2^64 too much: take the other factor off the upper half.
            for (x1, y) in [(a1, b), (b1, a)] {
                let negative = self.compare(Ty::S32, Cmp::Lt, x1, imm(0));
                let excess = self.select(Ty::U64, negative, y, imm(0));
                high = self.subtract(Ty::U64, high, excess);
            }
        }
        high
    }

    fn multiply24(&mut self, ty: Scalar, half: Half, a: Opnd, b: Opnd) -> Opnd {
        let wide = types::wide_ty(ty);
        let a = self.op(Op::Bfe, wide, &[a, imm(0), imm(24)]);
        let b = self.op(Op::Bfe, wide, &[b, imm(0), imm(24)]);
        if half == Half::Lo {
            return self.mul(wide, a, b);
        }
        let product = self.op(Op::ImadWide, wide, &[a, b, imm(0)]);
        let (lo, hi) = (self.lo(product), self.hi(product));
        self.put(Inst { flags: Flags::RIGHT, ..inst(Op::Shf, Ty::U32, &[lo, hi, imm(16)]) })
    }

    pub fn sad(&mut self, form: &mut Form<'a>) -> Lower {
        let ty =
            form.ty_of(&[Scalar::U16, Scalar::S16, Scalar::U32, Scalar::S32, Scalar::U64, Scalar::S64])?;
        form.end()?;
        let [d, a, b, c] = form.exactly()?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, ty)?);
        let d = self.dst(d, ty)?;
        let wide = types::wide_ty(ty);
        let result = if types::bits(ty) == 64 {
            let (low, high) = (self.min_max(wide, MinMax::Min, a, b), self.min_max(wide, MinMax::Max, a, b));
            let difference = self.subtract(Ty::U64, high, low);
            self.add(Ty::U64, difference, c)
        } else {
            let (a, b) = (self.extended(a, ty), self.extended(b, ty));
            let sum = self.op(Op::Isad, wide, &[a, b, c]);
            self.narrowed(sum, ty)
        };
        self.set(d, result);
        Ok(())
    }

    pub fn minimum(&mut self, form: &mut Form<'a>) -> Lower {
        let which = if form.instr.op == Opcode::Min { MinMax::Min } else { MinMax::Max };
        if form.instr.mods.iter().any(|&m| types::of_mod(m).is_some_and(types::is_float)) {
            return self.float_min(form, which);
        }
        let relu = form.take(Mod::Relu);
        let packed = form.pick(|m| match m {
            Mod::U16x2 => Some(Scalar::U16),
            Mod::S16x2 => Some(Scalar::S16),
            _ => None,
        });
        let ty = match packed {
            Some(_) => Scalar::U32,
            None => {
                form.ty_of(&[Scalar::U16, Scalar::S16, Scalar::U32, Scalar::S32, Scalar::U64, Scalar::S64])?
            }
        };
        if relu && ty != Scalar::S32 && packed != Some(Scalar::S16) {
            return Err(form.unsupported());
        }
        form.end()?;
        let [d, a, b] = form.exactly()?;
        let (a, b, d) = (self.src(a, ty)?, self.src(b, ty)?, self.dst(d, ty)?);
        let wide = types::wide_ty(packed.unwrap_or(ty));
        let one = |this: &mut Self, a: Opnd, b: Opnd| {
            let result = this.min_max(wide, which, a, b);
            if relu { this.min_max(wide, MinMax::Max, result, imm(0)) } else { result }
        };
        let result = match packed {
            Some(half) => {
                let mut at = |shift: u64| {
                    let (x, y) = (self.shr(Ty::U32, a, imm(shift)), self.shr(Ty::U32, b, imm(shift)));
                    let (x, y) = (self.low_bits(x, 16), self.low_bits(y, 16));
                    let (x, y) = (self.extended(x, half), self.extended(y, half));
                    one(self, x, y)
                };
                let (lo, hi) = (at(0), at(16));
                self.op(Op::Prmt, Ty::U32, &[lo, hi, imm(0x5410)])
            }
            None => {
                let (a, b) = (self.extended(a, ty), self.extended(b, ty));
                let result = one(self, a, b);
                self.narrowed(result, ty)
            }
        };
        self.set(d, result);
        Ok(())
    }

    pub fn abs_neg(&mut self, form: &mut Form<'a>) -> Lower {
        let is_neg = form.instr.op == Opcode::Neg;
        let flags = if form.take(Mod::Ftz) { Flags::FTZ } else { Flags::NONE };
        let ty = form.ty()?;
        form.end()?;
        let [d, a] = form.exactly()?;
        let (a, d) = (self.src(a, ty)?, self.dst(d, ty)?);
        let result = match types::kind(ty) {
            types::ScalarKind::Float if ty != Scalar::Tf32 => {
                self.modified(types::ty(ty), a, is_neg, !is_neg, flags)
            }
            types::ScalarKind::Signed if types::bits(ty) >= 16 && flags == Flags::NONE => {
                let wide = types::wide_ty(ty);
                let result = if is_neg {
                    self.put(Inst { neg: 1, ..inst(Op::Iadd3, wide, &[a, imm(0), imm(0)]) })
                } else {
                    let a = self.extended(a, ty);
                    self.op(Op::Iabs, wide, &[a])
                };
                self.narrowed(result, ty)
            }
            _ => return Err(form.unsupported()),
        };
        self.set(d, result);
        Ok(())
    }

    pub fn dot(&mut self, form: &mut Form<'a>) -> Lower {
        let is_two = form.instr.op == Opcode::Dp2a;
        let flags = match form.pick(|m| match m {
            Mod::Lo => Some(false),
            Mod::Hi => Some(true),
            _ => None,
        }) {
            Some(high) if is_two => {
                if high {
                    Flags::HIGH
                } else {
                    Flags::NONE
                }
            }
            None if !is_two => Flags::NONE,
            _ => return Err(form.unsupported()),
        };
        let words = [Scalar::U32, Scalar::S32];
        let (a_ty, b_ty) = (form.ty_of(&words)?, form.ty_of(&words)?);
        form.end()?;
        let [d, a, b, c] = form.exactly()?;
        let (a, b) = (self.src(a, a_ty)?, self.src(b, b_ty)?);
        let sum = if types::is_signed(a_ty) || types::is_signed(b_ty) { Scalar::S32 } else { Scalar::U32 };
        let (c, d) = (self.src(c, sum)?, self.dst(d, sum)?);
        let op = if is_two { Op::Dp2a } else { Op::Dp4a };
        let result = self.put(Inst { ty2: types::ty(b_ty), flags, ..inst(op, types::ty(a_ty), &[a, b, c]) });
        self.set(d, result);
        Ok(())
    }
}
