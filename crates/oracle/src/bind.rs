// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resolves names once: every function becomes a flat list of instructions over register slots, variables get addresses.

use std::collections::{BTreeMap, HashMap};

use warpwatt_base::{Span, Sym};
use warpwatt_ptx::ast::{self, AddressBase, Init, Item, OperandKind, Space, Stmt, Variable};
use warpwatt_ptx::line_col;
use warpwatt_ptx::words::Opcode;

use crate::contract::{self, Fused};
use crate::form::{Form, Ty};
use crate::memory::{self, FUNCTION, Memory};

/// Where module variables of the global space go: far from any buffer of a test.
const MODULE_GLOBALS: u64 = 0x7000_0000_0000;

#[derive(Clone, Copy, Debug)]
pub enum VariableAddress {
    /// An absolute address.
    Global(u64),
    Const(u64),
    Shared(u64),
    /// Bytes from the start of the function's frame in local memory.
    Frame(u64),
    KernelParam(u64),
}

#[derive(Clone, Debug)]
pub enum Operand {
    Reg(usize),
    Int(u64),
    F32(u32),
    F64(u64),
    Sink,
    /// Special register by name and component.
    Special(String, u8),
    Var(VariableAddress, i64),
    Function(usize),
    /// Index of the instruction after the label.
    Label(usize),
    Table(Vec<usize>),
    /// The label of a prototype, which only says what the call shows anyway.
    Prototype,
    Not(Box<Operand>),
    Neg(Box<Operand>),
    Pair(Box<Operand>, Box<Operand>),
    Vector(Vec<Operand>),
    Address(Box<Operand>, i64),
    Group(Vec<Operand>),
}

#[derive(Clone, Debug)]
pub struct Instr {
    pub op: Opcode,
    pub form: Form,
    /// Slot of the guard, and whether it must be false.
    pub guard: Option<(usize, bool)>,
    pub operands: Vec<Operand>,
    pub line: usize,
}

/// A formal parameter or return value.
#[derive(Clone, Copy, Debug)]
pub enum Formal {
    Reg(usize),
    Bytes { place: VariableAddress, size: u64 },
}

#[derive(Clone, Debug, Default)]
pub struct Function {
    pub name: String,
    pub is_kernel: bool,
    pub code: Vec<Instr>,
    /// Sums that are fused with a product, by instruction.
    pub fused: BTreeMap<usize, Fused>,
    /// Types of the registers, by slot.
    pub regs: Vec<Ty>,
    pub params: Vec<Formal>,
    pub returns: Vec<Formal>,
    pub frame_bytes: u64,
    pub param_bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Bound {
    pub functions: Vec<Function>,
    pub by_name: HashMap<String, usize>,
    pub const_bytes: Vec<u8>,
    pub shared_bytes: u64,
    /// Where dynamic shared memory starts.
    pub dynamic_shared: u64,
}

#[derive(Clone, Debug)]
enum Meaning {
    Reg(usize),
    Var(VariableAddress),
    Label(usize),
    Table(Vec<Sym>),
    Prototype,
}

struct Binder<'a> {
    module: &'a ast::Module,
    bound: Bound,
    globals: HashMap<Sym, VariableAddress>,
    function: Function,
    scopes: Vec<HashMap<Sym, Meaning>>,
    /// Operands of branches, filled in when all labels are known: labels may be used before they are seen.
    statements: Vec<Located<'a>>,
}

/// An instruction with the scopes that its names are looked up in.
struct Located<'a> {
    instr: &'a ast::Instr,
    scopes: Vec<usize>,
}

pub fn bind(module: &ast::Module, memory: &mut Memory) -> Result<Bound, String> {
    let mut binder = Binder {
        module,
        bound: Bound::default(),
        globals: HashMap::new(),
        function: Function::default(),
        scopes: Vec::new(),
        statements: Vec::new(),
    };
    binder.variables(memory)?;
    // Definitions win over prototypes of the same name.
    let functions: Vec<&ast::Function> = module
        .items
        .iter()
        .filter_map(|item| if let Item::Function(function) = item { Some(function) } else { None })
        .filter(|function| function.body.is_some())
        .collect();
    for (index, function) in functions.iter().enumerate() {
        binder.bound.by_name.insert(module.names.get(function.name).to_owned(), index);
    }
    for function in functions {
        binder.function(function)?;
    }
    Ok(binder.bound)
}

fn align_up(at: u64, to: u64) -> u64 {
    at.next_multiple_of(to.max(1))
}

/// Size and alignment of a variable; an array without length has none.
fn extent(variable: &Variable) -> Result<(u64, u64), String> {
    let ty = Ty::of_scalar(variable.ty.scalar).ok_or("a variable of this type")?;
    let element = ty.bytes() * u64::from(variable.ty.lanes);
    let count: u64 = variable.dims.iter().map(|dim| dim.unwrap_or(0)).product();
    Ok((element * count, u64::from(variable.align.unwrap_or(element as u32))))
}

impl<'a> Binder<'a> {
    fn name(&self, sym: Sym) -> &'a str {
        self.module.names.get(sym)
    }

    fn variables(&mut self, memory: &mut Memory) -> Result<(), String> {
        let module = self.module;
        let vars = || {
            module.items.iter().filter_map(|item| if let Item::Var(var) = item { Some(var) } else { None })
        };
        let (mut global, mut constant) = (MODULE_GLOBALS, 0);
        for var in vars() {
            let (size, align) = extent(var)?;
            let place = match var.space {
                Space::Global => {
                    let at = align_up(global, align.max(256));
                    global = at + size + 256;
                    VariableAddress::Global(at)
                }
                Space::Const => {
                    let at = align_up(constant, align);
                    constant = at + size;
                    VariableAddress::Const(at)
                }
                Space::Shared if !var.dims.iter().any(Option::is_none) => self.shared(size, align),
                Space::Shared => continue,
                _ => return Err(format!("variable `{}` in this space", self.name(var.name))),
            };
            self.globals.insert(var.name, place);
        }
        self.bound.const_bytes = vec![0; constant as usize];
        for var in vars() {
            let size = extent(var)?.0;
            let mut bytes = vec![0; size as usize];
            if let Some(init) = &var.init {
                let ty = Ty::of_scalar(var.ty.scalar).ok_or("an initialiser of this type")?;
                self.initialise(init, ty, &mut bytes, &mut 0)?;
            }
            match self.globals.get(&var.name) {
                Some(&VariableAddress::Global(at)) => memory.map(at, bytes),
                Some(&VariableAddress::Const(at)) => {
                    self.bound.const_bytes[at as usize..][..bytes.len()].copy_from_slice(&bytes);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn shared(&mut self, size: u64, align: u64) -> VariableAddress {
        let at = align_up(self.bound.shared_bytes, align);
        self.bound.shared_bytes = at + size;
        self.bound.dynamic_shared = align_up(self.bound.shared_bytes, 16);
        VariableAddress::Shared(at)
    }

    fn initialise(&self, init: &Init, ty: Ty, bytes: &mut [u8], at: &mut usize) -> Result<(), String> {
        let value = match init {
            Init::List(list) => return list.iter().try_for_each(|init| self.initialise(init, ty, bytes, at)),
            Init::Int(value) if ty.float() => crate::float::from_integer(
                i128::from(*value as i64),
                ty,
                rustc_apfloat::Round::NearestTiesToEven,
            ),
            Init::Int(value) => *value,
            Init::F32(bits) => u64::from(*bits),
            Init::F64(bits) if ty == Ty::F32 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            Init::F64(bits) => *bits,
            Init::Symbol { name, addend, generic, mask: None, .. } => {
                let base = match self.globals.get(name) {
                    Some(VariableAddress::Global(at)) => *at,
                    Some(VariableAddress::Const(at)) => *at + if *generic { memory::CONST } else { 0 },
                    Some(VariableAddress::Shared(at)) => *at + if *generic { memory::SHARED } else { 0 },
                    _ => return Err(format!("address of `{}` in an initialiser", self.name(*name))),
                };
                base.wrapping_add(*addend as u64)
            }
            _ => return Err("this initialiser".to_owned()),
        };
        let size = ty.bytes() as usize;
        let slot = bytes.get_mut(*at..*at + size).ok_or("an initialiser longer than its variable")?;
        memory::store(slot, value);
        *at += size;
        Ok(())
    }

    fn function(&mut self, function: &'a ast::Function) -> Result<(), String> {
        self.function = Function {
            name: self.name(function.name).to_owned(),
            is_kernel: function.is_kernel,
            ..Function::default()
        };
        self.scopes = vec![HashMap::new()];
        self.statements = Vec::new();
        for param in &function.params {
            let formal = self.formal(param, function.is_kernel)?;
            self.function.params.push(formal);
        }
        for result in &function.returns {
            let formal = self.formal(result, false)?;
            self.function.returns.push(formal);
        }
        let body = function.body.as_deref().unwrap_or_default();
        self.block(body, &mut vec![0])?;
        let statements = std::mem::take(&mut self.statements);
        for located in &statements {
            let instr = self.instr(located)?;
            self.function.code.push(instr);
        }
        self.function.fused = contract::plan(&self.function.code);
        self.bound.functions.push(std::mem::take(&mut self.function));
        Ok(())
    }

    fn formal(&mut self, variable: &Variable, kernel: bool) -> Result<Formal, String> {
        if variable.space == Space::Reg {
            let slot = self.register(variable.name, variable.ty, 0)?;
            return Ok(Formal::Reg(slot));
        }
        let (size, align) = extent(variable)?;
        let place = if kernel {
            let at = align_up(self.function.param_bytes, align);
            self.function.param_bytes = at + size;
            VariableAddress::KernelParam(at)
        } else {
            self.frame(size, align)
        };
        self.scopes[0].insert(variable.name, Meaning::Var(place));
        Ok(Formal::Bytes { place, size })
    }

    fn frame(&mut self, size: u64, align: u64) -> VariableAddress {
        let at = align_up(self.function.frame_bytes, align);
        self.function.frame_bytes = at + size;
        VariableAddress::Frame(at)
    }

    fn register(&mut self, name: Sym, ty: ast::Type, scope: usize) -> Result<usize, String> {
        let ty = Ty::of_scalar(ty.scalar)
            .filter(|_| ty.lanes == 1)
            .ok_or_else(|| format!("register `{}` of this type", self.name(name)))?;
        let slot = self.function.regs.len();
        self.function.regs.push(ty);
        self.scopes[scope].insert(name, Meaning::Reg(slot));
        Ok(slot)
    }

    /// Declarations and labels of a block; instructions are kept for later.
    fn block(&mut self, body: &'a [Stmt], scopes: &mut Vec<usize>) -> Result<(), String> {
        let scope = scopes[scopes.len() - 1];
        for statement in body {
            match statement {
                Stmt::Reg(decl) => match decl.count {
                    None => {
                        self.register(decl.name, decl.ty, scope)?;
                    }
                    Some(count) => {
                        let stem = self.name(decl.name);
                        for index in 0..count {
                            // A register that is never named needs no slot.
                            if let Some(sym) = self.module.names.find(&format!("{stem}{index}")) {
                                self.register(sym, decl.ty, scope)?;
                            }
                        }
                    }
                },
                Stmt::Var(var) => {
                    let (size, align) = extent(var)?;
                    let place = match var.space {
                        Space::Shared => self.shared(size, align),
                        Space::Local | Space::Param => self.frame(size, align),
                        _ => return Err(format!("variable `{}` in a function", self.name(var.name))),
                    };
                    self.scopes[scope].insert(var.name, Meaning::Var(place));
                }
                Stmt::Label(name, _) => {
                    self.scopes[scope].insert(*name, Meaning::Label(self.statements.len()));
                }
                Stmt::Instr(instr) => self.statements.push(Located { instr, scopes: scopes.clone() }),
                Stmt::Block(inner) => {
                    scopes.push(self.scopes.len());
                    self.scopes.push(HashMap::new());
                    self.block(inner, scopes)?;
                    scopes.pop();
                }
                Stmt::BranchTargets { label, targets, .. } => {
                    self.scopes[scope].insert(*label, Meaning::Table(targets.clone()));
                }
                Stmt::CallPrototype { label, .. } | Stmt::CallTargets { label, .. } => {
                    self.scopes[scope].insert(*label, Meaning::Prototype);
                }
                Stmt::Loc(_) | Stmt::Pragma(..) => {}
            }
        }
        Ok(())
    }

    fn instr(&self, located: &Located<'a>) -> Result<Instr, String> {
        let instr = located.instr;
        let line = self.line(instr.span);
        let guard = match &instr.guard {
            None => None,
            Some(guard) => match self.find(guard.pred, &located.scopes) {
                Some(Meaning::Reg(slot)) => Some((*slot, guard.negated)),
                _ => return Err(format!("line {line}: unknown guard `{}`", self.name(guard.pred))),
            },
        };
        let operands = instr
            .operands
            .iter()
            .map(|operand| self.operand(&operand.kind, &located.scopes))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("line {line}: {error}"))?;
        Ok(Instr { op: instr.op, form: Form::new(&instr.mods), guard, operands, line })
    }

    fn line(&self, span: Span) -> usize {
        line_col(&self.module.text, span).0
    }

    fn find(&self, name: Sym, scopes: &[usize]) -> Option<&Meaning> {
        scopes.iter().rev().find_map(|&scope| self.scopes[scope].get(&name))
    }

    fn named(&self, sym: Sym, offset: i64, scopes: &[usize]) -> Result<Operand, String> {
        let name = self.name(sym);
        Ok(match self.find(sym, scopes) {
            Some(Meaning::Reg(slot)) => Operand::Reg(*slot),
            Some(Meaning::Var(place)) => Operand::Var(*place, offset),
            Some(Meaning::Label(at)) => Operand::Label(*at),
            Some(Meaning::Prototype) => Operand::Prototype,
            Some(Meaning::Table(targets)) => {
                let target = |&target: &Sym| match self.find(target, scopes) {
                    Some(Meaning::Label(at)) => Ok(*at),
                    _ => Err(format!("unknown label `{}`", self.name(target))),
                };
                Operand::Table(targets.iter().map(target).collect::<Result<_, _>>()?)
            }
            None => match (self.globals.get(&sym), self.bound.by_name.get(name)) {
                (Some(place), _) => Operand::Var(*place, offset),
                (None, Some(index)) => Operand::Function(*index),
                (None, None) if name.starts_with('%') => Operand::Special(name.to_owned(), 0),
                (None, None) if self.is_dynamic_shared(sym) => {
                    // Its place is after everything else in shared memory, which is not known yet.
                    Operand::Var(VariableAddress::Shared(u64::MAX), offset)
                }
                (None, None) if name.starts_with("__ww_") => Operand::Special(name.to_owned(), 0),
                (None, None) => return Err(format!("unknown name `{name}`")),
            },
        })
    }

    fn is_dynamic_shared(&self, sym: Sym) -> bool {
        self.module.items.iter().any(
            |item| matches!(item, Item::Var(var) if var.name == sym && var.space == Space::Shared && var.dims.contains(&None)),
        )
    }

    fn operand(&self, kind: &OperandKind, scopes: &[usize]) -> Result<Operand, String> {
        let inner = |operand: &ast::Operand| self.operand(&operand.kind, scopes).map(Box::new);
        let all = |operands: &[ast::Operand]| {
            operands.iter().map(|operand| self.operand(&operand.kind, scopes)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match kind {
            OperandKind::Name(sym) => self.named(*sym, 0, scopes)?,
            OperandKind::NameOffset(sym, offset) => self.named(*sym, *offset, scopes)?,
            OperandKind::Member(sym, member) => Operand::Special(self.name(*sym).to_owned(), *member),
            OperandKind::Int(value) => Operand::Int(*value),
            OperandKind::F32(bits) => Operand::F32(*bits),
            OperandKind::F64(bits) => Operand::F64(*bits),
            OperandKind::Sink => Operand::Sink,
            OperandKind::Not(operand) => Operand::Not(inner(operand)?),
            OperandKind::Neg(operand) => Operand::Neg(inner(operand)?),
            OperandKind::Pair(first, second) => Operand::Pair(inner(first)?, inner(second)?),
            OperandKind::Vector(operands) => Operand::Vector(all(operands)?),
            OperandKind::Group(operands) => Operand::Group(all(operands)?),
            OperandKind::Address(address) => match address.base {
                AddressBase::Name(sym) => {
                    Operand::Address(Box::new(self.named(sym, 0, scopes)?), address.offset)
                }
                AddressBase::Absolute => Operand::Address(Box::new(Operand::Int(0)), address.offset),
            },
            OperandKind::Bracket(_) => return Err("a texture operand".to_owned()),
        })
    }
}

/// The address by which code knows a function.
pub fn function_address(index: usize) -> u64 {
    FUNCTION + 16 * index as u64
}
