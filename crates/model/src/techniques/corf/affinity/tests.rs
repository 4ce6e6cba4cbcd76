// SPDX-License-Identifier: MIT OR Apache-2.0
//! The paper's examples, and the heuristic against an exact solver.

use std::collections::{BTreeMap, BTreeSet};

use super::colour::{Numbered, odd_cycles};
use super::sets::{Bound, Sets};
use super::*;

fn graph(edges: &[(u8, u8, u64)]) -> Graph {
    let mut graph = Graph::default();
    edges.iter().for_each(|&(one, other, weight)| graph.add(one, other, weight));
    graph
}

/// The weight of edges whose registers lie on the same side.
fn lost(graph: &Graph, left: &BTreeMap<u8, bool>) -> u64 {
    graph.edges().filter(|((one, other), _)| left[one] == left[other]).map(|(_, weight)| weight).sum()
}

/// The least weight that has to be given up, by trying all colourings.
fn least_lost(graph: &Graph) -> u64 {
    let registers: BTreeSet<u8> = graph.edges().flat_map(|((one, other), _)| [one, other]).collect();
    let all = 0..1u32 << registers.len().saturating_sub(1);
    let colour = |set: u32| registers.iter().enumerate().map(|(i, &r)| (r, set >> i & 1 != 0)).collect();
    all.map(|set| lost(graph, &colour(set))).min().unwrap_or(0)
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn random_graph(state: &mut u64, registers: u64, one_in: u64) -> Graph {
    let mut graph = Graph::default();
    for one in 0..registers {
        for other in one + 1..registers {
            if next(state).is_multiple_of(one_in) {
                graph.add(one as u8, other as u8, 1 + next(state) % 20);
            }
        }
    }
    graph
}

/// Figure 5. The weight of R2 and R4 is ours; the paper gives none.
#[test]
fn figure_5() {
    for weight in [1, 5, 9] {
        let graph = graph(&[(1, 2, 8), (1, 3, 10), (1, 4, 2), (2, 4, weight)]);
        assert_eq!(exclusive_pairs(&graph), [(1, 3), (2, 4)]);
    }
}

/// Figure 8: its edges follow from the odd cycles of the text. Weights are ours.
#[test]
fn figure_8_has_the_four_odd_cycles_of_the_text() {
    let edges = [(1, 2, 9), (1, 3, 7), (2, 3, 2), (3, 4, 6), (3, 6, 3), (4, 6, 8), (2, 5, 4), (5, 6, 5)];
    let graph = graph(&edges);
    let numbered = Numbered::new(&graph);
    let (cycles, complete) = odd_cycles(&numbered, 6, 100, 10_000);
    let ends = |&edge: &u16| <[u8; 2]>::from(numbered.edge(edge));
    let registers = |cycle: usize| -> BTreeSet<u8> { cycles.get(cycle).iter().flat_map(ends).collect() };
    let found: BTreeSet<BTreeSet<u8>> = (0..cycles.len()).map(registers).collect();
    let expected: [&[u8]; 4] = [&[1, 2, 3], &[3, 4, 6], &[2, 3, 4, 5, 6], &[1, 2, 3, 5, 6]];
    assert!(complete);
    assert_eq!(cycles.len(), 4);
    assert_eq!(found, expected.iter().map(|cycle| cycle.iter().copied().collect()).collect());
    // R2–R3 is part of two and weighs 2, which makes 1; R3–R6 is part of two and weighs 3. With both gone no odd cycle is left.
    let colouring = colour(&graph);
    assert_eq!(colouring.removed, [(2, 3), (3, 6)]);
    assert_eq!((lost(&graph, &colouring.left), least_lost(&graph)), (5, 5));
    assert!(!colouring.bounded);
}

/// Figure 12: what is read together there, once each.
#[test]
fn figure_12_colours() {
    let colouring = colour(&graph(&[(2, 3, 1), (4, 5, 1), (3, 4, 1)]));
    let sides: Vec<_> = colouring.left.into_iter().collect();
    assert_eq!(sides, [(2, false), (3, true), (4, false), (5, true)]);
    assert!(colouring.removed.is_empty());
    // CORF has one partner for each, so that R3 and R4 never coalesce.
    assert_eq!(exclusive_pairs(&graph(&[(2, 3, 1), (4, 5, 1), (3, 4, 1)])), [(2, 3), (4, 5)]);
}

#[test]
fn pairs_are_exclusive_and_nothing_is_left_to_pair() {
    let mut state = 1;
    for _ in 0..200 {
        let graph = random_graph(&mut state, 12, 3);
        let pairs = exclusive_pairs(&graph);
        let mut members = BTreeSet::new();
        assert!(pairs.iter().all(|&(one, other)| members.insert(one) && members.insert(other)));
        let both_alone = |(one, other): Edge| !members.contains(&one) && !members.contains(&other);
        assert!(!graph.edges().any(|(edge, _)| both_alone(edge)));
    }
}

/// Random graphs: the heuristic's colouring is legal, says what it gives up, and is not far from the best.
#[test]
fn the_heuristic_comes_close_to_the_exact_solver() {
    let mut state = 7;
    let (mut given_up, mut needed, mut exact) = (0, 0, 0);
    for _ in 0..150 {
        let graph = random_graph(&mut state, 9, 3);
        let colouring = colour(&graph);
        let weight = lost(&graph, &colouring.left);
        let removed: u64 = colouring.removed.iter().map(|edge| graph.edges[edge]).sum();
        let best = least_lost(&graph);
        assert_eq!(weight, removed);
        assert!(weight >= best);
        exact += u64::from(weight == best);
        (given_up, needed) = (given_up + weight, needed + best);
    }
    assert!(exact >= 100, "{exact} of 150 are the best");
    assert!(given_up * 10 <= needed * 12, "{given_up} is given up where {needed} would do");
}

#[test]
fn many_cycles_are_bounded_and_the_rest_is_coloured_all_the_same() {
    let mut graph = Graph::default();
    (0..32).for_each(|one| (one + 1..32).for_each(|other| graph.add(one, other, u64::from(one + other))));
    let colouring = colour(&graph);
    assert!(colouring.bounded);
    let total: u64 = graph.edges().map(|(_, weight)| weight).sum();
    assert!(2 * lost(&graph, &colouring.left) <= total, "at least half can always be kept");
}

#[test]
fn sets_give_the_cycles_that_are_found_one_by_one() {
    let mut state = 29;
    let mut ended = [0; 3];
    for round in 0..300 {
        let registers = 3 + next(&mut state) % 14;
        let graph = random_graph(&mut state, registers, 2 + round % 4);
        let numbered = Numbered::new(&graph);
        let edges: Vec<Edge> = graph.edges().map(|(edge, _)| edge).collect();
        let sets = Sets::new(edges.iter().copied()).expect("few registers");
        for longest in [3, 5, 7, 9] {
            let (most, steps) = (40, 3000);
            let (plain, complete) = odd_cycles(&numbered, longest, most, steps);
            match sets.odd_cycles(longest, most, steps) {
                Ok(cycles) => {
                    assert!(complete);
                    assert_eq!(cycles.len(), plain.len());
                    (0..plain.len()).for_each(|cycle| assert_eq!(cycles.get(cycle), plain.get(cycle)));
                    ended[0] += 1;
                }
                Err(Bound::Steps) => {
                    assert!(!complete);
                    ended[1] += 1;
                }
                Err(Bound::Cycles) => {
                    assert!(plain.len() >= most || !complete);
                    ended[2] += 1;
                }
            }
        }
    }
    assert!(ended.iter().all(|&count| count > 10), "{ended:?}");
}

#[test]
fn graphs_of_many_registers_have_no_sets() {
    let path = |registers: u8| (1..registers).map(|other| (other - 1, other));
    assert!(Sets::new(path(64)).is_some());
    assert!(Sets::new(path(65)).is_none());
}
