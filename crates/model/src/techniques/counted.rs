// SPDX-License-Identifier: MIT OR Apache-2.0
//! What techniques counted: every actor carries the counters of those that act in it.

use rustc_hash::FxHashSet;
use warpwatt_base::counters::{Count, CounterInfo, CounterSet};

use super::{Technique, Techniques};

/// Counters of the techniques that are on; nothing for those that are off.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TechniqueCounters(Vec<(usize, Held)>);

#[derive(Debug)]
struct Held(Box<dyn CounterSet>);

impl Clone for Held {
    fn clone(&self) -> Held {
        Held(self.0.boxed())
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.0.equals(other.0.as_ref())
    }
}

impl Eq for Held {}

impl TechniqueCounters {
    /// Counters at zero for the techniques that are on.
    pub fn of(techniques: &Techniques) -> TechniqueCounters {
        let zero = techniques.settings().map(|(place, technique, _)| (place, Held((technique.zero)())));
        TechniqueCounters(zero.collect())
    }

    /// Counters of all techniques. Techniques that exclude each other may share some.
    pub fn infos() -> Vec<CounterInfo> {
        let mut known = FxHashSet::default();
        let all = Techniques::ALL.iter().flat_map(|technique| technique.counters);
        all.filter(|info| known.insert(info.name)).copied().collect()
    }

    /// Each technique with its counters, in the order of the list.
    pub fn each(&self) -> impl Iterator<Item = (&'static Technique, &dyn CounterSet)> {
        self.0.iter().map(|(place, held)| (Techniques::ALL[*place], held.0.as_ref()))
    }

    /// The counters of a technique, as the type that they are, if it is on.
    pub fn find<T: CounterSet>(&self) -> Option<&T> {
        self.0.iter().find_map(|(_, held)| held.0.of())
    }

    /// Adds what a technique counted at one of its sites, by its place in the list.
    pub fn note(&mut self, technique: usize, counters: &dyn CounterSet) {
        let at = self.0.partition_point(|(other, _)| *other < technique);
        match self.0.get_mut(at) {
            Some((other, held)) if *other == technique => held.0.add_set(counters),
            _ => self.0.insert(at, (technique, Held(counters.boxed()))),
        }
    }

    pub fn add(&mut self, other: &TechniqueCounters) {
        for (technique, held) in &other.0 {
            self.note(*technique, held.0.as_ref());
        }
    }

    /// What was counted since `earlier`, a former state of these counters.
    pub fn since(&self, earlier: &TechniqueCounters) -> TechniqueCounters {
        let former = |place: usize| earlier.0.iter().find(|(other, _)| *other == place);
        let each = self.0.iter().map(|(place, held)| match former(*place) {
            Some((_, earlier)) => (*place, Held(held.0.since_set(earlier.0.as_ref()))),
            None => (*place, held.clone()),
        });
        TechniqueCounters(each.collect())
    }

    pub fn visit(&self, f: &mut dyn FnMut(&'static str, Count)) {
        for (_, held) in &self.0 {
            held.0.visit_set(f);
        }
    }
}
