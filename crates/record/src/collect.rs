// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes launches as they end, keeps the first ones in detail and adds up all of them, so that neither memory nor the record grows
//! with the number of launches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpwatt_config::Config;
use warpwatt_results::{Kernel, Sums};
use warpwatt_runtime::{Counters, LaunchRecord};

use crate::energy::Energies;
use crate::launch::{Sorted, add_up, kernel_in};

/// Launches that are kept in detail by default (`--per-launch`).
pub const PER_LAUNCH: u64 = 16;

/// What is left of the launches of a device.
#[derive(Default)]
pub struct Launches {
    /// Of a timed device.
    config: Option<Config>,
    energies: Option<Arc<Energies>>,
    per_launch: u64,
    sorted: Sorted,
    /// Counters of launches that `sums` does not have yet, by group: they are added up before names are looked at.
    counters: Vec<Option<Arc<Counters>>>,
    /// The first launches in detail.
    pub kernels: Vec<Kernel>,
    pub sums: Sums,
    /// Launches that were timed.
    pub timed: u64,
    /// Time that the host took to execute kernels.
    pub host_seconds: f64,
}

impl Launches {
    fn add(&mut self, launch: &LaunchRecord) {
        let energies = self.energies.as_ref().zip(launch.timed.as_ref());
        let energy = energies.map(|(energies, timed)| energies.launch(launch, timed));
        let config = self.config.as_ref();
        let group = add_up(launch, config, energy.as_ref(), |launched| self.sums.add(launched));
        if let (Some(timed), Some(_)) = (&launch.timed, config) {
            self.counters.resize(self.counters.len().max(group + 1), None);
            match &mut self.counters[group] {
                Some(sum) => Arc::make_mut(sum).add(&timed.counters),
                none => *none = Some(timed.counters.clone()),
            }
        }
        self.timed += u64::from(launch.timed.is_some());
        self.host_seconds += launch.host_seconds;
        if (self.kernels.len() as u64) < self.per_launch {
            let mut kernel = kernel_in(launch, config, &mut self.sorted);
            if let (Some((energies, timed)), Some(energy)) = (energies, &energy) {
                energies.detail(launch, timed, energy, &mut kernel);
            }
            self.kernels.push(kernel);
        }
    }

    /// Completes the sums.
    fn settle(&mut self) {
        for (group, counters) in self.counters.iter_mut().enumerate() {
            if let Some(counters) = counters.take() {
                self.sums.add_counters(group, &|visitor| counters.visit(visitor));
            }
        }
    }
}

/// Launches collected by the observer of a device, for its creator.
#[derive(Clone, Default)]
pub struct Collector(Arc<Mutex<Launches>>);

impl Collector {
    /// Keeps `per_launch` launches in detail; `config` is that of a timed device, with `energies` if energy by launch and by line is requested.
    pub fn new(config: Option<Config>, energies: Option<Arc<Energies>>, per_launch: u64) -> Collector {
        Collector(Arc::new(Mutex::new(Launches { config, energies, per_launch, ..Launches::default() })))
    }

    pub fn add(&self, launch: &LaunchRecord) {
        self.lock().add(launch);
    }

    fn lock(&self) -> MutexGuard<'_, Launches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is so far. A thread that failed leaves what it had added.
    pub fn launches(&self) -> MutexGuard<'_, Launches> {
        let mut launches = self.lock();
        launches.settle();
        launches
    }

    /// All of it, leaving nothing.
    pub fn take(&self) -> Launches {
        std::mem::take(&mut *self.launches())
    }
}
