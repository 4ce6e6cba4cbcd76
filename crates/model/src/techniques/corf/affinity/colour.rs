// SPDX-License-Identifier: MIT OR Apache-2.0
//! Left and right (section 5.1): registers that are read together are to lie on different sides. A graph without odd cycles can be coloured so; from
//! others, edges are removed: each has its weight divided by the odd cycles that it is part of, the least goes first, and the rest is weighed anew.
//!
//! A graph may have very many odd cycles. So many are looked for at a time, short ones first, and if that was not all, more when those are broken.

use std::collections::BTreeMap;

use super::{Edge, Graph, edge};

/// Odd cycles that are looked for at a time, and steps that this takes at most.
const CYCLES: usize = 4096;
const STEPS: u32 = 100_000;

/// Sides of registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Colouring {
    /// By register that has an edge: whether it lies on the left.
    pub left: BTreeMap<u8, bool>,
    /// Edges whose registers lie on the same side.
    pub removed: Vec<Edge>,
    /// There were more odd cycles than are looked for at a time.
    pub bounded: bool,
}

/// Chooses sides.
pub fn colour(graph: &Graph) -> Colouring {
    let mut rest = graph.clone();
    let mut colouring = Colouring::default();
    loop {
        let left = match two_colours(&rest) {
            Ok(left) => left,
            Err(cycle) => {
                let (mut cycles, complete) = short_odd_cycles(&rest);
                colouring.bounded |= !complete;
                if cycles.is_empty() {
                    cycles.push(cycle);
                }
                break_all(&mut rest, cycles, &mut colouring.removed);
                continue;
            }
        };
        // An edge that was removed early may join two sides after all.
        colouring.removed.retain(|(one, other)| left.get(one) == left.get(other));
        colouring.left = graph
            .neighbours()
            .into_keys()
            .map(|register| (register, left.get(&register) == Some(&true)))
            .collect();
        return colouring;
    }
}

/// Removes edges until none of these cycles is left.
fn break_all(rest: &mut Graph, mut cycles: Vec<Vec<Edge>>, removed: &mut Vec<Edge>) {
    // Edges with the number of cycles that they are part of.
    let mut members: BTreeMap<Edge, u64> = BTreeMap::new();
    cycles.iter().flatten().for_each(|&edge| *members.entry(edge).or_default() += 1);
    while !cycles.is_empty() {
        // Weight over cycles, compared as products; of equal edges, that of the higher registers goes.
        let costs =
            members.iter().map(|(edge, &count)| (*edge, u128::from(rest.edges[edge]), u128::from(count)));
        let least = costs.reduce(|least, other| {
            let ((_, w, c), (_, v, d)) = (least, other);
            if v * c <= w * d { other } else { least }
        });
        let Some((least, ..)) = least else { return };
        rest.remove(least);
        removed.push(least);
        cycles.retain(|cycle| {
            let broken = cycle.contains(&least);
            for edge in cycle.iter().filter(|_| broken) {
                if let Some(count) = members.get_mut(edge) {
                    *count -= 1;
                }
            }
            !broken
        });
        members.retain(|_, count| *count > 0);
    }
}

/// Colours of registers, the lowest of each part of the graph on the right; an odd cycle if there is one.
fn two_colours(graph: &Graph) -> Result<BTreeMap<u8, bool>, Vec<Edge>> {
    let neighbours = graph.neighbours();
    let mut left: BTreeMap<u8, bool> = BTreeMap::new();
    let mut parent: BTreeMap<u8, u8> = BTreeMap::new();
    for &root in neighbours.keys() {
        if left.contains_key(&root) {
            continue;
        }
        left.insert(root, false);
        let mut queue = std::collections::VecDeque::from([root]);
        while let Some(one) = queue.pop_front() {
            for &other in &neighbours[&one] {
                match left.get(&other) {
                    None => {
                        left.insert(other, !left[&one]);
                        parent.insert(other, one);
                        queue.push_back(other);
                    }
                    Some(side) if *side == left[&one] => return Err(cycle_through(&parent, one, other)),
                    Some(_) => {}
                }
            }
        }
    }
    Ok(left)
}

/// The cycle that an edge closes in a tree.
fn cycle_through(parent: &BTreeMap<u8, u8>, one: u8, other: u8) -> Vec<Edge> {
    let path = |from: u8| std::iter::successors(Some(from), |at| parent.get(at).copied()).collect::<Vec<_>>();
    let (mut up, mut down) = (path(one), path(other));
    while up.len() > 1 && down.len() > 1 && up[up.len() - 2] == down[down.len() - 2] {
        up.pop();
        down.pop();
    }
    let steps = up.windows(2).chain(down.windows(2)).map(|step| edge(step[0], step[1]));
    steps.chain([edge(one, other)]).collect()
}

/// All odd cycles if there are not too many; otherwise the short ones, up to a length of which there are not.
fn short_odd_cycles(graph: &Graph) -> (Vec<Vec<Edge>>, bool) {
    let registers = graph.neighbours().len();
    let mut found = Vec::new();
    for longest in (3..=registers.max(3)).step_by(2) {
        let (cycles, complete) = odd_cycles(graph, longest, CYCLES, STEPS);
        if !complete {
            return (if found.is_empty() { cycles } else { found }, false);
        }
        found = cycles;
    }
    (found, true)
}

/// Simple cycles of odd length up to a longest, as their edges, and whether these are all. Every cycle is found once: from its lowest register, in the direction of
/// the lower of that register's neighbours.
pub fn odd_cycles(graph: &Graph, longest: usize, most: usize, steps: u32) -> (Vec<Vec<Edge>>, bool) {
    let all = graph.neighbours();
    let neighbours: [&[u8]; 256] =
        std::array::from_fn(|register| all.get(&(register as u8)).map_or(&[][..], Vec::as_slice));
    let mut search = Search {
        neighbours,
        path: Vec::new(),
        on_path: [false; 256],
        found: Vec::new(),
        longest,
        most,
        steps,
    };
    let complete = all.keys().all(|&start| {
        search.path = vec![start];
        search.extend()
    });
    (search.found, complete)
}

struct Search<'a> {
    /// By register.
    neighbours: [&'a [u8]; 256],
    path: Vec<u8>,
    /// Registers of the path but the first.
    on_path: [bool; 256],
    found: Vec<Vec<Edge>>,
    longest: usize,
    most: usize,
    steps: u32,
}

impl Search<'_> {
    /// The path is a cycle.
    fn close(&mut self) {
        let (start, end) = (self.path[0], self.path[self.path.len() - 1]);
        let steps = self.path.windows(2).map(|step| edge(step[0], step[1]));
        self.found.push(steps.chain([edge(end, start)]).collect());
    }

    /// Goes on from the end of the path. False if a bound was reached.
    fn extend(&mut self) -> bool {
        let (start, end) = (self.path[0], self.path[self.path.len() - 1]);
        let neighbours = self.neighbours[usize::from(end)];
        let closes = self.path.len() >= 3 && self.path.len() % 2 == 1 && self.path[1] < end;
        // At the end of the longest paths, where most steps are made, all that may happen is that one of them closes a cycle.
        if self.path.len() == self.longest
            && self.steps as usize >= neighbours.len()
            && self.found.len() + 1 < self.most
        {
            self.steps -= neighbours.len() as u32;
            if closes && neighbours.contains(&start) {
                self.close();
            }
            return true;
        }
        for &next in neighbours {
            if self.steps == 0 || self.found.len() >= self.most {
                return false;
            }
            self.steps -= 1;
            if next == start && closes {
                self.close();
            }
            if next > start && self.path.len() < self.longest && !self.on_path[usize::from(next)] {
                self.path.push(next);
                self.on_path[usize::from(next)] = true;
                if !self.extend() {
                    return false;
                }
                self.path.pop();
                self.on_path[usize::from(next)] = false;
            }
        }
        true
    }
}
