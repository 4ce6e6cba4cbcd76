// SPDX-License-Identifier: MIT OR Apache-2.0
//! LU decomposition without pivots by tiles of 16 x 16, after Rodinia's lud. Kernels divide approximately, so factors are checked
//! within a tolerance.

use crate::check::Check;
use crate::fused::add_products;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const SIDE: u32 = 16;
const SIZE: Dim = Dim::new("size", [64, 160, 304, 640]);
const TOLERANCE: f64 = 1e-4;

static INFO: Info = Info {
    name: "lud",
    about: "LU decomposition by tiles",
    domain: "linear algebra",
    suite: "Rodinia",
    program: "lud",
    kernels: &[
        Kernel::after("lud_diagonal", "lud_diagonal", [16, 1, 1], "once a diagonal tile").shared(1024),
        Kernel::after("lud_perimeter", "lud_perimeter", [32, 1, 1], "once a diagonal tile but the last")
            .shared(3072),
        Kernel::after("lud_internal", "lud_internal", [16, 16, 1], "once a diagonal tile but the last")
            .shared(2048),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[SIZE],
    fill: Fill::Partial(
        "the diagonal tile is one block of 16 threads, the perimeter a warp a tile, and the last steps have few tiles: in the algorithm",
    ),
    known: Known::Read,
    shape_from: "Rodinia's tiles of 16 x 16 with 16, 32 and 256 threads a block and three launches a step",
    values_from: "Rodinia's generator: a symmetric matrix of 10 exp(-0.001 |i - j|); ours raises the diagonal by noise, so that seeds differ",
    generator: 3,
    source: include_str!("../cuda/lud.cu"),
    ptx: include_str!("../ptx/lud.ptx"),
};

pub struct Lud;

impl Workload for Lud {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = SIZE.at(size);
        let mut matrix = matrix(n as usize, seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let m = job.upload("matrix", &matrix)?;
        for offset in (0..n).step_by(SIDE as usize) {
            let args = || Args::new().ptr(m).i32(n as i32).i32(offset as i32);
            job.launch("lud_diagonal", 1, SIDE, args())?;
            let tiles = (n - offset) / SIDE - 1;
            if tiles > 0 {
                job.launch("lud_perimeter", tiles, 2 * SIDE, args())?;
                job.launch("lud_internal", (tiles, tiles), (SIDE, SIDE), args())?;
            }
        }
        let factors = job.download(m, matrix.len())?;
        job.finish()?;

        decompose(&mut matrix, n as usize);
        Ok(Check::within(TOLERANCE).sums("factors", 0.01, &matrix, &factors))
    }
}

fn matrix(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let fade: Vec<f32> = (0..n).map(|i| 10.0 * libm::expf(-0.001 * i as f32)).collect();
    let mut matrix: Vec<f32> = (0..n * n).map(|at| fade[(at / n).abs_diff(at % n)]).collect();
    matrix.iter_mut().step_by(n + 1).for_each(|d| *d += rng.float(0.5, 5.0));
    matrix
}

/// Factors a matrix in place; each element is reduced by the products of its row and column, sixteen at a time as the tiles do.
fn decompose(m: &mut [f32], n: usize) {
    let side = SIDE as usize;
    for k in (0..n).step_by(side) {
        let end = k + side;
        // The tiles of the row and the column of the diagonal: plain elimination, row by row.
        for i in k..n {
            let to = if i < end { n } else { end };
            for p in k..i.min(end) {
                let (above, row) = m.split_at_mut(i * n);
                let pivot = &above[p * n..][..to];
                row[p] /= pivot[p];
                let factor = -row[p];
                add_products(&mut row[p + 1..to], factor, &pivot[p + 1..]);
            }
        }
        // All others: the product of a tile of the column and a tile of the row.
        let rows = m[k * n..end * n].to_vec();
        for i in end..n {
            let (left, right) = m[i * n..(i + 1) * n].split_at_mut(end);
            let mut sums = vec![0.0; n - end];
            for (factor, row) in left[k..].iter().zip(rows.chunks_exact(n)) {
                add_products(&mut sums, *factor, &row[end..]);
            }
            right.iter_mut().zip(sums).for_each(|(value, sum)| *value -= sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_of_the_factors_is_the_matrix() {
        let n = 48;
        let start = matrix(n, 5);
        let mut factors = start.clone();
        decompose(&mut factors, n);
        for i in 0..n {
            for j in 0..n {
                let lower = |p: usize| if p == i { 1.0 } else { f64::from(factors[i * n + p]) };
                let product: f64 = (0..=i.min(j)).map(|p| lower(p) * f64::from(factors[p * n + j])).sum();
                assert!((product - f64::from(start[i * n + j])).abs() < 1e-4, "{i} {j}");
            }
        }
    }
}
