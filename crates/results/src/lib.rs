// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of a run: one JSON document with a fixed schema, `warpwatt.run/2`.
//!
//! Everything outside of `host` is byte-identical from run to run of the same inputs. What a mode does not produce is
//! absent, never zero: a functional run has no cycles.

pub mod counters;
pub mod derived;
mod energy;
mod group;
pub mod json;
mod record;
mod schema;
mod spread;
mod totals;

pub use counters::{COUNTERS, Reading, Values, registry};
pub use energy::{
    ClassEnergy, ComponentEnergy, Energy, InstructionEnergy, LineEnergy, PowerSeries, Shares, Silicon,
    SmEnergy, StructureEnergy,
};
pub use group::{GroupEnergy, KernelGroup, OTHERS};
pub use record::{
    Blocks, Check, Copied, Diagnostic, Gpu, Host, Inputs, Kernel, Line, Mode, RunRecord, Series, Severity,
    Sms, SourceTexts, Stalls, Status, Tool, Totals, sha256_hex,
};
pub use schema::run_schema;
pub use spread::Distribution;
pub use totals::{ClassSums, Elapsed, LineJoules, Sums, ipc};

/// Name and version of the document's layout.
pub const RUN_SCHEMA: &str = "warpwatt.run/2";

/// Bumped when a counter of a golden run changes.
pub const MODEL_VERSION: u32 = 6;
