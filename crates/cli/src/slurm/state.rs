// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process that submits leaves for `status`: the points of the sweep, what has failed, and that it is still there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::batch::SLURM;
use crate::exit::Failure;
use crate::points::folder::Folder;
use crate::points::internal;

const SCHEMA: &str = "warpwatt.slurm-state/1";
const STATE: &str = "state.json";
const POINTS: &str = "points.txt";
/// Time between two signs of life.
const ALIVE: Duration = Duration::from_secs(30);

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    pub schema: String,
    /// The command that goes on.
    pub command: String,
    pub host: String,
    pub pid: u32,
    /// The process has not ended its wait for points; it may go on with something else afterwards.
    pub waits: bool,
    pub poll_seconds: f64,
    pub grace_seconds: f64,
    /// Reasons by key.
    pub failed: BTreeMap<String, String>,
    /// Points that wait for room in the queue.
    pub unsubmitted: usize,
    #[serde(skip)]
    saved: Option<Instant>,
}

impl State {
    pub fn new(command: String, poll_seconds: f64, grace_seconds: f64) -> State {
        State {
            schema: SCHEMA.to_owned(),
            command,
            host: host(),
            pid: std::process::id(),
            waits: true,
            poll_seconds,
            grace_seconds,
            failed: BTreeMap::new(),
            unsubmitted: 0,
            saved: None,
        }
    }

    /// Writes it if something changed, and now and then as a sign of life.
    pub fn save(
        &mut self,
        folder: &Folder,
        failed: BTreeMap<String, String>,
        unsubmitted: usize,
    ) -> Result<(), Failure> {
        let fresh = self.saved.is_some_and(|at| at.elapsed() < ALIVE);
        if fresh && self.failed == failed && self.unsubmitted == unsubmitted {
            return Ok(());
        }
        (self.failed, self.unsubmitted) = (failed, unsubmitted);
        self.write(folder)
    }

    /// Says that the process does not wait for points any more.
    pub fn leave(&mut self, folder: &Folder) -> Result<(), Failure> {
        self.waits = false;
        if self.saved.is_some() { self.write(folder) } else { Ok(()) }
    }

    fn write(&mut self, folder: &Folder) -> Result<(), Failure> {
        let text = warpwatt_results::json::to_text(self).map_err(internal)?;
        folder.write(&format!("{SLURM}/{STATE}"), text.as_bytes())?;
        self.saved = Some(Instant::now());
        Ok(())
    }

    pub fn load(out: &Path) -> Option<State> {
        let text = std::fs::read_to_string(out.join(SLURM).join(STATE)).ok()?;
        let state: State = serde_json::from_str(&text).ok()?;
        (state.schema == SCHEMA).then_some(state)
    }

    /// Whether the process that wrote it still waits: by what it wrote last, and whether it is still there, by its number on this machine, by its last sign of life from another.
    pub fn is_watched(&self, out: &Path) -> bool {
        if !self.waits {
            return false;
        }
        if self.host == host() {
            // SAFETY: a plain C call; signal 0 only asks whether the process exists.
            return unsafe { libc::kill(self.pid as libc::pid_t, 0) == 0 };
        }
        let written = std::fs::metadata(out.join(SLURM).join(STATE)).and_then(|meta| meta.modified());
        let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        let patience = ALIVE + Duration::from_secs_f64(2.0 * self.poll_seconds + self.grace_seconds);
        age.is_some_and(|age| age < patience)
    }
}

/// Keeps keys and names of all points, for a status that has no sweep file.
pub fn write_points<'a>(
    folder: &Folder,
    points: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), Failure> {
    let mut text = String::new();
    for (key, name) in points {
        let _ = writeln!(text, "{key} {}", name.replace('\n', " "));
    }
    folder.write(&format!("{SLURM}/{POINTS}"), text.as_bytes())
}

/// Keys and names of all points of a folder that was run on Slurm.
pub fn read_points(out: &Path) -> Option<Vec<(String, String)>> {
    let text = std::fs::read_to_string(out.join(SLURM).join(POINTS)).ok()?;
    Some(
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(key, name)| (key.to_owned(), name.to_owned()))
            .collect(),
    )
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
