// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an array task runs (`sweep work BATCH TASK`, which its script calls): the points of its list that are not there, one after the other, or as many at a time as it
//! has cores. A result is kept whole as soon as it is there, so that a task that is ended at any moment loses at most what it runs just then, and one that is
//! started anew skips what is kept.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::batch::{Batch, Request};
use super::journal::{Journal, Line};
use crate::args::SweepWorkArgs;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::points::run::{self, Missing};
use crate::points::{Planner, Task, folder};
use crate::profile::Known;

/// What a shell ends with when what it ran was killed by signal 9.
const KILLED: &str = "signal: 9";

pub fn work(args: &SweepWorkArgs, console: &Console) -> Result<Exit, Failure> {
    let batch = Batch::load(&args.batch).ok_or_else(|| {
        Failure::usage(format!("{} is no batch of a sweep", args.batch.display()))
            .help("`warpwatt sweep FILE.toml --engine slurm` makes batches, and Slurm starts their tasks")
    })?;
    if args.task >= batch.tasks() {
        return Err(Failure::usage(format!(
            "the batch has {} tasks, and none of number {}",
            batch.tasks(),
            args.task
        )));
    }
    if batch.is_closed(args.task) {
        console.note("this task is done with: nothing is run");
        return Ok(Exit::Ok);
    }
    let journal = Journal::begin(&batch.folder, args.task)
        .map_err(|error| Failure::io("write into", &batch.folder, &error))?;
    journal.add(&Line::Start { host: host(), job: job() });
    let worker = Worker::new(&batch, args.task, &journal, console)?;
    let outcome = worker.run();
    if let Err(failure) = &outcome
        && !matches!(failure.exit, Exit::Interrupted)
    {
        journal.add(&Line::Refused { reason: failure.message.clone() });
    }
    outcome
}

struct Worker<'a> {
    batch: &'a Batch,
    task: usize,
    journal: &'a Journal,
    console: &'a Console,
    requests: Vec<Request>,
    points: PathBuf,
    flag: Arc<AtomicBool>,
    known: Known,
    planner: Mutex<Planner>,
    next: AtomicUsize,
    /// Why no further point is begun.
    stopped: Mutex<Option<Failure>>,
}

impl Worker<'_> {
    fn new<'a>(
        batch: &'a Batch,
        task: usize,
        journal: &'a Journal,
        console: &'a Console,
    ) -> Result<Worker<'a>, Failure> {
        // The batch is in DIR/slurm.
        let out = batch.folder.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        Ok(Worker {
            batch,
            task,
            journal,
            console,
            requests: batch.list(task)?,
            points: out.join(folder::POINTS),
            flag: interrupt::flag(),
            known: Known::new(true),
            planner: Mutex::new(Planner::new()?),
            next: AtomicUsize::new(0),
            stopped: Mutex::new(None),
        })
    }

    fn run(&self) -> Result<Exit, Failure> {
        std::thread::scope(|scope| {
            for _ in 1..(self.batch.cpus() as usize).min(self.requests.len()) {
                scope.spawn(|| self.walk());
            }
            self.walk();
        });
        if let Some(failure) = self.stopped.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failure);
        }
        if self.flag.load(Ordering::Relaxed) {
            return Err(Failure::new(Exit::Interrupted, "interrupted: points that are done are kept"));
        }
        if self.next.load(Ordering::Relaxed) >= self.requests.len() {
            self.journal.add(&Line::End);
        }
        Ok(Exit::Ok)
    }

    /// Takes the next point of the list until there is none, or the task is to stop.
    fn walk(&self) {
        loop {
            if self.flag.load(Ordering::Relaxed) || self.is_stopped() {
                return;
            }
            if self.journal.is_replaced() || self.batch.is_closed(self.task) {
                self.console.note("this task was started anew elsewhere, or is done with: it stops here");
                return;
            }
            let Some(request) = self.requests.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            if folder::kept(&self.points, &request.key).is_some() {
                continue;
            }
            if let Err(failure) = self.point(request) {
                self.stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Runs a point and keeps it. A failure is one of the whole task.
    fn point(&self, request: &Request) -> Result<(), Failure> {
        let task = self.plan(request)?;
        let key = request.key.clone();
        self.journal.add(&Line::Begin { key: key.clone() });
        let started = Instant::now();
        match run::run(&task, &self.known, &self.flag) {
            Ok(record) => {
                folder::keep_as(&self.points, &record, &format!("{}.{}", host(), std::process::id()))?;
                let seconds = started.elapsed().as_secs_f64();
                self.journal.add(&Line::Done { key, seconds });
                self.console.detail(&format!("{} {seconds:.2} s", request.name));
            }
            Err(Missing::Interrupted) => {}
            // The kernel ends what takes the most memory, which is the program of the point and not this one.
            Err(Missing::Failed(reason)) if reason.contains(KILLED) => {
                self.journal.add(&Line::Killed { key });
                let message =
                    format!("the program of {} was killed by signal 9, as for its memory", request.name);
                return Err(Failure::new(Exit::CheckFailed, message));
            }
            Err(Missing::Failed(reason)) => {
                self.console.warn(&format!(
                    "{} failed: {reason}\n  {}",
                    request.name,
                    request.point.command()
                ));
                self.journal.add(&Line::Failed { key, reason });
            }
        }
        Ok(())
    }

    /// The point as this machine would run it, which has to be what was planned.
    fn plan(&self, request: &Request) -> Result<Task, Failure> {
        let mut planner = self.planner.lock().unwrap_or_else(PoisonError::into_inner);
        let task = planner.task(request.name.clone(), request.point.clone())?;
        if task.key != request.key {
            let message = format!(
                "{} would run another point on {}: its program, or a file that the point reads, is not the one that the sweep was planned with",
                request.name,
                host()
            );
            return Err(Failure::usage(message).help(
                "give the command of the sweep again: points are planned anew with the program as it is now",
            ));
        }
        Ok(task)
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let node = std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| name.trim().to_owned());
    // It becomes part of a file's name.
    node.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

fn job() -> String {
    std::env::var("SLURM_JOB_ID").unwrap_or_default()
}
