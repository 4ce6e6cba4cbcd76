// SPDX-License-Identifier: MIT OR Apache-2.0
//! Angular correlation of points in the sky, after Parboil's tpacf.

use crate::check::Check;
use crate::fused::add_products;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const BINS: usize = 20;
const POINTS: Dim = Dim::new("points", [37, 96, 150, 160]);
// Random sets.
const SETS: Dim = Dim::new("sets", [2, 15, 22, 170]);

static INFO: Info = Info {
    name: "tpacf",
    about: "angles between galaxies",
    domain: "astronomy",
    suite: "Parboil",
    program: "tpacf",
    kernels: &[Kernel::after("tpacf_histograms", "gen_hists", [256, 1, 1], "once").shared(10_240)],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[POINTS, SETS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a block of 256 threads for each histogram, of which there are two for every random set and one more, as Parboil's, which has 100 sets of 487 points and more; histograms in shared memory, borders of bins in constant memory. Parboil keeps sixteen histograms a warp, ours one; Parboil reads points from global memory, ours brings tiles of them into shared memory",
    values_from: "uniform points on the sphere for random sets; the observed ones gather around a few places, as galaxies do; bins by the logarithm of the angle, five for each factor of ten from a hundredth of a degree on",
    generator: 4,
    source: include_str!("../cuda/tpacf.cu"),
    ptx: include_str!("../ptx/tpacf.ptx"),
};

pub struct Tpacf;

impl Workload for Tpacf {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (points, sets) = (POINTS.at(size) as usize, SETS.at(size) as usize);
        let mut rng = Rng::new(seed);
        let mut sky = observed(points, &mut rng);
        sky.extend((0..sets * points).map(|_| somewhere(&mut rng)));
        let axis = |axis: usize| -> Vec<f32> { sky.iter().map(|point| point[axis]).collect() };
        let blocks = 2 * sets + 1;
        let borders = borders();

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("borders", &borders)?;
        let [x, y] = [job.upload("x", &axis(0))?, job.upload("y", &axis(1))?];
        let z = job.upload("z", &axis(2))?;
        let counts = job.zeros::<u32>("counts", blocks * BINS)?;
        let args = Args::new().ptr(x).ptr(y).ptr(z).i32(points as i32).ptr(counts);
        job.launch("tpacf_histograms", blocks as u32, BLOCK, args)?;
        let found: Vec<u32> = job.download(counts, blocks * BINS)?;
        job.finish()?;

        let set = |at: usize| &sky[at * points..(at + 1) * points];
        let mut expected = vec![0u32; blocks * BINS];
        for (block, counts) in expected.chunks_exact_mut(BINS).enumerate() {
            let one = block.div_ceil(2);
            let other = if block % 2 == 1 { 0 } else { one };
            let [x, y, z] = [0, 1, 2].map(|axis| set(one).iter().map(|a| a[axis]).collect::<Vec<f32>>());
            for (j, b) in set(other).iter().enumerate() {
                let until = if one == other { j } else { points };
                let mut cosines: Vec<f32> = x[..until].iter().map(|x| x * b[0]).collect();
                add_products(&mut cosines, b[1], &y);
                add_products(&mut cosines, b[2], &z);
                let bins = bins(&cosines, &borders[1..BINS]);
                bins.into_iter().for_each(|bin| counts[bin as usize] += 1);
            }
        }
        Ok(Check::exact().output("counts", &expected, &found))
    }
}

/// The bins that cosines lie in: how many borders are above each.
fn bins(cosines: &[f32], borders: &[f32]) -> Vec<u32> {
    let mut bins = vec![0; cosines.len()];
    wide(|| {
        for border in borders {
            bins.iter_mut().zip(cosines).for_each(|(bin, cosine)| *bin += u32::from(*cosine < *border));
        }
    });
    bins
}

/// Cosines of the borders of bins, from the largest.
fn borders() -> Vec<f32> {
    let minutes = |at: usize| libm::pow(10.0, at as f64 / 5.0);
    (0..=BINS).map(|at| libm::cos(minutes(at) / 60.0 * std::f64::consts::PI / 180.0) as f32).collect()
}

fn unit(point: [f32; 3]) -> [f32; 3] {
    let length = point.iter().map(|x| x * x).sum::<f32>().sqrt();
    point.map(|x| x / length)
}

fn somewhere(rng: &mut Rng) -> [f32; 3] {
    unit([rng.bell(), rng.bell(), rng.bell()])
}

/// Points around a few places.
fn observed(points: usize, rng: &mut Rng) -> Vec<[f32; 3]> {
    let places: Vec<[f32; 3]> = (0..8).map(|_| somewhere(rng)).collect();
    let near = |place: [f32; 3], rng: &mut Rng| unit(place.map(|x| x + 0.1 * rng.bell()));
    (0..points).map(|at| near(places[at % places.len()], rng)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_fall_and_points_are_on_the_sphere() {
        assert!(borders().windows(2).all(|pair| pair[0] > pair[1]), "{:?}", borders());
        let mut rng = Rng::new(3);
        for point in observed(20, &mut rng) {
            assert!((point.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}
