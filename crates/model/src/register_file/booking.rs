// SPDX-License-Identifier: MIT OR Apache-2.0
//! The accesses that read an instruction's operands where no technique acts: booked in their order, each as early as it can.

use warpwatt_base::calendar::HORIZON;

use super::{Calendars, READS};

/// Cycles in which the operands that a collector takes are counted, in four bits each.
pub(super) const COUNTED: u64 = 15;

/// The accesses of one instruction.
pub(super) struct Booking {
    now: u64,
    ports: u64,
    /// Operands that the collector takes in each of the next cycles.
    taken: u64,
    /// Cycles that accesses waited for their banks or for the collector.
    pub waited: u64,
}

impl Booking {
    pub fn new(now: u64, ports: u64) -> Booking {
        Booking { now, ports, taken: 0, waited: 0 }
    }

    /// Books an access to a bank. Gives its cycle.
    #[inline(always)]
    pub fn book(&mut self, calendars: &mut Calendars, bank: u64) -> u64 {
        let first = self.now + 1;
        let (mut at, mut taken) = (first, self.taken);
        while at - self.now < HORIZON
            && (calendars.taken_on(READS, at) & bank != 0 || taken & 15 == self.ports)
        {
            at += 1;
            taken >>= 4;
        }
        if at - self.now < HORIZON {
            calendars.mark_on(READS, at, bank);
        } else {
            at = calendars.book_on(READS, bank, at);
        }
        let wait = at - first;
        if wait < COUNTED {
            self.taken += 1 << (4 * wait);
        }
        self.waited += wait;
        at
    }
}
