// SPDX-License-Identifier: MIT OR Apache-2.0
//! Odd cycles of a graph of at most 64 registers, whose neighbours are words with a bit each: most steps are made at the ends of the longest paths, and
//! there a word tells all registers that close a cycle. `colour::odd_cycles` finds the same ones by looking at neighbours one by one.

use super::Edge;
use super::colour::Cycles;

/// Registers that there is room for.
const ROOM: usize = 64;

/// A graph whose registers are numbered in ascending order.
pub struct Sets {
    count: usize,
    /// By number: the set of its neighbours, and how many these are.
    neighbours: [u64; ROOM],
    degrees: [u32; ROOM],
    /// By the numbers of two that share an edge: the number of that.
    edges: Box<[[u16; ROOM]; ROOM]>,
}

/// The members of a set, lowest first.
fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (first < ROOM).then_some(first)
    })
}

/// All numbers above one.
fn above(number: usize) -> u64 {
    !1 << number
}

impl Sets {
    /// The sets of a graph whose edges are numbered in their order; `None` if it has too many registers.
    pub fn new(edges: impl Iterator<Item = Edge> + Clone) -> Option<Sets> {
        let mut number_of = [u8::MAX; 256];
        edges.clone().for_each(|(one, other)| {
            (number_of[usize::from(one)], number_of[usize::from(other)]) = (0, 0);
        });
        let mut count = 0;
        for number in number_of.iter_mut().filter(|number| **number == 0) {
            *number = count as u8;
            count += 1;
        }
        if count > ROOM {
            return None;
        }
        let mut sets =
            Sets { count, neighbours: [0; ROOM], degrees: [0; ROOM], edges: Box::new([[0; ROOM]; ROOM]) };
        for (number, (one, other)) in (0..).zip(edges) {
            let ends = [one, other].map(|register| usize::from(number_of[usize::from(register)]));
            for [one, other] in [ends, [ends[1], ends[0]]] {
                sets.neighbours[one] |= 1 << other;
                sets.degrees[one] += 1;
                sets.edges[one][other] = number;
            }
        }
        Some(sets)
    }

    /// Simple cycles of odd length up to an odd longest, as `odd_cycles` finds them, by the numbers of their edges. Fails if it takes more steps, a step for
    /// each neighbour of the end of each path, or if `most` are found.
    pub fn odd_cycles(&self, longest: usize, most: usize, steps: u32) -> Result<Cycles, Bound> {
        let (path, edges) = ([0; ROOM], [0; ROOM]);
        let mut search = Search { sets: self, path, edges, found: Cycles::default(), longest, most, steps };
        for start in 0..self.count {
            search.path[0] = start;
            search.extend(1, 0)?;
        }
        Ok(search.found)
    }
}

/// Why a search ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Steps,
    Cycles,
}

struct Search<'a> {
    sets: &'a Sets,
    path: [usize; ROOM],
    /// Edges from each register of the path to the next.
    edges: [u16; ROOM],
    found: Cycles,
    longest: usize,
    most: usize,
    steps: u32,
}

impl Search<'_> {
    /// The first registers of the path, so many that there are `length` edges between them, are a cycle with a last edge.
    #[inline(always)]
    fn close(&mut self, length: usize, last: u16) -> Result<(), Bound> {
        self.found.push_path(&self.edges[..length % ROOM], last);
        if self.found.len() < self.most { Ok(()) } else { Err(Bound::Cycles) }
    }

    /// The path goes on to a neighbour of its end, behind so many registers.
    #[inline(always)]
    fn go_to(&mut self, length: usize, end: usize, next: usize) {
        self.path[length % ROOM] = next;
        self.edges[(length - 1) % ROOM] = self.sets.edges[end % ROOM][next % ROOM];
    }

    /// Looks at so many neighbours.
    #[inline(always)]
    fn step(&mut self, count: u32) -> Result<(), Bound> {
        self.steps = self.steps.checked_sub(count).ok_or(Bound::Steps)?;
        Ok(())
    }

    /// Goes on from the end of a path of so many registers, given the set of all but the first.
    fn extend(&mut self, length: usize, on_path: u64) -> Result<(), Bound> {
        let (start, end) = (self.path[0], self.path[(length - 1) % ROOM] % ROOM);
        let neighbours = self.sets.neighbours[end];
        self.step(self.sets.degrees[end])?;
        if length >= 3 && length % 2 == 1 && self.path[1] < end && neighbours >> start & 1 != 0 {
            self.close(length - 1, self.sets.edges[end][start % ROOM])?;
        }
        let next = neighbours & above(start) & !on_path;
        if length + 1 < self.longest {
            let mut left = next;
            while left != 0 {
                let one = left.trailing_zeros() as usize;
                self.go_to(length, end, one);
                self.extend(length + 1, on_path | left & left.wrapping_neg())?;
                left &= left - 1;
            }
            return Ok(());
        }
        // The longest paths: all that may happen is that one of them closes a cycle.
        self.step(members(next).map(|one| self.sets.degrees[one]).sum())?;
        let closing = next & self.sets.neighbours[start] & above(self.path[1]);
        members(closing).try_for_each(|one| {
            self.go_to(length, end, one);
            self.close(length, self.sets.edges[one % ROOM][start % ROOM])
        })
    }
}
