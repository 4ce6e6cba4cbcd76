// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run`: does a job once, writes its record, prints what it found.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpwatt_energy::DEFAULT;
use warpwatt_results::{Copied, Diagnostic, Gpu, Inputs, RunRecord, Severity, SourceTexts, Status};
use warpwatt_runtime::{
    Class, Device, Error, Mode, Notice, Observer, Options, Profile, Programs, Selection, Timed,
};
use warpwatt_workloads::Size;

use crate::args::{Execution, GpuArgs, RunArgs, Timing};
use crate::console::{Console, ResultFile, write_result};
use crate::energy::{self, Chosen};
use crate::exit::{Exit, Failure};
use crate::gpu::Machine;
use crate::interrupt::{self, Timeout};
use crate::job::{FileJob, Job, Stop, Verdict};
use crate::list::find_workload;
use crate::profile;
use crate::reproducer::{self, Saved};
use crate::session::{Watch, Watcher, isolated};
use crate::summary::{Texts, summary};
use crate::technique;
use warpwatt_record::{self as record, CORRUPTED, Collector, Launches, Meter, TechnologyFile, Whole};

pub fn run(args: &RunArgs, console: &Console) -> Result<Exit, Failure> {
    let job = job(args, console)?;
    let mut target = if args.functional { None } else { Some(Target::new(&args.timing)?) };
    if let Some(target) = &mut target {
        target.provide(&job, &args.execution, &interrupt::flag(), console)?;
    }
    let machine = if args.functional { functional(&args.timing.gpu)? } else { None };
    let request = Request {
        execution: &args.execution,
        target: target.as_ref(),
        machine: machine.as_ref(),
        json: args.json.as_deref(),
        counts: args.write_profile.as_deref(),
        trace: args.timing.trace.as_deref(),
        save: args.save_reproducer.as_deref(),
        panic_at: args.inject_panic,
    };
    perform(&job, &request, console)
}

/// What is to be run: a workload, or a launch file with its program.
pub fn job(args: &RunArgs, console: &Console) -> Result<Job, Failure> {
    Ok(match (&args.workload, &args.launch) {
        (Some(name), launch) if is_program(name) => {
            let launch = match launch {
                Some(launch) => launch.clone(),
                None => launch_beside(name)?,
            };
            Job::File(FileJob::load(&launch, Some(Path::new(name)), args.seed, console)?)
        }
        (Some(name), Some(_)) => {
            return Err(Failure::usage(format!("`{name}` is a workload and needs no launch file"))
                .help("omit `--launch`, or give a .ptx or .cu file"));
        }
        (Some(name), None) => workload(name, args.size, args.seed)?,
        (None, Some(launch)) => Job::File(FileJob::load(launch, args.ptx.as_deref(), args.seed, console)?),
        (None, None) => return Err(Failure::usage("name a workload, or give `--launch FILE`")),
    })
}

/// Whether what is to be run is a file of kernels and not a workload.
fn is_program(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension == "cu" || extension == "ptx")
}

/// The launch file of a program, which has its name.
fn launch_beside(program: &str) -> Result<PathBuf, Failure> {
    let launch = Path::new(program).with_extension("toml");
    if launch.exists() {
        return Ok(launch);
    }
    let failure = Failure::usage(format!("{program} has kernels, but there is no launch file"));
    Err(failure.help(format!(
        "`warpwatt launch init {program} --out {}` writes a launch file to edit; or give `--launch FILE`",
        launch.display()
    )))
}

/// The GPU whose limits a functional run has, if one is named.
pub fn functional(args: &GpuArgs) -> Result<Option<Machine>, Failure> {
    if args.gpu.is_none() && args.set.is_empty() {
        return Ok(None);
    }
    without_techniques(Machine::new(args)?).map(Some)
}

/// A GPU whose limits a functional run has; techniques would have no effect there.
pub fn without_techniques(machine: Machine) -> Result<Machine, Failure> {
    match machine.techniques.canonical().as_slice() {
        [] => Ok(machine),
        [name, ..] => {
            let message =
                format!("a functional run has no time and no energy, and `{name}` changes nothing else");
            Err(Failure::usage(message).help("omit `--functional` or the technique"))
        }
    }
}

/// The GPU that is timed, and how.
pub struct Target {
    pub name: String,
    pub timed: Timed,
    pub selection: Selection,
    pub technology: Chosen,
    /// The table of energy is printed.
    pub energy: bool,
    /// Kernels that a run for a profile has compiled.
    pub programs: Programs,
}

impl Target {
    pub fn new(timing: &Timing) -> Result<Target, Failure> {
        let machine = Machine::new(&timing.gpu)?;
        Target::of(machine, energy::read(timing.technology.as_deref().unwrap_or(DEFAULT))?, timing)
    }

    /// A GPU and a technology that were read already; they take precedence over those of `timing`.
    pub fn of(mut machine: Machine, technology: TechnologyFile, timing: &Timing) -> Result<Target, Failure> {
        if let Some(place) = timing.inject_fault {
            technique::inject(place, &mut machine.techniques)?;
        }
        let threads = timing.threads.unwrap_or_else(cores);
        let mut target = Target::with(machine, technology, threads)?;
        target.energy = timing.energy;
        target.timed.step_every_cycle = timing.step_every_cycle;
        target.timed.interval = timing.interval;
        target.timed.limit_cycles = timing.limit_cycles;
        target.timed.trace = timing.trace.is_some();
        target.selection =
            Selection { kernels: timing.kernels.clone(), skip: timing.skip.unwrap_or_default() };
        Ok(target)
    }

    /// Names the GPU, the techniques and the technology among the inputs of a record.
    pub fn describe(&self, inputs: &mut Inputs) {
        inputs.technology = Some(self.technology.name.clone());
        inputs.gpu = Some(Gpu::of(&self.name, &self.timed.config));
        inputs.techniques = self.timed.techniques.canonical();
    }

    /// All kernels on this GPU, with nothing out of the ordinary.
    pub fn on(machine: Machine, threads: u32) -> Result<Target, Failure> {
        Target::with(machine, energy::read(DEFAULT)?, threads)
    }

    fn with(machine: Machine, technology: TechnologyFile, threads: u32) -> Result<Target, Failure> {
        let Machine { name, config, techniques } = machine;
        let technology = energy::choose(technology, &config, &techniques)?;
        let timed = Timed { threads, techniques, ..Timed::new(config) };
        let (selection, programs) = (Selection::default(), Programs::default());
        Ok(Target { name, timed, selection, technology, energy: false, programs })
    }

    /// Gives techniques what they need to know of the job beforehand.
    pub fn provide(
        &mut self,
        job: &Job,
        execution: &Execution,
        flag: &Arc<AtomicBool>,
        console: &Console,
    ) -> Result<(), Failure> {
        let Timed { config, techniques, .. } = &mut self.timed;
        let known = profile::Known::new(false);
        let symbols = profile::provide(&known, job, execution, config, techniques, flag, Some(console))?;
        self.programs = symbols.map(|symbols| symbols.programs.clone()).unwrap_or_default();
        Ok(())
    }
}

/// Threads that this machine runs at the same time.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(256) as u32)
}

/// A built-in workload by its name, which may include its size.
pub fn workload(name: &str, chosen: Option<Size>, seed: u64) -> Result<Job, Failure> {
    let (name, size) = match name.split_once('@') {
        Some((name, size)) => {
            let size: Size = size
                .parse()
                .map_err(|error: warpwatt_workloads::UnknownSize| Failure::usage(error.to_string()))?;
            if chosen.is_some_and(|other| other != size) {
                return Err(Failure::usage(format!("`{name}@{size}` and `--size` give different sizes")));
            }
            (name, size)
        }
        None => (name, chosen.unwrap_or(Size::Small)),
    };
    Ok(Job::Workload { workload: find_workload(name)?, size, seed })
}

/// How a job is to be run and what is to be left of it.
pub struct Request<'a> {
    pub execution: &'a Execution,
    /// `None` for a functional run.
    pub target: Option<&'a Target>,
    /// The GPU whose limits a functional run has.
    pub machine: Option<&'a Machine>,
    pub json: Option<&'a Path>,
    /// Where counts of instructions of a functional run go.
    pub counts: Option<&'a Path>,
    /// File of the trace.
    pub trace: Option<&'a Path>,
    pub save: Option<&'a Path>,
    pub panic_at: Option<u64>,
}

/// The device's options for a run.
pub fn options(execution: &Execution, target: Option<&Target>, interrupt: Arc<AtomicBool>) -> Options {
    let mut options = Options {
        mode: target.map_or(Mode::Functional, |target| Mode::Timed(Box::new(target.timed.clone()))),
        selection: target.map(|target| target.selection.clone()).unwrap_or_default(),
        programs: target.map(|target| target.programs.clone()).unwrap_or_default(),
        max_registers: execution.max_registers,
        predicate: !execution.no_predication,
        checks: execution.checks(),
        max_thread_instructions: execution.limit_instructions,
        interrupt,
        ..Options::default()
    };
    options.watchdog.limit = execution.limit_loop;
    if let Some(patience) = execution.watchdog {
        options.watchdog.patience = patience;
    }
    options
}

struct Attempt {
    result: Result<Verdict, Stop>,
    whole: Option<Whole>,
    texts: Texts,
    /// Data of the record about a device besides its launches.
    sources: SourceTexts,
    copies: Vec<Copied>,
    /// A bit was to be flipped, but was not.
    pending: bool,
    /// What checks found that did not stop the run.
    notices: Vec<Notice>,
    /// How often instructions were executed, if that was counted.
    counts: Option<Profile>,
}

impl Attempt {
    fn failed(error: Error) -> Attempt {
        let result = Err(Stop::Device { error, context: None });
        Attempt {
            result,
            whole: None,
            texts: Texts::new(),
            sources: SourceTexts::new(),
            copies: Vec::new(),
            pending: false,
            notices: Vec::new(),
            counts: None,
        }
    }
}

fn attempt(
    job: &Job,
    options: Options,
    observer: Box<dyn Observer + Send>,
    collector: &Collector,
    counts: bool,
) -> Attempt {
    let mut device = match Device::with(options, observer) {
        Ok(device) => device,
        Err(error) => return Attempt::failed(error),
    };
    if counts {
        device.count_instructions(&job.name());
    }
    let result = job.execute(&mut device);
    let texts = collector
        .launches()
        .sums
        .places()
        .filter_map(|(file, line)| {
            Some(((file.to_owned(), line), device.source_line(file, line)?.to_owned()))
        })
        .collect();
    let text = |file: &str, line: u32| device.source_text(file, line).map(str::to_owned);
    let sources = record::sources(collector.launches().sums.places(), text);
    let (copies, notices) = (record::copies(&device), device.notices());
    let whole = Whole::of(&device);
    let counts = device.counted_instructions().cloned();
    Attempt { result, whole, texts, sources, copies, pending: device.fault_is_pending(), notices, counts }
}

/// A run that has ended, in whichever way, and its record.
pub struct Measured {
    pub document: RunRecord,
    pub result: Result<Verdict, Stop>,
    /// Why the run is no success, if so.
    pub failure: Option<Failure>,
    /// What checks found that did not stop the run.
    pub notices: Vec<Notice>,
    pub texts: Texts,
    /// How often instructions were executed, if that was counted.
    counts: Option<Profile>,
    /// Launches that were timed, and the time that the host took to execute all launches.
    pub timed: (u64, f64),
    options: Options,
    /// The message of a panic.
    pub crash: Option<String>,
}

/// Runs a job until it ends or the flag is set, and makes its record. The observer is made with the collector that it has to give launches to.
pub fn measure(
    job: &Job,
    request: &Request,
    flag: &Arc<AtomicBool>,
    observer: impl FnOnce(Collector) -> Box<dyn Observer + Send>,
    console: &Console,
) -> Measured {
    let timeout = request.execution.timeout.map(|seconds| Timeout::start(seconds, flag.clone()));
    let mut options = options(request.execution, request.target, flag.clone());
    if let Some(machine) = request.machine {
        options.limit_to(&machine.config);
    }
    let options = options;
    let (level, threads) = (options.level, request.target.map_or(1, |target| target.timed.threads));
    let config = request.target.map(|target| &target.timed.config);
    let energies = request.target.map(|target| &target.technology.energies);
    let collector = Collector::new(config.cloned(), energies.cloned(), request.execution.per_launch);
    let observer = observer(collector.clone());
    let meter = Meter::start();
    console.detail(&format!("running {}", job.name()));
    let finished = isolated(|| attempt(job, options.clone(), observer, &collector, request.counts.is_some()));
    let expired = timeout.as_ref().is_some_and(Timeout::expired);
    drop(timeout);
    flag.store(false, Ordering::Relaxed);

    let (attempt, crash) = match finished {
        Ok(attempt) => (attempt, None),
        Err(message) => (Attempt::failed(Error::Internal(message.clone())), Some(message)),
    };
    let Launches { kernels, sums, timed, host_seconds, .. } = collector.take();
    let mut inputs = job.inputs();
    match (request.target, request.machine) {
        (Some(target), _) => target.describe(&mut inputs),
        (None, machine) => inputs.gpu = machine.map(|machine| Gpu::of(&machine.name, &machine.config)),
    }
    let host = meter.host(level, threads);
    let mut document = record::assemble(
        inputs,
        kernels,
        &sums,
        attempt.whole.as_ref(),
        energies.map(|energies| &**energies),
        host,
    );
    let ending = judge(&attempt.result, expired, request.execution, console);
    let injected = request.target.is_some_and(|target| target.timed.techniques.inject.is_some());
    let ending = if injected { ending.with_a_fault(attempt.pending) } else { ending };
    (document.status, document.diagnostics) = (ending.status, ending.diagnostics);
    document.diagnostics.extend(attempt.notices.iter().map(record::notice_diagnostic));
    if let Ok(verdict) = &attempt.result {
        document.check.clone_from(&verdict.check);
    }
    document.sources.clone_from(&attempt.sources);
    document.copies.clone_from(&attempt.copies);
    Measured {
        document,
        result: attempt.result,
        failure: ending.failure,
        notices: attempt.notices,
        texts: attempt.texts,
        counts: attempt.counts,
        timed: (timed, host_seconds),
        options,
        crash,
    }
}

/// Runs a job and reports on it.
pub fn perform(job: &Job, request: &Request, console: &Console) -> Result<Exit, Failure> {
    let json_on_stdout = request.json == Some(Path::new("-"));
    let (watcher, current) =
        Watcher::new(Watch { panic_at: request.panic_at, ..Watch::new(console, json_on_stdout) });
    let json = request.json.map(ResultFile::open).transpose()?;
    let flag = interrupt::flag();
    let measured = measure(job, request, &flag, |collector| Box::new(watcher.collecting(collector)), console);
    let Measured { document, result, failure, notices, texts, counts, timed, options, crash } = measured;
    // The process is about to end, and the system takes back at once what a record has in thousands of pieces.
    let document = ManuallyDrop::new(document);
    if let Some(path) = request.trace {
        crate::report::trace(path, &document, console)?;
    }
    if let Some(file) = json {
        console.slowly(&format!("writing the record of {} launches", document.totals.launches), || {
            let text = document.to_json().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
            file.finish(&text, console)
        })?;
    }
    if let (Some(path), Some(counts), Ok(_)) = (request.counts, &counts, &result) {
        write_result(path, &counts.to_text(), console)?;
    }
    // The record is the result if requested; `-q` omits messages that repeat it.
    let repeats = console.quiet && request.json.is_some();
    if !json_on_stdout && !repeats {
        let gpu = request.target.map(|target| (target.name.as_str(), &target.timed.config));
        console.result(&summary(&job.name(), &document, gpu, &texts));
        if request.target.is_some_and(|target| target.energy)
            && let Some(table) = energy::table(&document, &texts)
        {
            console.result(&table);
        }
    }
    remark(&result, timed, request, &document, console);
    notices.iter().for_each(|notice| console.warn(&notice.message));

    let launch = match &result {
        // Launches on streams run later than they were made.
        Err(Stop::Device { error: Error::Fault(report), .. }) => report.launch,
        _ => current.load(Ordering::Relaxed),
    };
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
        let reason = result.as_ref().err().map_or("saved on demand".to_owned(), describe);
        let folder =
            reproducer::save(job, &options, launch, Saved::Folder(folder), &reason).map_err(|reason| {
                Failure::new(Exit::Io, format!("the reproducer could not be saved: {reason}"))
            })?;
        console.note(&format!("launch {launch} is saved; `warpwatt replay {}` runs it", folder.display()));
    }
    match failure {
        Some(failure) => Err(failure),
        // A leak is what the check was to find.
        None if notices.iter().any(|notice| notice.code == "leak") => Ok(Exit::CheckFailed),
        None => Ok(Exit::Ok),
    }
}

/// What is worth knowing besides the result.
fn remark(
    result: &Result<Verdict, Stop>,
    (timed, seconds): (u64, f64),
    request: &Request,
    document: &RunRecord,
    console: &Console,
) {
    let millions = document.totals.warp_instructions as f64 * 1e-6;
    if seconds > 0.0 {
        console.detail(&format!(
            "kernels took {seconds:.2} s to simulate: {:.2} M warp instructions/s on {} thread{}",
            millions / seconds,
            document.host.threads,
            if document.host.threads == 1 { "" } else { "s" }
        ));
    }
    let Some(target) = request.target else { return };
    if timed == 0 && result.is_ok() && document.totals.launches > 0 {
        console.warn(&match &target.selection.kernels {
            Some(regex) => {
                format!("nothing was timed: no launch is left by `--kernels {regex}` and `--skip`")
            }
            None => "nothing was timed: `--skip` left no launch".to_owned(),
        });
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

impl Judgement {
    /// A bit was to be flipped: the run passes if the error was detected, and fails if it finished.
    fn with_a_fault(mut self, pending: bool) -> Judgement {
        match &mut self.failure {
            Some(failure) if self.diagnostics.iter().any(|found| found.code == CORRUPTED) => {
                failure.help =
                    Some("this is the bit that `--inject-fault` flipped: the error was detected".to_owned());
            }
            Some(_) => {}
            None => {
                let mut found = record::unnoticed();
                if !pending {
                    found.help = Some(
                        "the flipped bit was read and not detected: a bug in warpwatt, please report it"
                            .to_owned(),
                    );
                }
                let failure = Failure::new(Exit::CheckFailed, found.message.clone());
                self.failure = Some(Failure { help: found.help.clone(), ..failure });
                self.status = Status::Failed;
                self.diagnostics.push(found);
            }
        }
        self
    }
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
            let message = format!(
                "`{kernel}` was stopped: the time limit of {seconds} seconds (`--timeout`) was reached"
            );
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
