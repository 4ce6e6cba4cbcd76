// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drowsy caches in which no block sleeps: the record is that of a run without the technique, to the last bit of its energy. Divided word lines: every
//! read that is paid for is divided.

use serde_json::Value;

use crate::common::warpwatt;

/// The switch of `drowsy` for each cache, and the structure of energy that the cache is.
const CACHES: [(&str, &str); 6] = [
    ("l1d", "L1 data cache"),
    ("l2", "L2"),
    ("constant", "constant cache"),
    ("texture", "texture cache"),
    ("shared", "shared memory"),
    ("instruction", "instruction cache"),
];

/// Workloads that use all of these caches between them.
const WORKLOADS: [&str; 3] = ["bfs@tiny", "hotspot@tiny", "simpletexture@tiny"];

/// Settings with which no block sleeps: one region, which is never left, or full voltage.
const AWAKE: [&str; 4] = [
    "region=1048576,wake_cycles=0",
    "region=1048576",
    "millivolts=900,wake_fj=100",
    "millivolts=900,policy=immediate,region=4",
];

/// The technique with these settings, in one cache alone.
fn alone(settings: &str, cache: &str) -> String {
    let switches = CACHES.map(|(other, _)| format!("{other}={}", if other == cache { "on" } else { "off" }));
    format!("drowsy:{settings},{}", switches.join(","))
}

fn run(workload: &str, gpu: &str, with: &[&str]) -> Value {
    let technology = if gpu == "gtx480-thesis" { "thesis32" } else { "gtx480-40nm" };
    let mut args = vec!["run", workload, "--gpu", gpu, "--technology", technology, "--interval", "5000"];
    args.extend(with.iter().flat_map(|text| ["--with", text]));
    args.extend(["--json", "-", "-q"]);
    let mut record = warpwatt(&args).expect(0).json();
    record["host"] = Value::Null;
    record["inputs"]["techniques"] = Value::Null;
    record
}

/// All that a record without the technique has is the same with it; the technique's own counters come on top.
#[track_caller]
fn same(without: &Value, with: &Value, path: &str) {
    match (without, with) {
        (Value::Object(fields), Value::Object(others)) => {
            let counts = ["/counters", "/series"].iter().any(|end| path.ends_with(end));
            assert!(counts || fields.len() == others.len(), "{path}: fields were added");
            fields.iter().for_each(|(name, value)| same(value, &with[name], &format!("{path}/{name}")));
        }
        (Value::Array(items), Value::Array(others)) => {
            assert_eq!(items.len(), others.len(), "{path}");
            let pairs = items.iter().zip(others).enumerate();
            pairs.for_each(|(i, (item, other))| same(item, other, &format!("{path}/{i}")));
        }
        _ => assert_eq!(without, with, "{path}"),
    }
}

#[test]
fn where_no_block_sleeps_energy_and_cycles_are_the_baselines() {
    for workload in WORKLOADS {
        let without = run(workload, "gtx480-thesis", &[]);
        for settings in AWAKE {
            for (cache, _) in CACHES {
                let technique = alone(settings, cache);
                same(&without, &run(workload, "gtx480-thesis", &[&technique]), &technique);
            }
            let all = format!("drowsy:{settings},instruction=on");
            same(&without, &run(workload, "gtx480-thesis", &[&all]), &all);
        }
    }
    // A GPU that divides its on-chip memory as a kernel prefers, and whose clocks differ.
    for gpu in ["gtx480", "gtx580-e2mc"] {
        let without = run("hotspot@tiny", gpu, &[]);
        for settings in AWAKE {
            let all = format!("drowsy:{settings},instruction=on");
            same(&without, &run("hotspot@tiny", gpu, &[&all]), &format!("{gpu} with {all}"));
        }
    }
}

#[test]
fn a_cache_that_sleeps_after_each_access_saves_its_own_leakage_and_nothing_else() {
    for workload in WORKLOADS {
        let without = run(workload, "gtx480-thesis", &[]);
        for (cache, structure) in CACHES {
            let technique = alone("region=1048576,wake_cycles=0,policy=immediate", cache);
            let with = run(workload, "gtx480-thesis", &[&technique]);
            assert_eq!(without["totals"]["cycles"], with["totals"]["cycles"], "{workload} with {technique}");
            let [before, after] = [&without, &with].map(|record| &record["energy"]["structures"]);
            let pairs = before.as_array().expect("a list").iter().zip(after.as_array().expect("a list"));
            for (before, after) in pairs {
                if before["name"] == structure {
                    assert_eq!(before["dynamic_j"], after["dynamic_j"], "{technique}");
                    let [before, after] = [before, after].map(|part| part["static_j"].as_f64());
                    assert!(after < before, "{workload} with {technique}: {after:?} for {before:?}");
                } else {
                    assert_eq!(before, after, "{workload} with {technique}");
                }
            }
        }
    }
}

#[test]
fn a_technique_outside_of_the_sms_leaves_their_energy_alone() {
    let without = run("bfs@tiny", "gtx480-thesis", &[]);
    // What L2 leaks is shared by all SMs.
    let with = run("bfs@tiny", "gtx480-thesis", &[&alone("wake_cycles=0", "l2")]);
    let pairs = without["kernels"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(with["kernels"].as_array().expect("a list"));
    for (before, after) in pairs {
        let [before, after] = [before, after].map(|kernel| &kernel["energy"]["per_sm"]);
        assert_eq!(before["dynamic_j"], after["dynamic_j"]);
        assert_eq!(before["static_j"], after["static_j"]);
        assert!(after["shared_j"].as_f64() < before["shared_j"].as_f64());
    }
}

#[test]
fn every_load_whose_read_is_paid_for_is_divided_and_profiled() {
    for workload in ["gaussian@tiny", "backprop@tiny"] {
        let record = run(workload, "gtx480-thesis", &["dwl", "block-profile"]);
        let count = |name: &str| record["totals"]["counters"][name].as_u64().expect("a count");
        let (hits, merges) = (count("l1d.read_hits.count"), count("l1d.merges.count"));
        assert!(merges > 0, "{workload}: no load of a line on its way");
        assert_eq!(count("dwl.l1d_reads.count"), hits + merges, "{workload}");
        assert_eq!(count("profile.l1d_accesses.count"), hits + merges, "{workload}");
    }
}
