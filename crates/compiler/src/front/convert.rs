// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions (PTX ISA, "cvt", "cvt.pack"). Integer sources are brought to 32 or 64 bits first, integer results are cut afterwards, so that
//! the machine's conversion only knows 32- and 64-bit integers.

use warpwatt_isa::{Cmp, Flags, MinMax, Op, Round, Ty};
use warpwatt_ptx::ast::Scalar;
use warpwatt_ptx::words::Mod;

use super::build::{Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::operand::Fit;
use super::types;
use crate::ir::{Inst, Opnd};

/// The types, rounding modes and flags of a `cvt`.
#[derive(Clone, Copy)]
struct Conversion {
    to: Scalar,
    from: Scalar,
    rnd: Option<Round>,
    /// Rounding to an integral value (`.rni` and the like).
    to_int: Option<Round>,
    flags: Flags,
}

impl<'a> Lowerer<'a, '_> {
    pub fn convert(&mut self, form: &mut Form<'a>) -> Lower {
        if form.take_other(&["pack"]) {
            return self.convert_pack(form);
        }
        if form.instr.mods.iter().any(|m| matches!(m, Mod::E4m3x2 | Mod::E5m2x2)) {
            return self.library_call(form);
        }
        let to_int = form.pick(|m| match m {
            Mod::Rni => Some(Round::Rn),
            Mod::Rzi => Some(Round::Rz),
            Mod::Rmi => Some(Round::Rm),
            Mod::Rpi => Some(Round::Rp),
            _ => None,
        });
        let rnd = form.round().or_else(|| form.take(Mod::Rna).then_some(Round::Rna));
        let mut flags = form.float_flags();
        if form.take(Mod::Relu) {
            flags = flags | Flags::RELU;
        }
        if form.take(Mod::Satfinite) {
            flags = flags | Flags::SATFINITE;
        }
        let (to, from) = (form.ty()?, form.ty()?);
        form.end()?;
        if matches!(to, Scalar::F16x2 | Scalar::Bf16x2) {
            return self.convert_pair(form, to, from, rnd, flags);
        }
        let [d, a] = form.exactly()?;
        let (a, reg) = self.src_typed(a, from, Fit::Wide)?;
        let d = self.dst_fit(d, to, Fit::Wide)?;
        // The source type may be narrower than its register: its low bits count.
        let a = if types::bits(reg) > types::bits(from) {
            let word = if types::bits(reg) >= 64 && types::bits(from) <= 32 { self.lo(a) } else { a };
            // Sign extension reads no more than those bits anyway.
            if types::is_signed(from) { word } else { self.low_bits(word, types::bits(from)) }
        } else {
            a
        };
        let kinds = Conversion { to, from, rnd, to_int, flags };
        let result = match (types::is_float(to), types::is_float(from)) {
            (false, false) => {
                if rnd.is_some() || to_int.is_some() || flags.without(Flags::SAT) != Flags::NONE {
                    return Err(form.unsupported());
                }
                self.int_to_int(a, to, from, flags.has(Flags::SAT))
            }
            (true, false) => self.int_to_float(form, a, kinds)?,
            (false, true) => self.float_to_int(form, a, kinds)?,
            (true, true) if to == Scalar::Tf32 => self.tf32(form, a, from, rnd, flags)?,
            (true, true) => self.float_to_float(form, a, kinds)?,
        };
        if types::is_int(to) {
            self.set_extended(d, result, to)
        } else {
            self.set_float(d, result, to)
        }
        Ok(())
    }

    fn int_to_float(&mut self, form: &Form<'a>, a: Opnd, kinds: Conversion) -> Lower<Opnd> {
        let Conversion { to, from, rnd, to_int, flags } = kinds;
        let bad = to_int.is_some() || flags.without(Flags::SAT) != Flags::NONE || to == Scalar::Tf32;
        let Some(rnd) = rnd.filter(|&rnd| !bad && rnd != Round::Rna) else { return Err(form.unsupported()) };
        let source = self.extended(a, from);
        let i = Inst { rnd, flags, ty2: types::wide_ty(from), ..inst(Op::Cvt, types::ty(to), &[source]) };
        Ok(self.put(i))
    }

    fn float_to_int(&mut self, form: &Form<'a>, a: Opnd, kinds: Conversion) -> Lower<Opnd> {
        let Conversion { to, from, rnd, to_int, flags } = kinds;
        let Some(to_int) = to_int.filter(|_| rnd.is_none() && from != Scalar::Tf32) else {
            return Err(form.unsupported());
        };
        if flags.without(Flags::FTZ | Flags::SAT) != Flags::NONE {
            return Err(form.unsupported());
        }
        // Out-of-range values are clamped by the conversion itself, `.sat` or not.
        let flags = flags.without(Flags::SAT);
        let wide = types::wide_ty(to);
        let i = Inst { rnd: to_int, flags, ty2: types::ty(from), ..inst(Op::Cvt, wide, &[a]) };
        let result = self.put(i);
        if types::bits(to) >= 32 {
            return Ok(result);
        }
        let clamped = self.clamp(wide, result, to);
        Ok(self.low_bits(clamped, types::bits(to)))
    }

    fn float_to_float(&mut self, form: &Form<'a>, a: Opnd, kinds: Conversion) -> Lower<Opnd> {
        let Conversion { to, from, rnd, to_int, flags } = kinds;
        let source = !matches!(from, Scalar::Tf32 | Scalar::F16x2 | Scalar::Bf16x2);
        let narrows = types::bits(to) < types::bits(from);
        let half_cross = types::bits(to) == 16 && types::bits(from) == 16 && to != from;
        if !source || rnd == Some(Round::Rna) || ((narrows || half_cross) && rnd.is_none()) {
            return Err(form.unsupported());
        }
        let flags = if to_int.is_some() { flags | Flags::ROUND_INT } else { flags };
        if to == from && flags == Flags::NONE {
            return Ok(a);
        }
        let rnd = to_int.or(rnd).unwrap_or(Round::Rn);
        Ok(self.put(Inst { rnd, flags, ty2: types::ty(from), ..inst(Op::Cvt, types::ty(to), &[a]) }))
    }

    /// Float results may go to wider bit registers: upper bits are zero.
    fn set_float(&mut self, d: super::build::Dst, result: Opnd, to: Scalar) {
        let bits = match types::bits(to) {
            16 => Scalar::B16,
            32 => Scalar::B32,
            _ => Scalar::B64,
        };
        self.set_extended(d, result, bits);
    }

    fn range(s: Scalar) -> (i64, i64) {
        let spare = 64 - types::bits(s);
        if types::is_signed(s) {
            (i64::MIN >> spare, i64::MAX >> spare)
        } else {
            (0, (u64::MAX >> spare).min(i64::MAX as u64) as i64)
        }
    }

    /// A 32- or 64-bit integer cut to the range of a narrower type.
    fn clamp(&mut self, wide: Ty, a: Opnd, to: Scalar) -> Opnd {
        let (low, high) = Self::range(to);
        let mask = types::mask(8 * wide.bytes());
        let a = if wide.is_signed() { self.min_max(wide, MinMax::Max, a, imm(low as u64 & mask)) } else { a };
        self.min_max(wide, MinMax::Min, a, imm(high as u64 & mask))
    }

    fn int_to_int(&mut self, a: Opnd, to: Scalar, from: Scalar, saturate: bool) -> Opnd {
        let (to_bits, from_bits) = (types::bits(to), types::bits(from));
        let source = self.extended(a, from);
        if saturate {
            let needs = match (types::is_signed(to), types::is_signed(from)) {
                (true, false) => to_bits <= from_bits,
                (false, true) => true,
                _ => to_bits < from_bits,
            };
            if needs {
                let wide = types::wide_ty(from);
                // Only the side of the range that the source can leave is clamped.
                let clamped = if types::is_signed(from) && !types::is_signed(to) && to_bits >= from_bits {
                    self.min_max(wide, MinMax::Max, source, imm(0))
                } else {
                    self.clamp(wide, source, to)
                };
                return match (to_bits, from_bits) {
                    (64, 64) => clamped,
                    (64, _) => self.widened(clamped, types::is_signed(from)),
                    (_, 64) => {
                        let word = self.lo(clamped);
                        self.low_bits(word, to_bits)
                    }
                    _ => self.low_bits(clamped, to_bits),
                };
            }
        }
        match (to_bits, from_bits) {
            (64, 64) => a,
            (64, _) => self.widened(source, types::is_signed(from)),
            (_, 64) => {
                let word = self.lo(a);
                self.low_bits(word, to_bits)
            }
            _ if to_bits < from_bits => self.low_bits(a, to_bits),
            _ => self.low_bits(source, to_bits),
        }
    }

    /// Ten bits of mantissa: rounded on the integer image, infinities and NaN as they are.
    fn tf32(
        &mut self,
        form: &Form<'a>,
        a: Opnd,
        from: Scalar,
        rnd: Option<Round>,
        flags: Flags,
    ) -> Lower<Opnd> {
        if from != Scalar::F32 || flags.without(Flags::SATFINITE | Flags::RELU) != Flags::NONE {
            return Err(form.unsupported());
        }
        let bump = match rnd {
            Some(Round::Rna) => imm(0x1000),
            Some(Round::Rz) => imm(0),
            Some(Round::Rn) => {
                let odd = self.op(Op::Bfe, Ty::U32, &[a, imm(13), imm(1)]);
                self.add(Ty::U32, odd, imm(0xfff))
            }
            _ => return Err(form.unsupported()),
        };
        let sum = self.add(Ty::U32, a, bump);
        let rounded = self.and(Ty::U32, sum, imm(0xffff_e000));
        let magnitude = self.and(Ty::U32, a, imm(0x7fff_ffff));
        let special = self.compare(Ty::U32, Cmp::Ge, magnitude, imm(0x7f80_0000));
        let nan = self.compare(Ty::U32, Cmp::Gt, magnitude, imm(0x7f80_0000));
        let kept = self.select(Ty::U32, nan, imm(0x7fff_ffff), a);
        let mut result = self.select(Ty::U32, special, kept, rounded);
        if flags.has(Flags::SATFINITE) {
            // Infinities, given or rounded to, become the largest number of their sign; NaN stays.
            let largest = self.lop(Ty::U32, 0xf8, imm(0x7f7f_e000), a, imm(0x8000_0000));
            let magnitude = self.and(Ty::U32, result, imm(0x7fff_ffff));
            let infinite = self.compare(Ty::U32, Cmp::Eq, magnitude, imm(0x7f80_0000));
            result = self.select(Ty::U32, infinite, largest, result);
        }
        if flags.has(Flags::RELU) {
            let negative = self.compare(Ty::S32, Cmp::Lt, result, imm(0));
            result = self.select(Ty::U32, negative, imm(0), result);
        }
        Ok(result)
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half.
    fn convert_pair(
        &mut self,
        form: &Form<'a>,
        to: Scalar,
        from: Scalar,
        rnd: Option<Round>,
        flags: Flags,
    ) -> Lower {
        let Some(rnd) = rnd.filter(|r| from == Scalar::F32 && matches!(r, Round::Rn | Round::Rz)) else {
            return Err(form.unsupported());
        };
        let [d, a, b] = form.exactly()?;
        let (a, b, d) = (self.src(a, from)?, self.src(b, from)?, self.dst(d, to)?);
        let result = self.put(Inst { rnd, flags, ty2: Ty::F32, ..inst(Op::Cvt, types::ty(to), &[a, b]) });
        self.set(d, result);
        Ok(())
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c` and the 16-bit forms without `c`.
    fn convert_pack(&mut self, form: &mut Form<'a>) -> Lower {
        if !form.take(Mod::Sat) {
            return Err(form.unsupported());
        }
        let to = form.ty_of(&[Scalar::U8, Scalar::S8, Scalar::U16, Scalar::S16])?;
        let from = form.ty_of(&[Scalar::S32])?;
        let with = form.ty_opt();
        form.end()?;
        let bits = types::bits(to);
        if with.is_some_and(|t| t != Scalar::B32) || (with.is_none() && bits == 8) {
            return Err(form.unsupported());
        }
        let count = if with.is_some() { 4 } else { 3 };
        let operands = form.operands(count, count)?;
        let (a, b) = (self.src(&operands[1], from)?, self.src(&operands[2], from)?);
        let c = if with.is_some() { self.src(&operands[3], Scalar::B32)? } else { imm(0) };
        let d = self.dst(&operands[0], Scalar::B32)?;
        let (a, b) = (self.clamp(Ty::S32, a, to), self.clamp(Ty::S32, b, to));
        let b = self.low_bits(b, bits);
        let low = self.op(Op::Bfi, Ty::U32, &[a, b, imm(u64::from(bits)), imm(u64::from(bits))]);
        let result = if bits == 16 { low } else { self.op(Op::Prmt, Ty::U32, &[low, c, imm(0x5410)]) };
        self.set(d, result);
        Ok(())
    }
}
