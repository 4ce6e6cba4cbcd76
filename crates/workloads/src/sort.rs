// SPDX-License-Identifier: MIT OR Apache-2.0
//! Radix sort of pairs, four bits a pass, after SHOC's Sort, whose algorithm is that of Satish, Harris and Garland ("Designing efficient
//! sorting algorithms for manycore GPUs", 2009).

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const SORT_BLOCK: u32 = 128;
const BLOCK: u32 = 256;
/// Pairs of a tile.
const TILE: u32 = 512;
const DIGITS: u32 = 16;
// A multiple of a tile.
const PAIRS: Dim = Dim::new("pairs", [1_024, 7_680, 30_720, 230_400]);
// Bits that are sorted by, four a pass.
const BITS: Dim = Dim::new("bits", [12, 32, 32, 32]);
/// Keys lie below this.
const KEYS: u32 = 1024;

static INFO: Info = Info {
    name: "sort",
    about: "radix sort of pairs",
    domain: "parallel primitives",
    suite: "SHOC",
    program: "Sort",
    kernels: &[
        Kernel::after("sort_tiles", "radixSortBlocks", [128, 1, 1], "once a pass"),
        Kernel::after("sort_offsets", "findRadixOffsets", [256, 1, 1], "once a pass"),
        Kernel::after("sort_scan", "scan", [256, 1, 1], "three times a pass: tiles, their sums, and no more")
            .but([256, 1, 1], "once a pass, in one block"),
        Kernel::after("sort_reorder", "reorderData", [256, 1, 1], "once a pass"),
    ],
    missing: &["vectorAddUniform4, which spreads the sums of a scan by several blocks; ours scans in one"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[PAIRS, BITS],
    fill: Fill::Partial(
        "the counts of digits are scanned by one block while all others wait: in the algorithm",
    ),
    known: Known::Recalled,
    shape_from: "tiles of 512 pairs: 128 threads sort four each, 256 threads count and move two each, eight passes of four bits, as SHOC's",
    values_from: "keys below 1024, the range of SHOC's pattern, here in random order; values count up, so that a pair that overtakes another shows",
    generator: 3,
    source: include_str!("../cuda/sort.cu"),
    ptx: include_str!("../ptx/sort.ptx"),
};

pub struct Sort;

impl Workload for Sort {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = PAIRS.at(size);
        let tiles = count / TILE;
        let mut rng = Rng::new(seed);
        let keys: Vec<u32> = (0..count).map(|_| rng.below(KEYS)).collect();
        let values: Vec<u32> = (0..count).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let (own_keys, own_values) = (job.upload("keys", &keys)?, job.upload("values", &values)?);
        let tile_keys = job.zeros::<u32>("keys by tile", keys.len())?;
        let tile_values = job.zeros::<u32>("values by tile", keys.len())?;
        let counts = job.zeros::<u32>("counts", (DIGITS * tiles) as usize)?;
        let starts = job.zeros::<u32>("starts", (DIGITS * tiles) as usize)?;
        for shift in (0..BITS.at(size) as i32).step_by(4) {
            let args = Args::new().ptr(tile_keys).ptr(tile_values).ptr(own_keys).ptr(own_values);
            job.launch("sort_tiles", tiles, SORT_BLOCK, args.i32(shift))?;
            let args = Args::new().ptr(tile_keys).ptr(counts).ptr(starts).i32(shift);
            job.launch("sort_offsets", tiles, BLOCK, args)?;
            let args = Args::new().ptr(counts).i32((DIGITS * tiles) as i32);
            job.launch("sort_scan", 1, BLOCK, args)?;
            let args = Args::new().ptr(own_keys).ptr(own_values).ptr(tile_keys).ptr(tile_values);
            job.launch("sort_reorder", tiles, BLOCK, args.ptr(counts).ptr(starts).i32(shift))?;
        }
        let found_keys: Vec<u32> = job.download(own_keys, keys.len())?;
        let found_values: Vec<u32> = job.download(own_values, keys.len())?;
        job.finish()?;

        let mut pairs: Vec<(u32, u32)> = keys.into_iter().zip(values).collect();
        // Each pass keeps the order of equal digits, so equal keys stay in order.
        pairs.sort_by_key(|(key, _)| *key);
        let (want_keys, want_values): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        Ok(Check::exact().output("keys", &want_keys, &found_keys).output(
            "values",
            &want_values,
            &found_values,
        ))
    }
}
