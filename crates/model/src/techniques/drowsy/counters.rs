// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of drowsy regions, cache by cache.

use warpwatt_base::counters::Charge;

use crate::cache::Array;

warpwatt_base::counters! {
    /// Counters of drowsy regions. Times are those of lines, or of rows of shared memory, added up.
    pub struct Counters {
        l1d_asleep: u64 = "l1d.drowsy.cycles", "Cycles in which lines of the L1 data cache were drowsy, summed over lines.";
        l1d_asleep_busy: u64 = "l1d.drowsy_busy.cycles", "Cycles in which lines of the L1 data cache were drowsy while the SM had warps, summed over lines.";
        l1d_on: u64 = "l1d.on.cycles", "Cycles in which lines of the L1 data cache were on or waking up, summed over lines.";
        l1d_on_busy: u64 = "l1d.on_busy.cycles", "Cycles in which lines of the L1 data cache were on or waking up while the SM had warps, summed over lines.";
        l1d_wakeups: u64 = "l1d.wakeups.count", "Regions of the L1 data cache that were woken.", Charge::Lines;
        l1d_waits: u64 = "l1d.wakeup_waits.cycles", "Cycles that accesses to the L1 data cache waited for a region to wake up; stores and write-backs do not wait.";
        l1d_borrowed_asleep: u64 = "l1d.borrowed_drowsy.cycles", "Cycles in which rows of shared memory that belong to L1 by a kernel's preference were drowsy, summed over rows.";
        l1d_borrowed_on: u64 = "l1d.borrowed_on.cycles", "Cycles in which rows of shared memory that belong to L1 by a kernel's preference were on or waking up, summed over rows.";
        l2_asleep: u64 = "l2.drowsy.clocks", "L2 clocks in which lines of the L2 slices were drowsy, summed over lines.";
        l2_asleep_busy: u64 = "l2.drowsy_busy.clocks", "L2 clocks in which lines of the L2 slices were drowsy while a kernel was running, summed over lines.";
        l2_on: u64 = "l2.on.clocks", "L2 clocks in which lines of the L2 slices were on or waking up, summed over lines.";
        l2_on_busy: u64 = "l2.on_busy.clocks", "L2 clocks in which lines of the L2 slices were on or waking up while a kernel was running, summed over lines.";
        l2_wakeups: u64 = "l2.wakeups.count", "Regions of the L2 slices that were woken.", Charge::AllLines;
        l2_waits: u64 = "l2.wakeup_waits.clocks", "L2 clocks that accesses to the L2 slices waited for a region to wake up; stores and write-backs do not wait.";
        constant_asleep: u64 = "constant.drowsy.cycles", "Cycles in which lines of the constant cache were drowsy, summed over lines.";
        constant_asleep_busy: u64 = "constant.drowsy_busy.cycles", "Cycles in which lines of the constant cache were drowsy while the SM had warps, summed over lines.";
        constant_on: u64 = "constant.on.cycles", "Cycles in which lines of the constant cache were on or waking up, summed over lines.";
        constant_on_busy: u64 = "constant.on_busy.cycles", "Cycles in which lines of the constant cache were on or waking up while the SM had warps, summed over lines.";
        constant_wakeups: u64 = "constant.wakeups.count", "Regions of the constant cache that were woken.", Charge::ConstantCache;
        constant_waits: u64 = "constant.wakeup_waits.cycles", "Cycles that accesses to the constant cache waited for a region to wake up; stores and write-backs do not wait.";
        texture_asleep: u64 = "texture.drowsy.cycles", "Cycles in which lines of the texture cache were drowsy, summed over lines.";
        texture_asleep_busy: u64 = "texture.drowsy_busy.cycles", "Cycles in which lines of the texture cache were drowsy while the SM had warps, summed over lines.";
        texture_on: u64 = "texture.on.cycles", "Cycles in which lines of the texture cache were on or waking up, summed over lines.";
        texture_on_busy: u64 = "texture.on_busy.cycles", "Cycles in which lines of the texture cache were on or waking up while the SM had warps, summed over lines.";
        texture_wakeups: u64 = "texture.wakeups.count", "Regions of the texture cache that were woken.", Charge::TextureLines;
        texture_waits: u64 = "texture.wakeup_waits.cycles", "Cycles that accesses to the texture cache waited for a region to wake up; stores and write-backs do not wait.";
        shared_asleep: u64 = "shared.drowsy.cycles", "Cycles in which rows of 128 bytes of the shared memory were drowsy, summed over rows.";
        shared_asleep_busy: u64 = "shared.drowsy_busy.cycles", "Cycles in which rows of the shared memory were drowsy while the SM had warps, summed over rows.";
        shared_on: u64 = "shared.on.cycles", "Cycles in which rows of 128 bytes of the shared memory were on or waking up, summed over rows.";
        shared_on_busy: u64 = "shared.on_busy.cycles", "Cycles in which rows of the shared memory were on or waking up while the SM had warps, summed over rows.";
        shared_wakeups: u64 = "shared.wakeups.count", "Regions of the shared memory that were woken.", Charge::Shared;
        shared_waits: u64 = "shared.wakeup_waits.cycles", "Cycles that accesses to the shared memory waited for a region to wake up; stores and write-backs do not wait.";
        shared_lent: u64 = "shared.lent.cycles", "Cycles in which rows of shared memory belonged to L1 by a kernel's preference, summed over rows.";
        icache_asleep: u64 = "icache.drowsy.cycles", "Cycles in which lines of the instruction cache were drowsy, summed over lines.";
        icache_asleep_busy: u64 = "icache.drowsy_busy.cycles", "Cycles in which lines of the instruction cache were drowsy while the SM had warps, summed over lines.";
        icache_on: u64 = "icache.on.cycles", "Cycles in which lines of the instruction cache were on or waking up, summed over lines.";
        icache_on_busy: u64 = "icache.on_busy.cycles", "Cycles in which lines of the instruction cache were on or waking up while the SM had warps, summed over lines.";
        icache_wakeups: u64 = "icache.wakeups.count", "Regions of the instruction cache that were woken.", Charge::Issues;
        icache_waits: u64 = "icache.wakeup_waits.cycles", "Cycles that accesses to the instruction cache waited for a region to wake up; stores and write-backs do not wait.";
    }
}

/// Counts of one array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub asleep: u64,
    pub asleep_busy: u64,
    pub on: u64,
    pub on_busy: u64,
    pub wakeups: u64,
    pub waits: u64,
    pub borrowed_asleep: u64,
    pub borrowed_on: u64,
    pub lent: u64,
}

impl Counters {
    /// Counters of one array, the others at zero.
    pub fn of(array: Array, tally: &Tally) -> Counters {
        let Tally { asleep, asleep_busy, on, on_busy, wakeups, waits, .. } = *tally;
        let mut counters = Counters::default();
        match array {
            Array::L1d => {
                (counters.l1d_borrowed_asleep, counters.l1d_borrowed_on) =
                    (tally.borrowed_asleep, tally.borrowed_on);
            }
            Array::Shared => counters.shared_lent = tally.lent,
            _ => {}
        }
        let places = match array {
            Array::L1d => [
                &mut counters.l1d_asleep,
                &mut counters.l1d_asleep_busy,
                &mut counters.l1d_on,
                &mut counters.l1d_on_busy,
                &mut counters.l1d_wakeups,
                &mut counters.l1d_waits,
            ],
            Array::L2 => [
                &mut counters.l2_asleep,
                &mut counters.l2_asleep_busy,
                &mut counters.l2_on,
                &mut counters.l2_on_busy,
                &mut counters.l2_wakeups,
                &mut counters.l2_waits,
            ],
            Array::Constant => [
                &mut counters.constant_asleep,
                &mut counters.constant_asleep_busy,
                &mut counters.constant_on,
                &mut counters.constant_on_busy,
                &mut counters.constant_wakeups,
                &mut counters.constant_waits,
            ],
            Array::Texture => [
                &mut counters.texture_asleep,
                &mut counters.texture_asleep_busy,
                &mut counters.texture_on,
                &mut counters.texture_on_busy,
                &mut counters.texture_wakeups,
                &mut counters.texture_waits,
            ],
            Array::Shared => [
                &mut counters.shared_asleep,
                &mut counters.shared_asleep_busy,
                &mut counters.shared_on,
                &mut counters.shared_on_busy,
                &mut counters.shared_wakeups,
                &mut counters.shared_waits,
            ],
            Array::Instruction => [
                &mut counters.icache_asleep,
                &mut counters.icache_asleep_busy,
                &mut counters.icache_on,
                &mut counters.icache_on_busy,
                &mut counters.icache_wakeups,
                &mut counters.icache_waits,
            ],
        };
        places
            .into_iter()
            .zip([asleep, asleep_busy, on, on_busy, wakeups, waits])
            .for_each(|(place, count)| *place = count);
        counters
    }
}
