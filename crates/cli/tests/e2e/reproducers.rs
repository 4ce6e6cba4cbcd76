// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reproducers: a launch is saved with its memory and does the same when it is run again.

use crate::common::{Folder, command, finish, warpwatt};

#[test]
fn a_fault_is_repeated_by_its_reproducer() {
    let folder = Folder::new();
    let saved = folder.path("saved");
    let file = "examples/faults/past-the-end.toml";
    let first = warpwatt(&["run", "--launch", file, "--functional", "--save-reproducer", &saved]).expect(4);
    assert!(first.err.contains(&format!("warpwatt replay {saved}")), "{}", first.err);
    warpwatt(&["replay", &saved])
        .expect(4)
        .says("store of 4 bytes to global memory at 0x10000000400")
        .says("right past the end of `out`")
        .says("by thread (96, 0, 0) of block (1, 0, 0)");
    let again = warpwatt(&["run", "--launch", file, "--functional", "--save-reproducer", &saved]);
    assert!(again.expect(74).err.contains("could not be saved"), "a folder that exists is left alone");
}

#[test]
fn the_last_launch_of_a_workload_counts_the_same_when_replayed() {
    let folder = Folder::new();
    for workload in ["scan@tiny", "lib@tiny", "bfs@tiny"] {
        let saved = folder.path(&workload.replace('@', "-"));
        let args = ["run", workload, "--functional", "--save-reproducer", &saved, "--json", "-"];
        let record = finish(command().args(args).args(["--per-launch", "1000"])).expect(0).json();
        let last = record["kernels"].as_array().and_then(|kernels| kernels.last()).expect("a launch").clone();
        let replayed = warpwatt(&["replay", &saved, "--json", "-"]).expect(0).json();
        let kernel = &replayed["kernels"][0];
        for key in ["name", "grid", "block", "registers", "warp_instructions", "thread_instructions"] {
            assert_eq!(kernel[key], last[key], "{workload}: {key}");
        }
        // What belongs to no source line is told by the PTX file, which has another name here.
        let lines = |kernel: &serde_json::Value| -> Vec<serde_json::Value> {
            let lines = kernel["lines"].as_array().expect("lines").iter();
            lines
                .filter(|line| line["file"].as_str().is_some_and(|file| file.ends_with(".cu")))
                .cloned()
                .collect()
        };
        assert!(
            !lines(kernel).is_empty() && lines(kernel) == lines(&last),
            "{workload}: {kernel} and {last}"
        );
    }
}

#[test]
fn a_bug_of_ours_leaves_a_reproducer() {
    let folder = Folder::new();
    let run = |args: &[&str]| finish(command().current_dir(folder.path("")).args(args));
    let ran = run(&["run", "gaussian@tiny", "--functional", "--inject-panic", "3"]);
    let ran = ran.expect(70).says("a bug in warpwatt: an injected failure in launch 3");
    assert!(ran.err.contains("`warpwatt replay warpwatt-reproducer` runs it"), "{}", ran.err);
    run(&["replay", "warpwatt-reproducer"]).expect(0).says("launch 3 of gaussian@tiny");
    run(&["run", "gaussian@tiny", "--functional", "--inject-panic", "0"])
        .expect(70)
        .says("warpwatt-reproducer-2");
}
