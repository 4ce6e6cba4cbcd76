// SPDX-License-Identifier: MIT OR Apache-2.0
//! A technology worked out for a GPU: a list of terms, each a number times a counter or times the time that passes. Names of
//! counters and parameters are checked here; all errors are reported together.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use warpwatt_base::suggest;
use warpwatt_config::Config;

use crate::amount::bad;
use crate::die::{self, Arrays};
use crate::error::{Error, Problem, shortened};
use crate::file::{Origin, Technology};
use crate::silicon::{self, Conditions};
use crate::spanned::Spanned;
use crate::sram::Sram;
use crate::technology::{Access, Amount, Event, SramSpec, State, Static, Structure, Text};
use crate::units::{Joules, Milliwatts, Picojoules};

/// What a technology is worked out for.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub config: &'a Config,
    /// All counters there are, those of techniques that are off included.
    pub counters: &'a [&'a str],
    /// All techniques there are, and those of them that are on.
    pub all_techniques: &'a [&'a str],
    pub techniques: &'a [&'a str],
    /// Numbers that can be used besides the GPU's parameters: those of all techniques.
    pub parameters: &'a [(&'a str, f64)],
}

/// A technology for a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    pub technology: String,
    pub structures: Vec<StructureInfo>,
    pub(crate) terms: Vec<Term>,
    /// Names that terms refer to.
    pub(crate) counters: Vec<String>,
    pub(crate) sms: f64,
    /// The process that it is evaluated for, if the technology gives the conditions of its figures.
    pub conditions: Option<Conditions>,
    pub die_mm2: Option<f64>,
}

/// What is known about a structure besides its energy.
#[derive(Clone, PartialEq, Debug)]
pub struct StructureInfo {
    pub name: Arc<str>,
    pub component: Arc<str>,
    pub doc: Arc<str>,
    pub off_chip: bool,
    /// Of its arrays of SRAM, all copies together.
    pub area_mm2: Option<f64>,
}

/// Energy that is a number times a quantity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Term {
    pub structure: usize,
    pub of: Of,
    /// For one count or one second.
    pub joules: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Of {
    /// Counts of an event.
    Event(usize),
    /// Time; each SM has its own share of it.
    Time { per_sm: bool },
    /// Time in a state, from a counter.
    State(usize),
}

impl Technology {
    /// Works the technology out for a GPU.
    pub fn resolve(&self, setting: Setting) -> Result<Model, Vec<Error>> {
        let conditions = silicon::conditions(self, setting)?;
        let arrays = die::arrays(self, setting, conditions.as_ref())?;
        let die_mm2 = die::area_mm2(self, setting, conditions.as_ref(), &arrays);
        let mut parameters = setting.parameters.to_vec();
        parameters.extend(die_mm2.map(|area| ("die.side_mm", libm::sqrt(area))));
        let setting = Setting { parameters: &parameters, ..setting };
        let model = Model {
            technology: self.name.clone(),
            structures: Vec::new(),
            terms: Vec::new(),
            counters: Vec::new(),
            sms: f64::from(setting.config.gpu.sms),
            conditions,
            die_mm2,
        };
        let counters = setting.counters.iter().copied().collect();
        let mut resolver = Resolver { setting, counters, model, errors: Vec::new(), scale: Scale::ONE };
        for ((origin, structure), arrays) in self.structures.iter().zip(arrays) {
            resolver.structure(origin, structure, arrays);
        }
        if resolver.errors.is_empty() { Ok(resolver.model) } else { Err(resolver.errors) }
    }
}

struct Resolver<'a> {
    setting: Setting<'a>,
    counters: FxHashSet<&'a str>,
    model: Model,
    errors: Vec<Error>,
    /// Of the current structure.
    scale: Scale,
}

/// What silicon and geometry make of a structure's figures.
#[derive(Clone, Copy)]
struct Scale {
    arrays: Option<Arrays>,
    /// Of the voltage.
    dynamic: f64,
    leakage: f64,
    switching: f64,
    /// Of node and temperature for logic; the model of SRAM has its own.
    logic: f64,
    logic_leakage: f64,
}

impl Scale {
    const ONE: Scale =
        Scale { arrays: None, dynamic: 1.0, leakage: 1.0, switching: 1.0, logic: 1.0, logic_leakage: 1.0 };
}

impl Resolver<'_> {
    fn report(&mut self, origin: &Origin, at: Range<usize>, problem: Problem) {
        self.errors.push(origin.error(at, problem));
    }

    /// What was found, or nothing and an error more.
    fn take<T>(&mut self, origin: &Origin, at: Range<usize>, found: Result<T, Problem>) -> Option<T> {
        found.map_err(|problem| self.report(origin, at, problem)).ok()
    }

    /// What becomes of a structure's figures.
    fn scale(&mut self, origin: &Origin, structure: &Structure, arrays: Option<Arrays>) -> Scale {
        let plain = Scale { arrays, ..Scale::ONE };
        let Some(clock) = &structure.clock else { return plain };
        let conditions = self.model.conditions.as_ref();
        let found = conditions.and_then(|all| Some((all, all.supply(&clock.value)?)));
        let Some((all, supply)) = found else {
            let message = format!("`silicon` has no voltage for `{}`", shortened(&clock.value));
            let help = "add it to `clocks` in `silicon`, or leave `clock` out";
            self.report(origin, clock.span.clone(), bad(message, help));
            return plain;
        };
        Scale {
            arrays,
            dynamic: supply.dynamic(),
            leakage: supply.leakage(),
            switching: supply.switching(),
            logic: all.logic(),
            logic_leakage: all.logic_leakage(),
        }
    }

    /// The array that a figure goes with, or an error.
    fn arrays(&mut self, origin: &Origin, at: Range<usize>) -> Option<Arrays> {
        if self.scale.arrays.is_none() {
            let message = "`scaled` needs an SRAM array in this structure".to_owned();
            let help = "give the structure sram = { bytes = [...], ..., reference = { ... } }";
            self.report(origin, at, bad(message, help));
        }
        self.scale.arrays
    }

    fn structure(&mut self, origin: &Origin, structure: &Structure, arrays: Option<Arrays>) {
        self.scale = self.scale(origin, structure, arrays);
        for (what, text) in
            [("name", &structure.name), ("component", &structure.component), ("doc", &structure.doc)]
        {
            self.text(origin, what, text);
        }
        if structure.events.is_empty() && structure.statics.is_empty() {
            let message = format!("`{}` has no energy", shortened(&structure.name.value));
            let help =
                "give it events = [{ counter = \"...\", pj = 1.0, source = \"...\" }] or static = [...]";
            self.report(origin, structure.name.span.clone(), bad(message, help));
        }
        let on = self.on(origin, &structure.techniques);
        let before = (self.model.structures.len(), self.model.terms.len(), self.model.counters.len());
        let index = self.model.structures.len();
        self.model.structures.push(StructureInfo {
            name: structure.name.value.as_ref().into(),
            component: structure.component.value.as_ref().into(),
            doc: structure.doc.value.as_ref().into(),
            off_chip: structure.off_chip,
            area_mm2: arrays.map(|arrays| arrays.area_mm2()),
        });
        for event in structure.events.iter() {
            self.event(origin, index, event);
        }
        for power in structure.statics.iter() {
            self.power(origin, index, power);
        }
        if !on {
            // Its names were checked nevertheless.
            self.model.structures.truncate(before.0);
            self.model.terms.truncate(before.1);
            self.model.counters.truncate(before.2);
        }
    }

    fn text(&mut self, origin: &Origin, what: &str, text: &Spanned<Text>) {
        let words: &str = &text.value;
        if words.trim().is_empty() || words.contains(char::is_control) {
            let message = format!("`{what}` must be one line of text");
            self.report(origin, text.span.clone(), bad(message, "write a short description"));
        }
    }

    fn on(&mut self, origin: &Origin, techniques: &[Spanned<Text>]) -> bool {
        for technique in techniques {
            let name = &*technique.value;
            let all = self.setting.all_techniques;
            if !all.contains(&name) {
                let problem = Problem::UnknownTechnique {
                    name: shortened(name),
                    nearest: suggest::nearest(name, all).map(str::to_owned),
                    all: all.iter().map(|&name| name.to_owned()).collect(),
                };
                self.report(origin, technique.span.clone(), problem);
            }
        }
        let is_on = |technique: &Spanned<Text>| self.setting.techniques.contains(&&*technique.value);
        techniques.is_empty() || techniques.iter().any(is_on)
    }

    /// A counter that can be multiplied with a number.
    fn counter(&mut self, origin: &Origin, counter: &Spanned<Text>) -> Option<usize> {
        let name = &*counter.value;
        if !self.counters.contains(name) {
            let nearest = nearest_counter(name, self.setting.counters);
            let problem = Problem::UnknownCounter { name: shortened(name), nearest };
            self.report(origin, counter.span.clone(), problem);
            return None;
        }
        let unit = name.rsplit('.').next().unwrap_or_default();
        if matches!(unit, "histogram" | "ratio" | "gbs") {
            let problem = Problem::UselessCounter {
                name: name.to_owned(),
                message: "is not a count, so it cannot be multiplied by an energy".to_owned(),
                help: "use a counter that ends in .count, .bytes, .cycles or .clocks",
            };
            self.report(origin, counter.span.clone(), problem);
            return None;
        }
        Some(self.intern(name))
    }

    fn intern(&mut self, name: &str) -> usize {
        self.model.counters.iter().position(|known| known == name).unwrap_or_else(|| {
            self.model.counters.push(name.to_owned());
            self.model.counters.len() - 1
        })
    }

    fn amount(&mut self, origin: &Origin, amount: &Spanned<Amount>) -> Option<f64> {
        self.take(origin, amount.span.clone(), amount.value.value(self.setting))
    }

    fn product(&mut self, origin: &Origin, factors: &[Spanned<Amount>]) -> Option<f64> {
        let values: Vec<_> = factors.iter().map(|factor| self.amount(origin, factor)).collect();
        values.into_iter().try_fold(1.0, |product, value| Some(product * value?))
    }

    fn event(&mut self, origin: &Origin, structure: usize, event: &Event) {
        self.text(origin, "source", &event.source);
        let energy = self.event_energy(origin, event);
        let scale = match (&event.scaled, &event.sram) {
            (Some(access), _) => self.arrays(origin, access.span.clone()).map(|it| it.access(access.value)),
            (None, Some(_)) => Some(1.0),
            (None, None) => Some(self.scale.logic),
        };
        let times = self.product(origin, &event.times).zip(scale).map(|(times, scale)| times * scale);
        let part = match event.columns {
            true => self.arrays(origin, event.counter.span.clone()).map(|arrays| arrays.columns()),
            false => Some(1.0),
        };
        let sign = if event.saved { -1.0 } else { 1.0 };
        let times = times.zip(part).map(|(times, part)| sign * times * part * self.scale.dynamic);
        let on = self.on(origin, &event.techniques);
        let known = self.model.counters.len();
        let counter = self.counter(origin, &event.counter);
        let less: Vec<_> = event.less.iter().map(|counter| self.counter(origin, counter)).collect();
        let (Some(energy), Some(times), Some(counter)) = (energy, times, counter) else { return };
        if !on {
            // Its names were checked nevertheless.
            self.model.counters.truncate(known);
            return;
        }
        let Joules(joules) = Joules::from(energy * times);
        self.model.terms.push(Term { structure, of: Of::Event(counter), joules });
        for counter in less.into_iter().flatten() {
            self.model.terms.push(Term { structure, of: Of::Event(counter), joules: -joules });
        }
    }

    /// The energy of an event, before its factors.
    fn event_energy(&mut self, origin: &Origin, event: &Event) -> Option<Picojoules> {
        if event.mw.is_none() && !event.at_mhz.is_empty() {
            let help = "write mw = ..., at_mhz = [...]: a power, and the rate of events that it is for, in millions a second";
            let at = event.at_mhz[0].span.clone();
            self.report(origin, at, bad("`at_mhz` is only allowed together with `mw`".to_owned(), help));
            return None;
        }
        match (&event.pj, &event.mw, &event.sram) {
            (Some(pj), None, None) => self.amount(origin, pj).map(Picojoules),
            (None, Some(mw), None) => {
                let power = self.amount(origin, mw);
                let rate = self.product(origin, &event.at_mhz)?;
                if event.at_mhz.is_empty() || rate <= 0.0 {
                    let help = "write at_mhz = [...]: the rate of events that the power is for, in millions a second";
                    self.report(
                        origin,
                        mw.span.clone(),
                        bad("the energy of an event cannot be computed from a power alone".to_owned(), help),
                    );
                    return None;
                }
                // mW / MHz = nJ
                Some(Picojoules(power? / rate * 1e3))
            }
            (None, None, Some(sram)) => {
                let array = self.sram(origin, sram)?;
                match sram.value.access {
                    Some(Access::Read) => Some(array.read()),
                    Some(Access::Write) => Some(array.write()),
                    None => {
                        let message = "the kind of access to the SRAM array is missing".to_owned();
                        self.report(
                            origin,
                            sram.span.clone(),
                            bad(message, "write access = \"read\" or \"write\""),
                        );
                        None
                    }
                }
            }
            _ => {
                let message = format!("`{}` needs exactly one energy", shortened(&event.counter.value));
                let help = "give it one of pj = ..., mw = ... with at_mhz = [...], or sram = { ... }";
                self.report(origin, event.counter.span.clone(), bad(message, help));
                None
            }
        }
    }

    fn sram(&mut self, origin: &Origin, spec: &Spanned<SramSpec>) -> Option<Sram> {
        let array = spec.value.array(self.setting, self.model.conditions.as_ref());
        self.take(origin, spec.span.clone(), array)
    }

    fn power(&mut self, origin: &Origin, structure: usize, power: &Static) {
        self.text(origin, "source", &power.source);
        let each = match (&power.mw, &power.sram) {
            (Some(mw), None) => self.amount(origin, mw).map(Milliwatts),
            (None, Some(sram)) => self.sram(origin, sram).map(|array| array.leakage()),
            _ => {
                let help = "give it one of mw = ... or sram = { ... }";
                self.report(
                    origin,
                    power.source.span.clone(),
                    bad("static energy needs exactly one power".to_owned(), help),
                );
                None
            }
        };
        let scale = match (power.switching, power.scaled, &power.sram) {
            (true, false, None) => Some(self.scale.switching * self.scale.logic),
            (true, ..) => {
                let message = "an SRAM array has leakage, not constant switching power".to_owned();
                let help = "leave out `switching`, or `scaled` and `sram`";
                self.report(origin, power.source.span.clone(), bad(message, help));
                None
            }
            (false, true, _) => {
                self.arrays(origin, power.source.span.clone()).map(|it| it.leakage() * self.scale.leakage)
            }
            (false, false, Some(_)) => Some(self.scale.leakage),
            (false, false, None) => Some(self.scale.leakage * self.scale.logic_leakage),
        };
        let each = each.zip(scale).map(|(each, scale)| each * scale);
        let instances = self.product(origin, &power.instances);
        let per_sm = power
            .instances
            .iter()
            .any(|factor| matches!(&factor.value, Amount::Key(key) if key == "gpu.sms"));
        for state in power.states.iter() {
            self.state(origin, structure, each, state);
        }
        let (Some(each), Some(instances)) = (each, instances) else { return };
        let joules = each.0 * instances * 1e-3;
        self.model.terms.push(Term { structure, of: Of::Time { per_sm }, joules });
    }

    fn state(&mut self, origin: &Origin, structure: usize, each: Option<Milliwatts>, state: &State) {
        self.text(origin, "source", &state.source);
        let on = self.on(origin, &state.techniques);
        let known = self.model.counters.len();
        let left = match (&state.fraction, &state.mw) {
            (Some(fraction), None) => {
                let fraction = self.amount(origin, fraction);
                each.zip(fraction).map(|(each, fraction)| each * fraction)
            }
            (None, Some(mw)) => self.amount(origin, mw).map(Milliwatts),
            _ => {
                let help = "give it one of fraction = ... or mw = ...";
                let message = "a state needs exactly one remaining power".to_owned();
                self.report(origin, state.counter.span.clone(), bad(message, help));
                None
            }
        };
        let times = self.product(origin, &state.times);
        let counter = self.counter(origin, &state.counter);
        let mhz = match clock_mhz(&state.counter.value, self.setting.config) {
            Some(mhz) => mhz,
            None => {
                if counter.is_some() {
                    let problem = Problem::UselessCounter {
                        name: shortened(&state.counter.value),
                        message: "is not a time".to_owned(),
                        help: "use a counter that ends in .cycles, or in .clocks of noc, l2 or dram",
                    };
                    self.report(origin, state.counter.span.clone(), problem);
                }
                return;
            }
        };
        let (Some(each), Some(left), Some(times), Some(counter)) = (each, left, times, counter) else {
            return;
        };
        if !on {
            self.model.counters.truncate(known);
            return;
        }
        let joules = (left - each).0 * 1e-3 * times / (mhz * 1e6);
        self.model.terms.push(Term { structure, of: Of::State(counter), joules });
    }
}

/// How fast a counter of time counts.
fn clock_mhz(counter: &str, config: &Config) -> Option<f64> {
    let clock = &config.clock;
    let mhz = match (counter.split('.').next()?, counter.rsplit('.').next()?) {
        (_, "cycles") => clock.core_mhz,
        ("noc", "clocks") => clock.noc_mhz,
        ("l2", "clocks") => clock.l2_mhz,
        ("dram", "clocks") => clock.dram_mhz,
        _ => return None,
    };
    Some(f64::from(mhz))
}

/// The counter that was probably meant; the unit at the end may have been forgotten.
fn nearest_counter(name: &str, counters: &[&str]) -> Option<String> {
    let mut counters = counters.to_vec();
    counters.sort_unstable();
    let with_unit = |counter: &&&str| counter.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let found = counters.iter().find(with_unit).copied().or_else(|| suggest::nearest(name, &counters));
    found.map(str::to_owned)
}
