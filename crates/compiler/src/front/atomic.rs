// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations and reductions on memory (PTX ISA, "atom", "red").

use warpwatt_isa::{AtomOp, MemAttr, Op, Order, Scope};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Operand, OperandKind, Scalar, Space};
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Dst, Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::memory::{AccessTarget, space_of};
use super::types;
use crate::ir::Inst;

pub fn atom_op(m: Mod) -> Option<AtomOp> {
    Some(match m {
        Mod::Add => AtomOp::Add,
        Mod::Min => AtomOp::Min,
        Mod::Max => AtomOp::Max,
        Mod::Inc => AtomOp::Inc,
        Mod::Dec => AtomOp::Dec,
        Mod::And => AtomOp::And,
        Mod::Or => AtomOp::Or,
        Mod::Xor => AtomOp::Xor,
        Mod::Exch => AtomOp::Exch,
        Mod::Cas => AtomOp::Cas,
        _ => return None,
    })
}

/// Which operations exist for which types.
fn exists(op: AtomOp, ty: Scalar) -> bool {
    use Scalar::*;
    match op {
        AtomOp::Add => matches!(ty, U32 | S32 | U64 | S64 | F32 | F64 | F16 | F16x2 | Bf16 | Bf16x2),
        AtomOp::Min | AtomOp::Max => {
            matches!(ty, U32 | S32 | U64 | S64 | F16 | F16x2 | Bf16 | Bf16x2)
        }
        AtomOp::Inc | AtomOp::Dec => ty == U32,
        AtomOp::And | AtomOp::Or | AtomOp::Xor => matches!(ty, B32 | B64 | U32 | S32 | U64 | S64),
        AtomOp::Exch => matches!(ty, B32 | B64 | U32 | S32 | U64 | S64 | F32 | F64 | B128),
        AtomOp::Cas => {
            matches!(ty, B16 | U16 | S16 | B32 | B64 | U32 | S32 | U64 | S64 | F32 | F64 | B128)
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    pub fn atomic(&mut self, form: &mut Form<'a>) -> Lower {
        let has_result = form.instr.op == Opcode::Atom;
        if form.has(Mod::Async) {
            return Err(form.unsupported());
        }
        let order = form.pick(|m| match m {
            Mod::Relaxed => Some(Order::Relaxed),
            Mod::Acquire => Some(Order::Acquire),
            Mod::Release => Some(Order::Release),
            Mod::AcqRel => Some(Order::AcqRel),
            _ => None,
        });
        let scope = form.scope();
        let space = form.pick(space_of);
        let op = form.pick(atom_op).ok_or_else(|| form.unsupported())?;
        form.take(Mod::Noftz);
        while form.take_other(&["L1::", "L2::"]) {}
        let vec = form.pick(|m| match m {
            Mod::V2 => Some(2),
            Mod::V4 => Some(4),
            Mod::V8 => Some(8),
            _ => None,
        });
        let ty = form.ty()?;
        form.end()?;
        let vec: u32 = vec.unwrap_or(1);
        // Vectors are a later addition: floats of global memory, up to 16 bytes.
        let float = types::is_float(ty) && ty != Scalar::F64 && !matches!(op, AtomOp::Exch | AtomOp::Cas);
        if vec > 1 && (!float || vec * types::bytes(ty) > 16) {
            return Err(form.unsupported());
        }
        if !exists(op, ty) || (!has_result && matches!(op, AtomOp::Exch | AtomOp::Cas)) {
            return Err(form.unsupported());
        }
        let sources = if op == AtomOp::Cas { 2 } else { 1 };
        let first = usize::from(has_result);
        let operands = form.operands(first + 1 + sources, first + 2 + sources)?;
        let mut access = self.atomic_access(form, &operands[first], space, ty)?;
        access.mem.order = order.unwrap_or(Order::Relaxed);
        access.mem.scope = scope.unwrap_or(Scope::Gpu);
        access.sub = warpwatt_isa::Sub::Atom(op);
        let unused = matches!(operands[0].kind, OperandKind::Sink);
        let plain = !has_result || (unused && !matches!(op, AtomOp::Exch | AtomOp::Cas));
        if vec > 1 {
            let result = (!plain).then_some(&operands[0]);
            return self.atomic_vector(access, ty, vec, result, &operands[first + 1]);
        }
        let mut i = access;
        for o in &operands[first + 1..first + 1 + sources] {
            i.srcs.push(self.src(o, ty)?);
        }
        let d = match has_result {
            true => self.dst(&operands[0], ty)?,
            false => Dst::Sink,
        };
        if plain {
            self.push(i);
        } else {
            let old = self.put(Inst { op: Op::Atom, ..i });
            self.set(d, old);
        }
        Ok(())
    }

    /// A reduction on memory that can have one, without its operation and values.
    fn atomic_access(
        &mut self,
        form: &Form<'a>,
        operand: &Operand,
        space: Option<Space>,
        ty: Scalar,
    ) -> Lower<Inst> {
        let AccessTarget::Memory { base, off, frame, space, bank } = self.place(operand, space)? else {
            return Err(Diagnostic::error(
                "ptx-space",
                operand.span,
                "atomic operations on parameters are not possible",
            )
            .with_help("use global or shared memory"));
        };
        if matches!(space, warpwatt_isa::Space::Const | warpwatt_isa::Space::Local) {
            return Err(form.unsupported());
        }
        let mem = MemAttr { space, bank, vec: 1, ..MemAttr::default() };
        Ok(Inst { mem, off, frame, guard: self.guard, ..inst(Op::Red, types::ty(ty), &[base]) })
    }

    /// `access` on each element of a vector: every element is atomic by itself, not the vector.
    fn atomic_vector(
        &mut self,
        access: Inst,
        ty: Scalar,
        count: u32,
        result: Option<&Operand>,
        values: &Operand,
    ) -> Lower {
        let values = self.vector(values, count)?;
        let results = result.map_or(Ok(Vec::new()), |result| self.vector(result, count))?;
        for (k, value) in values.iter().enumerate() {
            let off = access.off.saturating_add(k as i32 * types::bytes(ty) as i32);
            let mut each = Inst { off, ..access.clone() };
            each.srcs.push(self.src(value, ty)?);
            match results.get(k) {
                Some(result) => {
                    let d = self.dst(result, ty)?;
                    let old = self.put(Inst { op: Op::Atom, ..each });
                    self.set(d, old);
                }
                None => self.push(each),
            }
        }
        Ok(())
    }

    /// `alloca`: the frame has a fixed size, so only constant sizes outside of loops could be supported, and compilers do not emit those.
    pub fn alloca(&mut self, form: &mut Form<'a>) -> Lower {
        Err(form.unsupported())
    }

    /// Without `alloca` the stack pointer never moves inside of a function: saving gives some number, restoring does nothing.
    pub fn stack_pointer(&mut self, form: &mut Form<'a>) -> Lower {
        let ty = form.ty_of(&[Scalar::U32, Scalar::U64, Scalar::B32, Scalar::B64])?;
        form.end()?;
        let [operand] = form.exactly()?;
        if form.instr.op == Opcode::Stackrestore {
            self.src(operand, ty)?;
        } else {
            let d = self.dst(operand, ty)?;
            self.set(d, imm(0));
        }
        Ok(())
    }
}
