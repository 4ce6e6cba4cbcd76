// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Q matrix of a magnetic resonance reconstruction, after Parboil's mri-q: sums of cosines and sines over sample points that come
//! through constant memory. Kernels use approximate sines, so outputs are checked within a tolerance.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const PHI_BLOCK: u32 = 512;
const Q_BLOCK: u32 = 256;
const VOXELS: Dim = Dim::new("voxels", [700, 5_760, 23_040, 46_080]);
const SAMPLES: Dim = Dim::new("samples", [50, 72, 120, 480]);
// Samples that a launch takes from constant memory.
const CHUNK: Dim = Dim::new("chunk", [33, 48, 120, 240]);
const TOLERANCE: f64 = 1e-4;

static INFO: Info = Info {
    name: "mri_q",
    about: "Q matrix of an MRI scan",
    domain: "medical imaging",
    suite: "Parboil",
    program: "mri-q",
    kernels: &[
        Kernel::after("mri_phi_mag", "ComputePhiMag_GPU", [512, 1, 1], "once"),
        Kernel::after("mri_q", "ComputeQ_GPU", [256, 1, 1], "once for each 1024 samples")
            .but([256, 1, 1], "once for each chunk of samples"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[VOXELS, SAMPLES, CHUNK],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a voxel a thread in blocks of 256, samples by chunks through constant memory (1024 in Parboil, fewer in ours, whose runs are shorter)",
    values_from: "a spiral of sample points around the centre of k-space with fading normal phi, voxels of a regular grid from -0.5 to 0.5, the form of Parboil's 32_32_32 data",
    generator: 3,
    source: include_str!("../cuda/mri_q.cu"),
    ptx: include_str!("../ptx/mri_q.ptx"),
};

pub struct MriQ;

impl Workload for MriQ {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (voxels, count) = (VOXELS.at(size), SAMPLES.at(size));
        let scan = Scan::new(count as usize, seed);
        let grid = grid(voxels as usize);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let real = job.upload("phi, real", &scan.real)?;
        let imag = job.upload("phi, imaginary", &scan.imag)?;
        let mag = job.zeros::<f32>("|phi|^2", count as usize)?;
        let args = Args::new().ptr(real).ptr(imag).ptr(mag).i32(count as i32);
        job.launch("mri_phi_mag", count.div_ceil(PHI_BLOCK), PHI_BLOCK, args)?;
        let magnitudes: Vec<f32> = job.download(mag, count as usize)?;

        let [x, y, z] = [0, 1, 2].map(|axis| grid.iter().map(|at| at[axis]).collect::<Vec<f32>>());
        let (x, y, z) = (job.upload("x", &x)?, job.upload("y", &y)?, job.upload("z", &z)?);
        let q_real = job.zeros::<f32>("Q, real", voxels as usize)?;
        let q_imag = job.zeros::<f32>("Q, imaginary", voxels as usize)?;
        let samples: Vec<[f32; 4]> =
            scan.k.iter().zip(&magnitudes).map(|([x, y, z], m)| [*x, *y, *z, *m]).collect();
        for chunk in samples.chunks(CHUNK.at(size) as usize) {
            job.write_symbol("samples", &chunk.concat())?;
            let args = Args::new().i32(chunk.len() as i32).i32(voxels as i32);
            let args = args.ptr(x).ptr(y).ptr(z).ptr(q_real).ptr(q_imag);
            job.launch("mri_q", voxels.div_ceil(Q_BLOCK), Q_BLOCK, args)?;
        }
        let found_real = job.download(q_real, voxels as usize)?;
        let found_imag = job.download(q_imag, voxels as usize)?;
        job.finish()?;

        let (want_real, want_imag) = scan.q(voxels as usize);
        let squares: f32 = scan.magnitudes().map(|m| m * m).sum();
        // The length of the sum if the angles were random.
        let scale = squares.sqrt();
        let want: Vec<f32> = scan.magnitudes().collect();
        Ok(Check::within(TOLERANCE)
            .output("|phi|^2", &want, &magnitudes)
            .sums("Q, real", scale, &want_real, &found_real)
            .sums("Q, imaginary", scale, &want_imag, &found_imag))
    }
}

/// Places along an edge of a cube from -0.5 to 0.5 that holds as many voxels.
fn edge(voxels: usize) -> Vec<f32> {
    let side = (1..).find(|side: &usize| side.pow(3) >= voxels).unwrap_or(1);
    (0..side).map(|n| n as f32 / side as f32 - 0.5).collect()
}

/// Voxels of the cube, x fastest.
fn grid(voxels: usize) -> Vec<[f32; 3]> {
    let edge = edge(voxels);
    let side = edge.len();
    (0..voxels).map(|v| [edge[v % side], edge[v / side % side], edge[v / side / side]]).collect()
}

/// Sample points of k-space with their phi.
struct Scan {
    k: Vec<[f32; 3]>,
    real: Vec<f32>,
    imag: Vec<f32>,
}

impl Scan {
    fn new(count: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut scan = Scan { k: Vec::new(), real: Vec::new(), imag: Vec::new() };
        for sample in 0..count {
            let along = sample as f32 / count as f32;
            let (radius, turn) = (0.2 + 3.8 * along, 60.0 * along + rng.unit());
            let height = rng.float(-1.0, 1.0);
            scan.k.push([radius * libm::cosf(turn), radius * libm::sinf(turn), radius * height]);
            let fade = 1.0 / (1.0 + radius);
            scan.real.push(fade * rng.bell());
            scan.imag.push(fade * rng.bell());
        }
        scan
    }

    fn magnitudes(&self) -> impl Iterator<Item = f32> {
        self.real.iter().zip(&self.imag).map(|(re, im)| crate::fused::fma(*re, *re, im * im))
    }

    /// Real and imaginary part at every voxel. The turn by the sum of three angles is the product of three turns, which are those of all rows along an axis.
    fn q(&self, voxels: usize) -> (Vec<f32>, Vec<f32>) {
        let edge = edge(voxels);
        let (mut re, mut im) = (vec![0.0; voxels], vec![0.0; voxels]);
        for (k, magnitude) in self.k.iter().zip(self.magnitudes()) {
            let turn = |k: f32, place: &f32| {
                let (sin, cos) = libm::sincos(std::f64::consts::TAU * f64::from(k) * f64::from(*place));
                (cos, sin)
            };
            let (cos, sin): (Vec<f64>, Vec<f64>) = edge.iter().map(|x| turn(k[0], x)).unzip();
            let [y, z] = [k[1], k[2]].map(|k| edge.iter().map(|place| turn(k, place)).collect::<Vec<_>>());
            let rows = re.chunks_mut(edge.len()).zip(im.chunks_mut(edge.len()));
            for (row, (re, im)) in rows.enumerate() {
                let (y, z) = (y[row % edge.len()], z[row / edge.len()]);
                let row_re = f64::from(magnitude) * (y.0 * z.0 - y.1 * z.1);
                let row_im = f64::from(magnitude) * (y.0 * z.1 + y.1 * z.0);
                wide(|| {
                    for ((re, im), (cos, sin)) in re.iter_mut().zip(im).zip(cos.iter().zip(&sin)) {
                        *re += row_re * cos - row_im * sin;
                        *im += row_re * sin + row_im * cos;
                    }
                });
            }
        }
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        (single(re), single(im))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_centre_q_is_the_sum_of_magnitudes() {
        let scan = Scan::new(40, 3);
        let centre = grid(8).iter().position(|at| *at == [0.0; 3]).expect("it is on the grid");
        let (re, im) = scan.q(8);
        let sum: f32 = scan.magnitudes().sum();
        assert!((re[centre] - sum).abs() < 1e-5 * sum && im[centre] == 0.0);
    }

    #[test]
    fn voxels_fill_a_cube() {
        let grid = grid(27);
        assert_eq!(grid[0], [-0.5; 3]);
        assert_eq!(grid.iter().filter(|at| at[0] == at[1] && at[1] == at[2]).count(), 3);
    }
}
