// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of a run: one JSON document with a fixed schema, `warpwatt.run/1`.
//!
//! Everything outside of `host` is byte-identical from run to run of the same inputs. What a mode does not produce is
//! absent, never zero: a functional run has no cycles.

pub mod counters;
pub mod derived;
mod energy;
pub mod json;
mod record;
mod schema;
mod totals;

pub use counters::{COUNTERS, Reading, Values, registry};
pub use energy::{
    ClassEnergy, ComponentEnergy, Energy, InstructionEnergy, LineEnergy, SmEnergy, StructureEnergy,
};
pub use record::{
    Check, Diagnostic, Gpu, Host, Inputs, Kernel, Line, Mode, RunRecord, Series, Severity, Sms, Stalls,
    Status, Tool, Totals, sha256_hex,
};
pub use schema::run_schema;
pub use totals::{Elapsed, ipc};

/// Name and version of the document's layout.
pub const RUN_SCHEMA: &str = "warpwatt.run/1";

/// Bumped when a counter of a golden run changes.
pub const MODEL_VERSION: u32 = 4;
