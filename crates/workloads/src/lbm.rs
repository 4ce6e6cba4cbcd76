// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fluid by the lattice Boltzmann method in a box with a moving lid, after Parboil's lbm.

use crate::check::Check;
use crate::fused::{add_pairs, add_products, add_squares};
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
        let cells = (0..19 * stride).map(|at| weight(at / stride) * rng.float(0.95, 1.05)).collect();
        Fluid { ny, nz, stride, cells, kinds }
    }

    fn step(&self, from: &[f32], to: &mut [f32]) {
        let layer = NX * self.ny;
        for first in (layer..layer * (self.nz + 1)).step_by(NX) {
            let kinds = &self.kinds[first..first + NX];
            let place = |i: usize| i * self.stride + MARGIN + first;
            let before: [&[f32]; 19] = std::array::from_fn(|i| &from[place(i)..place(i) + NX]);
            let relaxed = relax(before, kinds);
            for (i, [x, y, z]) in DIRECTIONS.into_iter().enumerate() {
                let offset = (z * self.ny as i32 + y) * NX as i32 + x;
                let back = before[opposite(i)];
                let there = place(i).wrapping_add_signed(offset as isize);
                for (at, to) in to[there..there + NX].iter_mut().enumerate() {
                    *to = if kinds[at] == WALL { back[at] } else { relaxed[i][at] };
                }
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

/// Components of a direction times values, added without a multiplication.
fn along(sums: &mut [f32], component: i32, values: &[f32]) {
    match component {
        0 => {}
        1 => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
        _ => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum -= value),
    }
}

/// The cells of a row after relaxation, by direction; those of walls do not matter.
fn relax(before: [&[f32]; 19], kinds: &[i32]) -> [Vec<f32>; 19] {
    let count = kinds.len();
    let mut density = before[0].to_vec();
    let mut u = [0; 3].map(|_| vec![0.0; count]);
    for (direction, f) in DIRECTIONS.iter().zip(before).skip(1) {
        along(&mut density, 1, f);
        u.iter_mut().zip(direction).for_each(|(sums, component)| along(sums, *component, f));
    }
    for (u, lid) in u.iter_mut().zip([0.05, 0.02, 0.0]) {
        for (at, u) in u.iter_mut().enumerate() {
            *u = if kinds[at] == LID { lid } else { *u / density[at] };
        }
    }
    let mut squares = vec![0.0; count];
    u.iter().for_each(|u| add_squares(&mut squares, u, 0.0));
    let mut still = vec![1.0; count];
    add_products(&mut still, -1.5, &squares);
    std::array::from_fn(|i| {
        let mut speed = vec![0.0; count];
        DIRECTIONS[i].iter().zip(&u).for_each(|(component, u)| along(&mut speed, *component, u));
        let mut slope = vec![3.0; count];
        add_products(&mut slope, 4.5, &speed);
        let mut level = still.clone();
        add_pairs(&mut level, &speed, &slope);
        for (at, level) in level.iter_mut().enumerate() {
            *level = (weight(i) * density[at]) * *level - before[i][at];
        }
        let mut after = before[i].to_vec();
        add_products(&mut after, OMEGA, &level);
        after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relaxation_keeps_mass_and_momentum() {
        let mut rng = Rng::new(1);
        let f: [Vec<f32>; 19] = std::array::from_fn(|_| rng.floats(1, 0.02, 0.06));
        let sums = |f: &[Vec<f32>; 19]| -> [f32; 2] {
            let momentum = DIRECTIONS.iter().zip(f).map(|(direction, f)| direction[0] as f32 * f[0]).sum();
            [f.iter().map(|f| f[0]).sum(), momentum]
        };
        let before = sums(&f);
        let after = sums(&relax(f.each_ref().map(Vec::as_slice), &[0]));
        assert!(
            (before[0] - after[0]).abs() < 1e-5 && (before[1] - after[1]).abs() < 1e-5,
            "{before:?}, {after:?}"
        );
    }
}
