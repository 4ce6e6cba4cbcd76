// SPDX-License-Identifier: MIT OR Apache-2.0
// Breadth-first search, one launch pair a level. The first kernel visits the neighbours of the frontier; the
// second turns what it marked into the next frontier and tells the host whether there is one.

extern "C" __global__ void bfs_expand(const int2 *__restrict__ nodes, const int *__restrict__ edges,
                                      unsigned char *frontier, unsigned char *updating,
                                      const unsigned char *visited, int *cost, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n || !frontier[node])
        return;
    frontier[node] = 0;
    int2 span = nodes[node]; // first edge, number of edges
    int next = cost[node] + 1;
#pragma unroll 1
    for (int e = span.x; e < span.x + span.y; e++) {
        int to = edges[e];
        if (!visited[to]) {
            cost[to] = next;
            updating[to] = 1;
        }
    }
}

extern "C" __global__ void bfs_commit(unsigned char *frontier, unsigned char *updating, unsigned char *visited,
                                      int *again, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n || !updating[node])
        return;
    frontier[node] = 1;
    visited[node] = 1;
    updating[node] = 0;
    *again = 1;
}
