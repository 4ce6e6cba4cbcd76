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
    let table = warpwatt(&["run", "vecadd@tiny", "--technology", &file, "--energy"]).expect(0);
    assert!(format!("{}{}", table.out, table.err).contains("snooping"));
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
    for name in ["gtx480-40nm", "wc45", "corf40", "thesis32", "e2mc32", "combined-40nm"] {
        assert!(list.contains(name), "{list}");
        let text = warpwatt(&["list", "technologies", "--show", name]).expect(0).out;
        assert!(text.contains(&format!("name = \"{name}\"")), "{text}");
    }
    let all = warpwatt(&["list", "technologies", "--json", "-"]).expect(0).json();
    assert_eq!(all["technologies"].as_array().map(Vec::len), Some(6));
    warpwatt(&["list", "gpus", "--show", "gtx480"]).expect(2).says("--show");
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
}
