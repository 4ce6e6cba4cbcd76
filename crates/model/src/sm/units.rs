// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution units: how many of each there are, and when each takes the next warp.

use warpwatt_base::calendar::HORIZON;
use warpwatt_base::counters::Charge;
use warpwatt_config::Config;

use super::decode::{Timing, Unit};
use crate::register_file::{Calendars, FIRST_UNIT, UNITS};

warpwatt_base::counters! {
    /// Warp instructions by unit.
    pub struct UnitCounters {
        sp: u64 = "units.sp.count", "Warp instructions on integer and single-precision units; branches and barriers included.", Charge::Unit("sp");
        sfu: u64 = "units.sfu.count", "Warp instructions on special function units.", Charge::Unit("sfu");
        fp64: u64 = "units.fp64.count", "Warp instructions on double-precision units.", Charge::Unit("fp64");
        shuffle: u64 = "units.shuffle.count", "Shuffles.", Charge::Op("shuffle");
        memory: u64 = "units.memory.count", "Warp instructions handed to the memory unit.", Charge::Unit("memory");
        sp_busy: u64 = "units.sp_busy.cycles", "Cycles in which integer and single-precision units could accept no other warp, summed over units.";
        sfu_busy: u64 = "units.sfu_busy.cycles", "The same for special function units.";
        fp64_busy: u64 = "units.fp64_busy.cycles", "The same for double-precision units.";
        waits: u64 = "units.waits.cycles", "Cycles that instructions with all operands waited for their unit.";
    }
}

/// Whether a run of cycles from one on is in sight.
#[inline(always)]
fn is_in_sight<const RUN: u64>(calendars: &Calendars, ready: u64) -> bool {
    ready - calendars.now() <= HORIZON - RUN
}

/// Books one of some units for `RUN` cycles from `ready` on, all in sight. False if none is free then: nothing is booked.
#[inline(always)]
fn takes_run<const RUN: u64>(calendars: &mut Calendars, units: u64, ready: u64) -> bool {
    let free = (0..RUN).fold(units, |free, after| free & !calendars.taken_on(UNITS, ready + after));
    if free != 0 {
        (0..RUN).for_each(|after| calendars.mark_on(UNITS, ready + after, free & free.wrapping_neg()));
    }
    free != 0
}

pub struct Units {
    /// The units of each pipe; the memory unit keeps its own time.
    units: [u64; Unit::COUNT],
    /// By unit: warp instructions, and cycles beyond the first in which their units could take no other.
    taken: [u64; Unit::COUNT],
    longer: [u64; Unit::COUNT],
    waits: u64,
}

impl Units {
    pub fn new(config: &Config) -> Units {
        let units = &config.units;
        let mut end = FIRST_UNIT;
        let units = [units.sp, units.sfu, units.fp64, units.ldst, 0].map(|count| {
            let first = end;
            end += count;
            ((1u64 << count) - 1) << first
        });
        Units { units, taken: [0; Unit::COUNT], longer: [0; Unit::COUNT], waits: 0 }
    }

    /// Books a unit for an instruction whose operands are there in one of the next few cycles, if one is free then, or in the cycle behind it; gives the cycle
    /// in which it starts.
    #[inline(always)]
    pub fn takes_at_once(&mut self, calendars: &mut Calendars, ready: u64, timing: &Timing) -> Option<u64> {
        let unit = timing.unit as usize;
        let units = self.units[unit];
        let start = match timing.initiation {
            1 if calendars.takes(UNITS, units, ready) => ready,
            1 if calendars.takes(UNITS, units, ready + 1) => {
                self.waits += 1;
                ready + 1
            }
            2 if takes_run::<2>(calendars, units, ready) => {
                self.longer[unit] += 1;
                ready
            }
            _ => return None,
        };
        self.taken[unit] += 1;
        Some(start)
    }

    /// Books a unit for an instruction whose operands are there from `ready` on; gives the cycle in which it starts.
    #[inline(always)]
    pub fn dispatch(&mut self, calendars: &mut Calendars, ready: u64, timing: &Timing) -> u64 {
        self.taken[timing.unit as usize] += 1;
        let units = self.units[timing.unit as usize];
        let start = match timing.initiation {
            1 => calendars.book_any_on(UNITS, units, ready),
            2 if is_in_sight::<2>(calendars, ready) && takes_run::<2>(calendars, units, ready) => {
                self.longer[timing.unit as usize] += 1;
                ready
            }
            run => self.dispatch_long(calendars, ready, timing.unit, run),
        };
        self.waits += start - ready;
        start
    }

    /// [`Units::dispatch`] where [`Units::takes_at_once`] has no answer.
    #[inline(always)]
    pub fn dispatch_later(&mut self, calendars: &mut Calendars, ready: u64, timing: &Timing) -> u64 {
        let (unit, run) = (timing.unit as usize, timing.initiation);
        self.taken[unit] += 1;
        self.longer[unit] += u64::from(run) - 1;
        let units = self.units[unit];
        let start = match run {
            1 => calendars.book_any_behind(UNITS, units, ready),
            4 if takes_run::<4>(calendars, units, ready) => ready,
            _ => calendars.book_run_on(UNITS, units, ready, u32::from(run)),
        };
        self.waits += start - ready;
        start
    }

    /// [`Units::dispatch`] of an instruction that keeps its unit for `run` cycles.
    #[cold]
    #[inline(never)]
    fn dispatch_long(&mut self, calendars: &mut Calendars, ready: u64, unit: Unit, run: u16) -> u64 {
        self.longer[unit as usize] += u64::from(run) - 1;
        if run == 4
            && is_in_sight::<4>(calendars, ready)
            && takes_run::<4>(calendars, self.units[unit as usize], ready)
        {
            return ready;
        }
        calendars.book_run_on(UNITS, self.units[unit as usize], ready, u32::from(run))
    }

    /// An instruction goes to the memory unit.
    #[inline(always)]
    pub fn hand_over(&mut self) {
        self.taken[Unit::Memory as usize] += 1;
    }

    pub fn counters(&self) -> UnitCounters {
        let [sp, sfu, fp64, shuffle, memory] = self.taken;
        let [sp_busy, sfu_busy, fp64_busy] = std::array::from_fn(|unit| self.taken[unit] + self.longer[unit]);
        UnitCounters { sp, sfu, fp64, shuffle, memory, sp_busy, sfu_busy, fp64_busy, waits: self.waits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    /// Books runs on calendars of their own, and on those of a twin.
    fn compare<const RUN: u64>() {
        let mut random = SplitMix64::new(RUN);
        let (mut fast, mut plain) = (Calendars::default(), Calendars::default());
        let mut now = 0;
        for _ in 0..100_000 {
            now += random.next_u64() % (RUN + 1);
            fast.advance(now);
            plain.advance(now);
            let units = 1 + random.next_u64() % 3;
            let after = [4, 70][usize::from(random.next_u64().is_multiple_of(40))];
            let ready = now + 1 + random.next_u64() % after;
            let expected = plain.book_run_on(UNITS, units, ready, RUN as u32);
            let at_once = is_in_sight::<RUN>(&fast, ready) && takes_run::<RUN>(&mut fast, units, ready);
            let start = if at_once { ready } else { fast.book_run_on(UNITS, units, ready, RUN as u32) };
            assert_eq!(start, expected);
        }
    }

    #[test]
    fn cycles_in_a_row_are_booked_as_a_calendar_does() {
        compare::<2>();
        compare::<4>();
    }
}
