// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocation in stream order, memory pools, and functions of the host in a stream.
#include "check.h"
#include <string>

__global__ void fill(int *p, int value) { p[threadIdx.x] = value + threadIdx.x; }

static std::string order;
static void CUDART_CB note(void *p) { order += (const char *)p; }
static void CUDART_CB old_style(cudaStream_t, cudaError_t status, void *p) { order += status == cudaSuccess ? (const char *)p : "?"; }

int main() {
    int supported = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    REQUIRE(supported);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    std::vector<int> host(32);
    for (int round = 0; round < 3; round++) {
        int *p;
        CHECK(cudaMallocAsync((void **)&p, 32 * sizeof(int), stream));
        CHECK(cudaLaunchHostFunc(stream, note, (void *)"a"));
        fill<<<1, 32, 0, stream>>>(p, round);
        CHECK(cudaMemcpyAsync(host.data(), p, 32 * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamAddCallback(stream, old_style, (void *)"b", 0));
        CHECK(cudaFreeAsync(p, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < 32; i++) REQUIRE(host[i] == round + i, "%d: %d", i, host[i]);
    }
    REQUIRE(order == "ababab", "%s", order.c_str());

    cudaMemPool_t standard, own;
    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
    unsigned long long threshold = 1 << 20, got = 0;
    CHECK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &got));
    REQUIRE(got == threshold, "%llu", got);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &properties));
    int *q;
    CHECK(cudaMallocFromPoolAsync((void **)&q, 128, own, stream));
    fill<<<1, 32, 0, stream>>>(q, 9);
    CHECK(cudaMemcpyAsync(host.data(), q, 128, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(q, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(host[31] == 40, "%d", host[31]);
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaStreamDestroy(stream));
    puts("pools: all values are right");
    return 0;
}
