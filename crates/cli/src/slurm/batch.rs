// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches: what was, or is about to be, submitted as one array job, as a folder `slurm/batch-NNNN` beside the points.
//!
//! | file | what it is |
//! |---|---|
//! | `batch.json` | name of the job, number of tasks, what they may use; written last, so that a batch without it was never submitted |
//! | `task-T.jsonl` | the points of task T, one a line |
//! | `script.sh` | what a task runs |
//! | `job` | number of the job, once Slurm has taken it |
//! | `task-T.N.journal` | what task T did when it was started for the Nth time |
//! | `task-T.out` | what task T printed |
//! | `task-T.closed`, `closed` | the task, or the whole batch, is done with: whoever still works on it stops before its next point |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use warpwatt_papers::Point;
use warpwatt_results::sha256_hex;

use super::queue::{self, Job};
use super::script;
use super::settings::Settings;
use crate::exit::Failure;
use crate::points::folder::write_whole;
use crate::points::{internal, own};

/// The folder of everything about Slurm, beside the points.
pub const SLURM: &str = "slurm";
const SCHEMA: &str = "warpwatt.batch/1";
const PREFIX: &str = "batch-";
const ABOUT: &str = "batch.json";
const JOB: &str = "job";
const CLOSED: &str = "closed";

/// One point of a task's list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub key: String,
    /// What messages call it.
    pub name: String,
    /// How often its task ended while it ran.
    pub tries: u32,
    /// What it is expected to take.
    pub seconds: f64,
    pub point: Point,
}

/// What the one who waits for a point has to know of it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Brief {
    pub key: String,
    pub name: String,
    pub tries: u32,
    pub seconds: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct About {
    schema: String,
    /// Of the job.
    name: String,
    tasks: usize,
    memory_mb: u64,
    time_minutes: u64,
    cpus: u32,
    /// What it is submitted by.
    sbatch: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Batch {
    pub folder: PathBuf,
    about: About,
}

/// What a batch may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub memory_mb: u64,
    pub time_minutes: u64,
}

impl Batch {
    /// Writes a batch that is ready to be submitted. `out` is the absolute path of the folder of results.
    pub fn create(
        out: &Path,
        lists: &[Vec<Request>],
        limits: Limits,
        settings: &Settings,
    ) -> Result<Batch, Failure> {
        let root = out.join(SLURM);
        let number = numbers(&root).last().map_or(1, |last| last + 1);
        let folder = root.join(format!("{PREFIX}{number:04}"));
        let failed = |error: io::Error| Failure::io("write into", &folder, &error);
        fs::create_dir_all(&folder).map_err(failed)?;
        for (task, list) in lists.iter().enumerate() {
            let mut text = String::new();
            for request in list {
                text += &serde_json::to_string(request).map_err(internal)?;
                text.push('\n');
            }
            fs::write(list_file(&folder, task), text).map_err(failed)?;
        }
        let program = own::words().map_err(failed)?;
        let script = folder.join("script.sh");
        fs::write(&script, script::text(&program, &folder)).map_err(failed)?;
        // No two folders have jobs of the same name.
        let name = format!("ww-{}-{number:04}", &sha256_hex(out.as_os_str().as_encoded_bytes())[..10]);
        let Limits { memory_mb, time_minutes } = limits;
        let job = Job {
            name: &name,
            tasks: lists.len(),
            folder: &folder,
            script: &script,
            memory_mb,
            time_minutes,
        };
        let cwd = std::env::current_dir().map_err(failed)?;
        let sbatch = queue::words(&job, settings, &cwd);
        let about = About {
            schema: SCHEMA.to_owned(),
            tasks: lists.len(),
            memory_mb,
            time_minutes,
            cpus: settings.cpus,
            name,
            sbatch,
        };
        let text = warpwatt_results::json::to_text(&about).map_err(internal)?;
        write_whole(&folder.join(ABOUT), text.as_bytes()).map_err(failed)?;
        Ok(Batch { folder, about })
    }

    pub fn load(folder: &Path) -> Option<Batch> {
        let about: About = serde_json::from_str(&fs::read_to_string(folder.join(ABOUT)).ok()?).ok()?;
        (about.schema == SCHEMA).then(|| Batch { folder: folder.to_owned(), about })
    }

    /// Batches of a folder of results that are not closed, in their order.
    pub fn open(out: &Path) -> Vec<Batch> {
        let root = out.join(SLURM);
        let folders = numbers(&root).into_iter().map(|number| root.join(format!("{PREFIX}{number:04}")));
        folders
            .filter(|folder| !folder.join(CLOSED).exists())
            .filter_map(|folder| Batch::load(&folder))
            .collect()
    }

    /// Removes what a process that was stopped while it wrote a batch left: no job knows of it.
    pub fn clear_unfinished(out: &Path) {
        let root = out.join(SLURM);
        for number in numbers(&root) {
            let folder = root.join(format!("{PREFIX}{number:04}"));
            if !folder.join(ABOUT).exists() {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// Removes a batch that was not submitted.
    pub fn remove(self) {
        let _ = fs::remove_dir_all(self.folder);
    }

    pub fn name(&self) -> &str {
        &self.about.name
    }

    pub fn tasks(&self) -> usize {
        self.about.tasks
    }

    pub fn cpus(&self) -> u32 {
        self.about.cpus
    }

    pub fn limits(&self) -> Limits {
        Limits { memory_mb: self.about.memory_mb, time_minutes: self.about.time_minutes }
    }

    pub fn sbatch(&self) -> &[String] {
        &self.about.sbatch
    }

    /// The points of a task: [`Request`]s, or [`Brief`] ones.
    pub fn list<T: DeserializeOwned>(&self, task: usize) -> Result<Vec<T>, Failure> {
        let path = list_file(&self.folder, task);
        let text = fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
        let read = |line: &str| serde_json::from_str(line);
        text.lines()
            .map(read)
            .collect::<Result<_, _>>()
            .map_err(|error| internal(format!("{}: {error}", path.display())))
    }

    /// The number of its job, if Slurm is known to have taken it.
    pub fn job(&self) -> Option<u64> {
        fs::read_to_string(self.folder.join(JOB)).ok()?.trim().parse().ok()
    }

    pub fn set_job(&self, job: u64) -> Result<(), Failure> {
        let path = self.folder.join(JOB);
        write_whole(&path, format!("{job}\n").as_bytes()).map_err(|error| Failure::io("write", &path, &error))
    }

    /// Nobody is to work on it any more.
    pub fn close(&self) -> Result<(), Failure> {
        mark(&self.folder.join(CLOSED))
    }

    pub fn close_task(&self, task: usize) -> Result<(), Failure> {
        mark(&self.closed_file(task))
    }

    pub fn is_closed(&self, task: usize) -> bool {
        self.closed_file(task).exists() || self.folder.join(CLOSED).exists()
    }

    fn closed_file(&self, task: usize) -> PathBuf {
        self.folder.join(format!("task-{task}.{CLOSED}"))
    }

    /// The last lines that a task printed.
    pub fn printed(&self, task: usize, lines: usize) -> String {
        let text = fs::read(self.folder.join(format!("task-{task}.out"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        all[all.len().saturating_sub(lines)..].join("; ")
    }

    /// Seconds since a task last gave a sign of life in the folder.
    pub fn silent_seconds(&self, task: usize, starts: usize) -> Option<f64> {
        let journals = (0..starts).map(|start| self.folder.join(format!("task-{task}.{start}.journal")));
        let files = journals.chain([self.folder.join(format!("task-{task}.out")), self.folder.join(JOB)]);
        let times = files.filter_map(|file| fs::metadata(file).ok()?.modified().ok()?.elapsed().ok());
        times.map(|time| time.as_secs_f64()).reduce(f64::min)
    }
}

fn list_file(folder: &Path, task: usize) -> PathBuf {
    folder.join(format!("task-{task}.jsonl"))
}

fn mark(path: &Path) -> Result<(), Failure> {
    fs::write(path, "").map_err(|error| Failure::io("write", path, &error))
}

/// Numbers of batches, in order.
fn numbers(root: &Path) -> Vec<u32> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let number = |name: String| name.strip_prefix(PREFIX)?.parse().ok();
    let mut found: Vec<u32> =
        entries.filter_map(|entry| number(entry.file_name().to_string_lossy().into_owned())).collect();
    found.sort_unstable();
    found
}
