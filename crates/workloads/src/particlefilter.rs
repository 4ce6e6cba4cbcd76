// SPDX-License-Identifier: MIT OR Apache-2.0
//! Follows an object through a noisy video with a particle filter, after Rodinia's particlefilter. Exponentials are approximate, so weights
//! are checked within a tolerance; what follows from the weights is checked to the bit from the weights that were found.

use crate::check::Check;
use crate::fused::fma;
use crate::job::{FLOAT, Job};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: usize = 128;
const WIDTH: usize = 128;
const DISC: usize = 69;
const PARTICLES: Dim = Dim::new("particles", [300, 960, 2_304, 7_040]);
const FRAMES: Dim = Dim::new("frames", [1, 2, 2, 2]);
/// An exponential of arguments below 4, of two approximations of 2^-22 each, and of block sums of 128 terms.
const TOLERANCE: f64 = 1e-5;

static INFO: Info = Info {
    name: "particlefilter",
    about: "follows an object",
    domain: "medical imaging",
    suite: "Rodinia",
    program: "particlefilter",
    kernels: &[
        Kernel::after("particle_likelihood", "likelihood_kernel", [512, 1, 1], "once a frame")
            .but([BLOCK as u32, 1, 1], "once a frame"),
        Kernel::after("particle_sum", "sum_kernel", [512, 1, 1], "once a frame")
            .but([1, 1, 1], "once a frame"),
        Kernel::after("particle_normalize", "normalize_weights_kernel", [512, 1, 1], "once a frame")
            .but([BLOCK as u32, 1, 1], "once a frame"),
        Kernel::after("particle_find", "find_index_kernel", [512, 1, 1], "once a frame")
            .but([BLOCK as u32, 1, 1], "once a frame"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[PARTICLES, FRAMES],
    fill: Fill::Partial(
        "sums are one thread, and the search for a particle is the longer the higher its number: in the algorithm",
    ),
    known: Known::Recalled,
    shape_from: "a particle a thread and four kernels a frame, as Rodinia's float version, which has blocks of 512; ours has blocks of 128, so that fewer particles fill a GPU. Sums of weights are read through a texture. The host makes that table, which Rodinia's normalize_weights_kernel makes in one thread; steps are sums of three uniform numbers, Rodinia's are normal by Box and Muller",
    values_from: "frames of 128 x 128 bytes, 228 on an object and 100 on the ground, with noise; the object moves by (1, -2) a frame, as Rodinia's generator has it",
    generator: 3,
    source: include_str!("../cuda/particlefilter.cu"),
    ptx: include_str!("../ptx/particlefilter.ptx"),
};

pub struct Particlefilter;

impl Workload for Particlefilter {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = PARTICLES.at(size) as usize;
        let mut rng = Rng::new(seed);
        let frames: Vec<Vec<u8>> = (1..=FRAMES.at(size)).map(|at| frame(at as f32, &mut rng)).collect();
        let mut seeds: Vec<u32> = (0..count).map(|_| rng.below(u32::MAX)).collect();
        let (mut chosen_x, mut chosen_y) = (vec![116.0f32; count], vec![64.0f32; count]);
        let disc = disc();
        let blocks = (count as u32).div_ceil(BLOCK as u32);

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("across", &disc.iter().map(|at| at.0).collect::<Vec<_>>())?;
        job.write_symbol("down", &disc.iter().map(|at| at.1).collect::<Vec<_>>())?;
        let mut floats = |name| job.zeros::<f32>(name, count);
        let [xs, ys, weights, table] = [floats("x")?, floats("y")?, floats("weights")?, floats("table")?];
        let from = [job.upload("chosen x", &chosen_x)?, job.upload("chosen y", &chosen_y)?];
        let sums = job.zeros::<f32>("sums", blocks as usize)?;
        let seed_ptr = job.upload("seeds", &seeds)?;
        let image = job.zeros::<u8>("frame", WIDTH * WIDTH)?;
        let texture = job.linear_texture(table, 4 * count, FLOAT);
        let mut check = Check::within(TOLERANCE);
        for pixels in &frames {
            job.write(image, pixels)?;
            let args = Args::new().ptr(xs).ptr(ys).ptr(from[0]).ptr(from[1]).ptr(seed_ptr).ptr(image);
            let args = args.i32(WIDTH as i32).i32(count as i32).ptr(weights).ptr(sums);
            job.launch("particle_likelihood", blocks, BLOCK as u32, args)?;
            let raw: Vec<f32> = job.download(weights, count)?;
            let found_x: Vec<f32> = job.download(xs, count)?;
            let found_y: Vec<f32> = job.download(ys, count)?;
            let found_sums: Vec<f32> = job.download(sums, blocks as usize)?;
            job.launch("particle_sum", 1, 1, Args::new().ptr(sums).i32(blocks as i32))?;
            job.launch(
                "particle_normalize",
                blocks,
                BLOCK as u32,
                Args::new().ptr(weights).i32(count as i32).ptr(sums),
            )?;
            let found: Vec<f32> = job.download(weights, count)?;
            let cumulated = cumulate(&found);
            job.write(table, &cumulated)?;
            let first = rng.unit() / count as f32;
            let args = Args::new()
                .u64(texture)
                .f32(first)
                .i32(count as i32)
                .ptr(xs)
                .ptr(ys)
                .ptr(from[0])
                .ptr(from[1]);
            job.launch("particle_find", blocks, BLOCK as u32, args)?;
            let found_chosen: Vec<f32> = job.download(from[0], count)?;
            let found_chosen_y: Vec<f32> = job.download(from[1], count)?;

            let moved = (0..count).map(|at| step(&mut seeds[at], chosen_x[at], chosen_y[at]));
            let (want_x, want_y): (Vec<f32>, Vec<f32>) = moved.unzip();
            let want: Vec<f32> =
                want_x.iter().zip(&want_y).map(|(x, y)| weight(pixels, *x, *y, &disc)).collect();
            let total = found_sums.iter().fold(0.0f32, |sum, part| sum + part);
            let want_sums: Vec<f32> = raw.chunks(BLOCK).map(block_sum).collect();
            let normal: Vec<f32> = raw.iter().map(|weight| weight / total).collect();
            let picks = pick(&cumulated, first);
            chosen_x = picks.iter().map(|at| found_x[*at]).collect();
            chosen_y = picks.iter().map(|at| found_y[*at]).collect();
            check = check
                .output("x", &want_x, &found_x)
                .output("y", &want_y, &found_y)
                .output("weights", &want, &raw)
                .output("sums", &want_sums, &found_sums)
                .output("normalised", &normal, &found)
                .output("chosen x", &chosen_x, &found_chosen)
                .output("chosen y", &chosen_y, &found_chosen_y);
        }
        job.finish()?;
        Ok(check)
    }
}

/// Offsets of the pixels that are looked at.
fn disc() -> Vec<(i32, i32)> {
    let all = (-5..6).flat_map(|y| (-5..6).map(move |x| (x, y)));
    let mut disc: Vec<(i32, i32)> = all.filter(|(x, y)| x * x + y * y < 25).collect();
    disc.truncate(DISC);
    disc
}

/// An object at its place of a frame, and noise.
fn frame(at: f32, rng: &mut Rng) -> Vec<u8> {
    let (cx, cy) = (116.0 + at, 64.0 - 2.0 * at);
    let pixel = |(place, bell): (usize, f32)| {
        let (dx, dy) = ((place % WIDTH) as f32 - cx, (place / WIDTH) as f32 - cy);
        let level = if dx * dx + dy * dy < 25.0 { 228.0 } else { 100.0 };
        (level + 5.0 * bell).clamp(0.0, 255.0) as u8
    };
    rng.bells(WIDTH * WIDTH).into_iter().enumerate().map(pixel).collect()
}

fn draw(seed: &mut u32) -> f32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*seed >> 8) as f32 * (1.0 / 16_777_216.0)
}

fn step(seed: &mut u32, x: f32, y: f32) -> (f32, f32) {
    let mut sum = || draw(seed) + draw(seed) + draw(seed) - 1.5;
    let (across, down) = (sum(), sum());
    let inside = |at: f32| at.max(5.0).min(WIDTH as f32 - 6.0);
    (inside(fma(5.0, across, x + 1.0)), inside(fma(2.0, down, y - 2.0)))
}

fn weight(frame: &[u8], x: f32, y: f32, disc: &[(i32, i32)]) -> f32 {
    let (px, py) = (x as i32, y as i32);
    let fit = |(dx, dy): &(i32, i32)| {
        let pixel = i32::from(frame[((py + dy) * WIDTH as i32 + px + dx) as usize]);
        (pixel - 100) * (pixel - 100) - (pixel - 228) * (pixel - 228)
    };
    let fit: i32 = disc.iter().map(fit).sum();
    libm::exp(f64::from(fit) * f64::from(1.0f32 / (50.0 * DISC as f32 * 50.0))) as f32
}

/// As a block adds: halves onto each other.
fn block_sum(weights: &[f32]) -> f32 {
    let mut parts = [0.0f32; BLOCK];
    parts[..weights.len()].copy_from_slice(weights);
    let mut half = BLOCK / 2;
    while half > 0 {
        for at in 0..half {
            parts[at] += parts[at + half];
        }
        half /= 2;
    }
    parts[0]
}

/// Sums of all weights up to each; the last one ends every search.
fn cumulate(weights: &[f32]) -> Vec<f32> {
    let mut sum = 0.0;
    let next = |weight: &f32| {
        sum += weight;
        sum
    };
    let mut table: Vec<f32> = weights.iter().map(next).collect();
    if let Some(last) = table.last_mut() {
        *last = f32::INFINITY;
    }
    table
}

/// The first particle at which the sums reach each level.
fn pick(table: &[f32], first: f32) -> Vec<usize> {
    let count = table.len();
    let one = |at: usize| {
        let level = fma(at as f32, 1.0 / count as f32, first);
        table.iter().position(|sum| *sum >= level).unwrap_or(count - 1)
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_weighs_more_than_the_ground() {
        let disc = disc();
        assert_eq!(disc.len(), DISC);
        let frame = frame(1.0, &mut Rng::new(3));
        assert!(weight(&frame, 117.0, 62.0, &disc) > 10.0 * weight(&frame, 30.0, 30.0, &disc));
    }

    #[test]
    fn heavy_particles_are_drawn_often() {
        let table = cumulate(&[0.1, 0.7, 0.1, 0.1]);
        // Levels well between the sums, which rounding does not move over one: 0.08, 0.33, 0.58 and 0.83.
        assert_eq!(pick(&table, 0.08), [0, 1, 1, 2]);
    }
}
