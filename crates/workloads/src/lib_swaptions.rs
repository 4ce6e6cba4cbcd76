// SPDX-License-Identifier: MIT OR Apache-2.0
//! Monte Carlo pricing of swaptions in the LIBOR market model, after the LIB program of Bakhoda et al. (ISPASS
//! 2009), which is Giles's. As there, all inputs are constants, random numbers included, so every path is the
//! same; the seed changes nothing.
//!
//! The reference works in double precision; the kernels use approximate division and exponentials, so this
//! program alone is checked within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 64;
const RATES: Dim = Dim::new("rates", [18, 18, 18, 48]);
const STEPS: Dim = Dim::new("steps", [8, 8, 8, 23]);
const PATHS: Dim = Dim::new("paths", [70, 960, 3_840, 3_840]);
const BLOCKS: Dim = Dim::new("blocks", [1, 15, 60, 60]);
const DELTA: f32 = 0.25;
const VOLATILITY: f32 = 0.2;
const RATE: f32 = 0.05;
const SHOCK: f32 = 0.3;
/// Periods to each swaption's end, for 40 periods after the last step.
const MATURITIES: [i32; 15] = [4, 4, 4, 8, 8, 8, 20, 20, 20, 28, 28, 28, 40, 40, 40];
const SWAP_RATES: [f32; 3] = [0.045, 0.05, 0.055];
const TOLERANCE: f64 = 3e-5;

static INFO: Info = Info {
    name: "lib",
    about: "prices swaptions",
    domain: "finance",
    suite: "ISPASS",
    program: "LIB",
    kernels: &[
        Kernel::after("lib_greeks", "Pathcalc_Portfolio_KernelGPU", [64, 1, 1], "once"),
        Kernel::after("lib_price", "Pathcalc_Portfolio_KernelGPU2", [64, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[RATES, STEPS, PATHS, BLOCKS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "64 blocks of 64 threads, a path each (Bakhoda et al., Table I); ours has 60, four for each SM of a GTX 480, and fewer rates and steps than the original's 80 and 40",
    values_from: "all inputs are constants, as in the original",
    generator: 3,
    source: include_str!("../cuda/lib.cu"),
    ptx: include_str!("../ptx/lib.ptx"),
};

pub struct Lib;

impl Workload for Lib {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, _seed: u64) -> Result<Check, Error> {
        let paths = PATHS.at(size);
        let market = Market::new(RATES.at(size) as usize, STEPS.at(size) as usize);
        let blocks = BLOCKS.at(size);

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("rate_count", &[market.rates as i32])?;
        job.write_symbol("step_count", &[market.steps as i32])?;
        job.write_symbol("option_count", &[market.options.len() as i32])?;
        job.write_symbol("delta", &[DELTA])?;
        job.write_symbol("lambda", &vec![VOLATILITY; market.rates])?;
        let (maturities, swap_rates): (Vec<i32>, Vec<f32>) = market.options.iter().copied().unzip();
        job.write_symbol("maturities", &maturities)?;
        job.write_symbol("swaprates", &swap_rates)?;
        let z = job.upload("z", &vec![SHOCK; market.steps])?;
        let initial = job.upload("initial", &vec![RATE; market.rates])?;
        let value = job.zeros::<f32>("value", paths as usize)?;
        let sensitivity = job.zeros::<f32>("sensitivity", paths as usize)?;
        let price = job.zeros::<f32>("price", paths as usize)?;
        let args = Args::new().ptr(z).ptr(initial).ptr(value).ptr(sensitivity).i32(paths as i32);
        job.launch("lib_greeks", blocks, BLOCK, args)?;
        let args = Args::new().ptr(z).ptr(initial).ptr(price).i32(paths as i32);
        job.launch("lib_price", blocks, BLOCK, args)?;
        let value = job.download(value, paths as usize)?;
        let sensitivity = job.download(sensitivity, paths as usize)?;
        let price = job.download(price, paths as usize)?;
        job.finish()?;

        let (want, slope) = market.value_and_slope(&vec![f64::from(RATE); market.rates]);
        let want = vec![want as f32; paths as usize];
        Ok(Check::within(TOLERANCE)
            .output("value", &want, &value)
            .output("sensitivity", &vec![slope as f32; paths as usize], &sensitivity)
            .output("price", &want, &price))
    }
}

struct Market {
    rates: usize,
    steps: usize,
    /// Maturity and swap rate of each swaption.
    options: Vec<(i32, f32)>,
}

impl Market {
    fn new(rates: usize, steps: usize) -> Self {
        let scale = |maturity: i32| maturity * (rates - steps) as i32 / 40;
        let options = MATURITIES.iter().map(|m| scale(*m)).zip(SWAP_RATES.iter().copied().cycle()).collect();
        Market { rates, steps, options }
    }

    /// The rates after each time step, the initial ones first.
    fn paths(&self, initial: &[f64]) -> Vec<Vec<f64>> {
        let (delta, lambda) = (f64::from(DELTA), f64::from(VOLATILITY));
        let shock = libm::sqrt(delta) * f64::from(SHOCK);
        let mut history = vec![initial.to_vec()];
        for n in 0..self.steps {
            let mut rates = history[n].clone();
            let con = delta * lambda;
            let mut drift = 0.0;
            for rate in &mut rates[n + 1..] {
                drift += con * *rate / (1.0 + delta * *rate);
                *rate *= libm::exp(con * drift + lambda * (shock - 0.5 * con));
            }
            history.push(rates);
        }
        history
    }

    /// The portfolio's value today, and the sum of its derivatives by the initial rates (adjoint method).
    fn value_and_slope(&self, initial: &[f64]) -> (f64, f64) {
        let (delta, lambda) = (f64::from(DELTA), f64::from(VOLATILITY));
        let history = self.paths(initial);
        let last = &history[self.steps];
        let factors: Vec<f64> = last.iter().map(|rate| 1.0 / (1.0 + delta * rate)).collect();
        let discount: f64 = factors[..self.steps].iter().product();

        // Forward: bonds and annuities by maturity. Backward: what the value owes to each of them.
        let later = self.steps..self.rates;
        let (mut bonds, mut annuities) = (vec![1.0; self.rates], vec![0.0; self.rates]);
        let (mut bond, mut annuity) = (1.0, 0.0);
        for n in later.clone() {
            bond *= factors[n];
            annuity += delta * bond;
            (bonds[n], annuities[n]) = (bond, annuity);
        }
        let mut payoff = 0.0;
        let (mut owed_bond, mut owed_annuity) = (vec![0.0; self.rates], vec![0.0; self.rates]);
        for (maturity, swap_rate) in &self.options {
            let at = *maturity as usize + self.steps - 1;
            let swap = bonds[at] + f64::from(*swap_rate) * annuities[at] - 1.0;
            if swap < 0.0 {
                payoff -= 100.0 * swap;
                owed_bond[at] -= 100.0;
                owed_annuity[at] -= 100.0 * f64::from(*swap_rate);
            }
        }
        let value = payoff * discount;

        let mut adjoint: Vec<f64> = factors.iter().map(|factor| -delta * factor * value).collect();
        let (mut bond, mut annuity) = (0.0, 0.0);
        for n in later.rev() {
            annuity += owed_annuity[n];
            bond += owed_bond[n] + delta * annuity;
            adjoint[n] = -discount * bond * bonds[n] * delta * factors[n];
            bond *= factors[n];
        }
        for n in (0..self.steps).rev() {
            let (before, after) = (&history[n], &history[n + 1]);
            let mut carried = 0.0;
            for i in (n + 1..self.rates).rev() {
                carried += lambda * after[i] * adjoint[i];
                let factor = delta / (1.0 + delta * before[i]);
                adjoint[i] = adjoint[i] * after[i] / before[i] + carried * lambda * factor * factor;
            }
        }
        (value, adjoint.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adjoint_slope_is_the_difference_quotient() {
        let market = Market::new(20, 10);
        let step = 1e-6;
        let value = |shift: f64| market.value_and_slope(&[f64::from(RATE) + shift; 20]).0;
        let quotient = (value(step) - value(-step)) / (2.0 * step);
        let (_, slope) = market.value_and_slope(&[f64::from(RATE); 20]);
        assert!((slope - quotient).abs() < 1e-5 * quotient.abs(), "{slope} against {quotient}");
    }

    #[test]
    fn swaptions_are_worth_something() {
        let (value, _) = Market::new(80, 40).value_and_slope(&[f64::from(RATE); 80]);
        assert!(value > 1.0, "{value}");
    }
}
