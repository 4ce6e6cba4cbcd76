// SPDX-License-Identifier: MIT OR Apache-2.0
//! E2MC (IPDPS 2017): the experiments behind its Figures 1, 3 to 5 and 9 to 13.

mod energy;
mod hardware;
mod limits;
mod ratio;
#[cfg(test)]
mod tests;
mod time;

use crate::paper::{Findings, Paper, Variant};
use crate::point::Points;

pub const PAPER: Paper = Paper {
    name: "e2mc",
    title: "E2MC",
    citation: "Lal, Lucas, Juurlink: E2MC: Entropy Encoding Based Memory Compression for GPUs, IPDPS 2017",
    prefixes: &["e2mc."],
    gpu: "gtx580-e2mc",
    technology: "e2mc32",
    variants: VARIANTS,
    evaluate,
};

/// Programs of the paper by our names of them, as members of the workloads that were run.
fn members(points: &Points, programs: &[&str]) -> Vec<bool> {
    let suite = crate::suite::suite("e2mc").ok().flatten();
    let ours: Vec<String> = suite
        .into_iter()
        .flat_map(|suite| suite.programs)
        .filter(|program| programs.contains(&program.name.as_str()))
        .flat_map(|program| program.ours)
        .collect();
    points.workloads.iter().map(|name| ours.contains(name)).collect()
}

/// Without compression.
const BASE: &str = "base";
/// With so many times the bandwidth, by the clock of the memory.
const BANDWIDTH: [(&str, &str); 3] = [("bandwidth-2", "2x"), ("bandwidth-4", "4x"), ("bandwidth-8", "8x")];
/// One-cycle latencies and one way, with the names of claims' entries; BDI has no others. Ratios are theirs: ways take none of them.
const IDEAL: [(&str, &str); 6] = [
    ("bdi", "bdi"),
    ("ideal-fpc", "fpc"),
    ("ideal-e2mc4", "e2mc4"),
    ("ideal-e2mc8", "e2mc8"),
    ("ideal-e2mc16", "e2mc16"),
    ("ideal-e2mc32", "e2mc32"),
];
const IDEAL_16: &str = "ideal-e2mc16";
/// The latencies of Table VI, with the names of claims' entries.
const REAL: [(&str, &str); 9] = [
    ("bdi", "bdi"),
    ("fpc", "fpc"),
    ("e2mc16-1", "e2mc16_pdw1"),
    ("e2mc16-2", "e2mc16_pdw2"),
    ("e2mc16-4", "e2mc16_pdw4"),
    ("e2mc16-8", "e2mc16_pdw8"),
    ("e2mc4-8", "e2mc4_pdw8"),
    ("e2mc8-8", "e2mc8_pdw8"),
    ("e2mc32-4", "e2mc32_pdw4"),
];
const ONE_WAY: &str = "e2mc16-1";
const FOUR_WAYS: &str = "e2mc16-4";
const EIGHT_WAYS: &str = "e2mc16-8";
/// Ways of parallel decoding, by variant.
const WAYS: [(&str, &str); 4] = [(ONE_WAY, "1"), ("e2mc16-2", "2"), (FOUR_WAYS, "4"), (EIGHT_WAYS, "8")];
/// Latencies of compression and of decompression in clocks, the other one 0.
const COMPRESS: [(&str, &str); 3] = [("compress-80", "80"), ("compress-40", "40"), ("latency-0", "0")];
const DECOMPRESS: [(&str, &str); 3] = [("decompress-80", "80"), ("decompress-40", "40"), ("latency-0", "0")];
/// Most frequent values, by variant.
const VALUES: [(&str, &str); 3] = [(IDEAL_16, "1K"), ("values-2k", "2K"), ("values-4k", "4K")];
/// Online probabilities, with one way and four.
const ONLINE: [(&str, &str); 2] = [("online-1", "pdw1"), ("online-4", "pdw4")];
const STRICT: &str = "online-4-strict";
/// The second of the offline codes, from the data of another seed.
const OTHER_SEED: &str = "other-seed";
/// The second of the offline codes, from lines between L2 and DRAM instead of loads and stores.
const DRAM_CODES: &str = "dram-codes";
/// The GPU with one memory channel a controller, 96.2 GB/s, which is what Table V's controllers, bus and clock multiply to: without compression, with eight
/// times the bandwidth, and with two codecs.
const NARROW: [&str; 4] = ["narrow", "narrow-8", "narrow-bdi", "narrow-e2mc16-4"];
const NARROW_GPU: &[&str] = &["dram.channels=1"];
/// The GPU with more lines on their way: without compression, with eight times the bandwidth, and with compression.
const ROOMY: [&str; 3] = ["roomy", "roomy-8", "roomy-e2mc16-4"];
const ROOMY_GPU: &[&str] = &["l2.mshrs=128", "sm.l1d.mshrs=128", "sm.l1d.allocate=fill"];
/// The GPU with an eighth of the L2, which inputs do not fit: without compression, with eight times the bandwidth, and with compression; the last two
/// with one memory channel a controller too.
const SMALL_L2: [&str; 5] =
    ["small-l2", "small-l2-8", "small-l2-e2mc16-4", "small-l2-narrow", "small-l2-narrow-e2mc16-4"];
const SMALL_L2_GPU: &[&str] = &["l2.sets=8"];
const SMALL_L2_NARROW_GPU: &[&str] = &["l2.sets=8", "dram.channels=1"];
/// Lengths of sampling in millions of thread instructions, at size large.
const SAMPLING: [(&str, f64); 7] = [
    ("sampling-1", 1.0),
    ("sampling-10", 10.0),
    ("online-1", 20.0),
    ("sampling-30", 30.0),
    ("sampling-40", 40.0),
    ("sampling-50", 50.0),
    ("sampling-100", 100.0),
];

const VARIANTS: &[Variant] = &[
    Variant::new(BASE).beside(),
    Variant::new(BANDWIDTH[2].0).set(&["clock.dram_mhz=8016"]).beside(),
    Variant::new(IDEAL[0].0).with(&["bdi"]),
    Variant::new(IDEAL[1].0).with(&["fpc:compress_clocks=1,decompress_clocks=1"]),
    Variant::new(IDEAL[2].0)
        .with(&["e2mc:symbol_bits=4,ways=1,latency=set,compress_clocks=1,decompress_clocks=1"]),
    Variant::new(IDEAL[3].0)
        .with(&["e2mc:symbol_bits=8,ways=1,latency=set,compress_clocks=1,decompress_clocks=1"]),
    Variant::new(IDEAL_16).with(&["e2mc:ways=1,latency=set,compress_clocks=1,decompress_clocks=1"]),
    Variant::new(IDEAL[5].0)
        .with(&["e2mc:symbol_bits=32,ways=1,latency=set,compress_clocks=1,decompress_clocks=1"]),
    Variant::new("fpc").with(&["fpc"]),
    Variant::new(ONE_WAY).with(&["e2mc:ways=1"]).beside(),
    Variant::new(FOUR_WAYS).with(&["e2mc:ways=4"]).beside(),
    Variant::new(EIGHT_WAYS).with(&["e2mc:ways=8"]),
    Variant::new("e2mc4-8").with(&["e2mc:symbol_bits=4,ways=8"]),
    Variant::new("e2mc8-8").with(&["e2mc:symbol_bits=8,ways=8"]),
    Variant::new("e2mc32-4").with(&["e2mc:symbol_bits=32,ways=4"]),
    Variant::new(COMPRESS[0].0).with(&["e2mc:ways=1,latency=set,compress_clocks=80,decompress_clocks=0"]),
    Variant::new(DECOMPRESS[0].0).with(&["e2mc:ways=1,latency=set,compress_clocks=0,decompress_clocks=80"]),
    Variant::new("latency-0").with(&["e2mc:ways=1,latency=set,compress_clocks=0,decompress_clocks=0"]),
    Variant::new(VALUES[1].0)
        .with(&["e2mc:ways=1,values=2048,latency=set,compress_clocks=1,decompress_clocks=1"]),
    Variant::new(VALUES[2].0)
        .with(&["e2mc:ways=1,values=4096,latency=set,compress_clocks=1,decompress_clocks=1"]),
    Variant::new(ONLINE[0].0).with(&["e2mc:ways=1,probability=online,sampling={20000000}"]),
    Variant::new(ONLINE[1].0).with(&["e2mc:ways=4,probability=online,sampling={20000000}"]),
    Variant::new(STRICT).with(&["e2mc:ways=4,probability=online,sampling={20000000},accounting=strict"]),
    Variant::new(BANDWIDTH[0].0).set(&["clock.dram_mhz=2004"]).first_seed(),
    Variant::new(BANDWIDTH[1].0).set(&["clock.dram_mhz=4008"]).first_seed(),
    Variant::new("e2mc16-2").with(&["e2mc:ways=2"]).first_seed(),
    Variant::new(COMPRESS[1].0)
        .with(&["e2mc:ways=1,latency=set,compress_clocks=40,decompress_clocks=0"])
        .first_seed(),
    Variant::new(DECOMPRESS[1].0)
        .with(&["e2mc:ways=1,latency=set,compress_clocks=0,decompress_clocks=40"])
        .first_seed(),
    Variant::new(OTHER_SEED)
        .with(&["e2mc:ways=1,profile_seed=other,latency=set,compress_clocks=1,decompress_clocks=1"])
        .first_seed(),
    Variant::new(DRAM_CODES)
        .with(&["e2mc:ways=1,profile_from=dram,latency=set,compress_clocks=1,decompress_clocks=1"])
        .first_seed(),
    Variant::new(NARROW[0]).set(NARROW_GPU).first_seed(),
    Variant::new(NARROW[1]).set(&["dram.channels=1", "clock.dram_mhz=8016"]).first_seed(),
    Variant::new(NARROW[2]).set(NARROW_GPU).with(&["bdi"]).first_seed(),
    Variant::new(NARROW[3]).set(NARROW_GPU).with(&["e2mc:ways=4"]).first_seed(),
    Variant::new(ROOMY[0]).set(ROOMY_GPU).first_seed(),
    Variant::new(ROOMY[1])
        .set(&["l2.mshrs=128", "sm.l1d.mshrs=128", "sm.l1d.allocate=fill", "clock.dram_mhz=8016"])
        .first_seed(),
    Variant::new(ROOMY[2]).set(ROOMY_GPU).with(&["e2mc:ways=4"]).first_seed(),
    Variant::new(SMALL_L2[0]).set(SMALL_L2_GPU).first_seed(),
    Variant::new(SMALL_L2[1]).set(&["l2.sets=8", "clock.dram_mhz=8016"]).first_seed(),
    Variant::new(SMALL_L2[2]).set(SMALL_L2_GPU).with(&["e2mc:ways=4"]).first_seed(),
    Variant::new(SMALL_L2[3]).set(SMALL_L2_NARROW_GPU).first_seed(),
    Variant::new(SMALL_L2[4]).set(SMALL_L2_NARROW_GPU).with(&["e2mc:ways=4"]).first_seed(),
    Variant::new(SAMPLING[0].0).with(&["e2mc:ways=1,probability=online,sampling={1000000}"]).first_seed(),
    Variant::new(SAMPLING[1].0).with(&["e2mc:ways=1,probability=online,sampling={10000000}"]).first_seed(),
    Variant::new(SAMPLING[3].0).with(&["e2mc:ways=1,probability=online,sampling={30000000}"]).first_seed(),
    Variant::new(SAMPLING[4].0).with(&["e2mc:ways=1,probability=online,sampling={40000000}"]).first_seed(),
    Variant::new(SAMPLING[5].0).with(&["e2mc:ways=1,probability=online,sampling={50000000}"]).first_seed(),
    Variant::new(SAMPLING[6].0).with(&["e2mc:ways=1,probability=online,sampling={100000000}"]).first_seed(),
];

fn evaluate(points: &Points) -> Findings {
    let mut findings = Findings::default();
    time::evaluate(points, &mut findings);
    ratio::evaluate(points, &mut findings);
    energy::evaluate(points, &mut findings);
    hardware::evaluate(&mut findings);
    limits::evaluate(points, &mut findings);
    findings.figures.sort_by_key(|figure| (figure.place.is_none(), figure.name));
    findings
}
