// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launching a kernel: checks of the configuration, packing of the arguments, the functional run, the entry in the log. Timed runs
//! are in `timed`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use warpwatt_exec::{
    Ending, Fault, GridLaunch, GridStats, Image, Options as ExecOptions, Services, SmLimits, Watchdog,
};
use warpwatt_isa::Program;
use warpwatt_model::Stalls;

use crate::device::{Device, Pending};
use crate::drain::Until;
use crate::error::Error;
use crate::lines::Lines;
use crate::options::Observer;
use crate::queue::What;
use crate::record::LaunchRecord;
use crate::report::{FaultReport, Scene};
use crate::types::{Args, DevicePtr, LaunchConfig, ModuleId, Stream};

const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// The most shared memory that a block has on any CUDA machine so far.
const MAX_SHARED: u32 = 227 << 10;
const WORKSPACE_BYTES: u32 = 64;
/// The largest alignment of a parameter: a block of them is padded to this at most.
const MOST_ALIGNED: usize = 16;
/// What helps a block that does not fit an SM.
const ADVICE: &str = "use smaller blocks, fewer registers a thread or less shared memory";
const AXES: [char; 3] = ['x', 'y', 'z'];

/// A launch that was checked and has all that it needs to run.
pub(crate) struct Ready {
    pub index: u64,
    pub timed: bool,
    pub config: LaunchConfig,
    module: ModuleId,
    /// Its module has constants, which are taken right before it runs.
    pub has_constants: bool,
    image: Arc<Image>,
    params: Vec<u8>,
    /// Empty until the launch is about to run.
    bank3: Vec<u8>,
    bank4: Vec<u8>,
    workspace: u64,
}

impl Ready {
    pub fn program(&self) -> &Program {
        self.image.program()
    }

    /// Shared memory of a block.
    pub fn shared_bytes(&self) -> u32 {
        shared_bytes(self.program(), &self.config) as u32
    }

    /// Cooperative launches share one workspace, so they never run beside others.
    pub fn is_alone(&self) -> bool {
        self.config.cooperative || self.program().grid_sync
    }

    pub fn grid(&self) -> GridLaunch<'_> {
        GridLaunch {
            image: &self.image,
            grid: self.config.grid.to_array(),
            block: self.config.block.to_array(),
            dynamic_shared: self.config.dynamic_shared,
            params: &self.params,
            bank3: &self.bank3,
            bank4: &self.bank4,
            cooperative: self.is_alone(),
            workspace: self.workspace,
            grid_id: self.index,
        }
    }
}

impl Device {
    /// Runs a kernel to its end. On a timed device, launches on streams other than 0 are queued; see [`Device::synchronize`].
    pub fn launch(
        &mut self,
        m: ModuleId,
        kernel: &str,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<(), Error> {
        let stream = Stream(config.stream);
        self.queue.open(stream);
        let at_once = self.accept(stream, m, kernel, config, args)?;
        if at_once || stream == Stream::LEGACY { self.finish(Until::Everything) } else { Ok(()) }
    }

    /// Queues a kernel on a stream. What can be found wrong without running it is refused at once.
    pub fn queue_launch(
        &mut self,
        stream: Stream,
        m: ModuleId,
        kernel: &str,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<(), Error> {
        self.accept(stream, m, kernel, &config.stream(stream.0), args).map(drop)
    }

    /// Compiles, checks and queues a launch. Tells whether it has to run by itself, or takes no time.
    fn accept(
        &mut self,
        stream: Stream,
        m: ModuleId,
        kernel: &str,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<bool, Error> {
        let index = self.launches;
        self.module(m)?.check_kernel(kernel)?;
        let args = self.separate(m, kernel, args)?;
        if self.options.stop_before_launch == Some(index) {
            self.finish(Until::Everything)?;
            let (kernel, args) = (kernel.to_owned(), args.into_owned());
            self.pending = Some(Pending { module: m, kernel, config: *config, args });
            return Err(Error::StoppedBefore(index));
        }
        self.observer.launch(index, kernel);
        self.launches += 1;
        let image = self.fitted(m, kernel, config)?;
        let timed = self.selects(m, kernel);
        if timed {
            self.modules[m.0 as usize].check_profile(kernel, &image)?;
        }
        let ready = self.prepare((index, timed), m, image, config, &args)?;
        let at_once = !timed || ready.is_alone();
        self.push(stream, What::Launch(Box::new(ready)))?;
        Ok(at_once)
    }

    /// Arguments one by one, also if they were given as a block.
    fn separate<'a>(&self, m: ModuleId, kernel: &str, args: &'a Args) -> Result<Cow<'a, Args>, Error> {
        let Some(block) = args.block() else { return Ok(Cow::Borrowed(args)) };
        let params = self.kernel_params(m, kernel)?;
        let end = params.iter().map(|&(offset, size)| offset as usize + size as usize).max().unwrap_or(0);
        if block.len() < end || block.len() > end.next_multiple_of(MOST_ALIGNED) {
            let reason = format!("the parameters take {end} bytes, but a block of {} is given", block.len());
            return Err(Error::Launch { kernel: kernel.to_owned(), reason });
        }
        let value = |&(offset, size): &(u32, u32)| &block[offset as usize..][..size as usize];
        Ok(Cow::Owned(params.iter().map(value).fold(Args::new(), |args, bytes| args.bytes(bytes))))
    }

    /// Checks a launch and gathers what it needs, but for what memory holds.
    fn prepare(
        &mut self,
        (index, timed): (u64, bool),
        m: ModuleId,
        image: Arc<Image>,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<Ready, Error> {
        let program = image.program();
        let refused = |reason| Error::Launch { kernel: program.name.clone(), reason };
        check_config(program, config, &self.options.sm).map_err(refused)?;
        if self.gpu().is_some() || self.options.strict {
            let threads = config.block.count() as u32;
            let shared = shared_bytes(program, config) as u32;
            if let Some(shortage) = self.options.sm.shortage(threads, program.registers, shared) {
                return Err(refused(format!("{shortage}; {ADVICE}")));
            }
        }
        let params = pack(program, args).map_err(refused)?;
        let bank4 = self.addresses(m, program).map_err(refused)?;
        let workspace = if config.cooperative { self.workspace()?.0 } else { 0 };
        let has_constants = self.modules[m.0 as usize].has_constants();
        Ok(Ready {
            index,
            timed,
            has_constants,
            config: *config,
            module: m,
            image,
            params,
            bank3: Vec::new(),
            bank4,
            workspace,
        })
    }

    /// Copies the current constants and resets the workspace, right before a launch runs.
    pub(crate) fn arm(&mut self, ready: &mut Ready) -> Result<(), Error> {
        ready.bank3 = self.modules[ready.module.0 as usize].constants(&self.memory)?;
        if ready.workspace != 0 {
            let mut start = [0; WORKSPACE_BYTES as usize];
            start[..4].copy_from_slice(&WORKSPACE_BYTES.to_le_bytes());
            let outcome = self.memory.write(ready.workspace, &start);
            outcome.map_err(|error| Error::Internal(error.to_string()))?;
        }
        Ok(())
    }

    /// Runs a kernel without time. Gives the warp instructions that it took.
    pub(crate) fn run_functionally(&mut self, ready: &Ready) -> Result<u64, Error> {
        let left =
            self.options.max_thread_instructions.map(|most| most.saturating_sub(self.thread_instructions));
        let options = ExecOptions {
            sm: self.options.sm,
            checks: self.options.checks,
            watchdog: self.options.watchdog,
            max_warp_instructions: None,
            max_thread_instructions: left,
            interrupt: Some(&self.options.interrupt),
        };
        let mut services = Forward(self.observer.as_mut());
        let started = Instant::now();
        let outcome = warpwatt_exec::run(&ready.grid(), &mut self.memory, &mut services, &options);
        let (stats, fault) = match outcome {
            Ok(stats) => (stats, None),
            Err(failure) => (failure.stats, Some(failure.fault)),
        };
        let complete = fault.is_none() && stats.ending == Ending::Finished;
        let lines = self.lines_of(ready);
        let mut record = self.entry(ready, &lines, &stats, &[], complete);
        record.host_seconds = started.elapsed().as_secs_f64();
        self.thread_instructions += stats.thread_instructions;
        if let Some(counts) = &mut self.counts {
            counts.add(ready.program(), record.per_pc.iter().map(|count| count.issues));
        }
        self.ended.push(record);
        match fault {
            Some(fault) => Err(self.fault(ready, &fault)),
            None if complete => self.conclude(ready).map(|()| stats.warp_instructions),
            None => Err(self.stopped(ready, stats.ending, None)),
        }
    }

    /// Report of a launch that ended with a fault.
    pub(crate) fn fault(&self, ready: &Ready, fault: &Fault) -> Error {
        let module = &self.modules[ready.module.0 as usize];
        let scene = Scene {
            program: ready.program(),
            ptx_file: module.name(),
            ptx_text: module.text(),
            sources: &self.sources,
            launch: ready.index,
            config: &ready.config,
        };
        Error::Fault(Box::new(FaultReport::new(fault, &scene)))
    }

    /// What to say about a launch that was ended from outside; `cycles` is the limit of cycles if that is what did it.
    pub(crate) fn stopped(&self, ready: &Ready, ending: Ending, cycles: Option<u64>) -> Error {
        let kernel = ready.program().name.clone();
        let limit = |limit, unit, flag| Error::Limit { kernel: kernel.clone(), limit, unit, flag };
        match (ending, cycles) {
            (Ending::Interrupted, _) => Error::Interrupted { kernel },
            (Ending::Endless, _) if ready.timed => {
                let most = self.options.watchdog.limit.unwrap_or(Watchdog::TIMED_LIMIT);
                limit(most, "warp instructions or cycles without the end of any warp", "--limit-loop")
            }
            (Ending::Endless, _) => {
                let most = self.options.watchdog.limit.unwrap_or(Watchdog::LIMIT);
                limit(most, "warp instructions without the end of any warp", "--limit-loop")
            }
            (_, Some(most)) => limit(most, "cycles", "--limit-cycles"),
            (_, None) => {
                let most = self.options.max_thread_instructions.unwrap_or_default();
                limit(most, "thread instructions", "--limit-instructions")
            }
        }
    }

    /// The source lines of a launch's program.
    pub(crate) fn lines_of(&mut self, ready: &Ready) -> Arc<Lines> {
        self.lines.of(&ready.image, self.modules[ready.module.0 as usize].name())
    }

    /// The log's entry of a launch, without its time.
    pub(crate) fn entry(
        &self,
        ready: &Ready,
        lines: &Lines,
        stats: &GridStats,
        stalls: &[Stalls],
        complete: bool,
    ) -> LaunchRecord {
        let (program, config) = (ready.program(), &ready.config);
        let module = &self.modules[ready.module.0 as usize];
        LaunchRecord {
            index: ready.index,
            kernel: program.name.clone(),
            demangled: module.demangled(&program.name),
            ptx_file: module.name().to_owned(),
            grid: config.grid.to_array(),
            block: config.block.to_array(),
            stream: config.stream,
            registers: program.registers,
            shared_bytes: shared_bytes(program, config) as u32,
            local_bytes: program.local_bytes,
            warp_instructions: stats.warp_instructions,
            thread_instructions: stats.thread_instructions,
            barriers: stats.barriers,
            divergent_branches: stats.divergent_branches,
            complete,
            host_seconds: 0.0,
            lines: lines.counts(stats, stalls),
            per_pc: stats.per_pc.clone(),
            timed: None,
        }
    }

    /// Where the blocks of a cooperative launch count themselves (cooperative groups' `grid_group`): its size and the barrier, which starts at zero.
    fn workspace(&mut self) -> Result<DevicePtr, Error> {
        let at = match self.workspace {
            Some(at) => at,
            None => self.alloc_named(WORKSPACE_BYTES.into(), "grid workspace")?,
        };
        self.workspace = Some(at);
        Ok(at)
    }

    /// Constant bank 4: the addresses of the variables that the program names, here or in another module.
    fn addresses(&self, m: ModuleId, program: &Program) -> Result<Vec<u8>, String> {
        let mut bank = Vec::with_capacity(8 * program.globals.len());
        for name in &program.globals {
            let own = &self.modules[m.0 as usize];
            let address = match own.reference(name) {
                // An unbound reference is an error only if the kernel reads it.
                Some(handle) => handle.unwrap_or(0),
                None => {
                    let all = std::iter::once(own).chain(&self.modules);
                    let Some(variable) = all.into_iter().find_map(|module| module.variable(name)) else {
                        return Err(format!("it uses `{name}`, which no loaded module defines"));
                    };
                    variable.at.0
                }
            };
            bank.extend_from_slice(&address.to_le_bytes());
        }
        Ok(bank)
    }
}

fn check_config(program: &Program, config: &LaunchConfig, sm: &SmLimits) -> Result<(), String> {
    let (grid, block) = (config.grid.to_array(), config.block.to_array());
    for (what, extent, most) in [("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)] {
        for axis in 0..3 {
            if extent[axis] == 0 {
                return Err(format!("the {what} has an extent of 0 in {}", AXES[axis]));
            }
            if extent[axis] > most[axis] {
                return Err(format!(
                    "the {what} has an extent of {} in {}; the maximum is {}",
                    extent[axis], AXES[axis], most[axis]
                ));
            }
        }
    }
    let threads = config.block.count();
    if threads > u64::from(sm.block_threads) {
        return Err(format!("a block of {threads} threads; the maximum is {}", sm.block_threads));
    }
    if let Some(required) = program.req_ntid.filter(|&required| required != block) {
        return Err(format!(
            "the kernel requires blocks of {} (`.reqntid`), not {}",
            triple(required),
            triple(block)
        ));
    }
    if let Some(most) = program.max_ntid {
        let allowed: u64 = most.iter().map(|&extent| u64::from(extent)).product();
        if threads > allowed {
            return Err(format!("a block of {threads} threads; the kernel allows {allowed} (`.maxntid`)"));
        }
    }
    let shared = shared_bytes(program, config);
    if shared > u64::from(MAX_SHARED) {
        return Err(format!("{shared} bytes of shared memory per block; the maximum is {MAX_SHARED}"));
    }
    Ok(())
}

/// Static and dynamic shared memory of a block, with what alignment puts between them.
pub(crate) fn shared_bytes(program: &Program, config: &LaunchConfig) -> u64 {
    match config.dynamic_shared {
        0 => u64::from(program.shared_bytes),
        dynamic => u64::from(program.dynamic_shared) + u64::from(dynamic),
    }
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// The parameter block: every argument at its parameter's offset.
fn pack(program: &Program, args: &Args) -> Result<Vec<u8>, String> {
    let (given, wanted) = (args.values(), &program.params);
    if given.len() != wanted.len() {
        return Err(format!(
            "the kernel has {} parameter{}, but {} argument{} given",
            wanted.len(),
            if wanted.len() == 1 { "" } else { "s" },
            given.len(),
            if given.len() == 1 { " is" } else { "s are" },
        ));
    }
    let mut block = vec![0; program.param_bytes as usize];
    for (number, (value, param)) in given.iter().zip(wanted).enumerate() {
        let size = param.size as usize;
        let Some(target) = block.get_mut(param.offset as usize..param.offset as usize + size) else {
            return Err(format!("parameter {} lies outside of the parameter block", number + 1));
        };
        if value.len() != size {
            let ty = param.ty.map_or("one".to_owned(), |ty| format!("{ty:?}").to_lowercase());
            return Err(format!(
                "argument {} has {} bytes, but the parameter is {ty} of {size} bytes",
                number + 1,
                value.len()
            ));
        }
        target.copy_from_slice(value);
    }
    Ok(block)
}

/// Forwards events of the executor to the device's observer.
struct Forward<'a>(&'a mut dyn Observer);

impl Services for Forward<'_> {
    fn print(&mut self, text: &[u8]) {
        self.0.print(text);
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.0.progress(done, total);
    }
}
