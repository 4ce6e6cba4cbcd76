// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matches of short reads with a genome by a suffix tree in textures, after Rodinia's mummergpu.

use crate::check::Check;
use crate::job::{BYTE, Job, UINT4};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
/// The shortest match that is of interest.
const LEAST: usize = 10;
const BASES: Dim = Dim::new("bases", [300, 10_000, 30_000, 60_000]);
const READS: Dim = Dim::new("reads", [70, 2_560, 7_680, 57_600]);
// Bases of a read.
const LENGTH: Dim = Dim::new("length", [20, 25, 25, 25]);

static INFO: Info = Info {
    name: "mummergpu",
    about: "matches reads to a genome",
    domain: "bioinformatics",
    suite: "Rodinia",
    program: "mummergpu",
    kernels: &[Kernel::after("mummer_match", "mummergpuKernel", [256, 1, 1], "once")],
    missing: &["printKernel, which expands matches into all places of the genome"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[BASES, READS, LENGTH],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a read a thread in blocks of 256, the tree and the genome in textures, as Rodinia's; its tree has suffix links, ours is walked from the root for every place of a read",
    values_from: "a random genome with repeats; reads of 25 bases, most of them from the genome with errors in one base of 50",
    generator: 3,
    source: include_str!("../cuda/mummergpu.cu"),
    ptx: include_str!("../ptx/mummergpu.ptx"),
};

pub struct Mummergpu;

impl Workload for Mummergpu {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (count, length) = (READS.at(size) as usize, LENGTH.at(size) as usize);
        let mut rng = Rng::new(seed);
        let tree = Tree::new(genome(BASES.at(size) as usize, &mut rng));
        let reads: Vec<u8> = (0..count).flat_map(|_| read(&tree.genome, length, &mut rng)).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let nodes = tree.children.len();
        let children = job.upload("children", &tree.children.concat())?;
        let edges: Vec<u32> = tree.edges.iter().flat_map(|edge| [edge[0], edge[1], 0, 0]).collect();
        let edges = job.upload("edges", &edges)?;
        let genome = job.upload("genome", &tree.genome)?;
        let args = Args::new()
            .u64(job.linear_texture(children, 16 * nodes, UINT4))
            .u64(job.linear_texture(edges, 16 * nodes, UINT4))
            .u64(job.linear_texture(genome, tree.genome.len(), BYTE))
            .ptr(job.upload("reads", &reads)?)
            .i32(count as i32)
            .i32(length as i32)
            .i32(LEAST as i32);
        let matched = job.zeros::<i32>("matched", count * length)?;
        let places = job.zeros::<i32>("places", count * length)?;
        job.launch("mummer_match", (count as u32).div_ceil(BLOCK), BLOCK, args.ptr(matched).ptr(places))?;
        let found: Vec<i32> = job.download(matched, count * length)?;
        let found_places: Vec<i32> = job.download(places, count * length)?;
        job.finish()?;

        let (mut want, mut want_places) = (vec![0; count * length], vec![0; count * length]);
        for (at, read) in reads.chunks_exact(length).enumerate() {
            for first in 0..=length - LEAST {
                let (matched, place) = tree.longest(&read[first..]);
                want[at * length + first] = matched as i32;
                want_places[at * length + first] = place as i32 - matched as i32;
            }
        }
        Ok(Check::exact().output("matched", &want, &found).output("places", &want_places, &found_places))
    }
}

/// Bases 0 to 3, with stretches that come again.
fn genome(bases: usize, rng: &mut Rng) -> Vec<u8> {
    let mut genome: Vec<u8> = (0..bases / 2).map(|_| rng.below(4) as u8).collect();
    while genome.len() < bases {
        let stretch = (20 + rng.below(60) as usize).min(bases - genome.len());
        match rng.below(4) {
            0 => {
                let from = rng.below((genome.len() - stretch) as u32) as usize;
                genome.extend_from_within(from..from + stretch);
            }
            _ => genome.extend((0..stretch).map(|_| rng.below(4) as u8)),
        }
    }
    genome
}

/// A part of the genome with an error now and then; one in eight is from elsewhere.
fn read(genome: &[u8], length: usize, rng: &mut Rng) -> Vec<u8> {
    if rng.below(8) == 0 {
        return (0..length).map(|_| rng.below(4) as u8).collect();
    }
    let from = rng.below((genome.len() - length) as u32) as usize;
    genome[from..from + length]
        .iter()
        .map(|base| if rng.below(50) == 0 { rng.below(4) as u8 } else { *base })
        .collect()
}

/// A suffix tree. Node 0 is the root, and no child of any.
struct Tree {
    genome: Vec<u8>,
    children: Vec<[u32; 4]>,
    /// The part of the genome on the edge to each node.
    edges: Vec<[u32; 2]>,
}

impl Tree {
    /// Puts in one suffix after the other.
    fn new(genome: Vec<u8>) -> Self {
        let mut tree = Tree { genome, children: vec![[0; 4]], edges: vec![[0, 0]] };
        let end = tree.genome.len();
        for suffix in 0..end {
            let (mut node, mut at) = (0, suffix);
            while at < end {
                let base = tree.genome[at] as usize;
                let child = tree.children[node][base] as usize;
                if child == 0 {
                    tree.children[node][base] = tree.leaf(at as u32, end as u32);
                    break;
                }
                let [from, to] = tree.edges[child];
                let same = (from as usize..to as usize).zip(at..end);
                let same = same.take_while(|(a, b)| tree.genome[*a] == tree.genome[*b]).count();
                at += same;
                let middle = from + same as u32;
                if middle == to {
                    node = child;
                    continue;
                }
                // The edge is divided where the suffix leaves it, or ends.
                let split = tree.leaf(from, middle);
                tree.children[split as usize][tree.genome[middle as usize] as usize] = child as u32;
                tree.edges[child][0] = middle;
                tree.children[node][base] = split;
                node = split as usize;
            }
        }
        tree
    }

    fn leaf(&mut self, from: u32, to: u32) -> u32 {
        self.children.push([0; 4]);
        self.edges.push([from, to]);
        self.edges.len() as u32 - 1
    }

    /// How many bases match from the root on, and where the match ends in the genome.
    fn longest(&self, bases: &[u8]) -> (usize, u32) {
        let (mut node, mut at, mut place) = (0, 0, 0);
        while at < bases.len() {
            node = self.children[node][bases[at] as usize] as usize;
            if node == 0 {
                break;
            }
            let [mut from, to] = self.edges[node];
            while from < to && at < bases.len() && self.genome[from as usize] == bases[at] {
                from += 1;
                at += 1;
            }
            place = from;
            if from < to {
                break;
            }
        }
        (at, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_finds_the_longest_match_that_there_is() {
        let mut rng = Rng::new(2);
        let tree = Tree::new(genome(400, &mut rng));
        for _ in 0..200 {
            let bases = read(&tree.genome, 20, &mut rng);
            let (matched, end) = tree.longest(&bases);
            let brute = |length: usize| tree.genome.windows(length).any(|part| part == &bases[..length]);
            assert!(brute(matched) && (matched == 20 || !brute(matched + 1)), "{matched}");
            assert_eq!(tree.genome[end as usize - matched..end as usize], bases[..matched]);
        }
    }
}
