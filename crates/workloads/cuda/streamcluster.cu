// SPDX-License-Identifier: MIT OR Apache-2.0
// What a clustering would gain by a new centre: for every point the cost of moving to the candidate beside the cost of staying, a point
// a thread. The candidate's coordinates are in shared memory; those of all points come one array a dimension. A point that gains is
// marked, one that does not leaves its distance for the centre that it has.

#define BLOCK 512
#define MAX_DIMENSIONS 64

extern "C" __global__ void streamcluster_gain(const float *__restrict__ coordinates, const float *__restrict__ weights,
                                              const float *__restrict__ costs, const int *__restrict__ assigned,
                                              int points, int dimensions, int candidate, int centres,
                                              float *__restrict__ lower, int *__restrict__ moves)
{
    __shared__ float there[MAX_DIMENSIONS];
    int t = threadIdx.x;
    if (t < dimensions)
        there[t] = coordinates[t * points + candidate];
    __syncthreads();
    int point = blockIdx.x * blockDim.x + t;
    if (point >= points)
        return;
    float apart = 0.0f;
#pragma unroll 1
    for (int d = 0; d < dimensions; d++) {
        float step = coordinates[d * points + point] - there[d];
        apart = fmaf(step, step, apart);
    }
    float cost = apart * weights[point], now = costs[point];
    // A row of the table for each point: what each centre would lose, and at the end what the candidate wins.
    float *row = lower + point * (centres + 1);
    if (cost < now) {
        moves[point] = 1;
        row[centres] = cost - now;
    } else {
        row[assigned[point]] = now - cost;
    }
}
