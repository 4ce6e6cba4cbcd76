// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equal units that take an item a cycle each, for items that come in the order of time: packers, ports of a table.

/// When the units are free. No item may ask for an earlier cycle than the one before it; so all units are taken from that cycle on up to some cycle,
/// in which some are, and none after it. A calendar would find the same places, and has to look at many of them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Queue {
    /// The first place that is free, if time has not passed it: its cycle, and below that ([`UNITS`] bits) how many units are taken in it.
    next: u64,
}

/// Bits of a number of units.
const UNITS: u32 = 8;

impl Queue {
    /// Takes one of so many units, fewer than 256, in the first cycle from `now` on in which one is free. Gives how many cycles after `now` that is.
    #[inline(always)]
    pub fn wait(&mut self, units: u32, now: u64) -> u64 {
        let place = self.next.max(now << UNITS);
        let after = place + 1;
        let last = (1 << UNITS) - 1;
        self.next = if after & last == u64::from(units) { (place | last) + 1 } else { after };
        (place >> UNITS) - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;
    use warpwatt_base::calendar::Board;

    #[test]
    fn places_are_those_of_a_calendar() {
        let mut random = SplitMix64::new(11);
        for units in [1, 2, 3, 8, 16, 31] {
            let (mut queue, mut board, mut now) = (Queue::default(), Board::default(), 0);
            for item in 0..40_000u64 {
                // At times there are more than the units can take for long, at times fewer.
                let rate = if item / 1000 % 2 == 0 { u64::from(units) + 1 } else { 1 };
                if random.next_u64().is_multiple_of(rate) {
                    now += 1 + random.next_u64() % 3 * u64::from(random.next_u64().is_multiple_of(9));
                    board.advance(now);
                }
                let expected = board.book_any((1 << units) - 1, now);
                assert_eq!(now + queue.wait(units, now), expected, "{units} units");
            }
        }
    }
}
