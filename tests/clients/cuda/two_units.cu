// SPDX-License-Identifier: MIT OR Apache-2.0
// Two translation units with kernels, constants and static names of their own, of which some are spelled the same.
#include "check.h"

__constant__ static int offset = 10;
__global__ static void shift(int *p) { p[threadIdx.x] += offset; }

void other_shift(int *p, int n);
int other_offset();

int main() {
    std::vector<int> host(64);
    for (int i = 0; i < 64; i++) host[i] = i;
    Buffer<int> device(host);
    shift<<<1, 64>>>(device.data);
    CHECK(cudaGetLastError());
    other_shift(device.data, 64);
    std::vector<int> out = device.read();
    for (int i = 0; i < 64; i++) REQUIRE(out[i] == i + 10 + 1000, "out[%d] is %d", i, out[i]);
    REQUIRE(other_offset() == 1000);
    puts("two_units: both were run");
    return 0;
}
