// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timed GPU: when things happen. What they compute is `exec`'s business.

pub mod address;
pub mod cache;
mod counters;
mod gpu;
pub mod net;
pub mod partition;
mod report;
pub mod sm;

pub use counters::Counters;
pub use gpu::Gpu;
pub use report::{Failure, KernelReport, Launch, Monitor, Progress, RunOptions, Sample, flatten};
pub use sm::{SmCounters, Stall, Stalls};
