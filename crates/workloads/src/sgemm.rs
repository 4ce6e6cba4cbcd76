// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense matrix product in single precision, tiled in shared memory and blocked in registers, after Parboil's
//! sgemm.

use crate::check::Check;
use crate::fused::{add_products, fma};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const TILE: u32 = 64;
const SIDE: u32 = 16;
// Multiples of the tile (64) and, for the depth, of 16.
const ROWS: Dim = Dim::new("rows", [128, 192, 384, 768]);
const COLS: Dim = Dim::new("columns", [128, 128, 320, 640]);
const DEPTH: Dim = Dim::new("depth", [32, 176, 272, 560]);
const ALPHA: f32 = 0.75;
const BETA: f32 = 0.4;

static INFO: Info = Info {
    name: "sgemm",
    about: "multiplies, adds matrices",
    domain: "linear algebra",
    suite: "Parboil",
    program: "sgemm",
    kernels: &[Kernel::after("sgemm", "mysgemmNT", [16, 8, 1], "once").but([16, 16, 1], "once").shared(512)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[ROWS, COLS, DEPTH],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a tile in shared memory and a block of results in registers, as Parboil's; ours has 256 threads for a tile of 64 x 64, theirs 128 for 128 x 16",
    values_from: "uniform numbers from 0 to 1, as Parboil's generator draws them",
    generator: 3,
    source: include_str!("../cuda/sgemm.cu"),
    ptx: include_str!("../ptx/sgemm.ptx"),
};

pub struct Sgemm;

impl Workload for Sgemm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (m, n, k) = (ROWS.at(size), COLS.at(size), DEPTH.at(size));
        let mut rng = Rng::new(seed);
        let a = rng.floats((m * k) as usize, 0.0, 1.0);
        let b = rng.floats((k * n) as usize, 0.0, 1.0);
        let c = rng.floats((m * n) as usize, 0.0, 1.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let (da, db, dc) = (job.upload("a", &a)?, job.upload("b", &b)?, job.upload("c", &c)?);
        let args = Args::new().ptr(da).ptr(db).ptr(dc).u32(n).u32(k).f32(ALPHA).f32(BETA);
        job.launch("sgemm", (n / TILE, m / TILE), (SIDE, SIDE), args)?;
        let product = job.download(dc, (m * n) as usize)?;
        job.finish()?;

        let expected = reference(&a, &b, &c, n as usize, k as usize);
        Ok(Check::exact().output("c", &expected, &product))
    }
}

/// Sums in the order of the kernel: along the depth, each step fused.
fn reference(a: &[f32], b: &[f32], c: &[f32], n: usize, k: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(c.len());
    let mut sums = vec![0.0f32; n];
    for (a_row, c_row) in a.chunks_exact(k).zip(c.chunks_exact(n)) {
        sums.fill(0.0);
        for (left, b_row) in a_row.iter().zip(b.chunks_exact(n)) {
            add_products(&mut sums, *left, b_row);
        }
        for (column, (sum, old)) in sums.iter().zip(c_row).enumerate() {
            // The compiler fuses the other product in the first of each four columns.
            out.push(if column % 4 == 0 {
                fma(*sum, ALPHA, old * BETA)
            } else {
                fma(*old, BETA, sum * ALPHA)
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_multiplies_matrices_of_small_integers() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
        let b = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]; // 3 x 2
        let product = reference(&a, &b, &[0.0; 4], 2, 3);
        assert_eq!(product, [58.0, 64.0, 139.0, 154.0].map(|x: f32| x * ALPHA));
        assert_eq!(reference(&[0.0], &[0.0], &[10.0], 1, 1), [10.0 * BETA]);
    }
}
