// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registry of counters: name with its unit as suffix, and what it counts. Counters of the timed GPU are declared beside what
//! they count and handed over as [`CounterInfo`]; what is worked out from counters is in `derived`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpwatt_base::counters::{Count, CounterInfo};

use crate::derived::DERIVED;

macro_rules! counters {
    ($($ident:ident = $name:literal, $doc:literal;)*) => {
        $(pub const $ident: CounterInfo = CounterInfo { name: $name, doc: $doc, charge: None };)*
        /// What every run counts, by name.
        pub const COUNTERS: &[CounterInfo] = &[$($ident),*];
    };
}

counters! {
    BARRIERS = "exec.barriers.count", "Block barriers completed.";
    DIVERGENT_BRANCHES = "exec.divergent_branches.count", "Branches at which the active lanes diverged.";
    LANES = "exec.lanes_per_warp_instruction.ratio", "Thread instructions per warp instruction: how full the warps were.";
}

/// What the last word of a counter's name may be.
pub const UNITS: &[&str] = &["count", "ratio", "bytes", "cycles", "clocks", "flits", "gbs", "histogram"];

/// The value of a counter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Reading {
    Count(u64),
    Ratio(f64),
    /// Occurrences by bucket; empty buckets at the end are left out.
    Histogram(Vec<u64>),
}

impl Reading {
    pub fn of(count: Count) -> Reading {
        match count {
            Count::Sum(sum) => Reading::Count(sum),
            Count::Histogram(buckets) => {
                let used = buckets.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
                Reading::Histogram(buckets[..used].to_vec())
            }
        }
    }

    /// Adds a count or a histogram; ratios do not add up.
    pub fn add(&mut self, other: &Reading) {
        match (self, other) {
            (Reading::Count(sum), Reading::Count(count)) => *sum += count,
            (Reading::Histogram(sums), Reading::Histogram(counts)) => {
                if sums.len() < counts.len() {
                    sums.resize(counts.len(), 0);
                }
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            _ => {}
        }
    }
}

/// Counter values of one kernel or of a whole run, in name order.
pub type Values = BTreeMap<String, Reading>;

/// Every counter of a record: what all runs count, what is derived, and the `model`'s own.
pub fn all_counters(model: &[CounterInfo]) -> Vec<CounterInfo> {
    let derived = DERIVED.iter().map(|derived| derived.info);
    COUNTERS.iter().copied().chain(derived).chain(model.iter().copied()).collect()
}

/// Every counter of a record, by name.
pub fn registry(model: &[CounterInfo]) -> Vec<CounterInfo> {
    let mut all = all_counters(model);
    all.sort_by_key(|info| info.name);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_unique_and_end_in_a_unit() {
        let all = registry(&[]);
        for pair in all.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
        for counter in all {
            let unit = counter.name.rsplit('.').next().unwrap_or_default();
            assert!(UNITS.contains(&unit), "{} has no unit", counter.name);
            assert!(counter.doc.ends_with('.'));
        }
    }

    #[test]
    fn histograms_add_up_bucket_by_bucket() {
        let mut sum = Reading::of(Count::Histogram(&[1, 0, 0]));
        assert_eq!(sum, Reading::Histogram(vec![1]));
        sum.add(&Reading::Histogram(vec![1, 2]));
        assert_eq!(sum, Reading::Histogram(vec![2, 2]));
        sum.add(&Reading::Count(1));
        assert_eq!(sum, Reading::Histogram(vec![2, 2]));
    }
}
