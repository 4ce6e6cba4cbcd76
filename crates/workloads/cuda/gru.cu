// SPDX-License-Identifier: MIT OR Apache-2.0
// One time step of a layer of gated recurrent units for several sequences, a block a sequence and a thread a unit. Two gates and the
// candidate sum the input and all outputs of the step before, which the block keeps in shared memory.

#define CELLS 100

static __device__ __forceinline__ float squash(float x)
{
    return __fdividef(1.0f, 1.0f + __expf(-x));
}

extern "C" __global__ void gru_step(const float *__restrict__ inputs, int length, int step,
                                    const float *__restrict__ in_weights, const float *__restrict__ weights,
                                    const float *__restrict__ bias, float *__restrict__ outputs)
{
    __shared__ float before[CELLS];
    int t = threadIdx.x;
    int own = blockIdx.x * CELLS + t;
    before[t] = outputs[own];
    __syncthreads();
    float input = inputs[blockIdx.x * length + step];
    float sum[3];
#pragma unroll
    for (int g = 0; g < 3; g++)
        sum[g] = bias[g * CELLS + t];
#pragma unroll 1
    for (int k = 0; k < CELLS; k++)
#pragma unroll
        for (int g = 0; g < 3; g++)
            sum[g] = fmaf(weights[(g * CELLS + k) * CELLS + t], before[k], sum[g]);
    float update = squash(fmaf(in_weights[t], input, sum[0]));
    float reset = squash(fmaf(in_weights[CELLS + t], input, sum[1]));
    float candidate = 2.0f * squash(2.0f * fmaf(reset, sum[2], in_weights[2 * CELLS + t] * input)) - 1.0f;
    outputs[own] = candidate + update * (before[t] - candidate);
}
