// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registry of counters: name with its unit as suffix, and what it counts. Results and the generated reference both
//! come from here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Dotted, the last word is the unit.
    pub name: &'static str,
    pub doc: &'static str,
}

macro_rules! counters {
    ($($ident:ident = $name:literal, $doc:literal;)*) => {
        $(pub const $ident: Counter = Counter { name: $name, doc: $doc };)*
        /// All counters, by name.
        pub const COUNTERS: &[Counter] = &[$($ident),*];
    };
}

counters! {
    BARRIERS = "exec.barriers.count", "Times that a block barrier opened.";
    DIVERGENT_BRANCHES = "exec.divergent_branches.count", "Branches whose active lanes went different ways.";
    LANES = "exec.lanes_per_warp_instruction.ratio", "Thread instructions per warp instruction: how full the warps were.";
}

/// The value of a counter.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Reading {
    Count(u64),
    Ratio(f64),
}

/// Counter values of one kernel or of a whole run, in name order.
pub type Values = BTreeMap<String, Reading>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_unique_and_end_in_a_unit() {
        for pair in COUNTERS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
        for counter in COUNTERS {
            let unit = counter.name.rsplit('.').next().unwrap_or_default();
            assert!(["count", "ratio", "bytes", "cycles"].contains(&unit), "{} has no unit", counter.name);
            assert!(counter.doc.ends_with('.'));
        }
    }
}
