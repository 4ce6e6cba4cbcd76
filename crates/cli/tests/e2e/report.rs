// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages and traces, as far as they can be judged without a browser; tests/report/run.py opens them in one.

use crate::common::{Folder, warpwatt};

fn record(folder: &Folder, name: &str, more: &[&str]) -> String {
    let file = folder.path(name);
    warpwatt(&[&["run", "vecadd@tiny", "--json", &file, "-q"], more].concat()).expect(0);
    file
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn a_record_becomes_one_file_that_needs_nothing_else() {
    let folder = Folder::new();
    let (run, page) = (record(&folder, "a.json", &["--interval", "500"]), folder.path("a.html"));
    let ran = warpwatt(&["report", &run, "--out", &page, "-q"]).expect(0);
    assert_eq!(ran.out.trim(), page, "it says where the page is");
    let page = text(&page);
    for words in
        ["id=\"s-run-1-k0-source\"", "Roofline of energy", "Bottlenecks", "__global__", "Power over time"]
    {
        assert!(page.contains(words), "`{words}` is missing");
    }
    for foreign in ["src=\"http", "href=\"http", "@import", "url("] {
        assert!(!page.contains(foreign), "`{foreign}` is from elsewhere");
    }
    assert!(!page.contains("NaN"));
}

#[test]
fn two_records_are_compared_and_functional_ones_are_shown() {
    let folder = Folder::new();
    let (a, b) = (record(&folder, "a.json", &[]), record(&folder, "b.json", &["--set", "sm.scheduler=lrr"]));
    let page = folder.path("ab.html");
    warpwatt(&["compare", &a, &b, "--html", &page, "-q"]).expect(0);
    let page = text(&page);
    assert!(
        page.contains("id=\"compare\"") && page.contains("sm.scheduler") && page.contains("id=\"run-2\"")
    );
    let functional = record(&folder, "f.json", &["--functional"]);
    let page = folder.path("f.html");
    warpwatt(&["report", &functional, "--out", &page, "-q"]).expect(0);
    assert!(text(&page).contains("A functional run has no time"));
}

#[test]
fn what_is_no_result_is_named() {
    let folder = Folder::new();
    let page = folder.path("page.html");
    let report = |what: &str| warpwatt(&["report", what, "--out", &page]);
    report(&folder.path("missing.json")).expect(74).says("cannot read");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path(name), text).expect("the file can be written");
        folder.path(name)
    };
    report(&file("text.json", "hello")).expect(3).says("is not JSON");
    report(&file("list.json", "[]")).expect(3).says("has no `schema` field");
    report(&file("other.json", r#"{"schema": "warpwatt.sweep/1"}"#)).expect(3).says("`warpwatt.sweep/1`");
    report(&file("old.json", r#"{"schema": "warpwatt.run/2"}"#)).expect(3).says("of this version");
    std::fs::create_dir(folder.path("empty")).expect("the folder can be made");
    report(&folder.path("empty")).expect(3).says("contains no points, figures or ledger");
    warpwatt(&["report"]).expect(2).says("RESULTS");
    let run = record(&folder, "a.json", &[]);
    warpwatt(&["report", &run, "--out", &folder.path("no/such/page.html")]).expect(74).says("cannot write");
    assert!(!std::path::Path::new(&page).exists(), "nothing is written for bad input");
}

#[test]
fn a_trace_belongs_to_a_timed_run() {
    let folder = Folder::new();
    let trace = folder.path("a.pftrace");
    warpwatt(&["run", "vecadd@tiny", "--functional", "--trace", &trace]).expect(2).says("--functional");
    let plain = text(&record(&folder, "plain.json", &[]));
    let traced = text(&record(&folder, "traced.json", &["--trace", &trace]));
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
    let (plain, traced) = (read(&plain), read(&traced));
    assert_eq!(plain["totals"], traced["totals"], "it changes nothing");
    assert!(plain.get("copies").is_none() && plain["kernels"][0].get("blocks").is_none());
    let blocks = traced["kernels"][0]["blocks"]["sm"].as_array().expect("blocks");
    let grid: u64 = (0..3).filter_map(|side| traced["kernels"][0]["grid"][side].as_u64()).product();
    assert_eq!(blocks.len() as u64, grid);
    assert!(traced["copies"].as_array().is_some_and(|copies| copies.len() >= 3), "two inputs, a result");
    assert!(std::fs::metadata(&trace).expect("the trace").len() > 100);
    warpwatt(&["run", "vecadd@tiny", "-q", "--trace", &folder.path("no/such/a.pftrace")])
        .expect(74)
        .says("cannot write");
}
