// SPDX-License-Identifier: MIT OR Apache-2.0
// Graphs: captured from two streams, and built from nodes; launched several times, with changed arguments.
#include "check.h"

__global__ void add(int *p, int value) { p[threadIdx.x] += value; }
__global__ void multiply(int *p, int factor) { p[threadIdx.x] *= factor; }

static void CUDART_CB count(void *p) { ++*(int *)p; }

int main() {
    const int n = 64;
    Buffer<int> a(n), b(n);
    std::vector<int> host(n);
    cudaStream_t one, two;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    cudaEvent_t fork, join;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));

    // Captured: a = (0 + 3) * 5 beside b = 7, then a copied back.
    cudaGraph_t captured;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(a.data, 0, n * sizeof(int), one));
    CHECK(cudaEventRecord(fork, one));
    CHECK(cudaStreamWaitEvent(two, fork, 0));
    CHECK(cudaMemsetAsync(b.data, 0, n * sizeof(int), two));
    add<<<1, n, 0, two>>>(b.data, 7);
    CHECK(cudaEventRecord(join, two));
    add<<<1, n, 0, one>>>(a.data, 3);
    multiply<<<1, n, 0, one>>>(a.data, 5);
    CHECK(cudaStreamWaitEvent(one, join, 0));
    CHECK(cudaMemcpyAsync(host.data(), a.data, n * sizeof(int), cudaMemcpyDeviceToHost, one));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(one, &status));
    REQUIRE(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamEndCapture(one, &captured));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(captured, nullptr, &nodes));
    REQUIRE(nodes == 6, "%zu nodes", nodes);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, captured, 0));
    for (int round = 0; round < 3; round++) {
        for (int &x : host) x = -1;
        CHECK(cudaGraphLaunch(exec, one));
        CHECK(cudaStreamSynchronize(one));
        for (int x : host) REQUIRE(x == 15, "%d", x);
    }
    for (int x : b.read()) REQUIRE(x == 7, "%d", x);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(captured));

    // Built: memset, then kernel, then host function and copy.
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t clear, kernel, copy, call;
    cudaMemsetParams fill = {};
    fill.dst = a.data;
    fill.value = 2;
    fill.elementSize = 4;
    fill.width = n;
    fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
    int *pointer = a.data, value = 40, calls = 0;
    void *arguments[] = {&pointer, &value};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(n);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &clear, 1, &launch));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), a.data, n * sizeof(int), cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {count, &calls};
    CHECK(cudaGraphAddHostNode(&call, graph, &kernel, 1, &function));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    value = 1000; // arguments were taken when the node was made
    CHECK(cudaGraphLaunch(exec, one));
    CHECK(cudaStreamSynchronize(one));
    for (int x : host) REQUIRE(x == 42, "%d", x);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    CHECK(cudaGraphLaunch(exec, one));
    CHECK(cudaStreamSynchronize(one));
    for (int x : host) REQUIRE(x == 1002, "%d", x);
    REQUIRE(calls == 2, "%d", calls);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    puts("graphs: captured and built give the same every time");
    return 0;
}
