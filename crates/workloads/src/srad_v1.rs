// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speckle-reducing anisotropic diffusion of an ultrasound image, after Rodinia's srad_v1: six kernels, of which four run in every
//! iteration, and sums that the host turns into the speckle of a homogeneous area. Exponentials and logarithms are approximate, so the
//! image is checked within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 512;
const ROWS: Dim = Dim::new("rows", [37, 150, 240, 502]);
const COLS: Dim = Dim::new("columns", [29, 140, 192, 458]);
const ITERATIONS: Dim = Dim::new("iterations", [2, 3, 4, 7]);
const LAMBDA: f32 = 0.5;
const TOLERANCE: f64 = 1e-4;

static INFO: Info = Info {
    name: "srad_v1",
    about: "removes speckle of images",
    domain: "medical imaging",
    suite: "Rodinia",
    program: "srad_v1",
    kernels: &[
        Kernel::after("srad_extract", "extract", [512, 1, 1], "once"),
        Kernel::after("srad_prepare", "prepare", [512, 1, 1], "once an iteration"),
        Kernel::after("srad_reduce", "reduce", [512, 1, 1], "once a level and iteration").shared(4096),
        Kernel::after("srad_coefficient", "srad", [512, 1, 1], "once an iteration"),
        Kernel::after("srad_update", "srad2", [512, 1, 1], "once an iteration"),
        Kernel::after("srad_compress", "compress", [512, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[ROWS, COLS, ITERATIONS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "Rodinia's blocks of 512 threads, a pixel a thread, neighbours through arrays of indices; 502 x 458 pixels, Rodinia's image, at large",
    values_from: "bright and dark areas times speckle, pixels from 0 to 255, as in ultrasound images of the heart, which Rodinia reads",
    generator: 3,
    source: include_str!("../cuda/srad_v1.cu"),
    ptx: include_str!("../ptx/srad_v1.ptx"),
};

pub struct SradV1;

impl Workload for SradV1 {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (rows, cols) = (ROWS.at(size) as i32, COLS.at(size) as i32);
        let n = rows * cols;
        let count = n as usize;
        let start = scan(rows as usize, cols as usize, seed);
        let grid = (n as u32).div_ceil(BLOCK);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let image = job.upload("image", &start)?;
        let mut floats = |name| job.zeros::<f32>(name, count);
        let (sums, squares) = (floats("sums")?, floats("squares")?);
        let (north, south) = (floats("north")?, floats("south")?);
        let (west, east) = (floats("west")?, floats("east")?);
        let coefficient = floats("coefficient")?;
        let back = |end: i32| (0..end).map(|at| (at - 1).max(0)).collect::<Vec<i32>>();
        let forth = |end: i32| (0..end).map(|at| (at + 1).min(end - 1)).collect::<Vec<i32>>();
        let (above, below) = (job.upload("above", &back(rows))?, job.upload("below", &forth(rows))?);
        let (before, after) = (job.upload("before", &back(cols))?, job.upload("after", &forth(cols))?);

        job.launch("srad_extract", grid, BLOCK, Args::new().ptr(image).i32(n))?;
        for _ in 0..ITERATIONS.at(size) {
            let args = Args::new().ptr(image).ptr(sums).ptr(squares).i32(n);
            job.launch("srad_prepare", grid, BLOCK, args)?;
            let (mut left, mut stride) = (n as u32, 1);
            while left > 1 {
                left = left.div_ceil(BLOCK);
                let args = Args::new().ptr(sums).ptr(squares).i32(n).i32(stride);
                job.launch("srad_reduce", left, BLOCK, args)?;
                stride *= BLOCK as i32;
            }
            let sum: Vec<f32> = job.download(sums, 1)?;
            let square: Vec<f32> = job.download(squares, 1)?;
            let speckle = speckle(f64::from(sum[0]), f64::from(square[0]), count) as f32;
            let args = Args::new().ptr(image).ptr(north).ptr(south).ptr(west).ptr(east).ptr(coefficient);
            let args = args.ptr(above).ptr(below).ptr(before).ptr(after).i32(rows).i32(n).f32(speckle);
            job.launch("srad_coefficient", grid, BLOCK, args)?;
            let args = Args::new().ptr(image).ptr(north).ptr(south).ptr(west).ptr(east).ptr(coefficient);
            let args = args.ptr(below).ptr(after).i32(rows).i32(n).f32(LAMBDA);
            job.launch("srad_update", grid, BLOCK, args)?;
        }
        job.launch("srad_compress", grid, BLOCK, Args::new().ptr(image).i32(n))?;
        let found = job.download(image, count)?;
        job.finish()?;

        let expected = reference(&start, rows as usize, ITERATIONS.at(size));
        // Differences of an eighth of a grey level, or a relative 1e-4 of brighter ones.
        Ok(Check::within(TOLERANCE).sums("image", 25.0, &expected, &found))
    }
}

/// Areas of different brightness with speckle, column by column.
fn scan(rows: usize, cols: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let areas: Vec<f32> = (0..25).map(|_| rng.float(15.0, 150.0)).collect();
    let pixel = |row: usize, col: usize, bell: f32| {
        let area = areas[row * 5 / rows * 5 + col * 5 / cols];
        let noise = (1.0 + 0.35 * bell).clamp(0.1, 2.2);
        (area * noise).clamp(0.0, 255.0).floor()
    };
    let bells = rng.bells(rows * cols);
    bells.into_iter().enumerate().map(|(at, bell)| pixel(at % rows, at / rows, bell)).collect()
}

/// Squared coefficient of variation of the whole image.
fn speckle(sum: f64, squares: f64, count: usize) -> f64 {
    let mean = sum / count as f64;
    (squares / count as f64 - mean * mean) / (mean * mean)
}

fn reference(start: &[f32], rows: usize, iterations: u32) -> Vec<f32> {
    let count = start.len();
    let cols = count / rows;
    let mut image: Vec<f64> = start.iter().map(|pixel| libm::exp(f64::from(*pixel) / 255.0)).collect();
    for _ in 0..iterations {
        let speckle = speckle(image.iter().sum(), image.iter().map(|x| x * x).sum(), count);
        let near = |at: usize| {
            let (row, col) = (at % rows, at / rows);
            let place = |row: usize, col: usize| col * rows + row;
            [
                place(row.saturating_sub(1), col),
                place((row + 1).min(rows - 1), col),
                place(row, col.saturating_sub(1)),
                place(row, (col + 1).min(cols - 1)),
            ]
        };
        let slopes: Vec<[f64; 4]> = (0..count).map(|at| near(at).map(|to| image[to] - image[at])).collect();
        let coefficients: Vec<f64> = slopes
            .iter()
            .zip(&image)
            .map(|(slopes, here)| {
                let g2 = slopes.iter().map(|d| d * d).sum::<f64>() / (here * here);
                let l = slopes.iter().sum::<f64>() / here;
                let q = (0.5 * g2 - l * l / 16.0) / (1.0 + 0.25 * l).powi(2);
                (1.0 / (1.0 + (q - speckle) / (speckle * (1.0 + speckle)))).clamp(0.0, 1.0)
            })
            .collect();
        for at in 0..count {
            let [_, below, _, after] = near(at);
            let [north, south, west, east] = slopes[at];
            let here = coefficients[at];
            let flow = here * (north + west) + coefficients[below] * south + coefficients[after] * east;
            image[at] += 0.25 * f64::from(LAMBDA) * flow;
        }
    }
    image.into_iter().map(|pixel| (libm::log(pixel) * 255.0) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffusion_smooths_and_keeps_a_flat_image() {
        let start = scan(40, 30, 2);
        let rough = |image: &[f32]| image.windows(2).map(|w| f64::from((w[0] - w[1]).abs())).sum::<f64>();
        assert!(rough(&reference(&start, 40, 6)) < 0.8 * rough(&start));
        let mut flat = vec![100.0; 1200];
        flat[0] = 101.0;
        let end = reference(&flat, 40, 1);
        assert!((end[600] - 100.0).abs() < 1e-3);
    }
}
