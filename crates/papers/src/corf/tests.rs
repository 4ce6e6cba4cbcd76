// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures and measures from points made by hand, with numbers that can be checked by hand; claims and measures against each other.

use super::*;
use crate::claim::claims;
use crate::point::{PointEnergy, PointRecord};
use crate::samples;

/// A point with these cycles, instructions, counters, and energies of banks, table and logic, dynamic and static.
fn point(cycles: u64, issued: u64, energies: [[f64; 2]; 3], counters: &[(&str, &[u64])]) -> PointRecord {
    let names = ["register banks", "renaming table", "CORF logic"];
    let structure =
        |(name, [dynamic_j, static_j]): (_, [f64; 2])| samples::structure(name, dynamic_j, static_j);
    PointRecord {
        warp_instructions: issued,
        thread_instructions: 32 * issued,
        counters: samples::counters(counters),
        energy: PointEnergy {
            structures: names.into_iter().zip(energies).map(structure).collect(),
            ..PointEnergy::default()
        },
        ..samples::point(cycles)
    }
}

/// Two workloads: `sad` computes on integers, `b` on floating-point numbers. All else is the same but for what `b` has more of.
fn points() -> Points {
    let mut points = Points::new(vec!["sad".to_owned(), "b".to_owned()]);
    let base = |float: u64| {
        let counters: &[(&str, &[u64])] = &[
            ("ops.fp32_mul.count", &[float]),
            ("ops.int_add.count", &[10]),
            ("rf.reads.count", &[60]),
            ("rf.writes.count", &[40]),
            ("rf.collecting.cycles", &[300]),
            ("sm.issued.count", &[100]),
            ("sm.issue_slots.count", &[200]),
            ("sm.stall.unit.count", &[20]),
            ("sm.stall.dependency.count", &[10]),
            ("sm.stall.memory.count", &[30]),
            ("sm.stall.fetch.count", &[10]),
            ("sm.stall.empty.count", &[30]),
        ];
        point(1000, 100, [[10.0, 20.0], [0.0; 2], [0.0; 2]], counters)
    };
    let with = |cycles: u64, reads: u64, coalesced: u64, banks: [f64; 2], entries: u64| {
        let counters: &[(&str, &[u64])] = &[
            ("rf.reads.count", &[reads]),
            ("rf.writes.count", &[40]),
            ("sm.issued.count", &[100]),
            ("sm.cycles.cycles", &[1000]),
            ("rf.collecting.cycles", &[200]),
            ("packing.operands.count", &[50]),
            ("packing.multi_source_operands.count", &[40]),
            ("packing.multi_source_wide.count", &[4]),
            ("packing.coalesced.count", &[coalesced]),
            ("packing.coalesced_lower.count", &[coalesced / 2]),
            ("packing.growth_reads.count", &[1]),
            ("renaming.updates.count", &[80]),
            ("packing.read_widths.histogram", &[5, 3, 2, 10]),
            ("packing.write_widths.histogram", &[5, 0, 0, 15]),
            ("packing.read_widths_upper.histogram", &[10]),
            ("packing.write_widths_upper.histogram", &[10]),
            ("packing.multi_source.count", &[40]),
            ("packing.multi_source_reads.count", &[45]),
            ("packing.potential.count", &[20]),
            ("packing.potential_both.count", &[30]),
            ("packing.coalesced_instructions.count", &[coalesced]),
            ("packing.grown.count", &[2]),
            ("renaming.lookups.count", &[60]),
            ("renaming.entries.cycles", &[entries]),
            ("renaming.registers.cycles", &[512_000]),
            ("corf.metadata.count", &[2]),
            ("corf.code.count", &[100]),
            ("corf.partners.count", &[10]),
            ("corf.together.count", &[7]),
            ("corfpp.metadata.count", &[0]),
            ("corfpp.code.count", &[100]),
            ("corfpp.kept_out.count", &[8]),
            ("corfpp.warps.count", &[4]),
        ];
        point(cycles, 102, [banks, [0.2, 1.0], [0.1, 0.1]], counters)
    };
    for (name, float) in [("sad", 0), ("b", 30)] {
        for variant in VARIANTS {
            let record = match variant.name {
                BASE | PORTS | COLLECTORS => base(float),
                CORF => with(950, 54, 8, [9.0, 10.0], 200_000),
                CORFPP if name == "sad" => with(800, 40, 16, [8.0, 10.0], 200_000),
                CORFPP => with(1100, 50, 12, [8.5, 10.0], 200_000),
                FIRST_FIT => with(1000, 58, 2, [9.9, 10.0], 256_000),
                PACKING => with(1000, 60, 0, [10.0, 12.0], 384_000),
                _ => with(1000, 60, 0, [10.0, 10.0], 256_000),
            };
            points.put(variant.name, name, record);
        }
    }
    points
}

fn value(findings: &Findings, name: &str) -> f64 {
    findings.measures.value(name).unwrap_or_else(|| panic!("{name} is not measured"))
}

fn close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6, "{one} is not {other}");
}

#[test]
fn measures_are_as_counted() {
    let findings = evaluate(&points());
    let value = |name: &str| value(&findings, name);
    close(value("corf.narrow"), 100.0 * 15.0 / 40.0);
    close(value("corf.narrow.both_words"), 100.0 * 35.0 / 60.0);
    close(value("corf.one_byte"), 25.0);
    close(value("corf.multi_source"), 40.0);
    close(value("corf.multi_source_reads"), 75.0);
    close(value("corf.potential"), 50.0);
    close(value("corf.potential_peaks:sad"), 50.0);
    close(value("corf.coalesced_first_fit"), 5.0);
    close(value("corf.coalesced"), 20.0);
    close(value("corfpp.coalesced"), 35.0);
    close(value("corf.pairs_packed"), 70.0);
    close(value("corf.size_changes"), 5.0);
    close(value("corf.accesses:all"), 6.0);
    close(value("corfpp.accesses:integer"), 20.0);
    close(value("corfpp.accesses:floating_point"), 10.0);
    close(value("corfpp.accesses.mix_15_5:all"), 17.5);
    close(value("corf.size_packing"), 25.0);
    close(value("corf.size_both"), 50.0);
    close(value("corf.dynamic"), 7.0);
    close(value("corf.dynamic_overhead"), 3.0);
    close(value("corf.leakage_overhead"), 5.5);
    close(value("corf.leakage_packing"), 100.0 * (1.0 - 13.1 / 20.0));
    close(value("corf.leakage_packing.architected"), 50.0);
    close(value("corfpp.ipc.kept_out"), 2.0);
    close(value("corf.table_size:renaming_kb"), 5.167_968_75);
    close(value("corf.table1:packing.size"), 0.75);
    close(value("corf.multi_source_reads.by_operand"), 80.0);
    close(value("corf.potential.wide"), 10.0);
    close(value("corf.coalesced.lower_words"), 10.0);
    close(value("corf.accesses.per_instruction"), 1.0);
    close(value("corf.accesses.coalesced"), 8.0);
    close(value("corf.ipc.lost_collectors"), 10.0);
    close(value("corf.ipc.held"), 3.0);
    close(value("corf.dynamic.table"), 2.0);
    close(value("corf.dynamic.table_accesses"), 140.0 / 94.0);
}

#[test]
fn metadata_takes_time_and_is_not_counted_in_ipc() {
    let findings = evaluate(&points());
    // 100 of 102 instructions in 950 cycles.
    close(value(&findings, "corf.ipc:all"), 100.0 * (1000.0 / 950.0 - 1.0));
    close(value(&findings, "corf.table1:corf.ipc"), 1000.0 / 950.0);
    // 100 in 800 and 100 in 1100 cycles, of which 2 more are metadata of CORF in these made-up points.
    let harmonic = 2.0 / (8.0 + 11.0) / (2.0 / 20.0);
    close(value(&findings, "corfpp.ipc:all"), 100.0 * (harmonic - 1.0));
    close(value(&findings, "corf.ipc_every"), 100.0 * (1000.0 / 1100.0 - 1.0));
}

#[test]
fn every_claim_and_reading_has_a_measure_and_every_measure_a_claim() {
    let findings = evaluate(&points());
    let claims = claims().expect("claims");
    let names: Vec<&str> =
        findings.measures.names().map(|name| name.split(':').next().unwrap_or(name)).collect();
    for claim in claims.iter().filter(|claim| PAPER.claims(&claim.id)) {
        assert!(names.contains(&claim.id.as_str()), "{} is not measured", claim.id);
        for (entry, _) in claim.entries().iter().filter(|(entry, _)| !entry.is_empty()) {
            assert!(findings.measures.knows(&format!("{}:{entry}", claim.id)), "{}:{entry}", claim.id);
        }
        for other in claim.others.keys() {
            let name = format!("{}.{other}", claim.id);
            assert!(names.contains(&name.as_str()), "{name} is not measured");
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
fn every_figure_of_the_paper_is_there_and_every_label_has_a_value() {
    let findings = evaluate(&points());
    let names: Vec<_> =
        findings.figures.iter().filter(|figure| figure.place.is_some()).map(|figure| figure.name).collect();
    let expected =
        ["fig02", "fig03", "fig04", "fig06", "fig13", "fig14", "fig15", "fig16", "fig17", "fig18", "fig19"];
    assert_eq!(names, expected);
    for figure in &findings.figures {
        for series in &figure.series {
            assert_eq!(series.values.count(), figure.labels.len(), "{}: {}", figure.name, series.name);
        }
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
