// SPDX-License-Identifier: MIT OR Apache-2.0
// A cooperative launch whose blocks meet at a barrier of the whole grid, and tiles of a warp.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void rotate(int *a, int *b, int rounds) {
    cg::grid_group grid = cg::this_grid();
    unsigned long long n = grid.size(), i = grid.thread_rank();
    for (int r = 0; r < rounds; r++) {
        b[(i + 1) % n] = a[i] + 1;
        grid.sync();
        int *t = a;
        a = b;
        b = t;
    }
}

__global__ void tiles(int *out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int sum = threadIdx.x;
    for (int d = 4; d > 0; d /= 2) sum += tile.shfl_xor(sum, d);
    out[threadIdx.x] = sum;
}

int main() {
    int supported = 0, sms = 0, blocks_per_sm = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    REQUIRE(supported == 1);
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, rotate, 64, 0));
    REQUIRE(blocks_per_sm > 0);
    const int blocks = 6, threads = 64, n = blocks * threads, rounds = 5;
    std::vector<int> host(n);
    for (int i = 0; i < n; i++) host[i] = 100 * i;
    Buffer<int> a(host), b(n);
    int *pa = a.data, *pb = b.data, r = rounds;
    void *arguments[] = {&pa, &pb, &r};
    CHECK(cudaLaunchCooperativeKernel((void *)rotate, dim3(blocks), dim3(threads), arguments, 0, 0));
    CHECK(cudaDeviceSynchronize());
    std::vector<int> got = b.read();
    for (int i = 0; i < n; i++) {
        int want = 100 * ((i - rounds + n) % n) + rounds;
        REQUIRE(got[i] == want, "%d: %d, not %d", i, got[i], want);
    }
    // More blocks than can be there at once would wait for ever, so the launch is refused.
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           cudaLaunchCooperativeKernel((void *)rotate, dim3(sms * blocks_per_sm + 1), dim3(threads), arguments, 0, 0));
    cudaGetLastError();
    tiles<<<1, 64>>>(a.data);
    CHECK(cudaGetLastError());
    got = a.read();
    for (int i = 0; i < 64; i++) REQUIRE(got[i] == i / 8 * 64 + 28, "tile %d: %d", i, got[i]);
    puts("cooperative: the grid met five times");
    return 0;
}
