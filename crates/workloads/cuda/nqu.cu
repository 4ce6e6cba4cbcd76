// SPDX-License-Identifier: MIT OR Apache-2.0
// Queens on boards with blocked squares: a thread counts the ways to complete one beginning. Its stack is in shared memory: for each
// row the columns and diagonals that are under attack, and the squares that are still to be tried. The threads of a block end at very
// different times. Their counts are added up in shared memory.

#define BLOCK 96
#define DEPTH 10

extern "C" __global__ void nqu_count(const unsigned *__restrict__ blocked, const uint4 *__restrict__ begun, int tasks,
                                     int rows, int rows_done, unsigned *__restrict__ found)
{
    __shared__ unsigned columns[DEPTH][BLOCK], left[DEPTH][BLOCK], right[DEPTH][BLOCK], open[DEPTH][BLOCK];
    __shared__ unsigned counts[BLOCK];

    int t = threadIdx.x;
    int task = blockIdx.x * BLOCK + t;
    unsigned count = 0;
    if (task < tasks) {
        uint4 begin = begun[task]; // columns, diagonals to either side, board
        const unsigned *board = blocked + begin.w * rows + rows_done;
        int depth = rows - rows_done;
        unsigned full = (1u << rows) - 1;
        int level = 0;
        columns[0][t] = begin.x;
        left[0][t] = begin.y;
        right[0][t] = begin.z;
        open[0][t] = full & ~(begin.x | begin.y | begin.z | board[0]);
        while (level >= 0) {
            unsigned squares = open[level][t];
            if (squares == 0) {
                level--;
                continue;
            }
            unsigned queen = squares & (0u - squares);
            open[level][t] = squares ^ queen;
            if (level + 1 == depth) {
                count++;
                continue;
            }
            unsigned c = columns[level][t] | queen;
            unsigned l = (left[level][t] | queen) << 1;
            unsigned r = (right[level][t] | queen) >> 1;
            level++;
            columns[level][t] = c;
            left[level][t] = l;
            right[level][t] = r;
            open[level][t] = full & ~(c | l | r | board[level]);
        }
    }
    counts[t] = count;
    __syncthreads();
    // 96 = 3 * 32: fold thirds, then halves.
    if (t < 32)
        counts[t] += counts[t + 32] + counts[t + 64];
    __syncthreads();
#pragma unroll 1
    for (int reach = 16; reach > 0; reach >>= 1) {
        if (t < reach)
            counts[t] += counts[t + reach];
        __syncthreads();
    }
    if (t == 0)
        found[blockIdx.x] = counts[0];
}
