// SPDX-License-Identifier: MIT OR Apache-2.0
// Several streams with events: order within a stream, order across streams by events, times that make sense, and work of two
// streams that takes less time than one after the other.
#include "check.h"

__global__ void work(float *p, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = p[i];
    for (int r = 0; r < rounds; r++) x = x * 0.5f + 1.0f;
    p[i] = x;
}

__global__ void combine(const float *a, const float *b, float *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

static float between(cudaEvent_t a, cudaEvent_t b) {
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    REQUIRE(ms > 0, "%g ms", ms);
    return ms;
}

int main() {
    const int n = 64, rounds = 300;
    const int bytes = n * sizeof(float);
    cudaStream_t first, second;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    int low = 0, high = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    cudaStream_t urgent;
    CHECK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, high));
    cudaEvent_t start, middle, done, other, unrecorded;
    for (cudaEvent_t *e : {&start, &middle, &done, &other, &unrecorded}) CHECK(cudaEventCreate(e));

    float *a, *b, *c, *host;
    CHECK(cudaMalloc((void **)&a, bytes));
    CHECK(cudaMalloc((void **)&b, bytes));
    CHECK(cudaMalloc((void **)&c, bytes));
    CHECK(cudaMallocHost((void **)&host, 3 * bytes));
    for (int i = 0; i < n; i++) host[i] = (float)i, host[n + i] = (float)-i, host[2 * n + i] = 0;

    CHECK(cudaEventRecord(start, first));
    CHECK(cudaMemcpyAsync(a, host, bytes, cudaMemcpyHostToDevice, first));
    work<<<1, n, 0, first>>>(a, rounds);
    CHECK(cudaEventRecord(middle, first));
    CHECK(cudaMemcpyAsync(b, host + n, bytes, cudaMemcpyHostToDevice, second));
    work<<<1, n, 0, second>>>(b, rounds);
    CHECK(cudaEventRecord(other, second));
    // The sum must see both, and so must the copy back.
    CHECK(cudaStreamWaitEvent(first, other, 0));
    combine<<<1, n, 0, first>>>(a, b, c);
    CHECK(cudaMemcpyAsync(host + 2 * n, c, bytes, cudaMemcpyDeviceToHost, first));
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamQuery(first));

    for (int i = 0; i < n; i++) {
        float x = (float)i, y = (float)-i;
        for (int r = 0; r < rounds; r++) x = x * 0.5f + 1.0f, y = y * 0.5f + 1.0f;
        REQUIRE(host[2 * n + i] == x + y, "sum %d is %g", i, host[2 * n + i]);
    }
    REQUIRE(between(start, middle) < between(start, done));
    float unused;
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&unused, start, unrecorded));
    EXPECT(cudaErrorInvalidResourceHandle, cudaGetLastError());

    // One stream after the other, then both at once: the blocks fit beside each other, so it takes less.
    CHECK(cudaEventRecord(start, first));
    for (int k = 0; k < 4; k++) work<<<1, n, 0, first>>>(k & 1 ? a : b, rounds);
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaDeviceSynchronize());
    float serial = between(start, done);
    CHECK(cudaEventRecord(start, first));
    CHECK(cudaStreamWaitEvent(second, start, 0));
    for (int k = 0; k < 2; k++) {
        work<<<1, n, 0, first>>>(a, rounds);
        work<<<1, n, 0, second>>>(b, rounds);
    }
    CHECK(cudaEventRecord(other, second));
    CHECK(cudaStreamWaitEvent(first, other, 0));
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaDeviceSynchronize());
    float both = between(start, done);
    printf("streams: sums are right; four kernels in one stream and in two: %s\n",
           both < 0.8f * serial ? "overlapped" : "one after the other");

    for (cudaEvent_t e : {start, middle, done, other, unrecorded}) CHECK(cudaEventDestroy(e));
    for (cudaStream_t s : {first, second, urgent}) CHECK(cudaStreamDestroy(s));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    return 0;
}
