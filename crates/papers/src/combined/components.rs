// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interaction of techniques: what each saves of every component, alone and together, and the joules that two of them count as saved.

use super::whole::{Changes, total};
use super::{ALL, BASE, COMBINATIONS, PARTS};
use crate::figure::{Figure, Series};
use crate::measure::Column;
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

/// Figures with the components of everything together, by combination.
const FIGURES: [(&str, &str); 2] = [
    ("combined-components-wc", "Energy saved by component, Warped-Compression with the others"),
    ("combined-components-corfpp", "Energy saved by component, CORF++ with the others"),
];

fn component<'a>(name: &'a str) -> impl Fn(&PointRecord) -> Option<f64> + 'a {
    move |point| {
        let parts = point.energy.components.iter().filter(|part| part.name == name);
        Some(parts.map(|part| part.dynamic_j + part.static_j).sum())
    }
}

/// All components, in the order of the technology, with those that only techniques have.
fn components(points: &Points) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let variants = [BASE].into_iter().chain(PARTS);
    for variant in variants {
        for workload in &points.workloads {
            let parts = points.get(variant, workload).map(|point| point.energy.components.as_slice());
            for part in parts.unwrap_or_default() {
                if !names.contains(&part.name) {
                    names.push(part.name.clone());
                }
            }
        }
    }
    names
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let components = components(points);
    let changes =
        |name: &str, parts: &[&str], of: &str| Changes::of(points, name, parts, component(of), total);
    for ((figure, title), (name, parts)) in FIGURES.into_iter().zip(ALL) {
        let by_component = |of: &dyn Fn(&str) -> Option<f64>| {
            Column(components.iter().map(|component| of(component)).collect())
        };
        let mut series: Vec<_> = parts
            .iter()
            .map(|part| {
                let saved = by_component(&|component| changes(part, &[], component).together.mean());
                Series::new(format!("{part} alone"), "%", saved)
            })
            .collect();
        series.push(Series::new(
            "sum of the parts",
            "%",
            by_component(&|component| changes(name, parts, component).sum.mean()),
        ));
        series.push(Series::new(
            "together",
            "%",
            by_component(&|component| changes(name, parts, component).together.mean()),
        ));
        series.push(Series::new(
            "interaction",
            "%",
            by_component(&|component| changes(name, parts, component).interaction().mean()),
        ));
        findings.figures.push(Figure {
            name: figure,
            place: None,
            title,
            axis: "component",
            labels: components.clone(),
            series,
        });
    }
    shared(points, &components, findings);
}

/// For every pair, what both techniques save of the same component by themselves: joules that the sum of the parts counts twice at most.
fn shared(points: &Points, components: &[String], findings: &mut Findings) {
    let pairs: Vec<_> = COMBINATIONS.iter().filter(|(_, parts)| parts.len() == 2).collect();
    let twice = |parts: &[&str], of: &str| {
        let saved = |part: &str| Changes::of(points, part, &[], component(of), total).together;
        saved(parts[0]).with(&saved(parts[1]), |one, other| Some(one.min(other).max(0.0)))
    };
    let series = components.iter().map(|component| {
        let values = pairs.iter().map(|(_, parts)| twice(parts, component).mean());
        Series::new(component.clone(), "%", Column(values.collect()))
    });
    let series = series.collect();
    findings.figures.push(Figure {
        name: "combined-shared",
        place: None,
        title: "Energy that each of two techniques saves in the same component when used alone, of the baseline's energy",
        axis: "combination",
        labels: pairs.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series,
    });
}
