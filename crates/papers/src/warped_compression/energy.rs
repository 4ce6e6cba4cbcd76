// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy of the register file: Figures 9, 14 and 16 to 19. Savings are against a file without compression that is never gated, in every figure;
//! those against gating without compression are alternatives. Figures that vary energies follow from one run each: what is scaled is proportional
//! to what was counted.

use super::{BASE, BASE_LRR, FULL, FULL_LRR, GATING, GATING_LRR, SINGLE};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// Multiples of Table 3 that are tried.
const TIMES: [f64; 4] = [1.0, 1.5, 2.0, 2.5];
/// Shares of wires that move, in percent, and the one that Table 3 is for.
const ACTIVITIES: [f64; 5] = [0.0, 25.0, 50.0, 75.0, 100.0];
const TABLE_3_ACTIVITY: f64 = 50.0;

/// What the register file is made of: the file itself, and the codecs.
const STRUCTURES: [&str; 4] = ["register banks", "register wires", "compressors", "decompressors"];

/// Breakdown of the energy of the register file, in joules.
#[derive(Clone, Copy, Debug)]
struct Parts {
    banks: f64,
    wires: f64,
    compression: f64,
    decompression: f64,
    leakage: f64,
}

/// Multiples of Table 3's energies.
#[derive(Clone, Copy)]
struct Scale {
    codecs: f64,
    /// Banks and wires.
    access: f64,
    wires: f64,
}

const TABLE_3: Scale = Scale { codecs: 1.0, access: 1.0, wires: 1.0 };

impl Parts {
    fn of(point: &PointRecord) -> Parts {
        let [banks, wires, compression, decompression] = STRUCTURES.map(|name| point.dynamic(name));
        let leakage = STRUCTURES.iter().map(|name| point.leakage(name)).sum();
        Parts { banks, wires, compression, decompression, leakage }
    }

    fn access(&self) -> f64 {
        self.banks + self.wires
    }

    fn codecs(&self) -> f64 {
        self.compression + self.decompression
    }

    /// Codecs included: the paper's 35 % is less what they take.
    fn dynamic(&self) -> f64 {
        self.access() + self.codecs()
    }

    fn total(&self, scale: Scale) -> f64 {
        (self.banks + self.wires * scale.wires) * scale.access + self.codecs() * scale.codecs + self.leakage
    }
}

fn part(points: &Points, variant: &str, of: impl Fn(&Parts) -> f64) -> Column {
    points.column(variant, |point| Some(of(&Parts::of(point))))
}

fn total(points: &Points, variant: &str, scale: Scale) -> Column {
    part(points, variant, |parts| parts.total(scale))
}

/// Energy of a variant over that of the baseline.
pub fn relative(points: &Points, variant: &str, base: &str) -> Column {
    total(points, variant, TABLE_3).over(&total(points, base, TABLE_3))
}

/// Leakage of a variant over that of the baseline.
pub fn relative_leakage(points: &Points, variant: &str) -> Column {
    leakage(points, variant).over(&leakage(points, BASE))
}

fn leakage(points: &Points, variant: &str) -> Column {
    part(points, variant, |parts| parts.leakage)
}

/// Leakage in the cycles in which an SM has warps. Without warps no bank holds a register, so that gated banks are off.
fn leakage_with_warps(points: &Points, variant: &str) -> Column {
    let gated = variant != BASE;
    points.column(variant, |point| {
        let busy = over(point.count("sm.active.cycles")?, point.count("sm.cycles.cycles")?)?;
        let [banks, codecs] = [&STRUCTURES[..2], &STRUCTURES[2..]]
            .map(|names| names.iter().map(|name| point.leakage(name)).sum::<f64>());
        Some(banks * if gated { 1.0 } else { busy } + codecs * busy)
    })
}

/// Leakage saved in the cycles in which an SM has warps, in percent.
pub fn leakage_saved_with_warps(points: &Points, variant: &str) -> Column {
    leakage_with_warps(points, variant).saved(&leakage_with_warps(points, BASE))
}

fn percent_saved(relative: &Column) -> Column {
    relative.map(|share| 100.0 * (1.0 - share))
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    split(points, findings);
    schedulers(points, findings);
    encodings(points, findings);
    scaled(points, findings);
}

fn split(points: &Points, findings: &mut Findings) {
    let whole = total(points, BASE, TABLE_3);
    let of = |variant: &str, of: fn(&Parts) -> f64| part(points, variant, of);
    let (dynamic, leaked) = (of(BASE, Parts::dynamic), leakage(points, BASE));
    let full = total(points, FULL, TABLE_3);
    let gating = total(points, GATING, TABLE_3);
    let dynamic_saved = of(FULL, Parts::dynamic).saved(&dynamic);
    let leakage_saved = leakage(points, FULL).saved(&leaked);
    let saved = full.saved(&whole);
    let share = |column: &Column| column.over(&whole).map(|share| 100.0 * share);
    let measures = &mut findings.measures;
    measures.mean("wc.rf_energy", &saved);
    measures.most("wc.rf_energy", &saved, &points.workloads);
    measures.mean("wc.rf_energy.against_gating", &full.saved(&gating));
    measures.mean("wc.rf_energy.gating_only", &gating.saved(&whole));
    let with_warps = |variant: &str| of(variant, Parts::dynamic).plus(&leakage_with_warps(points, variant));
    measures.mean("wc.rf_energy.with_warps", &with_warps(FULL).saved(&with_warps(BASE)));
    measures.mean("wc.rf_energy.baseline_dynamic", &share(&dynamic));
    measures.mean("wc.rf_energy.codecs", &share(&of(FULL, Parts::codecs)));
    measures.mean("wc.rf_dynamic", &dynamic_saved);
    measures.mean("wc.rf_dynamic.without_codecs", &of(FULL, Parts::access).saved(&dynamic));
    measures.mean("wc.rf_leakage", &leakage_saved);
    measures.most("wc.rf_leakage", &leakage_saved, &points.workloads);
    measures.of("wc.rf_leakage.median", leakage_saved.median(), leakage_saved.count());
    measures.mean("wc.rf_leakage.against_gating", &leakage(points, FULL).saved(&leakage(points, GATING)));
    measures.mean("wc.rf_leakage.with_warps", &leakage_saved_with_warps(points, FULL));
    let per_cycle = points.column(BASE, |point| {
        let accesses = point.count("rf.reads.count")? + point.count("rf.writes.count")?;
        over(accesses, point.count("sm.cycles.cycles")?)
    });
    measures.mean("wc.rf_energy.accesses_per_cycle", &per_cycle);
    let occupied = points.column(BASE, |point| {
        Some(100.0 * over(point.count("sm.active.cycles")?, point.count("sm.cycles.cycles")?)?)
    });
    measures.mean("wc.rf_energy.occupied", &occupied);
    let stack = |name: &str, column: Column| Series::new(name, "%", share(&column));
    findings.figures.push(Figure::new(
        "fig09",
        "Figure 9",
        "Energy of the register file, in percent of that without the technique",
        &points.workloads,
        vec![
            stack("without: dynamic", dynamic),
            stack("without: leakage", leaked),
            stack("gating alone: dynamic", of(GATING, Parts::access)),
            stack("gating alone: leakage", of(GATING, |parts| parts.leakage)),
            stack("with: dynamic", of(FULL, Parts::access)),
            stack("with: leakage", of(FULL, |parts| parts.leakage)),
            stack("with: compression", of(FULL, |parts| parts.compression)),
            stack("with: decompression", of(FULL, |parts| parts.decompression)),
            Series::new("saved", "%", saved).claimed("wc.rf_energy"),
            Series::new("dynamic energy saved", "%", dynamic_saved).claimed("wc.rf_dynamic"),
            Series::new("leakage saved", "%", leakage_saved).claimed("wc.rf_leakage"),
        ],
    ));
}

fn schedulers(points: &Points, findings: &mut Findings) {
    let gto = relative(points, FULL, BASE);
    let lrr = relative(points, FULL_LRR, BASE_LRR);
    let saved = percent_saved(&lrr);
    let id = "wc.rf_energy_lrr";
    findings.measures.mean(id, &saved);
    for (name, base) in [("against_gating", GATING_LRR), ("against_gto", BASE)] {
        let column = percent_saved(&relative(points, FULL_LRR, base));
        findings.measures.mean(format!("{id}.{name}"), &column);
    }
    findings.figures.push(Figure::new(
        "fig14",
        "Figure 14",
        "Energy of the register file by scheduler, over that without the technique under the same one",
        &points.workloads,
        vec![
            Series::new("GTO", "x", gto.clone()).ratio(),
            Series::new("LRR", "x", lrr).ratio(),
            Series::new("saved under GTO", "%", percent_saved(&gto)).claimed("wc.rf_energy"),
            Series::new("saved under LRR", "%", saved).claimed(id),
        ],
    ));
}

fn encodings(points: &Points, findings: &mut Findings) {
    let each = SINGLE.iter().chain([&(FULL, "all")]);
    let series =
        each.clone().map(|(variant, name)| Series::new(*name, "x", relative(points, variant, BASE)).ratio());
    let dynamic = each.map(|(variant, name)| {
        let with = part(points, variant, Parts::dynamic);
        let without = part(points, BASE, Parts::dynamic);
        Series::new(format!("{name}, dynamic"), "x", with.over(&without)).ratio()
    });
    let series = series.chain(dynamic).collect();
    findings.figures.push(Figure::new(
        "fig16",
        "Figure 16",
        "Energy of the register file with one encoding, over that without the technique",
        &points.workloads,
        series,
    ));
}

fn scaled(points: &Points, findings: &mut Findings) {
    let against = |base: &str, scale: Scale| total(points, FULL, scale).saved(&total(points, base, scale));
    let saved = |scale: Scale| against(BASE, scale);
    let series = |label: String, scale: Scale, claim: Option<&'static str>| {
        let left = total(points, FULL, scale).over(&total(points, BASE, scale));
        let saved = Series::new(format!("{label}: saved"), "%", saved(scale));
        let saved = match claim {
            Some(claim) => saved.claimed(claim),
            None => saved,
        };
        [Series::new(label, "x", left).ratio(), saved]
    };
    let last = |times: f64, claim: &'static str| (times == TIMES[TIMES.len() - 1]).then_some(claim);

    let codecs = |times: f64| Scale { codecs: times, ..TABLE_3 };
    let access = |times: f64| Scale { access: times, ..TABLE_3 };
    let wires = |activity: f64| Scale { wires: activity / TABLE_3_ACTIVITY, ..TABLE_3 };
    let mut add = |name, place, title, series: Vec<[Series; 2]>| {
        findings.figures.push(Figure::new(
            name,
            place,
            title,
            &points.workloads,
            series.into_iter().flatten().collect(),
        ));
    };
    add(
        "fig17",
        "Figure 17",
        "Energy of the register file with costlier compression and decompression, relative to the baseline",
        TIMES
            .map(|times| series(format!("{times} x"), codecs(times), last(times, "wc.rf_energy_codec_2_5x")))
            .into(),
    );
    add(
        "fig18",
        "Figure 18",
        "Energy of the register file with costlier accesses, relative to the baseline",
        TIMES
            .map(|times| series(format!("{times} x"), access(times), last(times, "wc.rf_energy_access_2_5x")))
            .into(),
    );
    add(
        "fig19",
        "Figure 19",
        "Energy of the register file by the activity of wires, relative to the baseline",
        ACTIVITIES
            .map(|activity| {
                let claim = (activity == 100.0).then_some("wc.rf_energy_wire_100");
                series(format!("{activity} %"), wires(activity), claim)
            })
            .into(),
    );
    let measures = &mut findings.measures;
    for (id, scale) in [
        ("wc.rf_energy_codec_2_5x", codecs(2.5)),
        ("wc.rf_energy_access_2_5x", access(2.5)),
        ("wc.rf_energy_wire_100", wires(100.0)),
    ] {
        measures.mean(id, &saved(scale));
        measures.mean(format!("{id}.against_gating"), &against(GATING, scale));
    }
    measures.mean("wc.rf_energy_wire_100.none", &saved(wires(0.0)));
}
