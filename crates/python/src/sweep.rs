// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Sweep`: a sweep file as a value. What a file can say, its keys can, and it writes the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use toml::{Table, Value};
use warpwatt_cli::args::Command;
use warpwatt_cli::front::{
    Exit, Failure, parse_sweep, read_gpu, read_text, run_sweep, sweep_keys, sweep_status,
};
use warpwatt_config::differences;
use warpwatt_energy::TECHNOLOGIES;

use crate::convert::{from_toml, to_toml};
use crate::errors::{raised, usage};
use crate::gpu::{Gpu, write};
use crate::options::{path, techniques};
use crate::results::{Results, carry_out, command, status_args};
use crate::slurm::{self, Scratch};
use crate::technology::Technology;

const PARAMETERS: &str = "parameters";

/// Parameters x workloads (or a program) x techniques: every combination is a point. Keys are those of a sweep file.
#[pyclass(frozen, module = "warpwatt")]
pub struct Sweep {
    keys: Keys,
}

/// What a sweep file has: keys in the order of their declaration, parameters in the order in which they are given.
#[derive(Clone, PartialEq, Default)]
struct Keys {
    top: BTreeMap<usize, (String, Value)>,
    parameters: Vec<(String, Value)>,
}

impl Keys {
    fn read(text: &str, shown: &str) -> Result<Keys, Failure> {
        let sweep = parse_sweep(text, shown, false)?;
        let table: Table = text.parse().unwrap_or_default();
        let mut keys = Keys::default();
        for (name, value) in &table {
            if name != PARAMETERS {
                keys.put(name, value.clone());
            }
        }
        let parameters = table.get(PARAMETERS).and_then(Value::as_table);
        for (name, _) in &sweep.parameters {
            if let Some(value) = parameters.and_then(|table| find(table, name)) {
                keys.parameter(name, value.clone());
            }
        }
        Ok(keys)
    }

    fn put(&mut self, name: &str, value: Value) {
        let known = sweep_keys();
        // Keys that are not there come last, where the check finds them.
        let place = known.iter().position(|key| *key == name).unwrap_or(known.len() + self.top.len());
        self.top.insert(place, (name.to_owned(), value));
    }

    fn parameter(&mut self, name: &str, value: Value) {
        match self.parameters.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.parameters.push((name.to_owned(), value)),
        }
    }

    fn text(&self) -> String {
        let mut text: String = self.top.values().map(|(name, value)| format!("{name} = {value}\n")).collect();
        if !self.parameters.is_empty() {
            text += "\n[parameters]\n";
            text.extend(self.parameters.iter().map(|(name, value)| format!("{} = {value}\n", written(name))));
        }
        text
    }

    /// The sweep, if its file would be one.
    fn checked(mut self) -> Result<Sweep, Failure> {
        if !self.top.values().any(|(name, _)| name == "name") {
            self.put("name", Value::from("sweep"));
        }
        parse_sweep(&self.text(), "sweep", false)?;
        Ok(Sweep { keys: self })
    }
}

/// A key of TOML, in quotes where it has to be.
fn written(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if key.chars().all(bare) { key.to_owned() } else { Value::from(key).to_string() }
}

/// The value of a key with dots, which may be tables in tables.
fn find<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    if let Some(value) = table.get(key) {
        return Some(value);
    }
    key.match_indices('.').find_map(|(dot, _)| find(table.get(&key[..dot])?.as_table()?, &key[dot + 1..]))
}

/// Sets a key; what a file says by a name is taken from a value as well.
fn put(keys: &mut Keys, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let value = match key {
        "gpu" => match value.cast::<Gpu>() {
            Ok(gpu) => {
                let file = &gpu.get().file;
                let base = read_gpu(&file.name).map_err(|_| {
                    let message =
                        format!("a sweep names GPUs, and `{}` is neither built in nor a file", file.name);
                    usage(py, message, "save it first: gpu.save(\"my.toml\"), and give gpu=\"my.toml\"")
                })?;
                for difference in differences(&base.config, &file.config) {
                    let key = difference.parameter.key;
                    let value = warpwatt_config::values(&file.config).get(key).cloned().unwrap_or_default();
                    let value = Value::try_from(value).unwrap_or_else(|_| Value::from(String::new()));
                    keys.parameter(key, value);
                }
                Value::from(file.name.as_str())
            }
            Err(_) if value.cast::<PyString>().is_ok() || value.hasattr("__fspath__")? => {
                Value::from(path(value)?)
            }
            Err(_) => to_toml(value)?,
        },
        "technology" => match value.cast::<Technology>() {
            Ok(technology) => {
                let file = technology.get().file();
                if !TECHNOLOGIES.iter().any(|known| known.text == file.text) {
                    let message =
                        format!("a sweep names its technology, and `{}` is not built in", file.name);
                    return Err(usage(
                        py,
                        message,
                        "save it first: technology.save(\"my.toml\"), and give technology=\"my.toml\"",
                    ));
                }
                Value::from(file.name)
            }
            Err(_) => Value::from(path(value)?),
        },
        "techniques" => {
            let mut sets = Vec::new();
            for set in value.try_iter()? {
                let set = set?;
                sets.push(match set.is_none() {
                    true => Value::from("none"),
                    false if set.is_instance_of::<PyString>() => to_toml(&set)?,
                    false => Value::from(techniques(&set)?),
                });
            }
            Value::Array(sets)
        }
        "workloads" | "command" | "files" if value.is_instance_of::<PyString>() => {
            Value::Array(vec![Value::from(value.extract::<String>()?)])
        }
        "seeds" => Value::Array(value.try_iter()?.map(|seed| to_toml(&seed?)).collect::<PyResult<_>>()?),
        PARAMETERS => {
            let Value::Table(given) = to_toml(value)? else {
                return Err(usage(
                    py,
                    "`parameters` has to be a mapping",
                    "parameters={\"sm.scheduler\": [\"gto\", \"lrr\"]}",
                ));
            };
            given.into_iter().for_each(|(name, value)| keys.parameter(&name, value));
            return Ok(());
        }
        _ => to_toml(value)?,
    };
    keys.put(key, value);
    Ok(())
}

/// The folder of a sweep.
fn folder(out: Option<PathBuf>) -> PathBuf {
    out.unwrap_or_else(|| PathBuf::from("warpwatt-sweep"))
}

fn in_folder(out: &Path) -> [String; 2] {
    ["--out".to_owned(), out.display().to_string()]
}

impl Sweep {
    /// Runs the command `sweep` with more words.
    fn sweep(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        more: Vec<String>,
        csv: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        let (file, out) = (Scratch::new(py, "sweep", &self.to_toml())?, folder(out));
        let mut words = vec!["sweep".to_owned(), file.0.display().to_string()];
        words.extend(in_folder(&out));
        words.extend(more);
        words.extend(csv.then(|| "--csv".to_owned()));
        let Command::Sweep(args) = command(py, words)? else {
            return Err(raised(py, &Failure::new(Exit::Internal, "`sweep` is another command")));
        };
        carry_out(py, out, progress.as_ref(), |flag, console| {
            run_sweep(&file.0, &args, || flag.clone(), console)
        })
    }
}

#[pymethods]
impl Sweep {
    /// The sweep of a TOML file, or of these keys, or both.
    #[new]
    #[pyo3(signature = (file = None, /, **keys))]
    fn new(
        py: Python<'_>,
        file: Option<Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Sweep> {
        let mut all = Keys::default();
        if let Some(file) = file {
            let shown = path(&file)?;
            let file = PathBuf::from(&shown);
            let text = read_text(&file).map_err(|failure| raised(py, &failure))?;
            all = Keys::read(&text, &shown).map_err(|failure| raised(py, &failure))?;
            if !all.top.values().any(|(name, _)| name == "name") {
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                all.put("name", Value::from(stem));
            }
        }
        for (key, value) in keys.into_iter().flatten() {
            put(&mut all, &key.extract::<String>()?, &value)?;
        }
        all.checked().map_err(|failure| raised(py, &failure))
    }

    /// The sweep of a TOML text.
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn from_toml(py: Python<'_>, text: &str) -> PyResult<Sweep> {
        let read = Keys::read(text, "sweep").and_then(Keys::checked);
        read.map_err(|failure| raised(py, &failure))
    }

    /// Another sweep that differs by this key: one of the file, or a parameter with its values.
    fn set(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Sweep> {
        let mut keys = self.keys.clone();
        match key.contains('.') {
            true => keys.parameter(key, to_toml(value)?),
            false => put(&mut keys, key, value)?,
        }
        keys.checked().map_err(|failure| raised(value.py(), &failure))
    }

    #[getter]
    fn name(&self) -> &str {
        let name = self.keys.top.values().find(|(name, _)| name == "name");
        name.and_then(|(_, value)| value.as_str()).unwrap_or("sweep")
    }

    /// The sweep file.
    fn to_toml(&self) -> String {
        self.keys.text()
    }

    /// The sweep file, as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, value) in self.keys.top.values() {
            all.set_item(name, from_toml(py, value)?)?;
        }
        if !self.keys.parameters.is_empty() {
            let parameters = PyDict::new(py);
            for (name, value) in &self.keys.parameters {
                parameters.set_item(name, from_toml(py, value)?)?;
            }
            all.set_item(PARAMETERS, parameters)?;
        }
        Ok(all)
    }

    /// Writes the sweep file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write(py, &path, &self.to_toml())
    }

    /// Runs every point that the folder does not have yet, as `warpwatt sweep` does.
    #[pyo3(signature = (out = None, *, jobs = None, csv = false, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        jobs: Option<u32>,
        csv: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        let jobs = jobs.into_iter().flat_map(|jobs| ["--jobs".to_owned(), jobs.to_string()]).collect();
        self.sweep(py, out, jobs, csv, progress)
    }

    /// Runs every point that the folder does not have yet as array tasks of a Slurm cluster, as `warpwatt sweep --engine slurm` does, and waits for them. With `detach`, tasks
    /// stay in the queue, and the same call without it collects their results; `status()` of what is returned shows their progress, and `cancel()` cancels them.
    ///
    /// `settings` are those of the table `[slurm]`, as a mapping or as a TOML file; the key `slurm` of the sweep when left out.
    #[pyo3(signature = (out = None, *, detach = false, settings = None, csv = false, progress = None))]
    fn slurm(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        detach: bool,
        settings: Option<&Bound<'_, PyAny>>,
        csv: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        // A mapping becomes part of the sweep, so that what is wrong with it is told as of any other key.
        if let Some(table) = settings.map(slurm::table).transpose()?.flatten() {
            let mut keys = self.keys.clone();
            keys.put("slurm", Value::Table(table));
            let sweep = keys.checked().map_err(|failure| raised(py, &failure))?;
            return sweep.slurm(py, out, detach, None, csv, progress);
        }
        let (words, _) = slurm::words(py, detach, settings)?;
        self.sweep(py, out, words, csv, progress)
    }

    /// What became of the points of this sweep in a folder, as `warpwatt sweep status --json` writes it.
    #[pyo3(signature = (out = None))]
    fn status<'py>(&self, py: Python<'py>, out: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        let file = Scratch::new(py, "sweep", &self.to_toml())?;
        let words = vec!["sweep".to_owned(), "status".to_owned(), file.0.display().to_string()];
        let args = status_args(py, words.into_iter().chain(in_folder(&folder(out))).collect())?;
        slurm::status(py, |console| sweep_status(&args, console))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Sweep>().is_ok_and(|other| other.get().keys == self.keys)
    }

    fn __repr__(&self) -> String {
        format!("<warpwatt.Sweep {}>", self.name())
    }
}
