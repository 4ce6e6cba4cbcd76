// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flow around a wing on an unstructured grid, after Rodinia's cfd.

use crate::check::Check;
use crate::fused::{Fused, Plain, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 192;
const FACES: usize = 4;
const GAMMA: f32 = 1.4;
// Blocks of 192 cells.
const BLOCKS: Dim = Dim::new("blocks", [2, 15, 120, 240]);
const ITERATIONS: Dim = Dim::new("iterations", [1, 2, 1, 3]);

static INFO: Info = Info {
    name: "cfd",
    about: "air flow around a wing",
    domain: "physics",
    suite: "Rodinia",
    program: "cfd",
    kernels: &[
        Kernel::after("cfd_step", "cuda_compute_step_factor", [192, 1, 1], "once an iteration"),
        Kernel::after("cfd_flux", "cuda_compute_flux", [192, 1, 1], "three times an iteration"),
        Kernel::after("cfd_advance", "cuda_time_step", [192, 1, 1], "three times an iteration"),
    ],
    missing: &["cuda_initialize_variables, whose work the copy of the first state does"],
    order_dependent: false,
    data: Data::Float,
    dims: &[BLOCKS, ITERATIONS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 192 threads, a cell a thread, four neighbours, arrays by component and the far field in constant memory, as Rodinia's euler3d with 97 046 cells and 2000 iterations",
    values_from: "a generated grid whose cells are numbered nearly in order, with faces of random sizes, a wing and a far field at its ends; a flow at 1.2 times the speed of sound with small disturbances, where Rodinia's starts from the far field alone",
    generator: 3,
    source: include_str!("../cuda/cfd.cu"),
    ptx: include_str!("../ptx/cfd.ptx"),
};

pub struct Cfd;

impl Workload for Cfd {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let grid = Grid::random((BLOCKS.at(size) * BLOCK) as usize, seed);
        let cells = grid.cells;
        let (blocks, n) = (BLOCKS.at(size), cells as i32);

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("far_state", &grid.far)?;
        job.write_symbol("far_flux", &grid.far_flux)?;
        let neighbours = job.upload("neighbours", &grid.neighbours)?;
        let normals = job.upload("normals", &grid.normals)?;
        let areas = job.upload("areas", &grid.areas)?;
        let state = job.upload("state", &grid.start)?;
        let before = job.upload("before", &grid.start)?;
        let fluxes = job.zeros::<f32>("fluxes", 5 * cells)?;
        let steps = job.zeros::<f32>("steps", cells)?;
        for _ in 0..ITERATIONS.at(size) {
            let now: Vec<f32> = job.download(state, 5 * cells)?;
            job.write(before, &now)?;
            job.launch("cfd_step", blocks, BLOCK, Args::new().ptr(state).ptr(areas).ptr(steps).i32(n))?;
            for part in [3, 2, 1] {
                let args = Args::new().ptr(neighbours).ptr(normals).ptr(state).ptr(fluxes).i32(n);
                job.launch("cfd_flux", blocks, BLOCK, args)?;
                let args = Args::new().ptr(before).ptr(state).ptr(steps).ptr(fluxes).i32(part).i32(n);
                job.launch("cfd_advance", blocks, BLOCK, args)?;
            }
        }
        let found: Vec<f32> = job.download(state, 5 * cells)?;
        job.finish()?;

        let mut state = grid.start.clone();
        for _ in 0..ITERATIONS.at(size) {
            iterate(&grid, &mut state);
        }
        Ok(Check::exact().output("state", &state, &found))
    }
}

#[derive(Clone, Copy)]
struct Flow {
    density: f32,
    momentum: [f32; 3],
    energy: f32,
    velocity: [f32; 3],
    pressure: f32,
    speed: f32,
    /// The speed of sound.
    sound: f32,
}

#[inline(always)]
fn dot(fused: impl Fused, a: [f32; 3], b: [f32; 3]) -> f32 {
    fused.fma(a[2], b[2], fused.fma(a[1], b[1], a[0] * b[0]))
}

impl Flow {
    #[inline(always)]
    fn of(fused: impl Fused, state: &[f32], cell: usize) -> Self {
        let cells = state.len() / 5;
        let [density, x, y, z, energy] = std::array::from_fn(|i| state[i * cells + cell]);
        let velocity = [x, y, z].map(|momentum| momentum / density);
        let speed2 = dot(fused, velocity, velocity);
        let pressure = (GAMMA - 1.0) * fused.fma(-0.5 * density, speed2, energy);
        let sound = (GAMMA * pressure / density).sqrt();
        Flow { density, momentum: [x, y, z], energy, velocity, pressure, speed: speed2.sqrt(), sound }
    }
}

struct Grid {
    cells: usize,
    /// By face and cell: -1 for the wing, -2 for the far field.
    neighbours: Vec<i32>,
    /// By axis, face and cell.
    normals: Vec<f32>,
    areas: Vec<f32>,
    start: Vec<f32>,
    far: [f32; 5],
    /// Momentum in three directions for each momentum, and for energy.
    far_flux: [f32; 12],
}

with_fused! {
    fn iterate(grid: &Grid, state: &mut [f32]) { |fused| grid.iterate(fused, state) }
}

impl Grid {
    /// Cells in rows of 48: each has one before, one behind, one above and one below.
    fn random(cells: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let row = 48;
        let mut neighbours = vec![-2; FACES * cells];
        let mut normals = vec![0.0; 3 * FACES * cells];
        for cell in 0..cells {
            for (face, axis, other) in [
                (0, 0, cell.checked_sub(1).filter(|_| cell % row > 0)),
                (1, 0, Some(cell + 1).filter(|_| cell % row < row - 1)),
                (2, 1, cell.checked_sub(row)),
                (3, 1, Some(cell + row).filter(|other| *other < cells)),
            ] {
                let outward = if face % 2 == 0 { -1.0 } else { 1.0 };
                let mut normal: [f32; 3] = std::array::from_fn(|_| 0.2 * rng.float(-1.0, 1.0));
                normal[axis] += outward;
                if let Some(other) = other {
                    neighbours[face * cells + cell] = other as i32;
                    if other < cell {
                        // A face has one normal, seen from two sides.
                        normal =
                            std::array::from_fn(|axis| -normals[(axis * FACES + face + 1) * cells + other]);
                    }
                } else if face == 2 {
                    neighbours[face * cells + cell] = -1;
                }
                for (axis, part) in normal.into_iter().enumerate() {
                    normals[(axis * FACES + face) * cells + cell] = part;
                }
            }
        }
        let flow = |density: f32, pressure: f32, velocity: [f32; 3]| -> [f32; 5] {
            let energy = pressure / (GAMMA - 1.0) + 0.5 * density * dot(Plain, velocity, velocity);
            [density, density * velocity[0], density * velocity[1], density * velocity[2], energy]
        };
        let sound = GAMMA.sqrt();
        let far = flow(GAMMA, 1.0, [1.2 * sound / GAMMA, 0.1, 0.05]);
        let mut start = vec![0.0; 5 * cells];
        for cell in 0..cells {
            let velocity = [rng.float(0.8, 1.2), rng.float(-0.1, 0.3), rng.float(-0.1, 0.1)];
            let here = flow(rng.float(1.2, 1.6), rng.float(0.9, 1.1), velocity);
            for (i, value) in here.into_iter().enumerate() {
                start[i * cells + cell] = value;
            }
        }
        let one = Flow::of(Plain, &far, 0);
        let far_flux = std::array::from_fn(|at| match at / 3 {
            3 => one.velocity[at % 3] * (one.energy + one.pressure),
            axis => {
                one.velocity[at % 3] * one.momentum[axis] + if axis == at % 3 { one.pressure } else { 0.0 }
            }
        });
        Grid { cells, neighbours, normals, areas: rng.floats(cells, 20.0, 40.0), start, far, far_flux }
    }

    #[inline(always)]
    fn iterate(&self, fused: impl Fused, state: &mut [f32]) {
        let before = state.to_vec();
        let mut steps = Vec::with_capacity(self.cells);
        let (mut flows, mut fluxes) = (Vec::with_capacity(self.cells), vec![[0.0; 5]; self.cells]);
        for part in [3.0, 2.0, 1.0] {
            flows.clear();
            for cell in 0..self.cells {
                flows.push(Flow::of(fused, state, cell));
            }
            if steps.is_empty() {
                for (flow, area) in flows.iter().zip(&self.areas) {
                    steps.push(0.5 / (area.sqrt() * (flow.speed + flow.sound)));
                }
            }
            for (cell, flux) in fluxes.iter_mut().enumerate() {
                *flux = self.flux(fused, &flows, cell);
            }
            let columns = state.chunks_exact_mut(self.cells).zip(before.chunks_exact(self.cells));
            for (i, (values, before)) in columns.enumerate() {
                for (cell, value) in values.iter_mut().enumerate() {
                    *value = fused.fma(-(steps[cell] / part), fluxes[cell][i], before[cell]);
                }
            }
        }
    }

    #[inline(always)]
    fn flux(&self, fused: impl Fused, flows: &[Flow], cell: usize) -> [f32; 5] {
        let f = &flows[cell];
        let mut sum = [0.0f32; 5];
        for face in 0..FACES {
            let n: [f32; 3] =
                std::array::from_fn(|axis| self.normals[(axis * FACES + face) * self.cells + cell]);
            let area = dot(fused, n, n).sqrt();
            match self.neighbours[face * self.cells + cell] {
                -1 => (0..3).for_each(|axis| sum[axis + 1] = fused.fma(n[axis], f.pressure, sum[axis + 1])),
                -2 => {
                    let through = 0.5 * dot(fused, n, f.velocity);
                    let half = n.map(|part| 0.5 * part);
                    let momenta = [self.far[1], self.far[2], self.far[3]];
                    let far = |at: usize| [self.far_flux[at], self.far_flux[at + 1], self.far_flux[at + 2]];
                    sum[0] = fused.fma(f.density, through, sum[0]) + dot(fused, half, momenta);
                    for axis in 0..3 {
                        let own = fused.fma(
                            f.momentum[axis],
                            through,
                            fused.fma(half[axis], f.pressure, sum[axis + 1]),
                        );
                        sum[axis + 1] = own + dot(fused, half, far(3 * axis));
                    }
                    sum[4] = fused.fma(f.energy + f.pressure, through, sum[4]) + dot(fused, half, far(9));
                }
                other => {
                    let g = &flows[other as usize];
                    let mix = -area * 0.1 * (f.speed + g.speed + f.sound + g.sound);
                    let (through, back) = (dot(fused, n, f.velocity), dot(fused, n, g.velocity));
                    let press = 0.5 * (f.pressure + g.pressure);
                    let both: [f32; 3] = std::array::from_fn(|axis| f.momentum[axis] + g.momentum[axis]);
                    sum[0] = fused.fma(mix, f.density - g.density, sum[0]);
                    sum[0] = fused.fma(0.5, dot(fused, n, both), sum[0]);
                    for axis in 0..3 {
                        let (a, b) = (f.momentum[axis], g.momentum[axis]);
                        let mixed = fused.fma(mix, a - b, sum[axis + 1]);
                        sum[axis + 1] =
                            fused.fma(0.5, fused.fma(b, back, a * through), fused.fma(n[axis], press, mixed));
                    }
                    let carried = fused.fma(g.energy + g.pressure, back, (f.energy + f.pressure) * through);
                    sum[4] = fused.fma(0.5, carried, fused.fma(mix, f.energy - g.energy, sum[4]));
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_a_cell_enters_its_neighbour() {
        let grid = Grid::random(192, 4);
        for face in 0..FACES {
            for cell in 0..grid.cells {
                let Ok(other) = usize::try_from(grid.neighbours[face * grid.cells + cell]) else { continue };
                let normal = |face: usize, cell: usize| -> [f32; 3] {
                    std::array::from_fn(|axis| grid.normals[(axis * FACES + face) * grid.cells + cell])
                };
                assert_eq!(normal(face, cell), normal(face ^ 1, other).map(|part| -part));
            }
        }
    }
}
