// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs: their making, their form, and what lives with them. Nodes are in `graph_nodes`, execution is in `graph_exec`.

use std::fmt::Write;

use crate::core::graph::Graphs;
use crate::core::{Code, Result};
use crate::driver::entry::check_initialized;
use crate::driver::{In, Out, Text, api};

/// Something with the graphs; no context is needed.
fn graphs<R>(call: impl FnOnce(&mut Graphs) -> Result<R>) -> Result<R> {
    check_initialized()?;
    crate::core::with(|core| call(&mut core.graphs))
}

/// Answers with a list: only its length, if there is no room; otherwise as much as fits, with zeros behind it.
fn put_list(items: &[u64], list: Out<u64>, count: Out<usize>) -> Result<()> {
    if list.is_null() {
        return count.put(items.len());
    }
    let room = count.get()?;
    let padded = items.iter().copied().chain(std::iter::repeat(0)).take(room);
    list.put_all(padded)?;
    count.put(items.len().min(room))
}

fn edges(graph: u64, from: Out<u64>, to: Out<u64>, data: Out<u64>, count: Out<usize>) -> Result<()> {
    let edges = graphs(|graphs| graphs.edges(graph))?;
    if from.is_null() != to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    if from.is_null() {
        return count.put(edges.len());
    }
    let room = count.get()?;
    let (starts, ends): (Vec<u64>, Vec<u64>) = edges.into_iter().unzip();
    let mut taken = room;
    put_list(&starts, from, Out::from(&mut taken))?;
    let mut taken = room;
    put_list(&ends, to, Out::from(&mut taken))?;
    if !data.is_null() {
        // Plain edges: whole nodes after whole nodes.
        data.put_all(std::iter::repeat_n(0, taken))?;
    }
    count.put(taken)
}

fn neighbours(found: Result<Vec<u64>>, list: Out<u64>, data: Out<u64>, count: Out<usize>) -> Result<()> {
    let found = found?;
    put_list(&found, list, count)?;
    if !list.is_null() && !data.is_null() {
        data.put_all(std::iter::repeat_n(0, count.get()?))?;
    }
    Ok(())
}

fn pairs(from: In<u64>, to: In<u64>, data: In<u64>, count: usize) -> Result<Vec<(u64, u64)>> {
    if !data.is_null() && data.list(count)?.iter().any(|&data| data != 0) {
        // Edges between parts of kernels.
        return Err(Code::NOT_SUPPORTED);
    }
    Ok(from.list(count)?.into_iter().zip(to.list(count)?).collect())
}

fn kind_name(kind: u32) -> &'static str {
    match kind {
        0 => "kernel",
        1 => "copy",
        2 => "fill",
        3 => "host function",
        4 => "graph",
        6 => "wait",
        7 => "record",
        10 => "alloc",
        11 => "free",
        _ => "empty",
    }
}

/// The graph in the language of Graphviz.
fn dot(graphs: &Graphs, graph: u64) -> Result<String> {
    let mut text = "digraph graph_ {\n".to_owned();
    let number = |node: u64| graphs.nodes.get(node).map(|node| node.number);
    for &node in &graphs.graphs.get(graph)?.nodes {
        let of = graphs.nodes.get(node)?;
        let _ = writeln!(text, "  n{} [label=\"{} {}\"];", of.number, of.number, kind_name(of.work.kind()));
    }
    for (from, to) in graphs.edges(graph)? {
        let _ = writeln!(text, "  n{} -> n{};", number(from)?, number(to)?);
    }
    text.push_str("}\n");
    Ok(text)
}

api! {
    fn cuGraphCreate(graph: Out<u64>, flags: u32) {
        graph.check()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        graph.put(graphs(|graphs| Ok(graphs.create()))?)
    }

    fn cuGraphDestroy(graph: u64) {
        check_initialized()?;
        crate::core::with(|core| {
            if core.graphs.graphs.get(graph)?.parent.is_some() {
                // A child graph belongs to its node.
                return Err(Code::INVALID_VALUE);
            }
            core.destroy_graph(graph)
        })
    }

    fn cuGraphClone(clone: Out<u64>, graph: u64) {
        clone.check()?;
        clone.put(graphs(|graphs| graphs.clone_graph(graph))?)
    }

    fn cuGraphNodeFindInClone(node: Out<u64>, original: u64, clone: u64) {
        node.check()?;
        node.put(graphs(|graphs| graphs.find_in_clone(original, clone))?)
    }

    fn cuGraphNodeGetType(node: u64, kind: Out<u32>) {
        kind.check()?;
        kind.put(graphs(|graphs| Ok(graphs.nodes.get(node)?.work.kind()))?)
    }

    fn cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        count.check()?;
        put_list(&graphs(|graphs| Ok(graphs.graphs.get(graph)?.nodes.clone()))?, nodes, count)
    }

    fn cuGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        count.check()?;
        put_list(&graphs(|graphs| graphs.roots(graph))?, nodes, count)
    }

    fn cuGraphGetEdges(graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>) {
        count.check()?;
        edges(graph, from, to, Out::NULL, count)
    }

    fn cuGraphGetEdges_v2(graph: u64, from: Out<u64>, to: Out<u64>, data: Out<u64>, count: Out<usize>) {
        count.check()?;
        edges(graph, from, to, data, count)
    }

    fn cuGraphNodeGetDependencies(node: u64, list: Out<u64>, count: Out<usize>) {
        count.check()?;
        neighbours(graphs(|graphs| Ok(graphs.nodes.get(node)?.after.clone())), list, Out::NULL, count)
    }

    fn cuGraphNodeGetDependencies_v2(node: u64, list: Out<u64>, data: Out<u64>, count: Out<usize>) {
        count.check()?;
        neighbours(graphs(|graphs| Ok(graphs.nodes.get(node)?.after.clone())), list, data, count)
    }

    fn cuGraphNodeGetDependentNodes(node: u64, list: Out<u64>, count: Out<usize>) {
        count.check()?;
        neighbours(graphs(|graphs| graphs.dependents(node)), list, Out::NULL, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(node: u64, list: Out<u64>, data: Out<u64>, count: Out<usize>) {
        count.check()?;
        neighbours(graphs(|graphs| graphs.dependents(node)), list, data, count)
    }

    fn cuGraphAddDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) {
        let pairs = pairs(from, to, In::NULL, count)?;
        graphs(|graphs| graphs.add_edges(graph, &pairs))
    }

    fn cuGraphAddDependencies_v2(graph: u64, from: In<u64>, to: In<u64>, data: In<u64>, count: usize) {
        let pairs = pairs(from, to, data, count)?;
        graphs(|graphs| graphs.add_edges(graph, &pairs))
    }

    fn cuGraphRemoveDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) {
        let pairs = pairs(from, to, In::NULL, count)?;
        graphs(|graphs| graphs.remove_edges(graph, &pairs))
    }

    fn cuGraphRemoveDependencies_v2(graph: u64, from: In<u64>, to: In<u64>, data: In<u64>, count: usize) {
        let pairs = pairs(from, to, data, count)?;
        graphs(|graphs| graphs.remove_edges(graph, &pairs))
    }

    fn cuGraphDestroyNode(node: u64) {
        check_initialized()?;
        crate::core::with(|core| core.destroy_node(node))
    }

    fn cuGraphNodeGetContainingGraph(node: u64, graph: Out<u64>) {
        graph.check()?;
        graph.put(graphs(|graphs| Ok(graphs.nodes.get(node)?.graph))?)
    }

    fn cuGraphNodeGetLocalId(node: u64, number: Out<u32>) {
        number.check()?;
        number.put(graphs(|graphs| Ok(graphs.nodes.get(node)?.number))?)
    }

    fn cuGraphNodeGetToolsId(node: u64, number: Out<u64>) {
        number.check()?;
        graphs(|graphs| graphs.nodes.get(node).map(|_| ()))?;
        // Handles are given once.
        number.put(node)
    }

    fn cuGraphGetId(graph: u64, number: Out<u32>) {
        number.check()?;
        graphs(|graphs| graphs.graphs.get(graph).map(|_| ()))?;
        number.put(graph as u32)
    }

    fn cuGraphDebugDotPrint(graph: u64, path: Text, _flags: u32) {
        let path = path.path()?;
        let text = graphs(|graphs| dot(graphs, graph))?;
        std::fs::write(path, text).map_err(|_| Code::OPERATING_SYSTEM)
    }

    fn cuUserObjectCreate(object: Out<u64>, pointer: u64, destroy: u64, count: u32, flags: u32) {
        object.check()?;
        // The one flag there is must be given: the function is not called in order with anything.
        if destroy == 0 || count == 0 || count > i32::MAX as u32 || flags != 1 {
            return Err(Code::INVALID_VALUE);
        }
        object.put(graphs(|graphs| Ok(graphs.create_object(pointer, destroy, count)))?)
    }

    fn cuUserObjectRetain(object: u64, count: u32) {
        graphs(|graphs| graphs.retain_object(object, count))
    }

    fn cuUserObjectRelease(object: u64, count: u32) {
        graphs(|graphs| graphs.release_object(object, count))
    }

    fn cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32) {
        if flags > 1 || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        graphs(|graphs| graphs.give_object(graph, object, count, flags == 1))
    }

    fn cuGraphReleaseUserObject(graph: u64, object: u64, count: u32) {
        graphs(|graphs| graphs.take_object(graph, object, count))
    }
}
