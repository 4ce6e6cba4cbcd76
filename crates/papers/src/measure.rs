// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values by workload, their means, and what claims are compared with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::number::measured;

/// How values of workloads become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mean {
    #[default]
    Arithmetic,
    Harmonic,
    Geometric,
}

impl Mean {
    pub fn name(self) -> &'static str {
        match self {
            Mean::Arithmetic => "arithmetic",
            Mean::Harmonic => "harmonic",
            Mean::Geometric => "geometric",
        }
    }
}

/// One value for each workload; none where there is nothing to measure.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Column(pub Vec<Option<f64>>);

impl Column {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flatten().copied()
    }

    /// How many workloads have a value.
    pub fn count(&self) -> usize {
        self.values().count()
    }

    /// The arithmetic mean of those that have one.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.values().sum::<f64>() / count as f64)
    }

    /// The harmonic mean, of values above 0.
    pub fn harmonic_mean(&self) -> Option<f64> {
        let count = self.count();
        let positive = self.values().all(|value| value > 0.0);
        (count > 0 && positive).then(|| count as f64 / self.values().map(f64::recip).sum::<f64>())
    }

    /// The geometric mean, of values above 0.
    pub fn geometric_mean(&self) -> Option<f64> {
        let count = self.count();
        let positive = self.values().all(|value| value > 0.0);
        (count > 0 && positive).then(|| (self.values().map(f64::ln).sum::<f64>() / count as f64).exp())
    }

    pub fn average(&self, mean: Mean) -> Option<f64> {
        match mean {
            Mean::Arithmetic => self.mean(),
            Mean::Harmonic => self.harmonic_mean(),
            Mean::Geometric => self.geometric_mean(),
        }
    }

    /// The values of some workloads, such as a class, or the users of a structure.
    pub fn only(&self, members: &[bool]) -> Column {
        let kept = self.0.iter().enumerate();
        Column(kept.map(|(place, value)| value.filter(|_| members.get(place) == Some(&true))).collect())
    }

    pub fn max(&self) -> Option<f64> {
        self.values().reduce(f64::max)
    }

    /// The first place of the largest value.
    fn place_of_max(&self) -> Option<usize> {
        let max = self.max()?;
        self.0.iter().position(|value| *value == Some(max))
    }

    /// All but the largest.
    pub fn without_max(&self) -> Column {
        let place = self.place_of_max();
        let others = self.0.iter().enumerate().map(|(i, value)| value.filter(|_| Some(i) != place));
        Column(others.collect())
    }

    /// The value of the workload for which another column is largest.
    pub fn at_max_of(&self, other: &Column) -> Option<f64> {
        *self.0.get(other.place_of_max()?)?
    }

    /// The value in the middle.
    pub fn median(&self) -> Option<f64> {
        let mut sorted: Vec<_> = self.values().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted.get((sorted.len().max(1) - 1) / 2)?, sorted.get(sorted.len() / 2)?);
        Some((low + high) / 2.0)
    }

    pub fn map(&self, f: impl Fn(f64) -> f64) -> Column {
        Column(self.0.iter().map(|value| value.map(&f)).collect())
    }

    /// Value by value with another column; none where one has none.
    pub fn with(&self, other: &Column, f: impl Fn(f64, f64) -> Option<f64>) -> Column {
        let pairs = self.0.iter().zip(&other.0);
        Column(pairs.map(|(one, other)| f((*one)?, (*other)?)).collect())
    }

    /// This over another.
    pub fn over(&self, other: &Column) -> Column {
        self.with(other, over)
    }

    pub fn plus(&self, other: &Column) -> Column {
        self.with(other, |one, other| Some(one + other))
    }

    /// How much less this is than another, in percent of the other.
    pub fn saved(&self, without: &Column) -> Column {
        self.over(without).map(|share| 100.0 * (1.0 - share))
    }

    /// How much more this is than another, in percent of the other.
    pub fn added(&self, without: &Column) -> Column {
        self.over(without).map(|share| 100.0 * (share - 1.0))
    }
}

/// A quotient, where there is one.
pub fn over(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The measured number of a claim.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    pub value: f64,
    /// Number of workloads that it is based on; none if it is not based on workloads.
    pub workloads: Option<usize>,
}

/// Measures by name: the claim's id, or that and something behind a dot.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measures {
    numbers: BTreeMap<String, Option<Measure>>,
    /// Names of extreme workloads.
    words: BTreeMap<String, String>,
}

impl Measures {
    fn put(&mut self, name: impl Into<String>, value: Option<f64>, workloads: Option<usize>) {
        self.numbers.insert(name.into(), value.map(|value| Measure { value, workloads }));
    }

    /// The mean of a column.
    pub fn mean(&mut self, name: impl Into<String>, column: &Column) {
        self.put(name, column.mean(), Some(column.count()));
    }

    /// A mean of another kind.
    pub fn average(&mut self, name: impl Into<String>, column: &Column, mean: Mean) {
        self.put(name, column.average(mean), Some(column.count()));
    }

    /// Means over the suite and over classes of it, as entries of a map: `ID:all`, `ID:CLASS`.
    pub fn by_class(&mut self, id: &str, column: &Column, mean: Mean, classes: &[(&str, Vec<bool>)]) {
        self.average(format!("{id}:all"), column, mean);
        for (class, members) in classes {
            self.average(format!("{id}:{class}"), &column.only(members), mean);
        }
    }

    /// The largest of a column as `NAME.max`, and whose it is as `NAME.most`; the smallest as `NAME.min`, of `NAME.least`.
    pub fn most(&mut self, name: &str, column: &Column, workloads: &[String]) {
        for (column, value, sign, word) in
            [(column.clone(), "max", 1.0, "most"), (column.map(|value| -value), "min", -1.0, "least")]
        {
            self.put(format!("{name}.{value}"), column.max().map(|max| sign * max), Some(column.count()));
            let whose = column.place_of_max().and_then(|place| workloads.get(place));
            self.words.insert(format!("{name}.{word}"), whose.map_or("none", String::as_str).to_owned());
        }
    }

    /// A value that is more than the mean of a column, and the number of workloads that it is based on.
    pub fn of(&mut self, name: impl Into<String>, value: Option<f64>, workloads: usize) {
        self.put(name, value, Some(workloads));
    }

    /// A value that is not based on workloads.
    pub fn computed(&mut self, name: impl Into<String>, value: f64) {
        self.put(name, Some(value), None);
    }

    /// Takes what has such a name from other measures.
    pub fn take(&mut self, from: &Measures, wanted: impl Fn(&str) -> bool) {
        let numbers = from.numbers.iter().filter(|(name, _)| wanted(name));
        self.numbers.extend(numbers.map(|(name, measure)| (name.clone(), *measure)));
        let words = from.words.iter().filter(|(name, _)| wanted(name));
        self.words.extend(words.map(|(name, word)| (name.clone(), word.clone())));
    }

    /// Names of all numbers, those without data included.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.numbers.keys().map(String::as_str)
    }

    pub fn get(&self, name: &str) -> Option<Measure> {
        *self.numbers.get(name)?
    }

    /// Numbers that are named by a claim's id and something behind a dot, by that something.
    pub fn beside(&self, id: &str) -> impl Iterator<Item = (&str, f64)> {
        self.numbers.iter().filter_map(move |(name, measure)| {
            let rest = name.strip_prefix(id)?.strip_prefix('.')?;
            Some((rest, (*measure)?.value))
        })
    }

    /// A number as the ledger shows it, or a name, for the text of a reason.
    pub fn shown(&self, name: &str) -> Option<String> {
        self.words.get(name).cloned().or_else(|| self.value(name).map(measured))
    }

    /// Whether this is a name that a reason can use, with data or without.
    pub fn knows(&self, name: &str) -> bool {
        self.numbers.contains_key(name) || self.words.contains_key(name)
    }

    pub fn value(&self, name: &str) -> Option<f64> {
        self.get(name).map(|measure| measure.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_leave_out_what_is_not_there() {
        let column = Column(vec![Some(1.0), None, Some(4.0)]);
        assert_eq!((column.count(), column.mean(), column.max()), (2, Some(2.5), Some(4.0)));
        assert_eq!(column.harmonic_mean(), Some(1.6));
        assert_eq!(Column(vec![Some(0.0), Some(1.0)]).harmonic_mean(), None);
        let empty = Column(vec![None, None]);
        assert_eq!((empty.mean(), empty.harmonic_mean(), empty.max()), (None, None, None));
    }

    #[test]
    fn there_are_three_means() {
        let column = Column(vec![Some(1.0), None, Some(4.0)]);
        let of = |mean| column.average(mean).map(|mean| (mean * 1e9).round() / 1e9);
        assert_eq!(
            [Mean::Arithmetic, Mean::Harmonic, Mean::Geometric].map(of),
            [Some(2.5), Some(1.6), Some(2.0)]
        );
        assert_eq!(Column(vec![Some(-1.0)]).geometric_mean(), None);
    }

    #[test]
    fn means_over_classes_and_users_are_of_their_members() {
        let column = Column(vec![Some(1.0), Some(3.0), None, Some(8.0)]);
        let mut measures = Measures::default();
        let classes =
            [("integer", vec![true, true, false, false]), ("floating_point", vec![false, false, true, true])];
        measures.by_class("x", &column, Mean::Arithmetic, &classes);
        assert_eq!(
            ["x:all", "x:integer", "x:floating_point"].map(|name| measures.value(name)),
            [Some(4.0), Some(2.0), Some(8.0)]
        );
        assert_eq!(measures.get("x:floating_point").and_then(|measure| measure.workloads), Some(1));
    }

    #[test]
    fn columns_are_compared_workload_by_workload() {
        let with = Column(vec![Some(3.0), None, Some(5.0), Some(1.0)]);
        let without = Column(vec![Some(4.0), Some(1.0), Some(4.0), Some(0.0)]);
        assert_eq!(with.saved(&without), Column(vec![Some(25.0), None, Some(-25.0), None]));
        assert_eq!(with.added(&without), Column(vec![Some(-25.0), None, Some(25.0), None]));
        assert_eq!(with.plus(&without).0[0], Some(7.0));
    }

    #[test]
    fn a_measure_without_data_keeps_its_name() {
        let mut measures = Measures::default();
        measures.mean("a", &Column(vec![None]));
        measures.computed("b", 2.0);
        assert_eq!(measures.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((measures.get("a"), measures.value("b")), (None, Some(2.0)));
        assert_eq!((measures.shown("a"), measures.shown("b")), (None, Some("2".to_owned())));
        assert!(measures.knows("a") && !measures.knows("c"));
    }

    #[test]
    fn the_workload_with_the_most_has_a_name() {
        let workloads = ["x", "y", "z"].map(str::to_owned);
        let mut measures = Measures::default();
        measures.most("a", &Column(vec![None, Some(3.0), Some(3.0)]), &workloads);
        measures.most("b", &Column(vec![None, None, None]), &workloads);
        assert_eq!((measures.value("a.max"), measures.shown("a.most")), (Some(3.0), Some("y".to_owned())));
        assert_eq!((measures.value("b.max"), measures.shown("b.most")), (None, Some("none".to_owned())));
    }
}
