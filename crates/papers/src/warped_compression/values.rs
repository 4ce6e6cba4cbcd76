// SPDX-License-Identifier: MIT OR Apache-2.0
//! Similarity of the values of a warp's lanes: Figures 2, 3, 5 and 8, sections 3 to 5.

use super::FULL;
use super::phase::{BINS, JUDGED, PHASES, RANDOM, READINGS, Reading};
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, over};
use crate::paper::Findings;
use crate::point::Points;

/// The search over all encodings, in its order.
const ENCODINGS: [&str; 8] = ["<4,0>", "<8,0>", "<8,1>", "<4,1>", "<8,2>", "<4,2>", "<8,4>", "none"];
/// Places of `ENCODINGS` with a base of 4 bytes.
const BASE_4: [usize; 3] = [0, 3, 5];
const BANKS: f64 = 8.0;
const BYTES: f64 = 128.0;
/// What wrote registers, as the counter has it: memory, 64-bit arithmetic, special functions, other arithmetic.
const SOURCES: [&str; 4] = ["memory", "wide", "special", "other"];
/// Workloads whose ratios are explained one by one.
const EXPLAINED: [&str; 2] = ["hotspot", "bfs"];

pub fn evaluate(points: &Points, findings: &mut Findings) {
    similarity(points, findings);
    instructions(points, findings);
    best(points, findings);
    ratios(points, findings);
    sources(points, findings);
    // Both shares of a workload, then their mean.
    let undiverged = undiverged_share(points, JUDGED);
    let similar = random(points, JUDGED, &[WHOLE], false).map(|random| 100.0 - random);
    let both = undiverged.with(&similar, |undiverged, similar| Some(undiverged * similar / 100.0));
    findings.measures.mean("wc.compressible_time", &both);
}

/// The part of a histogram that is in a place, in percent.
fn share(points: &Points, counter: &str, place: usize) -> Column {
    points.column(FULL, |point| Some(100.0 * over(point.bucket(counter, place)?, point.count(counter)?)?))
}

fn undiverged_share(points: &Points, reading: Reading) -> Column {
    let counter = "wc.instructions.histogram";
    points
        .column(FULL, |point| Some(100.0 * over(reading.sum(point, counter, false)?, point.count(counter)?)?))
}

/// Counters of writes by phase and largest distance.
const WHOLE: &str = "wc.similar.histogram";
const UPPER_HALVES: &str = "wc.similar_upper.histogram";
const WRITTEN: &str = "wc.written.histogram";
const DISTANCES: &str = "wc.distances.histogram";

/// Writes of some counters in one bin, in percent of all bins.
fn bin(points: &Points, reading: Reading, counters: &[&str], diverged: bool, bin: usize) -> Column {
    points.column(FULL, |point| {
        let (mut part, mut all) = (0.0, 0.0);
        for counter in counters {
            for place in 0..BINS.len() {
                let count = reading.bin(point, counter, diverged, place)?;
                all += count;
                part += if place == bin { count } else { 0.0 };
            }
        }
        Some(100.0 * over(part, all)?)
    })
}

fn random(points: &Points, reading: Reading, counters: &[&str], diverged: bool) -> Column {
    bin(points, reading, counters, diverged, RANDOM)
}

fn similarity(points: &Points, findings: &mut Findings) {
    let mut series = Vec::new();
    for diverged in [false, true] {
        let (id, warps) = match diverged {
            false => ("wc.similar_nondivergent", "undiverged"),
            true => ("wc.random_divergent", "diverged"),
        };
        // Of undiverged warps the claim is about what is not random.
        let claimed = |random: Column| if diverged { random } else { random.map(|random| 100.0 - random) };
        for reading in READINGS {
            let column = claimed(random(points, reading, &[WHOLE], diverged));
            findings.measures.mean(reading.of(id), &column);
            if reading == JUDGED {
                findings.measures.most(id, &column, &points.workloads);
                let name =
                    if diverged { "diverged: random (claim)" } else { "undiverged: not random (claim)" };
                series.push(Series::new(name, "%", column).claimed(id));
            }
        }
        for (name, counters) in [
            ("written", &[WRITTEN][..]),
            ("by_distance", &[DISTANCES]),
            ("with_upper", &[WHOLE, UPPER_HALVES]),
        ] {
            let column = claimed(random(points, JUDGED, counters, diverged));
            findings.measures.mean(format!("{id}.{name}"), &column);
        }
        for (what, counter) in [
            ("", WHOLE),
            (", upper halves of 64-bit values", UPPER_HALVES),
            (", among the lanes written", WRITTEN),
            (", each distance by itself", DISTANCES),
        ] {
            for (place, name) in BINS.iter().enumerate() {
                let column = bin(points, JUDGED, &[counter], diverged, place);
                series.push(Series::new(format!("{warps}{what}: {name}"), "%", column));
            }
        }
    }
    findings.figures.push(Figure::new(
        "fig02",
        "Figure 2",
        "Registers written, by the largest distance of successive lanes",
        &points.workloads,
        series,
    ));
}

fn instructions(points: &Points, findings: &mut Findings) {
    let id = "wc.nondivergent_share";
    for reading in READINGS {
        findings.measures.mean(reading.of(id), &undiverged_share(points, reading));
    }
    let undiverged = undiverged_share(points, JUDGED);
    findings.measures.most(id, &undiverged, &points.workloads);
    let mut series = vec![Series::new("undiverged", "%", undiverged).claimed(id)];
    for (phase, name) in PHASES.iter().enumerate() {
        let column = share(points, "wc.instructions.histogram", phase);
        if let Some(part) = ["short", "ended", "split"].get(phase.wrapping_sub(2)) {
            findings.measures.mean(format!("{id}.{part}"), &column);
        }
        series.push(Series::new(*name, "%", column));
    }
    findings.figures.push(Figure::new(
        "fig03",
        "Figure 3",
        "Instructions by lanes",
        &points.workloads,
        series,
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
        "Registers written, by their best encoding",
        &points.workloads,
        series,
    ));
}

/// Registers of undiverged or diverged warps without compression over what they take with it, times `factor`.
fn ratio(
    points: &Points,
    reading: Reading,
    diverged: bool,
    factor: f64,
    counters: &[(&str, &str)],
) -> Column {
    points.column(FULL, |point| {
        let (mut registers, mut taken) = (0.0, 0.0);
        for (count, size) in counters {
            registers += reading.sum(point, count, diverged)?;
            taken += reading.sum(point, size, diverged)?;
        }
        over(factor * registers, taken)
    })
}

const OBSERVED: (&str, &str) = ("wc.observed.histogram", "wc.observed_arrays.histogram");
const UPPER: (&str, &str) = ("wc.upper.histogram", "wc.upper_arrays.histogram");
const IN_BYTES: (&str, &str) = ("wc.observed.histogram", "wc.observed_bytes.histogram");

fn ratios(points: &Points, findings: &mut Findings) {
    let mut series = Vec::new();
    for (id, diverged, warps) in
        [("wc.ratio_nondivergent", false, "undiverged"), ("wc.ratio_divergent", true, "diverged")]
    {
        let of = |factor: f64, counters: &[(&str, &str)]| ratio(points, JUDGED, diverged, factor, counters);
        let all = of(BANKS, &[OBSERVED, UPPER]);
        let (lower, bytes) = (of(BANKS, &[OBSERVED]), of(BYTES, &[IN_BYTES]));
        let measures = &mut findings.measures;
        for reading in READINGS {
            measures.mean(reading.of(id), &ratio(points, reading, diverged, BANKS, &[OBSERVED, UPPER]));
        }
        measures.most(id, &all, &points.workloads);
        measures.mean(format!("{id}.rest"), &all.without_max());
        measures.of(format!("{id}.median"), all.median(), all.count());
        measures.average(format!("{id}.harmonic"), &all, Mean::Harmonic);
        measures.average(format!("{id}.geometric"), &all, Mean::Geometric);
        measures.mean(format!("{id}.lower"), &lower);
        measures.mean(format!("{id}.bytes"), &bytes);
        series.push(Series::new(warps, "x", all).ratio().claimed(id));
        series.push(Series::new(format!("{warps}, without upper halves"), "x", lower).ratio());
        series.push(Series::new(format!("{warps}, without upper halves, in bytes"), "x", bytes).ratio());
    }
    for (phase, name) in PHASES.iter().enumerate() {
        let column = points.column(FULL, |point| {
            let sum = |one: &str, other: &str| Some(point.bucket(one, phase)? + point.bucket(other, phase)?);
            over(BANKS * sum(OBSERVED.0, UPPER.0)?, sum(OBSERVED.1, UPPER.1)?)
        });
        if let Some(part) = ["short", "ended"].get(phase.wrapping_sub(2)) {
            findings.measures.mean(format!("wc.ratio_divergent.{part}"), &column);
        }
        series.push(Series::new(*name, "x", column).ratio());
    }
    findings.figures.push(Figure::new(
        "fig08",
        "Figure 8",
        "Compression ratio, if partial writes were merged and compressed",
        &points.workloads,
        series,
    ));
}

/// What the ratio of undiverged warps is made of: by what wrote the registers, and without one of these.
fn sources(points: &Points, findings: &mut Findings) {
    let id = "wc.ratio_nondivergent";
    let of = |keep: &dyn Fn(usize) -> bool| {
        points.column(FULL, |point| {
            let sum = |counter: &str| {
                (0..SOURCES.len())
                    .filter(|place| keep(*place))
                    .map(|place| point.bucket(counter, place))
                    .sum()
            };
            let (registers, arrays): (Option<f64>, Option<f64>) =
                (sum("wc.sources.histogram"), sum("wc.sources_arrays.histogram"));
            over(BANKS * registers?, arrays?)
        })
    };
    let all = of(&|_| true);
    let mut series = vec![Series::new("all", "x", all.clone()).ratio()];
    for (place, source) in SOURCES.iter().enumerate() {
        let only = of(&|other| other == place);
        let without = of(&|other| other != place);
        findings.measures.mean(format!("{id}.from_{source}"), &only);
        for name in EXPLAINED {
            let member: Vec<_> = points.workloads.iter().map(|workload| workload == name).collect();
            findings.measures.mean(format!("{id}.{name}"), &all.only(&member));
            findings.measures.mean(format!("{id}.{name}_no_{source}"), &without.only(&member));
        }
        let share = points.column(FULL, |point| {
            let counter = "wc.sources.histogram";
            Some(100.0 * over(point.bucket(counter, place)?, point.count(counter)?)?)
        });
        series.push(Series::new(format!("written by {source}"), "x", only).ratio());
        series.push(Series::new(format!("without what {source} wrote"), "x", without).ratio());
        series.push(Series::new(format!("written by {source}, of all registers"), "%", share));
    }
    findings.figures.push(Figure::new(
        "ratio-by-source",
        "",
        "Compression ratio of registers of undiverged warps, by the instruction that wrote them: memory, 64-bit arithmetic, special functions, other arithmetic",
        &points.workloads,
        series,
    ));
}
