// SPDX-License-Identifier: MIT OR Apache-2.0
//! How similar the values are that warps write, whatever the technique makes of them: Figures 2, 5 and 8 of the paper.

use warpwatt_codecs::Values;
use warpwatt_codecs::bdi::{EXPLORED, classify, explore};
use warpwatt_codecs::similarity::{Bin, Distances};

use super::{Counters, Phase};

/// Measures a register after it was written by some lanes. Those that were not written keep their values: a write that leaves lanes out is
/// measured as if it were merged and compressed, as the paper does for Figure 8.
pub fn observe(counters: &mut Counters, values: &Values, lanes: u32, phase: Phase, upper: bool) {
    let range = classify(values);
    let arrays = range.banks() as u64;
    let best = explore(values).and_then(|scheme| EXPLORED.iter().position(|&other| other == scheme));
    let best = best.unwrap_or(EXPLORED.len());
    let place = phase as usize;
    if upper {
        counters.upper[place] += 1;
        counters.upper_arrays[place] += arrays;
        counters.best_upper[best] += 1;
    } else {
        counters.observed[place] += 1;
        counters.observed_arrays[place] += arrays;
        counters.observed_bytes[place] += range.bytes() as u64;
        counters.best[best] += 1;
    }
    let distances = Distances::among(values, lanes);
    let diverged = phase == Phase::Diverged;
    if let Some(bin) = distances.category() {
        let similar = match (upper, diverged) {
            (false, false) => &mut counters.similar,
            (false, true) => &mut counters.similar_diverged,
            (true, false) => &mut counters.similar_upper,
            (true, true) => &mut counters.similar_upper_diverged,
        };
        similar[bin as usize] += 1;
    }
    let sums = if diverged { &mut counters.distances_diverged } else { &mut counters.distances };
    for bin in Bin::ALL {
        sums[bin as usize] += u64::from(distances.count(bin));
    }
}
