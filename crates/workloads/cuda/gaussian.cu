// SPDX-License-Identifier: MIT OR Apache-2.0
// Gaussian elimination without pivoting, one column a step: the first kernel finds the multipliers of the column,
// the second subtracts the pivot row from the rows below it. The host substitutes back.

extern "C" __global__ void fan1(float *__restrict__ m, const float *__restrict__ a, int size, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size - 1 - t)
        return;
    int row = size * (i + t + 1);
    m[row + t] = a[row + t] / a[size * t + t];
}

extern "C" __global__ void fan2(const float *__restrict__ m, float *a, float *b, int size, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= size - 1 - t || j >= size - t)
        return;
    int row = size * (i + t + 1);
    float multiplier = -m[row + t];
    a[row + j + t] = fmaf(multiplier, a[size * t + j + t], a[row + j + t]);
    if (j == 0)
        b[i + t + 1] = fmaf(multiplier, b[t], b[i + t + 1]);
}
