// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transient heat on a chip by an explicit stencil with pyramid blocking, after Rodinia's hotspot. The chip
//! (16 mm square, 0.5 mm thick, silicon) and the constants are HotSpot's.

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const SIDE: u32 = 16;
/// Time steps that a launch makes.
const PYRAMID: u32 = 2;
const ROWS: Dim = Dim::new("rows", [35, 81, 191, 419]);
const COLS: Dim = Dim::new("columns", [31, 83, 201, 433]);
const STEPS: Dim = Dim::new("steps", [3, 5, 7, 13]);
pub const AMBIENT: f32 = 80.0;

static INFO: Info = Info {
    name: "hotspot",
    about: "heat on a chip over time",
    domain: "physics",
    suite: "Rodinia",
    program: "hotspot",
    kernels: &[Kernel::after("hotspot", "calculate_temp", [16, 16, 1], "once for each pyramid of steps")
        .shared(3072)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[ROWS, COLS, STEPS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "Rodinia's 16 x 16 threads and two steps a launch",
    values_from: "power in a few hot blocks and 323 to 341 K, the ranges of Rodinia's files",
    generator: 3,
    source: include_str!("../cuda/hotspot.cu"),
    ptx: include_str!("../ptx/hotspot.ptx"),
};

pub struct Hotspot;

impl Workload for Hotspot {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (rows, cols, steps) = (ROWS.at(size), COLS.at(size), STEPS.at(size));
        let (power, start) = inputs(rows as usize, cols as usize, seed);
        let chip = Chip::new(rows, cols);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let heat = job.upload("power", &power)?;
        let mut from = job.upload("temperatures, even", &start)?;
        let mut to = job.zeros::<f32>("temperatures, odd", start.len())?;
        for done in (0..steps).step_by(PYRAMID as usize) {
            let now = PYRAMID.min(steps - done);
            let own = SIDE - 2 * now;
            let args = Args::new()
                .i32(now as i32)
                .ptr(heat)
                .ptr(from)
                .ptr(to)
                .i32(cols as i32)
                .i32(rows as i32)
                .f32(chip.cap)
                .f32(chip.rx)
                .f32(chip.ry)
                .f32(chip.rz)
                .f32(chip.step);
            job.launch("hotspot", (cols.div_ceil(own), rows.div_ceil(own)), (SIDE, SIDE), args)?;
            (from, to) = (to, from);
        }
        let end = job.download(from, start.len())?;
        job.finish()?;

        let expected =
            (0..steps).fold(start, |now, _| chip.advance(&now, &power, rows as usize, cols as usize));
        Ok(Check::exact().output("temperatures", &expected, &end))
    }
}

/// Some 150 W in all, most of it in a few hot blocks, and temperatures from 323 to 341 K.
pub fn inputs(rows: usize, cols: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut rng = Rng::new(seed);
    let blocks: Vec<f32> = (0..64).map(|_| if rng.below(5) == 0 { 5.0 } else { 0.5 }).collect();
    let per_cell = 100.0 / (rows * cols) as f32;
    let mut power = Vec::with_capacity(rows * cols);
    for y in 0..rows {
        for x in 0..cols {
            power.push(per_cell * blocks[y * 8 / rows * 8 + x * 8 / cols] * rng.float(0.8, 1.2));
        }
    }
    (power, rng.floats(rows * cols, 323.0, 341.0))
}

/// Heat capacity of a cell, its resistances to its neighbours and to the air, and the time step.
pub struct Chip {
    pub cap: f32,
    pub rx: f32,
    pub ry: f32,
    pub rz: f32,
    pub step: f32,
}

with_fused! {
    fn advance(chip: &Chip, now: &[f32], power: &[f32], rows: usize, cols: usize) -> Vec<f32> {
        |fused| chip.advance_with(fused, now, power, rows, cols)
    }
}

impl Chip {
    pub fn new(rows: u32, cols: u32) -> Self {
        const THICKNESS: f32 = 0.0005;
        const EDGE: f32 = 0.016;
        const HEAT: f32 = 1.75e6; // J / (m3 K)
        const CONDUCTIVITY: f32 = 100.0; // W / (m K)
        const FACTOR: f32 = 0.5;
        const MAX_POWER_DENSITY: f32 = 3.0e6; // W / m2
        const PRECISION: f32 = 0.001; // K
        let (height, width) = (EDGE / rows as f32, EDGE / cols as f32);
        let max_slope = MAX_POWER_DENSITY / (FACTOR * THICKNESS * HEAT);
        Chip {
            cap: FACTOR * HEAT * THICKNESS * width * height,
            rx: width / (2.0 * CONDUCTIVITY * THICKNESS * height),
            ry: height / (2.0 * CONDUCTIVITY * THICKNESS * width),
            rz: THICKNESS / (CONDUCTIVITY * height * width),
            step: PRECISION / max_slope,
        }
    }

    fn advance(&self, now: &[f32], power: &[f32], rows: usize, cols: usize) -> Vec<f32> {
        advance(self, now, power, rows, cols)
    }

    #[inline(always)]
    fn advance_with(
        &self,
        fused: impl Fused,
        now: &[f32],
        power: &[f32],
        rows: usize,
        cols: usize,
    ) -> Vec<f32> {
        let per_cap = self.step / self.cap;
        let (per_rx, per_ry, per_rz) = (1.0 / self.rx, 1.0 / self.ry, 1.0 / self.rz);
        let mut then = Vec::with_capacity(now.len());
        for y in 0..rows {
            let (north, south) = (y.saturating_sub(1), (y + 1).min(rows - 1));
            for x in 0..cols {
                let (west, east) = (x.saturating_sub(1), (x + 1).min(cols - 1));
                let at = |y: usize, x: usize| now[y * cols + x];
                let here = at(y, x);
                let vertical = at(south, x) + at(north, x) - 2.0 * here;
                let horizontal = at(y, east) + at(y, west) - 2.0 * here;
                let flow = fused.fma(per_ry, vertical, power[y * cols + x]);
                let flow = fused.fma(per_rx, horizontal, flow);
                let flow = fused.fma(per_rz, AMBIENT - here, flow);
                then.push(fused.fma(per_cap, flow, here));
            }
        }
        then
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_at_ambient_temperature_without_power_stays_so() {
        let chip = Chip::new(8, 9);
        assert_eq!(chip.advance(&[AMBIENT; 72], &[0.0; 72], 8, 9), [AMBIENT; 72]);
    }

    #[test]
    fn heat_only_leaves_to_the_air() {
        // Flows between cells cancel, so without power the sum falls by what the air takes.
        let (rows, cols) = (12, 10);
        let chip = Chip::new(rows as u32, cols as u32);
        let (_, start) = inputs(rows, cols, 4);
        let end = chip.advance(&start, &[0.0; 120], rows, cols);
        let fall: f64 = start.iter().zip(&end).map(|(a, b)| f64::from(a - b)).sum();
        let rate = f64::from(chip.step / chip.cap / chip.rz);
        let taken: f64 = start.iter().map(|t| f64::from(t - AMBIENT) * rate).sum();
        assert!((fall - taken).abs() < 1e-2 * taken, "fell {fall}, air took {taken}");
    }
}
