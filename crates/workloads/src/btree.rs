// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries to a database that is indexed by a B+ tree, after Rodinia's b+tree.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const ORDER: usize = 256;
const RECORDS: Dim = Dim::new("records", [40_000, 50_000, 60_000, 60_000]);
const QUERIES: Dim = Dim::new("queries", [6, 360, 1_500, 10_000]);

static INFO: Info = Info {
    name: "btree",
    about: "queries a B+ tree",
    domain: "databases",
    suite: "Rodinia",
    program: "b+tree",
    kernels: &[
        Kernel::after("btree_find", "findK", [256, 1, 1], "once"),
        Kernel::after("btree_range", "findRangeK", [256, 1, 1], "once"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[RECORDS, QUERIES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a block of 256 threads a query, as many as a node has keys, and a loop over the levels of the tree; Rodinia has a million records, and 10 000 queries of one key and 6000 of ranges",
    values_from: "distinct keys below ten times the number of records; queries of keys that are there, ranges of up to 1000 records, as Rodinia's commands draw them",
    generator: 3,
    source: include_str!("../cuda/btree.cu"),
    ptx: include_str!("../ptx/btree.ptx"),
};

pub struct Btree;

impl Workload for Btree {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (records, queries) = (RECORDS.at(size) as usize, QUERIES.at(size) as usize);
        let mut rng = Rng::new(seed);
        let mut last = 0;
        let sorted: Vec<i32> = (0..records)
            .map(|_| {
                last += rng.int(1, 20);
                last
            })
            .collect();
        let tree = Tree::new(&sorted);
        let picks: Vec<usize> = (0..queries).map(|_| rng.below(records as u32) as usize).collect();
        let spans: Vec<usize> =
            picks.iter().map(|first| (first + rng.below(1000) as usize).min(records - 1)).collect();
        let keys_at = |records: &[usize]| -> Vec<i32> { records.iter().map(|at| sorted[*at]).collect() };

        let mut job = Job::new(dev, &INFO, ptx)?;
        let keys = job.upload("keys", &tree.keys)?;
        let children = job.upload("children", &tree.children)?;
        let starts = job.upload("starts", &keys_at(&picks))?;
        let ends = job.upload("ends", &keys_at(&spans))?;
        let answers = job.zeros::<i32>("answers", queries)?;
        let firsts = job.zeros::<i32>("firsts", queries)?;
        let lengths = job.zeros::<i32>("lengths", queries)?;
        let args = || Args::new().ptr(keys).ptr(children).i32(tree.height);
        job.launch("btree_find", queries as u32, ORDER as u32, args().ptr(ends).ptr(answers))?;
        let args = args().ptr(starts).ptr(ends).ptr(firsts).ptr(lengths);
        job.launch("btree_range", queries as u32, ORDER as u32, args)?;
        let answers: Vec<i32> = job.download(answers, queries)?;
        let firsts: Vec<i32> = job.download(firsts, queries)?;
        let lengths: Vec<i32> = job.download(lengths, queries)?;
        job.finish()?;

        let numbers = |records: &[usize]| -> Vec<i32> { records.iter().map(|at| *at as i32).collect() };
        let spanned: Vec<i32> = picks.iter().zip(&spans).map(|(from, to)| (to - from) as i32 + 1).collect();
        Ok(Check::exact()
            .output("answers", &numbers(&spans), &answers)
            .output("firsts", &numbers(&picks), &firsts)
            .output("lengths", &spanned, &lengths))
    }
}

struct Tree {
    /// The keys of each node, with one more that is larger than all.
    keys: Vec<i32>,
    /// Children of each node, records of a leaf.
    children: Vec<i32>,
    /// Levels above the leaves.
    height: i32,
}

impl Tree {
    /// Leaves are three quarters full, as insertion leaves them. The root is node 0, and nodes of a level follow each other.
    fn new(sorted: &[i32]) -> Self {
        let fill = ORDER * 3 / 4;
        // From the leaves up: the least key and the number of each child, by node.
        let mut levels: Vec<Vec<Vec<(i32, i32)>>> = Vec::new();
        let mut entries: Vec<(i32, i32)> = sorted.iter().copied().zip(0..).collect();
        loop {
            let nodes: Vec<Vec<(i32, i32)>> = entries.chunks(fill).map(<[_]>::to_vec).collect();
            let count = nodes.len();
            entries = nodes.iter().map(|node| node[0].0).zip(0..).collect();
            levels.push(nodes);
            if count == 1 {
                break;
            }
        }
        let mut tree = Tree { keys: Vec::new(), children: Vec::new(), height: levels.len() as i32 - 1 };
        let mut first = 0;
        for (depth, level) in levels.iter().rev().enumerate() {
            first += level.len() as i32;
            let leaf = depth + 1 == levels.len();
            for node in level {
                let mut keys = vec![i32::MAX; ORDER + 1];
                let mut children = vec![0; ORDER];
                for (at, (key, child)) in node.iter().enumerate() {
                    keys[at] = *key;
                    children[at] = if leaf { *child } else { first + child };
                }
                tree.keys.append(&mut keys);
                tree.children.append(&mut children);
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_leads_to_its_record() {
        let sorted: Vec<i32> = (0..500).map(|at| 3 * at + 7).collect();
        let tree = Tree::new(&sorted);
        assert_eq!(tree.height, 1);
        for (record, key) in sorted.iter().enumerate() {
            let mut node = 0;
            for level in 0..=tree.height {
                let keys = &tree.keys[node * (ORDER + 1)..][..=ORDER];
                let at = (0..ORDER).find(|at| keys[*at] <= *key && *key < keys[at + 1]).expect("a child");
                let child = tree.children[node * ORDER + at];
                if level == tree.height {
                    assert_eq!(child, record as i32);
                }
                node = child as usize;
            }
        }
    }
}
