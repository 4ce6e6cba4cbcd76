// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores in every space, fences and hints (PTX ISA, "Data Movement and Conversion Instructions", "membar/fence").

use warpwatt_base::{Span, Sym};
use warpwatt_isa::{CacheOp, MemAttr, Op, Order, Scope, Space as MachineSpace, Ty, bank0};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{AddressBase, Operand, OperandKind, Scalar, Space};
use warpwatt_ptx::words::{Mod, Opcode};

use super::build::{Dst, Lowerer, MAX_OFFSET, imm, inst};
use super::form::{Form, Lower};
use super::layout::Symbol;
use super::names::Entity;
use super::operand::Fit;
use super::types;
use crate::ir::{Frame, Inst, Opnd, Part, Value};

/// Constant bank of `.const` variables.
const CONST_BANK: u8 = 3;

pub fn space_of(m: Mod) -> Option<Space> {
    Some(match m {
        Mod::Global => Space::Global,
        Mod::Shared | Mod::SharedCta | Mod::SharedCluster => Space::Shared,
        Mod::Local => Space::Local,
        Mod::Const => Space::Const,
        Mod::Param | Mod::ParamEntry | Mod::ParamFunc => Space::Param,
        _ => return None,
    })
}

/// Target of an access.
#[derive(Clone, Copy)]
pub enum AccessTarget {
    Memory {
        base: Opnd,
        off: i32,
        frame: Frame,
        space: MachineSpace,
        bank: u8,
    },
    /// Byte offset in constant bank 0.
    KernelParam(i64),
    /// A `.param` variable that is kept in registers, and a byte offset in it.
    Words {
        first: Value,
        size: u32,
        off: i64,
    },
}

fn space_name(space: Option<Space>) -> &'static str {
    match space {
        None => "generic",
        Some(Space::Global) => ".global",
        Some(Space::Shared) => ".shared",
        Some(Space::Local) => ".local",
        Some(Space::Const) => ".const",
        Some(Space::Param) => ".param",
        Some(_) => "other",
    }
}

impl<'a> Lowerer<'a, '_> {
    /// The place that `[base + offset]` names.
    pub fn place(&mut self, o: &Operand, space: Option<Space>) -> Lower<AccessTarget> {
        let OperandKind::Address(address) = &o.kind else {
            return Err(Diagnostic::error("ptx-operand", o.span, "expected an address")
                .with_help("write `[register + offset]` or `[variable + offset]`"));
        };
        let offset = address.offset;
        match address.base {
            AddressBase::Absolute => {
                let wide = matches!(space, None | Some(Space::Global));
                let bits = if wide { u64::MAX } else { 0xffff_ffff };
                self.based(imm(offset as u64 & bits), 0, space, o.span)
            }
            AddressBase::Name(name) => self.named_place(name, offset, space, o.span),
        }
    }

    fn named_place(
        &mut self,
        name: Sym,
        offset: i64,
        space: Option<Space>,
        span: Span,
    ) -> Lower<AccessTarget> {
        let wrong = |have: &str| {
            let message = format!("a {} access to a variable in {have}", space_name(space));
            Diagnostic::error("ptx-space", span, message)
                .with_help(format!("use `{have}` in the instruction"))
        };
        if let Some(entity) = self.local_name(name) {
            let allowed = |want: Space| space.is_none() || space == Some(want);
            return match entity {
                Entity::Reg { value, scalar } if types::is_int(scalar) && types::bits(scalar) >= 32 => {
                    let base = self.whole(value);
                    self.based(base, offset, space, span)
                }
                Entity::Shared(at) if allowed(Space::Shared) => {
                    Ok(self.fixed(MachineSpace::Shared, 0, at, offset))
                }
                Entity::Shared(_) => Err(wrong(".shared")),
                Entity::Local(at) if allowed(Space::Local) => Ok(self.on_stack(Frame::Local, at, offset)),
                Entity::Local(_) => Err(wrong(".local")),
                Entity::InParam(at) if allowed(Space::Param) || space == Some(Space::Local) => {
                    Ok(self.on_stack(Frame::In, at, offset))
                }
                Entity::KernelParam(at) if allowed(Space::Param) || space == Some(Space::Const) => {
                    Ok(AccessTarget::KernelParam(i64::from(bank0::PARAMS) + i64::from(at) + offset))
                }
                Entity::Words { first, size, .. } if allowed(Space::Param) => {
                    Ok(AccessTarget::Words { first, size, off: offset })
                }
                Entity::InParam(_) | Entity::KernelParam(_) | Entity::Words { .. } => Err(wrong(".param")),
                _ => Err(Diagnostic::error("ptx-operand", span, "this name is not an address")
                    .with_help("expected a 64-bit register or a variable")),
            };
        }
        match self.module_symbol(name) {
            Some(Symbol::Global(_)) if matches!(space, None | Some(Space::Global)) => {
                let slot = self.unit.global_slot(self.text_of(name));
                let base = self.op(Op::Mov, Ty::U64, &[slot]);
                self.based(base, offset, Some(Space::Global), span)
            }
            Some(Symbol::Global(_)) => Err(wrong(".global")),
            Some(Symbol::Const(k)) if matches!(space, None | Some(Space::Const)) => {
                let at = self.const_offset(k, span)?;
                Ok(self.fixed(MachineSpace::Const, CONST_BANK, at, offset))
            }
            Some(Symbol::Const(_)) => Err(wrong(".const")),
            Some(Symbol::Shared(k)) if matches!(space, None | Some(Space::Shared)) => {
                let at = self.unit.shared_offset(k);
                Ok(self.fixed(MachineSpace::Shared, 0, at, offset))
            }
            Some(Symbol::Shared(_)) => Err(wrong(".shared")),
            Some(_) => Err(Diagnostic::error("ptx-operand", span, "this name is not a memory address")
                .with_help("functions and texture references cannot be read with `ld`")),
            None => Err(self.unknown(name, span)),
        }
    }

    /// An address known but for nothing.
    fn fixed(&self, space: MachineSpace, bank: u8, at: u32, offset: i64) -> AccessTarget {
        let sum = i64::from(at).wrapping_add(offset);
        let frame = Frame::None;
        if sum.unsigned_abs() <= MAX_OFFSET as u64 {
            AccessTarget::Memory { base: imm(0), off: sum as i32, frame, space, bank }
        } else {
            AccessTarget::Memory { base: imm(sum as u64 & 0xffff_ffff), off: 0, frame, space, bank }
        }
    }

    fn on_stack(&mut self, frame: Frame, at: u32, offset: i64) -> AccessTarget {
        let space = MachineSpace::Local;
        let sum = i64::from(at).wrapping_add(offset);
        if sum.unsigned_abs() <= MAX_OFFSET as u64 {
            return AccessTarget::Memory { base: Opnd::Sp, off: sum as i32, frame, space, bank: 0 };
        }
        let start = self.frame_address(frame, at);
        let base = self.add(Ty::U32, start, imm(offset as u64 & 0xffff_ffff));
        AccessTarget::Memory { base, off: 0, frame: Frame::None, space, bank: 0 }
    }

    fn based(&mut self, base: Opnd, offset: i64, space: Option<Space>, span: Span) -> Lower<AccessTarget> {
        let (machine, bank) = match space {
            None => (MachineSpace::Generic, 0),
            Some(Space::Global) => (MachineSpace::Global, 0),
            Some(Space::Shared) => (MachineSpace::Shared, 0),
            Some(Space::Local) => (MachineSpace::Local, 0),
            Some(Space::Const) => (MachineSpace::Const, CONST_BANK),
            // Parameters of a kernel are constants, those of a function lie on its stack.
            Some(Space::Param) if self.ctx.is_kernel => (MachineSpace::Const, 0),
            Some(Space::Param) => (MachineSpace::Local, 0),
            Some(_) => {
                return Err(Diagnostic::error(
                    "ptx-unsupported",
                    span,
                    "memory of this space cannot be accessed",
                ));
            }
        };
        let wide = matches!(machine, MachineSpace::Generic | MachineSpace::Global);
        let base = match base {
            Opnd::Value(p) if wide && p.words != 2 => {
                return Err(Diagnostic::error(
                    "ptx-unsupported",
                    span,
                    "global and generic addresses must have 64 bits",
                )
                .with_help("compile the program for 64-bit addresses (`.address_size 64`)"));
            }
            Opnd::Value(p) if !wide && p.words == 2 => self.lo(base),
            base => base,
        };
        let frame = Frame::None;
        if offset.unsigned_abs() <= MAX_OFFSET as u64 {
            return Ok(AccessTarget::Memory { base, off: offset as i32, frame, space: machine, bank });
        }
        let base = if wide {
            self.add(Ty::U64, base, imm(offset as u64))
        } else {
            self.add(Ty::U32, base, imm(offset as u64 & 0xffff_ffff))
        };
        Ok(AccessTarget::Memory { base, off: 0, frame, space: machine, bank })
    }

    /// Suffixes of loads and stores: order, scope, space, caching, vector.
    fn access(&mut self, form: &mut Form<'a>) -> Lower<(Option<Space>, MemAttr, u32)> {
        let mut mem = MemAttr { vec: 1, ..MemAttr::default() };
        let mmio = form.take(Mod::Mmio);
        if let Some(order) = form.pick(|m| match m {
            Mod::Weak => Some(Order::Weak),
            Mod::Volatile => Some(Order::Volatile),
            Mod::Relaxed => Some(Order::Relaxed),
            Mod::Acquire => Some(Order::Acquire),
            Mod::Release => Some(Order::Release),
            _ => None,
        }) {
            mem.order = if mmio { Order::Volatile } else { order };
        }
        if matches!(mem.order, Order::Relaxed | Order::Acquire | Order::Release) || mmio {
            mem.scope = form.scope().ok_or_else(|| form.unsupported())?;
        }
        if mem.order == Order::Volatile {
            mem.scope = Scope::Sys;
        }
        let space = form.pick(space_of);
        while let Some(cache) = form.pick(|m| {
            Some(match m {
                Mod::Ca => CacheOp::Ca,
                Mod::Cg => CacheOp::Cg,
                Mod::Cs => CacheOp::Cs,
                Mod::Lu => CacheOp::Lu,
                Mod::Cv => CacheOp::Cv,
                Mod::Wb => CacheOp::Wb,
                Mod::Wt => CacheOp::Wt,
                Mod::Nc => CacheOp::Nc,
                _ => return None,
            })
        }) {
            if mem.cache != CacheOp::Nc {
                mem.cache = cache;
            }
        }
        // Hints about cache levels change no value.
        while form.take_other(&["L1::", "L2::"]) {}
        form.take(Mod::Unified);
        let lanes = form.pick(|m| match m {
            Mod::V2 => Some(2),
            Mod::V4 => Some(4),
            Mod::V8 => Some(8),
            _ => None,
        });
        Ok((space, mem, lanes.unwrap_or(1)))
    }

    pub fn load(&mut self, form: &mut Form<'a>) -> Lower {
        let (space, mut mem, lanes) = self.access(form)?;
        if form.instr.op == Opcode::Ldu {
            mem.cache = CacheOp::Nc;
        }
        let ty = form.ty()?;
        form.end()?;
        if ty == Scalar::Pred || matches!(mem.order, Order::Release) {
            return Err(form.unsupported());
        }
        let operands = form.operands(2, 3)?;
        let elements = self.vector(&operands[0], lanes)?;
        let mut dsts = Vec::new();
        for o in &elements {
            dsts.push(self.dst_fit(o, ty, Fit::Wide)?);
        }
        let place = self.place(&operands[1], space)?;
        let bytes = i64::from(types::bytes(ty));
        match place {
            AccessTarget::KernelParam(at) => {
                let mut values = Vec::new();
                for k in 0..dsts.len() {
                    values.push(self.kernel_param(at + bytes * k as i64, ty, form)?);
                }
                for (d, v) in dsts.into_iter().zip(values) {
                    self.set_loaded(d, v, ty);
                }
            }
            AccessTarget::Words { first, size, off } => {
                let mut values = Vec::new();
                for k in 0..dsts.len() {
                    values.push(self.read_words(first, size, off + bytes * k as i64, ty, form)?);
                }
                for (d, v) in dsts.into_iter().zip(values) {
                    self.set_loaded(d, v, ty);
                }
            }
            AccessTarget::Memory { base, off, frame: Frame::In, space, bank }
                if i64::from(off) % (bytes * i64::from(lanes)).min(16) != 0 =>
            {
                let mem = MemAttr { space, bank, vec: 1, ..mem };
                let mut values = Vec::new();
                for k in 0..dsts.len() {
                    let start = off + k as i32 * bytes as i32;
                    let part = |this: &mut Self, ty: Scalar, at: i64| {
                        let (off, guard) = (start + at as i32, this.guard);
                        let load = inst(Op::Ld, types::ty(ty), &[base]);
                        Ok(this.put(Inst { mem, frame: Frame::In, off, guard, ..load }))
                    };
                    values.push(match i64::from(start) % bytes {
                        0 => part(self, ty, 0)?,
                        _ => self.by_bytes(ty, |this, at| part(this, Scalar::U8, at))?,
                    });
                }
                for (d, v) in dsts.into_iter().zip(values) {
                    self.set_loaded(d, v, ty);
                }
            }
            AccessTarget::Memory { .. } => self.load_run(&dsts, ty, place, mem),
        }
        Ok(())
    }

    /// An element of a packed structure that is passed by value: nothing but its bytes is aligned.
    fn by_bytes(&mut self, ty: Scalar, mut byte: impl FnMut(&mut Self, i64) -> Lower<Opnd>) -> Lower<Opnd> {
        let bytes = i64::from(types::bytes(ty));
        let mut words = Vec::new();
        for start in (0..bytes).step_by(4) {
            let mut word = byte(self, start)?;
            for k in 1..(bytes - start).min(4) {
                let next = byte(self, start + k)?;
                word = self.op(Op::Bfi, Ty::U32, &[next, word, imm(8 * k as u64), imm(8)]);
            }
            words.push(word);
        }
        Ok(match words[..] {
            [word] => self.extended(word, ty),
            _ => self.pack(&words),
        })
    }

    /// One byte of a value, in the low bits of a word.
    fn byte_of(&mut self, value: Opnd, at: i64) -> Opnd {
        let word = self.word(value, (at / 4) as u8);
        if at % 4 == 0 { word } else { self.shr(Ty::U32, word, imm(8 * (at % 4) as u64)) }
    }

    /// As many loads as the machine's sixteen bytes make of it.
    fn load_run(&mut self, dsts: &[Dst], ty: Scalar, place: AccessTarget, mem: MemAttr) {
        let AccessTarget::Memory { base, off, frame, space, bank } = place else { return };
        let bytes = types::bytes(ty);
        let words = types::words(ty);
        let per_load = (16 / bytes).clamp(1, 4) as usize;
        let mut values = Vec::new();
        for (k, chunk) in dsts.chunks(per_load).enumerate() {
            let mem = MemAttr { space, bank, vec: chunk.len() as u8, ..mem };
            let off = off.wrapping_add((k * per_load) as i32 * bytes as i32);
            let loaded =
                self.put(Inst { mem, frame, off, guard: self.guard, ..inst(Op::Ld, types::ty(ty), &[base]) });
            for lane in 0..chunk.len() as u8 {
                values.push(match loaded {
                    Opnd::Value(p) if chunk.len() > 1 => {
                        Opnd::Value(Part { value: p.value, lane: lane * words, words })
                    }
                    whole => whole,
                });
            }
        }
        for (&d, v) in dsts.iter().zip(values) {
            self.set_loaded(d, v, ty);
        }
    }

    /// A loaded element is extended to a word.
    fn set_loaded(&mut self, d: Dst, value: Opnd, ty: Scalar) {
        let Dst::Reg(_, to) = d else { return };
        let (from, to) = (types::bits(ty), types::bits(to));
        let result = match (from, to) {
            (8 | 16, 8 | 16) if types::is_signed(ty) => self.low_bits(value, to),
            (8 | 16 | 32, 64) => self.widened(value, types::is_signed(ty)),
            (8 | 16 | 32, 128) => {
                let sign = if types::is_signed(ty) { self.shr(Ty::S32, value, imm(31)) } else { imm(0) };
                self.pack(&[value, sign, sign, sign])
            }
            (64, 128) => {
                let high = self.hi(value);
                let sign = if types::is_signed(ty) { self.shr(Ty::S32, high, imm(31)) } else { imm(0) };
                self.pack(&[value, sign, sign])
            }
            _ => value,
        };
        self.set(d, result);
    }

    fn kernel_param(&mut self, at: i64, ty: Scalar, form: &Form<'a>) -> Lower<Opnd> {
        let end = at + i64::from(types::bytes(ty));
        if at < i64::from(bank0::PARAMS) || end > 1 << 16 {
            return Err(outside(form));
        }
        if at % i64::from(types::bytes(ty).min(4)) != 0 {
            return self.by_bytes(ty, |this, k| this.kernel_param(at + k, Scalar::U8, form));
        }
        let word = |offset: i64| Opnd::Const { bank: 0, offset: offset as u16 };
        Ok(match types::bytes(ty) {
            4 if at % 4 == 0 => self.op(Op::Mov, Ty::U32, &[word(at)]),
            8 if at % 8 == 0 => self.op(Op::Mov, Ty::U64, &[word(at)]),
            8 if at % 4 == 0 => self.pack(&[word(at), word(at + 4)]),
            16 if at % 4 == 0 => self.pack(&[word(at), word(at + 4), word(at + 8), word(at + 12)]),
            _ => {
                let mem = MemAttr { space: MachineSpace::Const, vec: 1, ..MemAttr::default() };
                let guard = self.guard;
                self.put(Inst { mem, off: at as i32, guard, ..inst(Op::Ld, types::ty(ty), &[imm(0)]) })
            }
        })
    }

    /// The elements of a vector operand, as many as the suffix says.
    pub fn vector(&mut self, o: &Operand, lanes: u32) -> Lower<Vec<Operand>> {
        let elements = self.elements(o);
        if elements.len() == lanes as usize {
            return Ok(elements);
        }
        Err(Diagnostic::error(
            "ptx-operand",
            o.span,
            format!("the instruction moves {lanes} elements, but {} are given", elements.len()),
        )
        .with_help("`.v2` and `.v4` take `{a, b}` and `{a, b, c, d}`"))
    }

    /// Some bytes of a `.param` variable that lives in registers.
    fn read_words(&mut self, first: Value, size: u32, off: i64, ty: Scalar, form: &Form<'a>) -> Lower<Opnd> {
        let bytes = types::bytes(ty);
        if off < 0 || off + i64::from(bytes) > i64::from(size) {
            return Err(outside(form));
        }
        if off % i64::from(bytes.min(4)) != 0 {
            return self.by_bytes(ty, |this, k| this.read_words(first, size, off + k, Scalar::U8, form));
        }
        let word = |k: i64| Value(first.0 + (off / 4 + k) as u32);
        Ok(match bytes {
            1 | 2 => {
                let w = self.whole(word(0));
                let v = self.field(w, 8 * (off % 4) as u32, 8 * bytes);
                self.extended(v, ty)
            }
            4 => self.whole(word(0)),
            n => {
                let words: Vec<Opnd> = (0..i64::from(n) / 4).map(|k| self.whole(word(k))).collect();
                self.pack(&words)
            }
        })
    }

    fn write_words(
        &mut self,
        first: Value,
        size: u32,
        off: i64,
        ty: Scalar,
        value: Opnd,
        form: &Form<'a>,
    ) -> Lower {
        let bytes = types::bytes(ty);
        if off < 0 || off + i64::from(bytes) > i64::from(size) {
            return Err(outside(form));
        }
        if off % i64::from(bytes.min(4)) != 0 {
            for k in 0..i64::from(bytes) {
                let byte = self.byte_of(value, k);
                self.write_words(first, size, off + k, Scalar::U8, byte, form)?;
            }
            return Ok(());
        }
        let word = |k: i64| Value(first.0 + (off / 4 + k) as u32);
        if bytes < 4 {
            let register = word(0);
            let result = if size <= bytes {
                self.low_bits(value, 8 * bytes)
            } else {
                let old = self.whole(register);
                let (at, bits) = (imm(8 * (off as u64 % 4)), imm(8 * u64::from(bytes)));
                self.op(Op::Bfi, Ty::U32, &[value, old, at, bits])
            };
            self.set(Dst::Reg(register, Scalar::B32), result);
            return Ok(());
        }
        for k in 0..i64::from(bytes) / 4 {
            let part = self.word(value, k as u8);
            self.set(Dst::Reg(word(k), Scalar::B32), part);
        }
        Ok(())
    }

    pub fn store(&mut self, form: &mut Form<'a>) -> Lower {
        // Asynchronous stores need memory barriers that are not simulated yet.
        if form.has(Mod::Async) {
            return Err(form.unsupported());
        }
        let (space, mem, lanes) = self.access(form)?;
        let ty = form.ty()?;
        form.end()?;
        if ty == Scalar::Pred || mem.order == Order::Acquire || space == Some(Space::Const) {
            return Err(form.unsupported());
        }
        let operands = form.operands(2, 3)?;
        let place = self.place(&operands[0], space)?;
        let elements = self.vector(&operands[1], lanes)?;
        let mut values = Vec::new();
        for o in &elements {
            let (v, reg) = self.src_typed(o, ty, Fit::Wide)?;
            // Of a wider register the low part is stored.
            values.push(match v {
                Opnd::Value(p) if types::words(reg) > types::words(ty) => {
                    Opnd::Value(Part { words: types::words(ty), ..p })
                }
                v => v,
            });
        }
        let bytes = i64::from(types::bytes(ty));
        match place {
            AccessTarget::KernelParam(_) => Err(Diagnostic::error(
                "ptx-space",
                operands[0].span,
                "a kernel's parameters cannot be written",
            )
            .with_help("copy them to a `.local` variable")),
            AccessTarget::Words { first, size, off } => {
                for (k, &v) in values.iter().enumerate() {
                    self.write_words(first, size, off + bytes * k as i64, ty, v, form)?;
                }
                Ok(())
            }
            AccessTarget::Memory { base, off, frame: Frame::In, space, bank }
                if i64::from(off) % (bytes * i64::from(lanes)).min(16) != 0 =>
            {
                for (k, &v) in values.iter().enumerate() {
                    let mem = MemAttr { space, bank, vec: 1, ..mem };
                    let start = off + k as i32 * bytes as i32;
                    let (piece, piece_ty) =
                        if i64::from(start) % bytes == 0 { (bytes, types::ty(ty)) } else { (1, Ty::U8) };
                    for at in (0..bytes).step_by(piece as usize) {
                        let part = if piece == bytes { v } else { self.byte_of(v, at) };
                        let (off, guard) = (start + at as i32, self.guard);
                        let store = inst(Op::St, piece_ty, &[base, part]);
                        self.push(Inst { mem, frame: Frame::In, off, guard, ..store });
                    }
                }
                Ok(())
            }
            AccessTarget::Memory { base, off, frame, space, bank } => {
                let per_store = (16 / types::bytes(ty)).clamp(1, 4) as usize;
                for (k, chunk) in values.chunks(per_store).enumerate() {
                    let run = if chunk.len() == 1 { chunk[0] } else { self.run(chunk, types::words(ty)) };
                    let mem = MemAttr { space, bank, vec: chunk.len() as u8, ..mem };
                    let off = off.wrapping_add((k * per_store) as i32 * bytes as i32);
                    let guard = self.guard;
                    self.push(Inst { mem, frame, off, guard, ..inst(Op::St, types::ty(ty), &[base, run]) });
                }
                Ok(())
            }
        }
    }

    /// Elements in consecutive registers. Constants fill one word each.
    pub fn run(&mut self, values: &[Opnd], words: u8) -> Opnd {
        let mut parts = Vec::new();
        for &v in values {
            match v {
                Opnd::Imm(_) | Opnd::Const { .. } if words > 1 => {
                    parts.extend((0..words).map(|k| self.word(v, k)))
                }
                v => parts.push(v),
            }
        }
        if parts.len() == 1 { parts[0] } else { self.pack(&parts) }
    }

    pub fn fence(&mut self, form: &mut Form<'a>) -> Lower {
        // Fences between proxies order caches that are not distinguished here; they still order memory.
        if form.has(Mod::Proxy) || form.instr.mods.iter().any(|&m| matches!(m, Mod::Other(_))) {
            let guard = self.guard;
            let mem = MemAttr { scope: Scope::Gpu, order: Order::AcqRel, vec: 1, ..MemAttr::default() };
            self.push(Inst { mem, guard, ..inst(Op::Membar, Ty::U32, &[]) });
            return Ok(());
        }
        let order = form.pick(|m| match m {
            Mod::Sc => Some(Order::Sc),
            Mod::AcqRel => Some(Order::AcqRel),
            Mod::Acquire => Some(Order::Acquire),
            Mod::Release => Some(Order::Release),
            _ => None,
        });
        let scope = form.scope().ok_or_else(|| form.unsupported())?;
        form.end()?;
        let order = order.unwrap_or(if form.instr.op == Opcode::Membar { Order::Sc } else { Order::AcqRel });
        let mem = MemAttr { scope, order, vec: 1, ..MemAttr::default() };
        let guard = self.guard;
        self.push(Inst { mem, guard, ..inst(Op::Membar, Ty::U32, &[]) });
        Ok(())
    }

    /// Prefetches, discards and priorities.
    pub fn hint(&mut self, form: &mut Form<'a>) -> Lower {
        let space = form.pick(space_of);
        let operands = form.operands(1, 3)?;
        if let AccessTarget::Memory { base, off, frame, space, bank } = self.place(&operands[0], space)? {
            let mem = MemAttr { space, bank, vec: 1, ..MemAttr::default() };
            let guard = self.guard;
            self.push(Inst { mem, frame, off, guard, ..inst(Op::Cctl, Ty::U32, &[base]) });
        }
        Ok(())
    }

    /// A cache policy is an opaque number that changes no value.
    pub fn policy(&mut self, form: &mut Form<'a>) -> Lower {
        let operands = form.operands(1, 5)?;
        let d = self.dst(&operands[0], Scalar::B64)?;
        self.set(d, imm(0));
        Ok(())
    }
}

fn outside(form: &Form) -> Diagnostic {
    Diagnostic::error("ptx-operand", form.instr.span, "this access is outside of the parameter")
        .with_help("check the offset against the parameter's declaration")
}
