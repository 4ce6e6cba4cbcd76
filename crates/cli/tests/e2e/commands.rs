// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that need no simulation, and what is said to mistakes on the command line.

use crate::common::{Folder, STORE_PTX, command, finish, warpwatt};

#[test]
fn help_teaches_by_example() {
    for command in [&["--help"][..], &["run", "--help"], &["compile", "--help"], &["bench", "--help"]] {
        let help = warpwatt(command).expect(0).out;
        assert!(help.contains("Examples:"), "{help}");
    }
    assert!(warpwatt(&["--version"]).expect(0).out.starts_with("warpwatt 0."));
}

#[test]
fn the_list_has_every_workload() {
    let list = warpwatt(&["list", "workloads"]).expect(0).out;
    for name in ["vecadd", "sgemm", "reduction", "scan", "transpose", "pathfinder", "bfs"] {
        assert!(list.contains(name), "{list}");
    }
    for name in ["hotspot", "backprop", "nw", "kmeans", "histo", "gaussian", "lib"] {
        assert!(list.contains(name), "{list}");
    }
    assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
}

#[test]
fn a_workload_is_shown_with_sizes_kernels_and_sources() {
    let shown = warpwatt(&["list", "workloads", "--show", "lud"]).expect(0).out;
    for text in [
        "after lud of Rodinia",
        "corf, warped-compression",
        "640",
        "original: lud_perimeter",
        "3072",
        "16 x 16",
    ] {
        assert!(shown.contains(text), "{text} in\n{shown}");
    }
    warpwatt(&["list", "workloads", "--show", "lut"]).expect(2).says("did you mean `lud`?");
}

#[test]
fn a_suite_names_its_programs_and_what_is_missing() {
    let suite = warpwatt(&["list", "workloads", "--paper", "warped-compression"]).expect(0).out;
    assert!(suite.contains("of 23 programs of warped-compression"), "{suite}");
    let json = warpwatt(&["list", "workloads", "--paper", "e2mc", "--json", "-"]).expect(0).json();
    let named = |list: &str| json[list].as_array().expect("a list").len();
    assert_eq!(named("workloads") + named("missing"), 15);
    warpwatt(&["list", "workloads", "--paper", "warped"])
        .expect(2)
        .says("the papers are caches, combined, corf, e2mc, warped-compression");
    warpwatt(&["list", "gpus", "--paper", "corf"]).expect(2).says("`--paper` is for workloads");
}

#[test]
fn usage_errors_end_with_code_2_and_say_what_to_do() {
    warpwatt(&["run"]).expect(2);
    warpwatt(&["run", "--functional"]).expect(2);
    warpwatt(&["run", "vecadd@huge", "--functional"]).expect(2).says("tiny, small, medium and large");
    warpwatt(&["run", "vecad", "--functional"]).expect(2).says("did you mean `vecadd`?");
    warpwatt(&["run", "nothing-like-it", "--functional"]).expect(2).says("there are vecadd");
    warpwatt(&["run", "vecadd@tiny", "--size", "small", "--functional"]).expect(2).says("different sizes");
    warpwatt(&["run", "vecadd", "--ptx", "x.ptx", "--functional"]).expect(2);
    warpwatt(&["run", "vecadd", "--functional", "--max-registers", "300"]).expect(2).says("300");
    warpwatt(&["run", "vecadd", "--functional", "--limit-instructions", "none"]).expect(2).says("5M");
    warpwatt(&["run", "vecadd", "--functional", "--check", "rases"]).expect(2).says("races");
    warpwatt(&["list", "everything"]).expect(2).says("workloads");
    warpwatt(&["frobnicate"]).expect(2);
    warpwatt(&[]).expect(2);
}

#[test]
fn functional_runs_have_the_limits_of_a_gpu() {
    let run =
        |more: &[&str]| warpwatt(&[&["run", "reduction@tiny", "--functional", "--json", "-"], more].concat());
    let record = run(&["--gpu", "gtx580", "--set", "sm.threads=1024", "--threads", "2"]).expect(0).json();
    assert_eq!(record["inputs"]["gpu"]["name"], "gtx580");
    run(&[]).expect(0);
    run(&["--set", "sm.threads=32", "--set", "sm.warps=2"]).expect(3).says("a block takes");
    run(&["--set", "sm.threads=many"]).expect(2).says("sm.threads");
    run(&["--set", "technique.warped-compression.gating=off"]).expect(2).says("warped-compression");
}

#[test]
fn contradictions_and_nothing_are_not_accepted_in_silence() {
    let folder = Folder::new();
    let show = |setting: &str| warpwatt(&["gpu", "show", "gtx480", "--set", setting]);
    show("dram.t_ras=11").expect(2).says("dram.t_rcd");
    show("dram.t_rc=20").expect(2).says("dram.t_ras");
    show("dram.t_ccdl=1").expect(2).says("dram.t_ccd");
    show("dram.t_ras=12").expect(0);
    for text in ["", "\n\n", "# nothing\n"] {
        let file = folder.file("empty.toml", text);
        warpwatt(&["gpu", "show", &file]).expect(2).says("the file is empty");
    }
    warpwatt(&["paper", "warped-compression", "--workloads", ""]).expect(2).says("names no workload");
    warpwatt(&["paper", "warped-compression", "--workloads", " ,"]).expect(2).says("names no workload");
}

#[test]
fn timing_settings_are_checked_and_do_not_go_with_functional_runs() {
    let settings: [&[&str]; 7] = [
        &["--with", "warped-compression"],
        &["--energy"],
        &["--step-every-cycle"],
        &["--limit-cycles", "1000"],
        &["--kernels", "x"],
        &["--skip", "1"],
        &["--interval", "100"],
    ];
    for setting in settings {
        let args = [&["run", "vecadd@tiny", "--functional"], setting].concat();
        warpwatt(&args).expect(2).says(setting[0]).says("--functional");
    }
    let run = |setting: &[&str]| warpwatt(&[&["run", "vecadd@tiny"], setting].concat());
    run(&["--gpu", "gtx408"]).expect(2).says("did you mean `gtx480`?");
    run(&["--gpu", "not/there.toml"]).expect(74).says("not/there.toml");
    run(&["--set", "sm.scheduler"]).expect(2);
    run(&["--set", "sm.wraps=32"]).expect(2).says("did you mean `sm.warps`?");
    run(&["--set", "sm.scheduler=fifo"]).expect(2).says("gto").says("two-level");
    run(&["--set", "gpu.sms=0"]).expect(2).says("gpu.sms");
    run(&["--set", "dram.banks=12"]).expect(2).says("dram.banks");
    run(&["--threads", "0"]).expect(2).says("--threads");
    run(&["--limit-cycles", "few"]).expect(2).says("5M");
    run(&["--interval", "0"]).expect(2).says("above 0");
    run(&["--kernels", "("]).expect(2).says("not a regular expression");
    run(&["--skip", "-1"]).expect(2);
}

#[test]
fn the_log_level_comes_from_the_environment() {
    let run = |level: &str| {
        finish(command().args(["run", "vecadd@tiny", "--functional"]).env("WARPWATT_LOG", level))
    };
    assert!(run("debug").expect(0).err.contains("running vecadd@tiny"));
    assert_eq!(run("info").expect(0).err, "");
    run("loud").expect(2).says("error, warn, info, debug");
}

#[test]
fn a_gpu_can_be_looked_at_and_made_into_a_file() {
    let list = warpwatt(&["list", "gpus"]).expect(0).out;
    for name in
        ["gtx480", "gtx580", "gtx480-wc", "gtx480-corf", "gtx580-e2mc", "gtx480-thesis", "gtx480-combined"]
    {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{list}");
    }
    let shown = warpwatt(&["gpu", "show", "gtx580"]).expect(0).out;
    assert!(shown.contains("sm.scheduler"), "{shown}");
    let folder = Folder::new();
    let text = warpwatt(&["gpu", "show", "gtx580", "--set", "sm.scheduler=lrr", "--toml"]).expect(0).out;
    let file = folder.file("my.toml", &text);
    let parameters =
        |args: &[&str]| warpwatt(&[&["gpu", "show"], args].concat()).expect(0).json()["parameters"].clone();
    let (mine, theirs) = (parameters(&[&file, "--json", "-"]), parameters(&["gtx580", "--json", "-"]));
    assert_eq!((&mine["sm.scheduler"], &theirs["sm.scheduler"]), (&"lrr".into(), &"gto".into()));
    assert_eq!(mine["gpu.sms"], theirs["gpu.sms"]);
    warpwatt(&["gpu", "show", "gtx480", "--set", "sm.wraps=1"]).expect(2).says("sm.warps");
    let wrong = folder.file("wrong.toml", &text.replacen("mshrs", "mshr", 1));
    warpwatt(&["gpu", "show", &wrong]).expect(2).says("wrong.toml:").says("mshrs");
}

#[test]
fn files_that_are_not_there_end_with_code_74() {
    warpwatt(&["compile", "not/there.ptx"]).expect(74).says("cannot read not/there.ptx");
    warpwatt(&["run", "--launch", "not/there.toml", "--functional"]).expect(74).says("not/there.toml");
    warpwatt(&["run", "vecadd@tiny", "--functional", "--json", "not/there/run.json"])
        .expect(74)
        .says("run.json");
    warpwatt(&["replay", "not/there"]).expect(2).says("is not a reproducer");
}

#[test]
fn compile_shows_what_kernels_need() {
    let folder = Folder::new();
    let file = folder.file("store.ptx", STORE_PTX);
    let table = warpwatt(&["compile", &file]).expect(0).out;
    assert!(table.contains("registers") && table.contains("store"), "{table}");
    let json = warpwatt(&["compile", &file, "--json", "-"]).expect(0).json();
    let kernel = &json["kernels"][0];
    assert_eq!(kernel["name"], "store");
    assert_eq!(kernel["param_bytes"], 16);
    assert!(kernel["registers"].as_u64().is_some_and(|registers| (4..=16).contains(&registers)), "{kernel}");
    assert!(kernel["instructions"].as_u64().is_some_and(|count| (8..=20).contains(&count)), "{kernel}");
    for (stage, word) in [("cfg", "b0"), ("ir", "store"), ("asm", "EXIT")] {
        let text = warpwatt(&["compile", &file, "--kernel", "store", "--emit", stage]).expect(0).out;
        assert!(text.contains(word), "{stage}: {text}");
    }
    warpwatt(&["compile", &file, "--kernel", "stoer"]).expect(2).says("did you mean `store`?");
}

#[test]
fn all_workload_sources_compile_within_a_budget() {
    let folder = crate::common::root().join("crates/workloads/ptx");
    for entry in std::fs::read_dir(folder).expect("the PTX of the workloads") {
        let path = entry.expect("an entry").path().display().to_string();
        for budget in ["16", "63"] {
            let json =
                warpwatt(&["compile", &path, "--max-registers", budget, "--json", "-"]).expect(0).json();
            for kernel in json["kernels"].as_array().expect("kernels") {
                let registers = kernel["registers"].as_u64().expect("a count");
                assert!(registers <= budget.parse().expect("a number"), "{path}: {kernel}");
            }
        }
    }
}

#[test]
fn a_schema_describes_every_format() {
    let run = warpwatt(&["schema", "run"]).expect(0).json();
    assert_eq!(run["$id"], "warpwatt.run/2");
    assert_eq!(warpwatt(&["schema", "gpu"]).expect(0).json()["$id"], "warpwatt.gpu/1");
    let launch = warpwatt(&["schema", "launch"]).expect(0).json();
    assert_eq!(launch["$id"], "warpwatt.launch/1");
    assert!(launch["properties"]["buffer"]["items"]["properties"]["random"].is_object());
}
