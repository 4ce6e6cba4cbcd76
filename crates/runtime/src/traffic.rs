// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device whose traffic behind L2 is noted, for profiles of symbols and for measures of what could be compressed, or whose instructions are counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpwatt_codecs::huffman::WordCounts;
use warpwatt_codecs::profile::{Collected, Profile as SymbolProfile};
use warpwatt_config::Config;
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::monitor::{Observed, Witness, WordCounter};
use warpwatt_model::Profile;
use warpwatt_model::traffic::Traffic;

use crate::device::Device;

/// What a device moved, and moves.
#[derive(Clone)]
pub struct TrafficLog(Arc<Mutex<Traffic>>);

impl TrafficLog {
    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for TrafficLog {
    fn access(&self, memory: &DeviceMemory, seen: &Observed) {
        self.lock().access(memory, seen);
    }

    fn written(&self, memory: &DeviceMemory, address: u64, bytes: u64) {
        self.lock().written(memory, address, bytes);
    }
}

/// The words that kernels of a device loaded and stored.
#[derive(Clone)]
pub struct WordLog(Arc<Mutex<WordCounts>>);

impl WordLog {
    fn lock(&self) -> MutexGuard<'_, WordCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frequencies of symbols in these words; `of` is a description of the run.
    pub fn profile(&self, of: &str) -> SymbolProfile {
        self.lock().profile(Collected::LoadsStores, of)
    }
}

impl WordCounter for WordLog {
    fn count(&self, words: &[u32]) {
        self.lock().add(words);
    }
}

impl Device {
    /// Counts the words that functional launches load and store from now on, as [`Device::note_traffic`] does beside the traffic. `whole`: also by the values
    /// of whole words, for symbols of 32 bits.
    pub fn count_words(&mut self, whole: bool) -> WordLog {
        let log = WordLog(Arc::new(Mutex::new(WordCounts::new(whole))));
        self.memory.set_counter(Box::new(log.clone()));
        log
    }

    /// Notes the traffic behind the L2 cache of a GPU from now on; `of` is a description of the run. For functional devices: a timed one has its own
    /// controllers.
    pub fn note_traffic(&mut self, config: &Config, of: &str) -> TrafficLog {
        let log = TrafficLog(Arc::new(Mutex::new(Traffic::new(config, of))));
        self.memory.set_witness(Box::new(log.clone()));
        log
    }

    /// The traffic that was noted.
    pub fn with_traffic<R>(&self, log: &TrafficLog, look: impl FnOnce(&Traffic) -> R) -> R {
        let mut traffic = log.lock();
        traffic.flush(&self.memory);
        look(&traffic)
    }

    /// Counts how often the instructions of functional launches are executed from now on; `of` is a description of the run.
    pub fn count_instructions(&mut self, of: &str) {
        self.counts = Some(Profile::new(of));
    }

    /// What was counted, if it was to be.
    pub fn counted_instructions(&self) -> Option<&Profile> {
        self.counts.as_ref()
    }
}
