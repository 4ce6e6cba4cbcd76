// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels whose cycles in GPGPU-Sim are known, written in the obvious way.

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

#define TILE 16

extern "C" __global__ void matrix_product(float *c, const float *a, const float *b, int n)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < n; start += TILE) {
        a_tile[threadIdx.y][threadIdx.x] = a[row * n + start + threadIdx.x];
        b_tile[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// One thread follows a chain of indices; each tells where the next one lies.
extern "C" __global__ void chase(const unsigned *next, int steps, unsigned *last)
{
    unsigned at = 0;
    for (int i = 0; i < steps; i++)
        at = next[at];
    *last = at;
}
