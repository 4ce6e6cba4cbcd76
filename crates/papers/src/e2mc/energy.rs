// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy and energy-delay product of GPU and memory together, over those without compression: Figure 13.

use super::{BASE, FOUR_WAYS, ONLINE, STRICT};
use crate::figure::{Figure, Series};
use crate::measure::Column;
use crate::paper::Findings;
use crate::point::Points;

fn energy(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.energy.total_j))
}

/// Energy times time.
fn product(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.energy.total_j * point.cycles as f64))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let mut series = Vec::new();
    for (entry, variant) in [("offline", FOUR_WAYS), ("online", ONLINE[1].0)] {
        let saved = energy(points, variant).saved(&energy(points, BASE));
        let less = product(points, variant).saved(&product(points, BASE));
        findings.measures.mean(format!("e2mc.energy:{entry}"), &saved);
        findings.measures.mean(format!("e2mc.edp:{entry}"), &less);
        findings.measures.most(&format!("e2mc.energy.{entry}"), &saved, &points.workloads);
        series.push(Series::new(format!("{entry}: energy saved"), "%", saved));
        series.push(Series::new(format!("{entry}: energy-delay product saved"), "%", less));
    }
    let strict = energy(points, STRICT).saved(&energy(points, BASE));
    findings.measures.mean("e2mc.energy.strict", &strict);
    findings.figures.push(Figure::new(
        "fig13",
        "Figure 13",
        "Energy and energy-delay product of GPU and memory saved, four ways",
        &points.workloads,
        series,
    ));
}
