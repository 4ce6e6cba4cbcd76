// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Record`: what a run found, as the record of `warpwatt run --json` has it.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;
use warpwatt_base::suggest;
use warpwatt_cli::front::{Exit, Failure, Texts, read_text, summary};
use warpwatt_config::{Config, apply_all};
use warpwatt_dataset::RunTables;
use warpwatt_report::Input;
use warpwatt_results::{Mode, RUN_SCHEMA, Reading, RunRecord, Status};

use crate::convert::{framed, to_python};
use crate::errors::raised;
use crate::gpu::write;
use crate::table::Table;

/// What a run found: tables, totals, and the record as JSON.
#[pyclass(frozen, module = "warpwatt")]
pub struct Record {
    pub document: Arc<RunRecord>,
    /// What was run, in words.
    pub name: String,
    /// Time that the host took to execute kernels, if it was this process that did.
    simulation_seconds: Option<f64>,
}

impl Record {
    pub fn new(name: String, document: RunRecord) -> Record {
        Record { document: Arc::new(document), name, simulation_seconds: None }
    }

    pub fn simulated(self, seconds: f64) -> Record {
        Record { simulation_seconds: Some(seconds), ..self }
    }

    fn tables(&self) -> RunTables<'_> {
        RunTables(&self.document)
    }

    /// What a page shows: a short name, and the record. A page has the seed elsewhere, and a kernel on arrays is called by its launch, since no file started it.
    pub fn shown(&self) -> (String, RunRecord) {
        let mut document = (*self.document).clone();
        let inputs = &mut document.inputs;
        let name = match &inputs.workload {
            Some(workload) if self.name.starts_with(&format!("{workload}@")) => workload.clone(),
            _ => self.name.clone(),
        };
        if inputs.workload.is_none() && inputs.launch_sha256.is_none() {
            inputs.program.get_or_insert_with(|| vec![name.clone()]);
        }
        (name, document)
    }

    fn text(&self) -> PyResult<String> {
        self.document.to_json().map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The GPU of the run, if it was timed.
    fn gpu_config(&self) -> Option<(&str, Config)> {
        let gpu = self.document.inputs.gpu.as_ref().filter(|_| self.document.mode == Mode::Timed)?;
        let mut config = Config::default();
        let settings: Vec<_> = gpu.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        apply_all(&mut config, settings.iter().map(String::as_str));
        Some((&gpu.name, config))
    }
}

/// Reads the record of a run that was saved, by `Record.save` or by `warpwatt run --json FILE`.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub fn load(py: Python<'_>, path: PathBuf) -> PyResult<Record> {
    let bad = |message: String| {
        let failure = Failure::new(Exit::BadInput, format!("{} {message}", path.display()));
        raised(py, &failure.help("`Record.save` and `warpwatt run NAME --json FILE` write records"))
    };
    let text = read_text(&path).map_err(|failure| raised(py, &failure))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| bad(format!("is no run record: {error}")))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(RUN_SCHEMA) => {}
        other => {
            let other: String = other.unwrap_or("none").chars().take(60).collect();
            return Err(bad(format!("is no run record: its schema is `{other}`, not `{RUN_SCHEMA}`")));
        }
    }
    let document: RunRecord = serde_json::from_value(value)
        .map_err(|error| bad(format!("is no run record of this version: {error}")))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Record::new(name, document))
}

#[pymethods]
impl Record {
    /// A row for each kernel, its launches added up: times, energy, stalls, counters.
    #[getter]
    fn kernels(&self) -> Table {
        Table::new(self.tables().kernels())
    }

    /// A row for each launch that the record has in detail (`per_launch`).
    #[getter]
    fn launches(&self) -> Table {
        Table::new(self.tables().launches())
    }

    /// A row for each source line: instructions, stalls, energy.
    #[getter]
    fn lines(&self) -> Table {
        Table::new(self.tables().lines())
    }

    /// A row for each counter of the whole run.
    #[getter]
    fn counters(&self) -> Table {
        Table::new(self.tables().counters())
    }

    /// A row for each place of a histogram of the whole run that is not 0.
    #[getter]
    fn histograms(&self) -> Table {
        Table::new(self.tables().histograms())
    }

    /// A row for each structure of the technology: dynamic and static energy.
    #[getter]
    fn energy(&self) -> Table {
        Table::new(self.tables().energy())
    }

    /// A row for each interval of each launch, with the counters in it; empty without `interval`.
    #[getter]
    fn series(&self) -> Table {
        Table::new(self.tables().series())
    }

    /// A row for each interval of the run, with the power of each component; empty without `interval`.
    #[getter]
    fn power(&self) -> Table {
        Table::new(self.tables().power())
    }

    /// `complete`, `partial` if a limit or an interrupt ended the run, or `failed`.
    #[getter]
    fn status(&self) -> &'static str {
        match self.document.status {
            Status::Complete => "complete",
            Status::Partial => "partial",
            Status::Failed => "failed",
        }
    }

    /// `timed` or `functional`.
    #[getter]
    fn mode(&self) -> &'static str {
        match self.document.mode {
            Mode::Functional => "functional",
            Mode::Timed => "timed",
        }
    }

    /// What was run, in words.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn workload(&self) -> Option<&str> {
        self.document.inputs.workload.as_deref()
    }

    #[getter]
    fn size(&self) -> Option<&str> {
        self.document.inputs.size.as_deref()
    }

    #[getter]
    fn seed(&self) -> Option<u64> {
        self.document.inputs.seed
    }

    /// Name of the GPU, if the run was timed or took the limits of one.
    #[getter]
    fn gpu(&self) -> Option<&str> {
        self.document.inputs.gpu.as_ref().map(|gpu| gpu.name.as_str())
    }

    /// Techniques that were on, with all their parameters.
    #[getter]
    fn techniques(&self) -> Vec<String> {
        self.document.inputs.techniques.clone()
    }

    #[getter]
    fn technology(&self) -> Option<&str> {
        self.document.inputs.technology.as_deref()
    }

    /// Core cycles in which kernels were under way.
    #[getter]
    fn cycles(&self) -> Option<u64> {
        self.document.totals.cycles
    }

    /// Simulated time in which kernels were under way.
    #[getter]
    fn seconds(&self) -> Option<f64> {
        let mhz = self.document.inputs.gpu.as_ref()?.parameters.get("clock.core_mhz")?.parse::<f64>().ok()?;
        Some(self.document.totals.cycles? as f64 / (mhz * 1e6))
    }

    /// Thread instructions of timed kernels per cycle.
    #[getter]
    fn ipc(&self) -> Option<f64> {
        self.document.totals.ipc
    }

    #[getter]
    fn warp_instructions(&self) -> u64 {
        self.document.totals.warp_instructions
    }

    #[getter]
    fn thread_instructions(&self) -> u64 {
        self.document.totals.thread_instructions
    }

    /// Energy of the whole GPU, in joules.
    #[getter]
    fn energy_j(&self) -> Option<f64> {
        Some(self.document.energy.as_ref()?.total_j)
    }

    /// Mean power, in watts.
    #[getter]
    fn average_w(&self) -> Option<f64> {
        Some(self.document.energy.as_ref()?.average_w)
    }

    /// Energy times delay, in joule seconds.
    #[getter]
    fn edp_js(&self) -> Option<f64> {
        Some(self.document.energy.as_ref()?.edp_js)
    }

    /// Time that this machine took to execute the kernels, in seconds; not of a record that was loaded.
    #[getter]
    fn simulation_seconds(&self) -> Option<f64> {
        self.simulation_seconds
    }

    /// The comparison with the reference: `passed`, `max_error`, `tolerance`, `compared`.
    #[getter]
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let check = self.document.check.as_ref().and_then(|check| serde_json::to_value(check).ok());
        check.map(|check| to_python(py, &check)).transpose()
    }

    /// What went wrong, and warnings.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &serde_json::to_value(&self.document.diagnostics).unwrap_or_default())
    }

    /// Issue slots without issue, by reason.
    #[getter]
    fn stalls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (reason, slots) in self.document.totals.stalls.iter().flatten() {
            dict.set_item(reason, slots)?;
        }
        Ok(dict)
    }

    /// The value of a counter of the whole run: a count, a ratio, or a histogram as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, counter: &str) -> PyResult<Bound<'py, PyAny>> {
        use pyo3::IntoPyObjectExt;
        let counters = &self.document.totals.counters;
        match counters.get(counter) {
            Some(Reading::Count(count)) => count.into_bound_py_any(py),
            Some(Reading::Ratio(ratio)) => ratio.into_bound_py_any(py),
            Some(Reading::Histogram(buckets)) => buckets.into_bound_py_any(py),
            None => {
                let names: Vec<_> = counters.keys().map(String::as_str).collect();
                let help = suggest::nearest(counter, &names).map(|name| format!("; did you mean `{name}`?"));
                Err(PyKeyError::new_err(format!(
                    "there is no counter `{counter}`{}",
                    help.unwrap_or_default()
                )))
            }
        }
    }

    /// The record as `warpwatt run --json` writes it.
    fn json(&self) -> PyResult<String> {
        self.text()
    }

    /// The record as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(&*self.document)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        to_python(py, &value)
    }

    /// Writes the record as JSON, for `load`, `warpwatt compare` and `warpwatt report`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write(py, &path, &self.text()?)
    }

    /// A trace for Perfetto, as bytes of a file; of a run with `trace=True`.
    fn trace<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &warpwatt_report::trace(&self.document))
    }

    /// The report of the run, a page of HTML that needs nothing else.
    fn html(&self) -> String {
        warpwatt_report::page(&Input { runs: vec![self.shown()], ..Input::default() })
    }

    fn _repr_html_(&self) -> String {
        framed(&self.html())
    }

    fn __str__(&self) -> String {
        let gpu = self.gpu_config();
        let lines = self.document.sources.iter().flat_map(|(file, lines)| {
            lines.iter().map(move |(line, text)| ((file.clone(), *line), text.trim().to_owned()))
        });
        let texts: Texts = lines.collect();
        summary(&self.name, &self.document, gpu.as_ref().map(|(name, config)| (*name, config)), &texts)
    }

    fn __repr__(&self) -> String {
        let cycles = self.document.totals.cycles.map_or(String::new(), |cycles| format!(", {cycles} cycles"));
        format!("<warpwatt.Record {}: {}{cycles}>", self.name, self.status())
    }
}
