// SPDX-License-Identifier: MIT OR Apache-2.0
// Cheapest path through a grid, row by row: each cell adds its own cost to the cheapest of its three
// neighbours below. A launch advances several rows; a block computes a ghost zone that shrinks by one column
// on either side with each row, so that it needs nothing from its neighbours in between.

#define BLOCK 256

extern "C" __global__ void pathfinder(int rows_now, const int *__restrict__ wall, const int *__restrict__ from,
                                      int *__restrict__ to, int cols, int first_row)
{
    __shared__ int prev[BLOCK];

    int tx = threadIdx.x;
    // The columns this block is for, and the wider stretch it starts from.
    int own = BLOCK - rows_now * 2;
    int block_x = own * (int)blockIdx.x - rows_now;
    int x = block_x + tx;

    // The stretch may hang over the grid at either end.
    int valid_min = block_x < 0 ? -block_x : 0;
    int valid_max = block_x + BLOCK > cols ? cols - 1 - block_x : BLOCK - 1;
    bool valid = tx >= valid_min && tx <= valid_max;
    int west = max(tx - 1, valid_min);
    int east = min(tx + 1, valid_max);

    int off_centre = abs(2 * tx - (BLOCK - 1));

    if (valid)
        prev[tx] = from[x];
    __syncthreads();

    int next = 0;
#pragma unroll 1
    for (int row = 0;;) {
        // Each row loses one column at either end of the stretch.
        bool computed = valid && off_centre < BLOCK - 1 - 2 * row;
        if (computed)
            next = min(min(prev[west], prev[tx]), prev[east]) + wall[cols * (first_row + row) + x];
        __syncthreads();
        if (++row == rows_now) {
            if (computed)
                to[x] = next;
            break;
        }
        if (computed)
            prev[tx] = next;
        __syncthreads();
    }
}
