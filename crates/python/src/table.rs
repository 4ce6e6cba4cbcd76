// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Table`: a table of results, which pandas, polars, pyarrow and DuckDB take without a copy by the Arrow PyCapsule interface.

use std::sync::{Arc, OnceLock};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use warpwatt_base::suggest;
use warpwatt_dataset::{Data, Table as Columns};

use crate::arrow::{ArrowArrayStream, ArrowSchema, Batch};

/// Rows that are shown of a table.
const SHOWN: usize = 20;

/// A table of results. `pandas.DataFrame.from_arrow`, `polars.DataFrame`, `pyarrow.table` and DuckDB take it as it is.
#[pyclass(frozen, module = "warpwatt")]
pub struct Table {
    columns: Columns,
    /// The columns in Arrow's form, once they are needed.
    batch: OnceLock<Arc<Batch>>,
}

impl Table {
    pub fn new(columns: Columns) -> Table {
        Table { columns, batch: OnceLock::new() }
    }

    fn batch(&self) -> &Arc<Batch> {
        self.batch.get_or_init(|| Batch::new(&self.columns))
    }

    fn cell<'py>(&self, py: Python<'py>, data: &Data, row: usize) -> PyResult<Bound<'py, PyAny>> {
        match data {
            Data::Text(cells) => cells.get(row).and_then(Option::as_deref).into_bound_py_any(py),
            Data::Count(cells) => cells.get(row).copied().flatten().into_bound_py_any(py),
            Data::Real(cells) => cells.get(row).copied().flatten().into_bound_py_any(py),
        }
    }

    fn column<'py>(&self, py: Python<'py>, data: &Data) -> PyResult<Bound<'py, PyList>> {
        let rows = 0..self.columns.rows();
        let cells = rows.map(|row| self.cell(py, data, row)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, cells)
    }
}

#[pymethods]
impl Table {
    /// A stream of one batch, for the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it open whether a request is met.
        let _ = requested_schema;
        PyCapsule::new_with_value(py, ArrowArrayStream::new(self.batch()), c"arrow_array_stream")
    }

    /// Names and types of the columns, for the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, ArrowSchema::new(self.batch()), c"arrow_schema")
    }

    #[getter]
    fn name(&self) -> &str {
        self.columns.name
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.columns.columns.iter().map(|column| column.name.clone()).collect()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.columns.rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.columns.columns.len()
    }

    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    /// The values of a column, as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        if let Some(found) = self.columns.columns.iter().find(|other| other.name == column) {
            return self.column(py, &found.data);
        }
        let names = self.column_names();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let help = suggest::nearest(column, &names).map(|name| format!("; did you mean `{name}`?"));
        let message = format!("`{}` has no column `{column}`{}", self.columns.name, help.unwrap_or_default());
        Err(PyKeyError::new_err(message))
    }

    /// All columns, as lists by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in &self.columns.columns {
            dict.set_item(&column.name, self.column(py, &column.data)?)?;
        }
        Ok(dict)
    }

    /// All rows, as a dictionary each.
    fn to_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for row in 0..self.columns.rows() {
            let dict = PyDict::new(py);
            for column in &self.columns.columns {
                dict.set_item(&column.name, self.cell(py, &column.data, row)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows)
    }

    /// A data frame of pandas, which has to be installed.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let frame = slf.py().import("pandas")?.getattr("DataFrame")?;
        if frame.hasattr("from_arrow")? {
            return frame.call_method1("from_arrow", (slf,));
        }
        slf.py().import("pyarrow")?.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    /// A data frame of polars, which has to be installed.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// A table of pyarrow, which has to be installed.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    fn __repr__(&self) -> String {
        format!(
            "<warpwatt.Table {}: {} rows, {} columns>",
            self.columns.name,
            self.columns.rows(),
            self.columns.columns.len()
        )
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        let head: String =
            self.column_names().iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
        let mut out = format!("<table><thead><tr>{head}</tr></thead><tbody>");
        for row in 0..self.columns.rows().min(SHOWN) {
            out += "<tr>";
            for column in &self.columns.columns {
                let cell = self.cell(py, &column.data, row)?;
                let text = if cell.is_none() { String::new() } else { cell.str()?.to_string() };
                out += &format!("<td>{}</td>", escape(&text));
            }
            out += "</tr>";
        }
        out += "</tbody></table>";
        if self.columns.rows() > SHOWN {
            out += &format!("<p>{} of {} rows</p>", SHOWN, self.columns.rows());
        }
        Ok(out)
    }
}
