// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work distributor: dispatches blocks to SMs, one SM after the other, as long as warps, threads, registers, shared memory and block
//! slots are left. The next kernel's blocks follow when all blocks of the one before have been dispatched.

use std::collections::VecDeque;

use warpwatt_config::Config;

use crate::report::{BlockSpan, Launch};
use crate::sm::{Kernel, Start, Work};

/// Free resources of an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Room {
    warps: u32,
    threads: u32,
    ctas: u32,
    registers: u32,
    shared_bytes: u32,
}

impl Room {
    /// Resources of one block of a kernel.
    fn of(kernel: &Kernel) -> Room {
        let prepared = &kernel.prepared;
        Room {
            warps: prepared.warps_per_cta(),
            threads: prepared.threads_per_cta(),
            ctas: 1,
            registers: prepared.registers_per_cta(),
            shared_bytes: prepared.shared_bytes().next_multiple_of(128),
        }
    }

    fn holds(&self, need: &Room) -> bool {
        // Most often there are no block slots left.
        self.ctas >= need.ctas
            && self.warps >= need.warps
            && self.threads >= need.threads
            && self.registers >= need.registers
            && self.shared_bytes >= need.shared_bytes
    }

    fn take(&mut self, need: &Room) {
        self.warps -= need.warps;
        self.threads -= need.threads;
        self.ctas -= need.ctas;
        self.registers -= need.registers;
        self.shared_bytes -= need.shared_bytes;
    }

    fn give_back(&mut self, need: &Room) {
        self.warps += need.warps;
        self.threads += need.threads;
        self.ctas += need.ctas;
        self.registers += need.registers;
        self.shared_bytes += need.shared_bytes;
    }
}

/// State of a kernel of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// A kernel that it waits for has not ended, it is too early, or too many kernels run.
    Queued,
    /// Launched, or ready for launch, in cycle `at`; blocks may be dispatched from cycle `from` on.
    Launched {
        at: u64,
        from: u64,
    },
    Ended {
        at: u64,
        end: u64,
    },
}

pub struct Queue {
    pub standing: Standing,
    /// When its first block could be dispatched.
    dispatched: u64,
    earliest: u64,
    after: Vec<(usize, u64)>,
    need: Room,
    /// It runs with the division of the on-chip memory that prefers L1.
    large_l1: bool,
    /// Blocks that an SM may hold, if a technique limits them.
    most: Option<u32>,
    /// By SM: blocks that it holds, as far as the distributor knows.
    held: Vec<u32>,
    /// By SM: it has got a block.
    pub took: Vec<bool>,
    pub ctas: u64,
    pub given: u64,
    pub done: u64,
    last_end: u64,
    /// Where its blocks were, by their number, which is the order in which they are dispatched; empty unless that is noted.
    pub spans: Vec<BlockSpan>,
}

/// The end of a block: the cycle from which on the distributor knows of it, the SM and the kernel, from the highest bits to the lowest, so that the host
/// compares ends in two instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End(u128);

impl End {
    #[inline(always)]
    fn new(known: u64, sm: usize, kernel: u32) -> End {
        End(u128::from(known) << 64 | (sm as u128) << 32 | u128::from(kernel))
    }

    #[inline(always)]
    fn known(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline(always)]
    fn sm(self) -> usize {
        (self.0 as u64 >> 32) as usize
    }

    #[inline(always)]
    fn kernel(self) -> usize {
        self.0 as u32 as usize
    }
}

pub struct Dispatcher {
    /// Blocks are noted.
    notes: bool,
    rooms: Vec<Room>,
    /// Shared memory of an SM by default, and in the division that prefers L1; which of them is in use.
    shared_bytes: [u32; 2],
    large_l1: bool,
    pub kernels: Vec<Queue>,
    /// Ends of blocks that the distributor does not know of yet, in order.
    ends: VecDeque<End>,
    /// The kernel for whose next block no SM had room when that was last looked for, unless a block has left since.
    full: Option<usize>,
    /// When the next kernel may be launched that waits for nothing but time.
    due: u64,
    last_sm: usize,
    /// When the next block can be dispatched.
    free_at: u64,
    launch_cycles: u64,
    gap_cycles: u64,
    start_cycles: u64,
    done_cycles: u64,
    interval: u64,
    concurrent: usize,
}

impl Dispatcher {
    pub fn new(config: &Config, kernels: &[Kernel], launches: &[Launch], notes: bool) -> Dispatcher {
        let sm = &config.sm;
        let room = Room {
            warps: sm.warps,
            threads: sm.threads,
            ctas: sm.ctas,
            registers: sm.registers,
            shared_bytes: config.shared.bytes,
        };
        let queues = kernels.iter().zip(launches).map(|(kernel, launch)| Queue {
            standing: Standing::Queued,
            dispatched: 0,
            earliest: launch.earliest,
            after: launch.after.clone(),
            need: Room::of(kernel),
            large_l1: kernel.large_l1,
            most: kernel.most,
            held: vec![0; config.gpu.sms as usize],
            took: vec![false; config.gpu.sms as usize],
            ctas: kernel.prepared.ctas(),
            given: 0,
            done: 0,
            last_end: 0,
            spans: Vec::new(),
        });
        Dispatcher {
            notes,
            rooms: vec![room; config.gpu.sms as usize],
            shared_bytes: [false, true].map(|large| config.shared_bytes(large)),
            large_l1: false,
            kernels: queues.collect(),
            ends: VecDeque::new(),
            full: None,
            due: u64::MAX,
            last_sm: config.gpu.sms as usize - 1,
            free_at: 0,
            launch_cycles: config.gpu.kernel_launch_cycles.into(),
            gap_cycles: config.gpu.kernel_gap_cycles.min(config.gpu.kernel_launch_cycles).into(),
            start_cycles: config.gpu.cta_launch_cycles.into(),
            done_cycles: config.gpu.cta_done_cycles.into(),
            interval: config.gpu.cta_interval.into(),
            concurrent: config.gpu.concurrent_kernels as usize,
        }
    }

    /// Launches kernels whose turn comes before `until`; at `now` at the earliest, but for those that waited for others. Gives their
    /// indices.
    pub fn launch(&mut self, now: u64, until: u64) -> Vec<usize> {
        let is_running = |queue: &&Queue| matches!(queue.standing, Standing::Launched { .. });
        let mut running = self.kernels.iter().filter(is_running).count();
        let mut launched = Vec::new();
        self.due = u64::MAX;
        for i in 0..self.kernels.len() {
            if self.kernels[i].standing != Standing::Queued || running >= self.concurrent {
                continue;
            }
            let Some(turn) = self.turn(i) else { continue };
            if turn >= until {
                self.due = self.due.min(turn);
                continue;
            }
            if self.kernels[i].large_l1 != self.large_l1 {
                // The on-chip memory is divided anew only when no kernel runs.
                if running != 0 {
                    continue;
                }
                self.divide(self.kernels[i].large_l1);
            }
            let at = if self.kernels[i].after.is_empty() { turn.max(now) } else { turn };
            let from = self.first_dispatch(i, at);
            self.kernels[i].dispatched = from;
            self.kernels[i].standing = Standing::Launched { at, from };
            launched.push(i);
            running += 1;
        }
        if running >= self.concurrent {
            self.due = u64::MAX;
        }
        launched
    }

    /// Divides the on-chip memory of all SMs, which hold no blocks. The distributor then knows of all blocks that have ended.
    fn divide(&mut self, large_l1: bool) {
        for end in std::mem::take(&mut self.ends) {
            let queue = &mut self.kernels[end.kernel()];
            queue.held[end.sm()] -= 1;
            self.rooms[end.sm()].give_back(&queue.need);
        }
        self.large_l1 = large_l1;
        self.full = None;
        for room in &mut self.rooms {
            room.shared_bytes = self.shared_bytes[usize::from(large_l1)];
        }
    }

    /// When a kernel may be launched; `None` as long as a kernel that it waits for has not ended.
    fn turn(&self, kernel: usize) -> Option<u64> {
        let queue = &self.kernels[kernel];
        queue.after.iter().try_fold(queue.earliest, |turn, &(other, cycles)| {
            match self.kernels[other].standing {
                Standing::Ended { end, .. } => Some(turn.max(end + cycles)),
                _ => None,
            }
        })
    }

    /// When the first block of a kernel can be dispatched whose turn comes at `at`. One that waited for others of the run was launched while
    /// they ran, and not sooner after them than launches follow each other.
    fn first_dispatch(&self, kernel: usize, at: u64) -> u64 {
        let behind = self.kernels[kernel].after.iter().map(|&(other, _)| self.kernels[other].dispatched);
        match behind.max() {
            None => at + self.launch_cycles,
            Some(dispatched) => (at + self.gap_cycles).max(dispatched + self.launch_cycles),
        }
    }

    /// Whether time alone lets a kernel be launched before `until`.
    pub fn is_due(&self, until: u64) -> bool {
        self.due < until
    }

    /// Notes the blocks that ended in an epoch, on SMs that ran in it. Gives the kernels that ended with them.
    pub fn collect(&mut self, works: &mut [Work], ran: &[usize]) -> Vec<usize> {
        let mut ended = Vec::new();
        let mut last = self.ends.back().copied();
        let mut in_order = true;
        for &sm in ran {
            for block in works[sm].finished.drain(..) {
                let end = End::new(block.cycle + self.done_cycles, sm, block.kernel);
                in_order &= last <= Some(end);
                last = Some(end);
                self.ends.push_back(end);
                let queue = &mut self.kernels[block.kernel as usize];
                queue.done += 1;
                if let Some(span) = queue.spans.get_mut(block.cta as usize) {
                    span.end_cycle = Some(block.cycle + 1);
                }
                queue.last_end = queue.last_end.max(block.cycle + 1);
                if queue.done == queue.ctas {
                    ended.push(block.kernel as usize);
                }
            }
        }
        if !in_order {
            self.ends.make_contiguous().sort_unstable();
        }
        ended.sort_unstable();
        for &kernel in &ended {
            let queue = &mut self.kernels[kernel];
            if let Standing::Launched { at, .. } = queue.standing {
                queue.standing = Standing::Ended { at, end: queue.last_end };
            }
        }
        ended
    }

    /// Dispatches blocks for as long as that happens before `until`, and notes when they wake their SMs.
    pub fn dispatch(&mut self, from: u64, until: u64, works: &mut [Work], wakes: &mut [u64]) {
        let mut now = from;
        loop {
            while let Some(&end) = self.ends.front()
                && end.known() <= now
            {
                self.ends.pop_front();
                self.full = None;
                let queue = &mut self.kernels[end.kernel()];
                queue.held[end.sm()] -= 1;
                self.rooms[end.sm()].give_back(&queue.need);
            }
            let at = now.max(self.free_at);
            match self.place(at) {
                Some(_) if at >= until => return,
                Some((kernel, sm)) => {
                    let queue = &mut self.kernels[kernel];
                    let start =
                        Start { cycle: at + self.start_cycles, kernel: kernel as u32, cta: queue.given };
                    if self.notes {
                        queue.spans.push(BlockSpan {
                            block: queue.given,
                            sm: sm as u32,
                            start_cycle: start.cycle,
                            end_cycle: None,
                        });
                    }
                    queue.given += 1;
                    queue.held[sm] += 1;
                    queue.took[sm] = true;
                    self.rooms[sm].take(&queue.need);
                    self.last_sm = sm;
                    self.free_at = at + self.interval;
                    wakes[sm] = wakes[sm].min(start.cycle);
                    works[sm].starts.push_back(start);
                }
                None => match self.next_change(now) {
                    next if next < until => now = next,
                    _ => return,
                },
            }
        }
    }

    /// The kernel whose block is next, and the SM that takes it.
    fn place(&mut self, at: u64) -> Option<(usize, usize)> {
        let kernel = self.kernels.iter().position(|queue| {
            matches!(queue.standing, Standing::Launched { from, .. } if from <= at)
                && queue.given < queue.ctas
        })?;
        if self.full == Some(kernel) {
            return None;
        }
        let Queue { need, most, held, .. } = &self.kernels[kernel];
        let may = |sm: usize| most.is_none_or(|most| held[sm] < most) && self.rooms[sm].holds(need);
        let mut sm = self.last_sm;
        for _ in 0..self.rooms.len() {
            sm = if sm + 1 < self.rooms.len() { sm + 1 } else { 0 };
            if may(sm) {
                return Some((kernel, sm));
            }
        }
        self.full = Some(kernel);
        None
    }

    /// When something happens after `now` that may let a block be dispatched.
    fn next_change(&self, now: u64) -> u64 {
        let end = self.ends.front().map_or(u64::MAX, |end| end.known());
        let starts = self.kernels.iter().filter_map(|queue| match queue.standing {
            Standing::Launched { from, .. } if from > now && queue.given < queue.ctas => Some(from),
            _ => None,
        });
        starts.min().unwrap_or(u64::MAX).min(end.max(now + 1))
    }

    /// The next cycle in which the distributor has something to do.
    pub fn next(&mut self, now: u64) -> u64 {
        let next = match self.place(now.max(self.free_at)) {
            Some(_) => now.max(self.free_at),
            None => self.next_change(now),
        };
        next.min(self.due.max(now))
    }

    pub fn is_done(&self) -> bool {
        self.kernels.iter().all(|queue| matches!(queue.standing, Standing::Ended { .. }))
    }
}
