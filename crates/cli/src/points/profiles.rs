// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles of symbols that several points share: the functional run that collects one is done once for a workload, seed and GPU.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use warpwatt_runtime::{Collected, SymbolProfile, Techniques};

use super::task::Task;
use crate::exit::Failure;
use crate::job::Job;
use crate::profile;

/// What a profile was collected from: the job, the GPU, and which traffic.
type Source = (String, Arc<str>, &'static str);
type Slot = Arc<OnceLock<Result<Arc<SymbolProfile>, Failure>>>;

#[derive(Default)]
pub struct Profiles(Mutex<HashMap<Source, Slot>>);

impl Profiles {
    /// Gives techniques the profile that they need. Whoever is first collects it; others of the same profile wait.
    pub fn provide(
        &self,
        task: &Task,
        job: &Job,
        techniques: &mut Techniques,
        flag: &Arc<AtomicBool>,
    ) -> Result<(), Failure> {
        if !profile::read(techniques)? {
            return Ok(());
        }
        let collected = techniques.wanted_profile().map_or(Collected::LoadsStores, |wanted| wanted.collected);
        let key = (job.name(), task.gpu_sha256.clone(), collected.name());
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let config = &task.target.timed.config;
        let profile = slot.get_or_init(|| {
            profile::collect(job, config, flag, |traffic| traffic.profile(collected)).map(Arc::new)
        });
        techniques.symbols = Some(profile.clone()?);
        Ok(())
    }
}
