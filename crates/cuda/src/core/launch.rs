// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands on streams, launches above all. A command goes into the device's queue, or into a graph if its stream is being captured.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpwatt_runtime::{Args, Dim3, LaunchConfig, Stream};

use crate::core::code::{Code, Result};
use crate::core::copy::{Copy, Fill};
use crate::core::graph;
use crate::core::state::{Core, host_function, say};

/// What is done in stream order. A command can be done any number of times, as graphs do.
#[derive(Clone)]
pub enum Command {
    Launch(Launch),
    Copy(Copy),
    Fill(Fill),
    /// A function of the program's.
    Call(Arc<dyn Fn() + Send + Sync>),
    /// Handles of events.
    Record(u64),
    Wait(u64),
}

/// `CUfunc_cache`: what a kernel without a preference of its own prefers, as set for the context.
pub static CONTEXT_CACHE: AtomicU32 = AtomicU32::new(0);
const NO_PREFERENCE: i32 = 0;
const PREFER_L1: i32 = 2;

/// A launch with its arguments.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Handle of the function.
    pub function: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
    pub cooperative: bool,
    /// One value per parameter, or the whole block.
    pub args: Args,
}

/// Arguments as a program passes them.
#[derive(Clone, Copy)]
pub enum Arguments<'a> {
    /// One pointer per parameter; may be null for a kernel without any.
    Pointers(*const *const c_void),
    /// The parameter block.
    Packed(&'a [u8]),
}

impl Core {
    /// Reads the arguments of a kernel from where the program has them.
    ///
    /// # Safety
    /// Each pointer leads to a value of its parameter's size, as CUDA demands too.
    pub unsafe fn arguments(&self, function: u64, arguments: Arguments) -> Result<Args> {
        let function = self.functions.get(function)?;
        match arguments {
            Arguments::Packed(block) => Ok(Args::packed(block.to_vec())),
            Arguments::Pointers(list) => {
                let mut args = Args::new();
                for (k, &(_, size)) in function.params.iter().enumerate() {
                    if list.is_null() {
                        return Err(Code::INVALID_VALUE);
                    }
                    // SAFETY: the caller vouches for as many pointers as there are parameters.
                    let value = unsafe { *list.add(k) };
                    if value.is_null() {
                        return Err(Code::INVALID_VALUE);
                    }
                    // SAFETY: the caller vouches for a value of the parameter's size.
                    args = args.bytes(unsafe { std::slice::from_raw_parts(value.cast(), size as usize) });
                }
                Ok(args)
            }
        }
    }

    /// Checks a launch and puts it into its stream.
    pub fn launch(&mut self, stream: Stream, launch: Launch) -> Result<()> {
        self.check_launch(&launch)?;
        self.submit(stream, Command::Launch(launch))
    }

    /// Rejects launches that cannot run on this device, with a message once for each kernel and reason.
    pub fn check_launch(&mut self, launch: &Launch) -> Result<()> {
        let Some((code, why)) = self.refusal(launch)? else { return Ok(()) };
        static SAID: Mutex<BTreeSet<(u64, i32)>> = Mutex::new(BTreeSet::new());
        if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert((launch.function, code.0)) {
            let name = warpwatt_runtime::demangle(&self.functions.get(launch.function)?.name);
            say(&format!("`{name}` is not launched: {why}"));
        }
        Err(code)
    }

    fn refusal(&mut self, launch: &Launch) -> Result<Option<(Code, String)>> {
        let limits = self.limits();
        let function = self.functions.get(launch.function)?;
        let shared = function.dynamic_shared.max(limits.shared_per_block);
        let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
        let beyond = |extent: [u32; 3], most: [u32; 3]| extent.iter().zip(most).any(|(&n, most)| n > most);
        if launch.grid.contains(&0) || launch.block.contains(&0) {
            let (grid, block) = (extent(launch.grid), extent(launch.block));
            let why = format!("its grid of {grid} blocks of {block} threads is empty");
            return Ok(Some((Code::INVALID_CONFIGURATION, why)));
        }
        if beyond(launch.grid, limits.grid) {
            let (grid, most) = (extent(launch.grid), extent(limits.grid));
            let why = format!("its grid of {grid} blocks is larger than {most}");
            return Ok(Some((Code::INVALID_CONFIGURATION, why)));
        }
        if beyond(launch.block, limits.block) || threads > u64::from(limits.threads_per_block) {
            let (block, most) = (extent(launch.block), limits.threads_per_block);
            let sides = extent(limits.block);
            let why =
                format!("its block has {block} threads; the maximum is {most}, and {sides} by dimension");
            return Ok(Some((Code::INVALID_CONFIGURATION, why)));
        }
        if launch.shared > shared {
            let why = format!(
                "it requests {} bytes of dynamic shared memory; {shared} are available",
                launch.shared
            );
            return Ok(Some((Code::INVALID_VALUE, why)));
        }
        let attributes = self.attributes(launch.function)?;
        if threads > u64::from(attributes.max_threads) {
            let most = attributes.max_threads;
            let why = format!("its block has {threads} threads, but its launch bounds allow {most}");
            return Ok(Some((Code::INVALID_VALUE, why)));
        }
        if launch.cooperative {
            let blocks: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
            let resident = u64::from(self.occupancy(launch.function, threads as u32, launch.shared)?);
            let room = resident * u64::from(limits.sms);
            if blocks > room {
                let why = format!(
                    "a cooperative grid of {blocks} blocks cannot be resident at once; the maximum is {room}"
                );
                return Ok(Some((Code::COOPERATIVE_LAUNCH_TOO_LARGE, why)));
            }
        }
        Ok(None)
    }

    /// Puts a command into a stream: into the device's queue, or into the graph that captures the stream.
    pub fn submit(&mut self, stream: Stream, command: Command) -> Result<()> {
        let captured_event = matches!(command, Command::Wait(event) if self.graphs.holds_event(event));
        if captured_event || self.graphs.captures(stream) {
            return graph::capture(self, stream, command);
        }
        self.enqueue(stream, &command)
    }

    /// Puts a command into the device's queue.
    pub fn enqueue(&mut self, stream: Stream, command: &Command) -> Result<()> {
        match command {
            Command::Launch(launch) => self.queue_launch(stream, launch),
            Command::Copy(copy) => self.queue_copy(stream, copy),
            Command::Fill(fill) => self.queue_fill(stream, fill),
            Command::Call(call) => {
                let call = Arc::clone(call);
                let queued = self.device.queue_call(stream, Box::new(move || host_function(|| call())));
                self.settle(queued)?;
                self.relieve()
            }
            Command::Record(event) => self.queue_record(stream, *event),
            Command::Wait(event) => self.queue_wait(stream, *event),
        }
    }

    fn queue_launch(&mut self, stream: Stream, launch: &Launch) -> Result<()> {
        let function = self.functions.get(launch.function)?;
        let (module, name) = (function.id, Arc::clone(&function.name));
        let mut config = LaunchConfig::new(Dim3::from(launch.grid), Dim3::from(launch.block))
            .shared(launch.shared)
            .stream(stream.0);
        config.cooperative = launch.cooperative;
        config.prefer_l1 = match function.cache {
            NO_PREFERENCE => CONTEXT_CACHE.load(Ordering::Relaxed) == PREFER_L1 as u32,
            preference => preference == PREFER_L1,
        };
        let queued = self.device.queue_launch(stream, module, &name, &config, &launch.args);
        self.settle(queued)?;
        self.relieve()
    }
}

fn extent(sides: [u32; 3]) -> String {
    format!("{} x {} x {}", sides[0], sides[1], sides[2])
}
