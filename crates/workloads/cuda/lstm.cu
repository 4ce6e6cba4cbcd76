// SPDX-License-Identifier: MIT OR Apache-2.0
// One time step of a layer of LSTM cells for several sequences, a block a sequence and a thread a cell. Each of the four gates sums
// the input and all outputs of the step before, which the block keeps in shared memory.

#define CELLS 100

static __device__ __forceinline__ float squash(float x)
{
    return __fdividef(1.0f, 1.0f + __expf(-x));
}

extern "C" __global__ void lstm_step(const float *__restrict__ inputs, int length, int step,
                                     const float *__restrict__ in_weights, const float *__restrict__ weights,
                                     const float *__restrict__ bias, float *__restrict__ outputs,
                                     float *__restrict__ states)
{
    __shared__ float before[CELLS];
    int t = threadIdx.x;
    int own = blockIdx.x * CELLS + t;
    before[t] = outputs[own];
    __syncthreads();
    float input = inputs[blockIdx.x * length + step];
    float gate[4];
#pragma unroll
    for (int g = 0; g < 4; g++)
        gate[g] = fmaf(in_weights[g * CELLS + t], input, bias[g * CELLS + t]);
#pragma unroll 1
    for (int k = 0; k < CELLS; k++)
#pragma unroll
        for (int g = 0; g < 4; g++)
            gate[g] = fmaf(weights[(g * CELLS + k) * CELLS + t], before[k], gate[g]);
    float forget = squash(gate[0]), enter = squash(gate[1]), leave = squash(gate[2]);
    float candidate = 2.0f * squash(2.0f * gate[3]) - 1.0f;
    float state = forget * states[own] + enter * candidate;
    states[own] = state;
    outputs[own] = leave * (2.0f * squash(2.0f * state) - 1.0f);
}
