// SPDX-License-Identifier: MIT OR Apache-2.0
// Histogram of a clustered image, saturated at 255. The first kernel finds the range of bins in use; the second
// counts, each row of blocks (blockIdx.y) a window of bins, in shared memory first and then into the global
// counts; the third saturates the counts to bytes.

#define BLOCK 256
#define WINDOW 1024

extern "C" __global__ __launch_bounds__(BLOCK) void histo_prescan(const unsigned *__restrict__ image, unsigned n,
                                                                  unsigned *range)
{
    __shared__ unsigned low[BLOCK];
    __shared__ unsigned high[BLOCK];
    unsigned tid = threadIdx.x;
    unsigned least = 0xffffffffu, most = 0;
    unsigned stride = gridDim.x * BLOCK;
#pragma unroll 1
    for (unsigned i = blockIdx.x * BLOCK + tid; i < n; i += stride) {
        unsigned bin = image[i];
        least = min(least, bin);
        most = max(most, bin);
    }
    low[tid] = least;
    high[tid] = most;
    __syncthreads();
#pragma unroll 1
    for (unsigned half = BLOCK / 2; half > 0; half >>= 1) {
        if (tid < half) {
            low[tid] = min(low[tid], low[tid + half]);
            high[tid] = max(high[tid], high[tid + half]);
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicMin(&range[0], low[0]);
        atomicMax(&range[1], high[0]);
    }
}

extern "C" __global__ __launch_bounds__(BLOCK) void histo_main(const unsigned *__restrict__ image, unsigned n,
                                                               const unsigned *__restrict__ range,
                                                               unsigned *counts)
{
    __shared__ unsigned window[WINDOW];
    unsigned tid = threadIdx.x;
    unsigned first = range[0] + blockIdx.y * WINDOW;
#pragma unroll
    for (unsigned i = 0; i < WINDOW; i += BLOCK)
        window[tid + i] = 0;
    __syncthreads();

    unsigned stride = gridDim.x * BLOCK;
#pragma unroll 1
    for (unsigned i = blockIdx.x * BLOCK + tid; i < n; i += stride) {
        unsigned bin = image[i] - first;
        if (bin < WINDOW)
            atomicAdd(&window[bin], 1u);
    }
    __syncthreads();

#pragma unroll
    for (unsigned i = 0; i < WINDOW; i += BLOCK) {
        unsigned count = window[tid + i];
        if (count > 0)
            atomicAdd(&counts[first + tid + i], count);
    }
}

extern "C" __global__ void histo_final(const unsigned *__restrict__ counts, unsigned bins,
                                       unsigned char *__restrict__ out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bins)
        out[i] = min(counts[i], 255u);
}
