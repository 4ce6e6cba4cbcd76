// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects, and the references that modules declare (CUDA C++ Programming Guide, "Texture and Surface Memory").
//!
//! What a program said of an object is kept beside the device's image of it, since both APIs return it on request.

use rustc_hash::FxHashMap;
use warpwatt_runtime::Until;
use warpwatt_runtime::texture::{AddressMode, ChannelKind, Filter, Format, Image, Sampler, Shape, Storage};

use crate::core::code::{Code, Result};
use crate::core::handle::{HandleKind, Table};
use crate::core::state::Core;

/// Where texels come from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Resource {
    /// Handle of an array.
    Array(u64),
    /// Handle of a mipmapped array.
    Mipmap(u64),
    Linear {
        at: u64,
        bytes: u64,
        format: Format,
    },
    /// A 2D image in linear memory; width and height in texels, pitch in bytes.
    Pitched {
        at: u64,
        width: u64,
        height: u64,
        pitch: u64,
        format: Format,
    },
}

/// Another look at an array: other texels of the same size, fewer levels, fewer layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// As in `cudaResourceViewFormat` and `CUresourceViewFormat`, which agree; 0 is the array's own.
    pub format: i32,
    pub extent: [u64; 3],
    pub levels: [u32; 2],
    pub layers: [u32; 2],
}

/// How texels are read, with what does not change values but is given back on request.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Reading {
    pub sampler: Sampler,
    pub anisotropy: u32,
    pub disable_trilinear: bool,
    pub seamless_cubemap: bool,
}

/// A texture or surface object as the program made it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Object {
    pub resource: Resource,
    /// `None` for a surface.
    pub reading: Option<Reading>,
    pub view: Option<View>,
}

/// A texture or surface reference of a module, as far as the program has set it up.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Handle of the module.
    pub module: u64,
    pub name: String,
    pub surface: bool,
    pub resource: Option<Resource>,
    pub reading: Reading,
    /// The type that texels are read as, if the program specified one.
    pub format: Option<Format>,
}

/// All objects and references that the program holds.
pub struct Textures {
    objects: FxHashMap<u64, Object>,
    pub references: Table<Reference>,
}

impl Default for Textures {
    fn default() -> Self {
        Textures::new()
    }
}

impl Textures {
    pub fn new() -> Textures {
        Textures { objects: FxHashMap::default(), references: Table::new(HandleKind::TextureReference) }
    }
}

/// The numbers of address modes agree in both APIs.
pub fn address_mode(number: i32) -> Result<AddressMode> {
    match number {
        0 => Ok(AddressMode::Wrap),
        1 => Ok(AddressMode::Clamp),
        2 => Ok(AddressMode::Mirror),
        3 => Ok(AddressMode::Border),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub fn address_number(mode: AddressMode) -> i32 {
    match mode {
        AddressMode::Wrap => 0,
        AddressMode::Clamp => 1,
        AddressMode::Mirror => 2,
        AddressMode::Border => 3,
    }
}

pub fn filter(number: i32) -> Result<Filter> {
    match number {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub fn filter_number(filter: Filter) -> i32 {
    match filter {
        Filter::Point => 0,
        Filter::Linear => 1,
    }
}

/// Texels of a view's format; block-compressed ones cannot be read.
fn view_format(number: i32) -> Result<Option<Format>> {
    use ChannelKind::{Float, Signed, Unsigned};
    let group = match number {
        0 => return Ok(None),
        1..=3 => (Unsigned, 8),
        4..=6 => (Signed, 8),
        7..=9 => (Unsigned, 16),
        10..=12 => (Signed, 16),
        13..=15 => (Unsigned, 32),
        16..=18 => (Signed, 32),
        19..=21 => (Float, 16),
        22..=24 => (Float, 32),
        25..=34 => return Err(Code::NOT_SUPPORTED),
        _ => return Err(Code::INVALID_VALUE),
    };
    let channels = [1, 2, 4][(number as usize - 1) % 3];
    Ok(Some(Format { kind: group.0, bits: group.1, channels }))
}

impl Core {
    /// A texture object; the handle is what kernels are given.
    pub fn create_texture(
        &mut self,
        resource: Resource,
        reading: Reading,
        view: Option<View>,
    ) -> Result<u64> {
        let image = self.image(&resource, reading.sampler, view.as_ref())?;
        let handle = self.device.create_image(image);
        self.textures.objects.insert(handle, Object { resource, reading: Some(reading), view });
        Ok(handle)
    }

    /// A surface object of an array.
    pub fn create_surface(&mut self, resource: Resource) -> Result<u64> {
        if !matches!(resource, Resource::Array(_)) {
            return Err(Code::INVALID_VALUE);
        }
        let image = self.image(&resource, Sampler::default(), None)?;
        let handle = self.device.create_image(image);
        self.textures.objects.insert(handle, Object { resource, reading: None, view: None });
        Ok(handle)
    }

    /// What a program made an object of; `surface` says of which kind it must be.
    pub fn texture(&self, handle: u64, surface: bool) -> Result<&Object> {
        let object = self.textures.objects.get(&handle).filter(|object| object.reading.is_none() == surface);
        object.ok_or(Code::INVALID_VALUE)
    }

    pub fn destroy_texture(&mut self, handle: u64, surface: bool) -> Result<()> {
        // As in CUDA, destroying nothing is fine.
        if handle == 0 {
            return Ok(());
        }
        self.texture(handle, surface)?;
        self.run_before_change()?;
        self.textures.objects.remove(&handle);
        let outcome = self.device.destroy_image(handle);
        self.settle(outcome)
    }

    /// A reference that a module declares; the same handle every time.
    pub fn reference(&mut self, module: u64, name: &str, surface: bool) -> Result<u64> {
        let known = self
            .textures
            .references
            .iter()
            .find(|(_, of)| of.module == module && of.name == name && of.surface == surface);
        if let Some((handle, _)) = known {
            return Ok(handle);
        }
        let id = self.modules.get(module)?.id;
        let declared = self.device.references(id).map_err(|error| Code::of(&error))?;
        if !declared.iter().any(|declared| declared == name) {
            return Err(Code::NOT_FOUND);
        }
        Ok(self.textures.references.insert(Reference {
            module,
            name: name.to_owned(),
            surface,
            resource: None,
            reading: Reading::default(),
            format: None,
        }))
    }

    /// Changes a reference, and what kernels see of it from then on.
    pub fn change_reference(&mut self, handle: u64, change: impl FnOnce(&mut Reference)) -> Result<()> {
        let mut changed = self.textures.references.get(handle)?.clone();
        change(&mut changed);
        if let Some(resource) = changed.resource {
            let id = self.modules.get(changed.module)?.id;
            let mut image = self.image(&resource, changed.reading.sampler, None)?;
            if let Some(format) = changed.format {
                let same = format.texel_bytes() == image.storage.format.texel_bytes();
                if matches!(resource, Resource::Array(_) | Resource::Mipmap(_)) && !same {
                    return Err(Code::INVALID_VALUE);
                }
                image.storage.format = format;
            }
            self.run_before_change()?;
            let outcome = self.device.bind(id, &changed.name, image);
            self.settle(outcome)?;
        }
        *self.textures.references.get_mut(handle)? = changed;
        Ok(())
    }

    /// Kernels that are queued see images as they were when they were launched.
    fn run_before_change(&mut self) -> Result<()> {
        if self.device.queued() > 0 { self.finish(Until::Everything) } else { Ok(()) }
    }

    fn image(&self, resource: &Resource, sampler: Sampler, view: Option<&View>) -> Result<Image> {
        let mut storage = match *resource {
            Resource::Array(array) => self.arrays.get(array)?.storage.clone(),
            Resource::Mipmap(mipmap) => self.mipmaps.get(mipmap)?.storage.clone(),
            Resource::Linear { bytes: 0, .. } => return Err(Code::INVALID_VALUE),
            Resource::Linear { at, bytes, format } => {
                Storage::linear(at, bytes.min(self.texel_bytes(at)?), format)
            }
            Resource::Pitched { at, width, height, pitch, format } => {
                let row = width.checked_mul(u64::from(format.texel_bytes())).ok_or(Code::INVALID_VALUE)?;
                if row > pitch || width == 0 || height == 0 {
                    return Err(Code::INVALID_VALUE);
                }
                self.texel_bytes(at)?;
                let small = |n: u64| u32::try_from(n).map_err(|_| Code::INVALID_VALUE);
                Storage::pitched(at, small(width)?, small(height)?, pitch, format)
            }
        };
        if let Some(view) = view {
            narrow(&mut storage, view)?;
        }
        let mut sampler = sampler;
        if !sampler.normalized {
            // These modes are for coordinates from 0 to 1; others are clamped (Programming Guide, "Texture Memory").
            for mode in &mut sampler.address {
                if matches!(mode, AddressMode::Wrap | AddressMode::Mirror) {
                    *mode = AddressMode::Clamp;
                }
            }
        }
        Ok(Image { storage, sampler })
    }

    /// Bytes from `at` on that texels can be in. As with the driver, a texture may be larger: what is not there reads as nothing in one
    /// dimension, and is a fault of the kernel that reads it in two.
    fn texel_bytes(&self, at: u64) -> Result<u64> {
        use crate::core::memory::Pointed;
        match self.pointed(at) {
            Pointed::Block(block) => Ok(block.bytes - (at - block.base)),
            Pointed::Variable { base, bytes } => Ok(bytes - (at - base)),
            Pointed::Nothing | Pointed::Host => Err(Code::INVALID_VALUE),
        }
    }
}

/// Cuts storage down to what a view shows.
fn narrow(storage: &mut Storage, view: &View) -> Result<()> {
    if let Some(format) = view_format(view.format)? {
        if format.texel_bytes() != storage.format.texel_bytes() {
            return Err(Code::INVALID_VALUE);
        }
        storage.format = format;
    }
    let [first, last] = view.levels.map(|level| level as usize);
    if first > last || last >= storage.levels.len() {
        return Err(Code::INVALID_VALUE);
    }
    storage.levels.truncate(last + 1);
    storage.levels.drain(..first);
    let [first, last] = view.layers;
    let layered = matches!(storage.shape, Shape::Layered1d | Shape::Layered2d | Shape::Cube);
    if layered && (first, last) != (0, 0) {
        for level in &mut storage.levels {
            if first > last || last >= level.depth {
                return Err(Code::INVALID_VALUE);
            }
            level.address += u64::from(first) * level.slice;
            level.depth = last - first + 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGBA8: Format = Format { kind: ChannelKind::Unsigned, bits: 8, channels: 4 };

    #[test]
    fn views_show_levels_and_layers_of_their_own() {
        let view = |format, levels, layers| View { format, extent: [0; 3], levels, layers };
        let (storage, _) = Storage::array(Shape::Layered2d, [16, 16, 4], 3, RGBA8);
        let mut seen = storage.clone();
        narrow(&mut seen, &view(0, [1, 2], [2, 3])).unwrap();
        assert_eq!(seen.levels.len(), 2);
        assert_eq!((seen.levels[0].width, seen.levels[0].depth), (8, 2));
        assert_eq!(seen.levels[0].address, storage.levels[1].address + 2 * storage.levels[1].slice);
        let mut seen = storage.clone();
        narrow(&mut seen, &view(22, [0, 0], [0, 3])).unwrap();
        assert_eq!(seen.format, Format { kind: ChannelKind::Float, bits: 32, channels: 1 });
        for wrong in [
            view(23, [0, 0], [0, 0]),
            view(0, [2, 1], [0, 0]),
            view(0, [0, 3], [0, 0]),
            view(0, [0, 0], [1, 4]),
        ] {
            assert_eq!(narrow(&mut storage.clone(), &wrong), Err(Code::INVALID_VALUE), "{wrong:?}");
        }
        assert_eq!(narrow(&mut storage.clone(), &view(30, [0, 0], [0, 0])), Err(Code::NOT_SUPPORTED));
    }
}
