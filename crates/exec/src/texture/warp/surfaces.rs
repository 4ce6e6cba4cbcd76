// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surface loads, stores and reductions of all lanes.

use warpwatt_isa::{Sub, SurfClamp, TexGeom, Ty, Uop};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{ChannelKind, Format, Image};

use super::texels::{Decoding, gather, unpack};
use super::{LANES, Words, extent, host, put};
use crate::machine::Window;
use crate::rows::lanes_of;
use crate::texture::{TextureArgs, surface};

/// Addresses of the lanes of an access.
struct Places {
    /// From the start of the level; 0 for lanes without an access.
    offsets: Words,
    /// Lanes of the mask with an access.
    mask: u32,
    host: *mut u8,
    bytes: u32,
}

impl Places {
    /// `surface::SurfaceAddress::of` for all lanes; `None` if one of them is at fault.
    #[inline(always)]
    unsafe fn of(
        memory: &DeviceMemory,
        image: &Image,
        (geom, clamp, formatted): (TexGeom, SurfClamp, bool),
        uop: &Uop,
        args: &TextureArgs,
        window: &mut Window,
    ) -> Option<Places> {
        let level = image.storage.levels.first()?;
        let texel = image.storage.format.texel_bytes();
        let bytes = surface::bytes(uop, image.storage.format, formatted) as u32;
        if !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let all = extent(level, texel)?;
        let host = host(memory, level, all, window)?;
        let unit = if formatted { texel } else { 1 };
        let first = usize::from(geom.layered());
        // SAFETY: the coordinates have the rows that their geometry needs.
        let row = |k: usize| unsafe { &(*args.src[1].add(k)).0 };
        let mut offsets = [0; LANES];
        let mut outside = [0_u32; LANES];
        // Clamping moves to the nearest whole access inside. The extent fits in 32 bits, and so does everything below it.
        let mut along = |words: &Words, most: i64, step: u64| {
            let (most, step) = (most as i32, step as u32);
            for lane in 0..LANES {
                let at = words[lane] as i32;
                outside[lane] |= u32::from(at < 0) | u32::from(at > most);
                let inside = at.min(most).max(0);
                offsets[lane] = (inside as u32).wrapping_mul(step).wrapping_add(offsets[lane]);
            }
        };
        let row_bytes = i64::from(level.width) * i64::from(texel);
        along(row(first), (row_bytes - i64::from(bytes)) / i64::from(unit), unit.into());
        if !matches!(geom, TexGeom::D1 | TexGeom::A1d) {
            along(row(first + 1), i64::from(level.height) - 1, level.pitch);
        }
        match geom {
            TexGeom::D3 => along(row(2), i64::from(level.depth) - 1, level.slice),
            _ if geom.layered() => along(row(0), i64::from(level.depth) - 1, level.slice),
            _ => {}
        }
        let mut out = 0;
        (0..LANES).for_each(|lane| out |= outside[lane] << lane);
        out &= args.mask;
        if out != 0 && clamp == SurfClamp::Trap {
            return None;
        }
        let mask = if clamp == SurfClamp::Zero { args.mask & !out } else { args.mask };
        let (mut last, mut odd) = (0, 0);
        for lane in 0..LANES {
            let chosen = if mask >> lane & 1 != 0 { u32::MAX } else { 0 };
            offsets[lane] &= chosen;
            last = last.max(offsets[lane]);
            odd |=
                (level.address as u32).wrapping_add(offsets[lane]) & chosen & (outside[lane].wrapping_sub(1));
        }
        let misaligned = !formatted && odd & (bytes - 1) != 0;
        if misaligned || u64::from(last) + u64::from(bytes) > all {
            return None;
        }
        Some(Places { offsets, mask, host, bytes })
    }
}

/// A surface load.
#[inline(always)]
pub(super) unsafe fn load(
    memory: &DeviceMemory,
    image: &Image,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
) -> Option<()> {
    let Sub::Surf(geom, clamp, formatted) = uop.sub else { return None };
    if formatted && matches!(uop.ty, Ty::F16 | Ty::F16x2) {
        return None;
    }
    let decoding = Decoding::new(image.storage.format, false, false)?;
    // SAFETY: the caller guarantees the rows; places lie inside of the level.
    unsafe {
        let places = Places::of(memory, image, (geom, clamp, formatted), uop, args, window)?;
        let mut words = [[0; LANES]; 4];
        gather(places.host, &places.offsets, places.bytes, &mut words);
        if formatted {
            decoding.decode(&mut words);
        } else {
            let size = uop.ty.bytes().clamp(1, 4);
            unpack(&mut words, size as u8 * 8, (places.bytes / size) as usize);
        }
        for (k, words) in words.iter_mut().enumerate().take(uop.dst_words() as usize) {
            lanes_of(args.mask & !places.mask).for_each(|lane| words[lane] = 0);
            put(&mut *args.dst.add(k), words, args.mask);
        }
    }
    Some(())
}

/// A surface store. Where lanes write the same bytes, the last lane wins.
#[inline(always)]
pub(super) unsafe fn store(
    memory: &DeviceMemory,
    image: &Image,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
) -> Option<()> {
    let Sub::Surf(geom, clamp, formatted) = uop.sub else { return None };
    let format = image.storage.format;
    let size = if formatted { u32::from(format.bits) / 8 } else { uop.ty.bytes().clamp(1, 4) };
    // SAFETY: as for loads; memory is the caller's to change.
    unsafe {
        let places = Places::of(memory, image, (geom, clamp, formatted), uop, args, window)?;
        let mut data = [[0; LANES]; 4];
        for (k, words) in data.iter_mut().enumerate().take(uop.src_words(2) as usize) {
            *words = (*args.src[2].add(k)).0;
            if formatted {
                encode(words, format);
            }
        }
        pack(&mut data, size, (places.bytes / size) as usize);
        let word = |k: usize, lane: usize| data[k][lane];
        match places.bytes {
            1 => scatter(&places, |lane| word(0, lane) as u8),
            2 => scatter(&places, |lane| word(0, lane) as u16),
            4 => scatter(&places, |lane| word(0, lane)),
            8 => scatter(&places, |lane| u64::from(word(0, lane)) | u64::from(word(1, lane)) << 32),
            _ => scatter(&places, |lane| [0, 1, 2, 3].map(|k| word(k, lane))),
        }
    }
    Some(())
}

/// # Safety
/// As many bytes must lie at each place.
#[inline(always)]
unsafe fn scatter<T>(places: &Places, value: impl Fn(usize) -> T) {
    // SAFETY: places were checked against the image's bounds.
    let write = |lane: usize| unsafe {
        places.host.add(places.offsets[lane] as usize).cast::<T>().write_unaligned(value(lane));
    };
    if places.mask == u32::MAX { (0..LANES).for_each(write) } else { lanes_of(places.mask).for_each(write) }
}

/// `surface::encode` for all lanes.
#[inline(always)]
fn encode(words: &mut Words, format: Format) {
    let signed = |word: u32, most: i32| (word as i32).max(-most - 1).min(most) as u32;
    match (format.kind, format.bits) {
        (ChannelKind::Unsigned, 8) => words.iter_mut().for_each(|word| *word = (*word).min(0xff)),
        (ChannelKind::Unsigned, 16) => words.iter_mut().for_each(|word| *word = (*word).min(0xffff)),
        (ChannelKind::Signed, 8) => words.iter_mut().for_each(|word| *word = signed(*word, 127)),
        (ChannelKind::Signed, 16) => words.iter_mut().for_each(|word| *word = signed(*word, 32767)),
        (ChannelKind::Float, 16) => {
            words.iter_mut().for_each(|word| *word = surface::encode(*word, ChannelKind::Float, 16));
        }
        _ => {}
    }
}

/// Packs channels of `size` bytes into words.
#[inline(always)]
fn pack(data: &mut [Words; 4], size: u32, channels: usize) {
    if size == 4 {
        return;
    }
    let mut packed = [[0; LANES]; 2];
    let (in_word, most) = ((4 / size) as usize, u32::MAX >> (32 - 8 * size));
    for (k, words) in data.iter().enumerate().take(channels) {
        let shift = 8 * size * (k % in_word) as u32;
        let to = &mut packed[k / in_word];
        (0..LANES).for_each(|lane| to[lane] |= (words[lane] & most) << shift);
    }
    data[..2].copy_from_slice(&packed);
}

/// A surface reduction, lane after lane.
#[inline(always)]
pub(super) unsafe fn reduce(
    memory: &DeviceMemory,
    image: &Image,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
) -> Option<()> {
    let Sub::SurfRed(geom, clamp, op) = uop.sub else { return None };
    // SAFETY: as for stores.
    unsafe {
        let places = Places::of(memory, image, (geom, clamp, false), uop, args, window)?;
        for lane in lanes_of(places.mask) {
            let word = |k: usize| u64::from((*args.src[2].add(k)).0[lane]);
            let data = word(0) | if uop.ty.words() == 2 { word(1) << 32 } else { 0 };
            let at = places.host.add(places.offsets[lane] as usize);
            let slot = std::slice::from_raw_parts_mut(at, uop.ty.bytes() as usize);
            surface::combine(slot, op, uop.ty, data);
        }
    }
    Some(())
}
