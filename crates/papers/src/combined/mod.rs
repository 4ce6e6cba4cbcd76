// SPDX-License-Identifier: MIT OR Apache-2.0
//! Techniques of all papers together, which no paper has: Warped-Compression or CORF++ in the register file, E2MC at the memory controllers, drowsy and
//! divided-word-line caches. Each alone, in pairs and all together, against the baseline and against the sum of the parts.
//!
//! The sum of the parts is what would be saved if techniques were independent. What is saved together differs by the **interaction**, which has two causes
//! that the figures distinguish. Two techniques can lower the energy of the same component, where the joules that one saves are gone when the other
//! acts; and a technique that changes the execution time changes the static energy of every component, on which the others act as well.

mod components;
#[cfg(test)]
mod tests;
mod whole;

use crate::paper::{Findings, Paper, Variant};
use crate::point::Points;

pub const PAPER: Paper = Paper {
    name: "combined",
    title: "All techniques together",
    citation: "An experiment of ours with the techniques of the four papers: the GPU is CORF's with the memory controllers of E2MC's",
    prefixes: &[],
    gpu: "gtx480-combined",
    technology: "combined-40nm",
    variants: VARIANTS,
    evaluate,
};

/// None of the techniques.
const BASE: &str = "base";
/// Each technique alone.
const PARTS: [&str; 5] = ["wc", "corfpp", "e2mc", "drowsy", "dwl"];
/// Combinations with their parts: all pairs that do not exclude each other, then all together with either technique of the register file.
const COMBINATIONS: [(&str, &[&str]); 11] = [
    ("wc+e2mc", &["wc", "e2mc"]),
    ("wc+drowsy", &["wc", "drowsy"]),
    ("wc+dwl", &["wc", "dwl"]),
    ("corfpp+e2mc", &["corfpp", "e2mc"]),
    ("corfpp+drowsy", &["corfpp", "drowsy"]),
    ("corfpp+dwl", &["corfpp", "dwl"]),
    ("e2mc+drowsy", &["e2mc", "drowsy"]),
    ("e2mc+dwl", &["e2mc", "dwl"]),
    ("drowsy+dwl", &["drowsy", "dwl"]),
    ALL[0],
    ALL[1],
];
const ALL: [(&str, &[&str]); 2] = [
    ("wc+e2mc+drowsy+dwl", &["wc", "e2mc", "drowsy", "dwl"]),
    ("corfpp+e2mc+drowsy+dwl", &["corfpp", "e2mc", "drowsy", "dwl"]),
];

const WC: &str = "warped-compression";
const CORFPP: &str = "corf++";
const E2MC: &str = "e2mc";
const DROWSY: &str = "drowsy";
const DWL: &str = "dwl";

const VARIANTS: &[Variant] = &[
    Variant::new(BASE),
    Variant::new(PARTS[0]).with(&[WC]),
    Variant::new(PARTS[1]).with(&[CORFPP]),
    Variant::new(PARTS[2]).with(&[E2MC]),
    Variant::new(PARTS[3]).with(&[DROWSY]),
    Variant::new(PARTS[4]).with(&[DWL]),
    Variant::new(COMBINATIONS[0].0).with(&[WC, E2MC]),
    Variant::new(COMBINATIONS[1].0).with(&[WC, DROWSY]),
    Variant::new(COMBINATIONS[2].0).with(&[WC, DWL]),
    Variant::new(COMBINATIONS[3].0).with(&[CORFPP, E2MC]),
    Variant::new(COMBINATIONS[4].0).with(&[CORFPP, DROWSY]),
    Variant::new(COMBINATIONS[5].0).with(&[CORFPP, DWL]),
    Variant::new(COMBINATIONS[6].0).with(&[E2MC, DROWSY]),
    Variant::new(COMBINATIONS[7].0).with(&[E2MC, DWL]),
    Variant::new(COMBINATIONS[8].0).with(&[DROWSY, DWL]),
    Variant::new(ALL[0].0).with(&[WC, E2MC, DROWSY, DWL]),
    Variant::new(ALL[1].0).with(&[CORFPP, E2MC, DROWSY, DWL]),
];

fn evaluate(points: &Points) -> Findings {
    let mut findings = Findings::default();
    whole::evaluate(points, &mut findings);
    components::evaluate(points, &mut findings);
    findings
}
