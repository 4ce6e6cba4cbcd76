// SPDX-License-Identifier: MIT OR Apache-2.0
//! `sweep status` and `sweep cancel`: what became of the points of a folder, and taking tasks back. Both only read the folder; neither needs the process that submitted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::batch::{Batch, SLURM};
use super::members::{Open, PointState};
use super::queue::{self, Stand};
use super::state::{self, State};
use super::watch::time;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::points::folder;

const SCHEMA: &str = "warpwatt.sweep-status/1";
/// Names that are shown of a kind of points.
const SHOWN: usize = 5;

/// Where a point stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Where {
    Done,
    Running,
    /// In a task that waits or runs.
    Waiting,
    /// Its task is over, and its result may still appear.
    Late,
    Failed,
    /// Its task is over without it.
    Lost,
    /// In no task.
    Unsubmitted,
}

impl Where {
    const ALL: [(Where, &'static str, &'static str); 7] = [
        (Where::Done, "done", ""),
        (Where::Running, "running", ""),
        (Where::Waiting, "waiting", "in tasks that wait or run"),
        (Where::Late, "late", "their tasks have ended, and results may still appear"),
        (Where::Failed, "failed", ""),
        (Where::Lost, "lost", "their tasks ended without them"),
        (Where::Unsubmitted, "unsubmitted", "in no task"),
    ];
}

/// What is known about the points of a folder.
struct Status {
    points: Vec<(String, String)>,
    stands: Vec<Where>,
    reasons: BTreeMap<String, String>,
    /// Tasks that run and that wait.
    tasks: (usize, usize),
    left: Option<f64>,
    watched: bool,
    command: Option<String>,
}

/// Shows the status of a folder. `points` are keys and names, where a sweep file gave them.
pub fn status(
    out: &Path,
    points: Option<Vec<(String, String)>>,
    json: Option<&Path>,
    console: &Console,
) -> Result<Exit, Failure> {
    let out = opened(out)?;
    let points = points.or_else(|| state::read_points(&out)).ok_or_else(|| {
        Failure::usage(format!("{} has no list of points", out.display()))
            .help("it was not run with `--engine slurm`: name the sweep file instead, as `warpwatt sweep status FILE.toml --out DIR`")
    })?;
    let status = Status::new(&out, points, console)?;
    if let Some(path) = json {
        let text =
            warpwatt_results::json::to_text(&status.document(&out)).map_err(crate::points::internal)?;
        write_result(path, &text, console)?;
    }
    if json != Some(Path::new("-")) {
        console.result(&status.text(&out));
    }
    Ok(Exit::Ok)
}

/// Takes all tasks of a folder back.
pub fn cancel(out: &Path, console: &Console) -> Result<Exit, Failure> {
    let out = opened(out)?;
    let open = Batch::open(&out);
    queue::check()?;
    queue::cancel(open.iter().map(Batch::name))?;
    for batch in &open {
        batch.close()?;
    }
    console
        .result(&format!("the tasks of {} batches were cancelled; finished points are kept\n", open.len()));
    Ok(Exit::Ok)
}

/// Fails if tasks of a folder are in the queue, whose points another process must not run as well.
pub fn guard(out: &Path, console: &Console) -> Result<(), Failure> {
    let open = Batch::open(&opened(out)?);
    if open.is_empty() {
        return Ok(());
    }
    match queue::rows(open.iter().map(Batch::name)) {
        Ok(rows) => {
            let live = rows.iter().filter(|row| !matches!(row.stand, Stand::Over(_))).count();
            if live > 0 {
                return Err(Failure::usage(format!(
                    "{live} tasks of {} are in the queue of Slurm",
                    out.display()
                ))
                .help(format!(
                    "`--engine slurm` waits for them; `warpwatt sweep cancel {}` cancels them",
                    out.display()
                )));
            }
        }
        Err(error) => console.warn(&format!(
            "points of {} were submitted to Slurm, and it is unknown whether they still run: {error}",
            out.display()
        )),
    }
    open.iter().try_for_each(Batch::close)
}

fn opened(out: &Path) -> Result<PathBuf, Failure> {
    if !out.join(folder::POINTS).is_dir() {
        return Err(Failure::usage(format!(
            "{} is not a result folder of a sweep or a paper",
            out.display()
        ))
        .help("name the folder that `--out` named, or the sweep file with `--out DIR`"));
    }
    std::path::absolute(out).map_err(|error| Failure::io("find", out, &error))
}

impl Status {
    fn new(out: &Path, points: Vec<(String, String)>, console: &Console) -> Result<Status, Failure> {
        let state = State::load(out);
        let mut open = Vec::new();
        for batch in Batch::open(out) {
            let mut one = Open::new(batch)?;
            one.read();
            open.push(one);
        }
        match queue::rows(open.iter().map(|open| open.batch.name())) {
            Ok(rows) => open.iter_mut().for_each(|open| open.look(&rows)),
            Err(error) => {
                console.warn(&format!("`squeue` does not answer, so tasks are assumed to be alive: {error}"));
                for member in open.iter_mut().flat_map(|open| &mut open.members) {
                    member.stand =
                        Some(if member.began() { Stand::Running } else { Stand::Pending(String::new()) });
                }
            }
        }
        let grace = state.as_ref().map_or(60.0, |state| state.grace_seconds);
        let mut found: BTreeMap<&str, Where> = BTreeMap::new();
        let mut reasons = state.as_ref().map(|state| state.failed.clone()).unwrap_or_default();
        let mut cost = Cost::default();
        let mut tasks = (0, 0);
        for one in &open {
            for (task, member) in one.members.iter().enumerate().filter(|(_, member)| !member.settled) {
                match (member.is_running(), member.is_live()) {
                    (true, _) => tasks.0 += 1,
                    (false, live) => tasks.1 += usize::from(live),
                }
                cost.cores = cost.cores.max(one.batch.cpus());
                let late =
                    || one.batch.silent_seconds(task, member.starts()).is_some_and(|silent| silent < grace);
                for held in &member.held {
                    cost.learn(held.request.seconds, &held.state);
                    let stand = match &held.state {
                        PointState::Failed(reason) => {
                            reasons.insert(held.request.key.clone(), reason.clone());
                            Where::Failed
                        }
                        PointState::Running(_) if member.is_running() => Where::Running,
                        _ if member.is_live() => Where::Waiting,
                        _ if late() => Where::Late,
                        _ => Where::Lost,
                    };
                    found.insert(held.request.key.as_str(), stand);
                }
            }
        }
        let kept = out.join(folder::POINTS);
        let stands: Vec<_> = points
            .iter()
            .map(|(key, _)| match found.get(key.as_str()) {
                _ if kept.join(format!("{key}.json")).exists() => Where::Done,
                Some(stand) => *stand,
                None if reasons.contains_key(key) => Where::Failed,
                None => Where::Unsubmitted,
            })
            .collect();
        let left = stands.iter().filter(|stand| !matches!(stand, Where::Done | Where::Failed)).count();
        Ok(Status {
            left: cost.left(left, tasks.0),
            watched: state.as_ref().is_some_and(|state| state.is_watched(out)),
            command: state.map(|state| state.command),
            points,
            stands,
            reasons,
            tasks,
        })
    }

    fn count(&self, kind: Where) -> usize {
        self.stands.iter().filter(|stand| **stand == kind).count()
    }

    fn names(&self, kind: Where) -> impl Iterator<Item = &(String, String)> {
        self.points.iter().zip(&self.stands).filter(move |(_, stand)| **stand == kind).map(|(point, _)| point)
    }

    fn text(&self, out: &Path) -> String {
        let mut text = format!("{}: {} points\n", out.display(), self.points.len());
        for (kind, name, what) in Where::ALL {
            let count = self.count(kind);
            if count == 0 && !matches!(kind, Where::Done | Where::Running | Where::Failed | Where::Lost) {
                continue;
            }
            let what = match kind {
                Where::Running => {
                    let names: Vec<_> = self.names(kind).take(SHOWN).map(|(_, name)| name.as_str()).collect();
                    names.join(", ")
                }
                _ if count == 0 => String::new(),
                _ => what.to_owned(),
            };
            text += format!("  {name:<12} {count:>8}  {what}").trim_end();
            text.push('\n');
        }
        for (key, name) in self.names(Where::Failed).take(SHOWN) {
            let reason = self.reasons.get(key).map_or("", String::as_str);
            text += &format!("  failed: {name}: {reason}\n");
        }
        let (running, waiting) = self.tasks;
        text += &format!("{running} tasks run, {waiting} wait");
        if let Some(left) = self.left {
            text += &format!("; about {} left", time(left));
        }
        text.push('\n');
        let unfinished = self.stands.iter().filter(|stand| **stand != Where::Done).count();
        if unfinished > 0 && !self.watched {
            let again = self.command.as_deref().unwrap_or("the same command");
            text += &format!(
                "no process waits for them: this goes on, and joins what is in the queue:\n  {again}\n"
            );
        }
        if unfinished == 0 && !out.join("data").is_dir() {
            text += "all points are done; the same command makes tables and figures of them\n";
        }
        text
    }

    fn document(&self, out: &Path) -> Value {
        let mut document = json!({
            "schema": SCHEMA,
            "folder": out.display().to_string(),
            "points": self.points.len(),
            "tasks_running": self.tasks.0,
            "tasks_waiting": self.tasks.1,
            "left_seconds": self.left,
            "watched": self.watched,
            "command": self.command,
            "running_points": self.names(Where::Running).map(|(_, name)| name).collect::<Vec<_>>(),
            "lost_points": self.names(Where::Lost).map(|(_, name)| name).collect::<Vec<_>>(),
            "failed_points": self.names(Where::Failed)
                .map(|(key, name)| json!({ "name": name, "reason": self.reasons.get(key) }))
                .collect::<Vec<_>>(),
        });
        for (kind, name, _) in Where::ALL {
            document[name] = self.count(kind).into();
        }
        document
    }
}

/// Whether a folder was ever run on Slurm.
pub fn has_batches(out: &Path) -> bool {
    out.join(SLURM).is_dir()
}

/// What points take, from those of open batches: what they were expected to take, corrected by what those that are done took.
#[derive(Default)]
struct Cost {
    cores: u32,
    expected: f64,
    points: usize,
    done_expected: f64,
    done: f64,
}

impl Cost {
    fn learn(&mut self, expected: f64, state: &PointState) {
        self.expected += expected;
        self.points += 1;
        if let PointState::Done(seconds) = state {
            self.done_expected += expected;
            self.done += seconds;
        }
    }

    fn left(&self, points: usize, running: usize) -> Option<f64> {
        if points == 0 || running == 0 || self.points == 0 {
            return None;
        }
        let mean = self.expected / self.points as f64;
        let factor = if self.done_expected > 0.0 { self.done / self.done_expected } else { 1.0 };
        Some(points as f64 * mean * factor / (running as f64 * f64::from(self.cores.max(1))))
    }
}
