// SPDX-License-Identifier: MIT OR Apache-2.0
//! Laplace's equation in three dimensions by Jacobi iterations with planes in shared memory, after LPS of Bakhoda et al. (ISPASS
//! 2009), which is Giles's.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const WIDE: u32 = 32;
const HIGH: u32 = 4;
const X: Dim = Dim::new("x", [37, 62, 100, 200]);
const Y: Dim = Dim::new("y", [11, 57, 100, 120]);
const Z: Dim = Dim::new("z", [9, 40, 100, 100]);
const STEPS: Dim = Dim::new("steps", [2, 1, 1, 3]);

static INFO: Info = Info {
    name: "lps",
    about: "Laplace equation in a box",
    domain: "physics",
    suite: "ISPASS",
    program: "LPS",
    kernels: &[Kernel::after("lps_laplace", "GPU_laplace3d", [32, 4, 1], "once a step").shared(2448)],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[X, Y, Z, STEPS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "4 x 25 blocks of 32 x 4 threads over 100 x 100 x 100 cells at medium, as in Bakhoda et al., Table I; three planes with a halo in shared memory",
    values_from: "1 on the faces and 0 inside in the original; ours draws the faces from 0.5 to 1.5, so that seeds differ, and keeps the inside 0",
    generator: 3,
    source: include_str!("../cuda/lps.cu"),
    ptx: include_str!("../ptx/lps.ptx"),
};

pub struct Lps;

impl Workload for Lps {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let extent = [X.at(size), Y.at(size), Z.at(size)];
        let [nx, ny, nz] = extent;
        let start = cells(extent.map(|n| n as usize), seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let mut from = job.upload("even", &start)?;
        let mut to = job.zeros::<f32>("odd", start.len())?;
        for _ in 0..STEPS.at(size) {
            let args = Args::new().ptr(from).ptr(to).i32(nx as i32).i32(ny as i32).i32(nz as i32);
            job.launch("lps_laplace", (nx.div_ceil(WIDE), ny.div_ceil(HIGH)), (WIDE, HIGH), args)?;
            (from, to) = (to, from);
        }
        let end = job.download(from, start.len())?;
        job.finish()?;

        let expected = (0..STEPS.at(size)).fold(start, |now, _| step(&now, extent.map(|n| n as usize)));
        Ok(Check::exact().output("cells", &expected, &end))
    }
}

/// Faces that differ, and zeros inside, x fastest.
fn cells([nx, ny, nz]: [usize; 3], seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let mut cells = Vec::with_capacity(nx * ny * nz);
    for (z, y) in (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y))) {
        if y == 0 || z == 0 || y == ny - 1 || z == nz - 1 {
            cells.extend(rng.floats(nx, 0.5, 1.5));
        } else {
            cells.push(rng.float(0.5, 1.5));
            cells.resize(cells.len() + nx - 2, 0.0);
            cells.push(rng.float(0.5, 1.5));
        }
    }
    cells
}

fn step(now: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let layer = nx * ny;
    let mut then = now.to_vec();
    for (z, y) in (1..nz - 1).flat_map(|z| (1..ny - 1).map(move |y| (z, y))) {
        let at = z * layer + y * nx + 1;
        let row = |at: usize| &now[at..at + nx - 2];
        let sides = [row(at - 1), row(at + 1), row(at - nx), row(at + nx), row(at - layer), row(at + layer)];
        for (x, cell) in then[at..at + nx - 2].iter_mut().enumerate() {
            let [west, east, north, south, below, above] = sides.map(|row| row[x]);
            *cell = (west + east + north + south + below + above) * (1.0 / 6.0);
        }
    }
    then
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face([x, y, z]: [usize; 3], [nx, ny, nz]: [usize; 3]) -> bool {
        x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1
    }

    /// The places of a box, x fastest.
    fn places([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
        (0..nx * ny * nz).map(move |at| [at % nx, at / nx % ny, at / nx / ny])
    }

    #[test]
    fn faces_stay_and_a_linear_field_is_a_solution() {
        let extent = [6, 5, 4];
        let field: Vec<f32> = places(extent).map(|[x, y, z]| (2 * x + 3 * y + 5 * z) as f32).collect();
        let then = step(&field, extent);
        assert!(field.iter().zip(&then).all(|(a, b)| (a - b).abs() < 1e-4));
        let start = cells(extent, 1);
        assert!(places(extent).zip(&start).all(|(place, cell)| face(place, extent) == (*cell != 0.0)));
        let faces = |cells: &[f32]| -> Vec<f32> {
            let all = places(extent).zip(cells);
            all.filter(|(place, _)| face(*place, extent)).map(|(_, cell)| *cell).collect()
        };
        assert_eq!(faces(&step(&start, extent)), faces(&start));
    }
}
