// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prices of options, after the CUDA SDK's BlackScholes. Logarithms, exponentials and quotients are approximate, so prices are checked
//! within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 128;
const OPTIONS: Dim = Dim::new("options", [300, 15_360, 61_440, 122_880]);
const ROUNDS: Dim = Dim::new("rounds", [1, 8, 8, 32]);
const RISKLESS: f32 = 0.02;
const VOLATILITY: f32 = 0.30;
/// Beside prices of the order of 10, each of which is a difference of two products with four approximations of 2^-21 or better.
const TOLERANCE: f64 = 1e-5;
const SCALE: f32 = 10.0;

static INFO: Info = Info {
    name: "blackscholes",
    about: "prices options",
    domain: "finance",
    suite: "CUDA SDK",
    program: "BlackScholes",
    kernels: &[Kernel::after("black_scholes", "BlackScholesGPU", [128, 1, 1], "once a round")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[OPTIONS, ROUNDS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 128 threads; the original prices four million options 512 times over, ours fewer, as often as the size says. Its grid has 480 blocks or one thread an option, by the version of the SDK; ours two options a thread",
    values_from: "prices from 5 to 30, strikes from 1 to 100, 0.25 to 10 years, a riskless rate of 0.02 and a volatility of 0.30, as the original's host program draws them",
    generator: 3,
    source: include_str!("../cuda/blackscholes.cu"),
    ptx: include_str!("../ptx/blackscholes.ptx"),
};

pub struct Blackscholes;

impl Workload for Blackscholes {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = OPTIONS.at(size) as usize;
        let mut rng = Rng::new(seed);
        let prices = rng.floats(count, 5.0, 30.0);
        let strikes = rng.floats(count, 1.0, 100.0);
        let years = rng.floats(count, 0.25, 10.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let calls = job.zeros::<f32>("calls", count)?;
        let puts = job.zeros::<f32>("puts", count)?;
        let inputs =
            [job.upload("prices", &prices)?, job.upload("strikes", &strikes)?, job.upload("years", &years)?];
        for _ in 0..ROUNDS.at(size) {
            let args = Args::new().ptr(calls).ptr(puts).ptr(inputs[0]).ptr(inputs[1]).ptr(inputs[2]);
            let blocks = (count as u32).div_ceil(2 * BLOCK);
            let args = args.f32(RISKLESS).f32(VOLATILITY).i32(count as i32).i32((blocks * BLOCK) as i32);
            job.launch("black_scholes", blocks, BLOCK, args)?;
        }
        let calls: Vec<f32> = job.download(calls, count)?;
        let puts: Vec<f32> = job.download(puts, count)?;
        job.finish()?;

        let options = prices.iter().zip(&strikes).zip(&years);
        let (want_calls, want_puts): (Vec<f32>, Vec<f32>) =
            options.map(|((price, strike), years)| value(*price, *strike, *years)).unzip();
        Ok(Check::within(TOLERANCE)
            .sums("calls", SCALE, &want_calls, &calls)
            .sums("puts", SCALE, &want_puts, &puts))
    }
}

fn normal(d: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let sum = series.into_iter().fold(0.0, |sum, term| term + k * sum);
    let tail = 0.398_942_28 * libm::exp(-0.5 * d * d) * k * sum;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// Prices of call and put.
fn value(price: f32, strike: f32, years: f32) -> (f32, f32) {
    let (price, strike, years) = (f64::from(price), f64::from(strike), f64::from(years));
    let (riskless, volatility) = (f64::from(RISKLESS), f64::from(VOLATILITY));
    let spread = volatility * years.sqrt();
    let d1 = (libm::log(price / strike) + (riskless + 0.5 * volatility * volatility) * years) / spread;
    let (n1, n2) = (normal(d1), normal(d1 - spread));
    let discounted = strike * libm::exp(-riskless * years);
    ((price * n1 - discounted * n2) as f32, (discounted * (1.0 - n2) - price * (1.0 - n1)) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_and_put_are_at_parity() {
        let (call, put) = value(20.0, 25.0, 3.0);
        let forward = 20.0 - 25.0 * libm::exp(-0.06);
        assert!((f64::from(call) - f64::from(put) - forward).abs() < 1e-5, "{call} and {put}");
        assert!(call > 0.0 && put > 0.0);
    }
}
