// SPDX-License-Identifier: MIT OR Apache-2.0
// One round of shortest paths from a source: every node that has been reached offers its neighbours the way through itself. Rounds are
// repeated until nothing becomes shorter.

extern "C" __global__ void sssp_relax(const int *__restrict__ starts, const int *__restrict__ targets,
                                      const unsigned *__restrict__ lengths, unsigned *distances, int nodes,
                                      int *__restrict__ changed)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    unsigned here = distances[node];
    if (here == 0xffffffffu)
        return;
#pragma unroll 1
    for (int edge = starts[node]; edge < starts[node + 1]; edge++) {
        unsigned through = here + lengths[edge];
        int target = targets[edge];
        if (through < distances[target]) {
            atomicMin(distances + target, through);
            *changed = 1;
        }
    }
}
