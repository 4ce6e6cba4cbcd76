// SPDX-License-Identifier: MIT OR Apache-2.0
//! What drowsy regions count, cache by cache.

use warpwatt_base::counters::Charge;

use crate::cache::Array;

warpwatt_base::counters! {
    /// Counters of drowsy regions. Times are those of lines, or of rows of shared memory, added up.
    pub struct Counters {
        l1d_asleep: u64 = "l1d.drowsy.cycles", "Cycles that lines of the L1 data cache slept, added up.";
        l1d_asleep_busy: u64 = "l1d.drowsy_busy.cycles", "Of these, those while the SM had warps.";
        l1d_on: u64 = "l1d.on.cycles", "Cycles that lines of the L1 data cache were on or woke up, added up.";
        l1d_on_busy: u64 = "l1d.on_busy.cycles", "Of these, those while the SM had warps.";
        l1d_wakeups: u64 = "l1d.wakeups.count", "Regions of the L1 data cache that were woken.", Charge::Lines;
        l1d_waits: u64 = "l1d.wakeup_waits.cycles", "Cycles that accesses to the L1 data cache waited for a region to wake up; nobody waits for stores.";
        l1d_borrowed_asleep: u64 = "l1d.borrowed_drowsy.cycles", "Cycles that rows of shared memory slept that the L1 data cache had by a kernel's preference, added up.";
        l1d_borrowed_on: u64 = "l1d.borrowed_on.cycles", "Cycles that such rows were on or woke up, added up.";
        l2_asleep: u64 = "l2.drowsy.clocks", "L2 clocks that lines of the L2 slices slept, added up.";
        l2_asleep_busy: u64 = "l2.drowsy_busy.clocks", "Of these, those while a kernel was under way.";
        l2_on: u64 = "l2.on.clocks", "L2 clocks that lines of the L2 slices were on or woke up, added up.";
        l2_on_busy: u64 = "l2.on_busy.clocks", "Of these, those while a kernel was under way.";
        l2_wakeups: u64 = "l2.wakeups.count", "Regions of the L2 slices that were woken.", Charge::AllLines;
        l2_waits: u64 = "l2.wakeup_waits.clocks", "L2 clocks that accesses to the L2 slices waited for a region to wake up; nobody waits for stores.";
        constant_asleep: u64 = "constant.drowsy.cycles", "Cycles that lines of the constant cache slept, added up.";
        constant_asleep_busy: u64 = "constant.drowsy_busy.cycles", "Of these, those while the SM had warps.";
        constant_on: u64 = "constant.on.cycles", "Cycles that lines of the constant cache were on or woke up, added up.";
        constant_on_busy: u64 = "constant.on_busy.cycles", "Of these, those while the SM had warps.";
        constant_wakeups: u64 = "constant.wakeups.count", "Regions of the constant cache that were woken.", Charge::ConstantCache;
        constant_waits: u64 = "constant.wakeup_waits.cycles", "Cycles that accesses to the constant cache waited for a region to wake up; nobody waits for stores.";
        texture_asleep: u64 = "texture.drowsy.cycles", "Cycles that lines of the texture cache slept, added up.";
        texture_asleep_busy: u64 = "texture.drowsy_busy.cycles", "Of these, those while the SM had warps.";
        texture_on: u64 = "texture.on.cycles", "Cycles that lines of the texture cache were on or woke up, added up.";
        texture_on_busy: u64 = "texture.on_busy.cycles", "Of these, those while the SM had warps.";
        texture_wakeups: u64 = "texture.wakeups.count", "Regions of the texture cache that were woken.", Charge::TextureLines;
        texture_waits: u64 = "texture.wakeup_waits.cycles", "Cycles that accesses to the texture cache waited for a region to wake up; nobody waits for stores.";
        shared_asleep: u64 = "shared.drowsy.cycles", "Cycles that rows of 128 bytes of the shared memory slept, added up.";
        shared_asleep_busy: u64 = "shared.drowsy_busy.cycles", "Of these, those while the SM had warps.";
        shared_on: u64 = "shared.on.cycles", "Cycles that rows of 128 bytes of the shared memory were on or woke up, added up.";
        shared_on_busy: u64 = "shared.on_busy.cycles", "Of these, those while the SM had warps.";
        shared_wakeups: u64 = "shared.wakeups.count", "Regions of the shared memory that were woken.", Charge::Shared;
        shared_waits: u64 = "shared.wakeup_waits.cycles", "Cycles that accesses to the shared memory waited for a region to wake up; nobody waits for stores.";
        shared_lent: u64 = "shared.lent.cycles", "Cycles that rows of shared memory belonged to the L1 data cache by a kernel's preference, added up.";
        icache_asleep: u64 = "icache.drowsy.cycles", "Cycles that lines of the instruction cache slept, added up.";
        icache_asleep_busy: u64 = "icache.drowsy_busy.cycles", "Of these, those while the SM had warps.";
        icache_on: u64 = "icache.on.cycles", "Cycles that lines of the instruction cache were on or woke up, added up.";
        icache_on_busy: u64 = "icache.on_busy.cycles", "Of these, those while the SM had warps.";
        icache_wakeups: u64 = "icache.wakeups.count", "Regions of the instruction cache that were woken.", Charge::Issues;
        icache_waits: u64 = "icache.wakeup_waits.cycles", "Cycles that accesses to the instruction cache waited for a region to wake up; nobody waits for stores.";
    }
}

/// What one array counted.
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
    /// Those of one array, the others at zero.
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
