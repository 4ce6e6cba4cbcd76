// SPDX-License-Identifier: MIT OR Apache-2.0
// Occupancy: it falls with shared memory and block size the way the device's limits say.
#include "check.h"

__global__ void plain(float *p) { p[threadIdx.x] += 1; }
__global__ void __launch_bounds__(128) bounded(float *p) { p[threadIdx.x] += 1; }

static int occupancy(int threads, size_t shared) {
    int blocks = -1;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, threads, shared));
    return blocks;
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    int most = occupancy(32, 0);
    REQUIRE(most > 0 && most <= p.maxBlocksPerMultiProcessor, "%d", most);
    int large = occupancy(p.maxThreadsPerBlock, 0);
    REQUIRE(large >= 1 && large <= p.maxThreadsPerMultiProcessor / p.maxThreadsPerBlock, "%d", large);
    int half = occupancy(32, p.sharedMemPerBlock / 2);
    REQUIRE(half >= 1 && half <= (int)(p.sharedMemPerMultiprocessor / (p.sharedMemPerBlock / 2)), "%d", half);
    REQUIRE(occupancy(32, p.sharedMemPerBlockOptin + 1) == 0);
    int grid = 0, block = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
    REQUIRE(block > 0 && block <= p.maxThreadsPerBlock && grid == p.multiProcessorCount * occupancy(block, 0), "%d x %d", grid, block);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
    REQUIRE(block > 0 && block <= 128, "%d", block);
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, bounded));
    REQUIRE(a.maxThreadsPerBlock == 128, "%d", a.maxThreadsPerBlock);
    size_t room = 0;
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, plain, 2, 64));
    REQUIRE(room >= p.sharedMemPerMultiprocessor / 2 - 2048 && occupancy(64, room) >= 2, "%zu", room);
    printf("occupancy: %d small blocks, %d large ones\n", most, large);
    return 0;
}
