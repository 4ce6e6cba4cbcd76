// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface accesses of a whole warp at once, for what programs mostly do: one image and one level for all lanes. Every step is a loop
//! over lanes that the compiler vectorises, once for each instruction set of the host, and the memory behind the image is looked up once for
//! each micro-op.
//!
//! What does not fit, and whatever would be a fault, is left to the path lane by lane, which gives the same bits: nothing is written before it
//! is clear that all lanes succeed.

// Loops over lanes index several arrays alike.
#![allow(clippy::needless_range_loop)]

mod axes;
mod surfaces;
mod texels;

use warpwatt_isa::{LodMode, Op, Sub, TexGeom, Ty, Uop};
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{AddressMode, Filter, Image, Level, Shape};

use self::axes::{Axis, axis, wrap};
use self::texels::{Channels, Texels, mix};
use super::{Near, TextureArgs, Trace, cube, lod_operand, sample};
use crate::lanes::{self, Row};
use crate::machine::Window;
use crate::rows::lanes_of;

const LANES: usize = 32;
/// Bytes of the largest level that is computed with in 32 bits.
const MOST_BYTES: u64 = 1 << 31;

type Words = [u32; LANES];

/// Executes `Tex`, `Tld4` or `Suld`; `None`, with nothing done, if that has to be done lane by lane.
///
/// # Safety
/// The rows must span what the micro-op reads and writes, and the host must have the level's instructions.
pub(super) unsafe fn read(
    memory: &DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    near: &mut Near,
    trace: &mut impl Trace,
) -> Option<()> {
    match near.level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
        lanes::Level::Avx2 | lanes::Level::Avx512 => unsafe {
            read_avx2(memory, uop, args, near.window, trace)
        },
        // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
        _ => unsafe { read_with::<false, _>(memory, uop, args, near.window, trace) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn read_avx2(
    memory: &DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
    trace: &mut impl Trace,
) -> Option<()> {
    // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
    unsafe { read_with::<true, _>(memory, uop, args, window, trace) }
}

/// `WIDE`: inside of a function that has the host's vector instructions.
#[inline(always)]
unsafe fn read_with<const WIDE: bool, T: Trace>(
    memory: &DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
    trace: &mut T,
) -> Option<()> {
    // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
    unsafe {
        let image = common_image(memory, args)?;
        match (uop.op, uop.sub) {
            (Op::Tex, Sub::Tex(geom, lod)) => {
                let level = common_level(image, uop, lod, args)?;
                let texels = Texels::new(memory, image, level, window)?;
                fetch::<WIDE, T>(&texels, uop, geom, None, args, trace)
            }
            (Op::Tld4, Sub::Tld4(geom, component)) => {
                let level = image.storage.levels.first()?;
                let texels = Texels::new(memory, image, level, window)?;
                fetch::<WIDE, T>(&texels, uop, geom, Some(component), args, trace)
            }
            (Op::Suld, Sub::Surf(..)) if T::IS_IDLE => surfaces::load(memory, image, uop, args, window),
            _ => None,
        }
    }
}

/// Executes `Sust` or `Sured`; `None`, with nothing done, if that has to be done lane by lane.
///
/// # Safety
/// The rows must span what the micro-op reads, and the host must have the level's instructions.
pub(super) unsafe fn write(
    memory: &mut DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    near: &mut Near,
) -> Option<()> {
    // Which bytes are written matters to checks, not only that they are inside.
    if memory.is_monitored() {
        return None;
    }
    match near.level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
        lanes::Level::Avx2 | lanes::Level::Avx512 => unsafe { write_avx2(memory, uop, args, near.window) },
        // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
        _ => unsafe { write_with(memory, uop, args, near.window) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn write_avx2(
    memory: &mut DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
) -> Option<()> {
    // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
    unsafe { write_with(memory, uop, args, window) }
}

#[inline(always)]
unsafe fn write_with(
    memory: &mut DeviceMemory,
    uop: &Uop,
    args: &TextureArgs,
    window: &mut Window,
) -> Option<()> {
    // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
    unsafe {
        let image = common_image(memory, args)?;
        match uop.op {
            Op::Sust => surfaces::store(memory, image, uop, args, window),
            Op::Sured => surfaces::reduce(memory, image, uop, args, window),
            _ => None,
        }
    }
}

/// The image that all lanes of the mask name.
///
/// # Safety
/// The first operand must have two rows.
#[inline(always)]
unsafe fn common_image<'m>(memory: &'m DeviceMemory, args: &TextureArgs) -> Option<&'m Image> {
    // SAFETY: operands' rows span the words that the micro-op's geometry reads; the AVX2 copies run where the host has it.
    let (low, high) = unsafe { (&(*args.src[0]).0, &(*args.src[0].add(1)).0) };
    let first = args.mask.trailing_zeros() as usize % LANES;
    let (first_low, first_high) = (low[first], high[first]);
    let mut differ = 0;
    for lane in 0..LANES {
        differ |= (low[lane] ^ first_low) | (high[lane] ^ first_high);
    }
    // Lanes outside of the mask may hold anything.
    if differ != 0 && lanes_of(args.mask).any(|lane| low[lane] != first_low || high[lane] != first_high) {
        return None;
    }
    memory.images.get(u64::from(first_low) | u64::from(first_high) << 32)
}

/// The level that all lanes of the mask sample.
#[inline(always)]
unsafe fn common_level<'m>(
    image: &'m Image,
    uop: &Uop,
    lod: LodMode,
    args: &TextureArgs,
) -> Option<&'m Level> {
    let levels = &image.storage.levels;
    if levels.len() == 1 || lod == LodMode::Base {
        return levels.first();
    }
    if lod != LodMode::Level {
        return None;
    }
    let mut chosen = None;
    for lane in lanes_of(args.mask) {
        // SAFETY: the level has a row.
        let lod = lod_operand(uop.ty2, unsafe { (*args.src[2]).0[lane] });
        let (level, between) = sample::levels_at(image, Some(lod));
        if between != 0.0 || chosen.is_some_and(|chosen| chosen != level) {
            return None;
        }
        chosen = Some(level);
    }
    levels.get(chosen?)
}

/// Bytes from the first texel of a level to the end of the last, if they can be computed with in 32 bits.
#[inline(always)]
fn extent(level: &Level, texel_bytes: u32) -> Option<u64> {
    let row = u64::from(level.width) * u64::from(texel_bytes);
    let rows = u64::from(level.height.checked_sub(1)?).checked_mul(level.pitch)?;
    let slices = u64::from(level.depth.checked_sub(1)?).checked_mul(level.slice)?;
    row.checked_add(rows)?.checked_add(slices).filter(|bytes| (1..=MOST_BYTES).contains(bytes))
}

/// Where a level lies in the host's memory; the window remembers it for the next time.
#[inline(always)]
fn host(memory: &DeviceMemory, level: &Level, bytes: u64, window: &mut Window) -> Option<*mut u8> {
    if window.guest != level.address || window.len < bytes {
        let host = memory.span(level.address, bytes).ok()?;
        *window = Window { guest: level.address, host, len: bytes };
    }
    Some(window.host)
}

/// A texture fetch, or with a component a gather of that component of four texels.
#[inline(always)]
unsafe fn fetch<const WIDE: bool, T: Trace>(
    texels: &Texels,
    uop: &Uop,
    geom: TexGeom,
    component: Option<u8>,
    args: &TextureArgs,
    trace: &mut T,
) -> Option<()> {
    let (image, level) = (texels.image, texels.level);
    let sampler = &image.sampler;
    if matches!(uop.ty, Ty::F16 | Ty::F16x2) {
        return None;
    }
    let filter = if component.is_some() { Filter::Linear } else { sample::filter_of(image) };
    let integer = uop.ty2 != Ty::F32;
    let first = usize::from(geom.layered());
    // SAFETY: the coordinates have these rows.
    let row = |k: usize| unsafe { &(*args.src[1].add(k)).0 };
    let (x, y, z) = match geom {
        TexGeom::Cube | TexGeom::Acube => {
            if integer || level.depth < 6 {
                return None;
            }
            let [mut s, mut t] = [[0.0; LANES]; 2];
            let mut z = [0; LANES];
            let cubes = (level.depth / 6).max(1);
            let scale = |n: u32| if sampler.normalized { 1.0 } else { n as f32 };
            for lane in 0..LANES {
                let direction = [0, 1, 2].map(|k| f32::from_bits(row(first + k)[lane]));
                let (face, a, b) = cube::face(direction);
                let layer = if geom.layered() { row(0)[lane] } else { 0 };
                z[lane] = (layer.min(cubes - 1) * 6 + face) as i32;
                (s[lane], t[lane]) = (a * scale(level.width), b * scale(level.height));
            }
            let x = axis::<WIDE>(&s, level.width, image, 0, filter);
            let y = axis::<WIDE>(&t, level.height, image, 1, filter);
            (x, y, Axis::whole(z))
        }
        _ => {
            let x = along::<WIDE>(row(first), level.width, image, 0, filter, integer);
            let one_d = matches!(geom, TexGeom::D1 | TexGeom::A1d);
            let y = if one_d {
                Axis::ZERO
            } else {
                along::<WIDE>(row(first + 1), level.height, image, 1, filter, integer)
            };
            let z = match geom {
                TexGeom::D3 => along::<WIDE>(row(2), level.depth, image, 2, filter, integer),
                _ if geom.layered() => Axis::whole(row(0).map(|layer| layer.min(level.depth - 1) as i32)),
                _ => Axis::ZERO,
            };
            (x, y, z)
        }
    };
    if !T::IS_IDLE {
        report(texels, [&x, &y, &z], component.is_some(), args.mask, trace);
    }
    let mut result = Channels::ZERO;
    match component {
        None => filtered(texels, [&x, &y, &z], &mut result),
        Some(component) => {
            let mut texel = Channels::ZERO;
            for (k, (i, j)) in GATHERED.into_iter().enumerate() {
                texels.at(x.texels(i), y.texels(j), z.texels(0), &mut texel);
                result.0[k] = texel.0[usize::from(component & 3)];
            }
        }
    }
    for (k, words) in result.0.iter().enumerate() {
        // SAFETY: a fetch has four rows of results.
        unsafe { put(&mut *args.dst.add(k), words, args.mask) };
    }
    Some(())
}

/// The sides, along x and along y, of the texels that are gathered.
const GATHERED: [(usize, usize); 4] = [(0, 1), (1, 1), (1, 0), (0, 0)];

/// Reports the texels that lanes read, in the order in which they do one after the other. Those without weight are not read.
#[inline(always)]
fn report(texels: &Texels, [x, y, z]: [&Axis; 3], gathers: bool, mask: u32, trace: &mut impl Trace) {
    if !gathers && !x.filtered {
        let (offsets, outside) = texels.offsets(x.texels(0), y.texels(0), z.texels(0));
        return trace.texels(texels.level.address, &offsets, texels.texel_bytes, mask & !outside);
    }
    for lane in lanes_of(mask) {
        let mut read = |i: usize, j: usize, k: usize| {
            let place = [x.texels(i)[lane], y.texels(j)[lane], z.texels(k)[lane]];
            if let Some(address) = texels.address(place) {
                trace.texel(address, texels.texel_bytes.into());
            }
        };
        if gathers {
            GATHERED.into_iter().for_each(|(i, j)| read(i, j, 0));
            continue;
        }
        for k in 0..=usize::from(z.weight[lane] != 0.0) {
            for j in 0..=usize::from(y.weight[lane] != 0.0) {
                (0..=usize::from(x.weight[lane] != 0.0)).for_each(|i| read(i, j, k));
            }
        }
    }
}

/// One axis, by numbers of texels or by coordinates. A function rather than a closure, which would not have the host's vector instructions.
#[inline(always)]
fn along<const WIDE: bool>(
    words: &Words,
    n: u32,
    image: &Image,
    which: usize,
    filter: Filter,
    integer: bool,
) -> Axis {
    if !integer {
        let mut at = [0.0; LANES];
        for lane in 0..LANES {
            at[lane] = f32::from_bits(words[lane]);
        }
        return axis::<WIDE>(&at, n, image, which, filter);
    }
    let mut index = [0; LANES];
    for lane in 0..LANES {
        index[lane] = words[lane] as i32;
    }
    let mode = image.sampler.address[which];
    let border = image.storage.shape == Shape::Linear || mode == AddressMode::Border;
    wrap(&mut index, n, if border { AddressMode::Border } else { AddressMode::Clamp });
    Axis::whole(index)
}

/// The texels around each place, interpolated along each filtered axis: x first, z last. Without filtering, the texel of each place.
#[inline(always)]
fn filtered(texels: &Texels, [x, y, z]: [&Axis; 3], result: &mut Channels) {
    if !x.filtered {
        return texels.at(x.texels(0), y.texels(0), z.texels(0), result);
    }
    let [mut plane, mut row, mut right] = [Channels::ZERO; 3];
    let used = texels.used_channels;
    for k in 0..=usize::from(z.filtered) {
        for j in 0..=usize::from(y.filtered) {
            let left = match (j, k) {
                (0, 0) => &mut *result,
                (0, _) => &mut plane,
                _ => &mut row,
            };
            texels.at(x.texels(0), y.texels(j), z.texels(k), left);
            texels.at(x.texels(1), y.texels(j), z.texels(k), &mut right);
            mix(left, &right, &x.weight, used);
            if j == 1 {
                mix(if k == 0 { &mut *result } else { &mut plane }, &row, &y.weight, used);
            }
        }
        if k == 1 {
            mix(result, &plane, &z.weight, used);
        }
    }
}

/// Stores values in the lanes of the mask.
#[inline(always)]
fn put(row: &mut Row, words: &Words, mask: u32) {
    if mask == u32::MAX {
        row.0 = *words;
    } else {
        for lane in 0..LANES {
            let keep = (mask >> lane & 1).wrapping_sub(1);
            row.0[lane] = row.0[lane] & keep | words[lane] & !keep;
        }
    }
}
