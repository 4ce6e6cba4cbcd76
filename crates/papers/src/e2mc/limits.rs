// SPDX-License-Identifier: MIT OR Apache-2.0
//! What limits programs, if it is not the memory's bus: how busy that is, and speedups on other GPUs: with half the bandwidth, with more lines on their
//! way, and with an L2 that inputs do not fit. Causes of what speedups and energy differ by.

use super::time::{gained, speedup};
use super::{BANDWIDTH, BASE, FOUR_WAYS, NARROW, ROOMY, SMALL_L2};
use crate::figure::{Figure, Series};
use crate::measure::Column;
use crate::paper::Findings;
use crate::point::Points;

/// A bus that is busy for a smaller share of the time limits nothing, in percent.
const BUSY: f64 = 50.0;

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let measures = &mut findings.measures;
    let busy =
        |variant: &str| points.column(variant, |point| Some(100.0 * point.count("dram.utilisation.ratio")?));
    let (usual, narrow) = (busy(BASE), busy(NARROW[0]));
    measures.mean("e2mc.bandwidth_8x.busy", &usual);
    measures.most("e2mc.bandwidth_8x.busy", &usual, &points.workloads);
    measures.mean("e2mc.bandwidth_8x.narrow_busy", &narrow);
    for (name, column) in [("busy_programs", &usual), ("narrow_busy_programs", &narrow)] {
        let programs = column.0.iter().flatten().filter(|share| **share >= BUSY).count();
        measures.of(format!("e2mc.bandwidth_8x.{name}"), Some(programs as f64), column.count());
    }
    // Clocks in which a slice has a request and no miss status register for it.
    let registers = points.column(BASE, |point| {
        let slices = 6.0 * point.cycles as f64;
        Some(100.0 * point.count("l2.blocked_mshr.clocks")? / slices)
    });
    measures.mean("e2mc.bandwidth_8x.mshr_waits", &registers);

    let wide = [(BANDWIDTH[2].0, BASE), (NARROW[1], NARROW[0]), (ROOMY[1], ROOMY[0])];
    let [usual_8, narrow_8, roomy_8] = wide.map(|(fast, slow)| speedup(points, fast, slow));
    let geometric = |column: &Column| (column.geometric_mean(), column.count());
    for (name, column) in [("narrow", &narrow_8), ("roomy", &roomy_8)] {
        let (mean, count) = geometric(column);
        measures.of(format!("e2mc.bandwidth_8x.{name}"), mean, count);
    }
    measures.most("e2mc.bandwidth_8x.narrow", &narrow_8, &points.workloads);

    let four = [(FOUR_WAYS, BASE), (NARROW[3], NARROW[0]), (ROOMY[2], ROOMY[0])];
    let [usual_4, narrow_4, roomy_4] = four.map(|(with, without)| speedup(points, with, without));
    let narrow_bdi = speedup(points, NARROW[2], NARROW[0]);
    for (name, column) in [("narrow", &narrow_4), ("roomy", &roomy_4), ("narrow_bdi", &narrow_bdi)] {
        measures.of(format!("e2mc.speedup_real.{name}"), gained(column), column.count());
    }
    for (name, column) in [("e2mc16_pdw4", &usual_4), ("narrow", &narrow_4)] {
        let percent = column.map(|speedup| 100.0 * (speedup - 1.0));
        measures.most(&format!("e2mc.speedup_real.{name}"), &percent, &points.workloads);
    }
    // An L2 that inputs do not fit: lines move more than once.
    let small = busy(SMALL_L2[0]);
    measures.mean("e2mc.bandwidth_8x.small_l2_busy", &small);
    let small_8 = speedup(points, SMALL_L2[1], SMALL_L2[0]);
    measures.of("e2mc.bandwidth_8x.small_l2", small_8.geometric_mean(), small_8.count());
    measures.most("e2mc.bandwidth_8x.small_l2", &small_8, &points.workloads);
    let small_4 = speedup(points, SMALL_L2[2], SMALL_L2[0]);
    let small_narrow_4 = speedup(points, SMALL_L2[4], SMALL_L2[3]);
    for (name, column) in [("small_l2", &small_4), ("small_l2_narrow", &small_narrow_4)] {
        measures.of(format!("e2mc.speedup_real.{name}"), gained(column), column.count());
        let percent = column.map(|speedup| 100.0 * (speedup - 1.0));
        measures.most(&format!("e2mc.speedup_real.{name}"), &percent, &points.workloads);
    }
    // Of the programs that memory binds there.
    let bound: Vec<bool> = narrow_8.0.iter().map(|gain| gain.is_some_and(|gain| gain >= 1.05)).collect();
    let of_bound = narrow_4.only(&bound);
    measures.of("e2mc.speedup_real.narrow_bound", gained(&of_bound), of_bound.count());

    let energy = |variant| points.column(variant, |point| Some(point.energy.total_j));
    measures.mean("e2mc.energy.narrow", &energy(NARROW[3]).saved(&energy(NARROW[0])));
    measures.mean("e2mc.energy.small_l2", &energy(SMALL_L2[4]).saved(&energy(SMALL_L2[3])));
    let series = [
        ("busy bus", "%", usual),
        ("busy bus, half the bandwidth", "%", narrow),
        ("busy bus, an eighth of L2", "%", small),
        ("8x", "x", usual_8),
        ("8x, an eighth of L2", "x", small_8),
        ("8x, half the bandwidth", "x", narrow_8),
        ("8x, more lines on their way", "x", roomy_8),
        ("e2mc16_pdw4", "x", usual_4),
        ("e2mc16_pdw4, half the bandwidth", "x", narrow_4),
        ("e2mc16_pdw4, more lines on their way", "x", roomy_4),
        ("bdi, half the bandwidth", "x", narrow_bdi),
        ("e2mc16_pdw4, an eighth of L2", "x", small_4),
        ("e2mc16_pdw4, an eighth of L2 and half the bandwidth", "x", small_narrow_4),
    ];
    let series = series.map(|(name, unit, column)| Series::new(name, unit, column));
    findings.figures.push(Figure::new(
        "limits",
        "",
        "Bottlenecks: utilisation of the memory bus, and speedups on other GPUs",
        &points.workloads,
        series.into(),
    ));
}
