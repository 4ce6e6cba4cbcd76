// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the points that are not there yet, several at a time, and keeps each as soon as it is done.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use warpwatt_papers::PointRecord;

use super::folder::Folder;
use super::plan::Plan;
use super::point::{self, Missing};
use super::progress::Progress;
use crate::console::Console;
use crate::exit::Failure;

/// What there is when all points were gone through.
pub struct Outcome {
    /// For each task, in their order.
    pub records: Vec<Option<PointRecord>>,
    /// Tasks that failed, and why.
    pub failed: Vec<(usize, String)>,
    /// Points that an earlier call left.
    pub there: usize,
    /// Points that were run now.
    pub run: usize,
    pub interrupted: bool,
}

pub fn run(
    plan: &Plan,
    folder: &Folder,
    jobs: u32,
    flag: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Outcome, Failure> {
    let records: Vec<_> = plan.tasks.iter().map(|task| folder.point(&task.key)).collect();
    let todo: Vec<usize> = (0..records.len()).filter(|task| records[*task].is_none()).collect();
    let there = records.len() - todo.len();
    let progress = Progress::new(console.live, there, records.len());
    let shared = Mutex::new((
        Outcome { records, failed: Vec::new(), there, run: 0, interrupted: false },
        None::<Failure>,
    ));
    let next = AtomicUsize::new(0);
    let broken = AtomicBool::new(false);
    let worker = || {
        while !broken.load(Ordering::Relaxed) && !flag.load(Ordering::Relaxed) {
            let Some(&index) = todo.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let task = &plan.tasks[index];
            let name = task.name();
            progress.begin(&name);
            let started = Instant::now();
            let result = point::run(task, &plan.targets[task.target], flag);
            // What cannot be kept ends it all: what comes after would be lost as well.
            let kept = result.as_ref().map_or(Ok(()), |record| folder.keep(record));
            progress.end(&name, result.is_ok());
            let seconds = started.elapsed().as_secs_f64();
            let (outcome, failure) = &mut *lock(&shared);
            match (result, kept) {
                (_, Err(refused)) => {
                    failure.get_or_insert(refused);
                    broken.store(true, Ordering::Relaxed);
                }
                (Ok(record), Ok(())) => {
                    folder.log(&format!("{name} {seconds:.2} s"));
                    outcome.records[index] = Some(record);
                    outcome.run += 1;
                }
                (Err(Missing::Interrupted), _) => {}
                (Err(Missing::Failed(reason)), _) => {
                    folder.log(&format!("{name} failed: {reason}\n  {}", task.point.command()));
                    outcome.failed.push((index, reason));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..(jobs as usize).min(todo.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    drop(progress);
    let (mut outcome, failure) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = failure {
        return Err(failure);
    }
    // Points end in the order that the machine makes of it; what is told about them keeps its own.
    outcome.failed.sort_unstable();
    outcome.interrupted = flag.load(Ordering::Relaxed);
    Ok(outcome)
}

/// What a thread that panicked left is as good as anything: points are put in whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
