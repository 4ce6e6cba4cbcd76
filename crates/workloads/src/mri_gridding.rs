// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts samples of a scanner onto a grid, after Parboil's mri-gridding.

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const TILE: [usize; 3] = [8, 4, 2];
const BLOCK: u32 = 64;
const CUTOFF2: f32 = 4.0;
/// A quarter of the square of the window's parameter.
const SHAPE: f32 = 8.0;
// Tiles along each axis.
const X: Dim = Dim::new("x", [3, 4, 8, 12]);
const Y: Dim = Dim::new("y", [1, 4, 8, 12]);
const Z: Dim = Dim::new("z", [2, 5, 8, 20]);
// Samples of a tile, in the mean.
const DENSITY: Dim = Dim::new("samples", [14, 11, 4, 5]);

static INFO: Info = Info {
    name: "mri_gridding",
    about: "puts samples onto a grid",
    domain: "medical imaging",
    suite: "Parboil",
    program: "mri-gridding",
    kernels: &[
        Kernel::after("gridding_bin", "binning_kernel", [512, 1, 1], "once").but([BLOCK, 1, 1], "once"),
        Kernel::after("gridding_reorder", "reorder_kernel", [512, 1, 1], "once").but([BLOCK, 1, 1], "once"),
        Kernel::after("gridding_gather", "gridding_GPU", [8, 4, 2], "once").shared(1536),
    ],
    missing: &[
        "splitSort and splitRearrange, the kernels of the sort, and those of the scan: the host sorts the samples by their tiles",
    ],
    order_dependent: false,
    data: Data::Float,
    dims: &[X, Y, Z, DENSITY],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "a block of 8 x 4 x 2 threads a tile of as many cells, samples through shared memory, as Parboil's, whose block then takes four tiles, one above the other, and sorts samples by cells, ours by tiles",
    values_from: "places that are densest in the middle of the grid, as along spokes or spirals of a scan; values roughly normal, with a weight by density",
    generator: 4,
    source: include_str!("../cuda/mri_gridding.cu"),
    ptx: include_str!("../ptx/mri_gridding.ptx"),
};

pub struct MriGridding;

impl Workload for MriGridding {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let tiles = [X.at(size), Y.at(size), Z.at(size)].map(|n| n as usize);
        let bins: usize = tiles.iter().product();
        let samples = bins * DENSITY.at(size) as usize;
        let cells: usize = (0..3).map(|axis| tiles[axis] * TILE[axis]).product();
        let mut rng = Rng::new(seed);
        let places: Vec<[f32; 4]> = (0..samples).map(|_| place(tiles, &mut rng)).collect();
        let bells = rng.bells(2 * samples);
        let values: Vec<[f32; 2]> = bells.as_chunks().0.to_vec();
        let tile_of = |place: &[f32; 4]| {
            let [x, y, z] = std::array::from_fn(|axis| place[axis] as usize / TILE[axis]);
            (z * tiles[1] + y) * tiles[0] + x
        };

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = job.upload("places", &places.concat())?;
        let carried = job.upload("values", &values.concat())?;
        let keys = job.zeros::<i32>("tiles", samples)?;
        let args =
            Args::new().ptr(from).i32(samples as i32).i32(tiles[0] as i32).i32(tiles[1] as i32).ptr(keys);
        let blocks = (samples as u32).div_ceil(BLOCK);
        job.launch("gridding_bin", blocks, BLOCK, args)?;
        let keys: Vec<i32> = job.download(keys, samples)?;
        let mut order: Vec<i32> = (0..samples as i32).collect();
        order.sort_by_key(|at| keys[*at as usize]);
        let mut starts = vec![0i32; bins + 1];
        for key in &keys {
            // A wrong program may find tiles that are not there.
            if let Some(start) = usize::try_from(*key).ok().and_then(|key| starts.get_mut(key + 1)) {
                *start += 1;
            }
        }
        (0..bins).for_each(|bin| starts[bin + 1] += starts[bin]);
        let order_ptr = job.upload("order", &order)?;
        let sorted = job.zeros::<f32>("sorted places", 4 * samples)?;
        let sorted_values = job.zeros::<f32>("sorted values", 2 * samples)?;
        let args = Args::new().ptr(from).ptr(carried).ptr(order_ptr).i32(samples as i32);
        job.launch("gridding_reorder", blocks, BLOCK, args.ptr(sorted).ptr(sorted_values))?;
        let starts_ptr = job.upload("starts", &starts)?;
        let grid = job.zeros::<f32>("grid", 2 * cells)?;
        let args =
            Args::new().ptr(sorted).ptr(sorted_values).ptr(starts_ptr).f32(CUTOFF2).f32(SHAPE).ptr(grid);
        let extent = (tiles[0] as u32, tiles[1] as u32, tiles[2] as u32);
        job.launch("gridding_gather", extent, (TILE[0] as u32, TILE[1] as u32, TILE[2] as u32), args)?;
        let found: Vec<f32> = job.download(grid, 2 * cells)?;
        job.finish()?;

        let want_keys: Vec<i32> = places.iter().map(|place| tile_of(place) as i32).collect();
        let expected = gather(&places, &values, &want_keys, tiles);
        Ok(Check::exact().output("tiles", &want_keys, &keys).output("grid", &expected, &found))
    }
}

/// Somewhere in the grid, with a weight.
fn place(tiles: [usize; 3], rng: &mut Rng) -> [f32; 4] {
    let mut axis = |axis: usize| {
        let cells = (tiles[axis] * TILE[axis]) as f32;
        let draw = (rng.unit() + rng.unit()) / 2.0;
        (draw * cells).min(cells - 0.01)
    };
    let here = [axis(0), axis(1), axis(2)];
    [here[0], here[1], here[2], rng.float(0.5, 1.5)]
}

with_fused! {
    /// Cells by samples of the tiles around them, in the order of the kernel.
    fn gather(places: &[[f32; 4]], values: &[[f32; 2]], keys: &[i32], tiles: [usize; 3]) -> Vec<f32> {
        |fused| gather_with(fused, places, values, keys, tiles)
    }
}

#[inline(always)]
fn gather_with(
    fused: impl Fused,
    places: &[[f32; 4]],
    values: &[[f32; 2]],
    keys: &[i32],
    tiles: [usize; 3],
) -> Vec<f32> {
    let mut by_tile = vec![Vec::new(); tiles.iter().product()];
    keys.iter().enumerate().for_each(|(at, key)| by_tile[*key as usize].push(at));
    let [nx, ny, nz] = std::array::from_fn(|axis| tiles[axis] * TILE[axis]);
    let around = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
    let mut out = Vec::with_capacity(2 * nx * ny * nz);
    let mut near = Vec::new();
    for (z, y, x) in (0..nx * ny * nz).map(|at| (at / nx / ny, at / nx % ny, at % nx)) {
        let apart =
            |at: usize| [places[at][0] - x as f32, places[at][1] - y as f32, places[at][2] - z as f32];
        if x % TILE[0] == 0 {
            // Samples that are not too far from the row, for all its cells in this tile: the sum of squares is never less than one of them, rounded or
            // not.
            near.clear();
            for k in around(z / TILE[2], tiles[2]) {
                for j in around(y / TILE[1], tiles[1]) {
                    for i in around(x / TILE[0], tiles[0]) {
                        let samples = by_tile[(k * tiles[1] + j) * tiles[0] + i].iter().copied();
                        let reaches = |at: &usize| apart(*at)[1..].iter().all(|d| d * d < CUTOFF2);
                        near.extend(samples.filter(reaches));
                    }
                }
            }
        }
        let mut sum = [0.0f32; 2];
        for at in &near {
            let [dx, dy, dz] = apart(*at);
            let apart = fused.fma(dz, dz, fused.fma(dy, dy, dx * dx));
            if apart < CUTOFF2 {
                let weight = window(fused, apart) * places[*at][3];
                sum = std::array::from_fn(|part| fused.fma(weight, values[*at][part], sum[part]));
            }
        }
        out.extend(sum);
    }
    out
}

/// The modified Bessel function of order 0, of the root of four times its argument: the first terms of its series.
#[inline(always)]
fn window(fused: impl Fused, apart: f32) -> f32 {
    let q = SHAPE * (1.0 - apart / CUTOFF2);
    let terms = [1.0 / 14400.0, 1.0 / 576.0, 1.0 / 36.0, 0.25, 1.0, 1.0];
    terms.into_iter().reduce(|sum: f32, term| fused.fma(q, sum, term)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::Plain;

    #[test]
    fn the_window_is_one_at_the_cutoff_and_a_bessel_function_inside() {
        assert_eq!(window(Plain, CUTOFF2), 1.0);
        // I0(2) is 2.2795853.
        let apart = CUTOFF2 * (1.0 - 1.0 / SHAPE);
        assert!((window(Plain, apart) - 2.279_585_3).abs() < 1e-5, "{}", window(Plain, apart));
    }
}
