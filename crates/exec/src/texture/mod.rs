// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface instructions (PTX ISA, "Texture Instructions" and "Surface Instructions"), lane by lane.
//!
//! Filtering follows the CUDA Programming Guide ("Texture Fetching"): weights have 8 fractional bits, texels are half a unit from the grid.

mod cube;
mod sample;
mod surface;
mod texel;

use warpwatt_isa::{LodMode, Op, Query, Sub, TexGeom, Ty, Uop};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{AddressMode, ChannelKind, Filter, Image, Shape};

use crate::fault::FaultKind;
use crate::lanes::Row;

/// Operands of a texture or surface operation.
pub(crate) struct TextureArgs {
    pub dst: *mut Row,
    pub src: [*const Row; 4],
    pub mask: u32,
}

/// What went wrong, for which lane.
pub(crate) struct TextureFault {
    pub kind: FaultKind,
    pub lane: usize,
    pub detail: String,
}

/// Executes `Tex`, `Tld4`, `Txq`, `Suld`, `Sust` or `Sured` for the lanes of the mask. Tells whether memory was written.
///
/// # Safety
/// The rows must span what the micro-op reads and writes.
pub(crate) unsafe fn execute(
    memory: &mut DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
) -> Result<bool, TextureFault> {
    let (dst, src) = (args.dst, &args.src);
    let mut lanes = args.mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        // SAFETY: the caller vouches for the rows; `word` reads only the words an operand has.
        let word = |operand: usize, k: usize| unsafe { (*src[operand].add(k)).0[lane] };
        let handle = u64::from(word(0, 0)) | u64::from(word(0, 1)) << 32;
        let fail = |kind, detail: String| TextureFault { lane, kind, detail };
        let outside = |detail: String| fail(FaultKind::OutOfBounds, detail);
        let gone = |address: u64| {
            outside(format!("the memory behind the texture or surface is gone (texel at 0x{address:x})"))
        };
        let Some(image) = memory.images.get(handle) else {
            let detail = format!(
                "0x{handle:x} is not a texture or surface object of this device, or it was destroyed"
            );
            return Err(fail(FaultKind::WrongSpace, detail));
        };
        let mut result = [0u32; 4];
        let mut words = 0;
        match (uop.op, uop.sub) {
            (Op::Tex, Sub::Tex(geom, lod)) => {
                let at = coordinates(uop, geom, &|k| word(1, k));
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
                let texel = sample::sample(memory, image, &at, level).map_err(gone)?;
                result = texel::to_bits(texel, uop.ty);
                words = 4;
            }
            (Op::Tld4, Sub::Tld4(geom, component)) => {
                let at = coordinates(uop, geom, &|k| word(1, k));
                result = sample::gather(memory, image, &at, component, uop.ty).map_err(gone)?;
                words = 4;
            }
            (Op::Txq, Sub::Query(query)) => {
                result[0] = answer(image, query);
                words = 1;
            }
            (Op::Suld, Sub::Surf(geom, clamp, formatted)) => {
                let at = surface::Place::of(image, geom, clamp, formatted, uop, &|k| word(1, k))
                    .map_err(outside)?;
                let read = surface::load(memory, at, image, formatted, uop).map_err(gone)?;
                words = uop.dst_words() as usize;
                result[..words].copy_from_slice(&read[..words]);
            }
            (Op::Sust, Sub::Surf(geom, clamp, formatted)) => {
                let at = surface::Place::of(image, geom, clamp, formatted, uop, &|k| word(1, k))
                    .map_err(outside)?;
                let n = uop.src_words(2) as usize;
                let mut data = [0u32; 4];
                for (k, d) in data.iter_mut().enumerate().take(n) {
                    *d = word(2, k);
                }
                let format = image.storage.format;
                surface::store(memory, at, format, formatted, uop, &data).map_err(gone)?;
            }
            (Op::Sured, Sub::SurfRed(geom, clamp, op)) => {
                let at =
                    surface::Place::of(image, geom, clamp, false, uop, &|k| word(1, k)).map_err(outside)?;
                let data =
                    u64::from(word(2, 0)) | if uop.ty.words() == 2 { u64::from(word(2, 1)) << 32 } else { 0 };
                surface::reduce(memory, at, op, uop.ty, data).map_err(gone)?;
            }
            _ => {
                let detail = format!("{} is not a texture instruction", uop.op.name());
                return Err(fail(FaultKind::Unsupported, detail));
            }
        }
        for (k, value) in result.iter().enumerate().take(words) {
            // SAFETY: `words` is at most what `dst_words` says, for which the caller vouches.
            unsafe { (*dst.add(k)).0[lane] = *value };
        }
    }
    Ok(matches!(uop.op, Op::Sust | Op::Sured))
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
