// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface accesses of a whole warp at once, for what programs mostly do: one image for all lanes, one level, 1D and 2D images,
//! their layers, and texels of 3D images without filtering. Every step is a loop over lanes that the compiler can vectorise, and the memory
//! behind the image is looked up once.
//!
//! What does not fit, and whatever would be a fault, is left to the path lane by lane, which gives the same bits: nothing is written before it
//! is clear that all lanes succeed.

// Loops over lanes index several arrays alike.
#![allow(clippy::needless_range_loop)]

use warpwatt_isa::{Op, Sub, TexGeom, Ty, Uop};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{AddressMode, ChannelKind, Filter, Format, Image, Level, Shape};

use super::{TextureArgs, sample, surface, texel};
use crate::lanes::Row;
use crate::rows::lanes_of;

const LANES: usize = 32;
/// Extents up to this are computed with in 32 bits.
const MOST_TEXELS: u32 = 1 << 30;
/// The index of the border.
const BORDER: i32 = -1;

type Words = [u32; LANES];

/// The image that all lanes of the mask name.
///
/// # Safety
/// The first operand must have two rows.
unsafe fn common_image<'m>(memory: &'m DeviceMemory, args: &TextureArgs) -> Option<&'m Image> {
    let (low, high) = unsafe { (&(*args.src[0]).0, &(*args.src[0].add(1)).0) };
    let first = args.mask.trailing_zeros() as usize % LANES;
    let mut other = 0;
    for lane in 0..LANES {
        let differs = low[lane] != low[first] || high[lane] != high[first];
        other |= u32::from(differs) << lane;
    }
    if other & args.mask != 0 {
        return None;
    }
    memory.images.get(u64::from(low[first]) | u64::from(high[first]) << 32)
}

/// Bytes from the first texel of a level to the end of the last.
fn extent(level: &Level, format: Format) -> Option<u64> {
    let row = u64::from(level.width).checked_mul(u64::from(format.texel_bytes()))?;
    let rows = u64::from(level.height.checked_sub(1)?).checked_mul(level.pitch)?;
    let slices = u64::from(level.depth.checked_sub(1)?).checked_mul(level.slice)?;
    row.checked_add(rows)?.checked_add(slices).filter(|&bytes| bytes > 0)
}

/// Executes `Tex` or `Suld`; `None`, with nothing done, if that has to be done lane by lane.
///
/// # Safety
/// The rows must span what the micro-op reads and writes.
pub(super) unsafe fn read(memory: &DeviceMemory, uop: &Uop, args: &TextureArgs) -> Option<()> {
    let image = unsafe { common_image(memory, args)? };
    match (uop.op, uop.sub) {
        (Op::Tex, Sub::Tex(geom, _)) => unsafe { fetch(memory, image, uop, geom, args) },
        (Op::Suld, Sub::Surf(..)) => unsafe { load(memory, image, uop, args) },
        _ => None,
    }
}

/// One axis for all lanes: the texels left and right of the place, or [`BORDER`], and the weight of the right one.
struct Axis {
    index: [[i32; LANES]; 2],
    weight: [f32; LANES],
    filtered: bool,
}

impl Axis {
    const ZERO: Axis = Axis { index: [[0; LANES]; 2], weight: [0.0; LANES], filtered: false };

    fn whole(index: [i32; LANES]) -> Axis {
        Axis { index: [index, [0; LANES]], ..Axis::ZERO }
    }
}

/// The largest whole number that is not above.
#[inline(always)]
fn floor(x: f32) -> f32 {
    // From 2^23 on all numbers are whole; what is not a number stays so.
    let whole = x as i32 as f32;
    let floor = if whole > x { whole - 1.0 } else { whole };
    if x.abs() < 8_388_608.0 { floor } else { x }
}

/// [`sample::axis`] for all lanes.
#[inline(always)]
fn axis(x: &Words, n: u32, image: &Image, which: usize, filter: Filter) -> Axis {
    let normalized = image.sampler.normalized;
    let mode = match image.sampler.address[which] {
        AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
        mode => mode,
    };
    let mut at = x.map(f32::from_bits);
    at.iter_mut().for_each(|x| *x = if x.is_nan() { 0.0 } else { *x });
    if normalized {
        match mode {
            AddressMode::Wrap => at.iter_mut().for_each(|x| *x -= floor(*x)),
            AddressMode::Mirror => at.iter_mut().for_each(|x| *x -= 2.0 * floor(*x * 0.5)),
            _ => {}
        }
        at.iter_mut().for_each(|x| *x *= n as f32);
    }
    at.iter_mut().for_each(|x| *x = x.clamp(-sample::FAR, sample::FAR));
    let mut axis = Axis::ZERO;
    match filter {
        Filter::Point => {
            axis.index[0] = at.map(|x| floor(x) as i32);
        }
        Filter::Linear => {
            for lane in 0..LANES {
                let shifted = at[lane] - 0.5;
                let left = floor(shifted);
                axis.weight[lane] = sample::quantize(shifted - left);
                axis.index[0][lane] = left as i32;
                axis.index[1][lane] = left as i32 + 1;
            }
            axis.filtered = true;
            wrap(&mut axis.index[1], n, mode);
        }
    }
    wrap(&mut axis.index[0], n, mode);
    axis
}

/// [`sample::wrap`] for all lanes. Repeated coordinates were brought near, so that they are off by one repetition at most.
#[inline(always)]
fn wrap(index: &mut [i32; LANES], n: u32, mode: AddressMode) {
    let n = n as i32;
    let near = |i: i32, period: i32| {
        let i = if i < 0 { i + period } else { i };
        if i >= period { i - period } else { i }
    };
    match mode {
        AddressMode::Clamp => index.iter_mut().for_each(|i| *i = (*i).clamp(0, n - 1)),
        AddressMode::Border => {
            index.iter_mut().for_each(|i| *i = if *i >= 0 && *i < n { *i } else { BORDER });
        }
        AddressMode::Wrap => index.iter_mut().for_each(|i| *i = near(*i, n)),
        AddressMode::Mirror => index.iter_mut().for_each(|i| {
            let period = near(*i, 2 * n);
            *i = if period < n { period } else { 2 * n - 1 - period };
        }),
    }
}

/// A texture fetch.
unsafe fn fetch(
    memory: &DeviceMemory,
    image: &Image,
    uop: &Uop,
    geom: TexGeom,
    args: &TextureArgs,
) -> Option<()> {
    let (storage, sampler) = (&image.storage, &image.sampler);
    // With one level there is no choice between levels.
    let [level] = &storage.levels[..] else { return None };
    let fits = [level.width, level.height, level.depth].iter().all(|n| (1..MOST_TEXELS).contains(n));
    if !fits || sampler.srgb || matches!(uop.ty, Ty::F16 | Ty::F16x2) {
        return None;
    }
    let (first, two_d) = match geom {
        TexGeom::D1 => (0, false),
        TexGeom::D2 | TexGeom::D3 => (0, true),
        TexGeom::A1d => (1, false),
        TexGeom::A2d => (1, true),
        TexGeom::Cube | TexGeom::Acube => return None,
    };
    let filter = sample::filter_of(image);
    let integer = uop.ty2 != Ty::F32;
    if geom == TexGeom::D3 && filter == Filter::Linear && !integer {
        return None;
    }
    // SAFETY: the coordinates have these rows.
    let row = |k: usize| unsafe { &(*args.src[1].add(k)).0 };
    let along = |k: usize, n: u32| -> Axis {
        if !integer {
            return axis(row(first + k), n, image, k, filter);
        }
        let mut index = row(first + k).map(|word| word as i32);
        let border = storage.shape == Shape::Linear || sampler.address[k] == AddressMode::Border;
        wrap(&mut index, n, if border { AddressMode::Border } else { AddressMode::Clamp });
        Axis::whole(index)
    };
    let x = along(0, level.width);
    let y = if two_d { along(1, level.height) } else { Axis::ZERO };
    let z = match geom {
        TexGeom::D3 => along(2, level.depth).index[0],
        _ if geom.layered() => row(0).map(|layer| layer.min(level.depth - 1) as i32),
        _ => [0; LANES],
    };
    let texels = Texels::new(memory, image, level)?;
    let mut result = texels.at(&x.index[0], &y.index[0], &z);
    if x.filtered {
        let right = texels.at(&x.index[1], &y.index[0], &z);
        texels.mix(&mut result, &right, &x.weight);
        if y.filtered {
            let mut below = texels.at(&x.index[0], &y.index[1], &z);
            let right = texels.at(&x.index[1], &y.index[1], &z);
            texels.mix(&mut below, &right, &x.weight);
            texels.mix(&mut result, &below, &y.weight);
        }
    }
    for (k, words) in result.iter().enumerate() {
        // SAFETY: a fetch has four rows of results.
        unsafe { put(&mut *args.dst.add(k), words, args.mask) };
    }
    Some(())
}

/// Lanes of the mask get their values.
#[inline(always)]
fn put(row: &mut Row, words: &Words, mask: u32) {
    if mask == u32::MAX {
        row.0 = *words;
    } else {
        lanes_of(mask).for_each(|lane| row.0[lane] = words[lane]);
    }
}

/// The texels of a level, all of which may be read.
struct Texels<'m> {
    host: &'m [u8],
    level: &'m Level,
    format: Format,
    /// Small integers become fractions.
    fractions: bool,
    border: [u32; 4],
    /// Channels that can be other than zero.
    channels: usize,
}

impl<'m> Texels<'m> {
    fn new(memory: &'m DeviceMemory, image: &'m Image, level: &'m Level) -> Option<Texels<'m>> {
        let format = image.storage.format;
        let host = memory.bytes(level.address, extent(level, format)?).ok()?;
        let border = texel::to_bits(sample::border(image), Ty::U32);
        let stored = usize::from(format.channels);
        let channels = if border[stored..].iter().all(|&bits| bits == 0) { stored } else { 4 };
        let fractions = image.sampler.read_normalized && format.bits < 32;
        Some(Texels { host, level, format, fractions, border, channels })
    }

    /// The channels of the texels at these places, as bits of floats or as integers.
    #[inline(always)]
    fn at(&self, x: &[i32; LANES], y: &[i32; LANES], z: &[i32; LANES]) -> [Words; 4] {
        let bytes = u64::from(self.format.texel_bytes());
        let mut outside = 0;
        let mut offsets = [0_u64; LANES];
        for lane in 0..LANES {
            outside |= u32::from(x[lane] | y[lane] | z[lane] < 0) << lane;
            let offset = |index: i32, step: u64| u64::from(index.max(0) as u32) * step;
            offsets[lane] = offset(z[lane], self.level.slice)
                + offset(y[lane], self.level.pitch)
                + offset(x[lane], bytes);
        }
        let mut out = [[0; LANES]; 4];
        // SAFETY: every index is below the extent of its axis, whose texels `host` has.
        unsafe {
            match self.format.bits {
                8 => self.gather::<u8>(&offsets, &mut out),
                16 => self.gather::<u16>(&offsets, &mut out),
                _ => self.gather::<u32>(&offsets, &mut out),
            }
        }
        out[..usize::from(self.format.channels)].iter_mut().for_each(|words| self.decode(words));
        if outside != 0 {
            for (words, border) in out.iter_mut().zip(self.border) {
                lanes_of(outside).for_each(|lane| words[lane] = border);
            }
        }
        out
    }

    /// # Safety
    /// A texel must lie at each offset.
    #[inline(always)]
    unsafe fn gather<T: Copy + Into<u32>>(&self, offsets: &[u64; LANES], out: &mut [Words; 4]) {
        let channels = usize::from(self.format.channels);
        for lane in 0..LANES {
            debug_assert!(offsets[lane] as usize + channels * size_of::<T>() <= self.host.len());
            let texel = unsafe { self.host.as_ptr().add(offsets[lane] as usize).cast::<T>() };
            for (k, words) in out.iter_mut().enumerate().take(channels) {
                words[lane] = unsafe { texel.add(k).read_unaligned() }.into();
            }
        }
    }

    /// [`texel::decode`] of one channel.
    #[inline(always)]
    fn decode(&self, words: &mut Words) {
        let signed = self.format.kind == ChannelKind::Signed;
        match (self.format.kind, self.format.bits) {
            (ChannelKind::Float, 16) => {
                words.iter_mut().for_each(|w| *w = half::f16::from_bits(*w as u16).to_f32().to_bits());
            }
            (ChannelKind::Float, _) => {}
            (_, bits) if self.fractions => {
                words.iter_mut().for_each(|w| *w = texel::normalized(*w, bits, signed).to_bits());
            }
            (ChannelKind::Signed, 8) => words.iter_mut().for_each(|w| *w = *w as u8 as i8 as i32 as u32),
            (ChannelKind::Signed, 16) => words.iter_mut().for_each(|w| *w = *w as u16 as i16 as i32 as u32),
            _ => {}
        }
    }

    /// Moves floats towards others by a weight; a weight of zero leaves them as they are.
    #[inline(always)]
    fn mix(&self, to: &mut [Words; 4], other: &[Words; 4], weight: &[f32; LANES]) {
        for (to, other) in to.iter_mut().zip(other).take(self.channels) {
            for lane in 0..LANES {
                let (a, b, w) = (f32::from_bits(to[lane]), f32::from_bits(other[lane]), weight[lane]);
                let mixed = (1.0 - w) * a + w * b;
                to[lane] = if w == 0.0 { to[lane] } else { mixed.to_bits() };
            }
        }
    }
}

/// Where the lanes of a surface access go, from the start of the level; `None` for lanes that go nowhere.
unsafe fn surface_places(image: &Image, uop: &Uop, args: &TextureArgs) -> Option<[Option<u64>; LANES]> {
    let Sub::Surf(geom, clamp, formatted) = uop.sub else { return None };
    let start = image.storage.levels.first()?.address;
    let mut places = [None; LANES];
    for lane in lanes_of(args.mask) {
        // SAFETY: the coordinates have the rows that their geometry asks for.
        let word = |k: usize| unsafe { (*args.src[1].add(k)).0[lane] };
        let place = surface::Place::of(image, geom, clamp, formatted, uop, word).ok()?;
        places[lane] = place.address().map(|address| address - start);
    }
    Some(places)
}

/// A surface load.
unsafe fn load(memory: &DeviceMemory, image: &Image, uop: &Uop, args: &TextureArgs) -> Option<()> {
    let Sub::Surf(_, _, formatted) = uop.sub else { return None };
    let level = image.storage.levels.first()?;
    let host = memory.bytes(level.address, extent(level, image.storage.format)?).ok()?;
    let places = unsafe { surface_places(image, uop, args)? };
    let bytes = surface::bytes(uop, image.storage.format, formatted);
    let ends = |offset: &u64| offset.checked_add(bytes as u64).is_some_and(|end| end <= host.len() as u64);
    if !places.iter().flatten().all(ends) {
        return None;
    }
    let words = uop.dst_words() as usize;
    for lane in lanes_of(args.mask) {
        let read = match places[lane] {
            Some(at) => surface::unpack(&host[at as usize..at as usize + bytes], image, formatted, uop),
            None => [0; 4],
        };
        for (k, word) in read.iter().enumerate().take(words) {
            // SAFETY: the results have as many rows as the micro-op says.
            unsafe { (*args.dst.add(k)).0[lane] = *word };
        }
    }
    Some(())
}

/// Executes `Sust`; `None`, with nothing done, if that has to be done lane by lane.
///
/// # Safety
/// The rows must span what the micro-op reads.
pub(super) unsafe fn write(memory: &mut DeviceMemory, uop: &Uop, args: &TextureArgs) -> Option<()> {
    // Which bytes are written matters to checks, not only that they are inside.
    if uop.op != Op::Sust || memory.is_monitored() {
        return None;
    }
    let Sub::Surf(_, _, formatted) = uop.sub else { return None };
    let image = unsafe { common_image(memory, args)? };
    let (level, format) = (image.storage.levels.first()?, image.storage.format);
    let places = unsafe { surface_places(image, uop, args)? };
    let (start, all) = (level.address, extent(level, format)?);
    let bytes = surface::bytes(uop, format, formatted);
    let ends = |offset: &u64| offset.checked_add(bytes as u64).is_some_and(|end| end <= all);
    if !places.iter().flatten().all(ends) {
        return None;
    }
    let host = memory.bytes_mut(start, all).ok()?;
    for lane in lanes_of(args.mask) {
        let Some(at) = places[lane] else { continue };
        let mut data = [0; 4];
        for (k, word) in data.iter_mut().enumerate().take(uop.src_words(2) as usize) {
            // SAFETY: the data have as many rows as the micro-op says.
            *word = unsafe { (*args.src[2].add(k)).0[lane] };
        }
        let packed = surface::pack(&data, format, formatted, uop);
        host[at as usize..at as usize + bytes].copy_from_slice(&packed[..bytes]);
    }
    Some(())
}
