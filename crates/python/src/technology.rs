// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Technology`: a built-in technology or a technology file, with figures changed. What is changed of a built-in one becomes a file that inherits from it.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use toml::{Table, Value};
use warpwatt_base::suggest;
use warpwatt_cli::front::{Failure, read_technology, technology_failure};
use warpwatt_energy::{TECHNOLOGIES, Technology as Checked};
use warpwatt_record::TechnologyFile;

use crate::convert::{from_toml, to_toml};
use crate::errors::raised;
use crate::gpu::write;
use crate::options::path;

/// What stands between the steps of a key: names of structures and of counters have spaces and dots.
const STEP: char = '/';

/// A technology, which energy is computed with: a built-in one by name, or a technology file, with figures changed by `set`.
#[pyclass(frozen, module = "warpwatt")]
pub struct Technology {
    name: String,
    text: String,
}

impl Technology {
    pub fn file(&self) -> TechnologyFile {
        TechnologyFile { name: self.name.clone(), text: self.text.clone() }
    }

    fn checked(name: String, text: String) -> Result<Technology, Failure> {
        let read = Checked::read(&text, &name).map_err(|errors| technology_failure(&errors))?;
        Ok(Technology { name: read.name, text })
    }

    fn table(&self) -> Table {
        self.text.parse().unwrap_or_default()
    }

    fn changed(&self, key: &str, value: Value) -> Result<Technology, Failure> {
        let builtin = TECHNOLOGIES.iter().any(|technology| technology.text == self.text);
        let mut table = match builtin {
            true => {
                let mut table = Table::new();
                table.insert("name".to_owned(), format!("{}-changed", self.name).into());
                table.insert("inherits".to_owned(), self.name.as_str().into());
                table
            }
            false => self.table(),
        };
        let steps: Vec<&str> = key.split(STEP).collect();
        match steps.as_slice() {
            ["name" | "description" | "inherits" | "pinned_voltage"] => {
                drop(table.insert(key.to_owned(), value))
            }
            [section @ ("silicon" | "die"), rest @ ..] if !rest.is_empty() => {
                let inherited = self.inherited(|table| table.get(*section).cloned());
                let whole = table.entry(*section).or_insert(inherited.unwrap_or(Value::Table(Table::new())));
                put(whole, rest, value, key)?;
            }
            [structure, rest @ ..] if !rest.is_empty() => {
                let mut own = match table.remove("structure") {
                    Some(Value::Array(list)) => list,
                    _ => Vec::new(),
                };
                let place = match own.iter().position(|known| named(known, structure)) {
                    Some(place) => place,
                    None => {
                        own.push(self.structure(structure)?);
                        own.len() - 1
                    }
                };
                put(&mut own[place], rest, value, key)?;
                table.insert("structure".to_owned(), Value::Array(own));
            }
            _ => {
                let mut names: Vec<&str> = vec!["name", "description", "pinned_voltage", "silicon/", "die/"];
                let all = self.structures();
                names.extend(all.iter().map(String::as_str));
                let message = format!("a technology has no key `{key}`");
                return Err(Failure::usage(message).help(advice(key, &names)));
            }
        }
        let text = toml::to_string(&table).map_err(|error| Failure::usage(error.to_string()))?;
        let name = table.get("name").and_then(Value::as_str).unwrap_or(&self.name).to_owned();
        Technology::checked(name, text)
    }

    /// What this file, or the nearest one that it inherits from, has.
    fn inherited<T>(&self, of: impl Fn(&Table) -> Option<T>) -> Option<T> {
        let mut table = self.table();
        loop {
            if let Some(found) = of(&table) {
                return Some(found);
            }
            let parent = table.get("inherits")?.as_str()?.to_owned();
            let text = TECHNOLOGIES.iter().find(|technology| technology.name == parent)?.text;
            table = text.parse().ok()?;
        }
    }

    fn structure(&self, name: &str) -> Result<Value, Failure> {
        let find = |table: &Table| {
            let list = table.get("structure")?.as_array()?;
            list.iter().find(|known| named(known, name)).cloned()
        };
        self.inherited(find).ok_or_else(|| {
            let all = self.structures();
            let names: Vec<_> = all.iter().map(String::as_str).chain(["silicon", "die"]).collect();
            let message = format!("the technology has no structure `{name}`");
            Failure::usage(message).help(advice(name, &names))
        })
    }
}

fn named(structure: &Value, name: &str) -> bool {
    structure.get("name").and_then(Value::as_str) == Some(name)
}

fn advice(key: &str, names: &[&str]) -> String {
    match suggest::nearest(key, names) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("there are {}", names.join(", ")),
    }
}

/// Follows the steps of a key and sets what it leads to. Elements of a list are found by their counter, or by their number from 0.
fn put(at: &mut Value, steps: &[&str], value: Value, key: &str) -> Result<(), Failure> {
    let Some((step, rest)) = steps.split_first() else {
        *at = value;
        return Ok(());
    };
    let missing = |names: Vec<String>| {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        Failure::usage(format!("`{key}` leads nowhere: there is no `{step}`")).help(advice(step, &names))
    };
    match at {
        Value::Table(table) => {
            if let Some(inner) = table.get_mut(*step) {
                return put(inner, rest, value, key);
            }
            // A counter of the events may stand where they would.
            if let Some(events @ Value::Array(_)) = table.get_mut("events")
                && counters(events).iter().any(|counter| counter == step)
            {
                return put(events, steps, value, key);
            }
            if rest.is_empty() {
                // Whether there is such a key is for the reader of the file to say, unless one is nearly the same.
                let names: Vec<_> = table.keys().map(String::as_str).collect();
                if let Some(nearest) = suggest::nearest(step, &names) {
                    return Err(missing(vec![nearest.to_owned()]));
                }
                table.insert((*step).to_owned(), value);
                return Ok(());
            }
            let mut names: Vec<_> = table.keys().cloned().collect();
            names.extend(table.get("events").map(counters).unwrap_or_default());
            Err(missing(names))
        }
        Value::Array(list) => {
            let names = counters(&Value::Array(list.clone()));
            let place = match step.parse::<usize>() {
                Ok(number) => Some(number).filter(|number| *number < list.len()),
                Err(_) => {
                    list.iter().position(|event| event.get("counter").and_then(Value::as_str) == Some(step))
                }
            };
            match place {
                Some(place) => put(&mut list[place], rest, value, key),
                None => Err(missing(names)),
            }
        }
        _ => Err(missing(Vec::new())),
    }
}

fn counters(events: &Value) -> Vec<String> {
    let list = events.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|event| event.get("counter")?.as_str().map(str::to_owned)).collect()
}

#[pymethods]
impl Technology {
    /// The technology of this name, or of this TOML file.
    #[new]
    #[pyo3(signature = (source = None, /))]
    fn new(py: Python<'_>, source: Option<Bound<'_, PyAny>>) -> PyResult<Technology> {
        let source = source.map_or(Ok(warpwatt_energy::DEFAULT.to_owned()), |source| path(&source))?;
        let read = read_technology(&source).and_then(|file| Technology::checked(file.name, file.text));
        read.map_err(|failure| raised(py, &failure))
    }

    /// The technology of a TOML text.
    #[staticmethod]
    #[pyo3(signature = (text, /, name = "technology"))]
    fn from_toml(py: Python<'_>, text: &str, name: &str) -> PyResult<Technology> {
        let read = Technology::checked(name.to_owned(), text.to_owned());
        read.map_err(|failure| raised(py, &failure))
    }

    /// Another technology that differs by one figure. Steps of a key are divided by `/`: `silicon/kelvin`, `decoder/icache.instructions.count/pj`,
    /// `instruction cache/static/0/mw`.
    fn set(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Technology> {
        self.changed(key, to_toml(value)?).map_err(|failure| raised(value.py(), &failure))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Names of all structures, inherited ones included.
    #[getter]
    fn structures(&self) -> Vec<String> {
        let read = Checked::read(&self.text, &self.name);
        let names = read.iter().flat_map(|technology| &technology.structures);
        names.map(|(_, structure)| structure.name.value.to_string()).collect()
    }

    /// The technology file.
    fn to_toml(&self) -> &str {
        &self.text
    }

    /// The technology file, as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(from_toml(py, &Value::Table(self.table()))?.cast_into::<PyDict>()?)
    }

    /// Writes the technology file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write(py, &path, &self.text)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Technology>().is_ok_and(|other| other.get().text == self.text)
    }

    fn __hash__(&self) -> u64 {
        crate::convert::hash(&self.text)
    }

    fn __repr__(&self) -> String {
        format!("<warpwatt.Technology {}>", self.name)
    }
}
