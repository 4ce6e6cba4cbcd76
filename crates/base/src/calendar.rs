// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calendars of resources that serve one client a cycle: clients book the first free cycle from some time on.
//!
//! A board holds the calendars of many resources. A word of bits covers the near future of each. Who does not fit into it waits
//! behind the last one that did not, without gaps.

/// Cycles, from the present on, that are told apart.
pub const HORIZON: u64 = 64;

/// The calendars of some resources, which are called by number.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// By resource. Bit i: cycle `now + i` is taken.
    busy: Vec<u64>,
    /// End of what is taken beyond the horizon.
    tails: Vec<u64>,
    now: u64,
    /// The latest of the tails.
    last_tail: u64,
}

impl Board {
    pub fn new(resources: usize) -> Board {
        Board { busy: vec![0; resources], tails: vec![0; resources], now: 0, last_tail: 0 }
    }

    /// Moves the present on; what lies before it is forgotten. To be called before anything else in a cycle.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) {
        let passed = now - self.now;
        if passed != 0 {
            self.now = now;
            if passed < HORIZON {
                for busy in &mut self.busy {
                    *busy >>= passed;
                }
            } else {
                self.busy.fill(0);
            }
            if self.last_tail > now {
                self.uncover(passed);
            }
        }
    }

    /// What was beyond the horizon comes into sight.
    #[cold]
    fn uncover(&mut self, passed: u64) {
        let old_end = (self.now + HORIZON - passed).max(self.now);
        for (busy, &tail) in self.busy.iter_mut().zip(&self.tails) {
            for at in old_end..tail.min(self.now + HORIZON) {
                *busy |= 1 << (at - self.now);
            }
        }
    }

    /// The first cycle from `earliest` on that starts a run of `length` free ones.
    fn first_run(&self, resource: usize, earliest: u64, length: u32) -> u64 {
        let from = earliest - self.now;
        if from < HORIZON {
            // Bit i: free from i to i + length, all of it in sight.
            let mut free = !self.busy[resource] >> from;
            for _ in 1..length.min(HORIZON as u32) {
                free &= free >> 1;
            }
            if free != 0 {
                return earliest + u64::from(free.trailing_zeros());
            }
        }
        self.behind_the_horizon(resource, earliest)
    }

    #[cold]
    fn behind_the_horizon(&self, resource: usize, earliest: u64) -> u64 {
        earliest.max(self.now + HORIZON).max(self.tails[resource])
    }

    /// Takes `length` cycles from `start` on, which were found free.
    fn take(&mut self, resource: usize, start: u64, length: u32) {
        let from = start - self.now;
        if from + u64::from(length) <= HORIZON {
            self.busy[resource] |= (u64::MAX >> (HORIZON - u64::from(length))) << from;
        } else {
            self.take_behind_the_horizon(resource, start + u64::from(length));
        }
    }

    #[cold]
    fn take_behind_the_horizon(&mut self, resource: usize, end: u64) {
        self.tails[resource] = end;
        self.last_tail = self.last_tail.max(end);
    }

    /// The first free cycle from `earliest` on.
    #[inline(always)]
    pub fn first_free(&self, resource: usize, earliest: u64) -> u64 {
        let from = earliest - self.now;
        if from < HORIZON {
            let free = !self.busy[resource] >> from;
            if free != 0 {
                return earliest + u64::from(free.trailing_zeros());
            }
        }
        self.behind_the_horizon(resource, earliest)
    }

    /// Takes a cycle that was found free.
    #[inline(always)]
    pub fn take_one(&mut self, resource: usize, at: u64) {
        let from = at - self.now;
        if from < HORIZON {
            self.busy[resource] |= 1 << from;
        } else {
            self.take_behind_the_horizon(resource, at + 1);
        }
    }

    /// Books the first free cycle from `earliest` on.
    #[inline(always)]
    pub fn book(&mut self, resource: usize, earliest: u64) -> u64 {
        let at = self.first_free(resource, earliest);
        self.take_one(resource, at);
        at
    }

    /// Books `length` cycles of whichever of some equal resources is free first.
    #[inline(always)]
    pub fn book_any(&mut self, resources: std::ops::Range<usize>, earliest: u64, length: u32) -> u64 {
        let from = earliest - self.now;
        if length == 1 && from < HORIZON {
            for busy in &mut self.busy[resources.clone()] {
                if *busy >> from & 1 == 0 {
                    *busy |= 1 << from;
                    return earliest;
                }
            }
        }
        self.book_later(resources, earliest, length)
    }

    #[inline(never)]
    fn book_later(&mut self, resources: std::ops::Range<usize>, earliest: u64, length: u32) -> u64 {
        let (mut best, mut start) = (resources.start, u64::MAX);
        for resource in resources {
            let at = self.first_run(resource, earliest, length);
            if at < start {
                (best, start) = (resource, at);
            }
        }
        self.take(best, start, length);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use std::collections::BTreeSet;

    /// The same without a horizon: every booked cycle is remembered.
    #[derive(Default)]
    struct Plain(BTreeSet<u64>);

    impl Plain {
        fn first_run(&self, earliest: u64, length: u64) -> u64 {
            let is_free = |&start: &u64| !(start..start + length).any(|at| self.0.contains(&at));
            (earliest..).find(is_free).expect("a free cycle")
        }
    }

    #[test]
    fn bookings_within_the_horizon_equal_those_of_plain_calendars() {
        let mut random = SplitMix64::new(7);
        let (mut board, mut plain) = (Board::new(3), [Plain::default(), Plain::default(), Plain::default()]);
        let mut now = 0;
        for _ in 0..200_000 {
            now += random.next_u64() % 4 / 2 + if random.next_u64().is_multiple_of(997) { 500 } else { 0 };
            board.advance(now);
            let earliest = now + random.next_u64() % 20;
            let length = [1, 1, 1, 2, 4][(random.next_u64() % 5) as usize];
            let best =
                (0..3).min_by_key(|&i| plain[i].first_run(earliest, u64::from(length))).expect("three");
            let expected = plain[best].first_run(earliest, u64::from(length));
            assert_eq!(board.book_any(0..3, earliest, length), expected);
            plain[best].0.extend(expected..expected + u64::from(length));
            if expected + 8 >= now + HORIZON {
                // So crowded that the horizon is near: let time pass.
                now = expected;
            }
            plain.iter_mut().for_each(|plain| plain.0 = plain.0.split_off(&now));
        }
    }

    #[test]
    fn nobody_is_served_twice_at_once_beyond_the_horizon() {
        let mut board = Board::new(1);
        let mut taken = BTreeSet::new();
        for now in 0..2000 {
            board.advance(now);
            if now % 3 == 0 && now < 900 {
                let start = board.book_any(0..1, now + 2, 7);
                assert!(start >= now + 2);
                (start..start + 7).for_each(|at| assert!(taken.insert(at), "cycle {at} is given away twice"));
            }
            if now % 50 == 0 {
                let at = board.book(0, now);
                assert!(taken.insert(at), "cycle {at} is given away twice");
            }
        }
        // The resource is saturated: it hardly ever rests while anybody waits.
        let last = *taken.last().expect("bookings");
        assert!(taken.len() as u64 > last * 9 / 10, "{} of {last}", taken.len());
    }
}
