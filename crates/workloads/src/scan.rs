// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exclusive prefix sum by block-wise trees, after the scan sample of the CUDA SDK and GPU Gems 3, chapter 39.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, DevicePtr, Error};

const BLOCK: u32 = 256;
const SPAN: u32 = 2 * BLOCK;
const ELEMENTS: Dim = Dim::new("elements", [5_201, 50_003, 400_005, 3_000_007]);

static INFO: Info = Info {
    name: "scan",
    about: "prefix sum of integers",
    domain: "parallel primitives",
    suite: "CUDA SDK",
    program: "scan",
    kernels: &[
        Kernel::after("scan_blocks", "scanExclusiveShared", [256, 1, 1], "once a level").shared(2048),
        Kernel::after("scan_add", "uniformUpdate", [256, 1, 1], "once a level but the last"),
    ],
    missing: &["scanExclusiveShared2: the second level, which is our first kernel again"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[ELEMENTS],
    fill: Fill::Partial(
        "short kernels: towards the end of each, SMs run out of blocks at different times (89.9 % at medium)",
    ),
    known: Known::Recalled,
    shape_from: "the sample's block of 256 threads; levels instead of the sample's fixed two",
    values_from: "small whole numbers, so that sums stay exact",
    generator: 3,
    source: include_str!("../cuda/scan.cu"),
    ptx: include_str!("../ptx/scan.ptx"),
};

pub struct Scan;

impl Workload for Scan {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = ELEMENTS.at(size);
        let mut rng = Rng::new(seed);
        let input: Vec<u32> = (0..n).map(|_| rng.below(256)).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = job.upload("input", &input)?;
        let to = job.zeros::<u32>("prefix sums", n as usize)?;
        let totals = scan(&mut job, from, to, n)?;
        let sums = job.download(to, n as usize)?;
        let total = job.download(totals, 1)?;
        job.finish()?;

        let (expected, all) = reference(&input);
        Ok(Check::exact().output("prefix sums", &expected, &sums).output("total", &[all], &total))
    }
}

/// Scans `n` elements, level by level, and says where the total of them all is.
fn scan(job: &mut Job, from: DevicePtr, to: DevicePtr, n: u32) -> Result<DevicePtr, Error> {
    let blocks = n.div_ceil(SPAN);
    let totals = job.zeros::<u32>("totals", blocks as usize)?;
    job.launch("scan_blocks", blocks, BLOCK, Args::new().ptr(from).ptr(to).ptr(totals).u32(n))?;
    if blocks == 1 {
        return Ok(totals);
    }
    let offsets = job.zeros::<u32>("offsets", blocks as usize)?;
    let total = scan(job, totals, offsets, blocks)?;
    job.launch("scan_add", blocks, BLOCK, Args::new().ptr(to).ptr(offsets).u32(n))?;
    Ok(total)
}

/// The sum before each element, and of all.
fn reference(input: &[u32]) -> (Vec<u32>, u32) {
    let mut sum = 0;
    let before = input
        .iter()
        .map(|x| {
            sum += x;
            sum - x
        })
        .collect();
    (before, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_matches_sums_taken_one_by_one() {
        let input = [3, 1, 4, 1, 5, 9, 2, 6];
        let (before, sum) = reference(&input);
        for (at, prefix) in before.iter().enumerate() {
            assert_eq!(*prefix, input[..at].iter().sum::<u32>());
        }
        assert_eq!(sum, 31);
    }
}
