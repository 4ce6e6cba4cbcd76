// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operand collectors: each gathers the operands of one instruction and is in use until that is dispatched. Every kind of unit has its own,
//! or one pool serves all of them, memory instructions included (`sm.rf.collectors_shared`).

use warpwatt_config::Config;

use crate::sm::CollectorPool;

/// The most collectors of one kind.
const COLLECTORS: usize = 64;

/// Collectors of one kind: when each is free again, in ascending order, in a ring that starts at `first`.
struct Pool {
    free_at: [u64; COLLECTORS],
    count: usize,
    first: usize,
    /// None is in use for longer than until this cycle.
    latest: u64,
}

impl Pool {
    fn new(collectors: u32) -> Pool {
        Pool { free_at: [0; COLLECTORS], count: collectors as usize, first: 0, latest: 0 }
    }

    /// Takes the collector that is free first. Most are free again later than all others, and go to the end. Gives the first cycle in which
    /// another one is free.
    #[inline(always)]
    fn take(&mut self, until: u64) -> u64 {
        let mut place = self.first;
        let first = if place + 1 == self.count { 0 } else { place + 1 };
        self.first = first;
        if until < self.latest {
            place = self.make_room(place, until);
        } else {
            self.latest = until;
        }
        self.free_at[place % COLLECTORS] = until;
        self.free_at[first % COLLECTORS]
    }

    /// Moves those up that are free later than `until`, into a free place at the end. Gives the place that is free then.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, mut place: usize, until: u64) -> usize {
        while place != self.first {
            let before = if place == 0 { self.count - 1 } else { place - 1 };
            let free_at = self.free_at[before % COLLECTORS];
            if free_at <= until {
                break;
            }
            self.free_at[place % COLLECTORS] = free_at;
            place = before;
        }
        place
    }
}

pub struct Collectors {
    /// By kind. Memory instructions have the memory unit's queue instead, so the last is not used; with one pool for all, only the first is.
    pools: [Pool; CollectorPool::COUNT],
    /// First cycle in which each kind has a free collector.
    free_at: [u64; CollectorPool::COUNT],
    /// From this cycle on all of them have one.
    all_free_at: u64,
    /// One pool serves all kinds.
    shared: bool,
}

impl Collectors {
    pub fn new(config: &Config) -> Collectors {
        let rf = &config.rf;
        let counts = match rf.collectors_shared {
            0 => [rf.collectors_sp, rf.collectors_sfu, rf.collectors_fp64, 1],
            shared => [shared, 1, 1, 1],
        };
        Collectors {
            pools: counts.map(Pool::new),
            free_at: [0; CollectorPool::COUNT],
            all_free_at: 0,
            shared: rf.collectors_shared != 0,
        }
    }

    /// Whether memory instructions take a collector too.
    #[inline(always)]
    pub fn are_shared(&self) -> bool {
        self.shared
    }

    /// Kinds without a free collector, a bit for each.
    #[inline(always)]
    pub fn full(&self, now: u64) -> u32 {
        if self.all_free_at <= now {
            return 0;
        }
        self.free_at.iter().rev().fold(0, |full, &free_at| full << 1 | u32::from(free_at > now))
    }

    /// First cycle in which a collector of a kind is free.
    #[inline(always)]
    pub fn free_at(&self, pool: CollectorPool) -> u64 {
        self.free_at[pool as usize]
    }

    /// A collector is in use until before a cycle.
    #[inline(always)]
    pub fn hold(&mut self, pool: CollectorPool, until: u64) {
        let free_at = if self.shared {
            let free_at = self.pools[0].take(until);
            self.free_at = [free_at; CollectorPool::COUNT];
            free_at
        } else {
            let free_at = self.pools[pool as usize].take(until);
            self.free_at[pool as usize] = free_at;
            free_at
        };
        self.all_free_at = self.all_free_at.max(free_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_that_is_free_first_is_taken_whatever_the_order() {
        let mut pool = Pool::new(3);
        for (until, first) in [(10, 0), (5, 0), (20, 5), (7, 7), (6, 6), (30, 10)] {
            assert_eq!(pool.take(until), first, "after {until}");
        }
    }

    #[test]
    fn one_pool_is_full_for_all_kinds_at_once() {
        let mut config = Config::default();
        config.rf.collectors_shared = 2;
        let mut collectors = Collectors::new(&config);
        collectors.hold(CollectorPool::Sp, 10);
        assert_eq!(collectors.full(5), 0);
        collectors.hold(CollectorPool::Memory, 8);
        assert_eq!((collectors.full(5), collectors.full(8)), (0b1111, 0));
        assert_eq!(collectors.free_at(CollectorPool::Sfu), 8);
        let mut collectors = Collectors::new(&Config::default());
        (0..Config::default().rf.collectors_sp).for_each(|_| collectors.hold(CollectorPool::Sp, 10));
        assert_eq!(collectors.full(5), 0b0001);
    }
}
