// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface references of modules: set up piece by piece, and seen by the kernels of their module.

use crate::abi::driver::ArrayDescriptor;
use crate::core::texture::{Reference, Resource, address_mode, address_number, filter, filter_number};
use crate::core::{Code, Result};
use crate::driver::texture::{NORMALIZED, READ_AS_INTEGER, SRGB};
use crate::driver::{In, Out, Text, api, image, with};

/// What must be said when an array is bound: its own format counts.
const OVERRIDE_FORMAT: u32 = 1;

fn change(reference: u64, call: impl FnOnce(&mut Reference)) -> Result<()> {
    with(|core| core.change_reference(reference, call))
}

fn get<R>(reference: u64, pick: impl FnOnce(&Reference) -> Option<R>) -> Result<R> {
    with(|core| pick(core.textures.references.get(reference)?).ok_or(Code::INVALID_VALUE))
}

fn find(out: Out<u64>, module: u64, name: Text, surface: bool) -> Result<()> {
    out.check()?;
    let name = name.get()?;
    out.put(with(|core| core.reference(module, &name, surface))?)
}

/// Linear memory in two dimensions.
fn set_2d(reference: u64, desc: In<ArrayDescriptor>, at: u64, pitch: usize) -> Result<()> {
    let desc = desc.get()?;
    let format = image::format(desc.format, desc.channels)?;
    let (width, height, pitch) = (desc.width, desc.height, pitch as u64);
    change(reference, |of| {
        of.resource = Some(Resource::Pitched { at, width, height, pitch, format });
        of.format = Some(format);
    })
}

api! {
    fn cuModuleGetTexRef(reference: Out<u64>, module: u64, name: Text) {
        find(reference, module, name, false)
    }

    fn cuModuleGetSurfRef(reference: Out<u64>, module: u64, name: Text) {
        find(reference, module, name, true)
    }

    fn cuTexRefSetArray(reference: u64, array: u64, flags: u32) {
        if flags != OVERRIDE_FORMAT {
            return Err(Code::INVALID_VALUE);
        }
        let format = with(|core| Ok(core.arrays.get(array)?.storage.format))?;
        change(reference, |of| {
            of.resource = Some(Resource::Array(array));
            of.format = Some(format);
        })
    }

    fn cuTexRefSetMipmappedArray(reference: u64, mipmap: u64, flags: u32) {
        if flags != OVERRIDE_FORMAT {
            return Err(Code::INVALID_VALUE);
        }
        let format = with(|core| Ok(core.mipmaps.get(mipmap)?.storage.format))?;
        change(reference, |of| {
            of.resource = Some(Resource::Mipmap(mipmap));
            of.format = Some(format);
        })
    }

    fn cuTexRefSetAddress_v2(offset: Out<usize>, reference: u64, at: u64, bytes: usize) {
        let format = get(reference, |of| of.format)?;
        offset.put_if(0);
        change(reference, |of| of.resource = Some(Resource::Linear { at, bytes: bytes as u64, format }))
    }

    fn cuTexRefSetAddress2D_v3 [also cuTexRefSetAddress2D_v2] (
        reference: u64,
        desc: In<ArrayDescriptor>,
        at: u64,
        pitch: usize,
    ) {
        set_2d(reference, desc, at, pitch)
    }

    fn cuTexRefSetFormat(reference: u64, format: u32, channels: i32) {
        let format = image::format(format, channels as u32)?;
        change(reference, |of| of.format = Some(format))
    }

    fn cuTexRefSetAddressMode(reference: u64, dimension: i32, mode: u32) {
        let mode = address_mode(mode as i32)?;
        let place = usize::try_from(dimension).ok().filter(|&place| place < 3).ok_or(Code::INVALID_VALUE)?;
        change(reference, |of| of.reading.sampler.address[place] = mode)
    }

    fn cuTexRefSetFilterMode(reference: u64, mode: u32) {
        let mode = filter(mode as i32)?;
        change(reference, |of| of.reading.sampler.filter = mode)
    }

    fn cuTexRefSetMipmapFilterMode(reference: u64, mode: u32) {
        let mode = filter(mode as i32)?;
        change(reference, |of| of.reading.sampler.mip_filter = mode)
    }

    fn cuTexRefSetMipmapLevelBias(reference: u64, bias: f32) {
        change(reference, |of| of.reading.sampler.lod_bias = bias)
    }

    fn cuTexRefSetMipmapLevelClamp(reference: u64, least: f32, most: f32) {
        change(reference, |of| of.reading.sampler.lod_range = [least, most])
    }

    fn cuTexRefSetMaxAnisotropy(reference: u64, most: u32) {
        change(reference, |of| of.reading.anisotropy = most)
    }

    fn cuTexRefSetBorderColor(reference: u64, color: In<[f32; 4]>) {
        let color = color.get()?;
        change(reference, |of| of.reading.sampler.border = color)
    }

    fn cuTexRefSetFlags(reference: u64, flags: u32) {
        change(reference, |of| {
            let sampler = &mut of.reading.sampler;
            sampler.read_normalized = flags & READ_AS_INTEGER == 0;
            sampler.normalized = flags & NORMALIZED != 0;
            sampler.srgb = flags & SRGB != 0;
        })
    }

    fn cuTexRefGetAddress_v2(at: Out<u64>, reference: u64) {
        at.check()?;
        at.put(get(reference, |of| match of.resource? {
            Resource::Linear { at, .. } | Resource::Pitched { at, .. } => Some(at),
            Resource::Array(_) | Resource::Mipmap(_) => None,
        })?)
    }

    fn cuTexRefGetArray(array: Out<u64>, reference: u64) {
        array.check()?;
        array.put(get(reference, |of| if let Resource::Array(array) = of.resource? { Some(array) } else { None })?)
    }

    fn cuTexRefGetMipmappedArray(mipmap: Out<u64>, reference: u64) {
        mipmap.check()?;
        mipmap.put(get(reference, |of| if let Resource::Mipmap(mipmap) = of.resource? { Some(mipmap) } else { None })?)
    }

    fn cuTexRefGetAddressMode(mode: Out<u32>, reference: u64, dimension: i32) {
        mode.check()?;
        let place = usize::try_from(dimension).map_err(|_| Code::INVALID_VALUE)?;
        let found = get(reference, |of| of.reading.sampler.address.get(place).copied())?;
        mode.put(address_number(found) as u32)
    }

    fn cuTexRefGetFilterMode(mode: Out<u32>, reference: u64) {
        mode.check()?;
        mode.put(get(reference, |of| Some(filter_number(of.reading.sampler.filter)))? as u32)
    }

    fn cuTexRefGetFormat(format: Out<u32>, channels: Out<i32>, reference: u64) {
        format.check()?;
        let found = get(reference, |of| of.format)?;
        channels.put_if(found.channels.into());
        format.put(image::number(found))
    }

    fn cuTexRefGetMipmapFilterMode(mode: Out<u32>, reference: u64) {
        mode.check()?;
        mode.put(get(reference, |of| Some(filter_number(of.reading.sampler.mip_filter)))? as u32)
    }

    fn cuTexRefGetMipmapLevelBias(bias: Out<f32>, reference: u64) {
        bias.check()?;
        bias.put(get(reference, |of| Some(of.reading.sampler.lod_bias))?)
    }

    fn cuTexRefGetMipmapLevelClamp(least: Out<f32>, most: Out<f32>, reference: u64) {
        least.check()?;
        let [low, high] = get(reference, |of| Some(of.reading.sampler.lod_range))?;
        most.put_if(high);
        least.put(low)
    }

    fn cuTexRefGetMaxAnisotropy(most: Out<i32>, reference: u64) {
        most.check()?;
        most.put(get(reference, |of| Some(of.reading.anisotropy))? as i32)
    }

    fn cuTexRefGetBorderColor(color: Out<[f32; 4]>, reference: u64) {
        color.check()?;
        color.put(get(reference, |of| Some(of.reading.sampler.border))?)
    }

    fn cuTexRefGetFlags(flags: Out<u32>, reference: u64) {
        flags.check()?;
        let sampler = get(reference, |of| Some(of.reading.sampler))?;
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        flags.put(
            flag(!sampler.read_normalized, READ_AS_INTEGER)
                | flag(sampler.normalized, NORMALIZED)
                | flag(sampler.srgb, SRGB),
        )
    }

    fn cuSurfRefSetArray(reference: u64, array: u64, flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        change(reference, |of| of.resource = Some(Resource::Array(array)))
    }

    fn cuSurfRefGetArray(array: Out<u64>, reference: u64) {
        array.check()?;
        array.put(get(reference, |of| if let Resource::Array(array) = of.resource? { Some(array) } else { None })?)
    }
}
