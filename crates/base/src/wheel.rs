// SPDX-License-Identifier: MIT OR Apache-2.0
//! A timing wheel: events by cycle, with a word of bits that finds the next one and a heap for the far future.
//!
//! Events of one cycle are returned together, in the order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 64;

/// Events of a cycle that lie side by side. It seldom has more.
pub const FEW: usize = 8;

/// The first events of a cycle.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Near<T>([T; FEW]);

pub struct Wheel<T> {
    /// Events of the next cycles, how many each has, and by slot those that did not fit there.
    slots: [Near<T>; SLOTS],
    counts: [u16; SLOTS],
    rest: Box<[Vec<T>; SLOTS]>,
    /// Bit i: slot i has events.
    occupied: u64,
    /// All events of earlier cycles have been taken.
    now: u64,
    far: BinaryHeap<Reverse<Far<T>>>,
    sequence: u64,
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

impl<T: Copy> Wheel<T> {
    /// An empty one. `filler` may be any event.
    pub fn new(filler: T) -> Self {
        Wheel {
            slots: [Near([filler; FEW]); SLOTS],
            counts: [0; SLOTS],
            rest: Box::new(std::array::from_fn(|_| Vec::new())),
            occupied: 0,
            now: 0,
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// An event for a cycle after the latest one taken.
    #[inline(always)]
    pub fn push(&mut self, at: u64, event: T) {
        debug_assert!(at >= self.now, "an event for cycle {at} at cycle {}", self.now);
        if at - self.now < SLOTS as u64 {
            self.put(at, event);
        } else {
            self.put_far(at, event);
        }
    }

    #[inline(always)]
    fn put(&mut self, at: u64, event: T) {
        let slot = at as usize % SLOTS;
        let count = usize::from(self.counts[slot]);
        self.counts[slot] += 1;
        self.occupied |= 1 << slot;
        match self.slots[slot].0.get_mut(count) {
            Some(place) => *place = event,
            None => self.put_behind(slot, event),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_behind(&mut self, slot: usize, event: T) {
        self.rest[slot].push(event);
    }

    #[cold]
    fn put_far(&mut self, at: u64, event: T) {
        self.sequence += 1;
        self.far.push(Reverse(Far { at, sequence: self.sequence, event }));
    }

    /// Comes to a cycle, and tells how many events it has, which it has no longer from now on: [`Wheel::first`] gives those up to [`FEW`], and
    /// [`Wheel::rest`] the others, which [`Wheel::clear_rest`] forgets. Cycles must not go back, none that has events may be left out, and none
    /// may be pushed for the present one.
    #[inline(always)]
    pub fn take(&mut self, now: u64) -> usize {
        self.turn(now);
        let slot = now as usize % SLOTS;
        let count = self.counts[slot];
        if count != 0 {
            self.counts[slot] = 0;
            self.occupied &= !(1 << slot);
        }
        usize::from(count)
    }

    /// The first events of the present cycle.
    #[inline(always)]
    pub fn first(&self, now: u64) -> [T; FEW] {
        debug_assert_eq!(now, self.now);
        self.slots[now as usize % SLOTS].0
    }

    /// Those events of the present cycle that did not fit beside the others, by number from [`FEW`] on.
    #[inline(always)]
    pub fn rest(&self, number: usize) -> T {
        self.rest[self.now as usize % SLOTS][number - FEW]
    }

    /// All of them have been seen to.
    #[inline(always)]
    pub fn clear_rest(&mut self) {
        self.rest[self.now as usize % SLOTS].clear();
    }

    /// Advances the current cycle, and moves events that are now near from the heap to the wheel.
    #[inline(always)]
    fn turn(&mut self, now: u64) {
        debug_assert!(now >= self.now && self.next().is_none_or(|next| next >= now));
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
        if self.occupied != 0 {
            let ahead = self.occupied.rotate_right(self.now as u32 % SLOTS as u32);
            return Some(self.now + u64::from(ahead.trailing_zeros()));
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
        let mut wheel = Wheel::new(0);
        let mut plain = BTreeMap::<u64, Vec<u32>>::new();
        let mut now = 0;
        for round in 0..100_000u32 {
            let far = [3, 40, 63, 64, 700, 5000][(random.next_u64() % 6) as usize];
            let at = now + 1 + random.next_u64() % far;
            for _ in 0..if random.next_u64().is_multiple_of(9) { 6 } else { 1 } {
                wheel.push(at, round);
                plain.entry(at).or_default().push(round);
            }
            if random.next_u64().is_multiple_of(2) {
                let next = wheel.next().expect("there is an event");
                assert_eq!(next, *plain.keys().next().expect("there is an event"));
                now = if random.next_u64().is_multiple_of(3) { next } else { (now + 1).min(next) };
                let mut taken = Vec::new();
                let count = wheel.take(now);
                if count != 0 {
                    taken.extend(&wheel.first(now)[..count.min(FEW)]);
                    taken.extend((FEW..count).map(|number| wheel.rest(number)));
                    wheel.clear_rest();
                }
                assert_eq!(taken, plain.remove(&now).unwrap_or_default());
            }
        }
    }
}
