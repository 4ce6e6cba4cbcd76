// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures and measures from points made by hand, with numbers that can be checked by hand; claims and measures against each other.

use warpwatt_results::{Reading, Values};

use super::*;
use crate::claim::claims;
use crate::point::{PointEnergy, PointRecord};
use crate::samples;

/// A run of a hundred lines read, in so many encoded bytes and accesses.
fn point(cycles: u64, joules: f64, bytes: u64, accesses: u64) -> PointRecord {
    let counters: Values = [
        ("mc.filled.count", 100),
        ("mc.written.count", 0),
        ("mc.encoded.bytes", bytes),
        ("mc.filled_bursts.count", accesses),
        ("mc.written_bursts.count", 0),
        ("codes.escape.bits", 3),
    ]
    .map(|(name, count)| (name.to_owned(), Reading::Count(count)))
    .into_iter()
    .chain(
        [("codes.bound.ratio", 2.5), ("dram.utilisation.ratio", 0.6)]
            .map(|(name, ratio)| (name.to_owned(), Reading::Ratio(ratio))),
    )
    .collect();
    PointRecord {
        counters,
        energy: PointEnergy { total_j: joules, ..PointEnergy::default() },
        ..samples::point(cycles)
    }
}

fn points() -> Points {
    let names = ["transpose", "busy"].map(str::to_owned);
    let mut points = Points::new(names.into()).with_beside(vec!["beside".to_owned()]);
    for variant in VARIANTS {
        // A program that memory binds, and one that it does not.
        let (cycles, joules) = if variant.name == BASE { (1000, 2.0) } else { (800, 1.8) };
        let (bytes, accesses) = match variant.name {
            "ideal-e2mc8" => (4000, 200),
            IDEAL_16 | ONE_WAY => (6400, 240),
            FOUR_WAYS => (8000, 250),
            _ => (12_800, 400),
        };
        points.put(variant.name, "transpose", point(cycles, joules, bytes, accesses));
        points.put(variant.name, "busy", point(1000, 2.0, bytes, accesses));
        points.put(variant.name, "beside", point(cycles + 250, joules, bytes, accesses));
    }
    points
}

#[test]
fn every_claim_of_the_paper_is_measured_or_named_as_not_measured() {
    let measures = evaluate(&points()).measures;
    for claim in claims().expect("they read").iter().filter(|claim| PAPER.claims(&claim.id)) {
        let names: Vec<&str> = measures.names().collect();
        let own = names.iter().any(|name| {
            *name == claim.id
                || name.strip_prefix(claim.id.as_str()).is_some_and(|rest| rest.starts_with(':'))
        });
        assert!(own, "{}", claim.id);
    }
}

#[test]
fn ratios_speedups_and_savings_are_those_of_the_points() {
    let measures = evaluate(&points()).measures;
    let close = |name: &str, value: f64| {
        let measured = measures.value(name).unwrap_or_else(|| panic!("{name} is not measured"));
        assert!((measured - value).abs() < 1e-9, "{name}: {measured}");
    };
    close("e2mc.raw_ratio:bdi", 1.0);
    close("e2mc.raw_ratio:e2mc16", 2.0);
    close("e2mc.raw_ratio:e2mc8", 3.2);
    close("e2mc.mag_ratio:e2mc8", 2.0);
    close("e2mc.pdw4_raw_loss", 0.4);
    close("e2mc.over_bdi_fpc:offline_bdi", 1.0);
    close("e2mc.symbol_order.sixteen_best", 0.0);
    close("e2mc.symbol_order.eight_best", 1.0);
    // Of the one that memory binds: 1000 over 800 cycles; of the other one nothing.
    close("e2mc.bandwidth_8x", 1.25f64.sqrt());
    close("e2mc.bandwidth_8x.bound", 1.25);
    close("e2mc.bandwidth_8x.busy", 60.0);
    close("e2mc.bandwidth_8x.busy_programs", 2.0);
    // 1050 for 1250 cycles, of the program beside the suite alone.
    close("e2mc.compute_bound:pdw4", -16.0);
    close("e2mc.shannon", 2.5);
    close("e2mc.shannon.gap", 0.5);
    close("e2mc.raw_ratio.other_seed:e2mc16", 1.0);
    close("e2mc.raw_ratio.lost_to_other_seed", 1.0);
    // None of the two is mummergpu.
    assert_eq!(measures.value("e2mc.mfv_prefix:mfv2k"), None);
    close("e2mc.speedup_real:e2mc16_pdw4", 100.0 * (1.25f64.sqrt() - 1.0));
    close("e2mc.pdw8", 0.0);
    close("e2mc.energy:offline", 5.0);
    close("e2mc.edp:offline", 14.0);
}

#[test]
fn every_variant_has_a_name_of_its_own_and_every_figure_its_variants() {
    let names: std::collections::BTreeSet<_> = VARIANTS.iter().map(|variant| variant.name).collect();
    assert_eq!(names.len(), VARIANTS.len());
    let used = [&BANDWIDTH[..], &IDEAL, &REAL, &WAYS, &COMPRESS, &DECOMPRESS, &VALUES, &ONLINE].concat();
    assert!(used.iter().all(|(variant, _)| names.contains(variant)));
    assert!(
        NARROW
            .iter()
            .chain(&ROOMY)
            .chain(&SMALL_L2)
            .chain(&[OTHER_SEED, DRAM_CODES])
            .all(|variant| names.contains(variant))
    );
    assert!(SAMPLING.iter().all(|(variant, _)| names.contains(variant)));
    let figures: Vec<_> = evaluate(&points()).figures.iter().map(|figure| figure.name).collect();
    assert_eq!(
        figures,
        [
            "fig01", "fig03", "fig04a", "fig04b", "fig05a", "fig05b", "fig09a", "fig09b", "fig10a", "fig10b",
            "fig11a", "fig11b", "fig12a", "fig12b", "fig12c", "fig13", "bounds", "limits"
        ]
    );
}

#[test]
fn programs_of_the_paper_are_found_by_our_names_of_them() {
    let mut points = Points::new(["fastwalsh", "mummergpu", "spmv_csr"].map(str::to_owned).into());
    for variant in VARIANTS {
        let bytes = if variant.name == VALUES[2].0 { 5000 } else { 6400 };
        points
            .workloads
            .clone()
            .iter()
            .for_each(|name| points.put(variant.name, name, point(1, 1.0, bytes, 1)));
    }
    let measures = evaluate(&points).measures;
    assert_eq!(measures.value("e2mc.mfv_prefix:mfv4k"), Some(3.0));
    assert_eq!(measures.get("e2mc.symbol_order.eight_best").and_then(|measure| measure.workloads), Some(2));
    assert!(measures.value("e2mc.mfv_fwt").is_some_and(|gained| (gained - 28.0).abs() < 1e-9));
}
