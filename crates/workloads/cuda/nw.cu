// SPDX-License-Identifier: MIT OR Apache-2.0
// Needleman-Wunsch: global alignment of two sequences. The score matrix has one row and one column more than
// the sequences; `cols` is its width. Tiles of 16 x 16 scores are made in shared memory, diagonal by diagonal;
// a launch makes one diagonal of tiles, the first kernel those up to the longest, the second those after it.

#define SIDE 16

static __device__ __forceinline__ void cell(int (*score)[SIDE + 1], int (*match)[SIDE], int y, int x, int penalty)
{
    int diagonal = score[y - 1][x - 1] + match[y - 1][x - 1];
    int left = score[y][x - 1] - penalty;
    int up = score[y - 1][x] - penalty;
    score[y][x] = max(diagonal, max(left, up));
}

static __device__ __forceinline__ void tile(const int *__restrict__ reference, int *__restrict__ scores, int cols,
                                            int penalty, int bx, int by)
{
    __shared__ int score[SIDE + 1][SIDE + 1];
    __shared__ int match[SIDE][SIDE];

    int tx = threadIdx.x;
    int corner = cols * SIDE * by + SIDE * bx; // the cell above and left of the tile

    if (tx == 0)
        score[0][0] = scores[corner];
    score[tx + 1][0] = scores[corner + cols * (tx + 1)];
    score[0][tx + 1] = scores[corner + tx + 1];
#pragma unroll 1
    for (int y = 0; y < SIDE; y++)
        match[y][tx] = reference[corner + cols * (y + 1) + tx + 1];
    __syncthreads();

#pragma unroll 1
    for (int m = 0; m < SIDE; m++) {
        if (tx <= m)
            cell(score, match, m - tx + 1, tx + 1, penalty);
        __syncthreads();
    }
#pragma unroll 1
    for (int m = SIDE - 2; m >= 0; m--) {
        if (tx <= m)
            cell(score, match, SIDE - tx, tx + SIDE - m, penalty);
        __syncthreads();
    }

#pragma unroll 1
    for (int y = 0; y < SIDE; y++)
        scores[corner + cols * (y + 1) + tx + 1] = score[y + 1][tx + 1];
}

extern "C" __global__ void nw_upper(const int *__restrict__ reference, int *__restrict__ scores, int cols,
                                    int penalty, int diagonal)
{
    tile(reference, scores, cols, penalty, blockIdx.x, diagonal - 1 - blockIdx.x);
}

extern "C" __global__ void nw_lower(const int *__restrict__ reference, int *__restrict__ scores, int cols,
                                    int penalty, int diagonal, int tiles)
{
    tile(reference, scores, cols, penalty, blockIdx.x + tiles - diagonal, tiles - 1 - blockIdx.x);
}
