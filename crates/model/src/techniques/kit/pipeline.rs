// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pipelined units of a technique: compressors, decompressors, packers.

use warpwatt_base::calendar::Board;

/// Units that take an item a cycle each, and give it back some cycles later.
pub struct Pipeline {
    board: Board,
    units: u64,
    cycles: u64,
}

impl Pipeline {
    pub fn new(units: u32, cycles: u32) -> Pipeline {
        Pipeline { board: Board::default(), units: (1 << units) - 1, cycles: u64::from(cycles) }
    }

    /// The cycle in which an item that arrives in cycle `at` comes out, and how long it waited for a unit. Without latency, the units
    /// take any number of items in a cycle.
    #[inline(always)]
    pub fn pass(&mut self, now: u64, at: u64) -> (u64, u64) {
        if self.cycles == 0 {
            return (at, 0);
        }
        self.board.advance(now);
        let start = self.board.book_any(self.units, at);
        (start + self.cycles, start - at)
    }
}
