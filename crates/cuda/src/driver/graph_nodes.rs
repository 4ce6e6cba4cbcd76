// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes of graphs: adding them, and reading and changing what they do.

use crate::abi::driver::{
    AllocNode, HostNode, KernelNode, KernelNodeV1, LaunchAttribute, Memcpy3d, MemsetNode, NodeParams,
};
use crate::core::copy::Fill;
use crate::core::graph::Work;
use crate::core::launch::{Command, Launch};
use crate::core::{Code, Core, Result};
use crate::driver::copy::{describe as describe_copy, structure};
use crate::driver::launch::{Parameters, describe as describe_launch, driver_code};
use crate::driver::{In, Out, api, with};

/// Adds a node; `work` is made while the device is held.
fn add(
    node: Out<u64>,
    graph: u64,
    after: In<u64>,
    count: usize,
    work: impl FnOnce(&mut Core) -> Result<Work>,
) -> Result<()> {
    node.check()?;
    let after = after.list(count)?;
    node.put(with(|core| {
        core.graphs.graphs.get(graph)?;
        let work = work(core)?;
        core.graphs.add(graph, &after, work)
    })?)
}

fn set(node: u64, work: impl FnOnce(&mut Core) -> Result<Work>) -> Result<()> {
    with(|core| {
        let work = work(core)?;
        core.graphs.set(node, work)
    })
}

/// What a node does, if it is of the right kind.
fn get<R>(node: u64, pick: impl FnOnce(&Work) -> Option<R>) -> Result<R> {
    with(|core| pick(&core.graphs.nodes.get(node)?.work).ok_or(Code::INVALID_VALUE))
}

pub(crate) fn kernel(core: &mut Core, node: &KernelNode) -> Result<Work> {
    let function = if node.function != 0 { node.function } else { node.kernel };
    let parameters = Parameters { pointers: In::at(node.params), extra: In::at(node.extra) };
    let launch = describe_launch(core, function, node.grid, node.block, node.shared_bytes, parameters)?;
    let launch = unpacked(core, launch)?;
    core.check_launch(&launch).map_err(driver_code)?;
    Ok(Work::Do(Command::Launch(launch)))
}

/// A launch with its separate arguments, since programs may query these.
fn unpacked(core: &Core, mut launch: Launch) -> Result<Launch> {
    if let Some(block) = launch.args.block() {
        let mut args = warpwatt_runtime::Args::new();
        for &(offset, size) in core.functions.get(launch.function)?.params.iter() {
            let bytes = block.get(offset as usize..(offset + size) as usize).ok_or(Code::INVALID_VALUE)?;
            args = args.bytes(bytes);
        }
        launch.args = args;
    }
    Ok(launch)
}

pub(crate) fn memcpy(params: &Memcpy3d) -> Result<Work> {
    Ok(Work::Do(Command::Copy(describe_copy(params)?.0)))
}

pub(crate) fn memset(params: &MemsetNode) -> Result<Work> {
    let MemsetNode { dst: at, pitch, value, element, width, height } = *params;
    if !matches!(element, 1 | 2 | 4) || width == 0 || height == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let bytes = width.checked_mul(element.into()).ok_or(Code::INVALID_VALUE)?;
    let pitch = if height == 1 { bytes } else { pitch };
    if pitch < bytes {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Work::Do(Command::Fill(Fill { at, pitch, value, element: element as u8, width, height })))
}

pub(crate) fn host(params: &HostNode) -> Result<Work> {
    match params.function {
        0 => Err(Code::INVALID_VALUE),
        function => Ok(Work::Host { function, argument: params.user_data }),
    }
}

pub(crate) fn record(core: &Core, event: u64) -> Result<Work> {
    core.events.get(event)?;
    Ok(Work::Do(Command::Record(event)))
}

pub(crate) fn wait(core: &Core, event: u64) -> Result<Work> {
    core.events.get(event)?;
    Ok(Work::Do(Command::Wait(event)))
}

fn alloc(core: &mut Core, params: &mut AllocNode) -> Result<Work> {
    if params.bytes == 0 || params.pool.location.kind != 1 || params.pool.location.id != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let work = core.hold_memory(params.bytes)?;
    if let Work::Alloc(held) = &work {
        params.dptr = held.base;
    }
    Ok(work)
}

fn free(core: &Core, at: u64) -> Result<Work> {
    core.ledger.starting_at(at).ok_or(Code::INVALID_VALUE)?;
    Ok(Work::Free(at))
}

/// Reads what a `CUgraphNodeParams` holds: a structure per kind, at the start of the union.
pub(crate) fn generic(core: &mut Core, params: Out<NodeParams>) -> Result<Work> {
    let kind = params.get()?.kind;
    let body = params.address() + 16;
    match kind {
        0 => kernel(core, &In::<KernelNode>::at(body).get()?),
        1 => memcpy(&In::<Memcpy3d>::at(body + 16).get()?),
        2 => memset(&In::<MemsetNode>::at(body).get()?),
        3 => host(&In::<HostNode>::at(body).get()?),
        4 => {
            let graph = In::<u64>::at(body).get()?;
            Ok(Work::Child(core.graphs.clone_graph(graph)?))
        }
        5 => Ok(Work::Nothing),
        6 => wait(core, In::<u64>::at(body).get()?),
        7 => record(core, In::<u64>::at(body).get()?),
        10 => {
            let mut node = In::<AllocNode>::at(body).get()?;
            let work = alloc(core, &mut node)?;
            Out::at(body).put(node)?;
            Ok(work)
        }
        11 => free(core, In::<u64>::at(body).get()?),
        8 | 9 | 12 | 13 => Err(Code::NOT_SUPPORTED),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn kernel_params(core: &Core, node: u64) -> Result<KernelNode> {
    let of = core.graphs.nodes.get(node)?;
    let Work::Do(Command::Launch(launch)) = &of.work else { return Err(Code::INVALID_VALUE) };
    Ok(KernelNode {
        function: launch.function,
        grid: launch.grid,
        block: launch.block,
        shared_bytes: launch.shared,
        params: if of.pointers.is_empty() { 0 } else { of.pointers.as_ptr() as u64 },
        ..KernelNode::default()
    })
}

fn memset_params(work: &Work) -> Option<MemsetNode> {
    let Work::Do(Command::Fill(fill)) = work else { return None };
    let Fill { at, pitch, value, element, width, height } = *fill;
    Some(MemsetNode { dst: at, pitch, value, element: element.into(), width, height })
}

fn memcpy_params(work: &Work) -> Option<Memcpy3d> {
    if let Work::Do(Command::Copy(copy)) = work { Some(structure(copy)) } else { None }
}

fn host_params(work: &Work) -> Option<HostNode> {
    match work {
        Work::Host { function, argument } => Some(HostNode { function: *function, user_data: *argument }),
        _ => None,
    }
}

/// Changes how a kernel node is launched.
fn change_launch(node: u64, call: impl FnOnce(&mut Launch) -> Result<()>) -> Result<()> {
    with(|core| {
        let Work::Do(Command::Launch(mut launch)) = core.graphs.nodes.get(node)?.work.clone() else {
            return Err(Code::INVALID_VALUE);
        };
        call(&mut launch)?;
        core.graphs.set(node, Work::Do(Command::Launch(launch)))
    })
}

const COOPERATIVE: u32 = 2;

api! {
    fn cuGraphAddKernelNode_v2(
        node: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        params: In<KernelNode>,
    ) {
        let params = params.get()?;
        add(node, graph, after, count, |core| kernel(core, &params))
    }

    fn cuGraphAddKernelNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<KernelNodeV1>) {
        let params = params.get()?.into();
        add(node, graph, after, count, |core| kernel(core, &params))
    }

    fn cuGraphKernelNodeGetParams_v2(node: u64, params: Out<KernelNode>) {
        params.check()?;
        params.put(with(|core| kernel_params(core, node))?)
    }

    fn cuGraphKernelNodeGetParams(node: u64, params: Out<KernelNodeV1>) {
        params.check()?;
        let KernelNode { function, grid, block, shared_bytes, params: list, extra, .. } =
            with(|core| kernel_params(core, node))?;
        params.put(KernelNodeV1 { function, grid, block, shared_bytes, params: list, extra })
    }

    fn cuGraphKernelNodeSetParams_v2(node: u64, params: In<KernelNode>) {
        let params = params.get()?;
        set(node, |core| kernel(core, &params))
    }

    fn cuGraphKernelNodeSetParams(node: u64, params: In<KernelNodeV1>) {
        let params = params.get()?.into();
        set(node, |core| kernel(core, &params))
    }

    fn cuGraphKernelNodeGetAttribute(node: u64, number: u32, value: Out<[u64; 8]>) {
        value.check()?;
        let cooperative = get(node, |work| match work {
            Work::Do(Command::Launch(launch)) => Some(launch.cooperative),
            _ => None,
        })?;
        let mut words = [0; 8];
        match number {
            COOPERATIVE => words[0] = u64::from(cooperative),
            0..=18 => (),
            _ => return Err(Code::INVALID_VALUE),
        }
        value.put(words)
    }

    fn cuGraphKernelNodeSetAttribute(node: u64, number: u32, value: In<u64>) {
        let word = LaunchAttribute { id: number, value: [value.get()?; 8], ..LaunchAttribute::default() };
        change_launch(node, |launch| {
            match word.id {
                COOPERATIVE => launch.cooperative = word.value[0] as u32 != 0,
                0..=18 => (),
                _ => return Err(Code::INVALID_VALUE),
            }
            Ok(())
        })
    }

    fn cuGraphKernelNodeCopyAttributes(to: u64, from: u64) {
        let cooperative = get(from, |work| match work {
            Work::Do(Command::Launch(launch)) => Some(launch.cooperative),
            _ => None,
        })?;
        change_launch(to, |launch| {
            launch.cooperative = cooperative;
            Ok(())
        })
    }

    fn cuGraphAddMemcpyNode(
        node: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        params: In<Memcpy3d>,
        _context: u64,
    ) {
        let params = params.get()?;
        add(node, graph, after, count, |_| memcpy(&params))
    }

    fn cuGraphMemcpyNodeGetParams(node: u64, params: Out<Memcpy3d>) {
        params.check()?;
        params.put(get(node, memcpy_params)?)
    }

    fn cuGraphMemcpyNodeSetParams(node: u64, params: In<Memcpy3d>) {
        let params = params.get()?;
        set(node, |_| memcpy(&params))
    }

    fn cuGraphAddMemsetNode(
        node: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        params: In<MemsetNode>,
        _context: u64,
    ) {
        let params = params.get()?;
        add(node, graph, after, count, |_| memset(&params))
    }

    fn cuGraphMemsetNodeGetParams(node: u64, params: Out<MemsetNode>) {
        params.check()?;
        params.put(get(node, memset_params)?)
    }

    fn cuGraphMemsetNodeSetParams(node: u64, params: In<MemsetNode>) {
        let params = params.get()?;
        set(node, |_| memset(&params))
    }

    fn cuGraphAddHostNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<HostNode>) {
        let params = params.get()?;
        add(node, graph, after, count, |_| host(&params))
    }

    fn cuGraphHostNodeGetParams(node: u64, params: Out<HostNode>) {
        params.check()?;
        params.put(get(node, host_params)?)
    }

    fn cuGraphHostNodeSetParams(node: u64, params: In<HostNode>) {
        let params = params.get()?;
        set(node, |_| host(&params))
    }

    fn cuGraphAddChildGraphNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64) {
        node.check()?;
        let after = after.list(count)?;
        node.put(with(|core| core.graphs.add_child(graph, &after, child))?)
    }

    fn cuGraphChildGraphNodeGetGraph(node: u64, graph: Out<u64>) {
        graph.check()?;
        graph.put(get(node, |work| if let Work::Child(child) = work { Some(*child) } else { None })?)
    }

    fn cuGraphAddEmptyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize) {
        add(node, graph, after, count, |_| Ok(Work::Nothing))
    }

    fn cuGraphAddEventRecordNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64) {
        add(node, graph, after, count, |core| record(core, event))
    }

    fn cuGraphEventRecordNodeGetEvent(node: u64, event: Out<u64>) {
        event.check()?;
        event.put(get(node, |work| if let Work::Do(Command::Record(event)) = work { Some(*event) } else { None })?)
    }

    fn cuGraphEventRecordNodeSetEvent(node: u64, event: u64) {
        set(node, |core| record(core, event))
    }

    fn cuGraphAddEventWaitNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64) {
        add(node, graph, after, count, |core| wait(core, event))
    }

    fn cuGraphEventWaitNodeGetEvent(node: u64, event: Out<u64>) {
        event.check()?;
        event.put(get(node, |work| if let Work::Do(Command::Wait(event)) = work { Some(*event) } else { None })?)
    }

    fn cuGraphEventWaitNodeSetEvent(node: u64, event: u64) {
        set(node, |core| wait(core, event))
    }

    fn cuGraphAddMemAllocNode(
        node: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        params: Out<AllocNode>,
    ) {
        let mut wanted = params.get()?;
        add(node, graph, after, count, |core| alloc(core, &mut wanted))?;
        params.put(wanted)
    }

    fn cuGraphMemAllocNodeGetParams(node: u64, params: Out<AllocNode>) {
        params.check()?;
        let (base, bytes) =
            get(node, |work| if let Work::Alloc(held) = work { Some((held.base, held.bytes)) } else { None })?;
        let zeroed = [0u64; size_of::<AllocNode>() / 8];
        let mut of = In::<AllocNode>::at(zeroed.as_ptr() as u64).get()?;
        (of.pool.alloc_type, of.pool.location.kind, of.bytes, of.dptr) = (1, 1, bytes, base);
        params.put(of)
    }

    fn cuGraphAddMemFreeNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, at: u64) {
        add(node, graph, after, count, |core| free(core, at))
    }

    fn cuGraphMemFreeNodeGetParams(node: u64, at: Out<u64>) {
        at.check()?;
        at.put(get(node, |work| if let Work::Free(at) = work { Some(*at) } else { None })?)
    }

    fn cuGraphAddNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: Out<NodeParams>) {
        add(node, graph, after, count, |core| generic(core, params))
    }

    fn cuGraphAddNode_v2 [also cuGraphAddNode_v3] (
        node: Out<u64>,
        graph: u64,
        after: In<u64>,
        edges: In<u64>,
        count: usize,
        params: Out<NodeParams>,
    ) {
        if !edges.is_null() && edges.list(count)?.iter().any(|&data| data != 0) {
            return Err(Code::NOT_SUPPORTED);
        }
        add(node, graph, after, count, |core| generic(core, params))
    }

    fn cuGraphNodeSetParams [also cuGraphNodeSetParams_v2] (node: u64, params: Out<NodeParams>) {
        set(node, |core| generic(core, params))
    }

    fn cuGraphNodeGetParams(node: u64, params: Out<NodeParams>) {
        params.check()?;
        with(|core| {
            let work = &core.graphs.nodes.get(node)?.work;
            params.put(NodeParams { kind: work.kind(), reserved: [0; 3], body: [0; 29], reserved2: 0 })?;
            let body = params.address() + 16;
            match work {
                Work::Do(Command::Launch(_)) => Out::at(body).put(kernel_params(core, node)?),
                Work::Do(Command::Copy(copy)) => Out::at(body + 16).put(structure(copy)),
                Work::Do(Command::Fill(_)) => Out::at(body).put(memset_params(work).ok_or(Code::UNKNOWN)?),
                Work::Host { function, argument } => Out::at(body).put([*function, *argument]),
                Work::Child(handle) | Work::Free(handle) => Out::at(body).put(*handle),
                Work::Do(Command::Record(event) | Command::Wait(event)) => Out::at(body).put(*event),
                Work::Alloc(held) => {
                    Out::at(body + 104).put(held.bytes)?;
                    Out::at(body + 112).put(held.base)
                }
                Work::Do(Command::Call(_)) | Work::Nothing => Ok(()),
            }
        })
    }
}
