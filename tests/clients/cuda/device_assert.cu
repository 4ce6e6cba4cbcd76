// SPDX-License-Identifier: MIT OR Apache-2.0
// A device assertion that fails: error 710 at the next call that waits, and ever after; the message is on standard error.
#include "check.h"
#include <cassert>

__global__ void check(int limit) { assert((int)threadIdx.x < limit); }

int main() {
    check<<<1, 32>>>(32);
    CHECK(cudaDeviceSynchronize());
    check<<<1, 32>>>(31);
    EXPECT(cudaErrorAssert, cudaDeviceSynchronize());
    void *p;
    EXPECT(cudaErrorAssert, cudaMalloc(&p, 4));
    EXPECT(cudaErrorAssert, cudaGetLastError());
    EXPECT(cudaErrorAssert, cudaPeekAtLastError());
    puts("device_assert: error 710, and it stays");
    return 0;
}
