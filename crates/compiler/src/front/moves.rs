// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moves: whole values, packing and unpacking, addresses between spaces (PTX ISA, "mov", "cvta", "isspacep").

use warpwatt_isa::{Cmp, MemAttr, Op, Space as MachineSpace, Ty, window};
use warpwatt_ptx::ast::{Operand, OperandKind, Scalar, Space};
use warpwatt_ptx::words::Mod;

use super::build::{Dst, Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::memory::space_of;
use super::types;
use crate::ir::{Inst, Opnd};

/// A bit type of the given size.
fn bit_type(bits: u32) -> Option<Scalar> {
    Some(match bits {
        8 => Scalar::B8,
        16 => Scalar::B16,
        32 => Scalar::B32,
        64 => Scalar::B64,
        _ => return None,
    })
}

impl<'a> Lowerer<'a, '_> {
    pub fn mov(&mut self, form: &mut Form<'a>) -> Lower {
        let ty = form.ty()?;
        form.end()?;
        let [d, a] = form.exactly()?;
        if ty == Scalar::Pred {
            let p = self.pred(a)?;
            if let Some(register) = self.pred_dst(d)? {
                self.set_pred(register, p);
            }
            return Ok(());
        }
        match (&d.kind, &a.kind) {
            (OperandKind::Vector(_), OperandKind::Vector(_)) => Err(form.unsupported()),
            (OperandKind::Vector(parts), _) => self.unpack(form, ty, parts, a),
            (_, OperandKind::Vector(parts)) => self.pack_move(form, ty, d, parts),
            _ => {
                let (a, d) = (self.src(a, ty)?, self.dst(d, ty)?);
                self.set(d, a);
                Ok(())
            }
        }
    }

    fn part_type(form: &Form<'a>, ty: Scalar, parts: &[Operand]) -> Lower<Scalar> {
        let fits = types::kind(ty) == types::ScalarKind::Bits && matches!(parts.len(), 2 | 4);
        fits.then(|| bit_type(types::bits(ty) / parts.len() as u32))
            .flatten()
            .ok_or_else(|| form.unsupported())
    }

    /// `mov.b64 {lo, hi}, x`
    fn unpack(&mut self, form: &Form<'a>, ty: Scalar, parts: &[Operand], a: &Operand) -> Lower {
        let part = Self::part_type(form, ty, parts)?;
        let bits = types::bits(part);
        let a = self.src(a, ty)?;
        // No destination can be the source: it is wider than they are.
        let mut writes: Vec<(Dst, Opnd)> = Vec::new();
        for (k, o) in parts.iter().enumerate() {
            let d = self.dst(o, part)?;
            let at = bits * k as u32;
            let value = match bits {
                64 => match a {
                    Opnd::Value(p) => {
                        Opnd::Value(crate::ir::Part { lane: p.lane + 2 * k as u8, words: 2, ..p })
                    }
                    other => other,
                },
                32 => self.word(a, k as u8),
                _ => {
                    let word = if types::bits(ty) == 64 { self.word(a, (at / 32) as u8) } else { a };
                    self.field(word, at % 32, bits)
                }
            };
            writes.push((d, value));
        }
        for (d, value) in writes {
            self.set(d, value);
        }
        Ok(())
    }

    /// `bits` of a word from bit `at` on, zero-extended.
    pub fn field(&mut self, word: Opnd, at: u32, bits: u32) -> Opnd {
        match word {
            Opnd::Imm(v) => imm(v >> at & types::mask(bits)),
            word if at + bits == 32 => self.shr(Ty::U32, word, imm(u64::from(at))),
            word if at == 0 => self.low_bits(word, bits),
            word => self.op(Op::Bfe, Ty::U32, &[word, imm(u64::from(at)), imm(u64::from(bits))]),
        }
    }

    /// `mov.b64 x, {lo, hi}`
    fn pack_move(&mut self, form: &Form<'a>, ty: Scalar, d: &Operand, parts: &[Operand]) -> Lower {
        let part = Self::part_type(form, ty, parts)?;
        let bits = types::bits(part);
        let mut values = Vec::new();
        for o in parts {
            values.push(self.src(o, part)?);
        }
        let d = self.dst(d, ty)?;
        let words: Vec<Opnd> = match bits {
            64 => values.iter().flat_map(|&v| [self.word(v, 0), self.word(v, 1)]).collect(),
            32 => values,
            16 => values.chunks(2).map(|pair| self.join16(pair[0], pair[1])).collect(),
            _ => {
                let halves: Vec<Opnd> = values
                    .chunks(2)
                    .map(|pair| match *pair {
                        [Opnd::Imm(lo), Opnd::Imm(hi)] => imm(lo | hi << 8),
                        [lo, hi] => self.op(Op::Prmt, Ty::U32, &[lo, hi, imm(0x7740)]),
                        _ => imm(0),
                    })
                    .collect();
                match halves[..] {
                    [lo, hi] => vec![self.join16(lo, hi)],
                    [only] => vec![only],
                    _ => return Err(form.unsupported()),
                }
            }
        };
        let result = if words.len() == 1 { words[0] } else { self.pack(&words) };
        self.set(d, result);
        Ok(())
    }

    fn join16(&mut self, lo: Opnd, hi: Opnd) -> Opnd {
        match (lo, hi) {
            (Opnd::Imm(lo), Opnd::Imm(hi)) => imm(lo & 0xffff | (hi & 0xffff) << 16),
            (lo, hi) => self.op(Op::Prmt, Ty::U32, &[lo, hi, imm(0x5410)]),
        }
    }

    /// Every window starts at a multiple of 2^32: an address is changed by its upper word alone.
    pub fn cvta(&mut self, form: &mut Form<'a>) -> Lower {
        let to_space = form.take(Mod::To);
        let space = form.pick(space_of).ok_or_else(|| form.unsupported())?;
        let ty = form.ty_of(&[Scalar::U64])?;
        form.end()?;
        let [d, a] = form.exactly()?;
        let (a, d) = (self.src(a, ty)?, self.dst(d, ty)?);
        let window = match space {
            Space::Global => {
                self.set(d, a);
                return Ok(());
            }
            Space::Shared => window::SHARED,
            Space::Local => window::LOCAL,
            Space::Const => window::CONST,
            Space::Param if self.ctx.is_kernel => window::PARAM,
            // A function's own parameters lie on its stack.
            Space::Param => window::LOCAL,
            _ => return Err(form.unsupported()),
        };
        let low = self.lo(a);
        let result = self.pack(&[low, imm(if to_space { 0 } else { window >> 32 })]);
        self.set(d, result);
        Ok(())
    }

    pub fn isspacep(&mut self, form: &mut Form<'a>) -> Lower {
        let space = form.pick(space_of).ok_or_else(|| form.unsupported())?;
        form.take_other(&["entry"]);
        form.end()?;
        let [p, a] = form.exactly()?;
        let a = self.src(a, Scalar::U64)?;
        let Some(p) = self.pred_dst(p)? else { return Ok(()) };
        let machine = match space {
            Space::Global => MachineSpace::Global,
            Space::Shared => MachineSpace::Shared,
            Space::Local => MachineSpace::Local,
            Space::Const => MachineSpace::Const,
            Space::Param => {
                let high = self.hi(a);
                let holds = self.compare(Ty::U32, Cmp::Eq, high, imm(window::PARAM >> 32));
                self.set_pred(p, holds);
                return Ok(());
            }
            _ => return Err(form.unsupported()),
        };
        let mem = MemAttr { space: machine, vec: 1, ..MemAttr::default() };
        let holds = self.put_pred(Inst { mem, ..inst(Op::IsSpace, Ty::U64, &[a]) });
        self.set_pred(p, holds);
        Ok(())
    }
}
