// SPDX-License-Identifier: MIT OR Apache-2.0
// Radix sort of keys with values, four bits a pass, from the lowest: tiles of 512 pairs are sorted by their digit in shared memory, each tile
// says how often and from where it has each digit, a scan over all counts (digit by digit, tile by tile) gives every digit of every tile its
// place, and pairs move there.

#define SORT_BLOCK 128
#define BLOCK 256
#define TILE 512
#define DIGITS 16

typedef unsigned int uint;

// Exclusive sum over the threads of a block; `part` has room for twice the threads.
template <int THREADS> static __device__ __forceinline__ uint before(uint value, uint *part)
{
    int t = threadIdx.x;
    part[t] = 0;
    part += THREADS;
    part[t] = value;
    __syncthreads();
#pragma unroll 1
    for (int reach = 1; reach < THREADS; reach <<= 1) {
        uint other = part[t - reach];
        __syncthreads();
        part[t] += other;
        __syncthreads();
    }
    return part[t - 1];
}

extern "C" __global__ void sort_tiles(uint4 *__restrict__ to_keys, uint4 *__restrict__ to_values,
                                      const uint4 *__restrict__ from_keys, const uint4 *__restrict__ from_values,
                                      int shift)
{
    __shared__ uint part[2 * SORT_BLOCK];
    __shared__ uint pairs[TILE];
    __shared__ uint zeros;
    int t = threadIdx.x, at = blockIdx.x * SORT_BLOCK + t;
    uint4 some = from_keys[at], same = from_values[at];
    uint keys[4] = {some.x, some.y, some.z, some.w};
    uint values[4] = {same.x, same.y, same.z, same.w};
#pragma unroll 1
    for (int bit = shift; bit < shift + 4; bit++) {
        uint zero[4], count = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            zero[k] = ~(keys[k] >> bit) & 1;
            count += zero[k];
        }
        uint rank = before<SORT_BLOCK>(count, part);
        if (t == SORT_BLOCK - 1)
            zeros = rank + count;
        __syncthreads();
        uint to[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            to[k] = zero[k] ? rank : zeros + 4 * t + k - rank;
            rank += zero[k];
            pairs[to[k]] = keys[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++)
            keys[k] = pairs[4 * t + k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++)
            pairs[to[k]] = values[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++)
            values[k] = pairs[4 * t + k];
        __syncthreads();
    }
    to_keys[at] = make_uint4(keys[0], keys[1], keys[2], keys[3]);
    to_values[at] = make_uint4(values[0], values[1], values[2], values[3]);
}

extern "C" __global__ void sort_offsets(const uint2 *__restrict__ keys, uint *__restrict__ counts,
                                        uint *__restrict__ starts, int shift)
{
    __shared__ uint digits[TILE];
    __shared__ uint start[DIGITS + 1];
    int t = threadIdx.x;
    uint2 two = keys[blockIdx.x * BLOCK + t];
    digits[2 * t] = (two.x >> shift) & (DIGITS - 1);
    digits[2 * t + 1] = (two.y >> shift) & (DIGITS - 1);
    if (t <= DIGITS)
        start[t] = TILE;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2; k++) {
        int at = t + k * BLOCK;
        if ((k == 0 && t == 0) || digits[at] != digits[at - 1])
            start[digits[at]] = at;
    }
    __syncthreads();
    if (t < DIGITS) {
        // A digit that the tile lacks starts where the next one does.
        uint next = TILE;
#pragma unroll 1
        for (int digit = DIGITS - 1; digit > t; digit--)
            next = min(next, start[digit]);
        uint first = min(start[t], next);
        counts[t * gridDim.x + blockIdx.x] = next - first;
        starts[blockIdx.x * DIGITS + t] = first;
    }
}

// One block: counts become the sums before them.
extern "C" __global__ void sort_scan(uint *counts, int count)
{
    __shared__ uint part[2 * BLOCK];
    __shared__ uint carried;
    int t = threadIdx.x;
    uint sum = 0;
#pragma unroll 1
    for (int done = 0; done < count; done += BLOCK) {
        uint value = done + t < count ? counts[done + t] : 0;
        uint rank = before<BLOCK>(value, part);
        if (done + t < count)
            counts[done + t] = sum + rank;
        if (t == BLOCK - 1)
            carried = sum + rank + value;
        __syncthreads();
        sum = carried;
    }
}

extern "C" __global__ void sort_reorder(uint *__restrict__ to_keys, uint *__restrict__ to_values,
                                        const uint2 *__restrict__ from_keys, const uint2 *__restrict__ from_values,
                                        const uint *__restrict__ places, const uint *__restrict__ starts, int shift)
{
    __shared__ uint place[DIGITS];
    int t = threadIdx.x;
    if (t < DIGITS)
        place[t] = places[t * gridDim.x + blockIdx.x] - starts[blockIdx.x * DIGITS + t];
    uint2 two = from_keys[blockIdx.x * BLOCK + t], same = from_values[blockIdx.x * BLOCK + t];
    __syncthreads();
    uint to = place[(two.x >> shift) & (DIGITS - 1)] + 2 * t;
    to_keys[to] = two.x;
    to_values[to] = same.x;
    to = place[(two.y >> shift) & (DIGITS - 1)] + 2 * t + 1;
    to_keys[to] = two.y;
    to_values[to] = same.y;
}
