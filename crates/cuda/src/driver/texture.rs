// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects.

use warpwatt_runtime::texture::{ChannelKind, Format, Sampler};

use crate::abi::driver::{ResourceDesc, ResourceViewDesc, TextureDesc};
use crate::core::texture::{Reading, Resource, View, address_mode, address_number, filter, filter_number};
use crate::core::{Code, Result};
use crate::driver::{In, Out, api, image, with};

/// `CU_TRSF_*`.
pub(crate) const READ_AS_INTEGER: u32 = 0x01;
pub(crate) const NORMALIZED: u32 = 0x02;
pub(crate) const SRGB: u32 = 0x10;
const NO_TRILINEAR: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

fn resource(desc: &ResourceDesc) -> Result<Resource> {
    if desc.flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let format = || image::format(desc.format, desc.channels);
    Ok(match desc.kind {
        0 => Resource::Array(desc.at),
        1 => Resource::Mipmap(desc.at),
        2 => Resource::Linear { at: desc.at, bytes: desc.size, format: format()? },
        3 => Resource::Pitched {
            at: desc.at,
            width: desc.size,
            height: desc.height,
            pitch: desc.pitch,
            format: format()?,
        },
        _ => return Err(Code::INVALID_VALUE),
    })
}

fn resource_desc(resource: &Resource) -> ResourceDesc {
    let mut desc = ResourceDesc {
        kind: 0,
        at: 0,
        format: 0,
        channels: 0,
        size: 0,
        height: 0,
        pitch: 0,
        reserved: [0; 11],
        flags: 0,
    };
    match *resource {
        Resource::Array(array) => desc.at = array,
        Resource::Mipmap(mipmap) => (desc.kind, desc.at) = (1, mipmap),
        Resource::Linear { at, bytes, format } => {
            (desc.kind, desc.at, desc.size) = (2, at, bytes);
            (desc.format, desc.channels) = (image::number(format), format.channels.into());
        }
        Resource::Pitched { at, width, height, pitch, format } => {
            (desc.kind, desc.at, desc.size, desc.height, desc.pitch) = (3, at, width, height, pitch);
            (desc.format, desc.channels) = (image::number(format), format.channels.into());
        }
    }
    desc
}

/// Whether flags that say nothing of integers make texels of this format read as floats from 0 to 1.
pub(crate) fn reads_normalized(flags: u32, format: Format) -> bool {
    flags & READ_AS_INTEGER == 0 && format.kind != ChannelKind::Float && format.bits < 32
}

fn reading(desc: &TextureDesc, format: Format) -> Result<Reading> {
    let mut address = [Default::default(); 3];
    for (mode, &number) in address.iter_mut().zip(&desc.address_mode) {
        *mode = address_mode(number as i32)?;
    }
    let sampler = Sampler {
        address,
        filter: filter(desc.filter_mode as i32)?,
        mip_filter: filter(desc.mipmap_filter_mode as i32)?,
        normalized: desc.flags & NORMALIZED != 0,
        read_normalized: reads_normalized(desc.flags, format),
        srgb: desc.flags & SRGB != 0,
        border: desc.border_color,
        lod_bias: desc.mipmap_level_bias,
        lod_range: [desc.min_mipmap_level_clamp, desc.max_mipmap_level_clamp],
    };
    Ok(Reading {
        sampler,
        anisotropy: desc.max_anisotropy,
        disable_trilinear: desc.flags & NO_TRILINEAR != 0,
        seamless_cubemap: desc.flags & SEAMLESS != 0,
    })
}

fn texture_desc(reading: &Reading) -> TextureDesc {
    let sampler = &reading.sampler;
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    TextureDesc {
        address_mode: sampler.address.map(|mode| address_number(mode) as u32),
        filter_mode: filter_number(sampler.filter) as u32,
        flags: flag(!sampler.read_normalized, READ_AS_INTEGER)
            | flag(sampler.normalized, NORMALIZED)
            | flag(sampler.srgb, SRGB)
            | flag(reading.disable_trilinear, NO_TRILINEAR)
            | flag(reading.seamless_cubemap, SEAMLESS),
        max_anisotropy: reading.anisotropy,
        mipmap_filter_mode: filter_number(sampler.mip_filter) as u32,
        mipmap_level_bias: sampler.lod_bias,
        min_mipmap_level_clamp: sampler.lod_range[0],
        max_mipmap_level_clamp: sampler.lod_range[1],
        border_color: sampler.border,
        reserved: [0; 12],
    }
}

fn view(desc: In<ResourceViewDesc>) -> Result<Option<View>> {
    if desc.is_null() {
        return Ok(None);
    }
    let of = desc.get()?;
    Ok(Some(View {
        format: of.format as i32,
        extent: [of.width, of.height, of.depth],
        levels: [of.first_mipmap_level, of.last_mipmap_level],
        layers: [of.first_layer, of.last_layer],
    }))
}

api! {
    fn cuTexObjectCreate(
        object: Out<u64>,
        resource_in: In<ResourceDesc>,
        texture: In<TextureDesc>,
        view_in: In<ResourceViewDesc>,
    ) {
        object.check()?;
        let (resource, texture, view) = (resource(&resource_in.get()?)?, texture.get()?, view(view_in)?);
        object.put(with(|core| {
            let format = match resource {
                Resource::Array(array) => core.arrays.get(array)?.storage.format,
                Resource::Mipmap(mipmap) => core.mipmaps.get(mipmap)?.storage.format,
                Resource::Linear { format, .. } | Resource::Pitched { format, .. } => format,
            };
            core.create_texture(resource, reading(&texture, format)?, view)
        })?)
    }

    fn cuTexObjectDestroy(object: u64) {
        with(|core| core.destroy_texture(object, false))
    }

    fn cuTexObjectGetResourceDesc(desc: Out<ResourceDesc>, object: u64) {
        desc.check()?;
        desc.put(with(|core| Ok(resource_desc(&core.texture(object, false)?.resource)))?)
    }

    fn cuTexObjectGetTextureDesc(desc: Out<TextureDesc>, object: u64) {
        desc.check()?;
        desc.put(with(|core| {
            let reading = core.texture(object, false)?.reading;
            Ok(texture_desc(&reading.unwrap_or_default()))
        })?)
    }

    fn cuTexObjectGetResourceViewDesc(desc: Out<ResourceViewDesc>, object: u64) {
        desc.check()?;
        let view = with(|core| Ok(core.texture(object, false)?.view))?.ok_or(Code::INVALID_VALUE)?;
        desc.put(ResourceViewDesc {
            format: view.format as u32,
            width: view.extent[0],
            height: view.extent[1],
            depth: view.extent[2],
            first_mipmap_level: view.levels[0],
            last_mipmap_level: view.levels[1],
            first_layer: view.layers[0],
            last_layer: view.layers[1],
            reserved: [0; 16],
        })
    }

    fn cuSurfObjectCreate(object: Out<u64>, resource_in: In<ResourceDesc>) {
        object.check()?;
        let resource = resource(&resource_in.get()?)?;
        object.put(with(|core| core.create_surface(resource))?)
    }

    fn cuSurfObjectDestroy(object: u64) {
        with(|core| core.destroy_texture(object, true))
    }

    fn cuSurfObjectGetResourceDesc(desc: Out<ResourceDesc>, object: u64) {
        desc.check()?;
        desc.put(with(|core| Ok(resource_desc(&core.texture(object, true)?.resource)))?)
    }
}
