// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress line of the program's kernel on a terminal. It appears only when a kernel takes long, since the program
//! prints to the same terminal, and disappears when the kernel has ended.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use warpwatt_record::Board;
use warpwatt_runtime::Progress;

use crate::console::Console;
use crate::session::{describe, style};

/// A kernel that takes no longer is not worth a line.
const PATIENCE: Duration = Duration::from_millis(700);
/// A board that does not change for so long shows a kernel that has ended.
const STALE: Duration = Duration::from_millis(400);

pub struct Line {
    live: bool,
    bar: Option<ProgressBar>,
    /// Process and launch, and when they were first seen.
    current: Option<((u64, u64), Instant)>,
    /// The last figures, and the time of their arrival.
    last: (u64, Instant),
}

impl Line {
    pub fn new(console: &Console) -> Line {
        Line { live: console.live, bar: None, current: None, last: (0, Instant::now()) }
    }

    pub fn draw(&mut self, board: &Board) {
        if !self.live {
            return;
        }
        let now = Instant::now();
        let Some((sequence, shown)) = board.look() else { return };
        if sequence != self.last.0 {
            self.last = (sequence, now);
        } else if now.duration_since(self.last.1) > STALE {
            self.clear();
            return;
        }
        let key = (shown.process, shown.launch);
        let started = match self.current {
            Some((current, started)) if current == key => started,
            _ => {
                self.clear();
                self.current = Some((key, now));
                return;
            }
        };
        let elapsed = now.duration_since(started);
        if elapsed < PATIENCE {
            return;
        }
        let progress = Progress {
            ctas_done: shown.ctas_done,
            ctas: shown.ctas,
            cycle: shown.cycles,
            start_cycle: 0,
            warp_instructions: shown.warp_instructions,
            thread_instructions: shown.thread_instructions,
            ..Progress::default()
        };
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(1);
            bar.set_style(style("{percent:>3}% {wide_msg}"));
            bar
        });
        bar.set_length(shown.ctas.max(1));
        bar.set_position(shown.ctas_done);
        bar.set_message(if shown.cycles > 0 {
            describe(&shown.kernel, &progress, elapsed)
        } else {
            let name = warpwatt_runtime::demangle(&shown.kernel);
            format!("{}: {}/{} blocks", crate::table::shortened(&name, 40), shown.ctas_done, shown.ctas)
        });
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}
