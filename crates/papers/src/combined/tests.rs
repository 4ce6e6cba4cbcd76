// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures from points made by hand, with numbers that can be checked by hand; the suite against those of the papers.

use warpwatt_results::{ComponentEnergy, Shares};

use super::*;
use crate::figure::Figure;
use crate::point::{PointEnergy, PointRecord};
use crate::samples;
use crate::suite::suites;

/// A point with these cycles, and dynamic and static joules of registers, of caches and of memory.
fn point(cycles: u64, parts: [(f64, f64); 3]) -> PointRecord {
    let components = ["registers", "caches", "memory"].iter().zip(parts).map(|(name, part)| {
        let (dynamic_j, static_j) = part;
        ComponentEnergy { name: (*name).to_owned(), dynamic_j, static_j, shares: Shares::default() }
    });
    let (dynamic_j, static_j) =
        parts.iter().fold((0.0, 0.0), |(dynamic, statics), part| (dynamic + part.0, statics + part.1));
    PointRecord {
        energy: PointEnergy {
            total_j: dynamic_j + static_j,
            dynamic_j,
            static_j,
            components: components.collect(),
            structures: Vec::new(),
        },
        ..samples::point(cycles)
    }
}

/// Registers 20 + 10, caches 10 + 20, memory 30 + 10: 100 joules in 1000 cycles. Warped-Compression halves the dynamic energy of registers; E2MC takes a
/// third of memory's and a fifth of the time; sleep takes three quarters of the caches' static energy, and divided word lines half of their dynamic energy.
fn points() -> Points {
    let mut points = Points::new(vec!["one".to_owned()]);
    for variant in VARIANTS {
        let on = |name: &str| variant.name.split('+').any(|part| part == name);
        let time = if on("e2mc") { 0.8 } else { 1.0 };
        let register = if on("wc") || on("corfpp") { 10.0 } else { 20.0 };
        let word_lines = if on("dwl") { 5.0 } else { 10.0 };
        let asleep = if on("drowsy") { 5.0 } else { 20.0 };
        let moved = if on("e2mc") { 20.0 } else { 30.0 };
        let parts = [(register, 10.0 * time), (word_lines, asleep * time), (moved, 10.0 * time)];
        points.put(variant.name, "one", point((1000.0 * time) as u64, parts));
    }
    points
}

fn value(figures: &[Figure], figure: &str, series: &str, label: &str) -> f64 {
    let figure = figures.iter().find(|other| other.name == figure).expect(figure);
    let place = figure.labels.iter().position(|other| other == label).expect(label);
    let series = figure.series.iter().find(|other| other.name == series).expect(series);
    (series.values.0[place].expect("a value") * 1e9).round() / 1e9
}

#[test]
fn a_combination_stands_beside_the_sum_of_its_parts() {
    let figures = evaluate(&points()).figures;
    let at = |series: &str, label: &str| value(&figures, "combined-interaction", series, label);
    // Both save static energy of caches: 15 asleep, and 4 by time, of which sleep leaves 1.
    assert_eq!(at("sum of the parts", "e2mc+drowsy"), 18.0 + 15.0);
    assert_eq!(at("saved", "e2mc+drowsy"), 30.0);
    assert_eq!(at("interaction", "e2mc+drowsy"), -3.0);
    assert_eq!(at("interaction: static", "e2mc+drowsy"), -3.0);
    assert_eq!(at("interaction: dynamic", "e2mc+drowsy"), 0.0);
    // Registers and word lines do not meet.
    assert_eq!((at("sum of the parts", "wc+dwl"), at("interaction", "wc+dwl")), (15.0, 0.0));
    let all = "corfpp+e2mc+drowsy+dwl";
    assert_eq!((at("sum of the parts", all), at("interaction", all)), (10.0 + 18.0 + 15.0 + 5.0, -3.0));
    assert_eq!((at("time saved", all), at("time: interaction", all)), (20.0, 0.0));
}

#[test]
fn the_component_where_two_techniques_meet_is_named() {
    let figures = evaluate(&points()).figures;
    let at = |series: &str, component: &str| value(&figures, "combined-components-wc", series, component);
    assert_eq!((at("e2mc alone", "caches"), at("drowsy alone", "caches")), (4.0, 15.0));
    assert_eq!((at("together", "caches"), at("interaction", "caches")), (21.0, -3.0));
    assert_eq!((at("interaction", "registers"), at("interaction", "memory")), (0.0, 0.0));
    assert_eq!(value(&figures, "combined-shared", "caches", "e2mc+drowsy"), 4.0);
    assert_eq!(value(&figures, "combined-shared", "registers", "e2mc+drowsy"), 0.0);
}

#[test]
fn interactions_of_components_add_up_to_that_of_the_whole() {
    let figures = evaluate(&points()).figures;
    for (figure, (name, _)) in ["combined-components-wc", "combined-components-corfpp"].iter().zip(ALL) {
        let sum: f64 = ["registers", "caches", "memory"]
            .map(|component| value(&figures, figure, "interaction", component))
            .iter()
            .sum();
        assert_eq!(sum, value(&figures, "combined-interaction", "interaction", name));
    }
}

#[test]
fn programs_are_in_the_suites_of_most_papers() {
    let suites = suites().expect("they read");
    let papers = ["warped-compression", "corf", "e2mc", "caches"];
    for program in &suites[PAPER.name].programs {
        let of = |paper: &&&str| {
            suites[**paper].programs.iter().any(|other| other.ours.contains(&program.ours[0]))
        };
        assert!(papers.iter().filter(of).count() >= 3, "{}", program.name);
    }
}

#[test]
fn parts_and_combinations_are_the_variants() {
    let names: Vec<_> = VARIANTS.iter().map(|variant| variant.name).collect();
    let mut expected = vec![BASE];
    expected.extend(PARTS);
    expected.extend(COMBINATIONS.map(|(name, _)| name));
    assert_eq!(names, expected);
    for (name, parts) in COMBINATIONS {
        assert_eq!(name, parts.join("+"));
    }
}
