// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of a run: residency, limits, optional checks, and callbacks.

use std::sync::atomic::AtomicBool;

use warpwatt_memory::Bounds;

/// Resources of an SM, and the number of SMs. Functional mode keeps as many blocks resident at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmLimits {
    pub sms: u32,
    pub warps: u32,
    pub threads: u32,
    pub ctas: u32,
    /// 32-bit registers.
    pub registers: u32,
    pub shared_bytes: u32,
    /// Registers are allocated to a warp in multiples of this.
    pub register_unit: u32,
    /// Most threads of a block.
    pub block_threads: u32,
    /// Most registers of a thread.
    pub thread_registers: u32,
    /// Threads of a warp make progress independently; off: a warp has a reconvergence stack.
    pub independent_threads: bool,
}

/// Shared memory is allocated to a block in multiples of this.
const SHARED_UNIT: u32 = 128;

impl SmLimits {
    /// GTX 480 (GF100, compute capability 2.0).
    pub const GTX480: SmLimits = SmLimits {
        sms: 15,
        warps: 48,
        threads: 1536,
        ctas: 8,
        registers: 32768,
        shared_bytes: 48 << 10,
        register_unit: 64,
        block_threads: 1024,
        thread_registers: 255,
        independent_threads: false,
    };

    /// Registers that one warp takes.
    pub fn registers_per_warp(&self, registers_per_thread: u32) -> u32 {
        (registers_per_thread.max(1) * 32).next_multiple_of(self.register_unit.max(1))
    }

    /// Blocks that fit on one SM. A block beyond the limits of registers or shared memory still gets an SM to itself.
    pub fn ctas_per_sm(&self, threads: u32, registers_per_thread: u32, shared_bytes: u32) -> u32 {
        self.fits(threads, registers_per_thread, shared_bytes).unwrap_or(1)
    }

    /// Blocks that fit on one SM; `None` when not even one does.
    pub fn fits(&self, threads: u32, registers_per_thread: u32, shared_bytes: u32) -> Option<u32> {
        let warps = threads.div_ceil(32).max(1);
        let registers = self.registers_per_warp(registers_per_thread) * warps;
        let shared = shared_bytes.next_multiple_of(SHARED_UNIT).max(1);
        let fitting = self
            .ctas
            .min(self.warps / warps)
            .min(self.threads / threads.max(1))
            .min(self.registers / registers)
            .min(self.shared_bytes / shared);
        (fitting != 0).then_some(fitting)
    }

    /// The resource that an SM has too little of for a block, in words; `None` when one fits.
    pub fn shortage(&self, threads: u32, registers_per_thread: u32, shared_bytes: u32) -> Option<String> {
        let warps = threads.div_ceil(32).max(1);
        let registers = self.registers_per_warp(registers_per_thread) * warps;
        let short = |wanted: u32, there: u32, what: &str| {
            (wanted > there).then(|| format!("a block takes {wanted} {what}, an SM has {there}"))
        };
        short(threads, self.threads, "threads")
            .or_else(|| short(warps, self.warps, "warps"))
            .or_else(|| {
                let text = short(registers, self.registers, "registers")?;
                Some(format!("{text} ({registers_per_thread} for each of {threads} threads)"))
            })
            .or_else(|| {
                short(shared_bytes.next_multiple_of(SHARED_UNIT), self.shared_bytes, "bytes of shared memory")
            })
            .or_else(|| short(1, self.ctas, "slot for blocks"))
    }
}

impl Default for SmLimits {
    fn default() -> Self {
        SmLimits::GTX480
    }
}

/// Checks beyond the faults that hardware itself reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckOptions {
    /// Bytes that two threads touch without an order between them, when one of them writes: shared memory, within and between warps, and
    /// global memory between blocks.
    pub races: bool,
    /// Shared and global memory that is read before it is written.
    pub uninit: bool,
    /// Shuffles by lanes that their own mask does not name, and from lanes that do not take part.
    pub shuffles: bool,
    /// Accesses to shared memory outside their array.
    pub arrays: bool,
    /// Memory that kernels allocated with `malloc` and never freed.
    pub leaks: bool,
    /// How strictly loads are held to allocations.
    pub bounds: Bounds,
}

/// Name of each check but for bounds, what it looks for, and its place in the options.
type Switch = (&'static str, &'static str, fn(&mut CheckOptions) -> &mut bool);

impl CheckOptions {
    pub const SWITCHES: [Switch; 5] = [
        ("races", "accesses without an order, one of them a write", |of| &mut of.races),
        ("uninit", "reads of uninitialised memory", |of| &mut of.uninit),
        ("shuffles", "shuffles from lanes that do not take part", |of| &mut of.shuffles),
        ("arrays", "shared memory accessed beyond the array that is meant", |of| &mut of.arrays),
        ("leaks", "device `malloc` without `free`", |of| &mut of.leaks),
    ];
    const BOUNDS: [(&'static str, Bounds); 3] =
        [("bounds=exact", Bounds::Exact), ("bounds=page", Bounds::Page), ("bounds=warn", Bounds::Warn)];

    /// Switches a check on by its name: one of [`CheckOptions::SWITCHES`], `all` of them, or `bounds=exact|page|warn`.
    pub fn add(&mut self, name: &str) -> Result<(), String> {
        if let Some((_, bounds)) = CheckOptions::BOUNDS.iter().find(|known| known.0 == name) {
            self.bounds = *bounds;
            return Ok(());
        }
        let mut found = false;
        for (known, _, place) in CheckOptions::SWITCHES {
            if name == known || name == "all" {
                *place(self) = true;
                found = true;
            }
        }
        let known = CheckOptions::SWITCHES.map(|switch| switch.0).join(", ");
        found.then_some(()).ok_or_else(|| {
            format!("no check `{name}`; there are {known}, all, bounds=exact, bounds=page, bounds=warn")
        })
    }

    /// The enabled checks, as names for [`CheckOptions::add`].
    pub fn names(&self) -> Vec<&'static str> {
        let mut of = *self;
        let on =
            CheckOptions::SWITCHES.into_iter().filter(|switch| *switch.2(&mut of)).map(|switch| switch.0);
        let bounds = CheckOptions::BOUNDS.into_iter().filter(|known| known.1 == self.bounds);
        on.chain(bounds.map(|known| known.0)).collect()
    }
}

/// When a run counts as stuck, or endless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watchdog {
    /// Warp instructions without a barrier opening or a warp ending after which the warps are examined. In timed runs, a few times as many
    /// cycles have the same effect.
    pub patience: u64,
    /// Warp instructions (in timed runs: or cycles) without a warp ending after which a launch is stopped, whatever it does.
    pub limit: Option<u64>,
}

impl Watchdog {
    /// The limit of a functional launch: minutes of host time.
    pub const LIMIT: u64 = 20_000_000_000;
    /// The limit of a timed launch.
    pub const TIMED_LIMIT: u64 = 2_000_000_000;
}

impl Default for Watchdog {
    fn default() -> Self {
        Watchdog { patience: 250_000, limit: None }
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
    /// Polled every few thousand instructions; true stops the run.
    pub interrupt: Option<&'a AtomicBool>,
}

/// Callbacks of a running grid.
pub trait Services {
    /// Text that the kernel printed, formatted.
    fn print(&mut self, text: &[u8]);

    /// Called now and then with the blocks that ended, and all blocks.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// For kernels that print nothing, or whose output is discarded.
pub struct Quiet;

impl Services for Quiet {
    fn print(&mut self, _text: &[u8]) {}
}

impl Services for Vec<u8> {
    fn print(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}
