// SPDX-License-Identifier: MIT OR Apache-2.0
// Training step of a two-layer perceptron with 16 hidden units. Weights are rows of 17 (unit 0 is the bias) for
// each of inputs + 1 rows (row 0 belongs to the bias). A block of 16 x 16 threads holds 16 inputs (ty) by 16
// hidden units (tx).

#define SIDE 16
#define ETA 0.3f
#define MOMENTUM 0.3f

// Each block multiplies its inputs by their weights and adds them up to one partial sum a hidden unit.
extern "C" __global__ void layerforward(const float *__restrict__ input, const float *__restrict__ weights,
                                        float *__restrict__ products, float *__restrict__ partial)
{
    __shared__ float node[SIDE];
    __shared__ float part[SIDE][SIDE];

    int tx = threadIdx.x, ty = threadIdx.y, by = blockIdx.y;
    int row = by * SIDE + ty + 1;
    int at = row * (SIDE + 1) + tx + 1;

    if (tx == 0)
        node[ty] = input[row];
    __syncthreads();
    part[ty][tx] = weights[at] * node[ty];
    products[at] = part[ty][tx];
    __syncthreads();

#pragma unroll 1
    for (int reach = 1; reach < SIDE; reach *= 2) {
        if (ty % (2 * reach) == 0)
            part[ty][tx] += part[ty + reach][tx];
        __syncthreads();
    }
    if (ty == 0)
        partial[by * SIDE + tx] = part[0][tx];
}

// Moves each weight along its gradient, with momentum; row 0 holds the biases.
extern "C" __global__ void adjust_weights(const float *__restrict__ delta, const float *__restrict__ input,
                                          float *__restrict__ weights, float *__restrict__ change)
{
    int tx = threadIdx.x, ty = threadIdx.y, by = blockIdx.y;
    int row = by * SIDE + ty + 1;
    int at = row * (SIDE + 1) + tx + 1;

    float step = ETA * delta[tx + 1] * input[row] + MOMENTUM * change[at];
    weights[at] += step;
    change[at] = step;

    if (row == 1) {
        float bias = ETA * delta[tx + 1] + MOMENTUM * change[tx + 1];
        weights[tx + 1] += bias;
        change[tx + 1] = bias;
    }
}
