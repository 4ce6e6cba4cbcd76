// SPDX-License-Identifier: MIT OR Apache-2.0
//! Textures and surfaces: objects that are passed to kernels as handles, and references that a module declares and the host
//! binds (CUDA C++ Programming Guide, "Texture and Surface Memory").

use warpwatt_memory::texture::{Format, Image, Shape, Storage};

use crate::device::{Device, hint};
use crate::error::Error;
use crate::types::{DevicePtr, ModuleId};

impl Device {
    /// Takes memory for an array with `levels` mipmap levels. Its first level starts at the storage's first address.
    pub fn alloc_array(
        &mut self,
        shape: Shape,
        extent: [u32; 3],
        levels: u32,
        format: Format,
    ) -> Result<Storage, Error> {
        let (storage, bytes) = Storage::array(shape, extent, levels, format);
        Ok(storage.at(self.alloc(bytes)?.0))
    }

    /// A texture or surface object: the handle is what kernels are given.
    pub fn create_image(&mut self, image: Image) -> u64 {
        self.memory.images.create(image)
    }

    pub fn destroy_image(&mut self, handle: u64) -> Result<(), Error> {
        self.drain()?;
        if self.memory.images.destroy(handle) {
            return Ok(());
        }
        let reason = "invalid texture or surface handle".to_owned();
        Err(Error::Pointer { what: "destruction", at: DevicePtr(handle), bytes: 0, reason })
    }

    /// Names of the `.texref` and `.surfref` variables that a module declares.
    pub fn references(&self, m: ModuleId) -> Result<Vec<String>, Error> {
        Ok(self.module(m)?.references().map(str::to_owned).collect())
    }

    /// Puts an image behind a `.texref` or `.surfref` of a module, until it is bound to another one.
    pub fn bind(&mut self, m: ModuleId, name: &str, image: Image) -> Result<(), Error> {
        // Queued kernels still see what was bound when they were launched.
        self.drain()?;
        self.module(m)?;
        let module = &mut self.modules[m.0 as usize];
        let known: Vec<String> = module.references().map(str::to_owned).collect();
        let module_name = module.name().to_owned();
        let Some(slot) = module.reference_mut(name) else {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            let hint = hint(name, &known);
            return Err(Error::UnknownSymbol { module: module_name, name: name.to_owned(), hint });
        };
        match *slot {
            Some(handle) => {
                self.memory.images.replace(handle, image);
            }
            None => *slot = Some(self.memory.images.create(image)),
        }
        Ok(())
    }
}
