// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches that are under way, as their journals and the queue show them: `sweep --engine slurm` and `sweep status` see the same.

use std::time::Instant;

use super::batch::{Batch, Brief};
use super::journal::{Line, Reader};
use super::queue::{End, Row, Stand};
use crate::exit::Failure;

/// State of a point of a task, by the journal.
#[derive(Clone, PartialEq, Debug)]
pub enum PointState {
    Waiting,
    /// Begun by this start of the task.
    Running(usize),
    /// Its result is said to be kept, after so many seconds.
    Done(f64),
    Failed(String),
}

pub struct Held {
    pub request: Brief,
    pub state: PointState,
    /// The result is there, or the failure is noted: nothing is left to do.
    pub settled: bool,
}

/// One task of a batch.
pub struct Member {
    pub held: Vec<Held>,
    pub stand: Option<Stand>,
    /// Since when it is over.
    pub over: Option<Instant>,
    /// Why it could run nothing.
    pub refused: Option<String>,
    /// The machine of its last start.
    pub host: String,
    /// A program of it was killed by signal 9.
    pub killed: bool,
    pub settled: bool,
    /// It was over before this process came.
    pub before: bool,
    /// Places of points in the list, in the order of their keys.
    by_key: Vec<usize>,
    reader: Reader,
    /// Points that each start ended.
    ended: Vec<usize>,
}

pub struct Open {
    pub batch: Batch,
    pub job: Option<u64>,
    pub members: Vec<Member>,
}

impl Open {
    pub fn new(batch: Batch) -> Result<Open, Failure> {
        let member = |task| {
            let requests: Vec<Brief> = batch.list(task)?;
            let held: Vec<_> = requests
                .into_iter()
                .map(|request| Held { request, state: PointState::Waiting, settled: false })
                .collect();
            let mut by_key: Vec<_> = (0..held.len()).collect();
            by_key.sort_unstable_by(|a, b| held[*a].request.key.cmp(&held[*b].request.key));
            Ok(Member {
                held,
                by_key,
                stand: None,
                over: None,
                refused: None,
                host: String::new(),
                killed: false,
                settled: batch.is_closed(task),
                before: false,
                reader: Reader::default(),
                ended: Vec::new(),
            })
        };
        let members = (0..batch.tasks()).map(member).collect::<Result<_, Failure>>()?;
        Ok(Open { job: batch.job(), batch, members })
    }

    /// Takes what the queue says about tasks of this batch. A job that nobody noted is noted now.
    pub fn look(&mut self, rows: &[Row]) {
        let mut seen = vec![None; self.members.len()];
        for row in rows.iter().filter(|row| row.name == self.batch.name()) {
            self.job = self.job.or(Some(row.job));
            if let Some(stand) = seen.get_mut(row.task).filter(|_| self.job == Some(row.job)) {
                *stand = Some(row.stand.clone());
            }
        }
        for (member, stand) in self.members.iter_mut().zip(seen) {
            let stand = stand.unwrap_or(Stand::Over(End::Unknown));
            match stand {
                Stand::Over(_) => drop(member.over.get_or_insert_with(Instant::now)),
                _ => member.over = None,
            }
            member.stand = Some(stand);
        }
    }

    /// Says so if the job waits for a person.
    pub fn held_back(&self) -> Option<String> {
        let job = self.job?;
        let held = |reason: &str| reason.to_ascii_lowercase().contains("held");
        let reason =
            self.members.iter().filter(|member| !member.settled).find_map(|member| match &member.stand {
                Some(Stand::Pending(reason)) if held(reason) => Some(reason.clone()),
                _ => None,
            })?;
        Some(format!("Slurm holds job {job} back ({reason}); `scontrol release {job}` releases it"))
    }

    /// Reads on in the journals of tasks that are not settled.
    pub fn read(&mut self) {
        let folder = &self.batch.folder;
        for (task, member) in self.members.iter_mut().enumerate().filter(|(_, member)| !member.settled) {
            for (start, line) in member.reader.next(folder, task) {
                member.take(start, line);
            }
        }
    }
}

impl Member {
    fn take(&mut self, start: usize, line: Line) {
        if self.ended.len() <= start {
            self.ended.resize(start + 1, 0);
        }
        let (key, state) = match line {
            Line::Start { host, .. } => {
                self.host = host;
                self.refused = None;
                self.killed = false;
                return;
            }
            Line::Refused { reason } => {
                self.refused = Some(reason);
                return;
            }
            Line::Killed { key: _ } => {
                self.killed = true;
                return;
            }
            Line::End => return,
            Line::Begin { key } => (key, PointState::Running(start)),
            Line::Done { key, seconds } => (key, PointState::Done(seconds)),
            Line::Failed { key, reason } => (key, PointState::Failed(reason)),
        };
        if !matches!(state, PointState::Running(_)) {
            self.ended[start] += 1;
        }
        let place = self.by_key.binary_search_by(|place| self.held[*place].request.key.cmp(&key));
        if let Ok(place) = place {
            let held = &mut self.held[self.by_key[place]];
            if !matches!(held.state, PointState::Done(_)) {
                held.state = state;
            }
        }
    }

    /// Points that failed under an earlier command are run again by this one, as they are on this machine.
    pub fn forget_failures(&mut self) {
        self.before = true;
        for held in &mut self.held {
            if matches!(held.state, PointState::Failed(_)) {
                held.state = PointState::Waiting;
            }
        }
    }

    pub fn is_live(&self) -> bool {
        !self.settled && matches!(self.stand, Some(Stand::Pending(_) | Stand::Running))
    }

    pub fn is_running(&self) -> bool {
        !self.settled && matches!(self.stand, Some(Stand::Running))
    }

    /// Points of which something is left to do.
    pub fn unsettled(&self) -> usize {
        if self.settled { 0 } else { self.held.iter().filter(|held| !held.settled).count() }
    }

    /// How often it was started.
    pub fn starts(&self) -> usize {
        self.reader.starts()
    }

    /// The last start ended a point.
    pub fn ran_others(&self) -> bool {
        self.ended.last().is_some_and(|ended| *ended > 0)
    }

    /// A point was begun, by any start.
    pub fn began(&self) -> bool {
        self.held.iter().any(|held| held.state != PointState::Waiting)
    }

    /// Whether the last start had begun this point and not ended it, or said to have kept a result that is not there.
    pub fn is_under_way(&self, held: &Held) -> bool {
        match held.state {
            PointState::Running(start) => start + 1 == self.ended.len(),
            PointState::Done(_) => true,
            PointState::Waiting | PointState::Failed(_) => false,
        }
    }
}
