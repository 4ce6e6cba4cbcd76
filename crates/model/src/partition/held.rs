// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that techniques hold back at a memory controller: write-backs in a compressor, fills that wait for metadata, and data on their way through a
//! decompressor. All of it by command clocks, so that it does not matter how far the channels are advanced at a time.

use std::collections::VecDeque;

use super::banks::Direction;
use super::channel::{INTERNAL, Returned, Transfer};

/// A transfer that its channel is to get later.
#[derive(Clone, Copy, Debug)]
pub struct Later {
    /// Command clock.
    pub at: u64,
    pub channel: usize,
    pub transfer: Transfer,
}

/// A line of metadata that is being read, and the fills that wait for it.
#[derive(Default)]
struct Fetch {
    /// `None` for a place that is free.
    line: Option<u64>,
    waiting: Vec<(usize, Transfer)>,
}

#[derive(Default)]
pub struct Holding {
    /// By clock, then by the order in which they came.
    later: VecDeque<Later>,
    fetches: Vec<Fetch>,
    fetching: usize,
    /// Lines that are on their way to the slice, by cycle and channel.
    arrived: VecDeque<Returned>,
}

impl Holding {
    pub fn is_empty(&self) -> bool {
        self.later.is_empty() && self.fetching == 0 && self.arrived.is_empty()
    }

    /// A transfer goes to its channel in a clock to come.
    pub fn hold(&mut self, later: Later) {
        let at = self.later.partition_point(|other| other.at <= later.at);
        self.later.insert(at, later);
    }

    /// The clock of the write of a line that is held.
    pub fn write_of(&self, line: u64) -> Option<u64> {
        let write =
            |later: &&Later| later.transfer.line == line && later.transfer.direction == Direction::Write;
        self.later.iter().rfind(write).map(|later| later.at)
    }

    /// The clock of the next transfer that goes to its channel; `u64::MAX` if none is held.
    pub fn next(&self) -> u64 {
        self.later.front().map_or(u64::MAX, |later| later.at)
    }

    /// The next transfer whose clock has come.
    pub fn due(&mut self, clock: u64) -> Option<Later> {
        self.later.pop_front_if(|later| later.at <= clock)
    }

    /// Whether reads will go to the channels that are not there yet.
    pub fn has_reads(&self) -> bool {
        self.fetching > 0 || !self.later.is_empty()
    }

    /// Lines of metadata are being read.
    pub fn is_fetching(&self) -> bool {
        self.fetching > 0
    }

    /// A line of metadata is read from now on; the tag of the read.
    pub fn fetch(&mut self, line: u64) -> u32 {
        let free = self.fetches.iter().position(|fetch| fetch.line.is_none());
        let place = free.unwrap_or_else(|| {
            self.fetches.push(Fetch::default());
            self.fetches.len() - 1
        });
        self.fetches[place].line = Some(line);
        self.fetching += 1;
        INTERNAL | place as u32
    }

    /// Has a fill wait for a line of metadata. False if that is not being read.
    pub fn wait_for(&mut self, line: u64, channel: usize, transfer: Transfer) -> bool {
        let fetch = self.fetches.iter_mut().find(|fetch| fetch.line == Some(line));
        fetch.map(|fetch| fetch.waiting.push((channel, transfer))).is_some()
    }

    /// A line of metadata is there: what waited for it goes to its channel then.
    pub fn fetched(&mut self, tag: u32, done: u64) {
        let place = (tag & !INTERNAL) as usize;
        self.fetches[place].line = None;
        self.fetching -= 1;
        let mut waiting = std::mem::take(&mut self.fetches[place].waiting);
        for (channel, transfer) in waiting.drain(..) {
            self.hold(Later { at: done, channel, transfer });
        }
        self.fetches[place].waiting = waiting;
    }

    /// A line is at the controller and reaches the slice in cycle `line.at`.
    pub fn arrive(&mut self, line: Returned) {
        let before = |other: &Returned| (other.at, other.channel) <= (line.at, line.channel);
        let at = self.arrived.partition_point(before);
        self.arrived.insert(at, line);
    }

    /// The line that reaches the slice next.
    #[inline]
    pub fn returned(&self) -> Option<Returned> {
        self.arrived.front().copied()
    }

    pub fn take(&mut self) {
        self.arrived.pop_front();
    }

    /// What is held, in words.
    pub fn waiting(&self, name: &str, out: &mut Vec<String>) {
        if !self.is_empty() {
            let (later, fetching, arrived) = (self.later.len(), self.fetching, self.arrived.len());
            out.push(format!(
                "{name}: {later} lines wait for a compressor or metadata, {fetching} lines of metadata are read, {arrived} lines go to the L2 slice"
            ));
        }
    }
}
