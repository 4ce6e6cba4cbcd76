// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executable graphs: made of graphs, changed node by node or as a whole, and launched.

use std::ffi::c_char;

use crate::abi::runtime::{
    EventHandle, ExecHandle, GraphHandle, GraphNodeParams, HostNodeParams, InstantiateParams,
    KernelNodeParams, Memcpy3d, MemsetParams, NodeHandle, StreamHandle, UpdateResult,
};
use crate::core::graph::Work;
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, put, runtime};
use crate::rt::graph_nodes::{described, flat, host, kernel, memcpy, memset, record, wait};
use crate::rt::symbol::part;
use crate::rt::with;

/// Auto-free 1, upload 2, launch from the device 4, node priority 8.
const LAUNCH_FROM_DEVICE: u64 = 4;

unsafe fn instantiate(place: *mut ExecHandle, graph: GraphHandle, flags: u64) -> Result<()> {
    if place.is_null() || flags & !15 != 0 {
        return Err(Code::INVALID_VALUE);
    }
    if flags & LAUNCH_FROM_DEVICE != 0 {
        return Err(Code::NOT_SUPPORTED);
    }
    // SAFETY: not null, and the program's variable.
    unsafe { put(place, with(|core| core.instantiate(graph, flags))?) }
}

/// Gives a node other work of its kind.
fn set(exec: ExecHandle, node: NodeHandle, work: impl FnOnce(&mut Core) -> Result<Work>) -> Result<()> {
    with(|core| {
        let work = work(core)?;
        core.set_in_exec(exec, node, work)
    })
}

/// What an update found: how it went (`cudaGraphExecUpdateResult`), and the node that does not fit.
fn update(exec: ExecHandle, graph: GraphHandle) -> Result<(i32, NodeHandle)> {
    let update = with(|core| core.update_exec(exec, graph))?;
    Ok((update.result as i32, update.node))
}

fn outcome(result: i32) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
}

runtime! {
    in11 fn cudaGraphInstantiate_11 as cudaGraphInstantiate(
        place: *mut ExecHandle, graph: GraphHandle, error: *mut NodeHandle, log: *mut c_char, room: usize,
    ) unsafe {
        if !error.is_null() {
            put(error, 0)?;
        }
        if !log.is_null() && room > 0 {
            put(log, 0)?;
        }
        instantiate(place, graph, 0)
    }

    since12 fn cudaGraphInstantiate_12 as cudaGraphInstantiate(place: *mut ExecHandle, graph: GraphHandle, flags: u64) unsafe {
        instantiate(place, graph, flags)
    }

    all fn cudaGraphInstantiateWithFlags(place: *mut ExecHandle, graph: GraphHandle, flags: u64) unsafe {
        instantiate(place, graph, flags)
    }

    since12 fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz [_per_thread] (
        place: *mut ExecHandle, graph: GraphHandle, params: *mut InstantiateParams,
    ) unsafe {
        let mut given = get(params)?;
        let made = instantiate(place, graph, given.flags);
        (given.error_node, given.result) = (0, i32::from(made.is_err()));
        put(params, given)?;
        made
    }

    all fn cudaGraphExecDestroy(exec: ExecHandle) {
        with(|core| core.destroy_exec(exec))
    }

    all fn cudaGraphLaunch | cudaGraphLaunch_ptsz [per_thread] (exec: ExecHandle, stream: StreamHandle) {
        with(|core| {
            let stream = core.stream(stream, per_thread)?;
            core.launch_graph(exec, stream)
        })
    }

    // There is nothing to be sent ahead.
    all fn cudaGraphUpload | cudaGraphUpload_ptsz [per_thread] (exec: ExecHandle, stream: StreamHandle) {
        with(|core| {
            core.stream(stream, per_thread)?;
            core.graphs.execs.get(exec).map(|_| ())
        })
    }

    since12 fn cudaGraphExecGetFlags(exec: ExecHandle, place: *mut u64) unsafe {
        put(place, with(|core| Ok(core.graphs.execs.get(exec)?.flags))?)
    }

    only13 fn cudaGraphExecGetId(exec: ExecHandle, place: *mut u32) unsafe {
        put(place, with(|core| core.graphs.execs.get(exec).map(|_| exec as u32))?)
    }

    in11 fn cudaGraphExecUpdate_11 as cudaGraphExecUpdate(
        exec: ExecHandle, graph: GraphHandle, error: *mut NodeHandle, result: *mut i32,
    ) unsafe {
        let (found, node) = update(exec, graph)?;
        if !error.is_null() {
            put(error, node)?;
        }
        if !result.is_null() {
            put(result, found)?;
        }
        outcome(found)
    }

    since12 fn cudaGraphExecUpdate_12 as cudaGraphExecUpdate(
        exec: ExecHandle, graph: GraphHandle, place: *mut UpdateResult,
    ) unsafe {
        let (result, error_node) = update(exec, graph)?;
        if !place.is_null() {
            put(place, UpdateResult { result, error_node, error_from: 0 })?;
        }
        outcome(result)
    }

    all fn cudaGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) {
        with(|core| core.enable(exec, node, enabled != 0))
    }

    all fn cudaGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, place: *mut u32) unsafe {
        put(place, with(|core| core.is_enabled(exec, node).map(u32::from))?)
    }

    all fn cudaGraphExecKernelNodeSetParams(exec: ExecHandle, node: NodeHandle, params: *const KernelNodeParams) unsafe {
        let params = get(params)?;
        set(exec, node, |core| kernel(core, &params))
    }

    all fn cudaGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, params: *const Memcpy3d) unsafe {
        let params = get(params)?;
        set(exec, node, |core| memcpy(core, &params))
    }

    all fn cudaGraphExecMemcpyNodeSetParams1D(
        exec: ExecHandle, node: NodeHandle, to: u64, from: u64, bytes: usize, kind: i32,
    ) {
        set(exec, node, |_| flat(to, from, bytes, kind))
    }

    all fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        exec: ExecHandle, node: NodeHandle, symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        set(exec, node, |core| flat(part(core, symbol, offset, bytes)?, from, bytes, kind))
    }

    all fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        exec: ExecHandle, node: NodeHandle, to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        set(exec, node, |core| flat(to, part(core, symbol, offset, bytes)?, bytes, kind))
    }

    all fn cudaGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, params: *const MemsetParams) unsafe {
        let params = get(params)?;
        set(exec, node, |_| memset(&params))
    }

    all fn cudaGraphExecHostNodeSetParams(exec: ExecHandle, node: NodeHandle, params: *const HostNodeParams) unsafe {
        let params = get(params)?;
        set(exec, node, |_| host(&params))
    }

    all fn cudaGraphExecChildGraphNodeSetParams(exec: ExecHandle, node: NodeHandle, child: GraphHandle) {
        with(|core| core.set_child_in_exec(exec, node, child))
    }

    all fn cudaGraphExecEventRecordNodeSetEvent(exec: ExecHandle, node: NodeHandle, event: EventHandle) {
        set(exec, node, |core| record(core, event))
    }

    all fn cudaGraphExecEventWaitNodeSetEvent(exec: ExecHandle, node: NodeHandle, event: EventHandle) {
        set(exec, node, |core| wait(core, event))
    }

    since12 fn cudaGraphExecNodeSetParams(exec: ExecHandle, node: NodeHandle, params: *const GraphNodeParams) unsafe {
        let params = get(params)?;
        match params.kind {
            4 => with(|core| core.set_child_in_exec(exec, node, params.body[0])),
            _ => set(exec, node, |core| described(core, &params)),
        }
    }
}
