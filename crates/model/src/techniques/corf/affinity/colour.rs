// SPDX-License-Identifier: MIT OR Apache-2.0
//! Left and right (section 5.1): registers that are read together are to lie on different sides. A graph without odd cycles can be coloured so; from
//! others, edges are removed: each has its weight divided by the odd cycles that it is part of, the least goes first, and the rest is weighed anew.
//!
//! A graph may have very many odd cycles. So many are looked for at a time, short ones first, and if that was not all, more when those are broken.

use std::collections::BTreeMap;

use super::sets::{Bound, Sets};
use super::{Edge, Graph, edge};

/// Odd cycles that are looked for at a time, and steps that this takes at most.
const CYCLES: usize = 4096;
const STEPS: u32 = 100_000;
/// Cycles of all lengths are looked for once those that are shorter are found.
const TRIED: usize = 7;

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
                let numbered = Numbered::new(&rest);
                let (mut cycles, complete) = short_odd_cycles(&numbered);
                colouring.bounded |= !complete;
                if cycles.len() == 0 {
                    cycles.push(cycle.into_iter().map(|edge| numbered.number(edge)));
                }
                for edge in break_all(&numbered, &cycles) {
                    rest.remove(edge);
                    colouring.removed.push(edge);
                }
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

/// A graph whose edges have numbers, in ascending order.
pub struct Numbered {
    edges: Vec<(Edge, u64)>,
    /// By register: others that it shares an edge with, and the number of that.
    neighbours: BTreeMap<u8, Vec<(u8, u16)>>,
}

impl Numbered {
    pub fn new(graph: &Graph) -> Numbered {
        let mut neighbours: BTreeMap<u8, Vec<(u8, u16)>> = BTreeMap::new();
        for (number, ((one, other), _)) in (0..).zip(graph.edges()) {
            neighbours.entry(one).or_default().push((other, number));
            neighbours.entry(other).or_default().push((one, number));
        }
        Numbered { edges: graph.edges().collect(), neighbours }
    }

    fn number(&self, edge: Edge) -> u16 {
        self.edges.partition_point(|(other, _)| *other < edge) as u16
    }

    #[cfg(test)]
    pub fn edge(&self, number: u16) -> Edge {
        self.edges[usize::from(number)].0
    }
}

/// Cycles, each by the numbers of its edges.
#[derive(Default)]
pub struct Cycles {
    edges: Vec<u16>,
    ends: Vec<usize>,
}

impl Cycles {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn push(&mut self, edges: impl IntoIterator<Item = u16>) {
        self.edges.extend(edges);
        self.ends.push(self.edges.len());
    }

    /// Adds a cycle of some edges and a last one.
    #[inline(always)]
    pub fn push_path(&mut self, edges: &[u16], last: u16) {
        self.edges.extend_from_slice(edges);
        self.edges.push(last);
        self.ends.push(self.edges.len());
    }

    pub fn get(&self, cycle: usize) -> &[u16] {
        let start = if cycle == 0 { 0 } else { self.ends[cycle - 1] };
        &self.edges[start..self.ends[cycle]]
    }
}

/// The edges to be removed so that none of these cycles is left, in their order.
fn break_all(graph: &Numbered, cycles: &Cycles) -> Vec<Edge> {
    // By edge: the cycles that it is part of, and how many of these are left.
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); graph.edges.len()];
    for cycle in 0..cycles.len() {
        cycles.get(cycle).iter().for_each(|&edge| members[usize::from(edge)].push(cycle));
    }
    let mut counts: Vec<u64> = members.iter().map(|cycles| cycles.len() as u64).collect();
    let mut broken = vec![false; cycles.len()];
    let mut removed = Vec::new();
    loop {
        // Weight over cycles, compared as products; of equal edges, that of the higher registers goes.
        let costs = graph.edges.iter().zip(&counts).enumerate().filter(|(_, (_, count))| **count != 0);
        let costs = costs.map(|(edge, ((_, weight), &count))| (edge, u128::from(*weight), u128::from(count)));
        let least = costs.reduce(|least, other| {
            let ((_, w, c), (_, v, d)) = (least, other);
            if v * c <= w * d { other } else { least }
        });
        let Some((least, ..)) = least else { return removed };
        removed.push(graph.edges[least].0);
        for &cycle in &members[least] {
            if !std::mem::replace(&mut broken[cycle], true) {
                cycles.get(cycle).iter().for_each(|&edge| counts[usize::from(edge)] -= 1);
            }
        }
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
fn short_odd_cycles(graph: &Numbered) -> (Cycles, bool) {
    let mut found = Cycles::default();
    let sets = Sets::new(graph.edges.iter().map(|(edge, _)| *edge));
    // One more than are wanted, so that a search that ends at this bound tells that there are more.
    let by_sets = |longest: usize| match &sets {
        Some(sets) => sets.odd_cycles(longest, CYCLES + 1, STEPS),
        None => Err(Bound::Cycles),
    };
    let lengths = (3..=graph.neighbours.len().max(3)).step_by(2);
    for longest in lengths.clone() {
        // Longer cycles take no fewer steps: if those of any length are within the bounds, all shorter ones are. Mostly they are not if there are many
        // that are short, which takes less to find out.
        if longest == TRIED
            && let Some(Ok(all)) = lengths.clone().last().map(by_sets)
            && all.len() < CYCLES
        {
            return (all, true);
        }
        match by_sets(longest) {
            Ok(cycles) if cycles.len() < CYCLES => found = cycles,
            // More cycles, or more steps: that is so in any order of steps.
            Err(_) if sets.is_some() && found.len() != 0 => return (found, false),
            // Which ones are found before a bound is reached depends on the order of steps.
            _ => {
                let (cycles, complete) = odd_cycles(graph, longest, CYCLES, STEPS);
                if !complete {
                    return (if found.len() == 0 { cycles } else { found }, false);
                }
                found = cycles;
            }
        }
    }
    (found, true)
}

/// Simple cycles of odd length up to a longest, and whether these are all. Every cycle is found once: from its lowest register, in the direction of
/// the lower of that register's neighbours.
pub fn odd_cycles(graph: &Numbered, longest: usize, most: usize, steps: u32) -> (Cycles, bool) {
    let all = &graph.neighbours;
    let neighbours: [&[(u8, u16)]; 256] =
        std::array::from_fn(|register| all.get(&(register as u8)).map_or(&[][..], Vec::as_slice));
    let mut search = Search {
        neighbours,
        path: Vec::new(),
        edges: [0; 256],
        on_path: [false; 256],
        found: Cycles::default(),
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
    neighbours: [&'a [(u8, u16)]; 256],
    path: Vec<u8>,
    /// Edges from each register of the path to the next.
    edges: [u16; 256],
    /// Registers of the path but the first.
    on_path: [bool; 256],
    found: Cycles,
    longest: usize,
    most: usize,
    steps: u32,
}

impl Search<'_> {
    /// The path is a cycle with an edge from its end to its start.
    fn close(&mut self, last: u16) {
        let edges = &self.edges[..self.path.len() - 1];
        self.found.push(edges.iter().copied().chain([last]));
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
            if closes && let Some(&(_, last)) = neighbours.iter().find(|(next, _)| *next == start) {
                self.close(last);
            }
            return true;
        }
        for &(next, edge) in neighbours {
            if self.steps == 0 || self.found.len() >= self.most {
                return false;
            }
            self.steps -= 1;
            if next == start && closes {
                self.close(edge);
            }
            if next > start && self.path.len() < self.longest && !self.on_path[usize::from(next)] {
                self.edges[(self.path.len() - 1) % 256] = edge;
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
