// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects, and descriptions of what texels are made of.

use warpwatt_runtime::texture::{ChannelKind, Format, Sampler};

use crate::abi::runtime::{
    ChannelDesc, ResourceDesc, ResourceDesc13, ResourceViewDesc, ResourceViewDesc13, TextureDesc,
    TextureDesc12,
};
use crate::core::texture::{
    Object, Reading, Resource, View, address_mode, address_number, filter, filter_number,
};
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, put, runtime, symbol};
use crate::rt::with;

/// `cudaErrorInvalidFilterSetting` and `cudaErrorInvalidNormSetting`.
const INVALID_FILTER: Code = Code(26);
const INVALID_NORM: Code = Code(27);

/// One, two or four channels of the same width. Kinds are signed 0, unsigned 1, float 2.
pub(crate) fn format_of(desc: ChannelDesc) -> Result<Format> {
    let ChannelDesc { x, y, z, w, f } = desc;
    let kind = match f {
        0 => ChannelKind::Signed,
        1 => ChannelKind::Unsigned,
        2 => ChannelKind::Float,
        _ => return Err(Code::INVALID_CHANNEL_DESCRIPTOR),
    };
    let channels = match (y, z, w) {
        (0, 0, 0) => 1,
        (y, 0, 0) if y == x => 2,
        (y, z, w) if y == x && z == x && w == x => 4,
        _ => return Err(Code::INVALID_CHANNEL_DESCRIPTOR),
    };
    match x {
        8 if kind != ChannelKind::Float => (),
        16 | 32 => (),
        _ => return Err(Code::INVALID_CHANNEL_DESCRIPTOR),
    }
    Ok(Format { kind, bits: x as u8, channels })
}

pub(crate) fn desc_of(format: Format) -> ChannelDesc {
    let bits = i32::from(format.bits);
    let channel = |number: u8| if format.channels > number { bits } else { 0 };
    let f = match format.kind {
        ChannelKind::Signed => 0,
        ChannelKind::Unsigned => 1,
        ChannelKind::Float => 2,
    };
    ChannelDesc { x: bits, y: channel(1), z: channel(2), w: channel(3), f }
}

/// Resources are array 0, mipmapped array 1, linear 2, pitched 3.
fn resource_of(desc: &ResourceDesc) -> Result<Resource> {
    Ok(match desc.kind {
        0 => Resource::Array(desc.handle),
        1 => Resource::Mipmap(desc.handle),
        2 => Resource::Linear {
            at: desc.handle,
            bytes: desc.bytes_or_width as u64,
            format: format_of(desc.desc)?,
        },
        3 => Resource::Pitched {
            at: desc.handle,
            width: desc.bytes_or_width as u64,
            height: desc.height as u64,
            pitch: desc.pitch as u64,
            format: format_of(desc.desc)?,
        },
        _ => return Err(Code::INVALID_VALUE),
    })
}

fn resource_desc(resource: &Resource) -> ResourceDesc {
    let none = ChannelDesc { x: 0, y: 0, z: 0, w: 0, f: 0 };
    let empty = ResourceDesc { kind: 0, handle: 0, desc: none, bytes_or_width: 0, height: 0, pitch: 0 };
    match *resource {
        Resource::Array(handle) => ResourceDesc { handle, ..empty },
        Resource::Mipmap(handle) => ResourceDesc { kind: 1, handle, ..empty },
        Resource::Linear { at, bytes, format } => ResourceDesc {
            kind: 2,
            handle: at,
            desc: desc_of(format),
            bytes_or_width: bytes as usize,
            ..empty
        },
        Resource::Pitched { at, width, height, pitch, format } => ResourceDesc {
            kind: 3,
            handle: at,
            desc: desc_of(format),
            bytes_or_width: width as usize,
            height: height as usize,
            pitch: pitch as usize,
        },
    }
}

fn reading_of(desc: &TextureDesc, seamless: bool) -> Result<Reading> {
    let mut address = [Default::default(); 3];
    for (mode, number) in address.iter_mut().zip(desc.address) {
        *mode = address_mode(number)?;
    }
    // Elements as they are 0, or as floats 1.
    if !(0..=1).contains(&desc.read) {
        return Err(Code::INVALID_VALUE);
    }
    let sampler = Sampler {
        address,
        filter: filter(desc.filter)?,
        mip_filter: filter(desc.mip_filter)?,
        normalized: desc.normalized != 0,
        read_normalized: desc.read == 1,
        srgb: desc.srgb != 0,
        border: desc.border,
        lod_bias: desc.mip_bias,
        lod_range: [desc.mip_min, desc.mip_max],
    };
    let disable_trilinear = desc.disable_trilinear != 0;
    Ok(Reading { sampler, anisotropy: desc.anisotropy, disable_trilinear, seamless_cubemap: seamless })
}

fn texture_desc(reading: &Reading) -> TextureDesc12 {
    let sampler = &reading.sampler;
    let head = TextureDesc {
        address: sampler.address.map(address_number),
        filter: filter_number(sampler.filter),
        read: i32::from(sampler.read_normalized),
        srgb: i32::from(sampler.srgb),
        border: sampler.border,
        normalized: i32::from(sampler.normalized),
        anisotropy: reading.anisotropy,
        mip_filter: filter_number(sampler.mip_filter),
        mip_bias: sampler.lod_bias,
        mip_min: sampler.lod_range[0],
        mip_max: sampler.lod_range[1],
        disable_trilinear: i32::from(reading.disable_trilinear),
    };
    TextureDesc12 { head, seamless_cubemap: i32::from(reading.seamless_cubemap) }
}

fn view_of(desc: &ResourceViewDesc) -> View {
    View {
        format: desc.format,
        extent: [desc.width as u64, desc.height as u64, desc.depth as u64],
        levels: [desc.first_level, desc.last_level],
        layers: [desc.first_layer, desc.last_layer],
    }
}

fn view_desc(view: Option<View>) -> ResourceViewDesc {
    let view = view.unwrap_or(View { format: 0, extent: [0; 3], levels: [0; 2], layers: [0; 2] });
    let [width, height, depth] = view.extent.map(|n| n as usize);
    let ([first_level, last_level], [first_layer, last_layer]) = (view.levels, view.layers);
    ResourceViewDesc {
        format: view.format,
        width,
        height,
        depth,
        first_level,
        last_level,
        first_layer,
        last_layer,
    }
}

/// Texels that the device can read as the program wants: filters need floats, and floats come of small integers.
pub(super) fn check_reading(core: &Core, resource: &Resource, reading: &Reading) -> Result<()> {
    let format = match *resource {
        Resource::Array(array) => core.arrays.get(array)?.storage.format,
        Resource::Mipmap(mipmap) => core.mipmaps.get(mipmap)?.storage.format,
        Resource::Linear { format, .. } | Resource::Pitched { format, .. } => format,
    };
    let integers = format.kind != ChannelKind::Float;
    if integers && reading.sampler.read_normalized && format.bits == 32 {
        return Err(INVALID_NORM);
    }
    let floats = !integers || reading.sampler.read_normalized;
    if filter_number(reading.sampler.filter) == 1 && !floats { Err(INVALID_FILTER) } else { Ok(()) }
}

/// # Safety
/// The pointers are null or lead to structures of the oldest layout, which the newer ones begin with.
unsafe fn create(
    place: *mut u64,
    resource: *const ResourceDesc,
    texture: *const TextureDesc,
    seamless: bool,
    view: *const ResourceViewDesc,
) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as the caller vouches.
    let (resource, texture) = unsafe { (resource_of(&get(resource)?)?, get(texture)?) };
    let reading = reading_of(&texture, seamless)?;
    let view = match view.is_null() {
        true => None,
        // SAFETY: not null, and as the caller vouches.
        false => Some(view_of(&unsafe { get(view) }?)),
    };
    let handle = with(|core| {
        if view.is_none() {
            check_reading(core, &resource, &reading)?;
        }
        core.create_texture(resource, reading, view)
    })?;
    // SAFETY: not null, and the program's variable.
    unsafe { put(place, handle) }
}

fn object(handle: u64, surface: bool) -> Result<Object> {
    with(|core| core.texture(handle, surface).copied())
}

fn reading(handle: u64) -> Result<TextureDesc12> {
    Ok(texture_desc(&object(handle, false)?.reading.unwrap_or_default()))
}

fn wide_resource(object: &Object) -> ResourceDesc13 {
    ResourceDesc13 { head: resource_desc(&object.resource), reserved: [0; 18], flags: 0 }
}

runtime! {
    in11 fn cudaCreateTextureObject_11 as cudaCreateTextureObject(
        place: *mut u64, resource: *const ResourceDesc, texture: *const TextureDesc, view: *const ResourceViewDesc,
    ) unsafe {
        create(place, resource, texture, false, view)
    }

    only11 fn cudaCreateTextureObject_v2(
        place: *mut u64, resource: *const ResourceDesc, texture: *const TextureDesc12, view: *const ResourceViewDesc,
    ) unsafe {
        let seamless = get(texture)?.seamless_cubemap != 0;
        create(place, resource, texture.cast(), seamless, view)
    }

    // The layouts of 13 begin as those of 12 do.
    since12 fn cudaCreateTextureObject_12 as cudaCreateTextureObject(
        place: *mut u64, resource: *const ResourceDesc, texture: *const TextureDesc12, view: *const ResourceViewDesc,
    ) unsafe {
        let seamless = get(texture)?.seamless_cubemap != 0;
        create(place, resource, texture.cast(), seamless, view)
    }

    all fn cudaDestroyTextureObject(handle: u64) {
        with(|core| core.destroy_texture(handle, false))
    }

    before13 fn cudaGetTextureObjectResourceDesc_11 as cudaGetTextureObjectResourceDesc(
        place: *mut ResourceDesc, handle: u64,
    ) unsafe {
        put(place, resource_desc(&object(handle, false)?.resource))
    }

    only13 fn cudaGetTextureObjectResourceDesc_13 as cudaGetTextureObjectResourceDesc(
        place: *mut ResourceDesc13, handle: u64,
    ) unsafe {
        put(place, wide_resource(&object(handle, false)?))
    }

    in11 fn cudaGetTextureObjectTextureDesc_11 as cudaGetTextureObjectTextureDesc(place: *mut TextureDesc, handle: u64) unsafe {
        put(place, reading(handle)?.head)
    }

    only11 fn cudaGetTextureObjectTextureDesc_v2(place: *mut TextureDesc12, handle: u64) unsafe {
        put(place, reading(handle)?)
    }

    since12 fn cudaGetTextureObjectTextureDesc_12 as cudaGetTextureObjectTextureDesc(
        place: *mut TextureDesc12, handle: u64,
    ) unsafe {
        put(place, reading(handle)?)
    }

    before13 fn cudaGetTextureObjectResourceViewDesc_11 as cudaGetTextureObjectResourceViewDesc(
        place: *mut ResourceViewDesc, handle: u64,
    ) unsafe {
        put(place, view_desc(object(handle, false)?.view))
    }

    only13 fn cudaGetTextureObjectResourceViewDesc_13 as cudaGetTextureObjectResourceViewDesc(
        place: *mut ResourceViewDesc13, handle: u64,
    ) unsafe {
        put(place, ResourceViewDesc13 { head: view_desc(object(handle, false)?.view), reserved: [0; 16] })
    }

    all fn cudaCreateSurfaceObject(place: *mut u64, resource: *const ResourceDesc) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let resource = resource_of(&get(resource)?)?;
        put(place, with(|core| core.create_surface(resource))?)
    }

    all fn cudaDestroySurfaceObject(handle: u64) {
        with(|core| core.destroy_texture(handle, true))
    }

    before13 fn cudaGetSurfaceObjectResourceDesc_11 as cudaGetSurfaceObjectResourceDesc(
        place: *mut ResourceDesc, handle: u64,
    ) unsafe {
        put(place, resource_desc(&object(handle, true)?.resource))
    }

    only13 fn cudaGetSurfaceObjectResourceDesc_13 as cudaGetSurfaceObjectResourceDesc(
        place: *mut ResourceDesc13, handle: u64,
    ) unsafe {
        put(place, wide_resource(&object(handle, true)?))
    }
}

#[unsafe(export_name = "ww_cudaCreateChannelDesc")]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, f: i32) -> ChannelDesc {
    ChannelDesc { x, y, z, w, f }
}
symbol!(all cudaCreateChannelDesc cudaCreateChannelDesc);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_descriptions_go_there_and_back() {
        for f in 0..=2 {
            for bits in [8, 16, 32] {
                for (y, z, w) in [(0, 0, 0), (bits, 0, 0), (bits, bits, bits)] {
                    let format = format_of(ChannelDesc { x: bits, y, z, w, f });
                    match (f, bits) {
                        (2, 8) => assert_eq!(format, Err(Code::INVALID_CHANNEL_DESCRIPTOR)),
                        _ => {
                            let back = desc_of(format.unwrap());
                            assert_eq!((back.x, back.y, back.z, back.w, back.f), (bits, y, z, w, f));
                        }
                    }
                }
            }
        }
        for (x, y, z, w, f) in
            [(8, 8, 8, 0, 1), (8, 16, 0, 0, 1), (0, 0, 0, 0, 1), (64, 0, 0, 0, 2), (32, 0, 0, 0, 3)]
        {
            assert_eq!(format_of(ChannelDesc { x, y, z, w, f }), Err(Code::INVALID_CHANNEL_DESCRIPTOR));
        }
    }

    #[test]
    fn readings_go_there_and_back() {
        let desc = TextureDesc {
            address: [0, 2, 3],
            filter: 1,
            read: 1,
            srgb: 1,
            border: [1.0, 2.0, 3.0, 4.0],
            normalized: 1,
            anisotropy: 4,
            mip_filter: 1,
            mip_bias: 0.5,
            mip_min: 1.0,
            mip_max: 3.0,
            disable_trilinear: 1,
        };
        let back = texture_desc(&reading_of(&desc, true).unwrap());
        assert_eq!(format!("{desc:?}"), format!("{:?}", back.head));
        assert_eq!(back.seamless_cubemap, 1);
        assert!(reading_of(&TextureDesc { address: [0, 0, 4], ..desc }, false).is_err());
        assert!(reading_of(&TextureDesc { filter: 2, ..desc }, false).is_err());
        assert!(reading_of(&TextureDesc { read: 2, ..desc }, false).is_err());
    }
}
