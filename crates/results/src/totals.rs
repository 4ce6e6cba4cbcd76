// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums over the launches of a run, added up launch by launch, so that nothing of a single launch has to be kept. Counters of the
//! timed GPU are not added up from kernels, which share them when they run at the same time, but taken from the device as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpwatt_config::Config;

use crate::counters::{LANES, Reading, Values};
use crate::derived::derive;
use crate::group::{GroupSums, KernelGroup, OTHERS};
use crate::launched::{Launched, LaunchedEnergy, Visitor};
use crate::record::{Kernel, Line, Mode, Stalls, Totals};

/// Kernels that have an entry of their own among the groups; all others share one.
const GROUPS: usize = 256;

/// What a timed run counted as a whole.
pub struct Elapsed<'a> {
    pub config: &'a Config,
    /// Cycles in which kernels were under way.
    pub cycles: u64,
    /// Of the GPU, as counted.
    pub counters: Values,
    /// Issue slots without issue, by reason.
    pub stalls: Stalls,
}

/// Thread instructions per cycle, and warp instructions per cycle and SM.
pub fn ipc(threads: u64, warps: u64, cycles: u64, config: &Config) -> Option<(f64, f64)> {
    let cycles = (cycles > 0).then_some(cycles as f64)?;
    Some((threads as f64 / cycles, warps as f64 / cycles / f64::from(config.gpu.sms)))
}

/// Sums over launches. Their size depends on the number of kernels and of source lines, not on the number of launches.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sums {
    launches: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    timed_warps: u64,
    timed_threads: u64,
    /// Counters that every launch has, timed or not.
    counters: Values,
    /// By file and line.
    lines: BTreeMap<String, BTreeMap<u32, LineSums>>,
    /// By kind of operation.
    classes: BTreeMap<String, ClassSums>,
    /// In the order of the first launch.
    groups: Vec<GroupSums>,
}

/// Sums of one source line.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineSums {
    warp_instructions: u64,
    thread_instructions: u64,
    stalls: Option<Stalls>,
    energy: Option<LineJoules>,
}

/// Energy of one source line.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineJoules {
    pub energy_j: f64,
    pub dynamic_j: f64,
    /// Issue slots that it used or was waited for in.
    pub slots: f64,
}

/// Energy of one kind of operation.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSums {
    pub warp_instructions: u64,
    pub energy_j: f64,
    pub dynamic_j: f64,
}

impl Sums {
    /// The sums of these launches.
    pub fn of<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> Sums {
        let mut sums = Sums::default();
        for kernel in kernels {
            sums.add(&Launched::from(kernel));
        }
        sums
    }

    pub fn launches(&self) -> u64 {
        self.launches
    }

    pub fn warp_instructions(&self) -> u64 {
        self.warp_instructions
    }

    pub fn thread_instructions(&self) -> u64 {
        self.thread_instructions
    }

    /// Adds a launch. Gives the number of its group.
    pub fn add(&mut self, launch: &Launched) -> usize {
        self.launches += 1;
        self.warp_instructions += launch.warp_instructions;
        self.thread_instructions += launch.thread_instructions;
        if launch.mode == Mode::Timed {
            self.timed_warps += launch.warp_instructions;
            self.timed_threads += launch.thread_instructions;
        }
        for (name, count) in &launch.counts {
            match self.counters.get_mut(*name) {
                Some(sum) => sum.add(&Reading::Count(*count)),
                None => drop(self.counters.insert((*name).to_owned(), Reading::Count(*count))),
            }
        }
        for line in &launch.lines {
            let sum = self.line(line.file, line.line);
            sum.warp_instructions += line.warp_instructions;
            sum.thread_instructions += line.thread_instructions;
            if let Some(stalls) = &line.stalls {
                add_stalls(sum.stalls.get_or_insert_default(), stalls.iter().copied());
            }
        }
        if let Some(energy) = &launch.energy {
            self.add_energy(energy);
        }
        let group = self.group(launch);
        self.groups[group].add(launch);
        group
    }

    /// Adds counters of one or more launches of a group, which were left out when these were added.
    pub fn add_counters(&mut self, group: usize, visit: &dyn Fn(Visitor)) {
        self.groups[group].add_counters(visit);
    }

    fn add_energy(&mut self, energy: &LaunchedEnergy) {
        for &(file, line, joules) in &energy.lines {
            let sum = self.line(file, line).energy.get_or_insert_default();
            sum.energy_j += joules.energy_j;
            sum.dynamic_j += joules.dynamic_j;
            sum.slots += joules.slots;
        }
        for (name, class) in &energy.classes {
            add_class(&mut self.classes, name, class);
        }
    }

    fn line(&mut self, file: &str, line: u32) -> &mut LineSums {
        if !self.lines.contains_key(file) {
            self.lines.insert(file.to_owned(), BTreeMap::new());
        }
        let Some(lines) = self.lines.get_mut(file) else { unreachable!("it was just put there") };
        lines.entry(line).or_default()
    }

    /// The group of a launch.
    fn group(&mut self, launch: &Launched) -> usize {
        self.place(launch.name, launch.mode).unwrap_or_else(|own| {
            self.groups.push(GroupSums::new(launch, own, self.launches - 1));
            self.groups.len() - 1
        })
    }

    /// Where the launches of a kernel are added up; if a group has to be added first, whether it is the kernel's own.
    fn place(&self, name: &str, mode: Mode) -> Result<usize, bool> {
        let find = |name: &str| self.groups.iter().position(|group| group.mode == mode && group.name == name);
        match find(name) {
            Some(place) => Ok(place),
            None if self.groups.len() < GROUPS && name != OTHERS => Err(true),
            None => find(OTHERS).ok_or(false),
        }
    }

    /// Adds the launches of another process, which come after those of this one.
    pub fn merge(&mut self, other: &Sums) {
        let before = self.launches;
        self.launches += other.launches;
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.timed_warps += other.timed_warps;
        self.timed_threads += other.timed_threads;
        for (name, reading) in &other.counters {
            match self.counters.get_mut(name) {
                Some(sum) => sum.add(reading),
                None => drop(self.counters.insert(name.clone(), reading.clone())),
            }
        }
        for (file, lines) in &other.lines {
            for (&number, line) in lines {
                let sum = self.line(file, number);
                sum.warp_instructions += line.warp_instructions;
                sum.thread_instructions += line.thread_instructions;
                if let Some(stalls) = &line.stalls {
                    add_stalls(sum.stalls.get_or_insert_default(), by_reason(stalls));
                }
                if let Some(energy) = &line.energy {
                    let sum = sum.energy.get_or_insert_default();
                    sum.energy_j += energy.energy_j;
                    sum.dynamic_j += energy.dynamic_j;
                    sum.slots += energy.slots;
                }
            }
        }
        for (name, class) in &other.classes {
            add_class(&mut self.classes, name, class);
        }
        for group in &other.groups {
            let mut group = group.clone();
            group.first += before;
            match self.place(&group.name, group.mode) {
                Ok(place) => self.groups[place].merge(&group),
                Err(true) => self.groups.push(group),
                Err(false) => self.groups.push(group.anonymous()),
            }
        }
    }

    /// Places of source lines that have something to show.
    pub fn places(&self) -> impl Iterator<Item = (&str, u32)> {
        self.lines.iter().flat_map(|(file, lines)| lines.keys().map(move |&line| (file.as_str(), line)))
    }

    /// Energy by source line, in order of file and line.
    pub fn line_energy(&self) -> impl Iterator<Item = (&str, u32, LineJoules)> {
        let lines = self.lines.iter();
        lines.flat_map(|(file, lines)| {
            lines.iter().filter_map(move |(&line, sums)| Some((file.as_str(), line, sums.energy?)))
        })
    }

    /// Energy by kind of operation.
    pub fn class_energy(&self, kind: &str) -> Option<ClassSums> {
        self.classes.get(kind).copied()
    }

    /// The entries of the record by kernel, in order of first launch; `config` is that of a timed run.
    pub fn groups(&self, config: Option<&Config>) -> Vec<KernelGroup> {
        self.groups.iter().map(|group| group.entry(config)).collect()
    }

    /// Counts add up; ratios are worked out from the sums.
    pub fn totals(&self, elapsed: Option<Elapsed>) -> Totals {
        let mut totals = Totals {
            launches: self.launches,
            warp_instructions: self.warp_instructions,
            thread_instructions: self.thread_instructions,
            counters: self.counters.clone(),
            ..Totals::default()
        };
        if totals.warp_instructions > 0 {
            let lanes = totals.thread_instructions as f64 / totals.warp_instructions as f64;
            totals.counters.insert(LANES.name.to_owned(), Reading::Ratio(lanes));
        }
        if let Some(Elapsed { config, cycles, mut counters, stalls }) = elapsed {
            let rates = ipc(self.timed_threads, self.timed_warps, cycles, config);
            (totals.ipc, totals.warp_ipc_per_sm) = (rates.map(|rate| rate.0), rates.map(|rate| rate.1));
            derive(&mut counters, cycles, config);
            totals.counters.append(&mut counters);
            (totals.cycles, totals.stalls) = (Some(cycles), Some(stalls));
        }
        let lines = self.lines.iter();
        totals.lines = lines
            .flat_map(|(file, lines)| {
                lines.iter().map(|(&line, sums)| Line {
                    file: file.clone(),
                    line,
                    warp_instructions: sums.warp_instructions,
                    thread_instructions: sums.thread_instructions,
                    stalls: sums.stalls.clone(),
                })
            })
            .collect();
        totals
    }
}

/// Stalls as [`add_stalls`] takes them.
pub(crate) fn by_reason(stalls: &Stalls) -> impl Iterator<Item = (&str, u64)> {
    stalls.iter().map(|(reason, cycles)| (reason.as_str(), *cycles))
}

pub(crate) fn add_stalls<'a>(sums: &mut Stalls, stalls: impl Iterator<Item = (&'a str, u64)>) {
    for (reason, cycles) in stalls {
        match sums.get_mut(reason) {
            Some(sum) => *sum += cycles,
            None => drop(sums.insert(reason.to_owned(), cycles)),
        }
    }
}

fn add_class(sums: &mut BTreeMap<String, ClassSums>, name: &str, class: &ClassSums) {
    let Some(sum) = sums.get_mut(name) else {
        sums.insert(name.to_owned(), *class);
        return;
    };
    sum.warp_instructions += class.warp_instructions;
    sum.energy_j += class.energy_j;
    sum.dynamic_j += class.dynamic_j;
}
