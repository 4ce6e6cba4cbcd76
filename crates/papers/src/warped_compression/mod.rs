// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped-Compression (ISCA 2015): the experiments behind its Figures 2, 3, 5 and 8 to 21.

pub mod area;
mod divergence;
mod encodings;
mod energy;
mod gating;
#[cfg(test)]
mod tests;
mod time;
mod values;

use crate::paper::{Findings, Paper, Variant};
use crate::point::Points;

pub const PAPER: Paper = Paper {
    name: "warped-compression",
    title: "Warped-Compression",
    citation: "Lee, Kim, Koo, Jeon, Ro, Annavaram: Warped-Compression: Enabling Power Efficient GPUs through Register Compression, ISCA 2015",
    prefix: "wc.",
    gpu: "gtx480-wc",
    technology: "wc45",
    variants: VARIANTS,
    evaluate,
};

/// Without the technique.
const BASE: &str = "base";
/// As the paper proposes it. Values are looked at on the way, which changes no timing.
const FULL: &str = "wc";
const FULL_LRR: &str = "wc-lrr";
/// Gating without compression: what energy is compared with. The paper's programs leave no bank without a register, so that only compression
/// can switch banks off; where ours do, compression is not to be thanked for it.
const GATING: &str = "gating-only";
const GATING_LRR: &str = "gating-only-lrr";
const COMPRESSION: &str = "compression-only";
/// One encoding each, with its name.
const SINGLE: [(&str, &str); 3] = [("only-4-0", "<4,0>"), ("only-4-1", "<4,1>"), ("only-4-2", "<4,2>")];
/// Latencies of compression and of decompression, in cycles.
const COMPRESS: [(&str, &str); 3] = [(FULL, "2"), ("compress-4", "4"), ("compress-8", "8")];
const DECOMPRESS: [(&str, &str); 4] =
    [(FULL, "1"), ("decompress-2", "2"), ("decompress-4", "4"), ("decompress-8", "8")];
const BOTH_8: &str = "both-8";
const MERGE: &str = "merge";
const THREAD: &str = "thread";
const VALID_LAUNCH: &str = "valid-launch";

const LRR: &[&str] = &["sm.scheduler=lrr"];

const fn variant(
    name: &'static str,
    settings: &'static [&'static str],
    technique: Option<&'static str>,
) -> Variant {
    Variant { name, settings, technique }
}

const VARIANTS: &[Variant] = &[
    variant(BASE, &[], None),
    variant(FULL, &[], Some("warped-compression:observe=on")),
    variant(FULL_LRR, LRR, Some("warped-compression")),
    variant(GATING_LRR, LRR, Some("warped-compression:compression=off")),
    variant(GATING, &[], Some("warped-compression:compression=off")),
    variant(COMPRESSION, &[], Some("warped-compression:gating=off")),
    variant(SINGLE[0].0, &[], Some("warped-compression:encodings=4-0")),
    variant(SINGLE[1].0, &[], Some("warped-compression:encodings=4-1")),
    variant(SINGLE[2].0, &[], Some("warped-compression:encodings=4-2")),
    variant(COMPRESS[1].0, &[], Some("warped-compression:compress_cycles=4")),
    variant(COMPRESS[2].0, &[], Some("warped-compression:compress_cycles=8")),
    variant(DECOMPRESS[1].0, &[], Some("warped-compression:decompress_cycles=2")),
    variant(DECOMPRESS[2].0, &[], Some("warped-compression:decompress_cycles=4")),
    variant(DECOMPRESS[3].0, &[], Some("warped-compression:decompress_cycles=8")),
    variant(BOTH_8, &[], Some("warped-compression:compress_cycles=8,decompress_cycles=8")),
    variant(MERGE, &[], Some("warped-compression:divergent=merge")),
    variant(THREAD, &[], Some("warped-compression:window=thread")),
    variant(VALID_LAUNCH, &[], Some("warped-compression:valid_on=launch")),
];

fn evaluate(points: &Points) -> Findings {
    let mut findings = Findings::default();
    values::evaluate(points, &mut findings);
    energy::evaluate(points, &mut findings);
    gating::evaluate(points, &mut findings);
    divergence::evaluate(points, &mut findings);
    time::evaluate(points, &mut findings);
    encodings::evaluate(points, &mut findings);
    area::evaluate(&mut findings);
    findings.figures.sort_by_key(|figure| (figure.place.is_none(), figure.name));
    findings
}
