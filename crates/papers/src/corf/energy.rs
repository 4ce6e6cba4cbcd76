// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy of the register file: Figures 17 and 18. What is added for a technique is included.

use super::mix::Mix;
use super::size::architected;
use super::{BASE, BOTH, CORF, CORFPP, PACKING, SLICES, SUB_BANKS};
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, over};
use crate::paper::Findings;
use crate::point::Points;

const BANKS: &str = "register banks";
/// What the techniques add.
const ADDED: [&str; 2] = ["renaming table", "CORF logic"];

fn dynamic(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.dynamic(BANKS))).plus(&added_dynamic(points, variant))
}

fn added_dynamic(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(ADDED.iter().map(|name| point.dynamic(name)).sum()))
}

fn leakage(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.leakage(BANKS))).plus(&added_leakage(points, variant))
}

fn added_leakage(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(ADDED.iter().map(|name| point.leakage(name)).sum()))
}

/// Dynamic energy over that of the baseline.
pub fn relative_dynamic(points: &Points, variant: &str) -> Column {
    dynamic(points, variant).over(&dynamic(points, BASE))
}

pub fn evaluate(points: &Points, mix: &Mix, findings: &mut Findings) {
    let percent = |column: Column| column.map(|share| 100.0 * share);
    let base = dynamic(points, BASE);
    let mut series = Vec::new();
    for (id, variant, other, name) in
        [("corf.dynamic", CORF, SUB_BANKS[0], "CORF"), ("corfpp.dynamic", CORFPP, SUB_BANKS[1], "CORF++")]
    {
        let saved = dynamic(points, variant).saved(&base);
        findings.measures.mean(id, &saved);
        findings.measures.mean(format!("{id}.sub_banks"), &dynamic(points, other).saved(&base));
        findings.measures.most(id, &saved, &points.workloads);
        findings.measures.by_class(&format!("{id}.classes"), &saved, Mean::Arithmetic, &mix.classes);
        let banks = |variant: &str| points.column(variant, |point| Some(point.dynamic(BANKS)));
        findings.measures.mean(format!("{id}.banks"), &banks(variant).saved(&base));
        for (part, structure) in [("table", ADDED[0]), ("logic", ADDED[1])] {
            let added = points.column(variant, |point| Some(point.dynamic(structure))).over(&base);
            findings.measures.mean(format!("{id}.{part}"), &percent(added));
        }
        // Accesses of the table for each access of a bank.
        let table = points.column(variant, |point| {
            let accesses = point.count("rf.reads.count")? + point.count("rf.writes.count")?;
            over(point.count("renaming.lookups.count")? + point.count("renaming.updates.count")?, accesses)
        });
        findings.measures.mean(format!("{id}.table_accesses"), &table);
        series.push(Series::new(name, "%", saved).claimed(id));
        series.push(Series::new(
            format!("{name}: added"),
            "%",
            percent(added_dynamic(points, variant).over(&base)),
        ));
    }
    findings.measures.mean("corf.dynamic_overhead", &percent(added_dynamic(points, CORFPP).over(&base)));
    let title = "Dynamic energy of the register file saved, and energy added by the techniques";
    findings.figures.push(Figure::new("fig17", "Figure 17", title, &points.workloads, series));

    let base = leakage(points, BASE);
    let mut series = Vec::new();
    for (id, variant, other, name) in
        [("corf.leakage_packing", PACKING, SLICES[0], "packing"), ("corfpp.leakage", BOTH, SLICES[1], "both")]
    {
        let saved = leakage(points, variant).saved(&base);
        findings.measures.mean(id, &saved);
        findings.measures.mean(format!("{id}.slices"), &leakage(points, other).saved(&base));
        findings.measures.mean(format!("{id}.architected"), &architected(points, variant));
        series.push(Series::new(name, "%", saved).claimed(id));
        series.push(Series::new(format!("{name}: slices gated"), "%", leakage(points, other).saved(&base)));
    }
    series.push(Series::new("CORF++", "%", leakage(points, CORFPP).saved(&base)));
    series.push(Series::new(
        "registers of resident warps, of all entries",
        "%",
        architected(points, PACKING),
    ));
    findings
        .measures
        .mean("corf.leakage_overhead", &percent(added_leakage(points, PACKING).over(&leakage(points, BASE))));
    let title = "Leakage of the register file saved, relative to one that is never gated";
    findings.figures.push(Figure::new("fig18", "Figure 18", title, &points.workloads, series));
}
