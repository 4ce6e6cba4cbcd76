// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays and mipmapped arrays.

use crate::abi::driver::{Array3dDescriptor, ArrayDescriptor};
use crate::core::{Code, Core, Result};
use crate::driver::{In, Out, api, device, image, with};

fn extent(of: &Array3dDescriptor) -> [u64; 3] {
    [of.width, of.height, of.depth]
}

fn create(array: Out<u64>, of: Array3dDescriptor) -> Result<()> {
    array.check()?;
    let (format, shape) = (image::format(of.format, of.channels)?, image::shape(extent(&of), of.flags)?);
    array.put(with(|core| core.create_array(shape, extent(&of), format, of.flags))?)
}

fn describe(core: &Core, array: u64) -> Result<Array3dDescriptor> {
    let of = core.arrays.get(array)?;
    let [width, height, depth] = of.extent;
    let (format, channels) = (image::number(of.storage.format), u32::from(of.storage.format.channels));
    Ok(Array3dDescriptor { width, height, depth, format, channels, flags: of.flags })
}

/// Size and alignment of the memory behind levels.
fn requirements(levels: &[warpwatt_runtime::texture::Level]) -> [u64; 4] {
    let bytes: u64 =
        levels.iter().map(|level| (level.slice * u64::from(level.depth)).next_multiple_of(256)).sum();
    [bytes, 512, 0, 0]
}

api! {
    fn cuArrayCreate_v2(array: Out<u64>, descriptor: In<ArrayDescriptor>) {
        let ArrayDescriptor { width, height, format, channels } = descriptor.get()?;
        create(array, Array3dDescriptor { width, height, depth: 0, format, channels, flags: 0 })
    }

    fn cuArray3DCreate_v2(array: Out<u64>, descriptor: In<Array3dDescriptor>) {
        create(array, descriptor.get()?)
    }

    fn cuArrayGetDescriptor_v2(descriptor: Out<ArrayDescriptor>, array: u64) {
        descriptor.check()?;
        let Array3dDescriptor { width, height, format, channels, .. } = with(|core| describe(core, array))?;
        descriptor.put(ArrayDescriptor { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(descriptor: Out<Array3dDescriptor>, array: u64) {
        descriptor.check()?;
        descriptor.put(with(|core| describe(core, array))?)
    }

    fn cuArrayDestroy(array: u64) {
        with(|core| core.destroy_array(array))
    }

    fn cuArrayGetPlane(plane: Out<u64>, array: u64, _index: u32) {
        plane.check()?;
        with(|core| core.arrays.get(array).map(|_| ()))?;
        // No array here has planes.
        Err(Code::INVALID_VALUE)
    }

    fn cuArrayGetMemoryRequirements(requirements_out: Out<[u64; 4]>, array: u64, device: i32) {
        requirements_out.check()?;
        device::check(device)?;
        requirements_out.put(with(|core| Ok(requirements(&core.arrays.get(array)?.storage.levels)))?)
    }

    fn cuMipmappedArrayCreate(mipmap: Out<u64>, descriptor: In<Array3dDescriptor>, levels: u32) {
        mipmap.check()?;
        let of = descriptor.get()?;
        if levels == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let (format, shape) = (image::format(of.format, of.channels)?, image::shape(extent(&of), of.flags)?);
        mipmap.put(with(|core| core.create_mipmap(shape, extent(&of), levels, format, of.flags))?)
    }

    fn cuMipmappedArrayGetLevel(array: Out<u64>, mipmap: u64, level: u32) {
        array.check()?;
        array.put(with(|core| core.mipmap_level(mipmap, level))?)
    }

    fn cuMipmappedArrayDestroy(mipmap: u64) {
        with(|core| core.destroy_mipmap(mipmap))
    }

    fn cuMipmappedArrayGetMemoryRequirements(requirements_out: Out<[u64; 4]>, mipmap: u64, device: i32) {
        requirements_out.check()?;
        device::check(device)?;
        requirements_out.put(with(|core| Ok(requirements(&core.mipmaps.get(mipmap)?.storage.levels)))?)
    }
}
