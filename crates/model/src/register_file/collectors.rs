// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operand collectors: each gathers the operands of one instruction and is in use until that is dispatched. Every kind of unit has its own,
//! or one pool serves all of them, memory instructions included (`sm.rf.collectors_shared`).
//!
//! They are counted, a byte of a word for each kind: how many are in use, and by cycle how many of them are free again from then on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpwatt_config::Config;

use crate::sm::CollectorPool;

/// Cycles whose counts are kept one by one, from the present one on.
const NEAR: u64 = 64;
/// The highest bit of each count. There are 64 collectors of a kind at most.
const TOP: u32 = 0x8080_8080;

pub struct Collectors {
    /// Those in use, and what makes the highest bit of a count be set if all of them are.
    in_use: u32,
    slack: u32,
    /// By cycle after the present one: those that are free from then on.
    ends: [u32; NEAR as usize],
    /// Those in use for longer, and from when on the first of them is not.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    next_near: u64,
    /// One collector of each kind. Memory instructions have the memory unit's queue instead; with one pool for all, they are of the first kind.
    one: [u32; CollectorPool::COUNT],
}

impl Collectors {
    pub fn new(config: &Config) -> Collectors {
        let rf = &config.rf;
        let (counts, one) = match rf.collectors_shared {
            0 => {
                ([rf.collectors_sp, rf.collectors_sfu, rf.collectors_fp64, 1], [1, 1 << 8, 1 << 16, 1 << 24])
            }
            shared => ([shared, 1, 1, 1], [1; CollectorPool::COUNT]),
        };
        Collectors {
            in_use: 0,
            slack: u32::from_le_bytes(counts.map(|count| 0x80 - count as u8)),
            ends: [0; NEAR as usize],
            far: BinaryHeap::new(),
            next_near: u64::MAX,
            one,
        }
    }

    /// Whether memory instructions take a collector too.
    #[inline(always)]
    pub fn are_shared(&self) -> bool {
        self.one[CollectorPool::Memory as usize] == self.one[CollectorPool::Sp as usize]
    }

    /// A cycle begins; `before` was the latest one.
    #[inline(always)]
    pub fn advance(&mut self, before: u64, now: u64) {
        if self.in_use != 0 {
            self.end(now);
            if now - before > 1 {
                self.end_between(before + 1, now);
            }
            if self.next_near <= now {
                self.come_near(now);
            }
        }
    }

    /// Those are free that were in use until before a cycle.
    #[inline(always)]
    fn end(&mut self, cycle: u64) {
        self.in_use -= std::mem::take(&mut self.ends[(cycle % NEAR) as usize]);
    }

    /// [`Collectors::end`] for cycles that were left out.
    #[cold]
    #[inline(never)]
    fn end_between(&mut self, from: u64, now: u64) {
        for cycle in from..now.min(from + NEAR) {
            if self.in_use == 0 {
                break;
            }
            self.end(cycle);
        }
    }

    /// The present cycle has come near the end of those in use for long, or past it.
    #[cold]
    #[inline(never)]
    fn come_near(&mut self, now: u64) {
        while let Some(&Reverse((until, one))) = self.far.peek()
            && until < now + NEAR
        {
            self.far.pop();
            match until > now {
                true => self.ends[(until % NEAR) as usize] += one,
                false => self.in_use -= one,
            }
        }
        self.next_near = self.far.peek().map_or(u64::MAX, |&Reverse((until, _))| until - (NEAR - 1));
    }

    /// Whether all of a kind are in use.
    #[inline(always)]
    pub fn any_full(&self) -> bool {
        (self.in_use + self.slack) & TOP != 0
    }

    /// Kinds without a free collector, a bit for each.
    #[inline(always)]
    pub fn full(&self) -> u32 {
        if self.any_full() { self.kinds(self.in_use) } else { 0 }
    }

    /// The kinds of which all are in use.
    #[inline(always)]
    fn kinds(&self, in_use: u32) -> u32 {
        let full = (in_use + self.slack) & TOP;
        if self.are_shared() && full != 0 {
            return (1 << CollectorPool::COUNT) - 1;
        }
        // Each part of the factor moves one of the bits to the top.
        (full >> 7).wrapping_mul(1 << 28 | 1 << 21 | 1 << 14 | 1 << 7) >> 28
    }

    /// First cycle from `now` on, the present one, in which a collector of a kind is free, if no instruction issues.
    pub fn free_at(&self, pool: CollectorPool, now: u64) -> u64 {
        // The highest bit of the count of its kind, which is the first one for all if they share a pool.
        let (mut left, top) = (self.in_use + self.slack, self.one[pool as usize] << 7);
        let near = (now..now + NEAR).find(|cycle| {
            left -= self.ends[(cycle % NEAR) as usize];
            left & top == 0
        });
        let far = || self.far.iter().filter(|Reverse((_, one))| *one == self.one[pool as usize]);
        near.or_else(|| far().map(|&Reverse((until, _))| until).min()).unwrap_or(u64::MAX)
    }

    /// A collector is in use from now on until before a cycle.
    #[inline(always)]
    pub fn hold(&mut self, pool: CollectorPool, now: u64, until: u64) {
        debug_assert!(until > now && self.full() >> pool as u32 & 1 == 0);
        if until - now < NEAR {
            self.hold_briefly(pool, now, until);
        } else {
            self.hold_long(pool, until);
        }
    }

    /// [`Collectors::hold`] for less than [`NEAR`] cycles.
    #[inline(always)]
    pub fn hold_briefly(&mut self, pool: CollectorPool, now: u64, until: u64) {
        debug_assert!(until > now && until - now < NEAR);
        let one = self.one[pool as usize];
        self.in_use += one;
        self.ends[(until % NEAR) as usize] += one;
    }

    #[cold]
    #[inline(never)]
    fn hold_long(&mut self, pool: CollectorPool, until: u64) {
        let one = self.one[pool as usize];
        self.in_use += one;
        self.far.push(Reverse((until, one)));
        self.next_near = self.next_near.min(until - (NEAR - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    fn collectors(sp: u32, shared: u32) -> Collectors {
        let mut config = Config::default();
        (config.rf.collectors_sp, config.rf.collectors_shared) = (sp, shared);
        Collectors::new(&config)
    }

    #[test]
    fn counts_equal_those_of_a_list() {
        let mut random = SplitMix64::new(5);
        let mut collectors = collectors(3, 0);
        let mut plain: [Vec<u64>; 3] = Default::default();
        let counts = [3, Config::default().rf.collectors_sfu, Config::default().rf.collectors_fp64];
        let pools = [CollectorPool::Sp, CollectorPool::Sfu, CollectorPool::Fp64];
        let mut now = 0;
        for _ in 0..200_000 {
            let before = now;
            now += [0, 1, 1, 1, 2, 7, 63, 64, 65, 300][(random.next_u64() % 10) as usize];
            collectors.advance(before, now);
            let mut full = 0;
            for (kind, ends) in plain.iter_mut().enumerate() {
                ends.retain(|&until| until > now);
                ends.sort();
                let all = ends.len() == counts[kind] as usize;
                full |= u32::from(all) << kind;
                if random.next_u64().is_multiple_of(9) {
                    assert_eq!(collectors.free_at(pools[kind], now), if all { ends[0] } else { now });
                }
            }
            assert_eq!(collectors.full(), full);
            let kind = (random.next_u64() % 3) as usize;
            if full >> kind & 1 == 0 {
                let far = [4, 63, 64, 65, 400][(random.next_u64() % 5) as usize];
                let until = now + 1 + random.next_u64() % far;
                collectors.hold(pools[kind], now, until);
                plain[kind].push(until);
            }
        }
    }

    #[test]
    fn one_pool_can_serve_all_units() {
        let mut collectors = collectors(8, 2);
        collectors.hold(CollectorPool::Sp, 5, 10);
        assert_eq!(collectors.full(), 0);
        collectors.hold(CollectorPool::Memory, 5, 8);
        assert_eq!((collectors.full(), collectors.free_at(CollectorPool::Sfu, 5)), (0b1111, 8));
        collectors.advance(5, 8);
        assert_eq!(collectors.full(), 0);
    }
}
