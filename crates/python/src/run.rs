// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run`, and what it shares with kernels: a job is run beside the interpreter, and its end becomes a record or an exception that has it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpwatt_cli::args::{RunArgs, Timing};
use warpwatt_cli::front::{Console, Exit, Failure, Job, Measured, Request, Stop, job, measure};
use warpwatt_runtime::{Error, Observer};
use warpwatt_workloads::Size;

use crate::errors::{exception, fault_fields, raised};
use crate::options::{Options, path};
use crate::record::Record;
use crate::session::{Board, Watcher, patiently};

/// Runs a workload, or the kernels of a PTX or CUDA C++ file with a launch file, and gives the record. Options are those of `warpwatt run`.
#[pyfunction]
#[pyo3(signature = (workload = None, /, *, size = None, seed = 1, launch = None, ptx = None, **options))]
pub fn run(
    py: Python<'_>,
    workload: Option<Bound<'_, PyAny>>,
    size: Option<&str>,
    seed: u64,
    launch: Option<PathBuf>,
    ptx: Option<PathBuf>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Record> {
    let options = Options::new().with(py, options)?;
    let size = size.map(str::parse::<Size>).transpose();
    let size = size.map_err(|error| raised(py, &Failure::usage(error.to_string())))?;
    let args = RunArgs {
        workload: workload.map(|workload| path(&workload)).transpose()?,
        size,
        ptx,
        launch,
        functional: options.functional,
        timing: Timing::default(),
        seed,
        execution: options.execution.clone(),
        json: None,
        write_profile: None,
        save_reproducer: None,
        inject_panic: None,
    };
    let job = job(&args, &Console::plain()).map_err(|failure| raised(py, &failure))?;
    let finished = perform(py, &job, &options)?;
    conclude(py, finished)
}

/// A job that has ended, with what Python raised meanwhile.
pub struct Finished {
    pub measured: Measured,
    name: String,
    interrupt: Option<PyErr>,
}

/// Runs a job without the interpreter's lock.
pub fn perform(py: Python<'_>, job: &Job, options: &Options) -> PyResult<Finished> {
    let (board, flag) = (Board::default(), Arc::new(AtomicBool::new(false)));
    let (execution, progress) = (&options.execution, options.progress.as_ref());
    let mut target = options.target().map_err(|failure| raised(py, &failure))?;
    let machine = options.limits().map_err(|failure| raised(py, &failure))?;
    let (outcome, interrupt) = patiently(py, progress, &board, &flag, || {
        let console = Console::to(Arc::new(board.clone()));
        if let Some(target) = &mut target {
            target.provide(job, execution, &flag, &console)?;
        }
        let request = Request {
            execution,
            target: target.as_ref(),
            machine: machine.as_ref(),
            json: None,
            counts: None,
            trace: None,
            save: None,
            panic_at: None,
        };
        let watcher =
            |collector| -> Box<dyn Observer + Send> { Box::new(Watcher::new(board.clone(), collector)) };
        Ok::<_, Failure>(measure(job, &request, &flag, watcher, &console))
    })?;
    match (outcome, interrupt) {
        (Ok(measured), interrupt) => Ok(Finished { measured, name: job.name(), interrupt }),
        (Err(failure), Some(interrupt)) if failure.exit == Exit::Interrupted => {
            Err(interrupted(py, interrupt, None))
        }
        (Err(failure), _) => Err(raised(py, &failure)),
    }
}

/// The record of a run, or an exception that has it.
pub fn conclude(py: Python<'_>, finished: Finished) -> PyResult<Record> {
    let Finished { measured, name, interrupt } = finished;
    let Measured { document, result, failure, crash, timed: (_, seconds), .. } = measured;
    let record = Record::new(name, document).simulated(seconds);
    if let Some(interrupt) = interrupt {
        return Err(interrupted(py, interrupt, Some(record)));
    }
    let fields = PyDict::new(py);
    if let Some(message) = crash {
        let failure = Failure::new(Exit::Internal, format!("a bug in warpwatt: {message}"));
        return Err(exception(
            py,
            &failure.help("please report it, with the program that shows it"),
            &fields,
        ));
    }
    match failure {
        None => Ok(record),
        // What was asked for: the run ends there.
        Some(failure) if failure.exit == Exit::Limit => Ok(record),
        Some(failure) => {
            fields.set_item("record", Py::new(py, record)?)?;
            if let Err(Stop::Device { error: Error::Fault(report), .. }) = &result {
                fault_fields(report, &fields)?;
            }
            Err(exception(py, &failure, &fields))
        }
    }
}

/// What ended a run: Ctrl-C as an exception of ours that has the record, others as they are.
pub fn interrupted(py: Python<'_>, interrupt: PyErr, record: Option<Record>) -> PyErr {
    if !interrupt.is_instance_of::<PyKeyboardInterrupt>(py) {
        return interrupt;
    }
    let fields = PyDict::new(py);
    let made = || {
        if let Some(record) = record {
            fields.set_item("record", Py::new(py, record)?)?;
        }
        PyResult::Ok(exception(py, &Failure::new(Exit::Interrupted, "interrupted"), &fields))
    };
    made().unwrap_or_else(|error| error)
}
