// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two records beside each other.

use serde_json::Value;

use crate::common::{Folder, Ran, warpwatt};

/// Runs something and gives the file of its record.
fn record(folder: &Folder, name: &str, args: &[&str]) -> String {
    let file = folder.path(name);
    warpwatt(&[&["run"], args, &["--gpu", "gtx480-wc", "--json", &file, "-q"]].concat()).expect(0);
    file
}

fn compare(args: &[&str]) -> Ran {
    warpwatt(&[&["compare"], args].concat())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

#[test]
fn a_technique_s_effect_is_laid_out() {
    let folder = Folder::new();
    let a = record(&folder, "a.json", &["bfs@tiny"]);
    let b = record(&folder, "b.json", &["bfs@tiny", "--with", "warped-compression"]);
    let ran = compare(&[&a, &b]).expect(0);
    assert_eq!(ran.err, "", "nothing is wrong with these");
    for words in [
        "bfs@tiny, seed 1, on gtx480-wc with warped-compression, gtx480-40nm",
        "techniques  none  warped-compression",
        "bfs_expand",
        "register file",
        "counters that changed most",
        "rf.sub_bank_reads.count",
        "only in B",
        "wc.compressions.count",
    ] {
        assert!(ran.out.contains(words), "`{words}` is not in\n{}", ran.out);
    }
    for line in ran.out.lines().filter(|line| !line.contains(".json")) {
        assert!(line.chars().count() <= 100, "{line}");
    }

    let all = compare(&[&a, &b, "--json", "-", "--top", "3"]).expect(0).json();
    assert_eq!(all["schema"], "warpwatt.compare/1");
    assert_eq!(all["inputs"].as_array().map(Vec::len), Some(1), "{}", all["inputs"]);
    assert_eq!(all["counters"].as_array().map(Vec::len), Some(3));
    assert!(all["counters_left_out"].as_u64().is_some_and(|more| more > 3));
    let text = |file: &str| std::fs::read_to_string(file).expect("the record");
    let records = [&a, &b].map(|file| serde_json::from_str::<Value>(&text(file)).expect("it is JSON"));
    for (side, record) in ["a", "b"].into_iter().zip(&records) {
        assert_eq!(all["cycles"][side], record["totals"]["cycles"]);
        assert_eq!(number(&all["ipc"][side]), number(&record["totals"]["ipc"]));
        let energy = &all["energy"];
        assert_eq!(number(&energy["total_j"][side]), number(&record["energy"]["total_j"]));
        let parts = energy["components"].as_array().expect("components").iter();
        let sum: f64 = parts.map(|part| number(&part["total_j"][side])).sum();
        assert!((sum - number(&energy["total_j"][side])).abs() < 1e-9 * sum);
        let kernels = all["kernels"].as_array().expect("kernels").iter();
        let launches: f64 = kernels.map(|kernel| number(&kernel["launches"][side])).sum();
        assert_eq!(launches, number(&record["totals"]["launches"]));
    }
    let moved: Vec<_> =
        all["counters"].as_array().expect("counters").iter().map(|one| number(&one["moved"])).collect();
    assert!(moved.is_sorted_by(|one, next| one >= next) && moved[2] > 0.0, "{moved:?}");
    assert!(all["only_a"].as_array().is_some_and(Vec::is_empty));

    let file = folder.path("compared.json");
    let both = compare(&[&a, &b, "--json", &file]).expect(0);
    assert_eq!(both.out, ran.out, "the tables are printed too");
    assert!(serde_json::from_str::<Value>(&text(&file)).is_ok());
}

#[test]
fn a_run_is_the_same_as_itself() {
    let folder = Folder::new();
    let a = record(&folder, "a.json", &["vecadd@tiny"]);
    let ran = compare(&[&a, &a]).expect(0);
    assert!(
        ran.out.contains("the inputs are identical") && ran.out.contains("no counter changed"),
        "{}",
        ran.out
    );
    let all = compare(&[&a, &a, "--json", "-"]).expect(0).json();
    assert_eq!(all["cycles"]["difference"], 0);
    assert_eq!(all["cycles"]["ratio"], 1.0);
    assert_eq!(all["counters"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_makes_figures_hard_to_compare_is_said() {
    let folder = Folder::new();
    let a = record(&folder, "a.json", &["vecadd@tiny"]);
    let b = record(&folder, "b.json", &["vecadd@tiny", "--seed", "2", "--set", "sm.scheduler=lrr"]);
    let ran =
        compare(&[&a, &b]).expect(0).says("warning: A is vecadd@tiny, seed 1 and B is vecadd@tiny, seed 2");
    for words in ["seed", "sm.scheduler  gto  lrr"] {
        assert!(ran.out.contains(words), "{}", ran.out);
    }
    let other = record(&folder, "other.json", &["vecadd@tiny", "--technology", "wc45"]);
    compare(&[&a, &other]).expect(0).says("energy was computed with gtx480-40nm in A and with wc45 in B");
    let partial = folder.path("partial.json");
    let cut = ["run", "vecadd@tiny", "--gpu", "gtx480-wc", "--limit-cycles", "500", "--json", &partial];
    warpwatt(&cut).expect(5);
    compare(&[&a, &partial]).expect(0).says("warning: B did not come to its end: ");
    let text = std::fs::read_to_string(&a).expect("the record");
    let older = folder.file("older.json", &text.replacen("\"model_version\": ", "\"model_version\": 9", 1));
    compare(&[&a, &older]).expect(0).says("which count differently");
    let failed =
        folder.file("failed.json", &text.replacen("\"status\": \"complete\"", "\"status\": \"failed\"", 1));
    compare(&[&failed, &a]).expect(0).says("warning: A failed");
}

#[test]
fn files_that_are_no_records_are_refused() {
    let folder = Folder::new();
    let a = record(&folder, "a.json", &["vecadd@tiny"]);
    compare(&[&a]).expect(2);
    compare(&[&a, "not/there.json"]).expect(74).says("cannot read not/there.json");
    let with = |text: &str| {
        let file = folder.file("b.json", text);
        compare(&[&a, &file]).expect(3).says("b.json is not a run record")
    };
    with("ptx = 1").says("--json FILE");
    with("[]").says("it has no `schema` field");
    with("{\"schema\": \"warpwatt.bench/1\"}").says("its schema is `warpwatt.bench/1`, not `warpwatt.run/2`");
    with("{\"schema\": \"warpwatt.run/2\"}").says("of this version: missing field").says("run it again");
    let functional = folder.path("functional.json");
    warpwatt(&["run", "vecadd@tiny", "--functional", "--json", &functional]).expect(0);
    compare(&[&functional, &a])
        .expect(3)
        .says("functional.json is of a functional run: it has neither cycles nor energy")
        .says("without `--functional`");
}
