// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures and measures from points made by hand, with numbers that can be checked by hand; claims and measures against each other.

use super::*;
use crate::claim::claims;
use crate::evidence::Evidence;
use crate::figure::Figure;
use crate::judge::Verdict;
use crate::ledger::{About, Ledger};
use crate::point::{PointEnergy, PointRecord};
use crate::samples;
use crate::size::Size;

/// A point with these cycles, counters, and energies of banks, wires, compressors, decompressors (dynamic) and all leakage.
fn point(cycles: u64, energies: [f64; 5], counters: &[(&str, &[u64])]) -> PointRecord {
    let [banks, wires, compression, decompression, leakage] = energies;
    PointRecord {
        warp_instructions: 98,
        thread_instructions: 98 * 32,
        counters: samples::counters(counters),
        energy: PointEnergy {
            structures: vec![
                samples::structure("register banks", banks, leakage),
                samples::structure("register wires", wires, 0.0),
                samples::structure("compressors", compression, 0.0),
                samples::structure("decompressors", decompression, 0.0),
            ],
            ..PointEnergy::default()
        },
        ..samples::point(cycles)
    }
}

const STAIRS: [u64; 8] = [1, 2, 2, 3, 3, 5, 5, 5];

/// Two workloads, of which `b` never diverges.
fn points() -> Points {
    let mut points = Points::new(vec!["a".to_owned(), "b".to_owned()]);
    let gated = STAIRS.repeat(4);
    let full: &[(&str, &[u64])] = &[
        // All lanes, guarded, short, ended, split.
        ("wc.instructions.histogram", &[50, 10, 5, 15, 20]),
        // Four bins for each of these.
        ("wc.similar.histogram", &[4, 2, 1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 2]),
        ("wc.similar_upper.histogram", &[10]),
        ("wc.written.histogram", &[4, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1]),
        ("wc.distances.histogram", &[9, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1]),
        // Six with a base of 4 bytes, two with one of 8, one that stays as it is.
        ("wc.best.histogram", &[3, 1, 0, 2, 0, 1, 1, 1]),
        ("wc.best_upper.histogram", &[0, 2]),
        ("wc.observed.histogram", &[8, 2, 0, 1, 3]),
        ("wc.observed_arrays.histogram", &[20, 10, 0, 8, 24]),
        ("wc.observed_bytes.histogram", &[300, 20, 0, 128, 384]),
        ("wc.upper.histogram", &[10, 0, 0, 0, 4]),
        ("wc.upper_arrays.histogram", &[10, 0, 0, 0, 16]),
        ("wc.sources.histogram", &[4, 10, 0, 6]),
        ("wc.sources_arrays.histogram", &[16, 10, 0, 14]),
        ("wc.moves.count", &[2]),
        ("wc.moves.histogram", &[0, 1, 0, 0, 1]),
        ("wc.allocated.histogram", &[80, 20, 10, 0, 40]),
        ("wc.compressed.histogram", &[45, 5, 0, 0, 20]),
        ("wc.stored.histogram", &[5, 5]),
        ("wc.stored_arrays.count", &[40]),
        ("rf.gated.histogram", &gated),
        ("rf.gated.cycles", &[104]),
        ("sm.cycles.cycles", &[10]),
        ("sm.active.cycles", &[9]),
        ("sm.resident_warps.cycles", &[54]),
    ];
    let base: &[(&str, &[u64])] = &[
        ("rf.reads.count", &[10]),
        ("rf.writes.count", &[5]),
        ("sm.cycles.cycles", &[10]),
        ("sm.resident_warps.cycles", &[48]),
        ("sm.active.cycles", &[8]),
    ];
    points.put(BASE, "a", point(1000, [20.0, 40.0, 0.0, 0.0, 40.0], base));
    points.put(FULL, "a", point(1010, [10.0, 20.0, 4.0, 6.0, 35.0], full));
    // No divergence at all.
    let still: Vec<(&str, &[u64])> = full
        .iter()
        .map(|(name, counts)| match *name {
            "wc.instructions.histogram" => (*name, &[100_u64][..]),
            "wc.similar.histogram" => (*name, &[4, 2, 2, 2][..]),
            "wc.written.histogram" | "wc.distances.histogram" => (*name, &[9, 0, 0, 1][..]),
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
    points.put(
        BRANCHES,
        "a",
        point(1000, [0.0; 5], &[("wc.moves.count", &[1]), ("wc.moves.histogram", &[0, 0, 0, 0, 1])]),
    );
    points.put(WITHOUT[0].0, "a", point(1004, [0.0; 5], &[]));
    points.put(
        FEW_BLOCKS[0].0,
        "a",
        point(2000, [0.0; 5], &[("sm.resident_warps.cycles", &[8]), ("sm.active.cycles", &[4])]),
    );
    points.put(FEW_BLOCKS[0].1, "a", point(2100, [0.0; 5], &[]));
    points.put(BASE_LRR, "a", point(1000, [20.0, 40.0, 0.0, 0.0, 60.0], &[]));
    points.put(FULL_LRR, "a", point(1000, [20.0, 40.0, 0.0, 0.0, 0.0], &[]));
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
fn values_are_similar_as_counted_by_every_reading_of_divergence() {
    let findings = evaluate(&points());
    for (name, expected) in [
        // Of `b` all instructions have all lanes.
        ("wc.nondivergent_share", (60.0 + 100.0) / 2.0),
        ("wc.nondivergent_share.short_is_whole", (65.0 + 100.0) / 2.0),
        ("wc.nondivergent_share.split_only", (80.0 + 100.0) / 2.0),
        ("wc.nondivergent_share.guard", (50.0 + 100.0) / 2.0),
        ("wc.nondivergent_share.ended", 7.5),
        // 8 of 10, and 8 of 10.
        ("wc.similar_nondivergent", 80.0),
        // A random one of a warp that lost lanes: 8 of 11.
        ("wc.similar_nondivergent.split_only", (800.0 / 11.0 + 80.0) / 2.0),
        ("wc.similar_nondivergent.guard", (700.0 / 9.0 + 80.0) / 2.0),
        ("wc.similar_nondivergent.written", (80.0 + 90.0) / 2.0),
        ("wc.similar_nondivergent.by_distance", 90.0),
        ("wc.similar_nondivergent.with_upper", 90.0),
        ("wc.compressible_time", (48.0 + 80.0) / 2.0),
        // Of `a` alone.
        ("wc.random_divergent", 75.0),
        ("wc.random_divergent.split_only", 200.0 / 3.0),
        ("wc.random_divergent.guard", 60.0),
        ("wc.random_divergent.written", 25.0),
        ("wc.random_divergent.by_distance", 50.0),
        ("wc.best_encoding_base4", 75.0),
        ("wc.best_encoding_base4.with_upper", 60.0),
        // 8 x 20 / 40, and 8 x 20 / 20.
        ("wc.ratio_nondivergent", (4.0 + 8.0) / 2.0),
        ("wc.ratio_nondivergent.guard", (8.0 * 18.0 / 30.0 + 8.0) / 2.0),
        ("wc.ratio_nondivergent.lower", (8.0 * 10.0 / 30.0 + 8.0) / 2.0),
        ("wc.ratio_divergent", 8.0 * 8.0 / 48.0),
        ("wc.ratio_divergent.split_only", 8.0 * 7.0 / 40.0),
        ("wc.ratio_divergent.ended", 1.0),
        ("wc.ratio_divergent.bytes", 1.0),
        ("wc.ratio_nondivergent.harmonic", 2.0 / (1.0 / 4.0 + 1.0 / 8.0)),
        ("wc.ratio_nondivergent.geometric", 32_f64.sqrt()),
        ("wc.ratio_nondivergent.from_memory", 2.0),
        ("wc.ratio_nondivergent.from_wide", 8.0),
    ] {
        close(value(&findings, name), expected);
    }
    assert_eq!(findings.measures.get("wc.random_divergent").and_then(|measure| measure.workloads), Some(1));
    assert_eq!(findings.measures.value("wc.ratio_nondivergent.hotspot"), None, "it was not run");
}

#[test]
fn energy_is_saved_by_workload_against_a_file_that_is_never_gated() {
    let findings = evaluate(&points());
    for (name, expected) in [
        // 75 of 100, and 70 of 100.
        ("wc.rf_energy", (25.0 + 30.0) / 2.0),
        ("wc.rf_energy.against_gating", (100.0 * 23.0 / 98.0 + 30.0) / 2.0),
        ("wc.rf_energy.max", 30.0),
        ("wc.rf_energy.baseline_dynamic", 60.0),
        ("wc.rf_energy.codecs", 5.0),
        ("wc.rf_energy.accesses_per_cycle", 1.5),
        ("wc.rf_energy.occupied", 80.0),
        // Warps are there in 8 of 10 cycles, in which the file without the technique leaks 32 of 40: 75 of 92, and 70 of 92.
        ("wc.rf_energy.with_warps", 100.0 * (1.0 - (75.0 / 92.0 + 70.0 / 92.0) / 2.0)),
        ("wc.rf_dynamic", (100.0 * 20.0 / 60.0 + 50.0) / 2.0),
        ("wc.rf_dynamic.without_codecs", 50.0),
        ("wc.rf_leakage", (12.5 + 0.0) / 2.0),
        ("wc.rf_leakage.max", 12.5),
        // 35 of 38, and nothing saved.
        ("wc.rf_leakage.against_gating", 100.0 * 3.0 / 38.0 / 2.0),
        ("wc.rf_leakage.gating_only", (5.0 + 0.0) / 2.0),
        ("wc.rf_energy.gating_only", (2.0 + 0.0) / 2.0),
        // Half of what the file takes under the same scheduler; 60 of 100 of what it takes under the other.
        ("wc.rf_energy_lrr", 50.0),
        ("wc.rf_energy_lrr.against_gto", 40.0),
        // Codecs take 25 instead of 10: 90 of 100.
        ("wc.rf_energy_codec_2_5x", (10.0 + 30.0) / 2.0),
        ("wc.rf_energy_codec_2_5x.against_gating", (100.0 * 8.0 / 98.0 + 30.0) / 2.0),
        // 75 + 10 + 35 of 150 + 40, and 75 + 40 of 150 + 40.
        ("wc.rf_energy_access_2_5x", 100.0 * (1.0 - (120.0 / 190.0 + 115.0 / 190.0) / 2.0)),
        // Wires double: 95 of 140, and 85 of 130.
        ("wc.rf_energy_wire_100", 100.0 * (1.0 - (95.0 / 140.0 + 85.0 / 130.0) / 2.0)),
        ("wc.rf_energy_wire_100.none", 100.0 * (1.0 - (55.0 / 60.0 + 55.0 / 70.0) / 2.0)),
    ] {
        close(value(&findings, name), expected);
    }
    assert_eq!(findings.measures.value("wc.rf_energy_lrr.against_gating"), None, "it was not run");
    assert_eq!(findings.measures.shown("wc.rf_energy.most").as_deref(), Some("b"));
}

#[test]
fn time_and_divergence_are_as_counted() {
    let findings = evaluate(&points());
    for (name, expected) in [
        ("wc.slowdown", 0.5),
        ("wc.slowdown.max", 1.0),
        ("wc.slowdown.rest", 0.0),
        // 9 cycles with warps for 8.
        ("wc.slowdown.with_warps", 12.5),
        ("wc.slowdown.warps", 6.0),
        ("wc.slowdown.warps_of_most", 6.0),
        // 1.0 % without the latency of compression is 0.4 %.
        ("wc.slowdown.by_compression", 0.6),
        ("wc.slowdown.ctas_1", 5.0),
        ("wc.slowdown.warps_ctas_1", 2.0),
        ("wc.slowdown_latency_8", 30.0),
        ("wc.slowdown_latency_8.compress", 10.0),
        ("wc.slowdown_latency_8.both", 20.0),
        ("wc.mov_share", 2.0),
        ("wc.mov_share.mean", 1.0),
        ("wc.mov_share.guarded", 0.5),
        ("wc.mov_share.diverged.max", 1.0),
        ("wc.mov_share.no_predication", 100.0 / 99.0),
        // 20 of 50 over 50 of 100; without short warps 20 of 40 over 50 of 110.
        ("wc.compressed_divergent", 80.0),
        ("wc.compressed_divergent.short_is_whole", 110.0),
        // 8 x 10 / 60 is two thirds of 8 x 10 / 40.
        ("wc.ratio_40_only", 100.0 / 3.0),
        ("wc.ratio_40_only.of_means", 100.0 / 3.0),
        ("wc.gated_profile", 40.0),
        ("wc.gated_profile.with_warps", 40.0 / 0.9),
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
            "gating",
            "movs-by-cause",
            "ratio-by-source",
            "slowdown-by-mechanism",
            "slowdown-by-warps"
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
fn every_claim_reading_and_reason_has_a_measure_and_every_measure_a_claim() {
    let findings = evaluate(&Points::new(vec!["a".to_owned()]));
    let claims = claims().expect("claims");
    let names: Vec<_> = findings.measures.names().collect();
    for claim in claims.iter().filter(|claim| PAPER.claims(&claim.id)) {
        assert!(names.contains(&claim.id.as_str()), "{} is not measured", claim.id);
        for name in claim.direction.names() {
            assert!(names.contains(&name), "{} compares `{name}`", claim.id);
        }
        for other in claim.others.keys() {
            let name = format!("{}.{other}", claim.id);
            assert!(names.contains(&name.as_str()), "{name} is not measured");
        }
        for name in claim.placeholders() {
            assert!(findings.measures.knows(name), "the reason of {} asks for `{name}`", claim.id);
        }
        for file in claim.reasons.iter().filter_map(|reason| reason.shown_by.as_ref()) {
            assert!(
                findings.figures.iter().any(|figure| figure.name == file),
                "{} has no experiment {file}",
                claim.id
            );
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
            assert_ne!(Variant { name: "", ..*variant }, Variant { name: "", ..*other });
        }
    }
}

fn ledger(points: &Points) -> Ledger {
    let about = About {
        paper: PAPER.name.to_owned(),
        title: PAPER.title.to_owned(),
        citation: PAPER.citation.to_owned(),
        tool: warpwatt_results::Tool::new("0", "unknown", 1),
        simulated_by: None,
        gpus: vec![PAPER.gpu.to_owned()],
        gpu_sha256: String::new(),
        technologies: vec![PAPER.technology.to_owned()],
        size: Size::Tiny,
        seeds: vec![1, 2, 3],
        workloads: points.workloads.clone(),
        missing: Vec::new(),
        stand_ins: Default::default(),
        quick_of: None,
        larger: None,
        of_suite: false,
        points: 36,
        failed: Vec::new(),
    };
    let claims: Vec<_> =
        claims().expect("claims").into_iter().filter(|claim| PAPER.claims(&claim.id)).collect();
    Ledger::new(about, &claims, &Evidence(vec![evaluate(points).measures; 3]))
}

#[test]
fn the_ledger_judges_by_the_fixed_readings() {
    let ledger = ledger(&points());
    let row = |id: &str| ledger.rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("{id}"));
    let dynamic = &row("wc.rf_dynamic").judged;
    assert_eq!((dynamic.measured, dynamic.ratio), (Some(41.67), Some(1.191)));
    assert_eq!(row("wc.rf_energy").judged.verdict, Verdict::Holds);
    assert_eq!(row("wc.ratio_nondivergent").judged.verdict, Verdict::Direction);
    assert_eq!(row("wc.gated_profile").judged.verdict, Verdict::Holds);
    assert_eq!(row("wc.random_divergent").judged.verdict, Verdict::Direction, "43 remain of 100, here 25");
    let summary = ledger.summary.expect("three seeds");
    assert_eq!((summary.independent, summary.not_counted), (15, 7));
    assert_eq!(summary.independent, summary.holds + summary.direction + summary.differs + summary.no_data);
}

#[test]
fn without_points_only_what_is_computed_has_data() {
    let ledger = ledger(&Points::new(vec!["a".to_owned()]));
    let summary = ledger.summary.expect("three seeds");
    assert_eq!(summary.no_data, summary.independent);
    assert!(ledger.tally().starts_with("0 of 15 independent claims hold"), "{}", ledger.tally());
}
