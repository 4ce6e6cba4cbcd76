// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of the profile of blocks, cache by cache.
//!
//! A block moves from bin to bin as its mean interval changes. Counters only grow, so that both directions are counted: blocks in a bin are those that
//! came less those that left.

use warpwatt_base::counters::{Charge, Count, Counter, Log2};

use crate::cache::Array;

/// Bins of uses: 1, 2, 4, ... 16384 and more.
pub const BINS: usize = 15;

/// Uses by the index of a frame. Caches of other SMs have as many frames, those of another size more or fewer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByFrame(pub Vec<u64>);

impl Counter for ByFrame {
    fn add(&mut self, other: &ByFrame) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(sum, uses)| *sum += uses);
    }

    fn since(&self, earlier: &ByFrame) -> ByFrame {
        let former = earlier.0.iter().copied().chain(std::iter::repeat(0));
        ByFrame(self.0.iter().zip(former).map(|(uses, former)| uses - former).collect())
    }

    fn value(&self) -> Count<'_> {
        Count::Histogram(&self.0)
    }
}

warpwatt_base::counters! {
    /// Counters of the profile.
    pub struct Counters {
        l1d_accesses: u64 = "profile.l1d_accesses.count", "Reads and writes of blocks of the L1 data caches.", Charge::Lines;
        l1d_lanes: u64 = "profile.l1d_lanes.count", "Active lanes of the accesses to the L1 data caches.", Charge::Lines;
        l1d_reached: [u64; BINS] = "profile.l1d_reached.histogram", "Blocks of the L1 data caches that were used for the first, second, 4th, 8th, ... 16384th time.";
        l1d_came: Log2 = "profile.l1d_came.histogram", "Blocks of the L1 data caches whose mean interval between uses came into a bin.";
        l1d_left: Log2 = "profile.l1d_left.histogram", "Blocks of the L1 data caches whose mean interval between uses left a bin.";
        l1d_mean_up: u64 = "profile.l1d_mean_up.cycles", "Mean intervals of blocks of the L1 data caches, summed at each change: the new mean.";
        l1d_mean_down: u64 = "profile.l1d_mean_down.cycles", "Mean intervals of blocks of the L1 data caches, summed at each change: the mean that is replaced.";
        l1d_gaps: Log2 = "profile.l1d_gaps.histogram", "Single intervals between two uses of the same block of the L1 data caches.";
        l1d_gap_sum: u64 = "profile.l1d_gap_sum.cycles", "Intervals between two uses of a block of the L1 data caches, summed.";
        l1d_by_frame: ByFrame = "profile.l1d_by_frame.histogram", "Uses of the blocks of the L1 data caches by index, summed over all SMs.";
        l2_accesses: u64 = "profile.l2_accesses.count", "Reads and writes of blocks of the L2 slices.", Charge::AllLines;
        l2_lanes: u64 = "profile.l2_lanes.count", "Active lanes of the accesses to the L2 slices.", Charge::AllLines;
        l2_reached: [u64; BINS] = "profile.l2_reached.histogram", "Blocks of the L2 slices that were used for the first, second, 4th, 8th, ... 16384th time.";
        l2_came: Log2 = "profile.l2_came.histogram", "Blocks of the L2 slices whose mean interval between uses came into a bin.";
        l2_left: Log2 = "profile.l2_left.histogram", "Blocks of the L2 slices whose mean interval between uses left a bin.";
        l2_mean_up: u64 = "profile.l2_mean_up.clocks", "Mean intervals of blocks of the L2 slices, summed at each change: the new mean.";
        l2_mean_down: u64 = "profile.l2_mean_down.clocks", "Mean intervals of blocks of the L2 slices, summed at each change: the mean that is replaced.";
        l2_gaps: Log2 = "profile.l2_gaps.histogram", "Single intervals between two uses of the same block of the L2 slices.";
        l2_gap_sum: u64 = "profile.l2_gap_sum.clocks", "Intervals between two uses of a block of the L2 slices, summed.";
        constant_accesses: u64 = "profile.constant_accesses.count", "Reads and writes of blocks of the constant caches.", Charge::ConstantCache;
        constant_lanes: u64 = "profile.constant_lanes.count", "Active lanes of the accesses to the constant caches.", Charge::ConstantCache;
        constant_reached: [u64; BINS] = "profile.constant_reached.histogram", "Blocks of the constant caches that were used for the first, second, 4th, 8th, ... 16384th time.";
        constant_came: Log2 = "profile.constant_came.histogram", "Blocks of the constant caches whose mean interval between uses came into a bin.";
        constant_left: Log2 = "profile.constant_left.histogram", "Blocks of the constant caches whose mean interval between uses left a bin.";
        constant_mean_up: u64 = "profile.constant_mean_up.cycles", "Mean intervals of blocks of the constant caches, summed at each change: the new mean.";
        constant_mean_down: u64 = "profile.constant_mean_down.cycles", "Mean intervals of blocks of the constant caches, summed at each change: the mean that is replaced.";
        constant_gaps: Log2 = "profile.constant_gaps.histogram", "Single intervals between two uses of the same block of the constant caches.";
        constant_gap_sum: u64 = "profile.constant_gap_sum.cycles", "Intervals between two uses of a block of the constant caches, summed.";
        constant_by_frame: ByFrame = "profile.constant_by_frame.histogram", "Uses of the blocks of the constant caches by index, summed over all SMs.";
        texture_accesses: u64 = "profile.texture_accesses.count", "Reads and writes of blocks of the texture caches.", Charge::TextureLines;
        texture_lanes: u64 = "profile.texture_lanes.count", "Active lanes of the accesses to the texture caches.", Charge::TextureLines;
        texture_reached: [u64; BINS] = "profile.texture_reached.histogram", "Blocks of the texture caches that were used for the first, second, 4th, 8th, ... 16384th time.";
        texture_came: Log2 = "profile.texture_came.histogram", "Blocks of the texture caches whose mean interval between uses came into a bin.";
        texture_left: Log2 = "profile.texture_left.histogram", "Blocks of the texture caches whose mean interval between uses left a bin.";
        texture_mean_up: u64 = "profile.texture_mean_up.cycles", "Mean intervals of blocks of the texture caches, summed at each change: the new mean.";
        texture_mean_down: u64 = "profile.texture_mean_down.cycles", "Mean intervals of blocks of the texture caches, summed at each change: the mean that is replaced.";
        texture_gaps: Log2 = "profile.texture_gaps.histogram", "Single intervals between two uses of the same block of the texture caches.";
        texture_gap_sum: u64 = "profile.texture_gap_sum.cycles", "Intervals between two uses of a block of the texture caches, summed.";
        texture_by_frame: ByFrame = "profile.texture_by_frame.histogram", "Uses of the blocks of the texture caches by index, summed over all SMs.";
        shared_accesses: u64 = "profile.shared_accesses.count", "Reads and writes of blocks of the shared memory.", Charge::Shared;
        shared_lanes: u64 = "profile.shared_lanes.count", "Active lanes of the accesses to shared memory.", Charge::Shared;
        shared_reached: [u64; BINS] = "profile.shared_reached.histogram", "Blocks of the shared memory that were used for the first, second, 4th, 8th, ... 16384th time.";
        shared_came: Log2 = "profile.shared_came.histogram", "Blocks of the shared memory whose mean interval between uses came into a bin.";
        shared_left: Log2 = "profile.shared_left.histogram", "Blocks of shared memory whose mean interval between uses left a bin.";
        shared_mean_up: u64 = "profile.shared_mean_up.cycles", "Mean intervals of blocks of shared memory, summed at each change: the new mean.";
        shared_mean_down: u64 = "profile.shared_mean_down.cycles", "Mean intervals of blocks of shared memory, summed at each change: the mean that is replaced.";
        shared_gaps: Log2 = "profile.shared_gaps.histogram", "Single intervals between two uses of the same block of shared memory.";
        shared_gap_sum: u64 = "profile.shared_gap_sum.cycles", "Intervals between two uses of a block of shared memory, summed.";
        shared_by_frame: ByFrame = "profile.shared_by_frame.histogram", "Uses of the blocks of the shared memory by index, summed over all SMs.";
        icache_accesses: u64 = "profile.icache_accesses.count", "Reads and writes of blocks of the instruction caches.", Charge::Issues;
        icache_lanes: u64 = "profile.icache_lanes.count", "Active lanes of the accesses to the instruction caches.", Charge::Issues;
        icache_reached: [u64; BINS] = "profile.icache_reached.histogram", "Blocks of the instruction caches that were used for the first, second, 4th, 8th, ... 16384th time.";
        icache_came: Log2 = "profile.icache_came.histogram", "Blocks of the instruction caches whose mean interval between uses came into a bin.";
        icache_left: Log2 = "profile.icache_left.histogram", "Blocks of the instruction caches whose mean interval between uses left a bin.";
        icache_mean_up: u64 = "profile.icache_mean_up.cycles", "Mean intervals of blocks of the instruction caches, summed at each change: the new mean.";
        icache_mean_down: u64 = "profile.icache_mean_down.cycles", "Mean intervals of blocks of the instruction caches, summed at each change: the mean that is replaced.";
        icache_gaps: Log2 = "profile.icache_gaps.histogram", "Single intervals between two uses of the same block of the instruction caches.";
        icache_gap_sum: u64 = "profile.icache_gap_sum.cycles", "Intervals between two uses of a block of the instruction caches, summed.";
        icache_by_frame: ByFrame = "profile.icache_by_frame.histogram", "Uses of the blocks of the instruction caches by index, summed over all SMs.";
    }
}

/// Counts of one array.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub accesses: u64,
    pub lanes: u64,
    pub reached: [u64; BINS],
    pub came: Log2,
    pub left: Log2,
    pub mean_up: u64,
    pub mean_down: u64,
    pub gaps: Log2,
    pub gap_sum: u64,
}

impl Counters {
    /// Counters of one array with the uses of its frames, the others at zero. The slices of L2, which all SMs use, are not added up by frame.
    pub fn of(array: Array, tally: &Tally, by_frame: ByFrame) -> Counters {
        let Tally { accesses, lanes, reached, came, left, mean_up, mean_down, gaps, gap_sum } = *tally;
        let none = Counters::default();
        match array {
            Array::L1d => Counters {
                l1d_accesses: accesses,
                l1d_lanes: lanes,
                l1d_reached: reached,
                l1d_came: came,
                l1d_left: left,
                l1d_mean_up: mean_up,
                l1d_mean_down: mean_down,
                l1d_gaps: gaps,
                l1d_gap_sum: gap_sum,
                l1d_by_frame: by_frame,
                ..none
            },
            Array::L2 => Counters {
                l2_accesses: accesses,
                l2_lanes: lanes,
                l2_reached: reached,
                l2_came: came,
                l2_left: left,
                l2_mean_up: mean_up,
                l2_mean_down: mean_down,
                l2_gaps: gaps,
                l2_gap_sum: gap_sum,
                ..none
            },
            Array::Constant => Counters {
                constant_accesses: accesses,
                constant_lanes: lanes,
                constant_reached: reached,
                constant_came: came,
                constant_left: left,
                constant_mean_up: mean_up,
                constant_mean_down: mean_down,
                constant_gaps: gaps,
                constant_gap_sum: gap_sum,
                constant_by_frame: by_frame,
                ..none
            },
            Array::Texture => Counters {
                texture_accesses: accesses,
                texture_lanes: lanes,
                texture_reached: reached,
                texture_came: came,
                texture_left: left,
                texture_mean_up: mean_up,
                texture_mean_down: mean_down,
                texture_gaps: gaps,
                texture_gap_sum: gap_sum,
                texture_by_frame: by_frame,
                ..none
            },
            Array::Shared => Counters {
                shared_accesses: accesses,
                shared_lanes: lanes,
                shared_reached: reached,
                shared_came: came,
                shared_left: left,
                shared_mean_up: mean_up,
                shared_mean_down: mean_down,
                shared_gaps: gaps,
                shared_gap_sum: gap_sum,
                shared_by_frame: by_frame,
                ..none
            },
            Array::Instruction => Counters {
                icache_accesses: accesses,
                icache_lanes: lanes,
                icache_reached: reached,
                icache_came: came,
                icache_left: left,
                icache_mean_up: mean_up,
                icache_mean_down: mean_down,
                icache_gaps: gaps,
                icache_gap_sum: gap_sum,
                icache_by_frame: by_frame,
                ..none
            },
        }
    }
}
