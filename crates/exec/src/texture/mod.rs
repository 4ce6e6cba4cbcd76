// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface instructions (PTX ISA, "Texture Instructions" and "Surface Instructions"): lane by lane here, and for all lanes at once
//! where that is possible (`warp`).
//!
//! Filtering follows the CUDA Programming Guide ("Texture Fetching"): weights have 8 fractional bits, texels are half a unit from the grid.

mod cube;
mod sample;
mod surface;
mod texel;
mod warp;

use warpwatt_isa::{LodMode, Op, Query, Sub, TexGeom, Ty, Uop};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{AddressMode, ChannelKind, Filter, Image, Shape};

use crate::fault::FaultKind;
use crate::lanes::{self, Row};
use crate::machine::Window;
use crate::rows::lanes_of;

/// Operands of a texture or surface operation.
pub(crate) struct TextureArgs {
    pub dst: *mut Row,
    pub src: [*const Row; 4],
    pub mask: u32,
}

/// A fault, and its lane.
pub(crate) struct TextureFault {
    pub kind: FaultKind,
    pub lane: usize,
    pub detail: String,
}

/// Observes which texels an operation accesses.
pub(crate) trait Trace {
    /// It observes nothing.
    const IS_IDLE: bool = false;

    fn texel(&mut self, address: u64, bytes: u64);

    /// The texels of some lanes, one each, at offsets of 31 bits.
    #[inline(always)]
    fn texels(&mut self, base: u64, offsets: &[u32; 32], bytes: u32, mask: u32) {
        lanes_of(mask).for_each(|lane| self.texel(base + u64::from(offsets[lane]), bytes.into()));
    }
}

/// Observes nothing.
pub(crate) struct Untraced;

impl Trace for Untraced {
    const IS_IDLE: bool = true;

    #[inline(always)]
    fn texel(&mut self, _address: u64, _bytes: u64) {}
}

/// For fast accesses of a whole warp: the allocation of the micro-op's last texels, and the host's instruction set.
pub(crate) struct Near<'a> {
    pub window: &'a mut Window,
    pub level: lanes::Level,
}

/// Whether the operation changes memory.
pub(crate) fn writes(uop: &Uop) -> bool {
    matches!(uop.op, Op::Sust | Op::Sured)
}

/// One lane of an operation.
struct Lane<'a> {
    args: &'a TextureArgs,
    lane: usize,
}

impl Lane<'_> {
    /// Word `k` of an operand.
    ///
    /// # Safety
    /// The operand must have it.
    unsafe fn word(&self, operand: usize, k: usize) -> u32 {
        // SAFETY: operands' rows span the words that the micro-op's geometry reads.
        unsafe { (*self.args.src[operand].add(k)).0[self.lane] }
    }

    fn fail(&self, kind: FaultKind, detail: String) -> TextureFault {
        TextureFault { lane: self.lane, kind, detail }
    }

    fn outside(&self, detail: String) -> TextureFault {
        self.fail(FaultKind::OutOfBounds, detail)
    }

    fn gone(&self, address: u64) -> TextureFault {
        self.outside(format!("the memory behind the texture or surface is gone (texel at 0x{address:x})"))
    }

    unsafe fn image<'m>(&self, memory: &'m DeviceMemory) -> Result<&'m Image, TextureFault> {
        // SAFETY: operands' rows span the words that the micro-op's geometry reads.
        let handle = unsafe { u64::from(self.word(0, 0)) | u64::from(self.word(0, 1)) << 32 };
        memory.images.get(handle).ok_or_else(|| {
            let detail = match handle {
                0 => "the texture or surface reference is not bound, or the object is 0".to_owned(),
                _ => format!(
                    "0x{handle:x} is not a texture or surface object of this device, or it was destroyed"
                ),
            };
            self.fail(FaultKind::WrongSpace, detail)
        })
    }
}

/// Executes `Tex`, `Tld4`, `Txq` or `Suld` for the lanes of the mask.
///
/// # Safety
/// The rows must span what the micro-op reads and writes.
pub(crate) unsafe fn read(
    memory: &DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    near: &mut Near,
    trace: &mut impl Trace,
) -> Result<(), TextureFault> {
    // SAFETY: the caller guarantees the rows.
    if unsafe { warp::read(memory, uop, args, near, trace) }.is_some() {
        return Ok(());
    }
    // SAFETY: operands' rows span the words that the micro-op's geometry reads.
    unsafe { read_by_lane(memory, uop, args, trace) }
}

fn is_idle<T: Trace>(_: &T) -> bool {
    T::IS_IDLE
}

/// [`read`], one lane after the other.
unsafe fn read_by_lane(
    memory: &DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    trace: &mut impl Trace,
) -> Result<(), TextureFault> {
    for lane in lanes_of(args.mask) {
        let at = Lane { args, lane };
        // SAFETY: the caller guarantees the rows; `word` reads only the words an operand has.
        let image = unsafe { at.image(memory)? };
        // SAFETY: operands' rows span the words that the micro-op's geometry reads.
        let word = |operand: usize, k: usize| unsafe { at.word(operand, k) };
        let gone = |address| at.gone(address);
        let mut result = [0u32; 4];
        let words;
        match (uop.op, uop.sub) {
            (Op::Tex, Sub::Tex(geom, lod)) => {
                let place = coordinates(uop, geom, &|k| word(1, k));
                let level = match lod {
                    LodMode::Base => None,
                    LodMode::Level => Some(lod_operand(uop.ty2, word(2, 0))),
                    LodMode::Grad => {
                        let n = (geom.coords() - u32::from(geom.layered())) as usize;
                        let dx: Vec<f32> = (0..n).map(|k| f32::from_bits(word(2, k))).collect();
                        let dy: Vec<f32> = (0..n).map(|k| f32::from_bits(word(3, k))).collect();
                        Some(sample::gradient_level(image, &dx, &dy))
                    }
                };
                let texel = sample::sample(memory, image, &place, level, trace).map_err(gone)?;
                result = texel::to_bits(texel, uop.ty);
                words = 4;
            }
            (Op::Tld4, Sub::Tld4(geom, component)) => {
                let place = coordinates(uop, geom, &|k| word(1, k));
                result = sample::gather(memory, image, &place, component, uop.ty, trace).map_err(gone)?;
                words = 4;
            }
            (Op::Txq, Sub::Query(query)) => {
                result[0] = answer(image, query);
                words = 1;
            }
            (Op::Suld, Sub::Surf(geom, clamp, formatted)) => {
                let place = surface::SurfaceAddress::of(image, geom, clamp, formatted, uop, |k| word(1, k))
                    .map_err(|detail| at.outside(detail))?;
                let read = surface::load(memory, place, image, formatted, uop, trace).map_err(gone)?;
                words = uop.dst_words() as usize;
                result[..words].copy_from_slice(&read[..words]);
            }
            _ => return Err(at.fail(FaultKind::Unsupported, not_ours(uop))),
        }
        for (k, value) in result.iter().enumerate().take(words) {
            // SAFETY: `words` is at most what `dst_words` says, which the caller guarantees.
            unsafe { (*args.dst.add(k)).0[lane] = *value };
        }
    }
    Ok(())
}

/// Executes `Sust` or `Sured` for the lanes of the mask.
///
/// # Safety
/// The rows must span what the micro-op reads.
pub(crate) unsafe fn write(
    memory: &mut DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    near: &mut Near,
    trace: &mut impl Trace,
) -> Result<(), TextureFault> {
    // SAFETY: the caller guarantees the rows.
    if is_idle(trace) && unsafe { warp::write(memory, uop, args, near) }.is_some() {
        return Ok(());
    }
    // SAFETY: operands' rows span the words that the micro-op's geometry reads.
    unsafe { write_by_lane(memory, uop, args, trace) }
}

/// [`write`], one lane after the other.
unsafe fn write_by_lane(
    memory: &mut DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    trace: &mut impl Trace,
) -> Result<(), TextureFault> {
    for lane in lanes_of(args.mask) {
        let at = Lane { args, lane };
        // SAFETY: as above.
        let image = unsafe { at.image(memory)? };
        // SAFETY: operands' rows span the words that the micro-op's geometry reads.
        let word = |operand: usize, k: usize| unsafe { at.word(operand, k) };
        let place = |geom, clamp, formatted| {
            surface::SurfaceAddress::of(image, geom, clamp, formatted, uop, |k| word(1, k))
                .map_err(|detail| at.outside(detail))
        };
        let done = match (uop.op, uop.sub) {
            (Op::Sust, Sub::Surf(geom, clamp, formatted)) => {
                let place = place(geom, clamp, formatted)?;
                let mut data = [0u32; 4];
                for (k, d) in data.iter_mut().enumerate().take(uop.src_words(2) as usize) {
                    *d = word(2, k);
                }
                let format = image.storage.format;
                surface::store(memory, place, format, formatted, uop, &data, trace)
            }
            (Op::Sured, Sub::SurfRed(geom, clamp, op)) => {
                let place = place(geom, clamp, false)?;
                let data =
                    u64::from(word(2, 0)) | if uop.ty.words() == 2 { u64::from(word(2, 1)) << 32 } else { 0 };
                surface::reduce(memory, place, op, uop.ty, data, trace)
            }
            _ => return Err(at.fail(FaultKind::Unsupported, not_ours(uop))),
        };
        done.map_err(|address| at.gone(address))?;
    }
    Ok(())
}

fn not_ours(uop: &Uop) -> String {
    format!("{} is not a texture instruction", uop.op.name())
}

/// Where a texture is sampled. Integer coordinates address texels directly.
pub(crate) struct Coordinates {
    pub geom: TexGeom,
    pub layer: u32,
    pub value: [f32; 3],
    /// Texel numbers, when the instruction gives integers.
    pub texel: Option<[i32; 3]>,
}

fn coordinates(uop: &Uop, geom: TexGeom, word: &dyn Fn(usize) -> u32) -> Coordinates {
    let first = usize::from(geom.layered());
    let layer = if geom.layered() { word(0) } else { 0 };
    let n = geom.coords() as usize - first;
    let mut bits = [0u32; 3];
    for (k, b) in bits.iter_mut().enumerate().take(n) {
        *b = word(first + k);
    }
    let integer = uop.ty2 != Ty::F32;
    Coordinates {
        geom,
        layer,
        value: bits.map(f32::from_bits),
        texel: integer.then(|| bits.map(|b| b as i32)),
    }
}

fn lod_operand(coordinate_type: Ty, bits: u32) -> f32 {
    if coordinate_type == Ty::F32 { f32::from_bits(bits) } else { bits as i32 as f32 }
}

/// PTX's numbers for the attributes of a texture or surface.
fn answer(image: &Image, query: Query) -> u32 {
    let level = &image.storage.levels[0];
    let mode = |m: AddressMode| match m {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 2,
        AddressMode::Border => 3,
    };
    let layered = matches!(image.storage.shape, Shape::Layered1d | Shape::Layered2d);
    match query {
        Query::Width => level.width,
        Query::Height => level.height,
        Query::Depth => {
            if image.storage.shape == Shape::D3 {
                level.depth
            } else {
                0
            }
        }
        Query::ArraySize => {
            if layered {
                level.depth
            } else {
                level.depth / if image.storage.shape == Shape::Cube { 6 } else { 1 }
            }
        }
        Query::NumMipmapLevels => image.storage.levels.len() as u32,
        // The numbering of the OpenCL channel types that PTX refers to.
        Query::ChannelDataType => match (image.storage.format.kind, image.storage.format.bits) {
            (ChannelKind::Signed, 8) => 0x10d7,
            (ChannelKind::Signed, 16) => 0x10d8,
            (ChannelKind::Signed, _) => 0x10d9,
            (ChannelKind::Unsigned, 8) => 0x10da,
            (ChannelKind::Unsigned, 16) => 0x10db,
            (ChannelKind::Unsigned, _) => 0x10dc,
            (ChannelKind::Float, 16) => 0x10dd,
            (ChannelKind::Float, _) => 0x10de,
        },
        Query::ChannelOrder => match image.storage.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        Query::NormalizedCoords => u32::from(image.sampler.normalized),
        Query::FilterMode => u32::from(image.sampler.filter == Filter::Linear),
        Query::AddrMode0 => mode(image.sampler.address[0]),
        Query::AddrMode1 => mode(image.sampler.address[1]),
        Query::AddrMode2 => mode(image.sampler.address[2]),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twins;
