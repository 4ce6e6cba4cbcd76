// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of JSON and TOML as Python values and back, and pages as they are shown in a notebook.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PySequence, PyString};
use serde_json::Value;

pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(on) => on.into_bound_py_any(py),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_bound_py_any(py),
            (_, Some(number)) => number.into_bound_py_any(py),
            _ => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (key, value) in fields {
                dict.set_item(key, to_python(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// A Python value as one of TOML: texts, numbers, lists and mappings.
pub fn to_toml(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    if let Ok(on) = value.cast::<PyBool>() {
        return Ok(toml::Value::Boolean(on.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(toml::Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(toml::Value::String(text.to_string()));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut table = toml::Table::new();
        for pair in mapping.items()? {
            let (key, value): (String, Bound<'_, PyAny>) = pair.extract()?;
            table.insert(key, to_toml(&value)?);
        }
        return Ok(toml::Value::Table(table));
    }
    // Ranges, arrays and numbers of NumPy.
    if let Ok(list) = value.call_method0("tolist")
        && !list.is(value)
    {
        return to_toml(&list);
    }
    if value.cast::<PySequence>().is_ok() {
        let items = value.try_iter()?.map(|item| to_toml(&item?)).collect::<PyResult<_>>()?;
        return Ok(toml::Value::Array(items));
    }
    Err(PyTypeError::new_err(format!("{} cannot be written to TOML", value.repr()?)))
}

/// A value of TOML as a Python value.
pub fn from_toml<'py>(py: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    match serde_json::to_value(value) {
        Ok(value) => to_python(py, &value),
        Err(error) => Err(PyTypeError::new_err(error.to_string())),
    }
}

/// A cell of a notebook is narrow: a page in it has no list of contents at its side.
const NARROW: &str = "<style>nav#nav{display:none}body{grid-template-columns:minmax(0,1fr)}main{padding:8px 16px}</style></head>";

/// A whole page inside of a cell of a notebook: its styles and scripts do not reach the notebook's own.
pub fn framed(page: &str) -> String {
    let page = page.replacen("</head>", NARROW, 1);
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe srcdoc=\"{page}\" sandbox=\"allow-scripts allow-popups\" style=\"width:100%;height:640px;border:1px solid #ccc;box-sizing:border-box\"></iframe>"
    )
}

pub fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
