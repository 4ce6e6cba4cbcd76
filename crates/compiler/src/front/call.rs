// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls (PTX ISA, "call", "Function Declarations and Definitions"). Results and arguments pass through the stack: results first, then
//! arguments, each at its natural alignment, at the bottom of the caller's frame.

use warpwatt_base::Sym;
use warpwatt_isa::{MemAttr, Op, Space as MachineSpace, Sub, SysFn, Ty};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Function, Item, Operand, OperandKind, Scalar, Stmt, Variable};
use warpwatt_ptx::words::Mod;

use super::build::{Dst, Lowerer, imm, inst};
use super::builtin;
use super::form::{Form, Lower};
use super::layout::{Symbol, place};
use super::names::Entity;
use super::reach::function_of;
use super::types;
use crate::ir::{Frame, Inst, Opnd, PredUse, Value};

/// Most bytes of arguments that a call may pass on the stack.
pub const MOST_ARGUMENT_BYTES: u64 = 65_536;

enum Callee {
    Direct(u32),
    Indirect(Opnd),
    System(SysFn),
}

fn system(name: &str) -> Option<SysFn> {
    Some(match name {
        "vprintf" => SysFn::Vprintf,
        // `operator new` and `operator delete` of the device runtime are these.
        "malloc" | "_Znwm" | "_Znam" => SysFn::Malloc,
        "free" | "_ZdlPv" | "_ZdaPv" | "_ZdlPvm" | "_ZdaPvm" => SysFn::Free,
        "__assertfail" => SysFn::AssertFail,
        "cudaCGGetIntrinsicHandle" => SysFn::GridHandle,
        "cudaCGSynchronize" => SysFn::GridSync,
        _ => return None,
    })
}

/// Functions of CUDA's device runtime: with them, kernels launch kernels.
fn launches_kernels(name: &str) -> bool {
    ["__cudaCDP", "cudaLaunchDevice", "cudaGetParameterBuffer"].iter().any(|start| name.starts_with(start))
}

fn frame_mem() -> MemAttr {
    MemAttr { space: MachineSpace::Local, vec: 1, ..MemAttr::default() }
}

impl<'a> Lowerer<'a, '_> {
    pub fn call(&mut self, form: &mut Form<'a>) -> Lower {
        form.take(Mod::Uni);
        form.end()?;
        let mut operands = form.operands(1, 4)?;
        let results: &[Operand] = match &operands[0].kind {
            OperandKind::Group(list) => {
                operands = &operands[1..];
                list
            }
            _ => &[],
        };
        let Some((target, rest)) = operands.split_first() else { return Err(form.unsupported()) };
        let (arguments, prototype): (&[Operand], Option<&Operand>) = match rest {
            [] => (&[], None),
            [Operand { kind: OperandKind::Group(list), .. }] => (list, None),
            [Operand { kind: OperandKind::Group(list), .. }, proto] => (list, Some(proto)),
            [proto] => (&[], Some(proto)),
            _ => return Err(form.unsupported()),
        };
        let OperandKind::Name(name) = target.kind else { return Err(form.unsupported()) };
        if self.ctx.library {
            return self.library_internal(form, self.text_of(name), results, arguments);
        }
        let (callee, returns, params) = match self.local_name(name) {
            Some(Entity::Reg { value, scalar }) if types::bits(scalar) == 64 => {
                let (returns, params) = self.prototype(form, target, prototype)?;
                (Callee::Indirect(self.whole(value)), returns, params)
            }
            Some(_) => {
                return Err(Diagnostic::error("ptx-operand", target.span, "this is not a function")
                    .with_help("name a function, or a 64-bit register with a prototype"));
            }
            None => {
                let (callee, tree) = self.named_callee(form, name, target)?;
                (callee, &tree.returns[..], &tree.params[..])
            }
        };
        let declared = matches!(callee, Callee::Direct(id) if self.is_declared_with(id, results.len()));
        let results_fit = results.len() == returns.len() || declared;
        if arguments.len() != params.len() || !results_fit {
            return Err(Diagnostic::error(
                "ptx-operand-count",
                form.instr.span,
                format!(
                    "the function has {} arguments and {} results, the call {} and {}",
                    params.len(),
                    returns.len(),
                    arguments.len(),
                    results.len()
                ),
            )
            .with_help("compare with the function's declaration"));
        }
        self.branch_around(|this| this.emit_call(form, callee, (returns, results), (params, arguments)))
    }

    /// A function of the module, or a service of the driver, with its declaration.
    fn named_callee(&self, form: &Form<'a>, name: Sym, target: &Operand) -> Lower<(Callee, &'a Function)> {
        let Some(Symbol::Function(id)) = self.module_symbol(name) else {
            return Err(self.unknown(name, target.span));
        };
        let info = &self.unit.layout.functions[id as usize];
        let text = info.name.as_str();
        let Some(tree) = function_of(self.unit.module, self.unit.layout, id) else {
            return Err(form.unsupported());
        };
        let callee = match (info.has_body, system(text)) {
            (true, _) => Callee::Direct(id),
            (false, Some(service)) => Callee::System(service),
            (false, None) if launches_kernels(text) => {
                return Err(Diagnostic::error(
                    "ptx-unsupported",
                    target.span,
                    "kernel launches from device code (dynamic parallelism) are not simulated",
                )
                .with_help("launch the inner kernel from the host"));
            }
            (false, None) => {
                let shown: String = text.chars().take(80).collect();
                return Err(Diagnostic::error(
                    "ptx-undefined",
                    target.span,
                    format!("`{shown}` is declared, but no module defines it"),
                )
                .with_help("link the module that defines it (compile with relocatable device code off)"));
            }
        };
        Ok((callee, tree))
    }

    /// Whether a prototype gives a function so many results: it may be of another text than the definition, and differ from it.
    fn is_declared_with(&self, id: u32, results: usize) -> bool {
        let module = self.unit.module;
        let name = self.unit.layout.functions[id as usize].name.as_str();
        module.items.iter().any(|item| match item {
            Item::Function(f) => {
                f.body.is_none() && f.returns.len() == results && module.names.get(f.name) == name
            }
            _ => false,
        })
    }

    /// The signature of an indirect call.
    fn prototype(
        &mut self,
        form: &Form<'a>,
        target: &Operand,
        prototype: Option<&Operand>,
    ) -> Lower<(&'a [Variable], &'a [Variable])> {
        let Some(Operand { kind: OperandKind::Name(name), span }) = prototype else {
            return Err(Diagnostic::error("ptx-operand", target.span, "an indirect call needs a prototype")
                .with_help("declare one with `label: .callprototype …;` and name it last"));
        };
        match self.local_name(*name) {
            Some(Entity::Declared(Stmt::CallPrototype { returns, params, .. })) => Ok((returns, params)),
            Some(Entity::Declared(Stmt::CallTargets { targets, .. })) => {
                let first = targets.first().and_then(|t| self.module_symbol(*t));
                match first {
                    Some(Symbol::Function(id)) => match function_of(self.unit.module, self.unit.layout, id) {
                        Some(tree) => Ok((&tree.returns, &tree.params)),
                        None => Err(form.unsupported()),
                    },
                    _ => Err(form.unsupported()),
                }
            }
            Some(_) => Err(Diagnostic::error("ptx-operand", *span, "this is not a prototype")
                .with_help("declare one with `label: .callprototype …;`")),
            None => Err(self.unknown(*name, *span)),
        }
    }

    fn emit_call(
        &mut self,
        form: &Form<'a>,
        callee: Callee,
        (returns, results): (&'a [Variable], &'a [Operand]),
        (params, arguments): (&'a [Variable], &'a [Operand]),
    ) -> Lower {
        let is_system = matches!(callee, Callee::System(_));
        let (return_offsets, end) = if is_system { (Vec::new(), 0) } else { place(returns, 0) };
        let (offsets, end) = place(params, end);
        if end > MOST_ARGUMENT_BYTES {
            return Err(Diagnostic::error(
                "ptx-limit",
                form.instr.span,
                "the arguments and results of the call are too large",
            )
            .with_help("pass large objects by address"));
        }
        self.out_bytes = self.out_bytes.max(types::round_up(end, 8));
        for ((v, o), offset) in params.iter().zip(arguments).zip(offsets) {
            self.pass(v, o, offset as u32)?;
        }
        match callee {
            Callee::System(service) => {
                self.unit.grid_sync |= service == SysFn::GridSync;
                let i =
                    Inst { sub: Sub::Sys(service), frame: Frame::Out, ..inst(Op::Sys, Ty::U32, &[Opnd::Sp]) };
                let words = warpwatt_isa::dst_words(i.op, i.ty, i.sub, &i.mem);
                if words == 0 {
                    self.push(i);
                    return Ok(());
                }
                let value = self.put(i);
                if let (Some(v), Some(o)) = (returns.first(), results.first()) {
                    self.receive(v, o, value)?;
                }
                return Ok(());
            }
            Callee::Direct(id) => self.push(Inst { callee: id, ..inst(Op::Call, Ty::U32, &[]) }),
            Callee::Indirect(address) => self.push(inst(Op::CallInd, Ty::U64, &[address])),
        }
        for ((v, o), offset) in returns.iter().zip(results).zip(return_offsets) {
            self.fetch(v, o, offset as u32)?;
        }
        // A result that the prototype promises and the definition does not give: hardware leaves what its register held.
        for o in results.iter().skip(returns.len()) {
            let OperandKind::Name(name) = o.kind else { continue };
            match self.local_name(name) {
                Some(Entity::Words { first, size, .. }) => {
                    for k in 0..size.div_ceil(4) {
                        self.set(Dst::Reg(Value(first.0 + k), Scalar::B32), imm(0));
                    }
                }
                Some(Entity::Reg { value, scalar }) => self.set(Dst::Reg(value, scalar), imm(0)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Stores one argument.
    fn pass(&mut self, v: &Variable, o: &Operand, offset: u32) -> Lower {
        if let OperandKind::Name(name) = o.kind
            && let Some(Entity::Words { first, size, align }) = self.local_name(name)
        {
            let wanted = types::size_of(v);
            if wanted != u64::from(size) {
                return Err(Diagnostic::error(
                    "ptx-type",
                    o.span,
                    format!("size mismatch: the argument has {size} bytes, the parameter {wanted}"),
                )
                .with_help("declare both with the same type"));
            }
            self.store_words(first, size, align.min(types::align_of(v)), offset);
            return Ok(());
        }
        if !v.dims.is_empty() || v.ty.scalar == Scalar::Pred {
            return Err(Diagnostic::error(
                "ptx-operand",
                o.span,
                "an aggregate must be passed as a `.param` variable",
            )
            .with_help("declare one, store to it and name it here"));
        }
        let value = self.src(o, v.ty.scalar)?;
        self.frame_store(Frame::Out, offset, v, value);
        Ok(())
    }

    /// Stores a `.param` variable, in pieces that its alignment allows.
    fn store_words(&mut self, first: Value, size: u32, align: u32, offset: u32) {
        let mut at = 0;
        while at < size {
            let left = size - at;
            let piece = [8, 4, 2, 1]
                .into_iter()
                .find(|&p| p <= left && p <= align.max(1) && (offset + at).is_multiple_of(p));
            let piece = piece.unwrap_or(1);
            let word = self.whole(Value(first.0 + at / 4));
            let (ty, value) = match piece {
                8 => {
                    let high = self.whole(Value(first.0 + at / 4 + 1));
                    (Ty::U64, self.pack(&[word, high]))
                }
                4 => (Ty::U32, word),
                n => {
                    let value =
                        if at % 4 == 0 { word } else { self.shr(Ty::U32, word, imm(u64::from(at % 4 * 8))) };
                    (if n == 2 { Ty::U16 } else { Ty::U8 }, value)
                }
            };
            let off = (offset + at) as i32;
            self.push(Inst {
                mem: frame_mem(),
                frame: Frame::Out,
                off,
                ..inst(Op::St, ty, &[Opnd::Sp, value])
            });
            at += piece;
        }
    }

    /// Takes one result from the stack.
    fn fetch(&mut self, v: &Variable, o: &Operand, offset: u32) -> Lower {
        if let OperandKind::Name(name) = o.kind
            && let Some(Entity::Words { first, size, .. }) = self.local_name(name)
        {
            let size = size.min(types::size_of(v) as u32);
            let align = types::align_of(v);
            for k in 0..size.div_ceil(4) {
                let left = size - 4 * k;
                let register = Dst::Reg(Value(first.0 + k), Scalar::B32);
                let value = if left >= 4 && align >= 4 {
                    self.load_piece(Ty::U32, offset + 4 * k)
                } else {
                    self.load_bytes(left.min(4), offset + 4 * k)
                };
                self.set(register, value);
            }
            return Ok(());
        }
        let d = self.dst(o, v.ty.scalar)?;
        let value = self.frame_load(Frame::Out, offset, v);
        self.set(d, value);
        Ok(())
    }

    fn load_piece(&mut self, ty: Ty, offset: u32) -> Opnd {
        let off = offset as i32;
        self.put(Inst { mem: frame_mem(), frame: Frame::Out, off, ..inst(Op::Ld, ty, &[Opnd::Sp]) })
    }

    fn load_bytes(&mut self, count: u32, offset: u32) -> Opnd {
        if count == 2 && offset.is_multiple_of(2) {
            return self.load_piece(Ty::U16, offset);
        }
        let mut value = self.load_piece(Ty::U8, offset);
        for k in 1..count {
            let byte = self.load_piece(Ty::U8, offset + k);
            value = self.op(Op::Bfi, Ty::U32, &[byte, value, imm(u64::from(8 * k)), imm(8)]);
        }
        value
    }

    /// The result of a service goes to a register or a `.param` variable.
    fn receive(&mut self, v: &Variable, o: &Operand, value: Opnd) -> Lower {
        if let OperandKind::Name(name) = o.kind
            && let Some(Entity::Words { first, size, .. }) = self.local_name(name)
        {
            let words = self.words_of(value);
            for k in 0..words.min(size.div_ceil(4) as u8) {
                let part = self.word(value, k);
                self.set(Dst::Reg(Value(first.0 + u32::from(k)), Scalar::B32), part);
            }
            return Ok(());
        }
        let d = self.dst(o, v.ty.scalar)?;
        if let Dst::Reg(register, _) = d
            && self.f.words(register) != self.words_of(value)
        {
            return Err(Diagnostic::error("ptx-type", o.span, "the width of the result does not match")
                .with_help("declare the function as the CUDA headers do"));
        }
        self.set(d, value);
        Ok(())
    }

    /// A call inside of the library: a check of the machine, a function of its own, or one more to inline.
    fn library_internal(
        &mut self,
        form: &Form<'a>,
        name: &str,
        results: &'a [Operand],
        arguments: &'a [Operand],
    ) -> Lower {
        if name == "__ww_fchk" {
            let ([p], [a, b]) = (results, arguments) else { return Err(form.unsupported()) };
            let (a, b) = (self.src(a, Scalar::F32)?, self.src(b, Scalar::F32)?);
            if let Some(p) = self.pred_dst(p)? {
                let unsafe_here = self.put_pred(inst(Op::Fchk, Ty::F32, &[a, b]));
                self.set_pred(p, unsafe_here);
            }
            return Ok(());
        }
        let Some((index, module, tree)) = builtin::find(name) else { return Err(form.unsupported()) };
        if arguments.len() != tree.params.len() || results.len() != tree.returns.len() {
            return Err(form.unsupported());
        }
        if name.ends_with("__call") {
            let id = self.unit.layout.functions.len() as u32 + index;
            if !self.unit.library_calls.contains(&id) {
                self.unit.library_calls.push(id);
            }
            return self.branch_around(|this| {
                this.emit_call(form, Callee::Direct(id), (&tree.returns, results), (&tree.params, arguments))
            });
        }
        let mut values = Vec::new();
        for (v, o) in tree.params.iter().zip(arguments) {
            values.push(self.src(o, v.ty.scalar)?);
        }
        let mut dsts = Vec::new();
        for (v, o) in tree.returns.iter().zip(results) {
            dsts.push(self.dst(o, v.ty.scalar)?);
        }
        self.branch_around(|this| {
            let values = this.inline(form, module, tree, &values)?;
            for (d, v) in dsts.into_iter().zip(values) {
                this.set(d, v);
            }
            debug_assert!(this.guard == PredUse::TRUE);
            Ok(())
        })
    }
}
