// SPDX-License-Identifier: MIT OR Apache-2.0
//! A convolutional network for handwritten digits, after NN of Bakhoda et al. (ISPASS 2009): two convolutions and two fully connected
//! layers. The activation uses approximate exponentials and division, so outputs are checked within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const IN: usize = 29;
const FIRST: usize = 13;
const SECOND: usize = 5;
const KERNEL: usize = 5;
const MAPS: usize = 6;
const DIGITS: usize = 10;
const IMAGES: Dim = Dim::new("images", [2, 5, 21, 160]);
// Maps of the second layer.
const SECOND_MAPS: Dim = Dim::new("maps", [9, 50, 50, 50]);
// Neurons of the third layer.
const NEURONS: Dim = Dim::new("neurons", [17, 100, 100, 100]);
/// The activation's range.
const RANGE: f32 = 1.7159;

static INFO: Info = Info {
    name: "neural",
    about: "reads handwritten digits",
    domain: "machine learning",
    suite: "ISPASS",
    program: "NN",
    kernels: &[
        Kernel::after("neural_first", "executeFirstLayer", [13, 13, 1], "once"),
        Kernel::after("neural_second", "executeSecondLayer", [5, 5, 1], "once"),
        Kernel::after("neural_third", "executeThirdLayer", [1, 1, 1], "once"),
        Kernel::after("neural_fourth", "executeFourthLayer", [1, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[IMAGES, SECOND_MAPS, NEURONS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a block for each map or neuron and image: 13 x 13, 5 x 5 and 1 threads (Bakhoda et al., Table I: 6, 50, 100 and 10 blocks by 28 images)",
    values_from: "strokes of a pen on 29 x 29 pixels from -1 to 1, most of them paper; weights roughly normal, by the number of inputs, as training leaves them",
    generator: 3,
    source: include_str!("../cuda/neural.cu"),
    ptx: include_str!("../ptx/neural.ptx"),
};

pub struct Neural;

impl Workload for Neural {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let images = IMAGES.at(size);
        let (maps, neurons) = (SECOND_MAPS.at(size), NEURONS.at(size));
        let mut rng = Rng::new(seed);
        let pictures: Vec<f32> = (0..images).flat_map(|_| picture(&mut rng)).collect();
        let net = Net::random(maps as usize, neurons as usize, &mut rng);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let input = job.upload("images", &pictures)?;
        let weights = [0, 1, 2, 3].map(|layer| &net.weights[layer]);
        let names = ["weights 1", "weights 2", "weights 3", "weights 4"];
        let mut uploaded = Vec::new();
        for (name, weights) in names.into_iter().zip(weights) {
            uploaded.push(job.upload(name, weights)?);
        }
        let count = |each: usize| images as usize * each;
        let first = job.zeros::<f32>("layer 1", count(MAPS * FIRST * FIRST))?;
        let second = job.zeros::<f32>("layer 2", count(maps as usize * SECOND * SECOND))?;
        let third = job.zeros::<f32>("layer 3", count(neurons as usize))?;
        let fourth = job.zeros::<f32>("layer 4", count(DIGITS))?;
        let args = Args::new().ptr(input).ptr(uploaded[0]).ptr(first);
        job.launch("neural_first", (MAPS as u32, images), (FIRST as u32, FIRST as u32), args)?;
        let args = Args::new().ptr(first).ptr(uploaded[1]).ptr(second);
        job.launch("neural_second", (maps, images), (SECOND as u32, SECOND as u32), args)?;
        let inputs = (SECOND * SECOND) as i32 * maps as i32;
        let args = Args::new().ptr(second).ptr(uploaded[2]).ptr(third).i32(inputs);
        job.launch("neural_third", (neurons, images), 1, args)?;
        let args = Args::new().ptr(third).ptr(uploaded[3]).ptr(fourth).i32(neurons as i32);
        job.launch("neural_fourth", (DIGITS as u32, images), 1, args)?;
        let found_third = job.download(third, count(neurons as usize))?;
        let found = job.download(fourth, count(DIGITS))?;
        job.finish()?;

        let (want_third, want): (Vec<_>, Vec<_>) =
            pictures.chunks_exact(IN * IN).map(|picture| net.read(picture)).unzip();
        Ok(Check::within(tolerance(inputs as usize))
            .sums("layer 3", RANGE, &want_third.concat(), &found_third)
            .sums("digits", RANGE, &want.concat(), &found))
    }
}

/// Rounding errors of the longest sum, of the third layer, beside the range of the activation. A sum of n products in single precision
/// is off by the root of n times 2^-24 times the sum of the products' sizes (Higham and Mary, "A new approach to probabilistic rounding
/// error analysis", 2019). Weights have a mean size of 0.8 by the root of n, inputs the activation's range, and the activation a slope of
/// 1.144 at most; its exponential and quotient add 2^-20.
fn tolerance(inputs: usize) -> f64 {
    0.8 * 1.144 * inputs as f64 / 16_777_216.0 + 1.0 / 1_048_576.0
}

/// A few strokes on paper.
fn picture(rng: &mut Rng) -> Vec<f32> {
    let mut pixels = vec![-1.0f32; IN * IN];
    for _ in 0..rng.int(2, 4) {
        let (mut x, mut y) = (rng.float(6.0, 22.0), rng.float(5.0, 23.0));
        let (mut dx, mut dy) = (rng.float(-0.7, 0.7), rng.float(-0.7, 0.7));
        for _ in 0..24 {
            for (ox, oy, ink) in [(0, 0, 2.0), (1, 0, 1.3), (0, 1, 1.3), (1, 1, 0.7)] {
                let (px, py) = (x as usize + ox, y as usize + oy);
                let pixel = &mut pixels[py.min(IN - 1) * IN + px.min(IN - 1)];
                *pixel = pixel.max(ink - 1.0);
            }
            (dx, dy) = (dx + rng.float(-0.2, 0.2), dy + rng.float(-0.2, 0.2));
            (x, y) = ((x + dx).clamp(3.0, 25.0), (y + dy).clamp(2.0, 26.0));
        }
    }
    pixels
}

struct Net {
    /// Of each layer; those of a map or neuron start with its bias.
    weights: [Vec<f32>; 4],
}

impl Net {
    fn random(maps: usize, neurons: usize, rng: &mut Rng) -> Self {
        let mut layer = |outputs: usize, inputs: usize| -> Vec<f32> {
            let spread = 1.0 / (inputs as f32).sqrt();
            rng.bells(outputs * (inputs + 1)).into_iter().map(|weight| spread * weight).collect()
        };
        Net {
            weights: [
                layer(MAPS, KERNEL * KERNEL),
                layer(maps, MAPS * KERNEL * KERNEL),
                layer(neurons, maps * SECOND * SECOND),
                layer(DIGITS, neurons),
            ],
        }
    }

    /// Outputs of the last two layers.
    fn read(&self, picture: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let picture: Vec<f64> = picture.iter().map(|pixel| f64::from(*pixel)).collect();
        let first = convolve(&picture, IN, FIRST, &self.weights[0], 1);
        let second = convolve(&first, FIRST, SECOND, &self.weights[1], MAPS);
        let third = connect(&second, &self.weights[2]);
        let fourth = connect(&third, &self.weights[3]);
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        (single(third), single(fourth))
    }
}

fn activation(x: f64) -> f64 {
    1.7159 * libm::tanh(x * 2.0 / 3.0)
}

/// Convolves maps of `side` squared to maps of `out` squared, with a stride of two.
fn convolve(maps: &[f64], side: usize, out: usize, weights: &[f32], count: usize) -> Vec<f64> {
    // What each tap of the kernel reads for all outputs.
    let taps = (0..count * KERNEL * KERNEL).map(|at| {
        let (map, i, j) = (at / KERNEL / KERNEL, at / KERNEL % KERNEL, at % KERNEL);
        let row = |y: usize| maps[(map * side + 2 * y + i) * side + j..].iter().step_by(2).take(out);
        (0..out).flat_map(row).copied().collect()
    });
    let taps: Vec<Vec<f64>> = taps.collect();
    let mut result = Vec::new();
    for weights in weights.chunks_exact(taps.len() + 1) {
        let mut sums = vec![-0.0; out * out];
        wide(|| {
            for (weight, tap) in weights[1..].iter().zip(&taps) {
                for (sum, value) in sums.iter_mut().zip(tap) {
                    *sum += f64::from(*weight) * value;
                }
            }
        });
        result.extend(sums.into_iter().map(|sum| activation(sum + f64::from(weights[0]))));
    }
    result
}

fn connect(inputs: &[f64], weights: &[f32]) -> Vec<f64> {
    let neuron = |weights: &[f32]| {
        let sum: f64 = weights[1..].iter().zip(inputs).map(|(w, x)| f64::from(*w) * x).sum();
        activation(sum + f64::from(weights[0]))
    };
    weights.chunks_exact(inputs.len() + 1).map(neuron).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_mostly_paper() {
        let picture = picture(&mut Rng::new(1));
        let paper = picture.iter().filter(|pixel| **pixel == -1.0).count();
        assert!((600..820).contains(&paper), "{paper} of 841");
        assert!(picture.contains(&1.0));
    }

    #[test]
    fn a_single_weight_moves_a_picture() {
        // The weight of the tap at row 1, column 2 alone: an output is the pixel there, squashed.
        let mut weights = vec![0.0; KERNEL * KERNEL + 1];
        weights[1 + KERNEL + 2] = 1.0;
        let picture: Vec<f64> = (0..IN * IN).map(|at| at as f64 / 1000.0).collect();
        let out = convolve(&picture, IN, FIRST, &weights, 1);
        assert_eq!(out[FIRST + 3], activation(picture[(2 + 1) * IN + 6 + 2]));
    }
}
