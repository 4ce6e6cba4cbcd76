// SPDX-License-Identifier: MIT OR Apache-2.0
//! What divergence costs: Figures 11 and 12, section 6.3.

use super::FULL;
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let moves = points.column(FULL, |point| {
        let moves = point.count("wc.moves.count")?;
        Some(100.0 * over(moves, point.warp_instructions as f64 + moves)?)
    });
    let measures = &mut findings.measures;
    measures.of("wc.mov_share", moves.max(), moves.count());
    measures.mean("wc.mov_share.mean", &moves);
    measures.most("wc.mov_share", &moves, &points.workloads);
    // By why lanes were left out: a guard, or divergence.
    let by_phase = |place: usize| -> Column {
        points.column(FULL, |point| {
            let moves = point.bucket("wc.moves.histogram", place)?;
            Some(100.0 * over(moves, point.warp_instructions as f64 + point.count("wc.moves.count")?)?)
        })
    };
    let (guarded, diverged) = (by_phase(2), by_phase(3));
    measures.mean("wc.mov_share.guarded", &guarded);
    measures.mean("wc.mov_share.diverged", &diverged);
    measures.most("wc.mov_share.diverged", &diverged, &points.workloads);
    findings.figures.push(Figure::new(
        "fig11",
        "Figure 11",
        "Injected MOVs among all instructions",
        &points.workloads,
        vec![
            Series::new("MOVs", "%", moves).claimed("wc.mov_share"),
            Series::new("ahead of writes under a guard", "%", guarded),
            Series::new("ahead of writes of diverged warps", "%", diverged),
        ],
    ));

    let compressed = |place: usize| -> Column {
        points.column(FULL, |point| {
            let compressed = point.bucket("wc.compressed.histogram", place)?;
            Some(100.0 * over(compressed, point.bucket("wc.allocated.histogram", place)?)?)
        })
    };
    let (undiverged, diverged) = (compressed(0), compressed(1));
    let kept = diverged.over(&undiverged).map(|share| 100.0 * share);
    let measures = &mut findings.measures;
    measures.mean("wc.compressed_divergent", &kept);
    measures.mean("wc.compressed_divergent.undiverged", &undiverged);
    measures.mean("wc.compressed_divergent.diverged", &diverged);
    findings.figures.push(Figure::new(
        "fig12",
        "Figure 12",
        "Compressed registers among those that warps have",
        &points.workloads,
        vec![
            Series::new("undiverged", "%", undiverged),
            Series::new("diverged", "%", diverged),
            Series::new("diverged over undiverged", "%", kept).claimed("wc.compressed_divergent"),
        ],
    ));
}
