// SPDX-License-Identifier: MIT OR Apache-2.0
// Separate compilation: a kernel that calls a device function, and reads a variable, of another translation unit.
#include "check.h"

extern __device__ int shared_counter;
__device__ int twice_plus(int x);

__global__ void apply(int *p) {
    p[threadIdx.x] = twice_plus(p[threadIdx.x]);
    atomicAdd(&shared_counter, 1);
}

int main() {
    std::vector<int> host(32);
    for (int i = 0; i < 32; i++) host[i] = i;
    Buffer<int> p(host);
    apply<<<1, 32>>>(p.data);
    CHECK(cudaGetLastError());
    std::vector<int> got = p.read();
    for (int i = 0; i < 32; i++) REQUIRE(got[i] == 2 * i + 100, "%d: %d", i, got[i]);
    int counter = 0;
    CHECK(cudaMemcpyFromSymbol(&counter, shared_counter, sizeof counter));
    REQUIRE(counter == 132, "%d", counter);
    puts("rdc: linked across units");
    return 0;
}
