// SPDX-License-Identifier: MIT OR Apache-2.0
//! Readings of "divergent". Counters by phase go from all 32 lanes through guards, short blocks and ended lanes to warps that have split; a
//! reading is the first phase that counts as diverged.

use crate::point::PointRecord;

/// All lanes; the guard leaves some out; a short block; lanes that ended; a split warp.
pub const PHASES: [&str; 5] = ["all lanes", "under a guard", "short blocks", "lanes ended", "split"];
/// Bins of distances of successive lanes, as section 3 has them.
pub const BINS: [&str; 4] = ["zero", "up to 128", "up to 32K", "random"];
pub const RANDOM: usize = 3;

/// A reading: the suffix of its claim id, and the first phase that counts as diverged. The first is the one that judges: the active
/// mask before the guard has fewer than 32 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    pub name: &'static str,
    from: usize,
}

pub const READINGS: [Reading; 4] = [
    Reading { name: "", from: 2 },
    Reading { name: "short_is_whole", from: 3 },
    Reading { name: "split_only", from: 4 },
    Reading { name: "guard", from: 1 },
];
pub const JUDGED: Reading = READINGS[0];

impl Reading {
    /// `id` of the reading that judges, `id.name` of another.
    pub fn of(self, id: &str) -> String {
        match self.name {
            "" => id.to_owned(),
            name => format!("{id}.{name}"),
        }
    }

    /// Phases that are undiverged, or diverged.
    fn phases(self, diverged: bool) -> std::ops::Range<usize> {
        if diverged { self.from..PHASES.len() } else { 0..self.from }
    }

    /// What a counter by phase has in undiverged or in diverged warps.
    pub fn sum(self, point: &PointRecord, counter: &str, diverged: bool) -> Option<f64> {
        self.phases(diverged).map(|phase| point.bucket(counter, phase)).sum()
    }

    /// What a counter by phase and bin has in one bin, in undiverged or in diverged warps.
    pub fn bin(self, point: &PointRecord, counter: &str, diverged: bool, bin: usize) -> Option<f64> {
        self.phases(diverged).map(|phase| point.bucket(counter, phase * BINS.len() + bin)).sum()
    }
}
