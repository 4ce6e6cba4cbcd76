// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forces between particles of neighbouring boxes, after Rodinia's lavaMD. Exponentials are approximate, so forces are checked within a
//! tolerance.

use crate::check::Check;
use crate::exponential::exp;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 128;
// Boxes along each axis.
const X: Dim = Dim::new("x", [2, 3, 4, 5]);
const Y: Dim = Dim::new("y", [2, 3, 4, 5]);
const Z: Dim = Dim::new("z", [1, 1, 2, 4]);
const PARTICLES: Dim = Dim::new("particles", [21, 100, 75, 100]);
const DECAY: f32 = 0.5;
/// Sums of up to 2700 terms of the order of 1 in single precision, beside their size of several hundred.
const TOLERANCE: f64 = 2e-5;
const SCALE: f32 = 100.0;

static INFO: Info = Info {
    name: "lavamd",
    about: "forces between particles",
    domain: "physics",
    suite: "Rodinia",
    program: "lavaMD",
    kernels: &[Kernel::after("lavamd_forces", "kernel_gpu_cuda", [128, 1, 1], "once").shared(7200)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[X, Y, Z, PARTICLES],
    fill: Fill::Partial(
        "boxes at the edges have fewer neighbours, and there are two or three for an SM: in the algorithm",
    ),
    known: Known::Read,
    shape_from: "a block of 128 threads a box of 100 particles, the own box and one neighbour in shared memory, as Rodinia's with 10 x 10 x 10 boxes; Rodinia computes in double precision, ours in single",
    values_from: "places and charges in tenths from 0.1 to 1, as Rodinia draws them, and a decay of 0.5",
    generator: 3,
    source: include_str!("../cuda/lavamd.cu"),
    ptx: include_str!("../ptx/lavamd.ptx"),
};

pub struct Lavamd;

impl Workload for Lavamd {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let extent = [X.at(size), Y.at(size), Z.at(size)].map(|n| n as i32);
        let boxes = extent.iter().product::<i32>() as usize;
        let particles = PARTICLES.at(size) as usize;
        let mut rng = Rng::new(seed);
        let mut tenth = || rng.int(1, 11) as f32 / 10.0;
        let places: Vec<[f32; 4]> =
            (0..boxes * particles).map(|_| [tenth(), tenth(), tenth(), tenth()]).collect();
        let charges: Vec<f32> = (0..boxes * particles).map(|_| tenth()).collect();
        let near: Vec<Vec<i32>> = (0..boxes as i32).map(|at| neighbours(at, extent)).collect();
        let mut table = Vec::new();
        for near in &near {
            table.extend(near.iter().copied().chain(std::iter::repeat(0)).take(27));
        }
        let counts: Vec<i32> = near.iter().map(|near| near.len() as i32).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let args = Args::new()
            .ptr(job.upload("places", &places.concat())?)
            .ptr(job.upload("charges", &charges)?)
            .ptr(job.upload("neighbours", &table)?)
            .ptr(job.upload("counts", &counts)?);
        let forces = job.zeros::<f32>("forces", 4 * places.len())?;
        let args = args.i32(particles as i32).f32(2.0 * DECAY * DECAY).ptr(forces);
        job.launch("lavamd_forces", boxes as u32, BLOCK, args)?;
        let found: Vec<f32> = job.download(forces, 4 * places.len())?;
        job.finish()?;

        let mut expected = Vec::with_capacity(found.len());
        for (own, near) in places.chunks(particles).zip(&near) {
            let sources = near.iter().flat_map(|near| {
                let first = *near as usize * particles;
                places[first..].iter().zip(&charges[first..]).take(particles)
            });
            let sources = Sources::new(sources.map(|(place, charge)| (*place, *charge)));
            expected.extend(own.iter().map(|own| sources.pull(own)));
        }
        Ok(Check::within(TOLERANCE).sums("forces", SCALE, expected.as_flattened(), &found))
    }
}

/// A box and those around it.
fn neighbours(at: i32, [nx, ny, nz]: [i32; 3]) -> Vec<i32> {
    let (x, y, z) = (at % nx, at / nx % ny, at / nx / ny);
    let around = (0..27).map(|at| (x + at % 3 - 1, y + at / 3 % 3 - 1, z + at / 9 - 1));
    let inside = around.filter(|(x, y, z)| (0..nx).contains(x) && (0..ny).contains(y) && (0..nz).contains(z));
    inside.map(|(x, y, z)| (z * ny + y) * nx + x).collect()
}

/// Particles that pull at others: their places by axis, with what is beside them, and their charges.
struct Sources {
    places: [Vec<f64>; 4],
    charges: Vec<f64>,
}

impl Sources {
    fn new(particles: impl Iterator<Item = ([f32; 4], f32)>) -> Self {
        let mut sources = Sources { places: [const { Vec::new() }; 4], charges: Vec::new() };
        for (place, charge) in particles {
            sources.places.iter_mut().zip(place).for_each(|(list, part)| list.push(f64::from(part)));
            sources.charges.push(f64::from(charge));
        }
        sources
    }

    /// Force and energy of a particle, by the sources one after the other.
    fn pull(&self, own: &[f32; 4]) -> [f32; 4] {
        let a = own.map(f64::from);
        let [xs, ys, zs, vs] = &self.places;
        let mut near = vec![0.0; vs.len()];
        let mut sums = [0.0; 4];
        wide(|| {
            for ((((near, x), y), z), v) in near.iter_mut().zip(xs).zip(ys).zip(zs).zip(vs) {
                let apart = a[3] + v - (a[0] * x + a[1] * y + a[2] * z);
                *near = exp(-2.0 * f64::from(DECAY) * f64::from(DECAY) * apart);
            }
            for ((((near, charge), x), y), z) in near.iter().zip(&self.charges).zip(xs).zip(ys).zip(zs) {
                let pull = 2.0 * near * charge;
                sums[0] += pull * (a[0] - x);
                sums[1] += pull * (a[1] - y);
                sums[2] += pull * (a[2] - z);
                sums[3] += charge * near;
            }
        });
        sums.map(|sum| sum as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_inside_have_27_neighbours_and_corners_8() {
        assert_eq!(neighbours(13, [3, 3, 3]).len(), 27);
        assert_eq!(neighbours(0, [3, 3, 3]).len(), 8);
    }
}
