// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs points on Slurm: packs them into array tasks, submits as many as the queue takes, waits for results, and submits again what tasks left.
//!
//! What is done is in the folder, always: a point is done when its file is there. The queue is only asked who still works. So this process may
//! end at any moment, and the next one finds the batches that are under way, waits for them, and submits only what nobody works on.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::batch::{Batch, Limits, Request};
use super::cost::{self, Costs};
use super::fate::{Case, Fate};
use super::members::{Open, PointState};
use super::queue::{self, End, Refusal, Stand};
use super::settings::Settings;
use super::state::{self, State};
use super::watch::Watch;
use crate::console::Console;
use crate::exit::Failure;
use crate::points::folder::{self, Folder, POINTS};
use crate::points::{FoundPoints, Outcome, Task};

/// The longest time between two tries to submit to a queue that is full.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Time that cancelled tasks may take to leave the queue.
const LEAVE: Duration = Duration::from_secs(60);
/// Time between two looks at the flag that Ctrl-C sets.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of the output of a failed task that are shown.
const TOLD: usize = 3;

/// How the engine ended.
pub enum Run {
    Ended(Outcome),
    /// Tasks are in the queue, and this process does not wait for them.
    Detached,
}

/// A point that is to be submitted.
#[derive(Clone, Copy)]
struct Todo {
    point: usize,
    tries: u32,
    memory_mb: u64,
}

pub struct Engine<'a> {
    tasks: &'a [Task],
    folder: &'a Folder,
    /// The folder of results, absolute.
    out: PathBuf,
    settings: &'a Settings,
    console: &'a Console,
    flag: &'a Arc<AtomicBool>,
    /// Places of points by key.
    places: HashMap<&'a str, usize>,
    found: FoundPoints,
    failed: BTreeMap<usize, String>,
    there: usize,
    costs: Costs,
    todo: VecDeque<Todo>,
    open: Vec<Open>,
    most_tasks: usize,
    /// Tasks that the next job may have: less after a refusal.
    wave: usize,
    /// When the queue is tried again after a refusal, and how long that pause is.
    pause: Option<(Instant, Duration)>,
    state: State,
    watch: Watch,
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        // However it ended, `status` shows that nobody waits.
        let _ = self.state.leave(self.folder);
    }
}

impl<'a> Engine<'a> {
    pub fn new(
        tasks: &'a [Task],
        folder: &'a Folder,
        settings: &'a Settings,
        flag: &'a Arc<AtomicBool>,
        console: &'a Console,
        command: String,
    ) -> Result<Engine<'a>, Failure> {
        let out =
            std::path::absolute(folder.path()).map_err(|error| Failure::io("find", folder.path(), &error))?;
        Batch::clear_unfinished(&out);
        let found = FoundPoints::look(tasks, folder);
        let mut costs = Costs::new(settings.point_seconds);
        for (place, task) in tasks.iter().enumerate() {
            if let Some(found) = found.get(place) {
                costs.learn(&task.point, found.wall_seconds);
            }
        }
        let there = found.count();
        let names = tasks.iter().map(|task| (task.key.as_str(), task.name.as_str()));
        state::write_points(folder, names)?;
        let most_tasks = settings.max_array.or_else(queue::max_array).unwrap_or(1000).max(1);
        Ok(Engine {
            tasks,
            folder,
            out,
            settings,
            console,
            flag,
            places: tasks.iter().enumerate().map(|(place, task)| (task.key.as_str(), place)).collect(),
            found,
            failed: BTreeMap::new(),
            there,
            costs,
            todo: VecDeque::new(),
            open: Vec::new(),
            most_tasks,
            wave: most_tasks,
            pause: None,
            state: State::new(command, settings.poll_seconds, settings.grace_seconds),
            watch: Watch::new(console, tasks.len()),
        })
    }

    /// Runs all points that are missing. With `detach` it returns as soon as the queue has what it takes.
    pub fn run(mut self, detach: bool) -> Result<Run, Failure> {
        self.join()?;
        let mut told = false;
        loop {
            if self.flag.load(Ordering::Relaxed) {
                return self.stop(detach);
            }
            self.submit()?;
            self.save()?;
            if !told {
                self.tell_plan();
                told = true;
            }
            if self.open.is_empty() && self.todo.is_empty() {
                break;
            }
            if detach && self.in_queue() > 0 {
                return Ok(self.detached());
            }
            self.show();
            self.wait(Duration::from_secs_f64(self.settings.poll_seconds));
            self.poll()?;
        }
        self.watch.end();
        folder::clear_parts(self.folder.path());
        Ok(Run::Ended(self.outcome(false)))
    }

    /// Takes up what an earlier process submitted; everything else that is missing is to be submitted.
    fn join(&mut self) -> Result<(), Failure> {
        let mut open = Vec::new();
        for batch in Batch::open(&self.out) {
            open.push(Open::new(batch)?);
        }
        if !open.is_empty() {
            let rows = queue::rows(open.iter().map(|open| open.batch.name())).map_err(|error| {
                Failure::usage(format!(
                    "cannot find out from `squeue` whether tasks of this folder are in the queue: {error}"
                ))
                .help("wait until the cluster answers, then repeat the command")
            })?;
            for mut one in open {
                one.look(&rows);
                one.read();
                // Nobody noted a number, and the queue knows no such job: it was never taken, or is over and left what it did.
                if one.job.is_none() {
                    one.batch.close()?;
                    queue::cancel([one.batch.name()].into_iter())?;
                    continue;
                }
                if let Some(job) = one.job {
                    one.batch.set_job(job)?;
                }
                for member in one.members.iter_mut().filter(|member| member.over.is_some()) {
                    member.forget_failures();
                }
                self.open.push(one);
            }
        }
        let mut held = vec![false; self.tasks.len()];
        let mut joined = 0;
        for open in &mut self.open {
            for member in open.members.iter_mut().filter(|member| !member.settled) {
                for point in &mut member.held {
                    match self.places.get(point.request.key.as_str()) {
                        Some(&place) if self.found.get(place).is_none() => held[place] = true,
                        _ => point.settled = true,
                    }
                }
                joined += usize::from(member.is_live());
            }
        }
        if joined > 0 {
            let message = format!(
                "{joined} tasks of this folder are in the queue already: they are joined, and their points are not submitted again"
            );
            self.folder.log(&message);
            self.console.note(&message);
        }
        let memory_mb = self.settings.memory_mb;
        self.todo = (0..self.tasks.len())
            .filter(|&place| self.found.get(place).is_none() && !held[place])
            .map(|point| Todo { point, tries: 0, memory_mb })
            .collect();
        self.settle()
    }

    /// Tasks that wait or run.
    fn in_queue(&self) -> usize {
        self.open.iter().flat_map(|open| &open.members).filter(|member| member.is_live()).count()
    }

    /// Tasks that wait or run, or whose results may still appear.
    fn live(&self) -> usize {
        self.open.iter().flat_map(|open| &open.members).filter(|member| !member.settled).count()
    }

    /// Submits what there is room for.
    fn submit(&mut self) -> Result<(), Failure> {
        while let Some(first) = self.todo.front() {
            let memory_mb = first.memory_mb;
            if self.flag.load(Ordering::Relaxed)
                || self.pause.is_some_and(|(until, _)| Instant::now() < until)
            {
                return Ok(());
            }
            let room =
                self.settings.max_queued.saturating_sub(self.live()).min(self.most_tasks).min(self.wave);
            if room == 0 {
                return Ok(());
            }
            let (lists, taken) = self.lists(memory_mb, room);
            let longest = lists
                .iter()
                .map(|list| {
                    list.iter().map(|request| request.seconds).sum::<f64>() / f64::from(self.settings.cpus)
                })
                .fold(0.0, f64::max);
            let time_minutes = self.settings.time_minutes.unwrap_or_else(|| cost::limit_minutes(longest));
            let limits = Limits { memory_mb, time_minutes };
            let batch = Batch::create(&self.out, &lists, limits, self.settings)?;
            match self.sbatch(&batch) {
                Ok(job) => {
                    batch.set_job(job)?;
                    let points: usize = lists.iter().map(Vec::len).sum();
                    self.folder.log(&format!(
                        "submitted job {job} ({}): {} tasks with {points} points, {memory_mb} MB and {time_minutes} minutes each",
                        batch.name(),
                        lists.len()
                    ));
                    let mut open = Open::new(batch)?;
                    open.members
                        .iter_mut()
                        .for_each(|member| member.stand = Some(Stand::Pending(String::new())));
                    self.open.push(open);
                    self.wave = self.wave.saturating_mul(2).min(self.most_tasks);
                    if self.pause.take().is_some() {
                        self.console.note("the queue accepts tasks again");
                    }
                }
                Err(refusal) => {
                    match refusal {
                        Refusal::Busy(_) => batch.close()?,
                        _ => batch.remove(),
                    }
                    // They stand where they were.
                    taken.into_iter().rev().for_each(|todo| self.todo.push_front(todo));
                    self.refused(refusal, lists.len())?;
                }
            }
        }
        Ok(())
    }

    /// Lists of points for at most so many tasks, all with the same memory, and what was taken for them. What needs more memory than usual runs alone.
    fn lists(&mut self, memory_mb: u64, room: usize) -> (Vec<Vec<Request>>, Vec<Todo>) {
        let alone = memory_mb > self.settings.memory_mb;
        let task_seconds = if alone { 0.0 } else { self.settings.task_minutes * 60.0 };
        let same = self.todo.iter().filter(|todo| todo.memory_mb == memory_mb).copied();
        let costly = same.map(|todo| (todo, self.costs.seconds(&self.tasks[todo.point].point)));
        let packed = cost::pack(costly, self.settings.cpus, task_seconds, room);
        let request = |(todo, seconds): &(Todo, f64)| {
            let Task { key, name, point, .. } = &self.tasks[todo.point];
            let (key, name, point) = (key.clone(), name.clone(), point.clone());
            Request { key, name, tries: todo.tries, seconds: *seconds, point }
        };
        let lists = packed.iter().map(|list| list.iter().map(&request).collect()).collect();
        let taken: Vec<_> = packed.into_iter().flatten().map(|(todo, _)| todo).collect();
        let mut left = taken.len();
        self.todo.retain(|todo| {
            let take = left > 0 && todo.memory_mb == memory_mb;
            left -= usize::from(take);
            !take
        });
        (lists, taken)
    }

    /// Submits a batch. Where Slurm did not answer, the queue is asked whether it took the job all the same.
    fn sbatch(&self, batch: &Batch) -> Result<u64, Refusal> {
        let refusal = match queue::submit(batch.sbatch()) {
            Err(refusal @ Refusal::Busy(_)) => refusal,
            other => return other,
        };
        let rows = queue::rows([batch.name()].into_iter()).unwrap_or_default();
        match rows.first() {
            Some(row) => Ok(row.job),
            // It may still come: its tasks find their batch closed, and end.
            None => Err(refusal),
        }
    }

    /// What a refusal means for what comes next.
    fn refused(&mut self, refusal: Refusal, tasks: usize) -> Result<(), Failure> {
        let points = self.todo.len();
        let reason = match refusal {
            Refusal::Wrong(reason) => {
                // Nothing that was submitted is left to itself.
                queue::cancel(self.open.iter().map(|open| open.batch.name()))?;
                self.open.iter().try_for_each(|open| open.batch.close())?;
                return Err(Failure::usage(format!("Slurm rejected the job: {reason}")).help(
                    "`[slurm]` in the sweep file has keys for partition, account, time, memory and further options of `sbatch`",
                ));
            }
            Refusal::Full(reason) if tasks > 1 => {
                self.wave = tasks / 2;
                self.folder
                    .log(&format!("an array of {tasks} tasks was rejected, trying {}: {reason}", self.wave));
                return Ok(());
            }
            Refusal::Full(reason) => format!("the queue is full ({reason})"),
            Refusal::Busy(reason) => format!("Slurm does not answer ({reason})"),
        };
        let first = self.pause.is_none();
        let poll = Duration::from_secs_f64(self.settings.poll_seconds);
        let length = self.pause.map_or(poll, |(_, length)| length * 2).min(LONGEST_PAUSE);
        self.pause = Some((Instant::now() + length, length));
        let message = format!("{reason}: {points} points wait for the queue, and are submitted later");
        self.folder.log(&message);
        if first {
            self.console.note(&message);
        }
        Ok(())
    }

    /// Looks at the queue and at the folder.
    fn poll(&mut self) -> Result<(), Failure> {
        match queue::rows(self.open.iter().map(|open| open.batch.name())) {
            Ok(rows) => {
                self.open.iter_mut().for_each(|open| open.look(&rows));
                self.watch.answered();
            }
            // Without an answer, nothing counts as lost.
            Err(error) => self.watch.no_answer(&error, self.console),
        }
        let held: Vec<_> = self.open.iter().filter_map(Open::held_back).collect();
        self.watch.held_back(&held, self.console);
        self.settle()
    }

    /// Reads what tasks did, takes results that are there, and decides about tasks that are over.
    fn settle(&mut self) -> Result<(), Failure> {
        let mut open = std::mem::take(&mut self.open);
        for one in &mut open {
            one.read();
            self.take_results(one);
            self.decide(one)?;
        }
        for one in open {
            match one.members.iter().all(|member| member.settled) {
                true => one.batch.close()?,
                false => self.open.push(one),
            }
        }
        Ok(())
    }

    /// Takes the results that a batch's journals tell of, and all that are there of tasks that are over.
    fn take_results(&mut self, open: &mut Open) {
        for member in open.members.iter_mut().filter(|member| !member.settled) {
            let over = member.over.is_some();
            for held in member.held.iter_mut().filter(|held| !held.settled) {
                let Some(&place) = self.places.get(held.request.key.as_str()) else {
                    held.settled = true;
                    continue;
                };
                let task = &self.tasks[place];
                match &held.state {
                    PointState::Failed(reason) => {
                        self.folder.log(&format!(
                            "{} failed: {reason}\n  {}",
                            task.name,
                            task.point.command()
                        ));
                        self.failed.insert(place, reason.clone());
                        held.settled = true;
                    }
                    PointState::Done(_) | PointState::Running(_) | PointState::Waiting
                        if over || matches!(held.state, PointState::Done(_)) =>
                    {
                        let Some(record) = self.folder.point(&task.key) else { continue };
                        let seconds = match held.state {
                            PointState::Done(seconds) => seconds,
                            _ => record.host.wall_seconds,
                        };
                        self.costs.learn(&task.point, seconds);
                        self.folder.log(&format!(
                            "{} {seconds:.2} s, {POINTS}/{}.json\n  {}",
                            task.name,
                            task.key,
                            task.point.command()
                        ));
                        self.found.put(place, &record);
                        self.failed.remove(&place);
                        held.settled = true;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Decides about tasks that are over: nothing is left, results may still appear, or what is left is submitted again or has failed.
    fn decide(&mut self, open: &mut Open) -> Result<(), Failure> {
        let grace = Duration::from_secs_f64(self.settings.grace_seconds);
        let mut ends = None;
        for (task, member) in open.members.iter_mut().enumerate().filter(|(_, member)| !member.settled) {
            let Some(since) = member.over else { continue };
            let left = member.held.iter().filter(|held| !held.settled).count();
            if left > 0 && since.elapsed() < grace {
                continue;
            }
            member.settled = true;
            if left > 0 {
                let known = match &member.stand {
                    Some(Stand::Over(end @ (End::Unknown | End::Failed { .. }))) => {
                        let ends = ends.get_or_insert_with(|| open.job.map(queue::ends).unwrap_or_default());
                        ends.get(&task).cloned().unwrap_or_else(|| end.clone())
                    }
                    Some(Stand::Over(end)) => end.clone(),
                    _ => End::Unknown,
                };
                let end = if member.killed { End::OutOfMemory } else { known };
                let printed = open.batch.printed(task, TOLD);
                let case = Case {
                    end: &end,
                    limits: open.batch.limits(),
                    memory_mb: self.settings.memory_mb,
                    ran_others: member.ran_others(),
                    began: member.began(),
                    refused: member.refused.as_deref(),
                    before: member.before,
                    printed: &printed,
                };
                let (mut again, mut more) = (Vec::new(), None);
                for held in member.held.iter().filter(|held| !held.settled) {
                    let Some(&place) = self.places.get(held.request.key.as_str()) else { continue };
                    match case.fate(member.is_under_way(held), held.request.tries) {
                        Fate::Again { tries, memory_mb } => {
                            if memory_mb > self.settings.memory_mb {
                                more = Some((held.request.name.clone(), memory_mb));
                            }
                            again.push(Todo { point: place, tries, memory_mb });
                        }
                        Fate::Failed(reason) => {
                            self.folder.log(&format!("{} failed: {reason}", held.request.name));
                            self.failed.insert(place, reason);
                        }
                    }
                }
                let id = open.job.map_or(String::new(), |job| format!(" {job}_{task}"));
                let host =
                    if member.host.is_empty() { String::new() } else { format!(" on {}", member.host) };
                let mut message = format!(
                    "task{id}{host} ended with {} before {left} of its {} points: {} submitted again",
                    end.shown(),
                    member.held.len(),
                    again.len()
                );
                if let Some((name, memory_mb)) = more {
                    message +=
                        &format!("; {name} exceeded its memory, and is submitted again with {memory_mb} MB");
                }
                self.folder.log(&message);
                self.watch.event(&message, self.console);
                self.todo.extend(again);
            }
            open.batch.close_task(task)?;
        }
        Ok(())
    }

    /// Ends on Ctrl-C: nothing is left in the queue, unless it was meant to be.
    fn stop(mut self, detach: bool) -> Result<Run, Failure> {
        self.watch.end();
        let live = self.live();
        if detach {
            self.console.note(&format!("interrupted: {live} tasks stay in the queue, as `--detach` says"));
            return Ok(Run::Ended(self.outcome(true)));
        }
        let names: Vec<_> = self.open.iter().map(|open| open.batch.name().to_owned()).collect();
        queue::cancel(names.iter().map(String::as_str))?;
        let started = Instant::now();
        let mut left = live;
        while left > 0 && started.elapsed() < LEAVE {
            let Ok(rows) = queue::rows(names.iter().map(String::as_str)) else { break };
            left = rows.iter().filter(|row| !matches!(row.stand, Stand::Over(_))).count();
            if left > 0 {
                std::thread::sleep(
                    Duration::from_millis(500).min(Duration::from_secs_f64(self.settings.poll_seconds)),
                );
            }
        }
        match left {
            0 => self
                .console
                .note(&format!("{live} tasks were cancelled: no task of this folder is in the queue")),
            _ => self.console.warn(&format!(
                "{left} cancelled tasks have not left the queue yet; `squeue --name={}` shows them",
                names.join(",")
            )),
        }
        let mut open = std::mem::take(&mut self.open);
        for one in &mut open {
            one.read();
            self.take_results(one);
            one.batch.close()?;
        }
        self.save()?;
        Ok(Run::Ended(self.outcome(true)))
    }

    fn detached(&mut self) -> Run {
        self.watch.end();
        let tasks = self.in_queue();
        let points: usize = self.open.iter().flat_map(|open| &open.members).map(|m| m.unsettled()).sum();
        let left = self.todo.len();
        let mut message = format!("{tasks} tasks with {points} points are in the queue, and stay there");
        if left > 0 {
            message +=
                &format!("; {left} points do not fit into the queue: repeat the command to submit them");
        }
        self.folder.log(&message);
        self.console.result(&format!("{message}\n"));
        Run::Detached
    }

    /// Says how points are divided, when they are submitted for the first time.
    fn tell_plan(&self) {
        let tasks: usize = self.open.iter().map(|open| open.members.len()).sum();
        if tasks > 0 {
            let message = format!(
                "{} of {} points are done, {tasks} tasks are in the queue, {} points wait; times are estimated from {}",
                self.there,
                self.tasks.len(),
                self.todo.len(),
                self.costs.basis()
            );
            self.folder.log(&message);
            self.console.note(&message);
        }
    }

    fn show(&mut self) {
        let members = || self.open.iter().flat_map(|open| &open.members);
        let running = members().filter(|member| member.is_running()).count();
        let waiting = members().filter(|member| member.is_live()).count() - running;
        let done = self.found.count();
        let left: f64 = (0..self.tasks.len())
            .filter(|place| self.found.get(*place).is_none() && !self.failed.contains_key(place))
            .map(|place| self.costs.seconds(&self.tasks[place].point))
            .sum();
        let cores = running as f64 * f64::from(self.settings.cpus);
        let left = (running > 0).then(|| left / cores);
        self.watch.show(done, self.failed.len(), (running, waiting), left);
    }

    /// Keeps what `status` shows of this process.
    fn save(&mut self) -> Result<(), Failure> {
        let failed =
            self.failed.iter().map(|(place, reason)| (self.tasks[*place].key.clone(), reason.clone()));
        self.state.save(self.folder, failed.collect(), self.todo.len())
    }

    fn wait(&self, time: Duration) {
        let started = Instant::now();
        while started.elapsed() < time && !self.flag.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK.min(time.saturating_sub(started.elapsed())));
        }
    }

    fn outcome(&mut self, interrupted: bool) -> Outcome {
        let found = std::mem::take(&mut self.found);
        let run = found.count() - self.there;
        let failed = std::mem::take(&mut self.failed).into_iter().collect();
        Outcome { found, failed, there: self.there, run, interrupted }
    }
}
