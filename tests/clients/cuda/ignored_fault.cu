// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that writes beyond its array, in a program that asks nobody whether it went well.
#include "check.h"

__global__ void store(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = i;
}

int main() {
    int *out;
    CHECK(cudaMalloc(&out, 64 * sizeof(int)));
    store<<<1, 128>>>(out, 64);
    cudaDeviceSynchronize();
    printf("ignored_fault: done\n");
    return 0;
}
