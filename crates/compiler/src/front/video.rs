// SPDX-License-Identifier: MIT OR Apache-2.0
//! Video instructions (PTX ISA, "Scalar Video Instructions", "SIMD Video Instructions"): arithmetic on bytes and halves of words. Hardware
//! since Maxwell runs them as sequences, and so do we; the scalar ones count in 64 bits, which hold their 34-bit results exactly.

use warpwatt_isa::{Cmp, MinMax, Op, Ty};
use warpwatt_ptx::ast::{Operand, OperandKind, Scalar};
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::types;
use crate::ir::{Inst, Opnd};

/// A part of a word: first bit and width.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Field {
    at: u32,
    bits: u32,
}

const WORD: Field = Field { at: 0, bits: 32 };

/// An operand and the part of it that a selector names.
fn selected(o: &Operand) -> (Operand, Field) {
    let OperandKind::Member(name, selector @ 4..=9) = o.kind else { return (o.clone(), WORD) };
    let at = u32::from(selector & 3);
    let field = if selector < 8 { Field { at: 8 * at, bits: 8 } } else { Field { at: 16 * at, bits: 16 } };
    (Operand { kind: OperandKind::Name(name), span: o.span }, field)
}

/// The operand under a minus sign.
fn negated(o: &Operand) -> (&Operand, bool) {
    match &o.kind {
        OperandKind::Neg(inner) => (inner, true),
        _ => (o, false),
    }
}

fn comparison(m: Mod) -> Option<Cmp> {
    Some(match m {
        Mod::Eq => Cmp::Eq,
        Mod::Ne => Cmp::Ne,
        Mod::Lt => Cmp::Lt,
        Mod::Le => Cmp::Le,
        Mod::Gt => Cmp::Gt,
        Mod::Ge => Cmp::Ge,
        _ => return None,
    })
}

/// What to do with the result and a further operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    Add,
    Limit(MinMax),
}

fn second(m: Mod) -> Option<Second> {
    Some(match m {
        Mod::Add => Second::Add,
        Mod::Min => Second::Limit(MinMax::Min),
        Mod::Max => Second::Limit(MinMax::Max),
        _ => return None,
    })
}

const WORDS: [Scalar; 2] = [Scalar::U32, Scalar::S32];

impl<'a> Lowerer<'a, '_> {
    /// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
    pub fn video(&mut self, form: &mut Form<'a>) -> Lower {
        let op = form.instr.op;
        let to = if op == Opcode::Vset { Scalar::U32 } else { form.ty_of(&WORDS)? };
        let (a_ty, b_ty) = (form.ty_of(&WORDS)?, form.ty_of(&WORDS)?);
        let cmp = if op == Opcode::Vset { form.pick(comparison) } else { None };
        let saturate = op != Opcode::Vset && form.take(Mod::Sat);
        let clamp = form.take(Mod::Clamp);
        let shifts = matches!(op, Opcode::Vshl | Opcode::Vshr);
        // Only a shift has a modifier for large amounts, which are unsigned.
        let has_mode = clamp || form.take(Mod::Wrap);
        if has_mode != shifts || shifts && b_ty != Scalar::U32 || cmp.is_none() != (op != Opcode::Vset) {
            return Err(form.unsupported());
        }
        let second = form.pick(second);
        form.end()?;
        let operands = form.operands(3, 4)?;
        let (d, field) = selected(&operands[0]);
        // A third source belongs to a second operation or to a merge, and only one of them is possible.
        let wanted = if second.is_some() || field != WORD { 4 } else { 3 };
        if operands.len() != wanted || second.is_some() && field != WORD {
            return Err(form.unsupported());
        }
        let a = self.video_source(&operands[1], a_ty)?;
        let b = self.video_source(&operands[2], b_ty)?;
        let c = if wanted == 4 { self.src(&operands[3], to)? } else { imm(0) };
        let d = self.dst(&d, to)?;

        let mut result = match op {
            Opcode::Vadd => self.add(Ty::S64, a, b),
            Opcode::Vsub => self.subtract(Ty::S64, a, b),
            Opcode::Vmin => self.min_max(Ty::S64, MinMax::Min, a, b),
            Opcode::Vmax => self.min_max(Ty::S64, MinMax::Max, a, b),
            Opcode::Vabsdiff => {
                let (low, high) =
                    (self.min_max(Ty::S64, MinMax::Min, a, b), self.min_max(Ty::S64, MinMax::Max, a, b));
                self.subtract(Ty::S64, high, low)
            }
            Opcode::Vset => {
                let holds = self.compare(Ty::S64, cmp.unwrap_or(Cmp::Eq), a, b);
                self.select(Ty::U64, holds, imm(1), imm(0))
            }
            _ => {
                let amount = self.lo(b);
                let amount = match clamp {
                    true => self.min_max(Ty::U32, MinMax::Min, amount, imm(32)),
                    false => self.and(Ty::U32, amount, imm(31)),
                };
                if op == Opcode::Vshl { self.shl(Ty::U64, a, amount) } else { self.shr(Ty::S64, a, amount) }
            }
        };
        if saturate {
            // A word shifted by 32 fills all 64 bits: without a sign it has to be compared without one.
            let wide = if op == Opcode::Vshl && a_ty == Scalar::U32 { Ty::U64 } else { Ty::S64 };
            result = self.video_clamp(wide, result, types::is_signed(to), field.bits);
        } else if op == Opcode::Vshl {
            // Bits that are shifted out of the word are lost.
            let word = self.lo(result);
            result = self.widened(word, types::is_signed(to));
        }
        let result = match second {
            Some(Second::Limit(which)) => {
                let c = self.widened(c, types::is_signed(to));
                let limited = self.min_max(Ty::S64, which, result, c);
                self.lo(limited)
            }
            Some(Second::Add) => {
                let word = self.lo(result);
                self.add(Ty::U32, word, c)
            }
            None => {
                let word = self.lo(result);
                self.video_merge(word, c, field)
            }
        };
        self.set(d, result);
        Ok(())
    }

    /// A part of a source, extended to 64 bits.
    fn video_source(&mut self, o: &Operand, ty: Scalar) -> Lower<Opnd> {
        let (o, field) = selected(o);
        let word = self.src(&o, ty)?;
        let part = self.video_part(word, field, types::is_signed(ty));
        Ok(self.widened(part, types::is_signed(ty)))
    }

    fn video_part(&mut self, word: Opnd, field: Field, signed: bool) -> Opnd {
        if field == WORD {
            return word;
        }
        let ty = if signed { Ty::S32 } else { Ty::U32 };
        self.op(Op::Bfe, ty, &[word, imm(field.at.into()), imm(field.bits.into())])
    }

    /// Cuts a number to the range of `bits` bits.
    fn video_clamp(&mut self, wide: Ty, a: Opnd, signed: bool, bits: u32) -> Opnd {
        let mask = types::mask(8 * wide.bytes());
        let (low, high) =
            if signed { (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
        let a = match wide.is_signed() {
            true => self.min_max(wide, MinMax::Max, a, imm(low as u64 & mask)),
            false => a,
        };
        self.min_max(wide, MinMax::Min, a, imm(high as u64 & mask))
    }

    /// `value` in a part of `c`.
    fn video_merge(&mut self, value: Opnd, c: Opnd, field: Field) -> Opnd {
        if field == WORD {
            return value;
        }
        self.op(Op::Bfi, Ty::U32, &[value, c, imm(field.at.into()), imm(field.bits.into())])
    }

    /// `vmad`: a product of parts and a word, scaled.
    pub fn video_mad(&mut self, form: &mut Form<'a>) -> Lower {
        let to = form.ty_of(&WORDS)?;
        let (a_ty, b_ty) = (form.ty_of(&WORDS)?, form.ty_of(&WORDS)?);
        let plus_one = form.take_other(&["po"]);
        let saturate = form.take(Mod::Sat);
        let scale = match (form.take_other(&["shr7"]), form.take_other(&["shr15"])) {
            (false, false) => 0,
            (true, false) => 7,
            (false, true) => 15,
            _ => return Err(form.unsupported()),
        };
        form.end()?;
        let [d, a, b, c] = form.exactly()?;
        let ((a, minus_a), (b, minus_b), (c, minus_c)) = (negated(a), negated(b), negated(c));
        let minus = minus_a != minus_b;
        if plus_one && (minus || minus_c) || minus && minus_c {
            return Err(form.unsupported());
        }
        let signed = types::is_signed(a_ty) || types::is_signed(b_ty) || minus || minus_c;
        let whole = selected(a).1 == WORD && selected(b).1 == WORD;
        if saturate && signed && whole && a_ty == Scalar::U32 && b_ty == Scalar::U32 {
            // The difference of a 64-bit product and a word has 65 bits.
            return Err(form.unsupported());
        }
        let (a, b) = (self.video_source(a, a_ty)?, self.video_source(b, b_ty)?);
        let c = self.src(c, to)?;
        let d = self.dst(d, to)?;
        let product = self.mul(Ty::U64, a, b);
        let c = self.widened(c, signed);
        let sum = self.put(Inst {
            neg: u8::from(minus) | u8::from(minus_c) << 1,
            ..inst(Op::Iadd3, Ty::U64, &[product, c, imm(0)])
        });
        let sum = if plus_one { self.add(Ty::U64, sum, imm(1)) } else { sum };
        let wide = if signed { Ty::S64 } else { Ty::U64 };
        let scaled = if scale == 0 { sum } else { self.shr(wide, sum, imm(scale)) };
        let result = if saturate { self.video_clamp(wide, scaled, signed, 32) } else { scaled };
        let word = self.lo(result);
        self.set(d, word);
        Ok(())
    }

    /// The instructions on two halves or four bytes.
    pub fn video_simd(&mut self, form: &mut Form<'a>) -> Lower {
        use Opcode::*;
        let op = form.instr.op;
        let bits = match op {
            Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2 | Vset2 => 16,
            _ => 8,
        };
        let compares = matches!(op, Vset2 | Vset4);
        let to = if compares { Scalar::U32 } else { form.ty_of(&WORDS)? };
        let (a_ty, b_ty) = (form.ty_of(&WORDS)?, form.ty_of(&WORDS)?);
        let cmp = if compares { form.pick(comparison) } else { None };
        let saturate = !compares && form.take(Mod::Sat);
        let sums = form.take(Mod::Add);
        form.end()?;
        if compares != cmp.is_some() {
            return Err(form.unsupported());
        }
        let [d, a, b, c] = form.exactly()?;
        let (d, mask) = selected(d);
        if mask != WORD && mask.bits != bits {
            return Err(form.unsupported());
        }
        let (a, b, c) = (self.src(a, a_ty)?, self.src(b, b_ty)?, self.src(c, to)?);
        let d = self.dst(&d, to)?;
        let mut result = c;
        for at in (0..32).step_by(bits as usize) {
            let field = Field { at, bits };
            if mask != WORD && mask != field {
                continue;
            }
            let x = self.video_part(a, field, types::is_signed(a_ty));
            let y = self.video_part(b, field, types::is_signed(b_ty));
            let part = match op {
                Vadd2 | Vadd4 => self.add(Ty::S32, x, y),
                Vsub2 | Vsub4 => self.subtract(Ty::S32, x, y),
                Vmin2 | Vmin4 => self.min_max(Ty::S32, MinMax::Min, x, y),
                Vmax2 | Vmax4 => self.min_max(Ty::S32, MinMax::Max, x, y),
                Vabsdiff2 | Vabsdiff4 => self.op(Op::Isad, Ty::S32, &[x, y, imm(0)]),
                Vavrg2 | Vavrg4 => self.video_average(x, y),
                _ => {
                    let holds = self.compare(Ty::S32, cmp.unwrap_or(Cmp::Eq), x, y);
                    self.select(Ty::U32, holds, imm(1), imm(0))
                }
            };
            let part =
                if saturate { self.video_clamp(Ty::S32, part, types::is_signed(to), bits) } else { part };
            result = match sums {
                true => self.add(Ty::U32, result, part),
                false => self.video_merge(part, result, field),
            };
        }
        self.set(d, result);
        Ok(())
    }

    /// Half of a sum; halves go away from zero.
    fn video_average(&mut self, x: Opnd, y: Opnd) -> Opnd {
        let sum = self.add(Ty::S32, x, y);
        // One more, unless the sum is negative: then the shift has rounded down already.
        let sign = self.shr(Ty::S32, sum, imm(31));
        let up = self.op(Op::Iadd3, Ty::S32, &[sum, sign, imm(1)]);
        self.shr(Ty::S32, up, imm(1))
    }
}
