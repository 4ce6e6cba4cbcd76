// SPDX-License-Identifier: MIT OR Apache-2.0
//! Causes of the gain in IPC: each cost of the techniques left out in turn, and the baseline without the limits that coalescing relaxes.

use super::size::architected;
use super::time::{gain_of_means, ipc};
use super::{BASE, COLLECTORS, CORF, FOUR_SMS, FREE, MAPPING, NO_METADATA, PACKING, PORTS};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

/// Experiments: the measure of its gain, the variant, and its name in the figure.
const EXPERIMENTS: [(&str, &str, &str); 7] = [
    ("corf.ipc.no_metadata", NO_METADATA[0], "CORF without metadata"),
    ("corf.ipc.free", FREE[0], "CORF without any cost"),
    ("corfpp.ipc.no_metadata", NO_METADATA[1], "CORF++ without metadata"),
    ("corfpp.ipc.free", FREE[1], "CORF++ without any cost"),
    ("corfpp.ipc.mapping", MAPPING, "a bank for each warp alone"),
    ("corf.ipc.ports", PORTS, "baseline, four ports a collector"),
    ("corf.ipc.collectors", COLLECTORS, "baseline, 16 collectors"),
];

/// Reasons for which the baseline issues nothing, in percent of issue slots.
const STALLS: [(&str, &str); 5] = [
    ("collectors", "sm.stall.unit.count"),
    ("dependency", "sm.stall.dependency.count"),
    ("memory", "sm.stall.memory.count"),
    ("fetch", "sm.stall.fetch.count"),
    ("empty", "sm.stall.empty.count"),
];

fn share(points: &Points, variant: &str, part: &str, whole: &str) -> Column {
    points.column(variant, |point| over(point.count(part)?, point.count(whole)?))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let base = ipc(points, BASE);
    let mut series = Vec::new();
    for (id, variant, name) in EXPERIMENTS {
        let with = ipc(points, variant);
        let gain = with.added(&base);
        findings.measures.of(id, gain_of_means(&with, &base), with.count());
        findings.measures.most(id, &gain, &points.workloads);
        series.push(Series::new(name, "%", gain));
    }
    // With four times as many thread blocks for each SM.
    let full = ipc(points, FOUR_SMS[0]);
    let names = ["four ports a collector", "a bank for each warp alone", "CORF", "CORF++"];
    let ids = [
        "corf.ipc.four_sms_ports",
        "corfpp.ipc.four_sms_mapping",
        "corf.ipc.four_sms",
        "corfpp.ipc.four_sms",
    ];
    for ((variant, id), name) in FOUR_SMS[1..].iter().zip(ids).zip(names) {
        let with = ipc(points, variant);
        findings.measures.of(id, gain_of_means(&with, &full), with.count());
        series.push(Series::new(format!("4 SMs: {name}"), "%", with.added(&full)));
    }
    findings.measures.mean("corf.ipc.architected", &architected(points, PACKING));
    findings.measures.mean("corf.ipc.four_sms_architected", &architected(points, FOUR_SMS[3]));
    // Cycles that an instruction holds a collector.
    for (id, variant, name) in [
        ("corf.ipc.held", BASE, "baseline"),
        ("corf.ipc.held_ports", PORTS, "baseline, four ports a collector"),
        ("corf.ipc.held_corf", CORF, "CORF"),
        ("corfpp.ipc.held", MAPPING, "a bank for each warp alone"),
        ("corfpp.ipc.held_free", FREE[1], "CORF++ without any cost"),
    ] {
        let held = share(points, variant, "rf.collecting.cycles", "sm.issued.count");
        findings.measures.mean(id, &held);
        series.push(Series::new(format!("collector held: {name}"), "cycles", held));
    }
    for (name, counter) in STALLS {
        let lost = share(points, BASE, counter, "sm.issue_slots.count").map(|share| 100.0 * share);
        findings.measures.mean(format!("corf.ipc.lost_{name}"), &lost);
        series.push(Series::new(format!("slots lost in the baseline: {name}"), "%", lost));
    }
    let title = "IPC gained without one of the costs, or without one of the baseline's limits";
    findings.figures.push(Figure::new("mechanisms", "", title, &points.workloads, series));
}
