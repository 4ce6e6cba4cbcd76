// SPDX-License-Identifier: MIT OR Apache-2.0
// The layers of a network after AlexNet: convolution with rectification, response normalisation across neighbouring maps, maxima of
// overlapping squares, and full connection. A block has a square of one map, a thread a cell.

extern "C" __global__ void alex_conv(const float *__restrict__ in, const float *__restrict__ weights,
                                     const float *__restrict__ bias, float *__restrict__ out, int side, int out_side,
                                     int in_group, int out_group, int reach, int stride, int pad)
{
    int map = blockIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.z * blockDim.x + threadIdx.x;
    if (x >= out_side || y >= out_side)
        return;
    const float *from = in + (unsigned)map / out_group * in_group * side * side;
    const float *taps = weights + map * in_group * reach * reach;
    float sum = bias[map];
#pragma unroll 1
    for (int m = 0; m < in_group; m++) {
#pragma unroll 1
        for (int i = 0; i < reach; i++) {
            int row = y * stride - pad + i;
            if ((unsigned)row < side) {
                const float *line = from + (m * side + row) * side;
                const float *tap = taps + (m * reach + i) * reach;
#pragma unroll 1
                for (int j = 0; j < reach; j++) {
                    int column = x * stride - pad + j;
                    if ((unsigned)column < side)
                        sum = fmaf(tap[j], line[column], sum);
                }
            }
        }
    }
    out[(map * out_side + y) * out_side + x] = fmaxf(sum, 0.0f);
}

// Divides by a power of the squares of up to five neighbouring maps.
extern "C" __global__ void alex_norm(const float *__restrict__ in, float *__restrict__ out, int side, int maps)
{
    int map = blockIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.z * blockDim.x + threadIdx.x;
    if (x >= side || y >= side)
        return;
    int cell = y * side + x;
    float sum = 0.0f;
#pragma unroll 1
    for (int m = max(map - 2, 0); m <= min(map + 2, maps - 1); m++) {
        float value = in[m * side * side + cell];
        sum = fmaf(value, value, sum);
    }
    float scale = fmaf(2e-5f, sum, 1.0f);
    float root = sqrtf(scale);
    out[map * side * side + cell] = in[map * side * side + cell] / (root * sqrtf(root));
}

// The largest of each 3 x 3 cells, every second row and column.
extern "C" __global__ void alex_pool(const float *__restrict__ in, float *__restrict__ out, int side, int out_side)
{
    int map = blockIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.z * blockDim.x + threadIdx.x;
    if (x >= out_side || y >= out_side)
        return;
    const float *from = in + (map * side + 2 * y) * side + 2 * x;
    float most = from[0];
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++)
            most = fmaxf(most, from[i * side + j]);
    out[(map * out_side + y) * out_side + x] = most;
}

extern "C" __global__ void alex_connect(const float *__restrict__ in, const float *__restrict__ weights,
                                        const float *__restrict__ bias, float *__restrict__ out, int inputs,
                                        int outputs, float least)
{
    int neuron = blockIdx.x * blockDim.x + threadIdx.x;
    if (neuron >= outputs)
        return;
    float sum = bias[neuron];
#pragma unroll 1
    for (int i = 0; i < inputs; i++)
        sum = fmaf(weights[neuron * inputs + i], in[i], sum);
    out[neuron] = fmaxf(sum, least);
}
