// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a result into the register file where techniques act: each of its registers waits for a result bus, then for its bank.

use warpwatt_base::calendar::HORIZON;

use super::columns::Columns;
use super::map::Map;
use super::site::{ReadPort, Values, WriteAccess, Written};
use super::{BUSES, Calendars};
use crate::sm::Timing;

/// What writes results.
pub struct ResultPort<'a> {
    pub(super) calendars: &'a mut Calendars,
    pub(super) columns: &'a mut Columns,
    pub(super) map: &'a Map,
    /// The calendar of the ports that results go through, and the buses that this result may use.
    pub(super) board: usize,
    pub(super) buses: u64,
    /// Arrays of a bank.
    pub(super) arrays: u32,
}

/// The accesses for one result.
pub struct Writes {
    /// When all of it is written.
    pub(super) done: u64,
    /// Cycles that it waited for buses and banks, and arrays that it activated.
    pub(super) waited: u64,
    pub(super) arrays: u64,
    /// Accesses that read registers ahead, and arrays that they activated.
    pub(super) reads: u64,
    pub(super) read_arrays: u64,
}

impl ResultPort<'_> {
    /// Writes the registers of an instruction's result, each as `plan` has it.
    #[inline(always)]
    pub fn write(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        values: Values,
        mut plan: impl FnMut(&Written, &mut WriteAccess, &mut ReadPort),
    ) -> Writes {
        let mut writes = Writes { done: now, waited: 0, arrays: 0, reads: 0, read_arrays: 0 };
        for word in 0..timing.dst_words {
            let register = timing.dst + word;
            let upper = timing.upper_words >> word & 1 != 0;
            let written = Written { now, slot, register, upper, values: values.of(register) };
            let bank = self.map.bank(slot, register);
            let mut access = WriteAccess { bank, arrays: self.arrays, ready: now, awake: now };
            let mut port = ReadPort::of(self.calendars);
            plan(&written, &mut access, &mut port);
            writes.reads += port.reads;
            writes.read_arrays += port.arrays;
            writes.arrays += u64::from(access.arrays);
            let start = self.calendars.book_any_on(BUSES, self.buses, access.ready);
            let earliest = start.max(access.awake);
            let mut at = earliest;
            // Arrays that take that long to wake up keep nobody from the others of their bank: a calendar would, since it tells no cycles
            // apart beyond its horizon.
            if earliest - now < HORIZON {
                at = self.columns.book(self.calendars, self.board, access.bank, now, earliest - now, 0);
            }
            writes.waited += start - access.ready + (at - earliest);
            writes.done = writes.done.max(at);
        }
        writes
    }
}
