// SPDX-License-Identifier: MIT OR Apache-2.0
// Convolution of an image by a separable filter of 17 taps, in constant memory: along rows, then along columns. A block brings its cells
// and a step on either side into shared memory; a thread has up to eight results. Beyond the image there are zeros.

#define RADIUS 8
#define STEPS 8
#define ROW_X 16
#define ROW_Y 4
#define COL_X 16
#define COL_Y 8

__constant__ float taps[2 * RADIUS + 1];

extern "C" __global__ void convsep_rows(float *__restrict__ out, const float *__restrict__ in, int width, int steps)
{
    __shared__ float tile[ROW_Y][(STEPS + 2) * ROW_X];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = ((int)blockIdx.x * steps - 1) * ROW_X + tx, y = blockIdx.y * ROW_Y + ty;
#pragma unroll 1
    for (int i = 0; i < steps + 2; i++) {
        int x = x0 + i * ROW_X;
        tile[ty][tx + i * ROW_X] = (unsigned)x < width ? in[y * width + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 1; i <= steps; i++) {
        float sum = __fmul_rn(taps[2 * RADIUS], tile[ty][tx + i * ROW_X - RADIUS]);
#pragma unroll
        for (int j = 1 - RADIUS; j <= RADIUS; j++)
            sum = fmaf(taps[RADIUS - j], tile[ty][tx + i * ROW_X + j], sum);
        out[y * width + x0 + i * ROW_X] = sum;
    }
}

extern "C" __global__ void convsep_columns(float *__restrict__ out, const float *__restrict__ in, int width, int height,
                                          int steps)
{
    __shared__ float tile[COL_X][(STEPS + 2) * COL_Y + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * COL_X + tx, y0 = ((int)blockIdx.y * steps - 1) * COL_Y + ty;
#pragma unroll 1
    for (int i = 0; i < steps + 2; i++) {
        int y = y0 + i * COL_Y;
        tile[tx][ty + i * COL_Y] = (unsigned)y < height ? in[y * width + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 1; i <= steps; i++) {
        float sum = __fmul_rn(taps[2 * RADIUS], tile[tx][ty + i * COL_Y - RADIUS]);
#pragma unroll
        for (int j = 1 - RADIUS; j <= RADIUS; j++)
            sum = fmaf(taps[RADIUS - j], tile[tx][ty + i * COL_Y + j], sum);
        out[(y0 + i * COL_Y) * width + x] = sum;
    }
}
