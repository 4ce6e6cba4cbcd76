// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run as seen from outside: in a thread of its own, so that a bug of ours is caught, with an observer that shows progress
//! and passes on what kernels print.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use warpwatt_record::Collector;
use warpwatt_runtime::{LaunchRecord, Observer, Progress, demangle};

use crate::console::{Console, Log};
use crate::table::{grouped, shortened};

/// Stack of the thread that does the work. Only touched pages cost anything.
const STACK_BYTES: usize = 256 << 20;

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Panics are ours to report: keep the message, print nothing.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = Some(format!("{text}{place}"));
        }
    }));
}

/// Runs `work` in a thread of its own. A panic becomes its message.
pub fn isolated<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("no thread could be started: {error}"))?;
        thread.join().map_err(|_| {
            let last = LAST_PANIC.lock().ok().and_then(|mut last| last.take());
            last.unwrap_or_else(|| "no message".to_owned())
        })
    })
}

/// Shows what a device does. The number of the current launch outlives it.
pub struct Watcher {
    bar: Option<ProgressBar>,
    current: Arc<AtomicU64>,
    /// Kernels print to stdout, unless that carries the JSON record.
    to_stderr: bool,
    silent: bool,
    panic_at: Option<u64>,
    /// Where launches go; without it they stay in the device's log.
    collector: Option<Collector>,
    /// When the current kernel was first heard of, and when its line was last drawn.
    since: Option<(u64, Instant, Instant)>,
    /// Where no terminal shows a bar: when the last line about progress was printed.
    spoken: Option<Instant>,
    /// The kernel that runs, and when its launch began.
    kernel: (String, Instant),
}

/// Settings of the watcher of a run.
#[derive(Clone, Copy, Default)]
pub struct Watch {
    pub live: bool,
    /// A line every half minute where no terminal shows a bar.
    pub lines: bool,
    pub to_stderr: bool,
    /// Kernels print nothing: it was printed before.
    pub silent: bool,
    pub panic_at: Option<u64>,
}

impl Watch {
    pub fn new(console: &Console, to_stderr: bool) -> Watch {
        let lines = !console.live && console.log >= Log::Info;
        Watch { live: console.live, lines, to_stderr, ..Watch::default() }
    }
}

impl Watcher {
    /// The watcher, and where it notes the launch that runs.
    pub fn new(watch: Watch) -> (Watcher, Arc<AtomicU64>) {
        let current = Arc::new(AtomicU64::new(0));
        let bar = watch.live.then(|| {
            let bar = ProgressBar::new(1);
            bar.set_style(style("{elapsed:>4} {wide_msg} {bar:30} {percent:>3}%"));
            bar
        });
        let Watch { to_stderr, silent, panic_at, lines, .. } = watch;
        (
            Watcher {
                bar,
                current: current.clone(),
                to_stderr,
                silent,
                panic_at,
                collector: None,
                since: None,
                spoken: lines.then(Instant::now),
                kernel: (String::new(), Instant::now()),
            },
            current,
        )
    }

    /// Launches go to this collector.
    pub fn collecting(mut self, collector: Collector) -> Watcher {
        self.collector = Some(collector);
        self
    }
}

pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Update interval of the progress line.
const REDRAW: Duration = Duration::from_millis(100);

/// Time between two lines about progress where there is no terminal.
const SPEAK: Duration = Duration::from_secs(30);

/// Progress of a functional kernel: blocks, and the estimated time left.
pub fn describe_functional(index: u64, kernel: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let mut text = format!("launch {index}: {}: {done}/{total} blocks", shortened(&demangle(kernel), 40));
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.5 && done > 0 {
        text += &format!(", {:.0} s left", seconds * total.saturating_sub(done) as f64 / done as f64);
    }
    text
}

/// How far a timed kernel is: blocks, cycles, thread instructions per cycle, simulation speed, time left.
pub fn describe(kernel: &str, progress: &Progress, elapsed: Duration) -> String {
    let Progress { ctas_done, ctas, cycle, start_cycle, warp_instructions, thread_instructions, .. } =
        *progress;
    let cycles = cycle.saturating_sub(start_cycle).max(1);
    let seconds = elapsed.as_secs_f64();
    let known = seconds > 0.5;
    let mut text = format!("{}: {ctas_done}/{ctas} blocks", shortened(&demangle(kernel), 20));
    if known && ctas_done > 0 {
        let left = seconds * (ctas - ctas_done.min(ctas)) as f64 / ctas_done as f64;
        text += &format!(", {left:.0} s left");
    }
    text += &format!(", {} cycles, IPC {:.0}", grouped(cycles), thread_instructions as f64 / cycles as f64);
    if known {
        text += &format!(", {:.1} M warp instr/s", warp_instructions as f64 * 1e-6 / seconds);
    }
    text
}

impl Observer for Watcher {
    fn launch(&mut self, index: u64, kernel: &str) {
        self.current.store(index, Ordering::Relaxed);
        self.kernel = (kernel.to_owned(), Instant::now());
        if let Some(bar) = &self.bar {
            bar.set_position(0);
            bar.set_message(format!("launch {index}: {kernel}"));
        }
        assert!(self.panic_at != Some(index), "an injected failure in launch {index}");
    }

    fn ended(&mut self, launch: LaunchRecord) -> Option<LaunchRecord> {
        let Some(collector) = &self.collector else { return Some(launch) };
        collector.add(&launch);
        None
    }

    fn progress(&mut self, done: u64, total: u64) {
        let now = Instant::now();
        let (kernel, started) = &self.kernel;
        let index = self.current.load(Ordering::Relaxed);
        let line = || describe_functional(index, kernel, done, total, now.duration_since(*started));
        if let Some(bar) = &self.bar {
            if self
                .since
                .is_some_and(|(launch, _, drawn)| launch == index && now.duration_since(drawn) < REDRAW)
            {
                return;
            }
            self.since = Some((index, *started, now));
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(line());
        } else if self.spoken.is_some_and(|spoken| now.duration_since(spoken) >= SPEAK) {
            self.spoken = Some(now);
            eprintln!("progress: {}", line());
        }
    }

    fn tick(&mut self, index: u64, kernel: &str, progress: &Progress) {
        let now = Instant::now();
        let Some(bar) = &self.bar else {
            if self.spoken.is_some_and(|spoken| now.duration_since(spoken) >= SPEAK) {
                self.spoken = Some(now);
                let elapsed = now.duration_since(self.kernel.1);
                eprintln!("progress: launch {index}: {}", describe(kernel, progress, elapsed));
            }
            return;
        };
        let (started, drawn) = match self.since {
            Some((launch, started, drawn)) if launch == index => (started, drawn),
            None => {
                // The message does not fit beside a bar.
                bar.set_style(style("{elapsed:>4} {percent:>3}% {wide_msg}"));
                (now, now - REDRAW)
            }
            Some(_) => (now, now - REDRAW),
        };
        if now.duration_since(drawn) < REDRAW {
            self.since = Some((index, started, drawn));
            return;
        }
        self.since = Some((index, started, now));
        bar.set_length(progress.ctas.max(1));
        bar.set_position(progress.ctas_done);
        bar.set_message(describe(kernel, progress, now.duration_since(started)));
    }

    fn print(&mut self, text: &[u8]) {
        if self.silent {
            return;
        }
        let write = || {
            if self.to_stderr {
                let _ = std::io::stderr().write_all(text);
            } else {
                let _ = std::io::stdout().write_all(text);
            }
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_functional_kernel_has_an_estimate_once_blocks_have_ended() {
        let text = describe_functional(3, "_Z4stepPf", 10, 40, Duration::from_secs(2));
        assert_eq!(text, "launch 3: step(float*): 10/40 blocks, 6 s left");
        assert!(!describe_functional(0, "k", 0, 40, Duration::from_secs(2)).contains("left"));
    }

    #[test]
    fn the_progress_line_says_how_far_a_kernel_is() {
        let progress = Progress {
            ctas_done: 20,
            ctas: 60,
            cycle: 11_000,
            start_cycle: 1_000,
            warp_instructions: 4_000_000,
            thread_instructions: 3_200_000,
            ..Progress::default()
        };
        let text = describe("_Z4stepPf", &progress, Duration::from_secs(2));
        assert_eq!(text, "step(float*): 20/60 blocks, 4 s left, 10 000 cycles, IPC 320, 2.0 M warp instr/s");
        assert!(!describe("k", &progress, Duration::ZERO).contains("left"), "nothing is known yet");
    }
}
