// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions in the load/store unit: a ring of places, in which those that have not started are one behind the other.
//!
//! A place is free again when the instruction has left the queue and the slot that works on it is done. With a single slot that is before the next one
//! leaves; with several, instructions that start move to places beside the ring, since they end in any order.

use std::ops::{Index, IndexMut};

use super::SLOTS;
use super::job::Entry;

pub struct Instructions {
    /// Places of the ring, a power of two of them, and behind them one for each slot.
    entries: Box<[Entry]>,
    /// One less than the ring has places.
    mask: u32,
    /// The place of the first instruction that has not started, and how many there are.
    first: u32,
    len: u32,
    /// Cycle in which the first of these has its operands.
    ready: u64,
}

impl Instructions {
    /// For so many that have not started, and one that has.
    pub fn new(most: u32) -> Instructions {
        let places = (most + 1).next_power_of_two();
        Instructions {
            entries: (0..places as usize + SLOTS).map(|_| Entry::default()).collect(),
            mask: places - 1,
            first: 0,
            len: 0,
            ready: u64::MAX,
        }
    }

    /// Where the next instruction goes, which is to be filled in before it is [pushed](Instructions::push).
    #[inline(always)]
    pub fn upcoming(&mut self) -> &mut Entry {
        let place = self.first.wrapping_add(self.len);
        self.in_ring_mut(place)
    }

    /// Queues the upcoming instruction, which has its operands in a cycle. Whether it is the only one.
    #[inline(always)]
    pub fn push(&mut self, ready: u64) -> bool {
        debug_assert!(self.len < self.mask);
        let is_first = self.len == 0;
        self.len += 1;
        if is_first {
            self.ready = ready;
        }
        is_first
    }

    /// Takes the first instruction from the queue, which must not be empty. It has its place until the next one is taken.
    #[inline(always)]
    pub fn pop(&mut self) -> u32 {
        debug_assert!(self.len != 0);
        let place = self.first & self.mask;
        self.first = (self.first + 1) & self.mask;
        self.len -= 1;
        self.ready = if self.len == 0 { u64::MAX } else { self.front().job.ready };
        place
    }

    /// [`Instructions::pop`] for one of several slots, whose instruction keeps its place for as long as it takes.
    pub fn pop_aside(&mut self, slot: usize) -> u32 {
        let (from, to) = (self.pop(), self.aside(slot));
        self.entries.swap(from as usize, to as usize);
        to
    }

    /// The place beside the ring with a number.
    pub fn aside(&self, slot: usize) -> u32 {
        self.mask + 1 + (slot % SLOTS) as u32
    }

    /// The first instruction of the queue, which must not be empty.
    #[inline(always)]
    pub fn front(&self) -> &Entry {
        self.in_ring(self.first)
    }

    #[inline(always)]
    pub fn front_mut(&mut self) -> &mut Entry {
        self.in_ring_mut(self.first)
    }

    /// Cycle in which the first instruction of the queue has its operands; `u64::MAX` if the queue is empty.
    #[inline(always)]
    pub fn ready(&self) -> u64 {
        self.ready
    }

    /// How many have not started.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Those that have not started.
    pub fn waiting(&self) -> impl Iterator<Item = &Entry> {
        (0..self.len).map(|after| self.in_ring(self.first + after))
    }

    #[inline(always)]
    fn in_ring(&self, place: u32) -> &Entry {
        // SAFETY: the ring has one place more than its mask says, and its size never changes.
        unsafe { self.entries.get_unchecked((place & self.mask) as usize) }
    }

    #[inline(always)]
    fn in_ring_mut(&mut self, place: u32) -> &mut Entry {
        // SAFETY: as above.
        unsafe { self.entries.get_unchecked_mut((place & self.mask) as usize) }
    }
}

impl Index<u32> for Instructions {
    type Output = Entry;

    #[inline(always)]
    fn index(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }
}

impl IndexMut<u32> for Instructions {
    #[inline(always)]
    fn index_mut(&mut self, place: u32) -> &mut Entry {
        &mut self.entries[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use warpwatt_base::SplitMix64;

    use super::super::job::Job;
    use super::*;

    /// With one slot, whose instruction stays in the ring, or with several.
    fn against_a_plain_queue(slots: usize) {
        let mut random = SplitMix64::new(11);
        let mut instructions = Instructions::new(9);
        let (mut queue, mut started) = (VecDeque::new(), vec![None; slots]);
        for token in 0..3000 {
            match random.below(3) {
                0 if queue.len() < 9 => {
                    let job = Job { token, ready: random.next_u64() >> 1, ..Job::default() };
                    instructions.upcoming().job = job;
                    assert_eq!(instructions.push(job.ready), queue.is_empty());
                    queue.push_back(job);
                }
                1 if let Some(slot) = started.iter().position(Option::is_none) => {
                    if let Some(job) = queue.pop_front() {
                        let place =
                            if slots == 1 { instructions.pop() } else { instructions.pop_aside(slot) };
                        started[slot] = Some((place, job));
                    }
                }
                // They end in any order.
                2 => started[random.below(slots as u32) as usize] = None,
                _ => {}
            }
            assert_eq!(instructions.ready(), queue.front().map_or(u64::MAX, |job| job.ready));
            assert_eq!((instructions.len(), instructions.is_empty()), (queue.len(), queue.is_empty()));
            assert!(instructions.waiting().map(|entry| entry.job).eq(queue.iter().copied()));
            assert!(started.iter().flatten().all(|(place, job)| instructions[*place].job == *job));
        }
    }

    #[test]
    fn instructions_start_in_the_order_of_a_plain_queue() {
        against_a_plain_queue(1);
        against_a_plain_queue(4);
    }
}
