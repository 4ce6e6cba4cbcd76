// SPDX-License-Identifier: MIT OR Apache-2.0
//! What techniques are given beforehand: frequencies of symbols to make codes from, counts of instructions to take hints from. Both are read from a file,
//! or collected by a functional run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpwatt_config::Config;
use warpwatt_runtime::{Collected, Device, Profile, SymbolProfile, Techniques, Traffic, WantedCounts};

use crate::args::Execution;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::job::{Job, Stop, read_text};
use crate::run::options;
use crate::session::{Watch, Watcher};

/// How far the seed of a run is from that of the run that its profile is made of.
const OTHER_SEED: u64 = 1000;

/// What is still to be collected after files have been read.
#[derive(Debug, Default)]
pub struct Missing {
    pub symbols: Option<Collected>,
    pub counts: Option<WantedCounts>,
}

/// Gives techniques what they ask for by the name of a file.
pub fn read(techniques: &mut Techniques) -> Result<Missing, Failure> {
    let mut missing = Missing::default();
    if let Some(wanted) = techniques.wanted_profile().filter(|_| techniques.symbols.is_none()) {
        match wanted.file {
            Some(file) => {
                let profile = SymbolProfile::from_text(&read_text(Path::new(file))?).map_err(|error| {
                    let failure = Failure::new(Exit::BadInput, format!("{file}: {error}"));
                    failure.help("`warpwatt entropy WORKLOAD --write-profile FILE` collects one")
                })?;
                techniques.symbols = Some(Arc::new(profile));
            }
            None => missing.symbols = Some(wanted.collected),
        }
    }
    if let Some(wanted) = techniques.wanted_counts().filter(|_| techniques.profile.is_none()) {
        match &wanted.file {
            Some(file) => {
                let counts = Profile::from_text(&read_text(Path::new(file))?).map_err(|error| {
                    let failure = Failure::new(Exit::BadInput, format!("{file}: {error}"));
                    failure
                        .help("`warpwatt run WORKLOAD --functional --gpu GPU --write-profile FILE` makes one")
                })?;
                techniques.profile = Some(Arc::new(counts));
            }
            None => missing.counts = Some(wanted),
        }
    }
    Ok(missing)
}

/// The same, with functional runs where no file is named.
pub fn provide(
    job: &Job,
    execution: &Execution,
    config: &Config,
    techniques: &mut Techniques,
    flag: &Arc<AtomicBool>,
    console: Option<&Console>,
) -> Result<(), Failure> {
    let Missing { symbols, counts } = read(techniques)?;
    let note = |text: String| console.into_iter().for_each(|console| console.note(&text));
    if let Some(collected) = symbols {
        note(format!("collecting a profile of {} ({}) by a functional run", job.name(), collected.name()));
        let profile = collect(job, config, flag, |traffic| traffic.profile(collected))?;
        techniques.symbols = Some(Arc::new(profile));
    }
    if let Some(WantedCounts { technique, same_run, .. }) = counts {
        let other = (!same_run).then(|| job.reseeded(OTHER_SEED));
        let counted = other.as_ref().unwrap_or(job);
        note(match same_run {
            true => format!(
                "counting the instructions of {} by a functional run of the same, for `{technique}`",
                counted.name()
            ),
            false => format!(
                "counting the instructions of {} by a functional run, for `{technique}`",
                counted.name()
            ),
        });
        let mut counts = count(counted, execution, config, flag)?;
        counts.lenient = !same_run;
        techniques.profile = Some(Arc::new(counts));
    }
    Ok(())
}

/// Runs a job functionally and looks at its traffic.
pub fn collect<R>(
    job: &Job,
    config: &Config,
    flag: &Arc<AtomicBool>,
    look: impl FnOnce(&Traffic) -> R,
) -> Result<R, Failure> {
    let mut device = functional(&Execution::default(), config, flag)?;
    let log = device.note_traffic(config, &job.name());
    execute(job, &mut device)?;
    Ok(device.with_traffic(&log, look))
}

/// Runs a job functionally, with kernels compiled as for the run, and counts its instructions.
fn count(
    job: &Job,
    execution: &Execution,
    config: &Config,
    flag: &Arc<AtomicBool>,
) -> Result<Profile, Failure> {
    let Execution { max_registers, no_predication, .. } = *execution;
    let execution = Execution { max_registers, no_predication, ..Execution::default() };
    let mut device = functional(&execution, config, flag)?;
    device.count_instructions(&job.name());
    execute(job, &mut device)?;
    Ok(device.counted_instructions().cloned().unwrap_or_default())
}

fn functional(execution: &Execution, config: &Config, flag: &Arc<AtomicBool>) -> Result<Device, Failure> {
    let mut options = options(execution, None, flag.clone());
    options.limit_to(config);
    let (watcher, _) = Watcher::new(Watch { silent: true, ..Watch::default() });
    Device::with(options, Box::new(watcher)).map_err(|error| Failure::device(&error, false))
}

fn execute(job: &Job, device: &mut Device) -> Result<(), Failure> {
    let ended = job.execute(device).map_err(|stop| match stop {
        Stop::Device { error, .. } => Failure::device(&error, false),
        Stop::Io(message) => Failure::new(Exit::Io, message),
        Stop::Request(message) => Failure::new(Exit::BadInput, message),
    });
    ended.map(|_| ())
}
