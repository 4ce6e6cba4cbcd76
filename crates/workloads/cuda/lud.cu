// SPDX-License-Identifier: MIT OR Apache-2.0
// LU decomposition in place, without pivots, by tiles of 16 x 16. For each tile of the diagonal: factor it (16 threads), then the
// tiles right of it and below it (32 threads: half a warp for the row, half for the column), then all tiles right and below by a
// product of two tiles (16 x 16 threads).

#define SIDE 16

extern "C" __global__ void lud_diagonal(float *m, int dim, int offset)
{
    __shared__ float tile[SIDE][SIDE];
    int t = threadIdx.x;
    int first = offset * dim + offset;
#pragma unroll 1
    for (int i = 0; i < SIDE; i++)
        tile[i][t] = m[first + i * dim + t];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < SIDE - 1; i++) {
        if (t > i) {
#pragma unroll 1
            for (int j = 0; j < i; j++)
                tile[t][i] = fmaf(-tile[t][j], tile[j][i], tile[t][i]);
            tile[t][i] = __fdividef(tile[t][i], tile[i][i]);
        }
        __syncthreads();
        if (t > i) {
#pragma unroll 1
            for (int j = 0; j < i + 1; j++)
                tile[i + 1][t] = fmaf(-tile[i + 1][j], tile[j][t], tile[i + 1][t]);
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int i = 1; i < SIDE; i++)
        m[first + i * dim + t] = tile[i][t];
}

extern "C" __global__ void lud_perimeter(float *m, int dim, int offset)
{
    __shared__ float diagonal[SIDE][SIDE];
    __shared__ float row[SIDE][SIDE];
    __shared__ float column[SIDE][SIDE];
    int t = threadIdx.x & (SIDE - 1);
    bool of_row = threadIdx.x < SIDE;
    int first = offset * dim + offset;
    int right = first + (blockIdx.x + 1) * SIDE;
    int under = first + (blockIdx.x + 1) * SIDE * dim;
    // Each half of the warp fetches half of the diagonal tile and one of the others.
    int half = of_row ? 0 : SIDE / 2;
#pragma unroll 1
    for (int i = 0; i < SIDE / 2; i++)
        diagonal[half + i][t] = m[first + (half + i) * dim + t];
    if (of_row) {
#pragma unroll 1
        for (int i = 0; i < SIDE; i++)
            row[i][t] = m[right + i * dim + t];
    } else {
#pragma unroll 1
        for (int i = 0; i < SIDE; i++)
            column[i][t] = m[under + i * dim + t];
    }
    __syncthreads();
    if (of_row) {
#pragma unroll 1
        for (int i = 1; i < SIDE; i++)
#pragma unroll 1
            for (int j = 0; j < i; j++)
                row[i][t] = fmaf(-diagonal[i][j], row[j][t], row[i][t]);
    } else {
#pragma unroll 1
        for (int i = 0; i < SIDE; i++) {
#pragma unroll 1
            for (int j = 0; j < i; j++)
                column[t][i] = fmaf(-column[t][j], diagonal[j][i], column[t][i]);
            column[t][i] = __fdividef(column[t][i], diagonal[i][i]);
        }
    }
    __syncthreads();
    if (of_row) {
#pragma unroll 1
        for (int i = 1; i < SIDE; i++)
            m[right + i * dim + t] = row[i][t];
    } else {
#pragma unroll 1
        for (int i = 0; i < SIDE; i++)
            m[under + i * dim + t] = column[i][t];
    }
}

extern "C" __global__ void lud_internal(float *m, int dim, int offset)
{
    __shared__ float row[SIDE][SIDE];
    __shared__ float column[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int down = offset + (blockIdx.y + 1) * SIDE + ty;
    int across = offset + (blockIdx.x + 1) * SIDE + tx;
    row[ty][tx] = m[(offset + ty) * dim + across];
    column[ty][tx] = m[down * dim + offset + tx];
    __syncthreads();
    float sum = column[ty][0] * row[0][tx];
#pragma unroll
    for (int i = 1; i < SIDE; i++)
        sum = fmaf(column[ty][i], row[i][tx], sum);
    m[down * dim + across] -= sum;
}
