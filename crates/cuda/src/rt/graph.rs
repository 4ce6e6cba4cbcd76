// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs as such: their making and copying, their nodes and edges, and the objects whose lives they hold.
//!
//! Edges may carry data since 12.3; ports and kinds other than the plain ones need devices of capability 9.0.

use std::ffi::c_char;

use crate::abi::runtime::{EdgeData, GraphHandle, HostFn, NodeHandle};
use crate::core::{Code, Core, Result};
use crate::driver::Text;
use crate::driver::graph::cuGraphDebugDotPrint;
use crate::rt::api::{get, list, put, runtime};
use crate::rt::{pass, with};

/// Plain edges are all that this device has.
pub(super) unsafe fn check_edges(edges: *const EdgeData, count: usize) -> Result<()> {
    if edges.is_null() {
        return Ok(());
    }
    // SAFETY: not null, and as many as the program says.
    let plain = unsafe { list(edges, count) }?
        .iter()
        .all(|edge| (edge.from_port, edge.to_port, edge.kind) == (0, 0, 0));
    if plain { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}

/// Writes handles where the program has room: `count` says how much, and afterwards how many there were. Without a place for
/// them, only how many there are.
unsafe fn put_list(place: *mut u64, count: *mut usize, found: &[u64]) -> Result<()> {
    // SAFETY: the program's variables; checked for null.
    unsafe {
        if place.is_null() {
            return put(count, found.len());
        }
        let room = get(count)?;
        for index in 0..room {
            // Places that are left over become null.
            put(place.wrapping_add(index), found.get(index).copied().unwrap_or(0))?;
        }
        put(count, found.len().min(room))
    }
}

unsafe fn put_edges(
    graph: GraphHandle,
    from: *mut NodeHandle,
    to: *mut NodeHandle,
    data: *mut EdgeData,
    count: *mut usize,
) -> Result<()> {
    let edges = with(|core| core.graphs.edges(graph))?;
    if from.is_null() != to.is_null() || count.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let (sources, targets): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
    // SAFETY: the program's variables; checked for null.
    unsafe {
        let room = get(count)?;
        put_list(from, count, &sources)?;
        if !to.is_null() {
            put(count, room)?;
            put_list(to, count, &targets)?;
            put_plain(data, room.min(targets.len()))?;
        }
    }
    Ok(())
}

unsafe fn put_plain(data: *mut EdgeData, count: usize) -> Result<()> {
    if data.is_null() {
        return Ok(());
    }
    let plain = EdgeData { from_port: 0, to_port: 0, kind: 0, reserved: [0; 5] };
    // SAFETY: not null, with room for as many.
    (0..count).try_for_each(|index| unsafe { put(data.wrapping_add(index), plain) })
}

/// Neighbours of a node, with the data of the edges to them.
unsafe fn put_neighbours(
    place: *mut NodeHandle,
    data: *mut EdgeData,
    count: *mut usize,
    find: impl FnOnce(&Core) -> Result<Vec<u64>>,
) -> Result<()> {
    let found = with(|core| find(core))?;
    // SAFETY: the program's variables; checked for null.
    unsafe {
        put_list(place, count, &found)?;
        if place.is_null() { Ok(()) } else { put_plain(data, get(count)?) }
    }
}

fn before(core: &Core, node: NodeHandle) -> Result<Vec<u64>> {
    Ok(core.graphs.nodes.get(node)?.after.clone())
}

unsafe fn change_edges(
    graph: GraphHandle,
    from: *const NodeHandle,
    to: *const NodeHandle,
    count: usize,
    change: impl FnOnce(&mut Core, &[(u64, u64)]) -> Result<()>,
) -> Result<()> {
    // SAFETY: lists of as many handles as the program says.
    let (from, to) = unsafe { (list(from, count)?, list(to, count)?) };
    let edges: Vec<_> = from.into_iter().zip(to).collect();
    with(|core| {
        core.graphs.graphs.get(graph)?;
        change(core, &edges)
    })
}

runtime! {
    all fn cudaGraphCreate(place: *mut GraphHandle, flags: u32) unsafe {
        if flags != 0 || place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, with(|core| Ok(core.graphs.create()))?)
    }

    all fn cudaGraphDestroy(graph: GraphHandle) {
        with(|core| core.destroy_graph(graph))
    }

    all fn cudaGraphClone(place: *mut GraphHandle, graph: GraphHandle) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, with(|core| core.graphs.clone_graph(graph))?)
    }

    all fn cudaGraphNodeFindInClone(place: *mut NodeHandle, original: NodeHandle, clone: GraphHandle) unsafe {
        put(place, with(|core| core.graphs.find_in_clone(original, clone))?)
    }

    all fn cudaGraphDestroyNode(node: NodeHandle) {
        with(|core| core.destroy_node(node))
    }

    all fn cudaGraphNodeGetType(node: NodeHandle, place: *mut u32) unsafe {
        put(place, with(|core| Ok(core.graphs.nodes.get(node)?.work.kind()))?)
    }

    only13 fn cudaGraphNodeGetContainingGraph(node: NodeHandle, place: *mut GraphHandle) unsafe {
        put(place, with(|core| Ok(core.graphs.nodes.get(node)?.graph))?)
    }

    only13 fn cudaGraphNodeGetLocalId(node: NodeHandle, place: *mut u32) unsafe {
        put(place, with(|core| Ok(core.graphs.nodes.get(node)?.number))?)
    }

    only13 fn cudaGraphNodeGetToolsId(node: NodeHandle, place: *mut u64) unsafe {
        put(place, with(|core| core.graphs.nodes.get(node).map(|_| node))?)
    }

    only13 fn cudaGraphGetId(graph: GraphHandle, place: *mut u32) unsafe {
        put(place, with(|core| core.graphs.graphs.get(graph).map(|_| graph as u32))?)
    }

    all fn cudaGraphGetNodes(graph: GraphHandle, place: *mut NodeHandle, count: *mut usize) unsafe {
        put_neighbours(place, std::ptr::null_mut(), count, |core| Ok(core.graphs.graphs.get(graph)?.nodes.clone()))
    }

    all fn cudaGraphGetRootNodes(graph: GraphHandle, place: *mut NodeHandle, count: *mut usize) unsafe {
        put_neighbours(place, std::ptr::null_mut(), count, |core| core.graphs.roots(graph))
    }

    before13 fn cudaGraphGetEdges_11 as cudaGraphGetEdges(
        graph: GraphHandle, from: *mut NodeHandle, to: *mut NodeHandle, count: *mut usize,
    ) unsafe {
        put_edges(graph, from, to, std::ptr::null_mut(), count)
    }

    only12 fn cudaGraphGetEdges_v2(
        graph: GraphHandle, from: *mut NodeHandle, to: *mut NodeHandle, data: *mut EdgeData, count: *mut usize,
    ) unsafe {
        put_edges(graph, from, to, data, count)
    }

    only13 fn cudaGraphGetEdges_13 as cudaGraphGetEdges(
        graph: GraphHandle, from: *mut NodeHandle, to: *mut NodeHandle, data: *mut EdgeData, count: *mut usize,
    ) unsafe {
        put_edges(graph, from, to, data, count)
    }

    before13 fn cudaGraphNodeGetDependencies_11 as cudaGraphNodeGetDependencies(
        node: NodeHandle, place: *mut NodeHandle, count: *mut usize,
    ) unsafe {
        put_neighbours(place, std::ptr::null_mut(), count, |core| before(core, node))
    }

    only12 fn cudaGraphNodeGetDependencies_v2(
        node: NodeHandle, place: *mut NodeHandle, data: *mut EdgeData, count: *mut usize,
    ) unsafe {
        put_neighbours(place, data, count, |core| before(core, node))
    }

    only13 fn cudaGraphNodeGetDependencies_13 as cudaGraphNodeGetDependencies(
        node: NodeHandle, place: *mut NodeHandle, data: *mut EdgeData, count: *mut usize,
    ) unsafe {
        put_neighbours(place, data, count, |core| before(core, node))
    }

    before13 fn cudaGraphNodeGetDependentNodes_11 as cudaGraphNodeGetDependentNodes(
        node: NodeHandle, place: *mut NodeHandle, count: *mut usize,
    ) unsafe {
        put_neighbours(place, std::ptr::null_mut(), count, |core| core.graphs.dependents(node))
    }

    only12 fn cudaGraphNodeGetDependentNodes_v2(
        node: NodeHandle, place: *mut NodeHandle, data: *mut EdgeData, count: *mut usize,
    ) unsafe {
        put_neighbours(place, data, count, |core| core.graphs.dependents(node))
    }

    only13 fn cudaGraphNodeGetDependentNodes_13 as cudaGraphNodeGetDependentNodes(
        node: NodeHandle, place: *mut NodeHandle, data: *mut EdgeData, count: *mut usize,
    ) unsafe {
        put_neighbours(place, data, count, |core| core.graphs.dependents(node))
    }

    before13 fn cudaGraphAddDependencies_11 as cudaGraphAddDependencies(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, count: usize,
    ) unsafe {
        change_edges(graph, from, to, count, |core, edges| core.graphs.add_edges(graph, edges))
    }

    only12 fn cudaGraphAddDependencies_v2(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, data: *const EdgeData, count: usize,
    ) unsafe {
        check_edges(data, count)?;
        change_edges(graph, from, to, count, |core, edges| core.graphs.add_edges(graph, edges))
    }

    only13 fn cudaGraphAddDependencies_13 as cudaGraphAddDependencies(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, data: *const EdgeData, count: usize,
    ) unsafe {
        check_edges(data, count)?;
        change_edges(graph, from, to, count, |core, edges| core.graphs.add_edges(graph, edges))
    }

    before13 fn cudaGraphRemoveDependencies_11 as cudaGraphRemoveDependencies(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, count: usize,
    ) unsafe {
        change_edges(graph, from, to, count, |core, edges| core.graphs.remove_edges(graph, edges))
    }

    only12 fn cudaGraphRemoveDependencies_v2(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, _data: *const EdgeData, count: usize,
    ) unsafe {
        change_edges(graph, from, to, count, |core, edges| core.graphs.remove_edges(graph, edges))
    }

    only13 fn cudaGraphRemoveDependencies_13 as cudaGraphRemoveDependencies(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, _data: *const EdgeData, count: usize,
    ) unsafe {
        change_edges(graph, from, to, count, |core, edges| core.graphs.remove_edges(graph, edges))
    }

    all fn cudaUserObjectCreate(place: *mut u64, pointer: u64, destroy: Option<HostFn>, references: u32, flags: u32) unsafe {
        // The only flag means that the destructor is not waited for; it is required.
        let destroy = destroy.ok_or(Code::INVALID_VALUE)?;
        if place.is_null() || references == 0 || flags != 1 {
            return Err(Code::INVALID_VALUE);
        }
        let object = with(|core| Ok(core.graphs.create_object(pointer, destroy as usize as u64, references)))?;
        put(place, object)
    }

    all fn cudaUserObjectRetain(object: u64, count: u32) {
        with(|core| core.graphs.retain_object(object, count))
    }

    all fn cudaUserObjectRelease(object: u64, count: u32) {
        with(|core| core.graphs.release_object(object, count))
    }

    all fn cudaGraphRetainUserObject(graph: GraphHandle, object: u64, count: u32, flags: u32) {
        // 1: the caller's references become the graph's.
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| core.graphs.give_object(graph, object, count, flags == 1))
    }

    all fn cudaGraphReleaseUserObject(graph: GraphHandle, object: u64, count: u32) {
        with(|core| core.graphs.take_object(graph, object, count))
    }

    all fn cudaGraphDebugDotPrint(graph: GraphHandle, path: *const c_char, flags: u32) {
        with(|_| Ok(()))?;
        pass(cuGraphDebugDotPrint(graph, Text::at(path as u64), flags))
    }
}
