// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, functions of the host in them, and their capture into graphs.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

use warpwatt_runtime::{Stream, Until};

use crate::abi::runtime::{EdgeData, GraphHandle, HostFn, NodeHandle, StreamCallback, StreamHandle};
use crate::core::graph::{Status, Work};
use crate::core::stream::StreamState;
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, list, put, runtime};
use crate::rt::with;

fn create(place: *mut StreamHandle, flags: u32, priority: i32) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let stream = with(|core| core.create_stream(flags, priority))?;
    // SAFETY: not null, and the program's variable.
    unsafe { put(place, stream) }
}

/// What is known of a stream; the default ones have no flags and no priority.
fn state(core: &mut Core, handle: StreamHandle, per_thread: bool) -> Result<(u32, i32, Stream)> {
    let stream = core.stream(handle, per_thread)?;
    let known = |state: &StreamState| (state.flags, state.priority, stream);
    Ok(core.streams.get(handle).map_or((0, 0, stream), known))
}

fn wait(handle: StreamHandle, per_thread: bool) -> Result<()> {
    with(|core| {
        let stream = core.stream(handle, per_thread)?;
        core.may_wait(stream)?;
        core.finish(Until::Stream(stream))
    })
}

unsafe fn host_function(
    handle: StreamHandle,
    per_thread: bool,
    call: Option<HostFn>,
    data: *mut c_void,
) -> Result<()> {
    let call = call.ok_or(Code::INVALID_VALUE)?;
    let (function, argument) = (call as usize as u64, data as u64);
    with(|core| {
        let stream = core.stream(handle, per_thread)?;
        if core.graphs.captures(stream) {
            return core.capture_work(stream, Work::Host { function, argument });
        }
        core.call(stream, crate::core::graph::host_call(function, argument))
    })
}

/// `cudaStreamCaptureStatus`: none 0, active 1, invalidated 2.
fn status_number(status: &Status) -> i32 {
    match status {
        Status::None => 0,
        Status::Active { .. } => 1,
        Status::Broken { .. } => 2,
    }
}

thread_local! {
    /// `cudaStreamCaptureMode` of the thread; global 0, thread-local 1, relaxed 2.
    static CAPTURE_MODE: Cell<i32> = const { Cell::new(0) };
    /// Nodes that the last `cudaStreamGetCaptureInfo` of the thread gave: programs read them where we keep them.
    static CAPTURED: Cell<Vec<NodeHandle>> = const { Cell::new(Vec::new()) };
}

/// Where the answers of `cudaStreamGetCaptureInfo` go; all but the first may be null.
struct CaptureInfo {
    status: *mut i32,
    id: *mut u64,
    graph: *mut GraphHandle,
    nodes: *mut *const NodeHandle,
    edges: *mut *const EdgeData,
    count: *mut usize,
}

unsafe fn capture_info(handle: StreamHandle, per_thread: bool, to: CaptureInfo) -> Result<()> {
    if to.status.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let status = with(|core| {
        let stream = core.stream(handle, per_thread)?;
        if stream == Stream::LEGACY && core.graphs.captures_any() {
            return Err(Code::STREAM_CAPTURE_IMPLICIT);
        }
        Ok(core.graphs.capture_status(stream))
    })?;
    // SAFETY: checked for null one by one.
    unsafe {
        put(to.status, status_number(&status))?;
        let Status::Active { id, graph, after } = status else { return Ok(()) };
        optional(to.id, id);
        optional(to.graph, graph);
        optional(to.count, after.len());
        optional(to.edges, std::ptr::null());
        let place = after.as_ptr();
        CAPTURED.set(after);
        optional(to.nodes, place);
    }
    Ok(())
}

unsafe fn optional<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, and the program's variable.
        unsafe { place.write_unaligned(value) };
    }
}

unsafe fn update_dependencies(
    handle: StreamHandle,
    per_thread: bool,
    nodes: *const NodeHandle,
    count: usize,
    flags: u32,
) -> Result<()> {
    // Add 0, replace 1.
    if flags > 1 {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as many as the program says.
    let nodes = unsafe { list(nodes, count) }?;
    with(|core| {
        let stream = core.stream(handle, per_thread)?;
        core.graphs.set_capture_after(stream, &nodes, flags == 1)
    })
}

runtime! {
    all fn cudaStreamCreate(place: *mut StreamHandle) {
        create(place, 0, 0)
    }

    all fn cudaStreamCreateWithFlags(place: *mut StreamHandle, flags: u32) {
        create(place, flags, 0)
    }

    all fn cudaStreamCreateWithPriority(place: *mut StreamHandle, flags: u32, priority: i32) {
        create(place, flags, priority)
    }

    all fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) unsafe {
        with(|_| Ok(()))?;
        optional(least, 0);
        optional(greatest, -5);
        Ok(())
    }

    all fn cudaStreamDestroy(stream: StreamHandle) {
        with(|core| core.destroy_stream(stream))
    }

    all fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz [per_thread] (stream: StreamHandle) {
        wait(stream, per_thread)
    }

    // As with events, the answer is always "done".
    all fn cudaStreamQuery | cudaStreamQuery_ptsz [per_thread] (stream: StreamHandle) {
        wait(stream, per_thread)
    }

    all fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz [per_thread] (stream: StreamHandle, place: *mut u32) unsafe {
        put(place, with(|core| state(core, stream, per_thread))?.0)
    }

    all fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz [per_thread] (stream: StreamHandle, place: *mut i32) unsafe {
        put(place, with(|core| state(core, stream, per_thread))?.1)
    }

    since12 fn cudaStreamGetId | cudaStreamGetId_ptsz [per_thread] (stream: StreamHandle, place: *mut u64) unsafe {
        put(place, u64::from(with(|core| state(core, stream, per_thread))?.2.0))
    }

    since12 fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz [per_thread] (stream: StreamHandle, place: *mut i32) unsafe {
        with(|core| core.stream(stream, per_thread))?;
        put(place, 0)
    }

    // Attributes are hints about caches, waiting and order of memory; none has an effect, but the priority is told.
    all fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz [per_thread] (
        stream: StreamHandle, attribute: i32, place: *mut [u64; 8],
    ) unsafe {
        let (_, priority, _) = with(|core| state(core, stream, per_thread))?;
        let mut value = [0; 8];
        match attribute {
            1 | 9 | 10 => (),
            // Waiting as it suits the system.
            3 => value[0] = 1,
            8 => value[0] = u64::from(priority as u32),
            _ => return Err(Code::INVALID_VALUE),
        }
        put(place, value)
    }

    all fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz [per_thread] (
        stream: StreamHandle, attribute: i32, value: *const [u64; 8],
    ) unsafe {
        get(value)?;
        with(|core| core.stream(stream, per_thread))?;
        if matches!(attribute, 1 | 3 | 8 | 9 | 10) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    all fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz [per_thread] (to: StreamHandle, from: StreamHandle) {
        with(|core| {
            core.stream(to, per_thread)?;
            core.stream(from, per_thread).map(|_| ())
        })
    }

    all fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz [per_thread] (
        stream: StreamHandle, call: Option<StreamCallback>, data: *mut c_void, flags: u32,
    ) unsafe {
        let call = call.ok_or(Code::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let argument = data as u64;
        with(|core| {
            let on = core.stream(stream, per_thread)?;
            core.may_wait(on)?;
            core.call(on, Arc::new(move || call(stream, 0, argument as *mut c_void)))
        })
    }

    all fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz [per_thread] (
        stream: StreamHandle, call: Option<HostFn>, data: *mut c_void,
    ) unsafe {
        host_function(stream, per_thread, call, data)
    }

    only13 fn cudaLaunchHostFunc_v2 | cudaLaunchHostFunc_v2_ptsz [per_thread] (
        stream: StreamHandle, call: Option<HostFn>, data: *mut c_void, mode: u32,
    ) unsafe {
        if mode > 1 {
            return Err(Code::INVALID_VALUE);
        }
        host_function(stream, per_thread, call, data)
    }

    all fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz [per_thread] (stream: StreamHandle, mode: i32) {
        if !(0..=2).contains(&mode) {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            let stream = core.stream(stream, per_thread)?;
            core.graphs.begin_capture(stream, None)
        })
    }

    since12 fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz [per_thread] (
        stream: StreamHandle, graph: GraphHandle, nodes: *const NodeHandle, _edges: *const EdgeData, count: usize, mode: i32,
    ) unsafe {
        if !(0..=2).contains(&mode) {
            return Err(Code::INVALID_VALUE);
        }
        let nodes = list(nodes, count)?;
        with(|core| {
            let stream = core.stream(stream, per_thread)?;
            core.graphs.begin_capture(stream, Some((graph, nodes)))
        })
    }

    all fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz [per_thread] (stream: StreamHandle, place: *mut GraphHandle) unsafe {
        let graph = with(|core| {
            let stream = core.stream(stream, per_thread)?;
            core.end_capture(stream)
        });
        if graph.is_err() {
            optional(place, 0);
        }
        put(place, graph?)
    }

    all fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz [per_thread] (stream: StreamHandle, place: *mut i32) unsafe {
        let to = CaptureInfo {
            status: place,
            id: std::ptr::null_mut(),
            graph: std::ptr::null_mut(),
            nodes: std::ptr::null_mut(),
            edges: std::ptr::null_mut(),
            count: std::ptr::null_mut(),
        };
        capture_info(stream, per_thread, to)
    }

    before13 fn cudaStreamGetCaptureInfo_11 as cudaStreamGetCaptureInfo
        | cudaStreamGetCaptureInfo_11_ptsz as cudaStreamGetCaptureInfo_ptsz [per_thread] (
        stream: StreamHandle, status: *mut i32, id: *mut u64,
    ) unsafe {
        let none = std::ptr::null_mut();
        let to = CaptureInfo { status, id, graph: none, nodes: none.cast(), edges: none.cast(), count: none.cast() };
        capture_info(stream, per_thread, to)
    }

    until12 fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz [per_thread] (
        stream: StreamHandle, status: *mut i32, id: *mut u64, graph: *mut GraphHandle, nodes: *mut *const NodeHandle,
        count: *mut usize,
    ) unsafe {
        let to = CaptureInfo { status, id, graph, nodes, edges: std::ptr::null_mut(), count };
        capture_info(stream, per_thread, to)
    }

    only12 fn cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz [per_thread] (
        stream: StreamHandle, status: *mut i32, id: *mut u64, graph: *mut GraphHandle, nodes: *mut *const NodeHandle,
        edges: *mut *const EdgeData, count: *mut usize,
    ) unsafe {
        capture_info(stream, per_thread, CaptureInfo { status, id, graph, nodes, edges, count })
    }

    only13 fn cudaStreamGetCaptureInfo_13 as cudaStreamGetCaptureInfo
        | cudaStreamGetCaptureInfo_13_ptsz as cudaStreamGetCaptureInfo_ptsz [per_thread] (
        stream: StreamHandle, status: *mut i32, id: *mut u64, graph: *mut GraphHandle, nodes: *mut *const NodeHandle,
        edges: *mut *const EdgeData, count: *mut usize,
    ) unsafe {
        capture_info(stream, per_thread, CaptureInfo { status, id, graph, nodes, edges, count })
    }

    before13 fn cudaStreamUpdateCaptureDependencies_11 as cudaStreamUpdateCaptureDependencies
        | cudaStreamUpdateCaptureDependencies_11_ptsz as cudaStreamUpdateCaptureDependencies_ptsz [per_thread] (
        stream: StreamHandle, nodes: *const NodeHandle, count: usize, flags: u32,
    ) unsafe {
        update_dependencies(stream, per_thread, nodes, count, flags)
    }

    only12 fn cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz [per_thread] (
        stream: StreamHandle, nodes: *const NodeHandle, _edges: *const EdgeData, count: usize, flags: u32,
    ) unsafe {
        update_dependencies(stream, per_thread, nodes, count, flags)
    }

    only13 fn cudaStreamUpdateCaptureDependencies_13 as cudaStreamUpdateCaptureDependencies
        | cudaStreamUpdateCaptureDependencies_13_ptsz as cudaStreamUpdateCaptureDependencies_ptsz [per_thread] (
        stream: StreamHandle, nodes: *const NodeHandle, _edges: *const EdgeData, count: usize, flags: u32,
    ) unsafe {
        update_dependencies(stream, per_thread, nodes, count, flags)
    }

    all fn cudaThreadExchangeStreamCaptureMode(mode: *mut i32) unsafe {
        let wanted = get(mode)?;
        if !(0..=2).contains(&wanted) {
            return Err(Code::INVALID_VALUE);
        }
        put(mode, CAPTURE_MODE.replace(wanted))
    }
}
