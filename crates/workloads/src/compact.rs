// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compaction of a stream by parallel scans, which is how E2MC describes its scan.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const COUNT: Dim = Dim::new("elements", [2_000, 65_500, 261_800, 1_966_000]);
// Sums of blocks that are scanned at a time, at most 256.
const ROUND: Dim = Dim::new("round", [5, 256, 256, 256]);
/// Elements are kept from here on.
const LEAST: u32 = 500;

static INFO: Info = Info {
    name: "compact",
    about: "compacts a stream by scans",
    domain: "primitives",
    suite: "CUDA SDK",
    program: "scan",
    kernels: &[
        Kernel::after("compact_mark", "scanExclusiveShared", [256, 1, 1], "once"),
        Kernel::after("compact_offsets", "scanExclusiveShared2", [256, 1, 1], "once"),
        Kernel::after("compact_move", "uniformUpdate", [256, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[COUNT, ROUND],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "blocks of 256 threads: scans of blocks, of their sums, and an update, as the SDK's scan has them; E2MC says that its scan compacts streams",
    values_from: "whole numbers below 1000, half of which are kept",
    generator: 3,
    source: include_str!("../cuda/compact.cu"),
    ptx: include_str!("../ptx/compact.ptx"),
};

pub struct Compact;

impl Workload for Compact {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = COUNT.at(size);
        let blocks = count.div_ceil(BLOCK);
        let mut rng = Rng::new(seed);
        let stream: Vec<u32> = (0..count).map(|_| rng.below(1000)).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let input = job.upload("stream", &stream)?;
        let places = job.zeros::<u32>("places", (blocks * BLOCK) as usize)?;
        let totals = job.zeros::<u32>("totals", blocks as usize + 1)?;
        let output = job.zeros::<u32>("kept", count as usize)?;
        let args = Args::new().ptr(input).u32(count).u32(LEAST).ptr(places).ptr(totals);
        job.launch("compact_mark", blocks, BLOCK, args)?;
        job.launch("compact_offsets", 1, BLOCK, Args::new().ptr(totals).u32(blocks).u32(ROUND.at(size)))?;
        let args = Args::new().ptr(input).u32(count).u32(LEAST).ptr(places).ptr(totals).ptr(output);
        job.launch("compact_move", blocks, BLOCK, args)?;
        let kept: Vec<u32> = job.download(output, count as usize)?;
        let totals: Vec<u32> = job.download(totals, blocks as usize + 1)?;
        job.finish()?;

        let mut expected: Vec<u32> = stream.iter().copied().filter(|value| *value >= LEAST).collect();
        let mut sum = 0;
        let mut offsets = vec![0];
        for block in stream.chunks(BLOCK as usize) {
            sum += block.iter().filter(|value| **value >= LEAST).count() as u32;
            offsets.push(sum);
        }
        expected.resize(count as usize, 0);
        Ok(Check::exact().output("kept", &expected, &kept).output("totals", &offsets, &totals))
    }
}
