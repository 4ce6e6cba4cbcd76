// SPDX-License-Identifier: MIT OR Apache-2.0
// Bitonic sorting of many arrays of keys with values. Runs that fit are sorted and merged in shared memory, 512 pairs a block of 256
// threads; longer strides are compared in device memory, a thread a pair of elements.

#define RUN 512

typedef unsigned int uint;

static __device__ __forceinline__ void compare(uint &key_a, uint &value_a, uint &key_b, uint &value_b, bool up)
{
    if ((key_a > key_b) == up) {
        uint key = key_a, value = value_a;
        key_a = key_b;
        value_a = value_b;
        key_b = key;
        value_b = value;
    }
}

static __device__ __forceinline__ void load(uint *keys, uint *values, const uint *from_keys, const uint *from_values)
{
    uint t = threadIdx.x, at = blockIdx.x * RUN + t;
    keys[t] = from_keys[at];
    values[t] = from_values[at];
    keys[t + RUN / 2] = from_keys[at + RUN / 2];
    values[t + RUN / 2] = from_values[at + RUN / 2];
}

static __device__ __forceinline__ void store(uint *to_keys, uint *to_values, const uint *keys, const uint *values)
{
    uint t = threadIdx.x, at = blockIdx.x * RUN + t;
    __syncthreads();
    to_keys[at] = keys[t];
    to_values[at] = values[t];
    to_keys[at + RUN / 2] = keys[t + RUN / 2];
    to_values[at + RUN / 2] = values[t + RUN / 2];
}

static __device__ __forceinline__ void step(uint *keys, uint *values, uint stride, bool up)
{
    __syncthreads();
    uint at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
    compare(keys[at], values[at], keys[at + stride], values[at + stride], up);
}

// Runs of 512 in turn upwards and downwards, so that each two of them are bitonic.
extern "C" __global__ void sort_runs(uint *__restrict__ to_keys, uint *__restrict__ to_values,
                                     const uint *__restrict__ from_keys, const uint *__restrict__ from_values)
{
    __shared__ uint keys[RUN], values[RUN];
    load(keys, values, from_keys, from_values);
#pragma unroll 1
    for (uint size = 2; size < RUN; size <<= 1) {
        bool up = (threadIdx.x & (size / 2)) == 0;
#pragma unroll 1
        for (uint stride = size / 2; stride > 0; stride >>= 1)
            step(keys, values, stride, up);
    }
    bool up = (blockIdx.x & 1) == 0;
#pragma unroll 1
    for (uint stride = RUN / 2; stride > 0; stride >>= 1)
        step(keys, values, stride, up);
    store(to_keys, to_values, keys, values);
}

extern "C" __global__ void merge_far(uint *keys, uint *values, uint length, uint size, uint stride, uint up)
{
    uint at = blockIdx.x * blockDim.x + threadIdx.x;
    uint within = at & (length / 2 - 1);
    bool along = (up != 0) == ((within & (size / 2)) == 0);
    at = 2 * at - (at & (stride - 1));
    uint key_a = keys[at], value_a = values[at], key_b = keys[at + stride], value_b = values[at + stride];
    compare(key_a, value_a, key_b, value_b, along);
    keys[at] = key_a;
    values[at] = value_a;
    keys[at + stride] = key_b;
    values[at + stride] = value_b;
}

extern "C" __global__ void merge_near(uint *to_keys, uint *to_values, uint length, uint size, uint up)
{
    __shared__ uint keys[RUN], values[RUN];
    load(keys, values, to_keys, to_values);
    uint within = (blockIdx.x * (RUN / 2) + threadIdx.x) & (length / 2 - 1);
    bool along = (up != 0) == ((within & (size / 2)) == 0);
#pragma unroll 1
    for (uint stride = RUN / 2; stride > 0; stride >>= 1)
        step(keys, values, stride, along);
    store(to_keys, to_values, keys, values);
}
