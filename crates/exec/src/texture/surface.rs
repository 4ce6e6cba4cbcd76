// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surfaces: raw or formatted reads, writes and reductions of texels. The x coordinate of raw accesses counts bytes.

use warpwatt_isa::{AtomOp, SurfClamp, TexGeom, Ty, Uop};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{ChannelKind, Format, Image, Sampler};

use super::{Trace, texel};

/// Where an access goes; `None` is outside, where reads give zero and writes are dropped.
#[derive(Clone, Copy)]
pub struct SurfaceAddress(Option<u64>);

/// Bytes of one access.
pub fn bytes(uop: &Uop, format: Format, formatted: bool) -> usize {
    if formatted {
        format.texel_bytes() as usize
    } else {
        uop.ty.bytes() as usize * usize::from(uop.mem.vec.max(1))
    }
}

impl SurfaceAddress {
    /// The error says what is wrong.
    pub fn of(
        image: &Image,
        geom: TexGeom,
        clamp: SurfClamp,
        formatted: bool,
        uop: &Uop,
        word: impl Fn(usize) -> u32,
    ) -> Result<SurfaceAddress, String> {
        let level = &image.storage.levels[0];
        let first = usize::from(geom.layered());
        let texel = image.storage.format.texel_bytes();
        let bytes = bytes(uop, image.storage.format, formatted) as u32;
        let unit = if formatted { texel } else { 1 };
        let row_bytes = i64::from(level.width) * i64::from(texel);
        let mut outside = false;
        // Clamping moves to the nearest whole access inside.
        let mut fit = |v: i64, most: i64| {
            if v < 0 || v > most {
                outside = true;
            }
            v.clamp(0, most.max(0)) as u64
        };
        let signed = |k: usize| i64::from(word(first + k) as i32);
        let x = fit(signed(0) * i64::from(unit), row_bytes - i64::from(bytes));
        let two_d = !matches!(geom, TexGeom::D1 | TexGeom::A1d);
        let y = if two_d { fit(signed(1), i64::from(level.height) - 1) } else { 0 };
        let z = match geom {
            TexGeom::D3 => fit(signed(2), i64::from(level.depth) - 1),
            _ if geom.layered() => fit(i64::from(word(0) as i32), i64::from(level.depth) - 1),
            _ => 0,
        };
        let address = level.address + z * level.slice + y * level.pitch + x;
        if !outside {
            if !formatted && !address.is_multiple_of(u64::from(bytes.min(16))) {
                return Err(format!(
                    "a {bytes}-byte surface access needs an x coordinate that is a multiple of {bytes}"
                ));
            }
            return Ok(SurfaceAddress(Some(address)));
        }
        match clamp {
            SurfClamp::Clamp => Ok(SurfaceAddress(Some(address))),
            SurfClamp::Zero => Ok(SurfaceAddress(None)),
            SurfClamp::Trap => Err(format!(
                "outside of the {} x {} x {} surface, and the instruction has `.trap`",
                level.width, level.height, level.depth
            )),
        }
    }
}

pub fn load(
    memory: &DeviceMemory,
    place: SurfaceAddress,
    image: &Image,
    formatted: bool,
    uop: &Uop,
    trace: &mut impl Trace,
) -> Result<[u32; 4], u64> {
    let Some(address) = place.0 else { return Ok([0; 4]) };
    let bytes = bytes(uop, image.storage.format, formatted) as u64;
    let raw = memory.bytes(address, bytes).map_err(|_| address)?;
    trace.texel(address, bytes);
    Ok(unpack(raw, image, formatted, uop))
}

/// What an access reads from its bytes.
#[inline]
pub fn unpack(raw: &[u8], image: &Image, formatted: bool, uop: &Uop) -> [u32; 4] {
    if formatted {
        return texel::to_bits(texel::decode(raw, image.storage.format, &Sampler::default()), uop.ty);
    }
    let mut out = [0; 4];
    let size = uop.ty.bytes() as usize;
    if size >= 4 {
        for (word, bytes) in out.iter_mut().zip(raw.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
    } else {
        for (word, bytes) in out.iter_mut().zip(raw.chunks_exact(size)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        }
    }
    out
}

pub fn store(
    memory: &mut DeviceMemory,
    place: SurfaceAddress,
    format: Format,
    formatted: bool,
    uop: &Uop,
    data: &[u32; 4],
    trace: &mut impl Trace,
) -> Result<(), u64> {
    let Some(address) = place.0 else { return Ok(()) };
    let bytes = bytes(uop, format, formatted);
    trace.texel(address, bytes as u64);
    memory.write(address, &pack(data, format, formatted, uop)[..bytes]).map_err(|_| address)
}

/// The bytes that an access writes.
#[inline]
pub fn pack(data: &[u32; 4], format: Format, formatted: bool, uop: &Uop) -> [u8; 16] {
    let mut out = [0; 16];
    let size = if formatted { usize::from(format.bits / 8) } else { uop.ty.bytes().min(4) as usize };
    let words = data.map(|word| if formatted { encode(word, format.kind, format.bits) } else { word });
    for (bytes, word) in out.chunks_exact_mut(size).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes()[..size]);
    }
    out
}

/// A 32-bit register as a channel: integers saturate to the channel's range, floats convert.
pub fn encode(value: u32, kind: ChannelKind, bits: u8) -> u32 {
    match (kind, bits) {
        (ChannelKind::Float, 16) => half::f16::from_f32(f32::from_bits(value)).to_bits().into(),
        (ChannelKind::Unsigned, 8) => value.min(0xff),
        (ChannelKind::Unsigned, 16) => value.min(0xffff),
        (ChannelKind::Signed, 8) => (value as i32).clamp(-128, 127) as u32,
        (ChannelKind::Signed, 16) => (value as i32).clamp(-32768, 32767) as u32,
        _ => value,
    }
}

pub fn reduce(
    memory: &mut DeviceMemory,
    place: SurfaceAddress,
    op: AtomOp,
    ty: Ty,
    data: u64,
    trace: &mut impl Trace,
) -> Result<(), u64> {
    let Some(address) = place.0 else { return Ok(()) };
    let size = ty.bytes() as usize;
    let slot = memory.bytes_mut(address, size as u64).map_err(|_| address)?;
    trace.texel(address, size as u64);
    combine(slot, op, ty, data);
    Ok(())
}

/// What a reduction does to the bytes of its place.
pub fn combine(slot: &mut [u8], op: AtomOp, ty: Ty, data: u64) {
    let size = slot.len();
    let mut raw = [0u8; 8];
    raw[..size].copy_from_slice(slot);
    let old = u64::from_le_bytes(raw);
    let narrow = size == 4;
    let (a, b) = if ty.is_signed() && narrow {
        (i64::from(old as u32 as i32), i64::from(data as u32 as i32))
    } else {
        (old as i64, data as i64)
    };
    let less = if ty.is_signed() { a < b } else { (a as u64) < (b as u64) };
    let new = match op {
        AtomOp::Add => a.wrapping_add(b),
        AtomOp::Min => {
            if less {
                a
            } else {
                b
            }
        }
        AtomOp::Max => {
            if less {
                b
            } else {
                a
            }
        }
        AtomOp::And => a & b,
        AtomOp::Or => a | b,
        AtomOp::Xor => a ^ b,
        AtomOp::Exch => b,
        AtomOp::Inc | AtomOp::Dec | AtomOp::Cas => return,
    };
    slot.copy_from_slice(&new.to_le_bytes()[..size]);
}
