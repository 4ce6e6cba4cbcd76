// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a set of runs is, on a terminal: runs done, what runs, time left.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::session::style;

pub struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    state: Mutex<State>,
}

struct State {
    running: Vec<String>,
    /// Points that were run now, and all that there were to run.
    done: usize,
    todo: usize,
}

impl Progress {
    pub fn new(live: bool, there: usize, all: usize) -> Progress {
        let bar = (live && there < all).then(|| {
            let bar = ProgressBar::new(all as u64);
            bar.set_style(style("{elapsed:>4} {pos}/{len} runs {bar:20} {wide_msg}"));
            bar.set_position(there as u64);
            bar
        });
        let state = State { running: Vec::new(), done: 0, todo: all - there };
        Progress { bar, started: Instant::now(), state: Mutex::new(state) }
    }

    pub fn begin(&self, name: &str) {
        self.change(|state| state.running.push(name.to_owned()));
    }

    pub fn end(&self, name: &str, done: bool) {
        self.change(|state| {
            state.running.retain(|other| other != name);
            state.done += 1;
        });
        if let Some(bar) = self.bar.as_ref().filter(|_| done) {
            bar.inc(1);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if let Some(bar) = &self.bar {
            bar.set_message(describe(&state, self.started.elapsed()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What runs, and the time left if points go on taking as long as they did.
fn describe(state: &State, elapsed: Duration) -> String {
    let running = state.running.join(", ");
    if state.done == 0 {
        return running;
    }
    let left = elapsed.as_secs_f64() * (state.todo - state.done.min(state.todo)) as f64 / state.done as f64;
    let left = format!("{left:.0} s left");
    if running.is_empty() { left } else { format!("{left}; {running}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_runs_and_how_long_it_takes() {
        let mut state = State { running: vec!["bfs/wc".to_owned(), "nw/base".to_owned()], done: 0, todo: 9 };
        assert_eq!(describe(&state, Duration::from_secs(2)), "bfs/wc, nw/base");
        state.done = 3;
        assert_eq!(describe(&state, Duration::from_secs(2)), "4 s left; bfs/wc, nw/base");
        (state.running, state.done) = (Vec::new(), 9);
        assert_eq!(describe(&state, Duration::from_secs(6)), "0 s left");
    }
}
