// SPDX-License-Identifier: MIT OR Apache-2.0
//! Online clustering of points, after Rodinia's streamcluster: for one candidate after the other the device finds what each point would
//! gain, and the host moves points when the sum pays for the new centre.

use crate::check::Check;
use crate::fused::add_squares;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 512;
const POINTS: Dim = Dim::new("points", [600, 7_680, 15_360, 23_040]);
const DIMENSIONS: Dim = Dim::new("dimensions", [7, 32, 32, 64]);
const CANDIDATES: Dim = Dim::new("candidates", [3, 6, 11, 28]);
/// What a centre costs, for each point of the problem.
const PRICE: f64 = 0.02;

static INFO: Info = Info {
    name: "streamcluster",
    about: "clusters streamed points",
    domain: "data mining",
    suite: "Rodinia",
    program: "streamcluster",
    kernels: &[Kernel::after("streamcluster_gain", "kernel_compute_cost", [512, 1, 1], "once a candidate")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[POINTS, DIMENSIONS, CANDIDATES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "blocks of 512 threads, a point a thread, an array a dimension, the candidate in shared memory, a row of the table of gains a point, as Rodinia's with 65 536 points of 256 dimensions",
    values_from: "uniform coordinates from 0 to 1 and weights of 1, as Rodinia's simulated stream; candidates at random",
    generator: 3,
    source: include_str!("../cuda/streamcluster.cu"),
    ptx: include_str!("../ptx/streamcluster.ptx"),
};

pub struct Streamcluster;

impl Workload for Streamcluster {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (points, dimensions) = (POINTS.at(size) as usize, DIMENSIONS.at(size) as usize);
        let mut rng = Rng::new(seed);
        let stream = Stream { points, dimensions, coordinates: rng.floats(points * dimensions, 0.0, 1.0) };
        let weights: Vec<f32> = (0..points).map(|_| rng.int(1, 3) as f32).collect();
        let candidates: Vec<usize> =
            (0..CANDIDATES.at(size)).map(|_| rng.below(points as u32) as usize).collect();
        let mut clusters = Clusters::of_first(&stream, &weights);
        let mut want = clusters.clone();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let coordinates = job.upload("coordinates", &stream.coordinates)?;
        let weight = job.upload("weights", &weights)?;
        let most = candidates.len() + 2;
        let lower = job.zeros::<f32>("lower", points * most)?;
        let costs = job.zeros::<f32>("costs", points)?;
        let assigned = job.zeros::<i32>("assigned", points)?;
        let moves = job.zeros::<i32>("moves", points)?;
        let mut check = Check::exact();
        for candidate in candidates {
            let row = clusters.centres + 1;
            job.write(lower, &vec![0.0f32; points * row])?;
            job.write(moves, &vec![0i32; points])?;
            job.write(costs, &clusters.costs)?;
            job.write(assigned, &clusters.assigned)?;
            let args = Args::new().ptr(coordinates).ptr(weight).ptr(costs).ptr(assigned);
            let args = args.i32(points as i32).i32(dimensions as i32).i32(candidate as i32);
            let args = args.i32(clusters.centres as i32).ptr(lower).ptr(moves);
            job.launch("streamcluster_gain", (points as u32).div_ceil(BLOCK), BLOCK, args)?;
            let table: Vec<f32> = job.download(lower, points * row)?;
            let moved: Vec<i32> = job.download(moves, points)?;
            clusters.take(&table, &moved);

            let (want_table, want_moved) = want.gains(&stream, &weights, candidate);
            check = check.output("lower", &want_table, &table).output("moves", &want_moved, &moved);
            if !check.passed {
                break;
            }
            want.take(&want_table, &want_moved);
        }
        job.finish()?;
        Ok(check.output("costs", &want.costs, &clusters.costs).output(
            "assigned",
            &want.assigned,
            &clusters.assigned,
        ))
    }
}

struct Stream {
    points: usize,
    dimensions: usize,
    /// By dimension.
    coordinates: Vec<f32>,
}

impl Stream {
    /// Squares of the distances of all points from one.
    fn apart(&self, from: usize) -> Vec<f32> {
        let mut sums = vec![0.0; self.points];
        for row in self.coordinates.chunks_exact(self.points).take(self.dimensions) {
            add_squares(&mut sums, row, row[from]);
        }
        sums
    }
}

#[derive(Clone)]
struct Clusters {
    centres: usize,
    /// The centre of each point, and what the point costs there.
    assigned: Vec<i32>,
    costs: Vec<f32>,
}

impl Clusters {
    /// All points with the first one as centre.
    fn of_first(stream: &Stream, weights: &[f32]) -> Self {
        let costs = stream.apart(0).iter().zip(weights).map(|(apart, weight)| apart * weight).collect();
        Clusters { centres: 1, assigned: vec![0; stream.points], costs }
    }

    /// The table of gains, and which points would move.
    fn gains(&self, stream: &Stream, weights: &[f32], candidate: usize) -> (Vec<f32>, Vec<i32>) {
        let row = self.centres + 1;
        let mut table = vec![0.0; stream.points * row];
        let mut moves = vec![0; stream.points];
        for (point, apart) in stream.apart(candidate).into_iter().enumerate() {
            let (cost, now) = (apart * weights[point], self.costs[point]);
            if cost < now {
                moves[point] = 1;
                table[point * row + self.centres] = cost - now;
            } else {
                table[point * row + self.assigned[point] as usize] = now - cost;
            }
        }
        (table, moves)
    }

    /// Opens the centre if what points win pays for it.
    fn take(&mut self, table: &[f32], moves: &[i32]) {
        let row = self.centres + 1;
        let won: f64 = table.chunks_exact(row).map(|row| -f64::from(row[self.centres])).sum();
        if won < PRICE * moves.len() as f64 {
            return;
        }
        for (point, row) in table.chunks_exact(row).enumerate() {
            if moves[point] != 0 {
                self.assigned[point] = self.centres as i32;
                self.costs[point] += row[self.centres];
            }
        }
        self.centres += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_centre_makes_points_cheaper() {
        let stream = Stream { points: 200, dimensions: 3, coordinates: Rng::new(1).floats(600, 0.0, 1.0) };
        let weights = vec![1.0; 200];
        let mut clusters = Clusters::of_first(&stream, &weights);
        let before: f32 = clusters.costs.iter().sum();
        let (table, moves) = clusters.gains(&stream, &weights, 150);
        clusters.take(&table, &moves);
        assert_eq!(clusters.centres, 2);
        assert!(clusters.costs.iter().sum::<f32>() < before);
        assert_eq!(clusters.assigned[150], 1);
    }
}
