// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector addition, after the first sample of the CUDA SDK.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
// Never a multiple of the block, so that the guard matters.
const ELEMENTS: Dim = Dim::new("elements", [50_001, 400_003, 2_800_005, 22_000_007]);

static INFO: Info = Info {
    name: "vecadd",
    about: "adds two vectors",
    domain: "linear algebra",
    suite: "CUDA SDK",
    program: "vectorAdd",
    kernels: &[Kernel::after("vecadd", "vectorAdd", [256, 1, 1], "once")],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[ELEMENTS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "the sample's block of 256 threads, an element a thread",
    values_from: "uniform numbers, as the sample draws them",
    generator: 3,
    source: include_str!("../cuda/vecadd.cu"),
    ptx: include_str!("../ptx/vecadd.ptx"),
};

pub struct Vecadd;

impl Workload for Vecadd {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = ELEMENTS.at(size);
        let mut rng = Rng::new(seed);
        let a = rng.floats(n as usize, 0.0, 1.0);
        let b = rng.floats(n as usize, 0.0, 1.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let (da, db) = (job.upload("a", &a)?, job.upload("b", &b)?);
        let dc = job.zeros::<f32>("c", n as usize)?;
        let args = Args::new().ptr(da).ptr(db).ptr(dc).i32(n as i32);
        job.launch("vecadd", n.div_ceil(BLOCK), BLOCK, args)?;
        let c = job.download(dc, n as usize)?;
        job.finish()?;

        let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        Ok(Check::exact().output("c", &sums, &c))
    }
}
