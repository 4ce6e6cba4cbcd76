// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drowsy and divided-word-line caches (thesis): the experiments behind its Figures 3-1 to 3-5 and 4-1 to 4-3, and Table 3-1.

mod blocks;
mod cache;
mod regions;
mod savings;
mod shares;
#[cfg(test)]
mod tests;

use crate::paper::{Findings, Paper, Variant};
use crate::point::Points;

pub const PAPER: Paper = Paper {
    name: "caches",
    title: "Drowsy and divided-word-line caches",
    citation: "Power optimization of GPGPU caches by coarse-grained drowsy regions and divided word lines, a thesis (GPGPU-Sim 3.2.1, GTX 480)",
    prefixes: &["cache."],
    gpu: "gtx480-thesis",
    technology: "thesis32",
    variants: VARIANTS,
    evaluate,
};

/// All caches on all the time. Blocks are profiled on the way, which changes nothing.
const BASE: &str = "base";
/// Regions of so many blocks, the instruction cache left on; the same with it.
const REGIONS: [(&str, &str, u32); 6] = [
    ("region-1", "icache-region-1", 1),
    ("region-2", "icache-region-2", 2),
    ("region-4", "icache-region-4", 4),
    ("region-8", "icache-region-8", 8),
    ("region-16", "icache-region-16", 16),
    ("region-32", "icache-region-32", 32),
];
/// A wake-up of one cycle, at the smallest and the largest region, and at 16 with the instruction cache.
const WAKE_1: &str = "region-1-wake-1";
const WAKE_1_LARGE: &str = "region-32-wake-1";
const WAKE_1_ICACHE: &str = "icache-region-16-wake-1";
/// Everything sleeps after its access, as in the earlier work.
const IMMEDIATE: &str = "immediate";
const WAY_MAJOR: &str = "way-major";
const LOOK_AHEAD: &str = "look-ahead";
/// One cache sleeps, all others are on.
const ALONE: [(&str, &str); 5] = [
    ("l1d-alone", "l1d"),
    ("l2-alone", "l2"),
    ("constant-alone", "constant"),
    ("texture-alone", "texture"),
    ("shared-alone", "shared"),
];
const ACTIVE_8: (&str, &str) = ("base-active-8", "region-1-active-8");
/// Other voltages of sleep.
const VOLTS: [(&str, &str); 2] = [("region-1-200mv", "0.2 V"), ("region-1-300mv", "0.3 V")];
const LANES: &str = "dwl";
const BYTES: &str = "dwl-bytes";
const BOTH: &str = "drowsy-dwl";
/// What the thesis argues against, and what it names as future work.
const GATED: &str = "gated";
const FILTER: &str = "filter-cache";
const FILTER_DROWSY: &str = "filter-cache-drowsy";

/// A quarter of the SMs, so that each has four times as many thread blocks: without sleep and with regions of one block.
const FOUR_SMS: [&str; 2] = ["base-4-sms", "region-1-4-sms"];
const FOUR: &[&str] = &["gpu.sms=4"];

const EIGHT: &[&str] = &["sm.active_warps=8"];

const VARIANTS: &[Variant] = &[
    Variant::new(BASE).with(&["block-profile"]),
    Variant::new(REGIONS[0].0).with(&["drowsy"]),
    Variant::new(REGIONS[1].0).with(&["drowsy:region=2"]),
    Variant::new(REGIONS[2].0).with(&["drowsy:region=4"]),
    Variant::new(REGIONS[3].0).with(&["drowsy:region=8"]),
    Variant::new(REGIONS[4].0).with(&["drowsy:region=16"]),
    Variant::new(REGIONS[5].0).with(&["drowsy:region=32"]),
    Variant::new(REGIONS[0].1).with(&["drowsy:instruction=on"]),
    Variant::new(REGIONS[1].1).with(&["drowsy:region=2,instruction=on"]),
    Variant::new(REGIONS[2].1).with(&["drowsy:region=4,instruction=on"]),
    Variant::new(REGIONS[3].1).with(&["drowsy:region=8,instruction=on"]),
    Variant::new(REGIONS[4].1).with(&["drowsy:region=16,instruction=on"]),
    Variant::new(REGIONS[5].1).with(&["drowsy:region=32,instruction=on"]),
    Variant::new(WAKE_1).with(&["drowsy:wake_cycles=1"]),
    Variant::new(WAKE_1_LARGE).with(&["drowsy:region=32,wake_cycles=1"]),
    Variant::new(IMMEDIATE).with(&["drowsy:policy=immediate"]),
    Variant::new(LANES).with(&["dwl"]),
    Variant::new(BYTES).with(&["dwl:mask=bytes"]),
    Variant::new(BOTH).with(&["drowsy", "dwl"]),
    Variant::new(WAKE_1_ICACHE).with(&["drowsy:region=16,wake_cycles=1,instruction=on"]).first_seed(),
    Variant::new(ALONE[0].0).with(&["drowsy:l2=off,constant=off,texture=off,shared=off"]).first_seed(),
    Variant::new(ALONE[1].0).with(&["drowsy:l1d=off,constant=off,texture=off,shared=off"]).first_seed(),
    Variant::new(ALONE[2].0).with(&["drowsy:l1d=off,l2=off,texture=off,shared=off"]).first_seed(),
    Variant::new(ALONE[3].0).with(&["drowsy:l1d=off,l2=off,constant=off,shared=off"]).first_seed(),
    Variant::new(ALONE[4].0).with(&["drowsy:l1d=off,l2=off,constant=off,texture=off"]).first_seed(),
    Variant::new(WAY_MAJOR).with(&["drowsy:index=way-major"]).first_seed(),
    Variant::new(LOOK_AHEAD).with(&["drowsy:look_ahead=2"]).first_seed(),
    Variant::new(ACTIVE_8.0).set(EIGHT).first_seed(),
    Variant::new(ACTIVE_8.1).set(EIGHT).with(&["drowsy"]).first_seed(),
    Variant::new(FOUR_SMS[0]).set(FOUR).with(&["block-profile"]).first_seed(),
    Variant::new(FOUR_SMS[1]).set(FOUR).with(&["drowsy"]).first_seed(),
    Variant::new(VOLTS[0].0).with(&["drowsy:millivolts=200"]).first_seed(),
    Variant::new(VOLTS[1].0).with(&["drowsy:millivolts=300"]).first_seed(),
    Variant::new(GATED).with(&["gated"]).first_seed(),
    Variant::new(FILTER).with(&["filter-cache"]).first_seed(),
    Variant::new(FILTER_DROWSY).with(&["drowsy", "filter-cache"]).first_seed(),
];

fn evaluate(points: &Points) -> Findings {
    let mut findings = Findings::default();
    shares::evaluate(points, &mut findings);
    blocks::evaluate(points, &mut findings);
    regions::evaluate(points, &mut findings);
    savings::evaluate(points, &mut findings);
    findings.figures.sort_by_key(|figure| (figure.place.is_none(), figure.name));
    findings
}
