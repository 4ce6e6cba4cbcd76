// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joules from counters and time. Sums are taken in the order of the technology's structures, so that the same counts give the same
//! bits.

use crate::resolve::{Model, Of};
use crate::units::{Joules, Seconds};

/// Energy by structure.
#[derive(Clone, PartialEq, Debug)]
pub struct Breakdown {
    /// In the order of the technology.
    pub structures: Vec<StructureEnergy>,
    pub time: Seconds,
}

#[derive(Clone, PartialEq, Debug)]
pub struct StructureEnergy {
    pub name: String,
    pub component: String,
    pub dynamic: Joules,
    pub static_: Joules,
}

/// Energy of the structures that are shown together.
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    pub name: String,
    pub dynamic: Joules,
    pub static_: Joules,
}

impl Component {
    pub fn total(&self) -> Joules {
        self.dynamic + self.static_
    }
}

impl Breakdown {
    /// In the order in which they first occur.
    pub fn components(&self) -> Vec<Component> {
        let mut all = Vec::<Component>::new();
        for structure in &self.structures {
            let place = all.iter().position(|component| component.name == structure.component);
            let place = place.unwrap_or_else(|| {
                let name = structure.component.clone();
                all.push(Component { name, dynamic: Joules(0.0), static_: Joules(0.0) });
                all.len() - 1
            });
            all[place].dynamic += structure.dynamic;
            all[place].static_ += structure.static_;
        }
        all
    }

    pub fn dynamic(&self) -> Joules {
        self.structures.iter().map(|structure| structure.dynamic).sum()
    }

    pub fn static_(&self) -> Joules {
        self.structures.iter().map(|structure| structure.static_).sum()
    }

    pub fn total(&self) -> Joules {
        self.dynamic() + self.static_()
    }

    /// Energy times delay, in joule seconds.
    pub fn edp(&self) -> f64 {
        self.total().0 * self.time.0
    }

    /// Energy times delay squared, in joule seconds squared.
    pub fn ed2p(&self) -> f64 {
        self.edp() * self.time.0
    }
}

/// The value of a counter; `None` for one that was not counted here.
pub type Counter<'a> = &'a dyn Fn(&str) -> Option<f64>;

impl Model {
    /// The whole GPU. A counter that is not there counts nothing.
    pub fn evaluate(&self, counter: Counter, time: Seconds) -> Breakdown {
        self.add_up(counter, time, |per_second, _| per_second * time.0)
    }

    /// One SM, from its own counters: what SMs share is left out, so that all SMs and the rest make up the GPU.
    pub fn evaluate_sm(&self, counter: Counter, time: Seconds) -> Breakdown {
        self.add_up(
            counter,
            time,
            |per_second, per_sm| {
                if per_sm { per_second / self.sms * time.0 } else { 0.0 }
            },
        )
    }

    fn add_up(&self, counter: Counter, time: Seconds, over: impl Fn(f64, bool) -> f64) -> Breakdown {
        let counts = self.counts(counter);
        let mut structures: Vec<_> = self
            .structures
            .iter()
            .map(|info| StructureEnergy {
                name: info.name.clone(),
                component: info.component.clone(),
                dynamic: Joules(0.0),
                static_: Joules(0.0),
            })
            .collect();
        for term in &self.terms {
            let structure = &mut structures[term.structure];
            match term.of {
                Of::Event(counter) => structure.dynamic += Joules(term.joules * counts[counter]),
                Of::Time { per_sm } => structure.static_ += Joules(over(term.joules, per_sm)),
                Of::State(counter) => structure.static_ += Joules(term.joules * counts[counter]),
            }
        }
        Breakdown { structures, time }
    }

    fn counts(&self, counter: Counter) -> Vec<f64> {
        self.counters.iter().map(|name| counter(name).unwrap_or(0.0)).collect()
    }

    /// Counters that energy depends on.
    pub fn counters(&self) -> impl Iterator<Item = &str> {
        self.counters.iter().map(String::as_str)
    }

    /// The power that is there all the time when nothing is in a state of low power, in watts.
    pub fn static_watts(&self) -> f64 {
        let over_time = |term: &&crate::resolve::Term| matches!(term.of, Of::Time { .. });
        self.terms.iter().filter(over_time).map(|term| term.joules).sum()
    }

    /// Dynamic energy by the counter that it comes from, in the order of `counters`.
    pub fn dynamic_by_counter(&self, counter: Counter) -> Vec<(&str, Joules)> {
        let counts = self.counts(counter);
        let mut all: Vec<_> = self.counters().map(|name| (name, Joules(0.0))).collect();
        for term in &self.terms {
            if let Of::Event(counter) = term.of {
                all[counter].1 += Joules(term.joules * counts[counter]);
            }
        }
        all
    }
}
