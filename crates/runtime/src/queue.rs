// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that the host has queued on streams and the device has not executed yet, with their dependences.
//!
//! A command waits for the one before it on its stream. One on the legacy stream also waits for the last command of every blocking
//! stream, and one on a blocking stream for the last of the legacy stream; a wait, for the last record of its event before it (CUDA C++
//! Programming Guide, "Streams" and "Explicit Synchronization"). So commands only ever wait for earlier ones.

use std::collections::BTreeMap;

use crate::copy::{CopyBox, FillBox};
use crate::error::Error;
use crate::launch::Ready;
use crate::types::{DevicePtr, Event, Stream};

/// Commands that are queued before the device runs them unasked.
pub(crate) const LONG: usize = 1024;

pub(crate) enum What {
    Launch(Box<Ready>),
    Copy(CopyBox),
    Fill(FillBox),
    Call(Box<dyn FnOnce() + Send>),
    Free(DevicePtr),
    Record,
    /// Nothing by itself: what it waits for is what it is about.
    Wait,
}

pub(crate) struct Command {
    pub what: What,
    /// Queued commands that come first, by index.
    pub after: Vec<usize>,
    /// When all else that it waits for has ended.
    pub ready: u64,
}

/// A stream.
struct Line {
    /// Waits for the legacy stream, and the other way round.
    blocking: bool,
    /// Its last command, as long as that is queued.
    last: Option<usize>,
    /// When the last command ended that was run.
    end: u64,
    /// Destroyed: it takes no more commands.
    closed: bool,
}

#[derive(Clone, Copy)]
enum Mark {
    Never,
    Queued(usize),
    Reached(u64),
}

pub(crate) struct Queue {
    commands: Vec<Command>,
    lines: BTreeMap<u32, Line>,
    marks: BTreeMap<u32, Mark>,
    /// Numbers of the next stream and event.
    next_line: u32,
    next_mark: u32,
    /// When the last command of all ended.
    end: u64,
}

impl Queue {
    pub fn new() -> Queue {
        let mut queue = Queue {
            commands: Vec::new(),
            lines: BTreeMap::new(),
            marks: BTreeMap::new(),
            next_line: 0,
            next_mark: 0,
            end: 0,
        };
        queue.open(Stream::LEGACY);
        queue
    }

    pub fn len(&self) -> usize {
        self.commands.len()
    }

    pub fn create_stream(&mut self, blocking: bool) -> Stream {
        let stream = Stream(self.next_line);
        self.lines.insert(stream.0, Line { blocking, last: None, end: 0, closed: false });
        self.next_line += 1;
        stream
    }

    /// Makes sure that there is a stream of this number, a blocking one if it is new.
    pub fn open(&mut self, stream: Stream) {
        let line = Line { blocking: true, last: None, end: 0, closed: false };
        self.lines.entry(stream.0).or_insert(line);
        self.next_line = self.next_line.max(stream.0.saturating_add(1));
    }

    pub fn destroy_stream(&mut self, stream: Stream) -> Result<(), Error> {
        let line = self.lines.get_mut(&stream.0).filter(|line| !line.closed && stream != Stream::LEGACY);
        line.ok_or(unknown_stream(stream))?.closed = true;
        self.forget_closed();
        Ok(())
    }

    pub fn create_event(&mut self) -> Event {
        let event = Event(self.next_mark);
        self.marks.insert(event.0, Mark::Never);
        self.next_mark += 1;
        event
    }

    pub fn destroy_event(&mut self, event: Event) -> Result<(), Error> {
        self.marks.remove(&event.0).map(drop).ok_or(unknown_event(event))
    }

    /// Queues a command that the host gives at its time `host`.
    pub fn push(&mut self, stream: Stream, what: What, host: u64) -> Result<(), Error> {
        let needs = self.needs(stream, host)?;
        self.append(stream, what, needs);
        Ok(())
    }

    pub fn push_record(&mut self, stream: Stream, event: Event, host: u64) -> Result<(), Error> {
        let needs = self.needs(stream, host)?;
        let mark = self.marks.get_mut(&event.0).ok_or(unknown_event(event))?;
        *mark = Mark::Queued(self.commands.len());
        self.append(stream, What::Record, needs);
        Ok(())
    }

    pub fn push_wait(&mut self, stream: Stream, event: Event, host: u64) -> Result<(), Error> {
        let mut needs = self.needs(stream, host)?;
        match *self.marks.get(&event.0).ok_or(unknown_event(event))? {
            Mark::Never => return Ok(()),
            Mark::Queued(record) => needs.after.push(record),
            Mark::Reached(at) => needs.ready = needs.ready.max(at),
        }
        self.append(stream, What::Wait, needs);
        Ok(())
    }

    fn append(&mut self, stream: Stream, what: What, Needs { mut after, ready }: Needs) {
        after.sort_unstable();
        after.dedup();
        if let Some(line) = self.lines.get_mut(&stream.0) {
            line.last = Some(self.commands.len());
        }
        self.commands.push(Command { what, after, ready });
    }

    /// What a command on a stream waits for.
    fn needs(&self, stream: Stream, host: u64) -> Result<Needs, Error> {
        let own = self.line(stream)?;
        let mut needs = Needs { after: Vec::new(), ready: host };
        if stream == Stream::LEGACY {
            self.lines.values().filter(|line| line.blocking).for_each(|line| needs.add(line));
        } else {
            needs.add(own);
            if own.blocking {
                self.lines.get(&Stream::LEGACY.0).into_iter().for_each(|line| needs.add(line));
            }
        }
        Ok(needs)
    }

    fn line(&self, stream: Stream) -> Result<&Line, Error> {
        self.lines.get(&stream.0).filter(|line| !line.closed).ok_or(unknown_stream(stream))
    }

    /// All commands, in order, with the callers that wait for their results. Until [`Queue::settle`] they count as cancelled.
    pub fn take(&mut self) -> (Vec<Command>, Waiting) {
        let mut waiting = Waiting::default();
        for (&number, line) in &mut self.lines {
            waiting.lines.extend(line.last.take().map(|last| (number, last)));
        }
        for (&number, mark) in &mut self.marks {
            if let Mark::Queued(record) = *mark {
                waiting.marks.push((number, record));
                *mark = Mark::Never;
            }
        }
        (std::mem::take(&mut self.commands), waiting)
    }

    /// The commands that were taken ended at these times; those without one were given up.
    pub fn settle(&mut self, waiting: &Waiting, ends: &[Option<u64>]) {
        for &(number, last) in &waiting.lines {
            if let (Some(line), Some(end)) = (self.lines.get_mut(&number), ends[last]) {
                line.end = line.end.max(end);
            }
        }
        for &(number, record) in &waiting.marks {
            if let (Some(mark), Some(end)) = (self.marks.get_mut(&number), ends[record]) {
                *mark = Mark::Reached(end);
            }
        }
        self.end = ends.iter().flatten().copied().max().unwrap_or_default().max(self.end);
        self.forget_closed();
    }

    /// Destroyed streams are kept until their commands have run. The legacy stream still waits for them.
    fn forget_closed(&mut self) {
        let mut end = 0;
        self.lines.retain(|_, line| {
            let gone = line.closed && line.last.is_none();
            if gone && line.blocking {
                end = end.max(line.end);
            }
            !gone
        });
        if let Some(legacy) = self.lines.get_mut(&Stream::LEGACY.0) {
            legacy.end = legacy.end.max(end);
        }
    }

    /// When the last command ended that was run.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// When the commands of a stream that were run ended; for the legacy one, those of all blocking streams.
    pub fn stream_end(&self, stream: Stream) -> Result<u64, Error> {
        let own = self.line(stream)?;
        let all = self.lines.values().filter(|line| stream == Stream::LEGACY && line.blocking);
        Ok(all.map(|line| line.end).max().unwrap_or(own.end))
    }

    pub fn is_stream_done(&self, stream: Stream) -> bool {
        let mut all = self
            .lines
            .iter()
            .filter(|&(&number, line)| number == stream.0 || stream == Stream::LEGACY && line.blocking);
        all.all(|(_, line)| line.last.is_none())
    }

    /// When an event was reached; `None` if it was never recorded, or its record is queued.
    pub fn event_end(&self, event: Event) -> Option<u64> {
        match self.marks.get(&event.0) {
            Some(Mark::Reached(at)) => Some(*at),
            _ => None,
        }
    }

    pub fn is_event_done(&self, event: Event) -> bool {
        !matches!(self.marks.get(&event.0), Some(Mark::Queued(_)))
    }

    pub fn check_event(&self, event: Event) -> Result<(), Error> {
        self.marks.contains_key(&event.0).then_some(()).ok_or(unknown_event(event))
    }
}

/// Streams and events whose last commands are being run: their numbers, and the commands.
#[derive(Default)]
pub(crate) struct Waiting {
    lines: Vec<(u32, usize)>,
    marks: Vec<(u32, usize)>,
}

/// What a command waits for: queued commands, and a time.
struct Needs {
    after: Vec<usize>,
    ready: u64,
}

impl Needs {
    fn add(&mut self, line: &Line) {
        self.after.extend(line.last);
        self.ready = self.ready.max(line.end);
    }
}

fn unknown_stream(stream: Stream) -> Error {
    Error::Handle { what: "stream", number: stream.0 }
}

fn unknown_event(event: Event) -> Error {
    Error::Handle { what: "event", number: event.0 }
}
