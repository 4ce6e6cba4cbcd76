// SPDX-License-Identifier: MIT OR Apache-2.0
//! A timing wheel: events by cycle, with a bitmap that finds the next one and a heap for the far future.
//!
//! Events of one cycle come out in the order in which they went in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;

pub struct Wheel<T> {
    slots: Vec<Slot<T>>,
    occupied: [u64; WORDS],
    /// All events of earlier cycles have been taken.
    now: u64,
    far: BinaryHeap<Reverse<Far<T>>>,
    sequence: u64,
}

struct Slot<T> {
    events: Vec<T>,
    /// Taken so far.
    head: usize,
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
            slots: (0..SLOTS).map(|_| Slot { events: Vec::new(), head: 0 }).collect(),
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
            self.sequence += 1;
            self.far.push(Reverse(Far { at, sequence: self.sequence, event }));
        }
    }

    #[inline(always)]
    fn put(&mut self, at: u64, event: T) {
        let slot = at as usize % SLOTS;
        self.slots[slot].events.push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Takes the next event of a cycle. Cycles must not go back, and no cycle that has events may be left out.
    #[inline(always)]
    pub fn pop(&mut self, now: u64) -> Option<T> {
        if self.now != now {
            self.turn(now);
        }
        let index = now as usize % SLOTS;
        if self.occupied[index / 64] >> (index % 64) & 1 == 0 {
            return None;
        }
        let slot = &mut self.slots[index];
        match slot.events.get(slot.head) {
            Some(&event) => {
                slot.head += 1;
                Some(event)
            }
            None => {
                slot.events.clear();
                slot.head = 0;
                self.occupied[index / 64] &= !(1 << (index % 64));
                None
            }
        }
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
