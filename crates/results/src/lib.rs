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
mod launched;
mod record;
mod schema;
mod spread;
mod tally;
mod totals;

pub use counters::{COUNTERS, Reading, Values, registry};
pub use energy::{
    ClassEnergy, ComponentEnergy, Energy, InstructionEnergy, LineEnergy, PowerSeries, Shares, Silicon,
    SmEnergy, StructureEnergy,
};
pub use group::{GroupEnergy, KernelGroup, OTHERS};
pub use launched::{Counted, Launched, LaunchedEnergy, LaunchedLine};
pub use record::{
    Blocks, Check, Copied, Diagnostic, Gpu, Host, Inputs, Kernel, Line, Mode, RunRecord, Series, Severity,
    Sms, SourceTexts, Stalls, Status, Tool, Totals, sha256_hex,
};
pub use schema::run_schema;
pub use spread::Distribution;
pub use totals::{ClassSums, Elapsed, LineJoules, Sums, ipc};

/// Name and version of the document's layout.
pub const RUN_SCHEMA: &str = "warpwatt.run/2";
