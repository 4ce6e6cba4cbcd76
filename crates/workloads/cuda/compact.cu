// SPDX-License-Identifier: MIT OR Apache-2.0
// Compaction of a stream by scans: elements that are kept move together, in their order. The first kernel marks them and scans the marks
// of each block, the second scans the sums of blocks in one block, a round of them
// after the other, the third moves elements to their places.

#define BLOCK 256

static __device__ __forceinline__ unsigned scan(unsigned *sums, unsigned t, unsigned value)
{
    sums[t] = value;
    __syncthreads();
#pragma unroll 1
    for (unsigned reach = 1; reach < BLOCK; reach <<= 1) {
        unsigned before = t >= reach ? sums[t - reach] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    return sums[t];
}

extern "C" __global__ void compact_mark(const unsigned *__restrict__ in, unsigned count, unsigned least,
                                        unsigned *__restrict__ places, unsigned *__restrict__ totals)
{
    __shared__ unsigned sums[BLOCK];
    unsigned t = threadIdx.x, at = blockIdx.x * BLOCK + t;
    unsigned keep = at < count && in[at] >= least;
    unsigned sum = scan(sums, t, keep);
    places[at] = sum - keep;
    if (t == BLOCK - 1)
        totals[blockIdx.x] = sum;
}

extern "C" __global__ void compact_offsets(unsigned *totals, unsigned blocks, unsigned round)
{
    __shared__ unsigned sums[BLOCK];
    unsigned t = threadIdx.x, before = 0;
#pragma unroll 1
    for (unsigned first = 0; first < blocks; first += round) {
        bool here = t < round && first + t < blocks;
        unsigned own = here ? totals[first + t] : 0;
        unsigned sum = scan(sums, t, own);
        if (here)
            totals[first + t] = before + sum - own;
        before += sums[BLOCK - 1];
        __syncthreads();
    }
    if (t == 0)
        totals[blocks] = before;
}

extern "C" __global__ void compact_move(const unsigned *__restrict__ in, unsigned count, unsigned least,
                                        const unsigned *__restrict__ places, const unsigned *__restrict__ totals,
                                        unsigned *__restrict__ out)
{
    unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < count && in[at] >= least)
        out[totals[blockIdx.x] + places[at]] = in[at];
}
