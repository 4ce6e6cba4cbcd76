// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a set of runs is, on a terminal: runs done, what runs, time left.
//!
//! The time left is estimated by what runs of the same group took, which is what stands before the first `/` of a run's name: a workload takes about as long in one
//! variant as in another. Groups of which nothing is known count as the mean of the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::ProgressBar;

use crate::console::{Console, Listener};
use crate::session::style;

pub struct Progress {
    bar: Option<ProgressBar>,
    listener: Option<Arc<dyn Listener>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: u32,
    /// Runs that are done, and all.
    done: (usize, usize),
    running: Vec<String>,
    groups: BTreeMap<String, Group>,
}

#[derive(Default)]
struct Group {
    /// Runs that are still to be done, those that run included.
    left: usize,
    seconds: f64,
    measured: usize,
}

fn group(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

impl State {
    fn group(&mut self, name: &str) -> &mut Group {
        self.groups.entry(group(name).to_owned()).or_default()
    }
}

impl Progress {
    /// For runs of these names, besides some that are reused.
    pub fn new<'a>(
        console: &Console,
        jobs: u32,
        todo: impl Iterator<Item = &'a str>,
        there: usize,
    ) -> Progress {
        let mut state = State { jobs: jobs.max(1), ..State::default() };
        let mut all = there;
        for name in todo {
            state.group(name).left += 1;
            all += 1;
        }
        state.done = (there, all);
        let bar = (console.live && there < all).then(|| {
            let bar = ProgressBar::new(all as u64);
            bar.set_style(style("{elapsed:>4} {pos}/{len} runs {bar:20} {wide_msg}"));
            bar.set_position(there as u64);
            bar
        });
        Progress { bar, listener: console.listener().cloned(), state: Mutex::new(state) }
    }

    /// Duration of a run that is reused.
    pub fn known(&self, name: &str, seconds: f64) {
        self.change(|state| state.group(name).add(seconds));
    }

    pub fn begin(&self, name: &str) {
        self.change(|state| state.running.push(name.to_owned()));
    }

    pub fn end(&self, name: &str, seconds: f64, done: bool) {
        self.change(|state| {
            state.running.retain(|other| other != name);
            let group = state.group(name);
            group.left = group.left.saturating_sub(1);
            group.add(seconds);
            state.done.0 += usize::from(done);
        });
        if let Some(bar) = self.bar.as_ref().filter(|_| done) {
            bar.inc(1);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if let Some(bar) = &self.bar {
            bar.set_message(describe(&state));
        }
        if let Some(listener) = &self.listener {
            let (done, all) = state.done;
            listener.progress(done as u64, all as u64, &describe(&state));
        }
    }
}

impl Group {
    fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.measured += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.measured > 0).then(|| self.seconds / self.measured as f64)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What runs, and the time left if runs go on taking as long as they did.
fn describe(state: &State) -> String {
    let running = state.running.join(", ");
    let Some(left) = left(state) else { return running };
    let left = match left {
        ..120.0 => format!("{left:.0} s left"),
        _ => format!("{:.0} min left", left / 60.0),
    };
    if running.is_empty() { left } else { format!("{left}; {running}") }
}

fn left(state: &State) -> Option<f64> {
    let means: Vec<f64> = state.groups.values().filter_map(Group::mean).collect();
    let usual = means.iter().sum::<f64>() / means.len() as f64;
    let seconds = state.groups.values().map(|group| group.left as f64 * group.mean().unwrap_or(usual));
    (!means.is_empty()).then(|| seconds.sum::<f64>() / f64::from(state.jobs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_runs_and_how_long_it_takes() {
        let names = ["bfs/base", "bfs/wc", "nw/base", "lib/base"];
        let progress = Progress::new(&Console::plain(), 2, names.into_iter(), 1);
        let shown = || describe(&progress.state.lock().expect("a state"));
        progress.begin("bfs/base");
        progress.begin("nw/base");
        assert_eq!(shown(), "bfs/base, nw/base");
        progress.end("bfs/base", 6.0, true);
        // 6 s for each of three, two at a time.
        assert_eq!(shown(), "9 s left; nw/base");
        progress.end("nw/base", 2.0, true);
        // 6 s for bfs, 4 s for one of which nothing is known.
        assert_eq!(shown(), "5 s left");
        progress.end("bfs/wc", 6.0, true);
        progress.end("lib/base", 1.0, false);
        assert_eq!(shown(), "0 s left");
    }

    #[test]
    fn runs_that_are_there_tell_how_long_others_take() {
        let progress = Progress::new(&Console::plain(), 1, ["nw/wc"].into_iter(), 1);
        progress.known("nw/base", 600.0);
        assert_eq!(describe(&progress.state.lock().expect("a state")), "10 min left");
    }
}
