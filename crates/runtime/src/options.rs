// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a device runs its kernels, and its observer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use regex::Regex;
use warpwatt_config::Config;
use warpwatt_exec::lanes::Level;
use warpwatt_exec::{CheckOptions, SmLimits, Watchdog};
use warpwatt_model::{Progress, Techniques};

use crate::programs::Programs;
use crate::record::LaunchRecord;

#[derive(Clone)]
pub struct Options {
    /// What is simulated.
    pub mode: Mode,
    /// Which launches of a timed device are timed.
    pub selection: Selection,
    /// Device memory in bytes; `None` for what the GPU has.
    pub memory_bytes: Option<u64>,
    /// Bytes that kernels may take with `malloc`.
    pub heap_bytes: u64,
    /// Registers per thread; `None` for what the module's target has: 63 below sm_35, 255 from there on.
    pub max_registers: Option<u32>,
    /// Turn short branches into guards, as ptxas does.
    pub predicate: bool,
    /// Optional checks.
    pub checks: CheckOptions,
    pub watchdog: Watchdog,
    /// What one SM holds, which decides how many blocks are alive at once. A timed device takes it from its configuration.
    pub sm: SmLimits,
    /// Refuse blocks that no SM can hold, as a timed device does.
    pub strict: bool,
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
    /// Kernels that other devices have compiled for the same job.
    pub programs: Programs,
}

impl Options {
    /// Takes the limits of a GPU, for a functional device.
    pub fn limit_to(&mut self, config: &Config) {
        self.sm = warpwatt_model::Gpu::limits(config);
        self.memory_bytes.get_or_insert(config.memory_bytes());
        self.strict = true;
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mode: Mode::Functional,
            selection: Selection::default(),
            memory_bytes: None,
            heap_bytes: warpwatt_memory::DEFAULT_HEAP,
            max_registers: None,
            predicate: true,
            checks: CheckOptions::default(),
            watchdog: Watchdog::default(),
            sm: SmLimits::default(),
            strict: false,
            max_thread_instructions: None,
            interrupt: Arc::default(),
            stop_before_launch: None,
            level: Level::detect(),
            verify: cfg!(debug_assertions),
            programs: Programs::default(),
        }
    }
}

/// What a device simulates.
#[derive(Clone, Debug, Default)]
pub enum Mode {
    /// Values only; time is nominal.
    #[default]
    Functional,
    /// Values and time.
    Timed(Box<Timed>),
}

impl Mode {
    /// The timed GPU of this configuration, simulated by one thread.
    pub fn timed(config: Config) -> Mode {
        Mode::Timed(Box::new(Timed::new(config)))
    }
}

/// How time is simulated.
#[derive(Clone, Debug)]
pub struct Timed {
    pub config: Config,
    pub techniques: Techniques,
    /// Host threads; they affect only the host time.
    pub threads: u32,
    /// Never skip idle cycles: slower, with the same result.
    pub step_every_cycle: bool,
    /// Take a sample of the counters about every so many cycles.
    pub interval: Option<u64>,
    /// Stop when kernels have taken this many cycles, all launches together.
    pub limit_cycles: Option<u64>,
    /// Note where and when blocks ran, and copies.
    pub trace: bool,
}

impl Timed {
    /// The GPU of this configuration, simulated by one thread, with nothing out of the ordinary.
    pub fn new(config: Config) -> Timed {
        Timed {
            config,
            techniques: Techniques::default(),
            threads: 1,
            step_every_cycle: false,
            interval: None,
            limit_cycles: None,
            trace: false,
        }
    }
}

/// Which launches of a timed device are timed; the others run functionally and take no time.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Kernels whose name, as in the PTX text or as in the source, matches; all when `None`.
    pub kernels: Option<Regex>,
    /// The first so many launches of those kernels are left out.
    pub skip: u64,
}

impl Selection {
    /// Whether a kernel of this name is among those to be timed.
    pub fn names(&self, kernel: &str, demangled: &str) -> bool {
        self.kernels.as_ref().is_none_or(|regex| regex.is_match(kernel) || regex.is_match(demangled))
    }
}

/// Told about what happens on a device. A device itself does no input or output.
pub trait Observer {
    /// Launch `index` is about to be compiled, if need be, and run.
    fn launch(&mut self, _index: u64, _kernel: &str) {}

    /// Blocks that ended, of how many.
    fn progress(&mut self, _done: u64, _total: u64) {}

    /// Progress of launch `index` of a timed device; called every few thousand cycles.
    fn tick(&mut self, _index: u64, _kernel: &str, _progress: &Progress) {}

    /// A message for the user about a launch, reported once.
    fn note(&mut self, _text: &str) {}

    /// The record of a launch, in launch order. A returned record is added to the device's log, which grows with every launch.
    fn ended(&mut self, launch: LaunchRecord) -> Option<LaunchRecord> {
        Some(launch)
    }

    /// Text that a kernel printed, in order.
    fn print(&mut self, _text: &[u8]) {}
}

/// Watches nothing.
pub struct Nobody;

impl Observer for Nobody {}
