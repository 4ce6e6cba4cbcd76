// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Gpu`: a built-in GPU or a GPU file, with parameters changed.

use std::path::PathBuf;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use warpwatt_base::suggest;
use warpwatt_cli::front::{Failure, gpu_failure, read_gpu};
use warpwatt_config::{Config, GpuFile, apply_all, sha256, validate, values};

use crate::convert::to_python;
use crate::errors::{raised, usage};
use crate::options::{path, setting};

/// A GPU: a built-in one by name, or a GPU file, with parameters changed by `set`.
#[pyclass(frozen, module = "warpwatt")]
pub struct Gpu {
    pub file: GpuFile,
}

#[pymethods]
impl Gpu {
    /// The GPU of this name, or of this TOML file.
    #[new]
    #[pyo3(signature = (source = None, /))]
    fn new(py: Python<'_>, source: Option<Bound<'_, PyAny>>) -> PyResult<Gpu> {
        let source = source.map_or(Ok("gtx480".to_owned()), |source| path(&source))?;
        let file = read_gpu(&source).map_err(|failure| raised(py, &failure))?;
        Ok(Gpu { file })
    }

    /// The GPU of a TOML text, which inherits from a built-in one.
    #[staticmethod]
    #[pyo3(signature = (text, /, name = "gpu"))]
    fn from_toml(py: Python<'_>, text: &str, name: &str) -> PyResult<Gpu> {
        let file = GpuFile::read(text, name).map_err(|errors| raised(py, &gpu_failure(&errors)))?;
        Ok(Gpu { file })
    }

    /// Another GPU that differs by this parameter, or by all of a mapping of keys to values. What has to be legal together is given together.
    #[pyo3(signature = (key, value = None, /))]
    fn set(&self, key: &Bound<'_, PyAny>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Gpu> {
        let py = key.py();
        let mut settings = Vec::new();
        match (key.cast::<PyMapping>(), value) {
            (Ok(mapping), None) => {
                for pair in mapping.items()? {
                    let (key, value): (String, Bound<'_, PyAny>) = pair.extract()?;
                    settings.push((key, setting(&value)?));
                }
            }
            (Err(_), Some(value)) => settings.push((key.extract()?, setting(value)?)),
            _ => {
                return Err(usage(
                    py,
                    "`set` takes a key and a value, or a mapping",
                    "set(\"l2.sets\", 128)",
                ));
            }
        }
        let mut file = self.file.clone();
        for (key, _) in &settings {
            if key.starts_with("technique.") {
                let message = format!("`{key}` is about a technique, not about a GPU");
                return Err(usage(py, message, "give it with `techniques=[\"NAME:KEY=VALUE\"]`"));
            }
            // What the value rested on was said about another one.
            file.reasons.remove(key.as_str());
        }
        let texts: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let refused = apply_all(&mut file.config, texts.iter().map(String::as_str));
        if !refused.is_empty() {
            return Err(raised(py, &gpu_failure(&refused)));
        }
        validate(&file.config).map_err(|errors| raised(py, &gpu_failure(&errors)))?;
        Ok(Gpu { file })
    }

    /// The value of a parameter.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        match values(&self.file.config).get(key) {
            Some(value) => to_python(py, value),
            None => {
                let names: Vec<_> = Config::parameters().iter().map(|parameter| parameter.key).collect();
                let help = suggest::nearest(key, &names).map(|name| format!("; did you mean `{name}`?"));
                Err(PyKeyError::new_err(format!("there is no parameter `{key}`{}", help.unwrap_or_default())))
            }
        }
    }

    /// Every parameter with its value.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (key, value) in values(&self.file.config) {
            all.set_item(key, to_python(py, &value)?)?;
        }
        Ok(all)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.file.name
    }

    /// One line about it.
    #[getter]
    fn description(&self) -> &str {
        &self.file.description
    }

    /// Hash of all parameters.
    #[getter]
    fn sha256(&self) -> String {
        sha256(&self.file.config)
    }

    /// The whole GPU file, with what each parameter means if it is `annotated`.
    #[pyo3(signature = (*, annotated = false))]
    fn to_toml(&self, annotated: bool) -> String {
        self.file.to_toml(annotated)
    }

    /// Writes the GPU file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write(py, &path, &self.to_toml(true))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Gpu>().is_ok_and(|other| {
            let other = &other.get().file;
            other.name == self.file.name && other.config == self.file.config
        })
    }

    fn __hash__(&self) -> u64 {
        crate::convert::hash(&self.sha256())
    }

    fn __repr__(&self) -> String {
        format!("<warpwatt.Gpu {} {}>", self.file.name, &self.sha256()[..12])
    }
}

/// Writes a text file.
pub fn write(py: Python<'_>, path: &std::path::Path, text: &str) -> PyResult<()> {
    std::fs::write(path, text).map_err(|error| raised(py, &Failure::io("write", path, &error)))
}
