// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points on Slurm: `--engine slurm` of `sweep` and `paper`. docs/sweeps.md describes it from outside.
//!
//! `settings` reads the `[slurm]` table, `cost` estimates points and packs them into tasks, `batch` is what is on disk of an array job, `script` what Slurm starts, `work`
//! what a task does and `journal` what it tells, `queue` speaks with Slurm, `members` puts journals and queue together, `fate` decides about tasks that are over,
//! `engine` is the loop over all of this, `state` what it leaves for `status`, `watch` what it says.
//!
//! Invariants: a point is done when its file is there, whoever wrote it. A point is in at most one task that is not closed. A task begins no point after
//! it was closed, or after it was started anew elsewhere. Nothing is taken for lost while the queue knows its task, or before the grace period is over.

mod batch;
mod cost;
mod engine;
mod fate;
mod journal;
mod members;
mod queue;
mod script;
pub mod settings;
mod state;
mod status;
mod watch;
mod work;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::args::{Engine, EngineArgs};
use crate::console::Console;
use crate::exit::Failure;
use crate::points::{self, Folder, Task, pool};
pub use engine::Run;
pub use settings::Settings;
pub use status::{cancel, status};
pub use work::work;

/// What tasks may use, if points are to be run on Slurm: `--slurm FILE`, or the `[slurm]` table of the sweep file. Fails if this machine cannot submit.
pub fn prepare(
    how: &EngineArgs,
    table: Option<Settings>,
    console: &Console,
) -> Result<Option<Settings>, Failure> {
    if how.engine == Engine::Local {
        return match how.detach || how.slurm.is_some() {
            true => Err(Failure::usage("`--detach` and `--slurm` apply only to tasks on Slurm")
                .help("add `--engine slurm`")),
            false => Ok(None),
        };
    }
    let settings = match &how.slurm {
        Some(path) => settings::from_file(path, console)?,
        None => table.unwrap_or_default(),
    };
    queue::check()?;
    Ok(Some(settings))
}

/// Runs the points that are missing: as tasks on Slurm where there are settings for these, else by threads of this process. `command` goes on after an interrupt.
pub fn run(
    tasks: &[Task],
    folder: &Folder,
    (settings, detach): (Option<&Settings>, bool),
    (jobs, command): (Option<u32>, String),
    flag: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Run, Failure> {
    match settings {
        Some(settings) => engine::Engine::new(tasks, folder, settings, flag, console, command)?.run(detach),
        None => {
            if status::has_batches(folder.path()) {
                status::guard(folder.path(), console)?;
            }
            let jobs = points::jobs(jobs, console);
            pool::run(tasks, folder, jobs, flag, console).map(Run::Ended)
        }
    }
}
