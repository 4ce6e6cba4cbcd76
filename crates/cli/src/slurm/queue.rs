// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slurm by its own commands: `sbatch` submits, `squeue` says what lives, `scontrol` and `sacct` how tasks ended, `scancel` takes jobs back.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use super::settings::Settings;
use crate::exit::{Exit, Failure};

/// Names of jobs in one call of `squeue` or `scancel`, so that command lines stay short.
const NAMES: usize = 200;

/// Where a task of an array job stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stand {
    /// It waits, and why.
    Pending(String),
    Running,
    /// It is over, with Slurm's word for how.
    Over(End),
}

/// How a task ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    Completed,
    /// It ended with this code, or was ended by this signal.
    Failed {
        code: i32,
        signal: i32,
    },
    OutOfMemory,
    Timeout,
    Cancelled,
    /// The node, the partition or another job took it: `NODE_FAIL`, `PREEMPTED`, `BOOT_FAIL`, `REVOKED`.
    Lost(String),
    /// Slurm does not know it any more.
    Unknown,
}

impl End {
    fn new(state: &str, exit: Option<(i32, i32)>) -> End {
        match state {
            "COMPLETED" => End::Completed,
            "OUT_OF_MEMORY" => End::OutOfMemory,
            "TIMEOUT" | "DEADLINE" => End::Timeout,
            "CANCELLED" => End::Cancelled,
            "FAILED" => {
                let (code, signal) = exit.unwrap_or((1, 0));
                End::Failed { code, signal }
            }
            other => End::Lost(other.to_owned()),
        }
    }

    /// The kernel, or a limit, ended the process for its memory: it says so, or the process was killed by signal 9.
    pub fn is_memory(&self) -> bool {
        matches!(self, End::OutOfMemory | End::Failed { signal: 9, .. } | End::Failed { code: 137, .. })
    }

    pub fn shown(&self) -> String {
        match self {
            End::Completed => "COMPLETED".to_owned(),
            End::Failed { signal: 0, code } => format!("FAILED (exit code {code})"),
            End::Failed { signal, .. } => format!("FAILED (signal {signal})"),
            End::OutOfMemory => "OUT_OF_MEMORY".to_owned(),
            End::Timeout => "TIMEOUT".to_owned(),
            End::Cancelled => "CANCELLED".to_owned(),
            End::Lost(state) => state.clone(),
            End::Unknown => "an unknown state".to_owned(),
        }
    }
}

/// Why a job was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Too many jobs of the user, or an array that is too large: fewer, or later.
    Full(String),
    /// The controller did not answer; the job may have been taken all the same.
    Busy(String),
    /// It will never be taken like this.
    Wrong(String),
}

/// What to submit.
pub struct Job<'a> {
    pub name: &'a str,
    pub tasks: usize,
    /// The batch's folder: the script, and what tasks print.
    pub folder: &'a Path,
    pub script: &'a Path,
    pub memory_mb: u64,
    pub time_minutes: u64,
}

/// A task that the queue knows: its job's name and number, and its place in the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub name: String,
    pub job: u64,
    pub task: usize,
    pub stand: Stand,
}

/// Fails if this machine cannot submit jobs.
pub fn check() -> Result<(), Failure> {
    for program in ["sbatch", "squeue", "scancel"] {
        if let Err(error) = call(program, &["--version"]).map(drop)
            && error.kind() == ErrorKind::NotFound
        {
            return Err(Failure::usage(format!("`{program}` was not found, so nothing can be submitted to Slurm"))
                .help("log in to a machine of the cluster that submits jobs, or load its Slurm module; without `--engine slurm` the points run on this machine"));
        }
    }
    Ok(())
}

/// The largest array that the cluster takes, if it says so.
pub fn max_array() -> Option<usize> {
    let (_, out, _) = call("scontrol", &["show", "config"]).ok()?;
    let line = out.lines().find(|line| line.trim_start().starts_with("MaxArraySize"))?;
    // It is one more than the largest index.
    line.split('=').nth(1)?.trim().parse::<usize>().ok().filter(|most| *most > 0)
}

/// The words of `sbatch` for a job.
pub fn words(job: &Job, settings: &Settings, cwd: &Path) -> Vec<String> {
    let mut words = vec![
        "--parsable".to_owned(),
        format!("--job-name={}", job.name),
        format!("--array=0-{}", job.tasks.saturating_sub(1)),
        format!("--output={}/task-%a.out", job.folder.display()),
        "--open-mode=append".to_owned(),
        format!("--chdir={}", cwd.display()),
        // A task whose node is lost, or which is preempted, goes on in its list.
        "--requeue".to_owned(),
        "--ntasks=1".to_owned(),
        format!("--cpus-per-task={}", settings.cpus),
        format!("--mem={}M", job.memory_mb),
        format!("--time={}", job.time_minutes),
    ];
    words.extend(settings.partition.iter().map(|name| format!("--partition={name}")));
    words.extend(settings.account.iter().map(|name| format!("--account={name}")));
    words.extend(settings.sbatch.iter().cloned());
    words.push(job.script.display().to_string());
    words
}

/// Submits a job; its number if it was taken.
pub fn submit(words: &[String]) -> Result<u64, Refusal> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let (ok, out, err) =
        call("sbatch", &words).map_err(|error| Refusal::Wrong(format!("`sbatch` cannot be run: {error}")))?;
    // `--parsable` prints `NUMBER` or `NUMBER;CLUSTER`.
    let number = out.lines().rev().find_map(|line| line.split(';').next()?.trim().parse().ok());
    match (ok, number) {
        (true, Some(number)) => Ok(number),
        (true, None) => Err(Refusal::Busy(format!("`sbatch` printed no number: {}", one_line(&out)))),
        (false, _) => Err(refusal(&err)),
    }
}

/// What `sbatch` meant by its message.
fn refusal(message: &str) -> Refusal {
    let told = one_line(message);
    let has = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    // Limits of a user's number of jobs; `Job violates ...` stands for these and for limits of one job, which have a name of their own.
    let of_a_job = [
        "MaxWallDuration",
        "MaxCpu",
        "MaxNode",
        "MaxMem",
        "MinCpu",
        "MaxTRES",
        "TimeLimit",
        "InvalidAccount",
        "InvalidQOS",
    ];
    if has(&["MaxSubmitJob", "SubmitJobsLimit", "SubmitJobLimit", "Invalid job array specification"])
        || (has(&["violates accounting/QOS policy"]) && !has(&of_a_job))
    {
        Refusal::Full(told)
    } else if has(&[
        "temporarily",
        "Socket timed out",
        "Unable to contact slurm controller",
        "Connection refused",
        "Connection timed out",
        "Zero Bytes were transmitted",
        "standby mode",
        "Transport endpoint",
    ]) {
        Refusal::Busy(told)
    } else {
        Refusal::Wrong(told)
    }
}

/// All tasks of jobs of these names that the controller still knows, those that ended lately included.
pub fn rows<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Row>, String> {
    let names: Vec<_> = names.collect();
    let mut found = Vec::new();
    for some in names.chunks(NAMES) {
        let filter = format!("--name={}", some.join(","));
        let words = ["--noheader", "--array", "--states=all", "--format=%j|%F|%K|%T|%r", filter.as_str()];
        let (ok, out, err) =
            call("squeue", &words).map_err(|error| format!("`squeue` cannot be run: {error}"))?;
        if !ok {
            return Err(one_line(&err));
        }
        found.extend(out.lines().filter_map(row));
    }
    Ok(found)
}

fn row(line: &str) -> Option<Row> {
    let mut parts = line.trim().splitn(5, '|');
    let mut next = || parts.next().map(str::trim);
    let (name, job, task, state, reason) = (next()?, next()?, next()?, next()?, next().unwrap_or_default());
    let stand = match state {
        "PENDING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
            Stand::Pending(reason.to_owned())
        }
        "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT"
        | "RESIZING" => Stand::Running,
        // Its exit code is asked for where it matters.
        over => Stand::Over(End::new(over.split_whitespace().next().unwrap_or(over), None)),
    };
    Some(Row { name: name.to_owned(), job: job.parse().ok()?, task: task.parse().ok()?, stand })
}

/// How the tasks of a job ended, by `scontrol`, which knows it for some minutes, and then by `sacct`, where jobs are accounted for.
pub fn ends(job: u64) -> BTreeMap<usize, End> {
    let number = job.to_string();
    let mut found = BTreeMap::new();
    // `sacct` first: what `scontrol` says replaces it.
    let words = ["-X", "-n", "-P", "-o", "JobID,State,ExitCode", "-j", number.as_str()];
    if let Ok((true, out, _)) = call("sacct", &words) {
        for line in out.lines() {
            let mut parts = line.split('|');
            let (Some(id), Some(state), exit) = (parts.next(), parts.next(), parts.next()) else { continue };
            let task = id.rsplit_once('_').and_then(|(_, task)| task.parse().ok());
            note(&mut found, task, state, exit.and_then(pair));
        }
    }
    if let Ok((true, out, _)) = call("scontrol", &["-o", "show", "job", &number]) {
        for line in out.lines() {
            let field = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name));
            let task = field("ArrayTaskId=").and_then(|task| task.parse().ok());
            let exit = field("ExitCode=").and_then(pair);
            note(&mut found, task, field("JobState=").unwrap_or_default(), exit);
        }
    }
    found
}

/// States of tasks that are over; `CANCELLED by 0` is `CANCELLED`.
fn note(found: &mut BTreeMap<usize, End>, task: Option<usize>, state: &str, exit: Option<(i32, i32)>) {
    let state = state.split_whitespace().next().unwrap_or_default();
    let alive = ["", "PENDING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED", "CONFIGURING", "RESIZING"];
    if let Some(task) = task.filter(|_| !alive.contains(&state)) {
        found.insert(task, End::new(state, exit));
    }
}

/// `CODE:SIGNAL`.
fn pair(text: &str) -> Option<(i32, i32)> {
    let (code, signal) = text.split_once(':')?;
    Some((code.trim().parse().ok()?, signal.trim().parse().ok()?))
}

/// Takes all jobs of these names back.
pub fn cancel<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let names: Vec<_> = names.collect();
    for some in names.chunks(NAMES) {
        let words = ["--quiet".to_owned(), format!("--name={}", some.join(","))];
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let failed = |message: String| {
            Failure::new(Exit::Io, format!("`scancel` failed: {message}"))
                .help(format!("`scancel {}` cancels the jobs", words[1]))
        };
        let (ok, _, err) = call("scancel", &words).map_err(|error| failed(error.to_string()))?;
        if !ok {
            return Err(failed(one_line(&err)));
        }
    }
    Ok(())
}

/// Runs a command of Slurm: whether it ended with 0, and what it wrote to stdout and stderr.
fn call(program: &str, words: &[&str]) -> std::io::Result<(bool, String, String)> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).env("LC_ALL", "C").output()?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((output.status.success(), text(output.stdout), text(output.stderr)))
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        let full = "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n";
        assert!(matches!(refusal(full), Refusal::Full(_)));
        let array = "sbatch: error: Batch job submission failed: Invalid job array specification\n";
        assert!(matches!(refusal(array), Refusal::Full(_)));
        let long = "sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n";
        assert!(matches!(refusal(long), Refusal::Wrong(_)));
        let slow = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n";
        assert!(matches!(refusal(slow), Refusal::Busy(_)));
        let down = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)";
        assert!(matches!(refusal(down), Refusal::Busy(_)));
        let wrong = "sbatch: error: invalid partition specified: shrot\nsbatch: error: Batch job submission failed: Invalid partition name specified\n";
        let Refusal::Wrong(told) = refusal(wrong) else { panic!("it will never be taken") };
        assert!(told.contains("invalid partition specified: shrot; sbatch: error: Batch"), "{told}");
    }

    #[test]
    fn rows_of_the_queue_are_read() {
        let of = |line: &str| row(line).expect("a row");
        assert_eq!(
            of("ww-1-0001|12|3|RUNNING|None"),
            Row { name: "ww-1-0001".to_owned(), job: 12, task: 3, stand: Stand::Running }
        );
        assert_eq!(
            of("n|12|0|PENDING|QOSMaxJobsPerUserLimit").stand,
            Stand::Pending("QOSMaxJobsPerUserLimit".to_owned())
        );
        assert_eq!(of("n|12|0|CANCELLED by 1000|None").stand, Stand::Over(End::Cancelled));
        assert_eq!(of("n|12|0|NODE_FAIL|NodeDown").stand, Stand::Over(End::Lost("NODE_FAIL".to_owned())));
        assert_eq!(row("n|12|N/A|PENDING|None"), None, "a job that is no array is none of ours");
        assert_eq!(row("slurm_load_jobs error"), None);
    }

    #[test]
    fn memory_is_told_by_state_and_by_signal() {
        assert!(End::new("OUT_OF_MEMORY", Some((0, 125))).is_memory());
        assert!(End::new("FAILED", Some((0, 9))).is_memory());
        assert!(End::new("FAILED", Some((137, 0))).is_memory());
        assert!(!End::new("FAILED", Some((1, 0))).is_memory());
        assert_eq!(pair("0:9"), Some((0, 9)));
    }
}
