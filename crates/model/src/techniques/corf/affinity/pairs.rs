// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exclusive common pairs (section 4.2): of registers with more than one edge, the lightest edge is removed repeatedly until no register has more
//! than one; then edges are restored between registers that are left with none, the heaviest first. Of equal edges, that of the lower registers
//! is kept.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Edge, Graph};

pub fn exclusive_pairs(graph: &Graph) -> Vec<Edge> {
    let mut order: Vec<(u64, Reverse<Edge>)> =
        graph.edges().map(|(edge, weight)| (weight, Reverse(edge))).collect();
    order.sort_unstable();
    let mut degree: BTreeMap<u8, u32> = BTreeMap::new();
    for ((one, other), _) in graph.edges() {
        *degree.entry(one).or_default() += 1;
        *degree.entry(other).or_default() += 1;
    }
    // An edge that is kept once is kept for good, since degrees only fall: so one pass in the order of weights does.
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    for (_, Reverse((one, other))) in order {
        if degree[&one] > 1 || degree[&other] > 1 {
            *degree.entry(one).or_default() -= 1;
            *degree.entry(other).or_default() -= 1;
            removed.push((one, other));
        } else {
            kept.push((one, other));
        }
    }
    for (one, other) in removed.into_iter().rev() {
        if degree[&one] == 0 && degree[&other] == 0 {
            degree.insert(one, 1);
            degree.insert(other, 1);
            kept.push((one, other));
        }
    }
    kept.sort_unstable();
    kept
}
