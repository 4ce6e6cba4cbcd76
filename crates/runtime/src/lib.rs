// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device as a program sees it: memory, modules, launches, and fault reports.
//!
//! ```no_run
//! use warpwatt_runtime::{Args, Device, LaunchConfig};
//!
//! # fn main() -> Result<(), warpwatt_runtime::Error> {
//! # let ptx = "";
//! let mut device = Device::new()?;
//! let module = device.load_module("saxpy.ptx", ptx)?;
//! let y = device.alloc(4096)?;
//! device.launch(module, "saxpy", &LaunchConfig::new(4, 256), &Args::new().ptr(y).f32(2.0).u32(1024))?;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here reads or writes files, prints or starts threads: what a kernel prints and how far it is goes to an
//! [`Observer`]. Kernels are compiled at their first launch and refused no earlier.
//!
//! `launch`, `write`, `read`, `memset` and `copy` wait for what they do. `queue_launch`, `queue_copy` and the others give commands to
//! streams, which run when the host waits for something ([`Device::finish`]).

mod clock;
mod copy;
mod demangle;
mod device;
mod drain;
mod error;
mod fit;
mod launch;
mod lines;
mod module;
mod notices;
mod options;
mod plan;
mod programs;
mod queue;
mod record;
mod report;
mod sources;
mod textures;
mod timed;
mod traffic;
mod types;

pub use clock::CopySpan;
pub use copy::{CopyBox, End, FillBox, HostPtr, Side};
pub use demangle::{demangle, find_kernel, plain_name};
pub use device::{Device, KernelAttributes, Pending, Variable};
pub use drain::Until;
pub use error::{Class, Error, Problem, Refusal, problems};
pub use notices::Notice;
pub use options::{Mode, Nobody, Observer, Options, Selection, Timed};
pub use programs::Programs;
pub use record::{Instruction, LaunchRecord, LineCount, TimedRecord};
pub use report::{FaultReport, SourcePosition, Waiting};
pub use traffic::{TrafficLog, WordLog};
pub use types::{Args, DevicePtr, Dim3, Event, LaunchConfig, ModuleId, Stream};
pub use warpwatt_codecs::profile::{Collected, Profile as SymbolProfile, ProfileError};
pub use warpwatt_exec::lanes::Level;
pub use warpwatt_exec::{CheckOptions, PcCount, SmLimits, Watchdog};
pub use warpwatt_isa::{Ty, Unit};
pub use warpwatt_memory::{Allocation, texture};
pub use warpwatt_model::techniques::block_compression::e2mc::WantedProfile;
pub use warpwatt_model::traffic::Traffic;
pub use warpwatt_model::{
    Balance, BlockShape, BlockSpan, Counters, Gpu, InjectedFault, MODEL_VERSION, Observed, OpCounters,
    OpKind, Path, PcFacts, Profile, Progress, Sample, SmCounters, Stall, Stalls, Technique, TechniqueError,
    Techniques, WantedCounts,
};
