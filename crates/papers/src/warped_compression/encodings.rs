// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other ways to compress: single encodings (Figure 15, section 6.6), and what section 5.2 weighs against the mechanism.

use super::{BASE, FULL, MERGE, SINGLE, THREAD, energy, time};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

/// Banks that registers would take over those that they were stored in.
fn ratio(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| {
        over(8.0 * point.count("wc.stored.histogram")?, point.count("wc.stored_arrays.count")?)
    })
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let all = ratio(points, FULL);
    let each = SINGLE.iter().map(|(variant, name)| (*name, ratio(points, variant)));
    let mut series: Vec<_> = each.map(|(name, column)| Series::new(name, "x", column).ratio()).collect();
    series.push(Series::new("all", "x", all.clone()).ratio());
    let claims = ["wc.ratio_40_only", "wc.ratio_40_only.with_41", "wc.ratio_40_only.with_42"];
    for ((variant, name), claim) in SINGLE.iter().zip(claims) {
        let lost = ratio(points, variant).saved(&all);
        findings.measures.mean(claim, &lost);
        if claim == claims[0] {
            let (one, of) = (ratio(points, variant).mean(), all.mean());
            let lost = one.zip(of).and_then(|(one, of)| over(one, of)).map(|share| 100.0 * (1.0 - share));
            findings.measures.of(format!("{claim}.of_means"), lost, all.count());
        }
        let one = Series::new(format!("lost with {name} alone"), "%", lost);
        series.push(if claim == claims[0] { one.claimed(claims[0]) } else { one });
    }
    findings.figures.push(Figure::new(
        "fig15",
        "Figure 15",
        "Compression ratio of stored registers, by available encodings",
        &points.workloads,
        series,
    ));

    let variants =
        [(FULL, "the mechanism"), (MERGE, "merge when diverged"), (THREAD, "each thread by itself")];
    let mut series = Vec::new();
    for (variant, name) in variants {
        series.push(Series::new(format!("{name}: ratio"), "x", ratio(points, variant)).ratio());
        series.push(
            Series::new(format!("{name}: energy"), "x", energy::relative(points, variant, BASE)).ratio(),
        );
        series.push(Series::new(format!("{name}: time"), "x", time::relative(points, variant)).ratio());
    }
    for (name, variant) in [("merge", MERGE), ("thread", THREAD)] {
        let saved = energy::relative(points, variant, BASE).map(|share| 100.0 * (1.0 - share));
        findings.measures.mean(format!("wc.rf_energy.{name}"), &saved);
    }
    findings.figures.push(Figure::new(
        "alternatives",
        "",
        "Alternatives of section 5.2: compression ratio, and energy and time relative to the baseline",
        &points.workloads,
        series,
    ));
}
