// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in workloads through the command line: every one runs and passes, and records are stable and valid.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::common::{Folder, command, finish, warpwatt};
use crate::validate;
use serde_json::Value;

fn names() -> Vec<String> {
    let list = warpwatt(&["list", "workloads", "--json", "-"]).expect(0).json();
    let workloads = list["workloads"].as_array().expect("a list");
    workloads.iter().map(|workload| workload["name"].as_str().expect("a name").to_owned()).collect()
}

fn without_host(mut record: Value) -> String {
    record.as_object_mut().and_then(|record| record.remove("host")).expect("a record has a host part");
    serde_json::to_string_pretty(&record).expect("JSON")
}

#[test]
fn every_workload_passes_its_check_at_tiny_size() {
    let names = names();
    assert!(names.len() >= 14, "{names:?}");
    for name in names {
        let ran = warpwatt(&["run", &format!("{name}@tiny"), "--functional"]).expect(0);
        assert!(ran.out.contains("check passed"), "{}", ran.out);
        let seed = warpwatt(&["run", &name, "--size", "tiny", "--functional", "--seed", "2", "-q"]).expect(0);
        assert!(seed.out.contains("check passed"), "the result is printed: {}", seed.out);
        assert_eq!(seed.err, "", "and nothing else");
    }
}

/// All that `--check all` looks for.
const CHECKS: [&str; 5] = ["races", "uninit", "shuffles", "arrays", "leaks"];

/// What checks find in workloads, rightly: the workload, the check, its words, and the variable or line. None of it does harm.
const FINDINGS: &[(&str, &str, &str, &str)] = &[
    // All who reach a node in a level write the same distance, and who reads it early or late does the same.
    ("bfs_ispass", "races", "error: race on global memory", "bytes into `distance` "),
    // The look before the atomic only saves atomics.
    ("bfs_lonestar", "races", "error: race on global memory", "bytes into `levels` "),
    // Distances only shrink, and rounds go on until none does: one that is read too early is read again.
    ("sssp", "races", "error: race on global memory", "bytes into `distances` "),
    // Threads behind the last segment digest what they find, and write it nowhere.
    ("sto", "uninit", "error: read of uninitialised shared memory", "own[word % WORDS]"),
];

#[test]
fn every_check_finds_nothing_else_in_the_workloads() {
    for name in names() {
        for mode in ["--functional", "--threads=1"] {
            let job = format!("{name}@tiny");
            let mut checks = "all".to_owned();
            if let Some((_, check, words, place)) = FINDINGS.iter().find(|known| known.0 == name) {
                let ran = warpwatt(&["run", &job, mode, "--check", "all"]).expect(4).says(words).says(place);
                assert_eq!(ran.err.matches("error").count(), 1, "{name} {mode}: {}", ran.err);
                // The others look to the end.
                checks = CHECKS.iter().copied().filter(|other| other != check).collect::<Vec<_>>().join(",");
            }
            let ran = warpwatt(&["run", &job, mode, "--check", &checks]).expect(0);
            assert!(ran.out.contains("check passed"), "{name} {mode}: {}", ran.out);
            assert!(!ran.err.contains("warning"), "{name} {mode}: {}", ran.err);
        }
    }
}

#[test]
fn records_follow_their_schema_and_add_up() {
    let schema = warpwatt(&["schema", "run"]).expect(0).json();
    for name in ["vecadd", "scan", "bfs"] {
        let job = format!("{name}@tiny");
        let args = ["run", &job, "--functional", "--per-launch", "1000", "--json", "-"];
        let record = warpwatt(&args).expect(0).json();
        assert_eq!(validate::violation(&schema, &schema, &record, "record"), None);
        assert_eq!(record["schema"], "warpwatt.run/2");
        assert_eq!((&record["mode"], &record["status"]), (&"functional".into(), &"complete".into()));
        assert_eq!(
            (&record["inputs"]["workload"], &record["inputs"]["size"]),
            (&name.into(), &"tiny".into())
        );
        assert_eq!(record["check"]["passed"], true);
        let kernels = record["kernels"].as_array().expect("kernels");
        let total =
            |key: &str| kernels.iter().map(|kernel| kernel[key].as_u64().expect("a count")).sum::<u64>();
        assert_eq!(record["totals"]["warp_instructions"], total("warp_instructions"));
        assert_eq!(record["totals"]["thread_instructions"], total("thread_instructions"));
        for kernel in kernels {
            let lines = kernel["lines"].as_array().expect("lines");
            let issued: u64 =
                lines.iter().map(|line| line["warp_instructions"].as_u64().expect("a count")).sum();
            assert_eq!(kernel["warp_instructions"], issued, "every instruction belongs to a line");
            assert!(lines.iter().any(|line| line["file"] == format!("{name}.cu")));
        }
    }
}

#[test]
fn a_schema_violation_is_noticed() {
    let schema = warpwatt(&["schema", "run"]).expect(0).json();
    let record = warpwatt(&["run", "vecadd@tiny", "--functional", "--json", "-"]).expect(0).json();
    for (pointer, value) in
        [("/mode", Value::from("guessed")), ("/kernels/0/registers", Value::from(-1)), ("/tool", Value::Null)]
    {
        let mut wrong = record.clone();
        *wrong.pointer_mut(pointer).expect("it is there") = value;
        assert!(validate::violation(&schema, &schema, &wrong, "record").is_some(), "{pointer}");
    }
}

#[test]
fn records_are_identical_from_run_to_run_and_over_instruction_sets() {
    let folder = Folder::new();
    for name in ["reduction@tiny", "histo@tiny"] {
        let path = folder.path("run.json");
        warpwatt(&["run", name, "--functional", "--json", &path, "-q"]).expect(0);
        let first: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).expect("written")).expect("JSON");
        let again = warpwatt(&["run", name, "--functional", "--json", "-"]).expect(0).json();
        let plain =
            finish(command().args(["run", name, "--functional", "--json", "-"]).env("WARPWATT_ISA", "plain"));
        let plain = plain.expect(0).json();
        assert_eq!(plain["host"]["isa_level"], "plain");
        assert_eq!(without_host(first.clone()), without_host(again));
        assert_eq!(without_host(first), without_host(plain));
    }
}

#[test]
fn a_register_budget_changes_registers_but_not_results() {
    let at = |budget: &str| {
        let args = ["run", "sgemm@tiny", "--functional", "--max-registers", budget, "--json", "-"];
        warpwatt(&args).expect(0).json()
    };
    let (tight, loose) = (at("24"), at("255"));
    let registers = |record: &Value| record["kernels"][0]["registers"].as_u64().expect("a count");
    assert!(
        registers(&tight) <= 24 && registers(&loose) > 24,
        "{} and {}",
        registers(&tight),
        registers(&loose)
    );
    assert_eq!(tight["check"], loose["check"]);
}

#[test]
fn limits_leave_partial_results() {
    let args = ["run", "sgemm@small", "--functional", "--limit-instructions", "100k", "--json", "-"];
    let ran =
        warpwatt(&args).expect(5).says("the limit of 100000 thread instructions (`--limit-instructions`)");
    let record = ran.json();
    assert_eq!(record["status"], "partial");
    let issued = record["totals"]["thread_instructions"].as_u64().expect("a count");
    assert!((100_000..3_000_000).contains(&issued), "{issued}");
    let ran = warpwatt(&["run", "sgemm@large", "--functional", "--timeout", "0.01", "--json", "-"]).expect(5);
    assert_eq!(ran.says("time limit").json()["status"], "partial");
}

/// A record that goes to a pipe nobody reads takes as long as that lasts.
#[test]
fn a_record_that_takes_seconds_to_write_shows_so() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let mut command = command();
    command.args(["run", "vecadd@tiny", "--functional", "--json", &pipe]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut said = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut said).expect("it says something");
    assert!(said.contains("writing the record of 1 launches, which takes a while"), "{said}");
    let record = std::fs::read_to_string(&pipe).expect("the record comes");
    assert!(record.contains("warpwatt.run/2"));
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_kernel_whose_warps_never_end_meets_a_limit() {
    let args = ["run", "sgemm@small", "--limit-loop", "2000", "--json", "-"];
    for (mode, unit) in
        [("--functional", "warp instructions"), ("--threads=1", "warp instructions or cycles")]
    {
        let ran = warpwatt(&[&args[..], &[mode]].concat()).expect(5);
        let ran = ran.says(&format!("the limit of 2000 {unit} without the end of any warp (`--limit-loop`)"));
        assert_eq!(ran.json()["status"], "partial");
    }
}

#[test]
fn ctrl_c_leaves_partial_results() {
    for flags in [&["--functional"][..], &[]] {
        let folder = Folder::new();
        let path = folder.path("run.json");
        let mut command = command();
        command.args(["run", "sgemm@large", "-v", "--json", &path]).args(flags);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = String::new();
        stderr.read_line(&mut said).expect("it says that it runs");
        assert!(said.starts_with("running sgemm@large"), "{said}");
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
        stderr.read_to_string(&mut said).expect("it ends");
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{said}");
        assert!(said.contains("was interrupted"), "{said}");
        let record: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).expect("written")).expect("JSON");
        assert_eq!(record["status"], "partial");
    }
}

#[test]
fn verify_checks_sizes_seeds_and_modes() {
    let args = ["verify", "vecadd", "cp", "--size", "tiny", "--seed", "1,2,3", "--json", "-"];
    let runs = warpwatt(&args).expect(0).json()["runs"].clone();
    let runs = runs.as_array().expect("a list");
    assert_eq!(runs.len(), 2 * 3 * 2);
    assert!(runs.iter().all(|run| run["passed"] == true && run["thread_instructions"].as_u64() > Some(0)));
    let timed = |run: &&Value| run["mode"] == "timed";
    assert_eq!(runs.iter().filter(timed).count(), 6);
    assert!(runs.iter().filter(timed).all(|run| {
        let share = |key: &str| run[key].as_f64().is_some_and(|share| share > 0.0 && share <= 1.0);
        share("share_with_warps") && share("share_issued")
    }));
    let shown = warpwatt(&["verify", "lps", "--size", "tiny", "--seed", "1", "--functional"]).expect(0).out;
    assert!(shown.contains("1 of 1 runs passed"), "{shown}");
    warpwatt(&["verify", "vecad"]).expect(2).says("did you mean `vecadd`?");
    warpwatt(&["verify", "--paper", "corff"]).expect(2).says("corf");
}

#[test]
fn bench_measures_what_it_is_asked_to() {
    let args = ["bench", "vecadd", "scan", "--size", "tiny", "--repeat", "2", "--json", "-"];
    let figures = warpwatt(&args).expect(0).json();
    let workloads = figures["workloads"].as_array().expect("a list");
    assert_eq!(workloads.len(), 2);
    for workload in workloads {
        for mode in ["functional", "timed"] {
            assert_eq!(workload[mode]["seconds"].as_array().map(Vec::len), Some(2));
            assert!(workload[mode]["warp_instructions_per_second"].as_f64() > Some(0.0), "{workload}");
        }
        assert!(workload["timed"]["sm_cycles_per_second"].as_f64() > Some(0.0), "{workload}");
    }
    assert!(figures["geometric_means"]["timed_warp_instructions_per_second"].as_f64() > Some(0.0));
    let table = warpwatt(&["bench", "--functional", "vecadd", "--size", "tiny", "--repeat", "1"]).expect(0);
    assert!(table.out.contains("vecadd") && table.out.contains("geometric mean"), "{}", table.out);
    assert!(!table.out.contains("cycles"), "{}", table.out);
    warpwatt(&["bench", "--functional", "--threads", "2"]).expect(2).says("--threads");
}
