// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emits operations into the function being lowered.
//!
//! While lowering, a PTX register is one [`Value`] with many definitions; everything else is defined once. `ssa` renames the registers
//! afterwards. Narrow integers and half-precision values are kept zero-extended to 32 bits; operations that need the sign extend it.

use smallvec::SmallVec;
use warpwatt_base::{Span, Sym};
use warpwatt_isa::{BoolOp, Cmp, Flags, Location, Op, SReg, Sub, Ty, dst_words};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Module, Scalar};

use super::form::Lower;
use super::names::{Entity, Found, Names};
use super::types;
use super::unit::Unit;
use crate::ir::{Block, BlockId, Frame, Function, Inst, Opnd, Part, PredUse, Term, Value};

/// Largest offset that the machine's address field holds.
pub const MAX_OFFSET: i64 = (1 << 23) - 1;

/// The text that is being lowered: the user's function, or one of the library that is inlined into it.
pub struct Context<'a> {
    pub module: &'a Module,
    pub names: Names<'a>,
    /// Target of `ret`.
    pub leave: BlockId,
    /// `None` in the user's own text; how deep inlining is otherwise.
    pub inlined: Option<u32>,
    /// The text is our library's: it has ids, not the user's symbols.
    pub library: bool,
    pub is_kernel: bool,
}

pub struct Lowerer<'a, 'u> {
    pub unit: &'u mut Unit<'a>,
    pub f: Function,
    /// Values that represent PTX registers.
    pub is_register: Vec<bool>,
    pub at: BlockId,
    /// The current block has no terminator yet.
    pub open: bool,
    pub ctx: Context<'a>,
    pub guard: PredUse,
    pub loc: u32,
    /// The source position that the last `.loc` gave.
    pub position: (u32, u32, u32),
    /// The carry flag of extended-precision arithmetic, once used.
    pub carry: Option<Value>,
    pub local_bytes: u64,
    pub out_bytes: u64,
}

/// A destination: a register of the given type, or nothing.
#[derive(Clone, Copy, Debug)]
pub enum Dst {
    Reg(Value, Scalar),
    Sink,
}

pub fn inst(op: Op, ty: Ty, srcs: &[Opnd]) -> Inst {
    Inst { srcs: SmallVec::from_slice(srcs), ..Inst::new(op, ty) }
}

pub fn imm(v: u64) -> Opnd {
    Opnd::Imm(v)
}

impl<'a> Lowerer<'a, '_> {
    // ---- blocks ----

    pub fn new_block(&mut self) -> BlockId {
        self.f.blocks.push(Block { insts: Vec::new(), term: Term::Unreachable, preds: Vec::new() });
        BlockId::from(self.f.blocks.len() - 1)
    }

    /// Ends the current block.
    pub fn end(&mut self, term: Term) {
        if self.open {
            self.f.block_mut(self.at).term = term;
            self.open = false;
        }
    }

    /// Goes on in `block`; the current one falls through to it.
    pub fn start(&mut self, block: BlockId) {
        self.end(Term::Jump(block));
        self.at = block;
        self.open = true;
    }

    /// Runs `body` for the lanes whose guard holds, by a branch around it.
    pub fn branch_around(&mut self, body: impl FnOnce(&mut Self) -> Lower) -> Lower {
        if self.guard == PredUse::TRUE {
            return body(self);
        }
        let cond = std::mem::replace(&mut self.guard, PredUse::TRUE);
        let (inside, after) = (self.new_block(), self.new_block());
        self.end(Term::Branch { cond, taken: inside, other: after, uniform: false, loc: self.loc });
        self.start(inside);
        let result = body(self);
        self.start(after);
        self.guard = cond;
        result
    }

    // ---- values ----

    pub fn temp(&mut self, words: u8) -> Value {
        self.is_register.push(false);
        self.f.new_value(words)
    }

    pub fn register(&mut self, words: u8) -> Value {
        self.is_register.push(true);
        self.f.new_value(words)
    }

    pub fn whole(&self, value: Value) -> Opnd {
        Opnd::Value(self.f.whole(value))
    }

    pub fn words_of(&self, o: Opnd) -> u8 {
        match o {
            Opnd::Value(p) => p.words,
            _ => 1,
        }
    }

    /// One word of an operand of `words` words.
    pub fn word(&mut self, o: Opnd, lane: u8) -> Opnd {
        match o {
            Opnd::Value(p) => Opnd::Value(Part { value: p.value, lane: p.lane + lane, words: 1 }),
            Opnd::Imm(v) => imm(if lane < 2 { v >> (32 * lane) & 0xffff_ffff } else { 0 }),
            Opnd::Const { bank, offset } => Opnd::Const { bank, offset: offset + 4 * u16::from(lane) },
            other => other,
        }
    }

    pub fn lo(&mut self, o: Opnd) -> Opnd {
        self.word(o, 0)
    }

    pub fn hi(&mut self, o: Opnd) -> Opnd {
        self.word(o, 1)
    }

    // ---- emission ----

    pub fn push(&mut self, mut inst: Inst) {
        inst.loc = self.loc;
        if self.open {
            self.f.block_mut(self.at).insts.push(inst);
        }
    }

    /// Emits an operation with a new result.
    pub fn put(&mut self, mut inst: Inst) -> Opnd {
        let words = match inst.op {
            Op::Pack => inst.srcs.iter().map(|&s| self.words_of(s)).sum(),
            op => dst_words(op, inst.ty, inst.sub, &inst.mem) as u8,
        };
        let value = self.temp(words);
        inst.dst = Some(self.f.whole(value));
        self.push(inst);
        self.whole(value)
    }

    /// Emits an operation with a new predicate as its first predicate result.
    pub fn put_pred(&mut self, mut inst: Inst) -> PredUse {
        let value = self.temp(0);
        inst.pdst[0] = Some(value);
        self.push(inst);
        PredUse::of(value)
    }

    pub fn op(&mut self, op: Op, ty: Ty, srcs: &[Opnd]) -> Opnd {
        self.put(inst(op, ty, srcs))
    }

    pub fn op_sub(&mut self, op: Op, ty: Ty, sub: Sub, srcs: &[Opnd]) -> Opnd {
        self.put(Inst { sub, ..inst(op, ty, srcs) })
    }

    pub fn add(&mut self, ty: Ty, a: Opnd, b: Opnd) -> Opnd {
        self.op(Op::Iadd3, ty, &[a, b, imm(0)])
    }

    pub fn subtract(&mut self, ty: Ty, a: Opnd, b: Opnd) -> Opnd {
        self.put(Inst { neg: 2, ..inst(Op::Iadd3, ty, &[a, b, imm(0)]) })
    }

    pub fn mul(&mut self, ty: Ty, a: Opnd, b: Opnd) -> Opnd {
        self.op(Op::Imad, ty, &[a, b, imm(0)])
    }

    pub fn lop(&mut self, ty: Ty, lut: u8, a: Opnd, b: Opnd, c: Opnd) -> Opnd {
        self.op_sub(Op::Lop3, ty, Sub::Lut(lut), &[a, b, c])
    }

    pub fn and(&mut self, ty: Ty, a: Opnd, b: Opnd) -> Opnd {
        self.lop(ty, 0xc0, a, b, imm(0))
    }

    pub fn or(&mut self, ty: Ty, a: Opnd, b: Opnd) -> Opnd {
        self.lop(ty, 0xfc, a, b, imm(0))
    }

    pub fn xor(&mut self, ty: Ty, a: Opnd, b: Opnd) -> Opnd {
        self.lop(ty, 0x3c, a, b, imm(0))
    }

    pub fn shl(&mut self, ty: Ty, a: Opnd, amount: Opnd) -> Opnd {
        self.op(Op::Shl, ty, &[a, amount])
    }

    pub fn shr(&mut self, ty: Ty, a: Opnd, amount: Opnd) -> Opnd {
        self.op(Op::Shr, ty, &[a, amount])
    }

    pub fn compare(&mut self, ty: Ty, cmp: Cmp, a: Opnd, b: Opnd) -> PredUse {
        self.put_pred(Inst { sub: Sub::Cmp(cmp, BoolOp::And), ..inst(Op::Isetp, ty, &[a, b]) })
    }

    pub fn select(&mut self, ty: Ty, p: PredUse, yes: Opnd, no: Opnd) -> Opnd {
        let mut sel = inst(Op::Sel, ty, &[yes, no]);
        sel.psrc[0] = p;
        self.put(sel)
    }

    pub fn min_max(&mut self, ty: Ty, which: warpwatt_isa::MinMax, a: Opnd, b: Opnd) -> Opnd {
        self.op_sub(Op::Imnmx, ty, Sub::MinMax(which), &[a, b])
    }

    pub fn special(&mut self, sreg: SReg) -> Opnd {
        self.put(Inst { sub: Sub::SReg(sreg), ..inst(Op::S2r, Ty::U32, &[]) })
    }

    /// A wide value from single words or pairs.
    pub fn pack(&mut self, parts: &[Opnd]) -> Opnd {
        if let [Opnd::Imm(lo), Opnd::Imm(hi)] = *parts {
            return imm(hi << 32 | lo & 0xffff_ffff);
        }
        let words: u8 = parts.iter().map(|&s| self.words_of(s)).sum();
        let ty = if words <= 2 { Ty::U64 } else { Ty::B128 };
        self.op(Op::Pack, ty, parts)
    }

    /// The low `bits` of a word; constants are folded.
    pub fn low_bits(&mut self, o: Opnd, bits: u32) -> Opnd {
        match o {
            _ if bits >= 32 => o,
            Opnd::Imm(v) => imm(v & types::mask(bits)),
            o => self.and(Ty::U32, o, imm(types::mask(bits))),
        }
    }

    /// A narrow value sign-extended to a word.
    pub fn sign_extend(&mut self, o: Opnd, bits: u32) -> Opnd {
        match (o, bits) {
            (Opnd::Imm(v), 8) => imm(u64::from(v as u8 as i8 as u32)),
            (Opnd::Imm(v), 16) => imm(u64::from(v as u16 as i16 as u32)),
            // Bytes of the value, the upper ones as copies of its sign.
            (o, 8) => self.op(Op::Prmt, Ty::U32, &[o, imm(0), imm(0x8880)]),
            (o, 16) => self.op(Op::Prmt, Ty::U32, &[o, imm(0), imm(0x9910)]),
            (o, _) => o,
        }
    }

    /// A register's content as the full word that an integer operation of type `s` reads.
    pub fn extended(&mut self, o: Opnd, s: Scalar) -> Opnd {
        if types::is_signed(s) { self.sign_extend(o, types::bits(s)) } else { o }
    }

    /// The result of a 32-bit operation cut to a narrow type.
    pub fn narrowed(&mut self, o: Opnd, s: Scalar) -> Opnd {
        if types::is_int(s) { self.low_bits(o, types::bits(s)) } else { o }
    }

    /// A 64-bit value from a word: zero- or sign-extended.
    pub fn widened(&mut self, o: Opnd, signed: bool) -> Opnd {
        match (o, signed) {
            (Opnd::Imm(v), true) => imm(v as u32 as i32 as i64 as u64),
            (Opnd::Imm(v), false) => imm(v & 0xffff_ffff),
            (o, false) => self.pack(&[o, imm(0)]),
            (o, true) => {
                let sign = self.shr(Ty::S32, o, imm(31));
                self.pack(&[o, sign])
            }
        }
    }

    // ---- destinations ----

    /// Writes a fresh result to a register. If the operation that made it was the last one, it writes the register itself.
    pub fn set(&mut self, dst: Dst, value: Opnd) {
        let Dst::Reg(register, _) = dst else { return };
        let guard = self.guard;
        let words = self.f.words(register);
        if let Opnd::Value(part) = value
            && !self.is_register[part.value.index()]
            && part == self.f.whole(part.value)
            && part.words == words
            && self.open
            && let Some(last) = self.f.blocks[self.at.index()].insts.last_mut()
            && last.dst == Some(part)
            && (last.guard == PredUse::TRUE || last.guard == guard)
        {
            last.dst = Some(Part { value: register, lane: 0, words });
            last.guard = guard;
            return;
        }
        self.copy(dst, value);
    }

    /// Writes a value to a register by a move, whatever made it.
    pub fn copy(&mut self, dst: Dst, value: Opnd) {
        let Dst::Reg(register, _) = dst else { return };
        let ty = match self.f.words(register) {
            1 => Ty::U32,
            2 => Ty::U64,
            _ => Ty::B128,
        };
        let mut copy = inst(Op::Mov, ty, &[value]);
        copy.dst = Some(self.f.whole(register));
        copy.guard = self.guard;
        self.push(copy);
    }

    pub fn set_pred(&mut self, register: Value, p: PredUse) {
        let guard = self.guard;
        if let PredUse { value: Some(value), negated: false } = p
            && !self.is_register[value.index()]
            && self.open
            && let Some(last) = self.f.blocks[self.at.index()].insts.last_mut()
            && last.pdst[0] == Some(value)
            && last.dst.is_none()
            && (last.guard == PredUse::TRUE || last.guard == guard)
        {
            last.pdst[0] = Some(register);
            last.guard = guard;
            return;
        }
        let mut copy = Inst::new(Op::Mov, Ty::Pred);
        copy.pdst[0] = Some(register);
        copy.psrc[0] = p;
        copy.guard = guard;
        self.push(copy);
    }

    /// Writes a value of type `from` to a register that may be wider.
    pub fn set_extended(&mut self, dst: Dst, value: Opnd, from: Scalar) {
        let Dst::Reg(_, to) = dst else { return };
        let signed = types::is_signed(from);
        let (narrow, wide) = (types::bits(from), types::bits(to));
        if narrow >= wide || narrow > 32 {
            self.set(dst, value);
            return;
        }
        let word = if signed { self.sign_extend(value, narrow) } else { value };
        let result = match wide {
            64 => self.widened(word, signed),
            128 => {
                let sign = if signed { self.shr(Ty::S32, word, imm(31)) } else { imm(0) };
                self.pack(&[word, sign, sign, sign])
            }
            bits if signed => self.low_bits(word, bits),
            _ => word,
        };
        self.set(dst, result);
    }

    // ---- names ----

    /// What a name means in the function; `None` if it is not declared there.
    pub fn local_name(&mut self, name: Sym) -> Option<Entity<'a>> {
        match self.ctx.names.find(name, &self.ctx.module.names)? {
            Found::Entity(entity) => Some(entity),
            Found::Fresh { scope, scalar, lanes } => {
                let entity = self.new_register(scalar, lanes);
                self.ctx.names.declare_in(scope, name, entity);
                Some(entity)
            }
        }
    }

    pub fn new_register(&mut self, scalar: Scalar, lanes: u8) -> Entity<'a> {
        let words = types::words(scalar);
        let first = self.register(words);
        for _ in 1..lanes {
            self.register(words);
        }
        if lanes > 1 {
            Entity::RegVector { first, lanes, scalar }
        } else {
            Entity::Reg { value: first, scalar }
        }
    }

    pub fn unknown(&self, name: Sym, span: Span) -> Diagnostic {
        let more: Vec<&str> = if self.ctx.library {
            Vec::new()
        } else {
            self.unit.layout.symbols.keys().map(|&s| self.ctx.module.names.get(s)).collect()
        };
        self.ctx.names.unknown(name, span, &self.ctx.module.names, &more)
    }

    // ---- stack and positions ----

    /// The local-memory address of a place in the frame.
    pub fn frame_address(&mut self, frame: Frame, off: u32) -> Opnd {
        self.put(Inst { frame, off: off as i32, ..inst(Op::Iadd3, Ty::U32, &[Opnd::Sp, imm(0), imm(0)]) })
    }

    pub fn carry_flag(&mut self) -> Value {
        match self.carry {
            Some(value) => value,
            None => {
                let value = self.register(0);
                self.carry = Some(value);
                value
            }
        }
    }

    /// Makes the location of an instruction of the user's text current.
    pub fn locate(&mut self, span: Span) {
        if self.ctx.inlined.is_some() || self.ctx.library {
            return;
        }
        let (file, line, column) = self.position;
        let ptx_line = self.unit.line_of(span);
        let location = Location { file, line, column, ptx_line };
        if self.f.locs[self.loc as usize] != location {
            self.f.locs.push(location);
            self.loc = (self.f.locs.len() - 1) as u32;
        }
    }

    /// A float constant operand in the type's own bits.
    pub fn minus_zero(ty: Ty) -> Opnd {
        imm(match ty {
            Ty::F64 => 1 << 63,
            Ty::F16 | Ty::Bf16 => 0x8000,
            Ty::F16x2 | Ty::Bf16x2 => 0x8000_8000,
            _ => 0x8000_0000,
        })
    }

    /// `a` with source modifiers applied, as a value of its own: the machine negates by adding minus zero.
    pub fn modified(&mut self, ty: Ty, a: Opnd, neg: bool, abs: bool, flags: Flags) -> Opnd {
        let zero = Self::minus_zero(ty);
        self.put(Inst { neg: u8::from(neg), abs: u8::from(abs), flags, ..inst(Op::Fadd, ty, &[a, zero]) })
    }
}
