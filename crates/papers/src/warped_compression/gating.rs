// SPDX-License-Identifier: MIT OR Apache-2.0
//! Banks that are off: Figure 10, and which mechanism saves how much of the leakage.

use super::{BASE, COMPRESSION, FULL, GATING, VALID_LAUNCH, energy};
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::Points;

const BANKS: usize = 32;
/// Banks that a register lies across.
const CLUSTER: usize = 8;
/// Places of a cluster whose banks are filled together, because encodings take 1, 3, 5 or 8 banks.
const STEPS: [std::ops::Range<usize>; 4] = [0..1, 1..3, 3..5, 5..8];

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let profile = profile(points, FULL);
    let workloads = off(points, FULL, 0).count();
    let rise = profile.as_ref().map(|profile| {
        let clusters = profile.chunks_exact(CLUSTER);
        clusters.map(|cluster| cluster[CLUSTER - 1] - cluster[0]).sum::<f64>() / (BANKS / CLUSTER) as f64
    });
    let stairs = profile.as_ref().map(|profile| stairs(profile));
    // Without warps all banks are off, which changes no difference between banks but the time that it is divided by.
    let busy =
        points.column(FULL, |point| over(point.count("sm.active.cycles")?, point.count("sm.cycles.cycles")?));
    let last = |bank: usize| off(points, FULL, bank).over(&busy);
    let rise_with_warps = rise.and_then(|_| {
        let rises = (0..BANKS / CLUSTER).map(|cluster| {
            let first = last(cluster * CLUSTER).mean()?;
            Some(last(cluster * CLUSTER + CLUSTER - 1).mean()? - first)
        });
        Some(rises.sum::<Option<f64>>()? / (BANKS / CLUSTER) as f64)
    });
    let measures = &mut findings.measures;
    measures.of("wc.gated_profile", rise, workloads);
    measures.of("wc.gated_profile.with_warps", rise_with_warps, workloads);
    measures.of("wc.gated_profile.falls", stairs.map(|(falls, _)| falls as f64), workloads);
    measures.of("wc.gated_profile.uneven", stairs.map(|(_, uneven)| uneven as f64), workloads);
    let mean = |profile: &Vec<f64>| profile.iter().sum::<f64>() / BANKS as f64;
    measures.of("wc.gated_profile.mean", profile.as_ref().map(mean), workloads);
    let alone = self::profile(points, GATING);
    measures.of("wc.gated_profile.gating_only", alone.as_ref().map(mean), workloads);

    let column = |profile: Option<Vec<f64>>| {
        Column(match profile {
            Some(profile) => profile.into_iter().map(Some).collect(),
            None => vec![None; BANKS],
        })
    };
    findings.figures.push(Figure {
        name: "fig10",
        place: Some("Figure 10"),
        title: "Time that each bank is off, mean of the workloads",
        axis: "bank",
        labels: (0..BANKS).map(|bank| bank.to_string()).collect(),
        series: vec![
            Series::new("with compression", "%", column(profile)),
            Series::new("gating alone", "%", column(alone)),
        ],
    });
    leakage(points, findings);
}

/// Time that a bank is off, in percent.
fn off(points: &Points, variant: &str, bank: usize) -> Column {
    points.column(variant, |point| {
        Some(100.0 * over(point.bucket("rf.gated.histogram", bank)?, point.count("sm.cycles.cycles")?)?)
    })
}

/// Time that each bank is off, in percent, as the mean over the workloads.
fn profile(points: &Points, variant: &str) -> Option<Vec<f64>> {
    (0..BANKS).map(|bank| off(points, variant, bank).mean()).collect()
}

/// How often a bank is off for less time than the one before it, and how often banks that are filled together are not off together.
fn stairs(profile: &[f64]) -> (usize, usize) {
    let equal = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(other.abs());
    let (mut falls, mut uneven) = (0, 0);
    for cluster in profile.chunks_exact(CLUSTER) {
        for step in STEPS {
            uneven +=
                step.clone().skip(1).filter(|place| !equal(cluster[place - 1], cluster[*place])).count();
        }
        for place in 1..CLUSTER {
            let (before, here) = (cluster[place - 1], cluster[place]);
            falls += usize::from(here < before && !equal(before, here));
        }
    }
    (falls, uneven)
}

fn leakage(points: &Points, findings: &mut Findings) {
    let variants = [
        (BASE, "none"),
        (COMPRESSION, "compression without gating"),
        (GATING, "gating without compression"),
        (FULL, "both"),
        (VALID_LAUNCH, "both, entries valid from launch on"),
    ];
    let left = |variant: &str| energy::relative_leakage(points, variant);
    let saved = |variant: &str| left(variant).map(|share| 100.0 * (1.0 - share));
    for (name, variant) in
        [("gating_only", GATING), ("no_gating", COMPRESSION), ("valid_launch", VALID_LAUNCH)]
    {
        findings.measures.mean(format!("wc.rf_leakage.{name}"), &saved(variant));
    }
    let alone = energy::leakage_saved_with_warps(points, GATING);
    findings.measures.mean("wc.rf_leakage.gating_with_warps", &alone);
    let series = variants.iter().map(|(variant, name)| Series::new(*name, "x", left(variant)).ratio());
    let gated = variants[2..].iter().map(|(variant, name)| {
        let time = points.column(variant, |point| {
            let all = BANKS as f64 * point.count("sm.cycles.cycles")?;
            Some(100.0 * over(point.count("rf.gated.cycles")?, all)?)
        });
        Series::new(format!("{name}: time that banks are off"), "%", time)
    });
    findings.figures.push(Figure::new(
        "gating",
        "",
        "Leakage of the register file over that without the technique",
        &points.workloads,
        series
            .chain(gated)
            .chain([(GATING, "gating without compression"), (FULL, "both")].map(|(variant, name)| {
                let saved = energy::leakage_saved_with_warps(points, variant);
                Series::new(format!("{name}: leakage saved in cycles with warps"), "%", saved)
            }))
            .collect(),
    ));
}

#[cfg(test)]
mod tests {
    use super::stairs;

    #[test]
    fn stairs_rise_and_their_steps_are_even() {
        let good = [1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0].repeat(4);
        assert_eq!(stairs(&good), (0, 0));
        let mut falling = good.clone();
        falling[3] = 1.5;
        assert_eq!(stairs(&falling), (1, 1), "bank 3 is off for less than bank 2, and not as long as bank 4");
        let mut uneven = good.clone();
        (uneven[15], uneven[31]) = (4.0, 2.5);
        assert_eq!(stairs(&uneven), (1, 2));
        // From one cluster to the next there is nothing to compare.
        assert_eq!(stairs(&[0.0; 32]), (0, 0));
    }
}
