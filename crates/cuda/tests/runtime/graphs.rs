// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs, node by node and captured.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use warpwatt_cuda::abi::runtime::{Dim3, KernelNodeParams, MemsetParams, UpdateResult};
use warpwatt_cuda::rt::copy::cudaMemcpyAsync;
use warpwatt_cuda::rt::event::cudaDeviceSynchronize;
use warpwatt_cuda::rt::fill::cudaMemsetAsync;
use warpwatt_cuda::rt::graph::*;
use warpwatt_cuda::rt::graph_exec::*;
use warpwatt_cuda::rt::graph_nodes::*;
use warpwatt_cuda::rt::launch::cudaLaunchKernel;
use warpwatt_cuda::rt::memory::cudaFree;
use warpwatt_cuda::rt::pool::{cudaFreeAsync, cudaMallocAsync};
use warpwatt_cuda::rt::stream::*;

use crate::launches::{download, upload};
use crate::*;

const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
const FOUR: Dim3 = Dim3 { x: 4, y: 1, z: 1 };

#[test]
fn nodes_run_in_the_order_of_edges_as_often_as_launched() {
    let _turn = device();
    let (at, n) = (upload([1; 4]), 5u32);
    let mut args = [(&raw const at).cast_mut().cast::<c_void>(), (&raw const n).cast_mut().cast()];
    let (mut graph, mut exec, mut clear, mut add, mut count) = (0, 0, 0, 0, 0);
    let kernel = KernelNodeParams {
        func: host!(add),
        grid: ONE,
        block: FOUR,
        shared: 0,
        params: args.as_mut_ptr(),
        extra: null_mut(),
    };
    let zero = MemsetParams { dst: at, pitch: 16, value: 0, element: 4, width: 4, height: 1 };
    unsafe {
        assert_eq!(cudaGraphCreate(&mut graph, 0), OK);
        assert_eq!(cudaGraphAddMemsetNode(&mut clear, graph, null(), 0, &zero), OK);
        assert_eq!(cudaGraphAddKernelNode(&mut add, graph, &clear, 1, &kernel), OK);
        assert_eq!(cudaGraphAddKernelNode(&mut add, graph, &add, 1, &kernel), OK);
        assert_eq!(cudaGraphGetNodes(graph, null_mut(), &mut count), OK);
        assert_eq!(count, 3);
        let mut kind = 9;
        assert_eq!(cudaGraphNodeGetType(clear, &mut kind), OK);
        assert_eq!(kind, 2);
        let mut told: KernelNodeParams = std::mem::zeroed();
        assert_eq!(cudaGraphKernelNodeGetParams(add, &mut told), OK);
        assert_eq!(((*told.params.add(1)).cast::<u32>().read(), told.block.x), (5, 4));
        assert_eq!(cudaGraphKernelNodeGetParams(clear, &mut told), INVALID_VALUE);
        assert_eq!(cudaGraphInstantiate_12(&mut exec, graph, 0), OK);
        for _ in 0..2 {
            assert_eq!(cudaGraphLaunch(exec, 0), OK);
            assert_eq!(download(at), [20; 4], "0, then 5, then 20");
        }
        assert_eq!(cudaGraphNodeSetEnabled(exec, clear, 0), OK);
        assert_eq!(cudaGraphLaunch(exec, 0), OK);
        assert_eq!(download(at), [200; 4]);

        let mut other = 0;
        let mut result = UpdateResult { result: 9, error_node: 0, error_from: 0 };
        assert_eq!(cudaGraphCreate(&mut other, 0), OK);
        assert_eq!(cudaGraphExecUpdate_12(exec, other, &mut result), 910);
        assert_ne!(result.result, 0);
        assert_eq!(
            cudaGraphAddKernelNode(&mut add, other, &clear, 1, &kernel),
            INVALID_VALUE,
            "of another graph"
        );
        assert_eq!(cudaGraphExecDestroy(exec), OK);
        assert_eq!(cudaGraphLaunch(exec, 0), INVALID_HANDLE);
        for graph in [graph, other] {
            assert_eq!(cudaGraphDestroy(graph), OK);
        }
        assert_eq!(cudaGraphDestroy(graph), INVALID_HANDLE);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn a_captured_stream_becomes_a_graph() {
    let _turn = device();
    let (at, n) = (upload([1; 4]), 1u32);
    let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
    let (mut stream, mut graph, mut exec, mut status, mut id) = (0, 0, 0, 9, 0);
    unsafe {
        assert_eq!(cudaStreamCreate(&mut stream), OK);
        assert_eq!(cudaStreamBeginCapture(0, 0), 900, "not the legacy stream");
        assert_eq!(cudaStreamBeginCapture(stream, 0), OK);
        assert_eq!(cudaStreamGetCaptureInfo_11(stream, &mut status, &mut id), OK);
        assert_eq!(status, 1);
        assert_eq!(cudaMemsetAsync(at, 0, 16, stream), OK);
        assert_eq!(cudaLaunchKernel(host!(add), ONE, FOUR, args.as_ptr(), 0, stream), OK);
        assert_eq!(cudaStreamEndCapture(stream, &mut graph), OK);
        assert_eq!(cudaStreamIsCapturing(stream, &mut status), OK);
        assert_eq!(status, 0);
        assert_eq!(cudaDeviceSynchronize(), OK);
        assert_eq!(download(at), [1; 4], "nothing ran so far");
        assert_eq!(cudaGraphInstantiate_11(&mut exec, graph, null_mut(), null_mut(), 0), OK);
        assert_eq!(cudaGraphLaunch(exec, stream), OK);
        assert_eq!(cudaStreamSynchronize(stream), OK);
        assert_eq!(download(at), [1; 4], "0 times 3 and 1");
        // To wait for a stream that is captured ends its capture.
        assert_eq!(cudaStreamBeginCapture(stream, 0), OK);
        assert_eq!(cudaStreamSynchronize(stream), 900);
        let mut broken = 1;
        assert_eq!(cudaStreamEndCapture(stream, &mut broken), 901);
        assert_eq!(broken, 0);
        assert_eq!(cudaStreamEndCapture(stream, &mut broken), 401);
        assert_eq!(cudaGraphExecDestroy(exec), OK);
        assert_eq!(cudaGraphDestroy(graph), OK);
        assert_eq!(cudaStreamDestroy(stream), OK);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn memory_of_a_captured_stream_is_there_at_every_launch() {
    let _turn = device();
    let (kept, n) = (upload([0; 4]), 1u32);
    let (mut stream, mut graph, mut exec, mut at) = (0, 0, 0, 0u64);
    unsafe {
        assert_eq!(cudaStreamCreate(&mut stream), OK);
        assert_eq!(cudaStreamBeginCapture(stream, 0), OK);
        assert_eq!(cudaMallocAsync(&mut at, 16, stream), OK);
        assert_eq!(cudaMemsetAsync(at, 0, 16, stream), OK);
        let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
        assert_eq!(cudaLaunchKernel(host!(add), ONE, FOUR, args.as_ptr(), 0, stream), OK);
        assert_eq!(cudaMemcpyAsync(kept, at, 16, 3, stream), OK);
        assert_eq!(cudaFreeAsync(at, stream), OK);
        assert_eq!(cudaFreeAsync(at + 4, stream), INVALID_VALUE, "no memory begins there");
        assert_eq!(cudaStreamEndCapture(stream, &mut graph), OK);
        let mut nodes = 0;
        assert_eq!(cudaGraphGetNodes(graph, null_mut(), &mut nodes), OK);
        assert_eq!(nodes, 5);
        assert_eq!(cudaGraphInstantiate_11(&mut exec, graph, null_mut(), null_mut(), 0), OK);
        for _ in 0..3 {
            assert_eq!(cudaMemsetAsync(kept, 0, 16, stream), OK);
            assert_eq!(cudaGraphLaunch(exec, stream), OK);
            assert_eq!(cudaStreamSynchronize(stream), OK);
            assert_eq!(download(kept), [1; 4], "0 times 3 and 1");
        }
        assert_eq!(cudaGraphExecDestroy(exec), OK);
        assert_eq!(cudaGraphDestroy(graph), OK);
        assert_eq!(cudaStreamDestroy(stream), OK);
        assert_eq!(cudaFree(kept), OK);
    }
}
