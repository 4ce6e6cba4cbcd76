// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two recurrent networks after the Tango suite, which predict a price from those before it: LSTM cells (Hochreiter and Schmidhuber,
//! 1997) and gated recurrent units (Cho et al., 2014), a launch a time step. Exponentials and quotients are approximate, so outputs are
//! checked within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const CELLS: usize = 100;
const SEQUENCES: Dim = Dim::new("sequences", [2, 30, 120, 120]);
const LSTM_STEPS: Dim = Dim::new("steps", [2, 3, 3, 14]);
const GRU_STEPS: Dim = Dim::new("steps", [2, 3, 3, 18]);
/// Outputs are below 1. A gate sums about 100 products below 1/10 with an error of 2^-24 of the sum each, and the squashing function,
/// whose slope is at most 1/2, adds 2^-21; a step passes on less than it gets.
const TOLERANCE: f64 = 1e-5;

static LSTM: Info = Info {
    name: "lstm",
    about: "predicts a price (LSTM)",
    domain: "machine learning",
    suite: "Tango",
    program: "LSTM",
    kernels: &[Kernel::after("lstm_step", "unknown", [100, 1, 1], "once a time step").block_unknown()],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[SEQUENCES, LSTM_STEPS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a layer of 100 cells that predicts a price from those before it, as in Tango, which reads one sequence; ours reads several side by side, so that a GPU is filled. How Tango divides cells into blocks is not known to us",
    values_from: "prices that walk at random, divided by the largest; weights uniform within the inverse root of the number of cells",
    generator: 3,
    source: include_str!("../cuda/lstm.cu"),
    ptx: include_str!("../ptx/lstm.ptx"),
};

static GRU: Info = Info {
    name: "gru",
    about: "predicts a price (GRU)",
    domain: "machine learning",
    suite: "Tango",
    program: "GRU",
    kernels: &[Kernel::after("gru_step", "unknown", [100, 1, 1], "once a time step").block_unknown()],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[SEQUENCES, GRU_STEPS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a layer of 100 units that predicts a price from those before it, as in Tango, which reads one sequence; ours reads several side by side, so that a GPU is filled. How Tango divides units into blocks is not known to us",
    values_from: "prices that walk at random, divided by the largest; weights uniform within the inverse root of the number of units",
    generator: 3,
    source: include_str!("../cuda/gru.cu"),
    ptx: include_str!("../ptx/gru.ptx"),
};

pub struct Lstm;
pub struct Gru;

impl Workload for Lstm {
    fn info(&self) -> &'static Info {
        &LSTM
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let net = Net::random(SEQUENCES.at(size) as usize, LSTM_STEPS.at(size) as usize, 4, seed);
        let mut job = Job::new(dev, &LSTM, ptx)?;
        let (outputs, states) = net.launch(&mut job, "lstm_step", true)?;
        job.finish()?;
        let (want, want_states) = net.lstm();
        Ok(Check::within(TOLERANCE).sums("outputs", 1.0, &want, &outputs).sums(
            "states",
            1.0,
            &want_states,
            &states,
        ))
    }
}

impl Workload for Gru {
    fn info(&self) -> &'static Info {
        &GRU
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let net = Net::random(SEQUENCES.at(size) as usize, GRU_STEPS.at(size) as usize, 3, seed);
        let mut job = Job::new(dev, &GRU, ptx)?;
        let (outputs, _) = net.launch(&mut job, "gru_step", false)?;
        job.finish()?;
        Ok(Check::within(TOLERANCE).sums("outputs", 1.0, &net.gru(), &outputs))
    }
}

struct Net {
    steps: usize,
    /// Prices of each sequence.
    inputs: Vec<f32>,
    /// By gate and cell.
    in_weights: Vec<f32>,
    /// By gate, source and cell.
    weights: Vec<f32>,
    bias: Vec<f32>,
    /// Outputs and states before the first step.
    start: Vec<f32>,
}

impl Net {
    fn random(sequences: usize, steps: usize, gates: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let inputs = (0..sequences).flat_map(|_| prices(steps, &mut rng)).collect();
        let spread = 1.0 / (CELLS as f32).sqrt();
        Net {
            steps,
            inputs,
            in_weights: rng.floats(gates * CELLS, -0.8, 0.8),
            weights: rng.floats(gates * CELLS * CELLS, -spread, spread),
            bias: rng.floats(gates * CELLS, -spread, spread),
            start: rng.floats(sequences * CELLS, -0.5, 0.5),
        }
    }

    /// Outputs and states after the last step.
    fn launch(&self, job: &mut Job<'_>, kernel: &str, states: bool) -> Result<(Vec<f32>, Vec<f32>), Error> {
        let inputs = job.upload("inputs", &self.inputs)?;
        let in_weights = job.upload("input weights", &self.in_weights)?;
        let weights = job.upload("weights", &self.weights)?;
        let bias = job.upload("bias", &self.bias)?;
        let outputs = job.upload("outputs", &self.start)?;
        let kept = job.upload("states", &self.start)?;
        for step in 0..self.steps {
            let args = Args::new().ptr(inputs).i32(self.steps as i32).i32(step as i32);
            let args = args.ptr(in_weights).ptr(weights).ptr(bias).ptr(outputs);
            let args = if states { args.ptr(kept) } else { args };
            job.launch(kernel, (self.start.len() / CELLS) as u32, CELLS as u32, args)?;
        }
        Ok((job.download(outputs, self.start.len())?, job.download(kept, self.start.len())?))
    }

    /// What the gates of all cells sum from the outputs of the step before, gate after gate.
    fn recurrent(&self, before: &[f64]) -> Vec<f64> {
        let mut sums = vec![-0.0; self.bias.len()];
        wide(|| {
            let gates = sums.chunks_exact_mut(CELLS).zip(self.weights.chunks_exact(CELLS * CELLS));
            for (sums, weights) in gates {
                for (value, weights) in before.iter().zip(weights.chunks_exact(CELLS)) {
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum += f64::from(*weight) * value;
                    }
                }
            }
        });
        sums.iter().zip(&self.bias).map(|(sum, bias)| f64::from(*bias) + sum).collect()
    }

    /// Outputs and states of all sequences after all steps, each step by `cell` from number, input, the sum of each gate, and output and state before.
    fn through(
        &self,
        cell: impl Fn(usize, f64, &dyn Fn(usize) -> f64, [f64; 2]) -> (f64, f64),
    ) -> (Vec<f32>, Vec<f32>) {
        let (mut all_outputs, mut all_states) = (Vec::new(), Vec::new());
        for (inputs, start) in self.inputs.chunks_exact(self.steps).zip(self.start.chunks_exact(CELLS)) {
            let mut outputs: Vec<f64> = start.iter().map(|value| f64::from(*value)).collect();
            let mut states = outputs.clone();
            for input in inputs {
                let sums = self.recurrent(&outputs);
                let next = (0..CELLS).map(|at| {
                    cell(at, f64::from(*input), &|gate| sums[gate * CELLS + at], [outputs[at], states[at]])
                });
                (outputs, states) = next.collect::<Vec<_>>().into_iter().unzip();
            }
            all_outputs.extend(outputs.iter().map(|value| *value as f32));
            all_states.extend(states.iter().map(|value| *value as f32));
        }
        (all_outputs, all_states)
    }

    fn lstm(&self) -> (Vec<f32>, Vec<f32>) {
        self.through(|cell, input, recurrent, [_, state]| {
            let sum = |gate: usize| recurrent(gate) + f64::from(self.in_weights[gate * CELLS + cell]) * input;
            let state = squash(sum(0)) * state + squash(sum(1)) * libm::tanh(sum(3));
            (squash(sum(2)) * libm::tanh(state), state)
        })
    }

    fn gru(&self) -> Vec<f32> {
        let (outputs, _) = self.through(|cell, input, sum, [before, _]| {
            let from_input = |gate: usize| f64::from(self.in_weights[gate * CELLS + cell]) * input;
            let (update, reset) = (squash(sum(0) + from_input(0)), squash(sum(1) + from_input(1)));
            let candidate = libm::tanh(reset * sum(2) + from_input(2));
            ((1.0 - update) * candidate + update * before, 0.0)
        });
        outputs
    }
}

fn squash(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// A price that walks at random, by its largest value.
fn prices(steps: usize, rng: &mut Rng) -> Vec<f32> {
    let mut price = 1.0;
    let walk: Vec<f32> = (0..steps)
        .map(|_| {
            price *= 1.0 + 0.03 * rng.bell();
            price
        })
        .collect();
    let most = walk.iter().copied().fold(0.0, f32::max);
    walk.into_iter().map(|price| price / most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_update_gate_keeps_what_was_there() {
        let mut net = Net::random(1, 3, 3, 1);
        net.bias[..CELLS].fill(50.0);
        assert_eq!(net.gru(), net.start);
        net.bias[..CELLS].fill(-50.0);
        assert_ne!(net.gru(), net.start);
    }

    #[test]
    fn prices_end_at_most_at_one() {
        let prices = prices(50, &mut Rng::new(2));
        assert!(prices.contains(&1.0) && prices.iter().all(|price| *price > 0.2 && *price <= 1.0));
    }
}
