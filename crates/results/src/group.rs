// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launches of one kernel as one entry of the record: sums, and how the figures of single launches are distributed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpwatt_base::counters::Count;
use warpwatt_config::Config;

use crate::counters::{LANES, Reading, Values};
use crate::derived::derive;
use crate::launched::{Counted, Launched, Visitor};
use crate::record::{Mode, Stalls};
use crate::spread::{Distribution, Spread};
use crate::tally::Tally;
use crate::totals::{add_stalls, by_reason, ipc};

/// Name of the entry for kernels that have none of their own.
pub const OTHERS: &str = "(others)";

/// All launches of one kernel in one mode.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelGroup {
    /// As in the PTX text; `(others)` for all kernels beyond the first 256.
    pub name: String,
    /// As in the source.
    pub demangled: String,
    /// How these launches were simulated.
    pub mode: Mode,
    /// Number of launches.
    pub launches: u64,
    /// Number of the first of them among all launches, from 0.
    pub first: u64,
    /// Blocks in x, y and z, if they are the same in all launches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grid: Option<[u32; 3]>,
    /// Threads per block in x, y and z, if they are the same in all launches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub block: Option<[u32; 3]>,
    /// Per thread, the most of any launch.
    pub registers: u32,
    /// Static and dynamic shared memory per block, the most of any launch.
    pub shared_bytes: u32,
    /// Local memory per thread, the most of any launch.
    pub local_bytes: u32,
    /// Cycles of all launches added up, whether they overlapped or not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles: Option<u64>,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction issued counts once for every active lane.
    pub thread_instructions: u64,
    /// Thread instructions per cycle.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ipc: Option<f64>,
    /// Warp instructions per cycle and SM.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warp_ipc_per_sm: Option<f64>,
    /// Figures of the single launches by name: `blocks`, `threads_per_block`, `warp_instructions`, `thread_instructions`; of timed launches also
    /// `cycles`, `ipc` and, where energy was computed, `energy_j`, `dynamic_j`, `static_j` and `average_w`.
    pub distributions: BTreeMap<String, Distribution>,
    /// Counts added up, ratios of the sums.
    pub counters: Values,
    /// Issue slots without issue, by reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls: Option<Stalls>,
    /// What the GPU took while these launches ran, added up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<GroupEnergy>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupEnergy {
    /// All of it, in joules.
    pub total_j: f64,
    /// Of events.
    pub dynamic_j: f64,
    /// Of time: leakage, standby, constant power.
    pub static_j: f64,
    /// Mean power, in watts.
    pub average_w: f64,
}

/// The launches of one kernel while they are added up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupSums {
    pub name: String,
    demangled: String,
    pub mode: Mode,
    pub launches: u64,
    pub first: u64,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    registers: u32,
    shared_bytes: u32,
    local_bytes: u32,
    cycles: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    spreads: BTreeMap<String, Spread>,
    counters: Tally,
    stalls: Option<Stalls>,
    energy: Option<GroupEnergy>,
}

impl GroupSums {
    /// Without launches yet; `own` is false for the group of all other kernels, `first` the number of its first launch.
    pub fn new(launch: &Launched, own: bool, first: u64) -> GroupSums {
        let (name, demangled) = if own { (launch.name, launch.demangled) } else { (OTHERS, OTHERS) };
        GroupSums {
            name: name.to_owned(),
            demangled: demangled.to_owned(),
            mode: launch.mode,
            launches: 0,
            first,
            grid: Some(launch.grid),
            block: Some(launch.block),
            registers: 0,
            shared_bytes: 0,
            local_bytes: 0,
            cycles: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            spreads: BTreeMap::new(),
            counters: Tally::default(),
            stalls: None,
            energy: None,
        }
    }

    pub fn add(&mut self, launch: &Launched) {
        self.launches += 1;
        self.grid = self.grid.filter(|grid| *grid == launch.grid);
        self.block = self.block.filter(|block| *block == launch.block);
        self.registers = self.registers.max(launch.registers);
        self.shared_bytes = self.shared_bytes.max(launch.shared_bytes);
        self.local_bytes = self.local_bytes.max(launch.local_bytes);
        self.cycles += launch.cycles.unwrap_or_default();
        self.warp_instructions += launch.warp_instructions;
        self.thread_instructions += launch.thread_instructions;
        let mut add = self.counters.adding();
        launch.counts.iter().for_each(|(name, count)| add(name, Count::Sum(*count)));
        drop(add);
        if let Counted::Values(values) = launch.counters {
            let mut others = values.clone();
            others.retain(|name, _| launch.counts.iter().all(|(known, _)| known != name));
            self.counters.add(&others);
        }
        if let Some(stalls) = &launch.stalls {
            add_stalls(self.stalls.get_or_insert_default(), stalls.iter().copied());
        }
        let volume = |extent: [u32; 3]| extent.iter().map(|&side| f64::from(side)).product();
        self.note("blocks", volume(launch.grid));
        self.note("threads_per_block", volume(launch.block));
        self.note("warp_instructions", launch.warp_instructions as f64);
        self.note("thread_instructions", launch.thread_instructions as f64);
        if let Some(cycles) = launch.cycles {
            self.note("cycles", cycles as f64);
        }
        if let Some(ipc) = launch.ipc {
            self.note("ipc", ipc);
        }
        if let Some(energy) = &launch.energy {
            let sum = self.energy.get_or_insert_default();
            sum.total_j += energy.total_j;
            sum.dynamic_j += energy.dynamic_j;
            sum.static_j += energy.static_j;
            self.note("energy_j", energy.total_j);
            self.note("dynamic_j", energy.dynamic_j);
            self.note("static_j", energy.static_j);
            self.note("average_w", energy.average_w);
        }
    }

    /// Counters of launches that were added without them.
    pub fn add_counters(&mut self, visit: &dyn Fn(Visitor)) {
        visit(&mut self.counters.adding());
    }

    fn note(&mut self, figure: &str, value: f64) {
        match self.spreads.get_mut(figure) {
            Some(spread) => spread.add(value),
            None => self.spreads.entry(figure.to_owned()).or_default().add(value),
        }
    }

    /// Adds the launches of another part of the run.
    pub fn merge(&mut self, other: &GroupSums) {
        self.launches += other.launches;
        self.first = self.first.min(other.first);
        self.grid = self.grid.filter(|_| self.grid == other.grid);
        self.block = self.block.filter(|_| self.block == other.block);
        self.registers = self.registers.max(other.registers);
        self.shared_bytes = self.shared_bytes.max(other.shared_bytes);
        self.local_bytes = self.local_bytes.max(other.local_bytes);
        self.cycles += other.cycles;
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.counters.merge(&other.counters);
        if let Some(stalls) = &other.stalls {
            add_stalls(self.stalls.get_or_insert_default(), by_reason(stalls));
        }
        for (figure, spread) in &other.spreads {
            self.spreads.entry(figure.clone()).or_default().merge(spread);
        }
        if let Some(energy) = &other.energy {
            let sum = self.energy.get_or_insert_default();
            sum.total_j += energy.total_j;
            sum.dynamic_j += energy.dynamic_j;
            sum.static_j += energy.static_j;
        }
    }

    /// Becomes part of the group of all other kernels.
    pub fn anonymous(mut self) -> GroupSums {
        self.name = OTHERS.to_owned();
        self.demangled = OTHERS.to_owned();
        self
    }

    /// The entry of the record; `config` is that of a timed run.
    pub fn entry(&self, config: Option<&Config>) -> KernelGroup {
        let timed = config.filter(|_| self.mode == Mode::Timed);
        let mut counters = Values::from(self.counters.clone());
        if self.warp_instructions > 0 {
            let lanes = self.thread_instructions as f64 / self.warp_instructions as f64;
            counters.insert(LANES.name.to_owned(), Reading::Ratio(lanes));
        }
        if let Some(config) = timed {
            derive(&mut counters, self.cycles, config);
        }
        let rates = timed
            .and_then(|config| ipc(self.thread_instructions, self.warp_instructions, self.cycles, config));
        let hertz = timed.map_or(0.0, |config| f64::from(config.clock.core_mhz) * 1e6);
        let average_w = |joules: f64| if self.cycles > 0 { joules * hertz / self.cycles as f64 } else { 0.0 };
        let energy = self.energy.map(|sum| GroupEnergy { average_w: average_w(sum.total_j), ..sum });
        let distributions = self.spreads.iter();
        KernelGroup {
            name: self.name.clone(),
            demangled: self.demangled.clone(),
            mode: self.mode,
            launches: self.launches,
            first: self.first,
            grid: self.grid,
            block: self.block,
            registers: self.registers,
            shared_bytes: self.shared_bytes,
            local_bytes: self.local_bytes,
            cycles: timed.map(|_| self.cycles),
            warp_instructions: self.warp_instructions,
            thread_instructions: self.thread_instructions,
            ipc: rates.map(|rate| rate.0),
            warp_ipc_per_sm: rates.map(|rate| rate.1),
            distributions: distributions
                .filter_map(|(figure, spread)| Some((figure.clone(), spread.distribution()?)))
                .collect(),
            counters,
            stalls: self.stalls.clone(),
            energy,
        }
    }
}
