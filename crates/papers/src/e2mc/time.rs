// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speedups: Figures 1, 5 and 12, and what compute-bound programs lose.

use super::{
    BANDWIDTH, BASE, COMPRESS, DECOMPRESS, EIGHT_WAYS, FOUR_WAYS, IDEAL, ONE_WAY, ONLINE, REAL, STRICT,
};
use crate::figure::{Figure, Series};
use crate::measure::Column;
use crate::paper::Findings;
use crate::point::Points;

/// Gain at eight times the bandwidth from which on a program is bound by memory.
pub const BOUND: f64 = 1.05;

fn cycles(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.cycles as f64))
}

/// Time of one variant over that of another.
pub fn speedup(points: &Points, variant: &str, without: &str) -> Column {
    cycles(points, without).over(&cycles(points, variant))
}

/// The geometric mean of speedups, in percent above one.
pub fn gained(column: &Column) -> Option<f64> {
    column.geometric_mean().map(|mean| 100.0 * (mean - 1.0))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let wide = speedup(points, BANDWIDTH[2].0, BASE);
    let bound: Vec<bool> = wide.0.iter().map(|gain| gain.is_some_and(|gain| gain >= BOUND)).collect();
    let of_bound = wide.only(&bound);
    let measures = &mut findings.measures;
    measures.of("e2mc.bandwidth_8x", wide.geometric_mean(), wide.count());
    measures.of("e2mc.bandwidth_8x.bound", of_bound.geometric_mean(), of_bound.count());
    measures.most("e2mc.bandwidth_8x", &wide, &points.workloads);
    let by_factor =
        BANDWIDTH.map(|(variant, factor)| Series::new(factor, "x", speedup(points, variant, BASE)).ratio());
    findings.figures.push(Figure::new(
        "fig01",
        "Figure 1",
        "Speedup with more bandwidth, by the clock of the memory",
        &points.workloads,
        by_factor.into(),
    ));
    latencies(points, findings);

    by_variant(points, findings);
    let measures = &mut findings.measures;
    for (claim, entry) in
        [("e2mc.speedup_ideal", "e2mc16_arithmetic"), ("e2mc.speedup_real", "e2mc16_pdw4_arithmetic")]
    {
        let value = measures.value(&format!("{claim}.{entry}"));
        measures.of(format!("{claim}.arithmetic"), value, points.workloads.len());
    }
    let strict = speedup(points, STRICT, BASE);
    measures.of("e2mc.speedup_online.strict", gained(&strict), strict.count());
    let further = gained(&speedup(points, EIGHT_WAYS, BASE))
        .zip(gained(&speedup(points, FOUR_WAYS, BASE)))
        .map(|(eight, four)| eight - four);
    measures.of("e2mc.pdw8", further, points.workloads.len());
    compute_bound(points, findings);
}

/// Speedups of the codecs with ideal and real latencies, offline and online: Figure 12.
fn by_variant(points: &Points, findings: &mut Findings) {
    let claims = ["bdi", "fpc", "e2mc16_pdw1", "e2mc16_pdw4", "e2mc4_pdw8", "e2mc8_pdw8", "e2mc32_pdw4"];
    let mut figure =
        |name, place, title, variants: &[(&'static str, &'static str)], claim: Option<(&str, &[&str])>| {
            let mut series = Vec::new();
            for (variant, entry) in variants {
                let column = speedup(points, variant, BASE);
                if let Some((claim, entries)) = claim.filter(|(_, entries)| entries.contains(entry)) {
                    let _ = entries;
                    findings.measures.of(format!("{claim}:{entry}"), gained(&column), column.count());
                    let arithmetic = column.mean().map(|mean| 100.0 * (mean - 1.0));
                    findings.measures.of(format!("{claim}.{entry}_arithmetic"), arithmetic, column.count());
                }
                series.push(Series::new(*entry, "x", column).ratio());
            }
            findings.figures.push(Figure::new(name, place, title, &points.workloads, series));
        };
    let ideal: Vec<&str> = IDEAL.iter().map(|(_, entry)| *entry).collect();
    figure(
        "fig12a",
        "Figure 12a",
        "Speedup with one-cycle compression and decompression",
        &IDEAL,
        Some(("e2mc.speedup_ideal", &ideal)),
    );
    figure(
        "fig12b",
        "Figure 12b",
        "Speedup with the latencies of Table VI, offline probabilities",
        &REAL,
        Some(("e2mc.speedup_real", &claims)),
    );
    let online = [ONLINE[0], ONLINE[1], (STRICT, "pdw4, strict")];
    figure(
        "fig12c",
        "Figure 12c",
        "Speedup with the latencies of Table VI, online probabilities",
        &online,
        Some(("e2mc.speedup_online", &["pdw1", "pdw4"])),
    );
}

/// Slowdown of compute-bound programs, a list that is fixed before they are run.
fn compute_bound(points: &Points, findings: &mut Findings) {
    let measures = &mut findings.measures;
    let beside = points.of_beside();
    for (entry, variant) in [("pdw1", ONE_WAY), ("pdw4", FOUR_WAYS)] {
        let added = cycles(&beside, variant).added(&cycles(&beside, BASE));
        measures.mean(format!("e2mc.compute_bound:{entry}"), &added);
        measures.most(&format!("e2mc.compute_bound.{entry}"), &added, &beside.workloads);
    }
    let wide = speedup(&beside, BANDWIDTH[2].0, BASE);
    measures.of("e2mc.compute_bound.bandwidth_8x", wide.geometric_mean(), wide.count());
    measures.most("e2mc.compute_bound.bandwidth_8x", &wide, &beside.workloads);
}

fn latencies(points: &Points, findings: &mut Findings) {
    for (name, place, title, claim, variants) in [
        (
            "fig05a",
            "Figure 5a",
            "Speedup by latency of compression, over 80 clocks",
            "e2mc.latency_compress",
            COMPRESS,
        ),
        (
            "fig05b",
            "Figure 5b",
            "Speedup by latency of decompression, over 80 clocks",
            "e2mc.latency_decompress",
            DECOMPRESS,
        ),
    ] {
        let slow = variants[0].0;
        let fast = speedup(points, variants[2].0, slow);
        findings.measures.of(claim, gained(&fast), fast.count());
        let series = variants.map(|(variant, clocks)| {
            Series::new(format!("{clocks} clocks"), "x", speedup(points, variant, slow)).ratio()
        });
        findings.figures.push(Figure::new(name, place, title, &points.workloads, series.into()));
    }
}
