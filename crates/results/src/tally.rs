// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of counters by position. The counters of a GPU are visited in the same order launch after launch, so that the sum of each is found where the one
//! before it was; names are compared only where the order differs, and become keys only when a record is written.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use warpwatt_base::counters::Count;

use crate::counters::{Reading, Values};

/// Fewer counters than a timed launch has, more than those of a functional one.
const FEW: usize = 8;

/// Counters added up over launches; ratios have no sum, and are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Values", into = "Values")]
pub(crate) struct Tally(Vec<(Cow<'static, str>, Reading)>);

impl Tally {
    /// What adds the counters of one launch, as they are visited.
    pub fn adding(&mut self) -> impl FnMut(&'static str, Count) + '_ {
        let mut next = 0;
        // The first launch brings almost all counters: searching those before for each would take time by their square.
        let mut places = if self.0.len() < FEW { self.places() } else { None };
        move |name, count| {
            // The usual case: the number that comes next.
            if let (Some((known, Reading::Count(sum))), Count::Sum(count)) = (self.0.get_mut(next), count)
                && std::ptr::eq(&**known, name)
            {
                *sum += count;
                next += 1;
            } else {
                next = self.add_at(next, name, count, places.as_mut()) + 1;
            }
        }
    }

    /// Places by name, if all names are those of declarations.
    fn places(&self) -> Option<FxHashMap<&'static str, usize>> {
        let place = |(at, (name, _)): (usize, &(Cow<'static, str>, Reading))| match name {
            Cow::Borrowed(name) => Some((*name, at)),
            Cow::Owned(_) => None,
        };
        self.0.iter().enumerate().map(place).collect()
    }

    /// Adds a counter; gives its place, most likely `next`. `places`: of those that the first launch has brought.
    #[inline(never)]
    fn add_at(
        &mut self,
        next: usize,
        name: &'static str,
        count: Count,
        places: Option<&mut FxHashMap<&'static str, usize>>,
    ) -> usize {
        let at = match places {
            Some(places) => *places.entry(name).or_insert_with(|| {
                self.0.push((Cow::Borrowed(name), Reading::Ratio(0.0)));
                self.0.len() - 1
            }),
            None => self.place(next, name, || Cow::Borrowed(name)),
        };
        match (&mut self.0[at].1, count) {
            (Reading::Count(sum), Count::Sum(count)) => *sum += count,
            (Reading::Histogram(sums), Count::Histogram(counts)) => add_buckets(sums, counts),
            (unset, count) => *unset = Reading::of(count),
        }
        at
    }

    /// Adds counts and histograms by name.
    pub fn add(&mut self, values: &Values) {
        for (name, reading) in values {
            self.add_reading(name, reading);
        }
    }

    pub fn merge(&mut self, other: &Tally) {
        for (name, reading) in &other.0 {
            self.add_reading(name, reading);
        }
    }

    fn add_reading(&mut self, name: &str, reading: &Reading) {
        if matches!(reading, Reading::Ratio(_)) {
            return;
        }
        let at = self.place(0, name, || Cow::Owned(name.to_owned()));
        match (&mut self.0[at].1, reading) {
            (Reading::Count(sum), Reading::Count(count)) => *sum += count,
            (Reading::Histogram(sums), Reading::Histogram(counts)) => add_buckets(sums, counts),
            (unset, reading) => *unset = reading.clone(),
        }
    }

    /// Where the sum of a counter is, most likely at `next`; a new one has no value yet.
    fn place(&mut self, next: usize, name: &str, owned: impl FnOnce() -> Cow<'static, str>) -> usize {
        let same = |(known, _): &(Cow<str>, Reading)| std::ptr::eq(&**known, name) || known == name;
        if self.0.get(next).is_some_and(same) {
            return next;
        }
        self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push((owned(), Reading::Ratio(0.0)));
            self.0.len() - 1
        })
    }
}

fn add_buckets(sums: &mut Vec<u64>, counts: &[u64]) {
    if sums.len() < counts.len() {
        sums.resize(counts.len(), 0);
    }
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

impl From<Values> for Tally {
    fn from(values: Values) -> Tally {
        Tally(values.into_iter().map(|(name, reading)| (Cow::Owned(name), reading)).collect())
    }
}

impl From<Tally> for Values {
    fn from(tally: Tally) -> Values {
        let readings = tally.0.into_iter().map(|(name, reading)| {
            let reading = match reading {
                Reading::Histogram(buckets) => Reading::of(Count::Histogram(&buckets)),
                other => other,
            };
            (name.into_owned(), reading)
        });
        readings.collect()
    }
}

impl PartialEq for Tally {
    fn eq(&self, other: &Tally) -> bool {
        Values::from(self.clone()) == Values::from(other.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain sum by name.
    fn plain(launches: &[Vec<(&'static str, Count)>]) -> Values {
        let mut sums = Values::new();
        for (name, count) in launches.iter().flatten() {
            match sums.get_mut(*name) {
                Some(sum) => sum.add(&Reading::of(*count)),
                None => drop(sums.insert((*name).to_owned(), Reading::of(*count))),
            }
        }
        sums
    }

    #[test]
    fn sums_by_position_are_those_by_name() {
        let launches = [
            vec![
                ("b.count", Count::Sum(1)),
                ("a.histogram", Count::Histogram(&[0, 0, 0])),
                // The same once more.
                ("b.count", Count::Sum(2)),
            ],
            vec![("b.count", Count::Sum(4)), ("a.histogram", Count::Histogram(&[1, 2, 0]))],
            // In another order, and with one that is new.
            vec![
                ("a.histogram", Count::Histogram(&[1, 0, 0])),
                ("c.count", Count::Sum(1)),
                ("b.count", Count::Sum(5)),
            ],
        ];
        let mut tally = Tally::default();
        for launch in &launches {
            let mut add = tally.adding();
            launch.iter().for_each(|(name, count)| add(name, *count));
        }
        assert_eq!(Values::from(tally.clone()), plain(&launches));
        let text = serde_json::to_string(&tally).expect("it is JSON");
        let mut back: Tally = serde_json::from_str(&text).expect("it reads back");
        assert_eq!(back, tally);
        back.merge(&tally);
        tally.add(&plain(&launches));
        assert_eq!(back, tally);
    }
}
