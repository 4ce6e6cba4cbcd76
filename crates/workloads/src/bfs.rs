// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breadth-first search over a random graph, one pair of launches a level, after Rodinia's bfs.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const NODES: Dim = Dim::new("nodes", [2_503, 18_005, 125_003, 900_001]);

static INFO: Info = Info {
    name: "bfs",
    about: "breadth-first search",
    domain: "graphs",
    suite: "Rodinia",
    program: "bfs",
    kernels: &[
        Kernel::after("bfs_expand", "Kernel", [512, 1, 1], "once a level").but([256, 1, 1], "once a level"),
        Kernel::after("bfs_commit", "Kernel2", [512, 1, 1], "once a level").but([256, 1, 1], "once a level"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[NODES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a thread a node, a pair of launches a level; 256 threads a block instead of 512",
    values_from: "random graph of six edges a node in the mean, as Rodinia's generator makes it",
    generator: 3,
    source: include_str!("../cuda/bfs.cu"),
    ptx: include_str!("../ptx/bfs.ptx"),
};

pub struct Bfs;

impl Workload for Bfs {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = NODES.at(size);
        let graph = Graph::random(n, seed);
        let spans: Vec<i32> = graph.spans.iter().flatten().copied().collect();
        let mut flags = vec![0u8; n as usize];
        flags[graph.root] = 1;
        let mut costs = vec![-1; n as usize];
        costs[graph.root] = 0;

        let mut job = Job::new(dev, &INFO, ptx)?;
        let nodes = job.upload("nodes", &spans)?;
        let edges = job.upload("edges", &graph.edges)?;
        let frontier = job.upload("frontier", &flags)?;
        let updating = job.zeros::<u8>("updating", n as usize)?;
        let visited = job.upload("visited", &flags)?;
        let cost = job.upload("cost", &costs)?;
        let again = job.zeros::<i32>("again", 1)?;
        // A search has fewer levels than nodes, even if the kernels never say that they are done.
        for _ in 0..n {
            job.write(again, &[0i32])?;
            let args = Args::new()
                .ptr(nodes)
                .ptr(edges)
                .ptr(frontier)
                .ptr(updating)
                .ptr(visited)
                .ptr(cost)
                .i32(n as i32);
            job.launch("bfs_expand", n.div_ceil(BLOCK), BLOCK, args)?;
            let args = Args::new().ptr(frontier).ptr(updating).ptr(visited).ptr(again).i32(n as i32);
            job.launch("bfs_commit", n.div_ceil(BLOCK), BLOCK, args)?;
            if job.download::<i32>(again, 1)? == [0] {
                break;
            }
        }
        let costs = job.download(cost, n as usize)?;
        let seen: Vec<u8> = job.download(visited, n as usize)?;
        job.finish()?;

        let expected = reference(&graph);
        let reached: Vec<u8> = expected.iter().map(|cost| u8::from(*cost >= 0)).collect();
        Ok(Check::exact().output("costs", &expected, &costs).output("visited", &reached, &seen))
    }
}

pub(crate) struct Graph {
    /// First edge and number of edges of each node.
    pub spans: Vec<[i32; 2]>,
    pub edges: Vec<i32>,
    pub root: usize,
}

impl Graph {
    /// Each node is joined to two to four others in both directions: six edges a node in the mean.
    pub fn random(n: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut pairs = Vec::with_capacity(4 * n as usize);
        let mut spans = vec![[0, 0]; n as usize];
        for node in 0..n {
            for _ in 0..rng.int(2, 5) {
                let other = rng.below(n);
                pairs.push([node, other]);
                spans[node as usize][1] += 1;
                spans[other as usize][1] += 1;
            }
        }
        let mut next = 0;
        for [first, count] in &mut spans {
            *first = next;
            next += *count;
        }
        let mut ends: Vec<i32> = spans.iter().map(|span| span[0]).collect();
        let mut edges = vec![0; next as usize];
        for [node, other] in pairs {
            for (from, to) in [(node, other), (other, node)] {
                let end = &mut ends[from as usize];
                edges[*end as usize] = to as i32;
                *end += 1;
            }
        }
        Graph { spans, edges, root: rng.below(n) as usize }
    }

    fn neighbours(&self, node: usize) -> &[i32] {
        let [first, count] = self.spans[node];
        &self.edges[first as usize..][..count as usize]
    }
}

/// Edges on the shortest way from the root to each node, or -1.
pub(crate) fn reference(graph: &Graph) -> Vec<i32> {
    let mut cost = vec![-1; graph.spans.len()];
    cost[graph.root] = 0;
    let mut queue = std::collections::VecDeque::from([graph.root]);
    while let Some(node) = queue.pop_front() {
        for to in graph.neighbours(node) {
            if cost[*to as usize] < 0 {
                cost[*to as usize] = cost[node] + 1;
                queue.push_back(*to as usize);
            }
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_have_about_six_edges_a_node() {
        let graph = Graph::random(5_000, 1);
        let mean = graph.edges.len() as f64 / 5_000.0;
        assert!((5.8..6.2).contains(&mean), "{mean} edges a node");
    }

    #[test]
    fn reference_distances_are_those_of_relaxation() {
        let graph = Graph::random(300, 9);
        // Bellman-Ford with edges of length 1.
        let mut far = vec![i32::MAX / 2; 300];
        far[graph.root] = 0;
        for _ in 0..300 {
            for node in 0..300 {
                for to in graph.neighbours(node) {
                    far[*to as usize] = far[*to as usize].min(far[node] + 1);
                }
            }
        }
        let want: Vec<i32> = far.into_iter().map(|d| if d > 300 { -1 } else { d }).collect();
        assert_eq!(reference(&graph), want);
    }
}
