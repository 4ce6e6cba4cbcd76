// SPDX-License-Identifier: MIT OR Apache-2.0
//! What techniques are given beforehand: frequencies of symbols to make codes from, counts of instructions to take hints from. Both are read from a file,
//! or collected by a functional run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use warpwatt_codecs::huffman::SymbolBits;
use warpwatt_config::Config;
use warpwatt_runtime::{
    Collected, Device, Options, Profile, Programs, SymbolProfile, Techniques, Traffic, WantedCounts,
    WantedProfile,
};

use crate::args::Execution;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::job::{Job, read_text};
use crate::run::options;
use crate::session::{Watch, Watcher};

/// How far the seed of a run is from that of the run that its profile is made of.
const OTHER_SEED: u64 = 1000;

/// What is still to be collected after files have been read.
#[derive(Debug, Default)]
pub struct Missing {
    pub symbols: Option<WantedProfile>,
    pub counts: Option<WantedCounts>,
}

/// Provides techniques with the profiles that they name as files.
pub fn read(techniques: &mut Techniques) -> Result<Missing, Failure> {
    let mut missing = Missing::default();
    if let Some(wanted) = techniques.wanted_profile().filter(|_| techniques.symbols.is_none()) {
        match wanted.file {
            Some(file) => {
                let profile = SymbolProfile::from_text(&read_text(Path::new(file))?).map_err(|error| {
                    let failure = Failure::new(Exit::BadInput, format!("{file}: {error}"));
                    failure.help("`warpwatt entropy WORKLOAD --write-profile FILE` collects one")
                })?;
                if profile.collected != wanted.collected {
                    let (has, asked) = (profile.collected.name(), wanted.collected.name());
                    let message = format!(
                        "{file} is a profile of {} by {has}, and `profile_from` is {asked}",
                        profile.of
                    );
                    let failure = Failure::new(Exit::BadInput, message);
                    return Err(failure.help(format!("give `profile_from={has}`, or another profile")));
                }
                techniques.symbols = Some(Arc::new(profile));
            }
            None => missing.symbols = Some(wanted),
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

/// Gives techniques what files have. A program is run once, so that what has to be collected beforehand is refused.
pub fn read_for_a_program(techniques: &mut Techniques) -> Result<(), Failure> {
    let missing = read(techniques)?;
    if missing.symbols.is_some() {
        let failure =
            Failure::usage("offline probabilities need a profile from an earlier run of the program");
        return Err(failure.help(
            "give `profile=FILE` (`warpwatt entropy --write-profile FILE -- PROGRAM` makes one), or choose `probability=online`",
        ));
    }
    if let Some(wanted) = missing.counts {
        let failure = Failure::usage(format!(
            "`{}` needs instruction counts from an earlier run of the program",
            wanted.technique
        ));
        return Err(failure
            .help("omit it, so that hints come from the program itself, or give `profile=FILE` (`warpwatt exec --functional --gpu GPU --write-profile FILE -- PROGRAM` makes one)"));
    }
    Ok(())
}

/// What a functional run found for codes.
pub struct Symbols {
    profile: Arc<SymbolProfile>,
    /// The best ratio of any code for 16-bit symbols in the lines that moved, if it was wanted.
    pub bound: Option<f64>,
    /// Kernels of the job, as that run compiled them.
    pub programs: Programs,
}

/// Symbols of jobs that have been run, for other runs of the same.
pub struct Known {
    slots: Mutex<BTreeMap<String, SymbolsSlot>>,
    /// Lines that move are noted for [`Symbols::bound`], also where codes are made from loads and stores.
    bound: bool,
}

type SymbolsSlot = Arc<Mutex<Option<Arc<Symbols>>>>;

impl Known {
    /// `bound`: with the best ratio of any code.
    pub fn new(bound: bool) -> Known {
        Known { slots: Mutex::default(), bound }
    }

    /// The symbols of a job, which is run if it has not been.
    fn symbols(
        &self,
        job: &Job,
        config: &Config,
        wanted: &WantedProfile,
        flag: &Arc<AtomicBool>,
    ) -> Result<Arc<Symbols>, Failure> {
        // What decides which lines move, beside the job.
        let l2 = (config.gpu.partitions, config.l2.sets, config.l2.ways, config.l2.write_fetch);
        // Traffic has symbols of all lengths.
        let whole = self.bound || wanted.width == SymbolBits::ThirtyTwo;
        let from = wanted.collected.name();
        let key = format!("{} {:?} {from} {whole} {l2:?}", job.name(), job.inputs().seed);
        let place = self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(symbols) = &*place {
            return Ok(symbols.clone());
        }
        let programs = Programs::kept();
        let symbols = match wanted.collected {
            Collected::LoadsStores if !self.bound => {
                let profile = Arc::new(count_words(job, config, flag, whole, programs.clone())?);
                Symbols { profile, bound: None, programs }
            }
            _ => {
                let mut device = functional(&Execution::default(), config, flag, programs.clone())?;
                collect_on(&mut device, job, config, |traffic| Symbols {
                    profile: Arc::new(traffic.profile(wanted.collected)),
                    bound: self.bound.then(|| traffic.bound(SymbolBits::Sixteen)).flatten(),
                    programs,
                })?
            }
        };
        Ok(place.insert(Arc::new(symbols)).clone())
    }
}

/// Provides techniques with the profiles that they need, by a functional run if no file is named. Returns the symbols that a run for entropy codes found.
pub fn provide(
    known: &Known,
    job: &Job,
    execution: &Execution,
    config: &Config,
    techniques: &mut Techniques,
    flag: &Arc<AtomicBool>,
    console: Option<&Console>,
) -> Result<Option<Arc<Symbols>>, Failure> {
    let Missing { symbols, counts } = read(techniques)?;
    let note = |text: String| console.into_iter().for_each(|console| console.note(&text));
    let mut found = None;
    if let Some(wanted) = symbols {
        let other = wanted.other_seed.then(|| job.reseeded(OTHER_SEED));
        let seen = other.as_ref().unwrap_or(job);
        let from = wanted.collected.name();
        note(format!("collecting a profile of {} ({from}) by a functional run", seen.name()));
        let symbols = known.symbols(seen, config, &wanted, flag)?;
        techniques.symbols = Some(symbols.profile.clone());
        found = Some(symbols);
    } else if let Some(profile) = &techniques.symbols {
        note(format!("codes from a profile of {} ({})", profile.of, profile.collected.name()));
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
    Ok(found)
}

/// Runs a job functionally and records its traffic.
pub fn collect<R>(
    job: &Job,
    config: &Config,
    flag: &Arc<AtomicBool>,
    look: impl FnOnce(&Traffic) -> R,
) -> Result<R, Failure> {
    let mut device = functional(&Execution::default(), config, flag, Programs::default())?;
    collect_on(&mut device, job, config, look)
}

fn collect_on<R>(
    device: &mut Device,
    job: &Job,
    config: &Config,
    look: impl FnOnce(&Traffic) -> R,
) -> Result<R, Failure> {
    let log = device.note_traffic(config, &job.name());
    job.run(device)?;
    Ok(device.with_traffic(&log, look))
}

/// Runs a job functionally and counts the words that it loads and stores; `whole`: also for symbols of 32 bits.
fn count_words(
    job: &Job,
    config: &Config,
    flag: &Arc<AtomicBool>,
    whole: bool,
    programs: Programs,
) -> Result<SymbolProfile, Failure> {
    let mut device = functional(&Execution::default(), config, flag, programs)?;
    let log = device.count_words(whole);
    job.run(&mut device)?;
    Ok(log.profile(&job.name()))
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
    let mut device = functional(&execution, config, flag, Programs::default())?;
    device.count_instructions(&job.name());
    job.run(&mut device)?;
    Ok(device.counted_instructions().cloned().unwrap_or_default())
}

fn functional(
    execution: &Execution,
    config: &Config,
    flag: &Arc<AtomicBool>,
    programs: Programs,
) -> Result<Device, Failure> {
    let mut options = Options { programs, ..options(execution, None, flag.clone()) };
    options.limit_to(config);
    let (watcher, _) = Watcher::new(Watch { silent: true, ..Watch::default() });
    Device::with(options, Box::new(watcher)).map_err(|error| Failure::device(&error, false))
}
