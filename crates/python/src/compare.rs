// SPDX-License-Identifier: MIT OR Apache-2.0
//! `compare` and `report`: runs beside each other, and pages of runs and of folders.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpwatt_cli::front::{self, Exit, Failure, comparison_text};
use warpwatt_dataset::{Column, Table as Columns};
use warpwatt_report::{Error, Input};
use warpwatt_results::Mode;

use crate::convert::{framed, to_python};
use crate::errors::raised;
use crate::gpu::write;
use crate::options::path;
use crate::record::{Record, load};
use crate::results::Results;
use crate::table::Table;

/// Two runs beside each other: inputs that differ, cycles, energy, and the counters that moved.
#[pyclass(frozen, module = "warpwatt")]
pub struct Comparison {
    inner: front::Comparison,
    a: Py<Record>,
    b: Py<Record>,
}

/// Compares two runs: records, or files of them.
#[pyfunction]
#[pyo3(signature = (a, b, /, *, top = 15))]
pub fn compare(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, top: usize) -> PyResult<Comparison> {
    let py = a.py();
    let (a, b) = (record(a)?, record(b)?);
    for record in [&a, &b] {
        let record = record.get();
        if record.document.mode == Mode::Functional {
            let message = format!("{} is of a functional run: it has neither cycles nor energy", record.name);
            let failure =
                Failure::new(Exit::BadInput, message).help("run it again without `functional=True`");
            return Err(raised(py, &failure));
        }
    }
    let inner = front::Comparison::new(&a.get().document, &b.get().document, top);
    Ok(Comparison { inner, a, b })
}

fn record(value: &Bound<'_, PyAny>) -> PyResult<Py<Record>> {
    match value.cast::<Record>() {
        Ok(record) => Ok(record.clone().unbind()),
        Err(_) => Py::new(value.py(), load(value.py(), PathBuf::from(path(value)?))?),
    }
}

#[pymethods]
impl Comparison {
    /// Why the comparison may not mean what it seems to.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }

    /// Cycles of the second run in those of the first.
    #[getter]
    fn cycles_ratio(&self) -> Option<f64> {
        self.inner.cycles.ratio()
    }

    /// Energy of the second run in that of the first.
    #[getter]
    fn energy_ratio(&self) -> Option<f64> {
        self.inner.energy.as_ref()?.total_j.ratio()
    }

    /// A row for each counter that moved, those that moved most first.
    #[getter]
    fn counters(&self) -> Table {
        let counters = || self.inner.counters.iter();
        let columns = vec![
            Column::text("counter", counters().map(|counter| Some(&counter.name))),
            Column::real("a", counters().map(|counter| Some(counter.count.a))),
            Column::real("b", counters().map(|counter| Some(counter.count.b))),
            Column::real("ratio", counters().map(|counter| counter.count.ratio())),
            Column::real("moved", counters().map(|counter| Some(counter.moved))),
        ];
        Table::new(Columns { name: "counters", columns })
    }

    /// The comparison as `warpwatt compare --json` writes it.
    fn json(&self) -> PyResult<String> {
        warpwatt_results::json::to_text(&self.inner)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The comparison as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &serde_json::to_value(&self.inner).unwrap_or_default())
    }

    /// A page of HTML with both runs beside each other.
    fn html(&self) -> String {
        let (a, b) = (self.a.get().shown(), self.b.get().shown());
        warpwatt_report::comparison((&a.0, &a.1), (&b.0, &b.1))
    }

    fn _repr_html_(&self) -> String {
        framed(&self.html())
    }

    fn __str__(&self) -> String {
        let (a, b) = (self.a.get(), self.b.get());
        comparison_text(&self.inner, (&a.name, &a.document), (&b.name, &b.document))
    }

    fn __repr__(&self) -> String {
        format!("<warpwatt.Comparison of {} and {}>", self.a.get().name, self.b.get().name)
    }
}

/// Makes a page of run records, files of them, results and folders of sweeps and papers; gives its path.
#[pyfunction]
#[pyo3(signature = (*results, out = None, svg = None))]
pub fn report(
    py: Python<'_>,
    results: &Bound<'_, PyTuple>,
    out: Option<PathBuf>,
    svg: Option<PathBuf>,
) -> PyResult<PathBuf> {
    let failed = |error: Error| {
        let exit = if error.is_io() { Exit::Io } else { Exit::BadInput };
        raised(py, &Failure::new(exit, error.to_string()))
    };
    if results.is_empty() {
        let failure = Failure::usage("a report needs something to report on");
        return Err(raised(py, &failure.help("give records, results, or files and folders of them")));
    }
    let mut input = Input::default();
    for result in results {
        if let Ok(record) = result.cast::<Record>() {
            input.runs.push(record.get().shown());
        } else if let Ok(results) = result.cast::<Results>() {
            input.add(results.get().place()).map_err(failed)?;
        } else {
            input.add(Path::new(&path(&result)?)).map_err(failed)?;
        }
    }
    if let Some(folder) = svg {
        warpwatt_report::write_svg(&input, &folder).map_err(failed)?;
    }
    let out = out.unwrap_or_else(|| PathBuf::from(warpwatt_report::FILE));
    write(py, &out, &warpwatt_report::page(&input))?;
    Ok(out)
}
