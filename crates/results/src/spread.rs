// SPDX-License-Identifier: MIT OR Apache-2.0
//! The distribution of one figure over launches, in memory that does not grow with their number.
//!
//! Values are counted by value, so that least, median and greatest are exact as long as there are at most [`EXACT`] different ones. From there
//! on values that agree in their leading binary digits are counted together: the median is then too low by at most one part in 1024, least
//! and greatest stay exact. The result depends on the values alone, not on their order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Different values that are told apart.
const EXACT: usize = 4096;
/// Binary digits of the mantissa that are dropped beyond that: 10 of 52 are left.
const DROPPED: u32 = 42;

/// Least, median and greatest value of a figure over the launches of a kernel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// The least value.
    #[serde(serialize_with = "number")]
    pub min: f64,
    /// The middle value in order of size, the lower of two; exact for up to 4096 different values, otherwise too low by up to 0.1 %.
    #[serde(serialize_with = "number")]
    pub median: f64,
    /// The greatest value.
    #[serde(serialize_with = "number")]
    pub max: f64,
}

/// Whole numbers are written as such.
fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && (0.0..9e15).contains(value) {
        serializer.serialize_u64(*value as u64)
    } else {
        serializer.serialize_f64(*value)
    }
}

/// Values of one figure, counted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// How often each value occurred, by its key.
    counts: BTreeMap<u64, u64>,
    /// Keys of the least and the greatest value.
    range: Option<(u64, u64)>,
    /// Close values are counted together.
    coarse: bool,
}

impl Spread {
    pub fn add(&mut self, value: f64) {
        let key = key(value);
        let (least, greatest) = self.range.unwrap_or((key, key));
        self.range = Some((least.min(key), greatest.max(key)));
        self.count(key, 1);
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Spread) {
        if other.coarse {
            self.coarsen();
        }
        for (&key, &times) in &other.counts {
            self.count(key, times);
        }
        self.range = match (self.range, other.range) {
            (Some((least, greatest)), Some((low, high))) => Some((least.min(low), greatest.max(high))),
            (one, another) => one.or(another),
        };
    }

    fn count(&mut self, key: u64, times: u64) {
        let key = if self.coarse { rounded(key) } else { key };
        *self.counts.entry(key).or_default() += times;
        if !self.coarse && self.counts.len() > EXACT {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        if !std::mem::replace(&mut self.coarse, true) {
            for (key, times) in std::mem::take(&mut self.counts) {
                *self.counts.entry(rounded(key)).or_default() += times;
            }
        }
    }

    /// `None` without values.
    pub fn distribution(&self) -> Option<Distribution> {
        let (least, greatest) = self.range?;
        let all: u64 = self.counts.values().sum();
        let mut left = all.div_ceil(2);
        let middle = self.counts.iter().find_map(|(&key, &times)| {
            let found = times >= left;
            left = left.saturating_sub(times);
            found.then_some(key)
        })?;
        let median = value(middle.clamp(least, greatest));
        Some(Distribution { min: value(least), median, max: value(greatest) })
    }
}

/// A number whose order is that of the values.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

fn rounded(key: u64) -> u64 {
    key >> DROPPED << DROPPED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(values: &[f64]) -> Distribution {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Distribution { min: sorted[0], median: sorted[(sorted.len() - 1) / 2], max: sorted[sorted.len() - 1] }
    }

    fn spread(values: &[f64]) -> Spread {
        let mut spread = Spread::default();
        values.iter().for_each(|value| spread.add(*value));
        spread
    }

    /// Scattered values, of which `different` differ.
    fn values(count: u64, different: u64) -> Vec<f64> {
        (0..count).map(|i| (1 + (i.wrapping_mul(2_654_435_761) >> 7) % different) as f64 * 1.25e-7).collect()
    }

    #[test]
    fn few_different_values_have_their_exact_median() {
        for (count, different) in [(1, 9), (2, 9), (3, 2), (100, 30), (10_000, 4096)] {
            let values = values(count, different);
            assert_eq!(spread(&values).distribution(), Some(plain(&values)), "{count} of {different}");
        }
        assert_eq!(spread(&[-2.0, 1.0, 0.0]).distribution(), Some(plain(&[-2.0, 0.0, 1.0])));
        assert_eq!(Spread::default().distribution(), None);
    }

    #[test]
    fn many_different_values_take_bounded_memory_and_have_a_close_median() {
        let values = values(200_000, 150_000);
        let (spread, plain) = (spread(&values), plain(&values));
        let found = spread.distribution().expect("there are values");
        assert_eq!((found.min, found.max), (plain.min, plain.max));
        assert!(
            found.median <= plain.median && found.median > plain.median * (1.0 - 1.0 / 1024.0),
            "{found:?}"
        );
        assert!(spread.counts.len() < 2 * EXACT + 20_000, "{}", spread.counts.len());
    }

    #[test]
    fn the_order_and_the_division_into_parts_do_not_matter() {
        for different in [50, 3000, 100_000] {
            let values = values(20_000, different);
            let whole = spread(&values);
            let (first, second) = values.split_at(7_000);
            let (mut ab, mut ba) = (spread(first), spread(second));
            let (a, b) = (ab.clone(), ba.clone());
            ab.merge(&b);
            ba.merge(&a);
            assert_eq!((ab.distribution(), ba.distribution()), (whole.distribution(), whole.distribution()));
            let text = serde_json::to_string(&whole).expect("it is JSON");
            assert_eq!(serde_json::from_str::<Spread>(&text).expect("it reads back"), whole);
        }
    }

    #[test]
    fn whole_numbers_are_written_without_a_point() {
        let found = spread(&[3.0, 1.5]).distribution().expect("there are values");
        assert_eq!(serde_json::to_string(&found).expect("JSON"), r#"{"min":1.5,"median":1.5,"max":3}"#);
    }
}
