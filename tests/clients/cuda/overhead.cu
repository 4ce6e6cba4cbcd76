// SPDX-License-Identifier: MIT OR Apache-2.0
// A run long enough to see what the libraries cost: the same kernel is run from a launch file for comparison.
#include "check.h"

extern "C" __global__ void spin(unsigned *p, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = p[i];
    for (int r = 0; r < rounds; r++) {
        x = x * 1664525u + 1013904223u + p[(i + r) & 1023];
        x ^= x >> 13;
    }
    p[i + 1024] = x;
}

int main(int count, char **arguments) {
    int launches = count > 1 ? atoi(arguments[1]) : 20;
    Buffer<unsigned> p(1024 + 240 * 256);
    CHECK(cudaMemset(p.data, 0, p.count * 4));
    for (int k = 0; k < launches; k++) spin<<<240, 256>>>(p.data, 200);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(p.read()[1024] != 0);
    return 0;
}
