// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a grid is to be run: residency, limits, optional checks, and what the caller wants to be told.

use std::sync::atomic::AtomicBool;

/// What one SM can hold, and how many of them there are. Functional mode keeps that many blocks alive at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmLimits {
    pub sms: u32,
    pub warps: u32,
    pub threads: u32,
    pub ctas: u32,
    /// 32-bit registers.
    pub registers: u32,
    pub shared_bytes: u32,
}

impl SmLimits {
    /// GTX 480 (GF100, compute capability 2.0).
    pub const GTX480: SmLimits =
        SmLimits { sms: 15, warps: 48, threads: 1536, ctas: 8, registers: 32768, shared_bytes: 48 << 10 };

    /// Blocks that fit on one SM. A block beyond the limits of registers or shared memory still gets an SM to itself.
    pub fn ctas_per_sm(&self, threads: u32, registers_per_thread: u32, shared_bytes: u32) -> u32 {
        let warps = threads.div_ceil(32).max(1);
        // Registers are handed out per warp in units of 64, as on Fermi.
        let registers = (registers_per_thread.max(1) * 32).next_multiple_of(64) * warps;
        let shared = shared_bytes.next_multiple_of(128).max(1);
        self.ctas
            .min(self.warps / warps)
            .min(self.threads / threads.max(1))
            .min(self.registers / registers)
            .min(self.shared_bytes / shared)
            .max(1)
    }
}

impl Default for SmLimits {
    fn default() -> Self {
        SmLimits::GTX480
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckOptions {
    /// Report shared memory that two warps touch between barriers when one of them writes.
    pub races: bool,
    /// Report shared memory that is read before anything was written to it.
    pub uninit: bool,
}

/// When a run is taken to be stuck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watchdog {
    /// Warp instructions without a barrier opening or a warp ending after which the warps are looked at closely.
    pub patience: u64,
    /// Warp instructions without these and without any change of memory after which the run is stopped in any case.
    pub limit: u64,
}

impl Default for Watchdog {
    fn default() -> Self {
        Watchdog { patience: 20_000_000, limit: 2_000_000_000 }
    }
}

#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    pub sm: SmLimits,
    pub checks: CheckOptions,
    pub watchdog: Watchdog,
    /// Stop after about this many warp instructions, or thread instructions.
    pub max_warp_instructions: Option<u64>,
    pub max_thread_instructions: Option<u64>,
    /// Looked at every few thousand instructions; true stops the run.
    pub interrupt: Option<&'a AtomicBool>,
}

/// What a running grid asks of its surroundings.
pub trait Services {
    /// Text that the kernel printed, formatted.
    fn print(&mut self, text: &[u8]);

    /// Called now and then: blocks that ended, of how many.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// For kernels that print nothing, or when nobody wants to read it.
pub struct Quiet;

impl Services for Quiet {
    fn print(&mut self, _text: &[u8]) {}
}

impl Services for Vec<u8> {
    fn print(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}
