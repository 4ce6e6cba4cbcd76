// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers whose last read is booked: they are released in the cycle after it, unless they have been written by then.
//!
//! Almost all of these cycles are near, so there is a list for each of the next 64; what lies farther ahead waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles, from the present on, that have lists.
const HORIZON: u64 = 64;

/// A register by slot and number, and which of its lives ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Death {
    pub index: u32,
    pub life: u32,
}

pub struct Deaths {
    now: u64,
    /// By cycle, modulo the horizon.
    near: Vec<Vec<Death>>,
    /// Which lists are not empty, a bit each.
    filled: u64,
    far: BinaryHeap<Reverse<(u64, Death)>>,
    /// First cycle of the heap.
    far_from: u64,
}

impl Default for Deaths {
    fn default() -> Deaths {
        Deaths {
            now: 0,
            near: vec![Vec::new(); HORIZON as usize],
            filled: 0,
            far: BinaryHeap::new(),
            far_from: u64::MAX,
        }
    }
}

impl Deaths {
    /// The present: everything up to it has been taken out.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A register dies in a cycle after the present.
    #[inline]
    pub fn push(&mut self, at: u64, death: Death) {
        if at - self.now < HORIZON {
            let place = at % HORIZON;
            self.near[place as usize].push(death);
            self.filled |= 1 << place;
        } else {
            self.far.push(Reverse((at, death)));
            self.far_from = self.far_from.min(at);
        }
    }

    /// Whether something dies up to a cycle, which is after the present. If not, it is the present from now on.
    #[inline]
    pub fn pass(&mut self, now: u64) -> bool {
        if self.due(now) != 0 || self.far_from <= now {
            return true;
        }
        self.now = now;
        false
    }

    /// Lists of the cycles after the present up to one, the first in the lowest bit.
    #[inline]
    fn due(&self, now: u64) -> u64 {
        let filled = self.filled.rotate_right(((self.now + 1) % HORIZON) as u32);
        let passed = now - self.now;
        if passed < HORIZON { filled & ((1 << passed) - 1) } else { filled }
    }

    /// Takes out what dies in the first cycle up to `now` in which something does, and puts it into an empty list; gives that cycle.
    pub fn next(&mut self, now: u64, list: &mut Vec<Death>) -> Option<u64> {
        let due = self.due(now);
        let near = (due != 0).then(|| self.now + 1 + u64::from(due.trailing_zeros()));
        let at = near.unwrap_or(u64::MAX).min(self.far_from);
        if at > now {
            self.now = now;
            return None;
        }
        if near == Some(at) {
            std::mem::swap(&mut self.near[(at % HORIZON) as usize], list);
            self.filled &= !(1 << (at % HORIZON));
        }
        while let Some(&Reverse((first, death))) = self.far.peek()
            && first == at
        {
            self.far.pop();
            list.push(death);
        }
        self.far_from = self.far.peek().map_or(u64::MAX, |Reverse((first, _))| *first);
        // Its own list is empty now, and what is pushed comes later.
        self.now = at;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn registers_die_in_their_cycles_and_in_order() {
        let mut random = SplitMix64::new(5);
        let (mut deaths, mut plain, mut list) = (Deaths::default(), BinaryHeap::new(), Vec::new());
        let mut now = 0;
        for index in 0..20_000 {
            now += random.next_u64() % 3 + if random.next_u64().is_multiple_of(499) { 200 } else { 0 };
            if now > deaths.now() && deaths.pass(now) {
                while let Some(at) = deaths.next(now, &mut list) {
                    list.sort_unstable();
                    for death in list.drain(..) {
                        assert_eq!(plain.pop(), Some(Reverse((at, death))));
                    }
                }
            }
            assert_eq!(deaths.now(), now);
            assert!(plain.peek().is_none_or(|Reverse((at, _))| *at > now), "nothing is left behind");
            let far = if random.next_u64().is_multiple_of(20) { 300 } else { 20 };
            let at = now + 1 + random.next_u64() % far;
            let death = Death { index, life: 0 };
            deaths.push(at, death);
            plain.push(Reverse((at, death)));
        }
    }
}
