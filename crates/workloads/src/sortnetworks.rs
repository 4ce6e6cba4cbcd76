// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bitonic sorting of arrays of pairs, after the CUDA SDK's sortingNetworks.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
/// Pairs that a block sorts in shared memory.
const RUN: u32 = 512;
// A power of two from 1024 on.
const LENGTH: Dim = Dim::new("length", [1_024, 2_048, 4_096, 32_768]);
const ARRAYS: Dim = Dim::new("arrays", [1, 7, 11, 8]);
/// Keys lie below this.
const KEYS: u32 = 65_536;

static INFO: Info = Info {
    name: "sortnetworks",
    about: "sorts pairs by networks",
    domain: "parallel primitives",
    suite: "CUDA SDK",
    program: "sortingNetworks",
    kernels: &[
        Kernel::after("sort_runs", "bitonicSortShared1", [512, 1, 1], "once")
            .but([256, 1, 1], "once")
            .shared(8192),
        Kernel::after(
            "merge_far",
            "bitonicMergeGlobal",
            [256, 1, 1],
            "once a stride that is longer than a run",
        ),
        Kernel::after("merge_near", "bitonicMergeShared", [512, 1, 1], "once a doubling")
            .but([256, 1, 1], "once a doubling")
            .shared(8192),
    ],
    missing: &[
        "bitonicSortShared, for arrays that fit into shared memory",
        "oddEvenMergeSortShared and oddEvenMergeGlobal, the other network of the sample",
    ],
    order_dependent: false,
    data: Data::Integer,
    dims: &[LENGTH, ARRAYS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a thread two pairs in shared memory and in strides of device memory, as the sample's; its runs have 1024 pairs and blocks of 512 threads, ours 512 and 256, as its twin for OpenCL. The sample sorts 2^20 pairs in arrays of 64 and more",
    values_from: "keys below 65536 and values that count up, as the sample's host program makes them",
    generator: 3,
    source: include_str!("../cuda/sortnetworks.cu"),
    ptx: include_str!("../ptx/sortnetworks.ptx"),
};

pub struct Sortnetworks;

impl Workload for Sortnetworks {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (length, arrays) = (LENGTH.at(size), ARRAYS.at(size));
        let all = length * arrays;
        let mut rng = Rng::new(seed);
        let keys: Vec<u32> = (0..all).map(|_| rng.below(KEYS)).collect();
        let values: Vec<u32> = (0..all).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = [job.upload("keys", &keys)?, job.upload("values", &values)?];
        let to_keys = job.zeros::<u32>("sorted keys", keys.len())?;
        let to_values = job.zeros::<u32>("sorted values", keys.len())?;
        let to = Args::new().ptr(to_keys).ptr(to_values);
        job.launch("sort_runs", all / RUN, BLOCK, to.clone().ptr(from[0]).ptr(from[1]))?;
        let mut merged = 2 * RUN;
        while merged <= length {
            let mut stride = merged / 2;
            while stride >= RUN {
                let args = to.clone().u32(length).u32(merged).u32(stride).u32(1);
                job.launch("merge_far", all / RUN, BLOCK, args)?;
                stride /= 2;
            }
            job.launch("merge_near", all / RUN, BLOCK, to.clone().u32(length).u32(merged).u32(1))?;
            merged *= 2;
        }
        let found_keys: Vec<u32> = job.download(to_keys, keys.len())?;
        let mut found_values: Vec<u32> = job.download(to_values, keys.len())?;
        job.finish()?;

        // A network may exchange equal keys: a value has to lead to the key that it came with, and none may be lost.
        let named = |value: &u32| keys.get(*value as usize).copied().unwrap_or(u32::MAX);
        let named: Vec<u32> = found_values.iter().map(named).collect();
        let mut sorted = keys;
        sorted.chunks_exact_mut(length as usize).for_each(<[u32]>::sort_unstable);
        found_values.chunks_exact_mut(length as usize).for_each(<[u32]>::sort_unstable);
        Ok(Check::exact()
            .output("keys", &sorted, &found_keys)
            .output("keys of values", &sorted, &named)
            .output("values", &values, &found_values))
    }
}
