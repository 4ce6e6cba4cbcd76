// SPDX-License-Identifier: MIT OR Apache-2.0
//! How similar the values are that warps write, whatever the technique makes of them: Figures 2, 5 and 8 of the paper.
//!
//! A register is measured as a whole after it was written. Lanes that were left out keep their values: such a write is measured as if it were
//! merged and compressed, as the paper does for Figure 8.

use warpwatt_codecs::Values;
use warpwatt_codecs::bdi::{EXPLORED, classify, explore};
use warpwatt_codecs::similarity::{Bin, Distances};

use super::{Counters, Phase, Source};

/// A register after it was written.
pub struct Observed<'a> {
    pub values: &'a Values,
    /// Lanes that were written, and all of the warp.
    pub written: u32,
    pub all: u32,
    pub phase: Phase,
    /// What wrote it.
    pub source: Source,
    /// It is the upper half of a 64-bit value.
    pub upper: bool,
}

impl Observed<'_> {
    pub fn count(&self, counters: &mut Counters) {
        self.count_encodings(counters);
        self.count_distances(counters);
    }

    fn count_encodings(&self, counters: &mut Counters) {
        let range = classify(self.values);
        let arrays = range.banks() as u64;
        let best = explore(self.values);
        let best = best.and_then(|scheme| EXPLORED.iter().position(|&other| other == scheme));
        let best = best.unwrap_or(EXPLORED.len());
        let place = self.phase as usize;
        if self.upper {
            counters.upper[place] += 1;
            counters.upper_arrays[place] += arrays;
            counters.best_upper[best] += 1;
        } else {
            counters.observed[place] += 1;
            counters.observed_arrays[place] += arrays;
            counters.observed_bytes[place] += range.bytes() as u64;
            counters.best[best] += 1;
        }
        if self.phase < Phase::Short {
            counters.sources[self.source as usize] += 1;
            counters.sources_arrays[self.source as usize] += arrays;
        }
    }

    fn count_distances(&self, counters: &mut Counters) {
        let place = |bin: Bin| self.phase as usize * Bin::ALL.len() + bin as usize;
        let distances = Distances::among(self.values, self.all);
        if let Some(bin) = distances.category() {
            let similar = if self.upper { &mut counters.similar_upper } else { &mut counters.similar };
            similar[place(bin)] += 1;
        }
        for bin in Bin::ALL {
            counters.distances[place(bin)] += u64::from(distances.count(bin));
        }
        if !self.upper
            && let Some(bin) = Distances::among(self.values, self.written).category()
        {
            counters.written[place(bin)] += 1;
        }
    }
}
