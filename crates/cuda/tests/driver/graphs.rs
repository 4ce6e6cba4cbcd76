// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs, made node by node and captured.

use std::sync::atomic::{AtomicU32, Ordering};

use warpwatt_cuda::abi::driver::{HostNode, KernelNode, Memcpy3d, MemsetNode, NodeParams, UpdateInfo};
use warpwatt_cuda::driver::context::cuCtxSynchronize;
use warpwatt_cuda::driver::event::*;
use warpwatt_cuda::driver::fill::cuMemsetD32Async;
use warpwatt_cuda::driver::graph::*;
use warpwatt_cuda::driver::graph_exec::*;
use warpwatt_cuda::driver::graph_nodes::*;
use warpwatt_cuda::driver::pool::{cuMemAllocAsync, cuMemFreeAsync};
use warpwatt_cuda::driver::stream::*;
use warpwatt_cuda::driver::{In, Out};

use crate::setup::*;

static CALLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn call(argument: u64) {
    CALLED.fetch_add(argument as u32, Ordering::SeqCst);
}

fn graph() -> u64 {
    let mut graph = 0;
    ok(cuGraphCreate(Out::from(&mut graph), 0));
    graph
}

fn kernel(graph: u64, after: &[u64], function: u64, at: u64, factor: u64) -> u64 {
    let arguments = Arguments::new(&[at, 4, factor]);
    let params = KernelNode {
        function,
        grid: [1; 3],
        block: [4, 1, 1],
        params: arguments.list().address(),
        ..KernelNode::default()
    };
    let mut node = 0;
    ok(cuGraphAddKernelNode_v2(
        Out::from(&mut node),
        graph,
        In::first(after),
        after.len(),
        In::from(&params),
    ));
    node
}

fn memset(graph: u64, after: &[u64], at: u64, value: u32) -> u64 {
    let params = MemsetNode { dst: at, pitch: 0, value, element: 4, width: 4, height: 1 };
    let mut node = 0;
    ok(cuGraphAddMemsetNode(
        Out::from(&mut node),
        graph,
        In::first(after),
        after.len(),
        In::from(&params),
        0,
    ));
    node
}

fn instantiate(graph: u64) -> u64 {
    let mut exec = 0;
    ok(cuGraphInstantiateWithFlags(Out::from(&mut exec), graph, 0));
    exec
}

fn run(exec: u64) {
    ok(cuGraphLaunch(exec, 0));
    ok(cuCtxSynchronize());
}

#[test]
fn nodes_run_in_the_order_of_their_edges_as_often_as_wanted() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let (a, b, out) = (buffer(&[9; 4]), buffer(&[9; 4]), buffer(&[9; 4]));
    let graph = graph();
    let fill_a = memset(graph, &[], a, 1);
    let fill_b = memset(graph, &[], b, 2);
    let on_a = kernel(graph, &[fill_a], scale, a, 10);
    let on_b = kernel(graph, &[fill_b], scale, b, 100);
    let copy = Memcpy3d {
        src_type: 2,
        src_device: b,
        dst_type: 2,
        dst_device: out,
        width: 16,
        height: 1,
        depth: 1,
        ..Memcpy3d::default()
    };
    let (mut copied, mut called) = (0, 0);
    let after = [on_a, on_b];
    ok(cuGraphAddMemcpyNode(Out::from(&mut copied), graph, In::first(&after), 2, In::from(&copy), 0));
    let host = HostNode { function: call as *const () as u64, user_data: 3 };
    ok(cuGraphAddHostNode(Out::from(&mut called), graph, In::from(&copied), 1, In::from(&host)));

    let (mut count, mut kind) = (0, 0);
    ok(cuGraphGetNodes(graph, Out::NULL, Out::from(&mut count)));
    assert_eq!(count, 6);
    ok(cuGraphGetRootNodes(graph, Out::NULL, Out::from(&mut count)));
    assert_eq!(count, 2);
    ok(cuGraphGetEdges_v2(graph, Out::NULL, Out::NULL, Out::NULL, Out::from(&mut count)));
    assert_eq!(count, 5);
    ok(cuGraphNodeGetType(copied, Out::from(&mut kind)));
    assert_eq!(kind, 1);
    let mut list = [7; 4];
    count = 4;
    ok(cuGraphNodeGetDependencies(copied, Out::from(&mut list[0]), Out::from(&mut count)));
    assert_eq!((count, list), (2, [on_a, on_b, 0, 0]));

    let exec = instantiate(graph);
    run(exec);
    run(exec);
    assert_eq!(CALLED.load(Ordering::SeqCst), 6);
    assert_eq!(read(a, 4), [10, 11, 12, 13]);
    assert_eq!(read(out, 4), [200, 201, 202, 203]);

    // Another factor, in the executable graph alone.
    let arguments = Arguments::new(&[b, 4, 7]);
    let mut params = KernelNode::default();
    ok(cuGraphKernelNodeGetParams_v2(on_b, Out::from(&mut params)));
    assert_eq!((params.function, params.block), (scale, [4, 1, 1]));
    assert_eq!(In::<u64>::at(params.params).get().map(In::<u64>::at).unwrap().get(), Ok(b));
    params.params = arguments.list().address();
    ok(cuGraphExecKernelNodeSetParams_v2(exec, on_b, In::from(&params)));
    run(exec);
    assert_eq!(read(out, 4), [14, 15, 16, 17]);
    ok(cuGraphNodeSetEnabled(exec, on_b, 0));
    run(exec);
    assert_eq!(read(out, 4), [2; 4]);
    ok(cuGraphExecDestroy(exec));
    assert_eq!(cuGraphLaunch(exec, 0), INVALID_HANDLE);
    ok(cuGraphDestroy(graph));
    assert_eq!(cuGraphDestroy(graph), INVALID_HANDLE);
    assert_eq!(cuGraphNodeGetType(copied, Out::from(&mut kind)), INVALID_HANDLE);
}

#[test]
fn a_graph_that_waits_for_itself_is_refused() {
    let _turn = ready();
    let at = buffer(&[0; 4]);
    let graph = graph();
    let first = memset(graph, &[], at, 1);
    let second = memset(graph, &[first], at, 2);
    ok(cuGraphAddDependencies(graph, In::from(&second), In::from(&first), 1));
    let mut exec = 0;
    assert_eq!(cuGraphInstantiateWithFlags(Out::from(&mut exec), graph, 0), INVALID_VALUE);
    ok(cuGraphRemoveDependencies(graph, In::from(&second), In::from(&first), 1));
    assert_eq!(cuGraphRemoveDependencies(graph, In::from(&second), In::from(&first), 1), INVALID_VALUE);
    assert_eq!(cuGraphAddDependencies(graph, In::from(&first), In::from(&12), 1), INVALID_VALUE);
    assert_eq!(cuGraphInstantiateWithFlags(Out::from(&mut exec), 5, 0), INVALID_HANDLE);
    run(instantiate(graph));
    assert_eq!(read(at, 4), [2; 4]);
    ok(cuGraphDestroyNode(second));
    run(instantiate(graph));
    assert_eq!(read(at, 4), [1; 4]);
}

#[test]
fn children_and_clones_are_copies() {
    let _turn = ready();
    let (a, b) = (buffer(&[0; 4]), buffer(&[0; 4]));
    let inner = graph();
    let inside = memset(inner, &[], a, 5);
    let outer = graph();
    let (mut child, mut clone, mut twin) = (0, 0, 0);
    ok(cuGraphAddChildGraphNode(Out::from(&mut child), outer, In::NULL, 0, inner));
    let scale = function(module(), c"scale");
    kernel(outer, &[child], scale, a, 3);
    ok(cuGraphClone(Out::from(&mut clone), inner));
    ok(cuGraphNodeFindInClone(Out::from(&mut twin), inside, clone));
    // Changes of the original change neither.
    let params = MemsetNode { dst: b, pitch: 0, value: 6, element: 4, width: 4, height: 1 };
    ok(cuGraphMemsetNodeSetParams(inside, In::from(&params)));
    let mut kept = MemsetNode::default();
    ok(cuGraphMemsetNodeGetParams(twin, Out::from(&mut kept)));
    assert_eq!((kept.dst, kept.value), (a, 5));
    let exec = instantiate(outer);
    ok(cuGraphDestroy(outer));
    run(exec);
    assert_eq!((read(a, 4), read(b, 4)), (vec![15, 16, 17, 18], vec![0; 4]));
    ok(cuGraphExecChildGraphNodeSetParams(exec, child, inner));
    run(exec);
    assert_eq!(read(b, 4), [6; 4]);
}

#[test]
fn streams_are_captured_with_those_that_join_them() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let (mut main, mut side, mut fork, mut join) = (0, 0, 0, 0);
    ok(cuStreamCreate(Out::from(&mut main), 1));
    ok(cuStreamCreate(Out::from(&mut side), 1));
    ok(cuEventCreate(Out::from(&mut fork), 2));
    ok(cuEventCreate(Out::from(&mut join), 2));
    let (a, b) = (buffer(&[7; 4]), buffer(&[7; 4]));
    ok(cuStreamBeginCapture_v2(main, 0));
    ok(cuMemsetD32Async(a, 1, 4, main));
    ok(cuEventRecord(fork, main));
    ok(cuStreamWaitEvent(side, fork, 0));
    ok(cuMemsetD32Async(b, 2, 4, side));
    ok(launch(scale, 1, 4, side, &Arguments::new(&[b, 4, 4])));
    ok(launch(scale, 1, 4, main, &Arguments::new(&[a, 4, 5])));
    let mut status = 0;
    ok(cuStreamIsCapturing(side, Out::from(&mut status)));
    assert_eq!(status, 1);
    assert_eq!(cuEventQuery(fork), 907, "an event of a capture");
    ok(cuEventRecord(join, side));
    ok(cuStreamWaitEvent(main, join, 0));
    let (mut graph, mut count) = (0, 0);
    assert_eq!(read(a, 4), [7; 4], "nothing ran yet");
    ok(cuStreamEndCapture(main, Out::from(&mut graph)));
    ok(cuStreamIsCapturing(side, Out::from(&mut status)));
    assert_eq!(status, 0);
    ok(cuGraphGetNodes(graph, Out::NULL, Out::from(&mut count)));
    assert_eq!(count, 4);
    let exec = instantiate(graph);
    ok(cuGraphLaunch(exec, main));
    ok(cuStreamSynchronize(main));
    assert_eq!((read(a, 4), read(b, 4)), (vec![5, 6, 7, 8], vec![8, 9, 10, 11]));
    assert_eq!(cuStreamEndCapture(main, Out::from(&mut graph)), 401, "not captured");
}

#[test]
fn a_joined_stream_may_be_destroyed_during_the_capture() {
    let _turn = ready();
    for join in [true, false] {
        let (mut main, mut side, mut graph, mut fork, mut back) = (0, 0, 0, 0, 0);
        ok(cuStreamCreate(Out::from(&mut main), 1));
        ok(cuStreamCreate(Out::from(&mut side), 1));
        ok(cuEventCreate(Out::from(&mut fork), 2));
        ok(cuEventCreate(Out::from(&mut back), 2));
        let at = buffer(&[1; 4]);
        let scale = function(module(), c"scale");
        ok(cuStreamBeginCapture_v2(main, 0));
        ok(cuEventRecord(fork, main));
        ok(cuStreamWaitEvent(side, fork, 0));
        ok(launch(scale, 1, 4, side, &Arguments::new(&[at, 4, 5])));
        ok(cuEventRecord(back, side));
        if join {
            ok(cuStreamWaitEvent(main, back, 0));
        }
        ok(cuStreamDestroy_v2(side));
        let code = cuStreamEndCapture(main, Out::from(&mut graph));
        assert_eq!(code, if join { 0 } else { 904 }, "joined: {join}");
        ok(cuStreamDestroy_v2(main));
    }
}

#[test]
fn captures_that_cannot_be_are_refused() {
    let _turn = ready();
    let (mut main, mut side, mut event, mut graph) = (0, 0, 0, 0);
    ok(cuStreamCreate(Out::from(&mut main), 1));
    ok(cuStreamCreate(Out::from(&mut side), 1));
    ok(cuEventCreate(Out::from(&mut event), 0));
    let at = buffer(&[7; 4]);
    assert_eq!(cuStreamBeginCapture_v2(0, 0), 900, "the legacy stream");
    assert_eq!(cuStreamBeginCapture_v2(main, 7), INVALID_VALUE);
    // A stream that never comes back.
    ok(cuStreamBeginCapture_v2(main, 0));
    assert_eq!(cuStreamBeginCapture_v2(main, 0), 401);
    ok(cuEventRecord(event, main));
    ok(cuStreamWaitEvent(side, event, 0));
    ok(cuMemsetD32Async(at, 1, 4, side));
    assert_eq!(cuStreamEndCapture(main, Out::from(&mut graph)), 904);
    assert_eq!(graph, 0);
    // Waiting for what is only being written down.
    ok(cuStreamBeginCapture_v2(main, 0));
    assert_eq!(cuCtxSynchronize(), 900);
    assert_eq!(cuStreamSynchronize(main), 900);
    let mut status = 0;
    ok(cuStreamIsCapturing(main, Out::from(&mut status)));
    assert_eq!(status, 2);
    assert_eq!(cuMemsetD32Async(at, 1, 4, main), 901);
    assert_eq!(cuStreamEndCapture(main, Out::from(&mut graph)), 901);
    // An event from outside.
    ok(cuEventRecord(event, side));
    ok(cuStreamBeginCapture_v2(main, 0));
    assert_eq!(cuStreamWaitEvent(main, event, 0), 905);
    assert_eq!(cuStreamEndCapture(main, Out::from(&mut graph)), 901);
    assert_eq!(read(at, 4), [7; 4]);
    // A stream that ends takes its capture along.
    ok(cuStreamBeginCapture_v2(main, 0));
    ok(cuMemsetD32Async(at, 1, 4, main));
    ok(cuStreamDestroy_v2(main));
    ok(cuCtxSynchronize());
    assert_eq!(read(at, 4), [7; 4]);
}

#[test]
fn memory_of_a_capture_lives_as_long_as_its_graph() {
    let _turn = ready();
    let (mut stream, mut at, mut graph) = (0, 0, 0);
    ok(cuStreamCreate(Out::from(&mut stream), 1));
    let out = buffer(&[0; 4]);
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(cuMemAllocAsync(Out::from(&mut at), 16, stream));
    ok(cuMemsetD32Async(at, 11, 4, stream));
    ok(warpwatt_cuda::driver::copy::cuMemcpyDtoDAsync_v2(out, at, 16, stream));
    ok(cuMemFreeAsync(at, stream));
    ok(cuStreamEndCapture(stream, Out::from(&mut graph)));
    let exec = instantiate(graph);
    ok(cuGraphDestroy(graph));
    run(exec);
    run(exec);
    assert_eq!(read(out, 4), [11; 4]);
    ok(cuGraphExecDestroy(exec));
    let mut base = 0;
    assert_eq!(
        warpwatt_cuda::driver::memory::cuMemGetAddressRange_v2(Out::from(&mut base), Out::NULL, at),
        NOT_FOUND
    );
}

#[test]
fn an_executable_graph_takes_over_another_of_the_same_form() {
    let _turn = ready();
    let at = buffer(&[0; 4]);
    let (first, second, third) = (graph(), graph(), graph());
    memset(first, &[], at, 1);
    memset(second, &[], at, 2);
    let exec = instantiate(first);
    let mut info = UpdateInfo::default();
    ok(cuGraphExecUpdate_v2(exec, second, Out::from(&mut info)));
    run(exec);
    assert_eq!(read(at, 4), [2; 4]);
    assert_eq!(cuGraphExecUpdate_v2(exec, third, Out::from(&mut info)), 910);
    assert_eq!(info.result, 2);
    let mut node = 0;
    ok(cuGraphAddEmptyNode(Out::from(&mut node), third, In::NULL, 0));
    assert_eq!(cuGraphExecUpdate_v2(exec, third, Out::from(&mut info)), 910);
    assert_eq!((info.result, info.error_node), (3, node));
}

#[test]
fn nodes_are_described_by_one_structure_too() {
    let _turn = ready();
    let at = buffer(&[0; 4]);
    let graph = graph();
    let mut params = NodeParams { kind: 2, reserved: [0; 3], body: [0; 29], reserved2: 0 };
    params.body[..5].copy_from_slice(&[at, 0, 8 | 4 << 32, 4, 1]);
    let mut node = 0;
    ok(cuGraphAddNode_v2(Out::from(&mut node), graph, In::NULL, In::NULL, 0, Out::from(&mut params)));
    let mut back = NodeParams { kind: 99, reserved: [1; 3], body: [1; 29], reserved2: 1 };
    ok(cuGraphNodeGetParams(node, Out::from(&mut back)));
    assert_eq!((back.kind, back.body[0], back.body[2]), (2, at, 8 | 4 << 32));
    run(instantiate(graph));
    assert_eq!(read(at, 4), [8; 4]);
    params.kind = 13;
    assert_eq!(
        cuGraphAddNode_v2(Out::from(&mut node), graph, In::NULL, In::NULL, 0, Out::from(&mut params)),
        NOT_SUPPORTED
    );
    assert_eq!(
        cuGraphAddNode_v2(Out::NULL, graph, In::NULL, In::NULL, 0, Out::from(&mut params)),
        INVALID_VALUE
    );
    assert_eq!(
        cuGraphAddNode_v2(Out::from(&mut node), graph, In::NULL, In::NULL, 0, Out::NULL),
        INVALID_VALUE
    );
}

#[test]
fn user_objects_end_with_their_last_reference() {
    let _turn = ready();
    static ENDED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn end(argument: u64) {
        ENDED.fetch_add(argument as u32, Ordering::SeqCst);
    }
    let graph = graph();
    let mut object = 0;
    let function = end as *const () as u64;
    ok(cuUserObjectCreate(Out::from(&mut object), 4, function, 1, 1));
    ok(cuGraphRetainUserObject(graph, object, 1, 0));
    ok(cuUserObjectRelease(object, 1));
    assert_eq!(ENDED.load(Ordering::SeqCst), 0);
    ok(cuGraphDestroy(graph));
    assert_eq!(ENDED.load(Ordering::SeqCst), 4);
    assert_eq!(cuUserObjectRelease(object, 1), INVALID_HANDLE);
    assert_eq!(cuUserObjectCreate(Out::from(&mut object), 4, 0, 1, 1), INVALID_VALUE);
}
