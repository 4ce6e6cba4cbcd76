// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads, stores and atomic operations in every space.

use warpwatt_ptx::ast::Space;
use warpwatt_ptx::words::{Mod, Opcode};

use crate::bind::{Instr, Operand, VariableAddress};
use crate::float::{self, Arith};
use crate::form::{ScalarKind, Ty};
use crate::integer as int;
use crate::memory::{self, load, store};
use crate::thread::{Thread, World, window_of};

/// Type of a generic address.
pub const ADDRESS: Ty = Ty { kind: ScalarKind::Unsigned, bits: 64, lanes: 1 };

impl Thread {
    /// Space and offset in it of an address operand.
    fn locate(&self, world: &World, instr: &Instr, operand: &Operand) -> Result<(Space, u64), String> {
        let Operand::Address(base, offset) = operand else { return Err("an address is missing".to_owned()) };
        let place = if let Operand::Var(place, _) = base.as_ref() { Some(*place) } else { None };
        let at = self.read(world, base, ADDRESS)?.wrapping_add(*offset as u64);
        let in_function = self.frames.len() > 1;
        Ok(match (instr.form.space, place) {
            (_, Some(VariableAddress::Frame(_))) => (Space::Local, at),
            (_, Some(VariableAddress::KernelParam(_))) => (Space::Param, at),
            (Some(Space::Param), None) if in_function => (Space::Local, at),
            (Some(space @ (Space::Shared | Space::Local | Space::Const)), _) => (space, at & 0xffff_ffff),
            (Some(space), _) => (space, at),
            (None, _) => {
                let space = window_of(at).unwrap_or(Space::Global);
                let within = if space == Space::Global { at } else { at % memory::WINDOW };
                (space, within)
            }
        })
    }

    fn bytes<'a>(
        &'a mut self,
        world: &'a mut World,
        space: Space,
        at: u64,
        len: u64,
    ) -> Result<&'a mut [u8], String> {
        let missing = || format!("{space:?} address {at:#x} (+{len}) does not exist");
        match space {
            Space::Global => world.memory.bytes(at, len),
            Space::Shared => memory::slice(&mut world.shared, at, len).ok_or_else(missing),
            Space::Local => self.local_bytes(at, len),
            Space::Const => memory::slice(&mut world.constants, at, len).ok_or_else(missing),
            Space::Param => memory::slice(&mut world.params, at, len).ok_or_else(missing),
            Space::Reg | Space::Sreg | Space::Tex => Err(missing()),
        }
    }

    fn aligned(at: u64, len: u64) -> Result<(), String> {
        if at.is_multiple_of(len) {
            Ok(())
        } else {
            Err(format!("address {at:#x} is not a multiple of {len}"))
        }
    }

    pub fn ld(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let ty = instr.form.ty();
        let (space, at) = self.locate(world, instr, &instr.operands[1])?;
        let size = ty.bytes();
        Self::aligned(at, size * instr.form.vector as u64)?;
        let single = std::slice::from_ref(&instr.operands[0]);
        let parts = if let Operand::Vector(parts) = &instr.operands[0] { parts } else { single };
        for (index, part) in parts.iter().enumerate() {
            let value = load(self.bytes(world, space, at + size * index as u64, size)?);
            self.write(world, part, value, ty)?;
        }
        Ok(())
    }

    pub fn st(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let ty = instr.form.ty();
        let (space, at) = self.locate(world, instr, &instr.operands[0])?;
        let size = ty.bytes();
        Self::aligned(at, size * instr.form.vector as u64)?;
        let single = std::slice::from_ref(&instr.operands[1]);
        let parts = if let Operand::Vector(parts) = &instr.operands[1] { parts } else { single };
        for (index, part) in parts.iter().enumerate() {
            let value = self.read(world, part, ty)?;
            store(self.bytes(world, space, at + size * index as u64, size)?, value);
        }
        Ok(())
    }

    pub fn atom(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let ty = instr.form.ty();
        // `red` has no destination.
        let first = usize::from(instr.op == Opcode::Atom);
        let ops = &instr.operands;
        let (space, at) = self.locate(world, instr, &ops[first])?;
        Self::aligned(at, ty.bytes())?;
        let b = self.read(world, &ops[first + 1], ty)?;
        let c = ops.get(first + 2).map(|operand| self.read(world, operand, ty)).transpose()?;
        let bytes = self.bytes(world, space, at, ty.bytes())?;
        let old = load(bytes);
        store(bytes, update(instr, ty, space, old, b, c)?);
        if instr.op == Opcode::Atom {
            self.write(world, &ops[0], old, ty)?;
        }
        Ok(())
    }
}

/// What an atomic operation leaves in memory.
fn update(instr: &Instr, ty: Ty, space: Space, old: u64, b: u64, c: Option<u64>) -> Result<u64, String> {
    const WORDS: [Mod; 10] =
        [Mod::Add, Mod::Min, Mod::Max, Mod::Inc, Mod::Dec, Mod::And, Mod::Or, Mod::Xor, Mod::Exch, Mod::Cas];
    let word = instr.form.one_of(&WORDS).ok_or("an atomic without its operation")?;
    if ty.float() {
        let mut result = 0;
        for lane in 0..ty.lanes {
            // Additions of single precision in global memory flush, those in shared memory do not.
            let ftz = ty == Ty::F32 && word == Mod::Add && space == Space::Global;
            let part = |raw: u64| float::flush(raw >> (lane * ty.bits) & ty.lane().mask(), ty.lane(), ftz);
            let nearest = rustc_apfloat::Round::NearestTiesToEven;
            let value = match word {
                Mod::Add => float::arith(Arith::Add, part(old), part(b), 0, ty.lane(), nearest),
                Mod::Min | Mod::Max => {
                    float::min_max(part(old), part(b), ty.lane(), word == Mod::Max, false, false)
                }
                Mod::Exch => part(b),
                _ => return Err(format!("atomic {word:?} on floats")),
            };
            result |= float::finish(value, ty.lane(), ftz, false) << (lane * ty.bits);
        }
        return Ok(result);
    }
    let (x, y) = (int::value(old, ty), int::value(b, ty));
    Ok(match word {
        Mod::Add => old.wrapping_add(b),
        Mod::Min => x.min(y) as u64,
        Mod::Max => x.max(y) as u64,
        Mod::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Mod::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        Mod::And => old & b,
        Mod::Or => old | b,
        Mod::Xor => old ^ b,
        Mod::Exch => b,
        Mod::Cas => {
            if old == b {
                c.ok_or("cas needs a third value")?
            } else {
                old
            }
        }
        _ => return Err(format!("atomic {word:?}")),
    } & ty.mask())
}
