// SPDX-License-Identifier: MIT OR Apache-2.0
//! One training step of a perceptron with 16 hidden units and one output, after Rodinia's backprop: the device
//! multiplies inputs by weights and moves the weights; the host does the small layers.
//!
//! The host divides the hidden units' sums by the number of inputs before it squashes them. Rodinia does not,
//! which saturates the units, makes every gradient zero and so hides errors.

use crate::check::Check;
use crate::fused::fma;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const HIDDEN: usize = 16;
/// Weights in a row: the bias and the hidden units.
const ROW: usize = HIDDEN + 1;
const INPUTS: Dim = Dim::new("inputs", [320, 2_560, 20_480, 163_840]);
const ETA: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
const TARGET: f32 = 0.1;

static INFO: Info = Info {
    name: "backprop",
    about: "trains a perceptron",
    domain: "machine learning",
    suite: "Rodinia",
    program: "backprop",
    kernels: &[
        Kernel::after("layerforward", "bpnn_layerforward_CUDA", [16, 16, 1], "once").shared(1088),
        Kernel::after("adjust_weights", "bpnn_adjust_weights_cuda", [16, 16, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[INPUTS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "Rodinia's 16 x 16 threads for 16 inputs by 16 hidden units",
    values_from: "inputs and weights from 0 to 1, as Rodinia draws them",
    generator: 3,
    source: include_str!("../cuda/backprop.cu"),
    ptx: include_str!("../ptx/backprop.ptx"),
};

pub struct Backprop;

impl Workload for Backprop {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let inputs = INPUTS.at(size) as usize;
        let net = Net::random(inputs, seed);
        let tiles = inputs / HIDDEN;
        let grid = (1, tiles as u32);
        let block = (HIDDEN as u32, HIDDEN as u32);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let input = job.upload("input", &net.input)?;
        let weights = job.upload("weights", &net.weights)?;
        let change = job.upload("change", &net.change)?;
        let products = job.zeros::<f32>("products", net.weights.len())?;
        let partial = job.zeros::<f32>("partial sums", inputs)?;
        let args = Args::new().ptr(input).ptr(weights).ptr(products).ptr(partial);
        job.launch("layerforward", grid, block, args)?;
        let partial: Vec<f32> = job.download(partial, inputs)?;
        let delta = net.hidden_delta(&partial);
        let deltas = job.upload("delta", &delta)?;
        let args = Args::new().ptr(deltas).ptr(input).ptr(weights).ptr(change);
        job.launch("adjust_weights", grid, block, args)?;
        let products = job.download(products, net.weights.len())?;
        let weights = job.download(weights, net.weights.len())?;
        let change = job.download(change, net.weights.len())?;
        job.finish()?;

        let (want_products, want_partial) = net.forward();
        let (want_weights, want_change) = net.adjust(&net.hidden_delta(&want_partial));
        Ok(Check::exact()
            .output("products", &want_products, &products)
            .output("partial sums", &want_partial, &partial)
            .output("weights", &want_weights, &weights)
            .output("changes", &want_change, &change))
    }
}

struct Net {
    /// The bias, which is 1, and the inputs.
    input: Vec<f32>,
    /// A row of weights for the bias and for each input; column 0 is not used.
    weights: Vec<f32>,
    /// By how much the last step changed each weight.
    change: Vec<f32>,
    /// From the bias and the hidden units to the output.
    out_weights: Vec<f32>,
}

impl Net {
    fn random(inputs: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut input = rng.floats(inputs + 1, 0.0, 1.0);
        input[0] = 1.0;
        let weights = rng.floats((inputs + 1) * ROW, 0.0, 1.0);
        let change = rng.floats((inputs + 1) * ROW, -0.01, 0.01);
        Net { input, weights, change, out_weights: rng.floats(ROW, 0.0, 1.0) }
    }

    /// The first kernel: products, and sums over each 16 inputs in the order of its tree.
    fn forward(&self) -> (Vec<f32>, Vec<f32>) {
        let mut products = vec![0.0; self.weights.len()];
        let rows = products.chunks_exact_mut(ROW).zip(self.weights.chunks_exact(ROW));
        for ((products, weights), input) in rows.zip(&self.input).skip(1) {
            for (product, weight) in products.iter_mut().zip(weights).skip(1) {
                *product = weight * input;
            }
        }
        let mut partial = Vec::with_capacity(self.input.len() - 1);
        for tile in 0..(self.input.len() - 1) / HIDDEN {
            for unit in 1..=HIDDEN {
                partial.push(tree_sum(|y| products[(tile * HIDDEN + y + 1) * ROW + unit]));
            }
        }
        (products, partial)
    }

    /// The host's part: hidden units, output, and what each hidden unit is to blame for.
    fn hidden_delta(&self, partial: &[f32]) -> Vec<f32> {
        let inputs = (self.input.len() - 1) as f32;
        let hidden: [f32; ROW] = std::array::from_fn(|unit| match unit {
            0 => 1.0,
            _ => {
                let sum: f32 = partial.iter().skip(unit - 1).step_by(HIDDEN).sum();
                squash((sum + self.weights[unit]) / inputs)
            }
        });
        let output = squash(hidden.iter().zip(&self.out_weights).map(|(h, w)| h * w).sum());
        let delta = output * (1.0 - output) * (TARGET - output);
        hidden.iter().zip(&self.out_weights).map(|(h, w)| h * (1.0 - h) * delta * w).collect()
    }

    /// The second kernel.
    fn adjust(&self, delta: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (mut weights, mut change) = (self.weights.clone(), self.change.clone());
        for (row, input) in self.input.iter().enumerate() {
            for (unit, delta) in delta.iter().enumerate().skip(1) {
                let at = row * ROW + unit;
                let step = if row == 0 {
                    fma(change[at], MOMENTUM, delta * ETA)
                } else {
                    fma(delta * ETA, *input, change[at] * MOMENTUM)
                };
                weights[at] += step;
                change[at] = step;
            }
        }
        (weights, change)
    }
}

/// Adds 16 values pairwise, neighbours first.
fn tree_sum(value: impl Fn(usize) -> f32) -> f32 {
    let mut part: [f32; HIDDEN] = std::array::from_fn(value);
    let mut reach = 1;
    while reach < HIDDEN {
        for y in (0..HIDDEN).step_by(2 * reach) {
            part[y] += part[y + reach];
        }
        reach *= 2;
    }
    part[0]
}

fn squash(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output for given weights, in double precision and without tiles.
    fn output(net: &Net, weights: &[f32]) -> f64 {
        let inputs = (net.input.len() - 1) as f64;
        let squash = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let hidden = |unit: usize| -> f64 {
            let products = net.input.iter().enumerate();
            let sum: f64 =
                products.map(|(row, x)| f64::from(*x) * f64::from(weights[row * ROW + unit])).sum();
            squash(sum / inputs)
        };
        squash((0..ROW).map(|u| if u == 0 { 1.0 } else { hidden(u) } * f64::from(net.out_weights[u])).sum())
    }

    #[test]
    fn partial_sums_add_up_to_the_matrix_product() {
        let net = Net::random(64, 3);
        let (_, partial) = net.forward();
        for unit in 1..=HIDDEN {
            let got: f32 = partial.iter().skip(unit - 1).step_by(HIDDEN).sum();
            let want: f64 = (1..=64)
                .map(|row| f64::from(net.input[row]) * f64::from(net.weights[row * ROW + unit]))
                .sum();
            assert!((f64::from(got) - want).abs() < 1e-4 * want, "{got} for {want}");
        }
    }

    #[test]
    fn a_step_without_momentum_brings_the_output_closer_to_its_target() {
        let mut net = Net::random(64, 8);
        net.change.fill(0.0);
        let (_, partial) = net.forward();
        let (weights, _) = net.adjust(&net.hidden_delta(&partial));
        let (before, after) = (output(&net, &net.weights), output(&net, &weights));
        assert!(
            (after - f64::from(TARGET)).abs() < (before - f64::from(TARGET)).abs(),
            "{before} to {after}"
        );
    }
}
