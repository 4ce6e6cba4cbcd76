// SPDX-License-Identifier: MIT OR Apache-2.0
// What driver_api.c loads as PTX.
extern "C" __device__ float scale = 1;
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = scale * (a[i] + b[i]);
}
