// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of absolute differences for the motion search of a video encoder, after Parboil's sad.

use crate::check::Check;
use crate::images::photo;
use crate::job::{Job, SHORT};
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::texture::Sampler;
use warpwatt_runtime::{Args, Device, Error};

const THREADS: u32 = 61;
/// Kinds of blocks in a macroblock.
const KINDS: u32 = 41;
// Macroblocks.
const WIDE: Dim = Dim::new("wide", [2, 3, 5, 16]);
const HIGH: Dim = Dim::new("high", [1, 2, 4, 11]);
// Pixels that a block may have moved by in each direction.
const RANGE: Dim = Dim::new("range", [4, 16, 16, 16]);

static INFO: Info = Info {
    name: "sad",
    about: "motion search in a video",
    domain: "video",
    suite: "Parboil",
    program: "sad",
    kernels: &[
        Kernel::after("sad_4x4", "mb_sad_calc", [61, 1, 1], "once"),
        Kernel::after("sad_8", "larger_sad_calc_8", [32, 4, 1], "once"),
        Kernel::after("sad_16", "larger_sad_calc_16", [32, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[WIDE, HIGH, RANGE],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a block of 61 threads for each 4 x 4 pixels, which share 1089 places, 18 a thread; a block a macroblock for the larger blocks; the reference frame through a texture of 16-bit texels. Frames are parts of the original's 176 x 144 pixels",
    values_from: "two frames of a generated photograph, the second moved by up to 6 pixels and with noise of the sensor",
    generator: 3,
    source: include_str!("../cuda/sad.cu"),
    ptx: include_str!("../ptx/sad.ptx"),
};

pub struct Sad;

impl Workload for Sad {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (wide, high, range) = (WIDE.at(size), HIGH.at(size), RANGE.at(size));
        let (width, height) = (16 * wide, 16 * high);
        let side = 2 * range + 1;
        let places = side * side;
        let padded = places.next_multiple_of(8);
        let (reference, frame) = frames(width as usize, height as usize, seed);
        let count = (wide * high * KINDS * padded) as usize;

        let mut job = Job::new(dev, &INFO, ptx)?;
        let before = job.upload("reference", &reference)?;
        let texture = job.image_texture(before, width, height, SHORT, Sampler::default());
        let now = job.upload("frame", &frame)?;
        let sums = job.zeros::<u16>("sums", count)?;
        let args = Args::new().u64(texture).ptr(now).ptr(sums).u32(width).u32(range).u32(padded);
        job.launch("sad_4x4", (4 * wide, 4 * high), THREADS, args)?;
        let args = || Args::new().ptr(sums).u32(places).u32(padded);
        job.launch("sad_8", (wide, high), (32, 4), args())?;
        job.launch("sad_16", (wide, high), 32, args())?;
        let found: Vec<u16> = job.download(sums, count)?;
        job.finish()?;

        let mut expected = vec![0u16; count];
        let video = Video::new(&reference, frame, width as usize, range as usize);
        let macroblocks = expected.chunks_exact_mut((KINDS * padded) as usize);
        macroblocks.enumerate().for_each(|(at, sums)| video.add_sums(at, sums));
        Ok(Check::exact().output("sums", &expected, &found))
    }
}

/// Two frames one after the other.
fn frames(width: usize, height: usize, seed: u64) -> (Vec<u16>, Vec<u16>) {
    let mut rng = Rng::new(seed);
    let scene = photo(width + 6, height + 6, &mut rng);
    let (dx, dy) = (rng.below(6) as usize, rng.below(6) as usize);
    let part = |x0: usize, y0: usize| -> Vec<u16> {
        let rows = scene.chunks_exact(width + 6).skip(y0).take(height);
        rows.flat_map(|row| row[x0..x0 + width].iter().map(|pixel| u16::from(*pixel))).collect()
    };
    let reference = part(3, 3);
    let noisy =
        part(dx, dy).into_iter().map(|pixel| (i32::from(pixel) + rng.int(-2, 3)).clamp(0, 255) as u16);
    (reference, noisy.collect())
}

struct Video {
    frame: Vec<u16>,
    /// Rows with as many pixels like the last ones at both ends as the motion is searched.
    reference: Vec<Vec<u16>>,
    width: usize,
    range: usize,
}

impl Video {
    fn new(reference: &[u16], frame: Vec<u16>, width: usize, range: usize) -> Self {
        let longer = |row: &[u16]| [&vec![row[0]; range], row, &vec![row[width - 1]; range]].concat();
        Video { frame, reference: reference.chunks_exact(width).map(longer).collect(), width, range }
    }

    /// Adds up all sums of a macroblock, those of a kind side by side for all places.
    fn add_sums(&self, macroblock: usize, sums: &mut [u16]) {
        let blocks = self.width / 16;
        let (left, top) = (macroblock % blocks * 16, macroblock / blocks * 16);
        let places = sums.len() / KINDS as usize;
        wide(|| {
            for (block, sums) in sums.chunks_exact_mut(places).take(16).enumerate() {
                self.add_block(left + block % 4 * 4, top + block / 4 * 4, sums);
            }
            add_up(sums, places);
        });
    }

    /// Adds the differences of a block of 4 x 4 pixels from the reference at all places.
    #[inline(always)]
    fn add_block(&self, left: usize, top: usize, sums: &mut [u16]) {
        let side = 2 * self.range + 1;
        for (dy, sums) in sums.chunks_exact_mut(side).take(side).enumerate() {
            for (y, x) in (0..16).map(|at| (top + at / 4, left + at % 4)) {
                let now = self.frame[y * self.width + x];
                let row = (y + dy).saturating_sub(self.range).min(self.reference.len() - 1);
                for (sum, before) in sums.iter_mut().zip(&self.reference[row][x..x + side]) {
                    *sum += now.abs_diff(*before);
                }
            }
        }
    }
}

/// The larger blocks of a macroblock from those of 4 x 4 pixels, at as many places.
#[inline(always)]
fn add_up(sums: &mut [u16], places: usize) {
    let (blocks, larger) = sums.split_at_mut(16 * places);
    for (block, parts) in blocks.chunks_exact(places).enumerate() {
        let (row, column) = (block / 4, block % 4);
        let quarter = row / 2 * 2 + column / 2;
        let kinds = [2 * quarter + row % 2, 8 + 2 * quarter + column % 2, 16 + quarter];
        for kind in kinds.into_iter().chain([20 + row / 2, 22 + column / 2, 24]) {
            let sums = &mut larger[kind * places..][..places];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_motion_has_the_least_sum() {
        let (reference, frame) = frames(64, 64, 3);
        let video = Video::new(&reference, frame, 64, 6);
        let mut sums = vec![0; 169 * KINDS as usize];
        video.add_sums(5, &mut sums);
        let whole = sums[40 * 169..].iter().zip(0..);
        let best = whole.map(|(sum, place)| (*sum, place % 13 - 6, place / 13 - 6)).min();
        let (sum, dx, dy) = best.expect("some place");
        assert!(sum < 256 * 2 && (-3..3).contains(&dx) && (-3..3).contains(&dy), "{sum} at {dx}, {dy}");
    }
}
