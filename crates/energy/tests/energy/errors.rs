// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user's file may add, and what is said about mistakes in it.

use warpwatt_config::Config;
use warpwatt_energy::{Error, Model, Seconds, Setting, Technology};

use crate::support::near;

const COUNTERS: &[&str] = &["rf.reads.count", "sm.lanes.histogram", "l1d.hit.ratio", "lsu.busy.cycles"];

fn resolve(text: &str) -> Result<Model, Vec<Error>> {
    let config = Config::default();
    let parameters = &[("technique.drowsy.millivolts", 300.0)];
    let all_techniques = &["drowsy", "warped-compression"];
    let setting =
        Setting { config: &config, counters: COUNTERS, all_techniques, techniques: &[], parameters };
    Technology::read(text, "mine.toml")?.resolve(setting)
}

fn message(text: &str) -> String {
    match resolve(text) {
        Ok(_) => panic!("no error in {text}"),
        Err(errors) => errors.iter().map(Error::to_string).collect::<Vec<_>>().join("\n"),
    }
}

/// A file with one event in which something stands in the place of the energy.
fn event(rest: &str) -> String {
    format!(
        "[[structure]]\nname = \"a\"\ncomponent = \"b\"\ndoc = \"c\"\nevents = [\n    {{ {rest}, source = \"us\" }},\n]\n"
    )
}

#[test]
fn a_structure_takes_a_few_lines_and_a_counter() {
    let text = "
        [[structure]]
        name = \"register cache\"
        component = \"register file\"
        doc = \"Mine.\"
        events = [{ counter = \"rf.reads.count\", pj = 1.5, source = \"measured\" }]
        static = [{ mw = 2.0, instances = [\"gpu.sms\"], source = \"measured\" }]
    ";
    let model = resolve(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let whole = model.evaluate(&|name| (name == "rf.reads.count").then_some(1e9), Seconds(2.0));
    let part = &whole.structures[0];
    assert_eq!((&*part.name, &*part.component), ("register cache", "register file"));
    assert!(near(part.dynamic.0, 1.5e-3) && near(part.static_.0, 2e-3 * 15.0 * 2.0));
    assert_eq!(model.technology, "mine");
}

#[test]
fn a_file_adds_to_what_it_inherits_and_replaces_structures_of_the_same_name() {
    let base = Technology::builtin("gtx480-40nm").unwrap_or_else(|errors| panic!("{errors:?}"));
    let text = format!(
        "inherits = \"gtx480-40nm\"\n{}\n{}",
        event("counter = \"rf.reads.count\", pj = 1"),
        event("counter = \"rf.reads.count\", pj = 1").replace("\"a\"", "\"L2\"")
    );
    let mine = Technology::read(&text, "x/mine.toml").unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(mine.structures.len(), base.structures.len() + 1);
    assert_eq!(mine.structure("L2").map(|structure| structure.events.len()), Some(1));
    assert_eq!(mine.structure("network"), base.structure("network"));
    assert_eq!(mine.name, "mine");
}

#[test]
fn an_sram_array_can_stand_in_for_a_number() {
    let sram = "sram = { bytes = [\"sm.registers\", 4], width_bits = 1024, node_nm = 40, volts = 0.96, kelvin = 350, access = \"read\" }";
    let model = resolve(&event(&format!("counter = \"rf.reads.count\", {sram}")))
        .unwrap_or_else(|errors| panic!("{errors:?}"));
    let whole = model.evaluate(&|_| Some(1.0), Seconds(0.0));
    assert!((20e-12..200e-12).contains(&whole.total().0), "{}", whole.total().0);
}

#[test]
fn mistakes_are_named_with_their_place_and_what_was_meant() {
    let cases = [
        (
            event("counter = \"rf.read.count\", pj = 1"),
            "mine.toml:6:17: there is no counter `rf.read.count`; did you mean `rf.reads.count`?",
        ),
        (event("counter = \"rf.reads\", pj = 1"), "did you mean `rf.reads.count`?"),
        (event("counter = \"sm.lanes.histogram\", pj = 1"), "is not a count, so it cannot be multiplied"),
        (event("counter = \"l1d.hit.ratio\", pj = 1"), "is not a count, so it cannot be multiplied"),
        (
            event("counter = \"rf.reads.count\", pj = 1, times = [\"gpu.smx\"]"),
            "there is no number `gpu.smx` among the GPU's parameters; did you mean `gpu.sms`?",
        ),
        (
            event("counter = \"rf.reads.count\", pj = 1, times = [\"sm.scheduler\"]"),
            "there is no number `sm.scheduler`",
        ),
        (event("counter = \"rf.reads.count\", pj = -1"), "invalid value -1"),
        (event("counter = \"rf.reads.count\", pj = 1, mw = 1"), "needs exactly one energy"),
        (event("counter = \"rf.reads.count\""), "needs exactly one energy"),
        (event("counter = \"rf.reads.count\", mw = 1"), "cannot be computed from a power alone"),
        (
            event("counter = \"rf.reads.count\", pj = 1, at_mhz = [1]"),
            "`at_mhz` is only allowed together with `mw`",
        ),
        (event("counter = \"rf.reads.count\", pJ = 1"), "unknown field `pJ`"),
        (
            event("counter = \"rf.reads.count\", pj = \"1\" ").replace("\"us\"", "\"\""),
            "`source` must be one line of text",
        ),
        (
            "inherits = \"gtx480-40mm\"".to_owned(),
            "there is no technology `gtx480-40mm`; did you mean `gtx480-40nm`?",
        ),
        ("[[structure]]\nname = \"a\"\ncomponent = \"b\"\ndoc = \"c\"\n".to_owned(), "`a` has no energy"),
        (
            event("counter = \"rf.reads.count\", pj = 1") + &event("counter = \"rf.reads.count\", pj = 1"),
            "duplicate structure `a`",
        ),
        (
            event("counter = \"rf.reads.count\", pj = 1").replace("doc", "techniques = [\"drowzy\"]\ndoc"),
            "there is no technique `drowzy`; did you mean `drowsy`?",
        ),
        (
            event("counter = \"rf.raeds.count\", pj = 1").replace("doc", "techniques = [\"drowsy\"]\ndoc"),
            "there is no counter `rf.raeds.count`; did you mean `rf.reads.count`?",
        ),
        (
            event("counter = \"rf.reads.count\", pj = \"technique.drowsy.milivolts\"")
                .replace("doc", "techniques = [\"drowsy\"]\ndoc"),
            "did you mean `technique.drowsy.millivolts`?",
        ),
        ("name = ".to_owned(), "mine.toml:1:"),
    ];
    for (text, expected) in cases {
        let said = message(&text);
        assert!(said.contains(expected), "{said}\nfor\n{text}");
    }
}

#[test]
fn a_state_needs_a_counter_of_time() {
    let power = |state: &str| {
        format!(
            "[[structure]]\nname = \"a\"\ncomponent = \"b\"\ndoc = \"c\"\nstatic = [{{ mw = 1, source = \"us\", states = [{{ {state}, source = \"us\" }}] }}]\n"
        )
    };
    assert!(resolve(&power("counter = \"lsu.busy.cycles\", fraction = 0.5")).is_ok());
    let said = message(&power("counter = \"rf.reads.count\", fraction = 0.5"));
    assert!(said.contains("`rf.reads.count` is not a time"), "{said}");
    let said = message(&power("counter = \"lsu.busy.cycles\""));
    assert!(said.contains("exactly one remaining power"), "{said}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = event("counter = \"rf.read.count\", pj = -1, times = [\"gpu.smx\"]");
    let errors = resolve(&text).err().unwrap_or_default();
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn garbage_is_refused_without_a_panic() {
    for text in
        ["\u{0}", "structure = 3", "[[structure]]", "name = 7", "[structure]\nname = 1", "structure = [1]"]
    {
        assert!(!message(text).is_empty());
    }
}
