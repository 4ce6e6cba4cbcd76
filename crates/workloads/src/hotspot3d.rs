// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transient heat in a stack of layers by an explicit stencil, after Rodinia's hotspot3D. Chip and constants are those of
//! [`hotspot`](crate::hotspot).

use crate::check::Check;
use crate::fused::add_products;
use crate::hotspot::{AMBIENT, Chip, inputs};
use crate::job::Job;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const WIDE: u32 = 64;
const HIGH: u32 = 4;
// Multiples of a block.
const COLS: Dim = Dim::new("columns", [128, 192, 256, 512]);
const ROWS: Dim = Dim::new("rows", [8, 40, 240, 480]);
const LAYERS: Dim = Dim::new("layers", [4, 8, 8, 8]);
const STEPS: Dim = Dim::new("steps", [2, 5, 3, 6]);

static INFO: Info = Info {
    name: "hotspot3d",
    about: "heat in stacked layers",
    domain: "physics",
    suite: "Rodinia",
    program: "hotspot3D",
    kernels: &[Kernel::after("hotspot3d", "hotspotOpt1", [64, 4, 1], "once a step")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[COLS, ROWS, LAYERS, STEPS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 64 x 4 threads, a column of cells a thread, over 512 x 512 cells of 8 layers, a hundred steps; ours has fewer cells and steps",
    values_from: "power in a few hot blocks and 323 to 341 K, the ranges of Rodinia's files for hotspot",
    generator: 3,
    source: include_str!("../cuda/hotspot3d.cu"),
    ptx: include_str!("../ptx/hotspot3d.ptx"),
};

pub struct Hotspot3d;

impl Workload for Hotspot3d {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let [cols, rows, layers] = [COLS, ROWS, LAYERS].map(|dim| dim.at(size));
        let (power, start) = inputs((rows * layers) as usize, cols as usize, seed);
        let weights = Weights::new(&Chip::new(rows, cols), layers);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let heat = job.upload("power", &power)?;
        let mut from = job.upload("temperatures, even", &start)?;
        let mut to = job.zeros::<f32>("temperatures, odd", start.len())?;
        for _ in 0..STEPS.at(size) {
            let args = Args::new().ptr(heat).ptr(from).ptr(to);
            let args = args.i32(cols as i32).i32(rows as i32).i32(layers as i32);
            let args = args.f32(weights.x).f32(weights.y).f32(weights.z).f32(weights.own).f32(weights.power);
            job.launch("hotspot3d", (cols / WIDE, rows / HIGH), (WIDE, HIGH), args)?;
            (from, to) = (to, from);
        }
        let end = job.download(from, start.len())?;
        job.finish()?;

        let extent = [cols, rows, layers].map(|side| side as usize);
        let expected = (0..STEPS.at(size)).fold(start, |now, _| weights.step(&now, &power, extent));
        Ok(Check::exact().output("temperatures", &expected, &end))
    }
}

/// What a cell takes over from each neighbour along an axis, from itself and from its power in a step.
struct Weights {
    x: f32,
    y: f32,
    z: f32,
    own: f32,
    power: f32,
}

impl Weights {
    fn new(chip: &Chip, layers: u32) -> Self {
        let power = chip.step / chip.cap;
        // A layer is the thinner the more of them there are.
        let [x, y, z] = [chip.rx, chip.ry, chip.rz / layers as f32].map(|resistance| power / resistance);
        Weights { x, y, z, own: 1.0 - (2.0 * x + 2.0 * y + 3.0 * z), power }
    }

    fn step(&self, now: &[f32], power: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
        let mut then = vec![self.z * AMBIENT; now.len()];
        for (at, sums) in then.chunks_exact_mut(nx).enumerate() {
            let (y, z) = (at % ny, at / ny);
            let row = |y: usize, z: usize| &now[(z * ny + y) * nx..][..nx];
            let own = row(y, z);
            // With neighbours like themselves at both ends.
            let longer = [&own[..1], own, &own[nx - 1..]].concat();
            add_products(sums, self.own, own);
            add_products(sums, self.x, &longer[..nx]);
            add_products(sums, self.x, &longer[2..]);
            add_products(sums, self.y, row((y + 1).min(ny - 1), z));
            add_products(sums, self.y, row(y.saturating_sub(1), z));
            add_products(sums, self.z, row(y, z.saturating_sub(1)));
            add_products(sums, self.z, row(y, (z + 1).min(nz - 1)));
            add_products(sums, self.power, &power[at * nx..][..nx]);
        }
        then
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_at_ambient_temperature_without_power_stays_so() {
        let weights = Weights::new(&Chip::new(6, 5), 3);
        let then = weights.step(&[AMBIENT; 90], &[0.0; 90], [5, 6, 3]);
        assert!(then.iter().all(|cell| (cell - AMBIENT).abs() < 1e-3), "{then:?}");
    }

    #[test]
    fn heat_goes_to_the_six_neighbours_and_to_the_air() {
        let weights = Weights::new(&Chip::new(6, 5), 3);
        let mut now = [AMBIENT; 90];
        now[30 + 2 * 5 + 2] += 100.0;
        let then = weights.step(&now, &[0.0; 90], [5, 6, 3]);
        let cold = weights.step(&[AMBIENT; 90], &[0.0; 90], [5, 6, 3]);
        let warmed = then.iter().zip(&cold).filter(|(warm, cold)| warm > cold).count();
        assert_eq!(warmed, 7, "itself and its six neighbours");
        let lost: f32 = now.iter().sum::<f32>() - then.iter().sum::<f32>();
        assert!((lost - 100.0 * weights.z).abs() < 0.05, "{lost}");
    }
}
