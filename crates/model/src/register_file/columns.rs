// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cycles in which banks are taken where techniques act, bank by bank.
//!
//! A calendar has a word for each cycle, with a bit for each bank: to find a free cycle of one bank is to look at a word for each taken one. Where many wait
//! for the same bank, it is better to have a word for each bank with a bit for each cycle. Techniques let every access be booked by its bank alone, so
//! that all of them are here, and none in the calendars of ports.

use warpwatt_base::calendar::HORIZON;

/// Banks that there may be.
const BANKS: usize = 64;

#[derive(Clone, Copy)]
struct Column {
    /// The present, when it was looked at last.
    now: u64,
    /// From that cycle on, those that are taken, a bit each.
    taken: u64,
    /// Cycles after which a shift of that word tells what is taken: none while something is booked beyond it.
    span: u64,
    /// The end of what is booked beyond it: all cycles up to there count as taken.
    tail: u64,
}

impl Column {
    const FREE: Column = Column { now: 0, taken: 0, span: HORIZON, tail: 0 };

    /// From a cycle on, those that are taken, where something was booked beyond the word.
    #[cold]
    #[inline(never)]
    fn uncover(&mut self, now: u64) -> u64 {
        let passed = now - self.now;
        let taken = if passed < HORIZON { self.taken >> passed } else { 0 };
        self.span = if self.tail > now + HORIZON { 0 } else { HORIZON };
        let unknown = (self.now + HORIZON).max(now)..self.tail.min(now + HORIZON);
        unknown.fold(taken, |taken, at| taken | 1 << (at - now))
    }

    /// Books a cycle beyond the word, behind the last one that was, without gaps.
    #[cold]
    #[inline(never)]
    fn book_far(&mut self, earliest: u64) -> u64 {
        let at = earliest.max(self.tail);
        (self.tail, self.span) = (at + 1, 0);
        at
    }
}

/// A column for each bank: of its port, or of that which reads, and of that which writes if it is another one.
pub struct Columns([[Column; BANKS]; 2]);

impl Default for Columns {
    /// Nothing is taken.
    fn default() -> Columns {
        Columns([[Column::FREE; BANKS]; 2])
    }
}

impl Columns {
    /// Books the first free cycle of a bank from `after` cycles after the present on, as a calendar does. Cycles that are barred (a bit for each from the
    /// present on) count as taken, as far as a calendar represents them.
    #[inline(always)]
    pub fn book(&mut self, board: usize, bank: u8, now: u64, after: u64, barred: u64) -> u64 {
        let [at] = self.book_run(board, bank, now, [after], barred);
        at
    }

    /// [`Columns::book`] for several accesses to one bank, one after the other.
    #[inline(always)]
    pub fn book_run<const N: usize>(
        &mut self,
        board: usize,
        bank: u8,
        now: u64,
        after: [u64; N],
        barred: u64,
    ) -> [u64; N] {
        debug_assert!(board < 2, "ports {board}");
        let column = &mut self.0[board % 2][usize::from(bank) % BANKS];
        let passed = now - column.now;
        let mut taken = if passed < column.span {
            column.taken >> passed
        } else if column.span != 0 {
            0
        } else {
            column.uncover(now)
        };
        column.now = now;
        let mut at = [0; N];
        // Not `map`, which is not inlined.
        for (at, after) in at.iter_mut().zip(after) {
            let free = if after < HORIZON { !(taken | barred) >> after << after } else { 0 };
            taken |= free & free.wrapping_neg();
            *at = match free {
                0 => column.book_far(now + after.max(HORIZON)),
                _ => now + u64::from(free.trailing_zeros()),
            };
        }
        column.taken = taken;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register_file::Calendars;
    use warpwatt_base::SplitMix64;

    #[test]
    fn a_bank_is_booked_in_the_cycles_that_a_calendar_gives() {
        let mut random = SplitMix64::new(17);
        let (mut columns, mut plain) = (Columns::default(), Calendars::default());
        let mut now = 0;
        for step in 0..400_000u64 {
            // At times so many come that they reach far beyond the horizon, at times so few that nothing is left.
            let rate = [2, 3, 9, 1][(step / 1000 % 4) as usize];
            now += u64::from(random.next_u64().is_multiple_of(rate)) * (1 + random.next_u64() % 3);
            if random.next_u64().is_multiple_of(5000) {
                now += random.next_u64() % 200;
            }
            plain.advance(now);
            let bank = (random.next_u64() % 2) as u8;
            let after = if random.next_u64().is_multiple_of(4) { random.next_u64() % 80 } else { 0 };
            let expected = plain.book_on(1, 1 << bank, now + after);
            assert_eq!(columns.book(1, bank, now, after, 0), expected);
        }
    }

    #[test]
    fn a_run_is_booked_as_one_by_one() {
        let mut random = SplitMix64::new(23);
        let (mut runs, mut plain) = (Columns::default(), Columns::default());
        let mut now = 0;
        for _ in 0..100_000 {
            now += random.next_u64() % 5 + if random.next_u64().is_multiple_of(999) { 150 } else { 0 };
            let bank = (random.next_u64() % 2) as u8;
            let after =
                [0; 3].map(|_| random.next_u64() % if random.next_u64().is_multiple_of(9) { 70 } else { 3 });
            let expected = after.map(|after| plain.book(0, bank, now, after, 0));
            assert_eq!(runs.book_run(0, bank, now, after, 0), expected);
        }
    }

    #[test]
    fn barred_cycles_are_passed_over() {
        let mut columns = Columns::default();
        assert_eq!(columns.book(0, 3, 10, 1, 0b110), 13);
        assert_eq!(columns.book(0, 3, 10, 0, 0b110), 10);
        assert_eq!(columns.book(0, 3, 10, 1, u64::MAX), 10 + HORIZON, "all in sight are barred");
    }
}
