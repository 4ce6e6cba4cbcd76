// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events. Their times are the device's own, which simulated work alone moves on.

use warpwatt_runtime::Until;

use crate::abi::runtime::{EventHandle, StreamHandle};
use crate::core::{Code, Result};
use crate::rt::api::{put, runtime};
use crate::rt::with;

fn create(place: *mut EventHandle, flags: u32) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let event = with(|core| core.create_event(flags))?;
    // SAFETY: the program's variable, and not null.
    unsafe { put(place, event) }
}

fn record(event: EventHandle, stream: StreamHandle, per_thread: bool) -> Result<()> {
    with(|core| {
        let stream = core.stream(stream, per_thread)?;
        core.record(event, stream)
    })
}

/// Runs what comes before an event; one that was recorded in a capture has nothing before it that runs.
fn reach(event: EventHandle) -> Result<()> {
    with(|core| match core.graphs.holds_event(event) {
        true => Err(Code::CAPTURED_EVENT),
        false => core.synchronize_event(event),
    })
}

fn elapsed(place: *mut f32, from: EventHandle, to: EventHandle) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let ms = with(|core| core.elapsed_ms(from, to))?;
    // SAFETY: the program's variable, and not null.
    unsafe { put(place, ms) }
}

runtime! {
    all fn cudaEventCreate(place: *mut EventHandle) {
        create(place, 0)
    }

    all fn cudaEventCreateWithFlags(place: *mut EventHandle, flags: u32) {
        create(place, flags)
    }

    all fn cudaEventDestroy(event: EventHandle) {
        with(|core| core.destroy_event(event))
    }

    all fn cudaEventRecord | cudaEventRecord_ptsz [per_thread] (event: EventHandle, stream: StreamHandle) {
        record(event, stream, per_thread)
    }

    all fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz [per_thread] (
        event: EventHandle, stream: StreamHandle, flags: u32,
    ) {
        // 1: an external node, when captured.
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        record(event, stream, per_thread)
    }

    all fn cudaEventSynchronize(event: EventHandle) {
        reach(event)
    }

    // The result is always "done": the work is simulated before the query returns, so that programs that
    // poll do not wait for ever.
    all fn cudaEventQuery(event: EventHandle) {
        reach(event)
    }

    all fn cudaEventElapsedTime(place: *mut f32, from: EventHandle, to: EventHandle) {
        elapsed(place, from, to)
    }

    only12 fn cudaEventElapsedTime_v2(place: *mut f32, from: EventHandle, to: EventHandle) {
        elapsed(place, from, to)
    }

    all fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz [per_thread] (
        stream: StreamHandle, event: EventHandle, flags: u32,
    ) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            let stream = core.stream(stream, per_thread)?;
            core.wait_event(stream, event)
        })
    }

    all fn cudaDeviceSynchronize() {
        synchronize()
    }

    until12 fn cudaThreadSynchronize() {
        synchronize()
    }
}

fn synchronize() -> Result<()> {
    with(|core| {
        if core.graphs.captures_any() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        core.finish(Until::Everything)
    })
}
