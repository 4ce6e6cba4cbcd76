// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to single blocks: how often they are accessed (Figure 3-4), how far apart (Figure 3-5), and by how many lanes (Table 3-1).

use std::collections::BTreeMap;

use super::cache::{ALL, CONSTANT, Cache, INSTRUCTION, L1D, L2, OPTIMIZED, SHARED, TEXTURE};
use super::{BASE, BYTES, FOUR_SMS};
use crate::claim::claims;
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};
use crate::suite::suite;

/// Bins of Figure 3-4: never, once, twice, 4, 8, ... 16384 times and more.
const BINS: usize = 16;

/// The place of the workload that is a program of the paper.
pub fn ours(program: &str, workloads: &[String]) -> Option<usize> {
    let suite = suite("caches").ok()??;
    let names = &suite.programs.iter().find(|other| other.name == program)?.ours;
    names.iter().find_map(|name| workloads.iter().position(|other| other == name))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    accesses(points, findings);
    intervals(points, findings);
    utilization(points, findings);
}

fn parameter(point: &PointRecord, key: &str) -> Option<f64> {
    point.inputs.gpu.as_ref()?.parameters.get(key)?.parse().ok()
}

/// Blocks of a cache by how often they were accessed, in percent of all of its instances.
fn by_accesses(points: &Points, cache: &Cache) -> Vec<Column> {
    by_accesses_of(points, BASE, cache)
}

fn by_accesses_of(points: &Points, variant: &str, cache: &Cache) -> Vec<Column> {
    let of = |bin: usize| {
        points.column(variant, |point| {
            let reached =
                |at: usize| point.bucket(&format!("profile.{}_reached.histogram", cache.counters), at);
            let all = frames(point, cache)?;
            let least = if bin == 0 { all } else { reached(bin - 1)? };
            let more = if bin + 1 < BINS { reached(bin)? } else { 0.0 };
            Some(100.0 * over(least - more, all)?)
        })
    };
    (0..BINS).map(of).collect()
}

/// Shares of blocks by index and number of accesses, with the accesses of all SMs summed; L2 belongs to all SMs anyway.
fn by_index(points: &Points, cache: &Cache) -> Vec<Column> {
    if cache.name == "l2" {
        return by_accesses(points, cache);
    }
    let of = |bin: usize| {
        points.column(BASE, |point| {
            let uses = point.buckets(&format!("profile.{}_by_frame.histogram", cache.counters))?;
            let all = frames_of_one(point, cache)?;
            // Blocks behind the last that was used are not written.
            let in_bin = |uses: u64| (64 - uses.leading_zeros() as usize).min(BINS - 1) == bin;
            let unused = if bin == 0 { all - uses.len() as f64 } else { 0.0 };
            Some(100.0 * over(uses.iter().filter(|uses| in_bin(**uses)).count() as f64 + unused, all)?)
        })
    };
    (0..BINS).map(of).collect()
}

/// Blocks of all instances of a cache, from the parameters of the GPU.
fn frames(point: &PointRecord, cache: &Cache) -> Option<f64> {
    let instances = if cache.name == "l2" { "gpu.partitions" } else { "gpu.sms" };
    Some(frames_of_one(point, cache)? * parameter(point, instances)?)
}

/// Blocks of one instance.
fn frames_of_one(point: &PointRecord, cache: &Cache) -> Option<f64> {
    let of = |key: &str| parameter(point, key);
    let one = match cache.name {
        "l1d" => (of("sm.onchip_bytes")? - of("sm.shared.bytes")?) / 128.0,
        "shared" => (of("sm.shared.bytes")? / 128.0).ceil(),
        "l2" => of("l2.sets")? * of("l2.ways")?,
        "instruction" => of("sm.icache.sets")? * of("sm.icache.ways")?,
        name => of(&format!("sm.{name}.sets"))? * of(&format!("sm.{name}.ways"))?,
    };
    Some(one)
}

fn accesses(points: &Points, findings: &mut Findings) {
    // Blocks accessed less often than 2 to the power of these, of which the first bin is for none.
    let bounds = [
        ("l1d_lt32", L1D, 6),
        ("l2_lt16", L2, 5),
        ("constant_lt2", CONSTANT, 2),
        ("shared_never", SHARED, 1),
        ("instruction_never", INSTRUCTION, 1),
    ];
    for (name, cache, below) in bounds {
        for (reading, bins) in [("", by_accesses(points, &cache)), (".by_index", by_index(points, &cache))] {
            let sum = bins[1..below].iter().fold(bins[0].clone(), |sum, bin| sum.plus(bin));
            findings.measures.mean(format!("cache.block_accesses{reading}:{name}"), &sum);
        }
    }
    let of_four = |cache: &Cache, below: usize| {
        let bins = by_accesses_of(points, FOUR_SMS[0], cache);
        bins[1..below].iter().fold(bins[0].clone(), |sum, bin| sum.plus(bin))
    };
    findings.measures.mean("cache.block_accesses.four_sms_l1d", &of_four(&L1D, 6));
    findings.measures.mean("cache.block_accesses.four_sms_instruction", &of_four(&INSTRUCTION, 1));
    let instructions = points.column(BASE, |point| Some(point.thread_instructions as f64 / 1e6));
    findings.measures.mean("cache.block_accesses.million_instructions", &instructions);
    for cache in [L1D, L2] {
        let uses = points.column(BASE, |point| {
            over(point.count(&format!("profile.{}_accesses.count", cache.counters))?, frames(point, &cache)?)
        });
        findings.measures.mean(format!("cache.block_accesses.of_a_block_{}", cache.name), &uses);
    }
    for (cache, name) in ALL.iter().zip(["fig3-4a", "fig3-4b", "fig3-4c", "fig3-4d", "fig3-4e", "fig3-4f"]) {
        let label = |bin: usize| if bin == 0 { 0 } else { 1_u32 << (bin - 1) };
        let bins = by_accesses(points, cache).into_iter().enumerate();
        let series = bins.map(|(bin, column)| Series::new(format!("A[{}]", label(bin)), "%", column));
        findings.figures.push(Figure::new(
            name,
            "Figure 3-4",
            "Blocks by number of accesses, in percent",
            &points.workloads,
            series.collect(),
        ));
    }
    let series = ALL.iter().map(|cache| {
        let never = by_index(points, cache).swap_remove(0);
        Series::new(format!("{}: never, by any SM", cache.title), "%", never)
    });
    findings.figures.push(Figure::new(
        "fig3-4-by-index",
        "Figure 3-4",
        "Blocks by their index that no SM accesses, in percent of the blocks of one cache",
        &points.workloads,
        series.collect(),
    ));
}

/// Blocks whose mean interval is at least 2 to the power of `least`, in percent of blocks with two accesses or more.
fn far_apart(point: &PointRecord, cache: &Cache, least: usize) -> Option<f64> {
    let of =
        |way: &str, bin: usize| point.bucket(&format!("profile.{}_{way}.histogram", cache.counters), bin);
    let here = |bin: usize| Some(of("came", bin)? - of("left", bin)?);
    let counts: Option<Vec<f64>> = (0..24).map(here).collect();
    let counts = counts?;
    // Bin n has values from 2 to the power of n - 1.
    Some(100.0 * over(counts[least + 1..].iter().sum(), counts.iter().sum())?)
}

fn single_far_apart(point: &PointRecord, cache: &Cache, least: usize) -> Option<f64> {
    let bin = |bin: usize| point.bucket(&format!("profile.{}_gaps.histogram", cache.counters), bin);
    let counts: Option<Vec<f64>> = (0..24).map(bin).collect();
    let counts = counts?;
    Some(100.0 * over(counts[least + 1..].iter().sum(), counts.iter().sum())?)
}

/// Cycles between accesses to a block, each block by its mean interval.
fn mean_interval(points: &Points, variant: &str, cache: &Cache) -> Column {
    let counters = cache.counters;
    points.column(variant, |point| {
        let sum = |way: &str| point.count(&format!("profile.{counters}_mean_{way}.{}", cache.time));
        let blocks = |way: &str| point.count(&format!("profile.{counters}_{way}.histogram"));
        over(sum("up")? - sum("down")?, blocks("came")? - blocks("left")?)
    })
}

/// Number of programs with the longest intervals, which are reported separately.
const RARE: usize = 5;

/// Causes of long intervals: how much of a mean a few programs make, how long intervals are with more threads for each SM, and how often
/// an SM accesses each cache.
fn causes(points: &Points, cache: &Cache, mean: &Column, findings: &mut Findings) {
    let id = format!("cache.inter_access.{}", cache.name);
    let others = (0..RARE).fold(mean.clone(), |column, _| column.without_max());
    let sum = |column: &Column| column.0.iter().flatten().sum::<f64>();
    let measures = &mut findings.measures;
    let rare = over(sum(mean) - sum(&others), sum(mean)).map(|share| 100.0 * share);
    measures.of(format!("{id}.rare_share"), rare, mean.count());
    measures.mean(format!("{id}.others"), &others);
    measures.mean(format!("{id}.four_sms"), &mean_interval(points, FOUR_SMS[0], cache));
    // Of an SM while it has warps; of all slices of L2.
    let often = points.column(BASE, |point| {
        let accesses = point.count(&format!("profile.{}_accesses.count", cache.counters))?;
        Some(1000.0 * over(accesses, point.count("sm.active.cycles")?)?)
    });
    measures.mean(format!("{id}.in_1000_cycles"), &often.only(&cache.users(points)));
}

fn intervals(points: &Points, findings: &mut Findings) {
    let bounds = [(L1D, 9), (L2, 9), (CONSTANT, 5), (TEXTURE, 5), (SHARED, 7), (INSTRUCTION, 4)];
    let mut series = Vec::new();
    for (cache, least) in bounds {
        let (name, counters) = (cache.name, cache.counters);
        let users = cache.users(points);
        let mean = mean_interval(points, BASE, &cache);
        causes(points, &cache, &mean.only(&users), findings);
        let single = points.column(BASE, |point| {
            let sum = point.count(&format!("profile.{counters}_gap_sum.{}", cache.time))?;
            over(sum, point.count(&format!("profile.{counters}_gaps.histogram"))?)
        });
        let measures = &mut findings.measures;
        let id = format!("cache.inter_access.{name}");
        measures.most(&id, &mean.only(&users), &points.workloads);
        measures.of(
            format!("{id}.median"),
            mean.only(&users).median(),
            users.iter().filter(|user| **user).count(),
        );
        measures.mean(format!("cache.inter_access:{name}"), &mean.only(&users));
        measures.mean(format!("cache.inter_access.intervals:{name}"), &single.only(&users));
        let bins = points.column(BASE, |point| far_apart(point, &cache, least));
        measures.mean(format!("cache.inter_access_bins:{name}"), &bins.only(&users));
        let singles = points.column(BASE, |point| single_far_apart(point, &cache, least));
        measures.mean(format!("cache.inter_access_bins.intervals:{name}"), &singles.only(&users));
        let four = mean_interval(points, FOUR_SMS[0], &cache);
        series.push(Series::new(format!("{}: mean interval", cache.title), "cycles", mean));
        series.push(Series::new(format!("{}: mean interval with 4 SMs", cache.title), "cycles", four));
        series.push(Series::new(format!("{}: single intervals", cache.title), "cycles", single));
        series.push(Series::new(format!("{}: blocks from {} cycles on", cache.title, 1 << least), "%", bins));
    }
    findings.figures.push(Figure::new(
        "fig3-5",
        "Figure 3-5",
        "Cycles between accesses to the same block",
        &points.workloads,
        series,
    ));
}

/// Active lanes of an access, in percent of 32.
fn by_lanes(points: &Points, cache: &Cache) -> Column {
    points.column(BASE, |point| {
        let (lanes, accesses) = match cache.name {
            // Loads that miss are accesses, too.
            "l1d" => (point.count("l1d.load_lanes.count")?, point.count("l1d.reads.count")?),
            "l2" => {
                let kinds =
                    ["reads", "writes", "atomics"].map(|kind| point.count(&format!("l2.{kind}.count")));
                (point.count("l2.lanes.count")?, kinds.into_iter().flatten().sum())
            }
            _ => (
                point.count(&format!("profile.{}_lanes.count", cache.counters))?,
                point.count(&format!("profile.{}_accesses.count", cache.counters))?,
            ),
        };
        Some(100.0 / 32.0 * over(lanes, accesses)?)
    })
}

/// Words that an access reads or writes, in percent of its line.
fn by_bytes(points: &Points, cache: &Cache) -> Column {
    points.column(BYTES, |point| {
        let count = |what: &str| point.count(&format!("dwl.{}_{what}.count", cache.counters));
        let idle = count("read_idle")? + count("write_idle")?;
        Some(100.0 * (1.0 - over(idle, 32.0 * (count("reads")? + count("writes")?))?))
    })
}

/// Points of percent that are near.
const NEAR: f64 = 5.0;

/// Table 3-1 by program and cache.
fn paper_utilization() -> BTreeMap<String, f64> {
    let claims = claims().unwrap_or_default();
    let claim = claims.iter().find(|claim| claim.id == "cache.block_utilization");
    claim.map(|claim| claim.entries().into_iter().collect()).unwrap_or_default()
}

fn utilization(points: &Points, findings: &mut Findings) {
    let id = "cache.block_utilization";
    let programs = suite("caches").ok().flatten().map(|suite| suite.programs).unwrap_or_default();
    let mut series = Vec::new();
    let paper = paper_utilization();
    let (mut near, mut known) = (0, 0);
    for cache in &OPTIMIZED {
        let (lanes, bytes) = (by_lanes(points, cache), by_bytes(points, cache));
        let mut pairs = Vec::new();
        for program in &programs {
            let ours = ours(&program.name, &points.workloads).and_then(|place| lanes.0[place]);
            let theirs = paper.get(&format!("{}.{}", program.name, cache.name)).copied();
            pairs.extend(ours.zip(theirs.filter(|value| *value > 0.0)));
        }
        near += pairs.iter().filter(|(ours, theirs)| (ours - theirs).abs() <= NEAR).count();
        known += pairs.len();
        let mean = |of: fn(&(f64, f64)) -> f64| Column(pairs.iter().map(|pair| Some(of(pair))).collect());
        findings.measures.mean(format!("{id}.mean_{}", cache.name), &mean(|pair| pair.0));
        findings.measures.mean(format!("{id}.paper_{}", cache.name), &mean(|pair| pair.1));
        for program in &programs {
            let Some(place) = ours(&program.name, &points.workloads) else { continue };
            for (other, column) in [("", &lanes), (".bytes", &bytes)] {
                if let Some(value) = column.0[place] {
                    let name = format!("{id}{other}:{}.{}", program.name, cache.name);
                    findings.measures.of(name, Some(value), 1);
                }
            }
        }
        series.push(Series::new(cache.title, "%", lanes));
        series.push(Series::new(format!("{}, by bytes", cache.title), "%", bytes));
    }
    findings.measures.of(format!("{id}.near"), Some(near as f64), known);
    findings.measures.of(format!("{id}.of"), Some(known as f64), known);
    findings.figures.push(Figure::new(
        "tab3-1",
        "Table 3-1",
        "Active lanes of an access, in percent",
        &points.workloads,
        series,
    ));
}
