// SPDX-License-Identifier: MIT OR Apache-2.0
// Exclusive prefix sum, work-efficient (up-sweep and down-sweep over a balanced tree in shared memory).
// A block scans 512 elements and reports their total; the totals are scanned the same way, level by level,
// and then added back. One word of padding every 32 keeps the tree free of bank conflicts.

#define BLOCK 256
#define SPAN (2 * BLOCK)
#define PAD(i) ((i) + ((i) >> 5))

extern "C" __global__ __launch_bounds__(BLOCK) void scan_blocks(const unsigned *__restrict__ in,
                                                                unsigned *__restrict__ out,
                                                                unsigned *__restrict__ totals, unsigned n)
{
    __shared__ unsigned tree[SPAN + SPAN / 32];
    unsigned tid = threadIdx.x;
    unsigned lo = blockIdx.x * SPAN + tid;
    unsigned hi = lo + BLOCK;

    tree[PAD(tid)] = lo < n ? in[lo] : 0;
    tree[PAD(tid + BLOCK)] = hi < n ? in[hi] : 0;

    unsigned step = 1;
#pragma unroll 1
    for (unsigned active = BLOCK; active > 0; active >>= 1) {
        __syncthreads();
        if (tid < active) {
            unsigned left = step * (2 * tid + 1) - 1;
            unsigned right = step * (2 * tid + 2) - 1;
            tree[PAD(right)] += tree[PAD(left)];
        }
        step *= 2;
    }

    if (tid == 0) {
        totals[blockIdx.x] = tree[PAD(SPAN - 1)];
        tree[PAD(SPAN - 1)] = 0;
    }

#pragma unroll 1
    for (unsigned active = 1; active <= BLOCK; active *= 2) {
        step >>= 1;
        __syncthreads();
        if (tid < active) {
            unsigned left = PAD(step * (2 * tid + 1) - 1);
            unsigned right = PAD(step * (2 * tid + 2) - 1);
            unsigned carried = tree[right];
            tree[right] = carried + tree[left];
            tree[left] = carried;
        }
    }
    __syncthreads();

    if (lo < n)
        out[lo] = tree[PAD(tid)];
    if (hi < n)
        out[hi] = tree[PAD(tid + BLOCK)];
}

// Adds the scanned total of all blocks before to each element of a block.
extern "C" __global__ __launch_bounds__(BLOCK) void scan_add(unsigned *__restrict__ data,
                                                             const unsigned *__restrict__ offsets, unsigned n)
{
    unsigned offset = offsets[blockIdx.x];
    unsigned lo = blockIdx.x * SPAN + threadIdx.x;
    unsigned hi = lo + BLOCK;
    if (lo < n)
        data[lo] += offset;
    if (hi < n)
        data[hi] += offset;
}
