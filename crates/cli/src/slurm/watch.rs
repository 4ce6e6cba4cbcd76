// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process that waits for Slurm says: a line that changes on a terminal, a line now and then elsewhere, and what went wrong, each kind a few times.

use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::console::{Console, Listener};
use crate::session::style;

/// Time between two lines where there is no terminal.
const QUIET: Duration = Duration::from_secs(60);
/// Tasks that ended early and are shown one by one; the log has all of them.
const EVENTS: usize = 20;

pub struct Watch {
    bar: Option<ProgressBar>,
    listener: Option<Arc<dyn Listener>>,
    all: usize,
    /// Where there is no terminal: when the last line was printed.
    spoken: Option<Instant>,
    lines: bool,
    events: usize,
    silent: bool,
    held: Vec<String>,
    last: String,
}

impl Watch {
    pub fn new(console: &Console, all: usize) -> Watch {
        let bar = console.live.then(|| {
            let bar = ProgressBar::new(all as u64);
            bar.set_style(style("{elapsed:>4} {pos}/{len} points {bar:20} {wide_msg}"));
            bar
        });
        let spoken = Some(Instant::now());
        Watch {
            bar,
            listener: console.listener().cloned(),
            all,
            spoken,
            lines: !console.quiet,
            events: 0,
            silent: false,
            held: Vec::new(),
            last: String::new(),
        }
    }

    pub fn show(
        &mut self,
        done: usize,
        failed: usize,
        (running, waiting): (usize, usize),
        left: Option<f64>,
    ) {
        let mut text = format!("{running} tasks run, {waiting} wait");
        if failed > 0 {
            text += &format!(", {failed} points failed");
        }
        if let Some(left) = left {
            text += &format!(", about {} left", time(left));
        }
        if let Some(listener) = &self.listener {
            return listener.progress(done as u64, self.all as u64, &text);
        }
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                bar.set_message(text);
            }
            None if self.lines && self.spoken.is_none_or(|at| at.elapsed() >= QUIET) => {
                let line = format!("{done} of {} points are done; {text}", self.all);
                if line != self.last {
                    eprintln!("{line}");
                }
                self.last = line;
                self.spoken = Some(Instant::now());
            }
            None => {}
        }
    }

    fn say(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// A task that ended before its points.
    pub fn event(&mut self, message: &str, console: &Console) {
        self.events += 1;
        if self.events <= EVENTS {
            self.say(|| console.warn(message));
        }
        if self.events == EVENTS {
            self.say(|| console.note("further tasks that end early are in the log only"));
        }
    }

    pub fn no_answer(&mut self, error: &str, console: &Console) {
        if !std::mem::replace(&mut self.silent, true) {
            self.say(|| console.warn(&format!("`squeue` does not answer, and is asked again: {error}")));
        }
    }

    pub fn answered(&mut self) {
        self.silent = false;
    }

    /// Jobs that wait for a person.
    pub fn held_back(&mut self, jobs: &[String], console: &Console) {
        for job in jobs.iter().filter(|job| !self.held.contains(job)) {
            self.say(|| console.warn(job));
        }
        self.held = jobs.to_vec();
    }

    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A time for a person.
pub fn time(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_a_unit_that_fits() {
        assert_eq!([time(3.2), time(600.0), time(9000.0)], ["3 s", "10 min", "2.5 h"]);
    }
}
