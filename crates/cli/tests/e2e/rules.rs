// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rule of the report estimates, against an experiment: the parameter that it blames is changed, and the gain measured. docs/report.md has the same for
//! more programs.

use crate::common::{Folder, warpwatt};

/// Latencies of arithmetic.
const ARITHMETIC: [&str; 11] = [
    "int_add", "int_mul", "int_wide", "logic", "shift", "min_max", "compare", "moves", "fp32", "convert",
    "special",
];

/// Cycles and joules of a run, with its record at `path`.
fn run(path: &str, settings: &[String]) -> (f64, f64) {
    let mut args = vec!["run", "nw@tiny", "--json", path, "-q"];
    args.extend(settings.iter().flat_map(|setting| ["--set", setting.as_str()]));
    warpwatt(&args).expect(0);
    let text = std::fs::read_to_string(path).expect("a record");
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    (number(&record["totals"]["cycles"]), number(&record["energy"]["total_j"]))
}

/// Cycles and joules that a rule estimates, by the table of the page.
fn estimated(page: &str, rule: &str) -> (f64, f64) {
    let (_, table) = page.split_once("-rules-d\"").expect("a table of rules");
    let (table, _) = table.split_once("</table>").expect("its end");
    let (_, row) =
        table.split_once(&format!("<td data-v=\"{rule}\">")).unwrap_or_else(|| panic!("{rule} in {table}"));
    let mut numbers = row.split("<td class=n data-v=\"").skip(1).map(|cell| {
        cell.split_once('"').and_then(|(digits, _)| digits.parse::<f64>().ok()).expect("a number")
    });
    (numbers.next().expect("cycles"), numbers.next().expect("joules"))
}

#[test]
fn what_rules_estimate_is_gained_when_what_they_blame_is_changed() {
    let folder = Folder::new();
    let (record, page, other) = (folder.path("a.json"), folder.path("a.html"), folder.path("b.json"));
    let (cycles, joules) = run(&record, &[]);
    warpwatt(&["report", &record, "--out", &page, "-q"]).expect(0);
    let page = std::fs::read_to_string(&page).expect("a page");
    let set = |settings: &[&str]| settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>();
    let arithmetic = ARITHMETIC.map(|name| format!("sm.latency.{name}=1")).to_vec();
    for (rule, settings, near) in [
        // Nothing takes its place.
        ("Launch latency", set(&["gpu.kernel_launch_cycles=1"]), 0.98..1.02),
        // Warps at barriers wait for memory, too: more is gained.
        (
            "Latency of memory",
            set(&["dram.cycles=1", "noc.cycles=4", "l2.cycles=1", "sm.l1d.cycles=1"]),
            0.8..1.25,
        ),
        ("Dependent instructions", arithmetic, 0.8..1.25),
    ] {
        let (expected, saved) = estimated(&page, rule);
        let (less, cheaper) = run(&other, &settings);
        let ratio = (cycles - less) / expected;
        assert!(near.contains(&ratio), "{rule}: {expected} cycles are estimated, {} gained", cycles - less);
        let ratio = (joules - cheaper) / saved;
        assert!((0.8..1.25).contains(&ratio), "{rule}: {saved} J are estimated, {} saved", joules - cheaper);
    }
}
