// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense matrix product in single precision by tiles in shared memory, an element a thread, after the CUDA SDK's matrixMul.

use crate::check::Check;
use crate::fused::add_products;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const SIDE: u32 = 16;
// Multiples of 16.
const ROWS: Dim = Dim::new("rows", [32, 160, 240, 480]);
const COLS: Dim = Dim::new("columns", [48, 144, 240, 480]);
const DEPTH: Dim = Dim::new("depth", [64, 112, 192, 416]);

static INFO: Info = Info {
    name: "matrixmul",
    about: "multiplies matrices",
    domain: "linear algebra",
    suite: "CUDA SDK",
    program: "matrixMul",
    kernels: &[Kernel::after("matrixmul", "matrixMul", [16, 16, 1], "once").shared(2048)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[ROWS, COLS, DEPTH],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "blocks of 16 x 16 threads, two tiles in shared memory, as the sample of the SDKs for Fermi; later ones have 32 x 32",
    values_from: "uniform numbers from 0 to 1, as the sample of those SDKs draws them",
    generator: 3,
    source: include_str!("../cuda/matrixmul.cu"),
    ptx: include_str!("../ptx/matrixmul.ptx"),
};

pub struct Matrixmul;

impl Workload for Matrixmul {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (rows, cols, depth) = (ROWS.at(size), COLS.at(size), DEPTH.at(size));
        let mut rng = Rng::new(seed);
        let a = rng.floats((rows * depth) as usize, 0.0, 1.0);
        let b = rng.floats((depth * cols) as usize, 0.0, 1.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let c = job.zeros::<f32>("c", (rows * cols) as usize)?;
        let args = Args::new().ptr(job.upload("a", &a)?).ptr(job.upload("b", &b)?).ptr(c);
        let args = args.i32(depth as i32).i32(cols as i32);
        job.launch("matrixmul", (cols / SIDE, rows / SIDE), (SIDE, SIDE), args)?;
        let product = job.download(c, (rows * cols) as usize)?;
        job.finish()?;

        Ok(Check::exact().output("c", &reference(&a, &b, depth as usize, cols as usize), &product))
    }
}

/// Sums in the order of the kernel: along the depth, each step fused.
fn reference(a: &[f32], b: &[f32], depth: usize, cols: usize) -> Vec<f32> {
    let mut c = vec![0.0f32; a.len() / depth * cols];
    for (sums, a_row) in c.chunks_exact_mut(cols).zip(a.chunks_exact(depth)) {
        for (left, b_row) in a_row.iter().zip(b.chunks_exact(cols)) {
            add_products(sums, *left, b_row);
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_multiplies_matrices_of_small_integers() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
        let b = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]; // 3 x 2
        assert_eq!(reference(&a, &b, 3, 2), [58.0, 64.0, 139.0, 154.0]);
    }
}
