// SPDX-License-Identifier: MIT OR Apache-2.0
//! Out folders become reports: of one paper, of several, and of points alone.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A folder that goes away with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("warpwatt-report-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }

    fn put(&self, path: &str, document: &Value) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder can be made");
        std::fs::write(path, document.to_string()).expect("a file can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn figure(paper: &str) -> Value {
    let series = json!([
        { "name": "a<b", "unit": "%", "values": { "x": 10.0, "y": null }, "spread": { "x": [9.0, 11.0] }, "mean": 10.0, "claim": "p.a", "paper": 12.5 },
        { "name": "c", "unit": "x", "values": { "x": 2.0, "y": 3.0 }, "mean": 2.5, "harmonic_mean": 2.4, "geometric_mean": 2.45 },
    ]);
    json!({ "schema": "warpwatt.figure/1", "paper": paper, "figure": "Figure 7", "title": "T & U", "axis": "workload", "series": series })
}

fn ledger(paper: &str) -> Value {
    let row = json!({ "id": "p.a", "where": "Figure 7", "what": "w", "kind": "measured", "paper": 12.5, "unit": "%", "measured_unit": "%", "measured": 10.0, "ratio": 0.8,
        "verdict": "holds", "workloads": 2, "reading": "R", "judgement": "J", "others": [{ "name": "o", "reading": "other", "verdict": "differs", "measured": 1.0 }],
        "entries": [], "reasons": [{ "text": "because", "shown_by": "fig07" }] });
    json!({ "schema": "warpwatt.ledger/2", "paper": paper, "title": paper.to_uppercase(), "citation": "C", "seeds": [1], "workloads": ["x", "y"], "rows": [row] })
}

fn point(techniques: &[&str], cycles: u64, joules: f64) -> Value {
    let gpu = json!({ "name": "g", "parameters": { "clock.core_mhz": "700" } });
    json!({ "schema": "warpwatt.point/1", "cycles": cycles, "thread_instructions": 100, "energy": { "total_j": joules },
        "inputs": { "workload": "x", "size": "tiny", "seed": 1, "gpu": gpu, "techniques": techniques, "technology": "t" } })
}

fn page(folder: &Path) -> String {
    let path = warpwatt_report::write(folder).expect("it becomes a report");
    assert_eq!(path, folder.join("report.html"));
    std::fs::read_to_string(path).expect("the report")
}

#[test]
fn one_paper() {
    let folder = Folder::new("one");
    folder.put("figures/fig07.json", &figure("p"));
    folder.put("ledger.json", &ledger("p"));
    let page = page(&folder.0);
    for words in [
        "id=\"fig-p-fig07\"",
        "id=\"ledger-p\"",
        "id=\"claim-p.a\"",
        "href=\"#fig-p-fig07\"",
        "T &amp; U",
        "a&lt;b",
        "the paper 12.5 %",
        "because",
    ] {
        assert!(page.contains(words), "`{words}` is missing");
    }
    for (file, unit) in [("figures/fig07-1.svg", "%"), ("figures/fig07-2.svg", "x")] {
        let svg = std::fs::read_to_string(folder.0.join(file)).expect("a figure for each unit");
        assert!(
            svg.starts_with("<?xml") && svg.contains(&format!(">{unit}<")) && svg.contains("data-i"),
            "{svg}"
        );
    }
    assert!(warpwatt_report::write(&folder.0).is_ok(), "it can be made again");
}

#[test]
fn several_papers_in_one_folder_or_in_one_each() {
    let shared = Folder::new("shared");
    shared.put("figures/p-fig07.json", &figure("p"));
    shared.put("figures/q-fig07.json", &figure("q"));
    shared.put("ledger-p.json", &ledger("p"));
    shared.put("ledger-q.json", &ledger("q"));
    let apart = Folder::new("apart");
    for paper in ["p", "q"] {
        apart.put(&format!("{paper}/figures/fig07.json"), &figure(paper));
        apart.put(&format!("{paper}/ledger.json"), &ledger(paper));
    }
    for folder in [&shared, &apart] {
        let page = page(&folder.0);
        for words in ["id=\"fig-p-fig07\"", "id=\"fig-q-fig07\"", "id=\"ledger-q\"", "id=\"paper-p\""] {
            assert!(page.contains(words), "`{words}` is missing");
        }
    }
    assert!(shared.0.join("figures/q/fig07-1.svg").is_file());
    assert!(apart.0.join("q/figures/fig07-1.svg").is_file());
}

#[test]
fn points_alone_have_a_front() {
    let folder = Folder::new("points");
    folder.put("points/a.json", &point(&[], 100, 2.0));
    folder.put("points/b.json", &point(&["fast"], 50, 3.0));
    folder.put("points/c.json", &point(&["bad"], 120, 4.0));
    folder.put("points/d.json", &json!({ "schema": "warpwatt.point/9" }));
    std::fs::write(folder.0.join("points/e.json"), "{ half").expect("a file can be written");
    let page = page(&folder.0);
    assert!(page.contains("id=\"pareto\"") && page.contains("3 points"), "what is no point is left out");
    assert_eq!(
        page.matches("<td>on the front</td>").count(),
        4,
        "two configurations, of the workload and of the mean"
    );
}

#[test]
fn what_is_not_a_result_is_refused() {
    let folder = Folder::new("bad");
    let refused =
        |folder: &Folder| warpwatt_report::write(&folder.0).expect_err("it is no result").to_string();
    assert!(refused(&folder).contains("contains no points"));
    folder.put("ledger.json", &json!({ "schema": "other" }));
    assert!(refused(&folder).contains("ledger.json is not a ledger"));
    folder.put("ledger.json", &ledger("p"));
    folder.put("figures/f.json", &json!([]));
    assert!(refused(&folder).contains("f.json is not a figure"));
    std::fs::write(folder.0.join("figures/f.json"), "x").expect("a file can be written");
    assert!(refused(&folder).contains("is not JSON"));
    assert!(!folder.0.join("report.html").exists());
}
