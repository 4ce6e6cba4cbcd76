// SPDX-License-Identifier: MIT OR Apache-2.0
// Breadth-first search with one kernel, a launch a level: a thread a node; the nodes whose distance is the level visit their
// neighbours. Several threads may reach the same node; all of them write the same distance.

extern "C" __global__ void bfs_level(const int2 *__restrict__ nodes, const int *__restrict__ edges, int *distance,
                                     int *again, int level, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n || distance[node] != level)
        return;
    int2 span = nodes[node]; // first edge, number of edges
#pragma unroll 1
    for (int e = span.x; e < span.x + span.y; e++) {
        int to = edges[e];
        if (distance[to] < 0) {
            distance[to] = level + 1;
            *again = 1;
        }
    }
}
