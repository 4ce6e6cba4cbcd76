// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a result into the register file where techniques act: each of its registers waits for a result bus, then for its bank.

use warpwatt_base::calendar::HORIZON;

use super::columns::Columns;
use super::map::Map;
use super::site::{Coming, ReadPort, RegisterFileSite, WriteAccess, Written};
use super::{BUSES, Calendars, RegisterCounters};
use crate::techniques::Hung;

/// What writes results, and counts that.
pub struct ResultPort<'a> {
    pub(super) calendars: &'a mut Calendars,
    pub(super) columns: &'a mut Columns,
    pub(super) counters: &'a mut RegisterCounters,
    /// Activations of sub-banks that were saved, of reads and of writes.
    pub(super) spared: &'a mut [u64; 2],
    pub(super) map: &'a Map,
    /// Results do not go through the ports that operands come from, but through their own.
    pub(super) own_ports: bool,
    /// The buses that this result may use.
    pub(super) buses: u64,
    /// Sub-banks of a bank.
    pub(super) sub_banks: u32,
}

impl ResultPort<'_> {
    /// Writes a result as several techniques have it, one after the other. Gives the cycle in which all of it is written.
    #[inline(never)]
    pub(super) fn write_for(&mut self, sites: &mut [Hung<dyn RegisterFileSite>], result: &Coming) -> u64 {
        self.write_from(result, 0, |written, access, port| {
            sites.iter_mut().for_each(|hung| hung.site.write(written, access, port));
        })
    }

    /// Writes the registers of a result from a word on, each as `plan` has it. Gives the cycle in which all of them are written.
    #[inline(always)]
    pub fn write_from(
        &mut self,
        result: &Coming,
        first: u8,
        mut plan: impl FnMut(&Written, &mut WriteAccess, &mut ReadPort),
    ) -> u64 {
        let mut done = result.now;
        for word in first..result.timing.dst_words {
            done = done.max(self.write_word(result, word, &mut plan));
        }
        done
    }

    /// Writes a register of a result as `plan` has it. Gives the cycle in which it is written.
    #[inline(always)]
    pub fn write_word(
        &mut self,
        result: &Coming,
        word: u8,
        plan: impl FnOnce(&Written, &mut WriteAccess, &mut ReadPort),
    ) -> u64 {
        let written = result.register(word);
        let bank = self.map.bank(written.slot, written.register);
        let now = written.now;
        let mut access = WriteAccess { bank, arrays: self.sub_banks, ready: now, awake: now };
        let mut port = ReadPort::of(self.columns, now);
        plan(&written, &mut access, &mut port);
        let (reads, read_arrays) = (port.reads, port.arrays);
        if reads != 0 {
            self.counters.reads += reads;
            self.spared[0] += reads * u64::from(self.sub_banks) - read_arrays;
        }
        self.book(now, access)
    }

    /// Books an access. Gives its cycle.
    #[inline(always)]
    fn book(&mut self, now: u64, access: WriteAccess) -> u64 {
        let start = self.calendars.book_any_on(BUSES, self.buses, access.ready);
        let earliest = start.max(access.awake);
        let mut at = earliest;
        // Arrays that take that long to wake up keep nobody from the others of their bank: a calendar would, since it tells no cycles
        // apart beyond its horizon.
        if earliest - now < HORIZON {
            at = self.columns.book(usize::from(self.own_ports), access.bank, now, earliest - now, 0);
        }
        self.counters.writes += 1;
        self.counters.write_conflicts += start - access.ready + (at - earliest);
        self.spared[1] += u64::from(self.sub_banks - access.arrays);
        at
    }
}
