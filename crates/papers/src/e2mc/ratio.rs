// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression ratios: Figures 3, 4 and 9 to 11. Of the lines that move between L2 and DRAM, reads and writes; metadata are not counted.

use super::{
    DRAM_CODES, FOUR_WAYS, IDEAL, IDEAL_16, ONE_WAY, ONLINE, OTHER_SEED, SAMPLING, STRICT, VALUES, WAYS,
    members,
};
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// Bytes of a line and of an access.
const LINE: f64 = 128.0;
const ACCESS: f64 = 32.0;

/// Programs for which the paper has 8-bit symbols best.
const EIGHT_BEST: [&str; 3] = ["transpose", "mummergpu", "spmv"];

fn lines(point: &PointRecord) -> Option<f64> {
    Some(point.count("mc.filled.count")? + point.count("mc.written.count")?)
}

/// Uncompressed bytes over encoded ones.
pub fn raw(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| over(LINE * lines(point)?, point.count("mc.encoded.bytes")?))
}

/// Uncompressed bytes over those of whole accesses.
pub fn at_granularity(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| {
        let accesses = point.count("mc.filled_bursts.count")? + point.count("mc.written_bursts.count")?;
        over(LINE * lines(point)?, ACCESS * accesses)
    })
}

fn geometric(column: &Column) -> Option<f64> {
    column.geometric_mean()
}

fn less(one: &Column, other: &Column) -> Option<f64> {
    Some(geometric(one)? - geometric(other)?)
}

fn percent(one: &Column, other: &Column) -> Option<f64> {
    Some(100.0 * (geometric(one)? / geometric(other)? - 1.0))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    offline(points, findings);
    ways(points, findings);
    values(points, findings);
    online(points, findings);
    symbol_lengths(points, findings);
    bounds(points, findings);
}

/// What no code exceeds, the prefix of values without a codeword, and codes from other data.
fn bounds(points: &Points, findings: &mut Findings) {
    let measures = &mut findings.measures;
    let bound = points.column(IDEAL_16, |point| point.count("codes.bound.ratio"));
    measures.average("e2mc.shannon", &bound, Mean::Geometric);
    measures.most("e2mc.shannon", &bound, &points.workloads);
    let reached = raw(points, IDEAL_16);
    measures.of("e2mc.shannon.gap", less(&bound, &reached), bound.count());

    let prefix = |variant: &str| points.column(variant, |point| point.count("codes.escape.bits"));
    let mummer = members(points, &["mummergpu"]);
    for (entry, (variant, _)) in [("mfv2k", VALUES[1]), ("mfv4k", VALUES[2])] {
        measures.mean(format!("e2mc.mfv_prefix:{entry}"), &prefix(variant).only(&mummer));
    }
    measures.mean("e2mc.mfv_prefix.mfv1k", &prefix(IDEAL_16).only(&mummer));
    for (name, program) in [("mummergpu", "mummergpu"), ("pageviewrank", "PageViewRank")] {
        let gained = raw(points, VALUES[2].0).added(&raw(points, VALUES[1].0));
        measures.mean(format!("e2mc.mfv_prefix.{name}"), &gained.only(&members(points, &[program])));
    }
    type Of = fn(&Points, &str) -> Column;
    for (claim, of) in [("e2mc.raw_ratio", raw as Of), ("e2mc.mag_ratio", at_granularity as Of)] {
        let other = of(points, OTHER_SEED);
        measures.average(format!("{claim}.other_seed:e2mc16"), &other, Mean::Geometric);
        let lost = less(&of(points, IDEAL_16), &other);
        measures.of(format!("{claim}.lost_to_other_seed"), lost, other.count());
    }
    let of_lines = raw(points, DRAM_CODES);
    measures.average("e2mc.raw_ratio.dram_codes", &of_lines, Mean::Geometric);
    let gained = of_lines.added(&reached);
    measures.most("e2mc.raw_ratio.dram_codes", &gained, &points.workloads);
    let series = [
        Series::new("e2mc16, codes of the lines themselves", "x", of_lines).ratio(),
        Series::new("bound of the source coding theorem", "x", bound).ratio(),
        Series::new("e2mc16", "x", reached).ratio(),
        Series::new("e2mc16, codes of another seed", "x", raw(points, OTHER_SEED)).ratio(),
        Series::new("prefix at 1K values", "bits", prefix(IDEAL_16)),
        Series::new("prefix at 2K values", "bits", prefix(VALUES[1].0)),
        Series::new("prefix at 4K values", "bits", prefix(VALUES[2].0)),
    ];
    findings.figures.push(Figure::new(
        "bounds",
        "",
        "Raw compression ratio of 16-bit symbols, its theoretical bound, and the prefix of values without a codeword",
        &points.workloads,
        series.into(),
    ));
}

fn offline(points: &Points, findings: &mut Findings) {
    type Of = fn(&Points, &str) -> Column;
    for (name, place, title, claim, of) in [
        ("fig09a", "Figure 9a", "Raw compression ratio, offline probabilities", "e2mc.raw_ratio", raw as Of),
        (
            "fig09b",
            "Figure 9b",
            "Compression ratio in accesses of 32 bytes, offline probabilities",
            "e2mc.mag_ratio",
            at_granularity as Of,
        ),
    ] {
        let mut series = Vec::new();
        for (variant, entry) in IDEAL {
            let column = of(points, variant);
            findings.measures.average(format!("{claim}:{entry}"), &column, Mean::Geometric);
            findings.measures.most(&format!("{claim}.{entry}"), &column, &points.workloads);
            series.push(Series::new(entry, "x", column).ratio());
        }
        findings.figures.push(Figure::new(name, place, title, &points.workloads, series));
    }
    let best = raw(points, IDEAL_16);
    for (entry, other) in [("offline_bdi", "bdi"), ("offline_fpc", "ideal-fpc")] {
        let other = raw(points, other);
        findings.measures.of(format!("e2mc.over_bdi_fpc:{entry}"), less(&best, &other), best.count());
    }
    findings.measures.of("e2mc.over_bdi_fpc.percent", percent(&best, &raw(points, "bdi")), best.count());
}

fn ways(points: &Points, findings: &mut Findings) {
    type Of = fn(&Points, &str) -> Column;
    for (name, place, title, claim, of) in [
        (
            "fig10a",
            "Figure 10a",
            "Raw compression ratio by parallel decoding ways",
            "e2mc.pdw4_raw_loss",
            raw as Of,
        ),
        (
            "fig10b",
            "Figure 10b",
            "Compression ratio in accesses of 32 bytes by parallel decoding ways",
            "e2mc.pdw4_mag_loss",
            at_granularity as Of,
        ),
    ] {
        let (one, four) = (of(points, ONE_WAY), of(points, FOUR_WAYS));
        findings.measures.of(claim, less(&one, &four), one.count());
        findings.measures.of(format!("{claim}.percent"), percent(&four, &one).map(|lost| -lost), one.count());
        let series = WAYS
            .iter()
            .map(|(variant, ways)| Series::new(format!("{ways} ways"), "x", of(points, variant)).ratio());
        findings.figures.push(Figure::new(name, place, title, &points.workloads, series.collect()));
    }
}

fn values(points: &Points, findings: &mut Findings) {
    let of = |variant: &str| raw(points, variant);
    let few = of(IDEAL_16);
    let gains: Vec<Column> = VALUES[1..].iter().map(|(variant, _)| of(variant).added(&few)).collect();
    let best = |place: usize| {
        gains.iter().filter_map(|column| column.0.get(place).copied().flatten()).reduce(f64::max)
    };
    let most = Column((0..points.workloads.len()).map(best).collect());
    let means = VALUES[1..].iter().filter_map(|(variant, _)| percent(&of(variant), &few));
    findings.measures.of("e2mc.mfv", means.reduce(f64::max), few.count());
    let walsh = members(points, &["fastWalshTransform"]);
    findings.measures.mean("e2mc.mfv_fwt", &most.only(&walsh));
    findings.measures.most("e2mc.mfv", &most, &points.workloads);
    findings.measures.of("e2mc.mfv.median", most.median(), most.count());
    let series = VALUES.iter().map(|(variant, values)| {
        Series::new(format!("{values} values"), "x", of(variant).over(&few)).ratio()
    });
    findings.figures.push(Figure::new(
        "fig04a",
        "Figure 4a",
        "Raw compression ratio by the number of frequent values, over that with 1K",
        &points.workloads,
        series.collect(),
    ));
}

fn online(points: &Points, findings: &mut Findings) {
    let variant = ONLINE[0].0;
    let measures = &mut findings.measures;
    let (raw_online, mag_online) = (raw(points, variant), at_granularity(points, variant));
    measures.average("e2mc.online_raw", &raw_online, Mean::Geometric);
    measures.average("e2mc.online_mag", &mag_online, Mean::Geometric);
    // The same accounting for four ways, strictly: lines stay raw until they are written again.
    measures.average("e2mc.online_raw.strict", &raw(points, STRICT), Mean::Geometric);
    measures.average("e2mc.online_mag.strict", &at_granularity(points, STRICT), Mean::Geometric);
    for (entry, other) in [("bdi", "bdi"), ("fpc", "ideal-fpc")] {
        let points_of = |of: fn(&Points, &str) -> Column, online: &Column| less(online, &of(points, other));
        measures.of(
            format!("e2mc.over_bdi_fpc:online_{entry}"),
            points_of(raw, &raw_online),
            raw_online.count(),
        );
        measures.of(
            format!("e2mc.over_bdi_fpc_mag:{entry}"),
            points_of(at_granularity, &mag_online),
            mag_online.count(),
        );
    }
    measures.of(
        "e2mc.over_bdi_fpc_mag.percent",
        percent(&mag_online, &at_granularity(points, "bdi")),
        mag_online.count(),
    );
    measures.of("e2mc.online_loss:raw", less(&raw(points, IDEAL_16), &raw_online), raw_online.count());
    measures.of(
        "e2mc.online_loss:mag",
        less(&at_granularity(points, IDEAL_16), &mag_online),
        mag_online.count(),
    );
    measures.of(
        "e2mc.online_loss.percent",
        percent(&raw_online, &raw(points, IDEAL_16)).map(|lost| -lost),
        raw_online.count(),
    );
    for (name, place, title, of) in [
        (
            "fig11a",
            "Figure 11a",
            "Raw compression ratio, online probabilities",
            raw as fn(&Points, &str) -> Column,
        ),
        (
            "fig11b",
            "Figure 11b",
            "Compression ratio in accesses of 32 bytes, online probabilities",
            at_granularity,
        ),
    ] {
        let series = [("bdi", "bdi"), ("fpc", "ideal-fpc"), ("e2mc16", variant), ("e2mc16, strict", STRICT)];
        let series = series.map(|(name, variant)| Series::new(name, "x", of(points, variant)).ratio());
        findings.figures.push(Figure::new(name, place, title, &points.workloads, series.into()));
    }
    let first = raw(points, SAMPLING[0].0);
    let by_length = SAMPLING.map(|(variant, millions)| (millions, raw(points, variant)));
    let mut best: Option<(f64, f64)> = None;
    for (millions, column) in &by_length {
        if let Some(mean) = geometric(column)
            && best.is_none_or(|(_, other)| mean > other)
        {
            best = Some((*millions, mean));
        }
    }
    findings.measures.of("e2mc.sampling", best.map(|(millions, _)| millions), first.count());
    let series = by_length
        .map(|(millions, column)| Series::new(format!("{millions} M"), "x", column.over(&first)).ratio());
    findings.figures.push(Figure::new(
        "fig04b",
        "Figure 4b",
        "Raw compression ratio by length of sampling (at size large), over that of 1 M thread instructions",
        &points.workloads,
        series.into(),
    ));
}

fn symbol_lengths(points: &Points, findings: &mut Findings) {
    let of: Vec<(&str, Column)> =
        IDEAL[2..].iter().map(|(variant, name)| (*name, raw(points, variant))).collect();
    let mean =
        |name: &str| of.iter().find(|(other, _)| *other == name).and_then(|(_, column)| geometric(column));
    let sixteen = mean("e2mc16");
    let best = sixteen.map(|sixteen| {
        f64::from(u8::from(of.iter().all(|(name, column)| {
            *name == "e2mc16" || geometric(column).is_none_or(|other| other < sixteen)
        })))
    });
    findings.measures.of("e2mc.symbol_order.sixteen_best", best, points.workloads.len());
    let eight_is_best = |place: usize| {
        let value =
            |name: &str| of.iter().find(|(other, _)| *other == name).and_then(|(_, column)| column.0[place]);
        let eight = value("e2mc8")?;
        Some(["e2mc4", "e2mc16", "e2mc32"].iter().all(|name| value(name).is_none_or(|other| other < eight)))
    };
    let three = members(points, &EIGHT_BEST);
    let places = (0..three.len()).filter(|&place| three[place]);
    let found: Vec<bool> = places.filter_map(eight_is_best).collect();
    let count = (!found.is_empty()).then(|| found.iter().filter(|best| **best).count() as f64);
    findings.measures.of("e2mc.symbol_order", count, found.len());
    findings.measures.of("e2mc.symbol_order.eight_best", count, found.len());
    let series = of.into_iter().map(|(name, column)| Series::new(name, "x", column).ratio());
    findings.figures.push(Figure::new(
        "fig03",
        "Figure 3",
        "Raw compression ratio by length of symbols",
        &points.workloads,
        series.collect(),
    ));
}
