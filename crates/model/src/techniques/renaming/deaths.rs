// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers whose last read is booked: they are released in the cycle after it, unless they have been written by then.
//!
//! Almost all of these cycles are near, so there is a list for each of the next 64; what lies farther ahead waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles, from the present on, that have lists.
const HORIZON: u64 = 64;

/// A register of a warp, and which of its lives ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Death {
    pub slot: u8,
    pub register: u8,
    pub life: u32,
}

pub struct Deaths {
    now: u64,
    /// By cycle, modulo the horizon.
    near: Box<[Vec<Death>; HORIZON as usize]>,
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
            near: Box::new([const { Vec::new() }; HORIZON as usize]),
            filled: 0,
            far: BinaryHeap::new(),
            far_from: u64::MAX,
        }
    }
}

impl Deaths {
    /// The present: everything up to it has been taken out.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A register dies in a cycle after the present.
    #[inline(always)]
    pub fn push(&mut self, at: u64, death: Death) {
        if at - self.now < HORIZON {
            self.near[(at % HORIZON) as usize].push(death);
            self.filled |= 1 << (at % HORIZON);
        } else {
            self.push_far(at, death);
        }
    }

    #[cold]
    fn push_far(&mut self, at: u64, death: Death) {
        self.far.push(Reverse((at, death)));
        self.far_from = self.far_from.min(at);
    }

    /// Whether something dies up to a cycle, which is after the present. If not, it is the present from now on.
    #[inline(always)]
    pub fn pass(&mut self, now: u64) -> bool {
        if self.due(now) != 0 || self.far_from <= now {
            return true;
        }
        self.now = now;
        false
    }

    /// Lists of the cycles after the present up to one, the first in the lowest bit.
    #[inline(always)]
    fn due(&self, now: u64) -> u64 {
        let filled = self.filled.rotate_right((self.now + 1) as u32);
        let passed = now - self.now;
        if passed < HORIZON { filled & ((1 << passed) - 1) } else { filled }
    }

    /// Takes out the registers that die in the first cycle up to `now` in which some do, with that cycle; without any, `now` is the present. The list is
    /// to be given back.
    #[inline(always)]
    pub fn next(&mut self, now: u64) -> Option<(u64, Vec<Death>)> {
        let due = self.due(now);
        let at = self.now + 1 + u64::from(due.trailing_zeros());
        if due == 0 || self.far_from <= at {
            return self.next_far(now, if due == 0 { u64::MAX } else { at });
        }
        Some((at, self.take(at)))
    }

    #[inline(always)]
    fn take(&mut self, at: u64) -> Vec<Death> {
        self.now = at;
        self.filled &= !(1 << (at % HORIZON));
        std::mem::take(&mut self.near[(at % HORIZON) as usize])
    }

    /// [`Deaths::next`] if the heap may have the first ones; `near` is the first cycle of the lists.
    #[inline(never)]
    fn next_far(&mut self, now: u64, near: u64) -> Option<(u64, Vec<Death>)> {
        let at = near.min(self.far_from);
        if at > now {
            self.now = now;
            return None;
        }
        let mut list = self.take(at);
        while let Some(&Reverse((first, death))) = self.far.peek()
            && first == at
        {
            self.far.pop();
            list.push(death);
        }
        self.far_from = self.far.peek().map_or(u64::MAX, |Reverse((first, _))| *first);
        Some((at, list))
    }

    /// Takes back the list of a cycle that is over, for its memory. Nothing has been pushed since.
    #[inline(always)]
    pub fn give_back(&mut self, at: u64, mut list: Vec<Death>) {
        list.clear();
        self.near[(at % HORIZON) as usize] = list;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn registers_die_in_their_cycles_and_in_order() {
        let mut random = SplitMix64::new(5);
        let (mut deaths, mut plain) = (Deaths::default(), BinaryHeap::new());
        let mut now = 0;
        for life in 0..20_000 {
            now += random.next_u64() % 3 + if random.next_u64().is_multiple_of(499) { 200 } else { 0 };
            if now > deaths.now() && deaths.pass(now) {
                while let Some((at, mut list)) = deaths.next(now) {
                    list.sort_unstable();
                    for &death in &list {
                        assert_eq!(plain.pop(), Some(Reverse((at, death))));
                    }
                    deaths.give_back(at, list);
                }
            }
            assert_eq!(deaths.now(), now);
            assert!(plain.peek().is_none_or(|Reverse((at, _))| *at > now), "nothing is left behind");
            let far = if random.next_u64().is_multiple_of(20) { 300 } else { 20 };
            let at = now + 1 + random.next_u64() % far;
            let death = Death { slot: 1, register: 2, life };
            deaths.push(at, death);
            plain.push(Reverse((at, death)));
        }
    }
}
