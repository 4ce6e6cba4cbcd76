// SPDX-License-Identifier: MIT OR Apache-2.0
//! `exec` and `install` with programs that need no CUDA: how they are found, started, stopped and accounted for. Programs that use
//! CUDA are tested with the libraries.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Folder, Ran, command, finish, make_program};

/// A folder with a file in place of the library, which these programs never load.
fn library(scratch: &Folder) -> String {
    scratch.file("libwarpwatt_cuda.so", "")
}

fn exec(scratch: &Folder) -> Command {
    let mut command = command();
    command.arg("exec").env("WARPWATT_LIB", library(scratch)).env_remove("LD_LIBRARY_PATH");
    command
}

fn ran(scratch: &Folder, args: &[&str]) -> Ran {
    finish(exec(scratch).args(args))
}

fn sh(scratch: &Folder, script: &str) -> Ran {
    ran(scratch, &["--", "sh", "-c", script])
}

#[test]
fn the_programs_output_and_code_are_its_own() {
    let scratch = Folder::new();
    let ran = sh(&scratch, "echo out; echo err >&2; exit 7").expect(7).says("err\n").says("used CUDA");
    assert_eq!(ran.out, "out\n");
    let ran = finish(exec(&scratch).args(["-q", "true"])).expect(0);
    assert_eq!((ran.out, ran.err), (String::new(), String::new()));
    sh(&scratch, "kill -9 $$").expect(137);
    sh(&scratch, "kill -s SEGV $$").expect(139);
}

#[test]
fn arguments_are_passed_on_as_they_are() {
    let scratch = Folder::new();
    let script = r#"printf '%s|' "$0" "$@""#;
    let all = ran(&scratch, &["sh", "-c", script, "zero", "--json", "-q", "--", "a b"]).expect(0);
    assert_eq!(all.out, "zero|--json|-q|--|a b|");
}

#[test]
fn programs_that_cannot_be_run_are_told_apart() {
    let scratch = Folder::new();
    ran(&scratch, &["--", "no-such-program"]).expect(127).says("no program `no-such-program` in PATH");
    ran(&scratch, &["--", "./no/such"]).expect(127).says("there is no ./no/such");
    ran(&scratch, &["--", "/"]).expect(126).says("is a folder");
    let file = scratch.file("notes.txt", "notes");
    ran(&scratch, &["--", &file]).expect(126).says("is not executable").says("chmod +x");
    make_program(&file, b"#!/no/such/interpreter\n");
    ran(&scratch, &["--", &file]).expect(127).says("interpreter");
    make_program(&file, b"\0\x01neither");
    ran(&scratch, &["--", &file]).expect(126).says("neither a program nor a script");
    ran(&scratch, &["--gpu", "gtx481", "--", "true"]).expect(125).says("gtx481").says("gtx480");
}

#[test]
fn counts_of_instructions_are_those_of_functional_launches() {
    let scratch = Folder::new();
    let path = &scratch.path("program.counts");
    ran(&scratch, &["--write-profile", path, "--", "true"]).expect(2).says("--functional");
    let nothing = ran(&scratch, &["--functional", "--write-profile", path, "--", "true"]);
    nothing.expect(125).says("no process of the program used CUDA");
    assert!(!Path::new(path).exists());
}

#[test]
fn a_library_that_is_missing_is_asked_for() {
    let scratch = Folder::new();
    let copy = scratch.path("warpwatt");
    make_program(&copy, &std::fs::read(env!("CARGO_BIN_EXE_warpwatt")).expect("the program"));
    let lonely = || {
        let mut command = Command::new(&copy);
        command.args(["exec", "--", "true"]).env_remove("WARPWATT_LIB");
        command
    };
    finish(&mut lonely())
        .expect(125)
        .says("libwarpwatt_cuda.so was not found")
        .says("`cargo install` leaves it out")
        .says("cargo build --release && target/release/warpwatt install --prefix");
    finish(lonely().env("WARPWATT_LIB", "/no/such")).expect(125).says("WARPWATT_LIB names no library");
}

#[test]
fn the_static_runtime_is_recognised() {
    let scratch = Folder::new();
    let program = scratch.path("static");
    make_program(&program, &elf_with_section(".nv_fatbin"));
    let refused = ran(&scratch, &["--", &program]).expect(125);
    refused.says("static contains NVIDIA's CUDA runtime").says("-cudart shared").says("-lcudart");
    make_program(&program, &elf_with_section(".nothing"));
    ran(&scratch, &["--", &program]).expect(126);
}

/// An ELF file that has one section, and nothing that could run.
fn elf_with_section(name: &str) -> Vec<u8> {
    let names = format!("\0{name}\0.shstrtab\0");
    let mut elf = vec![0; 64];
    elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (elf[16], elf[18], elf[20]) = (2, 62, 1);
    let table = (64 + names.len()) as u64;
    elf[40..48].copy_from_slice(&table.to_le_bytes());
    (elf[52], elf[58], elf[60], elf[62]) = (64, 64, 3, 2);
    elf.extend(names.as_bytes());
    let section = |name: u32, kind: u32, at: u64, bytes: u64| {
        let mut header = [0; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&at.to_le_bytes());
        header[32..40].copy_from_slice(&bytes.to_le_bytes());
        header
    };
    elf.extend(section(0, 0, 0, 0));
    elf.extend(section(1, 1, 64, 1));
    elf.extend(section(2 + name.len() as u32, 3, 64, names.len() as u64));
    elf
}

#[test]
fn the_program_finds_our_library_under_cudas_names() {
    let scratch = Folder::new();
    let script = "dirname $WARPWATT_SESSION; echo ${LD_LIBRARY_PATH%%:*}; cd ${LD_LIBRARY_PATH%%:*}; \
        readlink -e libcuda.so.1 libcudart.so.11.0 libcudart.so.12 libcudart.so.13 libnvJitLink.so.13; \
        stat -c %a .; echo $LD_LIBRARY_PATH; cat session.json";
    let mut command = exec(&scratch);
    command.env("LD_LIBRARY_PATH", "/opt/lib").args(["--capability", "8.6", "--functional"]);
    let out = finish(command.args(["--", "sh", "-c", script])).expect(0).out;
    let lines: Vec<&str> = out.lines().collect();
    let library = std::fs::canonicalize(library(&scratch)).expect("it is there");
    let library = library.to_string_lossy();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2..7], [library.as_ref(); 5]);
    assert_eq!(lines[7], "700", "nobody else looks into it");
    assert_eq!(lines[8], format!("{}:/opt/lib", lines[0]));
    let settings: serde_json::Value = serde_json::from_str(&lines[9..].join("\n")).expect("it is JSON");
    assert_eq!((&settings["capability"], &settings["timing"]), (&86.into(), &serde_json::Value::Null));
    assert_eq!(settings["gpu"]["gpu.sms"], "15");
    assert!(!Path::new(lines[0]).exists(), "it is gone afterwards");
}

#[test]
fn the_record_names_the_program_without_folders_and_repeats() {
    let scratch = Folder::new();
    let record = || {
        let path = scratch.path("run.json");
        ran(&scratch, &["--json", &path, "--", "/bin/sh", "-c", "exit 3", "/some/where/x"]).expect(3);
        let text = std::fs::read_to_string(&path).expect("it was written");
        let mut record: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(record["host"]["wall_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
        record["host"] = serde_json::Value::Null;
        record
    };
    let first = record();
    assert_eq!(first["inputs"]["program"], serde_json::json!(["sh", "-c", "exit 3", "x"]));
    assert_eq!((&first["mode"], &first["status"]), (&"timed".into(), &"complete".into()));
    assert_eq!(first["inputs"]["gpu"]["name"], "gtx480");
    assert_eq!(first, record());
}

/// A script that acts as two processes that use CUDA, the second of which leaves nothing.
fn two_processes(diagnostics: &str) -> String {
    let part = format!(
        r#"{{"status":"partial","kernels":[],"whole":[5,{{}}],"diagnostics":[{diagnostics}],"ptx":[],"texts":[]}}"#
    );
    format!("cd $(dirname $WARPWATT_SESSION); : > 0001; : > 0002; echo '{part}' > 0001.json")
}

#[test]
fn parts_of_processes_are_collected_and_missing_ones_told() {
    let scratch = Folder::new();
    let ran = ran(&scratch, &["--json", "-", "--", "sh", "-c", &two_processes("")]).expect(0);
    let record = ran.json();
    assert_eq!((&record["status"], &record["totals"]["cycles"]), (&"partial".into(), &5.into()));
    let code = &record["diagnostics"][0]["code"];
    assert_eq!(code, "lost-process");
    ran.says("process 2 left no results");
}

#[test]
fn a_limit_that_a_process_reached_decides_the_code() {
    let scratch = Folder::new();
    let limit = r#"{"code":"limit","severity":"error","message":"the limit of 9 cycles is reached"}"#;
    sh(&scratch, &two_processes(limit)).expect(5).says("the limit of 9 cycles is reached");
}

#[test]
fn the_time_limit_ends_a_program() {
    let scratch = Folder::new();
    let path = scratch.path("run.json");
    ran(&scratch, &["--timeout", "0.2", "--json", &path, "--", "sleep", "600"]).expect(5).says("time limit");
    let record = std::fs::read_to_string(path).expect("partial results are written");
    assert!(record.contains("\"status\": \"partial\""), "{record}");
}

#[test]
fn signals_are_passed_on() {
    // Not INT, which is ignored where tests run in the background.
    for name in ["TERM", "USR1"] {
        let scratch = Folder::new();
        let script = format!("trap 'exit 9' {name}; echo ready; while :; do sleep 0.02; done");
        let mut child = exec(&scratch)
            .args(["--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped"))
            .read_line(&mut line)
            .expect("it can be read");
        assert_eq!(line, "ready\n");
        let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
        assert!(sent.expect("it runs").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(9), "{name}");
    }
}

#[test]
fn an_installation_runs_by_itself() {
    let scratch = Folder::new();
    let prefix = scratch.path("prefix");
    for _ in 0..2 {
        // The second time replaces what the first one left.
        let mut command = command();
        command.env("WARPWATT_LIB", library(&scratch)).args(["install", "--prefix", &prefix]);
        let ran = finish(&mut command).expect(0);
        assert!(ran.out.contains("bin/warpwatt") && ran.out.contains("libcuda.so.1"), "{}", ran.out);
    }
    let target =
        std::fs::read_link(Path::new(&prefix).join("lib/warpwatt/libcudart.so.12")).expect("it is a link");
    assert_eq!(target, Path::new("libwarpwatt_cuda.so"), "the folder can be moved");
    let mut installed = Command::new(Path::new(&prefix).join("bin/warpwatt"));
    installed.env_remove("WARPWATT_LIB").args(["exec", "--", "readlink", "-f"]);
    let ran = finish(installed.arg("/proc/self/exe")).expect(0);
    assert!(!ran.out.is_empty());
}
