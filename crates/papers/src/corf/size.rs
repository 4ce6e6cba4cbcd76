// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of the register file is allocated: Figure 16, and the sizes of section 8.

use super::{BOTH, CORF, CORFPP, PACKING, RENAMING, VIRTUALIZATION};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

/// Warps of an SM, registers of a thread, bits of an entry of the renaming table, entries of the register file (sections 6 and 8).
const WARPS: f64 = 48.0;
const REGISTERS: f64 = 63.0;
const BITS: f64 = 14.0;
const ENTRIES: f64 = 1024.0;
/// As the paper gives it.
const LOGIC_MM2: f64 = 0.05;

/// Allocated entries over registers a thread times resident warps.
pub fn relative_size(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| {
        over(point.count("renaming.entries.cycles")?, point.count("renaming.registers.cycles")?)
    })
}

/// Registers that resident warps have, of all entries, over the time that the GPU runs kernels.
pub fn architected(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| {
        over(100.0 * point.count("renaming.registers.cycles")?, ENTRIES * point.count("sm.cycles.cycles")?)
    })
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let mut series = Vec::new();
    for (id, variant, name) in [
        ("corf.size_packing", PACKING, "packing"),
        ("corf.size_virtualization", VIRTUALIZATION, "virtualization"),
        ("corf.size_both", BOTH, "both"),
    ] {
        let saved = relative_size(points, variant).map(|share| 100.0 * (1.0 - share));
        findings.measures.mean(id, &saved);
        findings.measures.most(id, &saved, &points.workloads);
        series.push(Series::new(name, "%", saved).claimed(id));
    }
    let saved = |variant: &str| relative_size(points, variant).map(|share| 100.0 * (1.0 - share));
    findings.measures.mean("corf.size_packing.first_write", &saved(RENAMING));
    series.push(Series::new("entries from the first write on", "%", saved(RENAMING)));
    for (variant, name) in [(CORF, "CORF"), (CORFPP, "CORF++")] {
        series.push(Series::new(name, "%", saved(variant)));
    }
    let title = "Allocated entries that are saved, of registers a thread times resident warps";
    findings.figures.push(Figure::new("fig16", "Figure 16", title, &points.workloads, series));
    findings.measures.computed("corf.table_size:renaming_kb", WARPS * REGISTERS * BITS / 8.0 / 1024.0);
    findings.measures.computed("corf.table_size:free_map_b", ENTRIES * 4.0 / 8.0);
    findings.measures.computed("corf.table_size:logic_mm2", LOGIC_MM2);
}
