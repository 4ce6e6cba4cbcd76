// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sum of many integers in two launches, after the reduction sample of the CUDA SDK.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
/// Elements that a thread adds up before its block's tree starts.
const SHARE: u32 = 4;
const ELEMENTS: Dim = Dim::new("elements", [45_001, 400_003, 3_000_005, 24_000_007]);

static INFO: Info = Info {
    name: "reduction",
    about: "adds up integers",
    domain: "parallel primitives",
    suite: "CUDA SDK",
    program: "reduction",
    kernels: &[Kernel::after("reduce_sum", "reduce6", [256, 1, 1], "twice: blocks, then their sums")],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[ELEMENTS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "the sample's default of 256 threads, several elements a thread",
    values_from: "small whole numbers, as the sample masks its random numbers to a byte",
    generator: 3,
    source: include_str!("../cuda/reduction.cu"),
    ptx: include_str!("../ptx/reduction.ptx"),
};

pub struct Reduction;

impl Workload for Reduction {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = ELEMENTS.at(size);
        let blocks = n.div_ceil(BLOCK * SHARE);
        let input = Rng::new(seed).ints(n as usize, 0, 128);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = job.upload("input", &input)?;
        let sums = job.zeros::<i32>("block sums", blocks as usize)?;
        let total = job.zeros::<i32>("total", 1)?;
        job.launch("reduce_sum", blocks, BLOCK, Args::new().ptr(from).ptr(sums).u32(n))?;
        job.launch("reduce_sum", 1, BLOCK, Args::new().ptr(sums).ptr(total).u32(blocks))?;
        let sums: Vec<i32> = job.download(sums, blocks as usize)?;
        let total: Vec<i32> = job.download(total, 1)?;
        job.finish()?;

        let expected = block_sums(&input, blocks as usize);
        Ok(Check::exact().output("block sums", &expected, &sums).output(
            "total",
            &[input.iter().sum::<i32>()],
            &total,
        ))
    }
}

/// The input in runs of two blocks' worth, dealt to the blocks in turn.
fn block_sums(input: &[i32], blocks: usize) -> Vec<i32> {
    let mut sums = vec![0; blocks];
    for (turn, run) in input.chunks(2 * BLOCK as usize).enumerate() {
        sums[turn % blocks] += run.iter().sum::<i32>();
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sums_lose_nothing_and_deal_in_turn() {
        let input: Vec<i32> = (0..5000).collect();
        let sums = block_sums(&input, 3);
        assert_eq!(sums.iter().sum::<i32>(), 5000 * 4999 / 2);
        let second: i32 = (512..1024).chain(2048..2560).chain(3584..4096).sum();
        assert_eq!(sums[1], second);
    }
}
