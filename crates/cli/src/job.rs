// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run is about: a built-in workload, or a PTX text with a launch file. A job can be run any number of times and does
//! the same every time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpwatt_results::{Check, Inputs, sha256_hex};
use warpwatt_runtime::{Device, Error};
use warpwatt_workloads::{Size, Workload};

use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::launch::{self, LaunchFile, Outcome, PlayError};

pub enum Job {
    Workload { workload: &'static dyn Workload, size: Size, seed: u64 },
    File(FileJob),
    Call(Arc<dyn Call>),
}

/// What another front end runs: it does the same every time, like every job.
pub trait Call: Send + Sync {
    fn name(&self) -> String;
    fn inputs(&self) -> Inputs;
    fn execute(&self, device: &mut Device) -> Result<Verdict, Stop>;
}

#[derive(Clone)]
pub struct FileJob {
    pub launch: LaunchFile,
    pub launch_path: PathBuf,
    pub launch_text: String,
    pub ptx_path: PathBuf,
    pub ptx_text: String,
    pub seed: u64,
}

/// What a job that ran to its end found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub check: Option<Check>,
    /// Why the check failed, in sentences.
    pub failures: Vec<String>,
}

/// Why a job did not run to its end.
#[derive(Debug)]
pub enum Stop {
    Device {
        error: Error,
        context: Option<String>,
    },
    Io(String),
    /// The launch file requests something impossible.
    Request(String),
}

impl Job {
    pub fn name(&self) -> String {
        match self {
            Job::Workload { workload, size, seed } => format!("{}@{size}, seed {seed}", workload.info().name),
            Job::File(file) => format!("{} with {}", file.launch_path.display(), file.ptx_path.display()),
            Job::Call(call) => call.name(),
        }
    }

    /// This job with a seed that is larger by `distance`, if it has one.
    pub fn reseeded(&self, distance: u64) -> Job {
        match self {
            Job::Workload { workload, size, seed } => {
                Job::Workload { workload: *workload, size: *size, seed: seed.wrapping_add(distance) }
            }
            Job::File(file) => Job::File(FileJob { seed: file.seed.wrapping_add(distance), ..file.clone() }),
            Job::Call(call) => Job::Call(call.clone()),
        }
    }

    pub fn inputs(&self) -> Inputs {
        let (workload, size, seed, ptx, launch) = match self {
            Job::Workload { workload, size, seed } => {
                (Some(workload.info().name.to_owned()), Some(size.to_string()), *seed, workload.ptx(), None)
            }
            Job::File(file) => {
                (None, None, file.seed, file.ptx_text.as_str(), Some(sha256_hex(file.launch_text.as_bytes())))
            }
            Job::Call(call) => return call.inputs(),
        };
        Inputs {
            workload,
            size,
            program: None,
            seed: Some(seed),
            ptx_sha256: sha256_hex(ptx.as_bytes()),
            launch_sha256: launch,
            gpu: None,
            techniques: Vec::new(),
            technology: None,
        }
    }

    /// Executes the job on a fresh device, and waits until all of its work is done.
    pub fn execute(&self, device: &mut Device) -> Result<Verdict, Stop> {
        let verdict = self.carry_out(device)?;
        device.synchronize().map_err(|error| Stop::Device { error, context: None })?;
        Ok(verdict)
    }

    /// Executes the job where a failure is only reported: without the context of a fault.
    pub fn run(&self, device: &mut Device) -> Result<Verdict, Failure> {
        self.execute(device).map_err(|stop| match stop {
            Stop::Device { error, .. } => Failure::device(&error, false),
            Stop::Io(message) => Failure::new(Exit::Io, message),
            Stop::Request(message) => Failure::new(Exit::BadInput, message),
        })
    }

    fn carry_out(&self, device: &mut Device) -> Result<Verdict, Stop> {
        match self {
            Job::Workload { workload, size, seed } => {
                let info = workload.info();
                device.add_source(&format!("{}.cu", info.name), info.source);
                let check = workload.run(device, info.ptx, *size, *seed);
                let check = check.map_err(|error| Stop::Device { error, context: None })?;
                let mut failures = Vec::new();
                if !check.passed {
                    failures.push(match &check.worst {
                        Some(worst) => format!(
                            "`{}[{}]` is {}, expected {} (error {:e}, tolerance {:e})",
                            worst.output,
                            worst.index,
                            worst.actual,
                            worst.expected,
                            check.max_error,
                            check.tolerance
                        ),
                        None => "nothing was compared".to_owned(),
                    });
                }
                let max_error = check.max_error.is_finite().then_some(check.max_error);
                let (passed, tolerance, compared) = (check.passed, check.tolerance, check.compared);
                Ok(Verdict { check: Some(Check { passed, max_error, tolerance, compared }), failures })
            }
            Job::File(file) => file.execute(device),
            Job::Call(call) => call.execute(device),
        }
    }
}

impl FileJob {
    /// Reads the launch file and the PTX text that it, or the command line, names.
    pub fn load(
        launch_path: &Path,
        ptx: Option<&Path>,
        seed: u64,
        console: &Console,
    ) -> Result<FileJob, Failure> {
        let launch_text = read_text(launch_path)?;
        let shown = launch_path.display().to_string();
        let launch = launch::read(&launch_text).map_err(|diagnostics| {
            let mut out: Vec<_> = diagnostics
                .iter()
                .map(|problem| problem.render(&shown, &launch_text, console.color))
                .collect();
            let count = diagnostics.len();
            out.push(format!("{shown} cannot be used: {count} error{}", if count == 1 { "" } else { "s" }));
            Failure::rendered(Exit::BadInput, out.join("\n\n"))
        })?;
        let folder = launch_path.parent().unwrap_or(Path::new(""));
        let ptx_path = match (ptx, &launch.ptx) {
            (Some(path), _) => path.to_owned(),
            (None, Some(path)) => folder.join(path),
            (None, None) => {
                let failure = Failure::usage(format!("{shown} does not name a PTX file"));
                return Err(failure
                    .help("add `--ptx FILE`, or a line `ptx = \"FILE\"` at the top of the launch file"));
            }
        };
        let ptx_text = read_program(&ptx_path)?;
        Ok(FileJob { launch, launch_path: launch_path.to_owned(), launch_text, ptx_path, ptx_text, seed })
    }

    fn execute(&self, device: &mut Device) -> Result<Verdict, Stop> {
        let folder = self.launch_path.parent().unwrap_or(Path::new(""));
        let ptx_name = self.ptx_path.display().to_string();
        let plain = |error| Stop::Device { error, context: None };
        let module = device.load_module(&ptx_name, &self.ptx_text).map_err(plain)?;
        self.add_sources(device);
        let mut outcome = Outcome::default();
        launch::play(&self.launch, folder, device, module, &mut outcome).map_err(|error| {
            let place = format!("{}:{}", self.launch_path.display(), error.line());
            match error {
                PlayError::Device { error, .. } => Stop::Device { error, context: Some(place) },
                PlayError::File { .. } => Stop::Io(format!("{place}: {error}")),
                PlayError::Request { .. } => Stop::Request(format!("{place}: {error}")),
            }
        })?;
        if outcome.comparisons == 0 {
            return Ok(Verdict::default());
        }
        let check = Check {
            passed: outcome.passed(),
            max_error: outcome.max_error.is_finite().then_some(outcome.max_error),
            tolerance: outcome.tolerance,
            compared: outcome.compared,
        };
        let shown = self.launch_path.display();
        let failures = outcome.failures.iter().map(|failure| format!("{shown}, {failure}")).collect();
        Ok(Verdict { check: Some(check), failures })
    }

    /// Sources that the line table names and that lie beside the PTX file, so that reports can show their lines.
    fn add_sources(&self, device: &mut Device) {
        for (name, text) in sources_beside(&self.ptx_text, &self.ptx_path) {
            device.add_source(&name, &text);
        }
    }
}

/// Sources that the line table of a PTX text names and that lie beside its file, by the name that they have there.
pub fn sources_beside(ptx: &str, path: &Path) -> Vec<(String, String)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = ptx.lines().filter(|line| line.trim_start().starts_with(".file"));
    let names = files.filter_map(|line| line.split('"').nth(1));
    names
        .filter_map(|name| {
            let text = std::fs::read_to_string(folder.join(Path::new(name).file_name()?)).ok()?;
            Some((name.to_owned(), text))
        })
        .collect()
}

/// The PTX of a program: the text of a PTX file, or what NVRTC makes of CUDA C++.
pub fn read_program(path: &Path) -> Result<String, Failure> {
    let text = read_text(path)?;
    if path.extension().is_none_or(|extension| extension != "cu") {
        return Ok(text);
    }
    compiled(path, warpwatt_nvrtc::compile(&text, path))
}

/// What NVRTC made of a source, or why it did not.
pub fn compiled(path: &Path, outcome: Result<String, warpwatt_nvrtc::Error>) -> Result<String, Failure> {
    outcome.map_err(|error| {
        let failure = match &error {
            warpwatt_nvrtc::Error::Refused { log } => Failure::rendered(
                Exit::BadInput,
                format!("{log}\nerror: {} was refused by NVRTC", path.display()),
            ),
            _ => Failure::usage(format!("{} cannot be compiled: {error}", path.display())),
        };
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    })
}

/// The text of an input file. Bytes that are no text are shown as such in diagnostics instead of being refused here.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
