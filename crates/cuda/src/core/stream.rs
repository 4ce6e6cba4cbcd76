// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams and events as programs hold them.

use std::sync::Arc;
use std::thread::ThreadId;

use rustc_hash::FxHashMap;
use warpwatt_runtime::{Event, Stream, Until};

use crate::core::code::{Code, Result};
use crate::core::launch::Command;
use crate::core::state::Core;

/// Values of a stream handle that stand for a stream without being one (`CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`).
pub const LEGACY: u64 = 1;
pub const PER_THREAD: u64 = 2;

#[derive(Clone, Debug)]
pub struct StreamState {
    pub stream: Stream,
    /// As given at its creation: bit 0 is `NON_BLOCKING`.
    pub flags: u32,
    pub priority: i32,
}

#[derive(Clone, Debug)]
pub struct EventState {
    pub event: Event,
    /// As given at its creation: bit 1 is `DISABLE_TIMING`.
    pub flags: u32,
    pub recorded: bool,
}

pub const NON_BLOCKING: u32 = 1;
pub const DISABLE_TIMING: u32 = 2;

/// The default streams of threads, created when a thread first uses its own.
#[derive(Default)]
pub struct ThreadStreams(FxHashMap<ThreadId, Stream>);

impl Core {
    /// The stream behind a handle. `per_thread`: 0 is the thread's own default stream (`_ptsz` functions).
    pub fn stream(&mut self, handle: u64, per_thread: bool) -> Result<Stream> {
        match handle {
            LEGACY => Ok(Stream::LEGACY),
            0 if !per_thread => Ok(Stream::LEGACY),
            0 | PER_THREAD => {
                let thread = std::thread::current().id();
                if let Some(&stream) = self.thread_streams.0.get(&thread) {
                    return Ok(stream);
                }
                let stream = self.device.create_stream(true);
                self.thread_streams.0.insert(thread, stream);
                Ok(stream)
            }
            handle => Ok(self.streams.get(handle)?.stream),
        }
    }

    pub fn create_stream(&mut self, flags: u32, priority: i32) -> Result<u64> {
        if flags & !NON_BLOCKING != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let stream = self.device.create_stream(flags & NON_BLOCKING == 0);
        Ok(self.streams.insert(StreamState { stream, flags, priority: priority.clamp(-5, 0) }))
    }

    /// Work that is queued on the stream still runs.
    pub fn destroy_stream(&mut self, handle: u64) -> Result<()> {
        let state = self.streams.remove(handle)?;
        self.abandon_capture(state.stream);
        let outcome = self.device.destroy_stream(state.stream);
        self.settle(outcome)
    }

    pub fn create_event(&mut self, flags: u32) -> Result<u64> {
        // Blocking sync, disable timing, interprocess; the last one needs the second.
        if flags & !7 != 0 || (flags & 4 != 0 && flags & DISABLE_TIMING == 0) {
            return Err(Code::INVALID_VALUE);
        }
        let event = self.device.create_event();
        Ok(self.events.insert(EventState { event, flags, recorded: false }))
    }

    pub fn destroy_event(&mut self, handle: u64) -> Result<()> {
        let state = self.events.remove(handle)?;
        let outcome = self.device.destroy_event(state.event);
        self.settle(outcome)
    }

    pub fn record(&mut self, event: u64, stream: Stream) -> Result<()> {
        self.events.get(event)?;
        self.submit(stream, Command::Record(event))
    }

    pub fn wait_event(&mut self, stream: Stream, event: u64) -> Result<()> {
        self.events.get(event)?;
        self.submit(stream, Command::Wait(event))
    }

    pub(super) fn queue_record(&mut self, stream: Stream, event: u64) -> Result<()> {
        let state = self.events.get_mut(event)?;
        state.recorded = true;
        let event = state.event;
        let outcome = self.device.queue_record(stream, event);
        self.settle(outcome)?;
        self.relieve()
    }

    pub(super) fn queue_wait(&mut self, stream: Stream, event: u64) -> Result<()> {
        let event = self.events.get(event)?.event;
        let outcome = self.device.queue_wait(stream, event);
        self.settle(outcome)
    }

    pub fn synchronize_event(&mut self, event: u64) -> Result<()> {
        let event = self.events.get(event)?.event;
        self.finish(Until::Event(event))
    }

    /// Milliseconds of device time between two events. Both are reached first, as if the program had waited for them: a query of
    /// an event is answered the same way, so that no program waits for ever.
    pub fn elapsed_ms(&mut self, from: u64, to: u64) -> Result<f32> {
        for handle in [from, to] {
            let state = self.events.get(handle)?;
            if state.flags & DISABLE_TIMING != 0 || !state.recorded {
                return Err(Code::INVALID_HANDLE);
            }
        }
        self.synchronize_event(from)?;
        self.synchronize_event(to)?;
        let at = |handle: u64| {
            let event = self.events.get(handle)?.event;
            self.device.event_ns(event).ok_or(Code::INVALID_HANDLE)
        };
        Ok(((at(to)? - at(from)?) * 1e-6) as f32)
    }

    /// A function of the program's that runs when the stream gets there.
    pub fn call(&mut self, stream: Stream, call: Arc<dyn Fn() + Send + Sync>) -> Result<()> {
        self.submit(stream, Command::Call(call))
    }
}
