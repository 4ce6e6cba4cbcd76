// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy and time of the whole GPU: by workload, and of every combination beside the sum of its parts.

use super::{BASE, COMBINATIONS, PARTS};
use crate::figure::{Figure, Series};
use crate::measure::Column;
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// What a combination and its parts change of a quantity, each as a share of `whole` of the baseline, in percent. Positive is saved.
pub struct Changes {
    pub together: Column,
    pub sum: Column,
}

impl Changes {
    pub fn of(
        points: &Points,
        variant: &str,
        parts: &[&str],
        quantity: impl Fn(&PointRecord) -> Option<f64>,
        whole: impl Fn(&PointRecord) -> Option<f64>,
    ) -> Changes {
        let whole = points.column(BASE, whole);
        let base = points.column(BASE, &quantity);
        let saved = |variant: &str| {
            let saved = base.with(&points.column(variant, &quantity), |base, with| Some(base - with));
            saved.over(&whole).map(|share| 100.0 * share)
        };
        let nothing = base.map(|_| 0.0);
        let sum = parts.iter().fold(nothing, |sum, part| sum.plus(&saved(part)));
        Changes { together: saved(variant), sum }
    }

    /// What is saved together beyond the sum of the parts.
    pub fn interaction(&self) -> Column {
        self.together.with(&self.sum, |together, sum| Some(together - sum))
    }
}

pub fn total(point: &PointRecord) -> Option<f64> {
    Some(point.energy.total_j)
}

fn dynamic(point: &PointRecord) -> Option<f64> {
    Some(point.energy.dynamic_j)
}

fn statics(point: &PointRecord) -> Option<f64> {
    Some(point.energy.static_j)
}

fn cycles(point: &PointRecord) -> Option<f64> {
    Some(point.cycles as f64)
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let names = || PARTS.into_iter().chain(COMBINATIONS.map(|(name, _)| name));
    for (figure, title, quantity) in [
        ("combined-energy", "Energy of the whole GPU saved, by workload", total as fn(&_) -> _),
        ("combined-time", "Execution time saved, by workload", cycles),
    ] {
        let base = points.column(BASE, quantity);
        let series = names().map(|name| {
            let saved = points.column(name, quantity).saved(&base);
            findings.measures.mean(format!("{figure}.{name}"), &saved);
            Series::new(name, "%", saved)
        });
        let series = series.collect();
        findings.figures.push(Figure::new(figure, "", title, &points.workloads, series));
    }
    sums(points, findings);
}

/// Every combination beside the sum of its parts, in the mean over workloads.
fn sums(points: &Points, findings: &mut Findings) {
    let changes = |quantity: fn(&PointRecord) -> Option<f64>, whole: fn(&PointRecord) -> Option<f64>| {
        COMBINATIONS.map(|(name, parts)| Changes::of(points, name, parts, quantity, whole))
    };
    let (energy, time) = (changes(total, total), changes(cycles, cycles));
    let (by_events, by_time) = (changes(dynamic, total), changes(statics, total));
    // Static energy of the baseline goes with time: what time saves beyond the sum of the parts, it saves of that.
    let share = points.column(BASE, statics).over(&points.column(BASE, total));
    let mean = |columns: Vec<Column>| Column(columns.iter().map(Column::mean).collect());
    let of = |changes: &[Changes; 11], take: fn(&Changes) -> Column| mean(changes.iter().map(take).collect());
    let explained = time
        .iter()
        .map(|changes| changes.interaction().with(&share, |saved, share| Some(saved * share)))
        .collect();
    let together: fn(&Changes) -> Column = |changes| changes.together.clone();
    let sum: fn(&Changes) -> Column = |changes| changes.sum.clone();
    let series = vec![
        Series::new("saved", "%", of(&energy, together)),
        Series::new("sum of the parts", "%", of(&energy, sum)),
        Series::new("interaction", "%", of(&energy, Changes::interaction)),
        Series::new("interaction: dynamic", "%", of(&by_events, Changes::interaction)),
        Series::new("interaction: static", "%", of(&by_time, Changes::interaction)),
        Series::new("interaction: by time", "%", mean(explained)),
        Series::new("time saved", "%", of(&time, together)),
        Series::new("time: sum", "%", of(&time, sum)),
        Series::new("time: interaction", "%", of(&time, Changes::interaction)),
    ];
    for ((name, _), changes) in COMBINATIONS.iter().zip(&energy) {
        findings.measures.mean(format!("combined-interaction.{name}"), &changes.interaction());
    }
    findings.figures.push(Figure {
        name: "combined-interaction",
        place: None,
        title: "Combinations and the sums of their parts, of the baseline's energy and time, means over workloads",
        axis: "combination",
        labels: COMBINATIONS.map(|(name, _)| name.to_owned()).into(),
        series,
    });
}
