// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calendars of resources that serve one client a cycle: clients book the first free cycle from some time on.
//!
//! A board holds the calendars of up to 64 resources. Each cycle of the near future has a word, with a bit for every resource: whoever
//! looks for one of several equal resources, or for a free cycle close by, looks at few words, and time passes by clearing one. Who
//! does not fit into the near future waits behind the last one that did not, without gaps.

/// Cycles, from the present on, that are told apart.
pub const HORIZON: u64 = 64;

/// Resources that a board has room for.
pub const RESOURCES: usize = 64;

/// The calendars of some resources, which are called by their bits.
#[derive(Clone, Debug)]
pub struct Board {
    /// By cycle, modulo the horizon: which resources are taken.
    taken: [u64; HORIZON as usize],
    now: u64,
    /// The latest of the tails.
    last_tail: u64,
    /// By resource: end of what is taken beyond the horizon.
    tails: [u64; RESOURCES],
}

impl Default for Board {
    fn default() -> Board {
        Board { taken: [0; HORIZON as usize], now: 0, last_tail: 0, tails: [0; RESOURCES] }
    }
}

impl Board {
    /// Moves the present on; what lies before it is forgotten. To be called before anything else in a cycle.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) {
        let before = self.now;
        if before != now {
            self.now = now;
            self.taken[(before % HORIZON) as usize] = 0;
            if now - before != 1 {
                self.forget(before + 1, now);
            }
            if self.last_tail > now {
                self.uncover(before);
            }
        }
    }

    #[inline(never)]
    fn forget(&mut self, from: u64, to: u64) {
        for cycle in from..to.min(from + HORIZON) {
            self.taken[(cycle % HORIZON) as usize] = 0;
        }
    }

    /// What was beyond the horizon comes into sight.
    #[cold]
    fn uncover(&mut self, before: u64) {
        let in_sight = (before + HORIZON).max(self.now);
        for resource in 0..RESOURCES {
            for at in in_sight..self.tails[resource].min(self.now + HORIZON) {
                self.taken[(at % HORIZON) as usize] |= 1 << resource;
            }
        }
    }

    /// Which resources are taken in a cycle that is in sight.
    #[inline(always)]
    pub fn taken(&self, at: u64) -> u64 {
        debug_assert!(at - self.now < HORIZON);
        self.taken[(at % HORIZON) as usize]
    }

    /// Takes resources for a cycle that is in sight.
    #[inline(always)]
    pub fn mark(&mut self, at: u64, bits: u64) {
        debug_assert!(at - self.now < HORIZON);
        self.taken[(at % HORIZON) as usize] |= bits;
    }

    /// Books the first free cycle of one resource from `earliest` on.
    #[inline(always)]
    pub fn book(&mut self, bit: u64, earliest: u64) -> u64 {
        let mut at = earliest;
        while at - self.now < HORIZON {
            if self.taken(at) & bit == 0 {
                self.mark(at, bit);
                return at;
            }
            at += 1;
        }
        self.book_behind_the_horizon(bit, earliest, 1)
    }

    /// Books the earliest free cycle of any of several equal resources; of several free ones, that with the lowest number.
    #[inline(always)]
    pub fn book_any(&mut self, bits: u64, earliest: u64) -> u64 {
        let mut at = earliest;
        while at - self.now < HORIZON {
            let taken = &mut self.taken[(at % HORIZON) as usize];
            let free = bits & !*taken;
            if free != 0 {
                *taken |= free & free.wrapping_neg();
                return at;
            }
            at += 1;
        }
        self.book_behind_the_horizon(bits, earliest, 1)
    }

    /// Books `length` cycles in a row.
    #[inline(always)]
    pub fn book_run(&mut self, bits: u64, earliest: u64, length: u32) -> u64 {
        if length == 1 { self.book_any(bits, earliest) } else { self.book_long(bits, earliest, length) }
    }

    #[inline(never)]
    fn book_long(&mut self, bits: u64, earliest: u64, length: u32) -> u64 {
        let length = u64::from(length);
        let mut at = earliest;
        while at + length <= self.now + HORIZON {
            let taken = (at..at + length).fold(0, |taken, at| taken | self.taken(at));
            let free = bits & !taken;
            if free != 0 {
                (at..at + length).for_each(|at| self.mark(at, free & free.wrapping_neg()));
                return at;
            }
            at += 1;
        }
        self.book_behind_the_horizon(bits, earliest, length)
    }

    #[cold]
    fn book_behind_the_horizon(&mut self, bits: u64, earliest: u64, length: u64) -> u64 {
        let first = earliest.max(self.now + HORIZON);
        let resources = (0..RESOURCES).filter(|resource| bits >> resource & 1 != 0);
        let best = resources.min_by_key(|&resource| first.max(self.tails[resource])).unwrap_or(0);
        let start = first.max(self.tails[best]);
        self.tails[best] = start + length;
        self.last_tail = self.last_tail.max(start + length);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use std::collections::BTreeSet;

    /// A calendar without a horizon: every booked cycle is remembered.
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
        let (mut board, mut plain) =
            (Board::default(), [Plain::default(), Plain::default(), Plain::default()]);
        let mut now = 0;
        for _ in 0..200_000 {
            now += random.next_u64() % 4 / 2 + if random.next_u64().is_multiple_of(997) { 500 } else { 0 };
            board.advance(now);
            let earliest = now + random.next_u64() % 20;
            let length = [1, 1, 1, 2, 4][(random.next_u64() % 5) as usize];
            let best =
                (0..3).min_by_key(|&i| plain[i].first_run(earliest, u64::from(length))).expect("three");
            let expected = plain[best].first_run(earliest, u64::from(length));
            assert_eq!(board.book_run(0b111, earliest, length), expected);
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
        let mut board = Board::default();
        let mut taken = BTreeSet::new();
        for now in 0..2000 {
            board.advance(now);
            if now % 3 == 0 && now < 900 {
                let start = board.book_run(1, now + 2, 7);
                assert!(start >= now + 2);
                (start..start + 7).for_each(|at| assert!(taken.insert(at), "cycle {at} is given away twice"));
            }
            if now % 50 == 0 {
                let at = board.book(1, now);
                assert!(taken.insert(at), "cycle {at} is given away twice");
            }
        }
        // The resource is saturated: it hardly ever rests while anybody waits.
        let last = *taken.last().expect("bookings");
        assert!(taken.len() as u64 > last * 9 / 10, "{} of {last}", taken.len());
    }
}
