// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which registers are taken at each point, so that all places that are free for a value are found at once.

use super::liveness::Segment;

/// Registers whose state is kept in one word.
pub(super) const GROUP: u32 = u64::BITS;

/// Per group of registers and point: a bit for each register that is taken. Groups that no register has been taken from do not exist.
pub(super) struct Taken {
    points: usize,
    groups: Vec<Vec<u64>>,
}

impl Taken {
    pub(super) fn new(points: usize) -> Taken {
        Taken { points, groups: Vec::new() }
    }

    pub(super) fn take(&mut self, register: u32, s: &Segment) {
        let group = (register / GROUP) as usize;
        while self.groups.len() <= group {
            self.groups.push(vec![0; self.points]);
        }
        let bit = 1 << (register % GROUP);
        self.groups[group][s.from as usize..s.to as usize].iter_mut().for_each(|word| *word |= bit);
    }

    pub(super) fn give_back(&mut self, register: u32, s: &Segment) {
        let bit = 1 << (register % GROUP);
        let group = &mut self.groups[(register / GROUP) as usize];
        group[s.from as usize..s.to as usize].iter_mut().for_each(|word| *word &= !bit);
    }

    /// Registers of a group that are taken somewhere in these segments.
    pub(super) fn within(&self, group: u32, segments: &[Segment]) -> u64 {
        let Some(group) = self.groups.get(group as usize) else { return 0 };
        let within =
            |s: &Segment| group[s.from as usize..s.to as usize].iter().fold(0, |all, word| all | word);
        segments.iter().fold(0, |all, s| all | within(s))
    }
}

/// The positions of set bits, lowest first.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        lowest
    })
}
