// SPDX-License-Identifier: MIT OR Apache-2.0
//! K-means clustering with the centres in constant memory, after Rodinia's kmeans: the device assigns points to
//! centres, the host moves the centres. The 34 features are made in the likeness of the KDD Cup 1999 network data
//! that Rodinia uses: flags, counts, rates in hundredths and a few long-tailed sizes.

use crate::check::Check;
use crate::fused::add_squares;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
/// Features that are amounts.
const AMOUNTS: usize = 5;
pub const FEATURES: usize = 34;
pub const CENTRES: usize = 5;
const POINTS: Dim = Dim::new("points", [301, 1_501, 7_003, 40_003]);
const ROUNDS: Dim = Dim::new("rounds", [2, 3, 5, 7]);

static INFO: Info = Info {
    name: "kmeans",
    about: "clusters points",
    domain: "data mining",
    suite: "Rodinia",
    program: "kmeans",
    kernels: &[
        Kernel::after("kmeans_invert", "invert_mapping", [256, 1, 1], "once"),
        Kernel::after("kmeans_assign", "kmeansPoint", [256, 1, 1], "once a round"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[POINTS, ROUNDS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "Rodinia's block of 256 threads, a point a thread; centres in constant memory; points through global memory, which Rodinia reads through a texture",
    values_from: "34 features with the ranges of the KDD Cup 1999 network data that Rodinia uses",
    generator: 3,
    source: include_str!("../cuda/kmeans.cu"),
    ptx: include_str!("../ptx/kmeans.ptx"),
};

pub struct Kmeans;

impl Workload for Kmeans {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (points, rounds) = (POINTS.at(size), ROUNDS.at(size));
        let count = points as usize;
        let data = records(count, seed);
        let grid = points.div_ceil(BLOCK);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let by_point = job.upload("points", &data)?;
        let by_feature = job.zeros::<f32>("features", data.len())?;
        let membership = job.zeros::<i32>("membership", count)?;
        let distance = job.zeros::<f32>("distance", count)?;
        let args = Args::new().ptr(by_point).ptr(by_feature).i32(points as i32);
        job.launch("kmeans_invert", grid, BLOCK, args)?;

        let mut centres = data[..CENTRES * FEATURES].to_vec();
        let mut nearest = Vec::new();
        for _ in 0..rounds {
            job.write_symbol("centres", &centres)?;
            let args = Args::new()
                .ptr(by_feature)
                .i32(points as i32)
                .i32(CENTRES as i32)
                .ptr(membership)
                .ptr(distance);
            job.launch("kmeans_assign", grid, BLOCK, args)?;
            nearest = job.download(membership, count)?;
            centres = means(&data, &nearest);
        }
        let distances = job.download(distance, count)?;
        job.finish()?;

        let (want_nearest, want_distances, want_centres) = reference(&data, rounds);
        Ok(Check::exact()
            .output("membership", &want_nearest, &nearest)
            .output("distance", &want_distances, &distances)
            .output("centres", &want_centres, &centres))
    }
}

/// Connections of five kinds, shuffled.
pub fn records(points: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let kinds: Vec<[f32; FEATURES]> = (0..CENTRES).map(|_| std::array::from_fn(|_| rng.unit())).collect();
    let mut data = Vec::with_capacity(points * FEATURES);
    for _ in 0..points {
        let kind = &kinds[rng.below(CENTRES as u32) as usize];
        let near = |level: f32, bell: f32| (level + 0.1 * bell).clamp(0.0, 1.0);
        let (amounts, others) = kind.split_at(AMOUNTS);
        // Durations and bytes: long-tailed whole numbers.
        for level in amounts {
            let level = near(*level, rng.bell());
            data.push((level * level * level * 2000.0 * rng.unit()).floor());
        }
        for (feature, (level, bell)) in (AMOUNTS..).zip(others.iter().zip(rng.bells(others.len()))) {
            let level = near(*level, bell);
            data.push(match feature {
                // Flags and small counts.
                ..=18 => (level * 4.0).floor(),
                // Connections in the last two seconds: 0 to 511.
                19..=22 => (level * 511.0).floor(),
                // Rates in hundredths.
                _ => (level * 100.0).floor() / 100.0,
            });
        }
    }
    data
}

/// The mean of each centre's points; a centre without points is put at the origin, and so is one that a wrong
/// membership names outside the range.
pub fn means(data: &[f32], nearest: &[i32]) -> Vec<f32> {
    let mut sums = vec![0.0; CENTRES * FEATURES];
    let mut sizes = [0u32; CENTRES];
    for (point, centre) in data.chunks_exact(FEATURES).zip(nearest) {
        let Some(size) = usize::try_from(*centre).ok().and_then(|centre| sizes.get_mut(centre)) else {
            continue;
        };
        *size += 1;
        for (sum, x) in sums[*centre as usize * FEATURES..].iter_mut().zip(point) {
            *sum += x;
        }
    }
    for (centre, size) in sums.chunks_exact_mut(FEATURES).zip(sizes) {
        centre.iter_mut().for_each(|sum| *sum /= size.max(1) as f32);
    }
    sums
}

/// Squared distances of points from a centre in the kernel's order: along the features, each step fused.
fn distances(by_feature: &[Vec<f32>], centre: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0; by_feature[0].len()];
    for (values, level) in by_feature.iter().zip(centre) {
        add_squares(&mut sums, values, *level);
    }
    sums
}

/// The values of each feature.
fn by_feature(data: &[f32]) -> Vec<Vec<f32>> {
    (0..FEATURES).map(|feature| data[feature..].iter().step_by(FEATURES).copied().collect()).collect()
}

/// Membership and distances of the last round, and the centres after it.
pub fn reference(data: &[f32], rounds: u32) -> (Vec<i32>, Vec<f32>, Vec<f32>) {
    let by_feature = by_feature(data);
    let points = data.len() / FEATURES;
    let mut centres = data[..CENTRES * FEATURES].to_vec();
    let (mut nearest, mut least) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        (nearest, least) = (vec![-1; points], vec![f32::MAX; points]);
        for (index, centre) in centres.chunks_exact(FEATURES).enumerate() {
            let apart = distances(&by_feature, centre);
            for ((nearest, least), apart) in nearest.iter_mut().zip(&mut least).zip(apart) {
                if apart < *least {
                    (*nearest, *least) = (index as i32, apart);
                }
            }
        }
        centres = means(data, &nearest);
    }
    (nearest, least, centres)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_never_move_points_further_from_their_centres() {
        let data = records(400, 6);
        let spread = |rounds| reference(&data, rounds).1.iter().map(|d| f64::from(*d)).sum::<f64>();
        let spreads: Vec<f64> = (1..6).map(spread).collect();
        assert!(spreads.windows(2).all(|w| w[1] <= w[0] * 1.000_001), "{spreads:?}");
        assert!(spreads[4] < spreads[0]);
    }

    #[test]
    fn all_five_centres_are_used() {
        let (nearest, ..) = reference(&records(400, 1), 3);
        assert!((0..CENTRES as i32).all(|centre| nearest.contains(&centre)));
    }

    #[test]
    fn distance_is_that_of_double_precision() {
        let data = records(2, 9);
        let (a, b) = data.split_at(FEATURES);
        let found = f64::from(distances(&by_feature(a), b)[0]);
        let want: f64 = a.iter().zip(b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum();
        assert!((found - want).abs() <= 1e-5 * want);
    }
}
