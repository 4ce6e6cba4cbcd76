// SPDX-License-Identifier: MIT OR Apache-2.0
//! CORF and CORF++ (ASPLOS 2019): the experiments behind their Figures 2 to 4, 6 and 13 to 19, and Table 1.

mod coalescing;
mod energy;
mod mechanisms;
mod mix;
mod size;
#[cfg(test)]
mod tests;
mod time;
mod widths;

use crate::paper::{Findings, Paper, Variant};
use crate::point::Points;

pub const PAPER: Paper = Paper {
    name: "corf",
    title: "CORF",
    citation: "Asghari Esfeden, Khorasani, Jeon, Wong, Abu-Ghazaleh: CORF: Coalescing Operand Register File for GPUs, ASPLOS 2019",
    prefixes: &["corf.", "corfpp."],
    gpu: "gtx480-corf",
    technology: "corf40",
    variants: VARIANTS,
    evaluate,
};

/// Without any of the techniques: a register file that is never gated.
const BASE: &str = "base";
const PACKING: &str = "packing";
const VIRTUALIZATION: &str = "virtualization";
const BOTH: &str = "packing-virtualization";
/// Packing with virtualization, whose operands coalesce where first fit happened to put them together.
const FIRST_FIT: &str = "first-fit";
const CORF: &str = "corf";
const CORFPP: &str = "corfpp";
/// Hints from the counts of a run with another seed, and from those of the very same run: CORF, then CORF++.
const PROFILE: [&str; 2] = ["corf-profile", "corfpp-profile"];
const PERFECT: [&str; 2] = ["corf-perfect", "corfpp-perfect"];
/// CORF++ with sides by odd and even register numbers.
const PARITY: &str = "corfpp-parity";
/// With only the sub-banks activated that hold the value.
const SUB_BANKS: [&str; 2] = ["corf-sub-banks", "corfpp-sub-banks"];
/// With slices gated, not entries.
const SLICES: [&str; 2] = ["packing-slices", "packing-virtualization-slices"];
/// Without the time and the instructions that metadata takes.
const NO_METADATA: [&str; 2] = ["corf-no-metadata", "corfpp-no-metadata"];

/// Coalescing without any of its costs: lookups, packers, growth reads and metadata.
const FREE: [&str; 2] = ["corf-free", "corfpp-free"];
/// All registers of a warp in one bank, as CORF++ has them, and nothing else.
const MAPPING: &str = "corfpp-mapping";
/// The baseline with a port for each operand of a collector, and with four times as many collectors.
const PORTS: &str = "base-ports";
const COLLECTORS: &str = "base-collectors";
/// A quarter of the SMs, so that each has four times as many thread blocks: the baseline, that with a port for each operand of a collector, the mapping of
/// CORF++ alone, CORF, and CORF++.
const FOUR_SMS: [&str; 5] =
    ["base-4-sms", "base-ports-4-sms", "corfpp-mapping-4-sms", "corf-4-sms", "corfpp-4-sms"];
const FOUR: &[&str] = &["gpu.sms=4"];
/// The table alone: registers get an entry when they are first written.
const RENAMING: &str = "renaming";
/// First fit over all entries of the register file, which is one bank.
const ONE_BANK: &str = "first-fit-one-bank";
/// Packing, and CORF, with short branches kept as branches.
const BRANCHES: [&str; 2] = ["packing-branches", "corf-branches"];

const SELECTIVE: &str = "packing:sub_bank_energy=selective";
const GATED_SLICES: &str = "renaming:gating=slices";
const FREE_TABLE: &str = "renaming:ports=0";
const FREE_PACKING: &str = "packing:packers=0,growth_reads=off";

const VARIANTS: &[Variant] = &[
    Variant::new(BASE),
    Variant::new(PACKING).with(&["packing"]),
    Variant::new(VIRTUALIZATION).with(&["virtualization"]),
    Variant::new(BOTH).with(&["packing", "virtualization"]),
    Variant::new(FIRST_FIT).with(&["packing:coalesce=on", "virtualization"]),
    Variant::new(CORF).with(&["corf"]),
    Variant::new(CORFPP).with(&["corf++"]),
    Variant::new(PARITY).with(&["corf++:hints=parity"]),
    Variant::new(SUB_BANKS[0]).with(&[SELECTIVE, "corf"]),
    Variant::new(SUB_BANKS[1]).with(&[SELECTIVE, "corf++"]),
    Variant::new(SLICES[0]).with(&[GATED_SLICES, "packing"]),
    Variant::new(SLICES[1]).with(&[GATED_SLICES, "packing", "virtualization"]),
    Variant::new(NO_METADATA[0]).with(&["corf:metadata=off"]).first_seed(),
    Variant::new(NO_METADATA[1]).with(&["corf++:metadata=off"]).first_seed(),
    Variant::new(PROFILE[0]).with(&["corf:pairs=profile"]),
    Variant::new(PROFILE[1]).with(&["corf++:hints=profile"]),
    Variant::new(PERFECT[0]).with(&["corf:pairs=perfect"]).first_seed(),
    Variant::new(PERFECT[1]).with(&["corf++:hints=perfect"]).first_seed(),
    Variant::new(FREE[0]).with(&[FREE_TABLE, FREE_PACKING, "corf:metadata=off"]).first_seed(),
    Variant::new(FREE[1]).with(&[FREE_TABLE, FREE_PACKING, "corf++:metadata=off"]).first_seed(),
    Variant::new(MAPPING)
        .with(&[FREE_TABLE, "corf++:metadata=off,packing=off,virtualization=off"])
        .first_seed(),
    Variant::new(PORTS).set(&["sm.rf.collector_ports=4"]).first_seed(),
    Variant::new(COLLECTORS).set(&["sm.rf.collectors_shared=16"]).first_seed(),
    Variant::new(FOUR_SMS[0]).set(FOUR).first_seed(),
    Variant::new(FOUR_SMS[1]).set(&["gpu.sms=4", "sm.rf.collector_ports=4"]).first_seed(),
    Variant::new(FOUR_SMS[2])
        .set(FOUR)
        .with(&[FREE_TABLE, "corf++:metadata=off,packing=off,virtualization=off"])
        .first_seed(),
    Variant::new(FOUR_SMS[3]).set(FOUR).with(&["corf"]).first_seed(),
    Variant::new(FOUR_SMS[4]).set(FOUR).with(&["corf++"]).first_seed(),
    Variant::new(RENAMING).with(&["renaming"]).first_seed(),
    Variant::new(ONE_BANK)
        .set(&["sm.rf.banks=1"])
        .with(&["packing:coalesce=on", "virtualization"])
        .first_seed(),
    Variant::new(BRANCHES[0]).with(&["packing"]).without_predication().first_seed(),
    Variant::new(BRANCHES[1]).with(&["corf"]).without_predication().first_seed(),
];

fn evaluate(points: &Points) -> Findings {
    let mut findings = Findings::default();
    let mix = mix::Mix::of(points, &mut findings);
    widths::evaluate(points, &mut findings);
    coalescing::evaluate(points, &mix, &mut findings);
    time::evaluate(points, &mix, &mut findings);
    mechanisms::evaluate(points, &mut findings);
    size::evaluate(points, &mut findings);
    energy::evaluate(points, &mix, &mut findings);
    time::table_1(points, &mut findings);
    findings.figures.sort_by_key(|figure| (figure.place.is_none(), figure.name));
    findings
}
