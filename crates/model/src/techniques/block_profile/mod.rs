// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile of the blocks of all caches, which changes nothing: how often each is used, how far apart its uses are, and how many lanes are
//! behind them (the drowsy-cache thesis, Figures 3-4 and 3-5 and Table 3-1). A block is a frame of a cache, or a row of 128 bytes of
//! shared memory, over the whole program.

mod counters;

use warpwatt_base::counters::{CounterSet, Log2};
use warpwatt_config::technique_parameters;

pub use counters::{BINS, ByFrame, Counters, Tally};

use crate::cache::{Array, ArrayAccess, ArrayShape, DataArraySite, LineId, Use};
use crate::techniques::{Build, Law, Sites, Technique};

technique_parameters! {
    /// Parameters of the profile.
    Parameters = "block-profile" {
        fills: bool = true, 0..=0, "", "A fill counts as an access to its block.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "block-profile",
    doc: "Profile of cache blocks: accesses, intervals and active lanes of each block. It changes nothing.",
    paper: "Drowsy and divided-word-line caches (thesis), section 3.2",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { data_array: Some(Profile::build), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "no more than 32 lanes are behind an access",
        holds: |observed| {
            let counters: &Counters = observed.own.of().expect("its own counters");
            counters.l1d_lanes <= 32 * counters.l1d_accesses && counters.l2_lanes <= 32 * counters.l2_accesses
        },
    }],
};

/// Uses of a block.
#[derive(Clone, Copy, Default)]
struct Block {
    uses: u64,
    first: u64,
    last: u64,
}

impl Block {
    /// Cycles between two uses in the mean; from the second use on.
    fn mean(&self) -> Option<u64> {
        (self.uses > 1).then(|| (self.last - self.first) / (self.uses - 1))
    }
}

struct Profile {
    array: Array,
    fills: bool,
    blocks: Vec<Block>,
    tally: Tally,
}

impl Profile {
    fn build(build: &Build, array: Array, shape: ArrayShape) -> Option<Box<dyn DataArraySite>> {
        let Parameters { fills } = *build.settings.of();
        let blocks = vec![Block::default(); shape.frames as usize];
        Some(Box::new(Profile { array, fills, blocks, tally: Tally::default() }))
    }

    /// Whether an access that missed reads its line after the fill. If not, the fill serves it, and counts as its use.
    fn reads_what_was_filled(&self) -> bool {
        matches!(self.array, Array::Texture | Array::Instruction)
    }

    fn note(&mut self, now: u64, frame: u32) {
        let block = &mut self.blocks[frame as usize];
        let before = block.mean();
        if block.uses == 0 {
            block.first = now;
        }
        // Some accesses are reported before others of earlier cycles.
        let now = now.max(block.last);
        if block.uses > 0 {
            self.tally.gaps.note(now - block.last);
            self.tally.gap_sum += now - block.last;
        }
        block.uses += 1;
        block.last = now;
        if block.uses.is_power_of_two()
            && let Some(bin) = self.tally.reached.get_mut(block.uses.trailing_zeros() as usize)
        {
            *bin += 1;
        }
        let after = block.mean();
        if before == after {
            return;
        }
        if let Some(mean) = before {
            self.tally.left.note(mean);
            self.tally.mean_down += mean;
        }
        if let Some(mean) = after {
            self.tally.came.note(mean);
            self.tally.mean_up += mean;
        }
    }
}

impl DataArraySite for Profile {
    fn access(&mut self, access: &ArrayAccess) -> u64 {
        match access.usage {
            Use::Read | Use::Modify | Use::Write => {
                self.tally.accesses += 1;
                self.tally.lanes += u64::from(access.lanes);
            }
            Use::Fill if self.fills && !self.reads_what_was_filled() => {}
            Use::Fill | Use::WriteBack => return 0,
        }
        for row in access.rows {
            self.note(access.now, row.frame.0);
        }
        0
    }

    fn merged(&mut self, now: u64, lanes: u8, _words: u32, frame: Option<LineId>) {
        self.tally.accesses += 1;
        self.tally.lanes += u64::from(lanes);
        frame.into_iter().for_each(|frame| self.note(now, frame.0));
    }

    fn resize(&mut self, _now: u64, shape: ArrayShape) {
        // Blocks of the old shape keep their counts in the new one.
        let frames = self.blocks.len().max(shape.frames as usize);
        self.blocks.resize(frames, Block::default());
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        let uses = ByFrame(self.blocks.iter().map(|block| block.uses).collect());
        Counters::of(self.array, &self.tally, uses).boxed()
    }
}

/// Blocks by their mean interval, from what came and what left.
pub fn remaining(came: &Log2, left: &Log2) -> Log2 {
    use warpwatt_base::counters::Counter;
    came.since(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::RowAccess;
    use warpwatt_base::counters::Counter;

    fn profile() -> Profile {
        Profile { array: Array::L1d, fills: true, blocks: vec![Block::default(); 4], tally: Tally::default() }
    }

    fn access(profile: &mut Profile, now: u64, usage: Use, lanes: u8, frame: u32) {
        let row = RowAccess { frame: LineId(frame), line: 1, words: 1 };
        profile.access(&ArrayAccess { now, usage, lanes, rows: &[row] });
    }

    #[test]
    fn uses_are_in_bins_of_powers_of_two() {
        let mut profile = profile();
        (0..5).for_each(|i| access(&mut profile, i, Use::Read, 8, 0));
        access(&mut profile, 9, Use::Fill, 32, 1);
        access(&mut profile, 9, Use::WriteBack, 32, 2);
        assert_eq!(profile.tally.reached[..4], [2, 1, 1, 0], "two used, one twice, the same one four times");
        assert_eq!((profile.tally.accesses, profile.tally.lanes), (5, 40));
    }

    #[test]
    fn a_load_of_a_line_on_its_way_is_a_use_and_a_miss_is_one() {
        let mut l1d = profile();
        l1d.merged(5, 8, 1, Some(LineId(0)));
        access(&mut l1d, 9, Use::Fill, 32, 0);
        l1d.merged(9, 8, 1, None);
        assert_eq!(l1d.tally.reached[..3], [1, 1, 0], "a load that waits, and the one that missed");
        assert_eq!((l1d.tally.accesses, l1d.tally.lanes, l1d.tally.gap_sum), (2, 16, 4));
        let mut texture = Profile { array: Array::Texture, ..profile() };
        access(&mut texture, 9, Use::Fill, 32, 0);
        access(&mut texture, 9, Use::Read, 32, 0);
        assert_eq!(texture.tally.reached[..2], [1, 0]);
    }

    #[test]
    fn uses_by_frame_add_up_over_caches_and_are_told_since_an_earlier_time() {
        let (mut one, mut other) = (profile(), profile());
        access(&mut one, 1, Use::Read, 32, 0);
        let of =
            |profile: &Profile| profile.counters().of::<Counters>().expect("its own").l1d_by_frame.clone();
        let before = of(&one);
        access(&mut one, 2, Use::Read, 32, 0);
        access(&mut one, 3, Use::Read, 32, 2);
        access(&mut other, 3, Use::Fill, 32, 2);
        let mut both = of(&one);
        both.add(&of(&other));
        assert_eq!((both.0, before.0), (vec![2, 0, 2, 0], vec![1, 0, 0, 0]));
        assert_eq!(of(&one).since(&ByFrame(vec![1])).0, [1, 0, 1, 0]);
        let mut sum = ByFrame::default();
        sum.add(&of(&other));
        assert_eq!(sum.0, [0, 0, 1, 0], "a sum begins with none");
    }

    #[test]
    fn a_block_counts_once_by_its_mean_interval() {
        let mut profile = profile();
        for now in [100, 104, 300] {
            access(&mut profile, now, Use::Read, 32, 0);
        }
        for now in [10, 18] {
            access(&mut profile, now, Use::Read, 32, 1);
        }
        access(&mut profile, 50, Use::Read, 32, 2);
        let mut means = Log2::default();
        means.note((300 - 100) / 2);
        means.note(8);
        assert_eq!(remaining(&profile.tally.came, &profile.tally.left), means);
        assert_eq!(profile.tally.mean_up - profile.tally.mean_down, 108);
        assert_eq!((profile.tally.gaps.total(), profile.tally.gap_sum), (3, 208));
    }
}
