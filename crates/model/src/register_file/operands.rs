// SPDX-License-Identifier: MIT OR Apache-2.0
//! The accesses that read an instruction's operands where techniques act: booked in their order, each as early as it can.

use super::booking::COUNTED;
use super::columns::Columns;
use super::plan::ReadPlan;
use super::site::RegisterFileSite;
use super::{READS, RegisterCounters};
use crate::sm::Timing;
use crate::techniques::Hung;

/// The ports of the banks as techniques use them: what reads operands, and counts that.
pub struct OperandPort {
    pub(super) columns: Columns,
    /// What accesses of operands and results count here.
    pub(super) counters: RegisterCounters,
    /// Activations of sub-banks that were saved, of reads and of writes.
    pub(super) spared: [u64; 2],
    /// Operands that a collector takes in a cycle.
    pub(super) ports: u64,
    /// Sub-banks of a bank.
    pub(super) sub_banks: u64,
}

/// The accesses for one instruction.
pub struct Reads {
    pub now: u64,
    /// Operands that the collector takes in each of the next cycles, in four bits each; cycles, from the present on, in which it takes no more.
    taken: u64,
    full: u64,
    /// Cycles that they waited for their banks or for the collector.
    waited: u64,
    /// When all data are there.
    ready: u64,
}

impl Reads {
    /// An instruction issues now.
    #[inline(always)]
    pub fn new(now: u64) -> Reads {
        Reads { now, taken: 0, full: 0, waited: 0, ready: now + 1 }
    }

    /// The collector takes an operand so many cycles after the first possible one.
    #[inline(always)]
    fn collect(&mut self, wait: u64, ports: u64) {
        if wait < COUNTED {
            // With one port there is nothing to count.
            if ports != 1 {
                self.taken += 1 << (4 * wait);
            }
            if ports == 1 || self.taken >> (4 * wait) & 15 == ports {
                self.full |= 2 << wait;
            }
        }
    }

    /// An operand is there in a cycle, if not before.
    #[inline(always)]
    pub fn delay_until(&mut self, ready: u64) {
        self.ready = self.ready.max(ready);
    }
}

impl OperandPort {
    /// Books an access, not earlier than `delay` cycles after the first possible one. Gives its cycle; its data are in the collector in the next one. It is
    /// left to the caller to count accesses and the arrays that they activate.
    #[inline(always)]
    pub fn read(&mut self, reads: &mut Reads, bank: u8, delay: u64) -> u64 {
        let now = reads.now;
        let at = self.columns.book(READS, bank, now, 1 + delay, reads.full);
        let wait = at - now - 1;
        reads.collect(wait, self.ports);
        reads.waited += wait - delay;
        reads.ready = reads.ready.max(at + 1);
        at
    }

    /// Reads operands of an instruction that issues now, all of them in one bank, each not earlier than some cycles after the first possible one, and none
    /// of these delays shorter than the one before it. Gives the cycles of the accesses, which it counts; all data are there in the cycle after the last.
    ///
    /// A bank gives one operand a cycle, so that they do not wait for the collector, and they come in their order.
    #[inline(always)]
    pub fn read_run<const N: usize>(&mut self, now: u64, bank: u8, delays: [u64; N]) -> [u64; N] {
        let (mut after, mut waited) = ([0; N], 0u64);
        for (after, delay) in after.iter_mut().zip(delays) {
            *after = 1 + delay;
        }
        let at = self.columns.book_run(READS, bank, now, after, 0);
        for (at, after) in at.iter().zip(after) {
            waited += at - now - after;
        }
        self.counters.reads += N as u64;
        self.counters.read_conflicts += waited;
        at
    }

    /// Accesses did not activate all arrays of their banks, but so many fewer.
    #[inline(always)]
    pub fn spare(&mut self, arrays: u64) {
        self.spared[0] += arrays;
    }

    /// Counts the accesses for an instruction; gives the cycle in which all data are there.
    #[inline(always)]
    pub fn finish(&mut self, reads: Reads, accesses: u64) -> u64 {
        self.counters.reads += accesses;
        self.counters.read_conflicts += reads.waited;
        reads.ready
    }

    /// Reads operands as techniques have planned them; gives the cycle in which all data are there.
    #[inline(never)]
    pub(super) fn read_planned(
        &mut self,
        sites: &mut [Hung<dyn RegisterFileSite>],
        plan: &mut ReadPlan,
        now: u64,
        slot: usize,
        timing: &Timing,
    ) -> u64 {
        for hung in sites.iter_mut() {
            hung.site.plan(now, slot, timing, plan);
        }
        let mut reads = Reads::new(now);
        for access in plan.accesses_mut() {
            access.at = self.read(&mut reads, access.bank, u64::from(access.delay));
            self.spare(self.sub_banks - u64::from(access.arrays));
        }
        for hung in sites {
            reads.delay_until(hung.site.arrive(now, slot, plan));
        }
        self.finish(reads, plan.accesses().len() as u64)
    }
}
