// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long work beside the interpreter: it runs in a thread of its own without the interpreter's lock, while the calling thread looks at signals, shows progress,
//! and passes on what kernels print and what commands say. Python is called by the calling thread alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use warpwatt_cli::front::{Listener, describe, describe_functional};
use warpwatt_record::Collector;
use warpwatt_runtime::{LaunchRecord, Observer, Progress};

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(100);
/// What takes no longer shows no progress.
const SLOW: Duration = Duration::from_millis(500);

/// How far the work is.
#[derive(Clone, Default)]
struct Line {
    done: u64,
    total: u64,
    text: String,
}

#[derive(Default)]
struct State {
    line: Option<Line>,
    /// What kernels printed and nobody has shown yet.
    printed: Vec<u8>,
    /// What commands said and nobody has logged yet.
    said: Vec<String>,
    /// What commands would have written to stdout.
    result: String,
}

/// Where work leaves what Python is to be told.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<State>>);

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What commands would have written to stdout.
    pub fn result(&self) -> String {
        std::mem::take(&mut self.state().result)
    }

    /// Shows what there is to show.
    fn show(&self, py: Python<'_>, display: Option<&Py<PyAny>>) -> PyResult<()> {
        let (line, printed, said) = {
            let mut state = self.state();
            let line = display.and_then(|_| state.line.take());
            (line, std::mem::take(&mut state.printed), std::mem::take(&mut state.said))
        };
        if !printed.is_empty() {
            let text = String::from_utf8_lossy(&printed);
            py.import("sys")?.getattr("stdout")?.call_method1("write", (text,))?;
        }
        if !said.is_empty() {
            let log = py.import("logging")?.call_method1("getLogger", ("warpwatt",))?;
            for line in said {
                match line.strip_prefix("warning: ") {
                    Some(text) => log.call_method1("warning", ("%s", text))?,
                    None => log.call_method1("info", ("%s", line.strip_prefix("note: ").unwrap_or(&line)))?,
                };
            }
        }
        if let (Some(display), Some(Line { done, total, text })) = (display, line) {
            display.call_method1(py, "update", (done, total, text))?;
        }
        Ok(())
    }
}

impl Listener for Board {
    fn result(&self, text: &str) {
        self.state().result.push_str(text);
    }

    fn say(&self, line: &str) {
        self.state().said.push(line.to_owned());
    }

    fn progress(&self, done: u64, total: u64, text: &str) {
        self.state().line = Some(Line { done, total, text: text.to_owned() });
    }

    fn again(&self) -> String {
        "the same call of the Python package".to_owned()
    }
}

/// Watches a device for a board.
pub struct Watcher {
    board: Board,
    collector: Collector,
    index: u64,
    kernel: String,
    started: Instant,
    written: Option<Instant>,
}

impl Watcher {
    pub fn new(board: Board, collector: Collector) -> Watcher {
        Watcher { board, collector, index: 0, kernel: String::new(), started: Instant::now(), written: None }
    }

    /// Writes a line, unless one was written a moment ago.
    fn write(&mut self, done: u64, total: u64, text: impl FnOnce(&Watcher, Duration) -> String) {
        let now = Instant::now();
        if self.written.is_some_and(|written| now.duration_since(written) < LOOK) {
            return;
        }
        self.written = Some(now);
        let text = text(self, now.duration_since(self.started));
        self.board.state().line = Some(Line { done, total, text });
    }
}

impl Observer for Watcher {
    fn launch(&mut self, index: u64, kernel: &str) {
        (self.index, self.kernel, self.started) = (index, kernel.to_owned(), Instant::now());
    }

    fn ended(&mut self, launch: LaunchRecord) -> Option<LaunchRecord> {
        self.collector.add(&launch);
        None
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.write(done, total, |own, elapsed| {
            describe_functional(own.index, &own.kernel, done, total, elapsed)
        });
    }

    fn tick(&mut self, _index: u64, kernel: &str, progress: &Progress) {
        self.write(progress.ctas_done, progress.ctas, |_, elapsed| describe(kernel, progress, elapsed));
    }

    fn print(&mut self, text: &[u8]) {
        self.board.state().printed.extend_from_slice(text);
    }
}

/// Does work in another thread. A signal's exception, or one of a progress display, sets the flag, which makes the work end soon; it is given back beside
/// what the work came to.
pub fn patiently<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    board: &Board,
    flag: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let started = Instant::now();
    let mut raised: Option<PyErr> = None;
    let mut display: Option<Py<PyAny>> = None;
    let outcome = py.detach(|| {
        std::thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let worker = scope.spawn(move || {
                let result = work();
                drop(ended);
                result
            });
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let looked = Python::attach(|py| {
                    py.check_signals()?;
                    if display.is_none() && started.elapsed() >= SLOW {
                        let make = py.import("warpwatt._progress")?.getattr("display")?;
                        display = Some(make.call1((progress,))?.unbind());
                    }
                    board.show(py, display.as_ref())
                });
                if let Err(error) = looked {
                    flag.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
            worker.join()
        })
    });
    // What was printed last, also when nothing was waited for.
    if let Err(error) = board.show(py, None) {
        raised.get_or_insert(error);
    }
    if let Some(display) = display {
        display.call_method0(py, "close")?;
    }
    match outcome {
        Ok(result) => Ok((result, raised)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
