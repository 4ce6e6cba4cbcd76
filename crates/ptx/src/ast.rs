// SPDX-License-Identifier: MIT OR Apache-2.0
//! The typed syntax tree of a PTX module (PTX ISA, "Syntax" to "Instruction Set").
//!
//! The tree keeps what was written: names are interned, instruction suffixes are an ordered list of [`Mod`]s, operands are not
//! resolved (an identifier may be a register, a variable, a label or a function). Meaning is given by the compiler.

use smallvec::SmallVec;
use warpwatt_base::{Interner, Span, Sym};

use crate::words::{Mod, Opcode};

#[derive(Clone, Debug)]
pub struct Module {
    /// File name used in diagnostics.
    pub name: String,
    /// The whole text: spans are byte offsets into it.
    pub text: String,
    pub names: Interner,
    /// `.version major.minor`
    pub version: (u32, u32),
    pub target: Target,
    /// 32 or 64.
    pub address_size: u32,
    /// `.file index "name"`
    pub files: Vec<SourceFile>,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, Default)]
pub struct Target {
    /// 75 for `sm_75`.
    pub sm: u32,
    /// `a` or `f` of `sm_90a`, `sm_100f`.
    pub suffix: Option<char>,
    /// `texmode_unified`, `texmode_independent`, `debug`, `map_f64_to_f32`.
    pub options: Vec<Sym>,
}

#[derive(Clone, Debug)]
pub struct SourceFile {
    pub index: u32,
    pub name: String,
}

#[derive(Clone, Debug)]
pub enum Item {
    Var(Variable),
    Function(Function),
    /// `.alias new, old;`
    Alias {
        new: Sym,
        old: Sym,
        span: Span,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Linkage {
    #[default]
    Local,
    Visible,
    Extern,
    Weak,
    Common,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    /// The deprecated `.tex` space.
    Tex,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B8,
    B16,
    B32,
    B64,
    B128,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    Pred,
    Texref,
    Samplerref,
    Surfref,
}

/// `.v4 .f32`, and so on. `lanes` is 1 for a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    pub scalar: Scalar,
    pub lanes: u8,
}

/// A variable, parameter or register-like declaration outside of `.reg`.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Sym,
    pub span: Span,
    pub linkage: Linkage,
    pub space: Space,
    /// Explicit `.align`; the natural alignment of the type otherwise.
    pub align: Option<u32>,
    pub ty: Type,
    /// `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    pub init: Option<Init>,
    /// `.ptr .space .align n` on a kernel parameter.
    pub pointee: Option<Pointee>,
    /// `.attribute(.managed)`
    pub managed: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Pointee {
    pub space: Option<Space>,
    pub align: Option<u32>,
}

#[derive(Clone, Debug)]
pub enum Init {
    List(Vec<Init>),
    /// Two's complement for negative values.
    Int(u64),
    /// Bits of an `f32` (`0f…`).
    F32(u32),
    /// Bits of an `f64` (`0d…`, decimal).
    F64(u64),
    /// `symbol + addend`, `generic(symbol) + addend`, `0xFF00(symbol)`.
    Symbol {
        name: Sym,
        addend: i64,
        generic: bool,
        mask: Option<u64>,
        span: Span,
    },
    /// Texture or sampler attributes `{ name = value, … }` and string initialisers are kept as words.
    Field {
        name: Sym,
        value: Box<Init>,
    },
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: Sym,
    /// Of the name.
    pub span: Span,
    /// `.entry`, not `.func`.
    pub is_kernel: bool,
    pub linkage: Linkage,
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    pub limits: Limits,
    pub noreturn: bool,
    /// `None` for a prototype.
    pub body: Option<Vec<Stmt>>,
    /// An error was reported in it: the tree holds what could be read, which must not be run.
    pub broken: bool,
    /// From the first directive to the closing brace: an error of this function has its span in here.
    pub extent: Span,
}

/// Performance-tuning directives of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    pub maxntid: Option<[u32; 3]>,
    pub reqntid: Option<[u32; 3]>,
    pub maxnreg: Option<u32>,
    pub minnctapersm: Option<u32>,
    pub maxnctapersm: Option<u32>,
    /// `.reqnctapercluster`, `.explicitcluster`, …: the kernel needs thread block clusters.
    pub cluster: Option<[u32; 3]>,
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Reg(RegDecl),
    Var(Variable),
    Label(Sym, Span),
    Instr(Instr),
    Loc(Loc),
    Pragma(String, Span),
    Block(Vec<Stmt>),
    /// `label: .callprototype (…) _ (…);`
    CallPrototype {
        label: Sym,
        returns: Vec<Variable>,
        params: Vec<Variable>,
        noreturn: bool,
        span: Span,
    },
    /// `label: .branchtargets a, b;`
    BranchTargets {
        label: Sym,
        targets: Vec<Sym>,
        span: Span,
    },
    /// `label: .calltargets f, g;`
    CallTargets {
        label: Sym,
        targets: Vec<Sym>,
        span: Span,
    },
}

/// `.reg .b32 %r<10>;` declares `%r0` to `%r9`; `.reg .b32 a, b;` is two declarations with `count: None`.
#[derive(Clone, Debug)]
pub struct RegDecl {
    pub name: Sym,
    pub count: Option<u32>,
    pub ty: Type,
    pub span: Span,
}

/// `.loc file line column[, function_name label+offset, inlined_at file line column]`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loc {
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// (file, line, column) of the call into which this was inlined.
    pub inlined_at: Option<(u32, u32, u32)>,
}

#[derive(Clone, Debug)]
pub struct Instr {
    pub span: Span,
    pub guard: Option<Guard>,
    pub op: Opcode,
    pub mods: SmallVec<[Mod; 6]>,
    pub operands: SmallVec<[Operand; 4]>,
}

#[derive(Clone, Copy, Debug)]
pub struct Guard {
    pub pred: Sym,
    pub negated: bool,
}

#[derive(Clone, Debug)]
pub struct Operand {
    pub kind: OperandKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum OperandKind {
    /// A register, special register, variable, label or function. `%tid.x` is `Member`.
    Name(Sym),
    /// `name.x`, `.y`, `.z`, `.w`, `.r`, `.g`, `.b`, `.a` as 0 to 3; the selectors of video instructions follow:
    /// `.b0` to `.b3` as 4 to 7, `.h0` and `.h1` as 8 and 9.
    Member(Sym, u8),
    /// `name + imm` outside brackets.
    NameOffset(Sym, i64),
    /// Integer literal, two's complement in 64 bits.
    Int(u64),
    /// `0f3F800000`
    F32(u32),
    /// `0d…` or a decimal floating-point literal (which is a double).
    F64(u64),
    /// `_`
    Sink,
    /// `!p` (predicate operand), `-x` on a register.
    Not(Box<Operand>),
    Neg(Box<Operand>),
    /// `p|q`
    Pair(Box<Operand>, Box<Operand>),
    /// `{a, b, c, d}`
    Vector(Vec<Operand>),
    /// `[base + offset]`
    Address(Address),
    /// `[tex, {…}]`, `[tex, sampler, {…}]`: the operands inside the brackets, in order.
    Bracket(Vec<Operand>),
    /// `(a, b)` of a call.
    Group(Vec<Operand>),
}

#[derive(Clone, Debug)]
pub struct Address {
    pub base: AddressBase,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug)]
pub enum AddressBase {
    /// A register or a variable.
    Name(Sym),
    /// `[1234]`
    Absolute,
}
