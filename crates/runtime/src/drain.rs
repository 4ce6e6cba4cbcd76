// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution of all queued commands, in an order that depends only on the commands.
//!
//! First all commands that wait for nothing, in the order they were given, but for timed kernels. When only those are left, a batch of
//! them runs (see `plan`), and so on. A functional device thereby runs everything in the order it was given.
//!
//! A command starts when what it waits for has ended, on the host's clock at the earliest, and a timed kernel not before the kernels that ran
//! before it. An event takes a cycle, so that two events of a stream are never at the same time.

use crate::clock::Way;
use crate::copy::{CopyBox, FillBox};
use crate::device::Device;
use crate::error::Error;
use crate::plan::{self, Member};
use crate::queue::{Command, LONG, What};
use crate::record::LaunchRecord;
use crate::timed::BatchLaunch;
use crate::types::{DevicePtr, Event, Stream};

/// What the host waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    Everything,
    Stream(Stream),
    Event(Event),
}

impl Device {
    /// A stream; `blocking` ones and the legacy stream wait for each other. Numbers are never reused.
    pub fn create_stream(&mut self, blocking: bool) -> Stream {
        self.queue.create_stream(blocking)
    }

    /// What is queued on the stream still runs.
    pub fn destroy_stream(&mut self, stream: Stream) -> Result<(), Error> {
        self.queue.destroy_stream(stream)
    }

    pub fn create_event(&mut self) -> Event {
        self.queue.create_event()
    }

    pub fn destroy_event(&mut self, event: Event) -> Result<(), Error> {
        self.queue.destroy_event(event)
    }

    pub fn queue_copy(&mut self, stream: Stream, copy: CopyBox) -> Result<(), Error> {
        self.check_copy(&copy)?;
        self.push(stream, What::Copy(copy))
    }

    pub fn queue_fill(&mut self, stream: Stream, fill: FillBox) -> Result<(), Error> {
        self.check_fill(&fill)?;
        self.push(stream, What::Fill(fill))
    }

    /// Has a function called when the stream gets there. It takes no device time.
    pub fn queue_call(&mut self, stream: Stream, call: Box<dyn FnOnce() + Send>) -> Result<(), Error> {
        self.push(stream, What::Call(call))
    }

    /// Has memory freed when the stream gets there.
    pub fn queue_free(&mut self, stream: Stream, p: DevicePtr) -> Result<(), Error> {
        if self.memory.find(p.0).is_none_or(|found| found.base != p.0) {
            let error = warpwatt_memory::MemoryError::NotAllocated { address: p.0 };
            return Err(self.bad_pointer("free", p, 0, &error));
        }
        self.push(stream, What::Free(p))
    }

    pub fn queue_record(&mut self, stream: Stream, event: Event) -> Result<(), Error> {
        self.make_room()?;
        self.queue.push_record(stream, event, self.clock.host)
    }

    /// Has the stream wait for the event as it was last recorded; an event that never was is no wait.
    pub fn queue_wait(&mut self, stream: Stream, event: Event) -> Result<(), Error> {
        self.make_room()?;
        self.queue.push_wait(stream, event, self.clock.host)
    }

    pub(crate) fn push(&mut self, stream: Stream, what: What) -> Result<(), Error> {
        self.make_room()?;
        self.queue.push(stream, what, self.clock.host)
    }

    /// Runs the queued commands when there are many.
    fn make_room(&mut self) -> Result<(), Error> {
        if self.queue.len() >= LONG { self.drain() } else { Ok(()) }
    }

    /// Runs all that is queued; the host's clock moves to the end of what it waits for. The first error is returned once, and what
    /// was to come after it is given up.
    pub fn finish(&mut self, until: Until) -> Result<(), Error> {
        let outcome = self.drain();
        let end = match until {
            _ if outcome.is_err() => self.queue.end().max(self.gpu().map_or(0, |gpu| gpu.cycle())),
            Until::Everything => self.queue.end(),
            Until::Stream(stream) => self.queue.stream_end(stream)?,
            Until::Event(event) => {
                self.queue.check_event(event)?;
                self.queue.event_end(event).unwrap_or_default()
            }
        };
        self.clock.wait_until(end);
        outcome
    }

    /// Whether nothing is queued that this would wait for.
    pub fn is_done(&self, until: Until) -> bool {
        match until {
            Until::Everything => self.queue.len() == 0,
            Until::Stream(stream) => self.queue.is_stream_done(stream),
            Until::Event(event) => self.queue.is_event_done(event),
        }
    }

    /// Commands that have not run yet.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Device time in nanoseconds at which an event was reached; `None` if it never was recorded, or its record is still queued.
    pub fn event_ns(&self, event: Event) -> Option<f64> {
        Some(self.clock.ns(self.queue.event_end(event)?))
    }

    /// Runs all that is queued, without the host waiting for it.
    pub(crate) fn drain(&mut self) -> Result<(), Error> {
        if self.queue.len() == 0 {
            return Ok(());
        }
        let (commands, waiting) = self.queue.take();
        let mut ends = vec![None; commands.len()];
        let outcome = self.run_commands(commands, &mut ends);
        self.tell(true);
        self.queue.settle(&waiting, &ends);
        outcome
    }

    fn run_commands(&mut self, mut commands: Vec<Command>, ends: &mut [Option<u64>]) -> Result<(), Error> {
        let mut left: Vec<usize> = (0..commands.len()).collect();
        while !left.is_empty() {
            let mut later = Vec::with_capacity(left.len());
            for index in left {
                match start_of(&commands[index], ends) {
                    Some(start) if !is_timed(&commands[index].what) => {
                        let what = std::mem::replace(&mut commands[index].what, What::Wait);
                        ends[index] = Some(self.perform(what, start)?);
                        self.tell(false);
                    }
                    _ => later.push(index),
                }
            }
            let batch = plan::batch(&commands, &later, ends);
            self.run_batch(&mut commands, batch, ends)?;
            self.tell(false);
            later.retain(|&index| ends[index].is_none());
            left = later;
        }
        Ok(())
    }

    /// Tells the observer of launches that ended, in launch order: of those before which none is left, or of `all`. What the observer does
    /// not keep goes to the log.
    fn tell(&mut self, all: bool) {
        if self.ended.is_empty() {
            return;
        }
        self.ended.sort_by_key(|record| record.index);
        let follows = |(place, record): (usize, &LaunchRecord)| record.index == self.next_told + place as u64;
        let count = match all {
            true => self.ended.len(),
            false => self.ended.iter().enumerate().take_while(|next| follows(*next)).count(),
        };
        for record in self.ended.drain(..count) {
            self.next_told = record.index + 1;
            self.log.extend(self.observer.ended(record));
        }
        if all {
            // Launches without an entry were refused or given up.
            self.next_told = self.launches;
        }
    }

    /// Does anything but a timed kernel. Gives the time at which it is done.
    fn perform(&mut self, what: What, start: u64) -> Result<u64, Error> {
        match what {
            What::Copy(copy) => {
                self.do_copy(&copy)?;
                Ok(self.clock.copy(copy.way(), copy.traffic(), start))
            }
            What::Fill(fill) => {
                self.do_fill(&fill)?;
                Ok(self.clock.copy(Way::OnDevice, fill.bytes(), start))
            }
            What::Free(p) => {
                let outcome = self.memory.free(p.0);
                outcome.map_err(|error| self.bad_pointer("free", p, 0, &error)).map(|()| start)
            }
            What::Launch(mut ready) => {
                self.arm(&mut ready)?;
                let issued = self.run_functionally(&ready)?;
                // A kernel that is not to be timed takes no time on a timed device.
                Ok(if self.timed_gpu.is_some() { start } else { self.clock.kernel(issued, start) })
            }
            What::Call(call) => {
                call();
                Ok(start)
            }
            What::Record => Ok(start + 1),
            What::Wait => Ok(start),
        }
    }

    fn run_batch(
        &mut self,
        commands: &mut [Command],
        batch: Vec<Member>,
        ends: &mut [Option<u64>],
    ) -> Result<(), Error> {
        let mut launches = Vec::with_capacity(batch.len());
        let mut indices = Vec::with_capacity(batch.len());
        for Member { command, earliest, after } in batch {
            let what = std::mem::replace(&mut commands[command].what, What::Wait);
            let What::Launch(mut ready) = what else {
                return Err(Error::Internal("only kernels run in batches".to_owned()));
            };
            self.arm(&mut ready)?;
            launches.push(BatchLaunch { ready: *ready, earliest, after });
            indices.push(command);
        }
        if launches.is_empty() {
            return Ok(());
        }
        let mut ended = vec![None; launches.len()];
        let outcome = self.run_timed(&launches, &mut ended);
        for (command, end) in indices.into_iter().zip(ended) {
            ends[command] = end;
            end.into_iter().for_each(|end| self.clock.note_kernel(end));
        }
        outcome
    }
}

fn is_timed(what: &What) -> bool {
    matches!(what, What::Launch(ready) if ready.timed)
}

/// When a command can start; `None` while it waits for another.
fn start_of(command: &Command, ends: &[Option<u64>]) -> Option<u64> {
    command.after.iter().try_fold(command.ready, |start, &before| Some(start.max(ends[before]?)))
}
