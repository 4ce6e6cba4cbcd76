// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sections are about: a whole run, or one launch of it. Both have counters, issue slots and energy of the same names.

use warpwatt_config::Config;
use warpwatt_results::{Energy, Kernel, Line, Reading, RunRecord, Stalls, Values};

use crate::html::Cell;
use crate::number::{joules, percent};

pub struct Scope<'a> {
    /// Begins the identifiers of its sections.
    pub id: String,
    pub title: String,
    pub cycles: Option<u64>,
    pub launches: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub ipc: Option<f64>,
    pub counters: &'a Values,
    pub stalls: Option<&'a Stalls>,
    pub energy: Option<&'a Energy>,
    pub lines: &'a [Line],
    /// Of one launch.
    pub kernel: Option<&'a Kernel>,
    /// Of a timed run.
    pub config: Option<Config>,
}

/// The GPU of a record. Parameters that this version does not know are left out.
pub fn config(record: &RunRecord) -> Option<Config> {
    let gpu = record.inputs.gpu.as_ref()?;
    let mut config = Config::default();
    for (key, value) in &gpu.parameters {
        let _ = config.set(key, value);
    }
    Some(config)
}

impl<'a> Scope<'a> {
    pub fn of_run(id: &str, record: &'a RunRecord) -> Scope<'a> {
        let totals = &record.totals;
        Scope {
            id: id.to_owned(),
            title: "Whole run".to_owned(),
            cycles: totals.cycles.filter(|cycles| *cycles > 0),
            launches: totals.launches,
            warp_instructions: totals.warp_instructions,
            thread_instructions: totals.thread_instructions,
            ipc: totals.ipc,
            counters: &totals.counters,
            stalls: totals.stalls.as_ref(),
            energy: record.energy.as_ref(),
            lines: &totals.lines,
            kernel: None,
            config: config(record).filter(|_| totals.cycles.is_some()),
        }
    }

    pub fn of_launch(id: &str, record: &'a RunRecord, kernel: &'a Kernel) -> Scope<'a> {
        Scope {
            id: format!("{id}-k{}", kernel.index),
            title: format!("Launch {}: {}", kernel.index, kernel.demangled),
            cycles: kernel.cycles.filter(|cycles| *cycles > 0),
            launches: 1,
            warp_instructions: kernel.warp_instructions,
            thread_instructions: kernel.thread_instructions,
            ipc: kernel.ipc,
            counters: &kernel.counters,
            stalls: kernel.stalls.as_ref(),
            energy: kernel.energy.as_ref(),
            lines: &kernel.lines,
            kernel: Some(kernel),
            config: config(record).filter(|_| kernel.cycles.is_some()),
        }
    }

    /// A counter, or the sum of a histogram.
    pub fn count(&self, name: &str) -> Option<f64> {
        match self.counters.get(name)? {
            Reading::Count(count) => Some(*count as f64),
            Reading::Ratio(ratio) => Some(*ratio).filter(|ratio| ratio.is_finite()),
            Reading::Histogram(buckets) => Some(buckets.iter().sum::<u64>() as f64),
        }
    }

    /// A counter that is 0 where it is absent.
    pub fn or_none(&self, name: &str) -> f64 {
        self.count(name).unwrap_or_default()
    }

    pub fn histogram(&self, name: &str) -> &[u64] {
        match self.counters.get(name) {
            Some(Reading::Histogram(buckets)) => buckets,
            _ => &[],
        }
    }

    pub fn seconds(&self) -> Option<f64> {
        let config = self.config.as_ref()?;
        Some(self.cycles? as f64 / (f64::from(config.clock.core_mhz) * 1e6))
    }

    /// Bytes that the memory moved.
    pub fn dram_bytes(&self) -> Option<f64> {
        let access = f64::from(self.config.as_ref()?.dram_access_bytes());
        Some((self.count("dram.reads.count")? + self.count("dram.writes.count")?) * access)
    }

    /// Issue slots that a reason took.
    pub fn stall(&self, reason: &str) -> f64 {
        self.stalls.and_then(|stalls| stalls.get(reason)).copied().unwrap_or_default() as f64
    }

    pub fn slots(&self) -> Option<f64> {
        self.count("sm.issue_slots.count").filter(|slots| *slots > 0.0)
    }

    /// Energy of components, dynamic and static, of those that the technology has.
    pub fn energy_of(&self, components: &[&str]) -> Option<(f64, f64)> {
        let energy = self.energy?;
        let own = energy.components.iter().filter(|component| components.contains(&component.name.as_str()));
        let sum = own.fold(None::<(f64, f64)>, |sum, component| {
            let (dynamic, fixed) = sum.unwrap_or_default();
            Some((dynamic + component.dynamic_j, fixed + component.static_j))
        });
        sum.filter(|(dynamic, fixed)| dynamic.is_finite() && fixed.is_finite())
    }

    pub fn joules_of(&self, components: &[&str]) -> Option<f64> {
        self.energy_of(components).map(|(dynamic, fixed)| dynamic + fixed)
    }

    pub fn dynamic_of(&self, components: &[&str]) -> f64 {
        self.energy_of(components).map_or(0.0, |(dynamic, _)| dynamic)
    }

    /// Energy of one kind of operations.
    pub fn class_j(&self, name: &str) -> Option<f64> {
        self.energy?.per_class.iter().find(|class| class.name == name).map(|class| class.energy_j)
    }

    /// The cell of a column of energy: joules, and their share of all.
    pub fn energy_cell(&self, value: Option<f64>) -> Cell {
        let total = self.energy.map_or(f64::NAN, |energy| energy.total_j);
        match value {
            Some(value) if total > 0.0 => {
                Cell::Number(format!("{} ({})", joules(value), percent(value / total)), value)
            }
            Some(value) => Cell::Number(joules(value), value),
            None => Cell::Nothing,
        }
    }
}
