// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures of several seeds: means over seeds, and how far apart they are.

use crate::measure::Measures;
use crate::number::{LEDGER, measured, rounded};

/// Minimum number of seeds for a meaningful spread.
pub const ENOUGH_SEEDS: usize = 3;

/// What was measured with each seed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Evidence(pub Vec<Measures>);

/// A measure over seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// By seed; fewer than there are seeds if not all of them have it.
    pub values: Vec<f64>,
    /// Workloads that it is based on; none if it is not based on workloads.
    pub workloads: Option<usize>,
}

impl Sample {
    pub fn mean(&self) -> f64 {
        rounded(self.values.iter().sum::<f64>() / self.values.len().max(1) as f64, LEDGER)
    }

    /// The least and the most, if there is more than one seed and it is based on workloads.
    pub fn spread(&self) -> Option<(f64, f64)> {
        self.workloads?;
        let low = self.values.iter().copied().reduce(f64::min)?;
        let high = self.values.iter().copied().reduce(f64::max)?;
        (self.values.len() > 1).then(|| (rounded(low, LEDGER), rounded(high, LEDGER)))
    }
}

impl Evidence {
    pub fn sample(&self, name: &str) -> Option<Sample> {
        let found: Vec<_> = self.0.iter().filter_map(|measures| measures.get(name)).collect();
        let first = found.first()?;
        Some(Sample {
            values: found.iter().map(|measure| measure.value).collect(),
            workloads: first.workloads,
        })
    }

    pub fn mean(&self, name: &str) -> Option<f64> {
        Some(self.sample(name)?.mean())
    }

    /// A mean as the ledger shows it, or a name of the first seed, for the text of a reason.
    pub fn shown(&self, name: &str) -> Option<String> {
        self.mean(name).map(measured).or_else(|| self.0.first()?.shown(name))
    }

    /// Means that are named by a claim's id and something behind a dot, by that something.
    pub fn beside(&self, id: &str) -> Vec<(String, f64)> {
        let mut names: Vec<String> = Vec::new();
        for measures in &self.0 {
            for (name, _) in measures.beside(id) {
                if !names.iter().any(|other| other == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names.sort_unstable();
        names
            .into_iter()
            .filter_map(|name| Some((name.clone(), self.mean(&format!("{id}.{name}"))?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Column;

    #[test]
    fn seeds_have_a_mean_and_a_spread() {
        let seed = |value: f64| {
            let mut measures = Measures::default();
            measures.mean("a", &Column(vec![Some(value)]));
            measures.computed("b", 7.0);
            measures
        };
        let mut evidence = Evidence(vec![seed(1.0), seed(4.0), seed(1.0)]);
        evidence.0[1].mean("a.first", &Column(vec![Some(3.0)]));
        let sample = evidence.sample("a").expect("it was measured");
        assert_eq!((sample.mean(), sample.spread()), (2.0, Some((1.0, 4.0))));
        let computed = evidence.sample("b").expect("it was computed");
        assert_eq!((computed.mean(), computed.spread()), (7.0, None), "it does not depend on seeds");
        assert_eq!(evidence.sample("a.first").and_then(|sample| sample.spread()), None, "one seed has it");
        assert_eq!(evidence.beside("a"), [("first".to_owned(), 3.0)]);
        assert_eq!((evidence.sample("c"), evidence.shown("a").as_deref()), (None, Some("2")));
    }
}
