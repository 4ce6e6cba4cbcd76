// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detects white blood cells in a frame, after Rodinia's leukocyte: circles by their gradient, then dilation.

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::{FLOAT, Job};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

/// Rows that a block's threads have, and rows and columns around them.
const ROWS: usize = 176;
const MARGIN: usize = 24;
const HEIGHT: usize = ROWS + 2 * MARGIN;
const DISC: usize = 9;
const MAX_POINTS: usize = 150;
const COLUMNS: Dim = Dim::new("columns", [2, 15, 30, 120]);
const CIRCLES: Dim = Dim::new("circles", [2, 4, 7, 7]);
// Points of a circle.
const POINTS: Dim = Dim::new("points", [8, 24, 40, 75]);

static INFO: Info = Info {
    name: "leukocyte",
    about: "finds white blood cells",
    domain: "medical imaging",
    suite: "Rodinia",
    program: "leukocyte",
    kernels: &[
        Kernel::after("leukocyte_gicov", "GICOV_kernel", [176, 1, 1], "once").block_unknown(),
        Kernel::after("leukocyte_dilate", "dilate_kernel", [176, 1, 1], "once"),
    ],
    missing: &[
        "IMGVF_kernel, which tracks the cells in later frames, in shared memory: the thesis on caches finds no use of shared memory in leukocyte",
    ],
    order_dependent: false,
    data: Data::Float,
    dims: &[COLUMNS, CIRCLES, POINTS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a column of the image a block, a row a thread, seven circles of 150 points, gradients and scores in textures and tables in constant memory, as Rodinia's; ours has fewer points on a circle",
    values_from: "a generated frame: bright discs of the size of cells on a darker ground, with noise; its gradients by differences",
    generator: 3,
    source: include_str!("../cuda/leukocyte.cu"),
    ptx: include_str!("../ptx/leukocyte.ptx"),
};

pub struct Leukocyte;

impl Workload for Leukocyte {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let columns = COLUMNS.at(size) as usize;
        let width = columns + 2 * MARGIN;
        let frame = frame(width, &mut Rng::new(seed));
        let (grad_x, grad_y) = gradients(&frame);
        let circles = Circles::new(CIRCLES.at(size) as usize, POINTS.at(size) as usize);
        let count = width * HEIGHT;

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("sines", &circles.sines)?;
        job.write_symbol("cosines", &circles.cosines)?;
        job.write_symbol("across", &circles.across)?;
        job.write_symbol("down", &circles.down)?;
        job.write_symbol("disc", &disc())?;
        let [x, y] = [job.upload("gradient x", &grad_x)?, job.upload("gradient y", &grad_y)?];
        let scores = job.zeros::<f32>("scores", count)?;
        let spread = job.zeros::<f32>("dilated", count)?;
        let textures = [x, y, scores].map(|ptr| job.linear_texture(ptr, 4 * count, FLOAT));
        let args = Args::new().u64(textures[0]).u64(textures[1]).i32(HEIGHT as i32).i32(MARGIN as i32);
        let args = args.i32(circles.count as i32).i32(circles.points as i32).ptr(scores);
        job.launch("leukocyte_gicov", columns as u32, ROWS as u32, args)?;
        let args = Args::new().u64(textures[2]).i32(HEIGHT as i32).i32(MARGIN as i32).ptr(spread);
        job.launch("leukocyte_dilate", columns as u32, ROWS as u32, args)?;
        let found: Vec<f32> = job.download(scores, count)?;
        let found_spread: Vec<f32> = job.download(spread, count)?;
        job.finish()?;

        let (mut want, mut want_spread) = (vec![0.0f32; count], vec![0.0f32; count]);
        let cells = || (MARGIN..MARGIN + columns).flat_map(|x| (MARGIN..MARGIN + ROWS).map(move |y| (x, y)));
        for (x, y) in cells() {
            want[x * HEIGHT + y] = circles.score(&grad_x, &grad_y, x, y);
        }
        let disc = disc();
        for (x, y) in cells() {
            let inside = (0..DISC * DISC).filter(|at| disc[*at] != 0.0);
            let values =
                inside.map(|at| want[(x + at / DISC - DISC / 2) * HEIGHT + y + at % DISC - DISC / 2]);
            want_spread[x * HEIGHT + y] = values.fold(0.0, f32::max);
        }
        Ok(Check::exact().output("scores", &want, &found).output("dilated", &want_spread, &found_spread))
    }
}

/// Brightness by column and row.
fn frame(width: usize, rng: &mut Rng) -> Vec<f32> {
    let cells: Vec<[f32; 4]> = (0..width * HEIGHT / 1200)
        .map(|_| {
            [
                rng.float(0.0, width as f32),
                rng.float(0.0, HEIGHT as f32),
                rng.float(6.0, 12.0),
                rng.float(0.2, 0.5),
            ]
        })
        .collect();
    let pixel = |at: usize, rng: &mut Rng| {
        let (x, y) = ((at / HEIGHT) as f32, (at % HEIGHT) as f32);
        let inside = cells.iter().filter(|cell| {
            let (dx, dy) = (x - cell[0], y - cell[1]);
            dx * dx + dy * dy < cell[2] * cell[2]
        });
        0.3 + inside.map(|cell| cell[3]).fold(0.0, f32::max) + rng.float(-0.05, 0.05)
    };
    (0..width * HEIGHT).map(|at| pixel(at, rng)).collect()
}

/// Half the difference of the neighbours on either side; zero at the edges.
fn gradients(frame: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let width = frame.len() / HEIGHT;
    let at = |at: usize| {
        let (x, y) = (at / HEIGHT, at % HEIGHT);
        let inside = x > 0 && x + 1 < width && y > 0 && y + 1 < HEIGHT;
        if !inside {
            return (0.0, 0.0);
        }
        ((frame[at + HEIGHT] - frame[at - HEIGHT]) / 2.0, (frame[at + 1] - frame[at - 1]) / 2.0)
    };
    (0..frame.len()).map(at).unzip()
}

fn disc() -> Vec<f32> {
    let half = (DISC / 2) as i32;
    let apart = |at: i32| (at / DISC as i32 - half).pow(2) + (at % DISC as i32 - half).pow(2);
    (0..(DISC * DISC) as i32).map(|at| if apart(at) <= half * half { 1.0 } else { 0.0 }).collect()
}

struct Circles {
    count: usize,
    points: usize,
    sines: Vec<f32>,
    cosines: Vec<f32>,
    /// Offsets of each circle's points, with room for as many as there may be.
    across: Vec<i32>,
    down: Vec<i32>,
}

with_fused! {
    fn score(circles: &Circles, grad_x: &[f32], grad_y: &[f32], x: usize, y: usize) -> f32 {
        |fused| circles.score_with(fused, grad_x, grad_y, x, y)
    }
}

impl Circles {
    fn new(count: usize, points: usize) -> Self {
        let angle = |n: usize| 2.0 * std::f64::consts::PI * n as f64 / points as f64;
        let radius = |k: usize| 8.0 + 2.0 * k as f64;
        let offsets = |wave: fn(f64) -> f64| -> Vec<i32> {
            let place =
                |at: usize| libm::round(radius(at / MAX_POINTS) * wave(angle(at % MAX_POINTS))) as i32;
            (0..count * MAX_POINTS).map(place).collect()
        };
        Circles {
            count,
            points,
            sines: (0..points).map(|n| libm::sin(angle(n)) as f32).collect(),
            cosines: (0..points).map(|n| libm::cos(angle(n)) as f32).collect(),
            across: offsets(libm::cos),
            down: offsets(libm::sin),
        }
    }

    fn score(&self, grad_x: &[f32], grad_y: &[f32], x: usize, y: usize) -> f32 {
        score(self, grad_x, grad_y, x, y)
    }

    #[inline(always)]
    fn score_with(&self, fused: impl Fused, grad_x: &[f32], grad_y: &[f32], x: usize, y: usize) -> f32 {
        let mut most = 0.0f32;
        for k in 0..self.count {
            let (mut mean, mut spread) = (0.0f32, 0.0f32);
            for n in 0..self.points {
                let place = |at: usize, offset: i32| at.wrapping_add_signed(offset as isize);
                let offset = k * MAX_POINTS + n;
                let at = place(x, self.across[offset]) * HEIGHT + place(y, self.down[offset]);
                let along = fused.fma(grad_y[at], self.sines[n], grad_x[at] * self.cosines[n]);
                let apart = along - mean;
                mean += apart / (n + 1) as f32;
                spread = fused.fma(apart, along - mean, spread);
            }
            most = most.max(mean * mean / (spread / (self.points - 1) as f32));
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disc_has_its_best_score_at_its_centre() {
        let width = 2 * MARGIN + 9;
        let mut rng = Rng::new(1);
        let bright = |x: usize, y: usize| x.abs_diff(28).pow(2) + y.abs_diff(100).pow(2) < 100;
        let frame: Vec<f32> = (0..width * HEIGHT)
            .map(|at| f32::from(u8::from(bright(at / HEIGHT, at % HEIGHT))) + rng.float(-0.01, 0.01))
            .collect();
        let (grad_x, grad_y) = gradients(&frame);
        let circles = Circles::new(3, 40);
        let centre = circles.score(&grad_x, &grad_y, 28, 100);
        assert!(centre > 5.0 * circles.score(&grad_x, &grad_y, 28, 130), "{centre}");
    }
}
