// SPDX-License-Identifier: MIT OR Apache-2.0
// Matrix transpose through a shared tile, so that both the reads and the writes are coalesced. A block of
// 32 x 8 threads moves a 32 x 32 tile; the padding column keeps the transposed reads free of bank conflicts.

#define TILE 32
#define ROWS 8

extern "C" __global__ void transpose(float *__restrict__ out, const float *__restrict__ in, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();

    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS)
        if (tx < height && ty + j < width)
            out[(ty + j) * height + tx] = tile[threadIdx.x][threadIdx.y + j];
}
