// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rotation of an image that is read through an interpolating texture, after the CUDA SDK's simpleTexture. Sine and cosine are
//! approximate and weights of texels have eight bits, so pixels are checked within a tolerance.

use crate::check::Check;
use crate::images::photo;
use crate::job::{FLOAT, Job};
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::texture::{AddressMode, Filter, Sampler};
use warpwatt_runtime::{Args, Device, Error};

const SIDE: u32 = 8;
const WIDTH: Dim = Dim::new("width", [24, 256, 512, 512]);
const HEIGHT: Dim = Dim::new("height", [16, 256, 512, 512]);
// Angles that the image is turned by, one after the other.
const TURNS: Dim = Dim::new("turns", [2, 2, 4, 26]);
/// Pixels are from 0 to 1. Weights are rounded to 1/256 and change by one such step at the most, in either direction, times the
/// difference of neighbouring pixels.
const TOLERANCE: f64 = 8e-3;
/// What the image is turned around.
const PIVOT: [f64; 2] = [0.375, 0.4375];

static INFO: Info = Info {
    name: "simpletexture",
    about: "turns an image",
    domain: "image processing",
    suite: "CUDA SDK",
    program: "simpleTexture",
    kernels: &[Kernel::after("simpletexture_turn", "transformKernel", [8, 8, 1], "once")
        .but([8, 8, 1], "once an angle")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[WIDTH, HEIGHT, TURNS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "blocks of 8 x 8 threads, a pixel a thread, over an image of 512 x 512, as the original's, which turns it once, after a warm-up; a texture of floats with normalised coordinates that interpolates and repeats. The original turns around the middle, ours around another point, for which a change of sign shows",
    values_from: "a generated photograph with values from 0 to 1; angles from 0.5 radians on",
    generator: 3,
    source: include_str!("../cuda/simpletexture.cu"),
    ptx: include_str!("../ptx/simpletexture.ptx"),
};

pub struct Simpletexture;

impl Workload for Simpletexture {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (width, height) = (WIDTH.at(size), HEIGHT.at(size));
        let count = (width * height) as usize;
        let image: Vec<f32> = photo(width as usize, height as usize, &mut Rng::new(seed))
            .into_iter()
            .map(|pixel| f32::from(pixel) / 255.0)
            .collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let pixels = job.upload("image", &image)?;
        let sampler = Sampler {
            address: [AddressMode::Wrap; 3],
            filter: Filter::Linear,
            normalized: true,
            ..Sampler::default()
        };
        let texture = job.image_texture(pixels, width, height, FLOAT, sampler);
        let out = job.zeros::<f32>("out", count)?;
        let mut check = Check::within(TOLERANCE);
        for turn in 0..TURNS.at(size) {
            let angle = 0.5 + 0.2 * turn as f32;
            let args = Args::new().ptr(out).i32(width as i32).i32(height as i32).f32(angle).u64(texture);
            job.launch("simpletexture_turn", (width / SIDE, height / SIDE), (SIDE, SIDE), args)?;
            let found: Vec<f32> = job.download(out, count)?;
            // Every angle is checked at tiny and small, the first and the last of many otherwise.
            if turn < 2 || turn + 1 == TURNS.at(size) {
                let turned = turned(&image, width as usize, height as usize, f64::from(angle));
                check = check.sums("pixels", 1.0, &turned, &found);
            }
        }
        job.finish()?;
        Ok(check)
    }
}

fn turned(image: &[f32], width: usize, height: usize, angle: f64) -> Vec<f32> {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let wrapped = |at: i32, count: usize| {
        let first = at.rem_euclid(count as i32) as usize;
        [first, if first + 1 == count { 0 } else { first + 1 }]
    };
    let us: Vec<f64> = (0..width).map(|x| x as f64 / width as f64 - PIVOT[0]).collect();
    let mut turned = vec![0.0; image.len()];
    wide(|| {
        for (row, turned) in turned.chunks_exact_mut(width).enumerate() {
            let v = row as f64 / height as f64 - PIVOT[1];
            for (turned, u) in turned.iter_mut().zip(&us) {
                let x = (u * cosine - v * sine + PIVOT[0]) * width as f64 - 0.5;
                let y = (v * cosine + u * sine + PIVOT[1]) * height as f64 - 0.5;
                let (left, top) = (x.floor(), y.floor());
                let (part_x, part_y) = (x - left, y - top);
                let columns = wrapped(left as i32, width);
                let rows = wrapped(top as i32, height);
                let between = |row: usize| {
                    let pixel = |column: usize| f64::from(image[row * width + column]);
                    pixel(columns[0]) * (1.0 - part_x) + pixel(columns[1]) * part_x
                };
                *turned = (between(rows[0]) * (1.0 - part_y) + between(rows[1]) * part_y) as f32;
            }
        }
    });
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_by_nothing_moves_by_half_a_pixel() {
        let image = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(turned(&image, 2, 2, 0.0), [1.5; 4]);
    }
}
