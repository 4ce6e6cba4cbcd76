// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points on Slurm: options of the engine as words of the command line, and how array tasks start this code again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toml::{Table, Value};
use warpwatt_cli::front::{Console, Exit, Failure, started_by};

use crate::convert::to_toml;
use crate::errors::{raised, usage};
use crate::gpu::write;
use crate::options::path;
use crate::results::silently;

/// What Slurm's tasks run: this package and nothing that the environment or the current folder of a node may add to it.
const TASK: &str = "import sys; sys.path.append({}); from warpwatt.__main__ import main; main()";

/// A file that is there while a command runs.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(py: Python<'_>, kind: &str, text: &str) -> PyResult<Scratch> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("warpwatt-{}-{number}-{kind}.toml", std::process::id());
        let file = Scratch(std::env::temp_dir().join(name));
        write(py, &file.0, text)?;
        Ok(file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Words for points on Slurm, with a table of settings, or a file that has one, and the file that is there meanwhile.
pub fn words(
    py: Python<'_>,
    detach: bool,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Vec<String>, Option<Scratch>)> {
    started_by(starts(py)?);
    let mut words = vec!["--engine".to_owned(), "slurm".to_owned()];
    words.extend(detach.then(|| "--detach".to_owned()));
    let mut scratch = None;
    if let Some(settings) = settings {
        let file = match table(settings)? {
            Some(table) => {
                let text = Table::from_iter([("slurm".to_owned(), Value::Table(table))]).to_string();
                scratch.insert(Scratch::new(py, "slurm", &text)?).0.display().to_string()
            }
            None => path(settings)?,
        };
        words.extend(["--slurm".to_owned(), file]);
    }
    Ok((words, scratch))
}

/// A mapping as a table; nothing if it is a path.
pub fn table(settings: &Bound<'_, PyAny>) -> PyResult<Option<Table>> {
    match settings.cast::<PyDict>().is_ok() || settings.hasattr("items")? {
        true => match to_toml(settings)? {
            Value::Table(table) => Ok(Some(table)),
            _ => Err(PyValueError::new_err("settings of Slurm are a mapping, or the path of a TOML file")),
        },
        false => Ok(None),
    }
}

/// The words that start this package in another process.
fn starts(py: Python<'_>) -> PyResult<Vec<String>> {
    let executable: Option<String> = py.import("sys")?.getattr("executable")?.extract()?;
    let Some(executable) = executable.filter(|path| !path.is_empty()) else {
        let message = "this Python does not know its own program (`sys.executable`), which tasks would run";
        return Err(usage(py, message, "run the sweep from a Python program, or by the `warpwatt` command"));
    };
    let file: PathBuf = py.import("warpwatt")?.getattr("__file__")?.extract()?;
    let folder = std::path::absolute(&file).unwrap_or(file);
    let folder = folder.parent().and_then(|package| package.parent()).unwrap_or(&folder).to_owned();
    let folder: String = folder.into_pyobject(py)?.call_method0("__str__")?.repr()?.extract()?;
    Ok(vec![executable, "-I".to_owned(), "-c".to_owned(), TASK.replace("{}", &folder)])
}

/// What became of points, as the document that `warpwatt sweep status --json` writes.
pub fn status<'py>(
    py: Python<'py>,
    work: impl FnOnce(&Console) -> Result<Exit, Failure> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let text = silently(py, work)?;
    let document: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| raised(py, &Failure::new(Exit::Internal, error.to_string())))?;
    crate::convert::to_python(py, &document)
}
