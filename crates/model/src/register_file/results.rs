// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a result into the register file where techniques act: each of its registers waits for a result bus, then for its bank.

use warpwatt_base::calendar::HORIZON;

use super::columns::Columns;
use super::map::Map;
use super::site::{ReadPort, RegisterFileSite, Values, WriteAccess, Written};
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

impl Writes {
    /// A result comes now. Nothing is written yet.
    #[inline(always)]
    fn new(now: u64) -> Writes {
        Writes { done: now, waited: 0, arrays: 0, reads: 0, read_arrays: 0 }
    }

    /// Something was read ahead.
    #[inline(always)]
    fn read(&mut self, port: &ReadPort) {
        self.reads += port.reads;
        self.read_arrays += port.arrays;
    }
}

impl ResultPort<'_> {
    /// Writes the registers of an instruction's result, each as `plan` has it.
    pub fn write(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        values: Values,
        mut plan: impl FnMut(&Written, &mut WriteAccess, &mut ReadPort),
    ) -> Writes {
        let mut writes = Writes::new(now);
        for word in 0..timing.dst_words {
            self.write_word(&mut writes, &Written::new(now, slot, timing, word, values), &mut plan);
        }
        writes
    }

    /// [`ResultPort::write`] as a site has it that is the only one. Few results have more than a register: there is no loop, so that nothing is kept for
    /// further ones.
    #[inline(always)]
    pub fn write_for<S: RegisterFileSite>(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        values: Values,
        site: &mut S,
    ) -> Writes {
        let mut writes = Writes::new(now);
        if timing.dst_words != 0 {
            let written = Written::new(now, slot, timing, 0, values);
            let mut access = self.access(&written);
            let mut port = ReadPort::of(self.calendars);
            site.write_first(&written, &mut access, &mut port);
            writes.read(&port);
            self.book(&mut writes, now, access);
        }
        if timing.dst_words > 1 {
            writes = self.write_rest(writes, now, slot, timing, values, site);
        }
        writes
    }

    /// Writes all registers but the first.
    #[inline(never)]
    fn write_rest(
        &mut self,
        mut writes: Writes,
        now: u64,
        slot: usize,
        timing: &Timing,
        values: Values,
        site: &mut dyn RegisterFileSite,
    ) -> Writes {
        for word in 1..timing.dst_words {
            let written = Written::new(now, slot, timing, word, values);
            self.write_word(&mut writes, &written, |written, access, port| site.write(written, access, port));
        }
        writes
    }

    /// Writes a register as `plan` has it.
    fn write_word(
        &mut self,
        writes: &mut Writes,
        written: &Written,
        plan: impl FnOnce(&Written, &mut WriteAccess, &mut ReadPort),
    ) {
        let mut access = self.access(written);
        let mut port = ReadPort::of(self.calendars);
        plan(written, &mut access, &mut port);
        writes.read(&port);
        self.book(writes, written.now, access);
    }

    /// How a register is written if no technique changes that.
    #[inline(always)]
    fn access(&self, &Written { now, slot, register, .. }: &Written) -> WriteAccess {
        let bank = self.map.bank(slot, register);
        WriteAccess { bank, arrays: self.arrays, ready: now, awake: now }
    }

    /// Books an access.
    #[inline(always)]
    fn book(&mut self, writes: &mut Writes, now: u64, access: WriteAccess) {
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
}
