// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gaussian elimination of a Toeplitz system, two launches a column, after Rodinia's gaussian; the host
//! substitutes back.

use crate::check::Check;
use crate::fused::fma;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 512;
const SIDE: u32 = 4;
const SIZE: Dim = Dim::new("size", [29, 61, 121, 249]);

static INFO: Info = Info {
    name: "gaussian",
    about: "solves a linear system",
    domain: "linear algebra",
    suite: "Rodinia",
    program: "gaussian",
    kernels: &[
        Kernel::after("fan1", "Fan1", [BLOCK, 1, 1], "once a column"),
        Kernel::after("fan2", "Fan2", [SIDE, SIDE, 1], "once a column"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[SIZE],
    fill: Fill::Partial(
        "the last columns leave few rows, and the first kernel has a thread a row: in the algorithm",
    ),
    known: Known::Read,
    shape_from: "two launches a column, of blocks of 512 and of 4 x 4 threads, as Rodinia's",
    values_from: "diagonally dominant matrices, as Rodinia's generator makes them",
    generator: 3,
    source: include_str!("../cuda/gaussian.cu"),
    ptx: include_str!("../ptx/gaussian.ptx"),
};

pub struct Gaussian;

impl Workload for Gaussian {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = SIZE.at(size);
        let mut want = System::toeplitz(n as usize, seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let a = job.upload("a", &want.a)?;
        let b = job.upload("b", &want.b)?;
        let m = job.upload("m", &want.m)?;
        for t in 0..n - 1 {
            let args = Args::new().ptr(m).ptr(a).i32(n as i32).i32(t as i32);
            job.launch("fan1", n.div_ceil(BLOCK), BLOCK, args)?;
            let args = Args::new().ptr(m).ptr(a).ptr(b).i32(n as i32).i32(t as i32);
            job.launch("fan2", (n.div_ceil(SIDE), n.div_ceil(SIDE)), (SIDE, SIDE), args)?;
        }
        let got = System {
            n: n as usize,
            a: job.download(a, want.a.len())?,
            b: job.download(b, want.b.len())?,
            m: job.download(m, want.m.len())?,
        };
        job.finish()?;

        want.eliminate();
        Ok(Check::exact()
            .output("a", &want.a, &got.a)
            .output("b", &want.b, &got.b)
            .output("m", &want.m, &got.m)
            .output("x", &want.solve(), &got.solve()))
    }
}

struct System {
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    /// The multipliers of the elimination.
    m: Vec<f32>,
}

impl System {
    /// Entries fall off exponentially with their distance from the diagonal, from 10, by a hundredth a step; the
    /// seed varies the right-hand side around 1.
    fn toeplitz(n: usize, seed: u64) -> Self {
        let fall: Vec<f32> = (0..n).map(|i| 10.0 * libm::expf(-0.01 * i as f32)).collect();
        let a = (0..n * n).map(|at| fall[(at / n).abs_diff(at % n)]).collect();
        System { n, a, b: Rng::new(seed).floats(n, 0.5, 1.5), m: vec![0.0; n * n] }
    }

    fn eliminate(&mut self) {
        let n = self.n;
        for t in 0..n - 1 {
            for row in t + 1..n {
                let multiplier = self.a[row * n + t] / self.a[t * n + t];
                self.m[row * n + t] = multiplier;
                for x in t..n {
                    self.a[row * n + x] = fma(-multiplier, self.a[t * n + x], self.a[row * n + x]);
                }
                self.b[row] = fma(-multiplier, self.b[t], self.b[row]);
            }
        }
    }

    /// Back substitution, on what elimination has left.
    fn solve(&self) -> Vec<f32> {
        let n = self.n;
        let mut x = self.b.clone();
        for row in (0..n).rev() {
            for other in row + 1..n {
                x[row] -= self.a[row * n + other] * x[other];
            }
            x[row] /= self.a[row * n + row];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_solves_the_system() {
        let start = System::toeplitz(40, 5);
        let mut system = System::toeplitz(40, 5);
        system.eliminate();
        let x = system.solve();
        for (row, right) in start.a.chunks_exact(40).zip(&start.b) {
            let left: f64 = row.iter().zip(&x).map(|(a, x)| f64::from(*a) * f64::from(*x)).sum();
            assert!((left - f64::from(*right)).abs() < 1e-3, "{left} for {right}");
        }
    }
}
