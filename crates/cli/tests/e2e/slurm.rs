// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps and papers on Slurm, against a Slurm of tests/slurm/fake.py whose tasks are processes of this machine: what ends up in the folder is what a local run leaves,
//! whatever happens to tasks, to the queue and to the process that submits. tests/slurm/run.py does the same with a real one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Folder, Ran, command, finish, root, warpwatt};
use crate::resume::files;

/// Twelve points; at 0.06 s each, tasks have four of them.
const SWEEP: &str = "name = \"s\"\nworkloads = [\"vecadd@tiny\"]\nseeds = [1, 2]\ntechniques = [\"none\", \"drowsy\"]\n\
                     [parameters]\nsm.ctas = [1, 2, 4]\n\
                     [slurm]\npoint_seconds = 0.06\ntask_minutes = 0.004\ngrace_seconds = 0.3\npoll_seconds = 0.1\n";
const POINTS: usize = 12;

/// A cluster of its own, gone with the test.
struct Cluster {
    folder: Folder,
    file: String,
    out: String,
}

impl Cluster {
    fn new(config: Value) -> Cluster {
        Cluster::with(config, SWEEP)
    }

    fn with(config: Value, sweep: &str) -> Cluster {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("state")).expect("a folder");
        folder.file("state/config.json", &config.to_string());
        let installed = Command::new("python3")
            .args(["-S", "-E"])
            .arg(root().join("tests/slurm/fake.py"))
            .args(["install", &folder.path("bin")])
            .status();
        assert!(installed.expect("python3 is there").success());
        let (file, out) = (folder.file("s.toml", sweep), folder.path("out"));
        Cluster { folder, file, out }
    }

    /// The program with this cluster's commands.
    fn command(&self) -> Command {
        let mut command = command();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path("bin")));
        command.env("FAKE_SLURM", self.folder.path("state"));
        command
    }

    fn sweep(&self, more: &[&str]) -> Ran {
        finish(self.command().args(["sweep", &self.file, "--out", &self.out, "--engine", "slurm"]).args(more))
    }

    fn status(&self) -> Value {
        finish(self.command().args(["sweep", "status", &self.out, "--json", "-"])).expect(0).json()
    }

    fn state(&self) -> Value {
        let path = Path::new(&self.folder.path("state")).join("state.json");
        std::fs::read_to_string(path).map_or(Value::Null, |text| serde_json::from_str(&text).expect("whole"))
    }

    /// Options of every call of `sbatch` that was taken.
    fn submitted(&self) -> Vec<String> {
        let state = self.state();
        let jobs = state["jobs"].as_object().into_iter().flatten();
        jobs.map(|(_, job)| job["words"].to_string()).collect()
    }

    /// Tasks that wait or run.
    fn live(&self) -> usize {
        let state = self.state();
        let jobs = state["jobs"].as_object().into_iter().flatten();
        let tasks = jobs.flat_map(|(_, job)| job["tasks"].as_object().into_iter().flatten());
        tasks
            .filter(|(_, task)| ["PENDING", "RUNNING"].contains(&task["state"].as_str().unwrap_or("")))
            .count()
    }

    /// How often each point was kept, by the journals of all tasks.
    fn kept(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for journal in journals(Path::new(&self.out)) {
            for line in std::fs::read_to_string(journal).expect("a journal").lines() {
                if let Some(key) = serde_json::from_str::<Value>(line)
                    .ok()
                    .and_then(|line| line["done"]["key"].as_str().map(str::to_owned))
                {
                    *found.entry(key).or_default() += 1;
                }
            }
        }
        found
    }

    fn points(&self) -> usize {
        std::fs::read_dir(Path::new(&self.out).join("points")).into_iter().flatten().flatten().count()
    }

    /// All files but those about Slurm.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = files(Path::new(&self.out));
        found.retain(|name, _| !name.starts_with("slurm/"));
        found
    }

    /// The folder is what a run on this machine leaves, and no point was run twice.
    fn is_as_local(&self) {
        let local = self.folder.path("local");
        warpwatt(&["sweep", &self.file, "--out", &local]).expect(0);
        let (expected, found) = (files(Path::new(&local)), self.files());
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (name, bytes) in expected {
            assert!(found[&name] == bytes, "{name} differs");
        }
    }

    fn each_point_was_kept_once(&self) {
        let kept = self.kept();
        assert_eq!((kept.len(), kept.values().max()), (POINTS, Some(&1)), "{kept:?}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Tasks of a test that failed do not stay behind.
        let state = self.state();
        let names =
            state["jobs"].as_object().into_iter().flatten().filter_map(|(_, job)| job["name"].as_str());
        let names = format!("--name={}", names.collect::<Vec<_>>().join(","));
        let _ = Command::new(self.folder.path("bin/scancel"))
            .arg(names)
            .env("FAKE_SLURM", self.folder.path("state"))
            .stderr(Stdio::null())
            .status();
    }
}

fn journals(out: &Path) -> Vec<PathBuf> {
    let batches = std::fs::read_dir(out.join("slurm")).into_iter().flatten().flatten();
    let files = batches.flat_map(|batch| std::fs::read_dir(batch.path()).into_iter().flatten().flatten());
    files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "journal"))
        .collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "it never came: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_sweep_on_slurm_ends_as_on_this_machine() {
    let cluster = Cluster::new(json!({}));
    cluster.sweep(&[]).expect(0).says("0 of 12 points reused, 12 simulated").says("3 tasks are in the queue");
    let submitted = cluster.submitted();
    assert!(submitted.len() == 1 && submitted[0].contains("--array=0-2"), "{submitted:?}");
    assert!(submitted[0].contains("--mem=1024M") && submitted[0].contains("--time=60"), "{submitted:?}");
    cluster.each_point_was_kept_once();
    let status = cluster.status();
    assert_eq!((&status["done"], &status["lost"], &status["points"]), (&12.into(), &0.into(), &12.into()));
    cluster.is_as_local();
    // Nothing is left to do, and nothing is submitted.
    cluster.sweep(&[]).expect(0).says("12 of 12 points reused, 0 simulated");
    assert_eq!(cluster.submitted().len(), 1);
}

#[test]
fn tasks_that_are_lost_requeued_preempted_or_timed_out_repeat_no_point() {
    let faults = json!([
        {"kind": "requeue", "start": 0, "after": 2},
        {"kind": "preempt", "start": 1, "after": 1},
        {"kind": "timeout", "start": 2, "after": 1},
        {"kind": "lost", "start": 3, "after": 1},
    ]);
    for extra in [json!({"faults": faults.clone()}), json!({"faults": faults, "forget": true, "sacct": true})]
    {
        let cluster = Cluster::new(extra);
        cluster.sweep(&[]).expect(0).says("0 of 12 points reused, 12 simulated").says("submitted again");
        cluster.each_point_was_kept_once();
        cluster.is_as_local();
    }
}

#[test]
fn a_task_that_goes_on_while_another_took_its_place_stops() {
    let cluster = Cluster::new(json!({"slots": 1, "faults": [{"kind": "zombie", "start": 0, "after": 1}]}));
    cluster.sweep(&[]).expect(0);
    // At most the point that it ran just then was run twice, and none was kept twice.
    let kept = cluster.kept();
    assert!(kept.len() == POINTS && kept.values().sum::<usize>() <= POINTS + 1, "{kept:?}");
    cluster.is_as_local();
}

#[test]
fn a_task_that_is_killed_for_memory_is_tried_once_with_more() {
    for kind in ["oom", "killed"] {
        let cluster = Cluster::new(
            json!({"slots": 1, "faults": [{"kind": kind, "start": 1, "after": 1, "below_mb": 2048}]}),
        );
        let ran =
            cluster.sweep(&[]).expect(0).says("exceeded its memory, and is submitted again with 2048 MB");
        assert!(ran.err.contains("vecadd@tiny/"), "the point is named: {}", ran.err);
        assert_eq!(cluster.submitted().iter().filter(|words| words.contains("--mem=2048M")).count(), 1);
        cluster.each_point_was_kept_once();
        cluster.is_as_local();
    }
    // What 2 GB are not enough for either has failed, and says so.
    let one = SWEEP
        .replace("seeds = [1, 2]\n", "")
        .replace("techniques = [\"none\", \"drowsy\"]\n", "")
        .replace("[1, 2, 4]", "[1]")
        .replace("vecadd@tiny", "bfs@small");
    let cluster = Cluster::with(json!({"faults": [{"kind": "oom", "every": true}]}), &one);
    let ran = cluster
        .sweep(&[])
        .expect(1)
        .says("1024 MB were not enough, nor were 2048")
        .says("`memory` in `[slurm]`");
    assert!(ran.err.contains("1 of 1 points failed"), "{}", ran.err);
    assert_eq!(cluster.submitted().len(), 2);
    let status = cluster.status();
    assert_eq!(status["failed"], 1);
    assert!(
        status["failed_points"][0]["reason"].as_str().is_some_and(|reason| reason.contains("memory")),
        "{status}"
    );
}

#[test]
fn a_queue_that_is_full_gets_waves() {
    let cluster = Cluster::with(
        json!({"max_submit": 2, "max_array": 1001, "refuse": ["Batch job submission failed: Slurm temporarily unable to accept job, sleeping and retrying"]}),
        &SWEEP.replace("task_minutes = 0.004", "task_minutes = 0.002"),
    );
    cluster
        .sweep(&[])
        .expect(0)
        .says("Slurm does not answer")
        .says("points wait for the queue")
        .says("the queue accepts tasks again");
    assert!(cluster.submitted().len() >= 3, "six tasks, two at a time");
    cluster.each_point_was_kept_once();
    // The cluster's own limit of arrays is asked for; another one is found out.
    let small = Cluster::new(json!({"max_array": 2}));
    small.sweep(&[]).expect(0);
    assert!(
        small.submitted().iter().all(|words| words.contains("--array=0-1") || words.contains("--array=0-0"))
    );
    let told = Cluster::with(json!({}), &format!("{SWEEP}max_array = 1\nmax_queued = 2\n"));
    told.sweep(&[]).expect(0);
    assert_eq!(told.submitted().len(), 3);
}

#[test]
fn an_answer_of_sbatch_that_is_lost_submits_nothing_twice() {
    let cluster = Cluster::new(json!({"lost_reply": [0]}));
    cluster.sweep(&[]).expect(0);
    assert_eq!(cluster.submitted().len(), 1, "the queue was asked");
    cluster.each_point_was_kept_once();
}

#[test]
fn results_that_appear_late_are_waited_for() {
    let lag = json!({"faults": [{"kind": "lag", "every": true, "seconds": 0.7}]});
    let cluster = Cluster::with(lag, &SWEEP.replace("grace_seconds = 0.3", "grace_seconds = 30"));
    cluster.sweep(&[]).expect(0);
    assert_eq!(cluster.submitted().len(), 1, "nothing was taken for lost");
    cluster.each_point_was_kept_once();
    cluster.is_as_local();
}

#[test]
fn what_cannot_be_submitted_is_told_with_what_to_do() {
    // No Slurm.
    let folder = Folder::new();
    let (file, out) = (folder.file("s.toml", SWEEP), folder.path("out"));
    let mut alone = command();
    alone.env("PATH", folder.path("")).args(["sweep", &file, "--out", &out, "--engine", "slurm"]);
    finish(&mut alone).expect(2).says("`sbatch` was not found").says("without `--engine slurm`");
    assert!(!Path::new(&out).exists(), "nothing is made for nothing");
    warpwatt(&["sweep", &file, "--out", &out, "--detach"]).expect(2).says("add `--engine slurm`");
    // A cluster that will never take it.
    let wrong = "invalid partition specified: shrot\nsbatch: error: Batch job submission failed: Invalid partition name specified";
    let cluster = Cluster::new(json!({"refuse": [wrong]}));
    cluster.sweep(&[]).expect(2).says("invalid partition specified: shrot").says("`[slurm]`");
    assert_eq!(cluster.live(), 0);
    // Tasks that end before they run anything.
    let broken = Cluster::new(json!({"faults": [{"kind": "crash", "every": true}]}));
    broken.sweep(&[]).expect(1).says("3 times before it began, with FAILED (exit code 1): it is broken");
    // A table that is wrong, in the sweep file and in a file of its own.
    let bad = Cluster::with(json!({}), &SWEEP.replace("poll_seconds", "pol_seconds"));
    bad.sweep(&[]).expect(2).says("s.toml:").says("did you mean `poll_seconds`?");
    let file = bad.folder.file("c.toml", "[slurm]\nmemori = 3\n");
    let good = Cluster::new(json!({}));
    good.sweep(&["--slurm", &file]).expect(2).says("c.toml:2:").says("did you mean `memory`?");
    let none = bad.folder.file("d.toml", "workloads = [\"bfs\"]\n");
    good.sweep(&["--slurm", &none]).expect(2).says("has no table `[slurm]`");
}

#[test]
fn a_second_submission_joins_the_first() {
    let cluster = Cluster::new(json!({"slots": 0}));
    cluster.sweep(&["--detach"]).expect(0);
    assert_eq!((cluster.live(), cluster.submitted().len()), (3, 1));
    let status = cluster.status();
    assert_eq!(
        (&status["waiting"], &status["tasks_waiting"], &status["watched"]),
        (&12.into(), &3.into(), &false.into())
    );
    // Another one submits nothing, and a local run does not run what the queue has.
    cluster.sweep(&["--detach"]).expect(0).says("3 tasks of this folder are in the queue already");
    assert_eq!(cluster.submitted().len(), 1);
    finish(cluster.command().args(["sweep", &cluster.file, "--out", &cluster.out]))
        .expect(2)
        .says("in the queue of Slurm");
    // By the file as well as by the folder.
    let by_file =
        finish(cluster.command().args(["sweep", "status", &cluster.file, "--out", &cluster.out])).expect(0);
    assert!(by_file.out.contains("waiting") && by_file.out.contains("goes on"), "{}", by_file.out);
    cluster.folder.file("state/config.json", "{}");
    cluster.sweep(&[]).expect(0).says("they are joined");
    assert_eq!(cluster.submitted().len(), 1);
    cluster.each_point_was_kept_once();
    cluster.is_as_local();
    // A folder that is in use is not joined but refused.
    let busy = Cluster::new(json!({"slots": 0}));
    let mut first = busy.command();
    first
        .args(["sweep", &busy.file, "--out", &busy.out, "--engine", "slurm"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut first = first.spawn().expect("it starts");
    until("tasks in the queue", || busy.live() == 3);
    busy.sweep(&[]).expect(2).says("another warpwatt process is using").says("sweep status");
    let ran = finish(busy.command().args(["sweep", "cancel", &busy.out])).expect(0);
    assert!(ran.out.contains("were cancelled") && busy.live() == 0, "{}", ran.out);
    first.kill().expect("it is ours");
    first.wait().expect("it ends");
}

#[test]
fn ctrl_c_takes_everything_back() {
    let cluster =
        Cluster::with(json!({"slots": 1}), &SWEEP.replace("seeds = [1, 2]", "seeds = [1, 2, 3, 4, 5, 6]"));
    let mut child = cluster.command();
    child.args(["sweep", &cluster.file, "--out", &cluster.out, "--engine", "slurm"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    until("a point", || cluster.points() > 0);
    // SAFETY: a plain C call; the process is ours.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("no task of this folder is in the queue") && said.contains("--engine slurm"),
        "{said}"
    );
    assert_eq!(cluster.live(), 0);
    let before = cluster.points();
    let ran = cluster.sweep(&[]).expect(0);
    assert!(!ran.err.contains("0 of 36 points reused") && before > 0, "{}", ran.err);
    assert!(cluster.kept().values().all(|kept| *kept == 1));
    cluster.is_as_local();
}

#[test]
fn a_submitter_that_is_killed_at_any_moment_is_taken_over() {
    let cluster = Cluster::new(
        json!({"faults": [{"kind": "requeue", "start": 1, "after": 1}, {"kind": "lost", "start": 3, "after": 0}]}),
    );
    // Moments of the submission itself, and then of waiting.
    for pause in [0, 40, 90, 160, 250, 400] {
        let mut child = cluster.command();
        child.args(["sweep", &cluster.file, "--out", &cluster.out, "--engine", "slurm"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        until("the folder", || Path::new(&cluster.out).join("slurm/points.txt").exists());
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        let status = cluster.status();
        let sum: u64 = ["done", "running", "waiting", "late", "failed", "lost", "unsubmitted"]
            .iter()
            .map(|kind| status[kind].as_u64().expect("a number"))
            .sum();
        assert_eq!((sum, &status["watched"]), (POINTS as u64, &false.into()), "{status}");
    }
    cluster.sweep(&[]).expect(0);
    cluster.each_point_was_kept_once();
    assert_eq!(cluster.live(), 0);
    cluster.is_as_local();
}

#[test]
fn a_paper_runs_on_slurm() {
    let cluster = Cluster::new(json!({}));
    let args = |out: &str| {
        [
            "paper",
            "warped-compression",
            "--size",
            "tiny",
            "--seeds",
            "1",
            "--workloads",
            "vecadd",
            "--out",
            out,
        ]
        .map(str::to_owned)
    };
    let on_slurm = cluster.folder.path("paper");
    let more = ["--engine", "slurm", "--slurm", &cluster.file];
    finish(cluster.command().args(args(&on_slurm)).args(more)).expect(0);
    let local = cluster.folder.path("paper-local");
    finish(command().args(args(&local))).expect(0);
    let mut found = files(Path::new(&on_slurm));
    found.retain(|name, _| !name.starts_with("slurm/"));
    assert!(found == files(Path::new(&local)), "a file differs");
    let status = finish(cluster.command().args(["sweep", "status", &on_slurm])).expect(0);
    assert!(status.out.contains("done"), "{}", status.out);
}
