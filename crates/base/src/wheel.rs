// SPDX-License-Identifier: MIT OR Apache-2.0
//! A timing wheel: events by cycle, with a bitmap that finds the next one and a heap for the far future.
//!
//! Events of one cycle come out in the order in which they went in. They are nodes of a slab, in one list for each slot of the wheel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;
const NONE: u32 = u32::MAX;

pub struct Wheel<T> {
    nodes: Vec<Node<T>>,
    /// First node that is not in use.
    unused: u32,
    /// First and last node of each slot.
    lists: Box<[(u32, u32); SLOTS]>,
    occupied: [u64; WORDS],
    /// All events of earlier cycles have been taken.
    now: u64,
    far: BinaryHeap<Reverse<Far<T>>>,
    sequence: u64,
}

#[derive(Clone, Copy)]
struct Node<T> {
    event: T,
    next: u32,
}

struct Far<T> {
    at: u64,
    sequence: u64,
    event: T,
}

impl<T> PartialEq for Far<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}

impl<T> Eq for Far<T> {}

impl<T> PartialOrd for Far<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Far<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<T: Copy> Default for Wheel<T> {
    fn default() -> Self {
        Wheel {
            nodes: Vec::new(),
            unused: NONE,
            lists: Box::new([(NONE, NONE); SLOTS]),
            occupied: [0; WORDS],
            now: 0,
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }
}

impl<T: Copy> Wheel<T> {
    /// An event for a cycle that is not before the latest one taken from.
    #[inline(always)]
    pub fn push(&mut self, at: u64, event: T) {
        debug_assert!(at >= self.now, "an event for cycle {at} at cycle {}", self.now);
        if at - self.now < SLOTS as u64 {
            self.put(at, event);
        } else {
            self.put_far(at, event);
        }
    }

    #[cold]
    fn put_far(&mut self, at: u64, event: T) {
        self.sequence += 1;
        self.far.push(Reverse(Far { at, sequence: self.sequence, event }));
    }

    #[inline(always)]
    fn put(&mut self, at: u64, event: T) {
        let node = self.unused;
        if node == NONE {
            return self.grow(at, event);
        }
        let slot = at as usize % SLOTS;
        let (first, last) = &mut self.lists[slot];
        // SAFETY: lists and the list of unused nodes hold nothing but indices of nodes and `NONE`.
        unsafe {
            let place = self.nodes.get_unchecked_mut(node as usize);
            self.unused = place.next;
            *place = Node { event, next: NONE };
            match *last {
                NONE => *first = node,
                before => self.nodes.get_unchecked_mut(before as usize).next = node,
            }
        }
        *last = node;
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    #[cold]
    fn grow(&mut self, at: u64, event: T) {
        self.unused = self.nodes.len() as u32;
        self.nodes.push(Node { event, next: NONE });
        self.put(at, event);
    }

    /// Takes the next event of a cycle. Cycles must not go back, and no cycle that has events may be left out.
    #[inline(always)]
    pub fn pop(&mut self, now: u64) -> Option<T> {
        if self.now != now {
            self.turn(now);
        }
        let slot = now as usize % SLOTS;
        let (first, last) = &mut self.lists[slot];
        let index = *first;
        if index == NONE {
            return None;
        }
        // SAFETY: as in `put`.
        let node = unsafe { self.nodes.get_unchecked_mut(index as usize) };
        *first = node.next;
        if node.next == NONE {
            *last = NONE;
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        node.next = self.unused;
        self.unused = index;
        Some(node.event)
    }

    /// Moves the present on, and what has come near from the heap to the wheel.
    #[inline(always)]
    fn turn(&mut self, now: u64) {
        debug_assert!(now > self.now && self.next().is_none_or(|next| next >= now));
        self.now = now;
        if !self.far.is_empty() {
            self.fetch();
        }
    }

    #[inline(never)]
    fn fetch(&mut self) {
        while let Some(Reverse(far)) = self.far.peek()
            && far.at - self.now < SLOTS as u64
        {
            let (at, event) = (far.at, far.event);
            self.far.pop();
            self.put(at, event);
        }
    }

    /// The cycle of the next event, if there is one.
    #[inline(always)]
    pub fn next(&self) -> Option<u64> {
        let start = self.now as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let first = self.occupied[word] >> bit;
        if first != 0 {
            return Some(self.now + u64::from(first.trailing_zeros()));
        }
        for step in 1..=WORDS {
            let index = (word + step) % WORDS;
            let mut bits = self.occupied[index];
            if step == WORDS {
                bits &= (1u64 << bit) - 1;
            }
            if bits != 0 {
                let distance = step * 64 - bit + bits.trailing_zeros() as usize;
                return Some(self.now + distance as u64);
            }
        }
        self.far.peek().map(|Reverse(far)| far.at)
    }

    pub fn is_empty(&self) -> bool {
        self.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn events_come_out_by_cycle_and_in_order_of_arrival() {
        let mut random = SplitMix64::new(3);
        let mut wheel = Wheel::default();
        let mut plain = BTreeMap::<u64, Vec<u32>>::new();
        let mut now = 0;
        for round in 0..100_000u32 {
            let far = [3, 40, 255, 256, 700, 5000][(random.next_u64() % 6) as usize];
            let at = now + 1 + random.next_u64() % far;
            wheel.push(at, round);
            plain.entry(at).or_default().push(round);
            if random.next_u64().is_multiple_of(2) {
                let next = wheel.next().expect("there is an event");
                assert_eq!(next, *plain.keys().next().expect("there is an event"));
                now = if random.next_u64().is_multiple_of(3) { next } else { (now + 1).min(next) };
                let mut taken = Vec::new();
                while let Some(event) = wheel.pop(now) {
                    taken.push(event);
                }
                assert_eq!(taken, plain.remove(&now).unwrap_or_default());
            }
        }
    }
}
