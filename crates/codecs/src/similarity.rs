// SPDX-License-Identifier: MIT OR Apache-2.0
//! How similar the values of neighbours are: the distances between successive lanes and their four bins (Warped-Compression, section 3,
//! Figure 2).

use crate::{LANES, Values};

/// Where a distance belongs, nearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bin {
    /// Identical.
    Zero,
    /// At most 128 apart.
    Within128,
    /// At most 2^15 apart.
    Within32K,
    /// Further apart.
    Random,
}

impl Bin {
    pub const ALL: [Bin; 4] = [Bin::Zero, Bin::Within128, Bin::Within32K, Bin::Random];

    /// The bin of the distance between two values, which wraps: signed and unsigned neighbours are equally near.
    #[inline]
    pub fn of(one: u32, next: u32) -> Bin {
        match distance(one, next) {
            0 => Bin::Zero,
            1..=128 => Bin::Within128,
            129..=0x8000 => Bin::Within32K,
            _ => Bin::Random,
        }
    }
}

#[inline(always)]
fn distance(one: u32, next: u32) -> u32 {
    next.wrapping_sub(one).cast_signed().unsigned_abs()
}

/// The distances of one register write, counted by bin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Distances {
    counts: [u32; 4],
}

impl Distances {
    /// Between all lanes and their successors: 31 distances.
    #[inline]
    pub fn of(values: &Values) -> Distances {
        // Counting how many stay within each bound needs no branch; the bins are what lies between the bounds.
        let (mut zero, mut small, mut medium) = (0, 0, 0);
        for lane in 1..LANES {
            let distance = distance(values[lane - 1], values[lane]);
            zero += u32::from(distance == 0);
            small += u32::from(distance <= 128);
            medium += u32::from(distance <= 0x8000);
        }
        Distances { counts: [zero, small - zero, medium - small, LANES as u32 - 1 - medium] }
    }

    /// Between the lanes of a mask and their successors within it: what a diverged warp wrote. A single lane has no distance.
    pub fn among(values: &Values, lanes: u32) -> Distances {
        if lanes == u32::MAX {
            return Distances::of(values);
        }
        let mut distances = Distances::default();
        let mut members = (0..LANES).filter(|lane| lanes >> lane & 1 == 1).map(|lane| values[lane]);
        let Some(mut last) = members.next() else { return distances };
        for value in members {
            distances.counts[Bin::of(last, value) as usize] += 1;
            last = value;
        }
        distances
    }

    #[inline]
    pub fn count(&self, bin: Bin) -> u32 {
        self.counts[bin as usize]
    }

    /// The category of the write as a whole: the bin of its furthest neighbours. Fewer than two lanes have none.
    #[inline]
    pub fn category(&self) -> Option<Bin> {
        Bin::ALL.into_iter().rev().find(|&bin| self.count(bin) > 0)
    }
}
