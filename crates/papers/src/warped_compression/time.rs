// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution time: Figures 13, 20 and 21.

use super::{BASE, BOTH_8, COMPRESS, DECOMPRESS, FULL};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

fn cycles(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.cycles as f64))
}

/// Time of a variant over that without the technique.
pub fn relative(points: &Points, variant: &str) -> Column {
    cycles(points, variant).over(&cycles(points, BASE))
}

pub fn added(points: &Points, variant: &str) -> Column {
    cycles(points, variant).added(&cycles(points, BASE))
}

/// Cycles in which SMs have warps, added up over SMs.
fn busy(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| point.count("sm.active.cycles"))
}

/// Time added, by cycles in which SMs have warps.
fn added_with_warps(points: &Points, variant: &str) -> Column {
    busy(points, variant).added(&busy(points, BASE))
}

/// Warps of an SM that has any.
pub fn warps(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| {
        over(point.count("sm.resident_warps.cycles")?, point.count("sm.active.cycles")?)
    })
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let of_full = added(points, FULL);
    findings.measures.mean("wc.slowdown", &of_full);
    findings.measures.most("wc.slowdown", &of_full, &points.workloads);
    let rest = of_full.without_max();
    findings.measures.mean("wc.slowdown.rest", &rest);
    let with_warps = added_with_warps(points, FULL);
    findings.measures.mean("wc.slowdown.with_warps", &with_warps);
    let warps = warps(points, BASE);
    findings.measures.mean("wc.slowdown.warps", &warps);
    findings.measures.of("wc.slowdown.warps_of_most", warps.at_max_of(&of_full), 1);
    findings.figures.push(Figure::new(
        "fig13",
        "Figure 13",
        "Execution time over that without the technique",
        &points.workloads,
        vec![
            Series::new("time", "x", relative(points, FULL)).ratio(),
            Series::new("added", "%", of_full).claimed("wc.slowdown"),
            Series::new("added, cycles with warps", "%", with_warps),
            Series::new("warps on an SM", "warps", warps),
        ],
    ));

    let (mut worst, mut worst_with_warps) = (Column::default(), Column::default());
    for (name, variant) in [("compress", COMPRESS[2].0), ("decompress", DECOMPRESS[3].0), ("both", BOTH_8)] {
        let column = added(points, variant);
        findings.measures.mean(format!("wc.slowdown_latency_8.{name}"), &column);
        if column.mean() > worst.mean() {
            worst = column;
            worst_with_warps = added_with_warps(points, variant);
        }
    }
    findings.measures.mean("wc.slowdown_latency_8", &worst);
    findings.measures.mean("wc.slowdown_latency_8.with_warps", &worst_with_warps);
    findings.measures.most("wc.slowdown_latency_8", &worst, &points.workloads);

    let mut sweep = |name, place, title, variants: &[(&str, &str)]| {
        let mut series: Vec<_> = variants
            .iter()
            .map(|(variant, cycles)| {
                Series::new(format!("{cycles} cycles"), "x", relative(points, variant)).ratio()
            })
            .collect();
        series.push(Series::new("8 cycles of both", "x", relative(points, BOTH_8)).ratio());
        if let Some((variant, _)) = variants.last() {
            let added = Series::new("8 cycles: added", "%", added(points, variant));
            series.push(added.claimed("wc.slowdown_latency_8"));
        }
        findings.figures.push(Figure::new(name, place, title, &points.workloads, series));
    };
    sweep(
        "fig20",
        "Figure 20",
        "Execution time by latency of compression, over that without the technique",
        &COMPRESS,
    );
    sweep(
        "fig21",
        "Figure 21",
        "Execution time by latency of decompression, over that without the technique",
        &DECOMPRESS,
    );
}
