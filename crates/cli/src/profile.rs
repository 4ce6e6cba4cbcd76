// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles of symbols for techniques that make codes from them: read from a file, or collected by a functional run of the same job.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpwatt_config::Config;
use warpwatt_runtime::{Collected, Device, SymbolProfile, Techniques, Traffic};

use crate::args::Execution;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::job::{Job, Stop, read_text};
use crate::run::options;
use crate::session::{Watch, Watcher};

/// Gives techniques the profile that they ask for by the name of its file. True if one is still to be collected.
pub fn read(techniques: &mut Techniques) -> Result<bool, Failure> {
    let Some(wanted) = techniques.wanted_profile().filter(|_| techniques.symbols.is_none()) else {
        return Ok(false);
    };
    let Some(file) = wanted.file else { return Ok(true) };
    let text = read_text(Path::new(file))?;
    let profile = SymbolProfile::from_text(&text).map_err(|error| {
        let failure = Failure::new(Exit::BadInput, format!("{file}: {error}"));
        failure.help("`warpwatt entropy WORKLOAD --write-profile FILE` collects one")
    })?;
    techniques.symbols = Some(Arc::new(profile));
    Ok(false)
}

/// The same, with a functional run of the job where no file is named.
pub fn provide(
    job: &Job,
    config: &Config,
    techniques: &mut Techniques,
    flag: &Arc<AtomicBool>,
    console: Option<&Console>,
) -> Result<(), Failure> {
    if !read(techniques)? {
        return Ok(());
    }
    let collected = techniques.wanted_profile().map_or(Collected::LoadsStores, |wanted| wanted.collected);
    if let Some(console) = console {
        console.note(&format!(
            "collecting a profile of {} ({}) by a functional run",
            job.name(),
            collected.name()
        ));
    }
    let profile = collect(job, config, flag, |traffic| traffic.profile(collected))?;
    techniques.symbols = Some(Arc::new(profile));
    Ok(())
}

/// Runs a job functionally and looks at its traffic.
pub fn collect<R>(
    job: &Job,
    config: &Config,
    flag: &Arc<AtomicBool>,
    look: impl FnOnce(&Traffic) -> R,
) -> Result<R, Failure> {
    let mut options = options(&Execution::default(), None, flag.clone());
    options.limit_to(config);
    let (watcher, _) = Watcher::new(Watch { silent: true, ..Watch::default() });
    let failed = |error| Failure::device(&error, false);
    let mut device = Device::with(options, Box::new(watcher)).map_err(failed)?;
    let log = device.note_traffic(config, &job.name());
    job.execute(&mut device).map_err(|stop| match stop {
        Stop::Device { error, .. } => failed(error),
        Stop::Io(message) => Failure::new(Exit::Io, message),
        Stop::Request(message) => Failure::new(Exit::BadInput, message),
    })?;
    Ok(device.with_traffic(&log, look))
}
