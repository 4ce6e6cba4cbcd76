// SPDX-License-Identifier: MIT OR Apache-2.0
// Products of a sparse matrix in compressed rows with a vector that is read through a texture: a thread a row, and a warp a row.

#define BLOCK 128

extern "C" __global__ void spmv_scalar(const float *__restrict__ values, const int *__restrict__ columns,
                                       const int *__restrict__ starts, int rows, cudaTextureObject_t vector,
                                       float *__restrict__ out)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int at = starts[row]; at < starts[row + 1]; at++)
        sum = fmaf(values[at], tex1Dfetch<float>(vector, columns[at]), sum);
    out[row] = sum;
}

extern "C" __global__ void spmv_vector(const float *__restrict__ values, const int *__restrict__ columns,
                                       const int *__restrict__ starts, int rows, cudaTextureObject_t vector,
                                       float *__restrict__ out)
{
    __shared__ volatile float sums[BLOCK];
    int t = threadIdx.x;
    int lane = t & 31;
    int row = blockIdx.x * (BLOCK / 32) + (t >> 5);
    if (row >= rows)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int at = starts[row] + lane; at < starts[row + 1]; at += 32)
        sum = fmaf(values[at], tex1Dfetch<float>(vector, columns[at]), sum);
    sums[t] = sum;
    __syncwarp();
#pragma unroll 1
    for (int reach = 16; reach > 0; reach >>= 1) {
        if (lane < reach)
            sums[t] = sum += sums[t + reach];
        __syncwarp();
    }
    if (lane == 0)
        out[row] = sum;
}
