// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of a database that is nearest to a target, after Rodinia's nn (nearest neighbour).

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const RECORDS: Dim = Dim::new("records", [1_500, 42_764, 171_056, 684_224]);
const TARGETS: Dim = Dim::new("targets", [2, 8, 12, 22]);

static INFO: Info = Info {
    name: "nn",
    about: "nearest of many records",
    domain: "data mining",
    suite: "Rodinia",
    program: "nn",
    kernels: &[Kernel::after("nn_distances", "euclid", [256, 1, 1], "once").but([256, 1, 1], "once a target")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[RECORDS, TARGETS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 256 threads, a record a thread, and a host that picks the nearest; Rodinia asks for one target among 42764 records, ours for several",
    values_from: "places of hurricanes as Rodinia's generator makes them: latitudes from 7 to 70 and longitudes from 0 to 359 degrees, in tenths (recalled)",
    generator: 3,
    source: include_str!("../cuda/nn.cu"),
    ptx: include_str!("../ptx/nn.ptx"),
};

pub struct Nn;

impl Workload for Nn {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = RECORDS.at(size);
        let mut rng = Rng::new(seed);
        let records: Vec<[f32; 2]> = (0..count).map(|_| place(&mut rng)).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = job.upload("records", records.as_flattened())?;
        let to = job.zeros::<f32>("distances", count as usize)?;
        let (mut found, mut want) = (Vec::new(), Vec::new());
        let mut check = Check::exact();
        for _ in 0..TARGETS.at(size) {
            let target = place(&mut rng);
            let args = Args::new().ptr(from).ptr(to).i32(count as i32).f32(target[0]).f32(target[1]);
            job.launch("nn_distances", count.div_ceil(BLOCK), BLOCK, args)?;
            let distances: Vec<f32> = job.download(to, count as usize)?;
            let expected = all_distances(target, &records);
            found.push(nearest(&distances));
            want.push(nearest(&expected));
            check = check.output("distances", &expected, &distances);
        }
        job.finish()?;
        Ok(check.output("nearest", &want, &found))
    }
}

/// Latitude and longitude.
fn place(rng: &mut Rng) -> [f32; 2] {
    [70 + rng.below(631), rng.below(3590)].map(|tenths| tenths as f32 / 10.0)
}

with_fused! {
    fn all_distances(target: [f32; 2], records: &[[f32; 2]]) -> Vec<f32> { |fused| distances_with(fused, target, records) }
}

#[inline(always)]
fn distances_with(fused: impl Fused, target: [f32; 2], records: &[[f32; 2]]) -> Vec<f32> {
    let mut distances = vec![0.0; records.len()];
    for (distance, record) in distances.iter_mut().zip(records) {
        let (north, east) = (target[0] - record[0], target[1] - record[1]);
        *distance = fused.fma(north, north, east * east).sqrt();
    }
    distances
}

fn nearest(distances: &[f32]) -> u32 {
    // An integer for each float, in their total order.
    let rank = |distance: &f32| {
        let bits = distance.to_bits() as i32;
        bits ^ ((bits >> 31) as u32 >> 1) as i32
    };
    let least = wide(|| {
        let mut least = i32::MAX;
        for distance in distances {
            least = least.min(rank(distance));
        }
        least
    });
    distances.iter().position(|distance| rank(distance) == least).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::Plain;

    #[test]
    fn the_first_of_the_nearest_is_found() {
        let records = [[10.0, 20.0], [13.0, 24.0], [40.0, 20.0], [13.0, 24.0]];
        let distances = distances_with(Plain, [10.0, 28.0], &records);
        assert_eq!((distances[1], nearest(&distances)), (5.0, 1));
    }
}
