// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addressing and filtering of textures.

use warpwatt_isa::{TexGeom, Ty};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{AddressMode, Filter, Image, Level, Shape};

use super::texel::{self, Texel};
use super::{Coordinates, Trace, cube};

/// The address of a texel that could not be read.
type Lost = u64;

pub fn sample(
    memory: &DeviceMemory,
    image: &Image,
    at: &Coordinates,
    lod: Option<f32>,
    trace: &mut impl Trace,
) -> Result<Texel, Lost> {
    let (level, between) = levels_at(image, lod);
    let near = sample_level(memory, image, at, level, trace)?;
    if between == 0.0 {
        return Ok(near);
    }
    let last = image.storage.levels.len() - 1;
    let far = sample_level(memory, image, at, (level + 1).min(last), trace)?;
    Ok(mix(near, far, quantize(between)))
}

/// The level that is sampled, and how far the place lies towards the next one, which is sampled too unless that is 0.
pub fn levels_at(image: &Image, lod: Option<f32>) -> (usize, f32) {
    let last = image.storage.levels.len() - 1;
    let lod = lod.map_or(0.0, |l| {
        let s = &image.sampler;
        let l = if l.is_nan() { 0.0 } else { l + s.lod_bias };
        l.max(s.lod_range[0]).min(s.lod_range[1]).max(0.0).min(last as f32)
    });
    if image.sampler.mip_filter == Filter::Linear && lod.fract() != 0.0 {
        return (lod as usize, lod.fract());
    }
    (((lod + 0.5) as usize).min(last), 0.0)
}

/// log2 of how many texels of level 0 one step covers.
pub fn gradient_level(image: &Image, dx: &[f32], dy: &[f32]) -> f32 {
    let level = &image.storage.levels[0];
    let size = if image.sampler.normalized {
        [level.width as f32, level.height as f32, level.depth as f32]
    } else {
        [1.0; 3]
    };
    let length = |d: &[f32]| d.iter().zip(size).map(|(d, n)| (d * n) * (d * n)).sum::<f32>();
    let longest = length(dx).max(length(dy));
    if longest > 0.0 { 0.5 * libm::log2f(longest) } else { 0.0 }
}

/// Coordinates farther out than this are taken for it.
pub const FAR: f32 = 2.0e9;

/// Weights have 8 fractional bits.
#[inline(always)]
pub fn quantize(weight: f32) -> f32 {
    ((weight * 256.0 + 0.5) as i32) as f32 / 256.0
}

/// Interpolates between two numbers. NaN has one form, since hosts differ in whose payload they keep.
#[inline(always)]
pub fn blend(a: f32, b: f32, weight: f32) -> f32 {
    let mixed = (1.0 - weight) * a + weight * b;
    if mixed.is_nan() { f32::from_bits(0x7fff_ffff) } else { mixed }
}

fn mix(a: Texel, b: Texel, weight: f32) -> Texel {
    match (a, b) {
        (Texel::Float(a), Texel::Float(b)) => {
            let mut out = [0.0; 4];
            for k in 0..4 {
                out[k] = blend(a[k], b[k], weight);
            }
            Texel::Float(out)
        }
        // Integers are never filtered.
        (a, b) => {
            if weight < 0.5 {
                a
            } else {
                b
            }
        }
    }
}

/// One axis: the texel numbers left and right of the place, and the weight of the right one.
struct Axis {
    index: [Option<u32>; 2],
    weight: f32,
}

impl Axis {
    fn only(index: Option<u32>) -> Axis {
        Axis { index: [index, index], weight: 0.0 }
    }
}

/// The texel that `i` means on an axis of `n` texels; `None` is the border.
fn wrap(i: i64, n: u32, mode: AddressMode) -> Option<u32> {
    let size = i64::from(n.max(1));
    match mode {
        AddressMode::Clamp => Some(i.clamp(0, size - 1) as u32),
        AddressMode::Border => (0..size).contains(&i).then_some(i as u32),
        AddressMode::Wrap => Some(i.rem_euclid(size) as u32),
        AddressMode::Mirror => {
            let period = i.rem_euclid(2 * size);
            Some(if period < size { period } else { 2 * size - 1 - period } as u32)
        }
    }
}

fn axis(x: f32, n: u32, image: &Image, which: usize, filter: Filter) -> Axis {
    let normalized = image.sampler.normalized;
    // Wrapping needs normalised coordinates; without them it clamps.
    let mode = match image.sampler.address[which] {
        AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
        mode => mode,
    };
    let x = if x.is_nan() { 0.0 } else { x };
    let x = if normalized {
        // Bring far-away repetitions near before scaling, so that no precision is lost.
        let near = match mode {
            AddressMode::Wrap => x - libm::floorf(x),
            AddressMode::Mirror => x - 2.0 * libm::floorf(x * 0.5),
            _ => x,
        };
        near * n as f32
    } else {
        x
    };
    let x = x.clamp(-FAR, FAR);
    match filter {
        Filter::Point => Axis::only(wrap(libm::floorf(x) as i64, n, mode)),
        Filter::Linear => {
            let shifted = x - 0.5;
            let left = libm::floorf(shifted);
            let weight = quantize(shifted - left);
            let i = left as i64;
            Axis { index: [wrap(i, n, mode), wrap(i + 1, n, mode)], weight }
        }
    }
}

fn read(
    memory: &DeviceMemory,
    image: &Image,
    level: &Level,
    at: [Option<u32>; 3],
    trace: &mut impl Trace,
) -> Result<Texel, Lost> {
    let [Some(x), Some(y), Some(z)] = at else {
        return Ok(border(image));
    };
    let bytes = u64::from(image.storage.format.texel_bytes());
    let address =
        level.address + u64::from(z) * level.slice + u64::from(y) * level.pitch + u64::from(x) * bytes;
    let raw = memory.bytes(address, bytes).map_err(|_| address)?;
    trace.texel(address, bytes);
    Ok(texel::decode(raw, image.storage.format, &image.sampler))
}

pub fn border(image: &Image) -> Texel {
    use warpwatt_memory::texture::ChannelKind;
    let s = &image.sampler;
    if image.storage.format.kind == ChannelKind::Float
        || (s.read_normalized && image.storage.format.bits < 32)
    {
        Texel::Float(s.border)
    } else {
        Texel::Int(s.border.map(|v| v as i32 as u32))
    }
}

pub fn filter_of(image: &Image) -> Filter {
    use warpwatt_memory::texture::ChannelKind;
    let filterable = image.storage.format.kind == ChannelKind::Float
        || (image.sampler.read_normalized && image.storage.format.bits < 32);
    if filterable { image.sampler.filter } else { Filter::Point }
}

/// The axes and the slice range that a place falls on: (x, y, z).
fn place(image: &Image, at: &Coordinates, level: &Level, filter: Filter) -> [Axis; 3] {
    if let Some(t) = at.texel {
        let mode = |k: usize| match image.sampler.address[k] {
            AddressMode::Border => AddressMode::Border,
            _ => AddressMode::Clamp,
        };
        let linear = image.storage.shape == Shape::Linear;
        let whole = |k: usize, n: u32| {
            let mode = if linear { AddressMode::Border } else { mode(k) };
            Axis::only(wrap(i64::from(t[k]), n, mode))
        };
        let y = if uses_y(at.geom) { whole(1, level.height) } else { Axis::only(Some(0)) };
        let z = match at.geom {
            TexGeom::D3 => whole(2, level.depth),
            _ => Axis::only(layer(at, level)),
        };
        return [whole(0, level.width), y, z];
    }
    let (v, face) = match at.geom {
        TexGeom::Cube | TexGeom::Acube => {
            let (face, s, t) = cube::face(at.value);
            // Faces are addressed in normalised coordinates whatever the sampler says.
            let scale = |c: f32, n: u32| if image.sampler.normalized { c } else { c * n as f32 };
            ([scale(s, level.width), scale(t, level.height), 0.0], Some(face))
        }
        _ => (at.value, None),
    };
    let x = axis(v[0], level.width, image, 0, filter);
    let y = if uses_y(at.geom) { axis(v[1], level.height, image, 1, filter) } else { Axis::only(Some(0)) };
    let z = match (at.geom, face) {
        (TexGeom::D3, _) => axis(v[2], level.depth, image, 2, filter),
        (_, Some(face)) => {
            let cubes = (level.depth / 6).max(1);
            Axis::only(Some(at.layer.min(cubes - 1) * 6 + face))
        }
        _ => Axis::only(layer(at, level)),
    };
    [x, y, z]
}

fn uses_y(geom: TexGeom) -> bool {
    !matches!(geom, TexGeom::D1 | TexGeom::A1d)
}

/// Layers clamp.
fn layer(at: &Coordinates, level: &Level) -> Option<u32> {
    Some(if at.geom.layered() { at.layer.min(level.depth.max(1) - 1) } else { 0 })
}

fn sample_level(
    memory: &DeviceMemory,
    image: &Image,
    at: &Coordinates,
    level: usize,
    trace: &mut impl Trace,
) -> Result<Texel, Lost> {
    let level = &image.storage.levels[level];
    let [x, y, z] = place(image, at, level, filter_of(image));
    let mut row = |y: Option<u32>, z: Option<u32>| -> Result<Texel, Lost> {
        let left = read(memory, image, level, [x.index[0], y, z], trace)?;
        if x.weight == 0.0 {
            return Ok(left);
        }
        Ok(mix(left, read(memory, image, level, [x.index[1], y, z], trace)?, x.weight))
    };
    let mut plane = |z: Option<u32>| -> Result<Texel, Lost> {
        let top = row(y.index[0], z)?;
        if y.weight == 0.0 {
            return Ok(top);
        }
        Ok(mix(top, row(y.index[1], z)?, y.weight))
    };
    let near = plane(z.index[0])?;
    if z.weight == 0.0 {
        return Ok(near);
    }
    Ok(mix(near, plane(z.index[1])?, z.weight))
}

/// The component of the four texels around a place, counter-clockwise from the lower left.
pub fn gather(
    memory: &DeviceMemory,
    image: &Image,
    at: &Coordinates,
    component: u8,
    ty: Ty,
    trace: &mut impl Trace,
) -> Result<[u32; 4], Lost> {
    let level = &image.storage.levels[0];
    let [x, y, z] = place(image, at, level, Filter::Linear);
    let mut out = [0; 4];
    for (k, (i, j)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
        let texel = read(memory, image, level, [x.index[i], y.index[j], z.index[0]], trace)?;
        out[k] = texel::to_bits(texel, ty)[usize::from(component & 3)];
    }
    Ok(out)
}
