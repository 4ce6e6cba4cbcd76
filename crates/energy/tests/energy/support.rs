// SPDX-License-Identifier: MIT OR Apache-2.0
//! Technologies worked out with everything on, and counts that differ from each other.

use std::collections::BTreeSet;

use warpwatt_config::{Config, GpuFile};
use warpwatt_energy::{Breakdown, Model, Seconds, Setting, Technology};

/// Techniques that the built-in technologies know.
pub const TECHNIQUES: &[&str] = &[
    "warped-compression",
    "drowsy",
    "dwl",
    "gated",
    "filter-cache",
    "renaming",
    "packing",
    "e2mc",
    "bdi",
    "fpc",
    "cpack",
];

/// Parameters of techniques, none of them 0.
pub const PARAMETERS: &[(&str, f64)] = &[
    ("technique.e2mc.symbol_bits", 16.0),
    ("technique.warped-compression.compression", 1.0),
    ("technique.warped-compression.compressors", 2.0),
    ("technique.warped-compression.decompressors", 4.0),
    ("technique.warped-compression.gated_leakage", 0.05),
    ("technique.warped-compression.wake_pj", 3.0),
    ("technique.drowsy.millivolts", 400.0),
    ("technique.drowsy.wake_fj", 100.0),
    ("technique.dwl.overhead", 0.02),
    ("technique.gated.leakage", 0.1),
    ("technique.filter-cache.bytes", 1024.0),
    ("technique.filter-cache.ways", 8.0),
    ("technique.renaming.gated_leakage", 0.05),
];

pub fn technology(name: &str) -> Technology {
    Technology::builtin(name).unwrap_or_else(|errors| panic!("{name}: {errors:?}"))
}

pub fn gpu(name: &str) -> Config {
    GpuFile::preset(name).map(|file| file.config).unwrap_or_else(|errors| panic!("{name}: {errors:?}"))
}

/// Every counter that a technology names.
pub fn counters(technology: &Technology) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, structure) in &technology.structures {
        for event in structure.events.iter() {
            all.insert(event.counter.value.to_string());
            all.extend(event.less.iter().map(|counter| counter.value.to_string()));
        }
        for state in structure.statics.iter().flat_map(|power| power.states.iter()) {
            all.insert(state.counter.value.to_string());
        }
    }
    all
}

/// With all techniques on, and the counters it names itself.
pub fn resolve(technology: &Technology, config: &Config) -> Model {
    resolve_with(technology, config, TECHNIQUES)
}

pub fn resolve_with(technology: &Technology, config: &Config, techniques: &[&str]) -> Model {
    resolve_at(technology, config, techniques, PARAMETERS)
}

pub fn resolve_at(
    technology: &Technology,
    config: &Config,
    techniques: &[&str],
    parameters: &[(&str, f64)],
) -> Model {
    let names = counters(technology);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let setting = Setting { config, counters: &names, all_techniques: TECHNIQUES, techniques, parameters };
    technology.resolve(setting).unwrap_or_else(|errors| panic!("{}: {errors:?}", technology.name))
}

/// A number for a name: hits are fewer than accesses, everything is above 0.
pub fn count(name: &str) -> f64 {
    let hash = name.bytes().fold(7_u64, |hash, byte| (hash * 31 + u64::from(byte)) % 9973);
    let size = if name.contains("hit") { 1e5 } else { 1e6 };
    size + 10.0 * hash as f64
}

pub const TIME: Seconds = Seconds(0.037);

pub fn evaluate(model: &Model) -> Breakdown {
    model.evaluate(&|name| Some(count(name)), TIME)
}

pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}
