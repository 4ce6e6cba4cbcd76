// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface references of programs for CUDA 11 and before: variables of file scope that are bound to memory. The host's
//! variable says how texels are read; compilers register which variable of device code it belongs to.

use warpwatt_runtime::texture::{Format, Sampler};

use crate::abi::runtime::{ArrayHandle, ChannelDesc, TextureReference};
use crate::core::texture::{Reading, Resource, address_mode, filter};
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, put, runtime};
use crate::rt::registry::{self, Reference};
use crate::rt::texture::{check_reading, format_of};
use crate::rt::with;

fn find(host: u64, surface: bool) -> Result<Reference> {
    let wrong = if surface { Code(37) } else { Code::INVALID_TEXTURE };
    registry::reference(host).filter(|reference| reference.surface == surface).ok_or(wrong)
}

/// How the host's variable says that texels are read.
unsafe fn reading(host: u64, reference: &Reference) -> Result<Reading> {
    // SAFETY: a variable that the compiler registered.
    let of: TextureReference = unsafe { get(host as *const TextureReference) }?;
    let mut address = [Default::default(); 3];
    for (mode, number) in address.iter_mut().zip(of.address) {
        *mode = address_mode(number)?;
    }
    let sampler = Sampler {
        address,
        filter: filter(of.filter)?,
        mip_filter: filter(of.mip_filter)?,
        normalized: of.normalized != 0,
        read_normalized: reference.normalized_read,
        srgb: of.srgb != 0,
        border: [0.0; 4],
        lod_bias: of.mip_bias,
        // A variable that leaves them at 0 does not mean to read the first level only.
        lod_range: [of.mip_min, if of.mip_max == 0.0 { f32::INFINITY } else { of.mip_max }],
    };
    let disable_trilinear = of.disable_trilinear != 0;
    Ok(Reading { sampler, anisotropy: of.anisotropy, disable_trilinear, seamless_cubemap: false })
}

/// Binds the device's variable to what `resource` finds.
unsafe fn bind(
    host: u64,
    surface: bool,
    desc: *const ChannelDesc,
    resource: impl FnOnce(&mut Core, Option<Format>) -> Result<Resource>,
) -> Result<()> {
    let reference = find(host, surface)?;
    let format = match desc.is_null() {
        true => None,
        // SAFETY: not null, and the program's description.
        false => Some(format_of(unsafe { get(desc) }?)?),
    };
    let reading = match surface {
        true => Reading::default(),
        // SAFETY: a texture reference that was registered.
        false => unsafe { reading(host, &reference) }?,
    };
    with(|core| {
        let resource = resource(core, format)?;
        if !surface {
            check_reading(core, &resource, &reading)?;
        }
        let module = registry::module(core, reference.unit)?;
        let handle = core.reference(module, &reference.name, surface).map_err(|code| match code {
            Code::NOT_FOUND => Code::INVALID_TEXTURE,
            code => code,
        })?;
        core.change_reference(handle, |of| {
            of.resource = Some(resource);
            of.reading = reading;
            of.format = format;
        })
    })
}

/// Texels start at the pointer itself, wherever that is, so kernels have nothing to add to what they fetch.
unsafe fn put_offset(place: *mut usize) {
    if !place.is_null() {
        // SAFETY: not null, and the program's variable.
        unsafe { place.write_unaligned(0) };
    }
}

runtime! {
    only11 fn cudaBindTexture(offset: *mut usize, reference: u64, at: u64, desc: *const ChannelDesc, bytes: usize) unsafe {
        put_offset(offset);
        bind(reference, false, desc, |_, format| {
            Ok(Resource::Linear { at, bytes: bytes as u64, format: format.ok_or(Code::INVALID_VALUE)? })
        })
    }

    only11 fn cudaBindTexture2D(
        offset: *mut usize, reference: u64, at: u64, desc: *const ChannelDesc, width: usize, height: usize, pitch: usize,
    ) unsafe {
        put_offset(offset);
        let (width, height, pitch) = (width as u64, height as u64, pitch as u64);
        bind(reference, false, desc, |_, format| {
            Ok(Resource::Pitched { at, width, height, pitch, format: format.ok_or(Code::INVALID_VALUE)? })
        })
    }

    only11 fn cudaBindTextureToArray(reference: u64, array: ArrayHandle, desc: *const ChannelDesc) unsafe {
        bind(reference, false, desc, |_, _| Ok(Resource::Array(array)))
    }

    only11 fn cudaBindTextureToMipmappedArray(reference: u64, mipmap: u64, desc: *const ChannelDesc) unsafe {
        bind(reference, false, desc, |_, _| Ok(Resource::Mipmap(mipmap)))
    }

    only11 fn cudaBindSurfaceToArray(reference: u64, array: ArrayHandle, desc: *const ChannelDesc) unsafe {
        bind(reference, true, desc, |_, _| Ok(Resource::Array(array)))
    }

    // What a reference without memory reads is not defined, so it may as well stay.
    only11 fn cudaUnbindTexture(reference: u64) {
        find(reference, false).map(|_| ())
    }

    only11 fn cudaGetTextureAlignmentOffset(offset: *mut usize, reference: u64) unsafe {
        find(reference, false)?;
        put(offset, 0)
    }

    // The host's variable is the reference.
    only11 fn cudaGetTextureReference(place: *mut u64, symbol: u64) unsafe {
        find(symbol, false)?;
        put(place, symbol)
    }

    only11 fn cudaGetSurfaceReference(place: *mut u64, symbol: u64) unsafe {
        find(symbol, true)?;
        put(place, symbol)
    }
}
