// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree as PTX again: parsing the printed text gives the same tree. Used for reproducers and to test the parser.
//!
//! Comments, debugging sections and what the tree does not keep (pragmas of the module, function names in `.loc`) are gone.

use std::fmt::{self, Display, Formatter, Write};

use warpwatt_base::{Interner, Sym};

use crate::ast::*;
use crate::parser::SCALARS;
use crate::words::{Mod, Opcode};

/// The whole module as PTX.
pub fn module(module: &Module) -> String {
    let mut out = String::with_capacity(module.text.len());
    Printer { out: &mut out, names: &module.names }.module(module).expect("writing to a string cannot fail");
    out
}

/// One function as PTX, without the variables and functions that it uses.
pub fn function(module: &Module, function: &Function) -> String {
    let mut out = String::new();
    Printer { out: &mut out, names: &module.names }
        .function(function)
        .expect("writing to a string cannot fail");
    out
}

/// One instruction as PTX, without `;`.
pub fn instruction(names: &Interner, instr: &Instr) -> String {
    let mut out = String::new();
    Printer { out: &mut out, names }.instruction(instr).expect("writing to a string cannot fail");
    out
}

struct Printer<'a> {
    out: &'a mut String,
    names: &'a Interner,
}

impl<'a> Printer<'a> {
    fn name(&self, sym: Sym) -> &'a str {
        self.names.get(sym)
    }

    fn module(&mut self, module: &Module) -> fmt::Result {
        let (major, minor) = module.version;
        writeln!(self.out, ".version {major}.{minor}")?;
        write!(self.out, ".target sm_{}", module.target.sm)?;
        if let Some(suffix) = module.target.suffix {
            self.out.push(suffix);
        }
        for &option in &module.target.options {
            write!(self.out, ", {}", self.name(option))?;
        }
        writeln!(self.out, "\n.address_size {}\n", module.address_size)?;
        for file in &module.files {
            writeln!(self.out, ".file {} \"{}\"", file.index, file.name)?;
        }
        for item in &module.items {
            match item {
                Item::Var(variable) => {
                    self.variable(variable)?;
                    self.out.push_str(";\n");
                }
                Item::Function(function) => self.function(function)?,
                Item::Alias { new, old, .. } => {
                    writeln!(self.out, ".alias {}, {};", self.name(*new), self.name(*old))?;
                }
            }
        }
        Ok(())
    }

    fn function(&mut self, function: &Function) -> fmt::Result {
        write!(self.out, "\n{}{} ", function.linkage, if function.is_kernel { ".entry" } else { ".func" })?;
        if !function.returns.is_empty() {
            self.parameters(&function.returns)?;
            self.out.push(' ');
        }
        self.out.push_str(self.name(function.name));
        self.parameters(&function.params)?;
        write!(self.out, "{}", function.limits)?;
        if function.noreturn {
            self.out.push_str("\n.noreturn");
        }
        match &function.body {
            None => self.out.push_str(";\n"),
            Some(stmts) => {
                self.out.push_str("\n{\n");
                self.statements(stmts, 1)?;
                self.out.push_str("}\n");
            }
        }
        Ok(())
    }

    fn parameters(&mut self, params: &[Variable]) -> fmt::Result {
        self.out.push('(');
        for (index, param) in params.iter().enumerate() {
            self.out.push_str(if index > 0 { ", " } else { "" });
            self.variable(param)?;
        }
        self.out.push(')');
        Ok(())
    }

    /// A declaration without its `;`.
    fn variable(&mut self, variable: &Variable) -> fmt::Result {
        write!(self.out, "{}{}", variable.linkage, variable.space)?;
        if variable.managed {
            self.out.push_str(" .attribute(.managed)");
        }
        if let Some(align) = variable.align {
            write!(self.out, " .align {align}")?;
        }
        write!(self.out, " {}", variable.ty)?;
        if let Some(pointee) = variable.pointee {
            self.out.push_str(" .ptr");
            if let Some(space) = pointee.space {
                write!(self.out, " {space}")?;
            }
            if let Some(align) = pointee.align {
                write!(self.out, " .align {align}")?;
            }
        }
        write!(self.out, " {}", self.name(variable.name))?;
        for dim in &variable.dims {
            match dim {
                Some(size) => write!(self.out, "[{size}]")?,
                None => self.out.push_str("[]"),
            }
        }
        if let Some(init) = &variable.init {
            self.out.push_str(" = ");
            self.initialiser(init)?;
        }
        Ok(())
    }

    fn initialiser(&mut self, init: &Init) -> fmt::Result {
        match init {
            Init::List(list) => {
                self.out.push('{');
                for (index, init) in list.iter().enumerate() {
                    self.out.push_str(if index > 0 { ", " } else { "" });
                    self.initialiser(init)?;
                }
                self.out.push('}');
                Ok(())
            }
            Init::Int(bits) => write!(self.out, "{}", *bits as i64),
            Init::F32(bits) => write!(self.out, "0f{bits:08X}"),
            Init::F64(bits) => write!(self.out, "0d{bits:016X}"),
            Init::Symbol { name, addend, generic, mask, .. } => {
                if let Some(mask) = mask {
                    write!(self.out, "0x{mask:X}(")?;
                }
                let name = self.name(*name);
                match generic {
                    true => write!(self.out, "generic({name}){}", Offset(*addend))?,
                    false => write!(self.out, "{name}{}", Offset(*addend))?,
                }
                self.out.push_str(if mask.is_some() { ")" } else { "" });
                Ok(())
            }
            Init::Field { name, value } => {
                write!(self.out, "{} = ", self.name(*name))?;
                self.initialiser(value)
            }
        }
    }

    fn statements(&mut self, stmts: &[Stmt], depth: usize) -> fmt::Result {
        for stmt in stmts {
            // Labels start at the beginning of the line.
            if !matches!(stmt, Stmt::Label(..)) {
                self.out.extend(std::iter::repeat_n('\t', depth));
            }
            self.statement(stmt, depth)?;
            self.out.push('\n');
        }
        Ok(())
    }

    fn statement(&mut self, stmt: &Stmt, depth: usize) -> fmt::Result {
        match stmt {
            Stmt::Reg(reg) => {
                write!(self.out, ".reg {} {}", reg.ty, self.name(reg.name))?;
                if let Some(count) = reg.count {
                    write!(self.out, "<{count}>")?;
                }
                self.out.push(';');
            }
            Stmt::Var(variable) => {
                self.variable(variable)?;
                self.out.push(';');
            }
            Stmt::Label(label, _) => write!(self.out, "{}:", self.name(*label))?,
            Stmt::Instr(instr) => {
                self.instruction(instr)?;
                self.out.push(';');
            }
            Stmt::Loc(loc) => {
                write!(self.out, ".loc {} {} {}", loc.file, loc.line, loc.column)?;
                if let Some((file, line, column)) = loc.inlined_at {
                    write!(self.out, ", inlined_at {file} {line} {column}")?;
                }
            }
            Stmt::Pragma(text, _) => write!(self.out, ".pragma \"{text}\";")?,
            Stmt::Block(stmts) => {
                self.out.push_str("{\n");
                self.statements(stmts, depth + 1)?;
                self.out.extend(std::iter::repeat_n('\t', depth));
                self.out.push('}');
            }
            Stmt::CallPrototype { label, returns, params, noreturn, .. } => {
                write!(self.out, "{}: .callprototype ", self.name(*label))?;
                self.parameters(returns)?;
                self.out.push_str(" _ ");
                self.parameters(params)?;
                self.out.push_str(if *noreturn { " .noreturn;" } else { ";" });
            }
            Stmt::BranchTargets { label, targets, .. } => self.targets(*label, ".branchtargets", targets)?,
            Stmt::CallTargets { label, targets, .. } => self.targets(*label, ".calltargets", targets)?,
        }
        Ok(())
    }

    fn targets(&mut self, label: Sym, directive: &str, targets: &[Sym]) -> fmt::Result {
        write!(self.out, "{}: {directive}", self.name(label))?;
        for (index, &target) in targets.iter().enumerate() {
            write!(self.out, "{} {}", if index > 0 { "," } else { "" }, self.name(target))?;
        }
        self.out.push(';');
        Ok(())
    }

    fn instruction(&mut self, instr: &Instr) -> fmt::Result {
        if let Some(guard) = instr.guard {
            write!(self.out, "@{}{} ", if guard.negated { "!" } else { "" }, self.name(guard.pred))?;
        }
        self.out.push_str(match instr.op {
            Opcode::Unknown(sym) => self.name(sym),
            known => known.text().unwrap_or_default(),
        });
        for &suffix in &instr.mods {
            self.out.push('.');
            self.out.push_str(match suffix {
                Mod::Other(sym) => self.name(sym),
                known => known.text().unwrap_or_default(),
            });
        }
        self.operands(&instr.operands, " ")
    }

    /// Operands with commas, and `before` if there are any.
    fn operands(&mut self, operands: &[Operand], before: &str) -> fmt::Result {
        for (index, operand) in operands.iter().enumerate() {
            self.out.push_str(if index > 0 { ", " } else { before });
            self.operand(operand)?;
        }
        Ok(())
    }

    fn bracketed(&mut self, open: char, operands: &[Operand], close: char) -> fmt::Result {
        self.out.push(open);
        self.operands(operands, "")?;
        self.out.push(close);
        Ok(())
    }

    fn operand(&mut self, operand: &Operand) -> fmt::Result {
        const MEMBERS: [&str; 10] = ["x", "y", "z", "w", "b0", "b1", "b2", "b3", "h0", "h1"];
        match &operand.kind {
            OperandKind::Name(name) => self.out.push_str(self.name(*name)),
            OperandKind::Member(name, index) => {
                let member = MEMBERS.get(usize::from(*index)).ok_or(fmt::Error)?;
                write!(self.out, "{}.{member}", self.name(*name))?;
            }
            OperandKind::NameOffset(name, offset) => {
                // `a+0` is not the same as `a`: it is kept as written.
                match offset {
                    0 => write!(self.out, "{}+0", self.name(*name))?,
                    _ => write!(self.out, "{}{}", self.name(*name), Offset(*offset))?,
                }
            }
            OperandKind::Int(bits) => write!(self.out, "{}", *bits as i64)?,
            OperandKind::F32(bits) => write!(self.out, "0f{bits:08X}")?,
            OperandKind::F64(bits) => write!(self.out, "0d{bits:016X}")?,
            OperandKind::Sink => self.out.push('_'),
            OperandKind::Not(inner) => {
                self.out.push('!');
                self.operand(inner)?;
            }
            OperandKind::Neg(inner) => {
                self.out.push('-');
                self.operand(inner)?;
            }
            OperandKind::Pair(first, second) => {
                self.operand(first)?;
                self.out.push('|');
                self.operand(second)?;
            }
            OperandKind::Vector(parts) => self.bracketed('{', parts, '}')?,
            OperandKind::Bracket(parts) => self.bracketed('[', parts, ']')?,
            OperandKind::Group(parts) => self.bracketed('(', parts, ')')?,
            OperandKind::Address(address) => match address.base {
                AddressBase::Name(name) => {
                    write!(self.out, "[{}{}]", self.name(name), Offset(address.offset))?
                }
                AddressBase::Absolute => write!(self.out, "[{}]", address.offset)?,
            },
        }
        Ok(())
    }
}

/// `+4`, `-4`, or nothing for 0.
struct Offset(i64);

impl Display for Offset {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, "{:+}", self.0) }
    }
}

impl Display for Linkage {
    /// With a trailing space, as another word follows.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Linkage::Local => "",
            Linkage::Visible => ".visible ",
            Linkage::Extern => ".extern ",
            Linkage::Weak => ".weak ",
            Linkage::Common => ".common ",
        })
    }
}

impl Display for Space {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Space::Reg => ".reg",
            Space::Sreg => ".sreg",
            Space::Const => ".const",
            Space::Global => ".global",
            Space::Local => ".local",
            Space::Param => ".param",
            Space::Shared => ".shared",
            Space::Tex => ".tex",
        })
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if self.lanes > 1 {
            write!(f, ".v{} ", self.lanes)?;
        }
        let word = SCALARS.iter().find(|(_, scalar)| *scalar == self.scalar).map(|&(word, _)| word);
        f.write_str(word.ok_or(fmt::Error)?)
    }
}

impl Display for Limits {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for (word, dims) in
            [(".maxntid", self.maxntid), (".reqntid", self.reqntid), (".reqnctapercluster", self.cluster)]
        {
            if let Some([x, y, z]) = dims {
                write!(f, "\n{word} {x}, {y}, {z}")?;
            }
        }
        for (word, number) in [
            (".maxnreg", self.maxnreg),
            (".minnctapersm", self.minnctapersm),
            (".maxnctapersm", self.maxnctapersm),
        ] {
            if let Some(number) = number {
                write!(f, "\n{word} {number}")?;
            }
        }
        Ok(())
    }
}
