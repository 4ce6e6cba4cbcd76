// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breadth-first search with one launch a level, after BFS of Bakhoda et al. (ISPASS 2009), which is Harish and Narayanan's.

use crate::bfs::{Graph, reference};
use crate::check::Check;
use crate::job::Job;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const NODES: Dim = Dim::new("nodes", [4_001, 65_536, 262_144, 1_900_001]);

static INFO: Info = Info {
    name: "bfs_ispass",
    about: "search, one launch a level",
    domain: "graphs",
    suite: "ISPASS",
    program: "BFS",
    kernels: &[Kernel::after("bfs_level", "Kernel", [256, 1, 1], "once a level")],
    missing: &[],
    order_dependent: true,
    data: Data::Integer,
    dims: &[NODES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a thread a node in blocks of 256, a launch a level (Bakhoda et al., Table I: 256 blocks, 65536 nodes, ours at small). The original marks the frontier in an array and lets threads of one launch see each other's marks; ours compares distances with the level, so that results do not depend on the order",
    values_from: "random graph of six edges a node in the mean, the degree of the original's input",
    generator: 3,
    source: include_str!("../cuda/bfs_ispass.cu"),
    ptx: include_str!("../ptx/bfs_ispass.ptx"),
};

pub struct BfsIspass;

impl Workload for BfsIspass {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = NODES.at(size);
        let graph = Graph::random(n, seed);
        let spans: Vec<i32> = graph.spans.iter().flatten().copied().collect();
        let mut start = vec![-1; n as usize];
        start[graph.root] = 0;

        let mut job = Job::new(dev, &INFO, ptx)?;
        let nodes = job.upload("nodes", &spans)?;
        let edges = job.upload("edges", &graph.edges)?;
        let distance = job.upload("distance", &start)?;
        let again = job.zeros::<i32>("again", 1)?;
        // A search has fewer levels than nodes, even if the kernel never says that it is done.
        for level in 0..n as i32 {
            job.write(again, &[0i32])?;
            let args = Args::new().ptr(nodes).ptr(edges).ptr(distance).ptr(again).i32(level).i32(n as i32);
            job.launch("bfs_level", n.div_ceil(BLOCK), BLOCK, args)?;
            if job.download::<i32>(again, 1)? == [0] {
                break;
            }
        }
        let found = job.download(distance, n as usize)?;
        job.finish()?;
        Ok(Check::exact().output("distance", &reference(&graph), &found))
    }
}
