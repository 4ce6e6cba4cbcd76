// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power saved: static by sleep, dynamic by divided word lines, and both (Figure 4-3), and what that is of the whole GPU (section 4.1).

use super::cache::{Cache, OPTIMIZED};
use super::{BASE, BOTH, BYTES, GATED, IMMEDIATE, LANES, REGIONS, VOLTS, shares};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

const DROWSY: &str = REGIONS[0].0;

/// Leakage of the GPU in the thesis's formula.
const STATIC: f64 = 1.0 / 3.0;

/// Static power saved in the time with warps, in percent.
fn with_warps(points: &Points, cache: &Cache, variant: &str) -> Column {
    cache.on(points, variant, "_busy").map(|on| (100.0 - on) * (1.0 - cache.asleep()))
}

/// Joules of leakage saved, in percent: over all time.
fn leakage(points: &Points, cache: &Cache, variant: &str) -> Column {
    let of = |variant: &str| points.column(variant, |point| Some(cache.leakage(point)));
    of(variant).saved(&of(BASE))
}

fn dynamic(points: &Points, cache: &Cache, variant: &str) -> Column {
    let of = |variant: &str| points.column(variant, |point| Some(cache.dynamic(point)));
    of(variant).saved(&of(BASE))
}

fn total(points: &Points, cache: &Cache, variant: &str) -> Column {
    let of = |variant: &str| points.column(variant, |point| Some(cache.total(point)));
    of(variant).saved(&of(BASE))
}

/// Parts of word lines that accesses leave off, in percent.
fn idle(points: &Points, cache: &Cache) -> Column {
    points.column(LANES, |point| {
        let count = |what: &str| point.count(&format!("dwl.{}_{what}.count", cache.counters));
        let idle = count("read_idle")? + count("write_idle")?;
        Some(100.0 * over(idle, 32.0 * (count("reads")? + count("writes")?))?)
    })
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let mut formula_all = Column(vec![Some(0.0); points.workloads.len()]);
    let mut joules_all = formula_all.clone();
    for (cache, figure) in OPTIMIZED.iter().zip(["fig4-3a", "fig4-3b", "fig4-3c", "fig4-3d", "fig4-3e"]) {
        let name = cache.name;
        let users = cache.users(points);
        let saved = with_warps(points, cache, DROWSY);
        let measures = &mut findings.measures;
        let id = "cache.static_saved";
        measures.mean(format!("{id}:{name}"), &saved);
        measures.mean(format!("{id}.users:{name}"), &saved.only(&users));
        measures.mean(format!("{id}.immediate:{name}"), &with_warps(points, cache, IMMEDIATE));
        measures.computed(format!("{id}.ceiling_{name}"), 100.0 * (1.0 - cache.asleep()));
        measures.mean(format!("{id}.on_{name}"), &cache.on(points, DROWSY, "_busy"));
        measures.mean(format!("{id}.all_time_{name}"), &leakage(points, cache, DROWSY));
        measures.mean(format!("{id}.gated_{name}"), &leakage(points, cache, GATED));
        for (variant, volts) in VOLTS {
            let volts = volts.replace(' ', "").replace('.', "_");
            measures.mean(format!("{id}.at_{volts}_{name}"), &leakage(points, cache, variant));
        }
        let divided = dynamic(points, cache, LANES).only(&users);
        let bytes = dynamic(points, cache, BYTES).only(&users);
        let idle = idle(points, cache).only(&users);
        measures.mean(format!("cache.dynamic_saved.idle_{name}"), &idle);
        let scaled = divided.mean().zip(idle.mean()).and_then(|(saved, idle)| over(saved, idle));
        measures.of(format!("cache.dynamic_saved.scaled_{name}"), scaled, idle.count());
        measures.mean(format!("cache.dynamic_saved:{name}"), &divided);
        measures.mean(format!("cache.dynamic_saved.bytes:{name}"), &bytes);
        // Programs that do not use a cache have nothing to save there.
        let divided_all = Column(divided.0.iter().map(|value| Some(value.unwrap_or(0.0))).collect());
        let blend =
            saved.with(&divided_all, |leaked, dynamic| Some(STATIC * leaked + (1.0 - STATIC) * dynamic));
        let formula = shares::of_gpu(points, cache).with(&blend, |share, saved| Some(share * saved / 100.0));
        measures.mean(format!("cache.gpu_saved:{name}"), &formula);
        let spent = |variant: &str| points.column(variant, |point| Some(cache.total(point)));
        let whole = points.column(BASE, |point| Some(point.energy.total_j));
        let less = spent(BASE).with(&spent(BOTH), |before, after| Some(before - after));
        let joules = less.with(&whole, |less, whole| Some(100.0 * over(less, whole)?));
        measures.mean(format!("cache.gpu_saved.joules:{name}"), &joules);
        formula_all = formula_all.plus(&formula);
        joules_all = joules_all.plus(&joules);
        findings.figures.push(Figure::new(
            figure,
            "Figure 4-3",
            "Power saved by drowsy regions of one block and divided word lines, in percent",
            &points.workloads,
            vec![
                Series::new(format!("{}: static", cache.title), "%", saved).claimed("cache.static_saved"),
                Series::new(format!("{}: dynamic", cache.title), "%", divided).claimed("cache.dynamic_saved"),
                Series::new(format!("{}: total", cache.title), "%", total(points, cache, BOTH)),
                Series::new(
                    format!("{}: static, over all time", cache.title),
                    "%",
                    leakage(points, cache, DROWSY),
                ),
                Series::new(format!("{}: dynamic, by bytes", cache.title), "%", bytes),
            ],
        ));
    }
    let measures = &mut findings.measures;
    // Loads that find their line, or wait for one on its way, read the array; the rest of the accesses do not.
    let unread = points.column(BASE, |point| {
        let count = |what: &str| point.count(&format!("l1d.{what}.count"));
        let all = count("reads")? + count("writes")?;
        Some(100.0 * (1.0 - over(count("read_hits")? + count("merges")?, all)?))
    });
    measures.mean("cache.dynamic_saved.unread_l1d", &unread);
    measures.mean("cache.gpu_saved:all", &formula_all);
    measures.mean("cache.gpu_saved.joules:all", &joules_all);
    let energy = |variant: &str| points.column(variant, |point| Some(point.energy.total_j));
    measures.mean("cache.gpu_saved.whole_run", &energy(BOTH).saved(&energy(BASE)));
}
