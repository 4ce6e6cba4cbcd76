// SPDX-License-Identifier: MIT OR Apache-2.0
//! From failures to exceptions. Their classes are in warpwatt/_errors.py; what the command line would tell by an exit code is told by the class.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpwatt_cli::front::{Exit, Failure};
use warpwatt_runtime::{FaultReport, SourcePosition};

/// The module with the classes.
const MODULE: &str = "warpwatt._errors";

fn class(exit: Exit) -> &'static str {
    match exit {
        Exit::Ok | Exit::CheckFailed => "CheckFailed",
        Exit::Usage => "UsageError",
        Exit::BadInput => "InputError",
        Exit::Fault => "Fault",
        Exit::Limit => "LimitReached",
        Exit::Internal => "InternalError",
        Exit::Io => "FileError",
        Exit::Interrupted => "Interrupted",
    }
}

/// The exception of a failure, with more fields.
pub fn exception(py: Python<'_>, failure: &Failure, fields: &Bound<'_, PyDict>) -> PyErr {
    let made = || {
        fields.set_item("help", &failure.help)?;
        py.import(MODULE)?.getattr(class(failure.exit))?.call((&failure.message,), Some(fields))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// The exception of a failure that has nothing more to tell.
pub fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    exception(py, failure, &PyDict::new(py))
}

/// A mistake of the caller, with what to do about it.
pub fn usage(py: Python<'_>, message: impl Into<String>, help: impl Into<String>) -> PyErr {
    raised(py, &Failure::usage(message).help(help))
}

/// What a fault was about: kernel, place, thread, address, allocation.
pub fn fault_fields(report: &FaultReport, fields: &Bound<'_, PyDict>) -> PyResult<()> {
    let place: Option<&SourcePosition> = report.source.as_ref().or(report.ptx.as_ref());
    fields.set_item("code", report.code)?;
    fields.set_item("kernel", &report.demangled)?;
    fields.set_item("launch", report.launch)?;
    fields.set_item("file", place.map(|place| &place.file))?;
    fields.set_item("line", place.map(|place| place.line))?;
    fields.set_item("text", place.and_then(|place| place.text.as_ref()))?;
    fields.set_item("block", tuple(report.block))?;
    fields.set_item("thread", tuple(report.thread))?;
    fields.set_item("address", report.address)?;
    fields.set_item("bytes", report.bytes)?;
    fields.set_item("allocation", &report.allocation)
}

fn tuple([x, y, z]: [u32; 3]) -> (u32, u32, u32) {
    (x, y, z)
}
