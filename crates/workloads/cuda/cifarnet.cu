// SPDX-License-Identifier: MIT OR Apache-2.0
// The layers of a small network for pictures of 32 x 32 pixels: convolution, pooling by largest value and by mean, rectification, and
// full connection. A block has rows of one map of one picture, a thread a cell.

#define REACH 5

extern "C" __global__ void cifar_conv(const float *__restrict__ in, const float *__restrict__ weights,
                                      const float *__restrict__ bias, float *__restrict__ out, int side, int inputs,
                                      float least)
{
    int map = blockIdx.x, maps = gridDim.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = threadIdx.x;
    if (x >= side || y >= side)
        return;
    const float *from = in + blockIdx.z * inputs * side * side;
    const float *taps = weights + map * inputs * REACH * REACH;
    float sum = bias[map];
#pragma unroll 1
    for (int m = 0; m < inputs; m++)
#pragma unroll 1
        for (int i = 0; i < REACH; i++) {
            int row = y + i - REACH / 2;
            if ((unsigned)row < side)
#pragma unroll 1
                for (int j = 0; j < REACH; j++) {
                    int column = x + j - REACH / 2;
                    if ((unsigned)column < side)
                        sum = fmaf(taps[(m * REACH + i) * REACH + j], from[(m * side + row) * side + column], sum);
                }
        }
    out[((blockIdx.z * maps + map) * side + y) * side + x] = fmaxf(sum, least);
}

// The largest of each 3 x 3 cells, as far as they are in the map, rectified.
extern "C" __global__ void cifar_pool_most(const float *__restrict__ in, float *__restrict__ out, int side)
{
    int half = (unsigned)side / 2;
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = threadIdx.x;
    if (x >= half || y >= half)
        return;
    int map = blockIdx.z * gridDim.x + blockIdx.x;
    float most = 0.0f;
#pragma unroll 1
    for (int i = 2 * y; i < min(2 * y + 3, side); i++)
#pragma unroll 1
        for (int j = 2 * x; j < min(2 * x + 3, side); j++)
            most = fmaxf(most, in[(map * side + i) * side + j]);
    out[(map * half + y) * half + x] = most;
}

// The mean of each 3 x 3 cells, as far as they are in the map.
extern "C" __global__ void cifar_pool_mean(const float *__restrict__ in, float *__restrict__ out, int side)
{
    int half = (unsigned)side / 2;
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = threadIdx.x;
    if (x >= half || y >= half)
        return;
    int map = blockIdx.z * gridDim.x + blockIdx.x;
    float sum = 0.0f;
    int count = 0;
#pragma unroll 1
    for (int i = 2 * y; i < min(2 * y + 3, side); i++)
#pragma unroll 1
        for (int j = 2 * x; j < min(2 * x + 3, side); j++) {
            sum += in[(map * side + i) * side + j];
            count++;
        }
    out[(map * half + y) * half + x] = sum / count;
}

extern "C" __global__ void cifar_connect(const float *__restrict__ in, const float *__restrict__ weights,
                                         const float *__restrict__ bias, float *__restrict__ out, int inputs,
                                         int outputs)
{
    int neuron = threadIdx.x, picture = blockIdx.x;
    if (neuron >= outputs)
        return;
    float sum = bias[neuron];
#pragma unroll 1
    for (int i = 0; i < inputs; i++)
        sum = fmaf(weights[neuron * inputs + i], in[picture * inputs + i], sum);
    out[picture * outputs + neuron] = sum;
}
