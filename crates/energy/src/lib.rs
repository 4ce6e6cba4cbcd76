// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joules: what a GPU's structures take, from counters and time.
//!
//! Dynamic energy is events times energy per event; static energy is power times time, less what is saved in states of low power.
//! The figures are in technology files, each with its source. All of it is linear in counters and time, so that kernels, SMs and
//! intervals add up.

mod amount;
mod attribute;
mod builtin;
mod columns;
mod die;
mod error;
mod evaluate;
mod figures;
mod file;
mod resolve;
mod silicon;
mod spanned;
mod sram;
mod technology;
mod units;

pub use attribute::{Attribution, Part, Shares, attribute};
pub use builtin::{DEFAULT, TECHNOLOGIES, TechnologyText};
pub use columns::Parts;
pub use error::{Error, FilePosition, Problem};
pub use evaluate::{Breakdown, Component, StructureEnergy};
pub use figures::{FIGURES, Figure};
pub use file::{Technology, technology_schema};
pub use resolve::{Model, Setting, StructureInfo};
pub use silicon::{Conditions, Supply};
pub use spanned::Spanned;
pub use sram::Sram;
pub use technology::{
    Access, Amount, Die, Domain, Event, Reference, Silicon, SramSpec, State, Static, Structure,
};
pub use units::{Joules, Milliwatts, Picojoules, Seconds};
