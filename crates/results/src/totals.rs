// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums over the launches of a run. Counters of the timed GPU are not added up from kernels, which share them when they run at the
//! same time, but taken from the device as a whole.

use std::collections::BTreeMap;

use warpwatt_config::Config;

use crate::counters::{LANES, Reading, Values};
use crate::derived::derive;
use crate::record::{Kernel, Line, Mode, Stalls, Totals};

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

impl Totals {
    /// Counts add up; ratios are worked out again from the sums.
    pub fn of(kernels: &[Kernel], elapsed: Option<Elapsed>) -> Totals {
        let mut totals = Totals { launches: kernels.len() as u64, ..Totals::default() };
        let mut lines = BTreeMap::<(&str, u32), Line>::new();
        for kernel in kernels {
            totals.warp_instructions += kernel.warp_instructions;
            totals.thread_instructions += kernel.thread_instructions;
            for (name, reading) in &kernel.counters {
                let functional = crate::COUNTERS.iter().any(|info| info.name == name);
                match reading {
                    Reading::Count(_) | Reading::Histogram(_) if functional => {
                        match totals.counters.get_mut(name) {
                            Some(sum) => sum.add(reading),
                            None => drop(totals.counters.insert(name.clone(), reading.clone())),
                        }
                    }
                    _ => {}
                }
            }
            for line in &kernel.lines {
                add_line(&mut lines, line);
            }
        }
        if totals.warp_instructions > 0 {
            let lanes = totals.thread_instructions as f64 / totals.warp_instructions as f64;
            totals.counters.insert(LANES.name.to_owned(), Reading::Ratio(lanes));
        }
        if let Some(Elapsed { config, cycles, mut counters, stalls }) = elapsed {
            let timed = || kernels.iter().filter(|kernel| kernel.mode == Mode::Timed);
            let threads = timed().map(|kernel| kernel.thread_instructions).sum();
            let warps = timed().map(|kernel| kernel.warp_instructions).sum();
            let rates = ipc(threads, warps, cycles, config);
            (totals.ipc, totals.warp_ipc_per_sm) = (rates.map(|rate| rate.0), rates.map(|rate| rate.1));
            derive(&mut counters, cycles, config);
            totals.counters.append(&mut counters);
            (totals.cycles, totals.stalls) = (Some(cycles), Some(stalls));
        }
        totals.lines = lines.into_values().collect();
        totals
    }
}

fn add_line<'a>(lines: &mut BTreeMap<(&'a str, u32), Line>, line: &'a Line) {
    use std::collections::btree_map::Entry;
    match lines.entry((&line.file, line.line)) {
        Entry::Vacant(place) => {
            place.insert(line.clone());
        }
        Entry::Occupied(mut place) => {
            let sum = place.get_mut();
            sum.warp_instructions += line.warp_instructions;
            sum.thread_instructions += line.thread_instructions;
            if let Some(stalls) = &line.stalls {
                let sums = sum.stalls.get_or_insert_default();
                for (reason, cycles) in stalls {
                    *sums.entry(reason.clone()).or_default() += cycles;
                }
            }
        }
    }
}
