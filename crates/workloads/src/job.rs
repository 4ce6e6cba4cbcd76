// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host program of every workload does: load the module, move typed arrays, launch, clean up.

use crate::Info;
use crate::check::Element;
use warpwatt_runtime::{Args, Device, DevicePtr, Dim3, Error, LaunchConfig, ModuleId};

/// A module on a device and the memory that its host program has taken.
pub struct Job<'d> {
    dev: &'d mut Device,
    module: ModuleId,
    live: Vec<DevicePtr>,
}

impl<'d> Job<'d> {
    pub fn new(dev: &'d mut Device, info: &Info, ptx: &str) -> Result<Self, Error> {
        dev.add_source(&format!("{}.cu", info.name), info.source);
        let module = dev.load_module(&format!("{}.ptx", info.name), ptx)?;
        Ok(Job { dev, module, live: Vec::new() })
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
        let mut bytes = Vec::with_capacity(size_of_val(data));
        for element in data {
            bytes.extend_from_slice(element.to_bytes().as_ref());
        }
        self.dev.write(ptr, &bytes)
    }

    /// Writes a variable of the module.
    pub fn write_symbol<T: Element>(&mut self, symbol: &str, data: &[T]) -> Result<(), Error> {
        let (ptr, _) = self.dev.symbol(self.module, symbol)?;
        self.write(ptr, data)
    }

    pub fn download<T: Element>(&mut self, ptr: DevicePtr, count: usize) -> Result<Vec<T>, Error> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.dev.read(ptr, &mut bytes)?;
        Ok(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect())
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

    /// Gives the memory back.
    pub fn finish(self) -> Result<(), Error> {
        self.live.into_iter().try_for_each(|ptr| self.dev.free(ptr))
    }
}
