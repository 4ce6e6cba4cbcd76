// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors of textures and surfaces: where their texels lie, what they are made of, and how they are sampled
//! (CUDA Programming Guide, "Texture Fetching"; PTX ISA, "Texture and Surface Instructions").
//!
//! Texels live in ordinary device memory, row by row: the block-linear order of real arrays is not visible to programs.

/// Kind of one channel as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelKind {
    Signed,
    Unsigned,
    Float,
}

/// What one texel is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    pub kind: ChannelKind,
    /// Bits of one channel: 8, 16 or 32.
    pub bits: u8,
    /// 1, 2 or 4.
    pub channels: u8,
}

impl Format {
    pub fn texel_bytes(self) -> u32 {
        u32::from(self.bits) / 8 * u32::from(self.channels)
    }
}

/// What the texels of a texture or surface are laid out as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Linear memory that is fetched by index; out of range reads zero.
    Linear,
    D1,
    D2,
    D3,
    /// Layers of 1D or 2D images; `Storage::depth` counts them.
    Layered1d,
    Layered2d,
    /// Six square faces, times `Storage::depth / 6` for a layered cube map.
    Cube,
}

/// One level of a mipmapped array, or the only level of anything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    pub address: u64,
    pub width: u32,
    pub height: u32,
    /// Slices, layers or faces.
    pub depth: u32,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice, layer or face to the next.
    pub slice: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Storage {
    pub shape: Shape,
    pub format: Format,
    /// Largest first; never empty.
    pub levels: Vec<Level>,
}

impl Storage {
    /// Linear memory of `bytes` bytes.
    pub fn linear(address: u64, bytes: u64, format: Format) -> Storage {
        let texels = bytes / u64::from(format.texel_bytes().max(1));
        let width = u32::try_from(texels).unwrap_or(u32::MAX);
        Storage {
            shape: Shape::Linear,
            format,
            levels: vec![Level { address, width, height: 1, depth: 1, pitch: bytes, slice: bytes }],
        }
    }

    /// A 2D image in pitched linear memory.
    pub fn pitched(address: u64, width: u32, height: u32, pitch: u64, format: Format) -> Storage {
        let level = Level { address, width, height, depth: 1, pitch, slice: pitch * u64::from(height) };
        Storage { shape: Shape::D2, format, levels: vec![level] }
    }

    /// Bytes that an array of `extent` (width, height, depth) with `levels` levels takes, and where each level starts.
    pub fn array(shape: Shape, extent: [u32; 3], levels: u32, format: Format) -> (Storage, u64) {
        let mut list = Vec::new();
        let mut at = 0u64;
        for k in 0..levels.max(1) {
            let shrink = |n: u32| (n >> k).max(1);
            let depth = if shape == Shape::D3 { shrink(extent[2]) } else { extent[2].max(1) };
            let (width, height) = (shrink(extent[0]), if extent[1] == 0 { 1 } else { shrink(extent[1]) });
            let pitch = u64::from(width) * u64::from(format.texel_bytes());
            let slice = pitch * u64::from(height);
            list.push(Level { address: at, width, height, depth, pitch, slice });
            at += (slice * u64::from(depth)).next_multiple_of(256);
        }
        (Storage { shape, format, levels: list }, at)
    }

    /// Moves levels that were laid out from 0 to where they were allocated.
    #[must_use]
    pub fn at(mut self, address: u64) -> Storage {
        for level in &mut self.levels {
            level.address += address;
        }
        self
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressMode {
    Wrap,
    #[default]
    Clamp,
    Mirror,
    Border,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Filter {
    #[default]
    Point,
    Linear,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    pub address: [AddressMode; 3],
    pub filter: Filter,
    pub mip_filter: Filter,
    /// Coordinates run from 0 to 1 over the texture.
    pub normalized: bool,
    /// 8- and 16-bit integers read as floats in [0, 1] or [-1, 1].
    pub read_normalized: bool,
    /// Colours are stored with the sRGB curve.
    pub srgb: bool,
    pub border: [f32; 4],
    pub lod_bias: f32,
    pub lod_range: [f32; 2],
}

impl Default for Sampler {
    fn default() -> Self {
        Sampler {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            mip_filter: Filter::Point,
            normalized: false,
            read_normalized: false,
            srgb: false,
            border: [0.0; 4],
            lod_bias: 0.0,
            lod_range: [0.0, f32::INFINITY],
        }
    }
}

/// The image of a texture or surface handle. A surface uses the storage only.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    pub storage: Storage,
    pub sampler: Sampler,
}

/// Handles are `HANDLES + 32 * index`: never a valid address.
const HANDLES: u64 = 0x6_0000_0000;

/// All texture and surface objects of a device.
#[derive(Default)]
pub struct Images {
    slots: Vec<Option<Image>>,
}

impl Images {
    /// A handle for `image`. Freed handles are reused last-freed first, so that the order of calls alone decides handles.
    pub fn create(&mut self, image: Image) -> u64 {
        let index = match self.slots.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        self.slots[index] = Some(image);
        HANDLES + 32 * (index as u64 + 1)
    }

    /// Replaces the image of a handle: texture references are bound repeatedly.
    pub fn replace(&mut self, handle: u64, image: Image) -> bool {
        match self.slot(handle) {
            Some(index) => {
                self.slots[index] = Some(image);
                true
            }
            None => false,
        }
    }

    pub fn destroy(&mut self, handle: u64) -> bool {
        self.slot(handle).is_some_and(|index| self.slots[index].take().is_some())
    }

    #[inline]
    pub fn get(&self, handle: u64) -> Option<&Image> {
        self.slots.get(self.slot(handle)?)?.as_ref()
    }

    #[inline]
    fn slot(&self, handle: u64) -> Option<usize> {
        let offset = handle.checked_sub(HANDLES + 32)?;
        let index = (offset / 32) as usize;
        (offset % 32 == 0 && index < self.slots.len()).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGBA8: Format = Format { kind: ChannelKind::Unsigned, bits: 8, channels: 4 };

    #[test]
    fn handles_are_given_again_only_after_they_were_destroyed() {
        let image = Image { storage: Storage::linear(0x1000, 64, RGBA8), sampler: Sampler::default() };
        let mut images = Images::default();
        let a = images.create(image.clone());
        let b = images.create(image.clone());
        assert_ne!(a, b);
        assert!(images.destroy(a) && !images.destroy(a));
        assert!(images.get(a).is_none() && images.get(b).is_some());
        assert_eq!(images.create(image), a);
        assert!(images.get(a + 1).is_none() && images.get(0).is_none());
    }

    #[test]
    fn mipmap_levels_halve_and_do_not_overlap() {
        let (storage, bytes) = Storage::array(Shape::D2, [64, 16, 0], 5, RGBA8);
        let sizes: Vec<(u32, u32)> = storage.levels.iter().map(|l| (l.width, l.height)).collect();
        assert_eq!(sizes, [(64, 16), (32, 8), (16, 4), (8, 2), (4, 1)]);
        for pair in storage.levels.windows(2) {
            assert!(pair[0].address + pair[0].slice <= pair[1].address);
        }
        assert!(bytes >= 64 * 16 * 4);
        assert_eq!(storage.at(0x1000).levels[0].address, 0x1000);
    }
}
