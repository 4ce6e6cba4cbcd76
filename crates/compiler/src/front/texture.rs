// SPDX-License-Identifier: MIT OR Apache-2.0
//! Textures and surfaces (PTX ISA, "Texture Instructions", "Surface Instructions"): references by name, objects by 64-bit handle.

use warpwatt_isa::{LodMode, MemAttr, Op, Query, Sub, SurfClamp, TexGeom, Ty, bank0};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{AddressBase, Operand, OperandKind, Scalar};
use warpwatt_ptx::words::Mod;

use super::atomic::atom_op;
use super::build::{Dst, Lowerer, imm, inst};
use super::form::{Form, Lower};
use super::layout::{ReferenceKind, Symbol};
use super::names::Entity;
use super::operand::Fit;
use super::types;
use crate::ir::{Inst, Opnd, Part};

fn geometry(form: &mut Form) -> Lower<TexGeom> {
    let found = form.pick(|m| {
        Some(match m {
            Mod::D1 => TexGeom::D1,
            Mod::D2 => TexGeom::D2,
            Mod::D3 => TexGeom::D3,
            Mod::A1d => TexGeom::A1d,
            Mod::A2d => TexGeom::A2d,
            Mod::Cube => TexGeom::Cube,
            Mod::Acube => TexGeom::Acube,
            _ => return None,
        })
    });
    found.ok_or_else(|| form.unsupported())
}

impl<'a> Lowerer<'a, '_> {
    /// A texture or surface: a handle in a register, or the constant that holds a reference's handle.
    fn handle(&mut self, o: &Operand) -> Lower<Opnd> {
        let name = match &o.kind {
            OperandKind::Name(name) => *name,
            OperandKind::Address(a) if a.offset == 0 => match a.base {
                AddressBase::Name(name) => name,
                AddressBase::Absolute => return Err(no_texture(o)),
            },
            _ => return Err(no_texture(o)),
        };
        if let Some(entity) = self.local_name(name) {
            return match entity {
                Entity::Reg { value, scalar } if types::bits(scalar) == 64 => Ok(self.whole(value)),
                // Lowering refuses kernels whose parameters do not fit into the bank.
                Entity::KernelParam(at) if at % 8 == 0 => {
                    let offset = u16::try_from(u32::from(bank0::PARAMS) + at).map_err(|_| no_texture(o))?;
                    Ok(self.op(Op::Mov, Ty::U64, &[Opnd::Const { bank: 0, offset }]))
                }
                _ => Err(no_texture(o)),
            };
        }
        match self.module_symbol(name) {
            Some(Symbol::Reference(k))
                if self.unit.layout.references[k as usize].kind != ReferenceKind::Sampler =>
            {
                let slot = self.unit.global_slot(self.text_of(name));
                Ok(self.op(Op::Mov, Ty::U64, &[slot]))
            }
            Some(_) => Err(no_texture(o)),
            None => Err(self.unknown(name, o.span)),
        }
    }

    /// `[texture, coordinates]`; a sampler between them is only known in independent mode.
    fn bracket(&mut self, o: &'a Operand) -> Lower<(Opnd, &'a Operand)> {
        let OperandKind::Bracket(parts) = &o.kind else { return Err(no_texture(o)) };
        match &parts[..] {
            [texture, at] => Ok((self.handle(texture)?, at)),
            [_, _, _] => {
                Err(Diagnostic::error("ptx-unsupported", o.span, "separate samplers are not supported")
                    .with_help("use `.texmode_unified`: the sampler is part of the texture"))
            }
            _ => Err(no_texture(o)),
        }
    }

    /// Coordinates in one run of registers; the rest is padding.
    fn coordinates(&mut self, o: &Operand, geom: TexGeom, ty: Scalar) -> Lower<Opnd> {
        let elements = self.elements(o);
        let count = geom.coords() as usize;
        if elements.len() < count {
            return Err(Diagnostic::error(
                "ptx-operand",
                o.span,
                format!("this geometry needs {count} coordinates"),
            )
            .with_help("the first coordinate of a layered texture is its layer"));
        }
        let mut values = Vec::new();
        for (k, o) in elements[..count].iter().enumerate() {
            // The layer is an integer whatever the other coordinates are.
            let want = if k == 0 && geom.layered() { Scalar::U32 } else { ty };
            values.push(self.src_fit(o, want, Fit::Width)?);
        }
        Ok(if count == 1 { values[0] } else { self.run(&values, 1) })
    }

    fn set_run(&mut self, dsts: &[Dst], loaded: Opnd, words: u8, ty: Scalar) {
        let Opnd::Value(p) = loaded else { return };
        let whole = dsts.len() == 1 && self.f.words(p.value) == words;
        for (k, &d) in dsts.iter().enumerate() {
            let value = if whole {
                loaded
            } else {
                Opnd::Value(Part { value: p.value, lane: words * k as u8, words })
            };
            self.set_extended(d, value, ty);
        }
    }

    pub fn tex(&mut self, form: &mut Form<'a>) -> Lower {
        let mode = form.pick(|m| match m {
            Mod::Base => Some(LodMode::Base),
            Mod::Level => Some(LodMode::Level),
            Mod::Grad => Some(LodMode::Grad),
            _ => None,
        });
        let mode = mode.unwrap_or(LodMode::Base);
        let geom = geometry(form)?;
        // `.v2.f16x2` is `.v4.f16` in two registers.
        let pairs = form.take(Mod::V2);
        if !pairs && !form.take(Mod::V4) {
            return Err(form.unsupported());
        }
        let ty = match pairs {
            true => form.ty_of(&[Scalar::F16x2])?,
            false => form.ty_of(&[Scalar::U32, Scalar::S32, Scalar::F32, Scalar::F16])?,
        };
        let at_ty = form.ty_of(&[Scalar::S32, Scalar::F32])?;
        form.end()?;
        let more = match mode {
            LodMode::Base => 0,
            LodMode::Level => 1,
            LodMode::Grad => 2,
        };
        // Offsets and depth references behind these are not simulated.
        let operands = form.operands(2 + more, 2 + more).map_err(|_| form.unsupported())?;
        let elements = self.vector(&operands[0], if pairs { 2 } else { 4 })?;
        let mut dsts = Vec::new();
        for o in &elements {
            dsts.push(self.dst(o, ty)?);
        }
        let (texture, at) = self.bracket(&operands[1])?;
        let mut srcs = vec![texture, self.coordinates(at, geom, at_ty)?];
        match mode {
            LodMode::Base => {}
            LodMode::Level => srcs.push(self.src(&operands[2], at_ty)?),
            LodMode::Grad => {
                let count = (geom.coords() - u32::from(geom.layered())) as usize;
                for o in &operands[2..4] {
                    let parts = self.elements(o);
                    if parts.len() < count {
                        return Err(form.unsupported());
                    }
                    let mut values = Vec::new();
                    for part in &parts[..count] {
                        values.push(self.src(part, Scalar::F32)?);
                    }
                    srcs.push(if count == 1 { values[0] } else { self.run(&values, 1) });
                }
            }
        }
        let i = Inst {
            ty2: types::ty(at_ty),
            sub: Sub::Tex(geom, mode),
            guard: self.guard,
            ..inst(Op::Tex, if pairs { Ty::F16 } else { types::ty(ty) }, &srcs)
        };
        let loaded = self.put(i);
        if pairs {
            let half = |lane| match loaded {
                Opnd::Value(p) => Opnd::Value(Part { value: p.value, lane, words: 1 }),
                other => other,
            };
            for (d, lane) in dsts.into_iter().zip([0, 2]) {
                let pair = self.op(Op::Prmt, Ty::U32, &[half(lane), half(lane + 1), imm(0x5410)]);
                self.set(d, pair);
            }
            return Ok(());
        }
        self.set_run(&dsts, loaded, 1, ty);
        Ok(())
    }

    pub fn tld4(&mut self, form: &mut Form<'a>) -> Lower {
        let component = form
            .pick(|m| match m {
                Mod::R => Some(0),
                Mod::G => Some(1),
                Mod::B => Some(2),
                Mod::A => Some(3),
                _ => None,
            })
            .ok_or_else(|| form.unsupported())?;
        let geom = geometry(form)?;
        if !form.take(Mod::V4) || !matches!(geom, TexGeom::D2 | TexGeom::A2d | TexGeom::Cube | TexGeom::Acube)
        {
            return Err(form.unsupported());
        }
        let ty = form.ty_of(&[Scalar::U32, Scalar::S32, Scalar::F32])?;
        let at_ty = form.ty_of(&[Scalar::F32])?;
        form.end()?;
        let operands = form.operands(2, 2).map_err(|_| form.unsupported())?;
        let elements = self.vector(&operands[0], 4)?;
        let mut dsts = Vec::new();
        for o in &elements {
            dsts.push(self.dst(o, ty)?);
        }
        let (texture, at) = self.bracket(&operands[1])?;
        let at = self.coordinates(at, geom, at_ty)?;
        let i = Inst {
            ty2: types::ty(at_ty),
            sub: Sub::Tld4(geom, component),
            guard: self.guard,
            ..inst(Op::Tld4, types::ty(ty), &[texture, at])
        };
        let loaded = self.put(i);
        self.set_run(&dsts, loaded, 1, ty);
        Ok(())
    }

    /// `txq` and `suq`.
    pub fn query(&mut self, form: &mut Form<'a>) -> Lower {
        let what = form
            .pick(|m| {
                Some(match m {
                    Mod::Width => Query::Width,
                    Mod::Height => Query::Height,
                    Mod::Depth => Query::Depth,
                    Mod::ArraySize => Query::ArraySize,
                    Mod::NumMipmapLevels => Query::NumMipmapLevels,
                    Mod::ChannelDataType => Query::ChannelDataType,
                    Mod::ChannelOrder => Query::ChannelOrder,
                    Mod::NormalizedCoords => Query::NormalizedCoords,
                    Mod::FilterMode => Query::FilterMode,
                    Mod::AddrMode0 => Query::AddrMode0,
                    Mod::AddrMode1 => Query::AddrMode1,
                    Mod::AddrMode2 => Query::AddrMode2,
                    _ => return None,
                })
            })
            .ok_or_else(|| form.unsupported())?;
        form.ty_of(&[Scalar::B32])?;
        form.end()?;
        let [d, a] = form.exactly()?;
        let d = self.dst(d, Scalar::B32)?;
        let texture = self.handle(a)?;
        let guard = self.guard;
        let result = self.put(Inst { sub: Sub::Query(what), guard, ..inst(Op::Txq, Ty::U32, &[texture]) });
        self.set(d, result);
        Ok(())
    }

    /// Suffixes of surface accesses: formatted or raw, geometry, vector, type, what happens outside.
    fn surface(&mut self, form: &mut Form<'a>) -> Lower<(bool, TexGeom, u8, Scalar, SurfClamp)> {
        let formatted = form.take(Mod::P);
        if !formatted && !form.take(Mod::B) {
            return Err(form.unsupported());
        }
        let geom = geometry(form)?;
        while form
            .pick(|m| matches!(m, Mod::Ca | Mod::Cg | Mod::Cs | Mod::Cv | Mod::Wb | Mod::Wt).then_some(()))
            .is_some()
        {}
        let vec = form.pick(|m| match m {
            Mod::V2 => Some(2),
            Mod::V4 => Some(4),
            _ => None,
        });
        let ty = form.ty()?;
        let clamp = form.pick(|m| match m {
            Mod::Trap => Some(SurfClamp::Trap),
            Mod::Clamp => Some(SurfClamp::Clamp),
            Mod::Zero => Some(SurfClamp::Zero),
            _ => None,
        });
        Ok((formatted, geom, vec.unwrap_or(1), ty, clamp.unwrap_or(SurfClamp::Trap)))
    }

    pub fn surface_load(&mut self, form: &mut Form<'a>) -> Lower {
        let (formatted, geom, vec, ty, clamp) = self.surface(form)?;
        form.end()?;
        if formatted || types::kind(ty) != types::ScalarKind::Bits || u32::from(vec) * types::bytes(ty) > 16 {
            return Err(form.unsupported());
        }
        let [d, a] = form.exactly()?;
        let elements = self.vector(d, u32::from(vec))?;
        let mut dsts = Vec::new();
        for o in &elements {
            dsts.push(self.dst_fit(o, ty, Fit::Wide)?);
        }
        let (surface, at) = self.bracket(a)?;
        let at = self.coordinates(at, geom, Scalar::S32)?;
        let mem = MemAttr { vec, ..MemAttr::default() };
        let guard = self.guard;
        let sub = Sub::Surf(geom, clamp, false);
        let loaded = self.put(Inst { mem, sub, guard, ..inst(Op::Suld, types::ty(ty), &[surface, at]) });
        self.set_run(&dsts, loaded, types::words(ty).max(1), ty);
        Ok(())
    }

    pub fn surface_store(&mut self, form: &mut Form<'a>) -> Lower {
        let (formatted, geom, vec, ty, clamp) = self.surface(form)?;
        form.end()?;
        if u32::from(vec) * types::bytes(ty) > 16 || ty == Scalar::Pred {
            return Err(form.unsupported());
        }
        let [a, values] = form.exactly()?;
        let (surface, at) = self.bracket(a)?;
        let at = self.coordinates(at, geom, Scalar::S32)?;
        let elements = self.vector(values, u32::from(vec))?;
        let mut parts = Vec::new();
        for o in &elements {
            let v = self.src_fit(o, ty, Fit::Wide)?;
            parts.push(match v {
                Opnd::Value(p) if p.words > types::words(ty) => {
                    Opnd::Value(Part { words: types::words(ty), ..p })
                }
                v => v,
            });
        }
        let run = if parts.len() == 1 { parts[0] } else { self.run(&parts, types::words(ty)) };
        let mem = MemAttr { vec, ..MemAttr::default() };
        let guard = self.guard;
        let sub = Sub::Surf(geom, clamp, formatted);
        self.push(Inst { mem, sub, guard, ..inst(Op::Sust, types::ty(ty), &[surface, at, run]) });
        Ok(())
    }

    pub fn surface_reduce(&mut self, form: &mut Form<'a>) -> Lower {
        let op = form.pick(atom_op).ok_or_else(|| form.unsupported())?;
        let (formatted, geom, vec, ty, clamp) = self.surface(form)?;
        form.end()?;
        let known = matches!(ty, Scalar::U32 | Scalar::S32 | Scalar::B32 | Scalar::U64 | Scalar::S64);
        if formatted || vec != 1 || !known {
            return Err(form.unsupported());
        }
        let [a, value] = form.exactly()?;
        let (surface, at) = self.bracket(a)?;
        let at = self.coordinates(at, geom, Scalar::S32)?;
        let value = self.src(value, ty)?;
        let guard = self.guard;
        let sub = Sub::SurfRed(geom, clamp, op);
        self.push(Inst { sub, guard, ..inst(Op::Sured, types::ty(ty), &[surface, at, value]) });
        Ok(())
    }
}

fn no_texture(o: &Operand) -> Diagnostic {
    Diagnostic::error("ptx-operand", o.span, "expected a texture or surface")
        .with_help("write `[texture, {x, y}]` with a `.texref` variable or a 64-bit register")
}
