// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of instructions: registers, constants, addresses of variables, special registers
//! (PTX ISA, "Operands", "Type Checking Rules").

use warpwatt_base::{Span, Sym};
use warpwatt_isa::{Op, Ty, window};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Operand, OperandKind, Scalar};

use super::build::{Dst, Lowerer, imm, inst};
use super::form::Lower;
use super::layout::Symbol;
use super::names::Entity;
use super::types;
use crate::ir::{Frame, Opnd, PredUse, Value};

/// How strictly a register's type must match the instruction's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Exact,
    /// The register may be wider.
    Wide,
    /// Only the width counts.
    Width,
}

impl Fit {
    fn allows(self, reg: Scalar, want: Scalar) -> bool {
        match self {
            Fit::Exact => types::fits(reg, want),
            Fit::Wide => types::fits_wide(reg, want),
            Fit::Width => types::bits(reg) == types::bits(want) && reg != Scalar::Pred,
        }
    }
}

fn mismatch(span: Span, name: &str, have: Scalar, want: Scalar) -> Diagnostic {
    let message = format!(
        "`{name}` is a {} register, but the instruction needs {}",
        types::name(have),
        types::name(want)
    );
    let help = if types::bits(have) == types::bits(want) {
        format!("declare it as `.b{}`, or move it with `mov.b{0}`", types::bits(want))
    } else {
        format!("convert it with `cvt`, or use a register of {} bits", types::bits(want))
    };
    Diagnostic::error("ptx-type", span, message).with_help(help)
}

impl<'a> Lowerer<'a, '_> {
    pub fn text_of(&self, name: Sym) -> &'a str {
        self.ctx.module.names.get(name)
    }

    /// A source operand in the bits of `want`.
    pub fn src(&mut self, o: &Operand, want: Scalar) -> Lower<Opnd> {
        self.src_fit(o, want, Fit::Exact)
    }

    pub fn src_fit(&mut self, o: &Operand, want: Scalar, fit: Fit) -> Lower<Opnd> {
        Ok(self.src_typed(o, want, fit)?.0)
    }

    /// A source operand and the type that its register was declared with.
    pub fn src_typed(&mut self, o: &Operand, want: Scalar, fit: Fit) -> Lower<(Opnd, Scalar)> {
        match &o.kind {
            OperandKind::Name(name) => self.named(*name, None, o.span, want, fit),
            OperandKind::Member(name, k) => self.named(*name, Some(*k), o.span, want, fit),
            OperandKind::NameOffset(name, offset) => {
                let address = self.address_of(*name, o.span, want)?;
                Ok((self.offset_address(address, *offset, want), want))
            }
            OperandKind::Int(v) => Ok((self.integer(*v, o.span, want)?, want)),
            OperandKind::F32(bits) => Ok((self.float32(*bits, o.span, want)?, want)),
            OperandKind::F64(bits) => Ok((self.float64(*bits, o.span, want)?, want)),
            OperandKind::Neg(inner) => {
                let (value, ty) = self.src_typed(inner, want, fit)?;
                let result = if types::is_float(want) {
                    self.modified(types::ty(want), value, true, false, warpwatt_isa::Flags::NONE)
                } else {
                    let wide = types::wide_ty(want);
                    let negated = self
                        .put(crate::ir::Inst { neg: 1, ..inst(Op::Iadd3, wide, &[value, imm(0), imm(0)]) });
                    self.narrowed(negated, want)
                };
                Ok((result, ty))
            }
            _ => Err(Diagnostic::error("ptx-operand", o.span, "invalid source operand")
                .with_help(format!("expected a register or constant of type `{}`", types::name(want)))),
        }
    }

    fn integer(&mut self, v: u64, span: Span, want: Scalar) -> Lower<Opnd> {
        if types::is_float(want)
            && !matches!(want, Scalar::F16 | Scalar::F16x2 | Scalar::Bf16 | Scalar::Bf16x2 | Scalar::Tf32)
        {
            return Err(Diagnostic::error(
                "ptx-type",
                span,
                format!("an integer cannot be a {} operand", types::name(want)),
            )
            .with_help("write `0f3F800000`, `0d3FF0000000000000` or `1.0`"));
        }
        Ok(imm(v & types::mask(types::bits(want))))
    }

    fn float32(&mut self, bits: u32, span: Span, want: Scalar) -> Lower<Opnd> {
        match want {
            Scalar::F64 => Ok(imm(f64::from(f32::from_bits(bits)).to_bits())),
            _ if types::bits(want) == 32 => Ok(imm(u64::from(bits))),
            _ => Err(Diagnostic::error(
                "ptx-type",
                span,
                format!("a single-precision constant cannot be a {} operand", types::name(want)),
            )
            .with_help("write an integer, or a constant of the instruction's type")),
        }
    }

    fn float64(&mut self, bits: u64, span: Span, want: Scalar) -> Lower<Opnd> {
        match want {
            Scalar::F32 => Ok(imm(u64::from((f64::from_bits(bits) as f32).to_bits()))),
            _ if types::bits(want) == 64 => Ok(imm(bits)),
            _ => Err(Diagnostic::error(
                "ptx-type",
                span,
                format!("a double-precision constant cannot be a {} operand", types::name(want)),
            )
            .with_help("write an integer, or a constant of the instruction's type")),
        }
    }

    fn named(
        &mut self,
        name: Sym,
        member: Option<u8>,
        span: Span,
        want: Scalar,
        fit: Fit,
    ) -> Lower<(Opnd, Scalar)> {
        match self.local_name(name) {
            Some(Entity::Reg { value, scalar }) if member.is_none() => {
                if !fit.allows(scalar, want) || scalar == Scalar::Pred {
                    return Err(mismatch(span, self.text_of(name), scalar, want));
                }
                Ok((self.whole(value), scalar))
            }
            Some(Entity::RegVector { first, lanes, scalar }) if member.is_some_and(|k| k < lanes) => {
                if !fit.allows(scalar, want) {
                    return Err(mismatch(span, self.text_of(name), scalar, want));
                }
                Ok((self.whole(Value(first.0 + u32::from(member.unwrap_or(0)))), scalar))
            }
            Some(Entity::Reg { .. } | Entity::RegVector { .. }) => {
                Err(Diagnostic::error("ptx-operand", span, "this register has no such component")
                    .with_help("`.x` to `.w` name the components of a vector register"))
            }
            Some(_) => Ok((self.address_of(name, span, want)?, want)),
            None => match self.special_register(name, member, want) {
                // The first versions of PTX had 16-bit thread and block indices: their programs read the low half.
                Some((value, Scalar::U32)) if types::bits(want) == 16 => Ok((self.low_bits(value, 16), want)),
                Some((value, scalar)) => {
                    if types::bits(scalar) != types::bits(want) {
                        return Err(mismatch(span, self.text_of(name), scalar, want));
                    }
                    Ok((value, scalar))
                }
                None => Ok((self.address_of(name, span, want)?, want)),
            },
        }
    }

    /// The address of a variable or function in its own space, in the width of `want`.
    pub fn address_of(&mut self, name: Sym, span: Span, want: Scalar) -> Lower<Opnd> {
        let wide = match types::bits(want) {
            64 => true,
            32 => false,
            _ => {
                return Err(Diagnostic::error("ptx-type", span, "an address must have 32 or 64 bits")
                    .with_help("use `mov.u64`"));
            }
        };
        let narrow = |this: &mut Self, word: Opnd| if wide { this.widened(word, false) } else { word };
        if let Some(entity) = self.local_name(name) {
            return match entity {
                Entity::Shared(offset) => Ok(imm(u64::from(offset))),
                Entity::KernelParam(offset) => {
                    Ok(imm(u64::from(warpwatt_isa::bank0::PARAMS) + u64::from(offset)))
                }
                Entity::Local(offset) => {
                    let address = self.frame_address(Frame::Local, offset);
                    Ok(narrow(self, address))
                }
                Entity::InParam(offset) => {
                    let address = self.frame_address(Frame::In, offset);
                    Ok(narrow(self, address))
                }
                Entity::Words { .. } => Err(Diagnostic::error(
                    "ptx-unsupported",
                    span,
                    "the address of a `.param` variable of a call is not available",
                )
                .with_help("copy it to a `.local` variable")),
                Entity::Label(_) | Entity::Declared(_) => {
                    Err(Diagnostic::error("ptx-operand", span, "a label cannot be an operand here")
                        .with_help("only `bra`, `brx.idx` and `call` take labels"))
                }
                Entity::Reg { .. } | Entity::RegVector { .. } => {
                    Err(Diagnostic::error("ptx-operand", span, "the address of a register cannot be taken")
                        .with_help("only variables have addresses"))
                }
            };
        }
        let symbol = self.module_symbol(name).ok_or_else(|| self.unknown(name, span))?;
        let text = self.text_of(name);
        Ok(match symbol {
            Symbol::Global(_) | Symbol::Reference(_) => {
                if !wide {
                    return Err(Diagnostic::error(
                        "ptx-unsupported",
                        span,
                        "global addresses must have 64 bits",
                    )
                    .with_help("compile the program for 64-bit addresses"));
                }
                let bank = self.unit.global_slot(text);
                self.op(Op::Mov, Ty::U64, &[bank])
            }
            Symbol::Const(k) => imm(u64::from(self.const_offset(k, span)?)),
            Symbol::Shared(k) => imm(u64::from(self.unit.shared_offset(k))),
            Symbol::Function(id) => imm(window::FUNCTION + 16 * u64::from(id)),
        })
    }

    /// Offset of a `.const` variable in its bank.
    pub fn const_offset(&self, k: u32, span: Span) -> Lower<u32> {
        let var = &self.unit.layout.consts[k as usize];
        if var.placed {
            return Ok(var.offset);
        }
        Err(Diagnostic::error(
            "ptx-undefined",
            span,
            "this `.const` variable has no address in constant memory",
        )
        .with_help("it is declared `.extern` without a definition, or constant memory is full"))
    }

    pub fn module_symbol(&self, name: Sym) -> Option<Symbol> {
        if self.ctx.library { None } else { self.unit.layout.symbols.get(&name).copied() }
    }

    pub fn offset_address(&mut self, address: Opnd, offset: i64, want: Scalar) -> Opnd {
        match address {
            _ if offset == 0 => address,
            Opnd::Imm(v) => imm(v.wrapping_add(offset as u64) & types::mask(types::bits(want))),
            address => {
                self.add(types::wide_ty(want), address, imm(offset as u64 & types::mask(types::bits(want))))
            }
        }
    }

    // ---- destinations ----

    pub fn dst(&mut self, o: &Operand, want: Scalar) -> Lower<Dst> {
        self.dst_fit(o, want, Fit::Exact)
    }

    pub fn dst_fit(&mut self, o: &Operand, want: Scalar, fit: Fit) -> Lower<Dst> {
        let (value, scalar, name) = match &o.kind {
            OperandKind::Sink => return Ok(Dst::Sink),
            OperandKind::Name(name) => match self.local_name(*name) {
                Some(Entity::Reg { value, scalar }) => (value, scalar, *name),
                Some(_) => return Err(self.no_destination(o)),
                None if self.module_symbol(*name).is_some() => return Err(self.no_destination(o)),
                None => return Err(self.unknown(*name, o.span)),
            },
            OperandKind::Member(name, k) => match self.local_name(*name) {
                Some(Entity::RegVector { first, lanes, scalar }) if *k < lanes => {
                    (Value(first.0 + u32::from(*k)), scalar, *name)
                }
                _ => return Err(self.no_destination(o)),
            },
            _ => return Err(self.no_destination(o)),
        };
        if !fit.allows(scalar, want) || scalar == Scalar::Pred {
            return Err(mismatch(o.span, self.text_of(name), scalar, want));
        }
        Ok(Dst::Reg(value, scalar))
    }

    fn no_destination(&self, o: &Operand) -> Diagnostic {
        Diagnostic::error("ptx-operand", o.span, "invalid destination")
            .with_help("the destination must be a register")
    }

    // ---- predicates ----

    pub fn pred_register(&mut self, name: Sym, span: Span) -> Lower<Value> {
        match self.local_name(name) {
            Some(Entity::Reg { value, scalar: Scalar::Pred }) => Ok(value),
            Some(Entity::Reg { scalar, .. }) => Err(mismatch(span, self.text_of(name), scalar, Scalar::Pred)),
            Some(_) => Err(Diagnostic::error("ptx-operand", span, "expected a predicate register")
                .with_help("declare one with `.reg .pred`")),
            None => Err(self.unknown(name, span)),
        }
    }

    pub fn pred(&mut self, o: &Operand) -> Lower<PredUse> {
        match &o.kind {
            OperandKind::Name(name) => Ok(PredUse::of(self.pred_register(*name, o.span)?)),
            OperandKind::Not(inner) => Ok(!self.pred(inner)?),
            OperandKind::Int(v) => Ok(if *v != 0 { PredUse::TRUE } else { PredUse::FALSE }),
            _ => Err(Diagnostic::error("ptx-operand", o.span, "expected a predicate")
                .with_help("use a `.pred` register; `!` before it negates")),
        }
    }

    /// A predicate destination; `None` for `_`.
    pub fn pred_dst(&mut self, o: &Operand) -> Lower<Option<Value>> {
        match &o.kind {
            OperandKind::Sink => Ok(None),
            OperandKind::Name(name) => Ok(Some(self.pred_register(*name, o.span)?)),
            _ => Err(self.no_destination(o)),
        }
    }

    /// `p` or `p|q`.
    pub fn pred_pair(&mut self, o: &Operand) -> Lower<[Option<Value>; 2]> {
        match &o.kind {
            OperandKind::Pair(p, q) => Ok([self.pred_dst(p)?, self.pred_dst(q)?]),
            _ => Ok([self.pred_dst(o)?, None]),
        }
    }

    /// `d` or `d|p`.
    pub fn dst_pred(&mut self, o: &Operand, want: Scalar) -> Lower<(Dst, Option<Value>)> {
        match &o.kind {
            OperandKind::Pair(d, p) => Ok((self.dst(d, want)?, self.pred_dst(p)?)),
            _ => Ok((self.dst(o, want)?, None)),
        }
    }

    /// The elements of `{a, b, …}`, or the operand itself; a vector register is its components.
    pub fn elements(&self, o: &Operand) -> Vec<Operand> {
        match &o.kind {
            OperandKind::Vector(list) => list.clone(),
            OperandKind::Name(name) => {
                if let Some(super::names::Found::Entity(Entity::RegVector { lanes, .. })) =
                    self.ctx.names.find(*name, &self.ctx.module.names)
                {
                    return (0..lanes)
                        .map(|k| Operand { kind: OperandKind::Member(*name, k), span: o.span })
                        .collect();
                }
                vec![o.clone()]
            }
            _ => vec![o.clone()],
        }
    }
}
