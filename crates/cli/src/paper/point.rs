// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs one point, by itself in a thread of its own, and keeps what figures need.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpwatt_papers::PointRecord;
use warpwatt_record::{self as record, Collector, Meter, Whole};
use warpwatt_results::{Gpu, RunRecord};
use warpwatt_runtime::{Class, Device, Mode};

use super::plan::Task;
use crate::args::Execution;
use crate::exit::Failure;
use crate::job::{Job, Stop};
use crate::profile;
use crate::run::{Target, options};
use crate::session::{Watch, Watcher, isolated};

/// Why there is no record of a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    Interrupted,
    Failed(String),
}

pub fn run(task: &Task, target: &Target, flag: &Arc<AtomicBool>) -> Result<PointRecord, Missing> {
    let document = record(&task.job, target, task.variant.predication, flag)?;
    PointRecord::of(task.key.clone(), document)
        .ok_or_else(|| Missing::Failed("nothing was timed, so that there is no energy".to_owned()))
}

/// The record of a timed run whose check passed.
pub fn record(
    job: &Job,
    target: &Target,
    predication: bool,
    flag: &Arc<AtomicBool>,
) -> Result<RunRecord, Missing> {
    isolated(|| attempt(job, target, predication, flag))
        .unwrap_or_else(|message| Err(Missing::Failed(format!("a bug in warpwatt: {message}"))))
}

fn attempt(
    job: &Job,
    target: &Target,
    predication: bool,
    flag: &Arc<AtomicBool>,
) -> Result<RunRecord, Missing> {
    let meter = Meter::start();
    let execution = Execution { no_predication: !predication, ..Execution::default() };
    let mut options = options(&execution, Some(target), flag.clone());
    if let Mode::Timed(timed) = &mut options.mode {
        profile::provide(job, &timed.config, &mut timed.techniques, flag, None)
            .map_err(|failure| Missing::Failed(failure.message))?;
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
    inputs.technology = Some(target.technology.name.clone());
    inputs.gpu = Some(Gpu::of(&target.name, config));
    inputs.techniques = target.timed.techniques.canonical();
    let whole = Whole::of(&device);
    let elapsed = whole.as_ref().map(Whole::elapsed);
    let threads = target.timed.threads;
    let host = meter.host(level, threads);
    let sums = launches.sums;
    let mut document = RunRecord::new(record::tool(), inputs, Vec::new(), &sums, elapsed, host);
    target.technology.energies.totals(&mut document, &sums);
    document.check = verdict.check;
    Ok(document)
}
