// SPDX-License-Identifier: MIT OR Apache-2.0
//! Papers and sweeps that are killed at any moment: what is done is kept, nothing is repeated, and the end is that of an uninterrupted run.
//!
//! `WARPWATT_LONG=1` takes two papers with their whole suites, and a sweep at three times as many moments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, command, finish, make_program, warpwatt};

/// All files of a folder and below by name, but the log and the lock, with the host's part of points taken out.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("inside").display().to_string();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if ["log.txt", "lock"].contains(&name.as_str()) {
                continue;
            }
            let mut bytes = std::fs::read(&path).expect("a file");
            if name.starts_with("points/") {
                let mut point: Value = serde_json::from_slice(&bytes).expect("a whole point");
                point.as_object_mut().expect("an object").remove("host").expect("the host's part");
                bytes = point.to_string().into_bytes();
            }
            found.insert(name, bytes);
        }
    }
    found
}

fn points(out: &Path) -> usize {
    std::fs::read_dir(out.join("points")).into_iter().flatten().flatten().count()
}

/// Numbers that look random and are the same every time.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Kills the command when it has done a few points more, so many times; then lets it finish and compares.
fn survives(args: &[&str], moments: usize) {
    let folder = Folder::new();
    let (whole, killed) = (folder.path("whole"), folder.path("killed"));
    let whole_run = warpwatt(&[args, &["--out", &whole]].concat()).expect(0);
    let all = points(Path::new(&whole));
    let mut state = 7;
    let mut done = 0;
    for moment in 0..moments {
        // Each time up to a share of what is left, so that none of them comes after the end.
        let share = ((all - done) / (moments - moment + 1)).max(1);
        let wanted = done + 1 + next(&mut state) as usize % share;
        let mut child = command();
        child.args(args).args(["--out", &killed]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().expect("the program starts");
        // The moment is some way into the points that are then under way, not right after one was written.
        let mut later = next(&mut state) % 300;
        while child.try_wait().expect("it can be asked").is_none() && later > 0 {
            later -= u64::from(points(Path::new(&killed)) >= wanted);
            std::thread::yield_now();
        }
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        done = points(Path::new(&killed)).min(all);
    }
    let last = warpwatt(&[args, &["--out", &killed]].concat()).expect(0);
    assert_eq!(last.out.replace(&killed, &whole), whole_run.out);
    let (expected, found) = (files(Path::new(&whole)), files(Path::new(&killed)));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, bytes) in expected {
        assert!(found[&name] == bytes, "{name} differs");
    }
    // A point whose file is there is not run again: the log tells of each at most once.
    let log = std::fs::read_to_string(Path::new(&killed).join("log.txt")).expect("a log");
    let told: Vec<_> =
        log.lines().filter_map(|line| line.split_once(" s, points/")).map(|(_, key)| key).collect();
    let distinct: BTreeSet<_> = told.iter().collect();
    assert_eq!(told.len(), distinct.len(), "{log}");
    assert!(
        told.len() + moments * 4 >= all,
        "what was kept without a line: at most what ran when it was killed"
    );
}

fn long() -> bool {
    std::env::var_os("WARPWATT_LONG").is_some()
}

#[test]
fn papers_that_are_killed_go_on() {
    if long() {
        // Whole suites: 644 and 640 points.
        for paper in ["warped-compression", "corf"] {
            survives(&["paper", paper, "--size", "tiny", "--seeds", "1"], 10);
        }
    }
    // All papers with one small program: 122 points.
    survives(&["paper", "all", "--size", "tiny", "--seeds", "1", "--workloads", "vecadd"], 10);
}

#[test]
fn a_sweep_that_is_killed_goes_on() {
    survives(&["sweep", "examples/sweep/l1.toml"], if long() { 30 } else { 5 });
}

#[test]
fn another_build_of_the_program_uses_nothing_of_this_one() {
    let folder = Folder::new();
    let (out, copy) = (folder.path("out"), folder.path("warpwatt"));
    let args = ["sweep", "examples/sweep/l1.toml", "--out", &out];
    warpwatt(&args).expect(0).says("0 of 24 points reused, 24 simulated");
    warpwatt(&args).expect(0).says("24 of 24 points reused, 0 simulated");
    another_build(&copy);
    let mut other = std::process::Command::new(&copy);
    finish(other.current_dir(crate::common::root()).args(args))
        .expect(0)
        .says("0 of 24 points reused, 24 simulated");
}

/// A byte behind its end makes another program of it, which does the same.
fn another_build(path: &str) {
    let mut bytes = std::fs::read(env!("CARGO_BIN_EXE_warpwatt")).expect("the program");
    bytes.push(0);
    make_program(path, &bytes);
}

#[test]
fn points_of_another_build_are_judged_if_its_program_is_named() {
    let folder = Folder::new();
    let (out, copy) = (folder.path("out"), folder.path("warpwatt"));
    another_build(&copy);
    let args = ["paper", "corf", "--size", "tiny", "--seeds", "1", "--workloads", "vecadd", "--out", &out];
    let mut other = std::process::Command::new(&copy);
    finish(other.current_dir(crate::common::root()).args(args)).expect(0).says("0 of 32 points reused");
    let page = |out: &str| std::fs::read_to_string(Path::new(out).join("ledger.md")).expect("a page");
    let before = page(&out);
    let judged = [&args[..], &["--points-of", &copy]].concat();
    warpwatt(&judged).expect(0).says("32 of 32 points reused, 0 simulated");
    assert!(page(&out).contains("32 points simulated by commit "), "{}", page(&out));
    let same = |page: &str| {
        page.lines().filter(|line| !line.starts_with("warpwatt ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(same(&page(&out)), same(&before));
    // None is simulated in its name.
    let lost =
        std::fs::read_dir(Path::new(&out).join("points")).expect("points").next().expect("one").expect("one");
    std::fs::remove_file(lost.path()).expect("it is there");
    warpwatt(&judged).expect(2).says("1 of 32 points of").says("are not in");
    warpwatt(&[&args[..], &["--points-of", "/bin/true"]].concat()).expect(2).says("is no warpwatt program");
}
