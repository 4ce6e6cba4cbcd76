// SPDX-License-Identifier: MIT OR Apache-2.0
//! What divergence costs: Figures 11 and 12, section 6.3.

use super::phase::{JUDGED, PHASES, READINGS, Reading};
use super::{BRANCHES, FULL};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// MOVs and all instructions, these included.
fn among_all(point: &PointRecord, moves: f64) -> Option<f64> {
    Some(100.0 * over(moves, point.warp_instructions as f64 + point.count("wc.moves.count")?)?)
}

fn moves(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| among_all(point, point.count("wc.moves.count")?))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    injected(points, findings);
    compressed(points, findings);
}

fn injected(points: &Points, findings: &mut Findings) {
    let id = "wc.mov_share";
    let all = moves(points, FULL);
    let branches = moves(points, BRANCHES);
    let phases: Vec<_> = (0..PHASES.len())
        .map(|phase| {
            points.column(FULL, |point| among_all(point, point.bucket("wc.moves.histogram", phase)?))
        })
        .collect();
    let diverged =
        points.column(FULL, |point| among_all(point, JUDGED.sum(point, "wc.moves.histogram", true)?));
    let measures = &mut findings.measures;
    measures.of(id, all.max(), all.count());
    measures.mean(format!("{id}.mean"), &all);
    measures.most(id, &all, &points.workloads);
    measures.mean(format!("{id}.guarded"), &phases[1]);
    measures.mean(format!("{id}.diverged"), &diverged);
    measures.most(&format!("{id}.diverged"), &diverged, &points.workloads);
    measures.of(format!("{id}.no_predication"), branches.max(), branches.count());
    measures.mean(format!("{id}.no_predication_mean"), &branches);
    findings.figures.push(Figure::new(
        "fig11",
        "Figure 11",
        "Injected MOVs among all instructions",
        &points.workloads,
        vec![Series::new("MOVs", "%", all.clone()).claimed(id)],
    ));
    let mut series = vec![
        Series::new("all", "%", all),
        Series::new("all, with short branches kept as branches", "%", branches),
    ];
    for (name, column) in PHASES.iter().zip(phases) {
        series.push(Series::new(*name, "%", column));
    }
    let guarded = points.column(BRANCHES, |point| among_all(point, point.bucket("wc.moves.histogram", 1)?));
    series.push(Series::new("under a guard, with short branches kept as branches", "%", guarded));
    findings.figures.push(Figure::new(
        "movs-by-cause",
        "",
        "Injected MOVs among all instructions, by the reason for a partial write, and without guards from converted branches",
        &points.workloads,
        series,
    ));
}

/// Compressed registers of those that warps have, in percent.
fn share(points: &Points, reading: Reading, diverged: bool) -> Column {
    points.column(FULL, |point| {
        let compressed = reading.sum(point, "wc.compressed.histogram", diverged)?;
        Some(100.0 * over(compressed, reading.sum(point, "wc.allocated.histogram", diverged)?)?)
    })
}

fn compressed(points: &Points, findings: &mut Findings) {
    let id = "wc.compressed_divergent";
    let kept = |reading: Reading| {
        share(points, reading, true).over(&share(points, reading, false)).map(|share| 100.0 * share)
    };
    let measures = &mut findings.measures;
    for reading in READINGS {
        measures.mean(reading.of(id), &kept(reading));
    }
    let (undiverged, diverged) = (share(points, JUDGED, false), share(points, JUDGED, true));
    measures.mean(format!("{id}.undiverged"), &undiverged);
    measures.mean(format!("{id}.diverged"), &diverged);
    let mut series = vec![
        Series::new("undiverged", "%", undiverged),
        Series::new("diverged", "%", diverged),
        Series::new("diverged over undiverged", "%", kept(JUDGED)).claimed(id),
    ];
    for (phase, name) in PHASES.iter().enumerate() {
        let column = points.column(FULL, |point| {
            let compressed = point.bucket("wc.compressed.histogram", phase)?;
            Some(100.0 * over(compressed, point.bucket("wc.allocated.histogram", phase)?)?)
        });
        series.push(Series::new(*name, "%", column));
    }
    findings.figures.push(Figure::new(
        "fig12",
        "Figure 12",
        "Compressed registers among the allocated ones",
        &points.workloads,
        series,
    ));
}
