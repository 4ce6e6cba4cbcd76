// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timed runs through the command line: what the record says about time, and that it adds up.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::{Folder, Ran, SPIN_PTX, warpwatt};
use crate::validate;

/// Parameters of a GPU that is quick to simulate.
const SMALL: &[&str] = &["--set", "gpu.sms=2", "--set", "gpu.partitions=2"];

fn run(args: &[&str]) -> Ran {
    warpwatt(&[&["run"], args, SMALL].concat())
}

fn record(args: &[&str]) -> Value {
    run(&[args, &["--json", "-"]].concat()).expect(0).json()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn kernels(record: &Value) -> &Vec<Value> {
    record["kernels"].as_array().expect("kernels")
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().expect("a table").values().map(count).sum()
}

fn parameter(record: &Value, key: &str) -> u64 {
    let text = record["inputs"]["gpu"]["parameters"][key].as_str().expect("a parameter");
    text.parse().expect("a number")
}

/// Issued and waited slots are all slots there are, for a kernel or the totals.
fn slots_add_up(record: &Value, part: &Value) {
    let schedulers = parameter(record, "gpu.sms") * parameter(record, "sm.schedulers");
    let slots = count(&part["cycles"]) * schedulers;
    let issued = count(&part["counters"]["sm.issued.count"]);
    assert_eq!(issued + sum(&part["stalls"]), slots, "of {}", part["name"]);
    assert_eq!(count(&part["counters"]["sm.issue_slots.count"]), slots);
}

#[test]
fn every_workload_passes_its_check_and_its_record_adds_up() {
    let schema = warpwatt(&["schema", "run"]).expect(0).json();
    let list = warpwatt(&["list", "workloads", "--json", "-"]).expect(0).json();
    for workload in list["workloads"].as_array().expect("a list") {
        let name = workload["name"].as_str().expect("a name");
        let args = ["run", &format!("{name}@tiny"), "--per-launch", "1000", "--json", "-"];
        let record = warpwatt(&args).expect(0).json();
        assert_eq!(validate::violation(&schema, &schema, &record, name), None);
        assert_eq!((&record["mode"], &record["check"]["passed"]), (&"timed".into(), &true.into()), "{name}");
        assert_eq!(record["inputs"]["gpu"]["name"], "gtx480");
        let (mut issued, mut end) = (0, 0);
        for kernel in kernels(&record) {
            slots_add_up(&record, kernel);
            assert!(count(&kernel["start_cycle"]) >= end, "launches on stream 0 run one after the other");
            end = count(&kernel["start_cycle"]) + count(&kernel["cycles"]);
            issued += count(&kernel["counters"]["sm.issued.count"]);
            let lines = kernel["lines"].as_array().expect("lines");
            let of_lines: u64 = lines.iter().map(|line| count(&line["warp_instructions"])).sum();
            assert_eq!(kernel["warp_instructions"], of_lines);
            assert_eq!(kernel["warp_instructions"], kernel["counters"]["sm.issued.count"]);
            // What is charged to no line is that schedulers had no warp.
            let waited: u64 = lines.iter().map(|line| sum(&line["stalls"])).sum();
            assert_eq!(waited + count(&kernel["stalls"]["empty"]), sum(&kernel["stalls"]), "{name}");
            let sms = kernel["sms"]["issued"].as_array().expect("a list").iter().map(count).sum::<u64>();
            assert_eq!(kernel["counters"]["sm.issued.count"], sms);
        }
        slots_add_up(&record, &record["totals"]);
        assert_eq!(record["totals"]["counters"]["sm.issued.count"], issued);
    }
}

#[test]
fn every_counter_of_a_record_is_in_the_registry_and_back() {
    // Techniques count only while they are on, and some exclude each other: in several runs, each is on in one.
    let mut sets: Vec<Vec<&warpwatt_runtime::Technique>> = Vec::new();
    for info in warpwatt_runtime::Techniques::ALL {
        let agree = |other: &&warpwatt_runtime::Technique| {
            !other.excludes.contains(&info.name) && !info.excludes.contains(&other.name)
        };
        match sets.iter_mut().find(|set| set.iter().all(agree)) {
            Some(set) => set.push(info),
            None => sets.push(vec![info]),
        }
    }
    let mut counters = BTreeSet::new();
    for set in sets {
        let with = set.iter().flat_map(|info| ["--with", info.name]);
        let record = record(&[&["histo@tiny"], &*with.collect::<Vec<_>>()].concat());
        counters.extend(record["totals"]["counters"].as_object().expect("counters").keys().cloned());
    }
    let model = warpwatt_runtime::Counters::infos();
    let names: Vec<_> = warpwatt_results::registry(&model).iter().map(|info| info.name).collect();
    for pair in names.windows(2) {
        assert!(pair[0] < pair[1], "{} is there twice", pair[0]);
    }
    for name in &counters {
        assert!(names.contains(&name.as_str()), "{name} is not documented");
    }
    for info in &model {
        assert!(counters.contains(info.name), "{} is not in the record", info.name);
        let unit = info.name.rsplit('.').next().unwrap_or_default();
        assert!(warpwatt_results::counters::UNITS.contains(&unit), "{} has no unit", info.name);
    }
}

#[test]
fn derived_figures_ask_for_counters_that_exist() {
    let model = warpwatt_runtime::Counters::infos();
    let config = warpwatt_config::Config::default();
    for derived in warpwatt_results::derived::DERIVED {
        let known = |name: &str| {
            assert!(model.iter().any(|info| info.name == name), "{} uses {name}", derived.info.name);
            Some(1.0)
        };
        let facts = warpwatt_results::derived::Facts { config: &config, cycles: 100, counter: &known };
        assert!((derived.of)(&facts).is_some(), "{}", derived.info.name);
    }
}

#[test]
fn threads_and_skipping_change_nothing_but_the_host_part() {
    let plain = |flags: &[&str]| {
        let mut record = record(&[&["reduction@tiny"], flags].concat());
        record.as_object_mut().and_then(|record| record.remove("host")).expect("a host part");
        record
    };
    let first = plain(&["--threads", "1"]);
    for flags in [&["--threads", "1"][..], &["--threads", "3"], &["--step-every-cycle"]] {
        assert_eq!(plain(flags), first, "{flags:?}");
    }
}

#[test]
fn a_setting_changes_the_time_and_is_recorded() {
    let slow = record(&["vecadd@tiny", "--set", "dram.t_cl=40"]);
    let usual = record(&["vecadd@tiny"]);
    assert!(count(&slow["totals"]["cycles"]) > count(&usual["totals"]["cycles"]));
    assert_eq!(parameter(&slow, "dram.t_cl"), 40);
    assert_ne!(slow["inputs"]["gpu"]["sha256"], usual["inputs"]["gpu"]["sha256"]);
}

#[test]
fn a_gpu_file_gives_the_same_cycles_as_the_gpu_it_was_made_from() {
    let folder = Folder::new();
    let file = folder.file("mine.toml", &warpwatt(&["gpu", "show", "gtx580", "--toml"]).expect(0).out);
    let (mine, theirs) = (record(&["scan@tiny", "--gpu", &file]), record(&["scan@tiny", "--gpu", "gtx580"]));
    assert_eq!(mine["totals"], theirs["totals"]);
    assert_eq!(mine["inputs"]["gpu"]["sha256"], theirs["inputs"]["gpu"]["sha256"]);
}

#[test]
fn the_example_of_a_gpu_file_has_a_larger_cache() {
    let hits = |gpu: &str| {
        let args = ["run", "bfs@small", "--gpu", gpu, "--json", "-"];
        let record = warpwatt(&args).expect(0).json();
        record["totals"]["counters"]["l1d.hit.ratio"].as_f64().expect("a ratio")
    };
    let (large, usual) = (hits("examples/gpu/large-l1.toml"), hits("gtx480"));
    assert!(large > usual, "{large} and {usual}");
}

#[test]
fn the_summary_says_what_a_kernel_waits_for() {
    let out = run(&["sgemm@tiny"]).expect(0).out;
    for words in
        ["on gtx480: 2 SMs", "cycles", "waits for", "occupancy", "L2 hits", "of peak", "check passed"]
    {
        assert!(out.contains(words), "`{words}` is not in\n{out}");
    }
    assert!(out.contains("sgemm.cu:") && out.contains("sum[i][j] += l[i] * t[j];"), "{out}");
    let quiet = run(&["sgemm@tiny", "-q"]).expect(0);
    assert!(
        quiet.out.contains("sgemm") && quiet.err.is_empty(),
        "the result and nothing else: {}",
        quiet.err
    );
}

#[test]
fn a_limit_of_cycles_leaves_partial_results() {
    let ran = run(&["sgemm@small", "--limit-cycles", "5k", "--json", "-"]);
    let ran = ran.expect(5).says("`sgemm` was stopped at the limit of 5000 cycles (`--limit-cycles`)");
    let record = ran.json();
    assert_eq!(record["status"], "partial");
    let cycles = count(&record["totals"]["cycles"]);
    assert!((5_000..6_000).contains(&cycles), "{cycles}");
    assert!(count(&record["totals"]["warp_instructions"]) > 0);
    slots_add_up(&record, &record["totals"]);
    let ran = run(&["sgemm@small", "--limit-instructions", "100k", "--json", "-"]).expect(5);
    assert_eq!(
        ran.says("the limit of 100000 thread instructions (`--limit-instructions`)").json()["status"],
        "partial"
    );
    let ran = warpwatt(&["run", "sgemm@large", "--timeout", "0.05", "--json", "-"]).expect(5);
    assert_eq!(ran.says("time limit").json()["status"], "partial");
}

#[test]
fn kernels_that_are_left_out_run_functionally() {
    let modes = |flags: &[&str]| -> Vec<(String, String)> {
        let record = record(&[&["backprop@tiny"], flags].concat());
        assert_eq!(record["check"]["passed"], true, "values do not depend on the mode");
        let text = |value: &Value| value.as_str().expect("a word").to_owned();
        kernels(&record).iter().map(|kernel| (text(&kernel["name"]), text(&kernel["mode"]))).collect()
    };
    let all = modes(&[]);
    assert!(all.len() > 1 && all.iter().all(|(_, mode)| mode == "timed"), "{all:?}");
    let last = all.last().expect("a launch").0.clone();
    for (name, mode) in modes(&["--kernels", &format!("^{last}$")]) {
        assert_eq!(mode, if name == last { "timed" } else { "functional" }, "{name}");
    }
    let skipped: Vec<_> = modes(&["--skip", "1"]).into_iter().map(|(_, mode)| mode).collect();
    assert_eq!((skipped[0].as_str(), skipped[1].as_str()), ("functional", "timed"));
    run(&["vecadd@tiny", "--kernels", "nothing"]).expect(0).says("nothing was timed");
    run(&["vecadd@tiny", "--skip", "5"]).expect(0).says("nothing was timed");
}

/// A launch file with two kernels of one block each on these streams.
fn two_spins(folder: &Folder, streams: [u32; 2]) -> Value {
    folder.file("spin.ptx", SPIN_PTX);
    let mut text = "ptx = \"spin.ptx\"\n".to_owned();
    for name in ["a", "b"] {
        text += &format!("[[buffer]]\nname = \"{name}\"\ntype = \"u32\"\ncount = 64\n");
    }
    for (name, stream) in ["a", "b"].into_iter().zip(streams) {
        text += &format!(
            "[[step]]\nlaunch = \"spin\"\ngrid = 1\nblock = 64\nstream = {stream}\nargs = [\"buf:{name}\", {{ u32 = 1000 }}]\n"
        );
    }
    let file = folder.file("spin.toml", &text);
    record(&["--launch", &file])
}

#[test]
fn kernels_of_different_streams_overlap_and_those_of_one_do_not() {
    let folder = Folder::new();
    let spans = |record: &Value| -> Vec<(u64, u64)> {
        let span = |kernel: &Value| {
            let start = count(&kernel["start_cycle"]);
            (start, start + count(&kernel["cycles"]))
        };
        kernels(record).iter().map(span).collect()
    };
    let apart = two_spins(&folder, [1, 2]);
    let [first, second] = spans(&apart)[..] else { panic!("two launches") };
    assert!(second.0 < first.1 && first.0 < second.1, "{first:?} and {second:?} overlap");
    let total = count(&apart["totals"]["cycles"]);
    assert!(total < (first.1 - first.0 + second.1 - second.0) * 3 / 4, "{total}");
    assert_eq!(kernels(&apart)[0]["index"], 0, "the record is in launch order");
    for streams in [[1, 1], [0, 0]] {
        let together = two_spins(&folder, streams);
        let [first, second] = spans(&together)[..] else { panic!("two launches") };
        assert!(
            second.0 >= first.1 || second.1 - first.1 >= 3_000,
            "{first:?} then {second:?} on {streams:?}"
        );
        assert!(count(&together["totals"]["cycles"]) > total * 5 / 4, "{streams:?}");
    }
}

#[test]
fn series_have_a_list_for_every_counter() {
    let record = record(&["hotspot@tiny", "--interval", "500"]);
    let kernel = &kernels(&record)[0];
    let series = kernel["series"].as_object().expect("series");
    let cycles: Vec<_> = series["cycle"].as_array().expect("cycles").iter().map(count).collect();
    assert!(cycles.len() > 2 && cycles.windows(2).all(|pair| pair[0] < pair[1]), "{cycles:?}");
    for (name, list) in series {
        assert_eq!(list.as_array().map(Vec::len), Some(cycles.len()), "{name}");
    }
    let issued: u64 = series["sm.issued.count"].as_array().expect("a list").iter().map(count).sum();
    assert_eq!(kernel["counters"]["sm.issued.count"], issued);
}

#[test]
fn a_block_that_no_sm_can_hold_is_refused_with_the_reason() {
    let refused = run(&["vecadd@tiny", "--set", "sm.threads=64", "--set", "sm.warps=2"]).expect(3);
    refused.says("cannot launch").says("threads, an SM has 64");
}

#[test]
fn faults_are_reported_as_in_functional_runs() {
    for example in ["past-the-end", "misaligned", "divergent-barrier"] {
        let file = format!("examples/faults/{example}.toml");
        let functional = warpwatt(&["run", "--launch", &file, "--functional", "-q"]).expect(4);
        let timed = run(&["--launch", &file, "-q"]).expect(4);
        // Which block comes first is the machine's choice; what went wrong and where is not.
        let essence = |ran: &Ran| -> Vec<String> {
            let lines = ran.err.lines().filter(|line| line.contains("faults.cu") || line.starts_with("help"));
            let mut lines: Vec<_> = lines.map(|line| line.trim().to_owned()).collect();
            lines.dedup();
            lines
        };
        assert!(!essence(&timed).is_empty(), "{}", timed.err);
        assert_eq!(essence(&timed), essence(&functional), "{example}");
    }
    let races = ["--launch", "examples/faults/race.toml", "--check", "races"];
    run(&races).expect(4).says("race on shared memory").says("in kernel `race`");
    run(&["--launch", "examples/faults/lock-held.toml", "--watchdog", "10k"]).expect(4).says("no progress");
}

#[test]
fn a_timed_launch_is_repeated_on_the_same_gpu() {
    let folder = Folder::new();
    let saved = folder.path("saved");
    let first = record(&["scan@tiny", "--set", "sm.scheduler=lrr", "--save-reproducer", &saved]);
    let replayed = warpwatt(&["replay", &saved, "--json", "-"]).expect(0).json();
    assert_eq!(replayed["mode"], "timed");
    assert_eq!(replayed["inputs"]["gpu"]["sha256"], first["inputs"]["gpu"]["sha256"]);
    let last = kernels(&first).last().expect("a launch");
    let again = &kernels(&replayed)[0];
    for key in ["name", "grid", "warp_instructions", "thread_instructions"] {
        assert_eq!(again[key], last[key], "{key}");
    }
}
