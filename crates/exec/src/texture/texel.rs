// SPDX-License-Identifier: MIT OR Apache-2.0
//! One texel: from bytes to numbers and from numbers to the instruction's result type.

use warpwatt_isa::Ty;
use warpwatt_memory::texture::{ChannelKind, Format, Sampler};

/// Four channels: integers as read, or floats after normalisation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Texel {
    Int([u32; 4]),
    Float([f32; 4]),
}

/// Missing channels read as 0, missing alpha as 1 in the number format of the texel.
pub fn decode(bytes: &[u8], format: Format, sampler: &Sampler) -> Texel {
    let size = usize::from(format.bits / 8);
    let channel = |k: usize| -> u32 {
        let at = &bytes[k * size..(k + 1) * size];
        let mut raw = [0u8; 4];
        raw[..size].copy_from_slice(at);
        u32::from_le_bytes(raw)
    };
    let n = usize::from(format.channels);
    if format.kind == ChannelKind::Float {
        let mut out = [0.0; 4];
        for (k, v) in out.iter_mut().enumerate().take(n) {
            let bits = channel(k);
            *v = if size == 2 { half::f16::from_bits(bits as u16).to_f32() } else { f32::from_bits(bits) };
        }
        return Texel::Float(out);
    }
    let signed = format.kind == ChannelKind::Signed;
    if sampler.read_normalized && size < 4 {
        let mut out = [0.0; 4];
        for (k, v) in out.iter_mut().enumerate().take(n) {
            *v = normalized(channel(k), format.bits, signed);
            if sampler.srgb && k < 3 && size == 1 {
                *v = linear_from_srgb(*v);
            }
        }
        return Texel::Float(out);
    }
    let mut out = [0; 4];
    for (k, v) in out.iter_mut().enumerate().take(n) {
        let raw = channel(k);
        *v = match (signed, size) {
            (true, 1) => raw as u8 as i8 as i32 as u32,
            (true, 2) => raw as u16 as i16 as i32 as u32,
            _ => raw,
        };
    }
    Texel::Int(out)
}

#[inline(always)]
pub fn normalized(raw: u32, bits: u8, signed: bool) -> f32 {
    if signed {
        let (value, largest) = if bits == 8 {
            (i32::from(raw as u8 as i8), 127.0)
        } else {
            (i32::from(raw as u16 as i16), 32767.0)
        };
        (value as f32 / largest).max(-1.0)
    } else {
        raw as f32 / if bits == 8 { 255.0 } else { 65535.0 }
    }
}

pub fn linear_from_srgb(v: f32) -> f32 {
    if v <= 0.04045 { v / 12.92 } else { libm::powf((v + 0.055) / 1.055, 2.4) }
}

/// The texel as result registers of type `ty`.
pub fn to_bits(texel: Texel, ty: Ty) -> [u32; 4] {
    match (texel, ty) {
        (Texel::Float(v), Ty::F16 | Ty::F16x2) => {
            let h = v.map(|x| u32::from(half::f16::from_f32(x).to_bits()));
            if ty == Ty::F16x2 { [h[0] | h[1] << 16, h[2] | h[3] << 16, 0, 0] } else { h }
        }
        (Texel::Float(v), _) => v.map(f32::to_bits),
        // A fetch of floats from an integer texture gives the bits, as in hardware: the caller reinterprets them.
        (Texel::Int(v), _) => v,
    }
}
