// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that stores for ever, to be ended from outside.
#include "check.h"

__global__ void endless(int *out, volatile int *stop) {
    while (*stop == 0) out[threadIdx.x]++;
}

int main() {
    int *out, *stop;
    CHECK(cudaMalloc(&out, 64 * sizeof(int)));
    CHECK(cudaMalloc(&stop, sizeof(int)));
    CHECK(cudaMemset(out, 0, 64 * sizeof(int)));
    CHECK(cudaMemset(stop, 0, sizeof(int)));
    endless<<<2, 32>>>(out, stop);
    printf("endless: launched\n");
    fflush(stdout);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
