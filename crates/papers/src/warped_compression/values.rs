// SPDX-License-Identifier: MIT OR Apache-2.0
//! How alike the values of a warp's lanes are: Figures 2, 3, 5 and 8, sections 3 to 5.

use super::FULL;
use crate::figure::{Figure, Series};
use crate::measure::{Column, Measures, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// Bins of distances of successive lanes, as section 3 has them.
const BINS: [&str; 4] = ["zero", "up to 128", "up to 32K", "random"];
/// The search over all encodings, in its order.
const ENCODINGS: [&str; 8] = ["<4,0>", "<8,0>", "<8,1>", "<4,1>", "<8,2>", "<4,2>", "<8,4>", "none"];
/// Places of `ENCODINGS` with a base of 4 bytes.
const BASE_4: [usize; 3] = [0, 3, 5];
/// How registers are written: by whole warps, short ones, under a guard, by diverged ones.
const PHASES: [&str; 4] = ["undiverged", "short warps", "under a guard", "diverged"];
const UNDIVERGED: usize = 0;
const DIVERGED: usize = 3;

const BANKS: f64 = 8.0;
const BYTES: f64 = 128.0;

pub fn evaluate(points: &Points, findings: &mut Findings) {
    similarity(points, findings);
    instructions(points, findings);
    best(points, findings);
    ratios(points, findings);
    // Both shares of a workload, then their mean.
    let undiverged = undiverged_share(points);
    let similar = similar_share(points);
    let both = undiverged.with(&similar, |undiverged, similar| Some(undiverged * similar / 100.0));
    findings.measures.mean("wc.compressible_time", &both);
}

/// The part of a histogram that is in a place, in percent.
fn share(points: &Points, counter: &str, place: usize) -> Column {
    points.column(FULL, |point| Some(100.0 * over(point.bucket(counter, place)?, point.count(counter)?)?))
}

fn undiverged_share(points: &Points) -> Column {
    share(points, "wc.instructions.histogram", 0)
}

/// Registers of undiverged warps that are not random, in percent.
fn similar_share(points: &Points) -> Column {
    share(points, "wc.similar.histogram", 3).map(|random| 100.0 - random)
}

fn similarity(points: &Points, findings: &mut Findings) {
    let mut series = Vec::new();
    for (name, counter) in [
        ("undiverged", "wc.similar.histogram"),
        ("diverged", "wc.similar_diverged.histogram"),
        ("undiverged, upper halves of 64-bit values", "wc.similar_upper.histogram"),
        ("diverged, upper halves of 64-bit values", "wc.similar_upper_diverged.histogram"),
        ("undiverged, each distance by itself", "wc.distances.histogram"),
        ("diverged, each distance by itself", "wc.distances_diverged.histogram"),
        ("diverged, among the lanes written", "wc.written_diverged.histogram"),
    ] {
        for (place, bin) in BINS.iter().enumerate() {
            let one = Series::new(format!("{name}: {bin}"), "%", share(points, counter, place));
            series.push(match (name, *bin) {
                ("diverged", "random") => one.claimed("wc.random_divergent"),
                _ => one,
            });
        }
    }
    let similar = similar_share(points);
    findings.measures.mean("wc.similar_nondivergent", &similar);
    findings.measures.mean("wc.random_divergent", &share(points, "wc.similar_diverged.histogram", 3));
    for (name, counter) in [
        ("wc.similar_nondivergent.upper", "wc.similar_upper.histogram"),
        ("wc.similar_nondivergent.by_distance", "wc.distances.histogram"),
    ] {
        findings.measures.mean(name, &share(points, counter, 3).map(|random| 100.0 - random));
    }
    findings
        .measures
        .mean("wc.random_divergent.by_distance", &share(points, "wc.distances_diverged.histogram", 3));
    findings.measures.mean("wc.random_divergent.written", &share(points, "wc.written_diverged.histogram", 3));
    series.push(Series::new("undiverged: not random", "%", similar).claimed("wc.similar_nondivergent"));
    findings.figures.push(Figure::new(
        "fig02",
        "Figure 2",
        "Registers written, by the largest distance of successive lanes",
        &points.workloads,
        series,
    ));
}

fn instructions(points: &Points, findings: &mut Findings) {
    let undiverged = undiverged_share(points);
    findings.measures.mean("wc.nondivergent_share", &undiverged);
    let ended = share(points, "wc.instructions.histogram", 2);
    findings.measures.mean("wc.nondivergent_share.with_ended", &undiverged.plus(&ended));
    findings.measures.most("wc.nondivergent_share", &undiverged, &points.workloads);
    findings.figures.push(Figure::new(
        "fig03",
        "Figure 3",
        "Instructions of undiverged warps",
        &points.workloads,
        vec![Series::new("undiverged", "%", undiverged).claimed("wc.nondivergent_share")],
    ));
}

fn best(points: &Points, findings: &mut Findings) {
    let mut series = Vec::new();
    for (suffix, counter) in
        [("", "wc.best.histogram"), (", upper halves of 64-bit values", "wc.best_upper.histogram")]
    {
        for (place, encoding) in ENCODINGS.iter().enumerate() {
            series.push(Series::new(format!("{encoding}{suffix}"), "%", share(points, counter, place)));
        }
    }
    let base_4 = |counters: &[&str]| {
        points.column(FULL, |point| {
            let (mut four, mut any) = (0.0, 0.0);
            for counter in counters {
                let places: Vec<_> =
                    (0..7).map(|place| point.bucket(counter, place)).collect::<Option<_>>()?;
                four += BASE_4.iter().map(|place| places[*place]).sum::<f64>();
                any += places.iter().sum::<f64>();
            }
            Some(100.0 * over(four, any)?)
        })
    };
    let of_all = base_4(&["wc.best.histogram"]);
    findings.measures.mean("wc.best_encoding_base4", &of_all);
    let with_upper = base_4(&["wc.best.histogram", "wc.best_upper.histogram"]);
    findings.measures.mean("wc.best_encoding_base4.with_upper", &with_upper);
    series.push(
        Series::new("base of 4 bytes, of what is compressed", "%", of_all).claimed("wc.best_encoding_base4"),
    );
    findings.figures.push(Figure::new(
        "fig05",
        "Figure 5",
        "Registers written, by the best of all encodings",
        &points.workloads,
        series,
    ));
}

/// `factor` times the sum of the first counters of a place over that of the second ones.
fn ratio(point: &PointRecord, factor: f64, place: usize, counters: &[(&str, &str)]) -> Option<f64> {
    let (mut registers, mut taken) = (0.0, 0.0);
    for (count, size) in counters {
        registers += point.bucket(count, place)?;
        taken += point.bucket(size, place)?;
    }
    over(factor * registers, taken)
}

const OBSERVED: (&str, &str) = ("wc.observed.histogram", "wc.observed_arrays.histogram");
const UPPER: (&str, &str) = ("wc.upper.histogram", "wc.upper_arrays.histogram");
const IN_BYTES: (&str, &str) = ("wc.observed.histogram", "wc.observed_bytes.histogram");

fn ratios(points: &Points, findings: &mut Findings) {
    let of = |factor: f64, place: usize, counters: &[(&str, &str)]| {
        points.column(FULL, |point| ratio(point, factor, place, counters))
    };
    let mut series = Vec::new();
    for (place, phase) in PHASES.iter().enumerate() {
        let all = of(BANKS, place, &[OBSERVED, UPPER]);
        let lower = of(BANKS, place, &[OBSERVED]);
        let bytes = of(BYTES, place, &[IN_BYTES]);
        let claim = match place {
            UNDIVERGED => Some("wc.ratio_nondivergent"),
            DIVERGED => Some("wc.ratio_divergent"),
            _ => None,
        };
        let headline = Series::new(*phase, "x", all.clone()).ratio();
        series.push(match claim {
            Some(claim) => headline.claimed(claim),
            None => headline,
        });
        series.push(Series::new(format!("{phase}, without upper halves"), "x", lower.clone()).ratio());
        series.push(
            Series::new(format!("{phase}, without upper halves, in bytes"), "x", bytes.clone()).ratio(),
        );
        if let Some(claim) = claim {
            readings(&mut findings.measures, claim, &all, &lower, &bytes);
            findings.measures.most(claim, &all, &points.workloads);
            findings.measures.mean(format!("{claim}.rest"), &all.without_max());
        }
    }
    findings.measures.mean("wc.ratio_nondivergent.floats", &points.column(FULL, floats));
    findings.figures.push(Figure::new(
        "fig08",
        "Figure 8",
        "Compression ratio, if writes that leave lanes out were merged and compressed",
        &points.workloads,
        series,
    ));
}

/// Floating-point operations among all instructions, in percent.
fn floats(point: &PointRecord) -> Option<f64> {
    let kinds =
        ["fp32_add", "fp32_mul", "fp16", "fp64", "reciprocal", "root", "logarithm", "exponential", "sine"];
    let count = kinds.iter().filter_map(|kind| point.count(&format!("ops.{kind}.count"))).sum::<f64>();
    over(100.0 * count, point.warp_instructions as f64)
}

/// A ratio and what it comes to by other readings.
fn readings(measures: &mut Measures, claim: &str, all: &Column, lower: &Column, bytes: &Column) {
    measures.mean(claim, all);
    measures.of(format!("{claim}.median"), all.median(), all.count());
    measures.of(format!("{claim}.harmonic"), all.harmonic_mean(), all.count());
    measures.mean(format!("{claim}.lower"), lower);
    measures.mean(format!("{claim}.bytes"), bytes);
}
