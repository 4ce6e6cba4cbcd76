// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speckle reduction of an image by anisotropic diffusion, after Rodinia's srad_v2: tiles in shared memory, the speckle of a region by
//! the host.

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const SIDE: u32 = 16;
// Multiples of the tile.
const COLS: Dim = Dim::new("columns", [32, 160, 320, 640]);
const ROWS: Dim = Dim::new("rows", [48, 144, 288, 576]);
const ITERATIONS: Dim = Dim::new("iterations", [1, 3, 3, 6]);
const LAMBDA: f32 = 0.5;
/// Pixels of a side of the region that the speckle is taken from.
const REGION: usize = 24;

static INFO: Info = Info {
    name: "srad_v2",
    about: "removes speckle in tiles",
    domain: "image processing",
    suite: "Rodinia",
    program: "srad_v2",
    kernels: &[
        Kernel::after("srad2_coefficient", "srad_cuda_1", [16, 16, 1], "once an iteration").shared(6144),
        Kernel::after("srad2_update", "srad_cuda_2", [16, 16, 1], "once an iteration").shared(5120),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[COLS, ROWS, ITERATIONS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 16 x 16 threads, a pixel a thread, tiles in shared memory, as Rodinia's, whose image is 2048 x 2048; Rodinia keeps six and five tiles in a block, ours the one that others read",
    values_from: "exponentials of uniform numbers from 0 to 1, as Rodinia draws and transforms them; a step of 0.5",
    generator: 3,
    source: include_str!("../cuda/srad_v2.cu"),
    ptx: include_str!("../ptx/srad_v2.ptx"),
};

pub struct SradV2;

impl Workload for SradV2 {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (cols, rows) = (COLS.at(size), ROWS.at(size));
        let count = (cols * rows) as usize;
        let mut rng = Rng::new(seed);
        let start: Vec<f32> = (0..count).map(|_| libm::expf(rng.unit())).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let image = job.upload("image", &start)?;
        let coefficient = job.zeros::<f32>("coefficient", count)?;
        let mut derivative = |name| job.zeros::<f32>(name, count);
        let [east, west] = [derivative("east")?, derivative("west")?];
        let [north, south] = [derivative("north")?, derivative("south")?];
        let grid = (cols / SIDE, rows / SIDE);
        for _ in 0..ITERATIONS.at(size) {
            let now: Vec<f32> = job.download(image, count)?;
            let args = Args::new().ptr(image).ptr(coefficient).ptr(east).ptr(west).ptr(north).ptr(south);
            let args = args.i32(cols as i32).i32(rows as i32).f32(speckle(&now, cols as usize));
            job.launch("srad2_coefficient", grid, (SIDE, SIDE), args)?;
            let args = Args::new().ptr(image).ptr(coefficient).ptr(east).ptr(west).ptr(north).ptr(south);
            let args = args.i32(cols as i32).i32(cols as i32 - 1).i32(rows as i32 - 1).f32(LAMBDA);
            job.launch("srad2_update", grid, (SIDE, SIDE), args)?;
        }
        let found: Vec<f32> = job.download(image, count)?;
        let found_coefficient: Vec<f32> = job.download(coefficient, count)?;
        job.finish()?;

        let mut now = start;
        let mut last = Vec::new();
        for _ in 0..ITERATIONS.at(size) {
            (now, last) = step(&now, cols as usize);
        }
        Ok(Check::exact().output("image", &now, &found).output("coefficient", &last, &found_coefficient))
    }
}

/// The variance of a corner by the square of its mean.
fn speckle(image: &[f32], cols: usize) -> f32 {
    let corner = image.chunks_exact(cols).take(REGION).flat_map(|row| &row[..REGION]);
    let (sum, squares) =
        corner.fold((0.0f32, 0.0f32), |(sum, squares), pixel| (sum + pixel, squares + pixel * pixel));
    let mean = sum / (REGION * REGION) as f32;
    (squares / (REGION * REGION) as f32 - mean * mean) / (mean * mean)
}

with_fused! {
    /// The image after an iteration, and the coefficients of that iteration.
    fn step(image: &[f32], cols: usize) -> (Vec<f32>, Vec<f32>) { |fused| step_with(fused, image, cols) }
}

#[inline(always)]
fn step_with(fused: impl Fused, image: &[f32], cols: usize) -> (Vec<f32>, Vec<f32>) {
    let rows = image.len() / cols;
    let speckle = speckle(image, cols);
    let place = |at: usize| (at / cols, at % cols);
    let mut derivatives = Vec::with_capacity(image.len());
    let mut coefficients = Vec::with_capacity(image.len());
    for at in 0..image.len() {
        let ((y, x), here) = (place(at), image[at]);
        let apart = |inside: bool, other: usize| if inside { image[other] } else { here } - here;
        let dn = apart(y > 0, at.wrapping_sub(cols));
        let ds = apart(y < rows - 1, at + cols);
        let dw = apart(x > 0, at.wrapping_sub(1));
        let de = apart(x < cols - 1, at + 1);
        let g2 = fused.fma(de, de, fused.fma(dw, dw, fused.fma(ds, ds, dn * dn))) / (here * here);
        let l = (dn + ds + dw + de) / here;
        let num = fused.fma(0.5, g2, -(0.0625 * (l * l)));
        let den = fused.fma(0.25, l, 1.0);
        let q = num / (den * den);
        let c = 1.0 / (1.0 + (q - speckle) / (speckle * (1.0 + speckle)));
        derivatives.push([dn, ds, dw, de]);
        coefficients.push(c.clamp(0.0, 1.0));
    }
    let mut updated = Vec::with_capacity(image.len());
    for at in 0..image.len() {
        let ((y, x), here, [dn, ds, dw, de]) = (place(at), coefficients[at], derivatives[at]);
        let down = if y < rows - 1 { coefficients[at + cols] } else { here };
        let right = if x < cols - 1 { coefficients[at + 1] } else { here };
        let flow = fused.fma(right, de, fused.fma(here, dw, fused.fma(down, ds, here * dn)));
        updated.push(fused.fma(0.25 * LAMBDA, flow, image[at]));
    }
    (updated, coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffusion_smooths() {
        let mut rng = Rng::new(5);
        let image: Vec<f32> = (0..48 * 32).map(|_| libm::expf(rng.unit())).collect();
        let rough = |image: &[f32]| image.windows(2).map(|pair| (pair[0] - pair[1]).abs()).sum::<f32>();
        let (smoother, _) = step(&image, 48);
        assert!(rough(&smoother) < rough(&image));
    }
}
