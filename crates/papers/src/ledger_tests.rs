// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each rule of judgement by itself, and a ledger of made-up measurements that shows every verdict, kind and flag.

use super::*;
use crate::measure::{Column, Measures};
use crate::predicate::Predicate;

fn claim(value: ClaimValue) -> Claim {
    Claim {
        id: "a".to_owned(),
        place: "Figure 1".to_owned(),
        what: "it".to_owned(),
        value,
        unit: "%".to_owned(),
        shown_in: None,
        over: "suite".to_owned(),
        mean: Mean::Arithmetic,
        kind: ClaimKind::Measured,
        share: false,
        rounded_down: false,
        limit: None,
        decimals: None,
        columns: Vec::new(),
        unused: None,
        min_size: None,
        entry_min_size: BTreeMap::new(),
        direction: Predicate::parse("a > 0").expect("a predicate"),
        reading: "As it says.".to_owned(),
        others: BTreeMap::new(),
        others_if_far: Vec::new(),
        reasons: Vec::new(),
    }
}

fn number(value: f64) -> Claim {
    claim(ClaimValue::Number(value))
}

fn map(text: &str) -> Claim {
    claim(ClaimValue::Map(toml::from_str(text).expect("a map")))
}

/// Measures of one seed.
fn seed(values: &[(&str, f64)]) -> Measures {
    let mut measures = Measures::default();
    for (name, value) in values {
        measures.mean(*name, &Column(vec![Some(*value)]));
    }
    measures
}

fn row(claim: &Claim, value: f64) -> Row {
    Row::new(claim, &Evidence(vec![seed(&[("a", value), ("a.b", 1.0 / 3.0)])]), Size::Small)
}

#[track_caller]
fn verdicts(claim: &Claim, expected: &[(f64, Verdict)]) {
    for (value, verdict) in expected {
        assert_eq!(row(claim, *value).judged.verdict, *verdict, "{value}");
    }
}

use Verdict::{Differs, Direction, Holds};

#[test]
fn ratios_hold_up_to_their_limits() {
    let claim = number(10.0);
    verdicts(
        &claim,
        &[
            (8.0, Holds),
            (7.99, Direction),
            (12.5, Holds),
            (12.51, Direction),
            (-10.0, Differs),
            (0.0, Differs),
        ],
    );
    verdicts(&claim, &[(7.9996, Holds)]);
}

#[test]
fn a_share_is_judged_by_what_remains_too() {
    let plain = number(79.0);
    verdicts(&plain, &[(63.2, Holds), (98.7, Holds)]);
    let share = Claim { share: true, ..plain };
    // 21 remain: 16.8 to 26.25 are near.
    verdicts(
        &share,
        &[
            (79.0, Holds),
            (83.2, Holds),
            (83.3, Direction),
            (73.75, Holds),
            (73.7, Direction),
            (87.78, Direction),
        ],
    );
    let judged = row(&share, 89.5).judged;
    assert_eq!((judged.ratio, judged.remaining_ratio), (Some(1.133), Some(0.5)));
    assert_eq!(judged.shown_ratio(), "0.5 rest", "the worse one is shown");
    // Of a small share the share itself is the stricter one.
    let small = Claim { share: true, ..number(21.0) };
    verdicts(&small, &[(26.25, Holds), (26.3, Direction)]);
    assert_eq!(row(&small, 26.0).judged.shown_ratio(), "1.238");
    // All of a whole: nothing remains to be near to.
    let all = Claim { share: true, ..number(100.0) };
    verdicts(&all, &[(100.0, Holds), (99.5, Holds), (99.4, Direction)]);
}

#[test]
fn the_papers_rounding_holds() {
    let rounded = number(0.1);
    verdicts(&rounded, &[(0.15, Holds), (0.151, Direction), (0.05, Holds), (-0.01, Differs)]);
    verdicts(&number(0.0), &[(0.5, Holds), (0.51, Direction), (-0.6, Differs)]);
    // "More than 2 %": 2 to just below 3 round down to it; a limit it is not.
    let down = Claim { rounded_down: true, ..number(2.0) };
    verdicts(&down, &[(2.99, Holds), (3.0, Direction), (1.6, Holds), (1.59, Direction), (50.0, Direction)]);
}

#[test]
fn limits_hold_on_one_side() {
    let less = Claim { limit: Some(Limit::LessThan), ..number(2.0) };
    verdicts(&less, &[(0.001, Holds), (1.999, Holds), (2.0, Direction), (2.01, Direction)]);
    let most = Claim { limit: Some(Limit::NotMoreThan), ..number(2.0) };
    verdicts(&most, &[(2.0, Holds), (2.01, Direction)]);
    assert!(!row(&less, 0.001).needs_a_reason(), "far below a limit is as claimed");
    assert_eq!(
        (row(&less, 1.0).shown_paper(), row(&most, 1.0).shown_paper()),
        ("< 2 %".to_owned(), "<= 2 %".to_owned())
    );
    assert_eq!(row(&Claim { share: true, ..less }, 1.0).judged.remaining_ratio, None);
}

#[test]
fn orderings_hold_if_they_are_true() {
    let ordering = claim(ClaimValue::Words("rises".to_owned()));
    verdicts(&ordering, &[(1.0, Holds), (-1.0, Differs)]);
    let lacking = Claim { direction: Predicate::parse("b > 0").expect("a predicate"), ..ordering };
    verdicts(&lacking, &[(1.0, Verdict::NoData)]);
}

#[test]
fn each_entry_of_a_map_is_judged_and_the_worst_counts() {
    let mut claim = map("x = 10\ny = 20\nz = 30");
    claim.direction = Predicate::parse("each > 0").expect("a predicate");
    let ledger = |x: f64, y: f64, z: Option<f64>| {
        let mut values = vec![("a:x", x), ("a:y", y)];
        values.extend(z.map(|z| ("a:z", z)));
        Row::new(&claim, &Evidence(vec![seed(&values)]), Size::Small)
    };
    let of = |row: &Row| row.entries.iter().map(|entry| entry.judged.verdict).collect::<Vec<_>>();
    let good = ledger(10.0, 21.0, Some(30.0));
    assert_eq!((good.judged.verdict, of(&good)), (Holds, vec![Holds; 3]));
    let mixed = ledger(10.0, 30.0, Some(-1.0));
    assert_eq!((mixed.judged.verdict, of(&mixed)), (Differs, vec![Holds, Direction, Differs]));
    assert_eq!(mixed.flags(1), ["1 of 3 entries hold"]);
    let lacking = ledger(10.0, 20.0, None);
    assert_eq!(
        (lacking.judged.verdict, of(&lacking)),
        (Verdict::NoData, vec![Holds, Holds, Verdict::NoData]),
        "not all is known"
    );
    assert_eq!(Row::new(&claim, &Evidence::default(), Size::Small).judged.verdict, Verdict::NoData);
}

#[test]
fn tables_have_rows_and_columns_and_places_that_are_not_used() {
    let mut claim = map("p = [50, 0]\nq = [60, 70]");
    claim.columns = ["l1", "texture"].map(str::to_owned).into();
    claim.unused = Some(0.0);
    claim.direction = Predicate::parse("each > 0").expect("a predicate");
    let values = [("a:p.l1", 51.0), ("a:q.l1", 61.0), ("a:q.texture", 71.0)];
    let row = Row::new(&claim, &Evidence(vec![seed(&values)]), Size::Small);
    let names: Vec<_> = row.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["p.l1", "p.texture", "q.l1", "q.texture"]);
    assert_eq!(row.judged.verdict, Holds, "what is not used is not measured");
    let used = [&values[..], &[("a:p.texture", 3.0)]].concat();
    let row = Row::new(&claim, &Evidence(vec![seed(&used)]), Size::Small);
    assert_eq!(row.entries[1].judged.verdict, Direction, "here it is used");
}

#[test]
fn seeds_give_a_mean_a_spread_and_verdicts_that_change() {
    let claim = number(10.0);
    let of = |values: [f64; 3]| {
        let seeds = values.map(|value| seed(&[("a", value)])).into();
        Row::new(&claim, &Evidence(seeds), Size::Small)
    };
    let settled = of([9.0, 10.0, 12.0]);
    assert_eq!((settled.judged.measured, settled.judged.spread), (Some(10.33), Some((9.0, 12.0))));
    assert!(!settled.judged.is_unsettled());
    let unsettled = of([12.0, 12.0, 13.0]);
    assert_eq!(
        (unsettled.judged.verdict, &unsettled.judged.by_seed),
        (Holds, &vec![Holds, Holds, Direction])
    );
    assert_eq!(unsettled.flags(1), ["changes within the spread (direction, holds)"]);
    assert_eq!(unsettled.judged.shown_spread(), "12 to 13");
}

#[test]
fn the_direction_of_a_seed_is_by_what_that_seed_measured() {
    let claim = Claim { direction: Predicate::parse("a > b").expect("a predicate"), ..number(100.0) };
    let seeds = [(2.0, 1.0), (2.0, 3.0), (2.0, 1.0)].map(|(a, b)| seed(&[("a", a), ("b", b)]));
    let row = Row::new(&claim, &Evidence(seeds.into()), Size::Small);
    assert_eq!((row.judged.verdict, row.judged.by_seed), (Direction, vec![Direction, Differs, Direction]));
}

#[test]
fn other_readings_have_verdicts_of_their_own() {
    let mut claim = number(10.0);
    claim.others = [("gating", "Against gating."), ("busy", "With warps.")]
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .into();
    claim.others_if_far = vec!["busy".to_owned()];
    let of = |busy: f64| {
        let values = [("a", 20.0), ("a.gating", 11.0), ("a.busy", busy), ("a.more", 1.0)];
        Row::new(&claim, &Evidence(vec![seed(&values)]), Size::Small)
    };
    let row = of(21.9);
    assert_eq!(row.judged.verdict, Direction, "the fixed reading judges");
    let told: Vec<_> =
        row.notable_others().map(|other| (other.name.as_str(), other.judged.verdict)).collect();
    assert_eq!(told, [("gating", Holds)], "what is within a tenth is not told");
    assert_eq!(of(22.1).notable_others().count(), 2);
    assert_eq!(row.beside, BTreeMap::from([("more".to_owned(), 1.0)]), "readings are not repeated");
    // The direction of another reading is by its own value.
    claim.direction = Predicate::parse("a < 15").expect("a predicate");
    let row = Row::new(&claim, &Evidence(vec![seed(&[("a", 20.0), ("a.gating", 14.0)])]), Size::Small);
    assert_eq!((row.judged.verdict, row.others[1].judged.verdict), (Differs, Direction));
}

#[test]
fn the_direction_of_another_reading_compares_what_is_read_in_the_same_way() {
    let mut claim = Claim { direction: Predicate::parse("a > b").expect("a predicate"), ..number(100.0) };
    claim.others.insert("gating".to_owned(), "Against gating.".to_owned());
    let values = [("a", 80.0), ("b", 70.0), ("a.gating", 30.0), ("b.gating", 20.0)];
    let row = Row::new(&claim, &Evidence(vec![seed(&values)]), Size::Small);
    assert_eq!(
        (row.judged.verdict, row.others[0].judged.verdict),
        (Holds, Direction),
        "30 is above 20, not above 70"
    );
    let row = Row::new(&claim, &Evidence(vec![seed(&values[..3])]), Size::Small);
    assert_eq!(row.others[0].judged.verdict, Differs, "there is nothing else to compare with");
}

fn reason(of: &[(Size, f64)]) -> crate::claim::Reason {
    crate::claim::Reason {
        text: "Because of {a.b}.".to_owned(),
        of: of.iter().copied().collect(),
        shown_by: Some("why".to_owned()),
    }
}

#[test]
fn reasons_are_told_where_they_are_needed_and_flagged_when_stale() {
    let claim = Claim { reasons: vec![reason(&[(Size::Small, 13.0)])], ..number(10.0) };
    assert_eq!(row(&claim, 8.0).remarks(), Vec::<String>::new());
    assert_eq!(row(&claim, 13.9).remarks(), ["Because of 0.3333. (figures/why.json)"]);
    assert_eq!(row(&claim, 12.3).remarks().len(), 1, "it holds, and is off by more than a fifth");
    let moved = row(&claim, 14.4);
    assert_eq!(
        moved.remarks(),
        ["Because of 0.3333. (figures/why.json) Stale: written for 13, now measured: 14.4."]
    );
    assert_eq!(moved.flags(1), ["reason is stale"]);
    assert_eq!(row(&claim, -13.0).remarks()[0], "The direction `a > 0` does not hold.");
    let elsewhere = Claim { reasons: vec![reason(&[(Size::Medium, 13.0)])], ..claim.clone() };
    assert!(row(&elsewhere, 13.0).remarks()[0].ends_with("Stale: no value was recorded for size small."));
    let silent = Claim { reasons: Vec::new(), ..claim };
    assert_eq!(row(&silent, 13.0).remarks(), ["No reason is known."]);
}

#[test]
fn rows_below_the_size_of_the_paper_say_so() {
    let claim = Claim { min_size: Some(Size::Large), ..number(10.0) };
    assert_eq!(row(&claim, 10.0).flags(1), ["scaled: as in the paper from large on"]);
    let evidence = Evidence(vec![seed(&[("a", 10.0)])]);
    assert_eq!(Row::new(&claim, &evidence, Size::Large).flags(1), Vec::<String>::new());
    let mut entries = map("on = 10\noff = 10");
    entries.entry_min_size.insert("on".to_owned(), Size::Large);
    let row = Row::new(&entries, &evidence, Size::Small);
    assert_eq!(
        row.entries.iter().map(|entry| entry.scaled_below).collect::<Vec<_>>(),
        [None, Some(Size::Large)]
    );
}

/// A ledger of made-up measurements, with every verdict, kind and flag.
pub fn made_up(seeds: usize) -> Ledger {
    let named = |id: &str, kind: ClaimKind, claim: Claim| Claim {
        id: id.to_owned(),
        kind,
        direction: Predicate::parse(&format!("{id} > 0")).expect("a predicate"),
        ..claim
    };
    let measured = ClaimKind::Measured;
    let mut holds = named("holds", measured, number(10.0));
    holds.others.insert("other".to_owned(), "Another one.".to_owned());
    let mut entries = map("x = 10\ny = 10");
    entries.entry_min_size.insert("y".to_owned(), Size::Large);
    let claims = [
        holds,
        named(
            "keeps",
            measured,
            Claim { reasons: vec![reason(&[(Size::Small, 1.0)])], share: true, ..number(10.0) },
        ),
        named("differs", measured, number(10.0)),
        named("lacks", measured, number(10.0)),
        named("changes", measured, number(10.0)),
        named("limited", measured, Claim { limit: Some(Limit::LessThan), ..number(2.0) }),
        Claim {
            direction: Predicate::parse("each > 0").expect("a predicate"),
            ..named("mapped", measured, entries)
        },
        named("derived", ClaimKind::Derived, number(10.0)),
        named("computed", ClaimKind::Computed, number(10.0)),
        named("input", ClaimKind::Input, number(10.0)),
        named("scaled", measured, Claim { min_size: Some(Size::Large), ..number(10.0) }),
    ];
    let of_seed = |last: bool| {
        let mut measures = seed(&[
            ("holds", 10.0),
            ("holds.other", 15.0),
            ("keeps", 40.0),
            ("differs", -10.0),
            ("changes", if last { 13.0 } else { 12.0 }),
            ("limited", 1.0),
            ("mapped:x", 10.0),
            ("mapped:y", 40.0),
            ("derived", 10.0),
            ("scaled", 10.0),
        ]);
        measures.computed("computed", 10.0);
        measures.computed("input", 10.0);
        measures
    };
    let about = About {
        paper: "p".to_owned(),
        title: "P".to_owned(),
        citation: "Somebody: P".to_owned(),
        tool: Tool::new("0", "unknown", 1),
        simulated_by: None,
        gpus: ["g", "h"].map(str::to_owned).into(),
        gpu_sha256: String::new(),
        technologies: vec!["t".to_owned()],
        size: Size::Small,
        seeds: (1..=seeds as u64).collect(),
        workloads: vec!["w".to_owned(), "v".to_owned()],
        missing: vec!["M".to_owned()],
        stand_ins: BTreeMap::from([("v".to_owned(), "it is another V".to_owned())]),
        of_suite: true,
        quick_of: None,
        larger: None,
        points: 4,
        failed: vec!["w/base".to_owned()],
    };
    let evidence = Evidence((0..seeds).map(|number| of_seed(number == 2)).collect());
    Ledger::new(about, &claims, &evidence)
}

#[test]
fn a_ledger_counts_independent_claims_only() {
    let ledger = made_up(3);
    let summary = ledger.summary.expect("three seeds");
    assert_eq!(
        summary,
        Summary {
            independent: 8,
            holds: 4,
            direction: 2,
            differs: 1,
            no_data: 1,
            unsettled: 1,
            not_counted: 3
        }
    );
    assert_eq!(
        ledger.tally(),
        "4 of 8 independent claims hold, 2 keep their direction, 1 differs, 1 has no data; 1 of these verdicts changes within the \
         spread of the seeds; 3 derived, computed or given ones are not counted"
    );
}

#[test]
fn without_three_seeds_there_is_no_tally() {
    let ledger = made_up(1);
    assert_eq!(ledger.summary, None);
    assert!(ledger.tally().starts_with("No tally: 1 of 3 seeds"), "{}", ledger.tally());
    assert!(!ledger.to_json().expect("JSON").contains("\"summary\""));
}

#[test]
fn page_and_document_show_every_verdict_kind_and_flag() {
    let ledger = made_up(3);
    let page = ledger.to_markdown();
    let line = |start: &str| {
        page.lines()
            .find(|line| line.starts_with(&format!("| {start} |")))
            .unwrap_or_else(|| panic!("{start}: {page}"))
    };
    for (start, end) in [
        ("`holds`", "| 10 % | 10 % | 10 to 10 | 1 | holds | on 1 of 2 workloads |"),
        ("or other", "|  | 15 % | 15 to 15 | 1.5 | direction |  |"),
        ("`keeps`", "| 40 to 40 | 4 | direction | on 1 of 2 workloads; reason is stale |"),
        ("`differs`", "| differs | on 1 of 2 workloads |"),
        ("`lacks`", "| no data | - | - | no data |  |"),
        (
            "`changes`",
            "| 12.33 % | 12 to 13 | 1.233 | holds | changes within the spread (direction, holds); on 1 of 2 workloads |",
        ),
        ("`limited`", "| \\< 2 % | 1 % | 1 to 1 | 0.5 | holds | on 1 of 2 workloads |"),
        ("`mapped`", "| direction | 1 of 2 entries hold |"),
        ("entry y", "| 10 | 40 % | 40 to 40 | 4 | direction | scaled below large |"),
        ("`derived`", "| holds | derived; on 1 of 2 workloads |"),
        ("`computed`", "| 10 % | - | 1 | holds | computed |"),
        ("`input`", "| holds | input |"),
        ("`scaled`", "| holds | scaled: as in the paper from large on; on 1 of 2 workloads |"),
    ] {
        assert!(line(start).ends_with(end), "{}", line(start));
    }
    for text in [
        "P on 2 of the 3 programs of its suite at small, seeds 1, 2, 3, GPUs g, h, technology t",
        "missing: M.",
        "v replaces a program of the suite: it is another V.",
        "failed: w/base",
        "**`holds`** (measured): As it says. Judged: within 0.8 to 1.25 of it; direction: holds > 0.",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let document: serde_json::Value = serde_json::from_str(&ledger.to_json().expect("JSON")).expect("JSON");
    assert_eq!(document["schema"], "warpwatt.ledger/2");
    let row = |id: &str| {
        document["rows"].as_array().into_iter().flatten().find(|row| row["id"] == id).expect("a row")
    };
    assert_eq!(row("changes")["by_seed"], serde_json::json!(["holds", "holds", "direction"]));
    assert_eq!((&row("limited")["limit"], &row("limited")["paper"]), (&"less than".into(), &2.0.into()));
    assert_eq!(row("mapped")["entries"][1]["verdict"], "direction");
    assert_eq!(row("holds")["others"][0]["verdict"], "direction");
}
