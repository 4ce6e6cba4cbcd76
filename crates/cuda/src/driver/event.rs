// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events. Their times are the device's.

use warpwatt_runtime::{Stream, Until};

use crate::core::graph::Work;
use crate::core::launch::Command;
use crate::core::{Code, Core, Result};
use crate::driver::{Out, api, with, with_handle, with_stream};

/// In a captured stream: a node of the graph, where otherwise the event would tie streams together.
const EXTERNAL: u32 = 1;

/// What does not make sense for an event that stands for a place in a graph.
fn check_free(core: &Core, event: u64) -> Result<()> {
    core.events.get(event)?;
    if core.graphs.holds_event(event) { Err(Code::CAPTURED_EVENT) } else { Ok(()) }
}

/// A command about an event: with `EXTERNAL`, a node of the graph that the stream is captured into; otherwise `plain`, which gets the stream.
fn ordered(
    event: u64,
    stream: u64,
    flags: u32,
    command: Command,
    plain: impl FnOnce(&mut Core, Stream) -> Result<()>,
) -> Result<()> {
    if flags & !EXTERNAL != 0 {
        return Err(Code::INVALID_VALUE);
    }
    with_stream(stream, |core| {
        let stream = core.stream(stream, false)?;
        core.events.get(event)?;
        match (flags == EXTERNAL, core.graphs.captures(stream)) {
            (true, true) => core.capture_work(stream, Work::Do(command)),
            (true, false) => Err(Code::INVALID_VALUE),
            (false, _) => plain(core, stream),
        }
    })
}

fn record(event: u64, stream: u64, flags: u32) -> Result<()> {
    ordered(event, stream, flags, Command::Record(event), |core, stream| core.record(event, stream))
}

fn elapsed(milliseconds: Out<f32>, from: u64, to: u64) -> Result<()> {
    milliseconds.check()?;
    milliseconds.put(with_handle(|core| {
        check_free(core, from)?;
        check_free(core, to)?;
        core.elapsed_ms(from, to)
    })?)
}

api! {
    fn cuEventCreate(event: Out<u64>, flags: u32) {
        event.check()?;
        event.put(with(|core| core.create_event(flags))?)
    }

    fn cuEventDestroy_v2 [also cuEventDestroy] (event: u64) {
        with_handle(|core| core.destroy_event(event))
    }

    fn cuEventRecord [cuEventRecord_ptsz: stream] (event: u64, stream: u64) {
        record(event, stream, 0)
    }

    fn cuEventRecordWithFlags [cuEventRecordWithFlags_ptsz: stream] (event: u64, stream: u64, flags: u32) {
        record(event, stream, flags)
    }

    fn cuEventQuery(event: u64) {
        with_handle(|core| {
            check_free(core, event)?;
            // A query runs the work, which is then complete.
            let event = core.events.get(event)?.event;
            core.finish(Until::Event(event))
        })
    }

    fn cuEventSynchronize(event: u64) {
        with_handle(|core| {
            check_free(core, event)?;
            core.synchronize_event(event)
        })
    }

    fn cuEventElapsedTime [also cuEventElapsedTime_v2] (milliseconds: Out<f32>, from: u64, to: u64) {
        elapsed(milliseconds, from, to)
    }

    fn cuStreamWaitEvent [cuStreamWaitEvent_ptsz: stream] (stream: u64, event: u64, flags: u32) {
        ordered(event, stream, flags, Command::Wait(event), |core, stream| core.wait_event(stream, event))
    }
}
