// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions in the load/store unit: a place for each, and the order of those that have not started.
//!
//! There are few of them, so that lists of places are arrays of a fixed size, which the host needs no checks and no pointers for.

use std::ops::{Index, IndexMut};

use super::job::{Entry, Job};

/// More than instructions can be in the unit (`rf.collectors_mem` and `units.ldst`), a power of two.
const PLACES: usize = 128;

pub struct Instructions {
    /// By place. Places are made as they are needed, and used again.
    entries: Vec<Entry>,
    /// Places that are not in use.
    free: [u8; PLACES],
    free_len: usize,
    /// Places of instructions that have not started, in order, from the first one on and around the end.
    queue: [u8; PLACES],
    first: usize,
    len: usize,
    /// Cycle in which the first of these has its operands.
    ready: u64,
}

impl Instructions {
    pub fn new(most: usize) -> Instructions {
        debug_assert!(most <= PLACES);
        Instructions {
            entries: Vec::with_capacity(most),
            free: [0; PLACES],
            free_len: 0,
            queue: [0; PLACES],
            first: 0,
            len: 0,
            ready: u64::MAX,
        }
    }

    /// A place for an instruction. What is there is to be [reset](Entry::reset).
    #[inline(always)]
    pub fn place(&mut self, job: &Job) -> u32 {
        if self.free_len == 0 {
            return self.add_place(job);
        }
        self.free_len -= 1;
        u32::from(self.free[self.free_len % PLACES])
    }

    #[cold]
    #[inline(never)]
    fn add_place(&mut self, job: &Job) -> u32 {
        self.entries.push(Entry::new(*job));
        self.entries.len() as u32 - 1
    }

    /// All transactions of an instruction have been made.
    #[inline(always)]
    pub fn give_back(&mut self, place: u32) {
        self.free[self.free_len % PLACES] = place as u8;
        self.free_len += 1;
    }

    /// Queues an instruction, which has its operands in a cycle. Whether it is the only one.
    #[inline(always)]
    pub fn push(&mut self, place: u32, ready: u64) -> bool {
        debug_assert!(self.len < PLACES);
        self.queue[(self.first + self.len) % PLACES] = place as u8;
        self.len += 1;
        if self.len == 1 {
            self.ready = ready;
        }
        self.len == 1
    }

    /// Takes the first instruction from the queue, which must not be empty.
    #[inline(always)]
    pub fn pop(&mut self) -> u32 {
        debug_assert!(self.len != 0);
        let place = self.front();
        self.first = (self.first + 1) % PLACES;
        self.len -= 1;
        self.ready = if self.len == 0 { u64::MAX } else { self[self.front()].job.ready };
        place
    }

    /// The place of the first instruction of the queue, which must not be empty.
    #[inline(always)]
    pub fn front(&self) -> u32 {
        u32::from(self.queue[self.first % PLACES])
    }

    /// Cycle in which the first instruction of the queue has its operands; `u64::MAX` if the queue is empty.
    #[inline(always)]
    pub fn ready(&self) -> u64 {
        self.ready
    }

    /// How many have not started.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Those that have not started.
    pub fn waiting(&self) -> impl Iterator<Item = u32> {
        (0..self.len).map(|after| u32::from(self.queue[(self.first + after) % PLACES]))
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
    use warpwatt_isa::CacheOp;

    use super::super::job::JobKind;
    use super::*;

    fn job(token: u32, ready: u64) -> Job {
        Job {
            token,
            warp: 0,
            lanes: 32,
            kind: JobKind::Load,
            cache: CacheOp::Ca,
            ready,
            issued: 0,
            local_base: 0,
            shared_row: 0,
            kernel: 0,
        }
    }

    #[test]
    fn instructions_start_in_the_order_of_a_plain_queue() {
        let mut random = SplitMix64::new(11);
        let (mut instructions, mut queue, mut started) = (Instructions::new(68), VecDeque::new(), Vec::new());
        for token in 0..3000 {
            match random.below(3) {
                0 if queue.len() < 64 => {
                    let job = job(token, random.next_u64() >> 1);
                    let place = instructions.place(&job);
                    instructions[place].reset(&job);
                    assert_eq!(instructions.push(place, job.ready), queue.is_empty());
                    queue.push_back(job);
                }
                1 if started.len() < 4 => {
                    if let Some(job) = queue.pop_front() {
                        let place = instructions.pop();
                        assert_eq!(instructions[place].job, job);
                        started.push(place);
                    }
                }
                // They end in any order.
                2 if !started.is_empty() => {
                    let which = random.below(started.len() as u32) as usize;
                    instructions.give_back(started.swap_remove(which));
                }
                _ => {}
            }
            assert_eq!(instructions.ready(), queue.front().map_or(u64::MAX, |job| job.ready));
            assert_eq!((instructions.len(), instructions.is_empty()), (queue.len(), queue.is_empty()));
            let tokens = instructions.waiting().map(|place| instructions[place].job.token);
            assert!(tokens.eq(queue.iter().map(|job| job.token)));
        }
    }
}
