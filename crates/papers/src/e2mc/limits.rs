// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bottlenecks of programs: utilisation of the memory bus, and speedups on other GPUs: with half the bandwidth, with more lines in flight, and with an
//! L2 that inputs do not fit. They are the reasons for which speedups and energy differ from the paper's.

use super::time::{BOUND, gained, speedup};
use super::{BANDWIDTH, BASE, FOUR_WAYS, NARROW, ROOMY, SMALL_L2};
use crate::figure::{Figure, Series};
use crate::paper::Findings;
use crate::point::Points;

/// A bus that is busy for less than this share of the time, in percent, is not a bottleneck.
const BUSY: f64 = 50.0;

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let mut series = bus(points, findings);
    series.extend(bandwidth(points, findings));
    series.extend(compression(points, findings));
    let energy = |variant| points.column(variant, |point| Some(point.energy.total_j));
    let measures = &mut findings.measures;
    measures.mean("e2mc.energy.narrow", &energy(NARROW[3]).saved(&energy(NARROW[0])));
    measures.mean("e2mc.energy.small_l2", &energy(SMALL_L2[4]).saved(&energy(SMALL_L2[3])));
    findings.figures.push(Figure::new(
        "limits",
        "",
        "Bottlenecks: utilisation of the memory bus, and speedups on other GPUs",
        &points.workloads,
        series,
    ));
}

/// Utilisation of the memory bus, and waits for miss status registers.
fn bus(points: &Points, findings: &mut Findings) -> Vec<Series> {
    let measures = &mut findings.measures;
    let busy =
        |variant: &str| points.column(variant, |point| Some(100.0 * point.count("dram.utilisation.ratio")?));
    let [usual, narrow, small] = [BASE, NARROW[0], SMALL_L2[0]].map(busy);
    measures.mean("e2mc.bandwidth_8x.busy", &usual);
    measures.most("e2mc.bandwidth_8x.busy", &usual, &points.workloads);
    measures.mean("e2mc.bandwidth_8x.narrow_busy", &narrow);
    measures.mean("e2mc.bandwidth_8x.small_l2_busy", &small);
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
    vec![
        Series::new("busy bus", "%", usual),
        Series::new("busy bus, half the bandwidth", "%", narrow),
        Series::new("busy bus, an eighth of L2", "%", small),
    ]
}

/// Speedups with eight times the bandwidth.
fn bandwidth(points: &Points, findings: &mut Findings) -> Vec<Series> {
    let measures = &mut findings.measures;
    let variants =
        [(BANDWIDTH[2].0, BASE), (SMALL_L2[1], SMALL_L2[0]), (NARROW[1], NARROW[0]), (ROOMY[1], ROOMY[0])];
    let [usual, small, narrow, roomy] = variants.map(|(fast, slow)| speedup(points, fast, slow));
    for (name, column) in [("narrow", &narrow), ("roomy", &roomy), ("small_l2", &small)] {
        measures.of(format!("e2mc.bandwidth_8x.{name}"), column.geometric_mean(), column.count());
    }
    measures.most("e2mc.bandwidth_8x.narrow", &narrow, &points.workloads);
    measures.most("e2mc.bandwidth_8x.small_l2", &small, &points.workloads);
    vec![
        Series::new("8x", "x", usual),
        Series::new("8x, an eighth of L2", "x", small),
        Series::new("8x, half the bandwidth", "x", narrow),
        Series::new("8x, more lines on their way", "x", roomy),
    ]
}

/// Speedups by compression.
fn compression(points: &Points, findings: &mut Findings) -> Vec<Series> {
    let measures = &mut findings.measures;
    let variants = [
        (FOUR_WAYS, BASE),
        (NARROW[3], NARROW[0]),
        (ROOMY[2], ROOMY[0]),
        (NARROW[2], NARROW[0]),
        (SMALL_L2[2], SMALL_L2[0]),
        (SMALL_L2[4], SMALL_L2[3]),
    ];
    let [usual, narrow, roomy, narrow_bdi, small, small_narrow] =
        variants.map(|(with, without)| speedup(points, with, without));
    let gains = [
        ("narrow", &narrow),
        ("roomy", &roomy),
        ("narrow_bdi", &narrow_bdi),
        ("small_l2", &small),
        ("small_l2_narrow", &small_narrow),
    ];
    for (name, column) in gains {
        measures.of(format!("e2mc.speedup_real.{name}"), gained(column), column.count());
    }
    let extremes = [
        ("e2mc16_pdw4", &usual),
        ("narrow", &narrow),
        ("small_l2", &small),
        ("small_l2_narrow", &small_narrow),
    ];
    for (name, column) in extremes {
        let percent = column.map(|speedup| 100.0 * (speedup - 1.0));
        measures.most(&format!("e2mc.speedup_real.{name}"), &percent, &points.workloads);
    }
    // Of the programs that are memory-bound there.
    let wide = speedup(points, NARROW[1], NARROW[0]);
    let bound: Vec<bool> = wide.0.iter().map(|gain| gain.is_some_and(|gain| gain >= BOUND)).collect();
    let of_bound = narrow.only(&bound);
    measures.of("e2mc.speedup_real.narrow_bound", gained(&of_bound), of_bound.count());
    vec![
        Series::new("e2mc16_pdw4", "x", usual),
        Series::new("e2mc16_pdw4, half the bandwidth", "x", narrow),
        Series::new("e2mc16_pdw4, more lines on their way", "x", roomy),
        Series::new("bdi, half the bandwidth", "x", narrow_bdi),
        Series::new("e2mc16_pdw4, an eighth of L2", "x", small),
        Series::new("e2mc16_pdw4, an eighth of L2 and half the bandwidth", "x", small_narrow),
    ]
}
