// SPDX-License-Identifier: MIT OR Apache-2.0
// c = a + scale * b, a thread an element. The host works through long vectors in chunks.

extern "C" __global__ void triad(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                 float scale)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    c[at] = fmaf(scale, b[at], a[at]);
}
