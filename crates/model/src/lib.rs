// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timed GPU: when things happen. What they compute is `exec`'s business.

pub mod address;
pub mod cache;
mod counters;
mod gpu;
mod host;
pub mod net;
mod ops;
pub mod partition;
pub mod register_file;
mod report;
mod ring;
pub mod sm;
pub mod techniques;
pub mod traffic;

pub use counters::Counters;
pub use gpu::{Gpu, PerSm};
pub use ops::{OpCounters, OpKind};
pub use report::{
    BlockSpan, Failure, KernelReport, Launch, Monitor, Path, PcFacts, Progress, RunOptions, Sample, flatten,
};
pub use sm::{SmCounters, Stall, Stalls};
pub use techniques::{
    Balance, BlockShape, Fault as InjectedFault, Law, Observed, Profile, Technique, TechniqueError,
    Techniques, WantedCounts,
};

/// Raised when a counter of a golden run changes: records of different versions are not comparable.
pub const MODEL_VERSION: u32 = 6;
