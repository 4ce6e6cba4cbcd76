// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions a cycle: Figure 15; and Table 1. Metadata instructions take time and are not counted.

use super::coalescing::relative_accesses;
use super::energy::relative_dynamic;
use super::mix::Mix;
use super::size::relative_size;
use super::{BASE, BOTH, CORF, CORFPP, NO_METADATA, PACKING};
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, over};
use crate::paper::Findings;
use crate::point::Points;

pub fn ipc(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| {
        let metadata =
            ["corf.metadata.count", "corfpp.metadata.count"].iter().filter_map(|name| point.count(name));
        over(point.warp_instructions as f64 - metadata.sum::<f64>(), point.cycles as f64)
    })
}

/// How much the harmonic mean of a class gains, in percent.
pub fn gain_of_means(with: &Column, without: &Column) -> Option<f64> {
    Some(100.0 * (with.harmonic_mean()? / without.harmonic_mean()? - 1.0))
}

pub fn evaluate(points: &Points, mix: &Mix, findings: &mut Findings) {
    let base = ipc(points, BASE);
    let mut series = Vec::new();
    let mut least: Option<f64> = None;
    for (id, variant, name) in [("corf.ipc", CORF, "CORF"), ("corfpp.ipc", CORFPP, "CORF++")] {
        let with = ipc(points, variant);
        let gain = with.added(&base);
        let measures = &mut findings.measures;
        measures.of(format!("{id}:all"), gain_of_means(&with, &base), gain.count());
        for (class, members) in &mix.classes {
            let value = gain_of_means(&with.only(members), &base.only(members));
            measures.of(format!("{id}:{class}"), value, gain.only(members).count());
        }
        measures.by_class(&format!("{id}.arithmetic"), &gain, Mean::Arithmetic, &mix.classes);
        measures.most(id, &gain, &points.workloads);
        let lost = gain.map(|gain| -gain).max().map(|lost| -lost);
        least = [least, lost].into_iter().flatten().reduce(f64::min);
        series.push(Series::new(name, "%", gain));
    }
    findings.measures.of("corf.ipc_every", least, base.count());
    for (variant, name) in NO_METADATA.iter().zip(["CORF without metadata", "CORF++ without metadata"]) {
        series.push(Series::new(name, "%", ipc(points, variant).added(&base)));
    }
    // Warps that the fullest bank keeps out, of those that are resident on an SM that has any.
    let kept = points.column(CORFPP, |point| {
        over(point.count("corfpp.kept_out.count")?, point.count("corfpp.warps.count")?)
    });
    findings.measures.mean("corfpp.ipc.kept_out", &kept);
    series.push(Series::new("warps that CORF++ keeps out of an SM", "warps", kept));
    let title = "Instructions a cycle gained, without metadata";
    findings.figures.push(Figure::new("fig15", "Figure 15", title, &points.workloads, series));
}

/// The rows of Table 1: what other figures have, over the baseline.
pub fn table_1(points: &Points, findings: &mut Findings) {
    let base = ipc(points, BASE);
    for (row, variant) in
        [("corf", CORF), ("corfpp", CORFPP), ("packing", PACKING), ("packing_virtualization", BOTH)]
    {
        let with = ipc(points, variant);
        let faster = gain_of_means(&with, &base).map(|gain| 1.0 + gain / 100.0);
        findings.measures.of(format!("corf.table1:{row}.ipc"), faster, with.count());
        findings.measures.mean(format!("corf.table1:{row}.accesses"), &relative_accesses(points, variant));
        findings.measures.mean(format!("corf.table1:{row}.dynamic"), &relative_dynamic(points, variant));
        findings.measures.mean(format!("corf.table1:{row}.size"), &relative_size(points, variant));
    }
}
