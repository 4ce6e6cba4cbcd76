// SPDX-License-Identifier: MIT OR Apache-2.0
//! What wake-ups cost: time by size of region and length of wake-up (Figures 4-1 and 4-2), and the size with the best energy x time.

use super::cache::{ALL, Cache};
use super::{ACTIVE_8, ALONE, BASE, FILTER, FILTER_DROWSY, FOUR_SMS, GATED, IMMEDIATE, LOOK_AHEAD, REGIONS};
use super::{WAKE_1, WAKE_1_ICACHE, WAKE_1_LARGE, WAY_MAJOR};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// A program is slowed markedly from so many percent on.
const MARKEDLY: f64 = 5.0;

fn cycles(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.cycles as f64))
}

/// Cycles that a variant takes longer than the baseline, in percent.
pub fn slowdown(points: &Points, variant: &str) -> Column {
    cycles(points, variant).added(&cycles(points, BASE))
}

/// Performance of a variant over that of the baseline.
fn speed(points: &Points, variant: &str) -> Column {
    cycles(points, BASE).over(&cycles(points, variant))
}

/// Energy of the GPU x time of a variant, over that of the baseline.
fn energy_delay(points: &Points, variant: &str) -> Column {
    let product =
        |variant: &str| points.column(variant, |point| Some(point.energy.total_j * point.cycles as f64));
    product(variant).over(&product(BASE))
}

/// Energy of the caches x time of a variant, over that of the baseline.
fn cache_energy_delay(points: &Points, variant: &str) -> Column {
    let energy = |point: &PointRecord| ALL.iter().map(|cache| Cache::total(cache, point)).sum::<f64>();
    let product = |variant: &str| points.column(variant, |point| Some(energy(point) * point.cycles as f64));
    product(variant).over(&product(BASE))
}

/// The size of region with the least product in the mean.
fn best(
    points: &Points,
    product: fn(&Points, &str) -> Column,
    variants: impl Iterator<Item = (&'static str, u32)>,
) -> Option<f64> {
    let products = variants.filter_map(|(variant, size)| Some((product(points, variant).mean()?, size)));
    products.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, size)| f64::from(size))
}

/// Warps of an SM in the mean, while it has any.
fn warps(points: &Points) -> Column {
    points.column(BASE, |point| {
        over(point.count("sm.resident_warps.cycles")?, point.count("sm.active.cycles")?)
    })
}

/// Wake-ups of a cache for 100 accesses to it.
fn woken(points: &Points, variant: &str, cache: &str) -> Column {
    let wakes = points.column(variant, |point| point.count(&format!("{cache}.wakeups.count")));
    let accesses = points.column(BASE, |point| point.count(&format!("profile.{cache}_accesses.count")));
    wakes.over(&accesses).map(|share| 100.0 * share)
}

/// Slowdown by which cache sleeps, and by how many warps there are to hide it.
fn causes(points: &Points, findings: &mut Findings) {
    let id = "cache.slowdown_region1";
    let mut series = Vec::new();
    for (variant, cache) in ALONE {
        let column = slowdown(points, variant);
        findings.measures.mean(format!("{id}.{cache}_alone"), &column);
        series.push(Series::new(format!("{cache} alone sleeps"), "%", column));
    }
    let (warps, all) = (warps(points), slowdown(points, REGIONS[0].0));
    findings.measures.mean(format!("{id}.warps"), &warps);
    let middle = warps.median().unwrap_or_default();
    let half = |many: bool| -> Vec<bool> {
        warps.0.iter().map(|warps| warps.is_some_and(|warps| (warps > middle) == many)).collect()
    };
    findings.measures.mean(format!("{id}.many_warps"), &all.only(&half(true)));
    findings.measures.mean(format!("{id}.few_warps"), &all.only(&half(false)));
    series.push(Series::new("all of them sleep", "%", all));
    series.push(Series::new("warps of an SM that has any", "", warps));
    let title =
        "Cycles added by drowsy regions of one block, by cache, and the resident warps that can hide them";
    findings.figures.push(Figure::new("slowdown-by-cache", "", title, &points.workloads, series));
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let measures = &mut findings.measures;
    let count = points.workloads.len();
    for (id, variant, wake_1) in [
        ("cache.slowdown_region1", REGIONS[0].0, WAKE_1),
        ("cache.slowdown_region32", REGIONS[5].0, WAKE_1_LARGE),
    ] {
        let column = slowdown(points, variant);
        measures.mean(id, &column);
        measures.most(id, &column, &points.workloads);
        measures.mean(format!("{id}.wake_1"), &slowdown(points, wake_1));
    }
    let id = "cache.slowdown_region1";
    measures.mean(format!("{id}.immediate"), &slowdown(points, IMMEDIATE));
    measures.mean(format!("{id}.look_ahead"), &slowdown(points, LOOK_AHEAD));
    measures.mean(format!("{id}.way_major"), &slowdown(points, WAY_MAJOR));
    measures.mean(format!("{id}.gated"), &slowdown(points, GATED));
    measures.mean(format!("{id}.filter_cache"), &slowdown(points, FILTER_DROWSY));
    let four = cycles(points, FOUR_SMS[1]).added(&cycles(points, FOUR_SMS[0]));
    measures.mean(format!("{id}.four_sms"), &four);
    // Constant operands of 100 instructions, and cycles that accesses of all kinds wait for a wake-up, of 100 accesses.
    let operands = points.column(BASE, |point| {
        Some(100.0 * over(point.count("constant.operands.count")?, point.warp_instructions as f64)?)
    });
    measures.mean(format!("{id}.operands"), &operands);
    for (id, variant) in [(id, REGIONS[0].0), ("cache.slowdown_region32", REGIONS[5].0)] {
        measures.mean(format!("{id}.constant_woken"), &woken(points, variant, "constant"));
        measures.mean(format!("{id}.l2_woken"), &woken(points, variant, "l2"));
    }
    let eight = cycles(points, ACTIVE_8.1).added(&cycles(points, ACTIVE_8.0));
    measures.mean(format!("{id}.active_8"), &eight);
    let slowed = slowdown(points, REGIONS[0].1);
    let without = slowdown(points, REGIONS[0].0);
    let markedly =
        slowed.with(&without, |with, without| Some(f64::from(u8::from(with - without > MARKEDLY))));
    let programs = markedly.mean().map(|mean| mean * markedly.count() as f64);
    measures.of("cache.instruction_region1", programs, count);
    let added = slowed.with(&without, |with, without| Some(with - without));
    measures.mean("cache.instruction_region1.added", &added);
    measures.mean("cache.instruction_region1.woken", &woken(points, REGIONS[0].1, "icache"));
    measures.of("cache.instruction_region1.warps_of_most", warps(points).at_max_of(&slowed), count);
    measures.most("cache.instruction_region1", &slowed, &points.workloads);
    let with = best(points, energy_delay, REGIONS.iter().map(|(_, variant, size)| (*variant, *size)));
    let without = best(points, energy_delay, REGIONS.iter().map(|(variant, _, size)| (*variant, *size)));
    measures.of("cache.optimal_region:with_instruction", with, count);
    measures.of("cache.optimal_region:without", without, count);
    let sizes = || REGIONS.iter().map(|(variant, _, size)| (*variant, *size));
    measures.of("cache.optimal_region.of_caches_without", best(points, cache_energy_delay, sizes()), count);
    let sizes = REGIONS.iter().map(|(_, variant, size)| (*variant, *size));
    measures.of("cache.optimal_region.of_caches_with", best(points, cache_energy_delay, sizes), count);
    let leaked = points.column(BASE, |point| {
        let leakage: f64 = ALL.iter().map(|cache| Cache::leakage(cache, point)).sum();
        Some(100.0 * over(leakage, point.energy.total_j)?)
    });
    measures.mean("cache.optimal_region.leakage", &leaked);
    for (variant, icache, size) in &REGIONS {
        measures.mean(format!("cache.optimal_region.without_{size}"), &energy_delay(points, variant));
        measures.mean(format!("cache.optimal_region.with_{size}"), &energy_delay(points, icache));
    }
    causes(points, findings);
    figures(points, findings);
}

fn figures(points: &Points, findings: &mut Findings) {
    let ratio = |name: String, variant: &str| Series::new(name, "x", speed(points, variant)).ratio();
    findings.figures.push(Figure::new(
        "fig4-1",
        "Figure 4-1",
        "Performance with regions of 16 blocks in all caches, relative to the baseline",
        &points.workloads,
        vec![
            ratio("wake-up of 1 cycle".to_owned(), WAKE_1_ICACHE),
            ratio("wake-up of 2 cycles".to_owned(), REGIONS[4].1),
        ],
    ));
    let mut series: Vec<_> = REGIONS
        .iter()
        .map(|(variant, _, size)| ratio(format!("region of {size}, 2 cycles"), variant))
        .collect();
    series.push(ratio("region of 1, 1 cycle".to_owned(), WAKE_1));
    series.push(ratio("region of 32, 1 cycle".to_owned(), WAKE_1_LARGE));
    let slowdown_1 = Series::new("region of 1, 2 cycles: added", "%", slowdown(points, REGIONS[0].0));
    let slowdown_32 = Series::new("region of 32, 2 cycles: added", "%", slowdown(points, REGIONS[5].0));
    series.push(slowdown_1.claimed("cache.slowdown_region1"));
    series.push(slowdown_32.claimed("cache.slowdown_region32"));
    findings.figures.push(Figure::new(
        "fig4-2",
        "Figure 4-2",
        "Performance by size of region, instruction cache left on, relative to the baseline",
        &points.workloads,
        series,
    ));
    let others = [
        ("sleep after each access", IMMEDIATE),
        ("look-ahead of 2 cycles", LOOK_AHEAD),
        ("regions by ways", WAY_MAJOR),
        ("gated after 8192 cycles", GATED),
        ("filter cache", FILTER),
        ("filter cache and drowsy regions", FILTER_DROWSY),
    ];
    let mut series: Vec<_> =
        others.iter().map(|(name, variant)| ratio((*name).to_owned(), variant)).collect();
    series.extend(others.map(|(name, variant)| {
        Series::new(format!("{name}: energy x time"), "x", energy_delay(points, variant)).ratio()
    }));
    let title = "Other policies relative to the baseline: performance, and energy of the GPU x time";
    findings.figures.push(Figure::new("policies", "", title, &points.workloads, series));
}
