// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares of caches in static, dynamic and total power: Figures 3-1 to 3-3.

use super::BASE;
use super::cache::{ALL, CONSTANT, Cache};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// Components that are not on the chip.
const MEMORY: [&str; 2] = ["memory", "memory interface"];

/// Power that does not follow from what runs, and that GPUWattch lists among dynamic power.
const STEADY: [&str; 2] = ["constant power", "idle SMs"];

/// Dynamic energy of the GPU as GPUWattch adds it up: with constant power and that of idle SMs, without memory chips.
fn gpuwattch_dynamic(point: &PointRecord) -> f64 {
    let steady = point.energy.structures.iter().filter(|part| STEADY.contains(&part.component.as_str()));
    gpu_dynamic(point) + steady.map(|part| part.static_j).sum::<f64>()
}

/// Dynamic energy of the GPU, without its memory chips.
pub fn gpu_dynamic(point: &PointRecord) -> f64 {
    let memory = point.energy.components.iter().filter(|part| MEMORY.contains(&part.name.as_str()));
    point.energy.dynamic_j - memory.map(|part| part.dynamic_j).sum::<f64>()
}

fn all(point: &PointRecord, of: impl Fn(&Cache, &PointRecord) -> f64) -> f64 {
    ALL.iter().map(|cache| of(cache, point)).sum()
}

fn share(points: &Points, of: impl Fn(&PointRecord) -> Option<f64>) -> Column {
    points.column(BASE, of).map(|share| 100.0 * share)
}

/// Share of a cache in the GPU's dynamic energy, by program, in percent.
pub fn of_gpu(points: &Points, cache: &Cache) -> Column {
    share(points, |point| over(cache.dynamic(point), gpu_dynamic(point)))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    static_shares(findings);
    let of_all = share(points, |point| over(all(point, Cache::dynamic), gpu_dynamic(point)));
    let measures = &mut findings.measures;
    measures.mean("cache.dynamic_share_of_gpu:all", &of_all);
    measures.most("cache.dynamic_share_of_gpu", &of_all, &points.workloads);
    let with_memory = share(points, |point| over(all(point, Cache::dynamic), point.energy.dynamic_j));
    measures.mean("cache.dynamic_share_of_gpu.with_memory_chips", &with_memory);
    let steady = share(points, |point| over(all(point, Cache::dynamic), gpuwattch_dynamic(point)));
    measures.mean("cache.dynamic_share_of_gpu.constant_power:all", &steady);
    let operands = points.column(BASE, |point| {
        let operands = point.count("constant.operands.count")?;
        Some(100.0 * over(operands, operands + point.count("constant.reads.count")?)?)
    });
    measures.mean("cache.dynamic_share_of_gpu.constant_operands", &operands);
    let loads =
        of_gpu(points, &CONSTANT).with(&operands, |share, operands| Some(share * (1.0 - operands / 100.0)));
    measures.mean("cache.dynamic_share_of_gpu.constant_loads", &loads);
    let mut dynamic_series = vec![Series::new("all caches", "%", of_all.clone())];
    let mut total_series = Vec::new();
    for cache in &ALL {
        let of_gpu = of_gpu(points, cache);
        measures.mean(format!("cache.dynamic_share_of_gpu:{}", cache.name), &of_gpu);
        let steady = share(points, |point| over(cache.dynamic(point), gpuwattch_dynamic(point)));
        measures.mean(format!("cache.dynamic_share_of_gpu.constant_power:{}", cache.name), &steady);
        let of_caches = share(points, |point| over(cache.dynamic(point), all(point, Cache::dynamic)));
        measures.mean(format!("cache.dynamic_share_of_caches:{}", cache.name), &of_caches);
        let total = share(points, |point| over(cache.total(point), all(point, Cache::total)));
        measures.mean(format!("cache.total_share:{}", cache.name), &total);
        // The same leakage of all caches together, divided by Table 4-2.
        let by_table = |cache: &Cache, point: &PointRecord| {
            cache.dynamic(point) + table_share(cache) * all(point, Cache::leakage)
        };
        let table = share(points, |point| over(by_table(cache, point), all(point, Cache::total)));
        measures.mean(format!("cache.total_share.table:{}", cache.name), &table);
        let leaked = share(points, |point| over(cache.leakage(point), all(point, Cache::leakage)));
        measures.mean(format!("cache.static_share.joules:{}", cache.name), &leaked);
        dynamic_series.push(Series::new(cache.title, "%", of_gpu));
        total_series.push(Series::new(cache.title, "%", total));
    }
    for (program, claimed) in [("mri-gridding", 21.0), ("lavaMD", 38.0)] {
        let place = super::blocks::ours(program, &points.workloads);
        let value = place.and_then(|place| of_all.0[place]);
        measures.of(format!("cache.dynamic_peaks:{program}"), value, usize::from(value.is_some()));
        // Factor by which the energy of caches would have to grow for the thesis's share, all else being equal.
        let factor = value.and_then(|share| over(claimed * (100.0 - share), share * (100.0 - claimed)));
        measures.of(format!("cache.dynamic_peaks.factor_{program}"), factor, usize::from(factor.is_some()));
        let units = share(points, |point| {
            let parts = point.energy.structures.iter().filter(|part| part.component == "execution units");
            over(parts.map(|part| part.dynamic_j).sum(), gpu_dynamic(point))
        });
        let value = place.and_then(|place| units.0[place]);
        measures.of(format!("cache.dynamic_peaks.units_{program}"), value, usize::from(value.is_some()));
        let shared = points.column(BASE, |point| {
            let accesses = point.count("profile.shared_accesses.count")?;
            Some(100.0 * over(accesses, point.warp_instructions as f64)?)
        });
        let value = place.and_then(|place| shared.0[place]);
        measures.of(format!("cache.dynamic_peaks.shared_{program}"), value, usize::from(value.is_some()));
    }
    findings.figures.push(Figure::new(
        "fig3-2",
        "Figure 3-2",
        "Dynamic energy of caches, in percent of that of the GPU without memory chips",
        &points.workloads,
        dynamic_series,
    ));
    findings.figures.push(Figure::new(
        "fig3-3",
        "Figure 3-3",
        "Static and dynamic energy of each cache, in percent of that of all caches",
        &points.workloads,
        total_series,
    ));
}

/// The part of the static power of all caches that Table 4-2 gives to one.
fn table_share(cache: &Cache) -> f64 {
    let power = |cache: &Cache| cache.table[3] * cache.instances;
    power(cache) / ALL.iter().map(power).sum::<f64>()
}

/// Figure 3-1 follows from Table 4-2.
fn static_shares(findings: &mut Findings) {
    let shares: Vec<_> = ALL.iter().map(|cache| 100.0 * table_share(cache)).collect();
    for (cache, share) in ALL.iter().zip(&shares) {
        findings.measures.computed(format!("cache.static_share:{}", cache.name), *share);
    }
    findings.figures.push(Figure {
        name: "fig3-1",
        place: Some("Figure 3-1"),
        title: "Static power of caches at full voltage, by Table 4-2 with 15 SMs, in percent of all",
        axis: "cache",
        labels: ALL.iter().map(|cache| cache.title.to_owned()).collect(),
        series: vec![Series::new("share", "%", Column(shares.into_iter().map(Some).collect()))],
    });
}
