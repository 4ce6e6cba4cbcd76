// SPDX-License-Identifier: MIT OR Apache-2.0
//! `characterize`: its tables are the same however many runs go on at a time, and its figures are those of the runs.

use serde_json::Value;

use crate::common::{Folder, warpwatt};

const COMMAND: [&str; 5] = ["characterize", "--size", "tiny", "--workloads", "vecadd,bfs"];

/// The row of a workload in a table.
fn row<'a>(document: &'a Value, table: &str, workload: &str) -> &'a Value {
    let tables = document["tables"].as_array().expect("tables");
    let table = tables.iter().find(|one| one["name"] == table).unwrap_or_else(|| panic!("no {table}"));
    let rows = table["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["workload"] == workload).unwrap_or_else(|| panic!("no {workload}"))
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("`{key}` of {row}"))
}

#[test]
fn figures_are_those_of_runs_whatever_the_number_of_jobs() {
    let folder = Folder::new();
    let (json, markdown) = (folder.path("a.json"), folder.path("a.md"));
    let both = ["--jobs", "1", "--json", &json, "--markdown", &markdown];
    let shown = warpwatt(&[&COMMAND[..], &both].concat()).expect(0).out;
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "it fits a terminal:\n{shown}");
    let written = std::fs::read_to_string(&json).expect("a file");
    let again = warpwatt(&[&COMMAND[..], &["--jobs", "2", "--json", "-"]].concat()).expect(0);
    assert_eq!(again.out, written);
    let document = again.json();

    for workload in ["vecadd", "bfs"] {
        let mix = row(&document, "mix", workload);
        let kinds = ["integer", "float", "special", "memory", "control", "rest"];
        let sum: f64 = kinds.iter().map(|kind| number(mix, kind)).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{mix}");
        let machine = row(&document, "machine", workload);
        let run = warpwatt(&["run", &format!("{workload}@tiny"), "--gpu", "gtx480", "--json", "-"]).expect(0);
        let run = run.json();
        assert_eq!(machine["ipc"], run["totals"]["ipc"]);
        let occupancy = run["totals"]["counters"]["sm.occupancy.ratio"].as_f64().expect("a ratio");
        assert!((number(machine, "occupancy") - 100.0 * occupancy).abs() < 1e-9);
        assert!(
            number(machine, "with_warps") <= 100.0 && number(machine, "registers_ptxas") > 0.0,
            "{machine}"
        );
        // Addresses have upper halves, whose lanes are alike.
        let similarity = row(&document, "similarity", workload);
        assert!(number(similarity, "upper_halves") > 0.0 && number(similarity, "similar_upper") > 90.0);
        let widths = row(&document, "widths", workload);
        let (lower, upper) = (number(widths, "narrow"), number(widths, "narrow_upper"));
        let both = number(widths, "narrow_both");
        assert!(lower.min(upper) <= both && both <= lower.max(upper), "{widths}");
        let caches = row(&document, "block_utilisation", workload);
        assert!((1.0..=100.0).contains(&number(caches, "l2")) && caches["texture"].is_null(), "{caches}");
    }
    assert_eq!(number(row(&document, "block_utilisation", "bfs"), "l1d_thesis"), 81.1);
    assert!(
        row(&document, "block_utilisation", "vecadd")["l1d_thesis"].is_null(),
        "it is none of the thesis's"
    );
    let (alone, divergent) = (row(&document, "mix", "vecadd"), row(&document, "mix", "bfs"));
    assert!(number(alone, "lanes") > number(divergent, "lanes"));
    assert_eq!((alone["data"].as_str(), divergent["data"].as_str()), (Some("mixed"), Some("int")));

    let markdown = std::fs::read_to_string(&markdown).expect("a file");
    assert!(markdown.contains("## Instructions") && markdown.contains("\n| bfs | "), "{markdown}");
}

#[test]
fn workloads_that_are_not_there_are_told() {
    warpwatt(&["characterize", "--size", "tiny", "--workloads", "bsf"]).expect(2).says("did you mean `bfs`?");
}
