// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prices of options by simulated paths, after the CUDA SDK's MonteCarlo. Logarithms, exponentials, sines and cosines are approximate, so
//! sums are checked within a tolerance; the random numbers behind them are the same to the bit.

use crate::check::Check;
use crate::exponential::exp;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const OPTIONS: Dim = Dim::new("options", [3, 30, 90, 180]);
const BLOCKS: Dim = Dim::new("blocks", [2, 30, 90, 90]);
// Paths of an option, an even number.
const PATHS: Dim = Dim::new("paths", [1_800, 8_192, 12_288, 46_080]);
const RISKLESS: f32 = 0.06;
const VOLATILITY: f32 = 0.10;
/// Beside payoffs of the order of 10 and squares of 100, each with five approximations of 2^-21 or better.
const TOLERANCE: f64 = 3e-5;

static INFO: Info = Info {
    name: "montecarlo",
    about: "prices options by chance",
    domain: "finance",
    suite: "CUDA SDK",
    program: "MonteCarlo",
    kernels: &[
        Kernel::after("montecarlo_setup", "rngSetupStates", [256, 1, 1], "once"),
        Kernel::after("montecarlo_price", "MonteCarloOneBlockPerOption", [256, 1, 1], "once").shared(2048),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[OPTIONS, BLOCKS, PATHS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a block of 256 threads an option and a generator a thread, as the sample's, which has 262144 paths of each of up to 8192 options and several options a block",
    values_from: "prices from 5 to 50, strikes from 10 to 25, 1 to 5 years, a riskless rate of 0.06 and a volatility of 0.10, as the sample draws them (recalled); normal numbers by xorwow and Box and Muller, as cuRAND makes them, from seeds of our own",
    generator: 3,
    source: include_str!("../cuda/montecarlo.cu"),
    ptx: include_str!("../ptx/montecarlo.ptx"),
};

pub struct Montecarlo;

impl Workload for Montecarlo {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (count, blocks, paths) = (OPTIONS.at(size), BLOCKS.at(size), PATHS.at(size));
        let mut rng = Rng::new(seed);
        let options: Vec<Priced> = (0..count).map(|_| Priced::draw(&mut rng)).collect();
        let fields: Vec<f32> = options.iter().flat_map(Priced::fields).collect();
        let seed = rng.below(u32::MAX);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let states = job.zeros::<u32>("generators", (6 * blocks * BLOCK) as usize)?;
        let sums = job.zeros::<f32>("sums", 2 * options.len())?;
        let given = job.upload("options", &fields)?;
        job.launch("montecarlo_setup", blocks, BLOCK, Args::new().ptr(states).u32(seed))?;
        let args = Args::new().ptr(states).ptr(given).ptr(sums).i32(count as i32).i32(paths as i32);
        job.launch("montecarlo_price", blocks, BLOCK, args)?;
        let found: Vec<f32> = job.download(sums, 2 * options.len())?;
        job.finish()?;

        let mut expected = vec![0.0f32; found.len()];
        for block in 0..blocks {
            let mut threads: Vec<Xorwow> =
                (0..BLOCK).map(|thread| Xorwow::new(seed, block * BLOCK + thread)).collect();
            for at in (block..count).step_by(blocks as usize) {
                let mut values = Vec::with_capacity(paths as usize + 1);
                for (thread, first) in threads.iter_mut().zip((0..).step_by(2)) {
                    let rounds = (first..paths).step_by(2 * BLOCK as usize);
                    values.extend(rounds.flat_map(|_| thread.normals()));
                }
                let option = &options[at as usize];
                wide(|| values.iter_mut().for_each(|value| *value = option.payoff(*value)));
                let (mut sum, mut squares) = (0.0, 0.0);
                for payoff in values {
                    sum += payoff;
                    squares += payoff * payoff;
                }
                expected[2 * at as usize] = sum as f32;
                expected[2 * at as usize + 1] = squares as f32;
            }
        }
        Ok(Check::within(TOLERANCE).sums("sums", paths as f32, &expected, &found))
    }
}

/// An option with what its price at maturity depends on.
struct Priced {
    price: f32,
    strike: f32,
    drift: f32,
    spread: f32,
}

impl Priced {
    fn draw(rng: &mut Rng) -> Self {
        let (price, strike, years) = (rng.float(5.0, 50.0), rng.float(10.0, 25.0), rng.float(1.0, 5.0));
        Priced {
            price,
            strike,
            drift: (RISKLESS - 0.5 * VOLATILITY * VOLATILITY) * years,
            spread: VOLATILITY * years.sqrt(),
        }
    }

    fn fields(&self) -> [f32; 4] {
        [self.price, self.strike, self.drift, self.spread]
    }

    #[inline(always)]
    fn payoff(&self, normal: f64) -> f64 {
        let grown = exp(f64::from(self.drift) + f64::from(self.spread) * normal);
        (f64::from(self.price) * grown - f64::from(self.strike)).max(0.0)
    }
}

/// Marsaglia's generator ("Xorshift RNGs", 2003), seeded as the kernel does.
struct Xorwow {
    words: [u32; 5],
    count: u32,
}

impl Xorwow {
    fn new(seed: u32, thread: u32) -> Self {
        let from = mixed(seed ^ mixed(thread));
        let mut words = [1, 2, 3, 4, 5].map(|word| mixed(from.wrapping_add(word)));
        words[4] |= 1;
        Xorwow { words, count: from }
    }

    fn draw(&mut self) -> u32 {
        let [x, y, z, w, v] = self.words;
        let t = x ^ (x >> 2);
        let next = (v ^ (v << 4)) ^ (t ^ (t << 1));
        self.words = [y, z, w, v, next];
        self.count = self.count.wrapping_add(362_437);
        next.wrapping_add(self.count)
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        f64::from((self.draw() | 1) as f32) / 4_294_967_296.0
    }

    fn normals(&mut self) -> [f64; 2] {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        let angle = (2.0 * self.unit() - 1.0) * std::f64::consts::PI;
        let (sin, cos) = libm::sincos(angle);
        [radius * sin, radius * cos]
    }
}

fn mixed(mut n: u32) -> u32 {
    n ^= n >> 16;
    n = n.wrapping_mul(0x7feb_352d);
    n ^= n >> 15;
    n = n.wrapping_mul(0x846c_a68b);
    n ^ (n >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_payoff_tends_to_the_formula_of_black_and_scholes() {
        // At the money, one year: 100 (N(0.65) - exp(-0.06) N(0.55)) by tables of the normal distribution.
        let option = Priced { price: 100.0, strike: 100.0, drift: 0.055, spread: 0.1 };
        let mut generators: Vec<Xorwow> = (0..64).map(|thread| Xorwow::new(9, thread)).collect();
        let payoffs: f64 = generators
            .iter_mut()
            .flat_map(|own| (0..1000).flat_map(|_| own.normals()).collect::<Vec<_>>())
            .map(|normal| option.payoff(normal))
            .sum();
        let price = payoffs / 128_000.0 * libm::exp(-0.06);
        assert!((price - 7.46).abs() < 0.08, "{price}");
    }
}
