// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cosine transforms of an image in squares of 8 x 8 pixels, their rounding and the way back, after the CUDA SDK's dct8x8. The reference
//! is the definition of the transform in double precision; what is rounded is checked on the coefficients that the GPU found.

use crate::check::Check;
use crate::images::photo;
use crate::job::{FLOAT, Job};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::texture::Sampler;
use warpwatt_runtime::{Args, Device, DevicePtr, Error};

const SIDE: u32 = 8;
// Multiples of 32 and of 16: a block of the second transform.
const WIDTH: Dim = Dim::new("width", [64, 320, 640, 1600]);
const HEIGHT: Dim = Dim::new("height", [48, 128, 480, 1440]);
/// Two sums of eight terms in single precision, beside pixels of up to 128.
const TOLERANCE: f64 = 1e-5;
const SCALE: f32 = 128.0;
/// Steps of the coefficients: the table for brightness of JPEG (ITU-T T.81, Annex K.1).
const STEPS: [f32; 64] = [
    16.0, 11.0, 10.0, 16.0, 24.0, 40.0, 51.0, 61.0, 12.0, 12.0, 14.0, 19.0, 26.0, 58.0, 60.0, 55.0, 14.0,
    13.0, 16.0, 24.0, 40.0, 57.0, 69.0, 56.0, 14.0, 17.0, 22.0, 29.0, 51.0, 87.0, 80.0, 62.0, 18.0, 22.0,
    37.0, 56.0, 68.0, 109.0, 103.0, 77.0, 24.0, 35.0, 55.0, 64.0, 81.0, 104.0, 113.0, 92.0, 49.0, 64.0, 78.0,
    87.0, 103.0, 121.0, 120.0, 101.0, 72.0, 92.0, 95.0, 98.0, 112.0, 100.0, 103.0, 99.0,
];

static INFO: Info = Info {
    name: "dct8x8",
    about: "cosine series of an image",
    domain: "image processing",
    suite: "CUDA SDK",
    program: "dct8x8",
    kernels: &[
        Kernel::after("dct_by_matrix", "CUDAkernel1DCT", [8, 8, 1], "ten times")
            .but([8, 8, 1], "once")
            .shared(512),
        Kernel::after("dct_forward", "CUDAkernel2DCT", [8, 4, 2], "a hundred times")
            .but([8, 4, 2], "once")
            .shared(2112),
        Kernel::after("dct_quantize", "CUDAkernelQuantizationFloat", [8, 8, 1], "once a transform")
            .but([8, 8, 1], "once"),
        Kernel::after("dct_inverse", "CUDAkernel2IDCT", [8, 4, 2], "once")
            .but([8, 4, 2], "twice")
            .shared(2112),
    ],
    missing: &[
        "CUDAkernel1IDCT, which does by matrices what CUDAkernel2IDCT does",
        "CUDAkernelShortDCT, CUDAkernelQuantizationShort and CUDAkernelShortIDCT, the same in 16-bit integers",
    ],
    order_dependent: false,
    data: Data::Float,
    dims: &[WIDTH, HEIGHT],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a thread a pixel of a square and the image through a texture in the first transform, eight threads a square and 32 x 16 pixels a block in the second, as the sample's, which has an image of 512 x 512",
    values_from: "an image with the spectrum of photographs, less 128, as the sample centres its photograph; steps of JPEG's table for brightness, where the sample has one of its own",
    generator: 3,
    source: include_str!("../cuda/dct8x8.cu"),
    ptx: include_str!("../ptx/dct8x8.ptx"),
};

pub struct Dct8x8;

impl Workload for Dct8x8 {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (width, height) = (WIDTH.at(size), HEIGHT.at(size));
        let count = (width * height) as usize;
        let image: Vec<f32> = photo(width as usize, height as usize, &mut Rng::new(seed))
            .into_iter()
            .map(|pixel| f32::from(pixel) - 128.0)
            .collect();
        let basis = basis();

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("basis", &basis.map(|weight| weight as f32))?;
        job.write_symbol("steps", &STEPS)?;
        let pixels = job.upload("image", &image)?;
        let texture = job.image_texture(pixels, width, height, FLOAT, Sampler::default());
        let by_matrix = job.zeros::<f32>("coefficients by matrix", count)?;
        let coefficients = job.zeros::<f32>("coefficients", count)?;
        let restored = job.zeros::<f32>("restored", count)?;
        let (squares, parts) = ((width / SIDE, height / SIDE), (width / 32, height / 16));
        let args = |from: DevicePtr, to: DevicePtr| Args::new().ptr(from).ptr(to).i32(width as i32);
        let args_by_matrix = Args::new().u64(texture).ptr(by_matrix).i32(width as i32);
        job.launch("dct_by_matrix", squares, (SIDE, SIDE), args_by_matrix)?;
        job.launch("dct_forward", parts, (8, 4, 2), args(pixels, coefficients))?;
        let found: Vec<f32> = job.download(coefficients, count)?;
        // Back from all coefficients, and from what rounding leaves of them: few of the high ones.
        job.launch("dct_inverse", parts, (8, 4, 2), args(coefficients, restored))?;
        let unrounded: Vec<f32> = job.download(restored, count)?;
        job.launch("dct_quantize", squares, (SIDE, SIDE), Args::new().ptr(coefficients).i32(width as i32))?;
        let rounded: Vec<f32> = job.download(coefficients, count)?;
        job.launch("dct_inverse", parts, (8, 4, 2), args(coefficients, restored))?;
        let by_matrix: Vec<f32> = job.download(by_matrix, count)?;
        let restored: Vec<f32> = job.download(restored, count)?;
        job.finish()?;

        let wide = width as usize;
        let want = transformed(&image, wide, |to, from| basis[8 * to + from]);
        let round = |(at, value): (usize, &f32)| {
            let step = STEPS[at / wide % 8 * 8 + at % 8];
            (value / step).round_ties_even() * step
        };
        let want_rounded: Vec<f32> = found.iter().enumerate().map(round).collect();
        let want_restored = transformed(&rounded, wide, |to, from| basis[8 * from + to]);
        Ok(Check::within(TOLERANCE)
            .sums("coefficients by matrix", SCALE, &want, &by_matrix)
            .sums("coefficients", SCALE, &want, &found)
            .sums("image", SCALE, &image, &unrounded)
            .sums("rounded", SCALE, &want_rounded, &rounded)
            .sums("restored", SCALE, &want_restored, &restored))
    }
}

/// Row u, column x: what pixel x adds to coefficient u.
fn basis() -> [f64; 64] {
    std::array::from_fn(|at| {
        let (u, x) = (at / 8, at % 8);
        let norm = if u == 0 { libm::sqrt(0.125) } else { 0.5 };
        norm * libm::cos((2 * x + 1) as f64 * u as f64 * std::f64::consts::PI / 16.0)
    })
}

/// Each square multiplied from both sides; `weight` is what an element adds to another of its row or column.
fn transformed(cells: &[f32], width: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<f32> {
    let mut out = vec![0.0; cells.len()];
    for top in (0..cells.len() / width).step_by(8) {
        for left in (0..width).step_by(8) {
            let mut rows = [[0.0; 8]; 8];
            for (y, row) in rows.iter_mut().enumerate() {
                let from = &cells[(top + y) * width + left..][..8];
                for (to, sum) in row.iter_mut().enumerate() {
                    *sum = (0..8).map(|x| weight(to, x) * f64::from(from[x])).sum();
                }
            }
            for to in 0..8 {
                for x in 0..8 {
                    let sum: f64 = (0..8).map(|y| weight(to, y) * rows[y][x]).sum();
                    out[(top + to) * width + left + x] = sum as f32;
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_leads_to_the_pixels_and_a_flat_square_has_one_coefficient() {
        let basis = basis();
        let image: Vec<f32> = (0..128).map(|at| ((at * 37) % 101) as f32).collect();
        let there = transformed(&image, 16, |to, from| basis[8 * to + from]);
        let back = transformed(&there, 16, |to, from| basis[8 * from + to]);
        assert!(image.iter().zip(&back).all(|(one, other)| (one - other).abs() < 1e-4));
        let flat = transformed(&[3.0; 64], 8, |to, from| basis[8 * to + from]);
        assert!((flat[0] - 24.0).abs() < 1e-5 && flat[1..].iter().all(|rest| rest.abs() < 1e-5));
    }
}
