// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watches the device for `warpwatt exec`: reports the progress of kernels, polls for a request to stop, and prints the output of kernels
//! to the program's own stdout, in order with what the program prints there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpwatt_record::{Board, Collector, Progress};
use warpwatt_runtime::{LaunchRecord, Observer};

/// Interval at which the board is polled.
const PAUSE: Duration = Duration::from_millis(50);

pub struct Watcher {
    pub board: Option<Arc<Board>>,
    pub interrupt: Arc<AtomicBool>,
    pub live: bool,
    pub process: u64,
    /// Where launches are recorded; `None` if they are not recorded.
    pub collector: Option<Collector>,
    /// Of the kernel that runs.
    shown: Progress,
    last: Option<Instant>,
}

impl Watcher {
    pub fn new(board: Option<Arc<Board>>, interrupt: Arc<AtomicBool>, live: bool, process: u64) -> Watcher {
        Watcher { board, interrupt, live, process, collector: None, shown: Progress::default(), last: None }
    }

    /// Passes on how far the kernel is, not too often, and stops it if that is wanted.
    fn exchange(&mut self, update: impl FnOnce(&mut Progress)) {
        let Some(board) = &self.board else { return };
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < PAUSE) {
            return;
        }
        self.last = Some(now);
        if board.stopped().is_some() {
            self.interrupt.store(true, Ordering::Relaxed);
        }
        if self.live {
            update(&mut self.shown);
            board.show(&self.shown);
        }
    }

    fn is_new(&self, index: u64) -> bool {
        self.shown.process == 0 || self.shown.launch != index
    }

    fn start(&mut self, index: u64, kernel: &str) {
        let (process, kernel) = (self.process, kernel.to_owned());
        self.shown = Progress { process, launch: index, kernel, ..Progress::default() };
    }
}

impl Observer for Watcher {
    fn ended(&mut self, launch: LaunchRecord) -> Option<LaunchRecord> {
        if let Some(collector) = &self.collector {
            collector.add(&launch);
        }
        None
    }

    fn launch(&mut self, index: u64, kernel: &str) {
        if self.live {
            self.start(index, kernel);
        }
        self.exchange(|_| ());
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.exchange(|shown| (shown.ctas_done, shown.ctas) = (done, total));
    }

    fn tick(&mut self, index: u64, kernel: &str, progress: &warpwatt_runtime::Progress) {
        if self.live && self.is_new(index) {
            self.start(index, kernel);
        }
        self.exchange(|shown| {
            (shown.ctas_done, shown.ctas) = (progress.ctas_done, progress.ctas);
            shown.cycles = progress.cycle.saturating_sub(progress.start_cycle);
            shown.warp_instructions = progress.warp_instructions;
            shown.thread_instructions = progress.thread_instructions;
        });
    }

    fn print(&mut self, text: &[u8]) {
        // SAFETY: C's own stdout and a slice of this length.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}
