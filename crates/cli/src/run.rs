// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run`: does a job once, writes its record, prints what it found.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpwatt_results::{Diagnostic, RunRecord, Severity, Status};
use warpwatt_runtime::{CheckOptions, Class, Device, Error, LaunchRecord, Options, Watchdog, demangle};
use warpwatt_workloads::Size;

use crate::args::{Check, Execution, RunArgs};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt::{self, Timeout};
use crate::job::{FileJob, Job, Stop, Verdict};
use crate::list::find_workload;
use crate::record::{self, Meter};
use crate::reproducer::{self, Saved};
use crate::session::{Watch, Watcher, isolated};
use crate::table::{Table, grouped};

pub fn run(args: &RunArgs, console: &Console) -> Result<Exit, Failure> {
    if !args.functional {
        let failure = Failure::usage(
            "only functional simulation is available in this version: there is no timed model yet",
        );
        return Err(failure
            .help("add `--functional`: it computes values and counts instructions, without time or energy"));
    }
    let job = match (&args.workload, &args.launch) {
        (Some(name), _) => workload_job(name, args)?,
        (None, Some(launch)) => Job::File(FileJob::load(launch, args.ptx.as_deref(), args.seed, console)?),
        (None, None) => return Err(Failure::usage("name a workload, or give `--launch FILE`")),
    };
    let request = Request {
        execution: &args.execution,
        json: args.json.as_deref(),
        save: args.save_reproducer.as_deref(),
        panic_at: args.inject_panic,
    };
    perform(&job, &request, console)
}

fn workload_job(name: &str, args: &RunArgs) -> Result<Job, Failure> {
    let (name, size) = match name.split_once('@') {
        Some((name, size)) => {
            let size: Size = size
                .parse()
                .map_err(|error: warpwatt_workloads::UnknownSize| Failure::usage(error.to_string()))?;
            if args.size.is_some_and(|other| other != size) {
                return Err(Failure::usage(format!("`{name}@{size}` and `--size` give different sizes")));
            }
            (name, size)
        }
        None => (name, args.size.unwrap_or(Size::Small)),
    };
    Ok(Job::Workload { workload: find_workload(name)?, size, seed: args.seed })
}

/// How a job is to be run and what is to be left of it.
pub struct Request<'a> {
    pub execution: &'a Execution,
    pub json: Option<&'a Path>,
    pub save: Option<&'a Path>,
    pub panic_at: Option<u64>,
}

/// The device's options for a run.
pub fn options(execution: &Execution, interrupt: Arc<AtomicBool>) -> Options {
    let mut options = Options {
        max_registers: execution.max_registers,
        checks: CheckOptions {
            races: execution.check.contains(&Check::Races),
            uninit: execution.check.contains(&Check::Uninit),
        },
        max_thread_instructions: execution.limit_instructions,
        interrupt,
        ..Options::default()
    };
    if let Some(patience) = execution.watchdog {
        options.watchdog = Watchdog { patience, limit: Watchdog::default().limit.max(patience) };
    }
    options
}

struct Attempt {
    result: Result<Verdict, Stop>,
    log: Vec<LaunchRecord>,
}

fn attempt(job: &Job, options: Options, watcher: Watcher) -> Attempt {
    let mut device = match Device::with(options, Box::new(watcher)) {
        Ok(device) => device,
        Err(error) => return Attempt { result: Err(Stop::Device { error, context: None }), log: Vec::new() },
    };
    let result = job.execute(&mut device);
    Attempt { result, log: device.log().to_vec() }
}

/// Runs a job and reports on it.
pub fn perform(job: &Job, request: &Request, console: &Console) -> Result<Exit, Failure> {
    let flag = interrupt::flag();
    let timeout = request.execution.timeout.map(|seconds| Timeout::start(seconds, flag.clone()));
    let options = options(request.execution, flag.clone());
    let level = options.level;
    let json_on_stdout = request.json == Some(Path::new("-"));
    let (watcher, current) =
        Watcher::new(Watch { panic_at: request.panic_at, ..Watch::new(console, json_on_stdout) });
    let meter = Meter::start();
    console.detail(&format!("running {}", job.name()));
    let finished = isolated(|| attempt(job, options.clone(), watcher));
    let expired = timeout.as_ref().is_some_and(Timeout::expired);
    drop(timeout);
    flag.store(false, Ordering::Relaxed);

    let (attempt, crash) = match finished {
        Ok(attempt) => (attempt, None),
        Err(message) => {
            let result = Err(Stop::Device { error: Error::Internal(message.clone()), context: None });
            (Attempt { result, log: Vec::new() }, Some(message))
        }
    };
    let kernels: Vec<_> = attempt.log.iter().map(record::kernel).collect();
    let mut document =
        RunRecord::functional(record::tool(), Status::Complete, job.inputs(), kernels, meter.host(level));
    let ending = judge(&attempt.result, expired, request.execution, console);
    (document.status, document.diagnostics) = (ending.status, ending.diagnostics);
    if let Ok(verdict) = &attempt.result {
        document.check.clone_from(&verdict.check);
    }
    if let Some(path) = request.json {
        let text = document.to_json().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &text, console)?;
    }
    if !json_on_stdout {
        console.summary(&summary(job, &attempt, &document));
    }

    let launch = current.load(Ordering::Relaxed);
    if let Some(message) = &crash {
        let saved = reproducer::save(job, &options, launch, Saved::NewFolder, message);
        let where_to = match saved {
            Ok(folder) => format!("a reproducer is in {0}; `warpwatt replay {0}` runs it", folder.display()),
            Err(reason) => format!("no reproducer could be saved: {reason}"),
        };
        let message = format!("a bug in warpwatt: {message}");
        return Err(Failure::new(Exit::Internal, message).help(format!("please report it; {where_to}")));
    }
    if let Some(folder) = request.save {
        let reason = attempt.result.as_ref().err().map_or("saved on demand".to_owned(), describe);
        let folder =
            reproducer::save(job, &options, launch, Saved::Folder(folder), &reason).map_err(|reason| {
                Failure::new(Exit::Io, format!("the reproducer could not be saved: {reason}"))
            })?;
        console.note(&format!("launch {launch} is saved; `warpwatt replay {}` runs it", folder.display()));
    }
    match ending.failure {
        Some(failure) => Err(failure),
        None => Ok(Exit::Ok),
    }
}

fn describe(stop: &Stop) -> String {
    match stop {
        Stop::Device { error, .. } => error.to_string(),
        Stop::Io(message) | Stop::Request(message) => message.clone(),
    }
}

/// How a run ended, for its record and for the exit code.
struct Judgement {
    status: Status,
    diagnostics: Vec<Diagnostic>,
    failure: Option<Failure>,
}

fn judge(
    result: &Result<Verdict, Stop>,
    expired: bool,
    execution: &Execution,
    console: &Console,
) -> Judgement {
    let plain = |code: &str, message: &str| Diagnostic {
        code: code.to_owned(),
        severity: Severity::Error,
        file: None,
        line: None,
        column: None,
        message: message.to_owned(),
        help: None,
    };
    match result {
        Ok(verdict) if verdict.check.as_ref().is_none_or(|check| check.passed) => {
            Judgement { status: Status::Complete, diagnostics: Vec::new(), failure: None }
        }
        Ok(verdict) => {
            let message = format!("the check failed: {}", verdict.failures.join("\n  "));
            Judgement {
                status: Status::Failed,
                diagnostics: verdict.failures.iter().map(|failure| plain("check", failure)).collect(),
                failure: Some(Failure::new(Exit::CheckFailed, message)),
            }
        }
        Err(Stop::Io(message)) => Judgement {
            status: Status::Failed,
            diagnostics: vec![plain("io", message)],
            failure: Some(Failure::new(Exit::Io, message.clone())),
        },
        Err(Stop::Request(message)) => Judgement {
            status: Status::Failed,
            diagnostics: vec![plain("launch-file", message)],
            failure: Some(Failure::new(Exit::BadInput, message.clone())),
        },
        Err(Stop::Device { error: Error::Interrupted { kernel }, .. }) if expired => {
            let seconds = execution.timeout.unwrap_or_default();
            let message = format!("`{kernel}` was stopped: the time limit of {seconds} seconds is reached");
            Judgement {
                status: Status::Partial,
                diagnostics: vec![plain("limit", "the time limit is reached")],
                failure: Some(Failure::new(Exit::Limit, message)),
            }
        }
        Err(Stop::Device { error, context }) => {
            let partial = matches!(error.class(), Class::Limit | Class::Interrupted);
            let mut failure = Failure::device(error, console.color);
            if let Some(place) = context
                && !failure.rendered
            {
                failure.message = format!("{place}: {}", failure.message);
            }
            Judgement {
                status: if partial { Status::Partial } else { Status::Failed },
                diagnostics: record::diagnostics(error),
                failure: Some(failure),
            }
        }
    }
}

/// What a person wants to see of a run: one line per kernel, the sums, the check.
fn summary(job: &Job, attempt: &Attempt, document: &RunRecord) -> String {
    #[derive(Default)]
    struct Sum {
        launches: u64,
        registers: u32,
        shared: u32,
        warps: u64,
        threads: u64,
    }
    let mut order = Vec::new();
    let mut sums = BTreeMap::<&str, Sum>::new();
    for launch in &attempt.log {
        let sum = sums.entry(&launch.kernel).or_insert_with(|| {
            order.push(launch.kernel.as_str());
            Sum::default()
        });
        sum.launches += 1;
        sum.registers = sum.registers.max(launch.registers);
        sum.shared = sum.shared.max(launch.shared_bytes);
        sum.warps += launch.warp_instructions;
        sum.threads += launch.thread_instructions;
    }
    let mut table = Table::new(&[
        "kernel",
        "launches",
        "registers",
        "shared bytes",
        "warp instructions",
        "thread instructions",
    ]);
    for name in order {
        let sum = &sums[name];
        table.row([
            demangle(name),
            grouped(sum.launches),
            sum.registers.to_string(),
            grouped(sum.shared.into()),
            grouped(sum.warps),
            grouped(sum.threads),
        ]);
    }
    let totals = &document.totals;
    table.row([
        "total".to_owned(),
        grouped(totals.launches),
        String::new(),
        String::new(),
        grouped(totals.warp_instructions),
        grouped(totals.thread_instructions),
    ]);
    let mut out = format!("{}, functional\n\n{}", job.name(), table.render());
    if let Some(check) = &document.check {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        let error = check.max_error.map_or("not finite".to_owned(), short);
        out += &format!(
            "\ncheck {verdict}: {} values compared, largest error {error}, tolerance {}\n",
            grouped(check.compared),
            short(check.tolerance)
        );
    }
    out
}

/// An error or a tolerance: 0, or in scientific notation with the digits that matter.
fn short(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.3e}") }
}
