// SPDX-License-Identifier: MIT OR Apache-2.0
// Ranks of pages by how often they are viewed, from lines of page and number, by map and sort. The map has a thread a line, which reads
// the number; a bitonic sort brings the largest to the front; the last kernel writes the rank of each line.

#define BLOCK 128

static __device__ __forceinline__ bool after(unsigned key, unsigned value, unsigned other_key, unsigned other_value)
{
    return key > other_key || (key == other_key && value > other_value);
}

// One step of a bitonic sort between elements that are further apart than a block has.
extern "C" __global__ void rank_sort_far(unsigned *keys, unsigned *values, unsigned run, unsigned apart)
{
    unsigned at = blockIdx.x * BLOCK + threadIdx.x, other = at ^ apart;
    if (other < at)
        return;
    unsigned a = keys[at], b = keys[other], u = values[at], v = values[other];
    if (after(a, u, b, v) == ((at & run) == 0)) {
        keys[at] = b;
        keys[other] = a;
        values[at] = v;
        values[other] = u;
    }
}

// The steps of a bitonic sort within blocks, in shared memory.
extern "C" __global__ void rank_sort_near(unsigned *keys, unsigned *values, unsigned run, unsigned apart)
{
    __shared__ unsigned near_keys[BLOCK], near_values[BLOCK];
    unsigned t = threadIdx.x, at = blockIdx.x * BLOCK + t;
    near_keys[t] = keys[at];
    near_values[t] = values[at];
#pragma unroll 1
    for (; apart > 0; apart >>= 1) {
        __syncthreads();
        unsigned other = t ^ apart;
        if (other > t) {
            unsigned a = near_keys[t], b = near_keys[other], u = near_values[t], v = near_values[other];
            if (after(a, u, b, v) == ((at & run) == 0)) {
                near_keys[t] = b;
                near_keys[other] = a;
                near_values[t] = v;
                near_values[other] = u;
            }
        }
    }
    __syncthreads();
    keys[at] = near_keys[t];
    values[at] = near_values[t];
}

extern "C" __global__ void rank_map(const unsigned char *__restrict__ text, const unsigned *__restrict__ starts,
                                    unsigned *__restrict__ keys, unsigned *__restrict__ values)
{
    unsigned line = blockIdx.x * BLOCK + threadIdx.x;
    unsigned at = starts[line];
    while (text[at] != ' ')
        at++;
    unsigned views = 0;
#pragma unroll 1
    for (at++; text[at] != '\n'; at++)
        views = views * 10 + (text[at] - '0');
    keys[line] = 0xffffffffu - views;
    values[line] = line;
}

extern "C" __global__ void rank_write(const unsigned *__restrict__ values, unsigned *__restrict__ ranks)
{
    unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    ranks[values[at]] = at;
}
