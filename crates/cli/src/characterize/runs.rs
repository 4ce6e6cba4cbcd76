// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runs behind the tables: every workload on each paper's GPU, with techniques that count what the paper is about.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use warpwatt_results::{Reading, RunRecord};
use warpwatt_workloads::{Size, Workload};

use crate::args::{GpuArgs, Timing};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::job::Job;
use crate::points::progress::Progress;
use crate::points::run::{self, Missing};
use crate::profile::Known;
use crate::run::Target;

/// A way in which each workload is run.
pub struct Variant {
    pub name: &'static str,
    pub gpu: &'static str,
    pub technology: &'static str,
    /// Times the GPU's own clock of the memory, which gives as many times the bandwidth.
    pub memory_clock: u32,
    pub techniques: &'static [&'static str],
}

const fn variant(name: &'static str, gpu: &'static str, technology: &'static str) -> Variant {
    Variant { name, gpu, technology, memory_clock: 1, techniques: &[] }
}

/// The card itself: mix, occupancy, issue.
pub const CARD: &str = "card";
/// Similarity of values, as Warped-Compression counts it.
pub const SIMILARITY: &str = "similarity";
/// Widths of values, as CORF counts them.
pub const WIDTHS: &str = "widths";
/// Lanes of accesses to blocks of caches, as the thesis counts them.
pub const BLOCKS: &str = "blocks";
/// E2MC's GPU, and the same with more bandwidth.
pub const BANDWIDTH: [&str; 4] = ["bandwidth-1", "bandwidth-2", "bandwidth-4", "bandwidth-8"];

const E2MC: Variant = variant(BANDWIDTH[0], "gtx580-e2mc", "e2mc32");

pub const VARIANTS: &[Variant] = &[
    variant(CARD, "gtx480", "gtx480-40nm"),
    Variant { techniques: &["warped-compression:observe=on"], ..variant(SIMILARITY, "gtx480-wc", "wc45") },
    Variant { techniques: &["packing"], ..variant(WIDTHS, "gtx480-corf", "corf40") },
    Variant { techniques: &["block-profile"], ..variant(BLOCKS, "gtx480-thesis", "thesis32") },
    E2MC,
    Variant { name: BANDWIDTH[1], memory_clock: 2, ..E2MC },
    Variant { name: BANDWIDTH[2], memory_clock: 4, ..E2MC },
    Variant { name: BANDWIDTH[3], memory_clock: 8, ..E2MC },
];

impl Variant {
    fn target(&self) -> Result<Target, Failure> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let timing = |set: Vec<String>| {
            let gpu = GpuArgs {
                gpu: Some(self.gpu.to_owned()),
                set,
                with: owned(self.techniques),
                ..GpuArgs::default()
            };
            Timing {
                gpu,
                threads: Some(1),
                technology: Some(self.technology.to_owned()),
                ..Timing::default()
            }
        };
        let usual = Target::new(&timing(Vec::new()))?;
        if self.memory_clock == 1 {
            return Ok(usual);
        }
        let mhz = f64::from(self.memory_clock) * f64::from(usual.timed.config.clock.dram_mhz);
        Target::new(&timing(vec![format!("clock.dram_mhz={mhz}")]))
    }
}

/// A workload's runs.
pub struct Measured {
    pub workload: &'static dyn Workload,
    /// By variant.
    runs: BTreeMap<&'static str, RunRecord>,
    /// Cycles from a launch to its first block, on the card.
    pub launch_cycles: f64,
    pub sms: f64,
}

impl Measured {
    pub fn name(&self) -> &'static str {
        self.workload.info().name
    }

    pub fn run(&self, variant: &str) -> Option<&RunRecord> {
        self.runs.get(variant)
    }

    /// A counter of a run, or the sum of a histogram.
    pub fn count(&self, variant: &str, name: &str) -> Option<f64> {
        match self.run(variant)?.totals.counters.get(name)? {
            Reading::Count(count) => Some(*count as f64),
            Reading::Ratio(ratio) => Some(*ratio),
            Reading::Histogram(buckets) => Some(buckets.iter().sum::<u64>() as f64),
        }
    }

    /// The buckets of a histogram from one place on up to another.
    pub fn buckets(&self, variant: &str, name: &str, places: std::ops::Range<usize>) -> Option<f64> {
        match self.run(variant)?.totals.counters.get(name)? {
            Reading::Histogram(all) => {
                Some(places.map(|place| all.get(place).copied().unwrap_or_default() as f64).sum())
            }
            _ => None,
        }
    }
}

/// Runs every workload in all variants; nothing if that was interrupted.
pub fn run_all(
    workloads: &[&'static dyn Workload],
    size: Size,
    seed: u64,
    jobs: u32,
    flag: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Option<Vec<Measured>>, Failure> {
    let targets: Vec<Target> = VARIANTS.iter().map(Variant::target).collect::<Result<_, _>>()?;
    let tasks: Vec<(usize, usize)> = (0..workloads.len())
        .flat_map(|workload| (0..VARIANTS.len()).map(move |run| (workload, run)))
        .collect();
    let name_of = |(workload, variant): (usize, usize)| {
        format!("{}/{}", workloads[workload].info().name, VARIANTS[variant].name)
    };
    let names: Vec<_> = tasks.iter().map(|task| name_of(*task)).collect();
    let progress = Progress::new(console, jobs, names.iter().map(String::as_str), 0);
    let known = Known::new(true);
    let results: Vec<_> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let worker = || {
        while !flag.load(Ordering::Relaxed) && lock(&failed).is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(workload, variant)) = tasks.get(index) else { return };
            let job = Job::Workload { workload: workloads[workload], size, seed };
            let name = &names[index];
            progress.begin(name);
            let started = Instant::now();
            let record = run::record(&job, &targets[variant], true, &known, flag);
            progress.end(name, started.elapsed().as_secs_f64(), record.is_ok());
            console.detail(name);
            match record {
                Ok(record) => *lock(&results[index]) = Some(record),
                Err(Missing::Interrupted) => return,
                Err(Missing::Failed(reason)) => {
                    let message = format!("{name} on {}: {reason}", VARIANTS[variant].gpu);
                    lock(&failed).get_or_insert(Failure::new(Exit::CheckFailed, message));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..(jobs as usize).min(tasks.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    drop(progress);
    if let Some(failure) = lock(&failed).take() {
        return Err(failure);
    }
    let card = &targets[0].timed.config;
    let mut all: Vec<_> = workloads
        .iter()
        .map(|workload| Measured {
            workload: *workload,
            runs: BTreeMap::new(),
            launch_cycles: card.gpu.kernel_launch_cycles.into(),
            sms: card.gpu.sms.into(),
        })
        .collect();
    for ((workload, run), result) in tasks.into_iter().zip(results) {
        let Some(record) = lock(&result).take() else { return Ok(None) };
        all[workload].runs.insert(VARIANTS[run].name, record);
    }
    Ok(Some(all))
}

/// What a thread that panicked left is as good as anything: records are put in whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
