// SPDX-License-Identifier: MIT OR Apache-2.0
//! A calendar of a resource that serves one client a cycle: clients book the first free cycle from some time on.
//!
//! A ring of bits covers the near future; who books does so in the order in which it issues.

const WORDS: usize = 4;
/// Cycles ahead of the present that can be told apart.
pub const HORIZON: u64 = 64 * (WORDS as u64 - 1);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Calendar {
    busy: [u64; WORDS],
    /// Number of the 64-cycle stretch that the present lies in.
    present: u64,
}

impl Calendar {
    /// Moves the present on; what lies before it is forgotten.
    #[inline(always)]
    fn advance(&mut self, now: u64) {
        let present = now / 64;
        if self.present != present {
            self.forget(present);
        }
    }

    #[inline(never)]
    fn forget(&mut self, present: u64) {
        let passed = (present - self.present).min(WORDS as u64);
        for stretch in self.present..self.present + passed {
            self.busy[stretch as usize % WORDS] = 0;
        }
        self.present = present;
    }

    /// The first free cycle from `earliest` on, as seen at `now`. What lies beyond the horizon is not told apart: it always is free.
    #[inline(always)]
    pub fn first_free(&mut self, now: u64, earliest: u64) -> u64 {
        self.advance(now);
        let mut at = earliest;
        loop {
            let stretch = at / 64;
            if stretch >= self.present + WORDS as u64 {
                return at;
            }
            let free = !self.busy[stretch as usize % WORDS] >> (at % 64);
            if free != 0 {
                return at + u64::from(free.trailing_zeros());
            }
            at = (stretch + 1) * 64;
        }
    }

    /// The first cycle from `earliest` on that starts a run of `length` free ones.
    #[inline(always)]
    pub fn first_run(&mut self, now: u64, earliest: u64, length: u32) -> u64 {
        if length == 1 {
            return self.first_free(now, earliest);
        }
        self.advance(now);
        let mut start = earliest;
        let mut at = start;
        while at < start + u64::from(length) {
            if self.is_busy(at) {
                start = at + 1;
            }
            at += 1;
        }
        start
    }

    /// Takes `length` cycles from `start` on, which were found free.
    #[inline(always)]
    pub fn take(&mut self, start: u64, length: u32) {
        for at in start..start + u64::from(length) {
            if at / 64 < self.present + WORDS as u64 {
                self.busy[(at / 64) as usize % WORDS] |= 1 << (at % 64);
            }
        }
    }

    /// Books the first free cycle from `earliest` on.
    #[inline(always)]
    pub fn book(&mut self, now: u64, earliest: u64) -> u64 {
        let at = self.first_free(now, earliest);
        self.take(at, 1);
        at
    }

    /// Books the first run of `length` free cycles from `earliest` on.
    #[inline(always)]
    pub fn book_run(&mut self, now: u64, earliest: u64, length: u32) -> u64 {
        let start = self.first_run(now, earliest, length);
        self.take(start, length);
        start
    }

    fn is_busy(&self, at: u64) -> bool {
        at / 64 < self.present + WORDS as u64 && self.busy[(at / 64) as usize % WORDS] >> (at % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use std::collections::BTreeSet;

    /// The same without a ring: every booked cycle is remembered.
    #[derive(Default)]
    struct Plain(BTreeSet<u64>);

    impl Plain {
        fn book_run(&mut self, earliest: u64, length: u64) -> u64 {
            let mut start = earliest;
            while (start..start + length).any(|at| self.0.contains(&at)) {
                start += 1;
            }
            self.0.extend(start..start + length);
            start
        }
    }

    #[test]
    fn bookings_equal_those_of_the_plain_calendar() {
        let mut random = SplitMix64::new(7);
        let (mut calendar, mut plain) = (Calendar::default(), Plain::default());
        let mut now = 0;
        for _ in 0..200_000 {
            now += random.next_u64() % 4 / 2 + if random.next_u64().is_multiple_of(997) { 500 } else { 0 };
            let earliest = now + random.next_u64() % 20;
            let length = [1, 1, 1, 2, 4][(random.next_u64() % 5) as usize];
            let expected = plain.book_run(earliest, u64::from(length));
            if expected + 4 >= now + HORIZON {
                // So crowded that the horizon matters: let time pass.
                now = expected + 1;
            }
            plain.0 = plain.0.split_off(&now.min(earliest));
            assert_eq!(calendar.book_run(now.min(earliest), earliest, length), expected);
        }
    }
}
