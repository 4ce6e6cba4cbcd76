// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution units: how many of each there are, and when each takes the next warp.

use warpwatt_base::calendar::Board;
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
    board: Board,
    /// Where the units of each pipe are on the board; the memory unit keeps its own time.
    units: [std::ops::Range<usize>; Pipe::COUNT],
    pub counters: UnitCounters,
}

impl Units {
    pub fn new(config: &Config) -> Units {
        let units = &config.units;
        let mut end = 0;
        let ranges = [units.sp, units.sfu, units.fp64, units.ldst, 0].map(|count| {
            end += count as usize;
            end - count as usize..end
        });
        Units { board: Board::new(end), units: ranges, counters: UnitCounters::default() }
    }

    /// Books a unit for an instruction whose operands are there from `ready` on; gives the cycle in which it starts.
    #[inline(always)]
    pub fn dispatch(&mut self, now: u64, ready: u64, timing: &Timing) -> u64 {
        let run = timing.initiation;
        self.board.advance(now);
        let start = self.board.book_any(self.units[timing.pipe as usize].clone(), ready, run);
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
