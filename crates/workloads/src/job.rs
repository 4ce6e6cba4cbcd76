// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host program of every workload does: load the module, move typed arrays, launch, clean up.

use crate::Info;
use crate::check::Element;
use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{Args, Device, DevicePtr, Dim3, Error, LaunchConfig, ModuleId};
use zerocopy::IntoBytes;

/// Texels of one float.
pub const FLOAT: Format = Format { kind: ChannelKind::Float, bits: 32, channels: 1 };
/// Texels of four floats.
pub const FLOAT4: Format = Format { kind: ChannelKind::Float, bits: 32, channels: 4 };
/// Texels of one byte.
pub const BYTE: Format = Format { kind: ChannelKind::Unsigned, bits: 8, channels: 1 };
/// Texels of four unsigned numbers of 32 bits.
pub const UINT4: Format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 4 };
/// Texels of one unsigned number of 16 bits.
pub const SHORT: Format = Format { kind: ChannelKind::Unsigned, bits: 16, channels: 1 };

/// A module on a device and the memory that its host program has taken.
pub struct Job<'d> {
    dev: &'d mut Device,
    module: ModuleId,
    live: Vec<DevicePtr>,
    textures: Vec<u64>,
}

impl<'d> Job<'d> {
    pub fn new(dev: &'d mut Device, info: &Info, ptx: &str) -> Result<Self, Error> {
        dev.add_source(&format!("{}.cu", info.name), info.source);
        let module = dev.load_module(&format!("{}.ptx", info.name), ptx)?;
        Ok(Job { dev, module, live: Vec::new(), textures: Vec::new() })
    }

    /// Takes memory that reports call by `name`, and fills it.
    pub fn upload<T: Element>(&mut self, name: &str, data: &[T]) -> Result<DevicePtr, Error> {
        let ptr = self.zeros::<T>(name, data.len())?;
        self.write(ptr, data)?;
        Ok(ptr)
    }

    /// Takes memory for `count` elements, all zero.
    pub fn zeros<T: Element>(&mut self, name: &str, count: usize) -> Result<DevicePtr, Error> {
        let bytes = (count * size_of::<T>()) as u64;
        let ptr = self.dev.alloc_named(bytes, name)?;
        self.dev.mark_written(ptr, bytes);
        self.live.push(ptr);
        Ok(ptr)
    }

    pub fn write<T: Element>(&mut self, ptr: DevicePtr, data: &[T]) -> Result<(), Error> {
        self.dev.write(ptr, data.as_bytes())
    }

    /// Writes a variable of the module.
    pub fn write_symbol<T: Element>(&mut self, symbol: &str, data: &[T]) -> Result<(), Error> {
        let (ptr, _) = self.dev.symbol(self.module, symbol)?;
        self.write(ptr, data)
    }

    pub fn download<T: Element>(&mut self, ptr: DevicePtr, count: usize) -> Result<Vec<T>, Error> {
        let mut data = vec![T::new_zeroed(); count];
        self.dev.read(ptr, data.as_mut_bytes())?;
        Ok(data)
    }

    pub fn launch(
        &mut self,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        args: Args,
    ) -> Result<(), Error> {
        self.dev.launch(self.module, kernel, &LaunchConfig::new(grid.into(), block.into()), &args)
    }

    /// A texture over `bytes` bytes of memory, which kernels fetch from by index.
    pub fn linear_texture(&mut self, ptr: DevicePtr, bytes: usize, format: Format) -> u64 {
        self.texture(Storage::linear(ptr.0, bytes as u64, format), Sampler::default())
    }

    /// A texture over an image in memory, row after row.
    pub fn image_texture(
        &mut self,
        ptr: DevicePtr,
        width: u32,
        height: u32,
        format: Format,
        sampler: Sampler,
    ) -> u64 {
        let pitch = u64::from(width) * u64::from(format.texel_bytes());
        self.texture(Storage::pitched(ptr.0, width, height, pitch, format), sampler)
    }

    fn texture(&mut self, storage: Storage, sampler: Sampler) -> u64 {
        let handle = self.dev.create_image(Image { storage, sampler });
        self.textures.push(handle);
        handle
    }

    /// Gives memory and textures back.
    pub fn finish(self) -> Result<(), Error> {
        self.textures.into_iter().try_for_each(|handle| self.dev.destroy_image(handle))?;
        self.live.into_iter().try_for_each(|ptr| self.dev.free(ptr))
    }
}
