// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures and measures from points made by hand, with numbers that can be checked by hand; claims and measures against each other.

use warpwatt_results::{Inputs, Reading, Status, StructureEnergy, Values};

use super::*;
use crate::claim::claims;
use crate::figure::Figure;
use crate::ledger::{About, Ledger, Verdict};
use crate::point::{POINT_SCHEMA, PointEnergy, PointHost, PointRecord};

/// A point with these cycles, counters, and energies of banks, wires, compressors, decompressors (dynamic) and all leakage.
fn point(cycles: u64, energies: [f64; 5], counters: &[(&str, &[u64])]) -> PointRecord {
    let [banks, wires, compression, decompression, leakage] = energies;
    let structure = |name: &str, dynamic_j, static_j| StructureEnergy {
        name: name.to_owned(),
        component: name.to_owned(),
        dynamic_j,
        static_j,
    };
    let values: Values = counters
        .iter()
        .map(|(name, counts)| {
            let reading = match name.ends_with(".histogram") {
                true => Reading::Histogram(counts.to_vec()),
                false => Reading::Count(counts[0]),
            };
            ((*name).to_owned(), reading)
        })
        .collect();
    PointRecord {
        schema: POINT_SCHEMA.to_owned(),
        key: String::new(),
        status: Status::Complete,
        inputs: Inputs::default(),
        check: None,
        cycles,
        warp_instructions: 98,
        thread_instructions: 98 * 32,
        counters: values,
        energy: PointEnergy {
            structures: vec![
                structure("register banks", banks, leakage),
                structure("register wires", wires, 0.0),
                structure("compressors", compression, 0.0),
                structure("decompressors", decompression, 0.0),
            ],
            ..PointEnergy::default()
        },
        host: PointHost { wall_seconds: 0.0 },
    }
}

const STAIRS: [u64; 8] = [1, 2, 2, 3, 3, 5, 5, 5];

/// Two workloads, of which `b` never diverges.
fn points() -> Points {
    let mut points = Points::new(vec!["a".to_owned(), "b".to_owned()]);
    let gated = STAIRS.repeat(4);
    let full: &[(&str, &[u64])] = &[
        ("wc.instructions.histogram", &[60, 40]),
        ("wc.similar.histogram", &[4, 2, 2, 2]),
        ("wc.similar_diverged.histogram", &[1, 0, 0, 3]),
        ("wc.distances.histogram", &[9, 0, 0, 1]),
        ("wc.distances_diverged.histogram", &[1, 0, 0, 1]),
        // Six with a base of 4 bytes, two with one of 8, one that stays as it is.
        ("wc.best.histogram", &[3, 1, 0, 2, 0, 1, 1, 1]),
        ("wc.best_upper.histogram", &[0, 2]),
        ("wc.observed.histogram", &[10, 0, 0, 4]),
        ("wc.observed_arrays.histogram", &[30, 0, 0, 32]),
        ("wc.observed_bytes.histogram", &[320, 0, 0, 512]),
        ("wc.upper.histogram", &[10, 0, 0, 4]),
        ("wc.upper_arrays.histogram", &[10, 0, 0, 16]),
        ("wc.moves.count", &[2]),
        ("wc.moves.histogram", &[0, 0, 1, 1]),
        ("wc.allocated.histogram", &[100, 50]),
        ("wc.compressed.histogram", &[50, 20]),
        ("wc.stored.histogram", &[5, 5]),
        ("wc.stored_arrays.count", &[40]),
        ("rf.gated.histogram", &gated),
        ("rf.gated.cycles", &[104]),
        ("sm.cycles.cycles", &[10]),
    ];
    let base: &[(&str, &[u64])] = &[
        ("rf.reads.count", &[10]),
        ("rf.writes.count", &[5]),
        ("sm.cycles.cycles", &[10]),
        ("sm.resident_warps.cycles", &[48]),
        ("sm.active.cycles", &[8]),
        ("sm.issue_slots.count", &[20]),
        ("sm.stall.empty.count", &[4]),
        ("sm.stall.dependency.count", &[4]),
    ];
    points.put(BASE, "a", point(1000, [20.0, 40.0, 0.0, 0.0, 40.0], base));
    points.put(FULL, "a", point(1010, [10.0, 20.0, 4.0, 6.0, 35.0], full));
    // No divergence at all.
    let still: Vec<(&str, &[u64])> = full
        .iter()
        .map(|(name, counts)| match *name {
            "wc.instructions.histogram" => (*name, &[100_u64][..]),
            "wc.similar_diverged.histogram" | "wc.distances_diverged.histogram" => (*name, &[][..]),
            "wc.observed.histogram" | "wc.upper.histogram" => (*name, &[10][..]),
            "wc.observed_arrays.histogram" | "wc.upper_arrays.histogram" => (*name, &[10][..]),
            "wc.observed_bytes.histogram" => (*name, &[320][..]),
            "wc.moves.count" | "wc.moves.histogram" => (*name, &[0][..]),
            "wc.allocated.histogram" | "wc.compressed.histogram" => (*name, &[100][..]),
            _ => (*name, *counts),
        })
        .collect();
    points.put(BASE, "b", point(500, [30.0, 30.0, 0.0, 0.0, 40.0], base));
    points.put(FULL, "b", point(500, [15.0, 15.0, 0.0, 0.0, 40.0], &still));
    points.put(
        "only-4-0",
        "a",
        point(1000, [0.0; 5], &[("wc.stored.histogram", &[10]), ("wc.stored_arrays.count", &[60])]),
    );
    points.put("compress-8", "a", point(1100, [0.0; 5], &[]));
    points.put("decompress-8", "a", point(1300, [0.0; 5], &[]));
    points.put(BOTH_8, "a", point(1200, [0.0; 5], &[]));
    points.put(GATING, "a", point(1000, [20.0, 40.0, 0.0, 0.0, 38.0], &[]));
    points.put(GATING, "b", point(500, [30.0, 30.0, 0.0, 0.0, 40.0], &[]));
    points
}

fn value(findings: &Findings, name: &str) -> f64 {
    findings.measures.value(name).unwrap_or_else(|| panic!("{name} has a value"))
}

#[track_caller]
fn close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} is not {other}");
}

#[test]
fn values_are_similar_as_counted() {
    let findings = evaluate(&points());
    for (name, expected) in [
        ("wc.nondivergent_share", (60.0 + 100.0) / 2.0),
        ("wc.similar_nondivergent", 80.0),
        ("wc.similar_nondivergent.by_distance", 90.0),
        ("wc.compressible_time", (48.0 + 80.0) / 2.0),
        // Of `a` alone.
        ("wc.random_divergent", 75.0),
        ("wc.best_encoding_base4", 75.0),
        ("wc.best_encoding_base4.with_upper", 60.0),
        // 8 x 20 / 40, and 8 x 20 / 20.
        ("wc.ratio_nondivergent", (4.0 + 8.0) / 2.0),
        ("wc.ratio_nondivergent.lower", (8.0 * 10.0 / 30.0 + 8.0) / 2.0),
        ("wc.ratio_divergent", 8.0 * 8.0 / 48.0),
        ("wc.ratio_divergent.bytes", 1.0),
        ("wc.ratio_nondivergent.harmonic", 2.0 / (1.0 / 4.0 + 1.0 / 8.0)),
    ] {
        close(value(&findings, name), expected);
    }
    assert_eq!(findings.measures.get("wc.random_divergent").and_then(|measure| measure.workloads), Some(1));
    assert_eq!(findings.measures.value("wc.similar_nondivergent.upper"), None, "it was not counted");
}

#[test]
fn energy_is_saved_by_workload_and_then_averaged() {
    let findings = evaluate(&points());
    for (name, expected) in [
        // 75 of 98, and 70 of 100.
        ("wc.rf_energy", (100.0 * 23.0 / 98.0 + 30.0) / 2.0),
        ("wc.rf_energy.against_none", (25.0 + 30.0) / 2.0),
        ("wc.rf_energy.max", 30.0),
        ("wc.rf_energy.baseline_dynamic", 60.0),
        ("wc.rf_energy.codecs", 5.0),
        ("wc.rf_energy.access_saved", 30.0),
        ("wc.rf_energy.accesses_per_cycle", 1.5),
        ("wc.rf_dynamic", (100.0 * 20.0 / 60.0 + 50.0) / 2.0),
        // 35 of 38, and nothing saved.
        ("wc.rf_leakage", 100.0 * 3.0 / 38.0 / 2.0),
        ("wc.rf_leakage.max", 100.0 * 3.0 / 38.0),
        ("wc.rf_leakage.against_none", (12.5 + 0.0) / 2.0),
        ("wc.rf_leakage.gating_only", (5.0 + 0.0) / 2.0),
        ("wc.rf_energy.gating_only", (2.0 + 0.0) / 2.0),
        // Codecs take 25 instead of 10: 90 of 98.
        ("wc.rf_energy_codec_2_5x", (100.0 * 8.0 / 98.0 + 30.0) / 2.0),
        // 75 + 10 + 35 of 150 + 38, and 75 + 40 of 150 + 40.
        ("wc.rf_energy_access_2_5x", 100.0 * (1.0 - (120.0 / 188.0 + 115.0 / 190.0) / 2.0)),
        // Wires double: 95 of 138, and 85 of 130.
        ("wc.rf_energy_wire_100", 100.0 * (1.0 - (95.0 / 138.0 + 85.0 / 130.0) / 2.0)),
        ("wc.rf_energy_wire_100.none", 100.0 * (1.0 - (55.0 / 58.0 + 55.0 / 70.0) / 2.0)),
    ] {
        close(value(&findings, name), expected);
    }
    assert_eq!(findings.measures.value("wc.rf_energy_lrr"), None, "it was not run");
    assert_eq!(findings.measures.shown("wc.rf_energy.most").as_deref(), Some("b"));
}

#[test]
fn time_and_divergence_are_as_counted() {
    let findings = evaluate(&points());
    for (name, expected) in [
        ("wc.slowdown", 0.5),
        ("wc.slowdown.max", 1.0),
        ("wc.slowdown.rest", 0.0),
        ("wc.slowdown.warps", 6.0),
        ("wc.slowdown.waits", 25.0),
        ("wc.slowdown.warps_of_most", 6.0),
        ("wc.slowdown_latency_8", 30.0),
        ("wc.slowdown_latency_8.compress", 10.0),
        ("wc.slowdown_latency_8.both", 20.0),
        ("wc.mov_share", 2.0),
        ("wc.mov_share.mean", 1.0),
        ("wc.mov_share.guarded", 0.5),
        ("wc.mov_share.diverged.max", 1.0),
        ("wc.compressed_divergent", 80.0),
        // 8 x 10 / 60 is two thirds of 8 x 10 / 40.
        ("wc.ratio_40_only", 100.0 / 3.0),
        ("wc.gated_profile", 40.0),
        ("wc.gated_profile.falls", 0.0),
        ("wc.gated_profile.uneven", 0.0),
        ("wc.gated_profile.mean", 32.5),
        ("wc.area_mm2", 0.062_103_552),
        ("wc.area", 0.062_103_552 / 0.22),
    ] {
        close(value(&findings, name), expected);
    }
}

#[test]
fn every_figure_has_a_value_for_each_of_its_labels() {
    let findings = evaluate(&points());
    let names: Vec<_> = findings.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(
        names,
        [
            "fig02",
            "fig03",
            "fig05",
            "fig08",
            "fig09",
            "fig10",
            "fig11",
            "fig12",
            "fig13",
            "fig14",
            "fig15",
            "fig16",
            "fig17",
            "fig18",
            "fig19",
            "fig20",
            "fig21",
            "alternatives",
            "gating"
        ]
    );
    let claims = claims().expect("claims");
    for Figure { name, labels, series, .. } in &findings.figures {
        for one in series {
            assert_eq!(one.values.0.len(), labels.len(), "{name}, {}", one.name);
            assert!(one.claim.is_none_or(|id| claims.iter().any(|claim| claim.id == id)), "{:?}", one.claim);
            let same = series.iter().filter(|other| other.name == one.name).count();
            assert_eq!(same, 1, "{name} has {} twice", one.name);
        }
    }
}

#[test]
fn every_claim_has_a_measure_and_every_measure_a_claim() {
    let findings = evaluate(&Points::new(vec!["a".to_owned()]));
    let claims = claims().expect("claims");
    let names: Vec<_> = findings.measures.names().collect();
    for claim in claims.iter().filter(|claim| claim.id.starts_with(PAPER.prefix)) {
        assert!(names.contains(&claim.id.as_str()), "{} is not measured", claim.id);
        for name in claim.direction.names() {
            assert!(names.contains(&name), "{} compares `{name}`", claim.id);
        }
        for name in claim.placeholders() {
            assert!(findings.measures.knows(name), "the reason of {} asks for `{name}`", claim.id);
        }
    }
    for name in names {
        let of_claim =
            |id: &str| name == id || name.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'));
        assert!(claims.iter().any(|claim| of_claim(&claim.id)), "`{name}` belongs to no claim");
    }
}

#[test]
fn variants_have_names_of_their_own_and_differ() {
    for (index, variant) in VARIANTS.iter().enumerate() {
        for other in &VARIANTS[index + 1..] {
            assert_ne!(variant.name, other.name);
            assert_ne!((variant.settings, variant.technique), (other.settings, other.technique));
        }
    }
}

fn ledger(points: &Points) -> Ledger {
    let about = About {
        paper: PAPER.name.to_owned(),
        title: PAPER.title.to_owned(),
        citation: PAPER.citation.to_owned(),
        tool: warpwatt_results::Tool::new("0", "unknown"),
        gpu: PAPER.gpu.to_owned(),
        gpu_sha256: String::new(),
        technology: PAPER.technology.to_owned(),
        size: "tiny".to_owned(),
        seed: 1,
        workloads: points.workloads.clone(),
        of_workloads: 14,
        points: 36,
        failed: vec!["b/thread".to_owned()],
    };
    Ledger::new(about, &claims().expect("claims"), &evaluate(points).measures)
}

#[test]
fn the_ledger_has_the_same_numbers_everywhere() {
    let ledger = ledger(&points());
    let row = |id: &str| ledger.rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("{id}"));
    assert_eq!((row("wc.rf_dynamic").measured, row("wc.rf_dynamic").ratio), (Some(41.67), Some(1.191)));
    assert_eq!(row("wc.rf_energy").verdict, Verdict::Holds);
    assert_eq!(row("wc.ratio_nondivergent").verdict, Verdict::Direction);
    assert_eq!(row("wc.rf_energy_lrr").verdict, Verdict::NoData);
    assert_eq!(row("wc.gated_profile").verdict, Verdict::Holds);
    let summary = ledger.summary;
    assert_eq!(summary.claims, summary.holds + summary.direction + summary.differs + summary.no_data);
    let page = ledger.to_markdown();
    let document: serde_json::Value =
        serde_json::from_str(&ledger.to_json().expect("it is JSON")).expect("JSON");
    assert_eq!(document["schema"], "warpwatt.ledger/1");
    for row in &ledger.rows {
        let line =
            page.lines().find(|line| line.starts_with(&format!("| `{}` |", row.id))).unwrap_or_default();
        let cells: Vec<_> = line.split(" | ").collect();
        assert!(cells.len() == 7 && cells[4].starts_with(&row.shown_measured()), "{line}");
        assert!(cells[6].starts_with(row.verdict.name()), "{line}");
        let of_json = document["rows"].as_array().into_iter().flatten().find(|other| other["id"] == row.id);
        let measured = of_json.and_then(|other| other["measured"].as_f64());
        assert_eq!(measured, row.measured);
    }
    assert!(page.contains("2 of 14 workloads (a, b)") && page.contains("b/thread"), "{page}");
    assert!(page.contains("| 75 % (1 workloads) |"), "{page}");
}

#[test]
fn without_points_only_what_is_computed_has_data() {
    let ledger = ledger(&Points::new(vec!["a".to_owned()]));
    assert_eq!(ledger.summary.no_data, ledger.summary.claims - 2);
    assert!(ledger.tally().ends_with("20 have no data"), "{}", ledger.tally());
}
