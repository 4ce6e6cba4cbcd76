// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers whose last read is booked: they are released in the cycle after it, unless they have been written by then.
//!
//! Almost all of these cycles are near, so there is a list for each of the next 64, with room for as many registers as usually die in one; all
//! others wait in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles, from the present on, that have lists.
const HORIZON: u64 = 64;
/// Registers that a list has room for.
const ROOM: usize = 16;

/// A register of a warp, and which of its lives ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Death {
    /// By slot and register, as the table has it.
    pub index: u16,
    pub life: u16,
}

pub struct Deaths {
    now: u64,
    /// The first cycle in which one dies.
    first: u64,
    /// By cycle, modulo the horizon: those that die in it, and how many these are.
    near: Box<[[Death; ROOM]; HORIZON as usize]>,
    counts: [u8; HORIZON as usize],
    /// Which lists are not empty, a bit each.
    filled: u64,
    far: BinaryHeap<Reverse<(u64, Death)>>,
}

impl Default for Deaths {
    fn default() -> Deaths {
        Deaths {
            now: 0,
            first: u64::MAX,
            near: Box::new([[Death::default(); ROOM]; HORIZON as usize]),
            counts: [0; HORIZON as usize],
            filled: 0,
            far: BinaryHeap::new(),
        }
    }
}

impl Deaths {
    /// The present.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A register dies in a cycle after the present. Nothing is due.
    #[inline(always)]
    pub fn push(&mut self, at: u64, death: Death) {
        self.first = self.first.min(at);
        // What is in the lists dies after the present and before the horizon, so that no two cycles share a list.
        if at - self.now < HORIZON && self.push_near(at, death) {
            self.filled |= 1 << (at % HORIZON);
        } else {
            self.push_far(at, death);
        }
    }

    /// Adds a register to the list of a cycle; false if there is no room.
    #[inline(always)]
    fn push_near(&mut self, at: u64, death: Death) -> bool {
        let list = (at % HORIZON) as usize;
        let count = usize::from(self.counts[list]);
        let has_room = count < ROOM;
        if has_room {
            self.near[list][count] = death;
            self.counts[list] = count as u8 + 1;
        }
        has_room
    }

    #[cold]
    fn push_far(&mut self, at: u64, death: Death) {
        self.far.push(Reverse((at, death)));
    }

    /// Moves the present on. Tells whether something dies by then, all of which is to be taken out.
    #[inline(always)]
    pub fn pass(&mut self, now: u64) -> bool {
        self.now = now;
        self.first <= now
    }

    /// The first cycle up to the present in which registers die that are not taken out yet, and how many there are in its list. They are to be looked at
    /// one by one before the next call, which takes them for done.
    #[inline(always)]
    pub fn next(&mut self) -> Option<(u64, usize)> {
        let at = self.first;
        if at > self.now {
            return None;
        }
        self.filled &= !(1 << (at % HORIZON));
        let filled = self.filled.rotate_right(at as u32);
        self.first = if filled == 0 { u64::MAX } else { at + u64::from(filled.trailing_zeros()) };
        if !self.far.is_empty() {
            self.take_far(at);
        }
        let count = &mut self.counts[(at % HORIZON) as usize];
        Some((at, usize::from(std::mem::take(count))))
    }

    /// A register of the list of a cycle that [`Deaths::next`] gave.
    #[inline(always)]
    pub fn of(&self, at: u64, number: usize) -> Death {
        self.near[(at % HORIZON) as usize][number % ROOM]
    }

    /// Adds those of the heap that die in a cycle to its list, as far as there is room.
    #[cold]
    fn take_far(&mut self, at: u64) {
        while let Some(&Reverse((first, death))) = self.far.peek()
            && first == at
            && self.push_near(at, death)
        {
            self.far.pop();
        }
        if let Some(&Reverse((first, _))) = self.far.peek() {
            self.first = self.first.min(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn registers_die_in_their_cycles_and_in_order() {
        let mut random = SplitMix64::new(5);
        let (mut deaths, mut plain) = (Deaths::default(), Vec::new());
        let mut now = 0;
        for life in 0..20_000 {
            now += random.next_u64() % 3 + if random.next_u64().is_multiple_of(499) { 200 } else { 0 };
            if deaths.pass(now) {
                let mut before = 0;
                while let Some((at, count)) = deaths.next() {
                    assert!(before <= at && at <= now);
                    before = at;
                    for death in (0..count).map(|number| deaths.of(at, number)) {
                        let found = plain.iter().position(|other| *other == (at, death));
                        plain.swap_remove(found.expect("it dies in this cycle, once"));
                    }
                }
            }
            assert_eq!(deaths.now(), now);
            assert!(plain.iter().all(|(at, _)| *at > now), "nothing is left behind");
            let far = if random.next_u64().is_multiple_of(20) { 300 } else { 20 };
            // Now and then more than a list has room for.
            let count = if random.next_u64().is_multiple_of(50) { 40 } else { 1 };
            let at = now + 1 + random.next_u64() % far;
            for register in 0..count {
                let death = Death { index: register, life };
                deaths.push(at, death);
                plain.push((at, death));
            }
        }
    }
}
