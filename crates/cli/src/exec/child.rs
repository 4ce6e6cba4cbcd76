// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the program to its end: signals are passed on, the time limit is kept, progress is shown.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use warpwatt_record::{Board, SESSION_VARIABLE, Stop};

use super::folder::Folder;
use super::program::Program;
use super::progress::Line;
use super::{FAILED, NOT_EXECUTABLE, NOT_FOUND, Refusal};
use crate::console::Console;

/// How the program ended.
pub struct Ending {
    /// Its own code; 128 + n for signal n, as shells have it.
    pub code: u8,
    /// The time limit was reached.
    pub expired: bool,
}

/// Interval at which the program is polled.
const LOOK: Duration = Duration::from_millis(50);
/// How long a program may take to write its results before it is ended, and then before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// How long kernels that start are stopped after Ctrl-C, of programs that handle it themselves.
const INTERRUPTION: Duration = Duration::from_secs(1);

/// The program's process, for the signal handler; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that is to be passed on; 0 for none.
static PENDING: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if signal == libc::SIGINT {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    // What a terminal sends, it sends to the program too.
    // SAFETY: `info` is null or given by the system.
    if info.is_null() || unsafe { (*info).si_code } != libc::SI_KERNEL {
        PENDING.store(signal, Ordering::SeqCst);
        pass_on();
    }
}

/// Sends the pending signals, once, if the child process exists. Only async-signal-safe calls.
fn pass_on() {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        let signal = PENDING.swap(0, Ordering::SeqCst);
        if signal != 0 {
            // SAFETY: a plain C call; the process is ours and not yet waited for.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Forwards signals to the program from now on, so that this process outlives it.
fn pass_signals_on() {
    // SAFETY: the handler only uses atomics and `kill`, and the set-up is plain C data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2]
        {
            // Signals that are ignored, as by `nohup`, stay ignored for the program.
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

pub fn run(
    program: &Program,
    folder: &Folder,
    timeout: Option<f64>,
    console: &Console,
) -> Result<Ending, Refusal> {
    let mut command = Command::new(&program.path);
    command.arg0(&program.name).args(&program.args);
    command.env("LD_LIBRARY_PATH", library_path(folder)).env(SESSION_VARIABLE, folder.settings());
    // Signals that we handle are the program's own again when it starts: that is what `exec` does with handlers.
    pass_signals_on();
    let mut child = command.spawn().map_err(|error| refusal(program, &error))?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    // One may have come while the program was being started.
    pass_on();
    let (done, ended) = channel::<()>();
    let (status, expired) = std::thread::scope(|scope| {
        let line = Line::new(console);
        let guard = scope.spawn(move || Guard::new(folder, timeout, line).watch(&ended));
        let status = child.wait();
        CHILD.store(0, Ordering::SeqCst);
        drop(done);
        (status, guard.join().unwrap_or(false))
    });
    let status =
        status.map_err(|error| Refusal::new(FAILED, format!("the program cannot be waited for: {error}")))?;
    Ok(Ending { code: code(status), expired })
}

fn library_path(folder: &Folder) -> OsString {
    let mut path = folder.path().as_os_str().to_owned();
    if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    path
}

fn refusal(program: &Program, error: &std::io::Error) -> Refusal {
    let name = program.name.to_string_lossy();
    match (error.kind(), error.raw_os_error()) {
        // The file exists: its interpreter or its loader is missing.
        (std::io::ErrorKind::NotFound, _) => {
            Refusal::new(NOT_FOUND, format!("{name} cannot be started: {error}"))
                .help("the file is there; is its interpreter, which its first line names?")
        }
        (_, Some(libc::ENOEXEC)) => {
            Refusal::new(NOT_EXECUTABLE, format!("{name} is neither a program nor a script"))
                .help("a script starts with a line such as `#!/bin/sh`")
        }
        _ => Refusal::new(NOT_EXECUTABLE, format!("{name} cannot be executed: {error}")),
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.map_or(FAILED, |code| code as u8)
}

/// Looks after the program while it runs.
struct Guard<'a> {
    folder: &'a Folder,
    board: &'a Board,
    deadline: Option<Instant>,
    line: Line,
    /// When it was requested to stop, and the steps taken since.
    stopping: Option<(Instant, u32)>,
    interrupted: Option<Instant>,
    expired: bool,
}

impl<'a> Guard<'a> {
    fn new(folder: &'a Folder, timeout: Option<f64>, line: Line) -> Guard<'a> {
        let deadline =
            timeout.and_then(|seconds| Instant::now().checked_add(Duration::from_secs_f64(seconds)));
        Guard {
            folder,
            board: &folder.board,
            deadline,
            line,
            stopping: None,
            interrupted: None,
            expired: false,
        }
    }

    /// Until the program has ended; returns whether the time limit was reached.
    fn watch(mut self, ended: &Receiver<()>) -> bool {
        while ended.recv_timeout(self.pause()) == Err(RecvTimeoutError::Timeout) {
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) && !self.expired {
                self.expired = true;
                self.board.stop(Stop::Timeout);
                self.stopping = Some((now, 0));
            }
            if self.board.is_limit_reached() {
                self.stopping.get_or_insert((now, 0));
            }
            self.interrupt(now);
            self.insist(now);
            self.line.draw(self.board);
        }
        self.expired
    }

    fn pause(&self) -> Duration {
        let left =
            self.deadline.filter(|_| !self.expired).map(|deadline| deadline.duration_since(Instant::now()));
        left.map_or(LOOK, |left| left.min(LOOK))
    }

    /// Ctrl-C stops the kernel that runs, wherever the program is; what the program makes of it is its own business.
    fn interrupt(&mut self, now: Instant) {
        if INTERRUPTED.swap(false, Ordering::Relaxed) {
            self.board.stop(Stop::Interrupt);
            self.interrupted = Some(now);
        }
        if self.interrupted.is_some_and(|since| now.duration_since(since) > INTERRUPTION) {
            self.board.resume();
            self.interrupted = None;
        }
    }

    /// A program that does not end at a limit is ended.
    fn insist(&mut self, now: Instant) {
        // Without a process that uses CUDA there are no results to wait for.
        let idle = !self.folder.is_used();
        let Some((since, sent)) = &mut self.stopping else { return };
        let signal = match *sent {
            0 if idle || now.duration_since(*since) > GRACE => libc::SIGTERM,
            1 if now.duration_since(*since) > 2 * GRACE => libc::SIGKILL,
            _ => return,
        };
        *sent += 1;
        let child = CHILD.load(Ordering::SeqCst);
        if child > 0 {
            // SAFETY: a plain C call; the process is ours and not yet waited for.
            unsafe { libc::kill(child, signal) };
        }
    }
}
