// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the missing points, several at a time, and stores each as soon as it is done.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::folder::{Folder, POINTS};
use super::found::FoundPoints;
use super::progress::Progress;
use super::run::{self, Missing};
use super::task::Task;
use crate::console::Console;
use crate::exit::Failure;
use crate::profile::Known;

/// The outcome after all points were processed.
pub struct Outcome {
    pub found: FoundPoints,
    /// Tasks that failed, and why.
    pub failed: Vec<(usize, String)>,
    /// Points that an earlier call left.
    pub there: usize,
    /// Points that were run now.
    pub run: usize,
    pub interrupted: bool,
}

pub fn run(
    tasks: &[Task],
    folder: &Folder,
    jobs: u32,
    flag: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Outcome, Failure> {
    let found = FoundPoints::look(tasks, folder);
    let todo: Vec<usize> = (0..tasks.len()).filter(|task| found.get(*task).is_none()).collect();
    let there = tasks.len() - todo.len();
    let progress = Progress::new(console, jobs, todo.iter().map(|task| tasks[*task].name.as_str()), there);
    for (place, task) in tasks.iter().enumerate() {
        if let Some(found) = found.get(place) {
            progress.known(&task.name, found.wall_seconds);
        }
    }
    let known = Known::new(true);
    let shared = Mutex::new((
        Outcome { found, failed: Vec::new(), there, run: 0, interrupted: false },
        None::<Failure>,
    ));
    let next = AtomicUsize::new(0);
    let broken = AtomicBool::new(false);
    let worker = || {
        while !broken.load(Ordering::Relaxed) && !flag.load(Ordering::Relaxed) {
            let Some(&index) = todo.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let task = &tasks[index];
            let name = &task.name;
            progress.begin(name);
            let started = Instant::now();
            let result = run::run(task, &known, flag);
            // A result that cannot be stored ends the run: later results would be lost as well.
            let kept = result.as_ref().map_or(Ok(()), |record| folder.keep(record));
            let seconds = started.elapsed().as_secs_f64();
            progress.end(name, seconds, result.is_ok());
            let (outcome, failure) = &mut *lock(&shared);
            match (result, kept) {
                (_, Err(refused)) => {
                    failure.get_or_insert(refused);
                    broken.store(true, Ordering::Relaxed);
                }
                (Ok(record), Ok(())) => {
                    let line = format!("{name} {seconds:.2} s");
                    // Where it is, and how to run it alone.
                    folder.log(&format!("{line}, {POINTS}/{}.json\n  {}", task.key, task.point.command()));
                    if !console.live {
                        console.detail(&line);
                    }
                    outcome.found.put(index, &record);
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
    // Points finish in any order; messages about them keep the order of the plan.
    outcome.failed.sort_unstable();
    outcome.interrupted = flag.load(Ordering::Relaxed);
    Ok(outcome)
}

/// What a thread that panicked left is as good as anything: points are put in whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use warpwatt_papers::Point;

    use super::super::Purpose;
    use super::super::task::{Planner, Subject};
    use super::*;
    use crate::job::{FileJob, Job};
    use crate::launch;

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn scratch(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("warpwatt-pool-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    /// A workload without and with a technique.
    fn tasks() -> Vec<Task> {
        let mut planner = Planner::new().expect("a planner");
        let base = Point::of_workload("vecadd", "tiny", 1, "gtx480-wc", "wc45");
        let with = Point { techniques: vec!["warped-compression".to_owned()], ..base.clone() };
        [("vecadd/base", base), ("vecadd/wc", with)]
            .map(|(name, point)| planner.task(name.to_owned(), point).expect("a task"))
            .into()
    }

    /// A job whose check fails, or which is refused, after a change to an example.
    fn corrupted(from: &str, to: &str) -> Subject {
        let text = include_str!("../../../../examples/saxpy/saxpy.toml").replace(from, to);
        Subject::Job(Job::File(FileJob {
            launch: launch::read(&text).unwrap_or_else(|_| panic!("the example is a launch file")),
            launch_path: PathBuf::from("saxpy.toml"),
            launch_text: text,
            ptx_path: PathBuf::from("saxpy.ptx"),
            ptx_text: include_str!("../../../../examples/saxpy/saxpy.ptx").to_owned(),
            seed: 1,
        }))
    }

    fn run_in(scratch: &Scratch, tasks: &[Task], stop: bool) -> Outcome {
        let folder = Folder::open(&scratch.0, &Purpose::Paper("p".to_owned())).expect("a folder");
        run(tasks, &folder, 2, &Arc::new(AtomicBool::new(stop)), &Console::plain()).expect("points are kept")
    }

    #[test]
    fn points_are_run_once() {
        let (scratch, tasks) = (scratch("once"), tasks());
        let first = run_in(&scratch, &tasks, false);
        assert_eq!((first.there, first.run, first.failed.len(), first.interrupted), (0, 2, 0, false));
        let second = run_in(&scratch, &tasks, false);
        assert_eq!((second.there, second.run), (2, 0));
        assert_eq!(first.found, second.found, "what is read is what was written");
        let log = std::fs::read_to_string(scratch.0.join("log.txt")).expect("a log");
        for task in &tasks {
            let told = format!("points/{}.json\n  {}\n", task.key, task.point.command());
            assert_eq!(log.matches(&told).count(), 1, "a point's file and command are told once: {log}");
        }
    }

    #[test]
    fn what_fails_is_told_and_not_kept() {
        let (scratch, mut tasks) = (scratch("fails"), tasks());
        // The result is 1, 3, 5; memory ends behind 1000 values.
        tasks[0].subject = corrupted("start = 1, step = 2", "start = 1, step = 3");
        tasks[1].subject = corrupted("i32 = 1000", "i32 = 1024");
        for _ in 0..2 {
            let outcome = run_in(&scratch, &tasks, false);
            assert_eq!((outcome.there, outcome.run), (0, 0), "it is tried again every time");
            let reasons: Vec<_> =
                outcome.failed.iter().map(|(task, reason)| (*task, reason.as_str())).collect();
            let [(0, check), (1, fault)] = reasons[..] else { panic!("{reasons:?}") };
            assert!(check.starts_with("the check failed: "), "{check}");
            assert!(fault.starts_with("out-of-bounds access"), "{fault}");
        }
        let log = std::fs::read_to_string(scratch.0.join("log.txt")).expect("a log");
        assert!(log.contains("vecadd/base failed: the check failed"), "{log}");
        assert!(log.contains("warpwatt run vecadd@tiny --seed 1 --gpu gtx480-wc --technology wc45"), "{log}");
    }

    #[test]
    fn nothing_is_begun_after_an_interrupt() {
        let outcome = run_in(&scratch("stop"), &tasks(), true);
        assert_eq!((outcome.run, outcome.interrupted), (0, true));
    }
}
