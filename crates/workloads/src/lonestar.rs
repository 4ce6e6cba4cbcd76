// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two programs on graphs after LonestarGPU: breadth-first search by worklists on a graph with hubs, and shortest paths by rounds over all
//! nodes on a graph like a road map. What each thread finds done depends on the order of atomics; the results do not.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BFS_BLOCK: u32 = 256;
const SSSP_BLOCK: u32 = 256;
const NODES: Dim = Dim::new("nodes", [700, 30_000, 150_000, 1_200_000]);
// Nodes along a side of the map.
const SIDE: Dim = Dim::new("side", [20, 90, 151, 280]);
const NEVER: u32 = u32::MAX;

static BFS: Info = Info {
    name: "bfs_lonestar",
    about: "graph search by worklists",
    domain: "graphs",
    suite: "Lonestar",
    program: "bfs",
    kernels: &[Kernel::after("bfs_drain", "drelax", [256, 1, 1], "once a level").block_unknown()],
    missing: &[],
    order_dependent: true,
    data: Data::Integer,
    dims: &[NODES],
    fill: Fill::Partial(
        "a node's edges are gone through by one thread, and the source and other hubs have thousands of them: in the algorithm",
    ),
    known: Known::Recalled,
    shape_from: "a node of the worklist a thread, a launch a level, as LonestarGPU's program with worklists; its blocks follow the device",
    values_from: "a graph with hubs: a node has edges to ten nodes drawn by the cube of a uniform number, so that degrees fall off by a power law, as R-MAT graphs do",
    generator: 3,
    source: include_str!("../cuda/bfs_lonestar.cu"),
    ptx: include_str!("../ptx/bfs_lonestar.ptx"),
};

static SSSP: Info = Info {
    name: "sssp",
    about: "shortest paths on a map",
    domain: "graphs",
    suite: "Lonestar",
    program: "sssp",
    kernels: &[Kernel::after("sssp_relax", "drelax", [256, 1, 1], "once a round").block_unknown()],
    missing: &["initialize, whose work the copy of the distances does"],
    order_dependent: true,
    data: Data::Integer,
    dims: &[SIDE],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a node a thread, rounds over all nodes until none changes, as LonestarGPU's program that is driven by topology; its blocks follow the device",
    values_from: "a map of crossings on a grid with every tenth road missing and lengths from 1 to 100, as road networks; paths start at sixteen places, so that rounds are as many as can be simulated",
    generator: 3,
    source: include_str!("../cuda/sssp.cu"),
    ptx: include_str!("../ptx/sssp.ptx"),
};

pub struct BfsLonestar;
pub struct Sssp;

impl Workload for BfsLonestar {
    fn info(&self) -> &'static Info {
        &BFS
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let nodes = NODES.at(size) as usize;
        let graph = Graph::with_hubs(nodes, seed);
        let mut job = Job::new(dev, &BFS, ptx)?;
        let starts = job.upload("starts", &graph.starts)?;
        let targets = job.upload("targets", &graph.targets)?;
        let mut levels = vec![-1i32; nodes];
        levels[0] = 0;
        let marks = job.upload("levels", &levels)?;
        let mut lists = [job.zeros::<i32>("list", nodes)?, job.zeros::<i32>("next", nodes)?];
        let counter = job.zeros::<i32>("count", 1)?;
        let (mut count, mut level) = (1i32, 0);
        // A wrong program may fill the list for ever.
        while count > 0 && level < nodes as i32 {
            level += 1;
            job.write(counter, &[0i32])?;
            let args = Args::new().ptr(starts).ptr(targets).ptr(lists[0]).i32(count).ptr(marks).i32(level);
            job.launch(
                "bfs_drain",
                (count as u32).div_ceil(BFS_BLOCK),
                BFS_BLOCK,
                args.ptr(lists[1]).ptr(counter),
            )?;
            count = job.download::<i32>(counter, 1)?[0].min(nodes as i32);
            lists.swap(0, 1);
        }
        let found: Vec<i32> = job.download(marks, nodes)?;
        job.finish()?;

        let mut queue = VecDeque::from([0usize]);
        while let Some(node) = queue.pop_front() {
            let level = levels[node] + 1;
            for target in &graph.targets[graph.edges(node)] {
                let target = *target as usize;
                if levels[target] < 0 {
                    levels[target] = level;
                    queue.push_back(target);
                }
            }
        }
        let want_level = levels.iter().max().copied().unwrap_or(0) + 1;
        Ok(Check::exact().output("levels", &levels, &found).output("rounds", &[want_level], &[level]))
    }
}

impl Workload for Sssp {
    fn info(&self) -> &'static Info {
        &SSSP
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let graph = Graph::map(SIDE.at(size) as usize, seed);
        let nodes = graph.starts.len() - 1;
        let mut distances = vec![NEVER; nodes];
        // Four rows of four.
        let side = SIDE.at(size) as usize;
        let along = |at: usize| (2 * at + 1) * side / 8;
        let sources: Vec<usize> = (0..16).map(|at| along(at / 4) * side + along(at % 4)).collect();
        sources.iter().for_each(|source| distances[*source] = 0);

        let mut job = Job::new(dev, &SSSP, ptx)?;
        let starts = job.upload("starts", &graph.starts)?;
        let targets = job.upload("targets", &graph.targets)?;
        let lengths = job.upload("lengths", &graph.lengths)?;
        let marks = job.upload("distances", &distances)?;
        let flag = job.zeros::<i32>("changed", 1)?;
        let mut changed = true;
        let mut rounds = 0;
        while changed && rounds < nodes {
            rounds += 1;
            job.write(flag, &[0i32])?;
            let args =
                Args::new().ptr(starts).ptr(targets).ptr(lengths).ptr(marks).i32(nodes as i32).ptr(flag);
            job.launch("sssp_relax", (nodes as u32).div_ceil(SSSP_BLOCK), SSSP_BLOCK, args)?;
            changed = job.download::<i32>(flag, 1)?[0] != 0;
        }
        let found: Vec<u32> = job.download(marks, nodes)?;
        job.finish()?;

        let mut heap: BinaryHeap<_> = sources.into_iter().map(|source| Reverse((0, source))).collect();
        while let Some(Reverse((distance, node))) = heap.pop() {
            if distance > distances[node] {
                continue;
            }
            for edge in graph.edges(node) {
                let (target, through) = (graph.targets[edge] as usize, distance + graph.lengths[edge]);
                if through < distances[target] {
                    distances[target] = through;
                    heap.push(Reverse((through, target)));
                }
            }
        }
        Ok(Check::exact().output("distances", &distances, &found))
    }
}

struct Graph {
    starts: Vec<i32>,
    targets: Vec<i32>,
    lengths: Vec<u32>,
}

impl Graph {
    /// Undirected edges, each as two of both directions with its length.
    fn new(nodes: usize, roads: &[(usize, usize, u32)]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for &(one, other, _) in roads {
            starts[one + 1] += 1;
            starts[other + 1] += 1;
        }
        (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
        let mut ends = starts.clone();
        let (mut targets, mut lengths) = (vec![0; 2 * roads.len()], vec![0; 2 * roads.len()]);
        for &(one, other, length) in roads {
            for (from, to) in [(one, other), (other, one)] {
                let at = ends[from] as usize;
                (targets[at], lengths[at]) = (to as i32, length);
                ends[from] += 1;
            }
        }
        Graph { starts, targets, lengths }
    }

    fn edges(&self, node: usize) -> std::ops::Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    /// Undirected edges from every node to ten drawn so that low numbers come often.
    fn with_hubs(nodes: usize, seed: u64) -> Self {
        let draws = Rng::new(seed).floats(10 * nodes, 0.0, 1.0);
        let other = |draw: &f32| ((draw * draw * draw * nodes as f32) as i32 as usize).min(nodes - 1);
        let roads = draws.iter().enumerate().map(|(at, draw)| (at / 10, other(draw), 1));
        Graph::new(nodes, &roads.collect::<Vec<_>>())
    }

    /// Crossings on a grid, with roads of both directions.
    fn map(side: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut roads = Vec::with_capacity(2 * side * side);
        for node in 0..side * side {
            let right = (node % side + 1 < side).then_some(node + 1);
            let below = (node / side + 1 < side).then_some(node + side);
            for other in [right, below].into_iter().flatten() {
                let length = rng.int(1, 101) as u32;
                if rng.below(10) > 0 {
                    roads.push((node, other, length));
                }
            }
        }
        Graph::new(side * side, &roads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_have_many_edges_and_crossings_at_most_four() {
        let degrees = |graph: &Graph| -> Vec<usize> {
            (0..graph.starts.len() - 1).map(|node| graph.edges(node).len()).collect()
        };
        let hubs = degrees(&Graph::with_hubs(2000, 1));
        let mean = hubs.iter().sum::<usize>() / hubs.len();
        assert!(hubs.iter().max().copied() > Some(20 * mean), "{mean}");
        assert!(degrees(&Graph::map(30, 1)).iter().all(|degree| *degree <= 4));
    }
}
