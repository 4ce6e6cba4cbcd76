// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which techniques are on, with their parameters, and how they are watched.

use std::sync::Arc;

use warpwatt_codecs::profile::Profile;
use warpwatt_config::{Config, Settings};
use warpwatt_isa::Program;

use super::{BlockShape, Build, Fault, Hung, Pass, Sites, Technique};

/// A choice of techniques.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Techniques {
    pub chosen: Chosen,
    /// Keep what is stored byte by byte, and compare what comes back with what was given.
    pub verify: bool,
    /// Flip one stored bit, which verification has to notice.
    pub inject: Option<Fault>,
    /// Frequencies of symbols for techniques that are given them beforehand.
    pub profile: Option<Arc<Profile>>,
}

impl Default for Techniques {
    /// None is on. What is stored is verified where checks are compiled in.
    fn default() -> Self {
        Techniques { chosen: Chosen::default(), verify: cfg!(debug_assertions), inject: None, profile: None }
    }
}

/// The settings of techniques that are on, in the order of the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen(Vec<(usize, Held)>);

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

impl Techniques {
    /// Those that are on, in the order of the list, each with its place there and its settings.
    pub(super) fn settings(&self) -> impl Iterator<Item = (usize, &'static Technique, &dyn Settings)> {
        self.chosen.0.iter().map(|(place, held)| (*place, Techniques::ALL[*place], held.0.as_ref()))
    }

    /// Those that are on, in the order of the list.
    pub fn on(&self) -> impl Iterator<Item = &'static Technique> {
        self.settings().map(|(_, technique, _)| technique)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.on().any(|technique| technique.name == name)
    }

    pub fn is_empty(&self) -> bool {
        self.chosen.0.is_empty()
    }

    /// Whether one is on that compares what it stores with what comes back.
    pub fn are_verified(&self) -> bool {
        !self.is_empty() && (self.verify || self.inject.is_some())
    }

    /// Settings of a technique, which is switched on with the usual ones if it is not.
    pub(super) fn settings_of(&mut self, technique: &Technique) -> &mut dyn Settings {
        let place = Techniques::ALL.iter().position(|other| other.name == technique.name);
        let place = place.expect("techniques are taken from the list");
        let chosen = &mut self.chosen.0;
        let at = chosen.partition_point(|(other, _)| *other < place);
        if chosen.get(at).is_none_or(|(other, _)| *other != place) {
            chosen.insert(at, (place, Held((technique.settings)())));
        }
        chosen[at].1.0.as_mut()
    }

    /// The value of a parameter of a technique that is on.
    pub fn get(&self, name: &str, parameter: &str) -> Option<String> {
        let (.., settings) = self.settings().find(|(_, technique, _)| technique.name == name)?;
        settings.get(parameter)
    }

    /// What techniques have at a site of an SM or partition.
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
            let profile = self.profile.as_deref();
            let site =
                build(&technique.sites, &Build { config, settings, instance, verify, inject, profile })?;
            Some(Hung { technique: place, site })
        });
        each.collect()
    }

    /// The program that is run instead of `program`: every technique with a compiler half makes its changes, in the order of the list.
    /// `None` if none has.
    pub fn rewrite(&self, program: &Program) -> Option<Program> {
        let mut rewritten = None;
        for (_, technique, settings) in self.settings() {
            if let Some(pass) = technique.sites.program {
                let program = rewritten.as_ref().unwrap_or(program);
                rewritten = Some(pass(&Pass { program, settings, profile: None }));
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
