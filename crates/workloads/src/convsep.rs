// SPDX-License-Identifier: MIT OR Apache-2.0
//! Convolution of an image by a separable filter, after the CUDA SDK's convolutionSeparable.

use crate::check::Check;
use crate::fused::add_products;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const RADIUS: usize = 8;
const ROW: [u32; 2] = [16, 4];
const COLUMN: [u32; 2] = [16, 8];
// Multiples of 16 and of 8 times the steps.
const WIDTH: Dim = Dim::new("width", [64, 256, 768, 1_536]);
const HEIGHT: Dim = Dim::new("height", [32, 384, 576, 1_920]);
// Results of a thread, one beside or below the other; the original has eight.
const STEPS: Dim = Dim::new("steps", [2, 8, 8, 8]);

static INFO: Info = Info {
    name: "convsep",
    about: "filters rows and columns",
    domain: "image processing",
    suite: "CUDA SDK",
    program: "convolutionSeparable",
    kernels: &[
        Kernel::after("convsep_rows", "convolutionRowsKernel", [16, 4, 1], "once"),
        Kernel::after("convsep_columns", "convolutionColumnsKernel", [16, 8, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[WIDTH, HEIGHT, STEPS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 16 x 4 threads for rows and 16 x 8 for columns, eight results a thread and a step of cells on either side, 17 taps in constant memory, as the original's, whose image is 3072 x 3072",
    values_from: "whole numbers from 0 to 15 as cells and taps, as the original's host program draws them",
    generator: 3,
    source: include_str!("../cuda/convsep.cu"),
    ptx: include_str!("../ptx/convsep.ptx"),
};

pub struct Convsep;

impl Workload for Convsep {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (width, height) = (WIDTH.at(size), HEIGHT.at(size));
        let steps = STEPS.at(size);
        let count = (width * height) as usize;
        let mut rng = Rng::new(seed);
        let taps: Vec<f32> = rng.ints(2 * RADIUS + 1, 1, 16).into_iter().map(|tap| tap as f32).collect();
        let image: Vec<f32> = rng.ints(count, 0, 16).into_iter().map(|cell| cell as f32).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("taps", &taps)?;
        let input = job.upload("image", &image)?;
        let rows = job.zeros::<f32>("rows", count)?;
        let output = job.zeros::<f32>("columns", count)?;
        let grid = (width / (steps * ROW[0]), height / ROW[1]);
        let args = Args::new().ptr(rows).ptr(input).i32(width as i32).i32(steps as i32);
        job.launch("convsep_rows", grid, (ROW[0], ROW[1]), args)?;
        let grid = (width / COLUMN[0], height / (steps * COLUMN[1]));
        let args = Args::new().ptr(output).ptr(rows).i32(width as i32).i32(height as i32).i32(steps as i32);
        job.launch("convsep_columns", grid, (COLUMN[0], COLUMN[1]), args)?;
        let found_rows: Vec<f32> = job.download(rows, count)?;
        let found: Vec<f32> = job.download(output, count)?;
        job.finish()?;

        let (width, height) = (width as usize, height as usize);
        let rows = filter_rows(&image, width, &taps);
        let columns = filter_columns(&rows, width, height, &taps);
        Ok(Check::exact().output("rows", &rows, &found_rows).output("columns", &columns, &found))
    }
}

/// Each row by the taps, the last one first; cells outside of the image are 0.
fn filter_rows(cells: &[f32], width: usize, taps: &[f32]) -> Vec<f32> {
    let radius = taps.len() / 2;
    let mut sums = vec![0.0; cells.len()];
    let mut padded = vec![0.0; width + 2 * radius];
    for (sums, row) in sums.chunks_exact_mut(width).zip(cells.chunks_exact(width)) {
        padded[radius..radius + width].copy_from_slice(row);
        for (reach, tap) in taps.iter().rev().enumerate() {
            add_products(sums, *tap, &padded[reach..reach + width]);
        }
    }
    sums
}

/// Each column by the taps, the last one first; cells outside of the image are 0.
fn filter_columns(cells: &[f32], width: usize, height: usize, taps: &[f32]) -> Vec<f32> {
    let radius = taps.len() / 2;
    let mut sums = vec![0.0; cells.len()];
    let outside = vec![0.0; width];
    for (y, sums) in sums.chunks_exact_mut(width).enumerate() {
        for (reach, tap) in taps.iter().rev().enumerate() {
            let from = (y + reach).wrapping_sub(radius);
            let row = if from < height { &cells[from * width..][..width] } else { &outside };
            add_products(sums, *tap, row);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::fma;

    /// Each cell by the taps; `from` is the cell of a tap, if it is in the image.
    fn filter(cells: &[f32], taps: &[f32], from: impl Fn(usize, usize) -> Option<usize>) -> Vec<f32> {
        let one = |at: usize| {
            (0..taps.len()).fold(0.0, |sum, reach| {
                let cell = from(at, reach).map_or(0.0, |other| cells[other]);
                fma(taps[taps.len() - 1 - reach], cell, sum)
            })
        };
        (0..cells.len()).map(one).collect()
    }

    #[test]
    fn a_single_cell_becomes_the_taps() {
        assert_eq!(filter_rows(&[0.0, 0.0, 1.0, 0.0, 0.0], 5, &[3.0, 5.0, 7.0]), [0.0, 3.0, 5.0, 7.0, 0.0]);
    }

    #[test]
    fn rows_and_columns_at_once_are_those_cell_by_cell() {
        let (width, height) = (9, 7);
        let mut rng = Rng::new(3);
        let (image, taps) = (rng.floats(width * height, -1.0, 1.0), rng.floats(5, -1.0, 1.0));
        let rows = filter(&image, &taps, |at, reach| {
            let x = (at % width + reach).wrapping_sub(2);
            (x < width).then(|| at - at % width + x)
        });
        let columns = filter(&image, &taps, |at, reach| {
            let y = (at / width + reach).wrapping_sub(2);
            (y < height).then(|| y * width + at % width)
        });
        assert_eq!(filter_rows(&image, width, &taps), rows);
        assert_eq!(filter_columns(&image, width, height, &taps), columns);
    }
}
