// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch of instructions to their lowering, and the control-flow instructions (PTX ISA, "Control Flow Instructions").

use warpwatt_isa::{Op, Ty};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Operand, OperandKind, Scalar, Stmt};
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Lowerer, inst};
use super::form::{Form, Lower};
use super::names::Entity;
use crate::ir::{BlockId, PredUse, Term};

impl<'a> Lowerer<'a, '_> {
    pub fn dispatch(&mut self, form: &mut Form<'a>) -> Lower {
        use Opcode::*;
        match form.instr.op {
            Add | Sub | Addc | Subc => self.add_sub(form),
            Mul | Mad | Madc | Mul24 | Mad24 => self.multiply(form),
            Fma => self.fma(form),
            Sad => self.sad(form),
            Min | Max => self.minimum(form),
            Abs | Neg => self.abs_neg(form),
            Popc | Clz | Brev | Bfind => self.count_bits(form),
            Bfe | Bfi | Bmsk | Szext | Fns => self.bit_field(form),
            Dp4a | Dp2a => self.dot(form),
            And | Or | Xor | Not | Cnot => self.logic(form),
            Lop3 => self.lop3(form),
            Shl | Shr => self.shift(form),
            Shf => self.funnel(form),
            Prmt => self.permute(form),

            Div | Rem | Rcp | Sqrt | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => self.function_unit(form),
            Testp => self.testp(form),
            Copysign => self.copysign(form),

            Setp => self.setp(form),
            Set => self.set_compare(form),
            Selp => self.selp(form),
            Slct => self.slct(form),

            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vset => self.video(form),
            Vmad => self.video_mad(form),
            Vadd2 | Vadd4 | Vsub2 | Vsub4 | Vavrg2 | Vavrg4 | Vabsdiff2 | Vabsdiff4 | Vmin2 | Vmin4
            | Vmax2 | Vmax4 | Vset2 | Vset4 => self.video_simd(form),

            Cvt => self.convert(form),
            Mov => self.mov(form),
            Cvta => self.cvta(form),
            Isspacep => self.isspacep(form),

            Ld | Ldu => self.load(form),
            St => self.store(form),
            Atom | Red => self.atomic(form),
            Membar | Fence => self.fence(form),
            Prefetch | Prefetchu | Discard | Applypriority => self.hint(form),
            Createpolicy => self.policy(form),

            Tex => self.tex(form),
            Tld4 => self.tld4(form),
            Txq | Suq => self.query(form),
            Suld => self.surface_load(form),
            Sust => self.surface_store(form),
            Sured => self.surface_reduce(form),

            Bar | Barrier => self.barrier(form),
            Shfl => self.shuffle(form),
            Vote => self.vote(form),
            Match => self.match_lanes(form),
            Redux => self.redux(form),
            Activemask => self.activemask(form),
            Elect => self.elect(form),
            Nanosleep => self.nanosleep(form),

            Bra => self.branch(form),
            Brx => self.branch_indexed(form),
            Call => self.call(form),
            Ret => self.leave(form),
            Exit => self.exit(form),
            Trap => self.trap(form),
            Brkpt => {
                form.end()?;
                let guard = self.guard;
                self.push(crate::ir::Inst { guard, ..inst(Op::Brkpt, Ty::U32, &[]) });
                Ok(())
            }
            // Counters, dependent launches, register budgets: nothing that a program can see.
            Pmevent | Griddepcontrol | Setmaxnreg => Ok(()),
            Alloca => self.alloca(form),
            Stacksave | Stackrestore => self.stack_pointer(form),
            _ => Err(form.unsupported()),
        }
    }

    fn label(&mut self, o: &Operand) -> Lower<BlockId> {
        let OperandKind::Name(name) = o.kind else {
            return Err(Diagnostic::error("ptx-operand", o.span, "expected a label")
                .with_help("the target of a branch is a label of the same function"));
        };
        match self.local_name(name) {
            Some(Entity::Label(block)) => Ok(block),
            Some(_) => Err(Diagnostic::error("ptx-operand", o.span, "this is not a label")
                .with_help("the target of a branch is a label of the same function")),
            None => Err(self.unknown(name, o.span)),
        }
    }

    fn branch(&mut self, form: &mut Form<'a>) -> Lower {
        let uniform = form.take(Mod::Uni);
        form.end()?;
        let [target] = form.exactly()?;
        let taken = self.label(target)?;
        self.jump_if(taken, uniform);
        Ok(())
    }

    /// Goes to `taken` where the guard holds.
    fn jump_if(&mut self, taken: BlockId, uniform: bool) {
        let cond = std::mem::replace(&mut self.guard, PredUse::TRUE);
        if cond == PredUse::TRUE {
            self.end(Term::Jump(taken));
            return;
        }
        let other = self.new_block();
        self.end(Term::Branch { cond, taken, other, uniform, loc: self.loc });
        self.start(other);
    }

    fn branch_indexed(&mut self, form: &mut Form<'a>) -> Lower {
        if !form.take(Mod::Idx) {
            return Err(form.unsupported());
        }
        form.take(Mod::Uni);
        form.end()?;
        let [index, list] = form.exactly()?;
        let index = self.src(index, Scalar::U32)?;
        let targets: Vec<BlockId> = match &list.kind {
            OperandKind::Name(name) => match self.local_name(*name) {
                Some(Entity::Declared(Stmt::BranchTargets { targets, span, .. })) => targets
                    .iter()
                    .map(|&t| self.label(&Operand { kind: OperandKind::Name(t), span: *span }))
                    .collect::<Lower<_>>()?,
                Some(_) => {
                    return Err(Diagnostic::error(
                        "ptx-operand",
                        list.span,
                        "this is not a list of branch targets",
                    )
                    .with_help("declare one with `label: .branchtargets a, b;`"));
                }
                None => return Err(self.unknown(*name, list.span)),
            },
            OperandKind::Vector(names) => names.iter().map(|o| self.label(o)).collect::<Lower<_>>()?,
            _ => return Err(form.unsupported()),
        };
        if targets.is_empty() {
            return Err(Diagnostic::error("ptx-operand", list.span, "the list of branch targets is empty")
                .with_help("name at least one label"));
        }
        self.branch_around(|this| {
            this.end(Term::Table { index, targets, loc: this.loc });
            Ok(())
        })
    }

    fn leave(&mut self, form: &mut Form<'a>) -> Lower {
        let uniform = form.take(Mod::Uni);
        form.end()?;
        self.jump_if(self.ctx.leave, uniform);
        Ok(())
    }

    fn exit(&mut self, form: &mut Form<'a>) -> Lower {
        form.end()?;
        self.branch_around(|this| {
            this.end(Term::Exit { loc: this.loc });
            Ok(())
        })
    }

    fn trap(&mut self, form: &mut Form<'a>) -> Lower {
        form.end()?;
        self.branch_around(|this| {
            this.push(inst(Op::Trap, Ty::U32, &[]));
            this.end(Term::Unreachable);
            Ok(())
        })
    }
}
