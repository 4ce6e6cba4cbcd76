// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device of this process: created at the first call, used by one caller at a time, destroyed with the process.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpwatt_runtime::{Class, Device, Error, Until};

use crate::core::code::{Code, Result};
use crate::core::handle::{HandleKind, Table};
use crate::core::memory::{Array, Ledger, Mipmap, Pools};
use crate::core::module::{Function, Loaded};
use crate::core::stream::{EventState, StreamState, ThreadStreams};
use crate::core::worker::{Worker, message};
use crate::core::{graph, signals, texture};
use crate::session::{Process, Session, Wish};

/// Everything that a program may hold of its device.
pub struct Core {
    pub device: Device,
    pub session: Session,
    pub process: Process,
    pub worker: Worker,
    pub modules: Table<Loaded>,
    pub functions: Table<Function>,
    pub streams: Table<StreamState>,
    pub thread_streams: ThreadStreams,
    pub events: Table<EventState>,
    pub ledger: Ledger,
    pub pools: Pools,
    pub arrays: Table<Array>,
    pub mipmaps: Table<Mipmap>,
    pub textures: texture::Textures,
    pub graphs: graph::Graphs,
    /// What the last module or link had to say, for the callers' log buffers.
    pub log: String,
    /// After a fault every call fails with its code, until the device is reset.
    faulted: Option<Code>,
    last_call: Instant,
}

static CORE: Mutex<Option<Core>> = Mutex::new(None);
/// The process that made the device; 0 before.
static OWNER: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicBool = AtomicBool::new(false);
/// Code of the fault that every call fails with, which was reported when it came; 0 without one.
static FAULT: AtomicI32 = AtomicI32::new(0);

thread_local! {
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Queue length at which the queued commands run even if the host does not wait.
const LONG_QUEUE: usize = 512;
/// How long a program may be silent, while work waits whose results it could see in memory, before the work starts.
const SILENCE: Duration = Duration::from_millis(500);
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// Does something with the device, unless it is faulted.
pub fn with<R>(call: impl FnOnce(&mut Core) -> Result<R>) -> Result<R> {
    with_faulted(|core| match core.faulted {
        Some(code) => Err(code),
        None => call(core),
    })
}

/// Does something with the device, faulted or not.
pub fn with_faulted<R>(call: impl FnOnce(&mut Core) -> Result<R>) -> Result<R> {
    if IN_HOST_FUNCTION.get() {
        return Err(Code::NOT_PERMITTED);
    }
    let owner = OWNER.load(Ordering::Acquire);
    if owner != 0 && owner != std::process::id() {
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            say(
                "this process was forked after CUDA was initialised and has no device; fork before that, or start a new program",
            );
        }
        return Err(Code::NOT_INITIALIZED);
    }
    if ENDED.load(Ordering::Acquire) {
        return Err(Code::DEINITIALIZED);
    }
    let mut slot = lock();
    if slot.is_none() {
        *slot = Some(Core::new()?);
        OWNER.store(std::process::id(), Ordering::Release);
    }
    let Some(core) = slot.as_mut() else { return Err(Code::NOT_INITIALIZED) };
    core.last_call = Instant::now();
    match catch_unwind(AssertUnwindSafe(|| call(core))) {
        Ok(result) => result,
        Err(payload) => {
            core.bug(&message(payload.as_ref()));
            Err(Code::UNKNOWN)
        }
    }
}

/// Whether the device exists already: some questions can be answered without making it.
pub fn is_initialized() -> bool {
    OWNER.load(Ordering::Acquire) == std::process::id()
}

/// Runs a host function of the program's. Such functions must not call CUDA.
pub fn host_function(call: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    call();
    IN_HOST_FUNCTION.set(false);
}

/// One line on stderr, in our name.
pub fn say(text: &str) {
    let mut line = format!("warpwatt: {text}");
    if !line.ends_with('\n') {
        line.push('\n');
    }
    use std::io::Write;
    let _ = std::io::stderr().write_all(line.as_bytes());
}

thread_local! {
    /// Why the call that this thread is in will fail, for its one line on stderr.
    static REASON: Cell<Option<String>> = const { Cell::new(None) };
}

/// Gives the reason of the error that the current call is about to answer with.
pub fn because(reason: impl Into<String>) {
    let _ = REASON.try_with(|slot| slot.set(Some(reason.into())));
}

/// Answers that say no more than that something is not so, and that programs ask for on purpose.
const QUESTIONS: &[&str] = &[
    "cuGetProcAddress",
    "cuGetExportTable",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuPointerGetAttribute",
    "cuCtxGetDevice",
    "cuCtxPopCurrent",
    "cuFuncIsLoaded",
    "cuDeviceGetAttribute",
    "cudaPointerGetAttributes",
    "cudaStreamGetCaptureInfo",
];

/// Why PTX was refused the last time. Such texts stay for ever, since programs keep pointers to them.
static REFUSAL: Mutex<Option<&'static CStr>> = Mutex::new(None);

fn keep_refusal(reason: &str) {
    let sentence = Code::INVALID_PTX.sentence().map_or("".into(), CStr::to_string_lossy);
    let Ok(text) = CString::new(format!("{sentence}: {reason}")) else { return };
    let mut kept = REFUSAL.lock().unwrap_or_else(PoisonError::into_inner);
    if *kept != Some(text.as_c_str()) {
        *kept = Some(Box::leak(text.into_boxed_c_str()));
    }
}

/// The sentence for a code. For PTX that was refused it names the instruction and its line: it is all that users of libraries get to see.
pub fn sentence(code: Code) -> Option<&'static CStr> {
    let refusal = *REFUSAL.lock().unwrap_or_else(PoisonError::into_inner);
    refusal.filter(|_| code == Code::INVALID_PTX).or_else(|| code.sentence())
}

/// An API function returns an error: reported once for each function and code.
pub fn complain(function: &str, code: Code) {
    static SAID: Mutex<BTreeSet<(String, i32)>> = Mutex::new(BTreeSet::new());
    let reason = REASON.try_with(Cell::take).ok().flatten();
    if let Some(reason) = reason.as_ref().filter(|_| code == Code::INVALID_PTX) {
        keep_refusal(reason);
    }
    let quiet = [Code::NOT_READY, Code::DEINITIALIZED, Code::NOT_SUPPORTED].contains(&code)
        || QUESTIONS.iter().any(|question| function.starts_with(question))
        || FAULT.load(Ordering::Relaxed) == code.0;
    if quiet || !SAID.lock().unwrap_or_else(PoisonError::into_inner).insert((function.to_owned(), code.0)) {
        return;
    }
    let sentence = code.sentence().map_or("unknown error".into(), |text| text.to_string_lossy());
    let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
    say(&format!("{function} returns {} ({sentence}){reason}", code.0));
}

fn lock() -> MutexGuard<'static, Option<Core>> {
    CORE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    fn new() -> Result<Core> {
        let session = Session::load().map_err(|problem| {
            say(&problem.to_string());
            Code::NO_DEVICE
        })?;
        let worker = Worker::start().map_err(|error| {
            say(&format!("no thread could be started: {error}"));
            Code::OPERATING_SYSTEM
        })?;
        let mut process = session.begin();
        let mut device = Device::with(session.options.clone(), process.observer()).map_err(|error| {
            say(&error.to_string());
            Code::of(&error)
        })?;
        if !device.identity() {
            say("the addresses of device memory are already in use in this process; \
                 run the program without memory limits on address space and without sanitizers");
            return Err(Code::OUT_OF_MEMORY);
        }
        process.note_traffic(&session, &mut device);
        std::panic::set_hook(Box::new(|_| ()));
        // SAFETY: `end` is a plain function without arguments.
        unsafe { libc::atexit(end) };
        let wish = process.wish();
        let _ = signals::spawn("warpwatt-watch", 1 << 20, move || watch(&wish));
        Ok(Core {
            device,
            session,
            process,
            worker,
            modules: Table::new(HandleKind::Module),
            functions: Table::new(HandleKind::Function),
            streams: Table::new(HandleKind::Stream),
            thread_streams: ThreadStreams::default(),
            events: Table::new(HandleKind::Event),
            ledger: Ledger::default(),
            pools: Pools::new(),
            arrays: Table::new(HandleKind::Array),
            mipmaps: Table::new(HandleKind::Mipmap),
            textures: texture::Textures::new(),
            graphs: graph::Graphs::new(),
            log: String::new(),
            faulted: None,
            last_call: Instant::now(),
        })
    }

    /// Runs all that is queued, and waits for `until`.
    pub fn finish(&mut self, until: Until) -> Result<()> {
        if self.device.queued() == 0 {
            let outcome = self.device.finish(until);
            return self.settle(outcome);
        }
        let Core { worker, device, .. } = self;
        let outcome = worker.run(|| device.finish(until));
        self.flatten(outcome)?;
        self.process.checkpoint(&self.device);
        Ok(())
    }

    /// Runs the queue if it became long.
    pub fn relieve(&mut self) -> Result<()> {
        if self.device.queued() >= LONG_QUEUE { self.finish(Until::Everything) } else { Ok(()) }
    }

    /// Does something that may compile or simulate, on the worker's stack.
    pub fn deeply<T: Send>(
        &mut self,
        work: impl FnOnce(&mut Device) -> std::result::Result<T, Error> + Send,
    ) -> Result<T> {
        let Core { worker, device, .. } = self;
        let outcome = worker.run(|| work(device));
        self.flatten(outcome)
    }

    fn flatten<T>(
        &mut self,
        outcome: std::result::Result<std::result::Result<T, Error>, String>,
    ) -> Result<T> {
        match outcome {
            Ok(result) => self.settle(result),
            Err(bug) => {
                self.bug(&bug);
                Err(Code::UNKNOWN)
            }
        }
    }

    /// Converts a device's error to its code, and prints the details on stderr.
    pub fn settle<T>(&mut self, result: std::result::Result<T, Error>) -> Result<T> {
        let error = match result {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let code = Code::of(&error);
        match error.class() {
            Class::BadInput => {
                // The code is sufficient for the program, except for details that only the simulator has.
                if matches!(error, Error::Ptx(_) | Error::Launch { .. } | Error::OutOfMemory(_)) {
                    say(&error.to_string());
                }
                if matches!(error, Error::Ptx(_) | Error::Launch { .. }) {
                    self.process.refused(&error);
                }
                because(match &error {
                    Error::Ptx(refusal) => refusal.problems().first().map_or(String::new(), |problem| {
                        let help = problem.help.as_deref().map_or(String::new(), |help| format!("; {help}"));
                        format!("{}:{}: {}{help}", problem.file, problem.line, problem.message)
                    }),
                    error => error.to_string(),
                });
                self.log = error.to_string();
            }
            Class::Fault => {
                let help = error.help().map_or(String::new(), |help| format!("\n  help: {help}"));
                say(&format!("{error}{help}"));
                self.process.fault(&error);
                self.set_faulted(Some(code));
            }
            Class::Limit | Class::Interrupted => self.process.stop(&self.device, &error),
            Class::Internal => self.bug(&error.to_string()),
        }
        Err(code)
    }

    fn bug(&mut self, text: &str) {
        say(&format!("a bug in warpwatt: {text}; please report it with the program that shows it"));
        self.process.bug(text);
        self.set_faulted(Some(Code::UNKNOWN));
    }

    fn set_faulted(&mut self, code: Option<Code>) {
        self.faulted = code;
        FAULT.store(code.map_or(0, |code| code.0), Ordering::Relaxed);
    }

    pub fn faulted(&self) -> Option<Code> {
        self.faulted
    }

    /// `cudaDeviceReset`: whatever the program holds is void but for libraries, and the device as new, but for its clock and its log.
    pub fn reset(&mut self) -> Result<()> {
        let outcome = if self.faulted.is_some() { Ok(()) } else { self.finish(Until::Everything) };
        self.set_faulted(None);
        self.free_everything();
        outcome
    }

    fn free_everything(&mut self) {
        for block in self.ledger.take() {
            let _ = block.release(&mut self.device);
        }
        self.renew_modules();
        self.streams.retain(|_, _| false);
        self.thread_streams = ThreadStreams::default();
        self.events.retain(|_, _| false);
        self.arrays.retain(|_, _| false);
        self.mipmaps.retain(|_, _| false);
        self.textures = texture::Textures::new();
        self.graphs = graph::Graphs::new();
        self.pools = Pools::new();
    }
}

/// At the end of the process: runs what was launched and never waited for, and leaves the record.
extern "C" fn end() {
    if OWNER.load(Ordering::Acquire) != std::process::id() {
        return;
    }
    let mut slot = lock();
    let Some(core) = slot.as_mut() else { return };
    if core.faulted.is_none() {
        let _ = core.finish(Until::Everything);
    }
    let Core { process, device, .. } = core;
    process.end(device);
    ENDED.store(true, Ordering::Release);
}

/// Starts work that the program may be waiting for without asking, looks after an interrupt that came between two calls, and
/// passes one on to a kernel that runs: while one block takes long, the device does not look for itself.
fn watch(wish: &Wish) {
    loop {
        std::thread::sleep(WATCH_EVERY);
        if ENDED.load(Ordering::Acquire) {
            return;
        }
        let Ok(mut slot) = CORE.try_lock() else {
            wish.pass_on();
            continue;
        };
        let Some(core) = slot.as_mut() else { continue };
        if core.process.stop_requested() {
            let error = Error::Interrupted { kernel: "the program".to_owned() };
            let _: Result<()> = core.settle(Err(error));
        }
        let silent = core.last_call.elapsed() > SILENCE;
        if silent && core.faulted.is_none() && core.device.queued() > 0 && core.ledger.host_sees() {
            let _ = core.finish(Until::Everything);
        }
    }
}
