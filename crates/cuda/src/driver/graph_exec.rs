// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executable graphs: making, launching, changing.

use crate::abi::driver::{
    HostNode, InstantiateParams, KernelNode, KernelNodeV1, Memcpy3d, MemsetNode, NodeParams, UpdateInfo,
};
use crate::core::graph::Work;
use crate::core::{Code, Core, Result};
use crate::driver::{In, Out, api, graph_nodes, with};

/// Freeing at the next launch, uploading, and priorities, which change nothing here. Launches from the device we do not have.
const KNOWN_FLAGS: u64 = 0b1011;

fn instantiate(exec: Out<u64>, graph: u64, flags: u64) -> Result<()> {
    exec.check()?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Code::NOT_SUPPORTED);
    }
    exec.put(with(|core| core.instantiate(graph, flags))?)
}

fn set(exec: u64, node: u64, work: impl FnOnce(&mut Core) -> Result<Work>) -> Result<()> {
    with(|core| {
        core.graphs.execs.get(exec)?;
        let work = work(core)?;
        core.set_in_exec(exec, node, work)
    })
}

api! {
    fn cuGraphInstantiate [also cuGraphInstantiate_v2] (
        exec: Out<u64>,
        graph: u64,
        error_node: Out<u64>,
        _log: Out<u8>,
        _size: usize,
    ) {
        error_node.put_if(0);
        instantiate(exec, graph, 0)
    }

    fn cuGraphInstantiateWithFlags(exec: Out<u64>, graph: u64, flags: u64) {
        instantiate(exec, graph, flags)
    }

    fn cuGraphInstantiateWithParams(exec: Out<u64>, graph: u64, params: Out<InstantiateParams>) {
        with_params(exec, graph, params)
    }

    fn cuGraphInstantiateWithParams_ptsz(exec: Out<u64>, graph: u64, params: Out<InstantiateParams>) {
        with_params(exec, graph, params)
    }

    fn cuGraphExecDestroy(exec: u64) {
        with(|core| core.destroy_exec(exec))
    }

    fn cuGraphExecGetFlags(exec: u64, flags: Out<u64>) {
        flags.check()?;
        flags.put(with(|core| Ok(core.graphs.execs.get(exec)?.flags))?)
    }

    fn cuGraphExecGetId(exec: u64, number: Out<u32>) {
        number.check()?;
        with(|core| core.graphs.execs.get(exec).map(|_| ()))?;
        number.put(exec as u32)
    }

    fn cuGraphUpload [cuGraphUpload_ptsz: stream] (exec: u64, stream: u64) {
        with(|core| {
            core.stream(stream, false)?;
            core.graphs.execs.get(exec).map(|_| ())
        })
    }

    fn cuGraphLaunch [cuGraphLaunch_ptsz: stream] (exec: u64, stream: u64) {
        with(|core| {
            let stream = core.stream(stream, false)?;
            core.launch_graph(exec, stream)
        })
    }

    fn cuGraphExecUpdate(exec: u64, graph: u64, error_node: Out<u64>, result: Out<u32>) {
        result.check()?;
        let update = with(|core| core.update_exec(exec, graph))?;
        error_node.put_if(update.node);
        result.put(update.result)?;
        if update.result == 0 { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, info: Out<UpdateInfo>) {
        info.check()?;
        let update = with(|core| core.update_exec(exec, graph))?;
        info.put(UpdateInfo { result: update.result, error_node: update.node, error_from: 0 })?;
        if update.result == 0 { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: In<KernelNode>) {
        let params = params.get()?;
        set(exec, node, |core| graph_nodes::kernel(core, &params))
    }

    fn cuGraphExecKernelNodeSetParams(exec: u64, node: u64, params: In<KernelNodeV1>) {
        let params = params.get()?.into();
        set(exec, node, |core| graph_nodes::kernel(core, &params))
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, params: In<Memcpy3d>, _context: u64) {
        let params = params.get()?;
        set(exec, node, |_| graph_nodes::memcpy(&params))
    }

    fn cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, params: In<MemsetNode>, _context: u64) {
        let params = params.get()?;
        set(exec, node, |_| graph_nodes::memset(&params))
    }

    fn cuGraphExecHostNodeSetParams(exec: u64, node: u64, params: In<HostNode>) {
        let params = params.get()?;
        set(exec, node, |_| graph_nodes::host(&params))
    }

    fn cuGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64) {
        with(|core| core.set_child_in_exec(exec, node, child))
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64) {
        set(exec, node, |core| graph_nodes::record(core, event))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64) {
        set(exec, node, |core| graph_nodes::wait(core, event))
    }

    fn cuGraphExecNodeSetParams(exec: u64, node: u64, params: Out<NodeParams>) {
        const CHILD: u32 = 4;
        if params.get()?.kind == CHILD {
            let child = In::<u64>::at(params.address() + 16).get()?;
            return with(|core| core.set_child_in_exec(exec, node, child));
        }
        set(exec, node, |core| graph_nodes::generic(core, params))
    }

    fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32) {
        with(|core| core.enable(exec, node, enabled != 0))
    }

    fn cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: Out<u32>) {
        enabled.check()?;
        enabled.put(with(|core| core.is_enabled(exec, node))?.into())
    }
}

fn with_params(exec: Out<u64>, graph: u64, params: Out<InstantiateParams>) -> Result<()> {
    let mut of = params.get()?;
    let made = instantiate(exec, graph, of.flags);
    of.error_node = 0;
    // Success, a form that cannot be, or something that we do not do.
    of.result = match made {
        Ok(()) => 0,
        Err(Code::NOT_SUPPORTED) => 3,
        Err(_) => 2,
    };
    params.put(of)?;
    made
}
