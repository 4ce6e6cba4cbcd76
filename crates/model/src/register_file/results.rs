// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a result into the register file where techniques act: each of its registers waits for a result bus, then for its bank.

use warpwatt_base::calendar::HORIZON;

use super::map::Map;
use super::operands::OperandPort;
use super::site::{Coming, ReadPort, RegisterFileSite, WriteAccess, Written};
use super::{BUSES, Calendars};
use crate::sm::Unit;
use crate::techniques::Hung;

/// What writes results, and counts that.
pub struct ResultPort<'a> {
    pub(super) calendars: &'a mut Calendars,
    pub(super) ports: &'a mut ResultPorts,
}

/// The way of results into the banks, and the ports that they share with operands.
pub struct ResultPorts {
    pub(super) banks: OperandPort,
    pub(super) map: Map,
    /// Results do not go through the ports that operands come from, but through their own.
    pub(super) are_own: bool,
    /// The buses that results of units and of memory may use.
    pub(super) buses: [u64; 2],
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
        let bank = self.ports.map.bank(written.slot, written.register);
        let now = written.now;
        let OperandPort { columns, counters, spared, sub_banks, .. } = &mut self.ports.banks;
        let mut access = WriteAccess { bank, arrays: *sub_banks as u32, ready: now, awake: now };
        let mut port = ReadPort::of(columns, now);
        plan(&written, &mut access, &mut port);
        let (reads, read_arrays) = (port.reads, port.arrays);
        if reads != 0 {
            counters.reads += reads;
            spared[0] += reads * *sub_banks - read_arrays;
        }
        let memory = result.timing.unit == Unit::Memory;
        self.book(now, self.ports.buses[usize::from(memory)], access)
    }

    /// Books an access. Gives its cycle.
    #[inline(always)]
    fn book(&mut self, now: u64, buses: u64, access: WriteAccess) -> u64 {
        let start = self.calendars.book_any_on(BUSES, buses, access.ready);
        let OperandPort { columns, counters, spared, sub_banks, .. } = &mut self.ports.banks;
        let earliest = start.max(access.awake);
        let mut at = earliest;
        // Arrays that take that long to wake up keep nobody from the others of their bank: a calendar would, since it tells no cycles
        // apart beyond its horizon.
        if earliest - now < HORIZON {
            at = columns.book(usize::from(self.ports.are_own), access.bank, now, earliest - now, 0);
        }
        counters.writes += 1;
        counters.write_conflicts += start - access.ready + (at - earliest);
        spared[1] += *sub_banks - u64::from(access.arrays);
        at
    }
}
