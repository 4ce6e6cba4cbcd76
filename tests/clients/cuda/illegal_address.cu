// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that writes past the end of its memory: error 700 at the next call that waits, for every call after it, until the
// device is reset.
#include "check.h"

__global__ void store(int *p, int n) { p[n + threadIdx.x] = 1; }

int main() {
    int *p;
    CHECK(cudaMalloc((void **)&p, 100 * sizeof(int)));
    store<<<1, 32>>>(p, 0);
    CHECK(cudaDeviceSynchronize());
    store<<<1, 32>>>(p, 100);
    CHECK(cudaGetLastError()); // nothing is known yet
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    int word;
    EXPECT(cudaErrorIllegalAddress, cudaMemcpy(&word, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    store<<<1, 32>>>(p, 0);
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    cudaDeviceReset();
    CHECK(cudaMalloc((void **)&p, 100 * sizeof(int)));
    store<<<1, 32>>>(p, 0);
    CHECK(cudaDeviceSynchronize());
    puts("illegal_address: error 700 until the reset");
    return 0;
}
