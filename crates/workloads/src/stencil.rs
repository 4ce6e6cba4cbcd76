// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jacobi steps of a seven-point stencil over a box, after Parboil's stencil.

use crate::check::Check;
use crate::fused::add_products;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const WIDE: u32 = 32;
const HIGH: u32 = 4;
const X: Dim = Dim::new("x", [37, 64, 128, 256]);
const Y: Dim = Dim::new("y", [10, 60, 120, 240]);
// Planes, the two at the ends included, which stay as they are.
const Z: Dim = Dim::new("z", [9, 34, 34, 66]);
const STEPS: Dim = Dim::new("steps", [2, 2, 3, 3]);
const C0: f32 = 1.0 / 6.0;
const C1: f32 = 1.0 / 36.0;

static INFO: Info = Info {
    name: "stencil",
    about: "7-point stencil in a box",
    domain: "physics",
    suite: "Parboil",
    program: "stencil",
    kernels: &[Kernel::after("stencil", "block2D_hybrid_coarsen_x", [32, 4, 1], "once a step").shared(1024)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[X, Y, Z, STEPS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 32 x 4 threads that walk along z, a plane in shared memory, as Parboil's. Parboil's thread computes two columns of cells, ours one",
    values_from: "uniform numbers from 0 to 1 and the weights 1/6 and 1/36 of Parboil's host program",
    generator: 3,
    source: include_str!("../cuda/stencil.cu"),
    ptx: include_str!("../ptx/stencil.ptx"),
};

pub struct Stencil;

impl Workload for Stencil {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let extent = [X.at(size), Y.at(size), Z.at(size)];
        let [nx, ny, nz] = extent;
        let start = Rng::new(seed).floats((nx * ny * nz) as usize, 0.0, 1.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let mut from = job.upload("even", &start)?;
        let mut to = job.upload("odd", &start)?;
        for _ in 0..STEPS.at(size) {
            let args = Args::new().f32(C0).f32(C1).ptr(from).ptr(to);
            let args = args.i32(nx as i32).i32(ny as i32).i32(nz as i32);
            job.launch("stencil", (nx.div_ceil(WIDE), ny.div_ceil(HIGH)), (WIDE, HIGH), args)?;
            (from, to) = (to, from);
        }
        let end = job.download(from, start.len())?;
        job.finish()?;

        let expected = (0..STEPS.at(size)).fold(start, |now, _| step(&now, extent.map(|n| n as usize)));
        Ok(Check::exact().output("cells", &expected, &end))
    }
}

fn step(now: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let mut then = now.to_vec();
    let layer = nx * ny;
    let mut sums = vec![0.0; nx - 2];
    for (z, y) in (1..nz - 1).flat_map(|z| (1..ny - 1).map(move |y| (z, y))) {
        let at = z * layer + y * nx + 1;
        let row = |at: usize| &now[at..at + nx - 2];
        let sides = [row(at + layer), row(at - layer), row(at + nx), row(at - nx), row(at + 1), row(at - 1)];
        for (x, sum) in sums.iter_mut().enumerate() {
            let [above, below, south, north, east, west] = sides.map(|row| row[x]);
            *sum = above + below + south + north + east + west;
        }
        let cells = &mut then[at..at + nx - 2];
        cells.iter_mut().for_each(|cell| *cell = -(*cell * C0));
        add_products(cells, C1, &sums);
    }
    then
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_box_vanishes_inside_and_stays_at_its_faces() {
        let then = step(&[6.0; 5 * 4 * 3], [5, 4, 3]);
        // Six neighbours of 6 over 36, less 6 over 6.
        assert!(then[20 + 5 + 1].abs() < 1e-6);
        assert_eq!(then.iter().filter(|cell| **cell == 6.0).count(), 60 - 6);
    }
}
