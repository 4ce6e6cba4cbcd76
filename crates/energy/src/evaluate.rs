// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joules from counters and time. Sums are taken in the order of the technology's structures, so that the same counts give the same
//! bits.

use std::sync::Arc;

use crate::attribute::Part;
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
    pub name: Arc<str>,
    pub component: Arc<str>,
    pub off_chip: bool,
    pub dynamic: Joules,
    pub static_: Joules,
}

/// Energy of the structures that are shown together.
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    pub name: Arc<str>,
    /// Nothing of it is on the die.
    pub off_chip: bool,
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
                all.push(Component { name, off_chip: true, dynamic: Joules(0.0), static_: Joules(0.0) });
                all.len() - 1
            });
            all[place].off_chip &= structure.off_chip;
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

    /// Without components that are not on the die.
    pub fn on_chip(&self) -> Joules {
        self.components().iter().filter(|component| !component.off_chip).map(Component::total).sum()
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
        self.evaluate_counts(&self.counts(counter), time)
    }

    /// Energy of the whole GPU from the values of `counters`, in their order.
    pub fn evaluate_counts(&self, counts: &[f64], time: Seconds) -> Breakdown {
        let parts = self.structures.iter().zip(self.parts(counts, time));
        let structures = parts.map(|(info, Part { dynamic, static_ })| StructureEnergy {
            name: info.name.clone(),
            component: info.component.clone(),
            off_chip: info.off_chip,
            dynamic,
            static_,
        });
        Breakdown { structures: structures.collect(), time }
    }

    /// Energy of the whole GPU as one sum, the same as that of the [`Breakdown`].
    pub fn sum_counts(&self, counts: &[f64], time: Seconds) -> Part {
        let parts = self.parts(counts, time);
        Part {
            dynamic: parts.iter().map(|part| part.dynamic).sum(),
            static_: parts.iter().map(|part| part.static_).sum(),
        }
    }

    /// Energy of each structure.
    fn parts(&self, counts: &[f64], time: Seconds) -> Vec<Part> {
        let mut parts = vec![Part::default(); self.structures.len()];
        for term in &self.terms {
            let part = &mut parts[term.structure];
            match term.of {
                Of::Event(counter) => part.dynamic += Joules(term.joules * counts[counter]),
                Of::Time { .. } => part.static_ += Joules(term.joules * time.0),
                Of::State(counter) => part.static_ += Joules(term.joules * counts[counter]),
            }
        }
        parts
    }

    /// The part of it that falls into the time in which SMs had warps, which is the `busy` share of all: dynamic energy, and static energy in
    /// proportion. Time in states is divided in the same way, except the time with warps itself.
    pub fn evaluate_with_warps(&self, counts: &[f64], time: Seconds, busy: f64) -> Breakdown {
        let mut part = counts.to_vec();
        for term in &self.terms {
            if let Of::State(counter) = term.of
                && self.counters[counter] != "sm.active.cycles"
            {
                part[counter] = counts[counter] * busy;
            }
        }
        let mut whole = self.evaluate_counts(&part, Seconds(time.0 * busy));
        for structure in &mut whole.structures {
            // What is there only without warps is nothing but rounding here.
            structure.static_ = Joules(structure.static_.0.max(0.0));
        }
        whole
    }

    /// One SM, from its own counters: what SMs share is left out, so that all SMs and the rest make up the GPU.
    pub fn evaluate_sm(&self, counts: &[f64], time: Seconds) -> Part {
        let mut part = Part::default();
        for term in &self.terms {
            match term.of {
                Of::Event(counter) => part.dynamic += Joules(term.joules * counts[counter]),
                Of::Time { per_sm: true } => part.static_ += Joules(term.joules / self.sms * time.0),
                Of::Time { per_sm: false } => {}
                Of::State(counter) => part.static_ += Joules(term.joules * counts[counter]),
            }
        }
        part
    }

    /// The values of `counters`, in their order.
    pub fn counts(&self, counter: Counter) -> Vec<f64> {
        self.counters.iter().map(|name| counter(name).unwrap_or(0.0)).collect()
    }

    /// Counters that energy depends on.
    pub fn counters(&self) -> impl Iterator<Item = &str> {
        self.counters.iter().map(String::as_str)
    }

    /// Static power without low-power states, in watts.
    pub fn static_watts(&self) -> f64 {
        let over_time = |term: &&crate::resolve::Term| matches!(term.of, Of::Time { .. });
        self.terms.iter().filter(over_time).map(|term| term.joules).sum()
    }

    /// Dynamic energy by counter, in the order of `counters`.
    pub fn dynamic_by_counter(&self, counts: &[f64]) -> Vec<Joules> {
        let mut all = vec![Joules(0.0); self.counters.len()];
        for term in &self.terms {
            if let Of::Event(counter) = term.of {
                all[counter] += Joules(term.joules * counts[counter]);
            }
        }
        all
    }
}
