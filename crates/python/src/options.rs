// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options that runs and kernels take as keyword arguments, each declared once in [`Options::set`]; what they mean is that of the option of the same
//! name of `warpwatt run`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyMapping, PyString};
use regex::Regex;
use warpwatt_base::suggest;
use warpwatt_cli::args::{Execution, GpuArgs, Timing};
use warpwatt_cli::front::{Failure, Machine, Target, read_gpu, read_technology, without_techniques};
use warpwatt_config::GpuFile;
use warpwatt_record::{PER_LAUNCH, TechnologyFile};
use warpwatt_runtime::CheckOptions;

use crate::errors::{raised, usage};
use crate::gpu::Gpu;
use crate::technology::Technology;

const GPU: &str = "gtx480";

/// How a job is run.
pub struct Options {
    gpu: Option<GpuFile>,
    technology: Option<TechnologyFile>,
    pub functional: bool,
    trace: bool,
    timing: Timing,
    pub execution: Execution,
    pub progress: Option<Py<PyAny>>,
}

const KEYS: &[&str] = &[
    "gpu",
    "technology",
    "techniques",
    "functional",
    "check",
    "interval",
    "kernels",
    "skip",
    "limit_cycles",
    "limit_instructions",
    "limit_loop",
    "watchdog",
    "timeout",
    "per_launch",
    "threads",
    "max_registers",
    "predication",
    "verify_techniques",
    "step_every_cycle",
    "trace",
    "progress",
];

impl Options {
    pub fn new() -> Options {
        Options {
            gpu: None,
            technology: None,
            functional: false,
            trace: false,
            timing: Timing::default(),
            execution: Execution { per_launch: PER_LAUNCH, ..Execution::default() },
            progress: None,
        }
    }

    /// A copy with some options changed.
    pub fn with(&self, py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
        let mut options = Options {
            gpu: self.gpu.clone(),
            technology: self.technology.clone(),
            functional: self.functional,
            trace: self.trace,
            timing: self.timing.clone(),
            execution: self.execution.clone(),
            progress: self.progress.as_ref().map(|progress| progress.clone_ref(py)),
        };
        for (key, value) in given.into_iter().flatten() {
            let key: String = key.extract()?;
            if value.is_none() && key != "progress" {
                continue;
            }
            options.set(&key, &value)?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Options { timing, execution, .. } = self;
        match key {
            "gpu" => self.gpu = Some(gpu(value)?),
            "technology" => self.technology = Some(technology(value)?),
            "techniques" => timing.gpu.with = techniques(value)?,
            "functional" => self.functional = value.extract()?,
            "check" => execution.check = checks(value)?,
            "interval" => timing.interval = Some(count(key, value)?),
            "kernels" => timing.kernels = Some(regex(value)?),
            "skip" => timing.skip = Some(value.extract()?),
            "limit_cycles" => timing.limit_cycles = Some(count(key, value)?),
            "limit_instructions" => execution.limit_instructions = Some(count(key, value)?),
            "limit_loop" => execution.limit_loop = Some(count(key, value)?),
            "watchdog" => execution.watchdog = Some(count(key, value)?),
            "timeout" => execution.timeout = Some(seconds(value)?),
            "per_launch" => execution.per_launch = value.extract()?,
            "threads" => timing.threads = Some(within(key, value, 1, 256)?),
            "max_registers" => execution.max_registers = Some(within(key, value, 16, 255)?),
            "predication" => execution.no_predication = !value.extract::<bool>()?,
            "verify_techniques" => timing.gpu.verify_techniques = value.extract()?,
            "step_every_cycle" => timing.step_every_cycle = value.extract()?,
            "trace" => self.trace = value.extract()?,
            "progress" => self.progress = (!value.is_none()).then(|| value.clone().unbind()),
            other => {
                let help = match suggest::nearest(other, KEYS) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("the options are {}", KEYS.join(", ")),
                };
                return Err(PyTypeError::new_err(format!("there is no option `{other}`; {help}")));
            }
        }
        Ok(())
    }

    fn machine(&self) -> Result<Machine, Failure> {
        let file = self.gpu.clone().map_or_else(|| read_gpu(GPU), Ok)?;
        Machine::of(file, &GpuArgs { gpu: None, ..self.timing.gpu.clone() })
    }

    /// The timed GPU, unless the run is functional.
    pub fn target(&self) -> Result<Option<Target>, Failure> {
        if self.functional {
            return Ok(None);
        }
        let technology =
            self.technology.clone().map_or_else(|| read_technology(warpwatt_energy::DEFAULT), Ok)?;
        let mut target = Target::of(self.machine()?, technology, &self.timing)?;
        target.timed.trace = self.trace;
        Ok(Some(target))
    }

    /// The GPU whose limits a functional run has, if one is named.
    pub fn limits(&self) -> Result<Option<Machine>, Failure> {
        if !self.functional || (self.gpu.is_none() && self.timing.gpu.with.is_empty()) {
            return Ok(None);
        }
        without_techniques(self.machine()?).map(Some)
    }
}

fn gpu(value: &Bound<'_, PyAny>) -> PyResult<GpuFile> {
    if let Ok(gpu) = value.cast::<Gpu>() {
        return Ok(gpu.get().file.clone());
    }
    read_gpu(&path(value)?).map_err(|failure| raised(value.py(), &failure))
}

fn technology(value: &Bound<'_, PyAny>) -> PyResult<TechnologyFile> {
    if let Ok(technology) = value.cast::<Technology>() {
        return Ok(technology.get().file());
    }
    read_technology(&path(value)?).map_err(|failure| raised(value.py(), &failure))
}

/// A text, or an object that stands for a path.
pub fn path(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_string());
    }
    value.py().import("os")?.call_method1("fspath", (value,))?.extract()
}

/// Techniques as texts for `--with`: one, a list of them, or a mapping of names to parameters.
pub fn techniques(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(vec![text.to_string()]);
    }
    let Ok(mapping) = value.cast::<PyMapping>() else { return value.extract() };
    let mut texts = Vec::new();
    for pair in mapping.items()? {
        let (name, parameters): (String, Bound<'_, PyAny>) = pair.extract()?;
        let mut words = Vec::new();
        if let Ok(parameters) = parameters.cast::<PyMapping>() {
            for pair in parameters.items()? {
                let (key, value): (String, Bound<'_, PyAny>) = pair.extract()?;
                words.push(format!("{key}={}", setting(&value)?));
            }
        }
        texts.push(if words.is_empty() { name } else { format!("{name}:{}", words.join(",")) });
    }
    Ok(texts)
}

/// A value as it stands in a setting.
pub fn setting(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(on) = value.cast::<PyBool>() {
        return Ok(if on.is_true() { "on" } else { "off" }.to_owned());
    }
    Ok(value.str()?.to_string())
}

fn checks(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let names: Vec<String> = match value.cast::<PyString>() {
        Ok(text) => text.to_string().split(',').map(|name| name.trim().to_owned()).collect(),
        Err(_) => value.extract()?,
    };
    for name in &names {
        if let Err(message) = CheckOptions::default().add(name) {
            return Err(raised(value.py(), &Failure::usage(message)));
        }
    }
    Ok(names)
}

fn count(key: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let count: u64 = value.extract()?;
    if count == 0 {
        return Err(usage(
            value.py(),
            format!("`{key}` is 0"),
            "give a whole number above 0, or leave it out",
        ));
    }
    Ok(count)
}

fn within(key: &str, value: &Bound<'_, PyAny>, least: u32, most: u32) -> PyResult<u32> {
    let number: i64 = value.extract()?;
    match u32::try_from(number).ok().filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(number),
        None => Err(usage(value.py(), format!("`{key}` is {number}"), format!("give {least} to {most}"))),
    }
}

fn seconds(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let seconds: f64 = value.extract()?;
    if seconds > 0.0 && seconds <= 1e9 {
        return Ok(seconds);
    }
    Err(usage(value.py(), format!("`timeout` is {seconds}"), "give seconds above 0, such as 30 or 0.5"))
}

fn regex(value: &Bound<'_, PyAny>) -> PyResult<Regex> {
    let text: String = value.extract()?;
    Regex::new(&text).map_err(|error| {
        raised(value.py(), &Failure::usage(format!("`kernels` is not a regular expression: {error}")))
    })
}
