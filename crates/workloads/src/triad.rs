// SPDX-License-Identifier: MIT OR Apache-2.0
//! A vector plus a multiple of another in chunks, after SHOC's Triad (the last kernel of STREAM).

use crate::check::Check;
use crate::fused::add_products;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, DevicePtr, Error};

const BLOCK: u32 = 128;
// A multiple of a chunk, which is one of a block.
const ELEMENTS: Dim = Dim::new("elements", [16_384, 262_144, 1_048_576, 2_097_152]);
const CHUNK: Dim = Dim::new("chunk", [4_096, 65_536, 262_144, 1_048_576]);
const PASSES: Dim = Dim::new("passes", [1, 3, 3, 10]);
const SCALE: f32 = 1.75;

static INFO: Info = Info {
    name: "triad",
    about: "adds a scaled vector",
    domain: "linear algebra",
    suite: "SHOC",
    program: "Triad",
    kernels: &[Kernel::after("triad", "triad", [128, 1, 1], "once a chunk and pass")],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[ELEMENTS, CHUNK, PASSES],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 128 threads, an element a thread, over chunks of 64 KB to 16 MB of each vector, as SHOC's, which copies the next chunk meanwhile; ours has all of them in memory",
    values_from: "uniform numbers from 0 to 10, as SHOC's host program draws them, which has the same ones in both vectors, ours others; a scale of 1.75",
    generator: 3,
    source: include_str!("../cuda/triad.cu"),
    ptx: include_str!("../ptx/triad.ptx"),
};

pub struct Triad;

impl Workload for Triad {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (count, chunk) = (ELEMENTS.at(size), CHUNK.at(size));
        let mut rng = Rng::new(seed);
        let a = rng.floats(count as usize, 0.0, 10.0);
        let b = rng.floats(count as usize, 0.0, 10.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let vectors = [job.upload("a", &a)?, job.upload("b", &b)?, job.zeros::<f32>("c", count as usize)?];
        for _ in 0..PASSES.at(size) {
            for done in (0..count).step_by(chunk as usize) {
                let [a, b, c] = vectors.map(|DevicePtr(address)| DevicePtr(address + 4 * u64::from(done)));
                let args = Args::new().ptr(a).ptr(b).ptr(c).f32(SCALE);
                job.launch("triad", chunk / BLOCK, BLOCK, args)?;
            }
        }
        let found: Vec<f32> = job.download(vectors[2], count as usize)?;
        job.finish()?;

        let mut expected = a;
        add_products(&mut expected, SCALE, &b);
        Ok(Check::exact().output("c", &expected, &found))
    }
}
