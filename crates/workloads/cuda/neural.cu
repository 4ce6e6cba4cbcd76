// SPDX-License-Identifier: MIT OR Apache-2.0
// A convolutional network that reads handwritten digits, four kernels, a block for each map or neuron and image. Two layers
// convolve with 5 x 5 weights and a stride of two (29 x 29 to 13 x 13 to 5 x 5), two are fully connected; these have a single thread
// a block. All weights of a map start with its bias. The activation is 1.7159 tanh(2x/3).

#define IN 29
#define FIRST 13
#define SECOND 5
#define KERNEL 5
#define MAPS 6

__device__ __forceinline__ float activation(float x)
{
    // tanh(u) = 1 - 2 / (exp(2u) + 1)
    float e = __expf(x * 1.33333333f);
    return fmaf(-3.4318f, __fdividef(1.0f, e + 1.0f), 1.7159f);
}

extern "C" __global__ void neural_first(const float *__restrict__ images, const float *__restrict__ weights,
                                        float *__restrict__ out)
{
    int map = blockIdx.x, image = blockIdx.y, x = threadIdx.x, y = threadIdx.y;
    const float *w = weights + map * (KERNEL * KERNEL + 1);
    const float *in = images + image * IN * IN + 2 * y * IN + 2 * x;
    float sum = w[0];
#pragma unroll 1
    for (int i = 0; i < KERNEL; i++)
#pragma unroll
        for (int j = 0; j < KERNEL; j++)
            sum = fmaf(in[i * IN + j], w[1 + i * KERNEL + j], sum);
    out[((image * MAPS + map) * FIRST + y) * FIRST + x] = activation(sum);
}

extern "C" __global__ void neural_second(const float *__restrict__ maps, const float *__restrict__ weights,
                                         float *__restrict__ out)
{
    int map = blockIdx.x, image = blockIdx.y, x = threadIdx.x, y = threadIdx.y;
    const float *w = weights + map * (MAPS * KERNEL * KERNEL + 1);
    const float *in = maps + image * MAPS * FIRST * FIRST + 2 * y * FIRST + 2 * x;
    float sum = w[0];
#pragma unroll 1
    for (int m = 0; m < MAPS; m++)
#pragma unroll 1
        for (int i = 0; i < KERNEL; i++)
#pragma unroll
            for (int j = 0; j < KERNEL; j++)
                sum = fmaf(in[(m * FIRST + i) * FIRST + j], w[1 + (m * KERNEL + i) * KERNEL + j], sum);
    out[((image * gridDim.x + map) * SECOND + y) * SECOND + x] = activation(sum);
}

__device__ __forceinline__ void connected(const float *__restrict__ in, const float *__restrict__ weights,
                                          float *__restrict__ out, int inputs)
{
    int neuron = blockIdx.x, image = blockIdx.y;
    const float *w = weights + neuron * (inputs + 1);
    const float *x = in + image * inputs;
    float sum = w[0];
#pragma unroll 1
    for (int i = 0; i < inputs; i++)
        sum = fmaf(x[i], w[1 + i], sum);
    out[image * gridDim.x + neuron] = activation(sum);
}

extern "C" __global__ void neural_third(const float *__restrict__ in, const float *__restrict__ weights,
                                        float *__restrict__ out, int inputs)
{
    connected(in, weights, out, inputs);
}

extern "C" __global__ void neural_fourth(const float *__restrict__ in, const float *__restrict__ weights,
                                         float *__restrict__ out, int inputs)
{
    connected(in, weights, out, inputs);
}
