// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device: its memory and modules, and what the host may do with them. Launching is in `launch`.

use warpwatt_compiler::Compiled;
use warpwatt_config::Config;
use warpwatt_exec::SmLimits;
use warpwatt_isa::Ty;
use warpwatt_memory::{Allocation, DeviceMemory, MemoryError};
use warpwatt_model::Profile;
use warpwatt_model::partition::Way;
use warpwatt_ptx::Diagnostic;

use crate::clock::{Clock, CopySpan};
use crate::copy::{CopyBox, End, FillBox, HostPtr};
use crate::drain::Until;
use crate::error::Error;
use crate::lines::LineTables;
use crate::module::Module;
use crate::notices::Strays;
use crate::options::{Nobody, Observer, Options};
use crate::queue::Queue;
use crate::record::LaunchRecord;
use crate::sources::Sources;
use crate::timed::TimedGpu;
use crate::types::{Args, DevicePtr, LaunchConfig, ModuleId, Stream};

pub struct Device {
    pub(crate) memory: DeviceMemory,
    pub(crate) modules: Vec<Module>,
    pub(crate) options: Options,
    pub(crate) observer: Box<dyn Observer + Send>,
    pub(crate) sources: Sources,
    pub(crate) lines: LineTables,
    pub(crate) log: Vec<LaunchRecord>,
    /// Launches that have ended and were not reported to the observer yet.
    pub(crate) ended: Vec<LaunchRecord>,
    /// The next launch to report to the observer.
    pub(crate) next_told: u64,
    pub(crate) pending: Option<Pending>,
    /// Launches begun.
    pub(crate) launches: u64,
    pub(crate) thread_instructions: u64,
    allocations: u64,
    /// Taken by the first cooperative launch.
    pub(crate) workspace: Option<DevicePtr>,
    /// Loads outside of allocations that were permitted.
    pub(crate) strays: Strays,
    pub(crate) queue: Queue,
    pub(crate) clock: Clock,
    /// The timed GPU, unless the device is functional.
    pub(crate) timed_gpu: Option<TimedGpu>,
    /// How often instructions of functional launches were executed, if that is to be counted.
    pub(crate) counts: Option<Profile>,
}

/// The launch before which a run was stopped; see [`Options::stop_before_launch`].
#[derive(Clone, Debug)]
pub struct Pending {
    pub module: ModuleId,
    pub kernel: String,
    pub config: LaunchConfig,
    pub args: Args,
}

/// What compilation found out about a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelAttributes {
    pub registers: u32,
    pub predicates: u32,
    pub spill_bytes: u32,
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub param_bytes: u32,
    /// Of the module's `.const` variables.
    pub const_bytes: u32,
    pub max_threads: u32,
    pub instructions: u32,
}

/// A variable of a module in device memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    pub name: String,
    pub at: DevicePtr,
    pub bytes: u64,
}

impl Device {
    pub fn new() -> Result<Device, Error> {
        Device::with(Options::default(), Box::new(Nobody))
    }

    pub fn with(mut options: Options, observer: Box<dyn Observer + Send>) -> Result<Device, Error> {
        let timed_gpu = TimedGpu::new(&mut options)?;
        let mut clock =
            timed_gpu.as_ref().map_or_else(Clock::nominal, |timed_gpu| Clock::of(timed_gpu.gpu.config()));
        clock.copies = timed_gpu.as_ref().filter(|timed_gpu| timed_gpu.traces()).map(|_| Vec::new());
        let bytes = options.memory_bytes.unwrap_or(warpwatt_memory::DEFAULT_CAPACITY);
        let mut memory = DeviceMemory::new(bytes).map_err(|error| Error::OutOfMemory(error.to_string()))?;
        memory.set_heap_limit(options.heap_bytes);
        memory.set_bounds(options.checks.bounds);
        memory.set_monitor(options.checks.races, options.checks.uninit);
        Ok(Device {
            memory,
            modules: Vec::new(),
            options,
            observer,
            sources: Sources::default(),
            lines: LineTables::default(),
            log: Vec::new(),
            ended: Vec::new(),
            next_told: 0,
            pending: None,
            launches: 0,
            thread_instructions: 0,
            allocations: 0,
            workspace: None,
            strays: Strays::new(),
            queue: Queue::new(),
            clock,
            timed_gpu,
            counts: None,
        })
    }

    /// Makes the text of a source file known, so that reports can show its lines.
    pub fn add_source(&mut self, file: &str, text: &str) {
        self.sources.add(file, text);
    }

    /// Reads a PTX text, and gives its variables memory and their initial values. Its kernels are compiled later.
    pub fn load_module(&mut self, name: &str, ptx: &str) -> Result<ModuleId, Error> {
        let module = Module::load(name, ptx, &mut self.memory)?;
        // Initial values are transferred like copies.
        for variable in module.variables() {
            self.show_copy(Way::HostWrite, variable.at.0, variable.bytes)?;
        }
        self.modules.push(module);
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    /// Takes zeroed memory.
    pub fn alloc(&mut self, bytes: u64) -> Result<DevicePtr, Error> {
        self.allocations += 1;
        let name = format!("allocation {}", self.allocations);
        self.alloc_named(bytes, &name)
    }

    /// Takes zeroed memory that reports call by a name.
    pub fn alloc_named(&mut self, bytes: u64, name: &str) -> Result<DevicePtr, Error> {
        match self.memory.alloc(bytes, name) {
            Ok(base) => Ok(DevicePtr(base)),
            Err(error) => Err(Error::OutOfMemory(error.to_string())),
        }
    }

    /// Takes zeroed memory at a given address, as recorded in another run.
    pub fn alloc_at(&mut self, at: DevicePtr, bytes: u64, name: &str) -> Result<(), Error> {
        self.memory.alloc_at(at.0, bytes, name).map_err(|error| Error::OutOfMemory(error.to_string()))
    }

    pub fn free(&mut self, p: DevicePtr) -> Result<(), Error> {
        self.finish(Until::Everything)?;
        self.memory.free(p.0).map_err(|error| self.bad_pointer("free", p, 0, &error))
    }

    pub fn write(&mut self, p: DevicePtr, data: &[u8]) -> Result<(), Error> {
        let from = End::Host(HostPtr(data.as_ptr().cast_mut()));
        self.copy_now(End::Device(p.0), from, data.len() as u64)
    }

    pub fn read(&mut self, p: DevicePtr, out: &mut [u8]) -> Result<(), Error> {
        self.copy_now(End::Host(HostPtr(out.as_mut_ptr())), End::Device(p.0), out.len() as u64)
    }

    /// Copies within the device; the ranges may overlap.
    pub fn copy(&mut self, to: DevicePtr, from: DevicePtr, bytes: u64) -> Result<(), Error> {
        self.copy_now(End::Device(to.0), End::Device(from.0), bytes)
    }

    fn copy_now(&mut self, to: End, from: End, bytes: u64) -> Result<(), Error> {
        self.queue_copy(Stream::LEGACY, CopyBox::flat(to, from, bytes))?;
        self.finish(Until::Stream(Stream::LEGACY))
    }

    pub fn memset(&mut self, p: DevicePtr, value: u8, bytes: u64) -> Result<(), Error> {
        let fill =
            FillBox { at: p.0, pitch: bytes, value: value.into(), element: 1, width: bytes, height: 1 };
        self.queue_fill(Stream::LEGACY, fill)?;
        self.finish(Until::Stream(Stream::LEGACY))
    }

    /// Lets kernels access host memory outside of the device's own, at its host address; the device must be one of [`Device::identity`].
    /// The caller keeps that memory until [`Device::abandon`].
    pub fn adopt(&mut self, at: u64, bytes: u64, name: &str) -> Result<(), Error> {
        let outcome = self.memory.adopt(at, bytes, name);
        outcome.map_err(|error| self.bad_pointer("sharing", DevicePtr(at), bytes, &error))
    }

    /// Takes host memory from the device again, after what is queued.
    pub fn abandon(&mut self, at: u64) -> Result<(), Error> {
        self.drain()?;
        let outcome = self.memory.abandon(at);
        outcome.map_err(|error| self.bad_pointer("end of sharing", DevicePtr(at), 0, &error))
    }

    /// Whether device addresses are host addresses.
    pub fn identity(&self) -> bool {
        self.memory.identity()
    }

    /// Whether an address is one of device memory, in use or not.
    pub fn owns_address(&self, at: u64) -> bool {
        at.checked_sub(warpwatt_memory::BASE).is_some_and(|offset| offset < self.memory.capacity())
    }

    /// Bytes of device memory that are free, and all of them.
    pub fn memory_info(&self) -> (u64, u64) {
        let total = self.memory.capacity();
        (total.saturating_sub(self.memory.in_use()), total)
    }

    /// The live allocation that holds an address.
    pub fn find(&self, at: u64) -> Option<&Allocation> {
        self.memory.find(at)
    }

    /// Whether an allocation that was freed started at this address.
    pub fn was_freed(&self, at: u64) -> bool {
        self.memory.find_freed(at).is_some_and(|old| old.base == at)
    }

    /// Limits what kernels may take with `malloc`.
    pub fn set_heap_limit(&mut self, bytes: u64) {
        self.memory.set_heap_limit(bytes);
    }

    pub fn heap_limit(&self) -> u64 {
        self.memory.heap_limit()
    }

    /// The GPU's configuration; `None` for a functional device.
    pub fn config(&self) -> Option<&Config> {
        self.gpu().map(|gpu| gpu.config())
    }

    /// What one SM holds.
    pub fn sm_limits(&self) -> SmLimits {
        self.options.sm
    }

    /// Forgets a module and frees its variables, after what is queued. Its number is not used again.
    pub fn unload_module(&mut self, m: ModuleId) -> Result<(), Error> {
        self.module(m)?;
        self.drain()?;
        self.modules[m.0 as usize].unload(&mut self.memory)
    }

    /// Offset and size of each parameter of a kernel, without compiling it.
    pub fn kernel_params(&self, m: ModuleId, kernel: &str) -> Result<Vec<(u32, u32)>, Error> {
        self.module(m)?.params(kernel)
    }

    /// The type of each parameter of a kernel; `None` for aggregates and for untyped ones such as `.b32`.
    pub fn kernel_param_types(&self, m: ModuleId, kernel: &str) -> Result<Vec<Option<Ty>>, Error> {
        self.module(m)?.param_types(kernel)
    }

    /// Address and size of a `.global` or `.const` variable of a module.
    pub fn symbol(&self, m: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        let module = self.module(m)?;
        match module.variable(name) {
            Some(variable) => Ok((variable.at, variable.bytes)),
            None => Err(Error::UnknownSymbol {
                module: module.name().to_owned(),
                name: name.to_owned(),
                hint: hint(
                    name,
                    &module.variables().map(|variable| variable.name.as_str()).collect::<Vec<_>>(),
                ),
            }),
        }
    }

    /// The module's `.global` and `.const` variables.
    pub fn variables(&self, m: ModuleId) -> Result<Vec<Variable>, Error> {
        Ok(self.module(m)?.variables().cloned().collect())
    }

    /// Names of the module's kernels, in order of appearance.
    pub fn kernels(&self, m: ModuleId) -> Result<Vec<String>, Error> {
        Ok(self.module(m)?.kernels())
    }

    /// Name and text of a module.
    pub fn module_text(&self, m: ModuleId) -> Result<(&str, &str), Error> {
        let module = self.module(m)?;
        Ok((module.name(), module.text().as_str()))
    }

    /// Compiles a kernel for inspection, with the text of the stages if requested.
    pub fn compile(&self, m: ModuleId, kernel: &str, keep_stages: bool) -> Result<Compiled, Error> {
        self.module(m)?.compile(kernel, &self.options, keep_stages)
    }

    /// Warnings and notes about a module's text.
    pub fn warnings(&self, m: ModuleId) -> Result<Vec<Diagnostic>, Error> {
        Ok(self.module(m)?.warnings().cloned().collect())
    }

    /// Compiles a kernel unless that was done before, and returns its resource usage.
    pub fn attributes(&mut self, m: ModuleId, kernel: &str) -> Result<KernelAttributes, Error> {
        let const_bytes = self.module(m)?.constant_bytes();
        let image = self.image(m, kernel)?;
        let program = image.program();
        let max_threads = program.req_ntid.or(program.max_ntid).map_or(1024, |limit| limit.iter().product());
        Ok(KernelAttributes {
            registers: program.registers,
            predicates: program.predicates,
            spill_bytes: program.spill_bytes,
            shared_bytes: program.shared_bytes,
            local_bytes: program.local_bytes,
            param_bytes: program.param_bytes,
            const_bytes,
            max_threads: max_threads.min(self.options.sm.block_threads),
            instructions: program.uops.len() as u32,
        })
    }

    /// Blocks of a kernel that are alive on one SM at a time.
    pub fn occupancy(&mut self, m: ModuleId, kernel: &str, threads: u32, shared: u32) -> Result<u32, Error> {
        let of = self.attributes(m, kernel)?;
        let most = self.limit_blocks(m, kernel, threads)?.unwrap_or(u32::MAX);
        let fit = self.options.sm.ctas_per_sm(threads, of.registers, of.shared_bytes.saturating_add(shared));
        Ok(fit.min(most))
    }

    /// Live allocations in address order, those of modules included.
    pub fn allocations(&self) -> impl Iterator<Item = &Allocation> {
        self.memory.allocations()
    }

    /// A line of a source that was made known, or of a module's PTX text, without its indent.
    pub fn source_line(&self, file: &str, line: u32) -> Option<&str> {
        self.source_text(file, line).map(str::trim)
    }

    /// A line of a source that was made known, or of a module's PTX text, with its indentation.
    pub fn source_text(&self, file: &str, line: u32) -> Option<&str> {
        self.sources.line(file, line).or_else(|| {
            let module = self.modules.iter().find(|module| module.name() == file)?;
            module.text().line(line)
        })
    }

    /// Copies and fills so far, of a timed device that notes them.
    pub fn copies(&self) -> &[CopySpan] {
        self.clock.copies.as_deref().unwrap_or_default()
    }

    /// What the launches did so far, in launch order; a launch that failed or was stopped is included, one that is still queued
    /// or was given up is not. Those that the observer keeps to itself are not in it.
    pub fn log(&self) -> &[LaunchRecord] {
        &self.log
    }

    /// The launch before which the run was stopped.
    pub fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref()
    }

    pub(crate) fn module(&self, m: ModuleId) -> Result<&Module, Error> {
        let module = self.modules.get(m.0 as usize).filter(|module| module.is_loaded());
        module.ok_or(Error::UnknownModule(m.0))
    }

    pub(crate) fn bad_pointer(
        &self,
        what: &'static str,
        at: DevicePtr,
        bytes: u64,
        error: &MemoryError,
    ) -> Error {
        let mut reason = error.to_string();
        if let Some(near) = self.memory.nearest(at.0) {
            let (allocation, freed) = (&near.allocation, if near.freed { ", which was freed" } else { "" });
            reason += &format!(
                "; the nearest is `{}` ({} bytes at {:#x}{freed})",
                allocation.name, allocation.size, allocation.base
            );
        }
        Error::Pointer { what, at, bytes, reason }
    }
}

/// "; did you mean `x`?" or, for few names, all of them.
pub(crate) fn hint(name: &str, known: &[&str]) -> String {
    if let Some(nearest) = warpwatt_ptx::suggest::nearest(name, known) {
        return format!("; did you mean `{nearest}`?");
    }
    match known.len() {
        0 => "; it has none".to_owned(),
        1..=8 => format!(
            "; it has {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
        _ => String::new(),
    }
}
