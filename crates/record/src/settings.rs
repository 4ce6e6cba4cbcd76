// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `warpwatt exec` decided, as a file that the libraries in the program's processes read.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde::{Deserialize, Serialize};
use warpwatt_config::{Config, listing};
use warpwatt_energy::Technology;
use warpwatt_runtime::{CheckOptions, Mode, Options, Selection, Techniques, Timed};

use crate::energy::Energies;
use crate::techniques::ChosenTechniques;

/// Everything that decides how kernels of a program are run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The GPU that is timed, or whose limits a functional device has.
    pub gpu_name: String,
    /// Its parameters.
    pub gpu: BTreeMap<String, String>,
    /// How time is simulated; `None` for a functional run.
    pub timing: Option<Timing>,
    /// What energy is computed with; `None` for a functional run.
    #[serde(default)]
    pub technology: Option<TechnologyFile>,
    /// What is on in the GPU that is timed.
    #[serde(default)]
    pub techniques: ChosenTechniques,
    /// Compute capability that the device reports: 75 for 7.5.
    pub capability: u32,
    pub limit_instructions: Option<u64>,
    /// Launches that are kept in detail.
    pub per_launch: u64,
    /// Names of the checks that are on.
    pub checks: Vec<String>,
    pub watchdog: Option<u64>,
    /// Warp instructions without the end of a warp after which a kernel is stopped.
    #[serde(default)]
    pub limit_loop: Option<u64>,
    pub max_registers: Option<u32>,
    /// Keep short branches as branches.
    #[serde(default)]
    pub no_predication: bool,
    /// Progress of kernels is reported.
    pub live: bool,
    /// Say nothing but errors.
    pub quiet: bool,
    /// Note the traffic behind L2, and leave it in the session's folder.
    #[serde(default)]
    pub traffic: bool,
    /// Count how often each instruction of functional launches is executed; the part of a process has the counts.
    #[serde(default)]
    pub counts: bool,
}

/// A technology file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TechnologyFile {
    /// Of the file, for messages.
    pub name: String,
    pub text: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    pub threads: u32,
    pub step_every_cycle: bool,
    pub interval: Option<u64>,
    pub limit_cycles: Option<u64>,
    /// Only kernels whose name matches this expression are timed.
    pub kernels: Option<String>,
    pub skip: u64,
    /// Note where and when blocks ran, and copies.
    #[serde(default)]
    pub trace: bool,
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot read the settings of this session in {0}: {1}; start the program with `warpwatt exec`")]
    Unreadable(String, std::io::Error),
    #[error(
        "the settings of this session in {0} are not for this version: {1}; start the program with `warpwatt exec`"
    )]
    Format(String, serde_json::Error),
    #[error("invalid value in the settings of this session: {0}")]
    Value(String),
}

impl Settings {
    /// A GPU with everything else as usual.
    pub fn new(gpu_name: &str, config: &Config, timing: Option<Timing>) -> Settings {
        Settings {
            gpu_name: gpu_name.to_owned(),
            gpu: listing(config).into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            timing,
            technology: None,
            techniques: ChosenTechniques::of(&Techniques::default()),
            capability: 75,
            limit_instructions: None,
            per_launch: crate::PER_LAUNCH,
            checks: Vec::new(),
            watchdog: None,
            limit_loop: None,
            max_registers: None,
            no_predication: false,
            live: false,
            quiet: false,
            traffic: false,
            counts: false,
        }
    }

    pub fn read(path: &Path) -> Result<Settings, Problem> {
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Problem::Unreadable(shown(), error))?;
        serde_json::from_str(&text).map_err(|error| Problem::Format(shown(), error))
    }

    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        std::fs::write(path, serde_json::to_string_pretty(self)?)
    }

    /// The GPU's configuration.
    pub fn config(&self) -> Result<Config, Problem> {
        let mut config = Config::default();
        for (key, value) in &self.gpu {
            let refused = |refusal| Problem::Value(format!("`{key}` is `{value}`: {refusal:?}"));
            config.set(key, value).map_err(refused)?;
        }
        Ok(config)
    }

    /// The techniques that are on.
    pub fn techniques(&self) -> Result<Techniques, Problem> {
        self.techniques.restore().map_err(|error| Problem::Value(error.to_string()))
    }

    /// What works out energy, if it is computed.
    pub fn energies(&self) -> Result<Option<Energies>, Problem> {
        let Some(TechnologyFile { name, text }) = &self.technology else { return Ok(None) };
        let refused = |errors: Vec<warpwatt_energy::Error>| {
            Problem::Value(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        };
        let technology = Technology::read(text, name).map_err(refused)?;
        Energies::new(&technology, &self.config()?, &self.techniques()?).map(Some).map_err(refused)
    }

    /// The device's options.
    pub fn options(&self) -> Result<Options, Problem> {
        let mut checks = CheckOptions::default();
        self.checks.iter().try_for_each(|name| checks.add(name)).map_err(Problem::Value)?;
        let mut options = Options {
            max_registers: self.max_registers,
            predicate: !self.no_predication,
            checks,
            max_thread_instructions: self.limit_instructions,
            ..Options::default()
        };
        options.watchdog.limit = self.limit_loop;
        if let Some(patience) = self.watchdog {
            options.watchdog.patience = patience;
        }
        if let Some(timing) = &self.timing {
            options.mode = Mode::Timed(Box::new(Timed {
                threads: timing.threads.max(1),
                step_every_cycle: timing.step_every_cycle,
                interval: timing.interval,
                limit_cycles: timing.limit_cycles,
                trace: timing.trace,
                techniques: self.techniques()?,
                ..Timed::new(self.config()?)
            }));
            let regex = timing.kernels.as_deref().map(Regex::new).transpose();
            let kernels = regex.map_err(|error| Problem::Value(error.to_string()))?;
            options.selection = Selection { kernels, skip: timing.skip };
        } else {
            options.limit_to(&self.config()?);
        }
        Ok(options)
    }
}

impl Timing {
    /// All kernels, by this many host threads.
    pub fn all(threads: u32) -> Timing {
        Timing {
            threads,
            step_every_cycle: false,
            interval: None,
            limit_cycles: None,
            kernels: None,
            skip: 0,
            trace: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_as_they_were() {
        let mut config = Config::default();
        config.gpu.sms = 7;
        let timing = Timing {
            interval: Some(500),
            limit_cycles: Some(9_000),
            kernels: Some("^scan".to_owned()),
            skip: 2,
            ..Timing::all(3)
        };
        let mut techniques = Techniques { verify: true, ..Techniques::default() };
        techniques.with("warped-compression:gating=off").expect("it is legal");
        let settings = Settings {
            techniques: ChosenTechniques::of(&techniques),
            capability: 61,
            limit_instructions: Some(1 << 40),
            per_launch: 3,
            checks: vec!["races".to_owned(), "bounds=exact".to_owned()],
            watchdog: Some(5),
            limit_loop: Some(7),
            max_registers: Some(32),
            no_predication: true,
            live: true,
            ..Settings::new("mine", &config, Some(timing))
        };
        let text = serde_json::to_string(&settings).expect("settings are JSON");
        let back: Settings = serde_json::from_str(&text).expect("it reads back");
        assert_eq!(back, settings);
        let options = back.options().expect("all values are legal");
        let Mode::Timed(timed) = &options.mode else { panic!("it is timed") };
        assert_eq!((&timed.config, timed.threads, timed.interval), (&config, 3, Some(500)));
        assert_eq!((timed.limit_cycles, &timed.techniques), (Some(9_000), &techniques));
        assert!(options.selection.names("scan_up", "") && !options.selection.names("rescan", ""));
        assert_eq!((options.selection.skip, options.max_registers, options.predicate), (2, Some(32), false));
        assert_eq!((options.max_thread_instructions, options.watchdog.patience), (Some(1 << 40), 5));
        assert_eq!(options.watchdog.limit, Some(7));
        assert_eq!(options.checks.names(), ["races", "bounds=exact"]);
    }

    #[test]
    fn bad_values_are_named() {
        let mut settings = Settings::new("mine", &Config::default(), Some(Timing::all(1)));
        settings.gpu.insert("gpu.sms".to_owned(), "many".to_owned());
        let text = settings.options().err().expect("`many` is no number").to_string();
        assert!(text.contains("`gpu.sms` is `many`"), "{text}");
        let mut settings = Settings::new("mine", &Config::default(), Some(Timing::all(1)));
        settings.timing.as_mut().expect("it is timed").kernels = Some("(".to_owned());
        assert!(settings.options().is_err());
        let mut settings = Settings::new("mine", &Config::default(), Some(Timing::all(1)));
        settings.techniques.on.push("warped-compression:gating=often".to_owned());
        let text = settings.options().err().expect("it is on or off").to_string();
        assert!(text.contains("invalid gating = often"), "{text}");
    }

    #[test]
    fn a_file_that_is_missing_or_foreign_says_what_to_do() {
        let missing = Settings::read(Path::new("no/such/file")).expect_err("it is missing").to_string();
        assert!(missing.contains("no/such/file") && missing.contains("warpwatt exec"), "{missing}");
    }
}
