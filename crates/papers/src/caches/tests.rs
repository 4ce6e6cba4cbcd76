// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures and measures from points made by hand, with numbers that can be checked by hand; claims and measures against each other.

use std::collections::BTreeMap;

use warpwatt_results::{ComponentEnergy, Gpu, Inputs};

use super::*;
use crate::claim::claims;
use crate::point::{PointEnergy, PointRecord};
use crate::samples;

/// A point with these cycles, counters, and dynamic and static energies of the L1 data cache, of L2, and of all the rest.
fn point(cycles: u64, [l1d, l2, rest]: [(f64, f64); 3], counters: &[(&str, &[u64])]) -> PointRecord {
    let structure = |name, (dynamic_j, static_j): (f64, f64)| samples::structure(name, dynamic_j, static_j);
    let parameters = [
        ("gpu.sms", "2"),
        ("gpu.partitions", "1"),
        ("sm.onchip_bytes", "65536"),
        ("sm.shared.bytes", "49152"),
        ("l2.sets", "64"),
        ("l2.ways", "16"),
        ("sm.icache.sets", "4"),
        ("sm.icache.ways", "4"),
        ("sm.constant.sets", "64"),
        ("sm.constant.ways", "2"),
        ("sm.texture.sets", "4"),
        ("sm.texture.ways", "24"),
    ];
    let parameters: BTreeMap<_, _> =
        parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let gpu = Gpu { name: "g".to_owned(), parameters, sha256: String::new() };
    let memory = ComponentEnergy {
        name: "memory".to_owned(),
        dynamic_j: 10.0,
        static_j: 0.0,
        shares: warpwatt_results::Shares::default(),
    };
    let (dynamic_j, static_j) = (l1d.0 + l2.0 + rest.0 + 10.0, l1d.1 + l2.1 + rest.1);
    PointRecord {
        inputs: Inputs { gpu: Some(gpu), ..Inputs::default() },
        warp_instructions: 98,
        thread_instructions: 98 * 32,
        counters: samples::counters(counters),
        energy: PointEnergy {
            total_j: dynamic_j + static_j,
            dynamic_j,
            static_j,
            components: vec![memory],
            structures: vec![structure("L1 data cache", l1d), structure("L2", l2), structure("units", rest)],
        },
        ..samples::point(cycles)
    }
}

/// One program of the suite, bfs.
fn points() -> Points {
    let mut points = Points::new(vec!["bfs".to_owned()]);
    let used = [(4.0, 2.0), (16.0, 6.0), (80.0, 92.0)];
    let base: &[(&str, &[u64])] = &[
        ("l1d.reads.count", &[10]),
        ("l1d.load_lanes.count", &[160]),
        ("profile.l1d_accesses.count", &[8]),
        // Of 256 blocks of two caches, 64 are used, 32 of them twice or more, none 32 times.
        ("profile.l1d_reached.histogram", &[64, 32, 0, 0, 0, 0, 0]),
        // Of 128 indices, three are used by any of the two SMs, one of them 40 times.
        ("profile.l1d_by_frame.histogram", &[31, 0, 40, 1]),
        ("profile.l1d_came.histogram", &[0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2]),
        ("profile.l1d_left.histogram", &[0, 0, 1]),
        ("profile.l1d_mean_up.cycles", &[1206]),
        ("profile.l1d_mean_down.cycles", &[2]),
        ("profile.l1d_gaps.histogram", &[0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 2]),
        ("profile.l1d_gap_sum.cycles", &[2000]),
    ];
    points.put(BASE, "bfs", point(1000, used, base));
    // In the time with warps, an eighth of the blocks is on.
    let drowsy: &[(&str, &[u64])] = &[
        ("l1d.on_busy.cycles", &[1000]),
        ("l1d.drowsy_busy.cycles", &[7000]),
        ("l1d.on.cycles", &[1000]),
        ("l1d.drowsy.cycles", &[9000]),
    ];
    for (place, (plain, icache, size)) in REGIONS.into_iter().enumerate() {
        let slept = [(4.0, 1.0 + place as f64 / 10.0), (16.0, 6.0), (80.0, 92.0)];
        points.put(plain, "bfs", point(1004, slept, drowsy));
        // Small regions cost time, where the instruction cache sleeps, too.
        points.put(icache, "bfs", point(1200 - 10 * u64::from(size), slept, drowsy));
    }
    let divided = [(3.0, 2.0), (16.0, 6.0), (80.0, 92.0)];
    let bytes: &[(&str, &[u64])] = &[
        ("dwl.l1d_reads.count", &[8]),
        ("dwl.l1d_read_idle.count", &[64]),
        ("dwl.l1d_writes.count", &[0]),
        ("dwl.l1d_write_idle.count", &[0]),
    ];
    points.put(LANES, "bfs", point(1000, divided, &[]));
    points.put(BYTES, "bfs", point(1000, divided, bytes));
    points.put(BOTH, "bfs", point(1004, [(3.0, 1.0), (16.0, 6.0), (80.0, 92.0)], drowsy));
    points
}

fn value(findings: &Findings, name: &str) -> f64 {
    findings.measures.value(name).unwrap_or_else(|| panic!("{name} is not measured"))
}

#[track_caller]
fn close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} and {other}");
}

#[test]
fn blocks_are_as_counted() {
    let findings = evaluate(&points());
    let value = |name: &str| value(&findings, name);
    close(value("cache.block_utilization:bfs.l1d"), 50.0);
    close(value("cache.block_utilization.bytes:bfs.l1d"), 75.0);
    close(value("cache.block_accesses:l1d_lt32"), 100.0);
    close(value("cache.block_accesses.by_index:l1d_lt32"), 100.0 * 127.0 / 128.0);
    let unused = findings.figures.iter().find(|figure| figure.name == "fig3-4-by-index").expect("by index");
    close(unused.series[0].values.0[0].expect("a value"), 100.0 * 125.0 / 128.0);
    close(value("cache.inter_access:l1d"), 1204.0 / 4.0);
    close(value("cache.inter_access.intervals:l1d"), 250.0);
    close(value("cache.inter_access_bins:l1d"), 50.0);
    close(value("cache.inter_access_bins.intervals:l1d"), 25.0);
    let figure = findings.figures.iter().find(|figure| figure.name == "fig3-4a").expect("Figure 3-4");
    let shares: Vec<_> = figure.series.iter().map(|series| series.values.0[0].expect("a value")).collect();
    assert_eq!(shares[..4], [75.0, 12.5, 12.5, 0.0], "never, once, twice, four times");
    close(shares.iter().sum(), 100.0);
}

#[test]
fn power_is_saved_by_the_time_asleep_and_by_segments_that_are_off() {
    let findings = evaluate(&points());
    let value = |name: &str| value(&findings, name);
    let ceiling = 100.0 * (1.0 - 0.05956 / 1.05984);
    close(value("cache.static_saved:l1d"), 0.875 * ceiling);
    close(value("cache.static_saved.ceiling_l1d"), ceiling);
    close(value("cache.static_saved.on_l1d"), 12.5);
    close(value("cache.static_saved.all_time_l1d"), 50.0);
    close(value("cache.dynamic_saved:l1d"), 25.0);
    close(value("cache.dynamic_share_of_gpu:l1d"), 4.0);
    close(value("cache.gpu_saved:l1d"), 4.0 * (0.875 * ceiling / 3.0 + 2.0 / 3.0 * 25.0) / 100.0);
    close(value("cache.gpu_saved.joules:l1d"), 100.0 * 2.0 / 210.0);
    close(value("cache.slowdown_region1"), 0.4);
    close(value("cache.instruction_region1"), 1.0);
    close(value("cache.optimal_region:without"), 1.0);
    close(value("cache.optimal_region:with_instruction"), 32.0);
    close(value("cache.static_share:texture"), 100.0 * 48.96 / (15.0 * 7.51584 + 30.128));
}

#[test]
fn every_claim_and_reading_is_measured_and_every_measure_belongs_to_a_claim() {
    let findings = evaluate(&points());
    let claims: Vec<_> =
        claims().expect("claims").into_iter().filter(|claim| PAPER.claims(&claim.id)).collect();
    let names: Vec<_> = findings.measures.names().collect();
    for claim in claims.iter().filter(|claim| claim.kind != crate::claim::ClaimKind::Input) {
        let ids = std::iter::once(claim.id.clone());
        for id in ids.chain(claim.others.keys().map(|other| format!("{}.{other}", claim.id))) {
            let found = names.iter().any(|name| *name == id || name.starts_with(&format!("{id}:")));
            assert!(found, "{id} is not measured");
        }
        for (entry, _) in claim.entries().into_iter().filter(|(entry, _)| !entry.is_empty()) {
            let name = format!("{}:{entry}", claim.id);
            let of_suite = claim.id == "cache.block_utilization";
            assert!(of_suite || names.contains(&name.as_str()), "{name} is not measured");
        }
    }
    // Entries of programs are there for those that were run.
    for claim in &claims {
        for name in
            claim.placeholders().into_iter().filter(|name| !name.starts_with("cache.block_utilization:"))
        {
            assert!(findings.measures.knows(name), "the reason of {} asks for `{name}`", claim.id);
        }
        assert!(claim.kind != crate::claim::ClaimKind::Measured || !claim.reasons.is_empty(), "{}", claim.id);
    }
    for name in names {
        let of_claim =
            |id: &str| name == id || name.strip_prefix(id).is_some_and(|rest| rest.starts_with(['.', ':']));
        assert!(claims.iter().any(|claim| of_claim(&claim.id)), "`{name}` belongs to no claim");
    }
}

#[test]
fn every_figure_of_the_thesis_is_there_with_a_value_for_each_label() {
    let findings = evaluate(&points());
    let names: Vec<_> = findings.figures.iter().map(|figure| figure.name).collect();
    for name in [
        "fig3-1", "fig3-2", "fig3-3", "fig3-4f", "fig3-5", "tab3-1", "fig4-1", "fig4-2", "fig4-3e",
        "policies",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for figure in &findings.figures {
        for series in &figure.series {
            assert_eq!(series.values.0.len(), figure.labels.len(), "{}, {}", figure.name, series.name);
        }
    }
    for (index, variant) in VARIANTS.iter().enumerate() {
        assert!(VARIANTS[index + 1..].iter().all(|other| other.name != variant.name), "{}", variant.name);
    }
}
