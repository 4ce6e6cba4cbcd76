// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disks that are full: a file system of a few kilobytes, which grows until a command comes to its end.
//!
//! The file system is a tmpfs in a mount namespace of its own, which root may make, and others in a user namespace. Where neither is allowed, a limit on
//! the size of files takes its place: the same messages, by another error.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, Ran, command, finish, warpwatt};
use crate::resume::files;

/// Kilobytes of the file system: nothing fits, some points do, all points do, everything does.
const KILOBYTES: [u32; 9] = [4, 24, 48, 96, 192, 384, 768, 1536, 65536];

/// Runs a command of the shell in a mount namespace of its own; nothing if the system does not allow that.
fn in_namespace(script: &str) -> Option<Ran> {
    let ways: [&[&str]; 2] = [&["-m"], &["-U", "-r", "-m"]];
    let allowed = |way: &&&[&str]| {
        let mut tried = Command::new("unshare");
        tried.args(**way).args(["sh", "-c", "mount -t tmpfs none /mnt"]);
        tried.output().is_ok_and(|output| output.status.success())
    };
    let way = ways.iter().find(allowed)?;
    let mut unshare = Command::new("unshare");
    Some(finish(unshare.current_dir(crate::common::root()).args(*way).args(["sh", "-c", script])))
}

/// What a command said on a file system of so many kilobytes, and the points that were there afterwards.
struct Step {
    code: i32,
    err: String,
    points: BTreeSet<String>,
}

/// Repeats the command while the file system grows; the folder that it writes is copied to `kept` at the end.
fn steps(folder: &Folder, args: &[&str], kept: &str) -> Option<Vec<Step>> {
    let (disk, notes) = (folder.path("disk"), folder.path("notes"));
    for path in [&disk, &notes] {
        std::fs::create_dir_all(path).expect("a folder for the test");
    }
    let sizes = KILOBYTES.map(|size| size.to_string()).join(" ");
    let (program, args) = (env!("CARGO_BIN_EXE_warpwatt"), args.join(" "));
    let script = format!(
        "mount -t tmpfs -o size=4k none {disk} || exit 9
        for size in {sizes}; do
            mount -t tmpfs -o remount,size=${{size}}k none {disk} || exit 9
            {program} {args} --out {disk}/out >{notes}/$size.out 2>{notes}/$size.err
            echo $? >{notes}/$size.code
            ls {disk}/out/points >{notes}/$size.points 2>{notes}/ls
        done
        cp -r {disk}/out {kept}"
    );
    in_namespace(&script)?.expect(0);
    let read = |size: u32, what: &str| {
        std::fs::read_to_string(Path::new(&notes).join(format!("{size}.{what}"))).expect("a note")
    };
    let step = |size| Step {
        code: read(size, "code").trim().parse().expect("a code"),
        err: read(size, "err"),
        points: read(size, "points").lines().map(str::to_owned).collect(),
    };
    Some(KILOBYTES.map(step).into())
}

/// The number before these words.
fn number(text: &str, before: &str) -> usize {
    let head = text.split_once(before).unwrap_or_else(|| panic!("`{before}` is not in {text}")).0;
    head.rsplit(|letter: char| !letter.is_ascii_digit())
        .next()
        .and_then(|digits| digits.parse().ok())
        .expect(text)
}

/// Every call tells what it could not write and keeps what is finished; the last one has the results of a disk with room.
fn continues(folder: &Folder, args: &[&str]) {
    let (whole, kept) = (folder.path("whole"), folder.path("kept"));
    let Some(steps) = steps(folder, args, &kept) else { return by_file_size(folder, args) };
    warpwatt(&[args, &["--out", &whole]].concat()).expect(0);
    let mut before = BTreeSet::new();
    for (step, size) in steps.iter().zip(KILOBYTES) {
        let Step { code, err, points } = step;
        assert!(points.is_superset(&before), "points are lost at {size} KB: {err}");
        assert!(points.iter().all(|name| name.ends_with(".json")), "parts are left at {size} KB: {points:?}");
        if *code != 0 {
            assert_eq!(*code, 74, "{size} KB: {err}");
            assert!(err.contains("No space left on device") && err.contains("out"), "{size} KB: {err}");
        } else {
            assert_eq!(number(err, " of "), before.len(), "{size} KB: finished points are used, {err}");
        }
        before = points.clone();
    }
    let partly = steps.iter().filter(|step| step.code != 0 && !step.points.is_empty()).count();
    let last = steps.last().expect("there are steps");
    assert!(steps[0].code == 74 && partly > 0 && last.code == 0, "{partly} of the calls kept some points");
    let advised =
        |step: &&Step| step.err.contains("finished points are kept; repeat the command to continue");
    assert!(steps.iter().filter(advised).count() >= partly, "what to do is said");
    let (expected, found) = (files(Path::new(&whole)), files(Path::new(&kept)));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, bytes) in expected {
        assert!(found[&name] == bytes, "{name} differs");
    }
}

/// No file may have more than this many bytes: nothing is left of what could not be written, and the next call comes to its end.
fn by_file_size(folder: &Folder, args: &[&str]) {
    eprintln!("no namespace with a small file system: files are limited to 4096 bytes instead");
    let out = folder.path("limited");
    let mut limited = command();
    // SAFETY: both calls are async-signal-safe.
    unsafe {
        limited.pre_exec(|| {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            let limit = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        });
    }
    let args = [args, &["--out", &out]].concat();
    let ran = finish(limited.args(&args)).expect(74).says("cannot write").says("finished points are kept");
    assert!(ran.err.contains("/points/"), "{}", ran.err);
    let points = std::fs::read_dir(Path::new(&out).join("points")).expect("a folder").count();
    assert_eq!(points, 0, "nothing is left of what could not be written");
    warpwatt(&args).expect(0);
}

const SWEEP: &str = "workloads = [\"vecadd@tiny\"]\n[parameters]\nsm.ctas = [1, 2, 3, 4, 5, 6, 7, 8]\n";

#[test]
fn a_sweep_on_a_full_disk_keeps_its_points_and_goes_on_when_there_is_room() {
    let folder = Folder::new();
    let file = folder.file("s.toml", SWEEP);
    continues(&folder, &["sweep", &file, "--jobs", "1"]);
}

#[test]
fn a_paper_on_a_full_disk_keeps_its_points_and_goes_on_when_there_is_room() {
    let paper = ["paper", "e2mc", "--size", "tiny", "--seeds", "1", "--workloads", "vecadd", "--jobs", "2"];
    continues(&Folder::new(), &paper);
}

#[test]
fn a_limit_on_the_size_of_files_is_told_like_a_full_disk() {
    let folder = Folder::new();
    let file = folder.file("s.toml", SWEEP);
    by_file_size(&folder, &["sweep", &file, "--jobs", "1"]);
}
