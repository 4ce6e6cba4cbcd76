// SPDX-License-Identifier: MIT OR Apache-2.0
// C = A * B in single precision, all matrices row-major. A block of 16 x 16 threads makes a tile of C of the same shape, a thread an
// element, from tiles of A and B in shared memory. All sides are multiples of 16.

#define SIDE 16

extern "C" __global__ void matrixmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                     int depth, int width)
{
    __shared__ float a_tile[SIDE][SIDE];
    __shared__ float b_tile[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * SIDE + ty, column = blockIdx.x * SIDE + tx;
    float sum = 0.0f;
#pragma unroll 1
    for (int done = 0; done < depth; done += SIDE) {
        a_tile[ty][tx] = a[row * depth + done + tx];
        b_tile[ty][tx] = b[(done + ty) * width + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SIDE; k++)
            sum = fmaf(a_tile[ty][k], b_tile[k][tx], sum);
        __syncthreads();
    }
    c[row * width + column] = sum;
}
