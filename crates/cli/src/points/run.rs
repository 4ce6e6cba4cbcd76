// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs one point, a workload in a thread of its own and a program in a process of its own, and keeps what figures need.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpwatt_codecs::huffman::{Huffman, SymbolBits};
use warpwatt_papers::PointRecord;
use warpwatt_record::{self as record, Collector, Meter, Whole};
use warpwatt_results::{Reading, RunRecord, Values};
use warpwatt_runtime::{Class, Device, Mode, Techniques};

use super::program;
use super::task::{Subject, Task};
use crate::args::Execution;
use crate::exit::{Exit, Failure};
use crate::job::{Job, Stop};
use crate::profile::{self, Known};
use crate::run::{Target, options};
use crate::session::{Watch, Watcher, isolated};

/// Why there is no record of a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    Interrupted,
    Failed(String),
}

pub fn run(task: &Task, known: &Known, flag: &Arc<AtomicBool>) -> Result<PointRecord, Missing> {
    match &task.subject {
        Subject::Job(job) => {
            let target = task.target().map_err(|failure| Missing::Failed(failure.message))?;
            let document = record(job, &target, task.point.predication, known, flag)?;
            PointRecord::of(task.key.clone(), document)
                .ok_or_else(|| Missing::Failed("nothing was timed, so there is no energy".to_owned()))
        }
        Subject::Program(words) => program::run(task, words, flag),
    }
}

/// The record of a timed run whose check passed.
pub fn record(
    job: &Job,
    target: &Target,
    predication: bool,
    known: &Known,
    flag: &Arc<AtomicBool>,
) -> Result<RunRecord, Missing> {
    isolated(|| attempt(job, target, predication, known, flag))
        .unwrap_or_else(|message| Err(Missing::Failed(format!("a bug in warpwatt: {message}"))))
}

fn attempt(
    job: &Job,
    target: &Target,
    predication: bool,
    known: &Known,
    flag: &Arc<AtomicBool>,
) -> Result<RunRecord, Missing> {
    let meter = Meter::start();
    let execution = Execution { no_predication: !predication, ..Execution::default() };
    let mut options = options(&execution, Some(target), flag.clone());
    let mut codes = Values::default();
    if let Mode::Timed(timed) = &mut options.mode {
        let techniques = &mut timed.techniques;
        let symbols = profile::provide(known, job, &execution, &timed.config, techniques, flag, None)
            .map_err(|failure| match failure.exit {
                Exit::Interrupted => Missing::Interrupted,
                _ => Missing::Failed(failure.message),
            })?;
        options.programs = symbols.as_ref().map(|symbols| symbols.programs.clone()).unwrap_or_default();
        codes = about_codes(symbols.and_then(|symbols| symbols.bound), techniques);
    }
    let level = options.level;
    let config = &target.timed.config;
    let collector = Collector::new(Some(config.clone()), None, 0);
    let (watcher, _) = Watcher::new(Watch { silent: true, ..Watch::default() });
    let watcher = watcher.collecting(collector.clone());
    let stopped = |error| match warpwatt_runtime::Error::class(&error) {
        Class::Interrupted => Missing::Interrupted,
        _ => Missing::Failed(Failure::device(&error, false).message),
    };
    let mut device = Device::with(options, Box::new(watcher)).map_err(stopped)?;
    let verdict = job.execute(&mut device).map_err(|stop| match stop {
        Stop::Device { error, .. } => stopped(error),
        Stop::Io(message) | Stop::Request(message) => Missing::Failed(message),
    })?;
    if !verdict.check.as_ref().is_some_and(|check| check.passed) {
        return Err(Missing::Failed(format!("the check failed: {}", verdict.failures.join("; "))));
    }
    let launches = collector.take();
    let mut inputs = job.inputs();
    target.describe(&mut inputs);
    let whole = Whole::of(&device);
    let host = meter.host(level, target.timed.threads);
    let energies = &target.technology.energies;
    let mut document =
        record::assemble(inputs, Vec::new(), &launches.sums, whole.as_ref(), Some(energies), host);
    energies.groups(&mut document);
    document.check = verdict.check;
    document.totals.counters.extend(codes);
    Ok(document)
}

/// Measures of the codes of a technique that papers need, beside its counters: the best ratio of any code for 16-bit symbols in the lines that moved, and the
/// length of the prefix of values without a codeword.
fn about_codes(bound: Option<f64>, techniques: &Techniques) -> Values {
    let mut values = Values::default();
    values.extend(bound.map(|bound| ("codes.bound.ratio".to_owned(), Reading::Ratio(bound))));
    let most = techniques.get("e2mc", "values").and_then(|values| values.parse().ok());
    if let Some((most, symbols)) = most.zip(techniques.symbols.as_ref()) {
        let codes = Huffman::new(symbols.of_width(SymbolBits::Sixteen), most, 1);
        let bits = codes.escape().map(|escape| Reading::Count(escape.length.into()));
        values.extend(bits.map(|bits| ("codes.escape.bits".to_owned(), bits)));
    }
    values
}
