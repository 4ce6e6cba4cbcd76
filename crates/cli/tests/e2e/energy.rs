// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy as a person and a script see it.

use serde_json::Value;

use crate::common::{Folder, warpwatt};

fn record(args: &[&str]) -> Value {
    warpwatt(&[&["run"], args, &["--json", "-", "-q"]].concat()).expect(0).json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

fn sum(list: &Value, fields: &[&str]) -> f64 {
    let list = list.as_array().unwrap_or_else(|| panic!("a list, not {list}"));
    list.iter().map(|item| fields.iter().map(|field| number(&item[field])).sum::<f64>()).sum()
}

#[track_caller]
fn same(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()), "{a} is not {b}");
}

fn adds_up(energy: &Value) {
    let total = number(&energy["total_j"]);
    assert!(total > 0.0);
    same(sum(&energy["components"], &["dynamic_j", "static_j"]), total);
    same(sum(&energy["structures"], &["dynamic_j", "static_j"]), total);
    same(sum(&energy["per_line"], &["energy_j"]) + number(&energy["unattributed_j"]), total);
    same(number(&energy["dynamic_j"]) + number(&energy["static_j"]), total);
}

#[test]
fn energy_of_every_kernel_and_of_the_run_adds_up() {
    for name in ["sgemm@tiny", "bfs@tiny", "histo@tiny", "scan@tiny"] {
        let record = record(&[name]);
        assert_eq!(record["inputs"]["technology"], "gtx480-40nm");
        adds_up(&record["energy"]);
        let kernels = record["kernels"].as_array().expect("kernels");
        for kernel in kernels {
            let energy = &kernel["energy"];
            adds_up(energy);
            let watts = number(&energy["average_w"]);
            assert!((20.0..250.0).contains(&watts), "{name}: {watts} W");
            let seconds = number(&kernel["cycles"]) / 700e6;
            same(number(&energy["edp_js"]), number(&energy["total_j"]) * seconds);
            same(number(&energy["ed2p_js2"]), number(&energy["total_j"]) * seconds * seconds);
            // Lines of the energy are lines of the kernel, and their time is what they issued and waited.
            assert_eq!(energy["per_line"].as_array().map(Vec::len), kernel["lines"].as_array().map(Vec::len));
        }
    }
}

#[test]
fn functional_runs_have_no_energy() {
    let record = record(&["vecadd@tiny", "--functional"]);
    assert!(record.get("energy").is_none() && record["kernels"][0].get("energy").is_none());
    assert!(record["inputs"].get("technology").is_none());
    warpwatt(&["run", "vecadd@tiny", "--functional", "--energy"]).expect(2).says("--energy");
    warpwatt(&["run", "vecadd@tiny", "--functional", "--technology", "wc45"]).expect(2).says("--technology");
}

#[test]
fn the_table_names_components_kinds_and_lines() {
    let ran = warpwatt(&["run", "sgemm@tiny", "--energy"]).expect(0);
    let said = format!("{}{}", ran.out, ran.err);
    for words in [
        "register file",
        "execution units",
        "constant power",
        "static",
        "energy-delay",
        "silicon: 40 nm, 350 K, 0.960 V for clock.core_mhz",
        "with warps",
        "on chip",
        "fp32_mul",
        "sgemm.cu:",
    ] {
        assert!(said.contains(words), "`{words}` is not in\n{said}");
    }
    let plain = warpwatt(&["run", "sgemm@tiny"]).expect(0);
    let said = format!("{}{}", plain.out, plain.err);
    assert!(said.contains("energy ") && said.contains("(gtx480-40nm)"), "{said}");
    assert!(!said.contains("energy-delay"), "{said}");
}

#[test]
fn a_structure_of_the_user_s_own_appears() {
    let folder = Folder::new();
    let file = folder.file(
        "mine.toml",
        "inherits = \"gtx480-40nm\"\n[[structure]]\nname = \"snooper\"\ncomponent = \"snooping\"\ndoc = \"Looks at stores.\"\n\
         events = [{ counter = \"l1d.writes.count\", pj = 100.0, source = \"a guess\" }]\n",
    );
    let record = record(&["vecadd@tiny", "--technology", &file]);
    assert_eq!(record["inputs"]["technology"], "mine");
    let components = record["energy"]["components"].as_array().expect("components");
    let own = components.iter().find(|part| part["name"] == "snooping").expect("it is there");
    let writes = number(&record["totals"]["counters"]["l1d.writes.count"]);
    assert!(writes > 0.0);
    same(number(&own["dynamic_j"]), writes * 100e-12);
    adds_up(&record["energy"]);
    let table = warpwatt(&["run", "vecadd@tiny", "--technology", &file, "--energy"]).expect(0).out;
    assert!(
        table.contains("\nsnooping ") && !table.contains("\n  snooper "),
        "a component of its own: {table}"
    );
    // A structure that is part of a built-in component has a row below it.
    let text = std::fs::read_to_string(&file).expect("the file").replace("\"snooping\"", "\"L1 data cache\"");
    let inside = folder.file("inside.toml", &text);
    let table = warpwatt(&["run", "vecadd@tiny", "--technology", &inside, "--energy"]).expect(0).out;
    let lines: Vec<_> = table.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("L1 data cache ")).expect("the component");
    assert!(lines[at + 1].starts_with("  snooper "), "{table}");
}

#[test]
fn mistakes_in_a_technology_are_told_with_their_place() {
    let folder = Folder::new();
    let file = folder.file(
        "bad.toml",
        "[[structure]]\nname = \"a\"\ncomponent = \"b\"\ndoc = \"c\"\n\
         events = [{ counter = \"rf.read.count\", pj = 1, source = \"us\" }]\n",
    );
    warpwatt(&["run", "vecadd@tiny", "--technology", &file])
        .expect(2)
        .says("bad.toml:5:23: there is no counter `rf.read.count`")
        .says("did you mean `rf.reads.count`?");
    warpwatt(&["run", "vecadd@tiny", "--technology", "gtx480-40mn"])
        .expect(2)
        .says("did you mean `gtx480-40nm`?");
    warpwatt(&["run", "vecadd@tiny", "--technology", "no/such.toml"]).expect(74).says("no/such.toml");
}

#[test]
fn technologies_are_listed_and_shown() {
    let list = warpwatt(&["list", "technologies"]).expect(0).out;
    for name in ["gtx480-40nm", "gpuwattch-40nm", "wc45", "corf40", "thesis32", "e2mc32", "combined-40nm"] {
        assert!(list.contains(name), "{list}");
        let text = warpwatt(&["list", "technologies", "--show", name]).expect(0).out;
        assert!(text.contains(&format!("name = \"{name}\"")), "{text}");
    }
    let all = warpwatt(&["list", "technologies", "--json", "-"]).expect(0).json();
    assert_eq!(all["technologies"].as_array().map(Vec::len), Some(7));
    warpwatt(&["list", "gpus", "--show", "gtx480"]).expect(2).says("--show");
}

/// An architect's first sweep: larger, faster and hotter GPUs do not take less for the same work.
#[test]
fn energy_follows_the_design() {
    let plain = record(&["bfs@tiny"]);
    let of = |record: &Value, structure: &str, field: &str| {
        let all = record["energy"]["structures"].as_array().expect("structures");
        number(&all.iter().find(|part| part["name"] == structure).expect("it is there")[field])
    };
    let hit = |record: &Value| {
        let counters = &record["totals"]["counters"];
        let accesses = number(&counters["l2.reads.count"]) + number(&counters["l2.writes.count"]);
        of(record, "L2", "dynamic_j") / accesses
    };
    let large = record(&["bfs@tiny", "--set", "l2.sets=8192"]);
    assert!(hit(&large) > 3.0 * hit(&plain), "{} {}", hit(&large), hit(&plain));
    assert!(of(&large, "L2", "area_mm2") > 50.0 * of(&plain, "L2", "area_mm2"));
    let fast = record(&["bfs@tiny", "--set", "clock.core_mhz=4000"]);
    assert!(number(&fast["energy"]["total_j"]) > 2.0 * number(&plain["energy"]["total_j"]));
    assert!(number(&fast["energy"]["silicon"]["volts"]["clock.core_mhz"]) > 2.0);
    let pinned = record(&["bfs@tiny", "--set", "clock.core_mhz=4000", "--set", "power.core_mv=960"]);
    assert!(number(&pinned["energy"]["total_j"]) < number(&fast["energy"]["total_j"]));
    let hot = record(&["bfs@tiny", "--set", "power.kelvin=380"]);
    assert!(number(&hot["energy"]["static_j"]) > 1.2 * number(&plain["energy"]["static_j"]));
    assert_eq!(hot["totals"]["cycles"], plain["totals"]["cycles"]);
    warpwatt(&["run", "bfs@tiny", "--set", "power.kelvin=20"]).expect(2).says("power.kelvin");
}

#[test]
fn power_over_time_is_recorded_with_the_counters() {
    let record = record(&["hotspot@tiny", "--interval", "500"]);
    let series = record["kernels"][0]["series"].as_object().expect("series");
    let length = series["cycle"].as_array().map(Vec::len);
    let power: Vec<_> = series.iter().filter(|(name, _)| name.starts_with("power.")).collect();
    assert!(power.len() > 10, "{}", power.len());
    for (name, values) in power {
        assert_eq!(values.as_array().map(Vec::len), length, "{name}");
    }
    // That of the run, times time, is its energy.
    let power = &record["energy"]["power"];
    let column =
        |name: &str| -> Vec<f64> { power[name].as_array().expect("a column").iter().map(number).collect() };
    let spans =
        column("start_cycle").into_iter().zip(column("end_cycle")).map(|(from, to)| (to - from) / 700e6);
    let joules: f64 = spans.zip(column("total_w")).map(|(seconds, watts)| seconds * watts).sum();
    same(joules, number(&record["energy"]["total_j"]));
}

/// Probes are techniques of test builds: one line each in the list, and no other place knows them.
#[test]
fn a_technique_is_seen_wherever_techniques_are() {
    let list = warpwatt(&["list", "techniques"]).expect(0).out;
    let probes = ["merge", "rename", "release", "insert", "limit", "delay", "shorten"]
        .map(|name| format!("probe-{name}"));
    for probe in &probes {
        assert!(list.contains(probe.as_str()), "{probe} is not in\n{list}");
        let record = record(&["histo@tiny", "--with", probe]);
        assert_eq!(record["inputs"]["techniques"][0], probe.as_str());
        assert_eq!(record["check"]["passed"], true, "{probe}");
        let prefix = probe.replace('-', "_") + ".";
        let counters = record["totals"]["counters"].as_object().expect("counters");
        assert!(counters.keys().any(|name| name.starts_with(&prefix)), "{probe} counts nothing");
    }
    // Its counters take energy, which goes to source lines; names are checked whether it is on or not.
    let folder = Folder::new();
    let structure = |counter: &str| {
        format!(
            "inherits = \"gtx480-40nm\"\n[[structure]]\nname = \"merger\"\ncomponent = \"merging\"\ndoc = \"Merges.\"\n\
             techniques = [\"probe-merge\"]\nevents = [{{ counter = \"{counter}\", pj = 1000.0, source = \"a guess\" }}]\n"
        )
    };
    let file = folder.file("mine.toml", &structure("probe_merge.merged.count"));
    let with = record(&["histo@tiny", "--technology", &file, "--with", "probe-merge"]);
    adds_up(&with["energy"]);
    let components = with["energy"]["components"].as_array().expect("components");
    let own = components.iter().find(|part| part["name"] == "merging").expect("it is there");
    let merged = number(&with["totals"]["counters"]["probe_merge.merged.count"]);
    assert!(merged > 0.0);
    same(number(&own["dynamic_j"]), merged * 1e-9);
    let lines = |record: &Value| -> f64 {
        let lines = record["energy"]["per_line"].as_array().expect("lines");
        lines.iter().map(|line| number(&line["dynamic_j"])).sum()
    };
    let plain = record(&["histo@tiny", "--with", "probe-merge"]);
    same(lines(&with) - lines(&plain), merged * 1e-9);
    let off = record(&["histo@tiny", "--technology", &file]);
    let components = off["energy"]["components"].as_array().expect("components");
    assert!(components.iter().all(|part| part["name"] != "merging"));
    let bad = folder.file("bad.toml", &structure("probe_merge.merges.count"));
    warpwatt(&["run", "histo@tiny", "--technology", &bad]).expect(2).says("probe_merge.merged.count");
    // A flipped bit is noticed where each stores something.
    for (probe, place) in [("probe-rename", "rf"), ("probe-delay", "cache"), ("probe-shorten", "dram")] {
        // What is copied is read from memory, not from L2.
        let set = ["--set", "pcie.fills_l2=false"];
        warpwatt(&[&["run", "histo@tiny", "--with", probe, "--inject-fault", place][..], &set].concat())
            .expect(1)
            .says("the error was detected");
    }
}
