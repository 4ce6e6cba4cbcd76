// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped-Compression (ISCA 2015): the experiments behind its Figures 2, 3, 5 and 8 to 21.

pub mod area;
mod causes;
mod divergence;
mod encodings;
mod energy;
mod gating;
mod phase;
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
    prefixes: &["wc."],
    gpu: "gtx480-wc",
    technology: "wc45",
    variants: VARIANTS,
    evaluate,
};

/// Without the technique: a register file that is never gated, which energy is compared with.
const BASE: &str = "base";
const BASE_LRR: &str = "base-lrr";
/// As the paper proposes it. Values are also observed, which does not affect timing.
const FULL: &str = "wc";
const FULL_LRR: &str = "wc-lrr";
/// Gating without compression: shows what compression itself adds.
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
/// Short branches stay branches.
const BRANCHES: &str = "no-predication";
/// Without the time that one mechanism takes, with its name.
const WITHOUT: [(&str, &str); 4] = [
    ("no-compress-time", "compression"),
    ("no-decompress-time", "decompression"),
    ("no-wake-time", "wakeup"),
    ("no-movs", "movs"),
];
/// With at most so many blocks on an SM: without and with the technique, and how many.
const FEW_BLOCKS: [(&str, &str, &str); 2] =
    [("base-ctas-1", "wc-ctas-1", "1"), ("base-ctas-2", "wc-ctas-2", "2")];

const LRR: &[&str] = &["sm.scheduler=lrr"];
const ONE_BLOCK: &[&str] = &["sm.ctas=1"];
const TWO_BLOCKS: &[&str] = &["sm.ctas=2"];
const GATED: &[&str] = &["warped-compression:compression=off"];
const WHOLE: &[&str] = &["warped-compression"];

const VARIANTS: &[Variant] = &[
    Variant::new(BASE),
    Variant::new(FULL).with(&["warped-compression:observe=on"]),
    Variant::new(BASE_LRR).set(LRR),
    Variant::new(FULL_LRR).set(LRR).with(WHOLE),
    Variant::new(GATING).with(GATED),
    Variant::new(GATING_LRR).set(LRR).with(GATED),
    Variant::new(SINGLE[0].0).with(&["warped-compression:encodings=4-0"]),
    Variant::new(COMPRESS[2].0).with(&["warped-compression:compress_cycles=8"]),
    Variant::new(DECOMPRESS[3].0).with(&["warped-compression:decompress_cycles=8"]),
    Variant::new(BOTH_8).with(&["warped-compression:compress_cycles=8,decompress_cycles=8"]),
    Variant::new(VALID_LAUNCH).with(&["warped-compression:valid_on=launch"]),
    Variant::new(COMPRESSION).with(&["warped-compression:gating=off"]).first_seed(),
    Variant::new(SINGLE[1].0).with(&["warped-compression:encodings=4-1"]).first_seed(),
    Variant::new(SINGLE[2].0).with(&["warped-compression:encodings=4-2"]).first_seed(),
    Variant::new(COMPRESS[1].0).with(&["warped-compression:compress_cycles=4"]).first_seed(),
    Variant::new(DECOMPRESS[1].0).with(&["warped-compression:decompress_cycles=2"]).first_seed(),
    Variant::new(DECOMPRESS[2].0).with(&["warped-compression:decompress_cycles=4"]).first_seed(),
    Variant::new(MERGE).with(&["warped-compression:divergent=merge"]).first_seed(),
    Variant::new(THREAD).with(&["warped-compression:window=thread"]).first_seed(),
    Variant::new(BRANCHES).with(WHOLE).without_predication().first_seed(),
    Variant::new(WITHOUT[0].0).with(&["warped-compression:compress_cycles=0"]).first_seed(),
    Variant::new(WITHOUT[1].0).with(&["warped-compression:decompress_cycles=0"]).first_seed(),
    Variant::new(WITHOUT[2].0).with(&["warped-compression:wake_cycles=0"]).first_seed(),
    Variant::new(WITHOUT[3].0).with(&["warped-compression:mov=off"]).first_seed(),
    Variant::new(FEW_BLOCKS[0].0).set(ONE_BLOCK).first_seed(),
    Variant::new(FEW_BLOCKS[0].1).set(ONE_BLOCK).with(WHOLE).first_seed(),
    Variant::new(FEW_BLOCKS[1].0).set(TWO_BLOCKS).first_seed(),
    Variant::new(FEW_BLOCKS[1].1).set(TWO_BLOCKS).with(WHOLE).first_seed(),
];

fn evaluate(points: &Points) -> Findings {
    let mut findings = Findings::default();
    values::evaluate(points, &mut findings);
    energy::evaluate(points, &mut findings);
    gating::evaluate(points, &mut findings);
    divergence::evaluate(points, &mut findings);
    time::evaluate(points, &mut findings);
    encodings::evaluate(points, &mut findings);
    causes::evaluate(points, &mut findings);
    area::evaluate(&mut findings);
    findings.figures.sort_by_key(|figure| (figure.place.is_none(), figure.name));
    findings
}
