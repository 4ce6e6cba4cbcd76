// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrix transpose through shared tiles, after the sample of the CUDA SDK.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const TILE: u32 = 32;
const ROWS: u32 = 8;
// Not multiples of the tile, so that tiles at both edges are ragged.
const WIDTH: Dim = Dim::new("width", [203, 613, 1_603, 4_603]);
const HEIGHT: Dim = Dim::new("height", [179, 581, 1_501, 4_411]);

static INFO: Info = Info {
    name: "transpose",
    about: "transposes a matrix",
    domain: "linear algebra",
    suite: "CUDA SDK",
    program: "transpose",
    kernels: &[Kernel::after("transpose", "transposeNoBankConflicts", [TILE, ROWS, 1], "once").shared(4224)],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[WIDTH, HEIGHT],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "the sample's tile of 32 x 32 with a padded row, by 32 x 8 threads",
    values_from: "uniform numbers from 0 to 1",
    generator: 3,
    source: include_str!("../cuda/transpose.cu"),
    ptx: include_str!("../ptx/transpose.ptx"),
};

pub struct Transpose;

impl Workload for Transpose {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (width, height) = (WIDTH.at(size), HEIGHT.at(size));
        let count = (width * height) as usize;
        let input = Rng::new(seed).floats(count, 0.0, 1.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = job.upload("input", &input)?;
        let to = job.zeros::<f32>("transposed", count)?;
        let grid = (width.div_ceil(TILE), height.div_ceil(TILE));
        let args = Args::new().ptr(to).ptr(from).i32(width as i32).i32(height as i32);
        job.launch("transpose", grid, (TILE, ROWS), args)?;
        let output = job.download(to, count)?;
        job.finish()?;

        Ok(Check::exact().output("transposed", &reference(&input, width as usize), &output))
    }
}

fn reference(input: &[f32], width: usize) -> Vec<f32> {
    let mut transposed = Vec::with_capacity(input.len());
    for x in 0..width {
        transposed.extend(input.chunks_exact(width).map(|row| row[x]));
    }
    transposed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_swaps_rows_and_columns() {
        assert_eq!(reference(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
