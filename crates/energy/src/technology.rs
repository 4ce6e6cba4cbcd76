// SPDX-License-Identifier: MIT OR Apache-2.0
//! A technology as its file says it: structures, the energy of their events and the power that they take all the time. Each
//! number has its source beside it.

use serde::Deserialize;
use toml::Spanned;

/// Energies and powers of a GPU's structures.
#[derive(Clone, PartialEq, Debug)]
pub struct Technology {
    pub name: String,
    /// One line.
    pub description: String,
    /// The built-in technology that it starts from.
    pub inherits: Option<String>,
    /// Name of the file that each structure comes from, for messages, and the structure.
    pub structures: Vec<(Origin, Structure)>,
}

/// The file that something is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    pub file: String,
    pub text: std::sync::Arc<str>,
}

/// Something that takes energy. Where a technology inherits one of the same name, this takes its place.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    pub name: Spanned<String>,
    /// What it is shown as part of.
    pub component: Spanned<String>,
    /// One line.
    pub doc: Spanned<String>,
    /// It is there only when one of these techniques is on; always if there are none.
    #[serde(default)]
    pub techniques: Vec<Spanned<String>>,
    #[serde(default)]
    pub events: Vec<Event>,
    #[serde(default, rename = "static")]
    pub statics: Vec<Static>,
}

/// What one count of a counter costs: `pj`, or `mw` spread over `at_mhz` million events a second, or an access to an SRAM array.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub counter: Spanned<String>,
    /// Counters to be taken off, such as hits from all accesses.
    #[serde(default)]
    pub less: Vec<Spanned<String>>,
    pub pj: Option<Spanned<Amount>>,
    pub mw: Option<Spanned<Amount>>,
    #[serde(default)]
    pub at_mhz: Vec<Spanned<Amount>>,
    pub sram: Option<Spanned<SramSpec>>,
    /// The product of these multiplies the energy.
    #[serde(default)]
    pub times: Vec<Spanned<Amount>>,
    pub source: Spanned<String>,
}

/// Power that is there all the time: `mw`, or the leakage of an SRAM array.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Static {
    pub mw: Option<Spanned<Amount>>,
    pub sram: Option<Spanned<SramSpec>>,
    /// How many there are: the product of these.
    #[serde(default)]
    pub instances: Vec<Spanned<Amount>>,
    #[serde(default)]
    pub states: Vec<State>,
    pub source: Spanned<String>,
}

/// A state in which an instance takes only a fraction of its power: gated, drowsy, precharged.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Cycles or clocks in the state, summed over instances.
    pub counter: Spanned<String>,
    /// The product of these times the counter is the time of instances in the state, such as one line of many.
    #[serde(default)]
    pub times: Vec<Spanned<Amount>>,
    /// What is left of the power: a share of it,
    pub fraction: Option<Spanned<Amount>>,
    /// or a power.
    pub mw: Option<Spanned<Amount>>,
    /// The state is there only when one of these techniques is on; always if there are none.
    #[serde(default)]
    pub techniques: Vec<Spanned<String>>,
    pub source: Spanned<String>,
}

/// A number, `"parameter"`, `"1/parameter"`, or one that depends on a parameter: the points are joined by straight lines in the
/// logarithm.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a number, \"parameter\", \"1/parameter\", or { key = \"parameter\", at = [[parameter, number], ...] }"
)]
pub enum Amount {
    Number(f64),
    Key(String),
    Table {
        key: String,
        at: Vec<[f64; 2]>,
        /// The number is the share of the one at this point.
        relative_to: Option<f64>,
    },
}

/// An SRAM array, for the model of `sram.rs`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SramSpec {
    /// Of one bank: the product of these.
    pub bytes: Vec<Amount>,
    #[serde(default)]
    pub banks: Vec<Amount>,
    pub width_bits: f64,
    /// Ways that are read at once.
    #[serde(default = "one")]
    pub ways: f64,
    #[serde(default)]
    pub read_ports: f64,
    #[serde(default)]
    pub write_ports: f64,
    pub node_nm: f64,
    pub volts: f64,
    pub kelvin: f64,
    pub access: Option<Access>,
}

fn one() -> f64 {
    1.0
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    Write,
}
