// SPDX-License-Identifier: MIT OR Apache-2.0
//! A technology as read from its file: structures, the energy of their events and their static power. Each
//! number has its source beside it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::spanned::Spanned;

/// Texts and lists of a built-in technology are constants.
pub type Text = Cow<'static, str>;
pub type List<T> = Cow<'static, [T]>;

/// A technology: what the structures of a GPU take, each number with its source.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What the technology is called; by default like the file.
    pub name: Option<Text>,
    /// One line about it.
    #[serde(default)]
    pub description: Text,
    /// The built-in technology that this file lists differences from.
    #[schemars(with = "Option<String>")]
    pub inherits: Option<Spanned<Text>>,
    pub silicon: Option<Silicon>,
    /// The voltage is constant when clocks change.
    pub pinned_voltage: Option<bool>,
    pub die: Option<Die>,
    /// `[[structure]]`: what takes energy.
    #[serde(default)]
    pub structure: List<Structure>,
}

/// The silicon that figures are for, and how its voltage follows the clock: the clock goes with (V - threshold)^alpha / V.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    pub node_nm: f64,
    pub kelvin: f64,
    pub volts: f64,
    pub threshold_volts: f64,
    pub alpha: f64,
    /// The voltage falls no lower, however slow the clock.
    pub least_volts: f64,
    /// Leakage of logic by temperature: points of kelvin and of a power in any unit, joined by straight lines in the logarithm.
    pub logic_leakage: List<[f64; 2]>,
    pub clocks: List<Domain>,
    #[schemars(with = "String")]
    pub source: Spanned<Text>,
}

/// A clock domain with its own voltage.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// The parameter that has its frequency.
    #[schemars(with = "String")]
    pub clock: Spanned<Text>,
    /// The frequency at which it needs the voltage of the silicon.
    pub mhz: f64,
    /// The parameter that pins its voltage, in millivolts, unless that is 0.
    #[schemars(with = "String")]
    pub pin: Spanned<Text>,
}

/// The area that wires across the GPU span.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Die {
    /// With as many SMs and partitions as `sms` and `partitions` say, and arrays of SRAM as they are in the references.
    pub mm2: f64,
    pub sms: f64,
    pub partitions: f64,
    /// Of one SM and of one partition more.
    pub sm_mm2: f64,
    pub partition_mm2: f64,
    #[schemars(with = "String")]
    pub source: Spanned<Text>,
}

/// Something that takes energy. Where a technology inherits one of the same name, this takes its place.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    #[schemars(with = "String")]
    pub name: Spanned<Text>,
    /// What it is shown as part of.
    #[schemars(with = "String")]
    pub component: Spanned<Text>,
    /// One line.
    #[schemars(with = "String")]
    pub doc: Spanned<Text>,
    /// It exists only when one of these techniques is enabled; always if the list is empty.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub techniques: List<Spanned<Text>>,
    /// The clock whose voltage it runs at. Without one, neither voltage nor node nor temperature changes its figures.
    #[schemars(with = "Option<String>")]
    pub clock: Option<Spanned<Text>>,
    /// It is not on the die: memory chips.
    #[serde(default)]
    pub off_chip: bool,
    /// The array that its figures are of, with the reference that they were taken at.
    #[schemars(with = "Option<SramSpec>")]
    pub sram: Option<Spanned<SramSpec>>,
    #[serde(default)]
    pub events: List<Event>,
    #[serde(default, rename = "static")]
    pub statics: List<Static>,
}

/// What one count of a counter costs: `pj`, or `mw` spread over `at_mhz` million events a second, or an access to an SRAM array.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    #[schemars(with = "String")]
    pub counter: Spanned<Text>,
    /// Counters to be taken off, such as hits from all accesses.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub less: List<Spanned<Text>>,
    #[schemars(with = "Option<Amount>")]
    pub pj: Option<Spanned<Amount>>,
    #[schemars(with = "Option<Amount>")]
    pub mw: Option<Spanned<Amount>>,
    #[serde(default)]
    #[schemars(with = "Vec<Amount>")]
    pub at_mhz: List<Spanned<Amount>>,
    #[schemars(with = "Option<SramSpec>")]
    pub sram: Option<Spanned<SramSpec>>,
    /// The energy scales with that of a read or a write of the structure's array, from the reference size to that of the GPU.
    #[schemars(with = "Option<Access>")]
    pub scaled: Option<Spanned<Access>>,
    /// Only the part that the columns of the structure's array take: bit lines, sense amplifiers and the word line over them.
    #[serde(default)]
    pub columns: bool,
    /// The energy is not spent: it is taken off what other events of the structure cost.
    #[serde(default)]
    pub saved: bool,
    /// The event exists only when one of these techniques is enabled; always if the list is empty.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub techniques: List<Spanned<Text>>,
    /// The product of these multiplies the energy.
    #[serde(default)]
    #[schemars(with = "Vec<Amount>")]
    pub times: List<Spanned<Amount>>,
    #[schemars(with = "String")]
    pub source: Spanned<Text>,
}

/// Static power: `mw`, or the leakage of an SRAM array.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Static {
    #[schemars(with = "Option<Amount>")]
    pub mw: Option<Spanned<Amount>>,
    #[schemars(with = "Option<SramSpec>")]
    pub sram: Option<Spanned<SramSpec>>,
    /// The power goes with the leakage of the structure's array, from its reference to what the GPU has.
    #[serde(default)]
    pub scaled: bool,
    /// It is no leakage but power of what switches all the time: it goes with clock and voltage squared.
    #[serde(default)]
    pub switching: bool,
    /// How many there are: the product of these.
    #[serde(default)]
    #[schemars(with = "Vec<Amount>")]
    pub instances: List<Spanned<Amount>>,
    #[serde(default)]
    pub states: List<State>,
    #[schemars(with = "String")]
    pub source: Spanned<Text>,
}

/// A state in which an instance takes only a fraction of its power: gated, drowsy, precharged.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Cycles or clocks in the state, summed over instances.
    #[schemars(with = "String")]
    pub counter: Spanned<Text>,
    /// The product of these times the counter is the time of instances in the state, such as one line of many.
    #[serde(default)]
    #[schemars(with = "Vec<Amount>")]
    pub times: List<Spanned<Amount>>,
    /// What is left of the power: a share of it,
    #[schemars(with = "Option<Amount>")]
    pub fraction: Option<Spanned<Amount>>,
    /// or a power.
    #[schemars(with = "Option<Amount>")]
    pub mw: Option<Spanned<Amount>>,
    /// The state is there only when one of these techniques is on; always if there are none.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub techniques: List<Spanned<Text>>,
    #[schemars(with = "String")]
    pub source: Spanned<Text>,
}

/// A number, `"parameter"`, `"1/parameter"`, or one that depends on a parameter: the points are joined by straight lines in the
/// logarithm.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a number, \"parameter\", \"1/parameter\", or { key = \"parameter\", at = [[parameter, number], ...] }"
)]
pub enum Amount {
    Number(f64),
    Key(Text),
    Table {
        key: Text,
        at: List<[f64; 2]>,
        /// The number is the share of the one at this point.
        relative_to: Option<f64>,
    },
}

/// An SRAM array, for the model of `sram.rs`.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SramSpec {
    /// Of one bank: the product of these.
    pub bytes: List<Amount>,
    #[serde(default)]
    pub banks: List<Amount>,
    /// How many of it there are on the die, all banks together being one.
    #[serde(default)]
    pub copies: List<Amount>,
    pub width_bits: Amount,
    #[serde(default = "one")]
    pub ways: Amount,
    /// Line of a cache; 0 for an array without tags.
    #[serde(default = "zero")]
    pub line_bytes: Amount,
    /// Tags are looked up first, and one way is read; otherwise all ways are read at once.
    #[serde(default)]
    pub sequential: bool,
    #[serde(default)]
    pub read_ports: f64,
    #[serde(default)]
    pub write_ports: f64,
    /// As in `silicon` unless said.
    pub node_nm: Option<f64>,
    pub volts: Option<f64>,
    pub kelvin: Option<f64>,
    pub access: Option<Access>,
    /// The array that a structure's figures were taken at.
    pub reference: Option<Reference>,
}

/// The geometry that figures were taken at. What is not said is as configured.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    pub bytes: f64,
    pub banks: Option<f64>,
    pub width_bits: Option<f64>,
    pub ways: Option<f64>,
    pub line_bytes: Option<f64>,
}

fn one() -> Amount {
    Amount::Number(1.0)
}

fn zero() -> Amount {
    Amount::Number(0.0)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    Write,
}
