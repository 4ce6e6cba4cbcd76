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
        (0..self.count).try_for_each(|start| search.go_from(start))?;
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

    /// Follows all paths from a register. Not by recursion, which would keep and fetch all of its state for each register.
    fn go_from(&mut self, start: usize) -> Result<(), Bound> {
        let sets = self.sets;
        let (above_start, of_start) = (above(start % ROOM), sets.neighbours[start % ROOM]);
        // By length of the path: registers that it is still to go on to from there.
        let mut left = [0u64; ROOM];
        // The registers of the path but the first, how many it has, and the last of them.
        let (mut on_path, mut length, mut end) = (0u64, 1, start % ROOM);
        self.path[0] = start;
        // Registers that close a cycle at the end of the path: neighbours of the first, above the second.
        let mut closing = 0;
        loop {
            self.step(sets.degrees[end])?;
            if length % 2 == 1 && closing >> end & 1 != 0 {
                self.close(length - 1, sets.edges[end][start % ROOM])?;
            }
            let next = sets.neighbours[end] & above_start & !on_path;
            if length + 1 < self.longest {
                left[length % ROOM] = next;
            } else {
                // The longest paths: all that may happen is that one of them closes a cycle.
                left[length % ROOM] = 0;
                self.step(members(next).map(|one| sets.degrees[one]).sum())?;
                members(next & of_start & above(self.path[1])).try_for_each(|one| {
                    self.go_to(length, end, one);
                    self.close(length, sets.edges[one % ROOM][start % ROOM])
                })?;
            }
            while left[length % ROOM] == 0 {
                if length == 1 {
                    return Ok(());
                }
                on_path &= !(1 << end);
                length -= 1;
                end = self.path[(length - 1) % ROOM] % ROOM;
            }
            let one = left[length % ROOM].trailing_zeros() as usize % ROOM;
            left[length % ROOM] &= left[length % ROOM] - 1;
            self.go_to(length, end, one);
            if length == 1 {
                closing = of_start & above(one);
            }
            on_path |= 1 << one;
            length += 1;
            end = one;
        }
    }
}
