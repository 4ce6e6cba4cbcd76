// SPDX-License-Identifier: MIT OR Apache-2.0
// Two host threads that launch at once, each with a stream and errors of its own.
#include "check.h"
#include <thread>

__global__ void step(int *p) { p[threadIdx.x] += threadIdx.x; }

static void work(int rounds, bool fails, int *result) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    Buffer<int> buffer(64);
    CHECK(cudaMemsetAsync(buffer.data, 0, 256, stream));
    for (int r = 0; r < rounds; r++) {
        step<<<1, 64, 0, stream>>>(buffer.data);
        CHECK(cudaGetLastError());
        if (fails && r % 10 == 0) {
            EXPECT(cudaErrorInvalidValue, cudaMalloc(nullptr, 1));
            EXPECT(cudaErrorInvalidValue, cudaGetLastError());
        }
        if (r % 16 == 0) CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> got = buffer.read();
    for (int i = 0; i < 64; i++) REQUIRE(got[i] == rounds * i, "%d: %d", i, got[i]);
    CHECK(cudaStreamDestroy(stream));
    *result = 1;
}

int main() {
    int a = 0, b = 0;
    std::thread one(work, 100, true, &a), two(work, 80, false, &b);
    one.join();
    two.join();
    REQUIRE(a == 1 && b == 1);
    puts("threads: both got their own results");
    return 0;
}
