// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cycles in which banks are known to be taken, bank by bank.
//!
//! A calendar has a word for each cycle, with a bit for each bank: to find a free cycle of one bank is to look at a word for each taken one. Where many wait
//! for the same bank, it pays to keep what was found, as a word for each bank with a bit for each cycle. Others may have booked since, so that a cycle which
//! is not known to be taken has to be looked up; what is taken stays so until it is past.

use warpwatt_base::calendar::HORIZON;

use super::Calendars;

/// Banks that there may be.
const BANKS: usize = 64;

#[derive(Clone, Copy, Default)]
struct Column {
    /// The present, when it was looked at last.
    now: u64,
    /// From that cycle on, those that are taken, a bit each.
    taken: u64,
}

/// A column for each bank on each of the two boards of ports.
pub struct Columns([[Column; BANKS]; 2]);

impl Columns {
    pub fn new() -> Columns {
        Columns([[Column::default(); BANKS]; 2])
    }

    /// Books the first free cycle of a bank from `after` cycles after the present on, as [`Calendars::book_on`] does. Cycles that are barred (a bit for each
    /// from the present on) count as taken, as far as the calendar represents them.
    #[inline(always)]
    pub fn book(
        &mut self,
        calendars: &mut Calendars,
        board: usize,
        bank: u8,
        now: u64,
        after: u64,
        barred: u64,
    ) -> u64 {
        let (board, bit) = (board % 2, 1 << bank);
        let column = &mut self.0[board][usize::from(bank) % BANKS];
        let passed = now - column.now;
        let mut taken = if passed < HORIZON { column.taken >> passed } else { 0 };
        column.now = now;
        if after < HORIZON {
            let mut free = !(taken | barred) >> after << after;
            while free != 0 {
                let first = u64::from(free.trailing_zeros());
                taken |= 1 << first;
                if calendars.taken_on(board, now + first) & bit == 0 {
                    calendars.mark_on(board, now + first, bit);
                    column.taken = taken;
                    return now + first;
                }
                free &= free - 1;
            }
        }
        column.taken = taken;
        calendars.book_on(board, bit, now + after.max(HORIZON))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn a_bank_is_booked_in_the_cycles_that_a_calendar_gives() {
        let mut random = SplitMix64::new(17);
        let (mut columns, mut fast, mut plain) = (Columns::new(), Calendars::default(), Calendars::default());
        let mut now = 0;
        for _ in 0..200_000 {
            now += u64::from(random.next_u64().is_multiple_of(3)) * (1 + random.next_u64() % 3);
            fast.advance(now);
            plain.advance(now);
            let bank = (random.next_u64() % 2) as u8;
            let after = if random.next_u64().is_multiple_of(4) { random.next_u64() % 80 } else { 0 };
            let expected = plain.book_on(1, 1 << bank, now + after);
            // Some book without columns.
            let at = if random.next_u64().is_multiple_of(5) {
                fast.book_on(1, 1 << bank, now + after)
            } else {
                columns.book(&mut fast, 1, bank, now, after, 0)
            };
            assert_eq!(at, expected);
        }
    }
}
