// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, and the capture of what is put into them.

use std::cell::Cell;

use warpwatt_runtime::Until;

use crate::core::graph::Status;
use crate::core::{Code, Core, Result};
use crate::driver::context::current;
use crate::driver::{In, Out, api, lasting_list, with, with_stream};

/// Global, thread-local, relaxed: which calls of other threads are refused while something is captured. None is here.
const MODES: u32 = 3;

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(0) };
}

fn create(stream: Out<u64>, flags: u32, priority: i32) -> Result<()> {
    stream.check()?;
    stream.put(with(|core| core.create_stream(flags, priority))?)
}

/// Flags and priority; the default streams have none.
fn about(core: &mut Core, stream: u64) -> Result<(u32, i32)> {
    core.stream(stream, false)?;
    match core.streams.get(stream) {
        Ok(state) => Ok((state.flags, state.priority)),
        Err(_) => Ok((0, 0)),
    }
}

fn wait(stream: u64) -> Result<()> {
    with_stream(stream, |core| {
        let stream = core.stream(stream, false)?;
        core.may_wait(stream)?;
        core.finish(Until::Stream(stream))
    })
}

fn begin(stream: u64, mode: u32, into: Option<(u64, Vec<u64>)>) -> Result<()> {
    if mode >= MODES {
        return Err(Code::INVALID_VALUE);
    }
    with(|core| {
        let stream = core.stream(stream, false)?;
        core.graphs.begin_capture(stream, into)
    })
}

/// What a capture is up to. Each answer is optional but for the first.
struct Report {
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<u64>,
    nodes: Out<u64>,
    edges: Out<u64>,
    count: Out<usize>,
}

fn report(stream: u64, to: &Report) -> Result<()> {
    to.status.check()?;
    let status = with(|core| {
        let stream = core.stream(stream, false)?;
        Ok(core.graphs.capture_status(stream))
    })?;
    match status {
        Status::None => to.status.put(0),
        Status::Broken { id } => {
            to.id.put_if(id);
            to.status.put(2)
        }
        Status::Active { id, graph, after } => {
            to.id.put_if(id);
            to.graph.put_if(graph);
            to.count.put_if(after.len());
            // Edges have no data, which is one word of zeros each.
            to.edges.put_if(lasting_list(&vec![0; after.len()]));
            to.nodes.put_if(lasting_list(&after));
            to.status.put(1)
        }
    }
}

fn depend(stream: u64, nodes: In<u64>, count: usize, flags: u32) -> Result<()> {
    if flags > 1 {
        return Err(Code::INVALID_VALUE);
    }
    let nodes = nodes.list(count)?;
    with(|core| {
        let stream = core.stream(stream, false)?;
        core.graphs.set_capture_after(stream, &nodes, flags == 1)
    })
}

api! {
    fn cuStreamCreate(stream: Out<u64>, flags: u32) {
        create(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: i32) {
        create(stream, flags, priority)
    }

    fn cuStreamDestroy_v2 [also cuStreamDestroy] (stream: u64) {
        with_stream(stream, |core| core.destroy_stream(stream))
    }

    fn cuStreamQuery [cuStreamQuery_ptsz: stream] (stream: u64) {
        wait(stream)
    }

    fn cuStreamSynchronize [cuStreamSynchronize_ptsz: stream] (stream: u64) {
        wait(stream)
    }

    fn cuStreamGetPriority [cuStreamGetPriority_ptsz: stream] (stream: u64, priority: Out<i32>) {
        priority.check()?;
        priority.put(with_stream(stream, |core| about(core, stream))?.1)
    }

    fn cuStreamGetFlags [cuStreamGetFlags_ptsz: stream] (stream: u64, flags: Out<u32>) {
        flags.check()?;
        flags.put(with_stream(stream, |core| about(core, stream))?.0)
    }

    fn cuStreamGetId [cuStreamGetId_ptsz: stream] (stream: u64, id: Out<u64>) {
        id.check()?;
        id.put(with_stream(stream, |core| Ok(core.stream(stream, false)?.0))?.into())
    }

    fn cuStreamGetDevice [cuStreamGetDevice_ptsz: stream] (stream: u64, device: Out<i32>) {
        device.check()?;
        with_stream(stream, |core| core.stream(stream, false))?;
        device.put(0)
    }

    fn cuStreamGetCtx [cuStreamGetCtx_ptsz: stream] (stream: u64, context: Out<u64>) {
        context.check()?;
        with(|core| core.stream(stream, false))?;
        context.put(current())
    }

    fn cuStreamGetCtx_v2 [cuStreamGetCtx_v2_ptsz: stream] (stream: u64, context: Out<u64>, green: Out<u64>) {
        context.check()?;
        with(|core| core.stream(stream, false))?;
        green.put_if(0);
        context.put(current())
    }

    fn cuStreamGetAttribute [cuStreamGetAttribute_ptsz: stream] (stream: u64, number: u32, value: Out<[u64; 8]>) {
        value.check()?;
        let (_, priority) = with_stream(stream, |core| about(core, stream))?;
        let mut words = [0; 8];
        match number {
            // A window of the L2 cache, the domain of memory operations and their map.
            1 | 9 | 10 => (),
            // Waiting as the driver likes.
            3 => words[0] = 1,
            8 => words[0] = u64::from(priority as u32),
            _ => return Err(Code::INVALID_VALUE),
        }
        value.put(words)
    }

    fn cuStreamSetAttribute [cuStreamSetAttribute_ptsz: stream] (stream: u64, number: u32, value: In<u64>) {
        let word = value.get()?;
        with(|core| {
            core.stream(stream, false)?;
            match number {
                1 | 3 | 9 | 10 => (),
                8 => core.streams.get_mut(stream)?.priority = (word as i32).clamp(-5, 0),
                _ => return Err(Code::INVALID_VALUE),
            }
            Ok(())
        })
    }

    fn cuStreamCopyAttributes(to: u64, from: u64) {
        with(|core| {
            let (_, priority) = about(core, from)?;
            core.stream(to, false)?;
            if let Ok(state) = core.streams.get_mut(to) {
                state.priority = priority;
            }
            Ok(())
        })
    }

    fn cuStreamCopyAttributes_ptsz(to: u64, from: u64) {
        let per_thread = crate::driver::per_thread;
        match cuStreamCopyAttributes(per_thread(to), per_thread(from)) {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    fn cuStreamBeginCapture [cuStreamBeginCapture_ptsz: stream] (stream: u64) {
        begin(stream, 0, None)
    }

    fn cuStreamBeginCapture_v2 [cuStreamBeginCapture_v2_ptsz: stream] (stream: u64, mode: u32) {
        begin(stream, mode, None)
    }

    fn cuStreamBeginCaptureToGraph [cuStreamBeginCaptureToGraph_ptsz: stream] (
        stream: u64,
        graph: u64,
        nodes: In<u64>,
        _edges: In<u64>,
        count: usize,
        mode: u32,
    ) {
        begin(stream, mode, Some((graph, nodes.list(count)?)))
    }

    fn cuStreamEndCapture [cuStreamEndCapture_ptsz: stream] (stream: u64, graph: Out<u64>) {
        graph.put(0)?;
        graph.put(with(|core| {
            let stream = core.stream(stream, false)?;
            core.end_capture(stream)
        })?)
    }

    fn cuStreamIsCapturing [cuStreamIsCapturing_ptsz: stream] (stream: u64, status: Out<u32>) {
        let (id, graph, nodes) = (Out::NULL, Out::NULL, Out::NULL);
        report(stream, &Report { status, id, graph, nodes, edges: Out::NULL, count: Out::NULL })
    }

    fn cuStreamGetCaptureInfo [cuStreamGetCaptureInfo_ptsz: stream] (stream: u64, status: Out<u32>, id: Out<u64>) {
        let (graph, nodes) = (Out::NULL, Out::NULL);
        report(stream, &Report { status, id, graph, nodes, edges: Out::NULL, count: Out::NULL })
    }

    fn cuStreamGetCaptureInfo_v2 [cuStreamGetCaptureInfo_v2_ptsz: stream] (
        stream: u64,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<u64>,
        nodes: Out<u64>,
        count: Out<usize>,
    ) {
        report(stream, &Report { status, id, graph, nodes, edges: Out::NULL, count })
    }

    fn cuStreamGetCaptureInfo_v3 [cuStreamGetCaptureInfo_v3_ptsz: stream] (
        stream: u64,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<u64>,
        nodes: Out<u64>,
        edges: Out<u64>,
        count: Out<usize>,
    ) {
        report(stream, &Report { status, id, graph, nodes, edges, count })
    }

    fn cuStreamUpdateCaptureDependencies [cuStreamUpdateCaptureDependencies_ptsz: stream] (
        stream: u64,
        nodes: In<u64>,
        count: usize,
        flags: u32,
    ) {
        depend(stream, nodes, count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2 [cuStreamUpdateCaptureDependencies_v2_ptsz: stream] (
        stream: u64,
        nodes: In<u64>,
        _edges: In<u64>,
        count: usize,
        flags: u32,
    ) {
        depend(stream, nodes, count, flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        let wanted = mode.get()?;
        if wanted >= MODES {
            return Err(Code::INVALID_VALUE);
        }
        mode.put(MODE.replace(wanted))
    }
}
