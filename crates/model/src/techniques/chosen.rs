// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which techniques are on, with their parameters, and how they are verified.

use std::sync::Arc;

use warpwatt_codecs::profile::Profile as Symbols;
use warpwatt_config::{Config, Settings};
use warpwatt_isa::Program;

use super::block_compression::codes::Codes;
use super::{BlockShape, Build, Fault, Hung, Pass, Profile, Sites, Technique};

/// A choice of techniques.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Techniques {
    pub chosen: Chosen,
    /// Keep a shadow of stored bytes, and compare what is read with what was written.
    pub verify: bool,
    /// Flip one stored bit, which verification has to detect.
    pub inject: Option<Fault>,
    /// How often instructions are executed, for techniques that use it.
    pub profile: Option<Arc<Profile>>,
    /// Frequencies of symbols for techniques that need them beforehand.
    pub symbols: Option<Arc<Symbols>>,
    /// Codes that were made of them.
    pub codes: Codes,
}

impl Default for Techniques {
    /// None is on. What is stored is verified where checks are compiled in.
    fn default() -> Self {
        Techniques {
            chosen: Chosen::default(),
            verify: cfg!(debug_assertions),
            inject: None,
            profile: None,
            symbols: None,
            codes: Codes::default(),
        }
    }
}

/// The settings of techniques that are on, in the order of the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen(Vec<One>);

/// A technique that is on.
#[derive(Clone, Debug)]
struct One {
    place: usize,
    settings: Held,
    /// Not enabled explicitly: another technique needs it.
    implied: bool,
}

impl PartialEq for One {
    /// Whether it is implied makes no difference.
    fn eq(&self, other: &One) -> bool {
        self.place == other.place && self.settings == other.settings
    }
}

impl Eq for One {}

/// Settings of one technique.
#[derive(Debug)]
struct Held(Box<dyn Settings>);

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

impl Chosen {
    /// The technique at a place of the list; if it is off, it is enabled with default settings.
    fn put(&mut self, place: usize, implied: bool) -> &mut One {
        let at = self.0.partition_point(|one| one.place < place);
        if self.0.get(at).is_none_or(|one| one.place != place) {
            let settings = Held((Techniques::ALL[place].settings)());
            self.0.insert(at, One { place, settings, implied });
        }
        &mut self.0[at]
    }
}

/// The techniques that one builds on with these settings.
pub(super) fn builds_on(
    technique: &'static Technique,
    settings: &dyn Settings,
) -> impl Iterator<Item = &'static str> {
    let off = |name: &str| settings.get(name).is_some_and(|value| value == "false");
    technique.needs.iter().copied().filter(move |name| !off(name))
}

fn place_of(name: &str) -> usize {
    let place = Techniques::ALL.iter().position(|technique| technique.name == name);
    place.expect("techniques build on those of the list")
}

/// Counts of instructions that a technique needs before the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WantedCounts {
    /// The technique that needs them.
    pub technique: &'static str,
    /// The file that holds them; without one, they are to be collected.
    pub file: Option<String>,
    /// They are to be counted in a functional run with the same inputs.
    pub same_run: bool,
}

impl Techniques {
    /// The techniques that are on, in the order of the list, each with its place there and its settings.
    pub(super) fn settings(&self) -> impl Iterator<Item = (usize, &'static Technique, &dyn Settings)> {
        self.chosen.0.iter().map(|one| (one.place, Techniques::ALL[one.place], one.settings.0.as_ref()))
    }

    /// The techniques that are on, in the order of the list.
    pub fn on(&self) -> impl Iterator<Item = &'static Technique> {
        self.settings().map(|(_, technique, _)| technique)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.on().any(|technique| technique.name == name)
    }

    pub fn is_empty(&self) -> bool {
        self.chosen.0.is_empty()
    }

    /// Whether a technique is on and verifies what it stores.
    pub fn are_verified(&self) -> bool {
        !self.is_empty() && (self.verify || self.inject.is_some())
    }

    /// Settings of a technique; if it is off, it is enabled with the defaults.
    pub(super) fn settings_of(&mut self, technique: &Technique) -> &mut dyn Settings {
        let place = place_of(technique.name);
        let one = self.chosen.put(place, false);
        one.implied = false;
        one.settings.0.as_mut()
    }

    /// Whether a technique was enabled itself, not only because another builds on it.
    pub(super) fn is_asked_for(&self, name: &str) -> bool {
        self.chosen.0.iter().any(|one| !one.implied && Techniques::ALL[one.place].name == name)
    }

    /// Enables the techniques that enabled ones need, and disables those that are no longer needed.
    pub(super) fn imply(&mut self) {
        self.chosen.0.retain(|one| !one.implied);
        loop {
            let wanted = self.settings().flat_map(|(_, technique, settings)| builds_on(technique, settings));
            let missing =
                wanted.map(place_of).find(|place| self.chosen.0.iter().all(|one| one.place != *place));
            match missing {
                Some(place) => self.chosen.put(place, true),
                None => return,
            };
        }
    }

    /// The settings of a technique, as the type that they are, if it is on.
    pub(super) fn parameters_of<P: 'static>(&self, name: &str) -> Option<&P> {
        let (.., settings) = self.settings().find(|(_, technique, _)| technique.name == name)?;
        Some(settings.of())
    }

    /// The value of a parameter of a technique that is on.
    pub fn get(&self, name: &str, parameter: &str) -> Option<String> {
        let (.., settings) = self.settings().find(|(_, technique, _)| technique.name == name)?;
        settings.get(parameter)
    }

    /// The techniques at a site of an SM or partition.
    pub(crate) fn hang<S: ?Sized>(
        &self,
        config: &Config,
        instance: u32,
        build: impl Fn(&Sites, &Build) -> Option<Box<S>>,
    ) -> Vec<Hung<S>> {
        let inject = self.inject.filter(|_| instance == 0);
        let each = self.settings().filter_map(|(place, technique, settings)| {
            let inject = inject.filter(|fault| technique.stores.contains(fault));
            let verify = self.verify || inject.is_some();
            let site = build(
                &technique.sites,
                &Build { config, settings, techniques: self, instance, verify, inject },
            )?;
            Some(Hung { technique: place, site })
        });
        each.collect()
    }

    /// The counts of instructions that a technique takes its hints from, if one does.
    pub fn wanted_counts(&self) -> Option<WantedCounts> {
        self.settings().find_map(|(_, technique, settings)| {
            let word = |parameter: &str| settings.get(parameter);
            let is = |word: Option<String>, value: &str| word.as_deref() == Some(value);
            let of = |value: &str| is(word("pairs"), value) || is(word("hints"), value);
            let same_run = of("perfect");
            (same_run || of("profile")).then(|| WantedCounts {
                technique: technique.name,
                file: word("profile").filter(|file| !file.is_empty()),
                same_run,
            })
        })
    }

    /// The program that is run instead of `program`: every technique with a compiler half makes its changes, in the order of the list.
    /// `None` if none has.
    pub fn rewrite(&self, program: &Program) -> Option<Program> {
        let mut rewritten = None;
        for (_, technique, settings) in self.settings() {
            if let Some(pass) = technique.sites.program {
                let program = rewritten.as_ref().unwrap_or(program);
                rewritten = Some(pass(&Pass { program, settings, profile: self.profile.as_deref() }));
            }
        }
        rewritten
    }

    /// The most blocks of a kernel that an SM may take, if a technique limits them.
    pub fn limit_blocks(&self, config: &Config, shape: &BlockShape) -> Option<u32> {
        let limits = self.settings().filter_map(|(_, technique, settings)| {
            technique.sites.blocks.map(|limit| limit(settings, config, shape).max(1))
        });
        limits.min()
    }
}
