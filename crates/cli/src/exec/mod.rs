// SPDX-License-Identifier: MIT OR Apache-2.0
//! `exec`: runs a program of the user's with our CUDA libraries in place of NVIDIA's, and makes one record of what its processes
//! did. docs/cuda-programs.md describes it.

mod child;
mod elf;
mod folder;
pub mod library;
mod program;
mod progress;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use warpwatt_record::{
    CORRUPTED, ChosenTechniques, Meter, Part, Settings, Timing, UNNOTICED, children_usage, merge,
    traffic_path, unnoticed,
};
use warpwatt_results::{Diagnostic, Inputs, Mode, RunRecord, Severity, SourceTexts, Status};
use warpwatt_runtime::{Level, Profile, Traffic};

use crate::args::ExecArgs;
use crate::console::{Console, Log, ResultFile, write_result};
use crate::energy;
use crate::exit::{Exit, Failure};
use crate::gpu::Machine;
use crate::profile;
use crate::run::{Target, functional};
use crate::summary::{Texts, summary};
use crate::technique;
use child::Ending;
use folder::Folder;
use program::Program;

/// Exit codes of our own, as `env` and `timeout` have them.
const FAILED: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why the program was not run, or its results not collected.
pub struct Refusal {
    code: u8,
    failure: Failure,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal { code: FAILED, failure }
    }
}

impl Refusal {
    fn new(code: u8, message: String) -> Refusal {
        Refusal { code, failure: Failure::new(Exit::Usage, message) }
    }

    fn help(mut self, help: impl Into<String>) -> Refusal {
        self.failure = self.failure.help(help);
        self
    }
}

/// Where the program of a command line is, as a shell would find it.
pub fn located(command: &[OsString]) -> Result<PathBuf, Failure> {
    Program::find(command).map(|program| program.path).map_err(|refusal| refusal.failure)
}

/// Runs the program; returns the code to exit with.
pub fn exec(args: &ExecArgs, console: &Console) -> u8 {
    attempt(args, console).unwrap_or_else(|refusal| {
        console.failure(&refusal.failure);
        refusal.code
    })
}

fn attempt(args: &ExecArgs, console: &Console) -> Result<u8, Refusal> {
    let json = args.json.as_deref().map(ResultFile::open).transpose()?;
    let mut target = if args.functional { None } else { Some(Target::new(&args.timing)?) };
    if let Some(Target { timed, .. }) = &mut target {
        profile::read_for_a_program(&mut timed.techniques)?;
    }
    let program = Program::find(&args.command)?;
    for warning in program.inspect()? {
        console.warn(&warning);
    }
    let library = library::find()?;
    let folder = Folder::new(&library, &settings(args, target.as_ref(), console)?)?;
    console.detail(&format!("running {} with {}", program.shown(), library.display()));
    let meter = Meter::start();
    let ending = child::run(&program, &folder, args.execution.timeout, console)?;

    let mut host = meter.host(Level::detect(), target.as_ref().map_or(1, |target| target.timed.threads));
    let (seconds, bytes) = children_usage();
    (host.cpu_seconds, host.peak_rss_bytes) = (host.cpu_seconds + seconds, host.peak_rss_bytes.max(bytes));
    let parts = console.slowly("reading what the program's processes left", || Part::read_all(folder.path()));
    let parts = parts.map_err(|error| Failure::io("read", folder.path(), &error))?;
    let config = target.as_ref().map(|target| &target.timed.config);
    let energies = target.as_ref().map(|target| &target.technology.energies);
    let mut inputs = Inputs { program: Some(program.words()), ..Inputs::default() };
    if let Some(target) = &target {
        target.describe(&mut inputs);
    }
    let lost: Vec<u32> = parts.iter().filter(|(_, part)| part.is_none()).map(|(number, _)| *number).collect();
    let used = !parts.is_empty();
    let parts: Vec<(u32, Part)> =
        parts.into_iter().filter_map(|(number, part)| Some((number, part?))).collect();
    let counts = args.write_profile.as_ref().map(|path| (path, counted(&program.shown(), &parts, console)));
    let per_launch = args.execution.per_launch;
    let (mut record, mut texts) =
        merge(inputs, config, energies.map(|energies| &**energies), parts, per_launch, host);
    complete(&mut record, &lost, &ending);
    let injected = target.as_ref().is_some_and(|target| target.timed.techniques.inject.is_some());
    if injected && record.status == Status::Complete {
        record.status = Status::Failed;
        record.diagnostics.push(unnoticed());
    }

    if let Some((path, counts)) = counts {
        write_result(path, &counts?.to_text(), console)?;
    }
    record.sources = sources(&record, &texts);
    if let Some(path) = &args.timing.trace {
        crate::report::trace(path, &record, console)?;
    }
    if let Some(file) = json {
        console.slowly(&format!("writing the record of {} launches", record.totals.launches), || {
            let text = record.to_json().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
            file.finish(&text, console)
        })?;
    } else if console.log >= Log::Info && record.totals.launches > 0 {
        let gpu = target.as_ref().map(|target| (target.name.as_str(), &target.timed.config));
        add_sources(&record, &mut texts);
        eprint!("\n{}", summary(&program.shown(), &record, gpu, &texts));
        if target.as_ref().is_some_and(|target| target.energy) {
            eprint!("{}", energy::table(&record, &texts).unwrap_or_default());
        }
    }
    remark(&record, used, &lost, args, console);
    Ok(code(&record, &ending, injected, args, console))
}

/// Runs a program functionally and records the traffic of all its processes behind the L2 of a GPU; also returns the program's name.
pub fn traffic<R>(
    command: &[OsString],
    machine: &Machine,
    console: &Console,
    look: impl FnOnce(&Traffic) -> R,
) -> Result<(String, R), Failure> {
    let program = Program::find(command).map_err(|refusal| refusal.failure)?;
    for warning in program.inspect().map_err(|refusal| refusal.failure)? {
        console.warn(&warning);
    }
    let quiet = console.log < Log::Info;
    let settings = Settings { traffic: true, quiet, ..Settings::new(&machine.name, &machine.config, None) };
    let folder = Folder::new(&library::find()?, &settings)?;
    let ending = child::run(&program, &folder, None, console).map_err(|refusal| refusal.failure)?;
    if ending.code != 0 {
        console
            .warn(&format!("the program ended with {}; what it moved until then is measured", ending.code));
    }
    let failed = |error| Failure::io("read", folder.path(), &error);
    let mut traffic = Traffic::new(&machine.config, &program.shown());
    let parts = Part::read_all(folder.path()).map_err(failed)?;
    if parts.is_empty() {
        return Err(Failure::usage("no process of the program used CUDA: there is no traffic"));
    }
    for (number, _) in parts {
        let whole = std::fs::read(traffic_path(folder.path(), number)).ok();
        if whole.is_none_or(|bytes| traffic.absorb(&bytes).is_none()) {
            console.warn(&format!("process {number} left no traffic: it was killed, or called `_exit`"));
        }
    }
    Ok((program.shown(), look(&traffic)))
}

/// How often the processes of a program executed each instruction.
fn counted(program: &str, parts: &[(u32, Part)], console: &Console) -> Result<Profile, Failure> {
    if parts.is_empty() {
        return Err(Failure::usage("no process of the program used CUDA: there is nothing to count"));
    }
    let mut counts = Profile::new(program);
    for (number, part) in parts {
        match part.counts.as_deref().map(Profile::from_text) {
            Some(Ok(of_process)) => counts.absorb(&of_process),
            _ => console.warn(&format!(
                "process {number} left no counts: it was killed, called `_exit`, or still runs"
            )),
        }
    }
    Ok(counts)
}

/// Lines of the program's sources, where they still are where they were compiled.
fn add_sources(record: &RunRecord, texts: &mut Texts) {
    let mut lines = record.totals.lines.iter().filter(|line| line.line > 0).peekable();
    while let Some(file) = lines.peek().map(|line| &line.file) {
        // Lines come in the order of files: each is read once.
        let source = std::fs::read_to_string(file).unwrap_or_default();
        let source: Vec<&str> = source.lines().collect();
        while let Some(line) = lines.next_if(|line| line.file == *file) {
            if let Some(text) = source.get(line.line as usize - 1) {
                texts.entry((file.clone(), line.line)).or_insert_with(|| text.trim().to_owned());
            }
        }
    }
}

/// Source texts for the record: lines of the record with the lines before and after them, where the file can be read.
fn sources(record: &RunRecord, texts: &Texts) -> SourceTexts {
    let files: BTreeSet<&str> = record.totals.lines.iter().map(|line| line.file.as_str()).collect();
    let read =
        |file: &str| std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect();
    let files: BTreeMap<&str, Vec<String>> = files.into_iter().map(|file| (file, read(file))).collect();
    let text = |file: &str, line: u32| {
        let own = files.get(file).and_then(|lines| lines.get((line as usize).checked_sub(1)?)).cloned();
        own.or_else(|| texts.get(&(file.to_owned(), line)).cloned())
    };
    warpwatt_record::sources(record.totals.lines.iter().map(|line| (line.file.as_str(), line.line)), text)
}

/// Everything that decides how the program's kernels are run.
fn settings(args: &ExecArgs, target: Option<&Target>, console: &Console) -> Result<Settings, Failure> {
    let timing = target.map(|target| Timing {
        threads: target.timed.threads,
        step_every_cycle: target.timed.step_every_cycle,
        interval: target.timed.interval,
        limit_cycles: target.timed.limit_cycles,
        kernels: target.selection.kernels.as_ref().map(|regex| regex.as_str().to_owned()),
        skip: target.selection.skip,
        trace: target.timed.trace,
    });
    let (name, config) = match target {
        Some(target) => (target.name.clone(), target.timed.config.clone()),
        None => match functional(&args.timing.gpu)? {
            Some(machine) => (machine.name, machine.config),
            None => Machine::new(&args.timing.gpu).map(|machine| (machine.name, machine.config))?,
        },
    };
    let techniques = target.map(|target| target.timed.techniques.clone()).unwrap_or_default();
    let execution = &args.execution;
    Ok(Settings {
        technology: target.map(|target| target.technology.file.clone()),
        techniques: ChosenTechniques::of(&techniques),
        capability: args.capability,
        limit_instructions: execution.limit_instructions,
        per_launch: execution.per_launch,
        checks: execution.checks().names().into_iter().map(str::to_owned).collect(),
        watchdog: execution.watchdog,
        limit_loop: execution.limit_loop,
        max_registers: execution.max_registers,
        no_predication: execution.no_predication,
        counts: args.write_profile.is_some(),
        live: console.live,
        quiet: console.log < Log::Info,
        ..Settings::new(&name, &config, timing)
    })
}

/// Adds data that the processes do not have.
fn complete(record: &mut RunRecord, lost: &[u32], ending: &Ending) {
    let note = |code: &str, message: String| Diagnostic {
        code: code.to_owned(),
        severity: Severity::Warning,
        file: None,
        line: None,
        column: None,
        message,
        help: None,
    };
    for number in lost {
        let message =
            format!("process {number} left no results: it was killed, called `_exit`, or still runs");
        record.diagnostics.push(note("lost-process", message));
    }
    let limit = ending.expired && record.diagnostics.iter().all(|found| found.code != "limit");
    if limit {
        record.diagnostics.push(note("limit", "the time limit is reached".to_owned()));
    }
    if record.status == Status::Complete && (limit || !lost.is_empty()) {
        record.status = Status::Partial;
    }
}

/// What is worth knowing besides the result.
fn remark(record: &RunRecord, used: bool, lost: &[u32], args: &ExecArgs, console: &Console) {
    if !lost.is_empty() {
        let message = &record.diagnostics.iter().find(|found| found.code == "lost-process");
        console.warn(message.map_or("results are missing", |found| &found.message));
    }
    if !used {
        console.note("no process of the program used CUDA");
    } else if record.totals.launches == 0 {
        console.note("no kernel was launched");
    } else if !args.functional && record.by_kernel.iter().all(|group| group.mode != Mode::Timed) {
        console.warn("nothing was timed: no launch is left by `--kernels` and `--skip`");
    }
}

/// The program's own code, unless a limit ended it or what a technique stored was found to be wrong.
fn code(record: &RunRecord, ending: &Ending, injected: bool, args: &ExecArgs, console: &Console) -> u8 {
    let wrong = |found: &&Diagnostic| [CORRUPTED, UNNOTICED].contains(&found.code.as_str());
    if let Some(found) = record.diagnostics.iter().find(wrong) {
        // The process that found it has reported the details.
        let message = found.message.lines().next().unwrap_or_default();
        let failure = Failure::new(Exit::CheckFailed, message);
        let noticed = found.code == CORRUPTED && injected;
        let help = if noticed { Some(technique::NOTICED.to_owned()) } else { found.help.clone() };
        console.failure(&Failure { help, ..failure });
        return Exit::CheckFailed as u8;
    }
    let limit = record.diagnostics.iter().find(|found| found.code == "limit");
    if let Some(limit) = limit {
        console.failure(&Failure::new(Exit::Limit, limit.message.clone()));
        return Exit::Limit as u8;
    }
    let failed = record
        .diagnostics
        .iter()
        .find(|found| found.severity == Severity::Error && found.code != "interrupted");
    match failed {
        Some(found) if args.fail_on_fault => {
            // The process in which it occurred has reported the details.
            let headline = found.message.lines().next().unwrap_or_default();
            console
                .failure(&Failure::new(Exit::Fault, format!("a kernel of the program failed: {headline}")));
            Exit::Fault as u8
        }
        Some(found) if ending.code == 0 => {
            let headline = found.message.lines().next().unwrap_or_default();
            console.warn(&format!(
                "a kernel of the program failed ({headline}), and the program ended with 0 all the same; \
                 `--fail-on-fault` makes `exec` end with 4 then"
            ));
            0
        }
        _ => ending.code,
    }
}

/// The last part of a path, for records and messages that are the same wherever the file lies.
fn last_part(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use warpwatt_results::Sums;

    use super::*;

    fn last_word(diagnostics: &[(&str, Severity)], own: u8, fail: bool) -> u8 {
        let host = Meter::start().host(Level::detect(), 1);
        let mut record = RunRecord::new(
            warpwatt_record::tool(),
            Inputs::default(),
            Vec::new(),
            &Sums::default(),
            None,
            host,
        );
        record.diagnostics = diagnostics
            .iter()
            .map(|&(code, severity)| Diagnostic {
                code: code.to_owned(),
                severity,
                file: None,
                line: None,
                column: None,
                message: "it went wrong".to_owned(),
                help: None,
            })
            .collect();
        let cli = ["warpwatt", "exec", "--fail-on-fault", "--", "true"];
        let given = cli.iter().filter(|word| fail || **word != "--fail-on-fault");
        let crate::args::Command::Exec(args) = crate::args::Cli::parse_from(given).command else {
            panic!("it is `exec`")
        };
        let ending = Ending { code: own, expired: false };
        code(&record, &ending, false, &args, &Console::plain())
    }

    #[test]
    fn a_failed_kernel_fails_exec_only_when_that_is_asked_for() {
        let fault = [("out-of-bounds", Severity::Error)];
        assert_eq!((last_word(&fault, 0, false), last_word(&fault, 0, true)), (0, 4));
        assert_eq!((last_word(&fault, 3, false), last_word(&fault, 3, true)), (3, 4));
        assert_eq!(last_word(&[], 0, true), 0);
        assert_eq!(last_word(&[("stray-load", Severity::Warning)], 0, true), 0);
        assert_eq!(last_word(&[("interrupted", Severity::Error)], 143, true), 143);
    }
}
