// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points: one run each, planned and run in the same way for `paper`, `sweep` and `point`.
//!
//! `task` resolves a requested point to one that can be run, with the key of its result; `pool` runs the missing ones, several at a
//! time; `run` runs one, a workload in this process and a program by `exec`; `folder` keeps results, `found` those
//! that are in memory; `tables` writes the data set.

mod alone;
pub mod folder;
mod found;
pub mod own;
pub mod pool;
mod program;
pub mod progress;
pub mod run;
mod tables;
mod task;

pub use alone::point;
pub use folder::{Folder, Purpose};
pub use found::FoundPoints;
pub use pool::Outcome;
pub use tables::{Row, Tables};
pub use task::{Planner, Task};

use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::run::cores;

/// Points that run at the same time, each on one thread: as many as requested, at most the number of cores.
pub fn jobs(asked: Option<u32>, console: &Console) -> u32 {
    let jobs = asked.unwrap_or_else(cores).min(cores());
    if let Some(asked) = asked.filter(|asked| *asked > jobs) {
        console.note(&format!("{jobs} runs in parallel instead of {asked}: the machine has no more cores"));
    }
    jobs
}

pub fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}

/// Maximum number of failed points that are listed; the log has all of them.
const TOLD: usize = 10;

/// Says which points failed, and how to run them alone.
pub fn told_failures(tasks: &[Task], failed: &[(usize, String)], console: &Console) {
    for (task, reason) in failed.iter().take(TOLD) {
        let task = &tasks[*task];
        console.warn(&format!("{} failed: {reason}\n  {}", task.name, task.point.command()));
    }
    if failed.len() > TOLD {
        console.warn(&format!("{} more failed", failed.len() - TOLD));
    }
}
