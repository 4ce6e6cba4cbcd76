// SPDX-License-Identifier: MIT OR Apache-2.0
//! A paper reproduced: what is written, what a second call leaves alone, and what is refused.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, Ran, command, warpwatt};

/// With one seed; two workloads in 28 variants.
const TWO: &[&str] =
    &["paper", "warped-compression", "--size", "tiny", "--seeds", "1", "--workloads", "bfs,vecadd"];

fn two(out: &str, more: &[&str]) -> Ran {
    warpwatt(&[TWO, &["--out", out], more].concat())
}

/// All files of a folder but the log, with the host's part of points taken out.
fn files(folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for part in ["", "points", "figures"] {
        for entry in std::fs::read_dir(Path::new(folder).join(part)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("inside").display().to_string();
            if path.is_dir() || name == "log.txt" {
                continue;
            }
            let mut text = std::fs::read_to_string(&path).expect("a text");
            if part == "points" {
                let mut point: Value = serde_json::from_str(&text).expect("a point");
                point.as_object_mut().expect("an object").remove("host").expect("the host's part");
                text = point.to_string();
            }
            found.insert(name, text);
        }
    }
    found
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

#[test]
fn a_paper_leaves_points_figures_and_a_ledger_and_is_done_once() {
    let folder = Folder::new();
    let (first, again, alone) = (folder.path("first"), folder.path("again"), folder.path("alone"));
    let ran = two(&first, &[]).expect(0).says("0 of 56 points reused, 56 simulated");
    let all = files(&first);
    assert_eq!(all.keys().filter(|name| name.starts_with("points/")).count(), 56);
    for number in [2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21] {
        let figure = value(&all[&format!("figures/fig{number:02}.json")]);
        assert_eq!(figure["figure"], format!("Figure {number}"));
        assert!(figure["series"].as_array().is_some_and(|series| !series.is_empty()), "{number}");
    }
    for name in [
        "gating",
        "alternatives",
        "movs-by-cause",
        "ratio-by-source",
        "slowdown-by-warps",
        "slowdown-by-mechanism",
    ] {
        assert!(all.contains_key(&format!("figures/{name}.json")), "{name}");
    }

    // The table, the page and the document say the same.
    let ledger = value(&all["ledger.json"]);
    assert_eq!(ledger["schema"], "warpwatt.ledger/2");
    assert_eq!(ledger["workloads"], serde_json::json!(["vecadd", "bfs"]));
    let rows = ledger["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 22);
    for row in rows {
        let id = row["id"].as_str().expect("an id");
        // Its notes stand below it.
        let mut below = ran.out.lines().skip_while(|line| line.split_whitespace().next() != Some(id));
        let row_line = below.next().expect(id);
        let notes: Vec<_> = below.take_while(|line| line.starts_with("    ")).collect();
        let line = format!("{row_line}\n{}", notes.join("\n"));
        assert!(line.contains(&format!("  {}", row["verdict"].as_str().expect("a verdict"))), "{line}");
        let fewer = row["workloads"].as_u64().filter(|some| *some != 2 && !row["measured"].is_null());
        assert_eq!(line.contains("of 2 workloads"), fewer.is_some(), "{line}");
        assert_eq!(
            line.contains("  derived") || line.contains("  computed"),
            row["kind"] != "measured",
            "{line}"
        );
        let page = all["ledger.md"].lines().find(|line| line.starts_with(&format!("| `{id}`"))).expect(id);
        if let Some(measured) = row["measured"].as_f64() {
            let shown = format!(" {measured} {}", row["measured_unit"].as_str().expect("a unit"));
            assert!(line.contains(&shown) && page.contains(&shown), "`{shown}` in\n{line}\n{page}");
        }
    }
    assert!(ran.out.contains("selected workloads (vecadd, bfs)"), "{}", ran.out);
    // One seed has no spread, and is not counted.
    assert!(ran.out.contains("No tally: 1 of 3 seeds") && ledger.get("summary").is_none(), "{}", ran.out);

    // What is there is not run again; what was lost is; another number of jobs changes nothing.
    let second = two(&first, &["--json", "-"]).expect(0).says("56 of 56 points reused, 0 simulated");
    assert_eq!(second.out, all["ledger.json"]);
    assert_eq!(files(&first), all);
    let lost = all.keys().find(|name| name.starts_with("points/")).expect("a point");
    std::fs::remove_file(Path::new(&first).join(lost)).expect("it is there");
    let third = two(&first, &["--jobs", "1"]).expect(0).says("55 of 56 points reused, 1 simulated");
    assert_eq!((third.out, files(&first)), (ran.out.clone(), all.clone()));
    two(&again, &["--jobs", "3", "-q"]).expect(0);
    assert_eq!(files(&again), all);

    // A point is what `run` gives.
    let point = all.iter().filter(|(name, _)| name.starts_with("points/")).map(|(_, text)| value(text));
    let technique = |point: &Value| point["inputs"]["techniques"][0].as_str().map(str::to_owned);
    let point = point
        .filter(|point| point["inputs"]["workload"] == "bfs")
        .find(|point| technique(point).is_some_and(|text| text.contains("gating=")))
        .expect("compression without gating");
    let with = technique(&point).unwrap_or_default();
    let gpu = ["--gpu", "gtx480-wc", "--technology", "wc45", "--with", &with];
    warpwatt(&[&["run", "bfs@tiny", "--json", &alone][..], &gpu].concat()).expect(0);
    let record = value(&std::fs::read_to_string(&alone).expect("a record"));
    assert_eq!(point["inputs"], record["inputs"]);
    assert_eq!(point["check"], record["check"]);
    assert_eq!(point["cycles"], record["totals"]["cycles"]);
    assert_eq!(point["counters"], record["totals"]["counters"]);
    assert_eq!(point["energy"]["structures"], record["energy"]["structures"]);
}

#[test]
fn an_interrupt_keeps_what_is_done() {
    let folder = Folder::new();
    let out = folder.path("out");
    let mut command = command();
    command.args(["paper", "warped-compression", "--size", "tiny", "--jobs", "1", "-v", "--out", &out]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    stderr.read_line(&mut said).expect("a point is done");
    assert!(said.starts_with("sgemm/base "), "{said}");
    // Meanwhile the folder is in use.
    two(&out, &[]).expect(2).says("another warpwatt process is using").says("--out DIR");
    // SAFETY: the child is ours and has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    stderr.read_to_string(&mut said).expect("it ends");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{said}");
    let kept = std::fs::read_dir(Path::new(&out).join("points")).expect("points").count();
    assert!(said.contains(&format!("interrupted: {kept} of 1150 points are done and kept")), "{said}");
    assert!(said.contains("to continue, repeat the command: warpwatt paper"), "{said}");
    assert!(!Path::new(&out).join("ledger.json").exists());
    let names = ["--size", "tiny", "--workloads", "sgemm", "--seed", "1", "--out", &out];
    let went_on = warpwatt(&[&["paper", "warped-compression"][..], &names].concat()).expect(0);
    let there = went_on.err.split_once(" of 28 points reused").map(|(before, _)| before);
    let there: usize = there.and_then(|text| text.rsplit(' ').next()?.parse().ok()).expect("a number");
    assert!(there >= 1, "{}", went_on.err);
}

#[test]
fn what_cannot_be_done_is_told_first() {
    let folder = Folder::new();
    folder.file("thesis.tex", "");
    two(&folder.path(""), &[])
        .expect(2)
        .says("is not empty and was not created by warpwatt")
        .says("--out DIR");
    two(&folder.path("thesis.tex"), &[]).expect(2).says("is a file");
    let out = folder.path("new");
    warpwatt(&["paper", "warped-compresion", "--out", &out])
        .expect(2)
        .says("did you mean `warped-compression`?");
    let unknown = ["paper", "warped-compression", "--workloads", "bsf", "--out", &out];
    warpwatt(&unknown).expect(2).says("there is no workload `bsf`").says("did you mean `bfs`?");
    assert!(!Path::new(&out).exists(), "nothing is made for nothing");
}

#[test]
fn three_seeds_give_a_spread_and_a_tally() {
    let folder = Folder::new();
    let out = folder.path("out");
    let args = [
        "paper",
        "warped-compression",
        "--size",
        "tiny",
        "--workloads",
        "backprop",
        "--out",
        &out,
        "--json",
        "-",
    ];
    let ledger = warpwatt(&args).expect(0).says("0 of 50 points reused, 50 simulated").json();
    assert_eq!(ledger["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(
        (&ledger["summary"]["independent"], &ledger["summary"]["not_counted"]),
        (&15.into(), &7.into())
    );
    let row = |id: &str| {
        let rows = ledger["rows"].as_array().expect("rows");
        rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id}")).clone()
    };
    assert_eq!(row("wc.rf_energy")["seeds"], 3);
    assert!(row("wc.rf_energy")["spread"].is_array() && row("wc.area_mm2")["spread"].is_null());
    let names: Vec<_> = row("wc.rf_energy")["others"]
        .as_array()
        .expect("others")
        .iter()
        .map(|other| other["name"].clone())
        .collect();
    assert_eq!(names, ["against_gating", "with_warps"]);
}

#[test]
fn claims_are_listed_with_reading_kind_and_judgement() {
    let text = warpwatt(&["list", "claims"]).expect(0).out;
    for words in
        ["wc.rf_energy: 25 %, measured", "or against_gating:", "wc.mov_share: < 2 %", "each of 6 entries"]
    {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let claims = warpwatt(&["list", "claims", "--json", "-"]).expect(0).json();
    let claims = claims["claims"].as_array().expect("a list");
    assert_eq!(claims.len(), 93);
    for claim in claims {
        for field in ["id", "where", "value", "unit", "what", "kind", "reading", "judgement", "direction"] {
            assert!(!claim[field].is_null(), "{field} of {claim}");
        }
    }
    let one = warpwatt(&["list", "claims", "--show", "wc.area"]).expect(0).out;
    assert!(one.starts_with("wc.area: 0.3 %, computed") && !one.contains("wc.area_mm2: "), "{one}");
    let some = warpwatt(&["list", "claims", "--show", "e2mc."]).expect(0).out;
    assert!(some.contains("e2mc.energy") && !some.contains("wc."), "{some}");
    let readings = warpwatt(&["list", "claims", "--show", "readings"]).expect(0).out;
    assert!(readings.contains("## Warped-Compression") && readings.contains("## E2MC"), "{readings}");
    warpwatt(&["list", "claims", "--show", "wc.aria"]).expect(2).says("did you mean `wc.area`?");
}
