// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calendars of resources that serve one client a cycle: clients book the first free cycle from some time on.
//!
//! A board holds the calendars of up to 64 resources. Each cycle of the near future has a word, with a bit for every resource: whoever
//! looks for one of several equal resources, or for a free cycle close by, looks at few words. Who
//! does not fit into the near future waits behind the last one that did not, without gaps.
//!
//! There are twice as many words as cycles of the near future, in two halves. When the present enters one half, all cycles in the other one have
//! passed, and it is cleared as a whole: in all other cycles, time passes by a comparison.
//!
//! Boards that share one present are cleared together. Each has its words side by side, so that few lines of the host's cache hold what is near.

use std::ops::Range;

/// Cycles from the current one on that are represented individually.
pub const HORIZON: u64 = 64;

/// Rows of words: those of the near future, and as many again that passed or are to come.
const ROWS: usize = 2 * HORIZON as usize;

/// Resources that a board has room for.
pub const RESOURCES: usize = 64;

/// `N` boards that share one present. Resources are called by their board's number and their bits.
#[derive(Clone, Debug)]
pub struct Boards<const N: usize> {
    /// By board and cycle, modulo their number: which resources are taken.
    taken: [[u64; ROWS]; N],
    /// The first so many boards are used.
    used: usize,
    now: u64,
    /// The cycle in which the present enters the other half of the rows.
    other_half: u64,
    /// The latest of the tails.
    last_tail: u64,
    /// By board and resource: end of what is taken beyond the horizon.
    tails: [[u64; RESOURCES]; N],
    /// By board: resources whose tail may reach beyond the represented cycles.
    with_tail: [u64; N],
    /// By board and quarter of its resources: where the latest search found equal resources taken, for a cycle, and for several.
    crowds: [[Crowd; QUARTERS]; N],
    run_crowds: [[Crowd; QUARTERS]; N],
}

const QUARTERS: usize = 4;

/// The quarter of a board that the first of some resources is in.
#[inline(always)]
fn quarter(bits: u64) -> usize {
    (bits.trailing_zeros() as usize / (RESOURCES / QUARTERS)) % QUARTERS
}

/// Cycles, from one to before another, from which none of some resources is free for as many cycles as one wanted. What is taken stays so.
#[derive(Clone, Copy, Default, Debug)]
struct Crowd {
    bits: u64,
    length: u64,
    from: u64,
    to: u64,
}

impl Crowd {
    /// The first cycle from `earliest` on from which one of these resources may be free, and that from which on it is known that none before is.
    #[inline(always)]
    fn behind(self, bits: u64, length: u64, earliest: u64) -> (u64, u64) {
        let is_known = self.bits == bits && self.length == length && (self.from..self.to).contains(&earliest);
        if is_known { (self.to, self.from) } else { (earliest, earliest) }
    }
}

/// One board.
pub type Board = Boards<1>;

/// Where the rows of some cycles lie, [`HORIZON`] at most: up to the last row, and from the first one on.
#[inline(always)]
fn halves(cycles: Range<u64>) -> [Range<usize>; 2] {
    let first = cycles.start as usize % ROWS;
    let end = first + (cycles.end - cycles.start).min(HORIZON) as usize;
    [first..end.min(ROWS), 0..end.saturating_sub(ROWS)]
}

/// Clears a half of the rows of a board.
#[inline(always)]
fn clear(rows: &mut [u64; HORIZON as usize]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has the instructions.
        unsafe { avx2::clear(rows) };
        return;
    }
    rows.fill(0);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{__m256i, _mm256_setzero_si256, _mm256_storeu_si256};

    /// Clears words.
    #[target_feature(enable = "avx2")]
    pub fn clear(words: &mut [u64; super::HORIZON as usize]) {
        let mut zero = _mm256_setzero_si256();
        // SAFETY: no instruction is executed. If the compiler knew that the vector is zero, it would make a call of the C library of the loop, which
        // finds out about size and alignment each time.
        unsafe {
            core::arch::asm!("/* {0} */", inout(ymm_reg) zero, options(nomem, nostack, preserves_flags))
        };
        let first: *mut __m256i = words.as_mut_ptr().cast();
        for vector in 0..words.len() / 4 {
            // SAFETY: it is within the words.
            unsafe { _mm256_storeu_si256(first.add(vector), zero) };
        }
    }
}

impl<const N: usize> Default for Boards<N> {
    fn default() -> Self {
        Boards::of(N)
    }
}

impl<const N: usize> Boards<N> {
    /// Boards of which the first `used` are used.
    pub fn of(used: usize) -> Self {
        Boards {
            taken: [[0; ROWS]; N],
            used,
            now: 0,
            other_half: HORIZON,
            last_tail: 0,
            tails: [[0; RESOURCES]; N],
            with_tail: [0; N],
            crowds: [[Crowd::default(); QUARTERS]; N],
            run_crowds: [[Crowd::default(); QUARTERS]; N],
        }
    }

    /// Moves the present on; what lies before it is forgotten. To be called before anything else in a cycle.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) {
        let before = std::mem::replace(&mut self.now, now);
        if now >= self.other_half {
            self.enter_half();
        }
        if self.last_tail > now {
            self.uncover(before);
        }
    }

    /// The present has entered the other half of the rows, or has passed both of them.
    #[cold]
    #[inline(never)]
    fn enter_half(&mut self) {
        let (passed, next) = (self.other_half, self.now - self.now % HORIZON + HORIZON);
        self.other_half = next;
        let present = usize::from(next.is_multiple_of(2 * HORIZON));
        for board in self.taken.iter_mut().take(self.used) {
            let (halves, _) = board.as_chunks_mut();
            clear(&mut halves[1 - present]);
            // Nothing is booked further ahead than the half that comes next.
            if next - passed > HORIZON {
                clear(&mut halves[present]);
            }
        }
    }

    /// Bookings beyond the horizon move into the represented cycles.
    #[cold]
    fn uncover(&mut self, before: u64) {
        let in_sight = (before + HORIZON).max(self.now);
        let horizon = self.now + HORIZON;
        for board in 0..N {
            let mut left = self.with_tail[board];
            while left != 0 {
                let resource = left.trailing_zeros() as usize % RESOURCES;
                left &= left - 1;
                let tail = self.tails[board][resource];
                for at in in_sight..tail.min(horizon) {
                    self.taken[board][at as usize % ROWS] |= 1 << resource;
                }
                if tail <= horizon {
                    self.with_tail[board] &= !(1 << resource);
                }
            }
        }
    }

    /// The present cycle.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Which resources are taken in a cycle that is in sight.
    #[inline(always)]
    pub fn taken_on(&self, board: usize, at: u64) -> u64 {
        debug_assert!(at - self.now < HORIZON);
        self.taken[board][at as usize % ROWS]
    }

    /// Takes resources for a cycle that is in sight.
    #[inline(always)]
    pub fn mark_on(&mut self, board: usize, at: u64, bits: u64) {
        debug_assert!(at - self.now < HORIZON);
        self.taken[board][at as usize % ROWS] |= bits;
    }

    /// Books the first free cycle of one resource from `earliest` on.
    #[inline(always)]
    pub fn book_on(&mut self, board: usize, bit: u64, earliest: u64) -> u64 {
        let mut at = earliest;
        while at - self.now < HORIZON {
            if self.taken_on(board, at) & bit == 0 {
                self.mark_on(board, at, bit);
                return at;
            }
            at += 1;
        }
        self.book_behind_the_horizon(board, bit, earliest, 1)
    }

    /// Books the earliest free cycle of any of several equal resources; of several free ones, that with the lowest number.
    #[inline(always)]
    pub fn book_any_on(&mut self, board: usize, bits: u64, earliest: u64) -> u64 {
        if earliest - self.now < HORIZON - 1 {
            // Most wait for a cycle at most. No loop: the compiler would take it for the part that matters.
            if self.takes(board, bits, earliest) {
                return earliest;
            }
            if self.takes(board, bits, earliest + 1) {
                return earliest + 1;
            }
        }
        self.book_any_later(board, bits, earliest)
    }

    /// Takes the lowest of some resources that are free in a cycle in sight. False if none is.
    #[inline(always)]
    pub fn takes(&mut self, board: usize, bits: u64, at: u64) -> bool {
        let taken = &mut self.taken[board][at as usize % ROWS];
        let free = bits & !*taken;
        *taken |= free & free.wrapping_neg();
        free != 0
    }

    /// [`Boards::book_any_on`] where the earliest cycles are taken.
    #[cold]
    #[inline(never)]
    fn book_any_later(&mut self, board: usize, bits: u64, earliest: u64) -> u64 {
        self.book_any_behind(board, bits, earliest)
    }

    /// [`Boards::book_any_on`] for where many wait: what is taken stays so, and each begins behind those before it.
    #[inline(always)]
    pub fn book_any_behind(&mut self, board: usize, bits: u64, earliest: u64) -> u64 {
        let (mut at, from) = self.crowds[board][quarter(bits)].behind(bits, 1, earliest);
        while at - self.now < HORIZON {
            let taken = &mut self.taken[board][at as usize % ROWS];
            let free = bits & !*taken;
            if free != 0 {
                *taken |= free & free.wrapping_neg();
                let to = at + u64::from(free & (free - 1) == 0);
                self.crowds[board][quarter(bits)] = Crowd { bits, length: 1, from, to };
                return at;
            }
            at += 1;
        }
        self.crowds[board][quarter(bits)] = Crowd { bits, length: 1, from, to: at };
        self.book_behind_the_horizon(board, bits, earliest, 1)
    }

    /// Books `length` cycles in a row.
    #[inline(always)]
    pub fn book_run_on(&mut self, board: usize, bits: u64, earliest: u64, length: u32) -> u64 {
        if length == 1 {
            self.book_any_on(board, bits, earliest)
        } else {
            self.book_long(board, bits, earliest, length)
        }
    }

    #[cold]
    #[inline(never)]
    fn book_long(&mut self, board: usize, bits: u64, earliest: u64, length: u32) -> u64 {
        let length = u64::from(length);
        if length > HORIZON {
            return self.book_behind_the_horizon(board, bits, earliest, length);
        }
        let last = self.now + HORIZON - length;
        let (at, from) = self.run_crowds[board][quarter(bits)].behind(bits, length, earliest);
        let (start, resource) = self.find_run(board, bits, at, length, last);
        // Behind a run of the only resource, none begins before its end.
        let to = if start <= last && bits & (bits - 1) == 0 { start + length } else { start };
        self.run_crowds[board][quarter(bits)] = Crowd { bits, length, from, to };
        if start > last {
            return self.book_behind_the_horizon(board, bits, earliest, length);
        }
        let [first, rest] = halves(start..start + length);
        let rows = &mut self.taken[board];
        rows[first].iter_mut().for_each(|row| *row |= resource);
        rows[rest].iter_mut().for_each(|row| *row |= resource);
        start
    }

    /// The first cycle from `earliest` to `last` from which one of some resources is free for `length` cycles, and which one that is, or a later cycle if there is
    /// none. All of them are in sight.
    #[inline(always)]
    fn find_run(&self, board: usize, bits: u64, earliest: u64, length: u64, last: u64) -> (u64, u64) {
        let mut start = earliest;
        'starts: while start <= last {
            let mut free = bits;
            for cycle in (start..start + length).rev() {
                free &= !self.taken_on(board, cycle);
                if free == 0 {
                    // From here to the end of the run, each is taken at some time: all starts up to here are ruled out.
                    start = cycle + 1;
                    continue 'starts;
                }
            }
            return (start, free & free.wrapping_neg());
        }
        (start, 0)
    }

    #[cold]
    fn book_behind_the_horizon(&mut self, board: usize, bits: u64, earliest: u64, length: u64) -> u64 {
        let first = earliest.max(self.now + HORIZON);
        let tails = &mut self.tails[board];
        let (mut best, mut start, mut left) = (0, u64::MAX, bits);
        while left != 0 {
            let resource = left.trailing_zeros() as usize;
            left &= left - 1;
            if first.max(tails[resource]) < start {
                (best, start) = (resource, first.max(tails[resource]));
            }
        }
        tails[best] = start + length;
        self.with_tail[board] |= 1 << best;
        self.last_tail = self.last_tail.max(start + length);
        start
    }
}

impl Board {
    /// [`Boards::book_on`] the only board.
    #[inline(always)]
    pub fn book(&mut self, bit: u64, earliest: u64) -> u64 {
        self.book_on(0, bit, earliest)
    }

    /// [`Boards::book_any_on`] the only board.
    #[inline(always)]
    pub fn book_any(&mut self, bits: u64, earliest: u64) -> u64 {
        self.book_any_on(0, bits, earliest)
    }

    /// [`Boards::book_run_on`] the only board.
    #[inline(always)]
    pub fn book_run(&mut self, bits: u64, earliest: u64, length: u32) -> u64 {
        self.book_run_on(0, bits, earliest, length)
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
    fn boards_that_share_one_present_do_what_each_does_alone() {
        let mut random = SplitMix64::new(11);
        let (mut boards, mut alone) =
            (Boards::<3>::default(), [Board::default(), Board::default(), Board::default()]);
        let mut now = 0;
        for _ in 0..100_000 {
            now += [0, 0, 1, 2, 30, 63, 64, 200][(random.next_u64() % 8) as usize];
            boards.advance(now);
            alone.iter_mut().for_each(|board| board.advance(now));
            let (board, earliest) = ((random.next_u64() % 3) as usize, now + random.next_u64() % 70);
            let (bits, length) = (1 + random.next_u64() % 7, 1 + (random.next_u64() % 3) as u32);
            let expected = alone[board].book_run(bits, earliest, length);
            assert_eq!(boards.book_run_on(board, bits, earliest, length), expected);
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
