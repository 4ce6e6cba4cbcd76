// SPDX-License-Identifier: MIT OR Apache-2.0
// Sum of integers: each thread adds its share of the input two elements at a time, a block adds its threads
// in a shared-memory tree down to one warp and that warp by shuffles. Run again over the block sums.

#define BLOCK 256

extern "C" __global__ __launch_bounds__(BLOCK) void reduce_sum(const int *__restrict__ in, int *__restrict__ out,
                                                               unsigned n)
{
    __shared__ int part[BLOCK];
    unsigned tid = threadIdx.x;
    unsigned stride = gridDim.x * (2 * BLOCK);

    int sum = 0;
#pragma unroll 1
    for (unsigned i = blockIdx.x * (2 * BLOCK) + tid; i < n; i += stride) {
        sum += in[i];
        if (i + BLOCK < n)
            sum += in[i + BLOCK];
    }
    part[tid] = sum;
    __syncthreads();

#pragma unroll
    for (unsigned half = BLOCK / 2; half >= 32; half /= 2) {
        if (tid < half)
            part[tid] = sum = sum + part[tid + half];
        __syncthreads();
    }

    if (tid < 32) {
#pragma unroll
        for (unsigned step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, step);
        if (tid == 0)
            out[blockIdx.x] = sum;
    }
}
