// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dynamic programming over a grid with a ghost-zone pyramid, after Rodinia's pathfinder.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
/// Rows that a launch advances.
const PYRAMID: u32 = 20;
const COLS: Dim = Dim::new("columns", [1_000, 5_000, 19_400, 100_000]);
const ROWS: Dim = Dim::new("rows", [34, 54, 94, 134]);

static INFO: Info = Info {
    name: "pathfinder",
    about: "cheapest way down a grid",
    domain: "dynamic programming",
    suite: "Rodinia",
    program: "pathfinder",
    kernels: &[Kernel::after("pathfinder", "dynproc_kernel", [256, 1, 1], "once for each pyramid of rows")
        .shared(2048)],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[COLS, ROWS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "Rodinia's block of 256 threads and ghost zones",
    values_from: "whole costs from 0 to 9, as Rodinia draws them (rand() % 10)",
    generator: 3,
    source: include_str!("../cuda/pathfinder.cu"),
    ptx: include_str!("../ptx/pathfinder.ptx"),
};

pub struct Pathfinder;

impl Workload for Pathfinder {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (cols, rows) = (COLS.at(size), ROWS.at(size));
        let wall = Rng::new(seed).ints((cols * rows) as usize, 0, 10);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let walls = job.upload("wall", &wall)?;
        let mut from = job.upload("costs, even", &wall[..cols as usize])?;
        let mut to = job.zeros::<i32>("costs, odd", cols as usize)?;
        for first in (1..rows).step_by(PYRAMID as usize) {
            let rows_now = PYRAMID.min(rows - first);
            let blocks = cols.div_ceil(BLOCK - 2 * rows_now);
            let args = Args::new()
                .i32(rows_now as i32)
                .ptr(walls)
                .ptr(from)
                .ptr(to)
                .i32(cols as i32)
                .i32(first as i32);
            job.launch("pathfinder", blocks, BLOCK, args)?;
            (from, to) = (to, from);
        }
        let costs = job.download(from, cols as usize)?;
        job.finish()?;

        Ok(Check::exact().output("costs", &reference(&wall, cols as usize), &costs))
    }
}

/// Cost of the cheapest path from the first row to each cell of the last.
fn reference(wall: &[i32], cols: usize) -> Vec<i32> {
    let mut rows = wall.chunks_exact(cols);
    let mut costs = rows.next().unwrap_or_default().to_vec();
    wide(|| {
        for row in rows {
            // The row before, whose ends have neighbours like themselves.
            let before = [&costs[..1], &costs, &costs[cols - 1..]].concat();
            let near = before.iter().zip(&before[1..]).zip(&before[2..]);
            for ((cost, here), ((west, middle), east)) in costs.iter_mut().zip(row).zip(near) {
                *cost = here + (*west).min(*middle).min(*east);
            }
        }
    });
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks every path from the top down to a cell.
    fn cheapest(wall: &[i32], cols: usize, row: usize, x: usize) -> i32 {
        let here = wall[row * cols + x];
        if row == 0 {
            return here;
        }
        let steps = x.saturating_sub(1)..=(x + 1).min(cols - 1);
        here + steps.map(|from| cheapest(wall, cols, row - 1, from)).min().unwrap_or(0)
    }

    #[test]
    fn reference_finds_what_trying_all_paths_finds() {
        let (cols, rows) = (6, 7);
        let wall = Rng::new(5).ints(cols * rows, 0, 10);
        let want: Vec<i32> = (0..cols).map(|x| cheapest(&wall, cols, rows - 1, x)).collect();
        assert_eq!(reference(&wall, cols), want);
    }
}
