// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA arrays, mipmapped ones included.

use warpwatt_runtime::texture::Format;

use crate::abi::runtime::{ArrayHandle, ArrayRequirements, ChannelDesc, Extent};
use crate::core::{Code, Result};
use crate::driver::image::shape;
use crate::rt::api::{get, put, runtime};
use crate::rt::texture::{desc_of, format_of};
use crate::rt::{check_device, with};

/// Flags of arrays that only `cudaMalloc3DArray` makes: layered and cube map.
const IN_3D: u32 = 1 | 4;

unsafe fn checked(place: *mut u64, desc: *const ChannelDesc) -> Result<Format> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the program's description.
    format_of(unsafe { get(desc) }?)
}

fn wide(extent: Extent) -> [u64; 3] {
    [extent.width as u64, extent.height as u64, extent.depth as u64]
}

fn narrow(extent: [u64; 3]) -> Extent {
    Extent { width: extent[0] as usize, height: extent[1] as usize, depth: extent[2] as usize }
}

runtime! {
    all fn cudaMallocArray(place: *mut ArrayHandle, desc: *const ChannelDesc, width: usize, height: usize, flags: u32) unsafe {
        let format = checked(place, desc)?;
        if flags & IN_3D != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let extent = [width as u64, height as u64, 0];
        let shape = shape(extent, flags)?;
        put(place, with(|core| core.create_array(shape, extent, format, flags))?)
    }

    all fn cudaMalloc3DArray(place: *mut ArrayHandle, desc: *const ChannelDesc, extent: Extent, flags: u32) unsafe {
        let format = checked(place, desc)?;
        let extent = wide(extent);
        let shape = shape(extent, flags)?;
        put(place, with(|core| core.create_array(shape, extent, format, flags))?)
    }

    all fn cudaMallocMipmappedArray(
        place: *mut ArrayHandle, desc: *const ChannelDesc, extent: Extent, levels: u32, flags: u32,
    ) unsafe {
        let format = checked(place, desc)?;
        let extent = wide(extent);
        let shape = shape(extent, flags)?;
        if levels == 0 {
            return Err(Code::INVALID_VALUE);
        }
        put(place, with(|core| core.create_mipmap(shape, extent, levels, format, flags))?)
    }

    all fn cudaGetMipmappedArrayLevel(place: *mut ArrayHandle, mipmap: u64, level: u32) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, with(|core| core.mipmap_level(mipmap, level))?)
    }

    all fn cudaFreeArray(array: ArrayHandle) {
        with(|core| if array == 0 { Ok(()) } else { core.destroy_array(array) })
    }

    all fn cudaFreeMipmappedArray(mipmap: u64) {
        with(|core| if mipmap == 0 { Ok(()) } else { core.destroy_mipmap(mipmap) })
    }

    all fn cudaArrayGetInfo(desc: *mut ChannelDesc, extent: *mut Extent, flags: *mut u32, array: ArrayHandle) unsafe {
        let (format, of_extent, of_flags) = with(|core| {
            let array = core.arrays.get(array)?;
            Ok((array.storage.format, array.extent, array.flags))
        })?;
        // Each answer may be left out.
        if !desc.is_null() {
            put(desc, desc_of(format))?;
        }
        if !extent.is_null() {
            put(extent, narrow(of_extent))?;
        }
        if !flags.is_null() {
            put(flags, of_flags)?;
        }
        Ok(())
    }

    all fn cudaGetChannelDesc(desc: *mut ChannelDesc, array: ArrayHandle) unsafe {
        let format = with(|core| Ok(core.arrays.get(array)?.storage.format))?;
        put(desc, desc_of(format))
    }

    // Planes are of video formats, which we do not have.
    all fn cudaArrayGetPlane(place: *mut ArrayHandle, array: ArrayHandle, _plane: u32) {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| core.arrays.get(array).map(|_| ()))?;
        Err(Code::INVALID_VALUE)
    }

    all fn cudaArrayGetMemoryRequirements(place: *mut ArrayRequirements, array: ArrayHandle, device: i32) unsafe {
        check_device(device)?;
        let size = with(|core| {
            let level = core.arrays.get(array)?.storage.levels[0];
            Ok(level.slice * u64::from(level.depth))
        })?;
        put(place, ArrayRequirements { size: size as usize, alignment: 256, reserved: [0; 4] })
    }

    all fn cudaMipmappedArrayGetMemoryRequirements(place: *mut ArrayRequirements, mipmap: u64, device: i32) unsafe {
        check_device(device)?;
        let size = with(|core| {
            let levels = &core.mipmaps.get(mipmap)?.storage.levels;
            Ok(levels.iter().map(|level| (level.slice * u64::from(level.depth)).next_multiple_of(256)).sum::<u64>())
        })?;
        put(place, ArrayRequirements { size: size as usize, alignment: 256, reserved: [0; 4] })
    }
}
