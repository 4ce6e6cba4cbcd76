// SPDX-License-Identifier: MIT OR Apache-2.0
// Loops of the host that wait for the device: a search that reads back a flag after every level, a poll of an event, a poll of a
// stream, and one that only watches a word of pinned memory.
#include "check.h"

__global__ void level(const int *first, const int *next, int *depth, int current, int *changed, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || depth[v] != current) return;
    for (int e = first[v]; e < first[v + 1]; e++)
        if (depth[next[e]] < 0) {
            depth[next[e]] = current + 1;
            *changed = 1;
        }
}

__global__ void tell(volatile int *flag, int value) {
    __threadfence_system();
    *flag = value;
}

int main() {
    // Breadth-first search in a ring with chords.
    const int n = 500;
    std::vector<int> first(n + 1), next, depth(n, -1), want(n, -1);
    for (int v = 0; v < n; v++) {
        first[v] = (int)next.size();
        next.push_back((v + 1) % n);
        next.push_back((v * 7 + 3) % n);
    }
    first[n] = (int)next.size();
    depth[0] = want[0] = 0;
    std::vector<int> queue = {0};
    for (size_t q = 0; q < queue.size(); q++)
        for (int e = first[queue[q]]; e < first[queue[q] + 1]; e++)
            if (want[next[e]] < 0) want[next[e]] = want[queue[q]] + 1, queue.push_back(next[e]);
    Buffer<int> df(first), dn(next), dd(depth), dc(1);
    int changed = 1, levels = 0;
    for (; changed; levels++) {
        changed = 0;
        CHECK(cudaMemcpy(dc.data, &changed, sizeof changed, cudaMemcpyHostToDevice));
        level<<<(n + 127) / 128, 128>>>(df.data, dn.data, dd.data, levels, dc.data, n);
        CHECK(cudaMemcpy(&changed, dc.data, sizeof changed, cudaMemcpyDeviceToHost));
        REQUIRE(levels <= n, "no end");
    }
    REQUIRE(dd.read() == want);

    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    level<<<(n + 127) / 128, 128>>>(df.data, dn.data, dd.data, 0, dc.data, n);
    CHECK(cudaEventRecord(event));
    cudaError_t state;
    while ((state = cudaEventQuery(event)) == cudaErrorNotReady) {
    }
    CHECK(state);
    level<<<(n + 127) / 128, 128>>>(df.data, dn.data, dd.data, 0, dc.data, n);
    while ((state = cudaStreamQuery(0)) == cudaErrorNotReady) {
    }
    CHECK(state);

    // No call at all: the device has to get going by itself.
    volatile int *flag;
    CHECK(cudaMallocHost((void **)&flag, sizeof(int)));
    *flag = 0;
    tell<<<1, 1>>>((int *)flag, 7);
    while (*flag != 7) {
    }
    CHECK(cudaEventDestroy(event));
    CHECK(cudaFreeHost((void *)flag));
    printf("host_loops: %d levels, all loops ended\n", levels);
    return 0;
}
