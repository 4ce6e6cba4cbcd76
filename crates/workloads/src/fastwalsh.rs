// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dyadic convolution by fast Walsh transforms, after the CUDA SDK's fastWalshTransform: data and kernel are transformed, multiplied,
//! and transformed back.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, DevicePtr, Error};

const BLOCK: u32 = 256;
/// Points that a block transforms in shared memory.
const POINTS: u32 = 1024;
// Points: an even power of two.
const COUNT: Dim = Dim::new("points", [1 << 12, 1 << 14, 1 << 16, 1 << 20]);
const ROUNDS: Dim = Dim::new("rounds", [1, 4, 3, 1]);
// The longest stride in shared memory, at most a quarter of its points.
const SHORT: Dim = Dim::new("short", [64, 256, 256, 256]);
/// Points of the kernel that are not zero.
const TAPS: usize = 128;

static INFO: Info = Info {
    name: "fastwalsh",
    about: "convolves by Walsh series",
    domain: "signal processing",
    suite: "CUDA SDK",
    program: "fastWalshTransform",
    kernels: &[
        Kernel::after(
            "walsh_long",
            "fwtBatch2Kernel",
            [256, 1, 1],
            "once a factor of four above 2048 points",
        ),
        Kernel::after("walsh_short", "fwtBatch1Kernel", [512, 1, 1], "once a transform")
            .but([256, 1, 1], "once a transform"),
        Kernel::after("walsh_modulate", "modulateKernel", [256, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[COUNT, ROUNDS, SHORT],
    fill: Fill::Partial(
        "short kernels: towards the end of each, SMs run out of blocks at different times (89.9 % at medium)",
    ),
    known: Known::Read,
    shape_from: "four points a thread: blocks of 256 for long strides, a block of a quarter of its points for the last ones, which are 2048 or 1024 by the parity of the logarithm; ours are always 1024. The product has a grid of fixed size: 128 blocks of 256. The original has 2^23 points",
    values_from: "uniform numbers from 0 to 1 for data; a kernel of 128 such points, the rest zero, as the original's host program has it",
    generator: 3,
    source: include_str!("../cuda/fastwalsh.cu"),
    ptx: include_str!("../ptx/fastwalsh.ptx"),
};

pub struct Fastwalsh;

impl Workload for Fastwalsh {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let points = COUNT.at(size);
        let mut rng = Rng::new(seed);
        let start = rng.floats(points as usize, 0.0, 1.0);
        let mut kernel = rng.floats(TAPS, 0.0, 1.0);
        kernel.resize(points as usize, 0.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let data = job.upload("data", &start)?;
        let taps = job.zeros::<f32>("kernel", points as usize)?;
        let scale = 1.0 / points as f32;
        for _ in 0..ROUNDS.at(size) {
            job.write(taps, &kernel)?;
            transform(&mut job, data, points, SHORT.at(size))?;
            transform(&mut job, taps, points, SHORT.at(size))?;
            let args = Args::new().ptr(data).ptr(taps).i32(points as i32).f32(scale);
            job.launch("walsh_modulate", (points / 1024).min(128), BLOCK, args)?;
            transform(&mut job, data, points, SHORT.at(size))?;
        }
        let found: Vec<f32> = job.download(data, points as usize)?;
        job.finish()?;

        let mut spectrum = kernel;
        walsh(&mut spectrum);
        let mut expected = start;
        for _ in 0..ROUNDS.at(size) {
            walsh(&mut expected);
            expected.iter_mut().zip(&spectrum).for_each(|(value, other)| *value *= scale * other);
            walsh(&mut expected);
        }
        Ok(Check::exact().output("data", &expected, &found))
    }
}

fn transform(job: &mut Job<'_>, data: DevicePtr, points: u32, short: u32) -> Result<(), Error> {
    let mut stride = points / 4;
    while stride > short {
        let args = Args::new().ptr(data).i32(stride as i32);
        job.launch("walsh_long", points / 4 / BLOCK, BLOCK, args)?;
        stride /= 4;
    }
    let args = Args::new().ptr(data).i32(stride as i32);
    job.launch("walsh_short", points / POINTS, BLOCK, args)
}

/// The transform in place, by steps of radix four from the longest stride.
fn walsh(data: &mut [f32]) {
    let mut stride = data.len() / 4;
    while stride > 0 {
        for run in data.chunks_exact_mut(4 * stride) {
            for at in 0..stride {
                let [a, b, c, d] = [0, 1, 2, 3].map(|part| run[at + part * stride]);
                let (low, low_apart, high, high_apart) = (a + c, a - c, b + d, b - d);
                let results = [low + high, low - high, low_apart + high_apart, low_apart - high_apart];
                for (part, result) in results.into_iter().enumerate() {
                    run[at + part * stride] = result;
                }
            }
        }
        stride /= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_its_own_inverse_and_finds_a_walsh_function() {
        let mut data: Vec<f32> =
            (0..16).map(|at: u32| if (at & 5).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }).collect();
        let start = data.clone();
        walsh(&mut data);
        assert_eq!((data[5], data.iter().map(|x| x.abs()).sum::<f32>()), (16.0, 16.0));
        walsh(&mut data);
        assert_eq!(data, start.iter().map(|x| 16.0 * x).collect::<Vec<_>>());
    }
}
