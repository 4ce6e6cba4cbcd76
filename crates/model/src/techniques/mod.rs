// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ideas for saving energy or bandwidth, each in a folder of its own: parameters, state, counters, and what it does at the hooks.
//!
//! A technique sits in one structure of the GPU, and gives back exactly what it was given. Those of different structures compose; of one
//! structure there is at most one. The list below is all that knows them by name; docs/adding-a-technique.md leads through one.

mod choose;
pub mod register_file;
pub mod warped_compression;

use warpwatt_base::counters::{Count, CounterInfo};
use warpwatt_config::{Config, Parameter, Refusal};

pub use choose::TechniqueError;

/// Where in the GPU a technique sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    RegisterFile,
}

impl Structure {
    pub fn name(self) -> &'static str {
        match self {
            Structure::RegisterFile => "register file",
        }
    }
}

/// What there is to know about a technique.
#[derive(Clone, Copy, Debug)]
pub struct TechniqueInfo {
    pub name: &'static str,
    pub structure: Structure,
    /// One line.
    pub doc: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    pub parameters: fn() -> &'static [Parameter],
    pub counters: &'static [CounterInfo],
}

/// A bit of what is stored, flipped to see whether that is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// In the register file.
    Rf,
}

/// The list of techniques: module, name, structure, what it is, where it is described.
macro_rules! techniques {
    ($($module:ident = $name:literal, $structure:ident, $doc:literal, $paper:literal;)*) => {
        /// Which techniques are on, with their parameters, and how they are watched.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Techniques {
            $(#[doc = $doc] pub $module: Option<$module::Parameters>,)*
            /// Keep what is stored byte by byte, and compare what comes back with what was given.
            pub verify: bool,
            /// Spoil one stored bit, which verification has to notice.
            pub inject: Option<Fault>,
        }

        impl Default for Techniques {
            /// None is on. What is stored is verified where checks are compiled in.
            fn default() -> Self {
                Techniques { $($module: None,)* verify: cfg!(debug_assertions), inject: None }
            }
        }

        impl Techniques {
            /// All that there are.
            pub const ALL: &'static [TechniqueInfo] = &[$(TechniqueInfo {
                name: $name,
                structure: Structure::$structure,
                doc: $doc,
                paper: $paper,
                parameters: $module::Parameters::parameters,
                counters: $module::Counters::INFO,
            },)*];

            /// Whether the technique of a place in the list is on.
            pub fn is_on(&self, name: &str) -> bool {
                match name {
                    $($name => self.$module.is_some(),)*
                    _ => false,
                }
            }

            /// Switches a technique on, if it is not, with the usual parameters.
            fn switch_on(&mut self, name: &str) -> bool {
                match name {
                    $($name => { self.$module.get_or_insert_default(); true })*
                    _ => false,
                }
            }

            /// The value of a parameter of a technique that is on.
            pub fn get(&self, name: &str, parameter: &str) -> Option<String> {
                match name {
                    $($name => self.$module.as_ref()?.get(parameter),)*
                    _ => None,
                }
            }

            fn put(&mut self, name: &str, parameter: &str, text: &str) -> Result<(), Refusal> {
                match name {
                    $($name => self.$module.get_or_insert_default().set(parameter, text),)*
                    _ => Err(Refusal::UnknownKey),
                }
            }

            fn check_each(&self, config: &Config, found: &mut Vec<TechniqueError>) {
                $(if let Some(parameters) = &self.$module {
                    $module::check(parameters, config, found);
                })*
            }

            /// The usual value of a parameter.
            fn usual(name: &str, parameter: &str) -> Option<String> {
                match name {
                    $($name => $module::Parameters::default().get(parameter),)*
                    _ => None,
                }
            }
        }

        /// What techniques counted; nothing for those that are off.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct TechniqueCounters {
            $(pub $module: Option<Box<$module::Counters>>,)*
        }

        impl TechniqueCounters {
            /// Counters at zero for the techniques that are on.
            pub fn of(techniques: &Techniques) -> TechniqueCounters {
                TechniqueCounters { $($module: techniques.$module.as_ref().map(|_| Box::default()),)* }
            }

            /// Those of all techniques.
            pub fn infos() -> Vec<CounterInfo> {
                [$($module::Counters::INFO),*].concat()
            }

            pub fn add(&mut self, other: &TechniqueCounters) {
                $(if let Some(other) = &other.$module {
                    self.$module.get_or_insert_default().add(other);
                })*
            }

            pub fn since(&self, earlier: &TechniqueCounters) -> TechniqueCounters {
                TechniqueCounters {
                    $($module: match (&self.$module, &earlier.$module) {
                        (Some(now), Some(earlier)) => Some(Box::new(now.since(earlier))),
                        (now, _) => now.clone(),
                    },)*
                }
            }

            pub fn visit(&self, f: &mut dyn FnMut(&'static str, Count)) {
                $(if let Some(counters) = &self.$module {
                    counters.visit(f);
                })*
            }
        }
    };
}

techniques! {
    warped_compression = "warped-compression", RegisterFile,
        "Registers of warps compressed by base and delta; banks without data are switched off.",
        "Lee et al., Warped-Compression, ISCA 2015";
}
