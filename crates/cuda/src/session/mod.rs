// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this process is part of: the settings that `warpwatt exec` left, or else those of the environment; and what the process
//! leaves in turn, its part of the run record. docs/cuda-programs.md describes it for users.

mod interrupt;
mod observer;
mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpwatt_config::{Config, GpuFile, PRESETS};
use warpwatt_record::{Energies, SESSION_VARIABLE, Settings, Timing};
use warpwatt_runtime::Options;

pub use process::{Process, Wish};

/// Names the GPU of programs that run without `warpwatt exec`.
pub const GPU_VARIABLE: &str = "WARPWATT_GPU";
/// Its value for functional runs.
const FUNCTIONAL: &str = "functional";
const USUAL: &str = "gtx480";

/// How kernels of this process are run.
pub struct Session {
    pub options: Options,
    pub gpu_name: String,
    /// The GPU's parameters; a functional device reports them as its limits.
    pub config: Config,
    /// Compute capability that is reported: 75 for 7.5.
    pub capability: u32,
    /// What energy is computed with, if it is.
    energies: Option<Arc<Energies>>,
    /// Launches that are kept in detail.
    per_launch: u64,
    /// Progress of kernels is reported.
    pub live: bool,
    /// Say nothing but errors.
    pub quiet: bool,
    /// Where parts of the record go; `None` without `warpwatt exec`.
    pub folder: Option<PathBuf>,
    /// The traffic behind L2 is noted, and left in that folder.
    pub traffic: bool,
    /// Executions of instructions are counted, for the part of the record.
    pub counts: bool,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Settings(#[from] warpwatt_record::Problem),
    #[error("{GPU_VARIABLE}: {0}; give {FUNCTIONAL}, a file, or one of {1}")]
    Gpu(String, String),
}

impl Session {
    /// The session named by the environment.
    pub fn load() -> Result<Session, Problem> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        match (variable(SESSION_VARIABLE), variable(GPU_VARIABLE)) {
            (Some(path), _) => {
                let path = PathBuf::from(path);
                let folder = path.parent().map(Path::to_owned);
                Session::of(&Settings::read(&path)?, folder)
            }
            (None, gpu) => {
                Session::alone(gpu.as_ref().map_or(USUAL.into(), |gpu| gpu.to_string_lossy()).as_ref())
            }
        }
    }

    /// A session without `warpwatt exec`, on the GPU of this name or file.
    fn alone(gpu: &str) -> Result<Session, Problem> {
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(256) as u32);
        let settings = if gpu == FUNCTIONAL {
            Settings::new(USUAL, &find(USUAL)?.config, None)
        } else {
            let file = find(gpu)?;
            Settings::new(&file.name, &file.config, Some(Timing::all(threads)))
        };
        Session::of(&settings, None)
    }

    fn of(settings: &Settings, folder: Option<PathBuf>) -> Result<Session, Problem> {
        Ok(Session {
            options: settings.options()?,
            gpu_name: settings.gpu_name.clone(),
            config: settings.config()?,
            capability: settings.capability,
            energies: settings.energies()?.map(Arc::new),
            per_launch: settings.per_launch,
            live: settings.live,
            quiet: settings.quiet,
            folder,
            traffic: settings.traffic,
            counts: settings.counts,
        })
    }

    /// Makes this process part of the session. From now on Ctrl-C stops kernels, unless the program has plans of its own for it.
    pub fn begin(&self) -> Process {
        let own = interrupt::install(&self.options.interrupt);
        Process::new(self, own)
    }
}

/// A GPU by name or file.
fn find(gpu: &str) -> Result<GpuFile, Problem> {
    let known = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    let problem = |text: String| Problem::Gpu(text, known());
    let first = |errors: Vec<warpwatt_config::Error>| {
        problem(
            errors.first().map_or_else(|| format!("`{gpu}` cannot be used"), |error| error.problem.message()),
        )
    };
    if PRESETS.iter().any(|preset| preset.name == gpu) || !Path::new(gpu).exists() {
        return GpuFile::preset(gpu).map_err(first);
    }
    let text =
        std::fs::read_to_string(gpu).map_err(|error| problem(format!("cannot read {gpu}: {error}")))?;
    GpuFile::read(&text, gpu).map_err(first)
}

#[cfg(test)]
mod tests {
    use warpwatt_record::ChosenTechniques;
    use warpwatt_runtime::{Mode, Techniques};

    use super::*;

    #[test]
    fn without_exec_the_environment_names_the_gpu() {
        let usual = Session::alone(USUAL).expect("it is built in");
        assert!(matches!(&usual.options.mode, Mode::Timed(timed) if timed.config == usual.config));
        assert_eq!((usual.capability, usual.folder, usual.live), (75, None, false));
        let functional = Session::alone(FUNCTIONAL).expect("it needs no GPU");
        assert!(matches!(functional.options.mode, Mode::Functional));
        let text = Session::alone("gtx481").err().expect("there is none").to_string();
        assert!(
            text.contains("WARPWATT_GPU") && text.contains("gtx481") && text.contains("gtx480"),
            "{text}"
        );
    }

    #[test]
    fn settings_of_exec_are_taken_over() {
        let folder = std::env::temp_dir().join(format!("warpwatt-session-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let path = folder.join(warpwatt_record::SETTINGS_FILE);
        let mut config = Config::default();
        config.gpu.sms = 3;
        let mut techniques = Techniques::default();
        techniques.with("warped-compression:gating=off").expect("it is legal");
        let settings = Settings {
            techniques: ChosenTechniques::of(&techniques),
            capability: 80,
            live: true,
            ..Settings::new("mine", &config, Some(Timing { skip: 4, ..Timing::all(2) }))
        };
        settings.write(&path).expect("it can be written");
        let read = Settings::read(&path).expect("it reads back");
        let session = Session::of(&read, Some(folder.clone())).expect("it is legal");
        assert_eq!((session.gpu_name.as_str(), session.capability, session.live), ("mine", 80, true));
        assert_eq!((session.config.gpu.sms, session.options.selection.skip), (3, 4));
        assert!(matches!(&session.options.mode, Mode::Timed(timed) if timed.techniques == techniques));
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
