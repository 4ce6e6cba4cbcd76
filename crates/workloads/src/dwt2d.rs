// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wavelet transform of a colour image, after Rodinia's dwt2d: three planes, several levels, the reversible 5/3 filter.

use crate::check::Check;
use crate::images::photo;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const WIDE: u32 = 64;
const HIGH: u32 = 8;
/// Windows that a block takes, one below the other.
const STEPS: u32 = 2;
const WIDTH: Dim = Dim::new("width", [67, 256, 512, 1_280]);
const HEIGHT: Dim = Dim::new("height", [15, 128, 256, 960]);
const LEVELS: Dim = Dim::new("levels", [2, 3, 3, 3]);

static INFO: Info = Info {
    name: "dwt2d",
    about: "wavelets of an image",
    domain: "image processing",
    suite: "Rodinia",
    program: "dwt2d",
    kernels: &[
        Kernel::after("dwt_components", "c_CopySrcToComponents", [256, 1, 1], "once").shared(768),
        Kernel::after("dwt_53", "fdwt53Kernel", [192, 1, 1], "once a plane and level")
            .but([64, 1, 1], "once a plane and level")
            .block_unknown(),
    ],
    missing: &["fdwt97Kernel, the lossy filter, which the program uses instead when it is asked to"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[WIDTH, HEIGHT, LEVELS],
    fill: Fill::Partial("each level has a quarter of the windows of the one before: in the algorithm"),
    known: Known::Recalled,
    shape_from: "windows that slide down the image, a thread a column, as the original's, whose windows are 64, 128 or 192 columns wide by the width of the image; ours are always the narrowest, reload the rows where they overlap, and are 8 rows high",
    values_from: "bytes of a generated photograph in three colours that are much alike, as those of Rodinia's picture",
    generator: 3,
    source: include_str!("../cuda/dwt2d.cu"),
    ptx: include_str!("../ptx/dwt2d.ptx"),
};

pub struct Dwt2d;

impl Workload for Dwt2d {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (width, height, levels) = (WIDTH.at(size), HEIGHT.at(size), LEVELS.at(size));
        let count = (width * height) as usize;
        let pixels = colours(width as usize, height as usize, seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let blocks = (count as u32).div_ceil(BLOCK);
        let mut padded = pixels.clone();
        padded.resize((blocks * BLOCK * 3) as usize, 0);
        let source = job.upload("pixels", &padded)?;
        let planes = [
            job.zeros::<i32>("red", count)?,
            job.zeros::<i32>("green", count)?,
            job.zeros::<i32>("blue", count)?,
        ];
        let low = [job.zeros::<i32>("low", count)?, job.zeros::<i32>("lower", count)?];
        let out = job.zeros::<i32>("bands", count)?;
        let args = Args::new().ptr(source).ptr(planes[0]).ptr(planes[1]).ptr(planes[2]).i32(count as i32);
        job.launch("dwt_components", blocks, BLOCK, args)?;
        let mut check = Check::exact();
        for (plane, name) in planes.into_iter().zip(["red", "green", "blue"]) {
            let (mut from, mut w, mut h) = (plane, width, height);
            for level in 0..levels as usize {
                let args = Args::new().ptr(from).ptr(out).ptr(low[level % 2]);
                let args = args.i32(w as i32).i32(h as i32).i32(width as i32).i32(STEPS as i32);
                job.launch("dwt_53", (w.div_ceil(WIDE), h.div_ceil(HIGH * STEPS)), WIDE, args)?;
                (from, w, h) = (low[level % 2], w.div_ceil(2), h.div_ceil(2));
            }
            let found: Vec<i32> = job.download(out, count)?;
            let colour = ["red", "green", "blue"].iter().position(|other| *other == name).unwrap_or(0);
            let values: Vec<i32> =
                pixels[colour..].iter().step_by(3).map(|byte| i32::from(*byte) - 128).collect();
            let expected = transform(values, width as usize, height as usize, levels);
            check = check.output(name, &expected, &found);
        }
        job.finish()?;
        Ok(check)
    }
}

/// A picture, three bytes a pixel.
fn colours(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let light = photo(width, height, &mut rng);
    let tint = photo(width, height, &mut rng);
    let mix = |a: u8, b: u8, part: i32| ((i32::from(a) * (8 - part) + i32::from(b) * part) / 8) as u8;
    light
        .iter()
        .zip(&tint)
        .flat_map(|(light, tint)| [*light, mix(*light, *tint, 1), mix(*light, *tint, 3)])
        .collect()
}

/// All levels of a plane: bands of each level beside and below the low one.
fn transform(plane: Vec<i32>, width: usize, height: usize, levels: u32) -> Vec<i32> {
    let mut out = plane.clone();
    let (mut low, mut w, mut h) = (plane, width, height);
    for _ in 0..levels {
        for row in low.chunks_exact_mut(w) {
            let lifted = lift(row);
            row.copy_from_slice(&lifted);
        }
        low = lift_columns(&low, w);
        for (y, row) in low.chunks_exact(w).enumerate() {
            out[y * width..y * width + w].copy_from_slice(row);
        }
        let (half_w, half_h) = (w.div_ceil(2), h.div_ceil(2));
        low = (0..half_w * half_h).map(|at| low[at / half_w * w + at % half_w]).collect();
        (w, h) = (half_w, half_h);
    }
    out
}

/// One line: its low half, then its high half.
fn lift(line: &[i32]) -> Vec<i32> {
    let n = line.len() as i32;
    let mirrored = |at: i32| if at < 0 { -at } else if at < n { at } else { 2 * n - 2 - at } as usize;
    let x = |at: i32| line[mirrored(at)];
    let high = |at: i32| x(at) - ((x(at - 1) + x(at + 1)) >> 1);
    let highs: Vec<i32> = (1..n).step_by(2).map(high).collect();
    let near = |at: i32| highs[mirrored(at) / 2];
    let low = (0..n).step_by(2).map(|at| x(at) + ((near(at - 1) + near(at + 1) + 2) >> 2));
    low.chain(highs.iter().copied()).collect()
}

/// All columns of a plane: their low halves, then their high halves.
fn lift_columns(plane: &[i32], width: usize) -> Vec<i32> {
    let n = plane.len() / width;
    let mirrored = |at: usize| if at < n { at } else { 2 * n - 2 - at };
    let row = |at: usize| &plane[mirrored(at) * width..][..width];
    let mut lifted = plane.to_vec();
    let (lows, highs) = lifted.split_at_mut(n.div_ceil(2) * width);
    for (at, high) in (1..n).step_by(2).zip(highs.chunks_exact_mut(width)) {
        let (before, here, after) = (row(at - 1), row(at), row(at + 1));
        for (x, high) in high.iter_mut().enumerate() {
            *high = here[x] - ((before[x] + after[x]) >> 1);
        }
    }
    for (at, low) in (0..n).step_by(2).zip(lows.chunks_exact_mut(width)) {
        let near = |at: usize| &highs[mirrored(at) / 2 * width..][..width];
        let (before, here, after) = (near(at.abs_diff(1)), row(at), near(at + 1));
        for (x, low) in low.iter_mut().enumerate() {
            *low = here[x] + ((before[x] + after[x] + 2) >> 2);
        }
    }
    lifted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_lifted_as_lines_are() {
        for height in 2..12 {
            let plane = Rng::new(height).ints(3 * height as usize, -128, 128);
            let lifted = lift_columns(&plane, 3);
            for x in 0..3 {
                let column = |plane: &[i32]| -> Vec<i32> { plane[x..].iter().step_by(3).copied().collect() };
                assert_eq!(column(&lifted), lift(&column(&plane)));
            }
        }
    }

    #[test]
    fn a_flat_line_has_no_high_half_and_a_ramp_none_inside() {
        assert_eq!(lift(&[7; 9]), [7, 7, 7, 7, 7, 0, 0, 0, 0]);
        let ramp: Vec<i32> = (0..10).map(|at| 4 * at).collect();
        assert_eq!(lift(&ramp)[5..9], [0; 4]);
    }
}
