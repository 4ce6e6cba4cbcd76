// SPDX-License-Identifier: MIT OR Apache-2.0
//! Potential of a box of atoms within a cutoff, after Parboil's cutcp. Reciprocal roots are approximate, so the potential is checked
//! within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 128;
/// Atoms of a bin, which is a cube with as many points of the lattice along a side.
const BIN: usize = 8;
const SPACING: f32 = 0.5;
/// Length of a bin's side, and the cutoff.
const SIDE: f32 = 4.0;
// Bins along each axis.
const X: Dim = Dim::new("x", [2, 3, 5, 12]);
const Y: Dim = Dim::new("y", [1, 2, 6, 6]);
const Z: Dim = Dim::new("z", [1, 3, 3, 8]);
/// Potentials are of the order of 1 and sum up to a hundred terms, each with an error of about 2^-22.
const TOLERANCE: f64 = 1e-4;

static INFO: Info = Info {
    name: "cutcp",
    about: "potential within a cutoff",
    domain: "chemistry",
    suite: "Parboil",
    program: "cutcp",
    kernels: &[Kernel::after(
        "cutcp_potential",
        "cuda_cutoff_potential_lattice6overlap",
        [8, 2, 8],
        "once a layer of regions",
    )
    .but([BLOCK, 1, 1], "once")
    .shared(4096)],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[X, Y, Z],
    fill: Fill::Partial(
        "regions at the edges have fewer atoms within the cutoff, and there are six for an SM: in the algorithm",
    ),
    known: Known::Read,
    shape_from: "a block of 128 threads for a cube of 8 x 8 x 8 points, bins of eight atoms in shared memory, their offsets in constant memory, as Parboil's, which brings 32 bins at a time, ours one; its cutoff is 12 angstroms, ours 4, so that a GPU is filled by fewer instructions",
    values_from: "a point every half angstrom; a tenth of an atom a cubic angstrom, as in water, with charges of up to 1 either way",
    generator: 3,
    source: include_str!("../cuda/cutcp.cu"),
    ptx: include_str!("../ptx/cutcp.ptx"),
};

pub struct Cutcp;

impl Workload for Cutcp {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let extent = [X.at(size), Y.at(size), Z.at(size)];
        let [nx, ny, nz] = extent.map(|bins| bins as usize + 2);
        let atoms = bins(extent, &mut Rng::new(seed));
        let near: Vec<i32> =
            (0..27).map(|at| ((at / 9 - 1) * ny as i32 + at / 3 % 3 - 1) * nx as i32 + at % 3 - 1).collect();
        let points = extent.iter().map(|bins| 8 * *bins as usize).product();

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("near_count", &[near.len() as i32])?;
        job.write_symbol("near", &near)?;
        let bins = job.upload("bins", &atoms.concat())?;
        let lattice = job.zeros::<f32>("lattice", points)?;
        let args =
            Args::new().ptr(bins).ptr(lattice).i32(8 * extent[1] as i32).i32(nx as i32).i32(ny as i32).i32(1);
        let args = args.f32(SPACING).f32(SIDE * SIDE).f32(1.0 / (SIDE * SIDE));
        job.launch("cutcp_potential", (extent[0], extent[1], extent[2]), BLOCK, args)?;
        let found: Vec<f32> = job.download(lattice, points)?;
        job.finish()?;

        let mut expected = Vec::with_capacity(points);
        let [across, up, _] = extent.map(|bins| 8 * bins as usize);
        for at in (0..points).step_by(8) {
            let (px, py, pz) = (at % across, at / across % up, at / across / up);
            let home = ((pz / 8 + 1) * ny + py / 8 + 1) * nx + px / 8 + 1;
            let around = near.iter().map(|offset| (home as i32 + offset) as usize * BIN);
            let there = around.flat_map(|first| &atoms[first..first + BIN]).filter(|atom| atom[3] != 0.0);
            let place = |steps: usize| f64::from(SPACING) * steps as f64;
            let row: Vec<f64> = (px..px + 8).map(place).collect();
            expected.extend(potential(there, &row, place(py), place(pz)).into_iter().map(|sum| sum as f32));
        }
        debug_assert_eq!(nx * ny * nz * BIN, atoms.len());
        Ok(Check::within(TOLERANCE).sums("lattice", 1.0, &expected, &found))
    }
}

/// Of atoms at the points of a row.
fn potential<'a>(atoms: impl Iterator<Item = &'a [f32; 4]>, row: &[f64], y: f64, z: f64) -> Vec<f64> {
    let mut sums = vec![-0.0; row.len()];
    wide(|| {
        for [ax, ay, az, charge] in atoms.map(|atom| atom.map(f64::from)) {
            let (dy, dz) = (ay - y, az - z);
            for (sum, x) in sums.iter_mut().zip(row) {
                let r2 = (ax - x) * (ax - x) + dy * dy + dz * dz;
                let fade = 1.0 - r2 / f64::from(SIDE * SIDE);
                let inside = charge / r2.sqrt() * fade * fade;
                *sum += if fade > 0.0 { inside } else { 0.0 };
            }
        }
    });
    sums
}

/// Places and charges of all bins, with a layer of empty bins around; a bin's atoms come first in it.
fn bins(extent: [u32; 3], rng: &mut Rng) -> Vec<[f32; 4]> {
    let [nx, ny, nz] = extent.map(|bins| bins + 2);
    let mut atoms = Vec::new();
    for (z, y, x) in (0..nx * ny * nz).map(|at| (at / nx / ny, at / nx % ny, at % nx)) {
        let outside = |at: u32, count: u32| at == 0 || at == count - 1;
        let empty = outside(x, nx) || outside(y, ny) || outside(z, nz);
        let count = if empty { 0 } else { rng.int(5, 9) as usize };
        for slot in 0..BIN {
            // Off the points of the lattice, whose potential would be infinite.
            let mut place =
                |bin: u32| (bin as f32 - 1.0) * SIDE + (rng.below(8) as f32 + rng.float(0.2, 0.8)) * SPACING;
            let here = [place(x), place(y), place(z)];
            let charge = rng.float(0.1, 1.0) * if rng.below(2) == 0 { -1.0 } else { 1.0 };
            atoms.push([here[0], here[1], here[2], if slot < count { charge } else { 0.0 }]);
        }
    }
    atoms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atom_fades_at_the_cutoff() {
        let atom = [0.0, 0.0, 0.0, 2.0];
        assert_eq!(potential([&atom].into_iter(), &[4.0], 0.0, 0.0), [0.0]);
        assert_eq!(potential([&atom].into_iter(), &[0.0], 2.0, 0.0), [0.5625]);
    }
}
