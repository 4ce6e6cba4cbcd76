// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Results`: a folder that a sweep or a paper left, whoever ran it: tables, the document of what was found, the report. `paper` makes one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use warpwatt_cli::args::{Cli, Command, SweepArgs, SweepCommand, SweepStatusArgs};
use warpwatt_cli::front::{Console, Exit, Failure, cancel_tasks, read_text, run_paper, sweep_status};
use warpwatt_dataset::{Column, Table as Columns};

use crate::convert::{framed, to_python};
use crate::errors::{exception, raised, usage};
use crate::session::{Board, patiently};
use crate::table::Table;

/// What to do where tables are not there yet.
const UNDER_WAY: &str = "tables are made when all points are done: `status()` shows them, and the same call without `detach` waits for them";

/// A folder that a sweep or a paper left.
#[pyclass(frozen, module = "warpwatt")]
pub struct Results {
    folder: PathBuf,
    /// What the command would have printed.
    text: String,
}

impl Results {
    pub fn place(&self) -> &Path {
        &self.folder
    }

    fn table(&self, py: Python<'_>, name: &'static str) -> PyResult<Table> {
        let path = self.folder.join("data").join(format!("{name}.parquet"));
        let bytes = std::fs::read(&path).map_err(|error| {
            let failure = Failure::io("read", &path, &error);
            raised(py, &if self.is_on_slurm() { failure.help(UNDER_WAY) } else { failure })
        })?;
        let table = Columns::from_parquet(name, bytes).map_err(|error| {
            raised(py, &Failure::new(Exit::BadInput, format!("{}: {error}", path.display())))
        })?;
        Ok(Table::new(table))
    }

    /// Whether points of the folder were submitted to Slurm.
    fn is_on_slurm(&self) -> bool {
        self.folder.join("slurm").is_dir()
    }

    /// What was found: the document of a sweep, the ledgers of papers.
    fn documents(&self) -> Result<Vec<Value>, Failure> {
        let mut paths: Vec<_> = ["sweep.json", "ledger.json"].map(|name| self.folder.join(name)).into();
        if let Ok(entries) = std::fs::read_dir(&self.folder) {
            let mut inner: Vec<_> = entries.flatten().map(|entry| entry.path().join("ledger.json")).collect();
            inner.sort();
            paths.extend(inner);
        }
        let read = |path: &PathBuf| {
            let bad = |error: serde_json::Error| {
                Failure::new(Exit::BadInput, format!("{} cannot be used: {error}", path.display()))
            };
            serde_json::from_str(&read_text(path)?).map_err(bad)
        };
        paths.iter().filter(|path| path.is_file()).map(read).collect()
    }
}

/// The results in a folder that `warpwatt sweep`, `warpwatt paper` or this package left.
#[pyfunction]
#[pyo3(signature = (folder, /))]
pub fn results(py: Python<'_>, folder: PathBuf) -> PyResult<Results> {
    let results = Results { folder, text: String::new() };
    let documents = results.documents().map_err(|failure| raised(py, &failure))?;
    if documents.is_empty() && !results.is_on_slurm() {
        let message = format!("{} has no results of a sweep or of a paper", results.folder.display());
        let help = "give the folder that `warpwatt sweep --out` or `warpwatt paper --out` wrote to";
        return Err(raised(py, &Failure::new(Exit::BadInput, message).help(help)));
    }
    Ok(results)
}

#[pymethods]
impl Results {
    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    /// A row for each point.
    #[getter]
    fn points(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "points")
    }

    /// A row for each kernel of a point.
    #[getter]
    fn kernels(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "kernels")
    }

    /// A row for each structure of a point.
    #[getter]
    fn energy(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "energy")
    }

    /// A row for each place of a histogram of a point that is not 0.
    #[getter]
    fn histograms(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "histograms")
    }

    /// A row for each value of a figure.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "series")
    }

    /// A row for each claim of a paper: what it says, what was measured, the verdict.
    #[getter]
    fn claims(&self, py: Python<'_>) -> PyResult<Table> {
        let documents = self.documents().map_err(|failure| raised(py, &failure))?;
        let mut rows = Vec::new();
        for document in &documents {
            let paper = document.get("paper").and_then(Value::as_str).unwrap_or_default();
            let list = document.get("rows").and_then(Value::as_array);
            rows.extend(list.into_iter().flatten().map(|row| (paper, row)));
        }
        let text = |name: &str| {
            Column::text(name, rows.iter().map(|(_, row)| row.get(name).and_then(Value::as_str)))
        };
        let real = |name: &str| {
            Column::real(name, rows.iter().map(|(_, row)| row.get(name).and_then(Value::as_f64)))
        };
        let said = rows.iter().map(|(_, row)| Some(row.get("paper")?.to_string()));
        let columns = vec![
            Column::text("paper", rows.iter().map(|(paper, _)| Some(*paper))),
            text("id"),
            text("where"),
            text("what"),
            Column::text("said", said),
            real("measured"),
            text("unit"),
            text("verdict"),
        ];
        Ok(Table::new(Columns { name: "claims", columns }))
    }

    /// What was found: the document of a sweep or the ledger of a paper, as dictionaries; a list of ledgers of several papers.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut documents = self.documents().map_err(|failure| raised(py, &failure))?;
        match documents.len() {
            1 => to_python(py, &documents.remove(0)),
            _ => to_python(py, &Value::Array(documents)),
        }
    }

    /// What became of the points of a folder that were submitted to Slurm, as `warpwatt sweep status --json` writes it: numbers of points that are `done`,
    /// `running`, `waiting`, `late`, `failed`, `lost` and `unsubmitted`, and more.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let words = vec!["sweep".to_owned(), "status".to_owned(), self.folder.display().to_string()];
        let args = status_args(py, words)?;
        crate::slurm::status(py, |console| sweep_status(&args, console))
    }

    /// Cancels the tasks of the folder that wait or run on Slurm; points that are done are kept.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        silently(py, |console| cancel_tasks(&self.folder, console)).map(drop)
    }

    /// The report, a page of HTML that needs nothing else.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        read_text(&self.folder.join(warpwatt_report::FILE)).map_err(|failure| raised(py, &failure))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(framed(&self.html(py)?))
    }

    fn __str__(&self) -> String {
        if self.text.is_empty() { self.__repr__() } else { self.text.clone() }
    }

    fn __repr__(&self) -> String {
        format!("<warpwatt.Results in {}>", self.folder.display())
    }
}

/// A command of the command line that leaves a folder.
pub fn command(py: Python<'_>, words: Vec<String>) -> PyResult<Command> {
    match warpwatt_cli::parse(std::iter::once("warpwatt".to_owned()).chain(words)) {
        Ok(Cli { command, .. }) => Ok(command),
        Err(message) => Err(raised(py, &Failure::usage(message))),
    }
}

/// Runs such a command beside the interpreter.
pub fn carry_out(
    py: Python<'_>,
    folder: PathBuf,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Arc<AtomicBool>, &Console) -> Result<Exit, Failure> + Send,
) -> PyResult<Results> {
    let (board, flag) = (Board::default(), Arc::new(AtomicBool::new(false)));
    let (outcome, interrupt) =
        patiently(py, progress, &board, &flag, || work(&flag, &Console::to(Arc::new(board.clone()))))?;
    let results = Results { folder, text: board.result() };
    let fields = PyDict::new(py);
    match (outcome, interrupt) {
        (_, Some(interrupt)) if !interrupt.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
            Err(interrupt)
        }
        (Ok(_), None) => Ok(results),
        (outcome, interrupt) => {
            let mut failure = outcome.err().unwrap_or_else(|| Failure::new(Exit::Interrupted, "interrupted"));
            if interrupt.is_some() {
                failure.exit = Exit::Interrupted;
                failure.help = Some("the same call goes on from there".to_owned());
            }
            // There are results unless nothing was begun.
            if matches!(failure.exit, Exit::CheckFailed | Exit::Interrupted) {
                fields.set_item("results", Py::new(py, results)?)?;
            }
            Err(exception(py, &failure, &fields))
        }
    }
}

/// Runs what takes no time, and gives what it would have printed.
pub fn silently(
    py: Python<'_>,
    work: impl FnOnce(&Console) -> Result<Exit, Failure> + Send,
) -> PyResult<String> {
    let (board, flag) = (Board::default(), Arc::new(AtomicBool::new(false)));
    let (outcome, interrupt) =
        patiently(py, None, &board, &flag, || work(&Console::to(Arc::new(board.clone()))))?;
    match (outcome, interrupt) {
        (_, Some(interrupt)) => Err(interrupt),
        (Err(failure), None) => Err(raised(py, &failure)),
        (Ok(_), None) => Ok(board.result()),
    }
}

/// The arguments of `sweep status`, which is to write its document.
pub fn status_args(py: Python<'_>, words: Vec<String>) -> PyResult<SweepStatusArgs> {
    let words = words.into_iter().chain(["--json".to_owned(), "-".to_owned()]).collect();
    match command(py, words)? {
        Command::Sweep(SweepArgs { command: Some(SweepCommand::Status(args)), .. }) => Ok(args),
        _ => Err(raised(py, &Failure::new(Exit::Internal, "`sweep status` is another command"))),
    }
}

/// Runs the `warpwatt` command with these words, the first of which is its name, and returns its exit code. `python -m warpwatt` does, and tasks on Slurm.
#[pyfunction]
#[pyo3(signature = (words, /))]
pub fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| warpwatt_cli::run_words(words))
}

/// Reproduces a paper's experiments and compares its claims with what was measured, as `warpwatt paper` does.
#[pyfunction]
#[pyo3(signature = (name, /, *, size = "small", seeds = None, workloads = None, quick = false, large_where_needed = false, out = None, jobs = None, csv = false, engine = "local", detach = false, slurm = None, progress = None))]
#[allow(clippy::too_many_arguments)]
pub fn paper(
    py: Python<'_>,
    name: &str,
    size: &str,
    seeds: Option<Vec<u64>>,
    workloads: Option<Vec<String>>,
    quick: bool,
    large_where_needed: bool,
    out: Option<PathBuf>,
    jobs: Option<u32>,
    csv: bool,
    engine: &str,
    detach: bool,
    slurm: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let out = out.unwrap_or_else(|| PathBuf::from("warpwatt-out"));
    let mut words: Vec<String> = ["paper", name, "--size", size].map(str::to_owned).into();
    words.extend(["--out".to_owned(), out.display().to_string()]);
    if let Some(seeds) = seeds {
        let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
        words.extend(["--seeds".to_owned(), seeds.join(",")]);
    }
    if let Some(workloads) = workloads {
        words.extend(["--workloads".to_owned(), workloads.join(",")]);
    }
    words.extend(jobs.into_iter().flat_map(|jobs| ["--jobs".to_owned(), jobs.to_string()]));
    let flags = [(quick, "--quick"), (large_where_needed, "--large-where-needed"), (csv, "--csv")];
    words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, flag)| (*flag).to_owned()));
    let scratch = match engine {
        "slurm" => {
            let (more, file) = crate::slurm::words(py, detach, slurm)?;
            words.extend(more);
            file
        }
        "local" if !detach && slurm.is_none() => None,
        "local" => {
            return Err(usage(
                py,
                "`detach` and `slurm` apply only to tasks on Slurm",
                "add engine=\"slurm\"",
            ));
        }
        other => {
            return Err(usage(py, format!("there is no engine `{other}`"), "it is \"local\" or \"slurm\""));
        }
    };
    let Command::Paper(args) = command(py, words)? else {
        return Err(raised(py, &Failure::new(Exit::Internal, "`paper` is another command")));
    };
    let done =
        carry_out(py, out, progress.as_ref(), |flag, console| run_paper(&args, || flag.clone(), console));
    drop(scratch);
    done
}
