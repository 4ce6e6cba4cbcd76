// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register affinity graph (CORF, section 4.2): which registers are read by the same instructions, and how often.

mod colour;
mod pairs;
mod sets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use colour::{Colouring, colour};
pub use pairs::exclusive_pairs;

/// Two registers, the lower number first.
pub type Edge = (u8, u8);

/// Weights of edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    edges: BTreeMap<Edge, u64>,
}

impl Graph {
    /// Two registers are read together some more times.
    pub fn add(&mut self, one: u8, other: u8, times: u64) {
        if one != other && times != 0 {
            let weight = self.edges.entry(edge(one, other)).or_default();
            *weight = weight.saturating_add(times);
        }
    }

    /// Edges with their weights, lower registers first.
    pub fn edges(&self) -> impl Iterator<Item = (Edge, u64)> {
        self.edges.iter().map(|(&edge, &weight)| (edge, weight))
    }

    fn remove(&mut self, edge: Edge) {
        self.edges.remove(&edge);
    }

    /// Registers that share an edge with another, by register.
    fn neighbours(&self) -> BTreeMap<u8, Vec<u8>> {
        let mut neighbours: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        for &(one, other) in self.edges.keys() {
            neighbours.entry(one).or_default().push(other);
            neighbours.entry(other).or_default().push(one);
        }
        neighbours
    }
}

pub fn edge(one: u8, other: u8) -> Edge {
    (one.min(other), one.max(other))
}
