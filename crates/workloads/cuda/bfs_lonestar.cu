// SPDX-License-Identifier: MIT OR Apache-2.0
// One level of a breadth-first search by worklists: every node of the list gives its level to those neighbours that have none, and puts
// them on the next list.

extern "C" __global__ void bfs_drain(const int *__restrict__ starts, const int *__restrict__ targets,
                                     const int *__restrict__ list, int count, int *levels, int level,
                                     int *__restrict__ next, int *__restrict__ next_count)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count)
        return;
    int node = list[at];
#pragma unroll 1
    for (int edge = starts[node]; edge < starts[node + 1]; edge++) {
        int target = targets[edge];
        if (levels[target] < 0 && atomicMax(levels + target, level) < 0)
            next[atomicAdd(next_count, 1)] = target;
    }
}
