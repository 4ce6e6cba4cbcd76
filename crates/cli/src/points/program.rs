// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program as a point: `warpwatt exec` in a process of its own, whose record becomes the point's.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use warpwatt_papers::PointRecord;
use warpwatt_results::{RunRecord, Status};

use super::own;
use super::run::Missing;
use super::task::Task;

/// Interval at which the program is polled.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of the program's output that are shown when it failed.
const TOLD: usize = 3;

/// A file beside others of this process that is gone when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(kind: &str) -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("warpwatt-point-{}-{number}.{kind}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn run(task: &Task, words: &[String], flag: &Arc<AtomicBool>) -> Result<PointRecord, Missing> {
    let failed = |what: String| Missing::Failed(what);
    let (record, said) = (Scratch::new("json"), Scratch::new("txt"));
    let output = std::fs::File::create(&said.0)
        .map_err(|error| failed(format!("cannot write {}: {error}", said.0.display())))?;
    let mut command = command(task, words, &record.0).map_err(|error| failed(error.to_string()))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
    let mut child =
        command.spawn().map_err(|error| failed(format!("`warpwatt exec` cannot start: {error}")))?;
    let status = wait(&mut child, flag).map_err(|error| failed(error.to_string()))?;
    if flag.load(Ordering::Relaxed) {
        return Err(Missing::Interrupted);
    }
    if !status.success() {
        let said = std::fs::read_to_string(&said.0).unwrap_or_default();
        let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(TOLD)..].join("\n  ");
        return Err(failed(format!("the program ended with {status}\n  {last}")));
    }
    let text = std::fs::read_to_string(&record.0)
        .map_err(|error| failed(format!("`warpwatt exec` left no record: {error}")))?;
    let mut document: RunRecord = serde_json::from_str(&text)
        .map_err(|error| failed(format!("the record of `warpwatt exec` cannot be read: {error}")))?;
    if document.status != Status::Complete {
        let reasons: Vec<_> = document.diagnostics.iter().map(|found| found.message.clone()).collect();
        return Err(failed(format!("the run is not complete: {}", reasons.join("; "))));
    }
    let target = task.target().map_err(|failure| Missing::Failed(failure.message))?;
    target.technology.energies.groups(&mut document);
    PointRecord::of(task.key.clone(), document)
        .ok_or_else(|| failed("no kernel was timed, so there is no energy".to_owned()))
}

fn command(task: &Task, words: &[String], record: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(own::program()?);
    let point = &task.point;
    command.args(["exec", "--threads", "1", "--fail-on-fault", "--gpu", &point.gpu]);
    for setting in &point.settings {
        command.args(["--set", setting]);
    }
    for technique in &point.techniques {
        command.args(["--with", technique]);
    }
    if !point.predication {
        command.arg("--no-predication");
    }
    command.args(["--technology", &point.technology, "--json"]).arg(record).arg("--").args(words);
    // It ends with this process, however that ends.
    // SAFETY: `prctl` is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
    Ok(command)
}

/// Waits for the program, and passes on that it is to end.
fn wait(child: &mut Child, flag: &AtomicBool) -> std::io::Result<ExitStatus> {
    let mut stopped = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if flag.load(Ordering::Relaxed) && !stopped {
            stopped = true;
            // SAFETY: a plain C call; the process is ours and not yet waited for.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        }
        std::thread::sleep(LOOK);
    }
}
