// SPDX-License-Identifier: MIT OR Apache-2.0
// Cheapest path through a grid, row by row: each cell adds its own cost to the cheapest of its three
// neighbours below. A launch advances several rows; a block computes a ghost zone that shrinks by one column
// on either side with each row, so that it needs nothing from its neighbours in between.

#define BLOCK 256

extern "C" __global__ void pathfinder(int rows_now, const int *__restrict__ wall, const int *__restrict__ from,
                                      int *__restrict__ to, int cols, int first_row, int halo)
{
    __shared__ int prev[BLOCK];
    __shared__ int next[BLOCK];

    int tx = threadIdx.x;
    // The columns this block is for, and the wider stretch it starts from.
    int own = BLOCK - rows_now * 2;
    int block_x = own * (int)blockIdx.x - halo;
    int x = block_x + tx;

    // The stretch may hang over the grid at either end.
    int valid_min = block_x < 0 ? -block_x : 0;
    int valid_max = block_x + BLOCK > cols ? cols - 1 - block_x : BLOCK - 1;
    bool valid = tx >= valid_min && tx <= valid_max;
    int west = max(tx - 1, valid_min);
    int east = min(tx + 1, valid_max);

    if (valid)
        prev[tx] = from[x];
    __syncthreads();

    bool computed = false;
#pragma unroll 1
    for (int i = 0; i < rows_now; i++) {
        computed = valid && tx > i && tx < BLOCK - 1 - i;
        if (computed) {
            int best = min(min(prev[west], prev[tx]), prev[east]);
            next[tx] = best + wall[cols * (first_row + i) + x];
        }
        __syncthreads();
        if (i == rows_now - 1)
            break;
        if (computed)
            prev[tx] = next[tx];
        __syncthreads();
    }

    if (computed)
        to[x] = next[tx];
}
