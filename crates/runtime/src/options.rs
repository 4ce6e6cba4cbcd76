// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a device runs its kernels, and who watches it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpwatt_exec::lanes::Level;
use warpwatt_exec::{CheckOptions, SmLimits, Watchdog};

#[derive(Clone)]
pub struct Options {
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Bytes that kernels may take with `malloc`.
    pub heap_bytes: u64,
    /// Registers per thread; `None` for what the module's target has: 63 below sm_35, 255 from there on.
    pub max_registers: Option<u32>,
    /// Optional checks of shared memory.
    pub checks: CheckOptions,
    pub watchdog: Watchdog,
    /// What one SM holds, which decides how many blocks are alive at once.
    pub sm: SmLimits,
    /// Over all launches together.
    pub max_thread_instructions: Option<u64>,
    /// Set from elsewhere to stop the kernel that runs.
    pub interrupt: Arc<AtomicBool>,
    /// Ends the run right before this launch, with memory as the launch would find it: for saving a reproducer.
    pub stop_before_launch: Option<u64>,
    /// Instruction set of the host for the lanes.
    pub level: Level,
    /// Prove every register allocation before it is used.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory_bytes: warpwatt_memory::DEFAULT_CAPACITY,
            heap_bytes: warpwatt_memory::DEFAULT_HEAP,
            max_registers: None,
            checks: CheckOptions::default(),
            watchdog: Watchdog::default(),
            sm: SmLimits::default(),
            max_thread_instructions: None,
            interrupt: Arc::default(),
            stop_before_launch: None,
            level: Level::detect(),
            verify: cfg!(debug_assertions),
        }
    }
}

/// Told about what happens on a device. A device itself does no input or output.
pub trait Observer {
    /// Launch `index` is about to be compiled, if need be, and run.
    fn launch(&mut self, _index: u64, _kernel: &str) {}

    /// Blocks that ended, of how many.
    fn progress(&mut self, _done: u64, _total: u64) {}

    /// Text that a kernel printed, in order.
    fn print(&mut self, _text: &[u8]) {}
}

/// Watches nothing.
pub struct Nobody;

impl Observer for Nobody {}
