// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution units: how many of each there are, and when each takes the next warp.

use warpwatt_base::calendar::Calendar;
use warpwatt_config::Config;

use super::decode::{Pipe, Timing};

warpwatt_base::counters! {
    /// Warp instructions by unit.
    pub struct UnitCounters {
        sp: u64 = "units.sp.count", "Warp instructions on integer and single-precision units; branches and barriers included.";
        sfu: u64 = "units.sfu.count", "Warp instructions on special function units.";
        fp64: u64 = "units.fp64.count", "Warp instructions on double-precision units.";
        shuffle: u64 = "units.shuffle.count", "Shuffles.";
        memory: u64 = "units.memory.count", "Warp instructions handed to the memory unit.";
        sp_busy: u64 = "units.sp_busy.cycles", "Cycles that integer and single-precision units could take no other warp, added up.";
        sfu_busy: u64 = "units.sfu_busy.cycles", "The same for special function units.";
        fp64_busy: u64 = "units.fp64_busy.cycles", "The same for double-precision units.";
        waits: u64 = "units.waits.cycles", "Cycles that instructions with all operands waited for their unit.";
    }
}

pub struct Units {
    /// By pipe; the memory unit keeps its own calendar.
    calendars: [Vec<Calendar>; Pipe::COUNT],
    pub counters: UnitCounters,
}

impl Units {
    pub fn new(config: &Config) -> Units {
        let units = &config.units;
        let some = |count: u32| vec![Calendar::default(); count as usize];
        Units {
            calendars: [some(units.sp), some(units.sfu), some(units.fp64), some(units.ldst), Vec::new()],
            counters: UnitCounters::default(),
        }
    }

    /// Books a unit for an instruction whose operands are there from `ready` on; gives the cycle in which it starts.
    #[inline(always)]
    pub fn dispatch(&mut self, now: u64, ready: u64, timing: &Timing) -> u64 {
        let run = timing.initiation;
        let calendars = &mut self.calendars[timing.pipe as usize];
        let (mut unit, mut start) = (0, calendars[0].first_run(now, ready, run));
        for other in 1..calendars.len() {
            if start == ready {
                break;
            }
            let at = calendars[other].first_run(now, ready, run);
            if at < start {
                (unit, start) = (other, at);
            }
        }
        calendars[unit].take(start, run);
        self.counters.waits += start - ready;
        match timing.pipe {
            Pipe::Sp => {
                self.counters.sp += 1;
                self.counters.sp_busy += u64::from(run);
            }
            Pipe::Sfu => {
                self.counters.sfu += 1;
                self.counters.sfu_busy += u64::from(run);
            }
            Pipe::Fp64 => {
                self.counters.fp64 += 1;
                self.counters.fp64_busy += u64::from(run);
            }
            Pipe::Shuffle => self.counters.shuffle += 1,
            Pipe::Memory => {}
        }
        start
    }
}
