// SPDX-License-Identifier: MIT OR Apache-2.0
// The other half of two_units.cu.
#include "check.h"

__constant__ static int offset = 1000;
__global__ static void shift(int *p) { p[threadIdx.x] += offset; }

void other_shift(int *p, int n) {
    shift<<<1, n>>>(p);
    CHECK(cudaGetLastError());
}

int other_offset() {
    int value = 0;
    CHECK(cudaMemcpyFromSymbol(&value, offset, sizeof value));
    return value;
}
