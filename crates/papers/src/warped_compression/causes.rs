// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments of ours that show causes: what slows programs down, by mechanism and by how many warps there are.

use super::{FEW_BLOCKS, FULL, WITHOUT, time};
use crate::figure::{Figure, Series};
use crate::paper::Findings;
use crate::point::Points;

pub fn evaluate(points: &Points, findings: &mut Findings) {
    mechanisms(points, findings);
    warps(points, findings);
}

/// The time added, minus the time added without the latency of one mechanism.
fn mechanisms(points: &Points, findings: &mut Findings) {
    let all = time::added(points, FULL);
    let mut series = vec![Series::new("added", "%", all.clone())];
    for (variant, mechanism) in WITHOUT {
        let part = all.with(&time::added(points, variant), |all, without| Some(all - without));
        findings.measures.mean(format!("wc.slowdown.by_{mechanism}"), &part);
        findings.measures.of(format!("wc.slowdown.most_by_{mechanism}"), part.at_max_of(&all), 1);
        series.push(Series::new(format!("by {mechanism}"), "points", part));
    }
    findings.figures.push(Figure::new(
        "slowdown-by-mechanism",
        "",
        "Execution time added, and its reduction without the latency of one mechanism",
        &points.workloads,
        series,
    ));
}

fn warps(points: &Points, findings: &mut Findings) {
    let mut series = vec![
        Series::new("blocks as they fit: warps on an SM", "warps", time::warps(points, FULL)),
        Series::new("blocks as they fit: added", "%", time::added(points, FULL)),
    ];
    for (base, with, blocks) in FEW_BLOCKS {
        let cycles = |variant: &str| points.column(variant, |point| Some(point.cycles as f64));
        let (added, warps) = (cycles(with).added(&cycles(base)), time::warps(points, base));
        findings.measures.mean(format!("wc.slowdown.ctas_{blocks}"), &added);
        findings.measures.mean(format!("wc.slowdown.warps_ctas_{blocks}"), &warps);
        series.push(Series::new(format!("at most {blocks}: warps on an SM"), "warps", warps));
        series.push(Series::new(format!("at most {blocks}: added"), "%", added));
    }
    findings.figures.push(Figure::new(
        "slowdown-by-warps",
        "",
        "Execution time added by the technique, with the maximum number of blocks on an SM, and with one or two",
        &points.workloads,
        series,
    ));
}
