// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coulombic potential on a plane by direct summation over atoms in constant memory, after CP of Bakhoda et al. (ISPASS 2009), which is
//! Parboil's first cp. Kernels use the approximate reciprocal square root, so outputs are checked within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const WIDE: u32 = 16;
const HIGH: u32 = 8;
/// Points that a thread computes.
const POINTS: u32 = 8;
const X: Dim = Dim::new("x", [128, 512, 1_024, 1_024]);
const Y: Dim = Dim::new("y", [16, 120, 120, 240]);
const ATOMS: Dim = Dim::new("atoms", [36, 24, 72, 280]);
// Atoms that a launch takes from constant memory.
const CHUNK: Dim = Dim::new("chunk", [20, 24, 72, 140]);
const SPACING: f32 = 0.1;
const TOLERANCE: f64 = 2e-5;

static INFO: Info = Info {
    name: "cp",
    about: "potential of point charges",
    domain: "biology",
    suite: "ISPASS",
    program: "CP",
    kernels: &[Kernel::after("cp_potential", "cenergy", [16, 8, 1], "once for each 4000 atoms")
        .but([16, 8, 1], "once for each chunk of atoms")
        .shared(0)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[X, Y, ATOMS, CHUNK],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "blocks of 16 x 8 threads, eight points a thread (Bakhoda et al., Table I: 8 x 32 blocks of 16 x 8; 8 x 15 in ours at medium, a full GPU)",
    values_from: "atoms anywhere over the plane, charges of both signs, as the original's generator draws them",
    generator: 3,
    source: include_str!("../cuda/cp.cu"),
    ptx: include_str!("../ptx/cp.ptx"),
};

pub struct Cp;

/// x, y, squared distance from the plane, charge.
type Atom = [f32; 4];

impl Workload for Cp {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (nx, ny) = (X.at(size), Y.at(size));
        let atoms = atoms(ATOMS.at(size), nx, ny, seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let plane = job.zeros::<f32>("potential", (nx * ny) as usize)?;
        for chunk in atoms.chunks(CHUNK.at(size) as usize) {
            job.write_symbol("atoms", &chunk.concat())?;
            let args = Args::new().i32(chunk.len() as i32).f32(SPACING).ptr(plane);
            job.launch("cp_potential", (nx / (WIDE * POINTS), ny / HIGH), (WIDE, HIGH), args)?;
        }
        let found = job.download(plane, (nx * ny) as usize)?;
        job.finish()?;

        let expected: Vec<f32> = (0..ny).flat_map(|y| potential(&atoms, nx, y)).collect();
        let squares: f64 = expected.iter().map(|v| f64::from(*v).powi(2)).sum();
        let scale = (squares / expected.len() as f64).sqrt() as f32;
        Ok(Check::within(TOLERANCE).sums("potential", scale, &expected, &found))
    }
}

fn atoms(count: u32, nx: u32, ny: u32, seed: u64) -> Vec<Atom> {
    let mut rng = Rng::new(seed);
    let mut atom = || {
        let (x, y) = (rng.float(0.0, SPACING * nx as f32), rng.float(0.0, SPACING * ny as f32));
        let z = rng.float(0.5, 10.0);
        [x, y, z * z, rng.float(-1.0, 1.0)]
    };
    (0..count).map(|_| atom()).collect()
}

/// The potential at the points of a row.
fn potential(atoms: &[Atom], nx: u32, y: u32) -> Vec<f32> {
    let at = |n: u32| f64::from(SPACING) * f64::from(n);
    let places: Vec<f64> = (0..nx).map(at).collect();
    let mut sums = vec![0.0; places.len()];
    wide(|| {
        for [ax, ay, az2, charge] in atoms.iter().map(|atom| atom.map(f64::from)) {
            let dy = at(y) - ay;
            for (sum, x) in sums.iter_mut().zip(&places) {
                let dx = x - ax;
                *sum += charge / (dx * dx + dy * dy + az2).sqrt();
            }
        }
    });
    sums.into_iter().map(|sum| sum as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_charges_cancel_and_one_falls_with_its_distance() {
        let plus: Atom = [0.0, 0.0, 9.0, 1.0];
        assert_eq!(potential(&[plus, [0.0, 0.0, 9.0, -1.0]], 41, 0)[40], 0.0);
        assert!((potential(&[plus], 41, 0)[40] - 0.2).abs() < 1e-6);
    }
}
