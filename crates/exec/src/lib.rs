// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functional execution of a program, 32 lanes at a time, without timing.
//!
//! An [`Image`] is a program decoded for execution; a [`GridLaunch`] names one together with its geometry and constants; [`run`] executes the grid
//! over [`warpwatt_memory::DeviceMemory`] and gives its [`GridStats`], or a [`Failure`] with the [`Fault`] that stopped it. A timed machine executes
//! instruction by instruction instead, with [`stepping`].

mod access;
mod atomics;
mod barrier;
mod check;
mod collective;
mod control;
mod counted;
mod cta;
mod deciding;
mod engine;
mod fault;
mod grid;
mod image;
pub mod lanes;
mod local;
mod machine;
mod options;
mod port;
mod printf;
mod record;
mod resolve;
mod rows;
mod shadow;
mod special;
mod spin;
mod split;
mod stats;
pub mod stepping;
mod system;
mod texture;
mod turns;
mod watchdog;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use atomics::AtomicOp;
pub use engine::run;
pub use fault::{AccessKind, Fault, FaultAccess, FaultKind, Rival, Waiter};
pub use image::{Image, ImageError};
pub use options::{CheckOptions, Options, Quiet, Services, SmLimits, Watchdog};
pub use port::{Direct, GlobalPort, Shape, Span, Spread};
pub use stats::{Ending, GridStats, PcCount};

/// A kernel with its geometry, parameters and constants.
pub struct GridLaunch<'a> {
    pub image: &'a Image,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of shared memory on top of the program's own.
    pub dynamic_shared: u32,
    /// The parameter block, from `bank0::PARAMS` on in constant bank 0.
    pub params: &'a [u8],
    pub bank3: &'a [u8],
    pub bank4: &'a [u8],
    /// All blocks are resident at once, so that grid barriers can open.
    pub cooperative: bool,
    /// Device memory for the grid barrier of a cooperative launch; 0 for none.
    pub workspace: u64,
    pub grid_id: u64,
}

/// A run that was stopped by a fault, with its counts up to then.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    pub fault: Fault,
    pub stats: GridStats,
}
