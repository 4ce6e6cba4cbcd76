// SPDX-License-Identifier: MIT OR Apache-2.0
//! One function: its parameters, its statements in order, its single way out.

use warpwatt_isa::{Location, MemAttr, Op, Space as MachineSpace};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Function as Tree, Instr, Linkage, Module, Space, Stmt, Variable};

use super::build::{Context, Dst, Lowerer, inst};
use super::form::{Form, Lower};
use super::layout::{kernel_params, place};
use super::names::{Entity, Names};
use super::ssa;
use super::types;
use super::unit::Unit;
use crate::ir::{Block, BlockId, Frame, Function, Inst, Opnd, PredUse, Term};

/// Stack that any thread may have: larger frames are mistakes.
const MOST_LOCAL_BYTES: u64 = 1 << 22;

/// `None` if it has no body.
pub fn lower<'a>(
    unit: &mut Unit<'a>,
    module: &'a Module,
    tree: &'a Tree,
    id: u32,
    library: bool,
) -> Option<Function> {
    let body = tree.body.as_ref()?;
    let none = Location { file: Location::NO_FILE, ..Location::default() };
    let f = Function {
        name: module.names.get(tree.name).to_owned(),
        id,
        is_kernel: tree.is_kernel,
        blocks: vec![Block { insts: Vec::new(), term: Term::Unreachable, preds: Vec::new() }],
        values: Vec::new(),
        locs: vec![none],
        out_bytes: 0,
        local_bytes: 0,
        spill_bytes: 0,
    };
    let mut this = Lowerer {
        unit,
        f,
        is_register: Vec::new(),
        at: BlockId(0),
        open: true,
        ctx: Context {
            module,
            names: Names::default(),
            leave: BlockId(0),
            inlined: None,
            library,
            is_kernel: tree.is_kernel,
        },
        guard: PredUse::TRUE,
        loc: 0,
        position: (Location::NO_FILE, 0, 0),
        carry: None,
        local_bytes: 0,
        out_bytes: 0,
    };
    let leave = this.new_block();
    this.ctx.leave = leave;
    this.ctx.names.enter();
    let returns = this.parameters(tree);
    this.stmts(body);
    this.start(leave);
    if tree.is_kernel {
        this.end(Term::Exit { loc: this.loc });
    } else {
        for (value, v, offset) in returns {
            this.frame_store(Frame::In, offset, v, value);
        }
        this.end(Term::Ret { loc: this.loc });
    }
    this.f.local_bytes = types::round_up(this.local_bytes, 8).min(MOST_LOCAL_BYTES) as u32;
    this.f.out_bytes = types::round_up(this.out_bytes, 8).min(MOST_LOCAL_BYTES) as u32;
    Some(ssa::construct(this.f, &this.is_register))
}

impl<'a> Lowerer<'a, '_> {
    /// Declares what the function was given. Gives the registers that hold return values, with their places.
    fn parameters(&mut self, tree: &'a Tree) -> Vec<(Opnd, &'a Variable, u32)> {
        if tree.is_kernel {
            let (params, _) = kernel_params(tree);
            for (v, p) in tree.params.iter().zip(params) {
                self.ctx.names.declare(v.name, Entity::KernelParam(p.offset));
            }
            return Vec::new();
        }
        let mut returns = Vec::new();
        let (ret_offsets, end) = place(&tree.returns, 0);
        let (offsets, end) = place(&tree.params, end);
        if end > super::call::MOST_ARGUMENT_BYTES {
            let problem = Diagnostic::error(
                "ptx-limit",
                tree.span,
                format!("the function has {end} bytes of parameters"),
            )
            .with_help("pass large objects by address");
            self.unit.diagnostics.push(problem);
            return Vec::new();
        }
        for (v, offset) in tree.returns.iter().zip(ret_offsets) {
            let entity = match v.space {
                Space::Reg => self.new_register(v.ty.scalar, 1),
                _ => Entity::InParam(offset as u32),
            };
            self.ctx.names.declare(v.name, entity);
            if let Entity::Reg { value, .. } = entity {
                returns.push((self.whole(value), v, offset as u32));
            }
        }
        for (v, offset) in tree.params.iter().zip(offsets) {
            let entity = match v.space {
                Space::Reg => self.new_register(v.ty.scalar, 1),
                _ => Entity::InParam(offset as u32),
            };
            self.ctx.names.declare(v.name, entity);
            if let Entity::Reg { value, scalar } = entity {
                let loaded = self.frame_load(Frame::In, offset as u32, v);
                self.set(Dst::Reg(value, scalar), loaded);
            }
        }
        returns
    }

    /// Loads an argument or result of the type of `v` from the stack.
    pub fn frame_load(&mut self, frame: Frame, offset: u32, v: &Variable) -> Opnd {
        let mem = MemAttr { space: MachineSpace::Local, vec: 1, ..MemAttr::default() };
        let ty = types::ty(v.ty.scalar);
        self.put(Inst { mem, frame, off: offset as i32, ..inst(Op::Ld, ty, &[Opnd::Sp]) })
    }

    pub fn frame_store(&mut self, frame: Frame, offset: u32, v: &Variable, value: Opnd) {
        let mem = MemAttr { space: MachineSpace::Local, vec: 1, ..MemAttr::default() };
        let ty = types::ty(v.ty.scalar);
        self.push(Inst { mem, frame, off: offset as i32, ..inst(Op::St, ty, &[Opnd::Sp, value]) });
    }

    /// The statements of one scope, which the caller has entered.
    pub fn stmts(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Label(name, _) => {
                    let block = self.new_block();
                    self.ctx.names.declare(*name, Entity::Label(block));
                }
                Stmt::CallPrototype { label, .. }
                | Stmt::BranchTargets { label, .. }
                | Stmt::CallTargets { label, .. } => self.ctx.names.declare(*label, Entity::Declared(stmt)),
                _ => {}
            }
        }
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Reg(decl) => match decl.count {
                Some(count) => self.ctx.names.declare_range(decl.name, count, decl.ty.scalar, decl.ty.lanes),
                None => {
                    let entity = self.new_register(decl.ty.scalar, decl.ty.lanes);
                    self.ctx.names.declare(decl.name, entity);
                }
            },
            Stmt::Var(v) => {
                let result = self.variable(v);
                self.report(result);
            }
            Stmt::Label(name, _) => {
                if let Some(Entity::Label(block)) = self.local_name(*name) {
                    self.start(block);
                }
            }
            Stmt::Instr(_) if self.unit.diagnostics.len() >= super::MOST_DIAGNOSTICS => {}
            Stmt::Instr(i) => {
                let result = self.instruction(i);
                self.guard = PredUse::TRUE;
                self.report(result);
            }
            Stmt::Loc(loc) => {
                let files = &self.unit.module.files;
                let file =
                    files.iter().position(|f| f.index == loc.file).map_or(Location::NO_FILE, |k| k as u32);
                self.position = (file, loc.line, loc.column);
            }
            Stmt::Block(inner) => {
                self.ctx.names.enter();
                self.stmts(inner);
                self.ctx.names.leave();
            }
            Stmt::Pragma(..)
            | Stmt::CallPrototype { .. }
            | Stmt::BranchTargets { .. }
            | Stmt::CallTargets { .. } => {}
        }
    }

    fn report(&mut self, result: Lower) {
        if let Err(problem) = result {
            self.unit.diagnostics.push(problem);
        }
    }

    fn variable(&mut self, v: &'a Variable) -> Lower {
        let size = types::size_of(v);
        let align = types::align_of(v);
        let too_large = || {
            Diagnostic::error("ptx-limit", v.span, "this variable is too large for a thread's stack")
                .with_help("check its dimensions; declare large arrays in `.global`")
        };
        let entity = match v.space {
            Space::Local => {
                let offset = types::round_up(self.local_bytes, align.min(16));
                let end = offset.saturating_add(size);
                if end > MOST_LOCAL_BYTES {
                    return Err(too_large());
                }
                self.local_bytes = end;
                Entity::Local(offset as u32)
            }
            Space::Shared => Entity::Shared(self.unit.local_shared.get(&v.span.start).copied().unwrap_or(0)),
            Space::Param => {
                if size > 65_536 {
                    return Err(too_large());
                }
                self.words(size as u32, align)
            }
            Space::Reg => self.new_register(v.ty.scalar, v.ty.lanes),
            _ => {
                return Err(Diagnostic::error(
                    "ptx-unsupported",
                    v.span,
                    "a variable of this space cannot be declared in a function",
                )
                .with_help("declare it at module scope"));
            }
        };
        if v.linkage != Linkage::Local && v.linkage != Linkage::Extern {
            return Err(Diagnostic::error("ptx-unsupported", v.span, "a local variable cannot have linkage")
                .with_help("remove the linkage directive"));
        }
        self.ctx.names.declare(v.name, entity);
        Ok(())
    }

    /// Registers for the words of a `.param` variable.
    pub fn words(&mut self, size: u32, align: u32) -> Entity<'a> {
        let first = self.register(1);
        for _ in 1..size.div_ceil(4) {
            self.register(1);
        }
        Entity::Words { first, size, align }
    }

    pub fn instruction(&mut self, i: &'a Instr) -> Lower {
        if !self.open {
            // After a branch without a label: unreachable, but still checked.
            let block = self.new_block();
            self.at = block;
            self.open = true;
        }
        self.locate(i.span);
        if let Some(guard) = i.guard {
            let value = self.pred_register(guard.pred, i.span)?;
            self.guard = PredUse { value: Some(value), negated: guard.negated };
        }
        let module = self.ctx.module;
        let mut form = Form::of(i, &module.names);
        self.dispatch(&mut form)
    }
}
