// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fluid by the lattice Boltzmann method in a box with a moving lid, after Parboil's lbm.

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const NX: usize = 120;
/// Cells before and behind a direction's array: what leaves the wall falls there.
const MARGIN: usize = 128;
const Y: Dim = Dim::new("y", [4, 8, 15, 45]);
const Z: Dim = Dim::new("z", [4, 8, 16, 48]);
const STEPS: Dim = Dim::new("steps", [1, 4, 5, 5]);
const OMEGA: f32 = 1.95;
const WALL: i32 = 1;
const LID: i32 = 2;
/// Opposite directions follow each other.
const DIRECTIONS: [[i32; 3]; 19] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

static INFO: Info = Info {
    name: "lbm",
    about: "a fluid in a box",
    domain: "physics",
    suite: "Parboil",
    program: "lbm",
    kernels: &[Kernel::after("lbm_step", "performStreamCollide_kernel", [120, 1, 1], "once a time step")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[Y, Z, STEPS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a block of 120 threads for a row of 120 cells and a grid over rows and layers, as Parboil's, whose box is 120 x 120 x 150 cells; an array a direction",
    values_from: "a fluid near rest with small disturbances, walls around it and a lid that moves, as Parboil's lid-driven cavity; relaxation by 1.95",
    generator: 3,
    source: include_str!("../cuda/lbm.cu"),
    ptx: include_str!("../ptx/lbm.ptx"),
};

pub struct Lbm;

impl Workload for Lbm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (ny, nz) = (Y.at(size) as usize, Z.at(size) as usize);
        let fluid = Fluid::random(ny, nz, seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let mut from = job.upload("even", &fluid.cells)?;
        let mut to = job.upload("odd", &fluid.cells)?;
        let kinds = job.upload("kinds", &fluid.kinds)?;
        for _ in 0..STEPS.at(size) {
            let args = Args::new()
                .ptr(from.offset(4 * MARGIN as u64))
                .ptr(to.offset(4 * MARGIN as u64))
                .ptr(kinds)
                .i32(ny as i32)
                .i32(fluid.stride as i32)
                .f32(OMEGA);
            job.launch("lbm_step", (ny as u32, nz as u32), NX as u32, args)?;
            (from, to) = (to, from);
        }
        let found: Vec<f32> = job.download(from, fluid.cells.len())?;
        job.finish()?;

        let mut now = fluid.cells.clone();
        let mut then = fluid.cells.clone();
        for _ in 0..STEPS.at(size) {
            fluid.step(&now, &mut then);
            std::mem::swap(&mut now, &mut then);
        }
        Ok(Check::exact().output("cells", &now, &found))
    }
}

struct Fluid {
    ny: usize,
    nz: usize,
    /// Cells of a direction's array, a layer before and behind the box and a row more at each end included.
    stride: usize,
    cells: Vec<f32>,
    kinds: Vec<i32>,
}

impl Fluid {
    fn random(ny: usize, nz: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let layer = NX * ny;
        let stride = (layer * (nz + 2) + 2 * MARGIN).next_multiple_of(32);
        let mut kinds = vec![WALL; layer * (nz + 2)];
        for (z, y, x) in (0..layer * nz).map(|at| (at / layer, at / NX % ny, at % NX)) {
            let wall = |at: usize, count: usize| at == 0 || at == count - 1;
            if !wall(x, NX) && !wall(y, ny) && !wall(z, nz) {
                kinds[(z + 1) * layer + y * NX + x] = if z == 1 { LID } else { 0 };
            }
        }
        let mut cells = rng.floats(19 * stride, 0.95, 1.05);
        for (i, cells) in cells.chunks_exact_mut(stride).enumerate() {
            cells.iter_mut().for_each(|cell| *cell *= weight(i));
        }
        Fluid { ny, nz, stride, cells, kinds }
    }

    fn step(&self, from: &[f32], to: &mut [f32]) {
        let layer = NX * self.ny;
        for first in (layer..layer * (self.nz + 1)).step_by(NX) {
            let place = |i: usize| i * self.stride + MARGIN + first;
            let before = std::array::from_fn(|i| &from[place(i)..].as_chunks().0[0]);
            let after = after(before, &self.kinds[first..].as_chunks().0[0]);
            for (i, [x, y, z]) in DIRECTIONS.into_iter().enumerate() {
                let offset = (z * self.ny as i32 + y) * NX as i32 + x;
                let there = place(i).wrapping_add_signed(offset as isize);
                to[there..there + NX].copy_from_slice(&after[i]);
            }
        }
    }
}

/// The share of a direction in a fluid at rest.
fn weight(i: usize) -> f32 {
    match i {
        0 => 1.0 / 3.0,
        1..7 => 1.0 / 18.0,
        _ => 1.0 / 36.0,
    }
}

/// The direction that a wall sends one back in.
fn opposite(i: usize) -> usize {
    if i == 0 { 0 } else { ((i - 1) ^ 1) + 1 }
}

/// The cells of a row by direction.
type Row<'a> = [&'a [f32; NX]; 19];

with_fused! {
    /// What the cells of a row send in each direction: what came, after relaxation, or what a wall sends back.
    fn after(before: Row, kinds: &[i32; NX]) -> [[f32; NX]; 19] { |fused| after_with(fused, before, kinds) }
}

#[inline(always)]
fn after_with(fused: impl Fused, before: Row, kinds: &[i32; NX]) -> [[f32; NX]; 19] {
    let mut density = *before[0];
    let mut u = [[0.0; NX]; 3];
    for (direction, f) in DIRECTIONS.iter().zip(before).skip(1) {
        along(&mut density, 1, f);
        for axis in 0..3 {
            along(&mut u[axis], direction[axis], f);
        }
    }
    let mut still = [0.0; NX];
    for (u, lid) in u.iter_mut().zip([0.05, 0.02, 0.0]) {
        for (((u, still), density), kind) in u.iter_mut().zip(&mut still).zip(&density).zip(kinds) {
            *u = if *kind == LID { lid } else { *u / density };
            *still = fused.fma(*u, *u, *still);
        }
    }
    for still in &mut still {
        *still = fused.fma(-1.5, *still, 1.0);
    }
    let mut after = [[0.0; NX]; 19];
    for (i, after) in after.iter_mut().enumerate() {
        let mut speed = [0.0; NX];
        for axis in 0..3 {
            along(&mut speed, DIRECTIONS[i][axis], &u[axis]);
        }
        let (f, back, share) = (before[i], before[opposite(i)], weight(i));
        for (at, after) in after.iter_mut().enumerate() {
            let level = fused.fma(speed[at], fused.fma(4.5, speed[at], 3.0), still[at]);
            let relaxed = fused.fma(OMEGA, (share * density[at]) * level - f[at], f[at]);
            *after = if kinds[at] == WALL { back[at] } else { relaxed };
        }
    }
    after
}

/// Components of a direction times values, added without a multiplication.
#[inline(always)]
fn along(sums: &mut [f32; NX], component: i32, values: &[f32; NX]) {
    if component > 0 {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += value;
        }
    } else if component < 0 {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum -= value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relaxation_keeps_mass_and_momentum() {
        let mut rng = Rng::new(1);
        let f: [[f32; NX]; 19] = std::array::from_fn(|_| [rng.float(0.02, 0.06); NX]);
        let sums = |f: &[[f32; NX]; 19]| -> [f32; 2] {
            let momentum = DIRECTIONS.iter().zip(f).map(|(direction, f)| direction[0] as f32 * f[3]).sum();
            [f.iter().map(|f| f[3]).sum(), momentum]
        };
        let before = sums(&f);
        let after = sums(&after(f.each_ref(), &[0; NX]));
        assert!(
            (before[0] - after[0]).abs() < 1e-5 && (before[1] - after[1]).abs() < 1e-5,
            "{before:?}, {after:?}"
        );
    }
}
