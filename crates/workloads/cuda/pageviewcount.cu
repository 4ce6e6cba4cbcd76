// SPDX-License-Identifier: MIT OR Apache-2.0
// How often each page is viewed, from a log of a web server, by map, sort and reduction. The map has a thread a line, which finds the
// page and emits its hash; a bitonic sort brings equal ones together; the reduction counts each run from its first element.

#define BLOCK 128

static __device__ __forceinline__ bool after(unsigned key, unsigned value, unsigned other_key, unsigned other_value)
{
    return key > other_key || (key == other_key && value > other_value);
}

// One step of a bitonic sort between elements that are further apart than a block has.
extern "C" __global__ void views_sort_far(unsigned *keys, unsigned *values, unsigned run, unsigned apart)
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
extern "C" __global__ void views_sort_near(unsigned *keys, unsigned *values, unsigned run, unsigned apart)
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

extern "C" __global__ void views_map(const unsigned char *__restrict__ log, const unsigned *__restrict__ starts,
                                     unsigned *__restrict__ keys, unsigned *__restrict__ values)
{
    unsigned line = blockIdx.x * BLOCK + threadIdx.x;
    unsigned at = starts[line];
    while (log[at] != ' ')
        at++;
    unsigned hash = 5381;
#pragma unroll 1
    for (at++; log[at] != ' '; at++)
        hash = hash * 33 + log[at];
    keys[line] = hash;
    values[line] = line;
}

extern "C" __global__ void views_reduce(const unsigned *__restrict__ keys, unsigned count, unsigned *__restrict__ counts)
{
    unsigned at = blockIdx.x * BLOCK + threadIdx.x;
    unsigned key = keys[at];
    if (at > 0 && keys[at - 1] == key)
        return;
    unsigned end = at + 1;
    while (end < count && keys[end] == key)
        end++;
    counts[at] = end - at;
}
