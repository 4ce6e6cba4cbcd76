// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes of graphs: the parameters of each kind, and queries for them.

use std::ffi::c_void;

use crate::abi::runtime::{
    Dim3, EdgeData, EventHandle, Extent, GraphHandle, GraphNodeParams, HostFn, HostNodeParams,
    KernelNodeParams, MemAccess, MemLocation, MemPoolProps, Memcpy3d, MemsetParams, NodeHandle, PitchedPtr,
    Pos,
};
use crate::core::copy::{Copy, CopyMemory, Fill, Plane};
use crate::core::graph::Work;
use crate::core::launch::{Command, Launch};
use crate::core::{Code, Core, Result};
use crate::driver::In;
use crate::driver::launch::Parameters;
use crate::rt::api::{get, list, put, runtime};
use crate::rt::copy::{box_of, direction};
use crate::rt::graph::check_edges;
use crate::rt::launch::dims;
use crate::rt::symbol::part;
use crate::rt::{check_device, registry, with};

/// `cudaMemAllocNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct AllocParams {
    pool: MemPoolProps,
    access: *const MemAccess,
    access_count: usize,
    bytes: usize,
    at: u64,
}

pub(super) fn kernel(core: &mut Core, params: &KernelNodeParams) -> Result<Work> {
    let function = registry::function(core, params.func)?;
    let args = Parameters { pointers: In::at(params.params as u64), extra: In::at(params.extra as u64) };
    let args = args.read(core, function)?;
    Ok(Work::Do(Command::Launch(Launch {
        function,
        grid: dims(params.grid),
        block: dims(params.block),
        shared: params.shared,
        cooperative: false,
        args,
    })))
}

pub(super) fn memcpy(core: &Core, params: &Memcpy3d) -> Result<Work> {
    direction(params.kind)?;
    Ok(Work::Do(Command::Copy(box_of(core, params)?)))
}

pub(super) fn flat(to: u64, from: u64, bytes: usize, kind: i32) -> Result<Work> {
    direction(kind)?;
    if to == 0 || from == 0 {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Work::Do(Command::Copy(Copy::flat(to, from, bytes as u64))))
}

pub(super) fn memset(params: &MemsetParams) -> Result<Work> {
    let element = u8::try_from(params.element).ok().filter(|bytes| matches!(bytes, 1 | 2 | 4));
    let element = element.ok_or(Code::INVALID_VALUE)?;
    if params.dst == 0 || (params.height > 1 && params.pitch < params.width * usize::from(element)) {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Work::Do(Command::Fill(Fill {
        at: params.dst,
        pitch: params.pitch as u64,
        value: params.value,
        element,
        width: params.width as u64,
        height: params.height as u64,
    })))
}

pub(super) fn host(params: &HostNodeParams) -> Result<Work> {
    let call = params.call.ok_or(Code::INVALID_VALUE)?;
    Ok(Work::Host { function: call as usize as u64, argument: params.data as u64 })
}

pub(super) fn record(core: &Core, event: EventHandle) -> Result<Work> {
    core.events.get(event).map(|_| Work::Do(Command::Record(event)))
}

pub(super) fn wait(core: &Core, event: EventHandle) -> Result<Work> {
    core.events.get(event).map(|_| Work::Do(Command::Wait(event)))
}

/// Allocates the memory of an allocation node, and returns its address.
fn alloc(core: &mut Core, params: &AllocParams) -> Result<(Work, u64)> {
    if params.bytes == 0 || params.pool.alloc_type != 1 || params.pool.location.kind != 1 {
        return Err(Code::INVALID_VALUE);
    }
    check_device(params.pool.location.id)?;
    let work = core.hold_memory(params.bytes as u64)?;
    let at = match &work {
        Work::Alloc(held) => held.base,
        _ => 0,
    };
    Ok((work, at))
}

fn alloc_params(at: u64, bytes: u64) -> AllocParams {
    let location = MemLocation { kind: 1, id: 0 };
    let security = std::ptr::null_mut();
    let pool =
        MemPoolProps { alloc_type: 1, handle_types: 0, location, security, max_size: 0, rest: [0; 56] };
    AllocParams { pool, access: std::ptr::null(), access_count: 0, bytes: bytes as usize, at }
}

/// What `cudaGraphNodeParams` describe, but for allocations and child graphs.
pub(super) fn described(core: &mut Core, params: &GraphNodeParams) -> Result<Work> {
    let body = params.body.as_ptr();
    // SAFETY: the body is as large as the largest of these, and they are made of numbers alone.
    unsafe {
        match params.kind {
            0 => kernel(core, &get(body.cast())?),
            // Flags and a context come first.
            1 => memcpy(core, &get(body.add(2).cast())?),
            2 => memset(&get(body.cast())?),
            3 => host(&get(body.cast())?),
            5 => Ok(Work::Nothing),
            6 => wait(core, params.body[0]),
            7 => record(core, params.body[0]),
            11 => Ok(Work::Free(params.body[0])),
            8 | 9 | 13 => Err(Code::NOT_SUPPORTED),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// Adds a node, and writes its handle.
unsafe fn add(
    place: *mut NodeHandle,
    graph: GraphHandle,
    after: *const NodeHandle,
    count: usize,
    work: impl FnOnce(&mut Core) -> Result<Work>,
) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as many as the program says.
    let after = unsafe { list(after, count) }?;
    let node = with(|core| {
        core.graphs.graphs.get(graph)?;
        let work = work(core)?;
        core.graphs.add(graph, &after, work)
    })?;
    // SAFETY: not null, and the program's variable.
    unsafe { put(place, node) }
}

unsafe fn add_described(
    place: *mut NodeHandle,
    graph: GraphHandle,
    after: *const NodeHandle,
    count: usize,
    params: *mut GraphNodeParams,
) -> Result<()> {
    // SAFETY: the program's variables; checked for null.
    unsafe {
        let given = get(params)?;
        match given.kind {
            4 => {
                let after = list(after, count)?;
                put(place, with(|core| core.graphs.add_child(graph, &after, given.body[0]))?)
            }
            10 => {
                let body = (&raw mut (*params).body).cast::<AllocParams>();
                add_alloc(place, graph, after, count, body)
            }
            _ => add(place, graph, after, count, |core| described(core, &given)),
        }
    }
}

unsafe fn add_alloc(
    place: *mut NodeHandle,
    graph: GraphHandle,
    after: *const NodeHandle,
    count: usize,
    params: *mut AllocParams,
) -> Result<()> {
    // SAFETY: the program's variables; checked for null.
    unsafe {
        let mut given = get(params)?;
        add(place, graph, after, count, |core| {
            let (work, at) = alloc(core, &given)?;
            given.at = at;
            Ok(work)
        })?;
        put(params, given)
    }
}

/// Gives a node other work of its kind.
fn set(node: NodeHandle, work: impl FnOnce(&mut Core) -> Result<Work>) -> Result<()> {
    with(|core| {
        let work = work(core)?;
        core.graphs.set(node, work)
    })
}

/// What a node does, translated by `tell`, which answers `None` for other kinds.
unsafe fn tell<T>(
    node: NodeHandle,
    place: *mut T,
    tell: impl FnOnce(&Core, &Work) -> Option<T>,
) -> Result<()> {
    let value = with(|core| {
        let work = &core.graphs.nodes.get(node)?.work;
        tell(core, work).ok_or(Code::INVALID_VALUE)
    })?;
    // SAFETY: the program's variable; checked for null.
    unsafe { put(place, value) }
}

fn kernel_params(core: &Core, node: NodeHandle, work: &Work) -> Option<KernelNodeParams> {
    let Work::Do(Command::Launch(launch)) = work else { return None };
    let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    let pointers = core.graphs.nodes.get(node).ok()?.pointers.as_ptr();
    Some(KernelNodeParams {
        func: launch.function,
        grid: dim(launch.grid),
        block: dim(launch.block),
        shared: launch.shared,
        params: pointers.cast_mut().cast(),
        extra: std::ptr::null_mut(),
    })
}

fn memcpy_params(core: &Core, work: &Work) -> Option<Memcpy3d> {
    let Work::Do(Command::Copy(copy)) = work else { return None };
    let texel = |plane: &Plane| match plane.at {
        CopyMemory::Array(array) => {
            core.arrays.get(array).ok().map(|array| array.storage.format.texel_bytes() as usize)
        }
        CopyMemory::Linear(_) => None,
    };
    let end = |plane: &Plane| {
        let unit = texel(plane).unwrap_or(1);
        let [x, y, z] = plane.offset.map(|n| n as usize);
        let (array, ptr) = match plane.at {
            CopyMemory::Array(array) => (array, 0),
            CopyMemory::Linear(at) => (0, at),
        };
        let rows = plane.rows as usize;
        let pitched =
            PitchedPtr { ptr, pitch: plane.pitch as usize, xsize: copy.extent[0] as usize, ysize: rows };
        (array, Pos { x: x / unit, y, z }, pitched)
    };
    let (src_array, src_pos, src_ptr) = end(&copy.from);
    let (dst_array, dst_pos, dst_ptr) = end(&copy.to);
    let [width, height, depth] = copy.extent.map(|n| n as usize);
    let width = width / texel(&copy.to).or(texel(&copy.from)).unwrap_or(1);
    let extent = Extent { width, height, depth };
    // The direction follows from the pointers.
    Some(Memcpy3d { src_array, src_pos, src_ptr, dst_array, dst_pos, dst_ptr, extent, kind: 4 })
}

fn memset_params(work: &Work) -> Option<MemsetParams> {
    let Work::Do(Command::Fill(fill)) = work else { return None };
    Some(MemsetParams {
        dst: fill.at,
        pitch: fill.pitch as usize,
        value: fill.value,
        element: u32::from(fill.element),
        width: fill.width as usize,
        height: fill.height as usize,
    })
}

fn host_params(work: &Work) -> Option<HostNodeParams> {
    let Work::Host { function, argument } = work else { return None };
    // SAFETY: it was a function of this type when the program gave it.
    let call = unsafe { std::mem::transmute::<usize, Option<HostFn>>(*function as usize) };
    Some(HostNodeParams { call, data: *argument as *mut c_void })
}

fn event_of(work: &Work, recorded: bool) -> Option<EventHandle> {
    match work {
        Work::Do(Command::Record(event)) if recorded => Some(*event),
        Work::Do(Command::Wait(event)) if !recorded => Some(*event),
        _ => None,
    }
}

/// Runs `change` on the launch of a kernel node.
fn change_launch(node: NodeHandle, change: impl FnOnce(&mut Launch)) -> Result<()> {
    with(|core| match &mut core.graphs.nodes.get_mut(node)?.work {
        Work::Do(Command::Launch(launch)) => {
            change(launch);
            Ok(())
        }
        _ => Err(Code::INVALID_VALUE),
    })
}

fn is_cooperative(node: NodeHandle) -> Result<bool> {
    with(|core| match &core.graphs.nodes.get(node)?.work {
        Work::Do(Command::Launch(launch)) => Ok(launch.cooperative),
        _ => Err(Code::INVALID_VALUE),
    })
}

runtime! {
    all fn cudaGraphAddKernelNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, params: *const KernelNodeParams,
    ) unsafe {
        let params = get(params)?;
        add(place, graph, after, count, |core| kernel(core, &params))
    }

    all fn cudaGraphKernelNodeGetParams(node: NodeHandle, place: *mut KernelNodeParams) unsafe {
        tell(node, place, |core, work| kernel_params(core, node, work))
    }

    all fn cudaGraphKernelNodeSetParams(node: NodeHandle, params: *const KernelNodeParams) unsafe {
        let params = get(params)?;
        set(node, |core| kernel(core, &params))
    }

    all fn cudaGraphKernelNodeGetAttribute(node: NodeHandle, attribute: i32, place: *mut [u64; 8]) unsafe {
        let cooperative = is_cooperative(node)?;
        let mut value = [0; 8];
        match attribute {
            2 => value[0] = u64::from(cooperative),
            1 | 3..=14 => (),
            _ => return Err(Code::INVALID_VALUE),
        }
        put(place, value)
    }

    all fn cudaGraphKernelNodeSetAttribute(node: NodeHandle, attribute: i32, value: *const [u64; 8]) unsafe {
        let value = get(value)?;
        match attribute {
            2 => change_launch(node, |launch| launch.cooperative = value[0] as u32 != 0),
            1 | 3 | 5..=14 => is_cooperative(node).map(|_| ()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    before13 fn cudaGraphKernelNodeCopyAttributes_11 as cudaGraphKernelNodeCopyAttributes(from: NodeHandle, to: NodeHandle) {
        let cooperative = is_cooperative(from)?;
        change_launch(to, |launch| launch.cooperative = cooperative)
    }

    only13 fn cudaGraphKernelNodeCopyAttributes_13 as cudaGraphKernelNodeCopyAttributes(to: NodeHandle, from: NodeHandle) {
        let cooperative = is_cooperative(from)?;
        change_launch(to, |launch| launch.cooperative = cooperative)
    }

    all fn cudaGraphAddMemcpyNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, params: *const Memcpy3d,
    ) unsafe {
        let params = get(params)?;
        add(place, graph, after, count, |core| memcpy(core, &params))
    }

    all fn cudaGraphAddMemcpyNode1D(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, to: u64, from: u64, bytes: usize,
        kind: i32,
    ) unsafe {
        add(place, graph, after, count, |_| flat(to, from, bytes, kind))
    }

    all fn cudaGraphAddMemcpyNodeToSymbol(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, symbol: u64, from: u64,
        bytes: usize, offset: usize, kind: i32,
    ) unsafe {
        add(place, graph, after, count, |core| flat(part(core, symbol, offset, bytes)?, from, bytes, kind))
    }

    all fn cudaGraphAddMemcpyNodeFromSymbol(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, to: u64, symbol: u64,
        bytes: usize, offset: usize, kind: i32,
    ) unsafe {
        add(place, graph, after, count, |core| flat(to, part(core, symbol, offset, bytes)?, bytes, kind))
    }

    all fn cudaGraphMemcpyNodeGetParams(node: NodeHandle, place: *mut Memcpy3d) unsafe {
        tell(node, place, memcpy_params)
    }

    all fn cudaGraphMemcpyNodeSetParams(node: NodeHandle, params: *const Memcpy3d) unsafe {
        let params = get(params)?;
        set(node, |core| memcpy(core, &params))
    }

    all fn cudaGraphMemcpyNodeSetParams1D(node: NodeHandle, to: u64, from: u64, bytes: usize, kind: i32) {
        set(node, |_| flat(to, from, bytes, kind))
    }

    all fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: NodeHandle, symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        set(node, |core| flat(part(core, symbol, offset, bytes)?, from, bytes, kind))
    }

    all fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: NodeHandle, to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        set(node, |core| flat(to, part(core, symbol, offset, bytes)?, bytes, kind))
    }

    all fn cudaGraphAddMemsetNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, params: *const MemsetParams,
    ) unsafe {
        let params = get(params)?;
        add(place, graph, after, count, |_| memset(&params))
    }

    all fn cudaGraphMemsetNodeGetParams(node: NodeHandle, place: *mut MemsetParams) unsafe {
        tell(node, place, |_, work| memset_params(work))
    }

    all fn cudaGraphMemsetNodeSetParams(node: NodeHandle, params: *const MemsetParams) unsafe {
        let params = get(params)?;
        set(node, |_| memset(&params))
    }

    all fn cudaGraphAddHostNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, params: *const HostNodeParams,
    ) unsafe {
        let params = get(params)?;
        add(place, graph, after, count, |_| host(&params))
    }

    all fn cudaGraphHostNodeGetParams(node: NodeHandle, place: *mut HostNodeParams) unsafe {
        tell(node, place, |_, work| host_params(work))
    }

    all fn cudaGraphHostNodeSetParams(node: NodeHandle, params: *const HostNodeParams) unsafe {
        let params = get(params)?;
        set(node, |_| host(&params))
    }

    all fn cudaGraphAddChildGraphNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, child: GraphHandle,
    ) unsafe {
        let after = list(after, count)?;
        put(place, with(|core| core.graphs.add_child(graph, &after, child))?)
    }

    all fn cudaGraphChildGraphNodeGetGraph(node: NodeHandle, place: *mut GraphHandle) unsafe {
        tell(node, place, |_, work| match work {
            Work::Child(child) => Some(*child),
            _ => None,
        })
    }

    all fn cudaGraphAddEmptyNode(place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize) unsafe {
        add(place, graph, after, count, |_| Ok(Work::Nothing))
    }

    all fn cudaGraphAddEventRecordNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, event: EventHandle,
    ) unsafe {
        add(place, graph, after, count, |core| record(core, event))
    }

    all fn cudaGraphEventRecordNodeGetEvent(node: NodeHandle, place: *mut EventHandle) unsafe {
        tell(node, place, |_, work| event_of(work, true))
    }

    all fn cudaGraphEventRecordNodeSetEvent(node: NodeHandle, event: EventHandle) {
        set(node, |core| record(core, event))
    }

    all fn cudaGraphAddEventWaitNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, event: EventHandle,
    ) unsafe {
        add(place, graph, after, count, |core| wait(core, event))
    }

    all fn cudaGraphEventWaitNodeGetEvent(node: NodeHandle, place: *mut EventHandle) unsafe {
        tell(node, place, |_, work| event_of(work, false))
    }

    all fn cudaGraphEventWaitNodeSetEvent(node: NodeHandle, event: EventHandle) {
        set(node, |core| wait(core, event))
    }

    all fn cudaGraphAddMemAllocNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, params: *mut AllocParams,
    ) unsafe {
        add_alloc(place, graph, after, count, params)
    }

    all fn cudaGraphMemAllocNodeGetParams(node: NodeHandle, place: *mut AllocParams) unsafe {
        tell(node, place, |_, work| match work {
            Work::Alloc(held) => Some(alloc_params(held.base, held.bytes)),
            _ => None,
        })
    }

    all fn cudaGraphAddMemFreeNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, at: u64,
    ) unsafe {
        add(place, graph, after, count, |_| if at == 0 { Err(Code::INVALID_VALUE) } else { Ok(Work::Free(at)) })
    }

    all fn cudaGraphMemFreeNodeGetParams(node: NodeHandle, place: *mut u64) unsafe {
        tell(node, place, |_, work| match work {
            Work::Free(at) => Some(*at),
            _ => None,
        })
    }

    in12 fn cudaGraphAddNode_12 as cudaGraphAddNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, params: *mut GraphNodeParams,
    ) unsafe {
        add_described(place, graph, after, count, params)
    }

    only12 fn cudaGraphAddNode_v2(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, edges: *const EdgeData, count: usize,
        params: *mut GraphNodeParams,
    ) unsafe {
        check_edges(edges, count)?;
        add_described(place, graph, after, count, params)
    }

    only13 fn cudaGraphAddNode_13 as cudaGraphAddNode(
        place: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, edges: *const EdgeData, count: usize,
        params: *mut GraphNodeParams,
    ) unsafe {
        check_edges(edges, count)?;
        add_described(place, graph, after, count, params)
    }

    since12 fn cudaGraphNodeSetParams(node: NodeHandle, params: *const GraphNodeParams) unsafe {
        let params = get(params)?;
        set(node, |core| described(core, &params))
    }
}
