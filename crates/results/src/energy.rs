// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy in the run record: what the GPU took, in which parts, and what for. docs/energy.md says how it is worked out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Energy of a kernel or of a whole run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// All of it, in joules.
    pub total_j: f64,
    /// Of events.
    pub dynamic_j: f64,
    /// Of time: leakage, standby, constant power.
    pub static_j: f64,
    /// Mean power, in watts.
    pub average_w: f64,
    /// Energy times delay, in joule seconds.
    pub edp_js: f64,
    /// Energy times delay squared, in joule seconds squared.
    pub ed2p_js2: f64,
    /// Of the total, what is not in memory chips and their interface.
    #[serde(default)]
    pub on_chip_j: f64,
    /// Of the total, what falls into the time in which SMs had warps: all dynamic energy, and static energy by the share of that time.
    #[serde(default)]
    pub with_warps_j: f64,
    /// The share of that time.
    #[serde(default)]
    pub with_warps_share: f64,
    /// The silicon it was worked out for; not there if the technology's figures hold for one silicon only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silicon: Option<Silicon>,
    /// Power over time, of whole runs with `--interval` whose launches are all in detail (`--per-launch`). Watts times time add up to the total.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power: Option<PowerSeries>,
    /// By component, in the order of the technology. They add up to the total.
    pub components: Vec<ComponentEnergy>,
    /// By structure of the technology file.
    pub structures: Vec<StructureEnergy>,
    /// By source line, in order of file and line. With `unattributed_j` they add up to the total.
    pub per_line: Vec<LineEnergy>,
    /// What belongs to no line: time in which no warp was there to be waited for, above all.
    pub unattributed_j: f64,
    /// By kind of operation: energy of its instructions, their memory accesses included.
    pub per_class: Vec<ClassEnergy>,
    /// By SM; of kernels only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_sm: Option<SmEnergy>,
    /// By machine instruction; of kernels only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_instruction: Option<InstructionEnergy>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentEnergy {
    /// As in the technology file.
    pub name: String,
    /// Of events.
    pub dynamic_j: f64,
    /// Of time.
    pub static_j: f64,
    /// Its shares of the whole.
    #[serde(default)]
    pub shares: Shares,
}

/// Shares of a component in what the GPU took, as fractions. Each column adds up to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Of everything, over all time.
    pub all: f64,
    /// Of everything but memory chips and their interface, over all time.
    pub on_chip: f64,
    /// Of everything, over the time in which SMs had warps.
    pub with_warps: f64,
    /// Of everything but memory chips and their interface, over the time in which SMs had warps.
    pub with_warps_on_chip: f64,
    /// Of dynamic energy but that of memory chips and their interface.
    pub dynamic_on_chip: f64,
}

/// What energy was worked out for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    /// Feature size.
    pub node_nm: f64,
    /// Temperature.
    pub kelvin: f64,
    /// Supply voltages, by the parameter that has the clock.
    pub volts: std::collections::BTreeMap<String, f64>,
    /// Area of the die, if the technology knows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub die_mm2: Option<f64>,
}

/// Columns of one length, an interval each. Time in which no kernel was under way is left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerSeries {
    /// First cycle of each interval.
    pub start_cycle: Vec<u64>,
    /// The cycle after its last one.
    pub end_cycle: Vec<u64>,
    /// Mean power in it, all together.
    pub total_w: Vec<f64>,
    /// Mean power in it, by component.
    pub components_w: std::collections::BTreeMap<String, Vec<f64>>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StructureEnergy {
    /// As in the technology file.
    pub name: String,
    /// The component that it is part of.
    pub component: String,
    /// Of events.
    pub dynamic_j: f64,
    /// Of time.
    pub static_j: f64,
    /// Area of its arrays of SRAM, all copies together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub area_mm2: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineEnergy {
    /// As in `lines`.
    pub file: String,
    /// As in `lines`.
    pub line: u32,
    /// Dynamic and static.
    pub energy_j: f64,
    /// Of the events of its instructions.
    pub dynamic_j: f64,
    /// Share of the GPU's issue slots in which the line issued or stalled.
    pub time_share: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassEnergy {
    /// As in the counters `ops.NAME.count`.
    pub name: String,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// Dynamic and static.
    pub energy_j: f64,
    /// Of the events of its instructions.
    pub dynamic_j: f64,
}

/// Energy of the SMs, in their order, and of what they share.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmEnergy {
    /// Of events in each SM.
    pub dynamic_j: Vec<f64>,
    /// Of each SM over time.
    pub static_j: Vec<f64>,
    /// Network, L2, memory, constant power: everything outside of the SMs.
    pub shared_j: f64,
}

/// Columns of one length, one place for each machine instruction that issued or was waited for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionEnergy {
    /// Its place in the program.
    pub pc: Vec<u32>,
    /// Its operation.
    pub op: Vec<String>,
    /// Its place in `per_line`, from 0.
    pub line: Vec<u32>,
    /// Times that it was issued.
    pub issues: Vec<u64>,
    /// Dynamic and static.
    pub energy_j: Vec<f64>,
}
